"""Facts about fields that hold for all data: sizes, contents, byte orders, and forms of variable-length integers.

A field is an entry of `seq` or `instances` of a Kaitai Struct type; `field.raw` has its keys as in the YAML file,
`field.value_kind` the kind of its value (of one element, if it is repeated).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import (
    BYTES,
    DECIDED,
    TEXT,
    Bits,
    Integer,
    Kind,
    SimpleKind,
    Structure,
    Switch,
)
from exhume.compiler.front.model import Field, Type

CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""The letters of `array` and `struct` for unsigned numbers, by their size in bytes."""


def contents(field: Field) -> bytes:
    """Return the bytes that a field with `contents` has: a string, or a list of strings and numbers of one byte."""
    stated = field.raw["contents"]
    if isinstance(stated, str):
        return stated.encode()
    # Numbers may be strings in the list, too, if they are hexadecimal: "0x1f".
    texts = (isinstance(one, str) and not one.startswith("0x") for one in stated)
    return b"".join(
        one.encode() if text else bytes([int(str(one), 0)]) for one, text in zip(stated, texts, strict=True)
    )


_AS_STORED = frozenset(("terminator", "pad-right", "process", "contents"))
"""Keys of a field of bytes whose value differs from the stored bytes, or whose end a terminator decides."""


def fixed_bytes(field: Field) -> bool:
    """Whether a field is a fixed number of bytes, at least one."""
    return field.value_kind == BYTES and _is_as_stored(field)


def fixed_text(field: Field) -> bool:
    """Whether a field is a string of a fixed number of bytes, at least one, that are all decoded."""
    return field.value_kind == TEXT and field.raw.get("type") == "str" and _is_as_stored(field)


def _is_as_stored(field: Field) -> bool:
    """Return whether the size of a field of bytes is a positive constant and its value is exactly the stored bytes."""
    size = field.size
    literal = isinstance(size, ex.Literal) and isinstance(size.value, int) and size.value > 0
    return literal and _AS_STORED.isdisjoint(field.raw)


def stored_size(field: Field) -> int:
    """Return the size in bytes of a field of fixed size."""
    if field.value_kind in (BYTES, TEXT):
        assert isinstance(field.size, ex.Literal)
        return int(field.size.value)
    assert isinstance(field.value_kind, (Integer, SimpleKind))
    return field.value_kind.size


def number_code(kind: Kind, field: Field) -> str | None:
    """Return the array code of a field's numbers if a whole list of them can be read at once, else None."""
    if "valid" in field.raw:
        return None
    if isinstance(kind, Integer) and kind.size and field.size in (None, ex.Literal(kind.size)):
        code = CODES[kind.size]
        return code.lower() if kind.signed else code
    if isinstance(kind, SimpleKind) and kind.kind == "float" and kind.size:
        return "f" if kind.size == 4 else "d"
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class Numbers:
    """Consecutive numbers of one width: the name of their column, code for `array`, bytes of one, "big" or "little"."""

    name: str
    code: str
    size: int
    order: str


def only_number(type: Type) -> Numbers | None:
    """Return the number, or list of numbers, that is the only field of a structure; None for any other structure."""
    field = type.seq[0] if len(type.seq) == 1 else None
    if field is None or field.repeat or field.condition is not None:
        return None
    return _numbers(field, field.id)


def numbers_of(field: Field) -> Numbers | None:
    """Return the numbers of a repeated field: its elements, or the only field of each; None for other elements."""
    if not isinstance(field.value_kind, Structure):
        return _numbers(field, field.id)
    only = only_number(field.value_kind.type)
    if only is None or "valid" in field.raw or field.size not in (None, ex.Literal(only.size)):
        return None
    return dataclasses.replace(only, name=f"{field.id}_{only.name}")


