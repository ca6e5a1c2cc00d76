"""Which lists of structures of one size are unpacked together, and what a row of them consists of.

Only third-party specifications have such lists. A row is an element of the list. It is packed if nothing in it has
to be decided while it is read: it consists of numbers, bytes and strings of fixed sizes, all in one byte order, and
of structures of these. Then one call of `struct` reads all of its values.

Readers of third-party specifications work on a budget: of steps, so that no data keeps them busy forever, and of
bytes of memory (`held`). Reading a row takes from both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import TEXT, Integer, SimpleKind, Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import byte_order, fixed_bytes, fixed_text, stored_size
from exhume.compiler.ir.rows import FEW

LONG = 64
"""Size in bytes from which a row is charged for its memory; for less, the charge of a step is enough."""

MOST_VALUES = 100
"""Most values of a row that are unpacked together; rows of more are read one by one."""

VALUES_OF_A_STEP = 16
"""Number of values for which reading a row takes one more step of the budget."""

_CHECKED = frozenset(("valid", "process", "terminator", "contents", "pad-right", "parent"))
"""Keys of a field that have to be applied to each value, so that it cannot be unpacked together with others."""


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a packed structure.

    `inner` has the structure that the field is, or those of the list that it is; it is empty for numbers, bytes and
    strings.
    """

    field: Field
    inner: tuple[Packed, ...] = ()


@dataclass(frozen=True, slots=True)
class Packed:
    """A structure whose fields have fixed places."""

    type: Type
    parts: tuple[Part, ...]

    def structures(self) -> Iterator[Packed]:
        """Yield this structure and all that are in it."""
        yield self
        for part in self.parts:
            for one in part.inner:
                yield from one.structures()

    def fields(self) -> list[Field]:
        """Return all numbers, bytes and strings of this structure and of those in it, in the order of the data."""
        return [
            field
            for part in self.parts
            for field in ([one for inner in part.inner for one in inner.fields()] or [part.field])
        ]


@dataclass(frozen=True, slots=True)
class PackedRows:
    """The elements of a list that are unpacked together.

    Attributes:
        row: Layout of an element.
        size: Bytes from the start of an element to that of the next.
        own: Whether the specification states this size (`size`): it may be larger than what the fields take, and each
            element gets a stream of its own.
    """

    row: Packed
    size: int
    own: bool

    @property
    def used(self) -> int:
        """Bytes of a row that its fields take, at most `size`."""
        return sum(map(stored_size, self.row.fields()))

    @property
    def texts(self) -> bool:
        """Whether a row has strings, which may not be valid in their encoding."""
        return any(one.value_kind == TEXT for one in self.row.fields())

    @property
    def steps(self) -> int:
        """Steps of the budget that a row is charged for: one for each structure, and more if it has many values."""
        return sum(1 for _ in self.row.structures()) + len(self.row.fields()) // VALUES_OF_A_STEP

    @property
    def held(self) -> int:
        """Bytes of memory that a row is charged for: as much as by the reader of one row, or more.

        Strings take up to two bytes of memory for each that is stored.
        """
        texts = sum(2 * stored_size(one) for one in self.row.fields() if one.value_kind == TEXT)
        return texts + (self.size if self.size > LONG else 0)


def packed_rows(field: Field) -> PackedRows | None:
    """Return the rows of a list whose elements are unpacked together; None for all other fields."""
    kind = field.value_kind
    if field.repeat not in ("expr", "eos") or not isinstance(kind, Structure) or field.to_end:
        return None
    if not _CHECKED.isdisjoint(field.raw) or kind.type.root.model.moving is not None:
        return None
    row = _packed(kind.type)
    # Structures within the root type of a specification have the row as `_root`, so it has to be there before them.
    if row is None or (kind.type.parent is None and any(part.inner for part in row.parts)):
        return None
    fields = row.fields()
    # `struct` has one byte order for all values of a row.
    orders = {byte_order(one.value_kind) for one in fields} - {None}
    if len(orders) > 1 or len(fields) > MOST_VALUES:
        return None
    rows = PackedRows(row, 0, own=field.size is not None)  # for `used`; the size follows
    size = _number(field.size) if rows.own else rows.used
    # Rows without gaps between them may be read as columns, which is faster.
    if size is None or size < rows.used or (size == rows.used and kind.type.raw.get("-columns")):
        return None
    return PackedRows(row, size, rows.own)


def _packed(type: Type, depth: int = 4) -> Packed | None:
    """Return the parts of a structure of fixed layout; None if any part depends on data or is nested too deeply.

    `depth` is the number of levels, including this one, that it may have.
    """
    depends = bool(type.params) or type.decides is not None or type.opaque
    if depends or type.scalar is not None or not type.seq or not depth:
        return None
    parts = []
    for field in type.seq:
        if field.condition is not None or not _CHECKED.isdisjoint(field.raw):
            return None
        if not isinstance(field.value_kind, Structure):
            if field.repeat or not _is_plain(field):
                return None
            parts.append(Part(field))
            continue
        # A list within a row has a constant, small length, and its structures have neither a stream nor a root of their
        # own.
        many = 1 if not field.repeat else _number(field.expr("repeat-expr")) if field.repeat == "expr" else None
        own = field.size is not None or field.to_end or field.value_kind.type.root is not type.root
        if own or many is None or not 0 < many <= FEW or field.value_kind.type.parent is None:
            return None
        inner = _packed(field.value_kind.type, depth - 1)
        if inner is None:
            return None
        parts.append(Part(field, (inner,) * many))
    return Packed(type, tuple(parts))


def _is_plain(field: Field) -> bool:
    """Return whether a field is a number, or bytes or a string of one size."""
    kind = field.value_kind
    return (isinstance(kind, (Integer, SimpleKind)) and kind.size > 0 and field.size is None) or (
        fixed_bytes(field) or fixed_text(field)
    )


def _number(expr: ex.Expr | None) -> int | None:
    """Return the integer that an expression is; None for all other expressions."""
    return expr.value if isinstance(expr, ex.Literal) and type(expr.value) is int else None
