"""Faulty rows of a damaged table, and the bytes of the table without them, for `salvage`.

A table is stored column by column, each as one or two arrays with an item for every row, and for encoded strings the
variables of all rows.  Deltas are differences of consecutive values.  A large table is examined in windows (blocks of
rows).

Spec: clp_s.txt, Table segments.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np

from exhume.codecs.common import Buffer
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.layout_table import CLP_S_TABLE_COLUMNS, WIDTHS, IntegerColumn, located_columns
from exhume.formats.clp_s.read.blocks import TableWindows
from exhume.formats.clp_s.read.kernel import ClpsProgram, clps_undelta
from exhume.formats.clp_s.read.windows import DELTAS
from exhume.formats.clp_s.verify_tables import checked_columns
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from types import EllipsisType

    from exhume.formats.clp_s.layout import TableEntry
    from exhume.formats.clp_s.read.tables import Table, TableData
    from exhume.formats.clp_s.read.template import SchemaLayout
    from exhume.formats.clp_s.read.windows import WindowRows

ROWS_AT_A_TIME: Final = 1 << 16
"""Rows of a column that are copied at a time."""

Flags = np.ndarray[Any, np.dtype[np.bool_]]
"""One flag for each row."""


class FaultyRows(NamedTuple):
    """A flag for each row of a table, set if the row cannot be kept, and the layout of the table."""

    flags: Flags
    layout: SchemaLayout

    def remaining(self) -> int:
        """The number of rows that can be kept."""
        return len(self.flags) - int(np.count_nonzero(self.flags))


def faulty_rows(table: Table) -> FaultyRows:
    """Find the rows of a table that cannot be kept.

    These are rows with a value that cannot be decoded, and rows out of order: their position in the input
    (log_event_idx) is not above those of all good rows before them.  Propagates the errors of an unreadable table.
    """
    flags: Flags = np.zeros(table.num_messages, np.bool_)
    windowed = TableWindows(table)
    last: int | None = None  # see `_examine`
    for start, stop in windowed.blocks():
        window = windowed.call(partial(_examine_window, flags, start, last), start, stop)
        if window is None:
            flags[:] = False  # windows do not work for this table: examine it as a whole
            _examine(flags, 0, None, table.load())
            break
        (last,) = window
    return FaultyRows(flags, table.layout)


def _examine_window(flags: Flags, start: int, last: int | None, rows: WindowRows) -> tuple[int | None]:
    """As `_examine`; the result is in a tuple, because None stands for a failure in `TableWindows.call`."""
    return (_examine(flags, start, last, rows.window(range(len(rows.layout.nodes)))),)


def _examine(flags: Flags, start: int, last: int | None, data: TableData) -> int | None:
    """Set the flags of the faulty rows of `data`, whose first row is row `start` of the table.

    `last` is the highest position (log_event_idx) of the earlier rows, None if none has any.  Returns the highest one
    with the rows of `data` included.
    """
    count = data.num_messages
    here = flags[start : start + count]
    here[:] = False
    # Rows whose values cannot be decoded: the kernel checks a column from one fault to the next.
    for index in checked_columns(data.layout):
        program = ClpsProgram([data.column_at(index).operation(raw=True)], count)
        row = 0
        while row < count and (fault := program.check(row, count)) is not None:
            _, _, row, _ = fault  # its third item is the row
            here[row] = True
            row += 1
    # And the other rows whose position is not above all positions before.
    positions = data.log_event_idx
    if positions is None or not count:
        return last
    least = np.iinfo(np.int64).min  # stands for "no position"
    kept = np.where(here, least, np.asarray(positions))
    highest = np.maximum.accumulate(np.concatenate(([least if last is None else last], kept)))  # before each row
    is_first = highest[:-1] == least  # no good row before it
    here |= (kept <= highest[:-1]) & ~is_first
    top = int(highest[-1])
    return None if top == least else top


def without_rows(data: Buffer, faulty: FaultyRows) -> Iterator[bytes]:
    """Yield the bytes of a table without its faulty rows; `data` has the whole table.

    All variables of encoded strings are kept, so that the offsets in the strings stay right.
    """
    view, rows = memoryview(data), len(faulty.flags)
    types = faulty.layout.node_types
    ends = located_columns(types, rows, lambda start, stop: view[start:stop], view)
    assert ends is not None, "the table was read before"  # so its columns fit
    for kind, start, end in zip(types, [0, *ends], ends, strict=False):
        at = start
        for number, width in enumerate(WIDTHS[kind]):
            # Only the first array of a column may contain deltas: timestamps have pattern ids after them.
            yield from _column_without(
                view[at : at + width * rows], width, faulty.flags, number == 0 and kind in DELTAS
            )
            at += width * rows
        yield bytes(view[at:end])  # variables


def _column_without(data: memoryview, width: int, flags: Flags, is_delta: bool) -> Iterator[bytes]:
    """Yield an array of items of `width` bytes without the flagged ones.

    Deltas are rebuilt: the values are summed up, the flagged ones removed, and the differences of the others stored.
    """
    total, before = 0, np.int64(0)  # the last value of the rows so far; the last one that was kept
    for start in range(0, len(flags), ROWS_AT_A_TIME):
        kept = ~flags[start : start + ROWS_AT_A_TIME]
        part = data[width * start : width * (start + len(kept))]
        if not is_delta:
            yield np.frombuffer(part, f"V{width}")[kept].tobytes()
            continue
        # Read the sums by the layout of an integer column, in the byte order of the format.
        integers, _ = CLP_S_TABLE_COLUMNS[NodeType.INTEGER](
            memoryview(clps_undelta(part, total)), 0, len(part), len(kept)
        )
        assert isinstance(integers, IntegerColumn)
        summed = np.asarray(integers.values)
        total = int(summed[-1])
        values = np.concatenate(([before], summed[kept]))
        before = values[-1]
        with np.errstate(over="ignore"):  # deltas wrap around
            yield np.diff(values).astype(summed.dtype).tobytes()


@contextmanager
def mapped(file: BinaryIO, size: int) -> Iterator[memoryview]:
    """Map a file of `size` bytes into memory."""
    if not size:  # an empty file cannot be mapped
        yield memoryview(b"")
        return
    with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as pages, memoryview(pages) as view:
        yield view


def tables_without(
    tables: list[TableEntry], data: memoryview, bad: list[FaultyRows | None | EllipsisType], file: BinaryIO
) -> Iterator[TableEntry]:
    """Write the tables of a stream to a file, without the faulty ones, and yield the tables that remain.

    `data` has the tables back to back.  `bad` has for each table its faulty rows, None to remove it, or `...` to keep
    it as it is.
    """
    at = 0
    for table, faulty in zip(tables, bad, strict=True):
        end = at + table.end - table.start
        if faulty is ...:
            file.write(data[at:end])
            yield table
        elif faulty is not None and (remaining := faulty.remaining()):
            size = sum(map(file.write, without_rows(data[at:end], faulty)))
            yield table._replace(end=table.start + size, num_messages=remaining)
        at = end
