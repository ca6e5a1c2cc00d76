"""The surviving part of a damaged stream: events and bytes, and the report on the lost ones."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard
from exhume_ksy.facts.clp_kv_ir import Tags

import exhume
from exhume.errors import SourceError, Span, UnsupportedOperationError
from exhume.formats.kv_ir import checks, salvage_stream
from exhume.formats.kv_ir import salvage as module
from exhume.formats.kv_ir.layout import END, NODES, build_integer, build_key, build_real, build_text
from exhume.formats.kv_ir.salvage import EVENTS, UNKNOWN_KEYS, salvage
from exhume.formats.kv_ir.stream import PIECE
from exhume.formats.kv_ir.units import AUTO, USER
from exhume.io.local import FileSource
from exhume.io.source import BytesSource
from exhume.recovery import Outcome, SalvageMode, SalvageReport, VerifiedBy
from exhume.testing.sources import MisreportingSource
from tests.kv_ir.streams import EMPTY, HEAD, NULL, SMALL, TRUE, UNITS, apart, auto, event, user, wrapped
from tests.kv_ir.streams import EVENTS as HELD

Pair = tuple[dict[str, Any], dict[str, Any]]
Row = tuple[int, int, Outcome, str, str, str | None]

FALSE = bytes((Tags.FALSE_VALUE,))
RUBBISH = b"\xee" * 9
COUNT = user(Tags.NODE_INTEGER, b"n")
LEVEL = auto(Tags.NODE_INTEGER, b"level")


def one(number: int) -> bytes:
    """An event of the user's first key."""
    return event([], [(1, build_integer(number))])


def rescued(data: bytes, tmp_path: Path, **options: Any) -> tuple[SalvageReport, list[Pair]]:
    """Salvage a stream both ways, with equal results, and read the output."""
    for left in tmp_path.glob("out.*"):
        left.unlink()
    report = salvage(BytesSource(data), tmp_path / "out.clp", **options)
    reported = salvage(BytesSource(data), tmp_path / "out.jsonl", mode=SalvageMode.RECORDS)
    assert (reported.spans, reported.lost, reported.recovered, reported.notes) == (
        report.spans, report.lost, report.recovered, report.notes
    )  # fmt: skip
    if not (tmp_path / "out.clp").exists():
        assert (sum(report.recovered.values()), list(tmp_path.glob("out.*"))) == (0, [])
        return report, []
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    events = [(line[AUTO], line[USER]) for line in lines]
    if (tmp_path / "out.clp").stat().st_size:
        with exhume.open(tmp_path / "out.clp", format="kv-ir") as archive:
            assert not [finding for finding in archive.verify() if finding.severity == "error"]
            assert list(archive.events()) == events
    assert report.recovered["events"] == len(events)
    assert report.verified_by is (VerifiedBy.STRUCTURE if events else VerifiedBy.EMPTY)
    return report, events


def rows(report: SalvageReport) -> list[Row]:
    return [(s.span.start, s.span.end, s.outcome, s.content, s.reason, s.code) for s in report.spans]


def tiled(report: SalvageReport, size: int) -> None:
    """Every byte has one outcome."""
    assert [each.span.start for each in report.spans] == [0, *(each.span.end for each in report.spans)][:-1]
    assert report.spans[-1].span.end == size


HEADED = (0, len(HEAD), Outcome.REBUILT, "preamble", "", None)


def test_a_sound_stream_stays_as_it_is(tmp_path: Path) -> None:
    report, events = rescued(SMALL, tmp_path)
    assert events == HELD
    assert (tmp_path / "out.clp").read_bytes() == SMALL
    assert rows(report) == [HEADED, (len(HEAD), len(SMALL), Outcome.RECOVERED, "events", "", None)]
    assert (report.lost, report.notes, report.complete) == ({}, [], True)


def test_bytes_after_the_end_are_reported(tmp_path: Path) -> None:
    report, events = rescued(SMALL + b"more", tmp_path)
    assert events == HELD
    assert rows(report)[-1][:4] == (len(SMALL), len(SMALL) + 4, Outcome.LOST, "bytes after the end of the stream")
    assert not report.complete  # they can be events that were overwritten


def test_a_frame_stays_a_frame(tmp_path: Path) -> None:
    data = wrapped(SMALL)
    report, events = rescued(data + b"more", tmp_path)
    assert events == HELD
    assert rows(report) == [
        (0, len(data), Outcome.RECOVERED, "zstd frames", "", None),
        (len(data), len(data) + 4, Outcome.IGNORED, "bytes after the stream", "", None),
    ]
    assert (tmp_path / "out.clp").read_bytes()[:4] == data[:4]


