"""What `verify` holds in memory of a table, and what it looks at in which order.

Spec: clp_s.txt, Files section; the rules themselves are tested in `test_verify`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from exhume.errors import ExhumeError, StructureError
from exhume.formats.clp_s import verify_tables
from exhume.formats.clp_s.layout import NodeType, TimestampEncoding
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
    loaded = verify_tables._Loaded(table, 3)
    for left in (2, 1, 0):
        assert loaded.take() is table
        assert (loaded._data is None) == (left == 0)
    assert table.count == 1


def test_a_table_that_cannot_be_loaded_is_tried_once() -> None:
    table: Any = Loads(StructureError("broken"))
    loaded = verify_tables._Loaded(table, 3)
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
            tasks = list(verify_tables.table_tasks(table, quick=False))
            assert len(tasks) == len(table.layout.nodes) + 1
            assert [finding for task in tasks for finding in task.work()] == []
            assert tasks[-1].work.args[1]._data is None  # type: ignore[attr-defined]
        assert loads == [table.index for table in archive.tables]


def test_a_column_that_has_no_times_hides_none_behind_it() -> None:
    """The bounds of a range hold for every column that it names, whatever their types."""

    def column(type: int, values: list[int]) -> Any:
        return SimpleNamespace(
            node=type, type=type, rows=len(values), values=values, spec=SimpleNamespace(unordered=False), span=None
        )

    text, number = column(NodeType.CLP_STRING, [0]), column(NodeType.INTEGER, [5, 90])
    bounds = SimpleNamespace(column_ids=(text.node, number.node), encoding=TimestampEncoding.EPOCH, begin=0, end=50)
    table = SimpleNamespace(index=3, archive=SimpleNamespace(timestamp_ranges=[bounds]))
    data: Any = SimpleNamespace(table=table, columns=[text, number])
    (finding,) = verify_tables._bounds(data)
    assert (finding.expected, finding.actual) == ("0 to 50", "5 to 90")
