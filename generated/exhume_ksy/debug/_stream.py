"""The stream of the parsers with positions, each of which knows its stream: so substreams are told apart."""

from __future__ import annotations

from typing import Any

import kaitaistruct


class Position(int):
    """A position in a stream, which it remembers."""

    stream: Any

    def __new__(cls, value: int, stream: Any) -> Position:
        made = super().__new__(cls, value)
        made.stream = stream
        return made


class KaitaiStream(kaitaistruct.KaitaiStream):  # type: ignore[misc]  # untyped base
    """A `kaitaistruct.KaitaiStream` whose positions remember it."""

    def pos(self) -> Position:
        return Position(super().pos(), self)