def whole_before(size: int) -> list[Pair]:
    """The events of the small stream that end within its first bytes."""
    at, found = len(HEAD), 0
    for unit in UNITS:
        at += len(unit)
        found += at <= size and unit[0] not in NODES
    return HELD[:found]


def test_a_cut_at_any_byte_yields_every_whole_event_before_it(tmp_path: Path) -> None:
    for size in range(len(HEAD), len(SMALL)):
        _, events = rescued(SMALL[:size], tmp_path)
        assert events == whole_before(size), size
    assert events == HELD


def test_a_frame_cut_at_any_byte_yields_every_whole_event_that_can_be_decompressed(tmp_path: Path) -> None:
    engine = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    frame = b""
    for unit in (HEAD, *UNITS):  # each in a block of its own, as loggers that are stopped leave them
        frame += engine.compress(unit) + engine.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    frame += engine.compress(END) + engine.flush()
    reported = set()
    for size in range(len(zstandard.MAGIC_NUMBER.to_bytes(4, "little")), len(frame)):
        inside = zstandard.ZstdDecompressor().decompressobj().decompress(frame[:size])
        if len(inside) >= len(HEAD):
            _, events = rescued(frame[:size], tmp_path)
            assert events == whole_before(len(inside)), size
            reported.add(len(events))
    assert reported == set(range(len(HELD) + 1))


def test_a_frame_cut_short_yields_what_can_be_decompressed(tmp_path: Path) -> None:
    numbers = [number * 7919 % 65_521 for number in range(60_000)]
    data = wrapped(HEAD + COUNT + b"".join(map(one, numbers)) + END)
    cut = data[: len(data) // 2]
    report, events = rescued(cut, tmp_path)
    assert events == [({}, {"n": number}) for number in numbers[: len(events)]]
    assert len(events) > 10_000
    assert dict(report.lost) == {"ends of streams": 1}
    assert rows(report) == [(0, len(cut), Outcome.RECOVERED, "zstd frames", "", None)]


def test_a_frame_is_read_up_to_damage(tmp_path: Path) -> None:
    numbers = [number * 7919 % 65_521 for number in range(60_000)]
    data = wrapped(HEAD + COUNT + b"".join(map(one, numbers)) + END)
    middle = len(data) // 2
    report, events = rescued(data[:middle] + b"\xff" * 99 + data[middle:], tmp_path)
    assert events == [({}, {"n": number}) for number in numbers[: len(events)]]
    assert len(events) > 10_000
    assert dict(report.lost) == {"ends of streams": 1}
    [(_, at, *first), (start, end, *last)] = rows(report)
    assert (first, at, end) == ([Outcome.RECOVERED, "zstd frames", "", None], start, len(data) + 99)
    assert last == [Outcome.LOST, "zstd frames", checks.FRAME_CORRUPT.title, checks.FRAME_CORRUPT.code]


def test_a_frame_of_nothing_readable_is_lost_as_a_whole(tmp_path: Path) -> None:
    data = wrapped(SMALL)[:20]
    report, events = rescued(data, tmp_path)
    assert events == []
    assert rows(report) == [(0, 20, Outcome.LOST, "stream", "nothing of it can be read", None)]
    assert dict(report.lost) == {"streams": 1}
    assert "rebuilt" in report.notes[0]


@pytest.mark.parametrize("mode", [SalvageMode.ARCHIVE, SalvageMode.RECORDS])
@pytest.mark.parametrize("beyond", [-1, 4])
def test_a_failing_disk_is_no_damage(tmp_path: Path, mode: SalvageMode, beyond: int) -> None:
    def fail(offset: int, size: int, data: bytes) -> bytes:
        if offset + size > beyond:
            raise SourceError("read failed", span=Span("disk", offset, offset + size))
        return data

    with pytest.raises(SourceError, match="read failed"):
        salvage(MisreportingSource(BytesSource(SMALL), fail), tmp_path / "out", mode=mode)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [SalvageMode.ARCHIVE, SalvageMode.RECORDS])
