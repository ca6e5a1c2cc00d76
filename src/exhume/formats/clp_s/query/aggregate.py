"""The smallest, the largest, or each different value of a field in the records that a query matches.

Spec: upstream's aggregators at e00317e36 (a commit of the reference implementation).  Smallest and largest are taken of
integers and floats, which are compared exactly; strings, booleans, nulls, arrays and objects do not count.  Of equal
numbers the first that is met stays.  Different values are integers, floats, strings and booleans; 1 and 1.0 are two.
Values are those that a record is printed with, but no record is printed: columns are read, and for strings the
dictionary where possible.

`searches`: the query, applied to each archive; `hits`: the matching rows of one table.  A `mask` has a byte for each
row of a table, 1 if it matches; None: all do.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import QueryError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.layout_packed import I64_MAX, I64_MIN
from exhume.formats.clp_s.query.kernel import ClpsDistinct, clps_extreme, clps_last_entry
from exhume.formats.clp_s.query.search import Search, resolve_projection
from exhume.formats.clp_s.query.tree import EscapeError, parse_column
from exhume.formats.clp_s.read import kernel
from exhume.formats.clp_s.read.columns import Column, parse_json
from exhume.formats.clp_s.read.kernel import ClpsProgram

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.matches import MatchingRows

Value = int | float | str | bool  # a distinct value
Number = int | float

_INTEGERS: Final = frozenset((NodeType.INTEGER, NodeType.DELTA_INTEGER))
_FLOATS: Final = frozenset((NodeType.FLOAT, NodeType.FORMATTED_FLOAT))

_WILDCARD: Final = re.compile(r"(?<!\\)(?:\\\\)*[*?]")
"""A `*` or `?` that is not escaped: an even number of backslashes precedes it."""


def check_field(field: str) -> None:
    """Raise `QueryError` for a string that is not a path to a field, and for wildcards."""
    try:
        column = parse_column(field)
    except EscapeError as error:
        raise QueryError(f"not a field: {error}", format="clp-s", query=field) from None
    if column.open or _WILDCARD.search(field):  # a key that is `*`, or a wildcard within a key
        raise QueryError("an aggregated field cannot have wildcards", format="clp-s", query=field)


def extreme(searches: Iterable[Search], field: str, *, largest: bool) -> Number | None:
    """Return the smallest or the largest number of a field; None if no matching record has one."""
    found: Number | None = None
    for column, mask in _columns(searches, field):
        number = _extreme_of(column, mask, largest=largest)
        if number is not None and (found is None or (number > found if largest else number < found)):
            found = number
    return found


class Distinct:
    """Different values, type by type: 1, 1.0 and True are equal in Python, but are three values here."""

    def __init__(self) -> None:
        self.found: ClpsDistinct = ClpsDistinct()  # all but the booleans
        self.booleans: set[bool] = set()

    def add(self, value: Any) -> None:
        """Add a value of JSON; nulls, arrays and objects do not count, nor what JSON cannot hold."""
        if isinstance(value, bool):
            self.booleans.add(value)
        elif isinstance(value, int):
            if I64_MIN <= value <= I64_MAX:
                self.found.add_numbers(array("q", (value,)), None, False)
        elif isinstance(value, float):
            self.found.add_numbers(array("d", (value,)), None, True)
        elif isinstance(value, str):
            self.found.put(value.encode("utf-8", "surrogateescape"))

    def add_column(self, column: Column, mask: bytes | None, *, has_strings: bool = True) -> None:
        """Add the values of the rows that the mask chooses (None: all).

        Without `has_strings` (for the smallest and the largest), timestamps count only if they print as numbers.

        Raises the error of the first row that cannot be decoded.
        """
        match column.type:
            case NodeType.INTEGER | NodeType.DELTA_INTEGER | NodeType.FORMATTED_FLOAT:
                self.found.add_numbers(column.values, mask, column.type == NodeType.FORMATTED_FLOAT)
            case NodeType.BOOLEAN:
                flags = column.values if mask is None else compress(column.values, mask)
                self.booleans.update(flag != 0 for flag in set(flags))
            case NodeType.VAR_STRING:
                # Values are ids of the dictionary: its beginning, up to the largest one, is enough.  `False, True`: of
                # integers, the largest.
                largest = clps_extreme(column.values, mask, False, True)
                if largest is None:
                    return
                row = self.found.add_entries(column.texts.first_variables(int(largest) + 1), column.values, mask)
                if row >= 0:
                    column.strings([row])  # raises the error of the row
            case NodeType.CLP_STRING:
                # The beginning of the dictionary is enough, up to the last entry in use.
                types = column.texts.raw_log_types
                last = clps_last_entry(column.values, column.variables, types, mask)
                entries = column.texts.first_variables(last + 1)
                self._add_printed(column, mask, (kernel.TEXT, column.values, column.variables, types, entries))
            case NodeType.DATE_STRING:
                self._add_printed(column, mask, column.operation(raw=True))
            case NodeType.FLOAT | NodeType.DICTIONARY_FLOAT | NodeType.TIMESTAMP:
                # Some print as numbers, some as strings, by their text or pattern: what the kernel cannot parse comes
                # here.
                self._add_printed(column, mask, column.operation(raw=True), is_json=True, has_strings=has_strings)
                for text in self.found.rest_of():
                    value = parse_json(text)
                    # `parse_json` returns text that is not JSON as a string, too: that has no quotes.
                    if isinstance(value, str) and not (has_strings and text[:1] == b'"'):
                        continue
                    self.add(value)

    def _add_printed(
        self,
        column: Column,
        mask: bytes | None,
        operation: tuple[object, ...],
        *,
        is_json: bool = False,
        has_strings: bool = True,
    ) -> None:
        """Add the values of a column as the kernel prints them, without the escapes of JSON; `mask` selects rows.

        `operation`: prints a value; `is_json`: they are JSON values, else strings; `has_strings`: JSON strings count,
        too.
        """
        program = ClpsProgram([operation], column.rows)
        fault = self.found.add(program, mask, is_json, has_strings)
        if fault is not None:
            raise column.failure(fault)

    def numbers(self) -> tuple[array[int], array[float]]:
        """The integers and the floats, in ascending order."""
        return array("q", self.found.numbers_of(False)), array("d", self.found.numbers_of(True))

    def values(self) -> list[Value]:
        """Integers, floats, strings (by their bytes) and booleans, each in ascending order."""
        integers, floats = self.numbers()
        texts = (text.decode("utf-8", "surrogateescape") for text in self.found.texts_of())
        return [*integers, *floats, *texts, *sorted(self.booleans)]

    def lines(self, size: int = 1 << 18) -> Iterator[bytes]:
        """Yield the distinct values as lines of JSON, in chunks of about `size` bytes."""
        for kind in (1, 2, 3):  # integers, floats, strings
            at = 0
            while True:
                out, at = self.found.lines(kind, at, size)
                if not out:
                    break
                yield out
        if self.booleans:
            yield b"".join(b"true\n" if value else b"false\n" for value in sorted(self.booleans))


def unique(searches: Iterable[Search], field: str) -> Distinct:
    """Return the different values of a field in the records that match."""
    found = Distinct()
    for column, mask in _columns(searches, field):
        found.add_column(column, mask)
    return found


def _columns(searches: Iterable[Search], field: str) -> Iterator[tuple[Column, bytes | None]]:
    """Yield the columns of a field, each with a byte for each row: 1 if its record matches (None: all do)."""
    for search in searches:
        nodes = resolve_projection(search.archive, [field], known=False)
        if not nodes or not search.plan.tables:
            continue
        for hits in search.hits(nodes):
            yield from ((column, hits.mask) for column in _of_table(hits, nodes))


def _of_table(hits: MatchingRows, nodes: frozenset[int]) -> Iterator[Column]:
    """Yield the columns of these schema tree nodes in a table."""
    for node in nodes:
        yield from hits.data.columns_of(node)


def _extreme_of(column: Column, mask: bytes | None, *, largest: bool) -> Number | None:
    """Return the smallest or largest number of a column in the rows of `mask`; None if it has none."""
    if column.type in _INTEGERS or column.type in _FLOATS:
        number: Number | None = clps_extreme(column.values, mask, column.type in _FLOATS, largest)
        return _as_printed(column, number)
    if column.type == NodeType.DICTIONARY_FLOAT or (column.type == NodeType.TIMESTAMP and not _all_text(column)):
        # Their numbers are known only when they are printed.
        distinct = Distinct()
        distinct.add_column(column, mask, has_strings=False)
        # The smallest or largest integer and float, as far as there are any; both kinds are in ascending order.
        numbers = [kind[-1] if largest else kind[0] for kind in distinct.numbers() if kind]
        return (max if largest else min)(numbers, default=None)
    return None


def _all_text(column: Column) -> bool:
    """Return whether all timestamps of a column print as strings, by their patterns: then it has no numbers."""
    known = column.texts.patterns
    # A pattern that cannot be used is not in `compiled`; the text of one that prints strings begins with a quote.
    return all(one in known.compiled and known.texts[one][:1] == b'"' for one in set(column.pattern_ids))


def _as_printed(column: Column, number: Number | None) -> Number | None:
    """Return a number as its record prints it: floats without a format have six digits after the point."""
    return float(f"{number:f}") if number is not None and column.type == NodeType.FLOAT else number
