"""The checks of `verify` for values: their order, their recorded range, and those of many small tables at once.

Archives may have hundreds of thousands of tables with a few rows, which the kernel checks a run (range of tables) at a
time.  It reports those that have a fault, or that it cannot judge, as odd; Python checks these again.

Spec: clp_s.txt, Files section and TimestampDictionary packet; the rules are in `checks`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import NodeType, TimestampEncoding
from exhume.formats.clp_s.read import blocks, windows
from exhume.formats.clp_s.read.kernel import clps_disorder
from exhume.formats.clp_s.read.together import KernelTables
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.clp_s.layout import TimestampRange
    from exhume.formats.clp_s.read.tables import TableArchive, TableData

RAW_TYPES: Mapping[int, tuple[int, ...]] = {
    TimestampEncoding.EPOCH: (NodeType.INTEGER, NodeType.DATE_STRING),
    TimestampEncoding.DOUBLE_EPOCH: (NodeType.FLOAT, NodeType.FORMATTED_FLOAT),
}
"""Node types whose values are compared with the bounds of a range unchanged, by the encoding of the range."""

MOST_ROWS: Final = 1 << 20
"""Records of small tables that one thread checks at a time."""

INTEGERS, REALS, UNCHECKED = 1, 2, 3
"""Rules of the kernel: an int64 or a float64 in a range; a range that only Python can compare with."""

MOST_RULES: Final = 255  # `rule_of` has a byte per node; 0: no rule

_NS_PER_MS: Final = 1_000_000  # values are in nanoseconds, their bounds in milliseconds


class _Rule(NamedTuple):
    """The bounds of the values of a node as the kernel compares them; those of `REALS` are the bits of doubles."""

    kind: int
    least: int
    most: int


_UNCHECKED_RULE: Final = _Rule(UNCHECKED, 0, 0)


def order(data: TableData, first: int = 0) -> Iterator[Finding]:
    """Check that records are in the order of the input; the first one here is row `first` of its table."""
    idx = data.log_event_idx
    if idx is not None and (row := clps_disorder(idx)) >= 0:
        yield checks.LOG_ORDER.finding(f"row {first + row}", span=data.table.span, actual=idx[row])


def bounds(data: TableData) -> Iterator[Finding]:
    """Check that the timestamps of a table are within the range that the timestamp dictionary records for their node.

    From 0.5.0 on, bounds are milliseconds, the lower one rounded down and the upper one up; before, they have the unit
    of the values.
    """
    archive = data.table.archive
    for found in archive.timestamp_ranges:
        for index in sorted(data.layout.by_node[node] for node in found.column_ids if node in data.layout.by_node):
            column = data.column_at(index)
            if not column.rows:
                continue
            low: float
            high: float
            if column.type == NodeType.TIMESTAMP and found.encoding == TimestampEncoding.EPOCH:
                low, high = min(column.values) // _NS_PER_MS, -(-max(column.values) // _NS_PER_MS)
            elif column.type in RAW_TYPES.get(found.encoding, ()):
                low, high = min(column.values), max(column.values)
            else:
                continue
            if found.begin is None or found.end is None or low < found.begin or high > found.end:
                yield checks.TIMESTAMP_BOUNDS.finding(
                    f"table {data.table.index}",
                    span=column.span,
                    expected=f"{found.begin} to {found.end}",
                    actual=f"{low} to {high}",
                )


def _rule(found: TimestampRange, kind: int) -> _Rule | None:
    """Return the rule of a recorded range for a node of type `kind`; None if the range does not apply to this type."""
    begin, end = found.begin, found.end
    if kind == NodeType.TIMESTAMP and found.encoding == TimestampEncoding.EPOCH:
        scale = _NS_PER_MS
    elif kind in RAW_TYPES.get(found.encoding, ()):
        scale = 1
    else:
        return None
    if begin is None or end is None:
        return _UNCHECKED_RULE
    if kind in (NodeType.FLOAT, NodeType.FORMATTED_FLOAT):
        try:
            low, high = float(begin), float(end)
        except OverflowError:
            return _UNCHECKED_RULE
        if (low, high) != (begin, end):  # a bound that is not a double
            return _UNCHECKED_RULE
        low_bits, high_bits = array("q", array("d", (low, high)).tobytes())
        return _Rule(REALS, low_bits, high_bits)
    if not (isinstance(begin, int) and isinstance(end, int)):
        return _UNCHECKED_RULE
    least, most = -(1 << 63), (1 << 63) - 1
    if begin * scale > most or end * scale < least:  # no int64 is within them
        return _UNCHECKED_RULE
    return _Rule(INTEGERS, max(least, begin * scale), min(most, end * scale))


class SmallTables:
    """The tables of an archive that the kernel checks: many small ones at a time, or one with more columns than rows.

    Raises the error that keeps the schema tree, the schemas or the timestamp dictionary from being read.
    """

    def __init__(self, archive: TableArchive) -> None:
        """Supply the kernel with the recorded time ranges: `rule_of[node]` is the number of a rule, 0 for none.

        `rules` has the three integers of each `_Rule`, one rule after the other.
        """
        self._archive = archive
        together = KernelTables(archive, prints=False)
        self.kernel_tables: KernelTables = together
        types = archive.schema_tree.types
        rule_of, rules = bytearray(len(types)), array("q")
        for found in archive.timestamp_ranges:
            for node in found.column_ids:
                rule = _rule(found, types[node]) if 0 <= node < len(types) else None
                if rule is None:
                    continue
                # In several ranges, or one of too many, all of which share the last rule.
                if rule_of[node] or len(rules) >= len(rule) * (MOST_RULES - 1):
                    rule = _UNCHECKED_RULE
                if len(rules) < len(rule) * MOST_RULES:
                    rules.extend(rule)
                rule_of[node] = len(rules) // len(rule)
        numbered = archive.schema_tree.log_event_idx
        together.tables.supply_checks(-1 if numbered is None else numbered, rule_of, rules)

    def runs(self) -> Iterator[tuple[int, int, bool]]:
        """Yield the tables as `(first, stop, is_run)`: half-open ranges, and whether the kernel checks them.

        The others are single tables, for Python.
        """
        together = self.kernel_tables
        for first, stop in together.runs(min(blocks.BLOCK_BYTES, windows.WORTHWHILE), MOST_ROWS):
            yield first, stop, stop > first + 1 or together.is_wide(first)

    @property
    def first(self) -> int:
        """The number of the first of the archive's tables."""
        return self._archive.tables[0].index if len(self._archive.tables) else 0

    def knows(self, index: int) -> bool:
        """Whether the schema of a table exists."""
        return self.kernel_tables.schema_of[index] >= 0

    def odd_schemas(self) -> set[int]:
        """Return the ids of the schemas that have to be laid out to find out whether they are valid."""
        ids = self._archive.schemas.columns.schema_id
        return {ids[place] for place in self.kernel_tables.odd_schemas()}


def small_tables(archive: TableArchive) -> SmallTables | None:
    """The tables for the kernel; None if they cannot be read: the checks in Python, table by table, report why."""
    with suppress(ExhumeError):
        return SmallTables(archive)
    return None
