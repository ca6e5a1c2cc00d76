"""Columns for the interpreted kernel: events of a stream in the buffers of Arrow's columns.

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
from typing import Any, NamedTuple

from exhume.formats.kv_ir.units import Status

PrintArray = Callable[[list[Any]], tuple[bytes, bool]]

Buffer = Any
"""What has the buffer protocol."""

Buffers = tuple[int, Buffer, Buffer, Buffer]
"""How many values are null, and buffers: which are not (None: all), where strings end (None: no strings), and the
data."""

Taken = tuple[Buffer, list[Buffers | None], tuple[int, int, int]]
"""Bytes of strings of each row, as int64; columns, None for one with nothing but nulls; and how many strings were
not UTF-8, integers rounded, and values of mixed types turned into text.
"""

_TYPES: dict[str, tuple[type, ...]] = {
    "l": (int,),
    "g": (int, float),
    "b": (bool,),
    "U": (str, list),
    "m": (int, float, bool, str, list),
}


class _Lost(NamedTuple):
    bad_texts: int = 0
    rounded: int = 0
    mixed: int = 0


class Columns:
    """Columns, the nodes whose values they get, and what has been added to them since they were taken.

    Attributes:
        size: About how many bytes the columns take when they are taken now.
    """

    def __init__(self, kinds: bytes, auto: bytes, user: bytes, print_array: PrintArray) -> None:
        self.kinds, self.print_array = kinds.decode("ascii"), print_array
        self.places: list[array[int]] = [array("i", auto), array("i", user)]
        if not set(self.kinds) <= _TYPES.keys():
            raise ValueError("no such kind of column")
        if any(not -1 <= place < len(kinds) for places in self.places for place in places):
            raise ValueError("no such column")
        self._begin()

    def _begin(self) -> None:
        self.sizes = array("q")
        self.values: list[dict[int, Any]] = [{} for _ in self.kinds]
        self.lost = _Lost()

    def row(self) -> Row:
        """A row to add values to."""
        return Row(self)

    @property
    def size(self) -> int:
        used = sum(map(bool, self.values))
        return sum(self.sizes) + self.sizes.itemsize * len(self.sizes) * (1 + used)

    def take(self) -> Taken:
        """What was added since the last call."""
        lost = self.lost
        found = list(map(self._buffers, self.kinds, self.values))
        taken = self.sizes, found, (lost.bad_texts, lost.rounded, lost.mixed)
        self._begin()
        return taken

    def _buffers(self, kind: str, values: dict[int, Any]) -> Buffers | None:
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
    bits = bytearray(count + 7 >> 3)
    for row in rows:
        bits[row >> 3] |= 1 << (row & 7)
    return bytes(bits)


class Row:
    """An event on its way into columns."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._values: dict[int, Any] = {}
        self._lost = columns.lost
        self._size = 0

    def column(self, space: int, node: int) -> int | None:
        """The column of a node of one of the trees; None when it has none, or has a value already."""
        places = self._columns.places[space]
        place = places[node] if node < len(places) else -1
        return None if place < 0 or place in self._values else place

    def add(self, column: int, value: Any) -> Status | None:
        """Add a value, unless the column cannot have it."""
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
