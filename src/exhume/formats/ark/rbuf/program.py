"""Types to programs: flat rows from which the kernel checks and prints messages without the interpreter lock.

A program describes what `compiler` makes readers of, field by field, and nothing else: the kernel accepts messages that
those readers decode without a note, and prints the JSON that is made of their values.  Any other message is left to the
readers, which report the problem or note.

An object of rbuf has fields, and groups of fields that were added to its type later; a variant is a value of one of
several types (alternatives).  Rows refer to each other by index.

Spec: rbuf wire format.
"""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING, Final

from exhume.formats.ark.kernel import RbufProgram
from exhume.formats.ark.rbuf.layout import HEADER, HEADER_WITH_GROUPS
from exhume.formats.ark.rbuf.registry import Field
from exhume.formats.ark.rbuf.wire import MAX_DEPTH, MAX_ELEMENTS, Sizes, cost_of, is_fixed, letter_of
from exhume.io.jsonout import dumps
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.registry import Registry, Schema

# Flags of rows, the same as in the kernel (`RBUF_OPTIONAL` and so on), which explains them.
OPTIONAL: Final = 1
REMOVED: Final = 2
FINAL: Final = 4

MAX_ROWS: Final = 1 << 16
"""Rows of a program; a type that needs more is left to the readers."""


class Row(NamedTuple):
    """A row of a program, the same as the kernel's `RbufOp`, which lists the letters of the kinds.

    In the row of an object type (kind b), `cost` is the byte that opens an object, and `text` and `size` are the first
    row of its groups and their number.
    """

    kind: str = " "
    flags: int = 0
    child: int = 0
    """Index of the first row within."""
    number: int = 0
    """Number of rows within, of bytes of a fixed size, or of elements of an array."""
    least: int = 0
    """Fewest bytes of an element or a pair."""
    cost: int = 1
    """Cost of an element or a pair in the budget; the number of a group or an alternative."""
    text: int = 0
    """Offset of the text that is printed before the value."""
    size: int = 0
    """Bytes of that text."""


