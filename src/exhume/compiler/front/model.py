"""Specifications as one resolved model: types, fields, enums and kinds of values; every type found by its name.

A `Type` is the root of a specification or an entry of `types`; a `Field` is an entry of its `seq`, `instances` or
`params`.  A kind is the kind of value of a field or an expression: numbers, bits, bytes, strings, structures, a list
of one of these, or one of several.  The kinds of fields and expressions are inferred by the `Specifications` that a
type belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from exhume.compiler.front import expressions as ex
from exhume.compiler.refusal import UnsupportedError, meant

CALL_FORM = re.compile(r"([\w:.]+)\s*\((.*)\)$", re.DOTALL)
"""A name with its arguments, as types and `process` have them."""

_SIZES = ("size", "size-eos", "pad-right", "terminator", "consume", "include", "eos-error", "encoding", "process")
"""Keys for the length of bytes and for their conversion."""

NUMBER = re.compile(r"[us][1248](le|be)?|f[48](le|be)?|b[0-9]+(le|be)?")
"""Types of integers, floats and bit fields."""

MARKED = frozenset(("terminator", "consume", "include", "eos-error"))
"""Keys for what ends bytes.  Numbers may have them, without any effect."""

_MORE = ("if", "size", "size-eos", "terminator", "pad-right", "process", "valid")
"""Keys of a field whose `repeat-until` cannot be tested inside the element itself; see `Field.last`."""

_REPEATS = ("repeat", "repeat-expr", "repeat-until", "if")
"""Keys that state how often a field is there."""

_PLACES = ("pos", "io", "value", "parent")
"""Keys of instances for their position or value, and `parent` of a field."""

RESERVED = frozenset(("LayoutError", "View", "UnicodeDecodeError", "AttributeError", "Run"))
"""Names that generated modules import or use, so that no class of a type may have them."""

KNOWN = frozenset(("id", "type", *_SIZES, "enum", "valid", "contents", *_REPEATS, "doc", "doc-ref", *_PLACES))
"""Keys of a field that readers are made from; others are rejected unless they start with `-`."""


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer; `enum` if its values have names, `size` in bytes (0: it is computed, not stored), `big` if
    big-endian.

    If it is `decided`, its byte order depends on the data.
    """

    enum: Enum | None = None
    size: int = 0
    signed: bool = False
    big: bool = False
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Bits:
    """An integer of `width` bits within bytes; a single bit is a truth value.

    `big`: bits start with the highest of a byte.
    """

    width: int
    big: bool
    enum: Enum | None = None


