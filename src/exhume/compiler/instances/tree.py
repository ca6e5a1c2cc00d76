"""The result of a walk over data: structures with their values and streams, and the values of expressions over them.

A walk reads data by a specification, without generated code (`walk`), or makes random data that fits it (`draw`). A
`Node` is a structure, a `Raw` a field of bytes, a `Stream` the bytes in which positions count, a `Scope` all that an
expression may refer to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.model import Field, Type

OPEN = 1 << 40
"""Size that a stream without a size yet is taken to have, in bytes: more than any instance."""


class UnknownError(Exception):
    """Raised for an expression that has no value: it names a field that is not there, or computes an undefined
    value.
    """


class BrokenError(Exception):
    """Raised for data that does not fit a specification.

    `rule` is the key that was not met, or a word: `short` (the data ends too early), `size` (a size is negative),
    `expression` (one has no value), `depth`, `encoding`.
    """

    def __init__(
        self, path: str, at: int, rule: str, why: str = "", expr: ex.Expr | None = None, scope: Scope | None = None
    ) -> None:
        """Describe the rule that the value at `path`, offset `at`, breaks; `expr` in `scope` is its expression.

        `why` is for the message.
        """
        super().__init__(f"{path} at {at}: {why or rule}")
        self.path = path
        self.at = at
        self.rule = rule
        self.expr = expr
        self.scope = scope


@dataclass(eq=False, repr=False, slots=True)
class Stream:
    """Bytes from the offset `base` on; `size` is None while it is not known.

    `path` is that of the field that has them.
    """

    base: int
    size: int | None
    path: str
    outer: Stream | None = None
    """The stream around it; while drawing, only if both end together."""
    pinned: bool = False
    """Whether its size cannot change any more."""
    high: int = 0
    """End of the bytes that are used from its start on, relative to `base`."""

    @property
    def length(self) -> int:
        """Size in bytes; `OPEN` while it is not known."""
        return OPEN if self.size is None else self.size

    @property
    def end(self) -> int:
        """Offset of its end."""
        return self.base + self.length


@dataclass(eq=False, repr=False, slots=True)
class Node:
    """A structure that was read: its values by the names of its fields."""

    type: Type
    path: str
    stream: Stream
    parent: Node | None
    root: Node | None
    values: dict[str, Any] = field(default_factory=dict)
    given: dict[str, tuple[ex.Expr, Scope]] = field(default_factory=dict)
    """The arguments for its parameters, with the scope in which each is evaluated."""
    running: set[str] = field(default_factory=set)
    """Instances that are being computed, to notice one that uses itself."""

    def below(self, id: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{id}" if self.path else id


@dataclass(eq=False, repr=False, slots=True)
class Raw:
    """A field of bytes by its offset; the bytes themselves are looked up on request."""

    start: int
    size: int
    path: str
    field: Field
    scope: Scope


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Scope:
    """The context of an expression: structure, offset in the data, and the values of `_` (`item`) and `_index`."""

    node: Node
    at: int = 0
    item: Any = None
    index: int | None = None
    path: str = ""
    """The path of the value that is read."""


@dataclass(frozen=True, repr=False, slots=True)
class Rule:
    """A rule that a field met: its key (`rule`), the field's place in the data, and the value that was checked."""

    path: str
    field: Field
    rule: str
    start: int
    stop: int
    value: Any
    scope: Scope


@dataclass(frozen=True, repr=False, slots=True)
class ChecksumField:
    """A checksum that was read: its offsets, and the ranges of the data that it covers (`pieces`), in sequence."""

    path: str
    field: Field
    start: int
    stop: int
    pieces: list[tuple[int, int]]

    def covered(self, data: bytes) -> bytes:
        """Return the bytes that the checksum covers."""
        return b"".join(data[start:stop] for start, stop in self.pieces)


