"""Streams of text as KV-IR streams, so that what takes key-value pairs takes them: the time of an event becomes the key
`timestamp` of the logger, the message the key `message` of the user, as in upstream's own deserializer.

Messages stay as they were taken apart.
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
from exhume.formats.kv_ir.passes import printed
from exhume.formats.kv_ir.probe import is_of_text
from exhume.formats.kv_ir.stream import Stream
from exhume.io.source import BytesSource
from exhume.limits import DEFAULT_LIMITS, Limits

HEAD = build_preamble(Encodings.FOUR_BYTE, default_metadata())
"""The preamble of the result; a value states how wide its variables are."""

NODES = build_node(Tags.NODE_INTEGER, 0, b"timestamp", auto=True) + build_node(
    Tags.NODE_TEXT, 0, b"message", auto=False
)

MADE = 1 << 18
"""Bytes that are made at once."""


class _DecompressedStream(Stream):
    """The bytes of a stream that arrive decompressed, one chunk at a time."""

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
    """A decompressed input as it is, or, where it is a stream of text, as a KV-IR stream; `name` is for errors.

    Raises the fault in a stream of text: with its preamble at once, with an event, and bytes after the
    end, after all that can be read.
    """
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
    yield from printed(units, EventForm.KEYED, MADE)
    yield END
