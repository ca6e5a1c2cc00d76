"""The result of a walk over data: structures with their values, streams, and the reason why it stopped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.model import Field, Type

OPEN = 1 << 40
"""The size of a stream that has none yet."""


class UnknownError(Exception):
    """An expression has no value: it asks for a field that is not there, or computes what cannot be computed."""


class BrokenError(Exception):
    """Data that do not fit a specification: `rule` is the key that was not met, `short` for data that end too early."""

    def __init__(
        self, path: str, at: int, rule: str, why: str = "", expr: ex.Expr | None = None, scope: Scope | None = None
    ) -> None:
        super().__init__(f"{path} at {at}: {why or rule}")
        self.path = path
        self.at = at
        self.rule = rule
        self.expr = expr
        self.scope = scope


@dataclass(eq=False, repr=False, slots=True)
class Stream:
    """Bytes from `base` on; `size` is None while that is open.  `path` is that of the field that holds it."""

    base: int
    size: int | None
    path: str
    outer: Stream | None = None
    pinned: bool = False
    """Whether nothing can change its size."""
    high: int = 0
    """End of the content at its beginning."""

    @property
    def length(self) -> int:
        return OPEN if self.size is None else self.size

    @property
    def end(self) -> int:
        return self.base + self.length


@dataclass(eq=False, repr=False, slots=True)
class Node:
    """A structure that was read: its values by the ids of fields."""

    type: Type
    path: str
    stream: Stream
    parent: Node | None
    root: Node | None
    values: dict[str, Any] = field(default_factory=dict)
    given: dict[str, tuple[ex.Expr, Scope]] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)

    def below(self, id: str) -> str:
        return f"{self.path}.{id}" if self.path else id


@dataclass(eq=False, repr=False, slots=True)
class Raw:
    """Bytes by their position; the content is looked up on request."""

    start: int
    size: int
    path: str
    field: Field
    scope: Scope


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Scope:
    """The context of an expression: structure, position, and the values of `_` and `_index`."""

    node: Node
    at: int = 0
    item: Any = None
    index: int | None = None
    path: str = ""
    """The path of the value that is read."""


@dataclass(frozen=True, repr=False, slots=True)
class Rule:
    """A rule that a field met: where, and with which value."""

    path: str
    field: Field
    rule: str
    start: int
    stop: int
    value: Any
    scope: Scope


@dataclass(frozen=True, repr=False, slots=True)
class Sum:
    """A checksum that was read: its position, and the ranges of the data that it covers, in sequence."""

    path: str
    field: Field
    start: int
    stop: int
    pieces: list[tuple[int, int]]

    def covered(self, data: bytes) -> bytes:
        """What it is computed of."""
        return b"".join(data[start:stop] for start, stop in self.pieces)
