"""What an expression gives: the kind of its value, by the type that it stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.compiler import expressions as ex
from exhume.compiler.kinds import (
    BOOL,
    BYTES,
    FLOAT,
    INTEGER,
    REST,
    STREAM,
    TEXT,
    UNKNOWN,
    Integer,
    Kind,
    Plain,
    Sequence,
    Structure,
    primitive,
)

if TYPE_CHECKING:
    from exhume.compiler.model import Type

_LITERALS: dict[type, Kind] = {bool: BOOL, int: INTEGER, float: FLOAT, str: TEXT, bytes: BYTES}


def typed(expr: ex.Expr, here: Type, item: Kind) -> Kind:  # noqa: C901 - one case for each form of expression
    """What an expression gives in a type; `item` is what `_` is."""
    match expr:
        case ex.Literal(value):
            return _LITERALS[type(value)]
        case ex.Array(items):
            return Sequence(typed(items[0], here, item) if items else UNKNOWN)
        case ex.EnumValue(path, _):
            return Integer(here.enum("::".join(path)))
        case ex.Name(id):
            return _named(id, here, item)
        case ex.Member(of, name):
            return _member(typed(of, here, item), name)
        case ex.Index(of, _):
            inner = typed(of, here, item)
            return inner.of if isinstance(inner, Sequence) else INTEGER
        case ex.Call(_, name, _):
            return INTEGER if name == "to_i" else TEXT
        case ex.Cast(_, name) if name.endswith("[]"):
            return Sequence(typed(ex.Cast(expr.of, name[:-2]), here, item))
        case ex.Cast(_, name):
            return primitive(name, here, stored=False) or Structure(here.find(name))
        case ex.SizeOf():
            return INTEGER
        case ex.Format():
            return TEXT
        case ex.Unary(op, of):
            return BOOL if op == "not" else typed(of, here, item)
        case ex.Binary(op, left, right):
            return _arithmetic(op, typed(left, here, item), typed(right, here, item))
        case ex.Choice(_, then, otherwise):
            first, second = typed(then, here, item), typed(otherwise, here, item)
            return second if first == UNKNOWN else first


def _arithmetic(op: str, left: Kind, right: Kind) -> Kind:
    if op in ("and", "or", "<", "<=", ">", ">=", "==", "!="):
        return BOOL
    if left in (TEXT, UNKNOWN):
        return left
    floating = any(isinstance(one, Plain) and one.kind == "float" for one in (left, right))
    return FLOAT if floating else INTEGER


def _named(id: str, here: Type, item: Kind) -> Kind:
    if id == "_":
        return item
    if id in ("_index", REST.id):
        return INTEGER
    if id == "_io":
        return STREAM
    if id == "_root":
        return Structure(here.root)
    if id == "_parent":
        kinds = {one.where for one in here.parents}
        return Structure(here.parents[0]) if len(kinds) == 1 else UNKNOWN
    return here.field(id).kind


def _member(of: Kind, name: str) -> Kind:
    if name in ("to_i", "_sizeof") or (name in ("size", "length", "pos") and not isinstance(of, Structure)):
        return INTEGER
    if name == "eof":
        return BOOL
    if name == "to_s":
        return TEXT
    if name == "_io":
        return STREAM
    if isinstance(of, Sequence) and name in ("first", "last", "min", "max"):
        return of.of
    if isinstance(of, Structure):
        if name == "_parent":
            return Structure(of.type.parents[0]) if of.type.parents else UNKNOWN
        if name == "_root":
            return Structure(of.type.root)
        return of.type.field(name).kind
    return UNKNOWN
