"""Salvage of archives with wrong metadata: unconfirmed counts cost nothing, and contradictions are left out."""

from __future__ import annotations

import json
import struct
import time
from itertools import chain
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import UnsupportedOperationError
from exhume.formats.clp_s import salvage as module
from exhume.formats.clp_s import salvage_rows as rows_module
from exhume.formats.clp_s.layout import HEADER_SIZE, PacketType
from exhume.formats.clp_s.read import blocks, fragments, survivors, windows
from exhume.formats.clp_s.read.survivors import NumberRuns, gaps
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.limits import Limits
from exhume.recovery import SalvageMode, SalvageReport, VerifiedBy
from tests.archives import OWN
from tests.clp_s.build import DEMO_TEXT, Built, clp, demo, i64, tiny, u64

ORDERED = Built(
    nodes=[(-1, b"", 10), (0, b"log_event_idx", 11), (-1, b"", 5), (2, b"a", 0)],
    schemas=[(0, [1, 3], [])],
    streams=[[(0, 3, i64(0, 1, 1) + i64(7, 8, 9)), (0, 2, i64(5, 1) + i64(10, 11))]],
)
"""Two tables: log order (deltas 0, 1, 2 and 5, 6) and an integer."""


def salvaged(built: Built, folder: Path) -> tuple[SalvageReport, list[int]]:
    """The report, and the integers that came back."""
    path, out = folder / "damaged.clps", folder / "clean.clps"
    path.write_bytes(built.build())
    begin = time.process_time()
    report = exhume.salvage(path, out, format="clp-s")
    assert time.process_time() - begin < 10
    if not out.exists():
        return report, []
    has_damage = any("left out:" in note and "of a table of" in note for note in report.notes)
    assert report.verified_by is (VerifiedBy.NONE if has_damage else VerifiedBy.STRUCTURE)
    with exhume.open(out) as archive:
        assert isinstance(archive, ClpSArchive)
        return report, [json.loads(line)["a"] for line in archive.json_lines()]


@pytest.mark.parametrize(
    ("present", "total", "expected"),
    [
        ([], 0, []),
        ([], 3, [(0, 2)]),
        ([0, 1, 2], 3, []),
        ([0, 1, 4, 2**62], 3, [(2, 3), (5, 2**62 - 1)]),
        ([-5, 1], 2**63, [(0, 0), (2, 2**63 - 1)]),
        ([-(2**63), 2**63 - 1], 5, [(0, 2**63 - 2)]),
    ],
)
def test_gaps(present: list[int], total: int, expected: list[tuple[int, int]]) -> None:
    runs = NumberRuns()
    for position in reversed(present):
        runs.add(np.array([position], np.int64))
    assert list(gaps(*runs.joined(), total)) == expected


