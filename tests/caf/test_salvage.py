"""Salvage: whatever happened to index and footer, what can be known comes back, and every byte is accounted for."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.engines.carve import carve
from exhume.engines.salvage import salvage
from exhume.errors import LimitExceededError, SourceError, Span, UnrecognizedFormatError, UnsupportedOperationError
from exhume.formats.caf.chunk import build_index
from exhume.formats.caf.locate import locate
from exhume.formats.caf.salvage import recover
from exhume.io.source import BytesSource
from exhume.limits import Limits
from exhume.recovery import CarvedArchive, CarveVerdict, Outcome, SalvageMode, SalvageReport, VerifiedBy
from exhume.testing.damage import every_truncation
from exhume.testing.sources import MisreportingSource
from tests.sizes import some

from .conftest import Corpus
from .make_samples import BROKEN, DATA, TREE, WHOLE, chunk, index_of


def run(data: bytes, tmp_path: Path, **options: Any) -> tuple[dict[str, bytes], SalvageReport]:
    target = tmp_path / "out.caf"
    target.unlink(missing_ok=True)
    report = salvage(data, target, format="caf", **options)
    assert report.verified_by is (VerifiedBy.NONE if report.recovered else VerifiedBy.EMPTY), report.findings
    assert sum(outcome.span.size for outcome in report.spans) == len(data)
    with exhume.open(target) as archive:
        return {name: archive.read_member(name) for name in archive.names()}, report  # type: ignore[attr-defined]


@pytest.mark.conformance
def test_crafted_chunks_come_back(malformed_corpus: Corpus, tmp_path: Path) -> None:
    for name, expected in some(malformed_corpus.expected.items()):
        found, report = run(malformed_corpus.read(name), tmp_path)
        hashes = {member: hashlib.sha256(data).hexdigest() for member, data in found.items()}
        wanted = expected.get("salvage_files", {}) | expected.get("files", {})
        for member, entry in wanted.items():
            assert hashes[member] == entry["sha256"], (name, member)
        assert report.lost["files"] == len(expected.get("bad_entries", ())), name
        extra = set(hashes) - set(wanted)
        assert all(member.startswith("unreferenced/") for member in extra), name


@pytest.mark.parametrize(
    "tail",
    [
        b"",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        (len(WHOLE) + 3).to_bytes(4, "little"),
        (len(WHOLE) - 3).to_bytes(4, "little"),
        len(WHOLE).to_bytes(4, "little")[:3],
        len(WHOLE).to_bytes(4, "little") + b"\r\n",
        len(WHOLE).to_bytes(4, "little") + b"x" * 500,
    ],
)
def test_any_footer(tail: bytes, tmp_path: Path) -> None:
    found, report = run(DATA + WHOLE + tail, tmp_path)
    assert found == {"a.txt": DATA[:20], "dir/b.txt": DATA[20:]}
    assert report.complete


def test_every_cut_keeps_the_complete_entries(tmp_path: Path) -> None:
    data = chunk(WHOLE)
    for length, cut in some(every_truncation(data)):
        recovery = recover(BytesSource(cut))
        names = [member.name for member in recovery.members]
        first, second = len(DATA) + WHOLE.index(b"},") + 1, len(DATA) + WHOLE.index(b"}}") + 1
        assert names == ["a.txt", "dir/b.txt"][: (length >= first) + (length >= second)], length


def test_every_flip_in_the_index_loses_at_most_what_it_hits() -> None:
    names = [f"file-{i}.bin" for i in range(12)]
    files = {name: (i * 5, i * 5 + 5) for i, name in enumerate(names)}
    data = bytes(range(60))
    index = build_index(files)
    whole = chunk(index, data)
    for offset in some(range(len(data), len(whole))):
        damaged = bytearray(whole)
        damaged[offset] ^= 0x80
        recovery = recover(BytesSource(bytes(damaged)))
        right = {m.name: (m.start, m.end) for m in recovery.members}
        lost = [name for name in names if right.get(name) != files[name]]
        assert len(lost) <= 1, (offset, lost)


def test_a_member_that_is_a_chunk_does_not_mislead(tmp_path: Path) -> None:
    inner = chunk(index_of(("inner", 0, 64)))
    files = {"nested.caf": (0, len(inner)), "after": (len(inner), len(inner) + 10)}
    index = build_index(files)
    data = inner + b"0123456789"
    beheaded = data + b"#" * 40 + index[40:] + len(index).to_bytes(4, "little")
    found, report = run(beheaded, tmp_path)
    assert found == {"nested.caf": inner}
    assert report.lost["indexes"] == 1
    footless = data + index
    found, _ = run(footless, tmp_path)
    assert found == {"nested.caf": inner, "after": b"0123456789"}


def test_concurrent_adds_are_cut_apart(tmp_path: Path) -> None:
    data = b"firstsecnd" + b"third!" + b"alone"
    broken = chunk(index_of(("c", 0, 16), ("a", 0, 5), ("b", 0, 10), ("d", 16, 21)), data)
    found, report = run(broken, tmp_path)
    assert found == {"a": b"first", "b": b"secnd", "c": b"third!", "d": b"alone"}
    assert any("concurrent" in note for note in report.notes)


def test_inclusive_ends_get_their_byte_back(tmp_path: Path) -> None:
    found, report = run(BROKEN["inclusive-ends"][1], tmp_path)
    assert found == {"a": DATA[:20], "b": DATA[20:40], "c": DATA[40:]}
    assert report.complete


def test_raw_bytes_on_request(tmp_path: Path) -> None:
    data = BROKEN["gap"][1]
    found, _ = run(data, tmp_path)
    assert set(found) == {"a.txt", "b"}
    found, report = run(data, tmp_path, unreferenced=True)
    assert found["unreferenced/20-30.bin"] == DATA[20:30]
    assert not [outcome for outcome in report.spans if outcome.outcome is Outcome.IGNORED]


def test_order_of_the_index_is_kept(samples: Path, tmp_path: Path) -> None:
    for name in ("sorted", "insertion"):
        path = samples / "caf" / f"{name}.caf"
        salvage(path, tmp_path / name)
        assert (tmp_path / name).read_bytes() == path.read_bytes()


def test_bad_sectors_lose_only_their_member(tmp_path: Path) -> None:
    def lie(offset: int, size: int, data: bytes) -> bytes:
        if offset <= 30 < offset + size and size < 60:
            return data[: 30 - offset]
        return data

    source = MisreportingSource(BytesSource(chunk(index_of(("a", 0, 20), ("b", 20, 40), ("c", 40, 64)))), lie)
    target = tmp_path / "out.caf"
    report = salvage(source, target, format="caf")
    assert report.recovered["files"] == 2
    assert report.lost["files"] == 1
    assert [outcome.span.start for outcome in report.spans if outcome.outcome is Outcome.LOST] == [20]


def test_as_files_refuses_unsafe_names(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    source = tmp_path / "bad.caf"
    source.write_bytes(BROKEN["unsafe-name"][1] + b"\n")
    ran = exhume_cli("salvage", source, "-o", tmp_path / "out", "--as-files", "--json")
    assert ran.code == 3
    assert [p.name for p in (tmp_path / "out").rglob("*")] == ["ok"]
    assert not (tmp_path / "a.txt").exists()
    with pytest.raises(UnsupportedOperationError):
        salvage(source, tmp_path / "x", mode=SalvageMode.RECORDS)


@pytest.mark.parametrize("footer", [True, False])
def test_names_that_are_not_utf8_are_counted_as_lost(
    tmp_path: Path, footer: bool, exhume_cli: Callable[..., Any]
) -> None:
    index = index_of(("a.txt", 0, 20), ("gr\u00f6\u00dfe", 20, 64)).replace("\u00df".encode(), b"\xff\xfe")
    data = chunk(index) if footer else DATA + index.partition(b":")[2]
    found, report = run(data, tmp_path)
    assert found == {"a.txt": DATA[:20], "gr\u00f6\ufffd\ufffde": DATA[20:]}
    assert report.lost["names"] == 1
    assert "name is not valid UTF-8: kept as 'gr\u00f6\ufffd\ufffde' (CAF-402)" in report.notes
    (tmp_path / "bad.caf").write_bytes(data)
    assert (
        exhume_cli("salvage", tmp_path / "bad.caf", "-o", tmp_path / "files", "--as-files", "--format", "caf").code == 3
    )


def test_what_the_refusals_state(tmp_path: Path) -> None:
    with pytest.raises(UnrecognizedFormatError) as caught:
        salvage(tmp_path, tmp_path.parent / "out", format="caf")
    assert (caught.value.format, caught.value.actual) == ("caf", str(tmp_path))


@pytest.mark.parametrize("mode", [SalvageMode.ARCHIVE, SalvageMode.FILES])
def test_progress_counts_the_bytes_of_the_members(tmp_path: Path, mode: SalvageMode) -> None:
    reported: list[tuple[int, int | None, str]] = []
    data = chunk(index_of(("a", 0, 20), ("b", 20, 30), ("c", 30, 64)))
    salvage(data, tmp_path / "out", format="caf", mode=mode, progress=lambda *stated: reported.append(stated))
    assert [stated for stated in reported if stated[1] == 64] == [
        (20, 64, "bytes"),
        (30, 64, "bytes"),
        (64, 64, "bytes"),
    ]


def test_members_as_files_and_what_has_no_safe_name(tmp_path: Path) -> None:
    data = BROKEN["unsafe-name"][1]
    report = salvage(data, tmp_path / "out", format="caf", mode=SalvageMode.FILES)
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == {"ok": DATA[20:]}
    assert (report.recovered, report.lost, report.verified_by) == ({"files": 1}, {"files": 1}, VerifiedBy.NONE)
    assert [(f.span.start, f.span.end, f.outcome, f.content, f.reason) for f in report.spans] == [
        (0, 20, Outcome.LOST, "file ../a.txt", "could not be read or written"),
        (20, 64, Outcome.RECOVERED, "file ok", ""),
        (64, len(data) - 4, Outcome.REBUILT, "index", ""),
        (len(data) - 4, len(data), Outcome.REBUILT, "footer and what is around it", ""),
    ]
    assert report.notes[-1].startswith("lost '../a.txt': ")
    assert report.notes[-1].endswith("(EX-502)")


def test_an_output_that_cannot_be_written_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise SourceError("no space left", span=Span("elsewhere", 0, 0))

    monkeypatch.setattr("exhume.io.output.tree.OutputTree.copy", full)
    with pytest.raises(SourceError, match="no space"):
        salvage(chunk(WHOLE), tmp_path / "out", format="caf", mode=SalvageMode.FILES)

    def unknown(*arguments: object) -> None:
        raise SourceError("who knows")

    monkeypatch.setattr("exhume.io.output.tree.OutputTree.copy", unknown)
    with pytest.raises(SourceError, match="who knows"):
        salvage(chunk(WHOLE), tmp_path / "out", format="caf", mode=SalvageMode.FILES)


def test_offsets_in_notes_and_spans_are_those_of_the_image(tmp_path: Path) -> None:
    shared = index_of(("a", 8, 20), ("b", 8, 40), ("c", 40, 64))
    for index, expected in (
        (WHOLE + b"????", "the footer does not lead to the index; found it at offset 1064"),
        (b"#" * 40 + WHOLE[33:], "the start of the index is gone; entries from offset 1104 were read"),
        (shared, "2 files start at offset 1008 and end in sequence"),
    ):
        report = salvage(b"#" * 1000 + chunk(index), tmp_path / "out", format="caf", offset=1000)
        (tmp_path / "out").unlink()
        assert any(note.startswith(expected) for note in report.notes), report.notes
        assert (report.spans[0].span.start, report.spans[-1].span.end) == (1000, 1000 + 64 + len(index) + 4)


def test_a_torn_first_entry_at_the_end_of_an_image(tmp_path: Path) -> None:
    """The writer died inside its first entry: the data before the index are kept, at any offset of the chunk."""
    torn = DATA + b'{"format_version":"1.0","files":{"a":{"st'
    report = salvage(b"#" * 1000 + torn, tmp_path / "out", format="caf", offset=1000)
    assert [(f.span.start, f.span.end, f.outcome) for f in report.spans] == [
        (1000, 1064, Outcome.RECOVERED), (1064, 1000 + len(torn), Outcome.LOST),
    ]  # fmt: skip


def test_members_state_what_they_are() -> None:
    """If a member's name differs from its entry, its note states the reason."""
    twice = recover(BytesSource(BROKEN["duplicate-name"][1]))
    assert [(m.name, m.note) for m in twice.members] == [
        ("y", ""), ("x", ""), ("x (first occurrence)", "hidden by a later entry of the same name"),
    ]  # fmt: skip
    assert (twice.order, twice.index_found, twice.index_whole, twice.lost) == ("insertion", True, True, [])