@dataclass(frozen=True, slots=True)
class SimpleKind:
    """`float`, `bool`, `text`, `bytes`, `stream`, `structure` (of one of several types), `absent` or `unknown`.

    `size` is that of a stored float in bytes, else 0.
    """

    kind: str
    size: int = 0
    big: bool = False
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """A value of a type of some specification; `arguments` are those in `type: entry(n)`."""

    type: Type
    arguments: tuple[ex.Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence:
    """Any number of values of one kind."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Switch:
    """One of several kinds, by the value of the expression `on`: that of the case that it equals, else `default`.

    Without a default, other values are bytes if the field has a size, and nothing otherwise.
    """

    on: ex.Expr
    cases: tuple[tuple[ex.Expr, Kind], ...]
    default: Kind | None

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of all cases, and the default if there is one."""
        return [kind for _, kind in self.cases] + ([] if self.default is None else [self.default])


Kind = Integer | Bits | SimpleKind | Structure | Sequence | Switch

DECIDED = "decided"
"""The byte order of types that determine it from the data (`meta/endian/switch-on`)."""

REST = ex.Name("_rest")
"""Name for the bytes from here to the end of the stream, in place of `_io.size - _io.pos`."""

# Kinds without details.
FLOAT, BOOL, TEXT, BYTES, STREAM = (SimpleKind(kind) for kind in ("float", "bool", "text", "bytes", "stream"))
UNKNOWN, SOME_STRUCTURE, ABSENT = (SimpleKind(kind) for kind in ("unknown", "structure", "absent"))
INTEGER = Integer()
BYTE = Integer(size=1)


def _class_word(id: str) -> str:
    """Return an id as the name of a class; `None`, `True` and `False` would be constants of Python."""
    name = "".join(part[:1].upper() + part[1:] for part in id.split("_"))
    return f"{name}_" if name in ("None", "True", "False") else name


@dataclass(eq=False, slots=True)
class Enum:
    """Names of integers."""

    id: str
    values: dict[int, str]
    type: Type

    @property
    def class_name(self) -> str:
        """The name of its class within that of the type, apart from those of the types in it."""
        name = _class_word(self.id)
        if all(one.plain_name != name for one in self.type.types.values()):
            return name
        return f"{name}2" if name.endswith("_") else f"{name}_"

    @property
    def names(self) -> str:
        """The name of the function that returns its member for a number."""
        return f"names_{self.type.class_name}_{self.id}"

    def number(self, name: str) -> int:
        """Return the integer of a name; raises `UnsupportedError` for an unknown one."""
        for number, known in self.values.items():
            if known == name:
                return number
        raise UnsupportedError(f"enum {self.id} has no {name:.60}{meant(name, self.values.values())}")


@dataclass(frozen=True)
class ExternalNames:
    """Names whose meaning the caller of the compiler provides.

    `types` are opaque types, which the caller reads.  `specs` has types that another specification defines, with its
    id.  `process` has the names of routines for the key `process`.
    """

    types: frozenset[str] = frozenset()
    process: frozenset[str] = frozenset()
    specs: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Field:
    """One item of `seq`, `instances` or `params`; `raw` has its keys as in the YAML, `owner` is the type that has
    it.
    """

    id: str
    raw: Mapping[str, Any]
    owner: Type
    instance: bool = False
    parameter: bool = False

    @property
    def where(self) -> str:
        """Its place in the specification, for messages."""
        return f"{self.owner.where}.{self.id}"

    @property
    def last(self) -> ex.Expr | None:
        """The condition of `repeat-until` as an expression over the fields of the last structure.

        None if it uses anything else, or if the structures have a condition, a size or a rule.
        """
        until = self.expr("repeat-until")
        if until is None or ex.names(until) != {"_"} or not self.raw.keys().isdisjoint(_MORE):
            return None

        def inside(one: ex.Expr) -> ex.Expr:
            """Return `_.name` as `name`, and any other part as it is."""
            return ex.Name(one.name) if isinstance(one, ex.Member) and one.of == ex.Name("_") else one

        within = ex.replaced(until, inside)
        return None if "_" in ex.names(within) else within

    def expr(self, key: str) -> ex.Expr | None:
        """Return the expression under a key, or None.  Raises `UnsupportedError`, naming the field, for anything
        else.
        """
        value = self.raw.get(key)
        try:
            return None if value is None else ex.parse(value)
        except UnsupportedError as error:
            raise error.within(f"{self.where}: {key}") from None

    def call(self, key: str) -> ex.Call | None:
        """Return name and arguments under a key such as `process: xor(1)`, or None.

        Raises `UnsupportedError` for parentheses with nothing in them.
        """
        if key not in self.raw:
            return None
        found = CALL_FORM.match(str(self.raw[key]).strip())
        name, arguments = (found[1], found[2]) if found else (str(self.raw[key]).strip(), "")
        if found and not arguments.strip():
            raise UnsupportedError(f"`{key}: {self.raw[key]:.60}` has no arguments", self.where)
        if arguments.rstrip().endswith(","):  # one may follow the last argument of a type only
            raise UnsupportedError(f"an argument is missing in `{key}: {self.raw[key]:.60}`", self.where)
        return ex.Call(ex.Name("_"), name, ex.parse_list(arguments))

    @cached_property
    def value(self) -> ex.Expr | None:
        """The expression of a value instance."""
        return self.expr("value")

    @cached_property
    def condition(self) -> ex.Expr | None:
        """The condition under which the field exists (`if`); None: it always does."""
        return self.expr("if")

    @cached_property
    def size(self) -> ex.Expr | None:
        """The size in bytes, if it is stated."""
        return self.expr("size")

    @property
    def to_end(self) -> bool:
        """Whether it takes the remaining bytes of its stream (`size-eos`)."""
        return bool(self.raw.get("size-eos"))

    @property
    def repeat(self) -> str | None:
        """`eos`, `expr` or `until`; None for one value."""
        return self.raw.get("repeat")

    @property
    def doc(self) -> str:
        """The documentation, on one line."""
        return " ".join(str(self.raw.get("doc", "")).split())

    @cached_property
    def value_kind(self) -> Kind:
        """The kind of one value; of each element, if the field is repeated.

        Raises `UnsupportedError` with the field for a type that is not known.
        """
        return self.owner.model.kind_of_field(self)

    @cached_property
    def kind(self) -> Kind:
        """The kind of the field: of one value, or of the list of repeated values."""
        return Sequence(self.value_kind) if self.repeat else self.value_kind


def enum_key(key: Any) -> int:
    """Return the number of a key of an enum, which is decimal or has the prefix `0x` or `0b`."""
    text = str(key)
    return int(text, 0 if text.startswith(("0x", "0b")) else 10)  # base 0 means that of the prefix


def _effective(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keys of a field that have an effect: a number has no terminator."""
    if MARKED.isdisjoint(raw) or NUMBER.fullmatch(str(raw.get("type")).strip()) is None:
        return raw
    return {key: value for key, value in raw.items() if key not in MARKED}


def _word(name: Any) -> str:
    """Return a name as it is written, also if YAML made a truth value of it (`true`)."""
    return str(name).lower() if isinstance(name, bool) else str(name)


class Specifications(Protocol):
    """All specifications of one compilation, as their types see them; see `specs.Model`.

    `foreign`: they are those of a user; `given`: names that the caller provides; `schemas`: root types by id.
    `drifting`: names of instances that are read at the current position of a stream; `moving`: of these, and of others
    that depend on that position, None if no expression needs it; `shares`: whether structures may begin within a byte.
    """

    foreign: bool
    given: ExternalNames
    moving: frozenset[str] | None
    shares: bool
    drifting: frozenset[str]
    schemas: dict[str, Type]

    def opaque(self, name: str) -> Type:
        """Return the opaque type of that name, which a reader of the caller reads."""

    def imported(self, id: str, importing: Type) -> Type | None:
        """Return the root of a specification that `importing` imports, directly or not; None if it does not."""

    def schema(self, id: str, importing: Type) -> Type:
        """Return the same; raises `UnsupportedError` if it is not imported."""

    def types(self) -> Iterator[Type]:
        """Every type of every specification."""

    def kind_of(self, expr: ex.Expr, here: Type, item: Kind) -> Kind:
        """Kind of an expression's value in a type; `item` is the kind of `_`."""

    def kind_of_field(self, one: Field) -> Kind:
        """Kind of one value of a field; raises `UnsupportedError` with the field."""


@dataclass(eq=False)
class Type:
    """A type of a specification: its root, or one below `types`.

    `raw` are its keys as in the YAML, `parent` the type that contains its definition, `parents` the types with
    fields of it.
    """

    id: str
    raw: Mapping[str, Any]
    parent: Type | None
    model: Specifications
    # Fields, nested types and enums that `raw` declares, by id.
    seq: list[Field] = field(default_factory=list)
    instances: dict[str, Field] = field(default_factory=dict)
    params: list[Field] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    parents: list[Type] = field(default_factory=list)
    known: dict[str, int | None] = field(default_factory=dict)
    """Sizes that were computed, in bytes (`size`) and bits (`bits`); see `ir.fixed`.  For `idle`, see `ir.bits`."""
    unread_before: list[bool] | None = None
    """Whether bits of a byte may be unread before each field and after the last, once known; see `ir.bits`."""
    varint: list[Any] | None = None
    """Bytes of the variable-length integer that it is, once known; see `ir.fixed`."""
    suffix: str = ""
    """Suffix that makes the names of its class and reader unique."""
    opaque: bool = False
    """Whether an object of the caller reads it, and nothing is known of its fields."""

    def __post_init__(self) -> None:
        """Make the fields, enums and types that `raw` declares."""
        for number, item in enumerate(self.raw.get("seq", ())):
            self.seq.append(Field(item.get("id", f"_unnamed{number}"), _effective(item), self))
        for id, item in self.raw.get("instances", {}).items():
            self.instances[id] = Field(id, _effective(item), self, instance=True)
        for item in self.raw.get("params", ()):
            self.params.append(Field(item["id"], item, self, parameter=True))
        for id, item in self.raw.get("enums", {}).items():
            names = {enum_key(key): one["id"] if isinstance(one, Mapping) else one for key, one in item.items()}
            self.enums[id] = Enum(id, {key: _word(one) for key, one in names.items()}, self)
        for id, item in self.raw.get("types", {}).items():
            self.types[id] = Type(id, item, self, self.model)

    @property
    def root(self) -> Type:
        """The type of the whole specification."""
        return self if self.parent is None else self.parent.root

    @property
    def where(self) -> str:
        """Its name for messages: `zs::block_body`."""
        return self.id if self.parent is None else f"{self.parent.where}::{self.id}"

    @property
    def class_name(self) -> str:
        """The name of its class, unique in its specification."""
        above = "" if self.parent is None or self.parent.parent is None else self.parent.class_name
        return above + self.plain_name + self.suffix

    @property
    def plain_name(self) -> str:
        """The name of its class within that of the type around it, as Kaitai's compiler forms it."""
        return _class_word(self.id)

    @property
    def reader_name(self) -> str:
        """The name of its reader, unique in its specification."""
        above = "read" if self.parent is None or self.parent.parent is None else self.parent.reader_name
        return f"{above}_{self.id}{self.suffix}"

    @property
    def inside(self) -> bool:
        """Whether it may be a part of a structure of its own specification, whose root then is not itself."""
        return self.parent is not None or (self.model.foreign and any(one.root is self for one in self.parents))

    def meta(self, key: str) -> Any:
        """Return the value of a key of `meta` here, or in an enclosing type; None if no type has it."""
        meta = self.raw.get("meta", {})
        return meta[key] if key in meta else None if self.parent is None else self.parent.meta(key)

    @property
    def endian(self) -> str | None:
        """`le`, `be`, None, or `DECIDED` where the data determines it."""
        found = self.meta("endian")
        return DECIDED if isinstance(found, Mapping) else found

    @property
    def decides(self) -> Mapping[str, Any] | None:
        """The `endian` of this type if it is a choice (`switch-on`), for this type and those inside; else None."""
        found = self.raw.get("meta", {}).get("endian")
        return found if isinstance(found, Mapping) else None

    @property
    def bit_endian(self) -> str:
        """`le` or `be`."""
        return str(self.meta("bit-endian") or "be")

    @property
    def encoding(self) -> str | None:
        """The encoding of text fields that state none themselves."""
        found: str | None = self.meta("encoding")
        return found

    @property
    def doc(self) -> str:
        """The documentation."""
        return str(self.raw.get("doc", "")).strip()

    @property
    def scalar(self) -> str | None:
        """The instance that represents a whole structure (`-scalar`), such as the value of a varint."""
        found: str | None = self.raw.get("-scalar")
        return None if self.model.foreign else found

    def all(self) -> Iterator[Type]:
        """Yield this type and all below it."""
        yield self
        for type in self.types.values():
            yield from type.all()

    def above(self) -> Iterator[Type]:
        """Yield this type and those around it, from the inside out."""
        here: Type | None = self
        while here is not None:
            yield here
            here = here.parent

    def fields(self) -> list[Field]:
        """Return the fields of `seq`, and the instances."""
        return [*self.seq, *self.instances.values()]

    def field(self, id: str) -> Field:
        """Return the field, instance or parameter of that name; raises `UnsupportedError` if there is none."""
        if id not in self._by_id:
            raise UnsupportedError(f"{self.where} has no {id:.60}{meant(id, list(self._by_id))}")
        return self._by_id[id]

    def has(self, ids: frozenset[str]) -> bool:
        """Return whether any field, instance or parameter has one of these names."""
        return not ids.isdisjoint(self._by_id)

    @cached_property
    def _by_id(self) -> dict[str, Field]:
        """Fields, instances and parameters by name; where a name occurs several times, the first."""
        every = (*self.seq, *self.instances.values(), *self.params)
        return {one.id: one for one in reversed(every)}

    def find(self, name: str) -> Type:
        """Return the type that a name means in an expression, `entry`, `other::entry` or `::entry` (from the root on);
        raises `UnsupportedError` if there is none.

        As in Kaitai's compiler, each step is the first type of that name from the inside out, and that is a type
        itself rather than one in it.
        """
        here = self.root if name.startswith("::") else self
        for step in name.removeprefix("::").split("::"):
            here = here._nearest(step) if step else here  # noqa: SLF001 - its own kind
        return here

    def _nearest(self, name: str) -> Type:
        """Return the type of that name that is nearest: this one, one in it, one around it, or an imported one."""
        for here in self.above():
            if here.id == name or name in here.types:
                return here if here.id == name else here.types[name]
        if name in self.model.given.types:
            return self.model.opaque(name)
        return self.model.schema(name, self)

    def stated(self, name: str) -> Type:
        """Return the type that the key `type` of a field means; raises `UnsupportedError` if there is none."""
        first, *rest = name.removeprefix("::").split("::")
        if (found := self.looked_up([first, *rest], "types", set())) is not None:
            return found  # type: ignore[return-value]  # of `types`
        if first in self.model.given.types and not rest:
            return self.model.opaque(first)
        # There is none: the error is that of the first step that leads nowhere.
        here: Any = self.looked_up([first], "types", set()) or self.model.schema(first, self)
        while rest and (inner := here.looked_up(rest[:1], "types", set())) is not None:
            here, rest = inner, rest[1:]
        return here.below(rest)  # type: ignore[no-any-return]

    def looked_up(self, names: list[str], group: str, failed: set[tuple[int, int]]) -> Type | Enum | None:
        """Return the type or enum that a path in a key stands for; None if there is none.  `group`: `types` or `enums`.

        Each step is searched for from the inside out: after `a` of `a::b` is found, `b` is searched for in `a` and then
        in all types around it.  `failed` are searches without a result, as (id of the type, number of steps).
        """
        first, *rest = names
        for here in self.above():
            if (id(here), len(names)) in failed:
                return None  # that search also went through all types around this one
            failed.add((id(here), len(names)))
            found = getattr(here, "types" if rest else group).get(first)
            if found is not None and rest:
                found = found.looked_up(rest, group, failed)
            if found is not None:
                return found  # type: ignore[no-any-return]
        # At last the root itself, and what it imports.
        top = self.root if self.root.id == first else self.model.imported(first, self)
        if top is None or (group == "enums" and not rest):
            return None
        return top.looked_up(rest, group, failed) if rest else top

    def below(self, names: list[str]) -> Type:
        """Return the type at the end of a path of nested types.  Raises `UnsupportedError` if there is none."""
        found = self
        for name in names:
            if name not in found.types:
                raise UnsupportedError(f"{found.where} has no type {name:.60}{meant(name, found.types)}")
            found = found.types[name]
        return found

    def enum(self, name: str) -> Enum:
        """Return the enum that a name means in an expression; raises `UnsupportedError` if there is none.

        `::kinds` is the nearest one as well, as in Kaitai's compiler: only types are found from the root on.
        """
        path, _, last = name.rpartition("::")
        for here in (self.find(path) if path else self).above():
            if last in here.enums:
                return here.enums[last]
        raise self._no_enum(name)

    def stated_enum(self, name: str) -> Enum:
        """Return the enum that the key `enum` of a field means; raises `UnsupportedError` if there is none."""
        found = self.looked_up(name.split("::"), "enums", set())
        if found is None:
            raise self._no_enum(name)
        return found  # type: ignore[return-value]  # of `enums`

    def _no_enum(self, name: str) -> UnsupportedError:
        """Return the error for the name of an enum that does not exist."""
        known = [one for type in self.above() for one in type.enums]
        return UnsupportedError(f"no enum {name:.60}{meant(name, known)}")

    def kind_of(self, expr: ex.Expr, item: Kind = UNKNOWN) -> Kind:
        """Return the kind of an expression's value in this type; `item` is the kind of `_`."""
        return self.model.kind_of(expr, self, item)
