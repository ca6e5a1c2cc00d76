"""Streams of text messages converted to KV-IR streams, so that commands for key-value pairs accept them.

The time of an event becomes the key `timestamp` of the logger, the message the key `message` of the user, as in CLP's
own deserializer.  Messages are not decoded: their variables and log type (the message with a mark in place of each
variable) are copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from exhume.errors import Span
from exhume.formats.clp_ir import checks
from exhume.formats.clp_ir.layout import parse_metadata
from exhume.formats.clp_ir.stream import TextUnits
from exhume.formats.clp_ir.units import EventForm
from exhume.formats.kv_ir.layout import (
    END,
    MAGIC_SIZE,
    MAGICS,
    MAX_PREAMBLE,
    Encodings,
    Tags,
    build_node,
    build_preamble,
    default_metadata,
)
from exhume.formats.kv_ir.probe import is_of_text
from exhume.formats.kv_ir.stream import Stream
from exhume.io.source import BytesSource
from exhume.limits import DEFAULT_LIMITS, Limits

HEAD = build_preamble(Encodings.FOUR_BYTE, default_metadata())
"""The preamble of the result.  It may state four bytes for every stream, since each value states the width itself."""

# The declarations of the two keys.
NODES = build_node(Tags.NODE_INTEGER, 0, b"timestamp", auto=True) + build_node(
    Tags.NODE_TEXT, 0, b"message", auto=False
)

MADE = 1 << 18
"""Size in bytes of the chunks in which the result is yielded."""


class _DecompressedStream(Stream):
    """A stream whose decompressed bytes an iterator yields; there is no file to read."""

    def __init__(self, name: str, pieces: Iterator[bytes]) -> None:
        super().__init__(BytesSource(b"", name), checks.STREAM)
        self._given = pieces

    def span(self, start: int, end: int) -> Span:
        """A range of the stream."""
        return Span(self.source.name, start, end)

    def pieces(self) -> Iterator[bytes]:
        """The bytes, once."""
        return self._given


def as_key_values(name: str, pieces: Iterator[bytes], limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """Yield a decompressed input unchanged or, if it is a stream of text, as a KV-IR stream; `name` is for errors.

    Raises the faults in a stream of text: those in its preamble at once, those in an event, and for bytes after the
    end, after all that can be read.
    """
    # Read as much as shows which of the two it is.
    head = b""
    for piece in pieces:
        head += piece
        if not any(magic.startswith(head[:MAGIC_SIZE]) for magic in MAGICS) or len(head) >= MAX_PREAMBLE:
            break
    rest = chain([head], pieces)
    if head[:MAGIC_SIZE] not in MAGICS or not is_of_text(head[:MAX_PREAMBLE]):
        yield from (piece for piece in rest if piece)
        return
    stream = _DecompressedStream(name, rest)
    units = TextUnits(stream, limits)
    parse_metadata(units.preamble, stream.span(0, units.preamble.size))
    yield HEAD + NODES
    yield from units.printed(EventForm.KEYED, MADE)
    yield END
