"""Metadata about records as a whole: timestamp ranges, and the range index that answers `$` columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any as AnyValue
from typing import Final

from exhume.formats.clp_s.layout import RangeEntry, TimestampRange
from exhume.formats.clp_s.query.condition import EXISTS, MISSING, AllOf, Any, ColumnTest, Condition, join
from exhume.formats.clp_s.query.operand import (
    BOOLEANS,
    FLOATS,
    INTEGERS,
    NULLS,
    STRINGS,
    TEXTS,
    TIMES,
    Operand,
    compare,
)
from exhume.formats.clp_s.query.tree import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, Column, Dialect, Key
from exhume.formats.clp_s.query.wildcard import Wildcard

LOG_EVENT_IDX: Final = Column((Key(b"log_event_idx"),))


def outside(condition: Condition, ranges: Sequence[tuple[TimestampRange, Column]], dialect: Dialect) -> bool | None:
    """Whether the time ranges alone settle the condition: True, False, or None when they do not."""
    if isinstance(condition, ColumnTest):
        verdict = _test_range(condition, ranges, dialect)
        return verdict if verdict is None or not condition.inverted else not verdict
    both = isinstance(condition, AllOf)
    unknown = False
    for child in condition.children:
        verdict = outside(child, ranges, dialect)
        if verdict is (not both):
            return verdict
        unknown |= verdict is None
    return None if unknown else both


def _test_range(test: ColumnTest, ranges: Sequence[tuple[TimestampRange, Column]], dialect: Dialect) -> bool | None:
    """Compare a filter with the recorded time range of its column, before any table is read.

    Return True if every record matches, False if none does, None if the range does not settle it.
    """
    if test.operand is None or test.column.open or not test.types & (INTEGERS | FLOATS | TIMES):
        return None
    found = next((found for found, column in ranges if column.keys == test.column.keys), None)
    if found is None:
        return None
    begin, end = found.begin, found.end
    if begin is None or end is None:
        return None
    operand = test.operand
    value: int | float | None
    if found.encoding == 1:
        value = operand.integer if operand.milliseconds is None else operand.milliseconds
        if dialect.legacy_instants and operand.real is not None and value != operand.real:
            value = operand.real
    else:
        value = operand.real
    if value is None:
        return None
    op = test.op
    if op == EQUAL:
        return None if begin <= value <= end else False
    if op in (LESS, LESS_EQUAL):
        return True if compare(op, end, value) else None if compare(op, begin, value) else False
    assert op in (GREATER, GREATER_EQUAL)
    return True if compare(op, begin, value) else None if compare(op, end, value) else False


class RangeFilters:
    """Turns filters on `$` columns, which the range index answers, into conditions on `log_event_idx`."""

    def __init__(self, range_index: Sequence[RangeEntry], *, ignore_case: bool) -> None:
        self.range_index = range_index
        self.ignore_case = ignore_case

    def run(self, condition: Condition) -> Condition:
        """Return the condition without `$` columns: each is replaced by the record numbers of its matching ranges."""
        if not isinstance(condition, ColumnTest):
            children = []
            for child in condition.children:
                children.append(self.run(child))  # noqa: PERF401 - a frame less per level
            return join(type(condition), children)
        if condition.column.namespace != "$":
            return condition
        ranges: list[list[int]] = []
        for entry in self.range_index:
            if range_matches(condition, entry.properties, ignore_case=self.ignore_case):
                if ranges and ranges[-1][1] == entry.start:
                    ranges[-1][1] = entry.end
                else:
                    ranges.append([entry.start, entry.end])
        return join(Any, [AllOf((_position(GREATER_EQUAL, a), _position(LESS, b))) for a, b in ranges])


def _position(op: str, value: int) -> ColumnTest:
    operand = Operand(INTEGERS, None, value, value, float(value))
    return ColumnTest(LOG_EVENT_IDX, op, INTEGERS, operand, metadata=True)


def range_matches(test: ColumnTest, properties: Mapping[str, AnyValue], *, ignore_case: bool) -> bool:
    """Whether the properties of an ingestion unit fulfil a filter."""
    keys = test.column.keys
    names = [key.name.decode("utf-8", "surrogateescape") for key in keys]
    work: list[tuple[int, AnyValue]] = [(0, properties)]
    if keys and keys[0].any:
        work.append((1, properties))
    while work:
        at, value = work.pop()
        if at == len(keys):
            if _property_matches(test, value, ignore_case):
                return True
        elif isinstance(value, Mapping):
            if keys[at].any:
                for inner in value.values():
                    work += ((at, inner), (at + 1, inner))
            elif names[at] in value:
                inner = value[names[at]]
                work.append((at + 1, inner))
                if at + 1 < len(keys) and keys[at + 1].any:
                    work.append((at + 2, inner))
    return False


def _property_matches(test: ColumnTest, value: AnyValue, ignore_case: bool) -> bool:
    """Whether one property of a range (a value of the range index) fulfills a filter on a `$` column."""
    kinds = {bool: BOOLEANS, int: INTEGERS, float: FLOATS, str: STRINGS | TEXTS, type(None): NULLS}.get(type(value), 0)
    if not test.types & kinds:
        return False
    if test.op in (EXISTS, MISSING):
        return test.op == EXISTS
    operand = test.operand
    assert operand is not None
    if isinstance(value, bool):
        found = operand.boolean is not None and test.op == EQUAL and value == operand.boolean
    elif isinstance(value, int):
        if value >= 1 << 63:
            value -= 1 << 64
        found = operand.integer is not None and compare(test.op, value, operand.integer)
    elif isinstance(value, float):
        found = operand.real is not None and compare(test.op, value, operand.real)
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogateescape")
        needed = TEXTS if b" " in text else STRINGS
        found = (
            test.op == EQUAL
            and operand.text is not None
            and bool(operand.types & needed)
            and Wildcard(operand.text, ignore_case).matches(text)
        )
    else:
        return False
    return found != test.inverted
