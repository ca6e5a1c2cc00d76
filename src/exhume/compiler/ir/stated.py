"""Sizes that a specification states by itself: the values of `sizeof<...>`, `bitsizeof<...>` and `_sizeof`.

Kaitai's compiler adds up the bits of all fields in `seq`, whether their condition (`if`) is met or not, and without the
bits that are skipped before a whole byte.  So these sizes are not always what a structure takes in the data.
"""

from __future__ import annotations

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer, Kind, SimpleKind, Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import contents

MOST = 1 << 63
"""Bits of a type at most; no file is as long."""


def kind_bits(kind: Kind) -> int | None:
    """Bits of a stored kind; None where that depends on the data, and for values that are not stored."""
    if isinstance(kind, Structure):
        return type_bits(kind.type)
    if isinstance(kind, Bits):
        return kind.width
    return 8 * kind.size if isinstance(kind, (Integer, SimpleKind)) and kind.size else None


def element_bits(field: Field) -> int | None:
    """Bits of a field, or of one element if it is repeated; None where that depends on the data."""
    if "contents" in field.raw:
        return 8 * len(contents(field))
    if field.size is not None:
        size = constant(field.size)
        return None if size is None else 8 * size
    if field.to_end or "terminator" in field.raw:
        return None
    return kind_bits(field.one)


def type_bits(type: Type) -> int | None:
    """Bits of the fields of a type together; None where one depends on the data, or is of the type itself."""
    if "bits" not in type.known:
        type.known["bits"] = None  # for a type within itself
        type.known["bits"] = _sum(type)
    return type.known["bits"]


def _sum(type: Type) -> int | None:
    total = 0
    for field in type.seq:
        count = field.expr("repeat-expr")
        many = 1 if not field.repeat else None if count is None else constant(count)
        bits = element_bits(field)
        if many is None or bits is None:
            return None
        total += many * bits
    return total if not type.opaque and 0 <= total <= MOST else None


def constant(expr: ex.Expr) -> int | None:
    """The value of an expression of constants; None for others."""
    found = ex.fold(expr)
    return found.value if isinstance(found, ex.Literal) and type(found.value) is int else None
