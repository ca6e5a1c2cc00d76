"""What `verify` holds in memory of a table, and what it examines in which order.

Spec: clp_s.txt, Files section; the rules themselves are tested in `test_verify`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from exhume.errors import CodecError, ExhumeError, StructureError
from exhume.formats.clp_s import verify, verify_tables, verify_values
from exhume.formats.clp_s.layout import NodeType, TimestampEncoding
from exhume.formats.clp_s.read.blocks import SharedValue
from exhume.formats.clp_s.read.tables import Table
from exhume.formats.clp_s.reader import open_archive
from exhume.io.source import BytesSource
from tests.clp_s.build import demo


class Loads:
    """A table that counts how often it is loaded."""

    def __init__(self, error: ExhumeError | None = None) -> None:
        self.count = 0
        self.error = error

    def share(self) -> None:
        assert not self.count, "it was loaded already"

    def load(self) -> object:
        self.count += 1
        if self.error:
            raise self.error
        return self


def test_a_table_is_loaded_once_and_dropped_with_the_last_that_needs_it() -> None:
    table: Any = Loads()
    loaded = verify_tables.SharedLoad(table.load, table.share, 3)
    for left in (2, 1, 0):
        assert loaded.take() is table
        assert (loaded._data is None) == (left == 0)
    assert table.count == 1


def test_a_table_that_cannot_be_loaded_is_tried_once() -> None:
    table: Any = Loads(StructureError("broken"))
    loaded = verify_tables.SharedLoad(table.load, table.share, 3)
    for _ in range(3):
        with pytest.raises(StructureError, match="broken"):
            loaded.take()
    assert table.count == 1


def test_the_tasks_of_a_table_share_one_load(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    load = Table.load

    def counted(table: Table) -> Any:
        loads.append(table.index)
        return load(table)

    monkeypatch.setattr(Table, "load", counted)
    with open_archive(BytesSource(demo().build())) as archive:
        for table in archive.tables:
            tasks = list(verify_tables.table_tasks(table, quick=False, counted=True))
            assert len(tasks) == len(verify_tables.checked_columns(table.layout)) + 1
            assert [finding for task in tasks for finding in task.work()] == []
            assert tasks[-1].work.args[1]._data is None  # type: ignore[attr-defined]
        assert loads == [table.index for table in archive.tables]


def test_records_are_counted_once() -> None:
    with open_archive(BytesSource(demo().build())) as archive:
        table = archive.tables[0]
        for quick in (False, True):
            for counted, records in ((True, table.num_messages), (False, 0)):
                tasks = list(verify_tables.table_tasks(table, quick, counted=counted))
                assert sum(task.records for task in tasks) == records


class Large:
    """A large table, and its rows: those whose check finds something are `bad`."""

    def __init__(self, stream: int, start: int, end: int, *, problem: object = None, large: bool = True) -> None:
        self.entry = SimpleNamespace(stream_id=stream, start=start, end=end, problem=problem)
        self.large = large
        self.requested: list[tuple[int, int]] = []
        self.bad: list[int] = []
        self.rest: Exception | None = None

    def blocks(self) -> list[tuple[int, int]]:
        return [(0, 10), (10, 20), (20, 25)]

    def call(self, function: object, start: int, stop: int) -> bool | None:
        self.requested.append((start, stop))
        return not any(start <= row < stop for row in self.bad) or None

    def get(self) -> Any:
        return self

    def finish(self) -> None:
        if self.rest:
            raise self.rest


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What passes through some tables in streams of these offsets and sizes."""
    monkeypatch.setattr(verify_tables, "is_large", lambda table: table.large)
    monkeypatch.setattr(verify_tables, "TableWindows", lambda table: table)

    def made(streams: list[tuple[int, int]], *tables: Large, wait: float = 0) -> verify_tables.WindowedCheck:
        frames = [None if size == 1 else object() for _, size in streams]
        places = [SimpleNamespace(offset=offset, size=size) for offset, size in streams]
        source = SimpleNamespace(cost=SimpleNamespace(wait=wait))
        archive: Any = SimpleNamespace(
            table_metadata=SimpleNamespace(streams=places), source=source, stream_frames=lambda index: frames[index]
        )
        chosen: Any = tables
        return verify_tables.WindowedCheck(archive, chosen)

    return made