class _Programmer:
    """Writes rows; an object type has one row (kind b), to which all fields of that type lead, also its own."""

    def __init__(self, registry: Registry) -> None:
        """Prepare to write the program of a type of `registry`, as rows and strings for the kernel."""
        self._registry = registry
        self._sizes = Sizes(registry)
        self._rows: list[Row] = []
        self._texts = bytearray()  # the strings, joined
        self._bodies: dict[str, int] = {}  # results of `_body`

    def program(self, name: str) -> RbufProgram:
        """The program of an object type.  Raises `OverflowError` for a type that is too large."""
        root = self._take(1)
        self._rows[root] = Row("o", child=self._body(name))
        return _made(self._rows, bytes(self._texts))

    def _take(self, count: int) -> int:
        """Append `count` empty rows; return the index of the first.  Raises `OverflowError` for too many."""
        if len(self._rows) + count > MAX_ROWS:
            raise OverflowError
        self._rows += [Row()] * count
        return len(self._rows) - count

    def _text(self, text: str) -> int:
        """Append a string; return its offset."""
        start = len(self._texts)
        self._texts += text.encode("ascii")
        return start

    def _body(self, name: str) -> int:
        """Return the index of the row of an object type, made on first use."""
        name = name.removeprefix("::")
        if name not in self._bodies:
            self._bodies[name] = at = self._take(1)  # before its fields, which may be of the same type
            schema = self._registry.schema(name)
            groups = () if schema.final else schema.groups
            first_field, count = self._fields(schema.fields)
            first_group = self._take(len(groups))
            for number, group in enumerate(groups):
                child, size = self._fields(group.fields)
                self._rows[first_group + number] = Row(child=child, number=size, cost=group.identifier)
            self._rows[at] = Row(
                "b",
                flags=FINAL if schema.final else 0,
                child=first_field,
                number=count,
                cost=_header(schema),
                text=first_group,
                size=len(groups),
            )
        return self._bodies[name]

    def _fields(self, fields: tuple[Field, ...]) -> tuple[int, int]:
        """Add a row for each field; return the first row and their number."""
        wire = [each for each in fields if not each.constant]
        first = self._take(len(wire))
        for number, each in enumerate(wire):
            name = dumps(each.name) + ":"
            row = self._value(each)
            if each.removed:
                row = row._replace(flags=row.flags | REMOVED)
            self._rows[first + number] = row._replace(text=self._text(name), size=len(name))
        return first, len(wire)

    def _value(self, each: Field) -> Row:
        """The row of a value, without the name of its field."""
        row = self._plain(each)
        return row._replace(flags=OPTIONAL) if each.optional else row

    def _plain(self, each: Field) -> Row:
        """Return the row of a value that is not optional; the rows of its parts are added to the program."""
        if is_fixed(each._replace(optional=False)):
            letter = letter_of(self._registry, each)  # such as `8s` for eight bytes
            kind = "g" if each.type == "guid" and not each.packed_timespec else "x" if letter[-1] == "s" else letter
            return Row(kind, number=struct.calcsize("<" + letter))
        match each.type:
            case "string":
                return Row("s")
            case "byte_buffer":
                return Row("y")
            case "object":
                return Row("o", child=self._body(each.object_type or ""))
            case "variant":
                return self._variant(each)
            case "dictionary":
                return self._dictionary(each)
        assert each.value is not None  # a list or an array
        child = self._take(1)
        self._rows[child] = self._value(each.value)
        least, cost = self._sizes.least(each.value), cost_of(each.value)
        kind = "a" if each.type == "array" else "l"
        return Row(kind, child=child, number=each.array_size, least=least, cost=cost)

    def _dictionary(self, each: Field) -> Row:
        """Return the row of a dictionary; rows of key and value follow each other."""
        assert each.key is not None
        assert each.value is not None
        child = self._take(2)
        self._rows[child], self._rows[child + 1] = self._value(each.key), self._value(each.value)
        kind = "m" if each.key.type == "string" and not each.key.optional else "p"
        least = self._sizes.least(each.key) + self._sizes.least(each.value)
        cost = cost_of(each.key) + cost_of(each.value) + 2  # 2 for the pair itself
        return Row(kind, child=child, least=least, cost=cost)

    def _variant(self, each: Field) -> Row:
        """Return the row of a variant; those of its alternatives follow each other."""
        first = self._take(len(each.variants))
        for number, (index, name) in enumerate(each.variants):
            text = f'{{"index":{index},"type":{dumps(name)},"value":'
            self._rows[first + number] = Row(child=self._body(name), cost=index, text=self._text(text), size=len(text))
        return Row("v", child=first, number=len(each.variants))


def _header(schema: Schema) -> int:
    """The byte that opens an object of all groups of its type."""
    return HEADER_WITH_GROUPS if schema.groups else HEADER


def program_for(registry: Registry, name: str) -> RbufProgram:
    """The program of one type of a registry, which is made when it is first requested.

    That of a type that is too large accepts no message.  Raises rule ARK-411 if the registry has no such type.
    """
    name = name.removeprefix("::")
    found: RbufProgram | None = registry.compiled.get(("program", name))
    if found is None:
        try:
            found = _Programmer(registry).program(name)
        except (OverflowError, RecursionError):
            found = _single(Row("v"))  # of no alternatives
        registry.compiled["program", name] = found
    return found


def bytes_program() -> RbufProgram:
    """The program of messages without a type: their JSON is that of their bytes."""
    return _single(Row("z"))


def data_program() -> RbufProgram:
    """The program of messages without a type, printed as an object whose field `data` has their bytes."""
    name = dumps("data") + ":"
    # A value of an object type; that type, of one field and without a header byte; and the field: bytes up to the end.
    rows = [Row("o", child=1), Row("b", flags=FINAL, child=2, number=1), Row("z", size=len(name))]
    return _made(rows, name.encode("ascii"))


def _single(row: Row) -> RbufProgram:
    """The program of one row without strings."""
    return _made([row], b"")


def _made(rows: list[Row], texts: bytes) -> RbufProgram:
    """The kernel's program of these rows: eight 64-bit numbers each, the first the letter of the kind."""
    numbers = array("q", (part for row in rows for part in (ord(row.kind), *row[1:])))
    return RbufProgram(numbers.tobytes(), texts, MAX_ELEMENTS, MAX_DEPTH)
