"""Sizes in bits that a specification states by itself: the values of `sizeof<...>`, `bitsizeof<...>` and `_sizeof`.

Kaitai's compiler adds up the bits of all fields in `seq`, whether their condition (`if`) is met or not, and without
the bits that are skipped before a whole byte. So these sizes are not always what a structure takes in the data.
"""

from __future__ import annotations

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer, Kind, SimpleKind, Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import contents

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
        type.known["bits"] = _sum(type)
    return type.known["bits"]


def _sum(type: Type) -> int | None:
    """Return the size of a structure in bits, None if it is not the same for all data or larger than `MOST_BITS`."""
    total = 0
    for field in type.seq:
        count, bits = times(field), element_bits(field)
        if count is None or bits is None:
            return None
        total += count * bits
    return total if not type.opaque and 0 <= total <= MOST_BITS else None


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
