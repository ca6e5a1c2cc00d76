"""All specifications of one compilation: their imports, the kind of each field, and the types around each type.

The input is the parsed YAML of each `.ksy`; nothing is read from files here.

It also checks (`check`) that every expression is one of Kaitai's language, of the kind that its place requires.
This runs before any code is written: a specification that passes has a kind in every part, and only members that it
declares or the language defines.  Others raise `UnsupportedError` with the field and the key.

`combined` (of `kinds`) returns the common kind of a choice of several kinds, `family` the word for a kind, such as
"integer" or "text".  `demand` raises unless the family of a kind is one of several; its last argument begins the
message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import (
    COMPARED,
    UNKNOWN,
    WHOLE,
    Bits,
    combined,
    demand,
    family,
    kind_text,
    operation,
    primitive,
    same_enum,
    structures,
    typed,
)
from exhume.compiler.front.model import (
    BYTES,
    CALL_FORM,
    KNOWN,
    RESERVED,
    ExternalNames,
    Field,
    Integer,
    Kind,
    Sequence,
    Specifications,
    Structure,
    Switch,
    Type,
)
from exhume.compiler.refusal import UnsupportedError, meant

_WIDE = ("u2", "u4", "u8", "s2", "s4", "s8", "f4", "f8")
_OWN_TYPES = ("str", "strz", "u1", "s1", *(f"{one}{order}" for one in _WIDE for order in ("", "le", "be")))
"""Types of the language, as advice for misspelled ones."""


class Model(Specifications):
    """All specifications of one compilation; `specs` by their ids.

    A `foreign` specification follows no style guide: its names are made unique, and more care is taken where code is
    written.
    """

    def __init__(
        self, specs: Mapping[str, Mapping[str, Any]], *, foreign: bool = False, given: ExternalNames | None = None
    ) -> None:
        """Make the types of all specifications, and find for each type those that have fields of it (`parents`).

        `given` has the names of types and routines that the caller provides.
        """
        self.foreign = foreign
        self.given: ExternalNames = given or ExternalNames()
        self._opaque: dict[str, Type] = {}
        self.moving: frozenset[str] | None = None
        """Names of instances that depend on the current position of a stream; None if streams need not have one."""
        self.shares = False
        """Whether structures may begin within a byte that other fields have begun."""
        self.drifting: frozenset[str] = frozenset()
        """Names of instances that are read at the current position of their stream."""
        self.schemas: dict[str, Type] = {id: Type(id, raw, None, self) for id, raw in sorted(specs.items())}
        if foreign:
            self._name_apart()
        for type in self.types():
            for one in (*type.seq, *type.instances.values()):
                for kind in structures(one.value_kind) if one.value is None else ():
                    # An imported type of a user must not depend on the types that use it.
                    local = kind.type.root is type.root or not foreign
                    if type not in kind.type.parents and "parent" not in one.raw and local:
                        kind.type.parents.append(type)
        self._find_other_parents()

    def _find_other_parents(self) -> None:
        """Add the parents that fields name (`parent: _parent`), once the others are known."""
        fields = [one for type in self.types() for one in type.fields() if one.raw.get("parent") not in (None, False)]
        waiting = [(one, kind) for one in fields if one.value is None for kind in structures(one.value_kind)]
        # A named parent may depend on another one: repeat as often as the longest chain may be.
        for _ in range(len(waiting)):
            for one, kind in waiting:
                with _place(f"{one.where}: parent"):
                    above = one.owner.kind_of(ex.parse(one.raw["parent"]))
                for found in structures(above):
                    if found.type not in kind.type.parents:
                        kind.type.parents.append(found.type)

    def opaque(self, name: str) -> Type:
        """Return the opaque type of that name, which a reader of the caller reads."""
        return self._opaque.setdefault(name, Type(name, {}, None, self, opaque=True))

    def _name_apart(self) -> None:
        """Assign every type unique names that differ from Python's own and from the names that readers import."""
        taken = set(RESERVED)
        many: dict[str, int] = {}  # numbers used as suffixes, by name
        for type in self.types():
            name = type.class_name
            while not taken.isdisjoint(found := {type.class_name, f"{type.class_name}Columns", type.reader_name}):
                many[name] = many.get(name, 0) + 1
                type.suffix = "_" if many[name] == 1 and not type.id.endswith("_") else f"_{many[name]}"
            taken |= found

    def types(self) -> Iterator[Type]:
        """Yield every type of every specification."""
        for schema in self.schemas.values():
            yield from schema.all()

    def imported(self, id: str, importing: Type) -> Type | None:
        """Return the specification `id` that `importing` imports, directly or not; None if it does not."""
        if self.given.specs.get(id) in self.schemas:  # a type that the caller has from this specification
            return self.schemas[self.given.specs[id]]
        seen, waiting = {importing.root.id}, [importing.root]
        while waiting:
            for one in waiting.pop().raw.get("meta", {}).get("imports", ()):
                name = str(one).rpartition("/")[2]
                if name == id and id in self.schemas:
                    return self.schemas[id]
                if name not in seen and name in self.schemas:
                    seen.add(name)
                    waiting.append(self.schemas[name])
        return None

    def schema(self, id: str, importing: Type) -> Type:
        """Return the same; raises `UnsupportedError` if it is not imported."""
        if (found := self.imported(id, importing)) is not None:
            return found
        known = [one for type in importing.above() for one in type.types]
        raise UnsupportedError(f"no type {id:.60}{meant(id, [*known, *self.schemas, *_OWN_TYPES])}")

    def kind_of(self, expr: ex.Expr, here: Type, item: Kind) -> Kind:
        """Return the kind of an expression's value in a type; `item` is the kind of `_`."""
        return typed(expr, here, item)

    def kind_of_field(self, one: Field) -> Kind:
        """Return the kind of one value of a field; raises `UnsupportedError` with the field."""
        try:
            return _field_kind(one)
        except UnsupportedError as error:
            raise error.within(one.where) from None


