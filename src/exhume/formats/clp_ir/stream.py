"""The units of a stream, read from front to back in bounded memory.

The class `Units` of KV-IR does it, for both kinds of streams; here it gets the decoder, the tokens and the rules of
this one.  A unit is an event (variables, log type, time), a change of the offset from UTC, or the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, cast

from exhume.errors import Span
from exhume.formats.clp_ir import checks
from exhume.formats.clp_ir.kernel import ClpIrDecoder
from exhume.formats.clp_ir.layout import (
    DELTAS,
    LOG_TYPES,
    VARIABLE_TEXTS,
    Encodings,
    LayoutError,
    Tags,
    misfit,
    parse_token,
    reference_time,
    token_name,
)
from exhume.formats.clp_ir.units import MIN_MS
from exhume.formats.kv_ir.layout import Preamble
from exhume.formats.kv_ir.model import OpenStream
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.pytokens import Read, StopError
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import Status
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits


def begin(source: Source) -> Stream:
    """The bytes of a stream, with the rules of this format."""
    return Stream(source, checks.STREAM)


class TextUnits(Units):
    """One pass over the units of a stream; `Units` documents the methods."""

    decoder: ClpIrDecoder  # type: ignore[assignment]  # not a KvIrDecoder, but with the methods that `Units` calls

    def __init__(self, stream: Stream, limits: Limits = DEFAULT_LIMITS, *, preamble: Preamble | None = None) -> None:
        """Raise CLPIR-101, CLPIR-301, CLPIR-302, CLPIR-307 and CLPIR-308."""
        super().__init__(stream, limits, preamble=preamble)

    def make_decoder(self) -> ClpIrDecoder:  # type: ignore[override]
        """A decoder that counts times from the reference in the preamble."""
        return ClpIrDecoder(self.preamble.encoding is Encodings.EIGHT_BYTE, reference_time(self.preamble))

    def texts(self) -> Iterator[tuple[int, bytes]]:
        """The events one by one, as `(time in milliseconds, message)`; `Units.events` with the types of this format."""
        return cast("Iterator[tuple[int, bytes]]", self.events())

    def parse_token(self, data: bytes, at: int, end: int) -> tuple[int, int, int]:
        """Return `(tag, number, end)` of the token at `at`.  Raises `LayoutError`."""
        return parse_token(data, at, end)

    def pass_unit(self, read: Read) -> int:
        """End of the event at `self.at`; `read` returns the token at an offset.  Raises `StopError` for other units.

        Also sets the decoder's time to that of the event, from which the next event counts.
        """
        tag, _, at = read(self.at)
        while tag in VARIABLE_TEXTS or tag in (Tags.VARIABLE_4, Tags.VARIABLE_8):
            tag, _, at = read(at)
        if tag not in LOG_TYPES:
            raise StopError(Status.UNEXPECTED, at)
        tag, number, at = read(at)
        decoder = self.decoder
        if not (tag == Tags.TIMESTAMP if decoder.wide else tag in DELTAS):
            raise StopError(Status.UNEXPECTED, at)
        time = number if decoder.wide else decoder.time + number
        decoder.time = (time - MIN_MS) % (1 << 64) + MIN_MS  # wraps around as 64 bits do
        return at

    def misfit(self, data: bytes, at: int) -> LayoutError | None:
        """Return the fault in the token at `at` (truncated, or invalid); None for a valid token."""
        return misfit(data, at)

    def token_name(self, data: bytes, at: int) -> str:
        """The kind of token at an offset, as messages name it."""
        return token_name(data, at)


class TextStream(OpenStream, Protocol):
    """An open stream of text messages; see `reader.ClpIrArchive`."""

    def units(self) -> TextUnits:
        """A new pass over the units."""

    def events_with_place(self) -> Iterator[tuple[Span, int, Any]]:
        """The events (`reader.TextEvent`), each with its place and its number."""
