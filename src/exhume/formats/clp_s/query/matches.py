"""Rows of one table that match a query: searched in blocks by threads, as masks, text or counts.

A table has all records with the same set of keys.  Its requirement (see `requirement`) is what its records have to
fulfill; a mask has a byte for each row, 1 if it does.  A large table is read in windows: ranges of rows, with only the
columns that are needed (see `read.windows`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING

from exhume.formats.clp_s.query.evaluate import Evaluator
from exhume.formats.clp_s.query.plan import Plan
from exhume.formats.clp_s.query.requirement import Requirement, checks_of
from exhume.formats.clp_s.read.blocks import Printed, SharedValue, TableWindows, printed, printed_columns
from exhume.formats.clp_s.read.windows import columns_of
from exhume.io.caching import cached_property

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import Table, TableData
    from exhume.formats.clp_s.read.windows import WindowRows


class MatchingRows:
    """The matching rows of one table, or of a window of it."""

    __slots__ = ("_rows", "count", "data", "mask")

    def __init__(self, data: TableData, mask: bytes | None) -> None:
        """Take the mask of the rows; `data` is the table or window that they are in."""
        self.data: TableData = data
        self.mask: bytes | None = mask
        """A byte for each row of the table, 1 for those that match; None when all do."""
        self.count: int = data.num_messages if mask is None else mask.count(1)
        """Number of rows that match."""
        self._rows: list[int] | None = None

    @property
    def rows(self) -> Sequence[int] | None:
        """Numbers of the rows that match, ascending; None if all do."""
        if self._rows is None and self.mask is not None:
            self._rows = list(compress(range(len(self.mask)), self.mask))
        return self._rows

    def positions(self) -> Sequence[int]:
        """The `log_event_idx` of each row; 0 where the table has none, as the native search counts it."""
        idx = self.data.log_event_idx
        if idx is None:
            return [0] * self.count
        return idx if self.rows is None else [idx[row] for row in self.rows]


def examined_nodes(part: Requirement, nodes: Collection[int] | None) -> Collection[int] | None:
    """Return the nodes whose columns a requirement examines, and `nodes`; None (all) if it may examine any column.

    Also None if `nodes` is None.
    """
    searched = {check.node for check in checks_of(part)}
    return None if nodes is None or None in searched else {*nodes, *(node for node in searched if node is not None)}


class SharedSearch:
    """A table whose blocks of rows are searched by threads that share it; `nodes`: those that are printed (None: all).

    In a large table, only the columns of the condition are read completely; other columns only for the matching rows.

    `_windowed` calls a function for a window of rows; its result is None if the table has to be read as a whole (it has
    no windows, or one is damaged), which is what the methods then do, by `_data`.
    """

    def __init__(
        self,
        plan: Plan,
        table: Table,
        part: Requirement,
        data: SharedValue[TableData],
        nodes: Collection[int] | None = None,
    ) -> None:
        """Search the rows of `table` for those that fulfill `part`; `data` is the whole table, loaded if needed."""
        self._plan, self._table, self._part, self._data, self._nodes = plan, table, part, data, nodes
        self._windowed = TableWindows(table)
        self._renderer = SharedValue(lambda: data.get().renderer(nodes=nodes))

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the rows in blocks `[start, stop)`, each for one thread."""
        return self._windowed.blocks()

    @cached_property
    def _condition(self) -> Collection[int]:
        """The columns that the requirement examines."""
        return columns_of(self._table.layout, examined_nodes(self._part, ()))

    @cached_property
    def _printed(self) -> Collection[int]:
        """The columns that are printed."""
        return printed_columns(self._table.layout.tokens(complete=False, nodes=self._nodes))

    def count(self, start: int, stop: int) -> int:
        """Return the number of rows in `[start, stop)` that match.  Propagates errors from decoding them."""
        found = self._windowed.call(lambda rows: self._mask(rows.window(self._condition)).count(1), start, stop)
        return self._mask(self._data.get(), start, stop).count(1) if found is None else found

    def chunks(self, start: int, stop: int) -> Printed:
        """Return the text of the rows in `[start, stop)` that match, up to an error."""

        def window(rows: WindowRows) -> Iterable[bytes]:
            """Search a window, and print the matches from another one with the columns that are printed."""
            # True: all rows match, whatever their values.
            mask = None if self._part is True else self._mask(rows.window(self._condition))
            if mask is not None and 1 not in mask:
                return ()
            return rows.window(self._printed, prints=True).renderer(nodes=self._nodes).chunks(mask=mask)

        found = self._windowed.printed(window, start, stop)
        return printed(self._whole(start, stop)) if found is None else found

    def hits(self, *, keep: bool = False) -> Iterator[MatchingRows]:
        """Yield the windows of the table that have matches; if it cannot be read in windows, the table.

        Each is valid until the next is requested, or, with `keep`, as long as it is referenced.
        """
        done = 0
        for rows in self._windowed.each(keep=keep):
            found = None if rows is None else self._windowed.within(self._window_hits, rows)
            if rows is None or found is None:
                data = self._data.get()
                left = data.num_messages - done
                # Rows of earlier windows do not match again.
                mask = bytes(done) + (b"\1" * left if self._part is True else self._mask(data, done))
                if 1 in mask:
                    yield MatchingRows(data, mask if 0 in mask else None)
                return
            yield from found
            done = rows.stop

    def _window_hits(self, rows: WindowRows) -> list[MatchingRows]:
        """Return the matches of a window: none, or one object."""
        mask = None if self._part is True else self._mask(rows.window(self._condition))
        if mask is not None and 1 not in mask:
            return []
        return [MatchingRows(rows.window(self._needed), mask if mask is not None and 0 in mask else None)]

    @cached_property
    def _needed(self) -> Collection[int]:
        """The columns that the caller of `hits` needs."""
        return columns_of(self._table.layout, self._nodes)

    def _whole(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield the text of the rows in `[start, stop)` that match, from the whole table."""
        mask = None if self._part is True else self._mask(self._data.get(), start, stop)
        if mask is None or 1 in mask:
            yield from self._renderer.get().chunks(start, stop, mask=mask)

    def _mask(self, data: TableData, start: int = 0, stop: int | None = None) -> bytes:
        """Return a byte for each of the rows: 1 for those that match."""
        return Evaluator(data, self._plan, start, stop).run(self._part)
