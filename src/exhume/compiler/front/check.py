"""Whether every expression of a specification is one of Kaitai's language, of the kind that its place asks for.

This runs before any code is written: what it lets pass has a kind in every part, and only members that the
specification declares or the language defines.  Raises `UnsupportedError` with the field and the key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.inference import COMPARED, WHOLE, demand, kind_text, operation, same_enum
from exhume.compiler.front.kinds import (
    UNKNOWN,
    Bits,
    Integer,
    Kind,
    Sequence,
    Structure,
    Switch,
    combined,
    family,
)
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.refusal import UnsupportedError

_ROLES: dict[str, tuple[frozenset[str], str]] = {
    "if": (frozenset(("bool",)), "`if` is a truth value"),
    "size": (WHOLE, "`size` is an integer"),
    "pos": (WHOLE, "`pos` is an integer"),
    "repeat-expr": (WHOLE, "`repeat-expr` is an integer"),
    "repeat-until": (frozenset(("bool",)), "`repeat-until` is a truth value"),
    "io": (frozenset(("stream",)), "`io` is a stream"),
}

_NUMBERS = frozenset(("integer", "enum", "float", "bool"))
"""Kinds that can be converted to each other without examining the value."""


def check(model: Model) -> None:
    """Raise `UnsupportedError` for the first invalid expression of a model."""
    for type in model.types():
        if type.decides is not None:
            with _place(type.where):
                _choice(type, ex.parse(type.decides["switch-on"]), [key for key in type.decides["cases"] if key != "_"])
        for field in (*type.params, *type.fields()):
            with _place(field.where):
                _field(type, field)


@contextmanager
def _place(where: str) -> Iterator[None]:
    try:
        yield
    except UnsupportedError as error:
        raise error.within(where) from None


def kind(expr: ex.Expr, here: Type, item: Kind = UNKNOWN) -> Kind:
    """The kind of an expression, after checking every part of it, those within casts too."""
    found = here.kind_of(expr, item)
    for node in ex.nodes(expr):
        if isinstance(node, ex.Cast) and (items := ex.items_of(node.of)) is not None:
            _listed(node, items, here, item)
        elif isinstance(node, ex.Cast):
            takes(here.kind_of(node.of, item), here.kind_of(node, item), f"`as<{node.type:.60}>` takes")
        elif isinstance(node, ex.Member) and node.name == "_sizeof":
            kind(node.of, here, item)
    return found


def _listed(cast: ex.Cast, items: tuple[ex.Expr, ...], here: Type, item: Kind) -> None:
    """Check a list that is written out as what it is cast to: it may be empty, and of numbers that would be bytes."""
    wanted, what = combined(here.kind_of(cast, item)), f"`as<{cast.type:.60}>` takes"
    if isinstance(wanted, Sequence):
        for one in items:
            takes(here.kind_of(one, item), wanted.of, what)
    elif items or family(wanted) != "bytes":
        takes(here.kind_of(cast.of, item), wanted, what)


def takes(given: Kind, wanted: Kind, what: str) -> bool:
    """Whether what is of one kind is always of another; raises `UnsupportedError` where it never is.

    An unknown kind, or one of several, has to be checked on the value.
    """
    given, wanted = combined(given), combined(wanted)
    one, other = family(given), family(wanted)
    if other == "unknown" or (one in _NUMBERS and other in _NUMBERS) or given == wanted:
        return True
    if isinstance(given, Sequence) and isinstance(wanted, Sequence):
        return takes(given.of, wanted.of, what)
    if isinstance(given, Structure) and isinstance(wanted, Structure):
        if given.type is wanted.type or given.type.opaque or wanted.type.opaque:
            return given.type is wanted.type
    elif one == other:
        return not isinstance(wanted, Structure)
    if one == "sequence" and other == "bytes" and isinstance(given, Sequence) and family(given.of) in WHOLE:
        return True
    if one in ("unknown", "absent"):
        return False
    raise UnsupportedError(f"{what} {kind_text(wanted)}, not {kind_text(given)}")


def _field(type: Type, field: Field) -> None:
    """Check the kinds of all expressions of a field.  Raises `UnsupportedError`, which names the place."""
    for key, (families, what) in _ROLES.items():
        expr = field.expr(key)
        if expr is not None:
            with _place(f"{field.where}: {key}"):
                demand(kind(expr, type, field.one if key == "repeat-until" else UNKNOWN), families, what)
    if field.value is not None:
        with _place(f"{field.where}: value"):
            found = kind(field.value, type)
            if "enum" in field.raw:
                demand(found, WHOLE, "what an enum names is an integer")
        return
    said = field.raw.get("type")
    if isinstance(field.one, Switch) and isinstance(said, dict):
        with _place(f"{field.where}: switch-on"):
            _choice(type, field.one.on, [key for key in said["cases"] if str(key) != "_"])
    _arguments(type, field.one)
    if "enum" in field.raw and not field.parameter:
        _named(field)
    if field.raw.get("parent", False) is not False:
        with _place(f"{field.where}: parent"):
            demand(kind(ex.parse(field.raw["parent"]), type), {"structure"}, "`parent` is a structure or false")
    if "process" in field.raw:
        _process(type, field)
    if "valid" in field.raw:
        with _place(f"{field.where}: valid"):
            _valid(type, field, field.raw["valid"])


def _named(field: Field) -> None:
    kinds = [one for _, one in field.one.cases] if isinstance(field.one, Switch) else [field.one]
    if not any(isinstance(one, (Integer, Bits)) for one in kinds):
        demand(kinds[0] if kinds else UNKNOWN, (), "what an enum names is an integer")


def _choice(type: Type, on: ex.Expr, cases: list[Any]) -> None:
    found = kind(on, type)
    demand(found, COMPARED, "a choice is made by a number, a text, bytes or a truth value")
    for case in cases:
        operation("==", combined(found), combined(kind(ex.parse(case), type)))


def _arguments(type: Type, of: Kind) -> None:
    """Check that the arguments of a structure, or of each case of a switch, have the kinds of its parameters."""
    if isinstance(of, Structure):
        for given, param in zip(of.arguments, of.type.params, strict=False):
            what = f"the parameter {param.id} of {of.type.where} is"
            found = kind(given, type)
            if takes(found, param.kind, what) and not _accepts_argument(found, param.kind):
                raise UnsupportedError(f"{what} {kind_text(param.kind)}, not {kind_text(found)}")
    elif isinstance(of, Switch):
        for one in (*(case for _, case in of.cases), *(() if of.default is None else (of.default,))):
            _arguments(type, one)


def _accepts_argument(given: Kind, wanted: Kind) -> bool:
    """Whether Kaitai takes what is of one kind for an argument of another: a float is no integer, nor are enums."""
    given, wanted = combined(given), combined(wanted)
    one, other = family(given), family(wanted)
    if "enum" in (one, other):
        return same_enum(given, wanted) or other == "unknown"
    return one == other or not {one, other} <= _NUMBERS


def _process(type: Type, field: Field) -> None:
    """Check a routine, even where no reader calls it as there are no bytes."""
    call = field.call("process")
    assert call is not None
    for one in call.arguments:
        found = combined(kind(one, type))
    if call.name in type.root.model.given.process:
        return
    if call.name not in ("zlib", "xor", "rol", "ror") or len(call.arguments) != (call.name != "zlib"):
        raise UnsupportedError(f"`process: {field.raw['process']}` is not supported")
    if call.name == "xor" and (family(found) == "bytes" or (isinstance(found, Sequence) and family(found.of) in WHOLE)):
        return
    if call.name != "zlib":
        demand(found, WHOLE, f"`{call.name}` takes an integer")


def _valid(type: Type, field: Field, valid: Any) -> None:
    """Check that the values in `valid` can be compared with the field."""
    rules = valid if isinstance(valid, dict) else {"eq": valid}
    for key, said in rules.items():
        for one in said if key == "any-of" else () if key == "in-enum" else (said,):
            found = kind(ex.parse(one), type, field.one)
            if key == "expr":
                demand(found, {"bool"}, "`expr` is a truth value")
            else:
                op = {"min": ">=", "max": "<="}.get(key, "==")
                operation(op, combined(field.one), combined(found))
