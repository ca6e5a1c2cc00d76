"""Verifying a log in chunks: for any size and any number of workers, the findings are those of a single pass."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError, SourceError
from exhume.findings import Finding
from exhume.formats.ark import verify
from exhume.formats.ark.filters import Acceptance, Filter
from exhume.formats.ark.layout import ENTRY_SIZE
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.writer import ArkWriter, Compression
from exhume.io.source import BytesSource, Source
from exhume.io.tree import MemoryTree
from exhume.testing.sources import MisreportingSource, failing
from tests.ark.logs import REGISTRY, TYPE, message
from tests.ark.test_rules import HEADER, Log, garble, index_of_split, places, sections, with_filter
from tests.broken import Broken, broken
from tests.sizes import some

CASES = broken("ark")


def in_one_way(path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, **options: Any) -> list[Finding]:
    """The findings of messages one by one."""
    with monkeypatch.context() as patch:  # undone here: what is broken may have bounds of its own
        patch.setattr(verify, "CHUNK_BYTES", 1)
        return list(exhume.verify(path, format="ark", jobs=jobs, **options))


def in_every_way(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Iterator[list[Finding]]:
    """The findings of messages one by one: by one job, and by two."""
    return (in_one_way(path, monkeypatch, jobs, **options) for jobs in (1, 2))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.bulk
def test_pieces_find_what_one_look_finds(case: Broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with case.target(tmp_path / "log") as target:
        expected = list(exhume.verify(target, format="ark", limits=case.limits))
        for found in some(in_every_way(target, monkeypatch, limits=case.limits)):
            assert found == expected


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
    """The pieces that were checked by threads."""
    taken: list[tuple[int, int, int]] = []

    def share(function: Callable[[Any], Any], items: Iterable[Any], jobs: int) -> Iterator[Any]:
        for item in items:
            taken.append(item)
            yield function(item)

    monkeypatch.setattr(verify, "map_ordered", share)
    return taken


def test_pieces_are_of_some_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: list[tuple[int, int, int]]
) -> None:
    log = Log(tmp_path / "log")
    size = log.split_path.stat().st_size

    def counted(bound: int, target: Any = log.root, **options: Any) -> int:
        monkeypatch.setattr(verify, "CHUNK_BYTES", bound)
        taken.clear()
        assert list(exhume.verify(target, format="ark", **options)) == []
        assert taken == [(0, number, len(taken)) for number in range(len(taken))]
        return len(taken)

    assert counted(size + 1) == counted(size) == counted(size // 2 + 1) == 1
    assert counted(size // 2) == 2
    assert counted(size // 4) == 4
    assert counted(1) == 6
    assert counted(1, quick=True) == 1
    assert counted(1, tree_of(log.root, BytesSource)) == 1


def test_a_split_without_messages_is_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: list[tuple[int, int, int]]
) -> None:
    log = Log(tmp_path / "log")
    log.poke_header("num_indexed_items", 0)
    monkeypatch.setattr(verify, "CHUNK_BYTES", 1)
    assert "ARK-332" in [finding.code for finding in exhume.verify(log.root)]
    assert taken == [(0, 0, 1)]


def test_a_split_that_several_sections_name_is_checked_once(tmp_path: Path, taken: list[tuple[int, int, int]]) -> None:
    log = Log(tmp_path / "log")
    sections(log, 3)
    assert list(exhume.verify(log.root)) == []
    assert taken == [(0, 0, 1)]


def test_damaged_messages_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path / "log", "zstd")
    with_filter(log, deny=("/x.*",))
    garble(log)
    expected = list(exhume.verify(log.root))
    monkeypatch.setattr(verify, "CHUNK_BYTES", 1)
    assert list(exhume.verify(log.root, jobs=2)) == expected
    assert len(expected) == 6


def test_findings_of_all_pieces_are_counted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path / "log")
    garble(log)
    everything = list(exhume.verify(log.root))
    assert [finding.span and finding.span.start for finding in everything] == [start for start, _ in places(log)]
    monkeypatch.setattr("exhume.findings.MAX_PER_RULE", 2)
    for found in in_every_way(log.root, monkeypatch):
        assert found[:2] == everything[:2]
        assert [(one.message.rpartition(": ")[2], one.span) for one in found[2:]] == [
            ("4 more in this file", everything[-1].span)
        ]


def test_all_entries_of_a_batch_are_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path / "log")
    garble(log)
    index_of_split(log, ofs_data=[1 << 30] * 2)
    expected = list(exhume.verify(log.root))
    assert [finding.code for finding in expected][:3] == ["ARK-325", "ARK-325", "ARK-333"]
    assert len(expected) == 7
    for batch in (1, 2, 4):
        monkeypatch.setattr(verify, "BATCH", batch)
        for chunk in (0, 30, 1 << 20):
            monkeypatch.setattr(verify, "BATCH_BYTES", chunk)
            assert list(exhume.verify(log.root)) == expected


def test_what_has_no_schema_is_any_bytes_unless_it_is_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "log"
    with ArkWriter(root) as writer:
        writer.column("plain")
        writer.column("packed", "zstd")
        for column in ("plain", "packed"):
            writer.channel(f"/{column}/typed", TYPE, REGISTRY, column=column)
            writer.channel(f"/{column}/raw", column=column)
        for number in range(8):
            for column in ("plain", "packed"):
                writer.write(f"/{column}/typed", number, message(number, 3))
                writer.write(f"/{column}/raw", number, message(number, 3))
    assert {finding.code for finding in exhume.verify(root)} == {"ARK-412"}
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        messages = [one for one in log.messages(decode=False) if one.time_ns == 3]
    for one in messages:
        path = root / "splits" / one.split
        data = bytearray(path.read_bytes())
        data[one.offset : one.offset + one.stored_size] = bytes(one.stored_size)
        path.write_bytes(data)
    for found in in_every_way(root, monkeypatch):
        spans = [finding.span for finding in found if finding.span and finding.code != "ARK-412"]
        assert len(spans) == 3
        assert {
            one.channel
            for one in messages
            for span in spans
            if span.source.endswith(one.split) and one.offset <= span.start < one.offset + one.stored_size
        } == {"/plain/typed", "/packed/typed", "/packed/raw"}


def tree_of(root: Path, made: Callable[[bytes, str], Source]) -> MemoryTree:
    """The files of a log as sources of one's own."""
    files = [file for file in root.rglob("*") if file.is_file()]
    return MemoryTree({(name := file.relative_to(root).as_posix()): made(file.read_bytes(), name) for file in files})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Source]:
    """The files of splits that a log has opened."""
    found: list[Source] = []
    real = ArkArchive.split_source

    def split_source(self: ArkArchive, identifier: str) -> Source:
        found.append(real(self, identifier))
        return found[-1]

    monkeypatch.setattr(ArkArchive, "split_source", split_source)
    return found


