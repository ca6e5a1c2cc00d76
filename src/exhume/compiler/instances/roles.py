"""Facts about fields from a specification: constraints, the use as counts, positions or choices, and equal fields.

A random instance is found sooner if each value is drawn for its purpose: a count is small, a value that decides
between cases is one of these.  `uses_of` finds these purposes, the roles of each field.

`Field.value_kind` is the kind of one value (of an element, if the field is repeated), `raw` has its keys as in the
specification, and `value` is the expression of a computed instance (None for all others).
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer, Kind, SimpleKind, Switch, structures
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import varint
from exhume.compiler.ir.needs import KEYS
from exhume.compiler.refusal import UnsupportedError


@dataclass(frozen=True, slots=True)
class Ending:
    """How bytes with a terminator end."""

    mark: int
    """The terminator."""
    included: int
    """Bytes of it that belong to the value: 1 with `include`, else 0."""
    passed: int
    """Bytes of it that reading passes: 0 with `consume: false`, else 1."""


@functools.cache
def expression(one: Field, key: str) -> ex.Expr | None:
    """Return the expression under a key of a field; None if it has no such key."""
    return one.expr(key)


def rules_of(one: Field) -> dict[str, Any]:
    """Return the rules of `valid` by their keys: expressions, several for `any-of`, and True for `in-enum`.

    Raises `UnsupportedError` for other rules.
    """
    valid = one.raw["valid"]
    found: dict[str, Any] = {}
    for rule, stated in (valid if isinstance(valid, dict) else {"eq": valid}).items():
        match rule:
            case "in-enum":
                found[rule] = stated
            case "any-of":
                found[rule] = [*map(ex.parse, stated)]
            case "eq" | "min" | "max" | "expr":
                found[rule] = ex.parse(stated)
            case _:
                raise UnsupportedError(f"`valid: {rule}` is not supported", one.where)
    return found


def ending(one: Field) -> Ending:
    """Return how a field with a terminator ends.  Raises `UnsupportedError` for a terminator within a size."""
    if one.size is not None or one.to_end:
        raise UnsupportedError("a size and a terminator together are not supported", one.where)
    is_included, is_passed = bool(one.raw.get("include")), one.raw.get("consume") is not False
    return Ending(int(one.raw.get("terminator", 0)), int(is_included), int(is_passed))


def encoding_of(one: Field) -> str:
    """Return the encoding of a string; raises `UnsupportedError` if none is stated."""
    encoding = one.raw.get("encoding") or one.owner.encoding
    if encoding is None:
        raise UnsupportedError("text has no encoding", one.where)
    return str(encoding)


@functools.cache
def covers(one: Field) -> tuple[str, ...]:
    """Return the sibling fields that a checksum covers (`-covers`), in their order; none if the specification names
    none.

    Raises `UnsupportedError` for a field that is not a sibling.
    """
    stated = one.raw.get("-covers", ())
    found = (stated,) if isinstance(stated, str) else tuple(stated)
    for id in found:
        if id not in [other.id for other in one.owner.seq if not isinstance(other.value_kind, Bits)]:
            raise UnsupportedError(f"`-covers` names {id}, which is not a field of bytes next to it", one.where)
    return found


_FLOATS = {4: "f", 8: "d"}
"""Codes of `struct` for floats, by their size in bytes."""


def unpacked(kind: Integer | SimpleKind, data: bytes) -> Any:
    """Return the number that bytes store."""
    if isinstance(kind, Integer):
        return int.from_bytes(data, "big" if kind.big else "little", signed=kind.signed)
    return struct.unpack((">" if kind.big else "<") + _FLOATS[kind.size], data)[0]


def packed(kind: Integer | SimpleKind, value: Any) -> bytes:
    """Return the bytes of a number; raises `OverflowError` for one that they cannot store."""
    if isinstance(kind, Integer):
        return int(value).to_bytes(kind.size, "big" if kind.big else "little", signed=kind.signed)
    return struct.pack((">" if kind.big else "<") + _FLOATS[kind.size], value)


_ROLES = {"size": "size", "repeat-expr": "count", "pos": "place", "value": "value"}
"""Roles of the values of some keys; those of all other keys are choices.

