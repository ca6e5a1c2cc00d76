"""Type stubs of the readers of a foreign specification, so that type checkers know every field (PEP 561).

The classes are nested as in the specification, and have their own names in the module as well. A value of an enum is a
member of its class or, if the enum has no name for it, an integer.

Keys of `raw` that begin with `-` are marks, which the compiler itself sets in a foreign specification: `-columns`
(lists of the type are read as columns), `-tabled` (they can be) and `-rows` (a list that can be).
"""

from __future__ import annotations

from collections.abc import Iterator

from exhume.compiler.emit.text import columned, member, safe
from exhume.compiler.front.kinds import Bits, Integer, Kind, Sequence, SimpleKind, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.fixed import number_of

LAYOUT_STUB = '''"""What all readers share."""

import builtins as _b
from types import TracebackType as _Traceback
from typing import Any, Self, SupportsIndex as _Index, TypeVar as _TypeVar

_Row = _TypeVar("_Row")
View = _b.bytes | _b.memoryview

class LayoutError(ValueError):
    """Bytes that do not fit a specification."""

    path: str
    offset: int
    stop: int
    expected: Any
    found: Any
    short: bool

class EndError(LayoutError, EOFError):
    """The data end inside a field."""

class BudgetError(LayoutError):
    """A specification requests more than one reading may cost."""

class Stream:
    """The bytes that structures are read from."""

    view: View
    base: int
    end: int
    at: int
    def __init__(self, view: View, base: int, end: int) -> None: ...
    def size(self) -> int: ...
    def pos(self) -> int: ...
    def is_eof(self) -> bool: ...
    def to_byte_array(self) -> bytes: ...

class Structure:
    """What the structures of a specification have in common."""

    _io: Stream
    @property
    def _parent(self) -> Any: ...
    @property
    def _root(self) -> Any: ...
    def __new__(cls, *arguments: Any) -> Self: ...
    @classmethod
    def from_bytes(cls, data: View, *arguments: Any) -> Self: ...
    @classmethod
    def from_file(cls, path: Any, *arguments: Any) -> Self: ...
    @classmethod
    def from_io(cls, io: Any, *arguments: Any) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: _Traceback | None
    ) -> None: ...
    def close(self) -> None: ...

class Rows(list[_Row]):
    """Rows as objects, and as columns that are read on request."""

    @property
    def columns(self) -> Columns: ...
    def __getattr__(self, name: str) -> Any: ...

class Columns:
    """Rows as columns: an attribute for each, and an object for each row on request."""

    problem: LayoutError | None
    def __len__(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...
'''


def stub_texts(model: Model) -> dict[str, str]:
    """Return the stubs of a package by path, and `py.typed`, the marker file of typed packages.

    `model` is that of the readers: with the types that are read as columns.
    """
    found = {f"{id}.pyi": _module(schema) for id, schema in model.schemas.items()}
    return {**found, "_layout.pyi": LAYOUT_STUB, "py.typed": ""}


def _module(schema: Type) -> str:
    """Return the stub file (`.pyi`) of one specification."""
    stub = _Stub(schema)
    body = [*stub.structure(schema, 0), *stub.names(schema)]
    body += [line for type in schema.all() for line in stub.reader(type)]
    head = [f'"""Types of the readers of {schema.id}.ksy."""', "", "import builtins as _b"]
    head += ["from collections.abc import Iterator as _Iterator", "from enum import IntEnum as _IntEnum"]
    head += ["from typing import Any as _Any, overload as _overload", ""]
    head += [f"from . import {id} as _{id}" for id in sorted(stub.modules)]
    head.append("from ._layout import Columns as _Columns, Rows as _Rows, Stream as _Stream")
    head.append("from ._layout import Structure as _Structure, View as _View")
    return "\n".join([*head, "", *body]) + "\n"