def test_progress_is_reported(tmp_path: Path, mode: SalvageMode) -> None:
    reported: list[tuple[int, int | None, str]] = []
    data = HEAD + COUNT + b"".join(map(one, range(2 * EVENTS + 5))) + END
    salvage(BytesSource(data), tmp_path / "out", mode=mode, progress=lambda *state: reported.append(state))
    assert {(total, unit) for _, total, unit in reported} == {(len(data), "bytes")}
    assert [done for done, _, _ in reported] == sorted(done for done, _, _ in reported)
    assert 1 <= len(reported) <= 5
    if mode is SalvageMode.ARCHIVE:
        assert len(reported) >= 2


@pytest.mark.parametrize("failed", [1, 2])
def test_a_disk_that_fails_once_is_no_lost_preamble(tmp_path: Path, failed: int) -> None:
    reads = 0

    def fail(offset: int, size: int, data: bytes) -> bytes:
        nonlocal reads
        reads += 1
        if reads == failed:
            raise SourceError("read failed", span=Span("disk", offset, offset + size))
        return data

    with pytest.raises(SourceError, match="read failed"):
        salvage(MisreportingSource(BytesSource(SMALL), fail), tmp_path / "out")
    assert (reads, list(tmp_path.iterdir())) == (failed, [])


# -------------------------------------------------------------------------------------------- without a preamble

LOST_HEAD = "the preamble is lost"


@pytest.mark.parametrize("before", [b"", b"\x00", RUBBISH, HEAD[60:], HEAD[:4] + b"\x02" + HEAD[5:]])
def test_a_lost_preamble_is_rebuilt(tmp_path: Path, before: bytes) -> None:
    data = before + b"".join(UNITS) + END
    report, events = rescued(data, tmp_path)
    assert events == HELD
    lost = [(0, len(before), Outcome.LOST, "unreadable bytes", LOST_HEAD, None)] if before else []
    assert rows(report) == [*lost, (len(before), len(data), Outcome.RECOVERED, "events", "", None)]
    assert dict(report.lost) == {"byte ranges": 1}
    assert len(report.notes) == 1
    assert report.notes[0].endswith(": rebuilt")


@pytest.mark.parametrize("data", [RUBBISH, b"\x00" * 50, b"e" * 50, b"\x5e"])
def test_where_nothing_follows_all_is_lost(tmp_path: Path, data: bytes) -> None:
    report, events = rescued(data, tmp_path)
    assert events == []
    assert rows(report) == [(0, len(data), Outcome.LOST, "unreadable bytes", LOST_HEAD, None)]


# ------------------------------------------------------------------------------------------ damage between units

KNOWN = HEAD + LEVEL + COUNT + event([(1, build_integer(1))], [(1, build_integer(1))])
FIRST: list[Pair] = [({"level": 1}, {"n": 1})]


def resumed(tmp_path: Path, following: bytes, *, end: bytes = END) -> list[Pair]:
    """Events of a stream with rubbish in it, whose bytes from there on are `following`; all must be recovered."""
    data = KNOWN + RUBBISH + following + end
    report, events = rescued(data, tmp_path)
    at = len(KNOWN)
    assert rows(report) == [
        HEADED,
        (len(HEAD), at, Outcome.RECOVERED, "events", "", None),
        (at, at + 9, Outcome.LOST, "unreadable bytes", checks.UNKNOWN_TAG.title, checks.UNKNOWN_TAG.code),
        (at + 9, len(data), Outcome.RECOVERED, "events", "", None),
    ]
    assert dict(report.lost) == {"byte ranges": 1}
    assert events[:1] == FIRST
    return events[1:]


def test_events_after_damage_are_found(tmp_path: Path) -> None:
    assert resumed(tmp_path, one(5) + one(6) + one(7)) == [({}, {"n": number}) for number in (5, 6, 7)]


def test_three_events_or_one_and_the_end_are_believed(tmp_path: Path) -> None:
    """Without the end of the stream fewer than three may be anything."""
    assert resumed(tmp_path, one(5)) == [({}, {"n": 5})]
    assert resumed(tmp_path, one(5) + one(6)) == [({}, {"n": 5}), ({}, {"n": 6})]
    for count, kept in ((1, 0), (2, 0), (3, 3)):
        report, events = rescued(KNOWN + RUBBISH + one(5) * count, tmp_path)
        assert len(events) == 1 + kept
        assert report.lost["byte ranges"] == 1
        assert (report.notes != []) == bool(kept)
        tiled(report, len(KNOWN + RUBBISH + one(5) * count))


def test_the_end_alone_is_not_believed(tmp_path: Path) -> None:
    for following in (END, COUNT + END, one(5) + END + b"x", one(5) + END + one(5) + END + b"x"):
        data = KNOWN + RUBBISH + following
        report, events = rescued(data, tmp_path)
        assert events == FIRST, following
        assert rows(report)[-1][:3] == (len(KNOWN), len(data), Outcome.LOST)


