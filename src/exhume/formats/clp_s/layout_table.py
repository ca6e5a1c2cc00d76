"""Bytes to columns of a table: the results of the generated readers in the terms of the format.

Which columns a table has follows from its schema and is determined by `template`; the specification states the length
and content of each.  Columns are back to back, and each has a value for every row.  A node is a key path and type of
value; a run is the layout of a structured array (one that is stored as columns).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.clp_s_table import CLP_S_TABLE_COLUMNS as CLP_S_TABLE_COLUMNS
from exhume_ksy.fast.clp_s_table import BooleanColumn as BooleanColumn
from exhume_ksy.fast.clp_s_table import ClpColumn as ClpColumn
from exhume_ksy.fast.clp_s_table import DateColumn as DateColumn
from exhume_ksy.fast.clp_s_table import FloatColumn as FloatColumn
from exhume_ksy.fast.clp_s_table import FormattedFloatColumn as FormattedFloatColumn
from exhume_ksy.fast.clp_s_table import IdColumn as IdColumn
from exhume_ksy.fast.clp_s_table import IntegerColumn as IntegerColumn
from exhume_ksy.fast.clp_s_table import TimestampColumn as TimestampColumn
from exhume_ksy.fast.clp_s_table import ends_clp_s_table_columns

from exhume.counts import counted
from exhume.errors import Span
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import NodeType, type_name
from exhume.formats.clp_s.layout_packed import NUM_VARIABLES, WORD_SIZE

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.template import SchemaLayout

    Stored = (
        BooleanColumn
        | ClpColumn
        | DateColumn
        | FloatColumn
        | FormattedFloatColumn
        | IdColumn
        | IntegerColumn
        | TimestampColumn
    )


def _widths(kind: int) -> tuple[int, ...]:
    """The bytes per row of each array of a column type, found by reading one row of zeros."""
    row = memoryview(bytes(64))  # more than a row of any column takes
    stored, _ = CLP_S_TABLE_COLUMNS[kind](row, 0, len(row), 1)
    found = [getattr(stored, name) for name in stored.__slots__]
    return tuple(part.nbytes for part in found if isinstance(part, memoryview) and part.nbytes)


WIDTHS: Final = {kind: _widths(kind) for kind in CLP_S_TABLE_COLUMNS}
"""By type of a column: the bytes that a row takes in each of its arrays."""

SIZED_INSIDE: Final = frozenset({NodeType.CLP_STRING, NodeType.UNSTRUCTURED_ARRAY})
"""Types of columns that store, after their array, the number of variables that follow."""


def located_columns(
    types: bytes, rows: int, take: Callable[[int, int], memoryview], data: memoryview
) -> list[int] | None:
    """Return the end of each column of a table with these `types`; None if they do not fit its bytes.

    `take` fetches a range of the table's bytes, which are then in `data` (the whole table, empty so far).  It is called
    for the bytes that determine the lengths of the columns.  Spec: Table segments.
    """
    size = len(data)
    try:
        for index, kind in enumerate(types):
            if kind in SIZED_INSIDE:
                # Fetch its number of variables, which follows its array of words after the columns before.
                ends = ends_clp_s_table_columns(data, 0, size, rows, types[:index])
                at = min(size, (ends[-1] if ends else 0) + rows * WORD_SIZE)
                take(at, min(size, at + NUM_VARIABLES.size))
        return ends_clp_s_table_columns(data, 0, size, rows, types)
    except LayoutError:
        return None


def needed_columns(
    layout: SchemaLayout, nodes: Collection[int], rows: int, take: Callable[[int, int], memoryview], data: memoryview
) -> tuple[list[int], list[int]] | None:
    """Find the columns of some nodes, and have `take` fetch them; see `located_columns`.

    Returns `(end of each column up to the last needed one, indices of the needed columns)`.  None if the columns do not
    fit, and for nodes of structured arrays.
    """
    if not layout.runs.keys().isdisjoint(nodes):
        return None
    needed = [index for index, node in enumerate(layout.nodes) if node in nodes]
    ends = located_columns(layout.node_types[: needed[-1] + 1 if needed else 0], rows, take, data)
    if ends is None:
        return None
    for index in needed:
        take(ends[index - 1] if index else 0, ends[index])
    return ends, needed


def complete_columns(types: bytes, rows: int, data: memoryview) -> list[int]:
    """Return the ends of the first columns: those that are complete in the bytes of a truncated table.

    Spec: Table segments.
    """

    def ends(count: int) -> list[int] | None:
        """The ends of the first `count` columns; None if they are not complete."""
        try:
            return ends_clp_s_table_columns(data, 0, len(data), rows, types[:count])
        except LayoutError:
            return None

    # By binary search: if some number of columns is not complete, no larger one is.
    count = bisect_left(range(1, len(types) + 1), True, key=lambda count: ends(count) is None)
    return ends(count) or []


def column_ends(data: memoryview, layout: SchemaLayout, rows: int, place: Callable[[], Span]) -> list[int]:
    """Return the offset in a table's bytes where each column ends; `place` returns the span of these bytes.

    Raises CLPS-348 when the columns take more or fewer bytes than there are.  Spec: Table segments.
    """
    try:
        ends = ends_clp_s_table_columns(data, 0, len(data), rows, layout.node_types)
    except LayoutError as error:
        where = place()
        index = int(error.path.partition("[")[2].partition("]")[0])  # `columns[3].values` and the like
        raise checks.BAD_TABLE_SIZE.error(
            f"column {index} ({type_name(layout.node_types[index])}) passes the end of the table",
            span=where.sub(error.offset, len(data)),
            field_path=error.path,
            expected=error.expected,
            actual=error.found,
        ) from error
    end = ends[-1] if ends else 0
    if end != len(data):
        raise checks.BAD_TABLE_SIZE.error(
            "bytes after the last column",
            span=place().sub(end, len(data)),
            expected=counted(end, "bytes"),
            actual=counted(len(data), "bytes"),
        )
    return ends