def _numbers(field: Field, name: str) -> Numbers | None:
    """Return the numbers of a field as a column called `name`; None for other kinds, or if the data decides their
    order.
    """
    code, order = number_code(field.value_kind, field), byte_order(field.value_kind)
    if code is None or order == DECIDED:
        return None
    return Numbers(name, code, stored_size(field), "big" if order else "little")


def byte_order(kind: Kind) -> bool | str | None:
    """Return whether a number's highest byte comes first, `DECIDED` if the data decides that; None for other kinds."""
    if not isinstance(kind, (Integer, SimpleKind)) or kind.size < 2:
        return None
    return DECIDED if kind.decided else kind.big


def struct_format(kinds: Sequence[Kind], fields: Sequence[Field] = ()) -> str:
    """Return the `struct` format of consecutive fields of these kinds, whose byte order is known and the same for all.

    `fields` are needed for the sizes of bytes.
    """
    out, order = "", "<"
    for number, kind in enumerate(kinds):
        if isinstance(kind, Integer):
            code = CODES[kind.size]
            out += code.lower() if kind.signed else code
        elif isinstance(kind, SimpleKind) and kind.kind == "float":
            out += "f" if kind.size == 4 else "d"
        else:
            out += f"{stored_size(fields[number])}s"
        if byte_order(kind):
            order = ">"
    return order + out


def fixed_size(field: Field) -> int | None:
    """Return the size of a field in bytes; None when it depends on the data."""
    if field.repeat == "expr" and field.owner.root.model.foreign:
        return _fixed_list_size(field)
    if field.repeat or field.condition is not None or ("terminator" in field.raw and field.size is None):
        return None
    if "contents" in field.raw:
        return len(contents(field))
    if field.size is not None or field.to_end:
        own_width = (
            isinstance(field.value_kind, Switch) and field.owner.root.model.foreign
        )  # of a case that is a number
        match field.size:
            case ex.Literal(int(size)) if not own_width:
                return int(size)
        return None
    # No size is stated: the kind determines it.
    kind = field.value_kind
    if isinstance(kind, (Integer, SimpleKind)) and kind.size:
        return kind.size
    return type_size(kind.type) if isinstance(kind, Structure) else None


def _fixed_list_size(field: Field) -> int | None:
    """Return the size in bytes of a list of constant length; None if the length or the size of an element is not
    fixed.
    """
    element = fixed_size(dataclasses.replace(field, raw={**field.raw, "repeat": None}))
    match field.expr("repeat-expr"):
        case ex.Literal(int(count)) if element is not None:
            return count * element
    return None


def type_size(type: Type) -> int | None:
    """Return the bytes that every value of a type takes; None when that depends on the data."""
    if "size" not in type.known:
        # `places` stops at the first field of unknown size, and yields only fields that take bytes: if it yields as
        # many as there are, the end of the last is the size.
        found = list(places(type))
        stored = [one for one in type.seq if fixed_size(one) != 0]
        type.known["size"] = found[-1][2] if found and len(found) == len(stored) else None
    return type.known["size"]


def element_size(field: Field) -> int | None:
    """Return the bytes of each element of a list; None if the data decides, or it is checked or a stream of its own."""
    kind = field.value_kind
    if not field.repeat or field.size is not None or "valid" in field.raw:
        return None
    if isinstance(kind, (Integer, SimpleKind)) and kind.size:
        return kind.size
    return type_size(kind.type) if isinstance(kind, Structure) else None


def places(type: Type) -> Iterator[tuple[Field, int, int]]:
    """Yield each field at a fixed position with its start and end in bytes; fields of bits share theirs.

    Stops at the first field whose size depends on the data.
    """
    # `at`: bytes before the current run of bit fields; `bits`: bits of this run so far.
    at = bits = 0
    for field in type.seq:
        if isinstance(field.value_kind, Bits) and not field.repeat and field.condition is None:
            start, bits = bits // 8, bits + field.value_kind.width
            yield field, at + start, at + (bits + 7) // 8
            continue
        at, bits = at + (bits + 7) // 8, 0
        size = fixed_size(field)
        if size is None:
            return
        if size:
            yield field, at, at + size
        at += size


