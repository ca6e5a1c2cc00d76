"""Pure-Python fallback for `together.pxi` and `merged.pxi`, which prints no table itself: each is one for its caller.

Import `exhume.formats.clp_s.read.kernel`, which picks one of the two.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from exhume.formats.clp_s.read.program import DONE, ODD


class RowPrinter(Protocol):
    """A program that prints rows of one table; see `pykernel.ClpsProgram`."""

    def lines(self, rows: Sequence[int]) -> tuple[list[bytes], object]:
        """The text of each of the rows, and the fault that ended it or None."""


class ClpsTables:
    """The tables of an archive: columns of the schema tree, the schemas and the tables.

    Args: parent, key and type of each node; the root of the records (-1: none); bytes per row by node type; the section
    of the schemas, and where in it the entries of each start, how many there are, and how many of them are ordered; by
    table its schema (negative: none), where it starts and ends in its stream, and how many rows it has (uint64).

    Raises `ValueError` where these do not fit each other.
    """

    def __init__(
        self, parents: Any, keys: Any, types: Any, root: int, widths: bytes, schemas: Any, entries: Any,
        num_entries: Any, num_ordered: Any, schema_of: Sequence[int], starts: Any, ends: Any, rows: Sequence[int],
    ) -> None:  # fmt: skip
        self.rows = rows
        if len(schema_of) != len(rows) or len(starts) != len(rows) or len(ends) != len(rows):
            raise ValueError("tables that do not fit")

    def supply_variables(self, raw: Any, escaped: Any) -> None:
        """Supply the variable dictionary, which `render` stopped for with `VARIABLES`."""

    def supply_log_types(self, types: Any) -> None:
        """Supply the log types, which `render` stopped for with `LOG_TYPES`, after the variables."""

    def supply_array_types(self, types: Any) -> None:
        """Supply the array types, which `render` stopped for with `ARRAY_TYPES`, after the variables."""

    def supply_patterns(self, patterns: Any) -> None:
        """Supply the patterns of timestamps, which `render` stopped for with `PATTERNS`."""

    def render(self, payload: Any, table: int, row: int, stop: int, max_size: int) -> tuple[bytes, int, int, int]:
        """The text of the rows of tables from a row of one up to the table `stop`, all in one payload.

        Returns the text, the table and row that come next, and why it ends there: `DONE`, `FULL` (`max_size` is
        passed), `ODD` (the caller has to print the table) or what it has to be given.  Raises `IndexError`.
        """
        if not 0 <= table <= stop <= len(self.rows) or row < 0:
            raise IndexError(table)
        while table < stop and not self.rows[table]:
            table, row = table + 1, 0
        return b"", table, row, ODD if table < stop else DONE


class ClpsMerged:
    """The rows of tables in the order of their numbers.

    Args: the tables; the stream of each (uint64); the payload of each stream, None for one that is not here; the node
    that numbers the records (-1: none).
    """

    def __init__(self, tables: ClpsTables, stream_ids: Any, payloads: Sequence[Any], idx: int) -> None:
        self._tables = tables

    def odd(self) -> list[int]:
        """The tables with rows that the caller has to print."""
        return [table for table, count in enumerate(self._tables.rows) if count]

    def order(self, others: Mapping[int, Any]) -> array[int]:
        """Which table each row of the merged order comes from (uint32): always that whose next number is least.

        `others`: by table, the numbers of the rows (int64) of those that the caller prints; None: all are 0.

        Raises `ValueError` for more or fewer numbers than rows.
        """
        keys: dict[int, array[int]] = {}
        for table, found in others.items():
            count = self._tables.rows[table]
            keys[table] = array("q", [0] * count if found is None else [])
            if found is not None:
                keys[table].frombytes(bytes(found))
            if len(keys[table]) != count:
                raise ValueError("a buffer whose size does not match the table")
        heap = [(view[0], table) for table, view in keys.items() if len(view)]
        heapq.heapify(heap)
        at = dict.fromkeys(keys, 0)
        out = array("I")
        while heap:
            _, table = heap[0]
            out.append(table)
            at[table] += 1
            if at[table] < len(keys[table]):
                heapq.heapreplace(heap, (keys[table][at[table]], table))
            else:
                heapq.heappop(heap)
        return out

    def advance(self, order: Sequence[int], start: int, stop: int, cursors: array[int]) -> None:
        """Count the rows `[start, stop)` of the order in the cursors of their tables."""
        for table in order[start:stop]:
            cursors[table] += 1

    def render(
        self,
        programs: Mapping[int, RowPrinter],
        order: Sequence[int],
        start: int,
        stop: int,
        cursors: array[int],
        max_size: int,
    ) -> tuple[bytes, int, int, int]:
        """Rows `[start, stop)` of the merged order: text, next position, the table there, and why it ends (as above).

        `programs` print the tables that the caller prints.  `cursors` (int64) are the next row of each table, which are
        moved on.
        """
        out: list[bytes] = []
        size, position, table = 0, start, 0
        while position < stop and size < max_size:
            table = order[position]
            lines, fault = programs[table].lines([cursors[table]])
            if fault is not None:
                return b"".join(out), position, table, ODD
            out += lines
            size += len(lines[0])
            cursors[table] += 1
            position += 1
        return b"".join(out), position, table, DONE
