"""Messages of a channel as Arrow's columns, which the kernel fills without the interpreter lock.

The program of a type comes with a tree of columns of the same form, with the types that `arrow.ArrowForm` states.
Messages that the kernel does not accept are left to the readers, with all those that were read together with them.

A program (`rbuf.program`) is a type compiled to a flat table that the kernel decodes messages by; a `Shape` is a row of
the matching table of columns.  Rows refer to each other by index, since the kernel knows no Python objects.

Spec: rbuf wire format; Arrow columnar format, Physical Memory Layout.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Collection
from typing import Any, Final

from exhume.formats.ark.kernel import ark_columns
from exhume.formats.ark.rbuf.program import MAX_ROWS
from exhume.formats.ark.rbuf.registry import Field, Registry
from exhume.formats.ark.rbuf.wire import is_fixed, letter_of
from exhume.tabular.arrow import BAD_TIME, import_pyarrow
from exhume.tuples import NamedTuple

ROOM: Final = 1 << 29
"""Bytes that the columns of a batch may take: absent values can take many times those of a message."""


class Shape(NamedTuple):
    """Description of a column, the same as the kernel's `RbufShape`."""

    kind: str = "-"
    """w number, ? boolean, g GUID, t time, s bytes or string, l list, a array (a list of fixed size), m map, o struct,
    v variant, e struct without fields, j JSON text (a type within itself, for which Arrow has no type), - none."""
    child: int = 0
    """Index of the first column within this one; the others follow it."""
    number: int = 0
    """Number of columns within, or of elements of an array."""
    width: int = 0
    """Bytes of a value of fixed size."""
    text: int = 0
    """Offset of the type name of a variant's alternative in the strings of all shapes."""
    size: int = 0
    """Bytes of that name."""


