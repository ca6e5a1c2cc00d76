"""Logs that we write: read back as a plain sorted merge, verified, and recovered after a stop at any moment."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError, OutputExistsError, SourceError, WriterError
from exhume.findings import Severity
from exhume.formats.ark.collection import open_archive
from exhume.formats.ark.derive import write_snippet
from exhume.formats.ark.filters import Filter
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.repair import repair_log
from exhume.formats.ark.writer import ArkWriter
from exhume.io.local import LocalTree
from exhume.io.output.atomic import GrowingFile
from tests.ark.logs import REGISTRY, TYPE, Plan, Put, Written, counted_guids, expected_order, message, plans, write_plan


def read(path: Path, **options: Any) -> list[Written]:
    with exhume.open(path) as log:
        assert isinstance(log, ArkArchive)
        return [(m.time_ns, m.channel, m.data) for m in log.messages(**options)]


def only_manifest(root: Path) -> Path:
    (found,) = (root / "manifests").iterdir()
    return found


@given(plans())
@settings(max_examples=30)
@pytest.mark.slow
def test_random_logs_read_back_sorted(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "log"
        for _ in write_plan(plan, root):
            pass
        wanted = expected_order(plan)
        assert read(root) == wanted
        assert read(root, reverse=True) == wanted[::-1]
        assert [f for f in exhume.verify(root) if f.severity is not Severity.NOTE] == []
        topic = "/channel/0"
        assert read(root, topics=topic) == [m for m in wanted if m[1] == topic]
        if wanted:
            low, high = wanted[len(wanted) // 3][0], wanted[-len(wanted) // 3][0]
            window = [m for m in wanted if low <= m[0] < high]
            assert read(root, start_ns=low, stop_ns=high, latched=False) == window
            replayed = _latched(plan, wanted, low)
            assert read(root, start_ns=low, stop_ns=high) == replayed + window
        with exhume.open(root) as log:
            assert isinstance(log, ArkArchive)
            assert log.info().count == len(wanted)
            assert log.sections().gaps() == []


def _latched(plan: Plan, wanted: list[Written], low: int) -> list[Written]:
    last: dict[str, tuple[int, Written]] = {}
    for place, each in enumerate(wanted):
        if each[0] < low and plan.channels[int(each[1].rpartition("/")[2])][1]:
            last[each[1]] = (place, each)
    return [each for _, each in sorted(last.values(), key=lambda item: item[0])]


class Killed(BaseException):
    """The process stops here."""


class Killer:
    """Makes the n-th write stop, with none or part of its bytes on the disk."""

    def __init__(self, at: int, share: float) -> None:
        self.left, self.share = at, share
        self.real = GrowingFile.write_at

    def write_at(self, file: GrowingFile, offset: int, data: Any) -> None:
        self.left -= 1
        if self.left < 0:
            self.real(file, offset, bytes(data)[: int(len(data) * self.share)])
            raise Killed
        self.real(file, offset, data)


TORN = Plan(
    ("none",),
    ((0, False), (0, False)),
    tuple(
        Put(*one, 0)
        for one in [(1, 0), (-1, 0), *[(0, 0)] * 4, (0, 1), (-1, 0), (0, 0), (1, 0), (-1, 0), *[(0, 1)] * 3]
    ),
    split_items=7,
    split_bytes=200,
)
"""Stopped at the 26th write, it leaves an index entry whose last two bytes, the object's, are missing."""


@given(plans(), st.integers(0, 60), st.sampled_from([0.0, 0.3, 1.0]))
@example(TORN, 26, 0.3)
@settings(max_examples=40)
@pytest.mark.slow
def test_killed_at_any_write(plan: Plan, at: int, share: float) -> None:
    killer = Killer(at, share)
    patch = pytest.MonkeyPatch()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "log"
        durable: list[Written] = []
        # `abort` is what a killed process does not get to do.
        patch.setattr(GrowingFile, "write_at", lambda file, offset, data: killer.write_at(file, offset, data))
        patch.setattr(ArkWriter, "abort", lambda log: None)
        killed = False
        try:
            for flushed in write_plan(plan, root):
                durable = flushed
        except Killed:
            killed = True
        finally:
            patch.undo()
        if not killed:
            assert sorted(read(root)) == sorted(durable)
            return
        if not durable:
            return
        with open_archive(LocalTree(root), salvage=True, unfinished=True) as log:
            assert isinstance(log, ArkArchive)
            report = repair_log(log)
        found = read(report.path)
        assert found == sorted(found, key=lambda m: m[0])
        missing = list(durable)
        for each in found:
            if each in missing:
                missing.remove(each)
        assert missing == []
        everything = [
            (p.time_ns, f"/channel/{p.channel}", message(n, p.size)) for n, p in enumerate(plan.puts) if p.channel >= 0
        ]
        assert all(each in everything for each in found)
        assert [f for f in exhume.verify(report.path) if f.severity is Severity.ERROR] == []


