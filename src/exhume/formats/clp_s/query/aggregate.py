"""The smallest, the largest, or each different value of a field in the records that a query matches.

Spec: upstream's aggregators at e00317e36.  Smallest and largest are taken of integers and floats, which are compared
exactly; strings, booleans, nulls, arrays and objects do not count.  Of equal numbers the first that is met stays.
Different values are integers, floats, strings and booleans; 1 and 1.0 are two.  Values are those that a record is printed
with.  No record is printed for it: columns are looked at, and for strings the dictionary where possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import QueryError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.query.search import Search, resolve_projection
from exhume.formats.clp_s.query.tree import EscapeError, parse_column
from exhume.formats.clp_s.read.columns import Column, parse_json

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.search import Hits

Value = int | float | str | bool
Number = int | float

AGGREGATES: Final = ("min", "max", "unique")

_INTEGERS: Final = frozenset((NodeType.INTEGER, NodeType.DELTA_INTEGER))
_FLOATS: Final = frozenset((NodeType.FLOAT, NodeType.FORMATTED_FLOAT))
_ROWS: Final = 1 << 13
"""Rows of a column that are strings at a time."""

_WILDCARD: Final = re.compile(r"(?<!\\)(?:\\\\)*[*?]")


def check_field(field: str) -> None:
    """Raises `QueryError` for a string that is not a path to a field, and for wildcards."""
    try:
        column = parse_column(field)
    except EscapeError as error:
        raise QueryError(f"not a field: {error}", format="clp-s", query=field) from None
    if column.open or _WILDCARD.search(field):
        raise QueryError("a field of --min, --max and --unique cannot have wildcards", format="clp-s", query=field)


def extreme(searches: Iterable[Search], field: str, *, largest: bool) -> Number | None:
    """The smallest or the largest number; None where no record that matches has one."""
    found: Number | None = None
    for column, mask in _columns(searches, field):
        number = _extreme_of(column, mask, max if largest else min)
        if number is not None and (found is None or (number > found if largest else number < found)):
            found = number
    return found


@dataclass(slots=True)
class Distinct:
    """Different values, kind by kind: 1, 1.0 and True are equal to each other, and three values."""

    integers: set[int] = field(default_factory=set)
    floats: set[float] = field(default_factory=set)
    texts: set[bytes] = field(default_factory=set)
    booleans: set[bool] = field(default_factory=set)

    def add(self, value: Any) -> None:
        """Adds a value of JSON; nulls, arrays and objects do not count, nor what JSON cannot hold."""
        if isinstance(value, bool):
            self.booleans.add(value)
        elif isinstance(value, int):
            self.integers.add(value)
        elif isinstance(value, float):
            if isfinite(value):
                self.floats.add(value)
        elif isinstance(value, str):
            self.texts.add(value.encode("utf-8", "surrogateescape"))

    def values(self) -> list[Value]:
        """All in the order of `unique`."""
        texts = (text.decode("utf-8", "surrogateescape") for text in sorted(self.texts))
        return [*sorted(self.integers), *sorted(self.floats), *texts, *sorted(self.booleans)]


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


def _chosen(values: Any, mask: bytes | None) -> Iterable[Any]:
    return values if mask is None else compress(values, mask)


def _extreme_of(column: Column, mask: bytes | None, best: Callable[..., Any]) -> Number | None:
    if column.type in _INTEGERS:
        found: int | None = best(_chosen(column.values, mask), default=None)
        return found
    if column.type in _FLOATS:
        number: float | None = best(_chosen(column.values, mask), default=None)
        if number is not None and not isfinite(number):  # printed as something that is not JSON
            number = best(filter(isfinite, _chosen(column.values, mask)), default=None)
        return _as_printed(column, number)
    if column.type in (NodeType.DICTIONARY_FLOAT, NodeType.TIMESTAMP):
        distinct = Distinct()
        _collect(column, mask, distinct)
        numbers: tuple[Number, ...] = (*distinct.integers, *distinct.floats)
        return best(numbers, default=None)  # type: ignore[no-any-return]
    return None


def _as_printed(column: Column, number: float | None) -> float | None:
    """Floats without a format are printed with six digits after the point."""
    return float(f"{number:f}") if number is not None and column.type == NodeType.FLOAT else number


def _collect(column: Column, mask: bytes | None, found: Distinct) -> None:
    """Adds the different values of a column."""
    if column.type in _INTEGERS:
        found.integers.update(_chosen(column.values, mask))
    elif column.type == NodeType.FORMATTED_FLOAT:
        found.floats.update(filter(isfinite, set(_chosen(column.values, mask))))
    elif column.type == NodeType.FLOAT:
        for number in set(_chosen(column.values, mask)):
            found.add(_as_printed(column, number))
    elif column.type == NodeType.BOOLEAN:
        found.booleans.update(flag != 0 for flag in set(_chosen(column.values, mask)))
    else:
        _collect_texts(column, mask, found)


def _collect_texts(column: Column, mask: bytes | None, found: Distinct) -> None:
    """The same where values are compared as strings."""
    if column.type in (NodeType.VAR_STRING, NodeType.DICTIONARY_FLOAT):
        places = dict(zip(_chosen(column.values, mask), _chosen(range(column.rows), mask), strict=True))
        blocks: Iterable[list[bytes]] = [column.strings(sorted(places.values()))]
    elif column.type in (NodeType.CLP_STRING, NodeType.DATE_STRING, NodeType.TIMESTAMP):
        blocks = _texts(column, mask)
    else:
        return
    for texts in blocks:
        if column.type in (NodeType.DICTIONARY_FLOAT, NodeType.TIMESTAMP):
            for text in set(texts):
                found.add(parse_json(text))
        else:
            found.texts.update(texts)


def _texts(column: Column, mask: bytes | None) -> Iterator[list[bytes]]:
    """The strings of a column, block by block."""
    rows: Sequence[int] = range(column.rows) if mask is None else list(compress(range(column.rows), mask))
    for start in range(0, len(rows), _ROWS):
        yield column.strings(rows[start : start + _ROWS])
