"""The smallest, the largest, or each different value of a field in the records that a query matches.

Spec: upstream's aggregators at e00317e36.  Smallest and largest are taken of integers and floats, which are compared
exactly; strings, booleans, nulls, arrays and objects do not count.  Of equal numbers the first that is met stays.
Different values are integers, floats, strings and booleans; 1 and 1.0 are two.  Values are those that a record is
printed with, but no record is printed: columns are read, and for strings the dictionary where possible.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import compress
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import QueryError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.query.kernel import ClpsDistinct, clps_distinct, clps_extreme
from exhume.formats.clp_s.query.search import Search, resolve_projection
from exhume.formats.clp_s.query.tree import EscapeError, parse_column
from exhume.formats.clp_s.read.columns import Column, parse_json
from exhume.formats.clp_s.read.kernel import ClpsProgram
from exhume.formats.clp_s.write.texts import I64_MAX, I64_MIN

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.search import Hits

Value = int | float | str | bool
Number = int | float

AGGREGATES: Final = ("min", "max", "unique")

_INTEGERS: Final = frozenset((NodeType.INTEGER, NodeType.DELTA_INTEGER))
_FLOATS: Final = frozenset((NodeType.FLOAT, NodeType.FORMATTED_FLOAT))

_WILDCARD: Final = re.compile(r"(?<!\\)(?:\\\\)*[*?]")


def check_field(field: str) -> None:
    """Raise `QueryError` for a string that is not a path to a field, and for wildcards."""
    try:
        column = parse_column(field)
    except EscapeError as error:
        raise QueryError(f"not a field: {error}", format="clp-s", query=field) from None
    if column.open or _WILDCARD.search(field):
        raise QueryError("an aggregated field cannot have wildcards", format="clp-s", query=field)


def extreme(searches: Iterable[Search], field: str, *, largest: bool) -> Number | None:
    """The smallest or the largest number; None where no record that matches has one."""
    found: Number | None = None
    for column, mask in _columns(searches, field):
        number = _extreme_of(column, mask, largest=largest)
        if number is not None and (found is None or (number > found if largest else number < found)):
            found = number
    return found


class Distinct:
    """Different values, kind by kind: 1, 1.0 and True are equal to each other, and three values."""

    def __init__(self) -> None:
        self.integers, self.floats, self.strings = ClpsDistinct(), ClpsDistinct(), ClpsDistinct()
        self.booleans: set[bool] = set()

    def add(self, value: Any) -> None:
        """Add a value of JSON; nulls, arrays and objects do not count, nor what JSON cannot hold."""
        if isinstance(value, bool):
            self.booleans.add(value)
        elif isinstance(value, int):
            if I64_MIN <= value <= I64_MAX:
                self.integers.put(array("q", (value,)).tobytes())
        elif isinstance(value, float):
            self.floats.put(array("d", (value,)).tobytes())
        elif isinstance(value, str):
            self.strings.put(value.encode("utf-8", "surrogateescape"))

    def numbers(self) -> tuple[list[int], list[float]]:
        """The integers and the floats, in ascending order."""
        floats = set(filter(isfinite, array("d", b"".join(self.floats.values()))))
        return sorted(array("q", b"".join(self.integers.values()))), sorted(floats)

    def values(self) -> list[Value]:
        """All in the order of `unique`."""
        integers, floats = self.numbers()
        texts = (text.decode("utf-8", "surrogateescape") for text in sorted(self.strings.values()))
        return [*integers, *floats, *texts, *sorted(self.booleans)]


def unique(searches: Iterable[Search], field: str) -> list[Value]:
    """The different values: integers, floats, strings, booleans, each in ascending order (strings by their bytes)."""
    found = Distinct()
    for column, mask in _columns(searches, field):
        _collect(column, mask, found)
    return found.values()


def _columns(searches: Iterable[Search], field: str) -> Iterator[tuple[Column, bytes | None]]:
    """The columns of a field, and for each row whether its record matches (None: all do)."""
    for search in searches:
        nodes = resolve_projection(search.archive, [field])
        if not nodes or not search.plan.tables:
            continue
        for hits in search.hits(nodes):
            yield from ((column, hits.mask) for column in _of_table(hits, nodes))


def _of_table(hits: Hits, nodes: frozenset[int]) -> Iterator[Column]:
    for node in nodes:
        yield from hits.data.columns_of(node)


def _extreme_of(column: Column, mask: bytes | None, *, largest: bool) -> Number | None:
    if column.type in _INTEGERS or column.type in _FLOATS:
        number: Number | None = clps_extreme(column.values, mask, column.type in _FLOATS, largest)
        return _as_printed(column, number)
    if column.type in (NodeType.DICTIONARY_FLOAT, NodeType.TIMESTAMP):
        distinct = Distinct()
        _collect(column, mask, distinct)
        integers, floats = distinct.numbers()
        return (max if largest else min)((*integers, *floats), default=None)
    return None


def _as_printed(column: Column, number: Number | None) -> Number | None:
    """Floats without a format are printed with six digits after the point."""
    return float(f"{number:f}") if number is not None and column.type == NodeType.FLOAT else number


def _collect(column: Column, mask: bytes | None, found: Distinct) -> None:
    """Add the different values of a column."""
    match column.type:
        case NodeType.INTEGER | NodeType.DELTA_INTEGER:
            found.integers.add_items(column.values, mask)
        case NodeType.FORMATTED_FLOAT:
            found.floats.add_items(column.values, mask)
        case NodeType.FLOAT:
            for row in array("Q", clps_distinct(column.values, mask)):
                found.add(_as_printed(column, column.values[row]))
        case NodeType.BOOLEAN:
            flags = column.values if mask is None else compress(column.values, mask)
            found.booleans.update(flag != 0 for flag in set(flags))
        case NodeType.VAR_STRING:
            for text in column.strings(array("Q", clps_distinct(column.values, mask))):
                found.strings.put(text)
        case NodeType.DICTIONARY_FLOAT:
            _add_json(column.strings(array("Q", clps_distinct(column.values, mask))), found)
        case NodeType.CLP_STRING | NodeType.DATE_STRING:
            _add_texts(column, mask, found.strings)
        case NodeType.TIMESTAMP:
            texts = ClpsDistinct()
            _add_texts(column, mask, texts)
            _add_json(texts.values(), found)


def _add_texts(column: Column, mask: bytes | None, texts: ClpsDistinct) -> None:
    fault = texts.add(ClpsProgram([column.operation(raw=True)], column.rows), mask)
    if fault is not None:
        raise column.failure(fault)


def _add_json(texts: Iterable[bytes], found: Distinct) -> None:
    for text in texts:
        found.add(parse_json(text))
