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

    Args: parent, key (None: nothing is printed) and type of each node; the root of the records (-1: none); bytes per
    row by node type; the section of the schemas, and where in it the entries of each start, how many there are, and how
    many of them are ordered; by table its schema (negative: none), where it starts and ends in its stream, and how many
    rows it has (uint64).

    Raises `ValueError` where these do not fit each other.
    """

    def __init__(
        self, parents: Any, keys: Any, types: Any, root: int, widths: bytes, schemas: Any, entries: Any,
        num_entries: Any, num_ordered: Sequence[int], schema_of: Sequence[int], starts: Any, ends: Any,
        rows: Sequence[int],
    ) -> None:  # fmt: skip
        self.rows = rows
        self._num_schemas = len(num_ordered)
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

    def supply_checks(self, numbered: int, rule_of: Any, rules: Any) -> None:
        """Supply what `check` compares numbers with.

        Args: the node that numbers the records (-1: none); by node, 0 or 1 more than the place of its rule; three words
        for each rule: what it is, the least and the greatest value (see `together`).  Raises `ValueError`, `TypeError`.
        """

    def odd_schema(self, first: int) -> int:
        """The place of the next schema, from `first` on, with unordered entries or nodes that do not exist; how many
        schemas there are if none has any.  Raises `IndexError`.
        """
        if first < 0:
            raise IndexError(first)
        return min(first, self._num_schemas)

    def check(self, payload: Any, table: int, stop: int) -> tuple[bytes, int, int]:
        """Whether the tables up to `stop`, all in one payload, are sound: each reference, and each number with a rule.

        Returns the tables that are not, or that the caller has to check (uint32), the table that comes next, and why it
        ends there: `DONE` or what it has to be given.  Raises `IndexError`.
        """
        if not 0 <= table <= stop <= len(self.rows):
            raise IndexError(table)
        return array("I", range(table, stop)).tobytes(), stop, DONE

    def gather(
        self, payload: Any, first: int, stop: int, chosen: bytearray, wanted: bytes | bytearray
    ) -> tuple[bytes, bytes, bytes]:
        """The values of some nodes, all of one type, in the tables of one payload that have a 1 in `chosen`.

        `wanted` has a byte for each node, 1 for these.  Where the caller has to read a table, its byte becomes 2.
        Returns the values in sequence (deltas summed up), their formats, pattern ids or variables, and for each value
        its row (uint32) among those of all these tables.  Raises `IndexError`.
        """
        if not 0 <= first <= stop <= len(self.rows) or len(chosen) != stop - first:
            raise IndexError(first)
        chosen[:] = chosen.replace(b"\1", b"\2")
        return b"", b"", b""

    def render(
        self, payload: Any, table: int, row: int, stop: int, max_size: int, mask: Any = None
    ) -> tuple[bytes, int, int, int]:
        """The text of the rows of tables from a row of one up to the table `stop`, all in one payload.

        With a `mask`, which has a byte for each of these rows, only of those that have a 1 in it.  Returns the text,
        the table and row that come next, and why it ends there: `DONE`, `FULL` (`max_size` is passed), `ODD` (the
        caller has to print the table) or what it has to be given.  Raises `IndexError`.
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
