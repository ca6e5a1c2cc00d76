"""The parts of an open stream that its info and its table use; for type checkers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from exhume.errors import Span
from exhume.formats.clp_ir.stream import TextUnits
from exhume.formats.kv_ir.layout import Preamble
from exhume.formats.kv_ir.stream import Stream
from exhume.io.source import Source


class TextStream(Protocol):
    """An open stream of text messages; see `reader.ClpIrArchive`."""

    source: Source
    stream: Stream
    preamble: Preamble
    metadata: dict[str, Any]

    def units(self) -> TextUnits:
        """A new pass over the units."""

    def events_with_place(self) -> Iterator[tuple[Span, int, Any]]:
        """The events (`reader.TextEvent`), each with its place and its number."""