def _field_kind(one: Field) -> Kind:
    """Return the kind of one value of a field, by its `type` and its other keys."""
    for key in one.raw:
        if key not in KNOWN and not key.startswith("-"):
            raise UnsupportedError(f"`{key}` is not supported")
    if one.value is not None:
        enum = one.raw.get("enum")
        return Integer(one.owner.stated_enum(enum)) if enum else one.owner.kind_of(one.value)
    return _stated_kind(one, one.raw.get("type"))


def _stated_kind(one: Field, type: Any) -> Kind:
    """Return the kind of a value whose type is stated as `type`."""
    if isinstance(type, Mapping):
        return _switch_kind(one, type)
    if type is None:
        return BYTES
    if str(type).endswith("[]"):  # of a parameter
        return Sequence(_stated_kind(one, str(type)[:-2]))
    enum = one.owner.stated_enum(one.raw["enum"]) if "enum" in one.raw else None
    found = primitive(str(type), one.owner, enum, stored=not one.parameter)
    return found or _structure_kind(one, str(type))


def _structure_kind(one: Field, type: str) -> Structure:
    """Return the kind of a field whose `type` is a type of the specification, such as `entry` or `entry(3)`.

    Raises `UnsupportedError` if there are more or fewer arguments than parameters.
    """
    call = CALL_FORM.match(type.strip())
    name, arguments = (call[1], call[2]) if call else (type.strip(), "")
    if call and not arguments.strip():
        raise UnsupportedError(f"`{type:.60}` has no arguments")
    items = ex.parse_list(arguments)
    found = one.owner.stated(name)
    if one.parameter:  # the caller passes a structure, which needs no arguments
        return Structure(found)
    if found.opaque:
        return Structure(found, items)
    if len(items) != len(found.params):
        raise UnsupportedError(
            f"{name} takes {len(found.params)} parameter{'s' * (len(found.params) != 1)}, not {len(items)}"
        )
    return Structure(found, items)


def _switch_kind(one: Field, type: Mapping[str, Any]) -> Switch:
    """Return the kind of a field with `switch-on`; without a case `_`, it is bytes by default if the field has a
    size.
    """
    default: Kind | None = None
    cases: list[tuple[ex.Expr, Kind]] = []
    for key, case in type["cases"].items():
        kind = _stated_kind(one, case)
        if str(key) == "_":
            default = kind
        else:
            cases.append((ex.parse(key), kind))
    if default is None and (one.size is not None or one.to_end):
        default = BYTES
    return Switch(ex.parse(type["switch-on"]), tuple(cases), default)


_ROLES: dict[str, tuple[frozenset[str], str]] = {
    "if": (frozenset(("bool",)), "`if` is a truth value"),
    "size": (WHOLE, "`size` is an integer"),
    "pos": (WHOLE, "`pos` is an integer"),
    "repeat-expr": (WHOLE, "`repeat-expr` is an integer"),
    "repeat-until": (frozenset(("bool",)), "`repeat-until` is a truth value"),
    "io": (frozenset(("stream",)), "`io` is a stream"),
}
"""Keys whose expression must be of certain families, with the message for others."""