class Evaluator(ABC):
    """Computes expressions over `data`; the reader supplies the values of fields (`get`).

    `scope` is the context of an expression, `raw` a field of bytes, `id` the name of a field of the structure `node`.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data

    @abstractmethod
    def get(self, node: Node, id: str) -> Any:
        """Return the value of a field, parameter or instance; raises `UnknownError`."""

    def bytes_of(self, raw: Raw) -> bytes:
        """Return the bytes of a raw value."""
        return self.data[raw.start : raw.start + raw.size]

    def byte(self, raw: Raw, index: int) -> int:
        """Return one byte of a raw value."""
        return self.bytes_of(raw)[index]

    def plain(self, value: Any) -> Any:
        """Return a value with the bytes of a raw one looked up."""
        if isinstance(value, Raw):
            return self.bytes_of(value)
        return value

    def required(self, expr: ex.Expr, one: Field, scope: Scope) -> Any:
        """Return the value of an expression of the field `one`; raises `BrokenError` if it has none."""
        try:
            return self.value(expr, scope)
        except UnknownError as error:
            raise BrokenError(scope.path, scope.at, "expression", str(error), expr, scope) from None

    def value(self, expr: ex.Expr, scope: Scope) -> Any:
        """Return the value of an expression; raises `UnknownError` if it has none."""
        try:
            return self._value(expr, scope)
        except (TypeError, LookupError, ZeroDivisionError, AttributeError, ValueError, OverflowError) as error:
            raise UnknownError(str(error)) from error

    def _value(self, expr: ex.Expr, scope: Scope) -> Any:  # noqa: C901 - one case for each form of expression
        """Return the value of an expression; errors of Python for values of the wrong kind are not translated."""
        match expr:
            case ex.Literal(value):
                return value
            case ex.EnumValue(path, name):
                return scope.node.type.enum("::".join(path)).number(name)
            case ex.Array(items):
                return [self._value(one, scope) for one in items]
            case ex.Name(id):
                return self._name(id, scope)
            case ex.Member(of, name):
                return self.member(self._value(of, scope), name, scope)
            case ex.Index(of, at):
                many, index = self._value(of, scope), self._value(at, scope)
                if index < 0:
                    raise UnknownError("negative index")
                return self.byte(many, index) if isinstance(many, Raw) else many[index]
            case ex.Call(of, name, arguments):
                return self._call(self._value(of, scope), name, [self._value(one, scope) for one in arguments])
            case ex.Cast(of, _):
                return self._value(of, scope)
            case ex.Unary(op, of):
                value = self._value(of, scope)
                return not value if op == "not" else -value if op == "-" else ~value
            case ex.Binary("and", left, right):
                return bool(self._value(left, scope)) and bool(self._value(right, scope))
            case ex.Binary("or", left, right):
                return bool(self._value(left, scope)) or bool(self._value(right, scope))
            case ex.Binary(op, left, right):
                first, second = self.plain(self._value(left, scope)), self.plain(self._value(right, scope))
                if op == "/":
                    return first / second if isinstance(first, float) or isinstance(second, float) else first // second
                return ex.OPERATORS[op](first, second)
            case ex.Choice(condition, then, otherwise):
                return self._value(then if self._value(condition, scope) else otherwise, scope)

    def _name(self, id: str, scope: Scope) -> Any:
        """Return the value of a name: a pair of stream and scope for `_io`, the structure itself for `_root` at the
        root.
        """
        if id == "_":
            return scope.item
        if id == "_index":
            return scope.index
        if id == "_io":
            return scope.node.stream, scope
        if id == "_parent":
            return scope.node.parent
        if id == "_root":
            return scope.node.root or scope.node
        return self.get(scope.node, id)

    def member(self, value: Any, name: str, scope: Scope) -> Any:
        """Return a member of a value.  Raises `UnknownError` if it has none of that name."""
        if isinstance(value, tuple):  # `_io` of the structure itself (`_name`): the scope has the position
            stream, here = value
            if name == "pos":
                return here.at - stream.base
            return here.at >= stream.end if name == "eof" else self.member(stream, name, scope)
        if isinstance(value, Stream) and name == "size":
            return value.length
        # Structures, raw bytes, then lists, strings and numbers.
        if isinstance(value, Node):
            if name == "_io":
                return value.stream
            if name == "_parent":
                return value.parent
            if name == "_root":
                return value.root or value
            return self.get(value, name)
        if isinstance(value, Raw) and name in ("size", "length"):
            return value.size
        value = self.plain(value)
        if isinstance(value, (list, str, bytes)):
            known: dict[str, Callable[[Any], Any]] = {"size": len, "length": len, "min": min, "max": max, "to_i": int}
            known |= {"first": lambda many: many[0], "last": lambda many: many[-1], "reverse": lambda many: many[::-1]}
            return known[name](value)
        if name == "to_i" and value is not None:
            return int(value)
        if name == "to_s" and value is not None:
            return str(int(value))
        raise UnknownError(f"{type(value).__name__} has no {name}")

    def _call(self, of: Any, name: str, given: list[Any]) -> Any:
        """Return the result of a method call.  Raises `UnknownError` for a `substring` that ends before it starts."""
        of = self.plain(of)
        if name == "substring":
            start, stop = given
            if not 0 <= start <= stop:
                raise UnknownError("a part that ends before it starts")
            return of[start:stop]
        if name == "to_s":
            return str(of, given[0])
        return int(of, *given)