VALUES: dict[str, tuple[int, bytes, object]] = {
    "small": (Tags.NODE_INTEGER, build_integer(-3), -3),
    "two bytes": (Tags.NODE_INTEGER, build_integer(-3000), -3000),
    "four bytes": (Tags.NODE_INTEGER, build_integer(1 << 30), 1 << 30),
    "eight bytes": (Tags.NODE_INTEGER, build_integer(1 << 60), 1 << 60),
    "real": (Tags.NODE_REAL, build_real(0.5), 0.5),
    "true": (Tags.NODE_BOOLEAN, TRUE, True),
    "false": (Tags.NODE_BOOLEAN, FALSE, False),
    "text": (Tags.NODE_TEXT, build_text("größe".encode()), "größe"),
    "long text": (Tags.NODE_TEXT, build_text(b"x" * 300), "x" * 300),
    "apart": (Tags.NODE_TEXT, apart(b"\x12 \x13 s, \x11 left", b"task_1", 0x4E91, -7), "task_1 3.14 s, -7 left"),
    "apart, without variables": (Tags.NODE_TEXT, apart(b"plain"), "plain"),
    "array": (Tags.NODE_ARRAY, apart(b"[1,\x11]", 5), [1, 5]),
    "null": (Tags.NODE_OBJECT, NULL, None),
    "empty": (Tags.NODE_OBJECT, EMPTY, {}),
}  # fmt: skip


@pytest.mark.parametrize("of", VALUES)
@pytest.mark.parametrize("tree", ["auto", "user"])
def test_values_of_every_type_are_stepped_over(tmp_path: Path, of: str, tree: str) -> None:
    """Keys declared after the damage, an event that has them, and further ones."""
    type, stored, value = VALUES[of]
    make = auto if tree == "auto" else user
    pair: list[tuple[int, bytes]] = [(2, stored)]
    again = event(pair, []) if tree == "auto" else event([], pair)
    found: Pair = ({"v": value}, {}) if tree == "auto" else ({}, {"v": value})
    assert resumed(tmp_path, make(type, b"v") + again * 3) == [found] * 3
    assert resumed(tmp_path, make(type, b"v") + again * 3 + one(4), end=END) == [*[found] * 3, ({}, {"n": 4})]


def test_events_of_no_pairs_are_stepped_over(tmp_path: Path) -> None:
    nothing = event([], [])
    assert resumed(tmp_path, one(5) + nothing + event([(1, build_integer(9))], [])) == [
        ({}, {"n": 5}), ({}, {}), ({"level": 9}, {})
    ]  # fmt: skip


def test_keys_of_several_groups_after_damage_are_reported(tmp_path: Path) -> None:
    """The declarations of a group count for the next ones."""
    following = user(Tags.NODE_INTEGER, b"a") + event([], [(2, build_integer(1))])
    following += user(Tags.NODE_INTEGER, b"b") + event([], [(3, build_integer(2)), (2, build_integer(3))])
    following += event([], [(2, build_integer(4)), (3, build_integer(5))]) * 2
    assert resumed(tmp_path, following) == [
        ({}, {"a": 1}), ({}, {"b": 2, "a": 3}), *[({}, {"a": 4, "b": 5})] * 2
    ]  # fmt: skip


@pytest.mark.parametrize("tree", ["auto", "user"])
@pytest.mark.parametrize("unseen", [0, 1, 2, 7])
def test_keys_lost_unseen_keep_their_numbers(tmp_path: Path, tree: str, unseen: int) -> None:
    """A new key after the damage has the highest number of the event after it; those before it are placeholders."""
    make = auto if tree == "auto" else user
    key = 2 + unseen
    pairs = [(key, build_integer(8))]
    again = event(pairs, []) if tree == "auto" else event([], pairs)
    report, events = rescued(KNOWN + RUBBISH + make(Tags.NODE_INTEGER, b"v") + again * 3 + END, tmp_path)
    found: Pair = ({"v": 8}, {}) if tree == "auto" else ({}, {"v": 8})
    assert events == FIRST + [found] * 3
    assert dict(report.lost) == {"byte ranges": 1}
    text = (tmp_path / "out.clp").read_bytes()
    assert [b"lost key %d" % number in text for number in range(10)] == [0 < number <= unseen for number in range(10)]