def test_the_smallest_chunk_is_read_by_its_footer() -> None:
    found = recover(BytesSource(chunk(index_of(), b"")))
    assert (found.notes, found.ofs_index, found.index_end, found.index_whole) == ([], 0, 35, True)


def test_a_torn_first_entry_and_nothing_before_it(tmp_path: Path) -> None:
    torn = b'{"format_version":"1.0","files":{"a":{"st'
    report = salvage(torn, tmp_path / "out", format="caf")
    assert [(f.span.start, f.span.end, f.outcome, f.content) for f in report.spans] == [
        (0, len(torn), Outcome.LOST, "the start of an index")
    ]
    assert (report.recovered, report.lost, report.complete) == ({}, {"indexes": 1}, False)


@pytest.mark.parametrize("window", [1, 34, 35, 36, 98, 99, 100, 106, 107, 108])
def test_an_index_is_found_wherever_windows_end(monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    """At the start of a file, too, whose first byte is a window of its own."""
    monkeypatch.setattr("exhume.formats.caf.salvage.WINDOW", window)
    for data in (DATA, b""):
        found = recover(BytesSource(data + WHOLE + b"????"))
        assert (found.index_whole, found.ofs_index, found.index_end) == (True, len(data), len(data) + len(WHOLE))


def _torn(*entries: tuple[str, int, int]) -> bytes:
    """An index that breaks after these entries."""
    return index_of(*entries)[:-2] + b",!"


def test_of_two_torn_indexes_the_one_with_more_entries_counts() -> None:
    """Entries after the break of the first are counted there as well; if that is all it has, the last counts."""
    first, second = _torn(("a", 0, 10), ("b", 10, 20)), _torn(("c", 20, 64))
    found = recover(BytesSource(DATA + first + second))
    assert [(m.name, m.start, m.end) for m in found.members] == [("a", 0, 10), ("b", 10, 20), ("c", 20, 64)]
    end = 64 + len(first) + second.index(b"}") + 1
    assert (found.ofs_index, found.index_end, found.index_whole) == (64, end, False)
    found = recover(BytesSource(DATA + b'{"files":{!' + second))
    assert [m.name for m in found.members] == ["c"]
    assert found.ofs_index == 64 + 11


def test_the_last_entry_ends_where_its_brace_is() -> None:
    """Not at a brace in a name; at the end of the text when it has none."""
    for entries, rest in (
        (b'"a":{"start_byte":0,"end_byte":10},"a name with } in it":{"start_byte":10,"end_byte":20}', b",!!"),
        (b'"a":{"start_byte":0,"end_byte":10},!"and } here":{"start_byte":10,"end_byte":20}', b",!!"),
        (b'"a":{"start_byte":0,"end_byte":10},"b":5', b",!!"),
    ):
        index = b'{"files":{' + entries
        found = recover(BytesSource(DATA + index + rest))
        assert found.index_end == 64 + len(index) + (0 if entries.endswith(b"}") else len(rest))


def test_the_limit_of_entries_is_reported_with_the_place_of_the_index() -> None:
    found = recover(BytesSource(b"#" * 10 + index_of(("a", 0, 1), ("b", 1, 2), ("c", 2, 3))), Limits(entries=2))
    [note] = [note for note in found.notes if note.startswith("the index breaks off")]
    assert "at 10 (0xa): expected at most 2, found 3 [" in note, note


def test_entries_without_a_start_are_those_of_the_last_run() -> None:
    entry = b'"%b":{"start_byte":%d,"end_byte":%d}'
    text = entry % (b"a", 0, 10) + b"#" * 4097 + entry % (b"b", 10, 20) + b"#" * 4096 + entry % (b"c", 20, 64) + b"}}"
    found = recover(BytesSource(DATA + text))
    assert [m.name for m in found.members] == ["b", "c"]
    assert (found.ofs_index, found.index_end) == (64 + text.index(b'"b"'), 64 + len(text) - 2)


def test_a_chunk_as_large_as_the_specification_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Larger than writers make them by themselves."""
    data = chunk(WHOLE)
    monkeypatch.setattr("exhume.formats.caf.writer.DEFAULT_CHUNK", 64)
    salvage(data, tmp_path / "out", format="caf")
    assert (tmp_path / "out").read_bytes() == data
    monkeypatch.setattr("exhume.formats.caf.salvage.HARD_LIMIT", 100)
    assert salvage(data, tmp_path / "small", format="caf").lost["files"] == 1


def test_an_index_above_the_limit_is_refused() -> None:
    with pytest.raises(LimitExceededError):
        recover(BytesSource(chunk(WHOLE)), Limits(structure_size=len(WHOLE) - 1))
    assert recover(BytesSource(chunk(WHOLE)), Limits(structure_size=len(WHOLE))).index_whole


# --- carving ------------------------------------------------------------------------------------------------------


def carved(image: bytes) -> list[CarvedArchive]:
    return list(carve(image, only=["caf"]))


def test_chunks_are_found_in_an_image(samples: Path) -> None:
    chunks = [(samples / "caf" / f"{name}.caf").read_bytes() for name in ("sorted", "empty", "insertion")]
    noise = random.Random(5).randbytes(3000)
    image, places = noise, []
    for one in chunks:
        places.append((len(image), len(one)))
        image += one + noise[:777]
    found = carved(image)
    assert [(c.offset, c.length) for c in found] == places
    assert [str(c.verdict) for c in found] == ["incomplete", "complete", "incomplete"]  # the second one has no data
    for (offset, length), one in zip(places, chunks, strict=True):
        assert image[offset : offset + length] == one


def test_pieces_of_chunks_are_partial() -> None:
    whole = chunk(WHOLE)
    [cut] = carved(b"\0" * 99 + whole[:-4])
    assert (cut.offset, cut.length, cut.verdict) == (99, len(whole) - 4, CarveVerdict.PARTIAL)
    [headless] = carved(whole[30:])
    assert (headless.offset, headless.length, headless.verdict) == (0, len(whole) - 30, CarveVerdict.PARTIAL)
    [torn] = carved(b"\0" * 99 + whole[:145])
    assert torn.verdict is CarveVerdict.PARTIAL
    assert torn.findings
    [damaged] = carved(BROKEN["overlap"][1])
    assert damaged.verdict is CarveVerdict.DAMAGED


def test_nested_chunks_are_marked() -> None:
    inner = chunk(WHOLE)
    outer = chunk(build_index({"in.caf": (0, len(inner))}), inner)
    found = carved(b"xx" + outer)
    assert [(c.offset, c.length, c.nested_in) for c in found] == [(2, len(outer), None), (2, len(inner), 0)]


def test_the_key_alone_is_no_chunk() -> None:
    for text in (b'say "format_version": 3', b'{"format_version":"1.0"}', b'{"format_version":', b'"format_version"'):
        image = b"." * 50 + text + b"." * 50
        assert carved(image) == []
        assert locate(BytesSource(image), image.index(b'"format_version"')) is None


def test_all_members_of_the_sample_survive(samples: Path, tmp_path: Path) -> None:
    found, _ = run((samples / "caf" / "sorted.caf").read_bytes()[:-5], tmp_path)
    assert found == TREE


def test_nested_heads_are_read_a_few_times_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each head is followed by all later ones: read to the end, the work would be their number times the file."""
    from exhume.formats.caf import salvage as module

    read: list[int] = []
    original: Any = vars(module)["parse_partial"]

    def counted(data: bytes, *args: Any) -> Any:
        read.append(len(data))
        return original(data, *args)

    monkeypatch.setattr(module, "parse_partial", counted)
    entries = b",".join(b'"f%d":{"start_byte":0,"end_byte":1}' % number for number in range(500))
    path = tmp_path / "nested.caf"
    path.write_bytes(
        b'{"format_version":"1.0","files":{"x":' * 40 + b'{"format_version":"1.0","files":{' + entries + b',"bro'
    )
    found = module.recover(BytesSource(path.read_bytes(), "nested.caf"))
    assert len(found.members) + len(found.lost) == 500
    assert sum(read) < (module.READ_AGAIN + 2) * path.stat().st_size


def test_members_of_an_object_that_another_one_replaces_are_lost(tmp_path: Path) -> None:
    entry = '"{}":{{"start_byte":{},"end_byte":{}}}'
    first, second = entry.format("a", 0, 10), entry.format("b", 10, 20)
    index = f'{{"format_version":"1.0","files":{{{first}}},"files":{{{second}}}}}'.encode()
    report = salvage(BytesSource(DATA + index + len(index).to_bytes(4, "little")), tmp_path / "x.caf", format="caf")
    assert (+report.recovered, +report.lost) == ({"files": 1}, {"files": 1})
    assert "lost 'a': duplicate key in a JSON object: 'files' (CAF-304)" in report.notes
