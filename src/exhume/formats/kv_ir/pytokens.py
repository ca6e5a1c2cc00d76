"""Parts of the pure-Python kernel: reading tokens, finding where units end, and filling the buffers of Arrow columns.

A unit is an event or a declaration of a key, and consists of tokens (a tag byte and a number or string).  Keys are the
nodes of two trees: of the logger (space 0) and of the user (space 1).  An encoded string is a marker, its variables and
its log type.

A column is of one of these kinds:

| letter | Arrow type | values |
|---|---|---|
| `l` | int64 | integers |
| `g` | float64 | floats, and integers (some of them rounded) |
| `b` | bool | booleans |
| `U` | large_string | strings, and arrays as text |
| `m` | large_string | anything, as text |

Nulls and empty objects are null in all of them, as are keys that an event does not have.

Spec: Arrow columnar format, Physical Memory Layout.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable
from typing import Any

from exhume.formats.kv_ir.layout import (
    INTEGERS,
    KEYS,
    LOG_TYPES,
    NODES,
    TEXTS,
    VARIABLE_TEXTS,
    LayoutError,
    Tags,
    flat_token,
)
from exhume.formats.kv_ir.units import Status
from exhume.tuples import NamedTuple

APART = frozenset((Tags.FOUR_BYTE_ENCODING, Tags.EIGHT_BYTE_ENCODING))
"""Markers that begin an encoded string."""

_VARIABLES = VARIABLE_TEXTS | {Tags.VARIABLE_4, Tags.VARIABLE_8}
# Values of one token.
_VALUES = INTEGERS | TEXTS | {Tags.REAL, Tags.TRUE_VALUE, Tags.FALSE_VALUE, Tags.EMPTY_OBJECT, Tags.NULL_VALUE}


class StopError(Exception):
    """A unit that was not accepted: why, where it starts, and where it ends (-1 if that is unknown)."""

    status: Status
    at: int
    after: int

    def __init__(self, status: Status, at: int, after: int = -1) -> None:
        super().__init__(status)
        self.status, self.at, self.after = status, at, after


def token(data: bytes, at: int, end: int) -> tuple[int, Any, int]:
    """Return `(tag, number or bytes, end)` of the token at `at`.  Raises `StopError` if it is incomplete or invalid."""
    try:
        after, tag, one, two, four, eight, real, _, _, _, start, stop = flat_token(data, at, end)
    except LayoutError:
        raise StopError(Status.MORE, at) from None
    if tag == Tags.REAL:
        return tag, real, after
    # Absent fields are 0: the sum is the number of the width that is present.
    return tag, (bytes(data[start:stop]) if start else one + two + four + eight), after


def scan_units(data: bytes, at: int, target: int) -> tuple[int, int, int, list[tuple[int, int]]]:
    """Find where units of `data` end from `at` on, and check nothing else; stop at the first end at or after `target`.

    Returns `(status, unit, place, declared)`:
        status: `FULL` at the target; `END` before the token that ends the stream; `MORE` or `UNEXPECTED` in a unit that
            is incomplete or invalid.  Decoding may reject a unit that is accepted here.
        unit: Offset of the unit that was not passed.
        place: Offset of the token in it that ends the scan.
        declared: Start and end of each declaration of a key.

    Raises `ValueError` for a position outside of `data`.
    """
    end = len(data)
    if not 0 <= at <= end:
        raise ValueError("outside of the data")
    declared: list[tuple[int, int]] = []
    while at < min(end, target):
        try:
            tag, _, after = token(data, at, end)
            if tag == Tags.END_OF_STREAM:
                return Status.END, at, at, declared
            if tag in NODES:
                for _ in range(2):  # parent and name
                    _, _, after = token(data, after, end)
                declared.append((at, after))
            elif tag in KEYS or tag == Tags.EMPTY_OBJECT:
                after = pass_event(lambda place: token(data, place, end), at)
            elif tag != Tags.UTC_OFFSET_CHANGE:
                return Status.UNEXPECTED, at, at, declared
        except StopError as stop:
            return stop.status, at, stop.at, declared
        at = after
    return Status.FULL if at >= target else Status.MORE, at, at, declared


Read = Callable[[int], tuple[int, int, int]]
"""Returns `(tag, number, end)` of the token at an offset."""


def pass_event(read: Read, at: int) -> int:
    """Return the end of the event at `at`.  Raises `StopError` for a token that does not belong there."""
    tag, key, after = read(at)
    while tag in KEYS and key < 0:  # pairs of the logger
        at = _pass_value(read, after)
        tag, key, after = read(at)
    if tag == Tags.EMPTY_OBJECT:
        return after
    if tag not in KEYS:
        raise StopError(Status.UNEXPECTED, at)
    count = 0  # of the user's keys, all of which precede the values
    while tag in KEYS:
        count, at = count + 1, after
        tag, _, after = read(at)
    for _ in range(count):
        at = _pass_value(read, at)
    return at


def _pass_value(read: Read, at: int) -> int:
    """Return the end of the value at `at`.  Raises `StopError` for a token that does not belong there."""
    tag, _, after = read(at)
    if tag in APART:
        while tag in APART or tag in _VARIABLES:
            at = after
            tag, _, after = read(at)
            if tag in LOG_TYPES:
                return after
            if tag in APART:
                break
    elif tag in _VALUES:
        return after
    raise StopError(Status.UNEXPECTED, at)


PrintArray = Callable[[list[Any]], tuple[bytes, bool]]
"""Returns `(text of an array in UTF-8, whether any of it was replaced by U+FFFD)`."""

Buffer = Any
"""Types with the buffer protocol."""

Buffers = tuple[int, Buffer, Buffer, Buffer]
"""A column as Arrow stores it: `(number of nulls, bitmap of valid values, ends of strings, data)`.