def shifts(type: Type) -> Iterator[tuple[Field, int]]:
    """Yield each field of bits at a fixed position with its shift: the value is `number >> shift`, cut to its width.

    The number is that of all bytes of its run: of bit fields without another field between them.
    """
    fields = [field for field, _, _ in places(type)]
    for is_bits, run in itertools.groupby(fields, lambda one: isinstance(one.value_kind, Bits)):
        if is_bits:
            yield from ((one, shift) for one, shift, _ in shifted(list(run)))


def shifted(run: list[Field]) -> Iterator[tuple[Field, int, int]]:
    """Yield consecutive fields of bits with the shift of each in the number that their bytes form, and its width.

    Big-endian fields are counted from the top of the number, little-endian ones from its bottom.
    """
    kinds = [one.value_kind for one in run if isinstance(one.value_kind, Bits)]
    total = -(-sum(kind.width for kind in kinds) // 8) * 8  # bits of these bytes
    used = 0  # bits of the fields before
    for one, kind in zip(run, kinds, strict=True):
        yield one, total - used - kind.width if kind.big else used, kind.width
        used += kind.width


def ends_with_a_byte(field: Field) -> bool:
    """Whether a field is bytes, not text, up to a terminator that is not part of them."""
    others = {"size", "size-eos", "pad-right", "process", "consume", "include", "eos-error", "valid"}
    return field.value_kind == BYTES and "terminator" in field.raw and others.isdisjoint(field.raw)


def scalar_of(kind: Kind) -> Type | None:
    """Return the type of a structure that is represented by one of its instances (`-scalar`); None for other kinds."""
    return kind.type if isinstance(kind, Structure) and kind.type.scalar is not None else None


def number_of(kind: Kind) -> Kind:
    """Return the kind of the number that a structure consists of, if it is read as that; other kinds as they are."""
    type = scalar_of(kind)
    if type is None or len(type.seq) != 1 or type.seq[0].id != type.scalar:
        return kind
    only = type.seq[0]
    bare = only.repeat is None and only.condition is None and only.size is None and "valid" not in only.raw
    return only.value_kind if bare else kind


@dataclass(frozen=True, slots=True)
class Group:
    """One byte (`field`) of a variable-length integer: `last` is the condition for it to be the last; None: always.

    `value` is the integer in this case, as an expression of this byte and those before it.
    """

    field: Field
    last: ex.Expr | None
    value: ex.Expr


def varint(type: Type) -> list[Group]:
    """Return the bytes of a type that is a variable-length integer; empty for other types.

    Such a type is represented by a computed instance (`-scalar`), and its fields are single bytes, each with a
    condition (`if`) that the bytes before it request it: `if: b0 >= 0x80`, then `if: b0 >= 0x80 and b1 >= 0x80`.
    """
    if type.varint is None:
        type.varint = _varint(type)
    return type.varint


def _varint(type: Type) -> list[Group]:
    """Return what `varint` returns, which takes long for a type of ten bytes."""
    if type.scalar is None or not type.seq or any(one.value_kind != Integer(size=1) or one.repeat for one in type.seq):
        return []
    value = type.field(type.scalar).value
    if value is None:
        return []
    # Fold the conditions of the bytes after this one, assuming whether it is the last: `more` is the condition that
    # the next byte is there, `fewer` its opposite, `known` has what holds if all bytes so far have a successor.
    known: dict[ex.Expr, ex.Expr] = {}
    groups = []
    for number, field in enumerate(type.seq):
        later = [one.condition for one in type.seq[number + 1 :]]
        if not later:
            groups.append(Group(field, None, ex.fold(value, known)))
            break
        if later[0] is None:
            return []
        more = ex.fold(later[0], known)
        if not isinstance(more, ex.Binary) or more.op not in ex.OPPOSITE:
            return []
        fewer = ex.Binary(ex.OPPOSITE[more.op], more.left, more.right)
        done = {**known, more: ex.Literal(False), fewer: ex.Literal(True)}
        # "b0 < 0x80" also bounds the value of the byte, so that `fold` can drop a mask (`b0 & 0x7f`).
        below = {fewer.left: fewer.right.value} if fewer.op == "<" and isinstance(fewer.right, ex.Literal) else {}
        # If this byte is the last, none of the later bytes may be there.
        if any(one is None or ex.fold(one, done, below) != ex.Literal(False) for one in later):
            return []
        groups.append(Group(field, fewer, ex.fold(value, done, below)))
        known |= {more: ex.Literal(True), fewer: ex.Literal(False)}
    return groups


def one_byte(type: Type) -> tuple[str, ex.Expr] | None:
    """Return the comparison that holds for a variable-length integer of one byte; None for other types.

    It is an operator and a limit: ("<", 0x80) means that a byte below 0x80 is the integer itself.
    """
    groups = varint(type)
    if not groups or "valid" in groups[0].field.raw:
        return None
    last = groups[0].last
    byte = ex.Name(groups[0].field.id)
    if not isinstance(last, ex.Binary) or last.left != byte or groups[0].value != byte:
        return None
    return last.op, last.right


# Sizes in bits that a specification states by itself: the values of `sizeof<...>`, `bitsizeof<...>` and `_sizeof`.
# Kaitai's compiler adds up the bits of all fields in `seq`, whether their condition (`if`) is met or not, and without
# the bits that are skipped before a whole byte.  So these sizes are not always what a structure takes in the data.

MOST_BITS = 1 << 63
"""Largest size of a type, in bits; no file is as long."""


def kind_bits(kind: Kind) -> int | None:
    """Return the bits that a value of a kind takes; None where that depends on the data, and for values not stored."""
    if isinstance(kind, Structure):
        return type_bits(kind.type)
    if isinstance(kind, Bits):
        return kind.width
    return 8 * kind.size if isinstance(kind, (Integer, SimpleKind)) and kind.size else None


def element_bits(field: Field) -> int | None:
    """Return the bits of a field, or of one element if it is repeated; None where that depends on the data."""
    if "contents" in field.raw:
        return 8 * len(contents(field))
    if isinstance(field.value_kind, Switch):  # its cases decide, as in `fixed_size`
        return None
    if field.size is not None:
        size = constant(field.size)
        return None if size is None else 8 * size
    if field.to_end or "terminator" in field.raw:
        return None
    return kind_bits(field.value_kind)


def type_bits(type: Type) -> int | None:
    """Return the bits of all fields of a type; None where one depends on the data, or is of the type itself."""
    if "bits" not in type.known:
        type.known["bits"] = None  # for a type within itself
        type.known["bits"] = _total_bits(type)
    return type.known["bits"]


def _total_bits(type: Type) -> int | None:
    """Return the size of a structure in bits, None if it is not the same for all data or larger than `MOST_BITS`."""
    total = 0
    for field in type.seq:
        count, bits = times(field), element_bits(field)
        if count is None or bits is None:
            return None
        total += count * bits
    # The caller's own reader decides what an opaque type takes; a constant size may be negative, which readers report.
    is_fixed = not type.opaque and 0 <= total <= MOST_BITS
    return total if is_fixed else None


def times(field: Field) -> int | None:
    """Return how many values a field has: 1 if it is not repeated, a constant count; None if the data decides it."""
    if not field.repeat:
        return 1
    count = field.expr("repeat-expr")
    return None if count is None else constant(count)


def constant(expr: ex.Expr) -> int | None:
    """Return the value of an expression of constants; None for others."""
    found = ex.fold(expr)
    return found.value if isinstance(found, ex.Literal) and type(found.value) is int else None