_NUMBERS = frozenset(("integer", "enum", "float", "bool"))
"""Kinds that can be converted to each other without examining the value."""


def check(model: Model) -> None:
    """Raise `UnsupportedError` for the first invalid expression of a model."""
    for type in model.types():
        if type.decides is not None:
            with _place(f"{type.where}: meta: endian"):
                _check_choice(
                    type, ex.parse(type.decides["switch-on"]), [key for key in type.decides["cases"] if key != "_"]
                )
        if "to-string" in type.raw:
            with _place(f"{type.where}: to-string"):
                demand(kind(ex.parse(type.raw["to-string"]), type), {"text"}, "`to-string` is a string")
        for field in (*type.params, *type.fields()):
            with _place(field.where):
                _check_field(type, field)


_PROCESSES = ("zlib", "xor", "rol", "ror")
"""Routines of `process` that the language defines."""


@contextmanager
def _place(where: str) -> Iterator[None]:
    """Within the `with` block, errors get the place `where` in the specification."""
    try:
        yield
    except UnsupportedError as error:
        raise error.within(where) from None
    except RecursionError:
        raise UnsupportedError("refers to itself, or is nested too deeply", where) from None


def kind(expr: ex.Expr, here: Type, item: Kind = UNKNOWN) -> Kind:
    """Return the kind of an expression, after checking every part of it, casts included."""
    found = here.kind_of(expr, item)
    for node in ex.nodes(expr):
        if isinstance(node, ex.Cast) and (items := ex.items_of(node.of)) is not None:
            _check_list(node, items, here, item)
        elif isinstance(node, ex.Cast):
            takes(here.kind_of(node.of, item), here.kind_of(node, item), f"`as<{node.type:.60}>` takes")
        elif isinstance(node, ex.Member) and node.name == "_sizeof":
            kind(node.of, here, item)
    return found


def _check_list(cast: ex.Cast, items: tuple[ex.Expr, ...], here: Type, item: Kind) -> None:
    """Check a list that is written out, with these `items`, as what it is cast to: it may be empty, and of numbers that
    would be bytes.  `item` is the kind of `_`.
    """
    wanted, what = combined(here.kind_of(cast, item)), f"`as<{cast.type:.60}>` takes"
    if isinstance(wanted, Sequence):
        for one in items:
            takes(here.kind_of(one, item), wanted.of, what)
    elif family(wanted) == "bytes":
        for one in items:
            demand(here.kind_of(one, item), WHOLE, f"{what} integers")
    else:
        takes(here.kind_of(cast.of, item), wanted, what)


def takes(given: Kind, wanted: Kind, what: str) -> bool:
    """Return whether a value of the kind `given` always is of the kind `wanted`; False if only the value decides that.

    `what` begins the message.  Raises `UnsupportedError` if it never is.
    """
    given, wanted = combined(given), combined(wanted)
    one, other = family(given), family(wanted)
    if other == "unknown" or (one in _NUMBERS and other in _NUMBERS) or given == wanted:
        return True
    if isinstance(given, Sequence) and isinstance(wanted, Sequence):
        return takes(given.of, wanted.of, what)
    if isinstance(given, Structure) and isinstance(wanted, Structure):
        if given.type is wanted.type or given.type.opaque or wanted.type.opaque:
            return given.type is wanted.type  # only the value of an opaque type shows its class
    elif one == other:
        return not isinstance(wanted, Structure)
    if one == "sequence" and other == "bytes" and isinstance(given, Sequence) and family(given.of) in WHOLE:
        return True
    if one in ("unknown", "absent"):
        return False
    raise UnsupportedError(f"{what} {kind_text(wanted)}, not {kind_text(given)}")


