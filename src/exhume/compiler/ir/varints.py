"""Variable-length integers: types that stand for one number and are read byte by byte."""

from __future__ import annotations

from dataclasses import dataclass

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Integer, Kind, Structure
from exhume.compiler.front.model import Field, Type


def scalar_of(kind: Kind) -> Type | None:
    """The type of a kind that is read as one of its instances."""
    return kind.type if isinstance(kind, Structure) and kind.type.scalar is not None else None


def number_of(kind: Kind) -> Kind:
    """The stored number of a kind that stands for its only field; every other kind as it is."""
    type = scalar_of(kind)
    if type is None or len(type.seq) != 1 or type.seq[0].id != type.scalar:
        return kind
    only = type.seq[0]
    bare = only.repeat is None and only.condition is None and only.size is None and "valid" not in only.raw
    return only.one if bare else kind


@dataclass(frozen=True, slots=True)
class Group:
    """One byte of a variable-length integer: the condition for the last byte (None: always), and the value."""

    field: Field
    last: ex.Expr | None
    value: ex.Expr


def varint(type: Type) -> list[Group]:
    """The bytes of a type that is a variable-length integer: single bytes, each read if those before request it.

    Empty for other types.
    """
    if type.scalar is None or not type.seq or any(one.one != Integer(size=1) or one.repeat for one in type.seq):
        return []
    value = type.field(type.scalar).value
    if value is None:
        return []
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
        below = {fewer.left: fewer.right.value} if fewer.op == "<" and isinstance(fewer.right, ex.Literal) else {}
        if any(one is None or ex.fold(one, done, below) != ex.Literal(False) for one in later):
            return []
        groups.append(Group(field, fewer, ex.fold(value, done, below)))
        known |= {more: ex.Literal(True), fewer: ex.Literal(False)}
    return groups


def one_byte(type: Type) -> tuple[str, ex.Expr] | None:
    """The condition for a variable-length integer of one byte; None for other types."""
    groups = varint(type)
    if not groups or "valid" in groups[0].field.raw:
        return None
    last = groups[0].last
    byte = ex.Name(groups[0].field.id)
    if not isinstance(last, ex.Binary) or last.left != byte or groups[0].value != byte:
        return None
    return last.op, last.right