def test_keys_of_both_trees_are_reported_by_one_event(tmp_path: Path) -> None:
    group = auto(Tags.NODE_INTEGER, b"x") + user(Tags.NODE_INTEGER, b"y")
    group += event([(4, build_integer(1))], [(6, build_integer(2))])
    later = user(Tags.NODE_INTEGER, b"z") + event([], [(7, build_integer(3))])
    assert resumed(tmp_path, group + later + one(5)) == [({"x": 1}, {"y": 2}), ({}, {"z": 3}), ({}, {"n": 5})]


def test_the_trees_are_reported_one_after_the_other(tmp_path: Path) -> None:
    """Keys of the logger may still be uncertain where those of the user are determined."""
    following = user(Tags.NODE_INTEGER, b"y") + event([], [(4, build_integer(1))])
    following += auto(Tags.NODE_INTEGER, b"x") + event([(3, build_integer(2))], [(4, build_integer(3))])
    following += user(Tags.NODE_INTEGER, b"z") + event([(3, build_integer(4))], [(5, build_integer(5))])
    assert resumed(tmp_path, following + one(6)) == [
        ({}, {"y": 1}), ({"x": 2}, {"y": 3}), ({"x": 4}, {"z": 5}), ({}, {"n": 6})
    ]  # fmt: skip


def test_new_keys_without_a_number_are_lost_with_their_event(tmp_path: Path) -> None:
    """An event that has none of the new keys does not determine their numbers."""
    before = one(5) + one(6) + one(7)
    orphan = auto(Tags.NODE_INTEGER, b"x") + one(8)
    following = auto(Tags.NODE_INTEGER, b"w") + event([(3, build_integer(2))], []) + one(9)
    data = KNOWN + RUBBISH + before + orphan + following + END
    report, events = rescued(data, tmp_path)
    assert events == [*FIRST, *(({}, {"n": number}) for number in (5, 6, 7)), ({"w": 2}, {}), ({}, {"n": 9})]
    at = len(KNOWN + RUBBISH + before)
    assert (at, at + len(orphan), Outcome.LOST, "unit", UNKNOWN_KEYS, None) in rows(report)
    assert dict(report.lost) == {"byte ranges": 1, "events": 1}
    tiled(report, len(data))


def test_new_keys_that_no_event_has_are_kept_at_the_end(tmp_path: Path) -> None:
    data = KNOWN + RUBBISH + one(5) * 3 + auto(Tags.NODE_INTEGER, b"x") + END
    report, events = rescued(data, tmp_path)
    assert events == FIRST + [({}, {"n": 5})] * 3
    assert rows(report)[-1][1:3] == (len(data), Outcome.RECOVERED)


def test_an_event_of_unknown_keys_is_lost_alone(tmp_path: Path) -> None:
    data = HEAD + COUNT + one(5) + event([], [(2, build_integer(6))]) + one(7) + END
    report, events = rescued(data, tmp_path)
    assert events == [({}, {"n": 5}), ({}, {"n": 7})]
    assert dict(report.lost) == {"events": 1}
    at = len(HEAD + COUNT + one(5))
    assert rows(report)[2] == (
        at,
        at + len(one(7)),
        Outcome.LOST,
        "unit",
        checks.UNKNOWN_KEY.title,
        checks.UNKNOWN_KEY.code,
    )


def test_a_key_without_a_parent_casts_doubt(tmp_path: Path) -> None:
    """It has a number all the same, which follows from the next new key."""
    orphan = user(Tags.NODE_INTEGER, b"x", parent=1)
    data = (
        HEAD
        + COUNT
        + one(5)
        + orphan
        + one(6)
        + user(Tags.NODE_INTEGER, b"y")
        + event([], [(3, build_integer(7))])
        + END
    )
    report, events = rescued(data, tmp_path)
    assert events == [({}, {"n": 5}), ({}, {"n": 6}), ({}, {"y": 7})]
    assert dict(report.lost) == {"keys": 1}
    at = len(HEAD + COUNT + one(5))
    lost = (at, at + len(orphan), Outcome.LOST, "unit", checks.BAD_PARENT.title, checks.BAD_PARENT.code)
    assert rows(report)[2] == lost