def _check_field(type: Type, field: Field) -> None:
    """Check the kinds of all expressions of a field.  Raises `UnsupportedError`, which names the place."""
    for key, (families, what) in _ROLES.items():
        expr = field.expr(key)
        if expr is not None:
            with _place(f"{field.where}: {key}"):
                demand(kind(expr, type, field.value_kind if key == "repeat-until" else UNKNOWN), families, what)
    # A value instance has no other keys.
    if field.value is not None:
        with _place(f"{field.where}: value"):
            found = kind(field.value, type)
            if "enum" in field.raw:
                demand(found, WHOLE, "what an enum names is an integer")
        return
    stated = field.raw.get("type")
    if isinstance(field.value_kind, Switch) and isinstance(stated, dict):
        with _place(f"{field.where}: switch-on"):
            _check_choice(type, field.value_kind.on, [key for key in stated["cases"] if str(key) != "_"])
    _check_arguments(type, field.value_kind)
    if "enum" in field.raw:
        _check_enum(field)
    if field.raw.get("parent", False) is not False:
        with _place(f"{field.where}: parent"):
            demand(kind(ex.parse(field.raw["parent"]), type), {"structure"}, "`parent` is a structure or false")
    if "process" in field.raw:
        _check_process(type, field)
    if "valid" in field.raw:
        with _place(f"{field.where}: valid"):
            _check_valid(type, field, field.raw["valid"])


def _check_enum(field: Field) -> None:
    """Check that a field with `enum` is an integer, or may be one; the message names the first kind that it may be."""
    kinds = [one for _, one in field.value_kind.cases] if isinstance(field.value_kind, Switch) else [field.value_kind]
    if not any(isinstance(one, (Integer, Bits)) for one in kinds):
        demand(kinds[0] if kinds else UNKNOWN, (), "what an enum names is an integer")


def _check_choice(type: Type, on: ex.Expr, cases: list[Any]) -> None:
    """Check that a choice is made by a value (`on`) that can be compared, and that each case can be compared with it.

    `cases` are the values of the cases as in the YAML, without the default `_`.
    """
    found = kind(on, type)
    demand(found, COMPARED, "a choice is made by a number, a text, bytes or a truth value")
    for case in cases:
        operation("==", combined(found), combined(kind(ex.parse(case), type)))


def _check_arguments(type: Type, of: Kind) -> None:
    """Check that the arguments of a structure, or of each case of a switch, have the kinds of its parameters."""
    if isinstance(of, Structure):
        for given, param in zip(of.arguments, of.type.params, strict=False):
            what = f"the parameter {param.id} of {of.type.where} is"
            found = kind(given, type)
            if takes(found, param.kind, what) and not _accepts_argument(found, param.kind):
                raise UnsupportedError(f"{what} {kind_text(param.kind)}, not {kind_text(found)}")
    elif isinstance(of, Switch):
        for one in of.kinds:
            _check_arguments(type, one)


def _accepts_argument(given: Kind, wanted: Kind) -> bool:
    """Return whether Kaitai accepts a value of the kind `given` as an argument of the kind `wanted`.

    A float is not an integer there, and a value of an enum only one of the same enum.
    """
    given, wanted = combined(given), combined(wanted)
    one, other = family(given), family(wanted)
    if "enum" in (one, other):
        return same_enum(given, wanted) or other == "unknown"
    return one == other or not {one, other} <= _NUMBERS


def _check_process(type: Type, field: Field) -> None:
    """Check the routine of `process`, even if no reader calls it as the field has no bytes."""
    call = field.call("process")
    assert call is not None
    for one in call.arguments:
        found = combined(kind(one, type))
    if call.name in type.root.model.given.process:
        return
    if call.name not in _PROCESSES:
        known = meant(call.name, [*_PROCESSES, *type.root.model.given.process])
        raise UnsupportedError(f"`process: {field.raw['process']}` is not supported{known}")
    if len(call.arguments) != (call.name != "zlib"):  # none for zlib, one for all others
        raise UnsupportedError(f"`{call.name}` takes {'no arguments' if call.name == 'zlib' else 'one argument'}")
    if call.name == "xor":
        demand(found, WHOLE | {"bytes"}, "`xor` takes an integer or bytes")
    elif call.name != "zlib":
        demand(found, WHOLE, f"`{call.name}` takes an integer")


def _check_valid(type: Type, field: Field, valid: Any) -> None:
    """Check that the values in `valid` can be compared with the field."""
    rules = valid if isinstance(valid, dict) else {"eq": valid}
    for key, stated in rules.items():
        # `any-of` has a list of expressions, `in-enum` none (it is a switch), any other rule one.
        if key == "any-of":
            expressions = stated
        else:
            expressions = [] if key == "in-enum" else [stated]
        for one in expressions:
            found = kind(ex.parse(one), type, item=field.value_kind)  # `_` is the value of the field
            if key == "expr":
                demand(found, {"bool"}, "`expr` is a truth value")
            else:
                op = {"min": ">=", "max": "<="}.get(key, "==")
                operation(op, combined(field.value_kind), combined(found))
