"""What salvage keeps of a log: messages, the outcome of every byte of a split, counts, notes, the new manifest."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

import exhume
from exhume.errors import ExhumeError, LimitExceededError, SourceError, Span, UnsupportedOperationError
from exhume.formats.ark import layout
from exhume.formats.ark.filters import Filter
from exhume.formats.ark.manifest import ManifestSection, SplitDeclaration, Statistics
from exhume.formats.ark.rbuf.layout import NIL
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.salvage import _Salvage, salvage
from exhume.formats.ark.splits import Split
from exhume.formats.ark.splitwriter import SplitWriter
from exhume.formats.ark.writer import ArkWriter
from exhume.io.local import FileSource, LocalTree
from exhume.io.output.atomic import GrowingFile
from exhume.io.source import BytesSource, Source
from exhume.limits import Limits
from exhume.recovery import SalvageMode, SalvageReport, VerifiedBy
from tests.ark import make_samples
from tests.ark.logs import REGISTRY, TYPE, counted_guids, message
from tests.ark.test_recovery import read
from tests.ark.test_rules import CAPACITY, DATA, FORGED, HEADER, Log, cut, other_registry, rename

Reported = list[tuple[int, int, str, str]]
RECORDS = SalvageMode.RECORDS
SIZE = len(message(0, 3))
END = DATA + 6 * SIZE


def salvaged(root: Path, out: Path, **options: Any) -> SalvageReport:
    with LocalTree(root) as tree:
        return salvage(tree, out, **options)


def reported(report: SalvageReport, source: str = "splits") -> Reported:
    rows = [
        (s.span.start, s.span.end, str(s.outcome), s.content) for s in report.spans if s.span.source.startswith(source)
    ]
    for (_, end, *_), (start, *_) in itertools.pairwise(rows):
        assert start == end
    return rows


def manifest_of(out: Path) -> Any:
    with exhume.open(out) as log:
        assert isinstance(log, ArkArchive)
        return log.manifest


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "log")


BEFORE, AFTER = (0, DATA, "rebuilt", "header, index and unused bytes"), (DATA, END, "recovered", "messages")


def test_a_sound_log(log: Log, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None, str]] = []
    before, old = read(log.root), log.manifest
    report = salvaged(log.root, tmp_path / "out", progress=lambda *step: seen.append(step))
    assert read(tmp_path / "out") == before
    assert (report.recovered, report.lost) == ({"messages": 6}, {})
    assert report.notes == ["manifest read with: embedded registry"]
    assert report.verified_by is VerifiedBy.STRUCTURE
    assert reported(report) == [(0, END, "recovered", "split without damage")]
    assert reported(report, "manifests") == [(0, log.manifest_path.stat().st_size, "rebuilt", "manifest")]
    assert seen == [(1, 1, "splits")]
    new = manifest_of(tmp_path / "out")
    assert new.identifier != old.identifier
    assert new.common_identifier == old.common_identifier
    assert (new.name, new.metadata, new.sections) == (old.name, old.metadata, old.sections)
    assert (tmp_path / "out/splits" / log.split_path.name).read_bytes() == log.split_path.read_bytes()
    assert not (tmp_path / "out/untimed").exists()


def test_a_sound_log_with_an_index_after_its_messages(tmp_path: Path) -> None:
    """A writer puts the sorted index there when messages came late."""
    with ArkWriter(tmp_path / "log", split_items=9) as log:
        channel = log.channel("/late", TYPE, REGISTRY)
        for number in range(6):
            channel.write(100 - number, message(number, 3))
            log.flush()
    before = read(tmp_path / "log")
    report = salvaged(tmp_path / "log", tmp_path / "out")
    assert (read(tmp_path / "out"), report.lost) == (before, {})
    index = END + (9 - CAPACITY) * 18
    assert reported(report) == [(0, index, "recovered", "split without damage"), (index, index + 6 * 18, *BEFORE[2:])]


def test_what_the_manifest_says_otherwise(log: Log, tmp_path: Path) -> None:
    """A time that is not the one in the manifest is noted, and a message that only the manifest counts is lost."""
    log.poke_entry(0, "timestamp_ns", 99)
    report = salvaged(log.root, tmp_path / "out")
    assert (report.lost, "times 99 to 104" in report.notes[1]) == ({}, True)
    column = log.manifest.sections[0].columns[0]
    stated = Statistics(column.objects[0].identifier, 9, None, None, None)
    log.change_column(splits=(SplitDeclaration(column.splits[0].identifier, (stated,)),))
    assert salvaged(log.root, tmp_path / "again").lost == {"messages": 3}


def test_every_split_is_reported_once(tmp_path: Path) -> None:
    log = make_samples.write_log(tmp_path / "log")
    seen: list[tuple[int, int | None, str]] = []
    report = salvaged(tmp_path / "log", tmp_path / "out", progress=lambda *step: seen.append(step))
    count = len(list((tmp_path / "log/splits").iterdir()))
    assert seen == [(n, count, "splits") for n in range(1, count + 1)]
    assert read(tmp_path / "out") == read(tmp_path / "log")
    assert report.lost == {}
    again = salvaged(tmp_path / "log", tmp_path / "again", log=log.identifier[:8])
    assert again.recovered == report.recovered


def test_json_lines(log: Log, tmp_path: Path) -> None:
    """They contain the same as the clean log; there are no other files, and the log is not made elsewhere."""
    made: list[str] = []
    real = os.mkdir

    def noting(path: Any, *rest: Any, **named: Any) -> None:
        made.append(str(path))
        real(path, *rest, **named)

    with patch("os.mkdir", noting):
        report = salvaged(log.root, tmp_path / "lines", mode=RECORDS)
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert [line["time_ns"] for line in lines] == list(range(100, 106))
    assert {line["channel"] for line in lines} == {"/a", "/b"}
    assert report.recovered == {"messages": 6}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lines", "log"]
    assert made
    assert all(path.startswith(str(tmp_path / ".lines.")) for path in made)


def test_lines_are_counted_as_the_filters_show_them(log: Log, tmp_path: Path) -> None:
    [shown] = log.manifest.sections
    hiding = ManifestSection((), filter=Filter(maximum_ns=102))  # it applies to the sections that follow
    log.set_manifest(log.manifest._replace(sections=(hiding, shown)))
    report = salvaged(log.root, tmp_path / "lines", mode=RECORDS)
    lines = (tmp_path / "lines").read_text().splitlines()
    assert 0 < len(lines) < 6
    assert report.recovered == {"messages": len(lines)}
    assert report.notes[-1] == f"the log's columns and filters show {len(lines)} of 6 messages"


def test_messages_are_no_files(log: Log, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperationError, match="as files"):
        exhume.salvage(log.root, tmp_path / "out", mode=SalvageMode.FILES)


def test_nothing_to_salvage(tmp_path: Path) -> None:
    """No manifest and no split: the error of opening it, for a directory and for bytes."""
    (tmp_path / "empty/splits").mkdir(parents=True)
    (tmp_path / "empty/splits/notes").write_bytes(b"x")
    (tmp_path / "empty/splits" / FORGED).write_bytes(b"no split")
    with pytest.raises(ExhumeError) as caught:
        salvaged(tmp_path / "empty", tmp_path / "out")
    assert caught.value.code == "ARK-101"
    with pytest.raises(ExhumeError):
        salvage(BytesSource(b"hello"), tmp_path / "out")


@pytest.mark.parametrize("jobs", [1, 2])
def test_messages_of_an_unknown_codec_are_carried_over(jobs: int, tmp_path: Path) -> None:
    log = Log(tmp_path / "packed", compression="zstd")
    log.change_column(compression="snappy")
    report = salvaged(log.root, tmp_path / "out", jobs=jobs)
    assert (report.recovered, report.lost, report.verified_by) == ({"messages": 6}, {}, VerifiedBy.NONE)
    assert sum("neither a codec nor a schema" in note for note in report.notes) == 2
    assert (tmp_path / "out/splits" / log.split_path.name).read_bytes() == log.split_path.read_bytes()
    assert manifest_of(tmp_path / "out").sections[0].columns[0].compression == "snappy"


def test_without_a_manifest_each_split_is_a_column(log: Log, tmp_path: Path) -> None:
    log.manifest_path.unlink()
    (log.root / "splits/notes").write_bytes(b"x")
    (log.root / "splits" / FORGED).write_bytes(b"no split")
    report = salvaged(log.root, tmp_path / "out")
    assert report.recovered == {"messages": 6}
    assert report.notes[0] == "manifest read with: salvage scan"
    assert reported(report, "manifests") == []
    new = manifest_of(tmp_path / "out")
    assert [column.name for section in new.sections for column in section.columns] == [f"split {log.split_path.name}"]
    assert new.common_identifier == new.identifier != NIL
    assert report.verified_by is VerifiedBy.NONE
    unchecked = [note for note in report.notes if note.startswith("channel ")]
    assert len(unchecked) == len(set(unchecked)) == 2


def test_files_that_are_not_of_the_log(log: Log, tmp_path: Path) -> None:
    """Split that no manifest names hold messages that are not kept; the files of other logs and all else do not."""
    other = Log(tmp_path / "other")
    raw = log.split_path.read_bytes()
    named, unnamed = FORGED, FORGED.replace("1", "2")
    (log.root / "splits" / named).write_bytes(raw)
    section = other.manifest.sections[0]
    column = section.columns[0]._replace(splits=(section.columns[0].splits[0]._replace(identifier=named),))
    elsewhere = other.manifest._replace(identifier=unnamed, sections=(section._replace(columns=(column,)),))
    other.set_manifest(elsewhere)
    (log.root / "manifests" / unnamed).write_bytes(other.manifest_path.read_bytes())
    for name, data in ((unnamed.upper(), b"?"), ("renamed", raw), ("notes", b"text")):
        (log.root / "splits" / name).write_bytes(data)
    (log.root / "README").write_bytes(b"read me")
    (log.root / "empty").write_bytes(b"")
    (log.root / "splits/outside").symlink_to(tmp_path)
    (log.root / "splits/dangling").symlink_to(tmp_path / "nothing")
    report = salvaged(log.root, tmp_path / "out", log=log.manifest.identifier)
    assert {
        s.span.source: (str(s.outcome), s.content, s.reason, s.code) for s in report.spans if s.content != "messages"
    } == {
        f"manifests/{log.manifest_path.name}": ("rebuilt", "manifest", "", None),
        f"manifests/{unnamed}": ("ignored", "not part of the log", "", None),
        f"splits/{log.split_path.name}": ("recovered", "split without damage", "", None),
        f"splits/{named}": ("ignored", "not part of the log", "", None),
        f"splits/{unnamed.upper()}": ("lost", "split", "no manifest refers to this split", "ARK-341"),
        "splits/renamed": ("lost", "split", "no manifest refers to this split", "ARK-341"),
        "splits/notes": ("ignored", "not part of the log", "", None),
        "README": ("ignored", "not part of the log", "", None),
    }
    assert {s.span.source: s.span.end for s in report.spans}["README"] == 7
    assert (report.recovered, report.lost) == ({"messages": 6}, {"splits that no manifest names": 2})
    assert report.notes[1].startswith("splits/dangling: ")
    assert report.notes[2:] == ["a split that no manifest names can be salvaged separately: pass its file"]
    alone = salvaged_file(log.manifest_path, tmp_path / "alone")
    assert not [s for s in alone.spans if s.span.source.endswith(("README", "renamed"))]


def salvaged_file(path: Path, out: Path) -> SalvageReport:
    """The log of a manifest file alone, without the files around it."""
    with LocalTree(path.parent) as tree, tree.source(path.name) as source:
        return salvage(source, out)


def test_a_manifest_that_was_not_closed(log: Log, tmp_path: Path) -> None:
    rename(log.manifest_path, log.manifest_path.name + ".partial")
    report = salvaged(log.root, tmp_path / "out")
    assert report.notes == ["manifest read with: embedded registry"]
    assert report.verified_by is VerifiedBy.STRUCTURE


def test_limits_without_a_manifest(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", "lz4")
    log.manifest_path.unlink()
    assert salvaged(log.root, tmp_path / "out").recovered == {"messages": 6}
    small = salvaged(log.root, tmp_path / "small", limits=Limits(payload_size=SIZE - 1))  # read in windows
    assert (small.recovered, small.lost) == ({"messages": 6}, {"manifests": 1})


def test_a_manifest_that_leads_nowhere_is_lost(log: Log, tmp_path: Path) -> None:
    rename(log.manifest_path, "manifest")
    (log.root / "notes").write_bytes(b"x")
    report = salvaged(log.root, tmp_path / "out")
    rows = {s.span.source: (str(s.outcome), s.content, s.reason) for s in report.spans}
    assert rows["manifests/manifest"] == ("lost", "manifest", "no log can be opened with it")
    assert rows["notes"] == ("ignored", "not part of the log", "")
    assert not report.complete


def test_a_directory_of_several_logs_wants_a_choice(log: Log, tmp_path: Path) -> None:
    other = Log(tmp_path / "other")
    other.set_manifest(other.manifest._replace(identifier=FORGED))
    (log.root / "manifests" / FORGED).write_bytes(other.manifest_path.read_bytes())
    with pytest.raises(ExhumeError) as caught:
        salvaged(log.root, tmp_path / "out")
    assert caught.value.code == "ARK-108"
    assert salvaged(log.root, tmp_path / "out", log=FORGED).recovered == {"messages": 6}


def test_the_limits_apply(log: Log, tmp_path: Path) -> None:
    report = salvaged(log.root, tmp_path / "out", limits=Limits(structure_size=100))
    assert report.notes[0] == "manifest read with: salvage scan"
    with pytest.raises(LimitExceededError):
        salvaged(log.root, tmp_path / "lines", limits=Limits(structure_size=100), mode=RECORDS)


def test_a_damaged_message_costs_itself(log: Log, tmp_path: Path) -> None:
    before = read(log.root)
    log.poke(DATA + 2 * SIZE, b"\xee")
    report = salvaged(log.root, tmp_path / "out")
    assert read(tmp_path / "out") == before[:2] + before[3:]
    assert (report.recovered, report.lost) == ({"messages": 5}, {"messages": 1})
    one, two = DATA + 2 * SIZE, DATA + 3 * SIZE
    assert reported(report) == [
        BEFORE, (DATA, one, "recovered", "messages"), (one, two, "lost", "message"), (two, END, "recovered", "messages")
    ]  # fmt: skip
    (lost,) = [s for s in report.spans if str(s.outcome) == "lost"]
    assert lost.code
    assert lost.reason
    (path,) = (tmp_path / "out/splits").iterdir()
    assert path.name != log.split_path.name
    (stated,) = manifest_of(tmp_path / "out").sections[0].columns[0].splits
    assert (stated.identifier, sum(each.item_count for each in stated.statistics)) == (path.name, 5)
    assert not (tmp_path / "out/untimed").exists()


def test_large_messages_of_a_damaged_split_are_copied_in_chunks(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read(log.root)
    log.poke(DATA + 2 * SIZE, b"\xee")
    monkeypatch.setattr("exhume.formats.ark.salvage.BATCH_BYTES", SIZE - 1)
    monkeypatch.setattr(Split, "read_messages", lambda *about: pytest.fail("it is held in memory"))
    report = salvaged(log.root, tmp_path / "out")
    monkeypatch.undo()
    assert read(tmp_path / "out") == before[:2] + before[3:]
    assert (report.recovered, report.lost) == ({"messages": 5}, {"messages": 1})


def test_an_entry_that_points_outside(log: Log, tmp_path: Path) -> None:
    """The bytes that no entry names any more are lost once, however many entries point elsewhere."""
    log.poke_entry(5, "ofs_data", 1 << 20)
    log.poke_entry(4, "len_data", 0)
    report = salvaged(log.root, tmp_path / "out")
    assert (report.recovered["messages"], report.lost["messages"]) == (4, 2)
    end = DATA + 4 * SIZE
    assert reported(report) == [BEFORE, (DATA, end, "recovered", "messages"), (end, END, "lost", "message")]
    assert report.lost["spans without an index entry"] == 1
    assert report.spans[2].reason == "no index entry names these bytes"


def lose(log: Log, position: int, start: int, size: int) -> None:
    """Let an entry of no known object claim bytes."""
    log.poke_entry(position, "ofs_data", start)
    log.poke_entry(position, "len_data", size)
    log.poke_entry(position, "object_identifier", 9)


def test_entries_that_share_bytes(log: Log, tmp_path: Path) -> None:
    """What one entry leads to is kept, whatever a bad one says of it."""
    lose(log, 1, DATA, SIZE)
    report = salvaged(log.root, tmp_path / "out")
    two, three = DATA + SIZE, DATA + 2 * SIZE
    assert reported(report) == [
        BEFORE, (DATA, two, "recovered", "messages"), (two, three, "lost", "message"),
        (three, END, "recovered", "messages"),
    ]  # fmt: skip
    assert [s.reason for s in report.spans if str(s.outcome) == "lost"] == ["no index entry names these bytes"]
    assert report.lost == {"messages": 1, "spans without an index entry": 1}


ONE, TWO = DATA + SIZE, DATA + 3 * SIZE


@pytest.mark.parametrize(
    ("claims", "starts"),
    [
        ([(HEADER - 5, TWO), (HEADER - 5, TWO)], {ONE: "claimed"}),
        ([(ONE + 2, 3), (ONE, 9)], {ONE: "claimed", ONE + 9: "not claimed"}),
        ([(ONE, 4), (ONE + 8, 2)],
         {ONE: "claimed", ONE + 4: "not claimed", ONE + 8: "claimed", ONE + 10: "not claimed"}),
        ([(ONE, 9), (ONE, 4)], {ONE: "claimed", ONE + 9: "not claimed"}),
        ([(END, 7), (ONE + 5, 2)], {ONE: "not claimed", ONE + 5: "claimed", ONE + 7: "not claimed"}),
        ([(END + 99, 7), (0, 5)], {ONE: "not claimed"}),
        ([(TWO, 4), (TWO - 4, 4)], {ONE: "not claimed", TWO - 4: "claimed"}),
    ],
)  # fmt: skip
def test_bytes_that_bad_entries_claim(
    log: Log, tmp_path: Path, claims: list[tuple[int, int]], starts: dict[int, str]
) -> None:
    """The second and third message are lost: their bytes are those of bad entries, or of none."""
    for position, (start, size) in zip((1, 2), claims, strict=True):
        lose(log, position, start, size)
    report = salvaged(log.root, tmp_path / "out")
    rows = [s for s in report.spans if s.span.source.startswith("splits")]
    lost = {s.span.start: "claimed" if s.code else "not claimed" for s in rows if ONE <= s.span.start < TWO}
    assert lost == starts
    assert [(s.span.start, s.span.end) for s in rows if str(s.outcome) == "recovered"] == [(DATA, ONE), (TWO, END)]
    assert reported(report)[-1][1] == END
    assert report.lost["messages"] == 2


def test_of_several_reasons_the_one_that_the_index_has_first_is_reported(log: Log, tmp_path: Path) -> None:
    lose(log, 1, ONE, 9)
    log.poke_entry(2, "ofs_data", ONE)
    log.poke_entry(2, "len_data", 4)
    report = salvaged(log.root, tmp_path / "out")
    assert [(s.span.start, s.span.end, s.code) for s in report.spans if s.span.start >= ONE][:2] == [
        (ONE, ONE + 9, "ARK-326"), (ONE + 9, TWO, None)
    ]  # fmt: skip


def test_bytes_after_the_messages(log: Log, tmp_path: Path) -> None:
    raw = log.split_path.read_bytes()
    log.split_path.write_bytes(raw + bytes(9))
    report = salvaged(log.root, tmp_path / "zeros")
    assert reported(report) == [
        (0, END, "recovered", "split without damage"), (END, END + 9, "rebuilt", "header, index and unused bytes")
    ]  # fmt: skip
    assert report.lost == {}
    log.split_path.write_bytes(raw + b"\0more")
    report = salvaged(log.root, tmp_path / "more")
    assert reported(report)[1:] == [(END, END + 5, "lost", "message")]
    assert report.lost == {"spans without an index entry": 1}
    assert report.recovered == {"messages": 6}


@pytest.mark.parametrize(
    ("start", "end", "written", "rows"),
    [
        (0, 100, (), [(0, 100, "rebuilt")]),
        (0, 100, (5, 85), [(0, 100, "rebuilt")]),
        (0, 100, (50,), [(0, 20, "rebuilt"), (20, 80, "lost"), (80, 100, "rebuilt")]),
        (0, 100, (95,), [(0, 90, "rebuilt"), (90, 100, "lost")]),
        (20, 30, (25,), [(20, 30, "lost")]),
        (30, 70, (30,), [(30, 70, "lost")]),
        (70, 80, (79,), [(70, 80, "lost")]),
        (70, 85, (79, 84), [(70, 80, "lost"), (80, 85, "rebuilt")]),
        (82, 88, (83,), [(82, 88, "rebuilt")]),
        (85, 100, (86, 90), [(85, 90, "rebuilt"), (90, 100, "lost")]),
        (89, 92, (91,), [(89, 90, "rebuilt"), (90, 92, "lost")]),
        (90, 100, (), [(90, 100, "rebuilt")]),
        (90, 95, (90,), [(90, 95, "lost")]),
        (10, 20, (10, 19), [(10, 20, "rebuilt")]),
        (10, 21, (10, 20), [(10, 20, "rebuilt"), (20, 21, "lost")]),
    ],
)
def test_bytes_around_an_index_that_was_sorted_after_the_messages(
    start: int, end: int, written: tuple[int, ...], rows: list[tuple[int, int, str]]
) -> None:
    """The header and unused slots end at 20, and the index is from 80 to 90; bytes that are `written` are not zero."""
    data = bytes(1 if at in written else 0 for at in range(100))
    report, found = SalvageReport("ark", "out"), SimpleNamespace(index_span=(80, 90), index_end=20)
    found.split = SimpleNamespace(source=BytesSource(data, "splits/1"))
    run: Any = SimpleNamespace(report=report)
    run._account_rest = partial(_Salvage._account_rest, run)
    run._account_rest(found, start, end)
    assert [(one, to, outcome) for one, to, outcome, _ in reported(report)] == rows
    assert report.lost.get("spans without an index entry", 0) == sum(outcome == "lost" for _, _, outcome in rows)
    report.spans.clear()
    found.index_span = (20, 30)  # at once after the unused slots
    run._account_rest(found, 20, 30)
    assert [row[:3] for row in reported(report)] == [(20, 30, "rebuilt")]
    report.spans.clear()
    found.index_span = (10, 19)  # before the messages, where it belongs
    run._account_rest(found, 10, 100)
    assert reported(report)[0][:3] == (10, 20, "rebuilt") or not any(data[20:])


def test_an_entry_that_claims_the_start_of_the_index_after_the_messages(tmp_path: Path) -> None:
    with ArkWriter(tmp_path / "log", split_items=9) as log:
        channel = log.channel("/late", TYPE, REGISTRY)
        for number in range(6):
            channel.write(100 - number, message(number, 3))
            log.flush()
    [path] = (tmp_path / "log/splits").iterdir()
    data = bytearray(path.read_bytes())
    index = len(data) - 6 * 18
    for name, value in (("ofs_data", index), ("len_data", 20), ("object_identifier", 9)):
        start, end = getattr(layout.ENTRY_FIELDS, name)
        data[index + start : index + end] = value.to_bytes(end - start, "little")
    path.write_bytes(data)
    report = salvaged(tmp_path / "log", tmp_path / "out")
    assert reported(report)[-2:] == [(index, index + 20, "lost", "message"), (index + 20, len(data), *BEFORE[2:])]
    assert report.lost["messages"] == 1


def test_a_split_without_messages(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.poke(HEADER, bytes(18 * CAPACITY))
    log.poke_header("num_indexed_items", 0)
    cut(log.split_path, DATA)
    report = salvaged(log.root, tmp_path / "out")
    assert reported(report)[0][0] == 0
    assert reported(report)[-1][1] == DATA
    assert report.recovered.get("messages", 0) == 0
    assert report.verified_by is VerifiedBy.EMPTY
    assert report.lost == {"messages": 6}  # the manifest counts them


def test_a_missing_split(log: Log, tmp_path: Path) -> None:
    log.split_path.unlink()
    report = salvaged(log.root, tmp_path / "out")
    assert report.lost == {"splits": 1, "messages": 6}
    assert [note for note in report.notes if note.startswith(f"split {log.split_path.name}: ")]
    assert manifest_of(tmp_path / "out").sections[0].columns[0].splits == ()
    log.change_column(splits=tuple(
        s._replace(statistics=tuple(each._replace(item_count=None) for each in s.statistics))
        for s in log.manifest.sections[0].columns[0].splits))  # fmt: skip
    assert salvaged(log.root, tmp_path / "again").lost == {"splits": 1, "messages": 0}


def test_a_file_that_is_no_split(log: Log, tmp_path: Path) -> None:
    log.split_path.write_bytes(b"?" * 300)
    report = salvaged(log.root, tmp_path / "out")
    assert reported(report) == [(0, 300, "lost", "split")]
    assert (report.spans[0].code, bool(report.spans[0].reason)) == ("ARK-320", True)
    assert report.lost == {"splits": 1, "messages": 6}


def single(root: Path, count: int, capacity: int) -> tuple[Path, int]:
    """A log of one channel, and where its messages begin."""
    with ArkWriter(root, split_items=capacity, guids=counted_guids()) as log:
        log.channel("/a", TYPE, REGISTRY)
        for number in range(count):
            log.write("/a", 100 + number, message(number, 3))
    (path,) = (root / "splits").iterdir()
    return path, HEADER + 18 * capacity


@pytest.mark.parametrize("capacity", [8, 70_000])
@pytest.mark.parametrize("header", [True, False])
def test_messages_without_their_index(tmp_path: Path, capacity: int, *, header: bool) -> None:
    """However large the index was; without the header too."""
    path, start = single(tmp_path / "log", 3, capacity)
    raw = path.read_bytes()
    path.write_bytes(
        (raw[:HEADER] if header else b"?" * 100 + bytes(HEADER - 100)) + bytes(start - HEADER) + raw[start:]
    )
    report = salvaged(tmp_path / "log", tmp_path / "out")
    assert report.recovered["messages without time"] == 3
    assert report.lost["messages"] == 3
    assert report.verified_by is VerifiedBy.STRUCTURE
    assert report.notes[-1] == f"split {path.name}: no index: untimed/ has 3 messages without times"
    lines = [json.loads(line) for line in (tmp_path / f"out/untimed/{path.name}.jsonl").read_text().splitlines()]
    assert [(line["split"], line["offset"], line["size"]) for line in lines] == [
        (path.name, start + n * SIZE, SIZE) for n in range(3)
    ]
    assert [line["value"]["number"] for line in lines] == [0, 1, 2]


def test_messages_after_an_index_of_noise(tmp_path: Path) -> None:
    path, start = single(tmp_path / "log", 3, 8)
    raw = path.read_bytes()
    path.write_bytes(raw[:HEADER] + b"\x01" * (start - HEADER) + raw[start:])
    report = salvaged(tmp_path / "log", tmp_path / "out")
    assert report.recovered["messages without time"] == 3


def test_two_splits_without_index(tmp_path: Path) -> None:
    with ArkWriter(tmp_path / "log", split_items=2, guids=counted_guids()) as log:
        log.channel("/a", TYPE, REGISTRY)
        for number in range(4):
            log.write("/a", 100 + number, message(number, 3))
    for path in (tmp_path / "log/splits").iterdir():
        raw = path.read_bytes()
        path.write_bytes(raw[:HEADER] + bytes(36) + raw[HEADER + 36 :])
    report = salvaged(tmp_path / "log", tmp_path / "out")
    assert len(list((tmp_path / "out/untimed").iterdir())) == 2
    assert report.recovered["messages without time"] == 4


def test_a_split_that_is_cut_within_its_index(log: Log, tmp_path: Path) -> None:
    """Its header counts six messages, and the index is large enough for them: that none is there is a loss of six."""
    cut(log.split_path, HEADER + 4 * 18)
    report = salvaged(log.root, tmp_path / "out")
    assert report.lost["messages"] == 6
    assert not report.complete
    assert [note for note in report.notes if "the header counts 6 messages, the index has 0 entries" in note]


def test_filters(log: Log, tmp_path: Path) -> None:
    hidden = ManifestSection((), filter=Filter(deny=("/b",)))
    log.set_manifest(log.manifest._replace(sections=(*log.manifest.sections, hidden)))
    report = salvaged(log.root, tmp_path / "out")
    assert manifest_of(tmp_path / "out").sections[1].filter == hidden.filter
    assert len(report.notes) == 1
    other = Log(tmp_path / "other")
    other_registry(other)
    report = salvaged(other.root, tmp_path / "other-out")
    assert "an unknown filter was omitted: more messages may be shown than before" in report.notes
    assert manifest_of(tmp_path / "other-out").sections[0].filter.is_understood
    assert len(read(tmp_path / "other-out")) == 6


def test_a_damaged_registry(log: Log, tmp_path: Path) -> None:
    objects = log.manifest.sections[0].columns[0].objects
    log.change_column(objects=(replace(objects[0], schema_registry='{"schemas": 1}'), objects[1], objects[1]))
    report = salvaged(log.root, tmp_path / "out")
    made = manifest_of(tmp_path / "out").sections[0].columns[0].objects
    assert made == (replace(objects[0], schema_registry=""), objects[1])
    assert [n for n in report.notes if n.startswith(f"channel {objects[0].name}: its schema registry is damaged (")]


def test_what_the_reader_found_is_noted(log: Log, tmp_path: Path) -> None:
    rename(log.manifest_path, FORGED)
    log.manifest_path = log.root / "manifests" / FORGED
    log.poke(-5, b"\0", log.manifest_path)
    report = salvaged(log.root, tmp_path / "out")
    assert [note for note in report.notes[1:] if "ARK-" in note]


def test_a_split_alone(log: Log, tmp_path: Path) -> None:
    """Its source belongs to the caller and stays open."""
    source = FileSource(log.split_path)
    report = salvage(source, tmp_path / "out")
    assert report.recovered == {"messages": 6}
    assert source.read_at(0, 1)
    assert [(s.span.start, s.span.end) for s in report.spans] == [(0, END)]
    source.close()


def test_a_disk_that_fails_while_a_split_is_rewritten(log: Log, tmp_path: Path) -> None:
    """The disk's error is reported; the unfinished file is closed."""
    lose(log, 1, DATA, SIZE)
    left: list[str] = []
    real = SplitWriter.abandon

    def abandon(writer: SplitWriter) -> None:
        left.append(writer.path.parent.name)
        real(writer)

    fails = patch.object(SplitWriter, "add", side_effect=SourceError("input/output error"))
    with fails, patch.object(SplitWriter, "abandon", abandon), pytest.raises(SourceError, match="input/output"):
        salvaged(log.root, tmp_path / "out")
    assert left == ["splits"]
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


@pytest.mark.parametrize("mode", [SalvageMode.ARCHIVE, SalvageMode.RECORDS])
def test_a_full_disk_names_the_output(mode: SalvageMode, log: Log, tmp_path: Path) -> None:
    def fail(self: GrowingFile, offset: int, data: bytes) -> None:
        raise SourceError("no space left", span=Span(os.fspath(self.path), offset, offset))

    log.poke_entry(0, "len_data", 0)  # the split is written again
    with patch.object(GrowingFile, "write_at", fail), pytest.raises(SourceError, match="no space left") as caught:
        salvaged(log.root, tmp_path / "out", mode=mode)
    assert caught.value.span == Span(os.fspath(tmp_path / "out"), 0, 0)


def test_splits_are_closed(log: Log, tmp_path: Path) -> None:
    opened: list[Source] = []
    real = LocalTree.source

    def noting(tree: LocalTree, name: str) -> Source:
        opened.append(real(tree, name))
        return opened[-1]

    with patch.object(LocalTree, "source", noting):
        salvaged(log.root, tmp_path / "out")
    splits = [source for source in opened if source.name.startswith("splits/")]
    assert splits
    for source in splits:
        with pytest.raises(ExhumeError):
            source.read_at(0, 1)