@pytest.mark.parametrize("damage", [None, "header", "index"])
def test_every_file_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[Source], damage: str | None
) -> None:
    log = Log(tmp_path / "log")
    if damage == "header":
        log.poke(0, b"\0")
    elif damage == "index":
        log.poke_header("ofs_index", 1 << 30)
    for found in some(in_every_way(log.root, monkeypatch)):
        assert bool(found) == bool(damage)
        assert len(opened) == (2 if damage else 7)
        assert [source.fileno() for source in opened] == [None] * len(opened)
        opened.clear()


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_disk_that_fails_is_not_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: Compression
) -> None:
    log = Log(tmp_path / "log", compression)
    real = ArkArchive.split_source
    after = 0
    while True:
        lie = failing(after)
        monkeypatch.setattr(
            ArkArchive, "split_source", lambda self, name, lie=lie: MisreportingSource(real(self, name), lie)
        )
        try:
            assert next(in_every_way(log.root, monkeypatch)) == []
        except SourceError:
            after += 1
            continue
        break
    assert after > 6


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_what_was_wrong_keeps_no_messages(tmp_path: Path, compression: Compression) -> None:
    """An error that keeps where it was raised keeps what was examined there: all messages that were read together."""
    log = Log(tmp_path / "log", compression)
    garble(log)

    def errors() -> list[ExhumeError]:
        return [one for one in gc.get_objects() if isinstance(one, ExhumeError)]

    gc.collect()
    gc.disable()
    try:
        before = errors()  # those that other tests keep
        assert len(list(exhume.verify(log.root))) == 6
        assert [one for one in errors() if not any(one is other for other in before)] == []
    finally:
        gc.enable()


def test_messages_are_announced(tmp_path: Path) -> None:
    """... so that many are requested from a remote store at once."""
    reported: list[tuple[int, int]] = []

    class Announced(BytesSource):
        def will_read(self, start: int, stop: int) -> None:
            reported.append((start, stop))

    log = Log(tmp_path / "log")
    assert list(exhume.verify(tree_of(log.root, Announced), format="ark")) == []
    assert (HEADER + 6 * ENTRY_SIZE, log.split_path.stat().st_size) in reported


def test_progress_is_reported_by_splits(tmp_path: Path) -> None:
    with ArkWriter(tmp_path / "log", split_items=2) as writer:
        writer.channel("/a", TYPE, REGISTRY)
        for number in range(6):
            writer.write("/a", number, message(number, 3))
    reported: list[tuple[int, int | None, str]] = []
    assert list(exhume.verify(tmp_path / "log", progress=lambda *at: reported.append(at))) == []
    assert reported == [(1, 3, "splits"), (2, 3, "splits"), (3, 3, "splits")]


def test_filters_travel_to_other_processes() -> None:
    given = Acceptance([Filter(5, 9, ("/a.*",), ("/ab",)), Filter()])
    found = pickle.loads(pickle.dumps(given))
    assert (found.minimum_ns, found.maximum_ns, found.filters) == (5, 9, given.filters)
    assert [found.accepts_name(name) for name in ("/a", "/ab", "/b")] == [True, False, False]