@given(st.lists(st.lists(st.integers(-2, 40), max_size=9), max_size=9), st.integers(0, 45), st.integers(1, 5))
def test_runs(found: list[list[int]], total: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exhume.formats.clp_s.read.survivors.MOST_RUNS", most)
        runs = NumberRuns()
        for numbers in found:
            runs.add(np.array(numbers, np.int64))
        missing = [at for first, last in gaps(*runs.joined(), total) for at in range(first, last + 1)]
    known = set(chain.from_iterable(found))
    assert missing == [at for at in range(max([total - 1, *known]) + 1) if at not in known]


def test_missing_records_are_reported_as_runs(tmp_path: Path) -> None:
    report, found = salvaged(ORDERED, tmp_path)
    assert found == [7, 8, 9, 10, 11]
    assert [note for note in report.notes if "missing" in note] == [
        "missing records by their position in the input: 3..4"
    ]


@pytest.mark.parametrize("count", [1 << 40, (1 << 63) - 1])
def test_a_table_that_claims_any_number_of_records(count: int, tmp_path: Path) -> None:
    payload = ORDERED.payloads()["/table_metadata"]
    lie = payload[:-8] + u64(count)
    report, found = salvaged(ORDERED.replace(raw={"/table_metadata": lie}), tmp_path)
    assert found == [7, 8, 9]
    assert report.lost["records"] == count
    assert f"missing records by their position in the input: 3..{count + 2}" in report.notes


@pytest.mark.parametrize("count", [1 << 23, 1 << 40, (1 << 64) - 1])
def test_a_dictionary_that_claims_any_number_of_entries(count: int, tmp_path: Path) -> None:
    stored = u64(count) + b"no frame at all"
    report, found = salvaged(tiny(stored_sections={"/var.dict": stored}), tmp_path)
    assert found == [1, 2]
    assert (tmp_path / "clean.clps").stat().st_size < 4096
    assert report.lost.get("dictionary entries", 0) <= 4 * len(stored) + 1024


def test_entries_that_a_dictionary_does_not_count_are_noted(tmp_path: Path) -> None:
    data = bytearray((OWN / "clp_s" / "written-0.4.1.clps").read_bytes())
    with exhume.open(bytes(data)) as archive:
        at = archive.sections().named("/log.dict").span.start
    count = int.from_bytes(data[at : at + 8], "little")
    assert count
    data[at : at + 8] = u64(count - 1)
    report = exhume.salvage(bytes(data), tmp_path / "clean.clps", format="clp-s")
    assert [note for note in report.notes if note.startswith("dictionary /log.dict has more than ")]


@pytest.mark.parametrize("name", ["/var.dict", "/log.dict", "/array.dict"])
def test_a_dictionary_gets_the_number_of_its_entries(name: str, tmp_path: Path) -> None:
    """Where the stated one is damaged: all entries are there, and the output is sound."""
    data = bytearray(tiny().build())
    with exhume.open(bytes(data), format="clp-s") as archive:
        at = next(one.span.start for one in archive.sections() if one.name == name)
    data[at + 5] ^= 8
    report = exhume.salvage(bytes(data), tmp_path / "clean.clps", format="clp-s")
    assert (report.verdict, report.lost) == (exhume.Verdict.OK, {})
    assert [note for note in report.notes if note.startswith(f"dictionary {name} states ")]
    with exhume.open(tmp_path / "clean.clps") as clean, exhume.open(tiny().build(), format="clp-s") as original:
        assert isinstance(clean, ClpSArchive)
        assert isinstance(original, ClpSArchive)
        assert list(clean.json_lines()) == list(original.json_lines())


def test_a_row_out_of_order_is_left_out(tmp_path: Path) -> None:
    tables = [(0, 3, i64(0, 1, 1) + i64(7, 8, 9)), (0, 4, i64(5, -4, 3, 2) + i64(10, 11, 12, 13))]
    report, found = salvaged(ORDERED.replace(streams=[tables]), tmp_path)
    assert found == [7, 8, 9, 10, 13], "positions 5, 1, 4 and 6"
    stated = "2 records of a table of 4 left out: log_event_idx does not increase within a table: row 1"
    assert f"{stated}; its other records may be wrong" in report.notes
    assert (report.lost["records"], report.recovered["records"]) == (2, 5)
    assert "tables" not in report.lost


BAD_WORDS = {
    "log type": (clp([(1, 3)], [])[:8], clp([(5, 3)], [])[:8]),
    "offset": (clp([(1, 3)], [])[:8], clp([(0, 3)], [])[:8]),
    "variable": (u64(1, 2) + i64(-5), u64(1, 99) + i64(-5)),
    "number": (u64(3, 4), u64(99, 4)),
    "pattern": (i64(500_000_000) + u64(0, 1), i64(500_000_000) + u64(0, 9)),
    "array": (clp([(1, 2)], [])[:8], clp([(9, 2)], [])[:8]),
    "element": (i64(7, 8) + u64(0), i64(7, 8) + u64(77)),
}
"""Bytes of the first table of `demo`, and others in their place that spoil one of its two rows."""


@pytest.mark.parametrize("name", BAD_WORDS)
def test_a_bad_row_costs_that_row_alone(name: str, tmp_path: Path) -> None:
    before, after = BAD_WORDS[name]
    [(schema, rows, data)], second = demo().streams
    at = data.index(before)
    spoiled = data[:at] + after + data[at + len(before) :]
    report = exhume.salvage(demo(streams=[[(schema, rows, spoiled)], second]).build(), tmp_path / "out", format="clp-s")
    lost = 0 if name in ("number", "element") else 1
    with exhume.open(tmp_path / "out") as archive:
        assert isinstance(archive, ClpSArchive)
        lines = DEMO_TEXT.splitlines(keepends=True)
        assert b"".join(archive.json_lines()) == b"".join(line for row, line in enumerate(lines) if row != lost)
        assert {finding.code for finding in archive.verify()} == {"CLPS-411"}, "the number of records of a file"
    assert report.lost == {"records": 1}
    assert report.recovered["records"] == 2
    assert f"missing records by their position in the input: {2 * lost}" in report.notes


@pytest.mark.parametrize("in_windows", [False, True])
def test_bad_rows_of_a_large_table_are_left_out(
    in_windows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_windows:
        monkeypatch.setattr(windows, "WORTHWHILE", 1)
        monkeypatch.setattr(blocks, "WINDOW_BYTES", 1 << 12)
        monkeypatch.setattr(rows_module, "ROWS_AT_A_TIME", 100)
    count, bad = 5000, {0, 1, 700, 1399, 4999}
    deltas = [0, *[1] * (count - 1)]
    deltas[3000], deltas[3001] = -5, 7  # one row out of order
    data = i64(*deltas) + i64(*range(count)) + u64(*(77 if row in bad else row % 2 for row in range(count)))
    built = ORDERED.replace(
        nodes=[*ORDERED.nodes, (2, b"s", 3)],
        schemas=[(0, [1, 3, 4], [])],
        streams=[[(0, count, data)]],
        variables=[b"zero", b"one"],
    )
    report, found = salvaged(built, tmp_path)
    assert found == [row for row in range(count) if row not in bad | {3000}]
    assert report.lost == {"records": 6}


def test_a_schema_that_has_no_layout_is_left_out(tmp_path: Path) -> None:
    wild = ORDERED.replace(schemas=[*ORDERED.schemas, (1, [1, -9], [])])
    assert struct.pack("<i", -9) in wild.payloads()["/schema_ids"]
    report, found = salvaged(wild, tmp_path)
    assert found == [7, 8, 9, 10, 11]
    assert report.lost["schemas"] == 1


def test_a_table_whose_schema_is_gone_is_counted(tmp_path: Path) -> None:
    streams = [[*ORDERED.streams[0], (7, 1, i64(5) + i64(12))], [(8, 0, b"")]]
    report, found = salvaged(ORDERED.replace(streams=streams), tmp_path)
    assert found == [7, 8, 9, 10, 11]
    assert (report.lost["tables"], report.lost["records"]) == (2, 1)


def test_progress_counts_streams(tmp_path: Path) -> None:
    reported: list[tuple[int, int | None, str]] = []
    built = ORDERED.replace(streams=[ORDERED.streams[0][:1], ORDERED.streams[0][1:]])
    exhume.salvage(built.build(), tmp_path / "out", format="clp-s", progress=lambda *stated: reported.append(stated))
    assert [stated for stated in reported if stated[2] == "streams"] == [(1, 2, "streams"), (2, 2, "streams")]


def test_no_scratch_files_are_left(tmp_path: Path) -> None:
    salvaged(ORDERED, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean.clps", "damaged.clps"]


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "without a list"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_intact_is_kept_as_it_is_stored(listed: bool, jobs: int, tmp_path: Path) -> None:
    path, out = tmp_path / "archive.clps", tmp_path / "out"
    with exhume.create(path, "clp-s", level=19, min_table_size=1) as writer:
        for number in range(500):
            writer.write(
                {"text": f"request {number} of user-{number % 7}", "all": number} | ({"odd": 1} if number % 2 else {})
            )
    before = stored_parts(path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF  # in the last stream: all that is before it is still as it was
    if not listed:
        data[HEADER_SIZE : HEADER_SIZE + 16] = bytes(16)
    path.write_bytes(data)
    report = exhume.salvage(path, out, format="clp-s", jobs=jobs)
    assert report.lost["records"] == 250
    assert stored_parts(out) == before[:-1]


def stored_parts(path: Path) -> list[bytes]:
    """The dictionaries and streams of an archive, as they are stored."""
    with exhume.open(path) as archive:
        assert isinstance(archive, ClpSArchive)
        places = [archive.file_entry(name) for name in ("/var.dict", "/log.dict", "/array.dict")]
        places += map(archive.stream_place, range(len(archive.table_metadata.streams)))
        return [place.read() for place in places]


def test_what_cannot_be_done(tmp_path: Path) -> None:
    for target, mode in ((ORDERED.build(), SalvageMode.FILES), (tmp_path, SalvageMode.FILES)):
        with pytest.raises(UnsupportedOperationError):
            exhume.salvage(target, tmp_path.parent / "out", format="clp-s", mode=mode)


def test_what_is_rebuilt_is_what_the_archive_was(tmp_path: Path) -> None:
    """Version, size of the original, packets and dictionaries of the output, with and without those of the input."""
    exhume.salvage(demo().build(), tmp_path / "out", format="clp-s")
    with exhume.open(tmp_path / "out") as archive:
        assert isinstance(archive, ClpSArchive)
        assert (archive.header.version, archive.header.original_size) == ((0, 5, 1), 1234)
        assert b"".join(archive.json_chunks()) == DEMO_TEXT
    lost = demo(stored_sections={"/var.dict": u64(6), "/log.dict": u64(2), "/array.dict": u64(2)})
    exhume.salvage(lost.build(), tmp_path / "lost", format="clp-s")
    with exhume.open(tmp_path / "lost") as archive:
        assert isinstance(archive, ClpSArchive)
        first, second, third = archive.json_lines()
    assert b'"msg":"<lost log type 0>","name":"<lost variable 1>"' in first
    assert b'"msg":"<lost log type 1>","name":"<lost variable 2>"' in second
    assert json.loads(third) == {"name": "<lost variable 1>", "o": {}}


@pytest.mark.parametrize("survive", range(4))
def test_records_stay_json_without_the_texts_of_their_numbers(survive: int, tmp_path: Path) -> None:
    """Numbers whose text is kept, bare and quoted elements of arrays: all are entries of one dictionary."""
    built = Built(
        nodes=[(-1, b"", 5), (0, b"f", 13), (0, b"s", 3), (0, b"a", 6)],
        schemas=[(0, [1, 2, 3], [])],
        streams=[[(0, 3, u64(0, 0, 1) + u64(0, 1, 2) + clp([(0, 0), (1, 1), (0, 2)], [1, 2, 2]))]],
        variables=[b"12e3", b"45e6", b"78e9"],
        array_types=[b"[\x12]", b'["in \x12"]'],
    )
    kept = b"".join(u64(4) + text for text in built.variables[:survive])
    lost = built.replace(stored_sections={"/var.dict": u64(3) + (built.compress(kept) if kept else b"?")})
    report = exhume.salvage(lost.build(), tmp_path / "lines", format="clp-s", mode=SalvageMode.RECORDS)
    assert (report.verified_by, report.lost["dictionary entries"]) == (VerifiedBy.STRUCTURE, 3 - survive)
    number: list[object] = [12e3, 45e6, 78e9][:survive] + [f"<lost variable {n}>" for n in range(survive, 3)]
    text = ["12e3", "45e6", "78e9"][:survive] + [f"<lost variable {n}>" for n in range(survive, 3)]
    if survive < 1:
        text[0] = '"<lost variable 0>"'
    if survive < 2:
        text[1] = '"<lost variable 1>"'
    if survive < 3:  # an element of one array, and within one of another
        number[2], text[2] = None, "null"
    assert [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()] == [
        {"f": number[0], "s": text[0], "a": [number[1]]},
        {"f": number[0], "s": text[1], "a": [f"in {text[2]}"]},
        {"f": number[1], "s": text[2], "a": [number[2]]},
    ]


def test_lost_arrays_are_arrays(tmp_path: Path) -> None:
    lost = demo(stored_sections={"/array.dict": u64(2)})
    exhume.salvage(lost.build(), tmp_path / "lines", format="clp-s", mode=SalvageMode.RECORDS)
    records = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert [record.get("arr") for record in records] == [["<lost array 0>"], ["<lost array 1>"], None]


@pytest.mark.parametrize("bad", range(3))
def test_tables_of_one_stream_are_parted_where_they_end(bad: int, tmp_path: Path) -> None:
    """The one that its schema does not fit is left out; those before and after it keep their own bytes."""
    tables = [(0, 2, i64(2 * number, 1) + i64(number, number + 10)) for number in range(3)]
    tables[bad] = (0, 2, tables[bad][2] + b"more")
    _, found = salvaged(ORDERED.replace(streams=[tables]), tmp_path)
    assert found == [value for number in range(3) if number != bad for value in (number, number + 10)]


@pytest.mark.parametrize(("type", "patterns"), [(0, 0), (8, 64), (14, 64)])
def test_metadata_that_is_lost_is_rebuilt(type: int, patterns: int, tmp_path: Path) -> None:
    """Every packet a reader requests; patterns, which print numbers, only where there are timestamps."""
    built = ORDERED.replace(
        nodes=[*ORDERED.nodes, (2, b"t", type)],
        stored_sections={"metadata": bytes(200)},
        header={"metadata_size": 200},
    )
    damaged = bytearray(built.build())
    damaged[:64] = bytes(64)
    report = exhume.salvage(bytes(damaged), tmp_path / "out", format="clp-s")
    assert report.recovered["records"] == 5
    with exhume.open(tmp_path / "out") as archive:
        assert isinstance(archive, ClpSArchive)
        assert archive.header.original_size == 0
        [info] = archive.packets_of(PacketType.ARCHIVE_INFO)
        assert msgpack.unpackb(info.body) == {"num_segments": 1}
        assert len(archive.packets_of(PacketType.ARCHIVE_FILE_INFO)) == 1
        assert len(archive.timestamp_dictionary.patterns) == patterns
        assert list(archive.verify()) == []


def test_every_draft_is_read_within_the_limits_that_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, used = Limits(entries=12345), []

    def opened(*arguments: Any, **more: Any) -> ClpSArchive:
        used.append(more.get("limits"))
        return ClpSArchive(*arguments, **more)

    monkeypatch.setattr(module, "ClpSArchive", opened)
    lost = demo(stored_sections={"/var.dict": u64(6)}).build()
    for mode in (SalvageMode.ARCHIVE, SalvageMode.RECORDS):
        exhume.salvage(lost, tmp_path / mode, format="clp-s", mode=mode, limits=given)
    assert len(used) >= 9, "four looks at each draft, and one to print it"
    assert set(used) == {given}


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "without a list"])
def test_what_takes_more_than_a_window_is_read_to_its_end(
    listed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, count = np.random.default_rng(7), 2000
    path, out = tmp_path / "archive.clps", tmp_path / "out"
    with exhume.create(path, "clp-s") as writer:
        for _ in range(count):
            writer.write({"at": chance.random(), "id": chance.bytes(16).hex()})
    if not listed:
        data = bytearray(path.read_bytes())
        data[HEADER_SIZE : HEADER_SIZE + 16] = bytes(16)
        path.write_bytes(data)
    for where in (survivors, fragments):
        monkeypatch.setattr(where, "WINDOW", 4096)
    report = exhume.salvage(path, out, format="clp-s")
    assert not report.lost["records"]
    assert not report.lost["dictionary entries"]
    with exhume.open(out) as archive:
        assert isinstance(archive, ClpSArchive)
        assert sum(1 for _ in archive.json_lines()) == count


# ------------------------------------------------------------------------------------------- columns of cut tables


WIDE_ROWS = 400


@pytest.fixture(scope="module", params=[False, True], ids=["texts of arrays", "structured arrays"])
def wide(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of one large table with columns of many types, in several frames, and one small table."""
    path = tmp_path_factory.mktemp("wide") / "wide.clps"
    version = "0.5.1" if request.param else "0.4.1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exhume.formats.clp_s.write.build.LEAST", 1000)
        patch.setattr("exhume.formats.clp_s.write.build.MOST", 1000)
        with exhume.clps.create(path, version=version, structurize_arrays=request.param, creator_id="x") as writer:
            for row in range(WIDE_ROWS):
                text = f"job {row} of host-{row % 7} took {row}.5 ms"
                writer.write({"a": row, "b": row * 7919 % 1000, "c": text, "d": f"v{row % 50}", "e": row % 3 == 0,
                              "f": [row % 5, {"g": row}], "h": None, "i": {"j": row / 8}})  # fmt: skip
            writer.write({"alone": 1})
    return path


def is_part(part: Any, whole: Any) -> bool:
    """Whether everything in a record is in another."""
    if isinstance(part, dict):
        return all(key in whole and is_part(value, whole[key]) for key, value in part.items())
    return bool(part == whole)


@pytest.mark.parametrize("limits", [Limits(), Limits(payload_size=12_000)], ids=["in memory", "in a file"])
def test_partial_records_are_parts_of_the_original(
    wide: Path, tmp_path: Path, limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a table is truncated: the rest is part of the record in its place, and not empty."""
    monkeypatch.setattr("exhume.formats.clp_s.write.build.LEAST", 1000)
    monkeypatch.setattr("exhume.formats.clp_s.write.build.MOST", 1000)
    with exhume.open(wide) as archive:
        assert isinstance(archive, ClpSArchive)
        original = list(archive.events(ordered=True))
        place = max((archive.stream_place(number) for number in range(1)), key=lambda one: one.size)
        start, stop = place.start, place.end
    kept: list[int] = []
    for number, at in enumerate(range(start + 200, stop, (stop - start) // 9)):
        cut, whole, out = (tmp_path / f"{name}{number}" for name in ("cut", "whole", "out"))
        cut.write_bytes(wide.read_bytes()[:at])
        usual = exhume.salvage(cut, whole, format="clp-s", limits=limits)
        report = exhume.salvage(cut, out, format="clp-s", limits=limits, partial=True)
        assert not report.complete
        assert report.lost == usual.lost, "what is lost is lost; that parts of it are kept changes nothing"
        offered = [note for note in usual.notes if "--partial keeps" in note]
        assert bool(offered) == (report.recovered["partial records"] > 0)
        if not offered:
            continue
        assert report.recovered["partial records"] == WIDE_ROWS
        with exhume.open(out) as archive:
            assert isinstance(archive, ClpSArchive)
            assert [one for one in archive.verify() if one.is_problem] == []
            events = [one for one in archive.events(ordered=True) if one != {"alone": 1}]
        assert len(events) == WIDE_ROWS
        assert all(is_part(part, event) for part, event in zip(events, original, strict=False))
        kept.append(len(events[0]))
        jsonl = tmp_path / f"lines{number}"
        exhume.salvage(cut, jsonl, format="clp-s", limits=limits, partial=True, mode=SalvageMode.RECORDS)
        with exhume.open(out) as archive:
            assert isinstance(archive, ClpSArchive)
            assert jsonl.read_bytes() == b"".join(archive.json_chunks())
    assert len(set(kept)) > 3, "more with each column"
    assert kept == sorted(kept)


def test_an_intact_stream_above_the_limit_is_not_spooled(
    wide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is copied as it is stored, as below the limit; only a damaged one is decompressed into a file."""
    exhume.salvage(wide, tmp_path / "usual", format="clp-s")
    monkeypatch.setattr(survivors, "scratch_file", None)
    limits = Limits(payload_size=12_000)
    report = exhume.salvage(wide, tmp_path / "out", format="clp-s", limits=limits)
    assert report.complete
    assert (tmp_path / "out").read_bytes() == (tmp_path / "usual").read_bytes()
    (tmp_path / "cut.clps").write_bytes(wide.read_bytes()[:-300])
    with pytest.raises(TypeError):
        exhume.salvage(tmp_path / "cut.clps", tmp_path / "rest", format="clp-s", limits=limits)


def test_partial_on_the_command_line(wide: Path, tmp_path: Path, exhume_cli: Any) -> None:
    with exhume.open(wide) as archive:
        assert isinstance(archive, ClpSArchive)
        end = archive.stream_place(0).end
    (tmp_path / "cut.clps").write_bytes(wide.read_bytes()[: end - 300])
    usual = exhume_cli("salvage", tmp_path / "cut.clps", "-o", tmp_path / "usual", "--format", "clp-s")
    assert "--partial keeps" in usual.text
    more = exhume_cli("salvage", tmp_path / "cut.clps", "-o", tmp_path / "more", "--partial", "--json")
    assert more.code == 3
    assert json.loads(more.text)["recovered"]["partial records"] == WIDE_ROWS