`value` is none of its own: the fields in it get the roles of the computed instance (`_Flow`).
"""


@dataclass(slots=True)
class FieldUse:
    """The uses of a field in expressions.

    `roles` are any of `size`, `count`, `place` (position), `index` and `choice` (it decides between values);
    `numbers` and `texts` are the constants that the field is compared with; `encoding` is that of the string decoded
    from it.
    """

    roles: set[str] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)
    texts: set[bytes] = field(default_factory=set)
    encoding: str | None = None

    def take(self, other: FieldUse, deciding: bool) -> bool:
        """Add the uses of a value that is computed from this field; return whether that added any.

        `deciding`: the field only decides between values.
        """
        before = (len(self.roles), len(self.numbers), len(self.texts), self.encoding)
        if deciding:
            self.roles |= {"choice"} if other.roles else set()
        else:
            self.roles |= other.roles
            self.numbers |= other.numbers
            self.texts |= other.texts
            self.encoding = self.encoding or other.encoding
        return before != (len(self.roles), len(self.numbers), len(self.texts), self.encoding)


def reached(root: Type) -> set[Type]:
    """Return the types of all structures inside a type, itself included."""
    found, waiting = {root}, [root]
    while waiting:
        for one in waiting.pop().fields():  # a computed instance contains no structure that no field has
            for structure in structures(one.value_kind) if one.value is None else ():
                if structure.type not in found:
                    found.add(structure.type)
                    waiting.append(structure.type)
    return found


def uses_of(root: Type) -> dict[Field, FieldUse]:
    """Return how each field inside a type is used: the roles of expressions, passed on to the fields that they are
    computed from.
    """
    found = {one: FieldUse() for type in root.model.types() for one in (*type.fields(), *type.params)}
    flows: list[_Flow] = []
    for type in sorted(reached(root), key=lambda each: each.where):
        if varint(type):  # drawn as one number, not by its bytes
            continue
        for one in type.fields():
            for role, expr in _expressions(one):
                _mark(found, role, expr, one)
            flows += _flows(one)
    changed = True
    while changed:
        changed = False
        for flow in flows:
            if flow.source is not flow.into:
                changed |= found[flow.source].take(found[flow.into], flow.deciding)
    return found


@dataclass(frozen=True, slots=True)
class _Flow:
    """A value that is computed from a field, whose roles pass on to that field."""

    source: Field
    into: Field
    """The computed instance, or the parameter."""
    deciding: bool
    """Whether `source` only decides between values."""


def _flows(one: Field) -> Iterator[_Flow]:
    """Yield the flows into a computed instance; of a stored field, those into the parameters of its structures."""
    if one.value is not None:
        for source, deciding in sources(one.value, one.owner, one):
            yield _Flow(source, one, deciding)
        return
    for structure in structures(one.value_kind):
        for param, given in zip(structure.type.params, structure.arguments, strict=True):
            for source, deciding in sources(given, one.owner, one):
                yield _Flow(source, param, deciding)


def _expressions(one: Field) -> Iterator[tuple[str, ex.Expr]]:
    """Yield each expression of a field with its role, such as `size`, `value` or `choice`.

    A rule that only states a bound becomes a comparison of `_` with it.
    """
    for key in KEYS:
        if (expr := expression(one, key)) is not None:
            yield _ROLES.get(key, "choice"), expr
    for rule, stated in rules_of(one).items() if "valid" in one.raw else ():
        match rule:
            case "expr":
                yield "choice", stated
            case "any-of":
                for bound in stated:
                    yield "choice", ex.Binary("==", ex.Name("_"), bound)
            case "eq" | "min" | "max":
                yield "choice", ex.Binary("==", ex.Name("_"), stated)
    if one.value is None and isinstance(one.value_kind, Switch):
        for case, _ in one.value_kind.cases:
            yield "choice", ex.Binary("==", one.value_kind.on, case)


def _mark(found: dict[Field, FieldUse], role: str, expr: ex.Expr, one: Field) -> None:
    """Note for each field in an expression of `one` its role there, and the constants that it is compared with."""
    here = one.owner
    # All constants of the expression, whichever field is compared with each: a few needless ones do no harm.
    constants = list(_constants(expr, here))
    numbers = {value for value in constants if isinstance(value, int)}
    texts = {value.encode() if isinstance(value, str) else value for value in constants if not isinstance(value, int)}
    for source, deciding in sources(expr, here, one):
        use = found[source]
        use.numbers |= numbers
        use.texts |= texts - {b""}
        if role != "value":
            use.roles.add("choice" if deciding else role)
    for node in ex.nodes(expr):
        match node:
            case ex.Index(_, at):
                for source, _ in sources(at, here, one):
                    found[source].roles.add("index")
            case ex.Call(of, "to_s", (ex.Literal(encoding), *_)):
                for source, _ in sources(of, here, one):
                    found[source].encoding = str(encoding)


def _constants(expr: ex.Expr, here: Type) -> Iterator[int | str | bytes]:
    """Yield the numbers, strings and bytes in an expression of the type `here`, except truth values and encodings."""
    encodings = {node.arguments[0] for node in ex.nodes(expr) if isinstance(node, ex.Call) and node.name == "to_s"}
    for node in ex.nodes(expr):
        match node:
            case ex.EnumValue(path, name):
                yield here.enum("::".join(path)).number(name)
            case ex.Literal(int() | str() | bytes() as value) if node not in encodings and not isinstance(value, bool):
                yield value


def sources(  # noqa: C901 - one case for each form of expression
    expr: ex.Expr, here: Type, one: Field, deciding: bool = False
) -> set[tuple[Field, bool]]:
    """Return the fields whose values an expression of the field `one` takes, each with whether it only decides.

    `here` is the type that the expression is in; `deciding`: the whole expression only decides between values.
    """

    def every(*parts: ex.Expr, deciding: bool = deciding) -> set[tuple[Field, bool]]:
        """Return the fields that any of several parts takes."""
        return {source for part in parts for source in sources(part, here, one, deciding)}

    match expr:
        case ex.Name("_"):
            return {(one, deciding)}
        case ex.Name(id):
            return {(other, deciding) for other in (*here.fields(), *here.params) if other.id == id}
        case ex.Member(of, "to_i" | "to_s" | "size" | "length" | "first" | "last" | "reverse"):
            return every(of)
        case ex.Member(of, name):
            found = set()
            for type in types(of, here, one):
                if type.scalar is not None:
                    found |= every(of)
                else:
                    found |= {(other, deciding) for other in (*type.fields(), *type.params) if other.id == name}
            return found
        case ex.Index(of, _) | ex.Cast(of, _) | ex.Unary(_, of) | ex.Call(of, _, _):
            return every(of)
        case ex.Binary("<" | "<=" | ">" | ">=" | "==" | "!=" | "and" | "or", left, right):
            return every(left, right, deciding=True)
        case ex.Binary(_, left, right):
            return every(left, right)
        case ex.Choice(condition, then, otherwise):
            return every(condition, deciding=True) | every(then, otherwise)
        case ex.Array(items):
            return every(*items)
    return set()


def types(expr: ex.Expr, here: Type, one: Field) -> set[Type]:  # noqa: C901 - one case for each form of expression
    """Return the types of the structures that an expression may be; none if that is not known.

    `here` is the type that the expression is in, `one` its field; `_` is the value of that field.
    """
    try:
        match expr:
            case ex.Name("_parent"):
                return set(here.parents)
            case ex.Name("_root"):
                return {here.root}
            case ex.Name("_"):
                return _of(one.value_kind)
            case ex.Name(id):
                field = here.field(id)
                return types(field.value, here, field) if field.value is not None else _of(field.value_kind)
            case ex.Member(of, "_parent"):
                return {above for type in types(of, here, one) for above in type.parents}
            case ex.Member(of, "_root"):
                return {type.root for type in types(of, here, one)}
            case ex.Member(of, "first" | "last"):
                return types(of, here, one)
            case ex.Member(of, name):
                return {inner for type in types(of, here, one) for inner in types(ex.Name(name), type, one)}
            case ex.Index(of, _):
                return types(of, here, one)
            case ex.Cast(_, name):
                return {here.find(name)}
            case ex.Choice(_, then, otherwise):
                return types(then, here, one) | types(otherwise, here, one)
    except UnsupportedError:
        pass
    return set()


def _of(kind: Kind) -> set[Type]:
    """Return the types of the structures that a kind may be."""
    return {structure.type for structure in structures(kind)}
