"""Specifications as one resolved model: every type, field and enum found by its name, every expression typed.

The input is what YAML gives for each `.ksy`; nothing is read from files here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from exhume.compiler import expressions as ex
from exhume.compiler.refusal import RefusedError

_INTEGER = re.compile(r"([us])([1248])(le|be)?$")
_FLOAT = re.compile(r"f([48])(le|be)?$")
_BITS = re.compile(r"b([0-9]+)(le|be)?$")
_CALL = re.compile(r"([\w:]+)\s*\((.*)\)$", re.DOTALL)

_SIZES = ("size", "size-eos", "pad-right", "terminator", "consume", "include", "eos-error", "encoding", "process")
_REPEATS = ("repeat", "repeat-expr", "repeat-until", "if")
_PLACES = ("pos", "io", "value")
RESERVED = frozenset(("None", "True", "False", "LayoutError", "View", "UnicodeDecodeError", "AttributeError"))
"""Names of classes that readers use."""

KNOWN = frozenset(("id", "type", *_SIZES, "enum", "valid", "contents", *_REPEATS, "doc", "doc-ref", *_PLACES))
"""Keys of a field that readers are made from; others are refused unless they start with `-`."""


# What an expression or field is.


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer; `enum` when its values have names, `size` in bytes where it is stored in as many.

    The byte order of one that is `decided` depends on the data.
    """

    enum: Enum | None = None
    size: int = 0
    signed: bool = False
    big: bool = False
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Bits:
    """An integer of `width` bits within bytes; of one bit a truth value."""

    width: int
    big: bool
    enum: Enum | None = None