WRONG: dict[str, bytes] = {
    "a key of the logger behind one of the user": build_key(1, auto=False) + build_key(1, auto=True) + build_integer(1)
    + build_integer(2),
    "a key of the logger behind one of the user, and one value": build_key(1, auto=False) + build_key(2, auto=True)
    + build_integer(1),
    "no value": build_key(1, auto=False) + build_key(1, auto=False),
    "a key for a value": build_key(1, auto=True) + build_key(1, auto=True),
    "a text that is not put together": build_key(1, auto=False) + bytes((Tags.FOUR_BYTE_ENCODING,)) + build_integer(1),
    "a key with no name": bytes((Tags.NODE_TEXT,)) + build_text(b"x"),
    "a key with a parent and no name": COUNT[:-3] + build_integer(1),
    "a number in a text": build_key(1, auto=False)
    + bytes((Tags.FOUR_BYTE_ENCODING,))
    + build_integer(1)
    + bytes((Tags.LOG_TYPE_1, 1, 0x11)),
    "an unknown key": event([], [(2, build_integer(1))]),
    "an unknown key of the logger": event([(2, build_integer(1))], [(2, build_integer(1))]),
    "eight bytes for four": build_key(1, auto=False) + bytes((Tags.FOUR_BYTE_ENCODING, Tags.VARIABLE_8)) + bytes(8)
    + bytes((Tags.LOG_TYPE_1, 1, 0x11)),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_unit_is_not_believed(tmp_path: Path, what: str) -> None:
    """After damage, bytes that only look like units are skipped; the units after them are read."""
    for end in (b"\xee", b""):
        following = one(5) * 3 + END
        data = KNOWN + RUBBISH + WRONG[what] + end + following
        report, events = rescued(data, tmp_path)
        assert events == FIRST + [({}, {"n": 5})] * 3
        assert rows(report)[2][:3] == (len(KNOWN), len(data) - len(following), Outcome.LOST)
        _, events = rescued(KNOWN + WRONG[what] + end + following, tmp_path)
        assert events[-3:] == [({}, {"n": 5})] * 3


@pytest.mark.slow
def test_damage_is_searched_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More is read until a place is found that can be believed, or the end is met."""
    monkeypatch.setattr(module, "WINDOW", 100)
    following = b"".join(one(number % 100) for number in range(300))
    for gap in (b"\xee" * 50, b"\xee" * (PIECE + 50_000), b"e\xee" * 1000, b"\xee\x5e\xee" * 30_000):
        data = KNOWN + gap + following + END
        report, events = rescued(data, tmp_path)
        assert len(events) == 301
        assert rows(report)[2][:3] == (len(KNOWN), len(KNOWN) + len(gap), Outcome.LOST)
        report, events = rescued(KNOWN + gap, tmp_path)
        assert events == FIRST
        assert rows(report)[-1][:3] == (len(KNOWN), len(KNOWN) + len(gap), Outcome.LOST)


@pytest.mark.parametrize("short", range(1, 14))
def test_units_lie_across_what_is_in_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: int) -> None:
    monkeypatch.setattr(module, "WINDOW", 100)
    gap = b"\xee" * (PIECE - len(KNOWN) - short)
    report, events = rescued(KNOWN + gap + one(5) * 3 + b"\xee", tmp_path)
    assert events == FIRST + [({}, {"n": 5})] * 3
    assert rows(report)[3][:3] == (PIECE - short, PIECE - short + len(one(5)) * 3, Outcome.RECOVERED)


def test_groups_lie_across_what_is_in_reach(tmp_path: Path) -> None:
    following, found = list[bytes](), list[Pair]()
    for number in range(30):
        name = f"key {number} " + "x" * 60_000
        following += [user(Tags.NODE_INTEGER, name.encode()), event([], [(2 + number, build_integer(number))])]
        found.append(({}, {name: number}))
    assert resumed(tmp_path, b"".join(following) + one(4)) == [*found, ({}, {"n": 4})]


def test_keys_before_the_end_are_believed(tmp_path: Path) -> None:
    assert resumed(tmp_path, one(5) + user(Tags.NODE_INTEGER, b"x")) == [({}, {"n": 5})]


def test_numbers_that_contradict_each_other_are_not_believed(tmp_path: Path) -> None:
    """Between two consecutive events no key is declared unseen."""
    first = user(Tags.NODE_INTEGER, b"a") + event([], [(2, build_integer(1))])
    following = user(Tags.NODE_INTEGER, b"b") + event([], [(7, build_integer(2))]) + one(5) + END
    data = KNOWN + RUBBISH + first + following
    report, events = rescued(data, tmp_path)
    assert events == [*FIRST, ({}, {"b": 2}), ({}, {"n": 5})]
    assert rows(report)[2][:3] == (len(KNOWN), len(data) - len(following), Outcome.LOST)


def test_once_numbers_are_known_keys_need_no_event(tmp_path: Path) -> None:
    both = auto(Tags.NODE_INTEGER, b"x") + user(Tags.NODE_INTEGER, b"y")
    both += event([(2, build_integer(1))], [(2, build_integer(2))])
    unused = user(Tags.NODE_INTEGER, b"z") + auto(Tags.NODE_INTEGER, b"u") + one(5)
    used = event([(3, build_integer(3))], [(3, build_integer(4))])
    assert resumed(tmp_path, both + one(4) * 2 + unused + used) == [
        ({"x": 1}, {"y": 2}), *[({}, {"n": 4})] * 2, ({}, {"n": 5}), ({"u": 3}, {"z": 4})
    ]  # fmt: skip


def test_an_event_of_older_keys_does_not_imply_a_new_one(tmp_path: Path) -> None:
    orphan = user(Tags.NODE_INTEGER, b"x") + one(8)
    data = KNOWN + RUBBISH + one(5) * 3 + orphan + one(6) + END
    report, events = rescued(data, tmp_path)
    assert events == [*FIRST, *[({}, {"n": 5})] * 3, ({}, {"n": 6})]
    at = len(KNOWN + RUBBISH + one(5) * 3)
    assert (at, at + len(orphan), Outcome.LOST, "unit", UNKNOWN_KEYS, None) in rows(report)


def test_a_group_may_be_long(tmp_path: Path) -> None:
    """Uncertain keys and their event, further apart than the window that is read at once."""
    keys = b"".join(user(Tags.NODE_TEXT, b"key %d" % number + b"x" * 60_000) for number in range(30))
    last = user(Tags.NODE_INTEGER, b"v") + event([], [(32, build_integer(8))])
    assert resumed(tmp_path, one(3) * 3 + keys + last + one(4))[-2:] == [({}, {"v": 8}), ({}, {"n": 4})]


def test_keys_before_damage_are_left_out_where_their_numbers_could_be_any(tmp_path: Path) -> None:
    """A key with a wrong number would lend its name to the values of another one."""
    keys = user(Tags.NODE_INTEGER, b"w") + user(Tags.NODE_INTEGER, b"x")
    following = user(Tags.NODE_INTEGER, b"y") + event([], [(6, build_integer(7))]) + event([], [(2, build_integer(8))])
    data = KNOWN + RUBBISH + one(5) * 3 + keys + RUBBISH + following + one(6) * 3 + END
    report, events = rescued(data, tmp_path)
    assert events == [*FIRST, *[({}, {"n": 5})] * 3, ({}, {"y": 7}), *[({}, {"n": 6})] * 3]
    at = len(KNOWN + RUBBISH + one(5) * 3)
    assert (at, at + len(keys), Outcome.LOST, "unit", UNKNOWN_KEYS, None) in rows(report)
    assert dict(report.lost) == {"byte ranges": 2, "keys": 2, "events": 1}
    tiled(report, len(data))


def test_a_key_in_doubt_that_does_not_end(tmp_path: Path) -> None:
    for rest, more in ((b"", 0), (RUBBISH + one(7) * 3 + END, 3)):
        data = KNOWN + RUBBISH + one(5) * 3 + COUNT[:-2] + rest
        report, events = rescued(data, tmp_path)
        assert len(events) == 4 + more
        tiled(report, len(data))


def test_units_at_once_after_a_key_in_doubt_that_is_no_key_are_read(tmp_path: Path) -> None:
    data = KNOWN + RUBBISH + one(5) * 3 + COUNT[:1] + one(6) * 3 + END
    report, events = rescued(data, tmp_path)
    assert events == FIRST + [({}, {"n": 5})] * 3 + [({}, {"n": 6})] * 3
    at = len(KNOWN + RUBBISH + one(5) * 3)
    assert (at, at + 1, Outcome.LOST, "unreadable bytes", UNKNOWN_KEYS, None) in rows(report)
    tiled(report, len(data))


def test_keys_in_doubt_whose_event_is_not_in_reach_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More is read until their event determines their numbers."""
    monkeypatch.setattr(salvage_stream, "WINDOW", 100)
    keys = b"".join(user(Tags.NODE_TEXT, b"%d" % number + b"x" * (PIECE // 3)) for number in range(4))
    last = event([], [(5, build_text(b"found"))])
    assert resumed(tmp_path, one(3) * 3 + keys + last + one(4))[-1] == ({}, {"n": 4})


def test_an_event_in_doubt_that_does_not_fit_is_lost_alone(tmp_path: Path) -> None:
    """The keys of the user are determined, those of the logger not yet."""
    keys = user(Tags.NODE_INTEGER, b"v")
    wrong = event([], [(2, TRUE)])
    data = KNOWN + RUBBISH + one(5) * 3 + keys + wrong + event([], [(2, build_integer(8))]) + END
    report, events = rescued(data, tmp_path)
    assert events == [*FIRST, *[({}, {"n": 5})] * 3, ({}, {"v": 8})]
    at = len(KNOWN + RUBBISH + one(5) * 3 + keys)
    lost = (at, at + len(wrong), Outcome.LOST, "unit", checks.VALUE_TYPE.title, checks.VALUE_TYPE.code)
    assert lost in rows(report)
    assert dict(report.lost) == {"byte ranges": 1, "events": 1}
    tiled(report, len(data))


def test_memory_is_bounded_where_damage_is_large(tmp_path: Path) -> None:
    data = KNOWN + b"\xee" * (24 << 20) + one(5) * 3 + END
    (tmp_path / "in").write_bytes(data)
    with FileSource(str(tmp_path / "in")) as source:
        tracemalloc.start()
        report = salvage(source, tmp_path / "out")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert report.recovered["events"] == 4
    assert peak < 8 << 20


def test_files_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "in.clp").write_bytes(SMALL)
    with pytest.raises(UnsupportedOperationError):
        exhume.salvage(tmp_path / "in.clp", tmp_path / "out", mode=SalvageMode.FILES)


def test_a_false_end_is_lost_and_not_recovered_as_well(tmp_path: Path) -> None:
    """No byte has two outcomes, and all have one."""
    data = HEAD + COUNT + one(1) + END + one(2) + one(3) + END
    report, _ = rescued(data, tmp_path)
    spans = sorted((row.span.start, row.span.end) for row in report.spans)
    assert [start for start, _ in spans] == [0, *(end for _, end in spans)][:-1]
    assert spans[-1][1] == len(data)
    at = len(HEAD + COUNT + one(1))
    assert [row.outcome for row in report.spans if row.span.start <= at < row.span.end] == [Outcome.LOST]


def test_events_after_a_false_end_are_found(tmp_path: Path) -> None:
    data = KNOWN + END + RUBBISH + one(5) * 3 + END
    report, events = rescued(data, tmp_path)
    at = len(KNOWN)
    assert events == FIRST + [({}, {"n": 5})] * 3
    assert rows(report) == [
        HEADED,
        (len(HEAD), at, Outcome.RECOVERED, "events", "", None),
        (at, at + 10, Outcome.LOST, "unreadable bytes", "events follow this end of the stream", None),
        (at + 10, len(data), Outcome.RECOVERED, "events", "", None),
    ]
    assert dict(report.lost) == {"byte ranges": 1}
    assert report.notes == ["events follow what looks like the end of the stream"]


def test_a_false_end_is_lost_where_the_preamble_is_missing(tmp_path: Path) -> None:
    data = event([], []) * 3 + END + RUBBISH + event([], []) * 4 + END
    report, events = rescued(data, tmp_path)
    assert events == [({}, {})] * 7
    end = len(event([], []) * 3)
    assert [row[:3] for row in rows(report)] == [
        (0, end, Outcome.RECOVERED),
        (end, end + 10, Outcome.LOST),
        (end + 10, len(data), Outcome.RECOVERED),
    ]


def test_keys_lost_after_a_false_end_keep_their_numbers(tmp_path: Path) -> None:
    """As after damage: keys may have been declared between the end and the next events."""
    new = user(Tags.NODE_INTEGER, b"v") + event([], [(4, build_integer(8))]) * 3
    report, events = rescued(KNOWN + END + RUBBISH + new + END, tmp_path)
    assert events == FIRST + [({}, {"v": 8})] * 3
    assert dict(report.lost) == {"byte ranges": 1}


def test_no_span_of_a_report_is_empty(tmp_path: Path) -> None:
    """Damage at once after the preamble, and an end at once after it."""
    for data in (HEAD + RUBBISH + COUNT + one(1) * 3 + END, HEAD + RUBBISH, HEAD + END + RUBBISH, HEAD + END):
        report, _ = rescued(data, tmp_path)
        assert all(row.span.size for row in report.spans)
        tiled(report, len(data))