class _Stub:
    """Lines of the stub of the module of `schema`; `modules` are the other specifications that it names."""

    def __init__(self, schema: Type) -> None:
        self.schema = schema
        self.modules: set[str] = set()

    def structure(self, type: Type, depth: int) -> Iterator[str]:
        """Yield the lines of a class and of those in it; it is in `depth` others."""
        lead = "    " * depth
        yield f"{lead}class {type.plain_name if depth else type.class_name}(_Structure):"
        inner = f"{lead}    "
        yield f"{inner}_io: _Stream"
        for enum in type.enums.values():
            yield f"{inner}class {enum.class_name}(_IntEnum):"
            for number, name in enum.values.items():
                # Enums have attributes of these names.
                kept = "  # type: ignore[assignment]" if name in ("name", "value") else ""
                yield f"{inner}    {member(name)} = {number}{kept}"
            if not enum.values:
                yield f"{inner}    ..."
        for one in type.types.values():
            yield from self.structure(one, depth + 1)
        for field in (*type.params, *type.seq):
            yield f"{inner}{safe(field.id)}: {self.whole(field)}"
        for field in type.instances.values():
            yield f"{inner}@_b.property"
            yield f"{inner}def {safe(field.id)}(self) -> {self.whole(field)}: ..."

    def names(self, schema: Type) -> Iterator[str]:
        """Yield the lines of the names that the module has for classes in others, and of the classes of rows."""
        for type in schema.all():
            if type.parent is not None:
                yield f"{type.class_name} = {self.nested(type)}"
            if type.raw.get("-columns") or type.raw.get("-tabled"):
                yield f"class {type.class_name}Columns(_Columns):"
                yield "    @_overload"
                yield f"    def __getitem__(self, index: _b.int) -> {type.class_name}: ..."
                yield "    @_overload"
                yield f"    def __getitem__(self, index: _b.slice) -> _b.list[{type.class_name}]: ..."
                yield f"    def __iter__(self) -> _Iterator[{type.class_name}]: ..."

    def nested(self, type: Type) -> str:
        """Return the qualified name of a type's class: those that contain it, and its own."""
        return type.class_name if type.parent is None else f"{self.nested(type.parent)}.{type.plain_name}"

    def reader(self, type: Type) -> Iterator[str]:
        """Yield the line of the function that reads a type."""
        given = "view: _View, at: _b.int, end: _b.int, *more: _Any"
        yield f"def {type.reader_name}({given}) -> _b.tuple[{type.class_name}, _b.int]: ..."

    def whole(self, field: Field) -> str:
        """Return the annotation of a field.

        A list that `ir.rows` marked `-rows` can also be read as columns: `list[X]` becomes `_Rows[X]`.
        """
        annotation_text = self.annotation(field.kind, rows=columned(field) is not None)
        if field.raw.get("-rows"):
            annotation_text = f"_Rows{annotation_text.removeprefix('_b.list')}"
        return f"{annotation_text} | None" if field.condition is not None else annotation_text

    def annotation(self, kind: Kind, rows: bool = False) -> str:
        """Return the annotation for a kind; with `rows`, a list of structures is read as columns."""
        match kind:
            case Integer(enum) | Bits(_, _, enum) if enum is not None:
                return f"{self.qualified(enum.type, self.nested(enum.type))}.{enum.class_name} | _b.int"
            case Bits(1):
                return "_b.bool"
            case Integer() | Bits():
                return "_b.int"
            case Structure(type):
                return "_Any" if type.opaque else self.qualified(type, type.class_name)
            case SimpleKind("bytes"):
                return "_View"
            case SimpleKind(word):
                return {"float": "_b.float", "bool": "_b.bool", "text": "_b.str", "stream": "_Stream"}.get(word, "_Any")
            case Sequence(of) if rows and isinstance(of, Structure):
                return self.qualified(of.type, f"{of.type.class_name}Columns")
            case Sequence(of):
                return self.many(of)
            case Switch():
                names = {name: None for one in kind.kinds for name in self.annotation(one).split(" | ")}
                return " | ".join([*names, *(["None"] if kind.default is None else [])])

    def many(self, of: Kind) -> str:
        """Return the annotation of a list: of numbers of one width it may be a view of an array."""
        number = number_of(of)
        if isinstance(number, (Integer, SimpleKind)) and number.size:
            if isinstance(number, Integer) and number.enum is not None:
                return f"_b.list[{self.annotation(number)}]"
            if number == Integer(size=1):
                return "_View"
            return f"_b.memoryview[{self.annotation(number)}] | _b.list[{self.annotation(number)}]"
        return f"_b.list[{self.annotation(of)}]"

    def qualified(self, type: Type, name: str) -> str:
        """Return a name of the module of `type`, with the module if that is another one."""
        if type.root is self.schema:
            return name
        self.modules.add(type.root.id)
        return f"_{type.root.id}.{name}"