def test_a_stream_that_is_nowhere_has_no_frames() -> None:
    def stream_frames(index: int) -> object:
        raise StructureError(f"stream {index} is past the end")

    archive: Any = SimpleNamespace(stream_frames=stream_frames)
    assert verify_tables._has_frames(archive, 0) is False


def test_of_streams_that_were_passed_through_only_what_was_not_looked_at_is_left(
    passing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stream 0 and its table are intact; the second table has a problem, and the third is in another stream."""
    tables: Any = [Large(0, 0, 100), Large(0, 0, 9, problem=1), Large(1, 0, 50, large=False)]
    passed = passing([(0, 100), (70, 50)], *tables)
    for task in passed.tasks():
        assert list(task.work()) == []
    reported: list[object] = []

    def tasks(table: object, quick: bool, *, counted: bool) -> tuple[()]:
        reported.append((table, quick, counted))
        return ()

    monkeypatch.setattr(verify, "table_tasks", tasks)
    archive: Any = SimpleNamespace(table_metadata=SimpleNamespace(streams=range(2)), hint_streams=lambda: None)
    left = list(verify._stream_tasks(archive, tables, passed, SharedValue(lambda: None), quick=False))
    assert [task.work.args[1] for task in left] == [1]  # type: ignore[attr-defined]
    assert reported == [(tables[1], False, False), (tables[2], False, True)]


def test_streams_that_large_tables_fill_are_passed_through(passing: Any) -> None:
    two = [(0, 100), (70, 50)]
    assert set(passing(two, Large(0, 0, 60), Large(0, 60, 100), Large(1, 0, 50)).tried) == {0, 1}
    assert set(passing(two, Large(0, 0, 100)).tried) == {0}, "nothing is in the other"
    assert set(passing(two, Large(0, 0, 100), Large(1, 0, 50, large=False)).tried) == {0}
    assert set(passing(two, Large(0, 1, 100), Large(1, 0, 49)).tried) == set(), "bytes of no table"
    assert set(passing(two, Large(0, 0, 60), Large(0, 61, 100), Large(1, 0, 50)).tried) == {1}
    assert set(passing(two, Large(0, 0, 100, problem=1), Large(1, 0, 50)).tried) == {1}
    assert set(passing([(3, 100), (70, 50)], Large(0, 0, 100), Large(1, 0, 50)).tried) == {1}, "bytes in front of it"
    assert set(passing([(0, 1), (70, 50)], Large(0, 0, 1), Large(1, 0, 50)).tried) == {1}, "one frame"
    assert set(passing(two, Large(0, 0, 100), Large(1, 0, 50), wait=1).tried) == set(), "fetched one after the other"


def test_windows_are_looked_at_with_the_row_before_them_until_one_is_not_sound(passing: Any) -> None:
    good, bad, late = Large(0, 0, 100), Large(1, 0, 50), Large(2, 0, 50)
    bad.bad = [12]
    late.rest = CodecError("a frame that no one needed")
    through = passing([(0, 100), (70, 50), (80, 50)], good, bad, late)
    tasks = list(through.tasks())
    assert [task.records for task in tasks] == [10, 10, 5] * 3
    assert [list(task.work()) for task in tasks] == [[]] * 9
    assert good.requested == late.requested == [(0, 10), (9, 20), (19, 25)]
    assert bad.requested == [(0, 10), (9, 20)], "the remainder is examined as a whole"
    assert set(through.done()) == {0}
    assert set(through.tried) == {0, 1, 2}


def test_a_column_that_has_no_times_hides_none_after_it() -> None:
    """The bounds of a range hold for every column that it names, whatever their types."""

    def column(type: int, values: list[int]) -> Any:
        return SimpleNamespace(
            node=type, type=type, rows=len(values), values=values, spec=SimpleNamespace(unordered=False), span=None
        )

    text, number = column(NodeType.CLP_STRING, [0]), column(NodeType.INTEGER, [5, 90])
    bounds = SimpleNamespace(column_ids=(text.node, number.node), encoding=TimestampEncoding.EPOCH, begin=0, end=50)
    table = SimpleNamespace(index=3, archive=SimpleNamespace(timestamp_ranges=[bounds]))
    layout = SimpleNamespace(by_node={text.node: 0, number.node: 1})
    data: Any = SimpleNamespace(table=table, layout=layout, column_at=[text, number].__getitem__)
    (finding,) = verify_values.bounds(data)
    assert (finding.expected, finding.actual) == ("0 to 50", "5 to 90")