The bitmap is None if all values are valid, and the ends are None for values that are not strings.
"""

Taken = tuple[Buffer, list[Buffers | None], tuple[int, int, int]]
"""`(sizes, columns, losses)`.

The size of the strings of each row in bytes, as int64; the columns, None for one with nothing but nulls; and three
counts: strings that were not UTF-8, integers that were rounded, and values of mixed types that were turned into text.
"""

# The types of values that a column of a kind accepts.
_TYPES: dict[str, tuple[type, ...]] = {
    "l": (int,),
    "g": (int, float),
    "b": (bool,),
    "U": (str, list),
    "m": (int, float, bool, str, list),
}


class _Lost(NamedTuple):
    """Counts of losses, as `Taken` lists them."""

    bad_texts: int = 0
    rounded: int = 0
    mixed: int = 0


class Columns:
    """Columns, the nodes whose values they get, and the rows added to them since they were last taken.

    Attributes:
        size: About how many bytes the columns take if they are taken now.
        places: For each of the two trees, the column of each node; -1: none.
        sizes: By row, the bytes of its strings.
        values: By column, the values by row; rows without one are null.
        lost: Counts of losses.
    """

    kinds: str
    print_array: PrintArray

    def __init__(self, kinds: bytes, auto: bytes, user: bytes, print_array: PrintArray) -> None:
        """Collect values by column.

        `kinds` has a letter per column, `auto` and `user` the column of each key (-1: none).
        """
        self.kinds, self.print_array = kinds.decode("ascii"), print_array
        self.places: list[array[int]] = [array("i", auto), array("i", user)]
        if not set(self.kinds) <= _TYPES.keys():
            raise ValueError("no such kind of column")
        if any(not -1 <= place < len(kinds) for places in self.places for place in places):
            raise ValueError("no such column")
        self._begin()

    def _begin(self) -> None:
        """Empty the columns."""
        self.sizes: array[int] = array("q")
        self.values: list[dict[int, Any]] = [{} for _ in self.kinds]
        self.lost: _Lost = _Lost()

    def row(self) -> Row:
        """A row to add values to."""
        return Row(self)

    @property
    def size(self) -> int:
        """Return the bytes that the rows take so far, to decide when a batch is full."""
        used = sum(map(bool, self.values))  # columns with any value: eight bytes for each row, as do the sizes
        return sum(self.sizes) + self.sizes.itemsize * len(self.sizes) * (1 + used)

    def take(self) -> Taken:
        """Return the rows added since the last call, and empty the columns."""
        lost = self.lost
        found = list(map(self._buffers, self.kinds, self.values))
        taken = self.sizes, found, (lost.bad_texts, lost.rounded, lost.mixed)
        self._begin()
        return taken

    def _buffers(self, kind: str, values: dict[int, Any]) -> Buffers | None:
        """Return a column as `(null count, validity bits, offsets, data)`; None if all its values are null.

        `values` are by row.  Validity bits are None without nulls, offsets are None for values of a fixed size.
        """
        if not values:
            return None
        count = len(self.sizes)
        bits = _bits(count, values) if len(values) < count else None
        if kind == "b":
            return count - len(values), bits, None, _bits(count, [row for row, value in values.items() if value])
        if kind in "lg":
            numbers = array("q" if kind == "l" else "d", (values.get(row, 0) for row in range(count)))
            return count - len(values), bits, None, numbers
        ends, data = array("q", [0]), bytearray()
        for row in range(count):
            data += values.get(row, b"")
            ends.append(len(data))
        return count - len(values), bits, ends, data


def _bits(count: int, rows: Any) -> bytes:
    """Return `count` bits, lowest first; those of the `rows` are set."""
    bits = bytearray(count + 7 >> 3)
    for row in rows:
        bits[row >> 3] |= 1 << (row & 7)
    return bytes(bits)


class Row:
    """A row that is not yet part of its columns: an event may turn out to be faulty after some of its values."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._values: dict[int, Any] = {}  # by column
        self._lost = columns.lost  # the counts with those of this row
        self._size = 0  # bytes of its strings

    def column(self, space: int, node: int) -> int | None:
        """The column of a node of a tree (`space`); None when it has none, or has a value already."""
        places = self._columns.places[space]
        place = places[node] if node < len(places) else -1
        return None if place < 0 or place in self._values else place

    def add(self, column: int, value: Any) -> Status | None:
        """Add a value; return the status that forbids it, or None.  Nulls and objects add nothing."""
        if value is None or isinstance(value, dict):
            return None
        kind = self._columns.kinds[column]
        if type(value) not in _TYPES[kind]:
            return Status.TYPE
        if kind == "m" and type(value) is not str:
            self._lost = self._lost._replace(mixed=self._lost.mixed + 1)
        if kind == "g":
            rounded = type(value) is int and int(float(value)) != value
            self._lost = self._lost._replace(rounded=self._lost.rounded + rounded)
            value = float(value)
        elif kind in "Um":
            try:
                value, is_bad = self._text(value)
            except RecursionError:
                return Status.ARRAY
            self._lost = self._lost._replace(bad_texts=self._lost.bad_texts + is_bad)
            self._size += len(value)
        self._values[column] = value
        return None

    def _text(self, value: Any) -> tuple[bytes, bool]:
        """A value as text in UTF-8, and whether anything in it is replaced."""
        if type(value) is list:
            return self._columns.print_array(value)
        if type(value) is not str:
            return json.dumps(value).encode(), False
        try:
            return value.encode("utf-8"), False
        except UnicodeEncodeError:
            return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in value).encode(), True

    def commit(self) -> None:
        """Add the row to the columns."""
        columns = self._columns
        for column, value in self._values.items():
            columns.values[column][len(columns.sizes)] = value
        columns.sizes.append(self._size)
        columns.lost = self._lost
