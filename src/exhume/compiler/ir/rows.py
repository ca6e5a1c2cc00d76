"""How the rows of a list are read, for Python and for compiled code: as columns, or unpacked together.

A row is an element of a list.  Its fields become columns: one array of numbers per field for the whole list, instead of
one object per element.  Bytes and strings become two columns, with the positions of start and end in the data.
`read_method` returns how a field is read, `columns` the names and array codes of its columns.  Array codes are those of
the module `array`: "B" for unsigned numbers of one byte, "q" for signed ones of eight.

Rows of third-party specifications are packed if nothing in them has to be decided while they are read: they consist of
numbers, bytes and strings of fixed sizes, all in one byte order, and of structures of these.  Then one call of `struct`
reads all values of a row (`packed_rows`).  Such readers work on a budget, and a row takes from both of its parts:
steps, so that no data keeps a reader busy forever, and bytes of memory (`held`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, TEXT, Bits, Integer, Kind, SimpleKind, Structure, Switch, structures
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.fixed import (
    CODES,
    Numbers,
    byte_order,
    contents,
    ends_with_a_byte,
    fixed_bytes,
    fixed_text,
    numbers_of,
    scalar_of,
    stored_size,
)
from exhume.compiler.ir.needs import words
from exhume.compiler.refusal import UnsupportedError

CODED = frozenset(("terminator", "pad-right", "process"))
"""Keys of bytes whose end does not depend on a size alone."""

FEW = 16
"""Longest list of constant length, in elements, that is not read as columns: for so few, objects cost less."""

LONG_ROW = 64
"""Size in bytes from which a row is charged for its memory; for less, the charge of a step is enough."""

MOST_VALUES = 100
"""Most values of a row that are unpacked together; rows of more are read one by one."""

VALUES_OF_A_STEP = 16
"""Number of values for which reading a row takes one more step of the budget."""

_CHECKED = frozenset(("valid", "process", "terminator", "contents", "pad-right", "parent"))
"""Keys of a field that have to be applied to each value, so that it cannot be unpacked together with others."""


class ReadMethod(enum.Enum):
    """Method that reads one field of a row."""

    UP_TO_LAST = enum.auto()
    """List of structures that ends by a condition (`repeat-until`); only its start and end are kept."""
    NUMBERS = enum.auto()
    """List of numbers of one width; only its start and end are kept."""
    MARKED = enum.auto()
    """Bytes up to a terminator."""
    CODED = enum.auto()
    """Bytes, a string or a structure that is terminated or padded within its size, or encoded by `process`."""
    CONTENTS = enum.auto()
    """Bytes that are always the same."""
    BYTES = enum.auto()
    """Bytes whose number a size states."""
    TEXT = enum.auto()
    """A string whose number of bytes a size states."""
    NUMBER = enum.auto()
    """An integer or float of whole bytes."""
    SCALAR = enum.auto()
    """A structure that stands for one number."""
    STRUCTURE = enum.auto()
    """A structure whose fields become columns of the row."""
    BITS = enum.auto()
    """A number of some bits."""
    CHOICE = enum.auto()
    """A value whose type depends on another value (`switch-on`)."""
    OTHER = enum.auto()
    """Anything else; rows that contain it are not supported."""


def read_method(field: Field) -> ReadMethod:
    """Return the read method of a field."""
    if field.repeat:
        return ReadMethod.UP_TO_LAST if field.repeat == "until" else ReadMethod.NUMBERS
    return read_method_of_one(field)


def read_method_of_one(field: Field) -> ReadMethod:
    """Return the read method of a single value, or of an element of a repeated field."""
    kind = field.value_kind
    if ends_with_a_byte(field):
        return ReadMethod.MARKED
    if not CODED.isdisjoint(field.raw) or field.raw.get("type") == "strz":
        return ReadMethod.CODED
    if "contents" in field.raw:
        return ReadMethod.CONTENTS
    if kind in (BYTES, TEXT):
        return ReadMethod.BYTES if kind == BYTES else ReadMethod.TEXT
    if isinstance(kind, Structure):
        return ReadMethod.STRUCTURE if scalar_of(kind) is None else ReadMethod.SCALAR
    if isinstance(kind, Bits):
        return ReadMethod.BITS
    if isinstance(kind, Switch):
        return ReadMethod.CHOICE
    return ReadMethod.NUMBER if isinstance(kind, (Integer, SimpleKind)) and kind.size else ReadMethod.OTHER


def shares_word(last: Field, field: Field) -> bool:
    """Return whether the bits of `field` continue in the bytes of those before it, `last`."""
    one, other = last.value_kind, field.value_kind
    return isinstance(one, Bits) and isinstance(other, Bits) and one.big == other.big


def length_fields(type: Type) -> frozenset[str]:
    """Return the names of fields that only state the length of other fields, of a type of exhume's own specifications.

    They need no column, as start and end of the other field are kept. A name is that of the size itself (`size: n`),
    or of the structure that contains it (`size: n.value`). Third-party specifications have none: each field is a
    column.
    """
    if type.root.model.foreign:
        return frozenset()
    sizes = [one.size for one in type.seq if one.size is not None and one.value_kind == BYTES]
    found = {size.id for size in sizes if isinstance(size, ex.Name)}
    return frozenset(found | {one.of.id for one in sizes if isinstance(one, ex.Member) and isinstance(one.of, ex.Name)})


def array_code(kind: Kind) -> str | None:
    """Return the code of an array for numbers of a kind; None for anything but one number."""
    if isinstance(kind, Integer) and kind.size:
        return CODES[kind.size].lower() if kind.signed else CODES[kind.size]
    if isinstance(kind, SimpleKind) and kind.size:
        return "f" if kind.size == 4 else "d"
    if isinstance(kind, Bits) and kind.width <= 64:
        return "Q" if kind.width > 8 else "B"
    return "Q" if scalar_of(kind) is not None else None


def span_columns(name: str) -> list[tuple[str, str]]:
    """Return names and array codes of the two columns for the start and the end of a value."""
    return [(f"{name}_start", "q"), (f"{name}_end", "q")]


def columns(field: Field, prefix: str) -> list[tuple[str, str]]:
    """Return the columns of a field as (name, array code); none if its value is known anyway or has columns of its own.

    `prefix` is put before the names, for fields of a structure within the row. Raises `UnsupportedError` for fields
    that fit no column.
    """
    name, kind = f"{prefix}{field.id}", field.value_kind
    if field.repeat:
        many = numbers_of(field)  # None: a list that is not numbers
        return span_columns(name if field.repeat == "until" or many is None else f"{prefix}{many.name}")
    if field.size == ex.Literal(0) or field.id in length_fields(field.owner) or "contents" in field.raw:
        return []
    if kind in (BYTES, TEXT):
        return span_columns(name)
    code = array_code(kind)
    if code is None and not isinstance(kind, Structure):
        raise UnsupportedError("this has no column")
    return [] if code is None else [(name, code)]


def common_code(kinds: list[Kind]) -> str:
    """Return the code of an array for numbers of any of some kinds.  Raises `UnsupportedError` if there is none."""
    if all(isinstance(one, SimpleKind) and one.kind == "float" and one.size for one in kinds):
        return "f" if all(isinstance(one, SimpleKind) and one.size == 4 for one in kinds) else "d"
    numbers = [(one.size, one.signed) for one in kinds if isinstance(one, Integer) and one.size]
    if len(numbers) < len(kinds):
        raise UnsupportedError("this has no column")
    if not any(signed for _, signed in numbers):
        return {1: "B", 2: "H", 4: "I", 8: "Q"}[max(size for size, _ in numbers)]
    if all(signed for _, signed in numbers):
        return {1: "b", 2: "h", 4: "i", 8: "q"}[max(size for size, _ in numbers)]
    # Kinds with and without a sign fit 64 signed bits, unless one needs 64 unsigned ones.
    if (8, False) in numbers:
        raise UnsupportedError("numbers that fit no array have no column")
    return "q"


def numbers_in_place(field: Field) -> Numbers | None:
    """Return the numbers of a repeated field of a row whose position alone is kept; None for all other fields."""
    if isinstance(field.value_kind, Structure) or field.repeat == "until" or "valid" in field.raw:
        return None
    return numbers_of(field)


def takes_bytes(field: Field, around: tuple[Type, ...] = ()) -> bool:
    """Return whether a field, or an element of it, is always there and takes at least one byte.

    `around` are the types that contain it.
    """
    return _takes_bytes(field, field.value_kind, around)


def _takes_bytes(field: Field, kind: Kind, around: tuple[Type, ...]) -> bool:
    """Return whether a value of `kind` always takes at least one byte.

    Types in `around` are being examined already, and count as taking none.
    """
    if isinstance(kind, Structure):
        inner = kind.type
        return inner not in around and not inner.opaque and always_takes_bytes(inner, (*around, inner))
    if isinstance(kind, Switch):
        kinds = [*(one for _, one in kind.cases), kind.default]
        return all(one is not None and _takes_bytes(field, one, around) for one in kinds)
    if "contents" in field.raw:
        return bool(contents(field))
    if kind in (BYTES, TEXT):
        size, raw = field.size, field.raw
        # Bytes up to a terminator take at least that one, unless a missing terminator is allowed (`eos-error: false`)
        # or it is left in the stream (`consume: false`).
        ended = "terminator" in raw or raw.get("type") == "strz"
        whole = raw.get("eos-error", True) and raw.get("consume", True) and not field.to_end
        fixed = isinstance(size, ex.Literal) and isinstance(size.value, int) and size.value > 0
        return fixed or (size is None and ended and bool(whole))
    return isinstance(kind, (Integer, Bits)) or (isinstance(kind, SimpleKind) and kind.size > 0)


def always_takes_bytes(type: Type, around: tuple[Type, ...] = ()) -> bool:
    """Return whether a structure takes at least one byte, whatever the data; `around` are the types that contain it."""
    return any(one.condition is None and not one.repeat and takes_bytes(one, around or (type,)) for one in type.seq)


def rows_are_plain(type: Type) -> bool:
    """Return whether a row of a type needs no decision: no optional fields, no instances that are read on request.

    It also has to have a number, so that it takes bytes, and to nest structures in at most four levels.
    """
    return _rows_are_plain(type, 4, {})


def _rows_are_plain(type: Type, depth: int, known: dict[tuple[Type, int], bool]) -> bool:
    """Return `_row_is_plain`, computed once for each type and depth: types may contain each other."""
    if (type, depth) not in known:
        known[type, depth] = _row_is_plain(type, depth, known)
    return known[type, depth]


def _row_is_plain(type: Type, depth: int, known: dict[tuple[Type, int], bool]) -> bool:
    """Return whether a row consists of plain fields, in structures nested to `depth` levels; `known` has results."""
    for field in type.seq:
        inner = field.value_kind
        if field.condition is not None or not depth:
            return False
        if isinstance(inner, Structure) and not _rows_are_plain(inner.type, depth - 1, known):
            return False
    takes = any(
        isinstance(one.value_kind, (Integer, Bits)) or (isinstance(one.value_kind, SimpleKind) and one.value_kind.size)
        for one in type.seq
    )
    return takes and not any(one.value is None for one in type.instances.values())


def mark_rows(model: Model) -> None:
    """Set the key `-rows` of the lists whose objects can be read again as columns.

    These are lists of types with the key `-tabled`, in structures that are not elements of a list themselves.
    """
    # by type, the types of the structures in it
    within = {
        type: [kind.type for one in type.fields() if one.value is None for kind in structures(one.value_kind)]
        for type in model.types()
    }
    waiting = [
        kind.type for type in within for one in type.fields() if one.repeat for kind in structures(one.value_kind)
    ]
    many: set[Type] = set()  # elements of lists, and everything in them
    while waiting:
        type = waiting.pop()
        if type not in many:
            many.add(type)
            waiting += within.get(type, ())
    for type in within:
        for one in type.fields() if type not in many else ():
            if one.repeat and isinstance(one.value_kind, Structure) and one.value_kind.type.raw.get("-tabled"):
                marks: dict[str, bool] = one.raw  # type: ignore[assignment]  # `raw` is read-only for all others
                marks["-rows"] = True


def is_list_of_rows(field: Field, model: Model) -> bool:
    """Return whether a repeated field is a list of rows that are all read alike, and long enough for columns."""
    if field.to_end or _is_few(field):
        return False
    # A size may not depend on the element or on the position, and an element in a stream of its own may not be checked.
    size = set() if field.size is None else words(field.size)
    # (`moving` is None: no expression needs the position in the stream.)
    sized = model.moving is None and field.repeat != "until" and {"valid", "parent"}.isdisjoint(field.raw)
    alike = CODED.isdisjoint(field.raw) and (field.size is None or sized)
    return alike and size.isdisjoint(("_", "_index", "_io"))


def _is_few(field: Field) -> bool:
    """Return whether something is repeated so few times that columns for it cost more than objects."""
    count = field.expr("repeat-expr")
    return isinstance(count, ex.Literal) and isinstance(count.value, int) and count.value <= FEW


@dataclass(frozen=True, slots=True)
class PackedField:
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
    parts: tuple[PackedField, ...]

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
        return texts + (self.size if self.size > LONG_ROW else 0)


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
            parts.append(PackedField(field))
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
        parts.append(PackedField(field, (inner,) * many))
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