@dataclass(frozen=True, slots=True)
class Plain:
    """`float`, `bool`, `text`, `bytes`, `stream` or `unknown`; `size` in bytes where a float is stored."""

    kind: str
    size: int = 0
    big: bool = False
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """A value of a type of some specification."""

    type: Type
    arguments: tuple[ex.Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence:
    """Many of the same."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Switch:
    """One of several kinds, by the value of an expression; `default` when no case fits (None: bytes or nothing)."""

    on: ex.Expr
    cases: tuple[tuple[ex.Expr, Kind], ...]
    default: Kind | None


Kind = Integer | Bits | Plain | Structure | Sequence | Switch

DECIDED = "decided"
"""The byte order of types that find out by their data."""

REST = ex.Name("_rest")
"""Bytes from here to the end of the stream: what `_io.size - _io.pos` says."""

FLOAT, BOOL, TEXT, BYTES, STREAM = (Plain(kind) for kind in ("float", "bool", "text", "bytes", "stream"))
UNKNOWN = Plain("unknown")
INTEGER = Integer()


@dataclass(eq=False, slots=True)
class Enum:
    """Names of integers."""

    id: str
    values: dict[int, str]
    type: Type

    def number(self, name: str) -> int:
        """The integer of a name; raises `RefusedError` for an unknown one."""
        for number, known in self.values.items():
            if known == name:
                return number
        raise RefusedError(f"enum {self.id} has no {name}")


@dataclass(eq=False)
class Field:
    """One item of `seq`, `instances` or `params`."""

    id: str
    raw: Mapping[str, Any]
    owner: Type
    instance: bool = False
    parameter: bool = False

    @property
    def where(self) -> str:
        """Its place in the specification, for messages."""
        return f"{self.owner.where}.{self.id}"

    def expr(self, key: str) -> ex.Expr | None:
        """The expression under a key, None when there is none. Raises `RefusedError` with the field when it is none."""
        value = self.raw.get(key)
        try:
            return None if value is None else ex.parse(value)
        except RefusedError as error:
            raise error.within(f"{self.where}: {key}") from None

    @cached_property
    def value(self) -> ex.Expr | None:
        """What a value instance computes."""
        return self.expr("value")

    @cached_property
    def condition(self) -> ex.Expr | None:
        """When the field is there; None for always."""
        return self.expr("if")

    @cached_property
    def size(self) -> ex.Expr | None:
        """How many bytes it takes, where that is said."""
        return self.expr("size")

    @property
    def to_end(self) -> bool:
        """Whether it takes all that is left."""
        return bool(self.raw.get("size-eos"))

    @property
    def repeat(self) -> str | None:
        """`eos`, `expr` or `until`; None for one value."""
        return self.raw.get("repeat")

    @property
    def doc(self) -> str:
        """What is said about it, on one line."""
        return " ".join(str(self.raw.get("doc", "")).split())

    @cached_property
    def one(self) -> Kind:
        """What one of it is (without regard to `repeat`).

        Raises `RefusedError` with the field for a type that is not known.
        """
        try:
            return self._one()
        except RefusedError as error:
            raise error.within(self.where) from None

    def _one(self) -> Kind:
        for key in self.raw:
            if key not in KNOWN and not key.startswith("-"):
                raise RefusedError(f"`{key}` is not covered")
        if self.value is not None:
            enum = self.raw.get("enum")
            return Integer(self.owner.enum(enum)) if enum else self.owner.kind_of(self.value)
        return self._kind(self.raw.get("type"))

    def _kind(self, type: Any) -> Kind:
        if isinstance(type, Mapping):
            return self._switch(type)
        if type is None:
            return BYTES
        if str(type).endswith("[]"):  # of a parameter
            return Sequence(self._kind(str(type)[:-2]))
        enum = self.owner.enum(self.raw["enum"]) if "enum" in self.raw else None
        found = primitive(str(type), self.owner, enum, stored=not self.parameter)
        return found or self._structure(str(type))

    def _structure(self, type: str) -> Structure:
        call = _CALL.match(type.strip())
        name, arguments = (call[1], call[2]) if call else (type.strip(), "")
        given = ex.parse(f"[{arguments}, _]") if arguments else None  # `_` keeps it from being bytes
        items = given.items[:-1] if isinstance(given, ex.Array) else ()
        found = self.owner.find(name)
        if self.parameter:  # it is given as it is
            return Structure(found)
        if len(items) != len(found.params):
            raise RefusedError(f"{name} takes {len(found.params)} parameters, not {len(items)}")
        return Structure(found, items)

    def _switch(self, type: Mapping[str, Any]) -> Switch:
        default: Kind | None = None
        cases: list[tuple[ex.Expr, Kind]] = []
        for key, case in type["cases"].items():
            kind = self._kind(case)
            if str(key) == "_":
                default = kind
            else:
                cases.append((ex.parse(key), kind))
        if default is None and (self.size is not None or self.to_end):
            default = BYTES
        return Switch(ex.parse(type["switch-on"]), tuple(cases), default)

    @cached_property
    def kind(self) -> Kind:
        """What the field holds."""
        return Sequence(self.one) if self.repeat else self.one


def primitive(name: str, owner: Type, enum: Enum | None = None, *, stored: bool = True) -> Kind | None:
    """The kind of a built-in type; None for names of structures.

    Raises `RefusedError` when byte order is missing from what is `stored`.
    """

    def big(said: str | None, otherwise: str | None, size: int) -> bool:
        order = said or otherwise
        if order is None and size > 1 and stored:
            raise RefusedError(f"{name} has no byte order")
        return size > 1 and order == "be"

    decided = owner.endian == DECIDED
    if found := _INTEGER.match(name):
        size = int(found[2])
        ordered = big(found[3], owner.endian, size)
        return Integer(enum, size, found[1] == "s", ordered, decided and size > 1 and not found[3])
    if found := _FLOAT.match(name):
        size = int(found[1])
        return Plain("float", size, big(found[2], owner.endian, size), decided and not found[2])
    if found := _BITS.match(name):
        return Bits(int(found[1]), (found[2] or owner.bit_endian) != "le", enum)
    if name in ("str", "strz"):
        return TEXT
    return {"bool": BOOL, "bytes": BYTES, "io": STREAM, "struct": UNKNOWN, "any": UNKNOWN}.get(name)


def _word(name: Any) -> str:
    """A name as the text that it is written as: YAML takes `true` for a truth value."""
    return str(name).lower() if isinstance(name, bool) else str(name)


@dataclass(eq=False)
class Type:
    """A type of a specification: its root, or one below `types`."""

    id: str
    raw: Mapping[str, Any]
    parent: Type | None
    model: Model
    seq: list[Field] = field(default_factory=list)
    instances: dict[str, Field] = field(default_factory=dict)
    params: list[Field] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    parents: list[Type] = field(default_factory=list)
    suffix: str = ""
    """What keeps the names of its class and reader apart from others."""

    def __post_init__(self) -> None:
        for number, item in enumerate(self.raw.get("seq", ())):
            self.seq.append(Field(item.get("id", f"_unnamed{number}"), item, self))
        for id, item in self.raw.get("instances", {}).items():
            self.instances[id] = Field(id, item, self, instance=True)
        for item in self.raw.get("params", ()):
            self.params.append(Field(item["id"], item, self, parameter=True))
        for id, item in self.raw.get("enums", {}).items():
            names = {int(str(key), 0): one["id"] if isinstance(one, Mapping) else one for key, one in item.items()}
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
        return above + "".join(part[:1].upper() + part[1:] for part in self.id.split("_")) + self.suffix

    @property
    def reader_name(self) -> str:
        """The name of its reader, unique in its specification."""
        above = "read" if self.parent is None or self.parent.parent is None else self.parent.reader_name
        return f"{above}_{self.id}{self.suffix}"

    def meta(self, key: str) -> Any:
        """What `meta` says here, or further out; None when nothing does."""
        meta = self.raw.get("meta", {})
        return meta[key] if key in meta else None if self.parent is None else self.parent.meta(key)

    @property
    def endian(self) -> str | None:
        """`le`, `be`, None, or `DECIDED` where the data say which."""
        found = self.meta("endian")
        return DECIDED if isinstance(found, Mapping) else found

    @property
    def decides(self) -> Mapping[str, Any] | None:
        """How this type decides the byte order of itself and of the types in it; None where it does not."""
        found = self.raw.get("meta", {}).get("endian")
        return found if isinstance(found, Mapping) else None

    @property
    def bit_endian(self) -> str:
        """`le` or `be`."""
        return str(self.meta("bit-endian") or "be")

    @property
    def encoding(self) -> str | None:
        """The encoding of text that says none."""
        found: str | None = self.meta("encoding")
        return found

    @property
    def doc(self) -> str:
        """What is said about it."""
        return str(self.raw.get("doc", "")).strip()

    @property
    def scalar(self) -> str | None:
        """The instance that stands for a whole structure (`-scalar`), such as the value of a varint."""
        found: str | None = self.raw.get("-scalar")
        return None if self.model.foreign else found

    def all(self) -> Iterator[Type]:
        """This type and all below it."""
        yield self
        for type in self.types.values():
            yield from type.all()

    def fields(self) -> list[Field]:
        """What is read: the fields of `seq`, and the instances."""
        return [*self.seq, *self.instances.values()]

    def field(self, id: str) -> Field:
        """The field, instance or parameter of that name; raises `RefusedError`."""
        for one in (*self.seq, *self.instances.values(), *self.params):
            if one.id == id:
                return one
        raise RefusedError(f"{self.where} has no {id}")

    def find(self, name: str) -> Type:
        """The type that a name means here; raises `RefusedError`."""
        first, *rest = name.split("::")
        here: Type | None = self
        while here is not None:
            if first in here.types:
                return here.types[first].below(rest)
            if here.id == first and here.parent is None:
                return here.below(rest)
            here = here.parent
        return self.model.schema(first, self.root).below(rest)

    def below(self, names: list[str]) -> Type:
        """The type at the end of a path of nested types. Raises `RefusedError` when there is none."""
        found = self
        for name in names:
            if name not in found.types:
                raise RefusedError(f"{found.where} has no type {name}")
            found = found.types[name]
        return found

    def enum(self, name: str) -> Enum:
        """The enum that a name means here; raises `RefusedError`."""
        *path, last = name.split("::")
        if path:
            start = self.find("::".join(path))
            if last in start.enums:
                return start.enums[last]
        here: Type | None = self
        while here is not None and not path:
            if last in here.enums:
                return here.enums[last]
            here = here.parent
        raise RefusedError(f"no enum {name}")

    def kind_of(self, expr: ex.Expr, item: Kind = UNKNOWN) -> Kind:
        """What an expression gives in this type; `item` is what `_` is."""
        return _typed(expr, self, item)


_LITERALS: dict[type, Kind] = {bool: BOOL, int: INTEGER, float: FLOAT, str: TEXT, bytes: BYTES}


def _typed(expr: ex.Expr, here: Type, item: Kind) -> Kind:  # noqa: C901 - one case for each form of expression
    match expr:
        case ex.Literal(value):
            return _LITERALS[type(value)]
        case ex.Array(items):
            return Sequence(_typed(items[0], here, item) if items else UNKNOWN)
        case ex.EnumValue(path, _):
            return Integer(here.enum("::".join(path)))
        case ex.Name(id):
            return _named(id, here, item)
        case ex.Member(of, name):
            return _member(_typed(of, here, item), name)
        case ex.Index(of, _):
            inner = _typed(of, here, item)
            return inner.of if isinstance(inner, Sequence) else INTEGER
        case ex.Call(_, name, _):
            return INTEGER if name == "to_i" else TEXT
        case ex.Cast(_, name) if name.endswith("[]"):
            return Sequence(_typed(ex.Cast(expr.of, name[:-2]), here, item))
        case ex.Cast(_, name):
            return primitive(name, here, stored=False) or Structure(here.find(name))
        case ex.SizeOf():
            return INTEGER
        case ex.Format():
            return TEXT
        case ex.Unary(op, of):
            return BOOL if op == "not" else _typed(of, here, item)
        case ex.Binary(op, left, right):
            return _arithmetic(op, _typed(left, here, item), _typed(right, here, item))
        case ex.Choice(_, then, otherwise):
            first, second = _typed(then, here, item), _typed(otherwise, here, item)
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


class Model:
    """All specifications of one compilation; `specs` by their ids.

    What is `foreign` keeps to no style: names are made unique, and other care is taken where code is written.
    """

    def __init__(self, specs: Mapping[str, Mapping[str, Any]], *, foreign: bool = False) -> None:
        self.foreign = foreign
        self.schemas = {id: Type(id, raw, None, self) for id, raw in sorted(specs.items())}
        if foreign:
            self._name_apart()
        for type in self.types():
            for one in (*type.seq, *type.instances.values()):
                for kind in structures(one.one) if one.value is None else ():
                    if type not in kind.type.parents:
                        kind.type.parents.append(type)

    def _name_apart(self) -> None:
        """Gives every type names of its own, which are none of Python's or of what readers import."""
        taken = set(RESERVED)
        for type in self.types():
            while not taken.isdisjoint(found := {type.class_name, f"{type.class_name}Columns", type.reader_name}):
                type.suffix += "_"
            taken |= found

    def types(self) -> Iterator[Type]:
        """Every type of every specification."""
        for schema in self.schemas.values():
            yield from schema.all()

    def schema(self, id: str, importing: Type) -> Type:
        """A specification that another imports, however far down; raises `RefusedError`."""
        seen, waiting = {importing.id}, [importing]
        while waiting:
            for one in waiting.pop().raw.get("meta", {}).get("imports", ()):
                name = str(one).rpartition("/")[2]
                if name == id and id in self.schemas:
                    return self.schemas[id]
                if name not in seen and name in self.schemas:
                    seen.add(name)
                    waiting.append(self.schemas[name])
        raise RefusedError(f"no type {id}")


def structures(kind: Kind) -> Iterator[Structure]:
    """The structures that a kind may be."""
    if isinstance(kind, Structure):
        yield kind
    elif isinstance(kind, Sequence):
        yield from structures(kind.of)
    elif isinstance(kind, Switch):
        for _, one in kind.cases:
            yield from structures(one)
        if kind.default is not None:
            yield from structures(kind.default)