def small_log(root: Path, **options: Any) -> None:
    with ArkWriter(root, name="small", metadata={"site": {"id": 7}}, guids=counted_guids(), **options) as log:
        first = log.channel("/a", TYPE, REGISTRY)
        second = log.channel("/b", TYPE, REGISTRY, column="other", latched=True)
        for number in range(20):
            (first if number % 2 else second).write(100 + number * 10, message(number, 5))


@pytest.mark.parametrize("step", ["write_at", "sync", "close"])
@pytest.mark.parametrize("descending", [False, True])
def test_a_log_with_an_incomplete_split_is_never_finished(
    step: str, descending: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the caller continues after an error of the disk: a log that is finished has every message."""
    real = getattr(GrowingFile, step)
    for number in itertools.count():
        calls = itertools.count()

        def fail(*args: Any, calls: Iterator[int] = calls, number: int = number) -> Any:
            if next(calls) == number:
                raise SourceError("no space left")
            return real(*args)

        root, kept = tmp_path / str(number), []
        with monkeypatch.context() as patch:
            patch.setattr(GrowingFile, step, fail)
            try:
                with ArkWriter(root, split_items=4) as log:
                    for time in sorted(range(14), reverse=descending):
                        with suppress(ExhumeError):
                            log.channel("/a", TYPE, REGISTRY).write(time, message(time, 3))
                            kept.append((time, "/a", message(time, 3)))
                            if time % 3 == 2:
                                log.flush()
            except ExhumeError:
                continue
        assert read(root) == sorted(kept)
        if next(calls) < number:  # no call failed
            break
    assert number > 3


def test_unfinished_log_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    root = tmp_path / "log"
    log = ArkWriter(root)
    channel = log.channel("/a", TYPE, REGISTRY)
    channel.write(1, message(1, 1))
    log.flush()
    with pytest.raises(ExhumeError, match="repair"):
        exhume.open(root)
    channel.write(2, message(2, 1))
    log.abort()  # keeps what was flushed
    with open_archive(LocalTree(root), unfinished=True) as unfinished:
        assert isinstance(unfinished, ArkArchive)
        report = repair_log(unfinished)
    assert [m[0] for m in read(report.path)] == [1]


def test_amendment_hides_and_adds(tmp_path: Path) -> None:
    root = tmp_path / "log"
    small_log(root)
    with exhume.open(root) as old:
        assert isinstance(old, ArkArchive)
        loaded = old.loaded
    with ArkWriter(root, amends=loaded, hide=Filter(deny=("/a",)), guids=counted_guids(1)) as log:
        better = log.channel("/a", TYPE, REGISTRY)
        better.write(105, message(99, 1))
    with exhume.open(root, log=log.identifier) as amended:
        assert isinstance(amended, ArkArchive)
        assert amended.manifest.common_identifier == loaded.manifest.common_identifier
        found = [(m.time_ns, m.channel) for m in amended.messages()]
        assert [m for m in found if m[1] == "/a"] == [(105, "/a")]
        assert len([m for m in found if m[1] == "/b"]) == 10
        rows = [(row.name, row.hidden, row.count) for row in amended.info().channels]
        assert rows == [("/a", False, 1), ("/a", True, 0), ("/b", False, 10)]
    assert [f for f in exhume.verify(root) if f.severity is not Severity.NOTE] == []
    assert len(read(root / "manifests" / loaded.manifest.identifier)) == 20


def test_snippet_shows_a_part_and_copies_nothing(tmp_path: Path) -> None:
    root = tmp_path / "log"
    small_log(root)
    everything = read(root)
    before = sorted(path.name for path in (root / "splits").iterdir())
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        made = write_snippet(log, start_ns=150, stop_ns=250, allow=["/b"], name="part")
        with pytest.raises(WriterError):
            write_snippet(log, start_ns=5, stop_ns=5)
    assert sorted(path.name for path in (root / "splits").iterdir()) == before
    assert read(made.path) == [m for m in everything if 150 <= m[0] < 250 and m[1] == "/b"]
    with exhume.open(made.path) as part:
        assert isinstance(part, ArkArchive)
        assert part.manifest.name == "part"
        # Latched replay does not reach before the snippet's own beginning.
        assert [m.time_ns for m in part.messages(start_ns=200) if m.latched] == [180]
        assert [m.time_ns for m in part.messages(start_ns=150) if m.latched] == []
        again = write_snippet(part, stop_ns=200)
    assert read(again.path) == [m for m in everything if 150 <= m[0] < 200 and m[1] == "/b"]


@pytest.mark.parametrize("topic", ["/nav/*", "/nav/a.b", "/nav/[pq]*", "/nav/.*", "/(nav/pose|odd[1]*)", "odd[1]*"])
def test_a_snippet_takes_topics_as_reading_does(topic: str, tmp_path: Path) -> None:
    with ArkWriter(tmp_path / "log") as log:
        for time, name in enumerate(("/nav/pose", "/nav/a.b", "/nav/axb", "/nav/p(1)", "odd[1]*", "odd1")):
            log.channel(name, TYPE, REGISTRY).write(time, message(time, 3))
    with exhume.open(tmp_path / "log") as opened:
        assert isinstance(opened, ArkArchive)
        chosen = [m.channel for m in opened.messages(topic)]
        assert chosen
        allowed, others = write_snippet(opened, allow=[topic]).path, write_snippet(opened, deny=[topic]).path
        rest = [m.channel for m in opened.messages() if m.channel not in chosen]
    assert [channel for _, channel, _ in read(allowed)] == chosen
    assert [channel for _, channel, _ in read(others)] == rest


def test_a_snippet_of_nothing_is_refused(tmp_path: Path) -> None:
    small_log(tmp_path / "log")
    with exhume.open(tmp_path / "log") as log:
        assert isinstance(log, ArkArchive)
        with pytest.raises(WriterError, match="no channel matches /c"):
            write_snippet(log, allow=["/a", "/c"])
        with pytest.raises(WriterError, match="no channel matches /c"):
            write_snippet(log, deny=["/c"])
        for start, stop in ((None, 0), (None, -5), (1 << 64, None), (7, 7)):
            with pytest.raises(WriterError, match="the time range is empty"):
                write_snippet(log, start_ns=start, stop_ns=stop)
        whole = write_snippet(log, start_ns=-1, stop_ns=1 << 70).path
    assert read(whole) == read(tmp_path / "log" / "manifests" / log.manifest.identifier)


def test_nothing_is_added_to_a_log_that_is_finished(tmp_path: Path) -> None:
    with ArkWriter(tmp_path / "log") as log:
        channel = log.channel("/a", TYPE, REGISTRY)
        channel.write(1, message(1, 3))
    for add in (
        lambda: channel.write(2, message(2, 3)),
        lambda: log.set_metadata("k", 1),
        lambda: log.set_metadata_text("k", "1"),
        lambda: log.column("more"),
        lambda: log.channel("/b", TYPE, REGISTRY),
        log.flush,
    ):
        with pytest.raises(WriterError, match="the log is finished"):
            add()


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), {1, 2}, [b"bytes"]])
def test_metadata_that_json_cannot_express_are_refused(value: Any, tmp_path: Path) -> None:
    with pytest.raises(WriterError, match="metadata that JSON cannot hold"):
        ArkWriter(tmp_path / "log", metadata={"k": value})


def test_roll_over_by_size_and_count(tmp_path: Path) -> None:
    small_log(tmp_path / "items", split_items=3)
    assert len(list((tmp_path / "items/splits").iterdir())) == 8
    small_log(tmp_path / "bytes", split_bytes=70)
    assert len(list((tmp_path / "bytes/splits").iterdir())) == 8
    assert read(tmp_path / "items") == read(tmp_path / "bytes")


def test_more_channels_than_a_header_contains(tmp_path: Path) -> None:
    root = tmp_path / "log"
    with ArkWriter(root, guids=counted_guids()) as log:
        for number in range(300):
            log.channel(f"/{number}", TYPE, REGISTRY).write(number, message(number, 0))
    assert [m[0] for m in read(root)] == list(range(300))
    assert [f for f in exhume.verify(root) if f.severity is not Severity.NOTE] == []


def test_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(OutputExistsError):
        ArkWriter(tmp_path / "file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/other").write_bytes(b"x")
    with pytest.raises(OutputExistsError):
        ArkWriter(tmp_path / "full")
    log = ArkWriter(tmp_path / "log", split_bytes=100)
    channel = log.channel("/a", TYPE, REGISTRY)
    for bad in (
        lambda: channel.write(-1, b"\xd1"),
        lambda: channel.write(1 << 64, b"\xd1"),
        lambda: channel.write(0, b""),
        lambda: channel.write(0, bytes(101)),
        lambda: channel.write(0, {"number": 1}),
        lambda: channel.write(0, {"number": -1, "data": b""}),
        lambda: channel.write(0, {"number": 1, "data": b"", "more": 2}),
        lambda: log.write("/nowhere", 0, b"\xd1"),
        lambda: log.column("main"),
        lambda: log.column("other", "snappy"),  # type: ignore[arg-type]
        lambda: log.channel("/raw", identifier="no guid"),
        lambda: log.set_metadata("k", {1, 2}),
        lambda: ArkWriter(tmp_path / "new", split_items=0),
        lambda: log.channel("/raw").write(0, {"a": 1}),
    ):
        with pytest.raises(WriterError):
            bad()
    log.abort()
    assert not (tmp_path / "log").exists()
    with pytest.raises(WriterError):
        log.flush()
