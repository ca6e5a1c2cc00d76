"""All specifications of one compilation: what they import, what a field of each is, and what is around each type.

The input is the parsed YAML of each `.ksy`; nothing is read from files here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.inference import typed
from exhume.compiler.front.kinds import primitive, structures
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
        """Names of instances that depend on where reading is; None where streams need not know that."""
        self.shares = False
        """Whether structures may begin within a byte that others have begun."""
        self.drifting: frozenset[str] = frozenset()
        """Names of instances that are read where reading is."""
        self.schemas: dict[str, Type] = {id: Type(id, raw, None, self) for id, raw in sorted(specs.items())}
        if foreign:
            self._name_apart()
        for type in self.types():
            for one in (*type.seq, *type.instances.values()):
                for kind in structures(one.one) if one.value is None else ():
                    local = kind.type.root is type.root or not foreign  # imported types do not know what is around them
                    if type not in kind.type.parents and "parent" not in one.raw and local:
                        kind.type.parents.append(type)
        self._find_other_parents()

    def _find_other_parents(self) -> None:
        """Parents that fields name (`parent: _parent`), once the others are known."""
        fields = [one for type in self.types() for one in type.fields() if one.raw.get("parent") not in (None, False)]
        waiting = [(one, kind) for one in fields if one.value is None for kind in structures(one.one)]
        for _ in range(len(waiting)):
            for one, kind in waiting:
                above = one.owner.kind_of(ex.parse(one.raw["parent"]))
                for found in structures(above):
                    if found.type not in kind.type.parents:
                        kind.type.parents.append(found.type)

    def opaque(self, name: str) -> Type:
        """The type of that name that something of the caller's reads."""
        return self._opaque.setdefault(name, Type(name, {}, None, self, opaque=True))

    def _name_apart(self) -> None:
        """Assign every type unique names that differ from Python's own and from the names that readers import."""
        taken = set(RESERVED)
        many: dict[str, int] = {}  # how many there are of one name
        for type in self.types():
            name = type.class_name
            while not taken.isdisjoint(found := {type.class_name, f"{type.class_name}Columns", type.reader_name}):
                many[name] = many.get(name, 0) + 1
                type.suffix = "_" if many[name] == 1 and not type.id.endswith("_") else f"_{many[name]}"
            taken |= found

    def types(self) -> Iterator[Type]:
        """Every type of every specification."""
        for schema in self.schemas.values():
            yield from schema.all()

    def schema(self, id: str, importing: Type) -> Type:
        """A specification that another imports, however far down; raises `UnsupportedError`."""
        if self.given.specs.get(id) in self.schemas:
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
        known = [one for type in importing.above() for one in type.types]
        raise UnsupportedError(f"no type {id:.60}{meant(id, [*known, *self.schemas])}")

    def kind_of(self, expr: ex.Expr, here: Type, item: Kind) -> Kind:
        """Kind of an expression's value in a type; `item` is the kind of `_`."""
        return typed(expr, here, item)

    def kind_of_field(self, one: Field) -> Kind:
        """Kind of one value of a field; raises `UnsupportedError` with the field."""
        try:
            return _kind_of_field(one)
        except UnsupportedError as error:
            raise error.within(one.where) from None


def _kind_of_field(one: Field) -> Kind:
    """The kind of one value of a field, by its `type` and its other keys."""
    for key in one.raw:
        if key not in KNOWN and not key.startswith("-"):
            raise UnsupportedError(f"`{key}` is not supported")
    if one.value is not None:
        enum = one.raw.get("enum")
        return Integer(one.owner.enum(enum)) if enum else one.owner.kind_of(one.value)
    return _kind(one, one.raw.get("type"))


def _kind(one: Field, type: Any) -> Kind:
    """The kind of a value of a type as a specification names it."""
    if isinstance(type, Mapping):
        return _switch(one, type)
    if type is None:
        return BYTES
    if str(type).endswith("[]"):  # of a parameter
        return Sequence(_kind(one, str(type)[:-2]))
    enum = one.owner.enum(one.raw["enum"]) if "enum" in one.raw else None
    found = primitive(str(type), one.owner, enum, stored=not one.parameter)
    return found or _structure(one, str(type))


def _structure(one: Field, type: str) -> Structure:
    """The kind of a field whose `type` is a type of the specification, such as `entry` or `entry(3)`.

    Raises `UnsupportedError` if there are more or fewer arguments than parameters.
    """
    call = CALL_FORM.match(type.strip())
    name, arguments = (call[1], call[2]) if call else (type.strip(), "")
    if call and not arguments.strip():
        raise UnsupportedError(f"`{type:.60}` has no arguments")
    items = ex.parse_list(arguments)
    found = one.owner.find(name)
    if one.parameter:  # it is given as it is
        return Structure(found)
    if found.opaque:
        return Structure(found, items)
    if len(items) != len(found.params):
        raise UnsupportedError(
            f"{name} takes {len(found.params)} parameter{'s' * (len(found.params) != 1)}, not {len(items)}"
        )
    return Structure(found, items)


def _switch(one: Field, type: Mapping[str, Any]) -> Switch:
    """The kind of a field with `switch-on`; without a case `_`, it is bytes by default if the field has a size."""
    default: Kind | None = None
    cases: list[tuple[ex.Expr, Kind]] = []
    for key, case in type["cases"].items():
        kind = _kind(one, case)
        if str(key) == "_":
            default = kind
        else:
            cases.append((ex.parse(key), kind))
    if default is None and (one.size is not None or one.to_end):
        default = BYTES
    return Switch(ex.parse(type["switch-on"]), tuple(cases), default)
