"""The stream of the parsers with positions, each of which knows its stream: so substreams are told apart."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import kaitaistruct

PASSING: ContextVar[Callable[..., bool] | None] = ContextVar("PASSING", default=None)
"""Takes over the elements of arrays in place of the loops of the parsers; None: the loops run."""


class Position(int):
    """A position in a stream, which it remembers."""

    stream: Any

    def __new__(cls, value: int, stream: Any) -> Position:
        made = super().__new__(cls, value)
        made.stream = stream
        return made


def BytesIO(data: Any) -> Any:
    """A file of bytes; a value that was not read as a whole opens itself."""
    return data.opened() if hasattr(data, "opened") else io.BytesIO(data)


class KaitaiStream(kaitaistruct.KaitaiStream):  # type: ignore[misc]  # untyped base
    """A `kaitaistruct.KaitaiStream` whose positions remember it."""

    def pos(self) -> Position:
        return Position(super().pos(), self)

    def passes(self, owner: Any, name: str, make: Callable[[int, Any], Any], **how: Any) -> bool:
        """Whether `PASSING` took over an array of `owner`, whose elements `make` parses."""
        taken = PASSING.get()
        return taken is not None and taken(self, owner, name, make, **how)