class _ShapeWriter:
    """Writes shapes; as in Arrow, each use of a type has columns of its own."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.shapes: list[Shape] = [Shape()]  # the first is that of the whole message
        self.texts = bytearray()  # type names of the alternatives of variants, joined; see `Shape.text`

    def take(self, count: int) -> int:
        """Append `count` empty shapes; return the index of the first.  Raises `OverflowError` for too many."""
        if len(self.shapes) + count > MAX_ROWS:
            raise OverflowError
        self.shapes += [Shape()] * count
        return len(self.shapes) - count

    def fields(self, fields: list[Field], inside: tuple[str, ...], wanted: Collection[str] | None = None) -> Shape:
        """Return the shape of a struct of these fields; fields that are not `wanted` (None: all are) have no column.

        `inside` has the names of the types around it, to find a type within itself.
        """
        first = self.take(len(fields))
        for number, each in enumerate(fields, first):
            if wanted is None or each.name in wanted:
                self.shapes[number] = self._value(each, inside)
        return Shape("o", first, len(fields))

    def _value(self, each: Field, inside: tuple[str, ...]) -> Shape:
        """Return the shape of a field's values; the shapes of its elements are added to `self.shapes`.

        `inside` has the names of the object types around the field, to find a type within itself.
        """
        # Any column can have absent values, so that `optional` makes no difference.
        if is_fixed(each._replace(optional=False)):
            kind = {"bool": "?", "guid": "g", "system_time_point": "t"}.get(each.type, "w")
            width = struct.calcsize("<" + letter_of(self._registry, each))
            return Shape("w" if each.packed_timespec else kind, width=width)
        match each.type:
            case "string" | "byte_buffer":
                return Shape("s")
            case "object":
                return self._object(each.object_type or "", inside)
            case "variant":
                return self._variant(each, inside)
            case "dictionary":
                assert each.key is not None
                assert each.value is not None
                first = self.take(2)
                self.shapes[first] = self._value(each.key, inside)
                self.shapes[first + 1] = self._value(each.value, inside)
                return Shape("m", first)
        assert each.value is not None
        first = self.take(1)
        self.shapes[first] = self._value(each.value, inside)
        return Shape("a", first, each.array_size) if each.type == "array" else Shape("l", first)

    def _object(self, name: str, inside: tuple[str, ...]) -> Shape:
        """Return the shape of a value of an object type; JSON text for a type within itself."""
        if name in inside:
            return Shape("j")
        fields = [*self._registry.schema(name).visible_fields()]
        return self.fields(fields, (*inside, name)) if fields else Shape("e")

    def _variant(self, each: Field, inside: tuple[str, ...]) -> Shape:
        """Return the shape of a variant: index, type name, the alternatives, and the bytes of an unknown alternative.

        These are consecutive rows.
        """
        count = len(each.variants) + 3
        first = self.take(count)
        self.shapes[first], self.shapes[first + 1], self.shapes[first + count - 1] = Shape("w", width=1), _TEXT, _TEXT
        for number, (_, name) in enumerate(each.variants, first + 2):
            text = name.encode("utf-8")
            found = self._object(name, inside)
            self.shapes[number] = found._replace(text=len(self.texts), size=len(text))
            self.texts += text
        return Shape("v", first, count)


_TEXT: Final = Shape("s")
"""The shape of strings."""


class Columns(NamedTuple):
    """The columns of a channel's type, some of them wanted, in the order of its fields; picklable."""

    names: list[str]
    """All fields of the type."""
    shapes: list[Shape]
    packed: bytes
    """The shapes as the kernel takes them: six 64-bit numbers each."""
    texts: bytes
    """Type names of variants; see `Shape.text`."""

    def batch(self, schema: Any, order: list[int], pieces: list[Any]) -> tuple[Any, Any, Counter[str]] | None:
        """The record batch of messages, with the Arrow schema `schema`; None if any is not accepted.

        `pieces` are tuples of messages, their times and short identifiers, and by these programs and text (see
        `ark_json`); `order` is the number of the piece of each message in turn.  Also returns the size in bytes of each
        message, and the number of values that did not fit.
        """
        made = ark_columns(order, pieces, self.packed, self.texts, ROOM)
        return None if made is None else self.shaped(schema, made)

    def shaped(self, schema: Any, made: Any) -> tuple[Any, Any, Counter[str]]:
        """The record batch of what `ark_columns` made (times, sizes, misfits, columns), not copied; see `batch`."""
        import numpy

        pa = import_pyarrow()
        times, sizes, lost, found = made
        count = len(sizes) // numpy.int64().itemsize
        # A bit for each message says whether it was latched: no, since those are not in batches.
        own = {"time_ns": times, "latched": bytes(count + 7 >> 3)}
        arrays = []
        for field in schema:
            if field.name in self.names:
                place = self.shapes[0].child + self.names.index(field.name)
                arrays.append(self._array(pa, found, place, field.type))
            else:
                arrays.append(pa.Array.from_buffers(field.type, count, [None, pa.py_buffer(own[field.name])], 0))
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return batch, numpy.frombuffer(sizes, numpy.int64), Counter({BAD_TIME: lost})

    def _array(self, pa: Any, found: list[tuple[Any, ...]], number: int, type_: Any) -> Any:
        """The array of column `number`, which the kernel filled, and of those within; `type_` is its Arrow type.

        `found` has for each column: number of values, number of nulls, validity bits, offsets, data.
        """
        shape = self.shapes[number]
        length, nulls, bits, ends, data = found[number]
        # Buffers in Arrow's order: validity, then offsets if sizes vary, then data unless there are columns within.
        buffers = [pa.py_buffer(bits) if nulls else None]
        children: list[Any] | None = None
        match shape.kind:
            case "o" | "v":
                within = range(shape.child, shape.child + shape.number)
                children = [self._array(pa, found, one, type_.field(place).type) for place, one in enumerate(within)]
            case "a":
                children = [self._array(pa, found, shape.child, type_.value_type)]
            case "l":
                buffers.append(pa.py_buffer(ends))
                children = [self._array(pa, found, shape.child, type_.value_type)]
            case "m":
                buffers.append(pa.py_buffer(ends))
                key = self._array(pa, found, shape.child, type_.key_type)
                item = self._array(pa, found, shape.child + 1, type_.item_type)
                pair = pa.struct([type_.key_field, type_.item_field])
                children = [pa.Array.from_buffers(pair, len(key), [None], 0, children=[key, item])]
            case "s" | "g" | "j":
                buffers += [pa.py_buffer(ends), pa.py_buffer(data)]
            case _:
                buffers.append(pa.py_buffer(data))
        return pa.Array.from_buffers(type_, length, buffers, nulls, children=children)


def columns_of(registry: Registry | None, type_name: str, wanted: Collection[str] | None = None) -> Columns | None:
    """The columns of a type's wanted fields (None: all), `data` without a registry; None for a type that is too large.

    Raises rule ARK-411 when the registry has no such type.
    """
    if registry is None:
        fields = [Field("data", "byte_buffer")]
    else:
        fields = list(registry.schema(type_name).visible_fields())
    shaper = _ShapeWriter(registry or Registry({}, {}))
    try:
        shaper.shapes[0] = shaper.fields(fields, (type_name,), wanted)
    except (OverflowError, RecursionError):
        return None
    numbers = array("q", (part for shape in shaper.shapes for part in (ord(shape.kind), *shape[1:])))
    names = [each.name for each in fields]
    return Columns(names, shaper.shapes, numbers.tobytes(), bytes(shaper.texts))
