"""Conversion of a stream's events to records of clp-s archives.

The bytes of the stream are pushed as they are read (`Ingest.push`), and encoded by `Ingest.run`; the archive may change
between events.  Chunks of the stream (`cut_stream`), which consist of whole units (events and declarations of keys),
may be encoded in other threads; the conversion then passes over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from exhume.errors import ExhumeError, LimitExceededError, Span
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.chunks import ALL, StreamChunks, UnitChunk, Worker
from exhume.formats.kv_ir.kernel import KvIrDecoder
from exhume.formats.kv_ir.layout import (
    MAX_PREAMBLE,
    has_preamble,
    misfit,
    parse_metadata,
    parse_preamble,
)
from exhume.formats.kv_ir.units import EventForm, Status
from exhume.io.values import Gathering
from exhume.limits import DEFAULT_LIMITS, Limits

T = TypeVar("T")


@dataclass(slots=True)
class StreamPart:
    """A chunk of a stream that can be encoded in another thread."""

    stream_chunks: StreamChunks  # all chunks of the stream, with the decoders
    chunk: UnitChunk
    exact: bool  # see `Ingest`
    worker: Worker | None = None  # that has encoded all of the chunk; None until then

    def encode(self, make: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any] | None:
        """Encode the chunk, in a thread of the caller.

        `make` returns an encoder and an object that belongs to it; it is called once per worker.  Returns that pair, or
        None if anything stops the encoder before the end of the chunk.
        """
        data, start, known, _ = self.chunk
        worker = self.stream_chunks.worker(known)
        if worker.into is None:
            worker.into = encoder, _ = make()
            worker.decoder.encode_into(encoder, self.exact)
        worker.decoder.events = 0
        status, stop, *_ = worker.decoder.run(data, 0, len(data), start, EventForm.ENCODE, ALL)
        if status != Status.MORE or stop < len(data):
            return None
        self.worker = worker
        return worker.into


class _UncutBytes:
    """The bytes of a stream that were read and not yet cut into chunks (a `chunks.BufferedBytes`).

    Attributes:
        at: Offset in the stream of the first byte that is not yet cut.
        held: `(data, base)`: the bytes in memory, and the offset in the stream where they start.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.at = 0
        self.held = b"", 0
        self._pieces = pieces
        self._failure: ExhumeError | None = None

    def more(self, at: int) -> bool:
        """Read further bytes, drop those before the offset `at`, and return False at the end of the stream.

        An error of the input is raised once no byte is left before it.
        """
        data, base = self.held
        parts = Gathering(data[at - base :])
        # Read as much again as is held, so that a long unit is examined only a few times until it is complete.
        before, wanted = parts.size, max(1, parts.size)
        data, self.held = b"", (b"", at)  # only `parts` has the old bytes now
        try:
            while wanted > 0 and (piece := next(self._pieces, b"")):
                parts.add(piece)
                wanted -= len(piece)
        except ExhumeError as error:
            self._failure = error
        data = parts.take()
        self.at, self.held = at, (data, at)
        if len(data) == before and self._failure is not None:
            raise self._failure
        return len(data) > before


def cut_stream(pieces: Iterator[bytes], *, exact: bool = False) -> Iterator[bytes | StreamPart]:
    """Yield a stream in order: chunks that can be encoded in other threads, and other bytes as they are.

    These are the preamble, and the rest of the stream after the last chunk.
    """
    held = _UncutBytes(pieces)
    data, _ = held.held
    while len(data) < MAX_PREAMBLE and held.more(0):
        data, _ = held.held
    with suppress(ExhumeError):  # `Ingest.push` parses the same bytes, and raises
        held.at = parse_preamble(data, Span("", 0, len(data))).size
    yield data[: held.at]
    stream_chunks = StreamChunks()
    for chunk in stream_chunks.cut(held):
        yield StreamPart(stream_chunks, chunk, exact)
    data, base = held.held
    yield data[held.at - base :]
    yield from pieces


class Ingest:
    """The conversion of one stream.

    Attributes:
        metadata: The producer's metadata of the stream; None until the preamble is complete.
        at: Number of bytes of the stream that were consumed.
        start: Offset of the unit that stopped the last run.
        refused: Number of events that were rejected.
        events: Number of events so far, including the rejected ones.
        ended: Whether nothing more is read: the end of the stream was reached, or damage that rules out reading on.
    """

    ended: bool
    start: int
    name: str
    at: int
    refused: int

    def __init__(self, name: str, *, exact: bool = False, limits: Limits = DEFAULT_LIMITS) -> None:
        """`exact`: keep all digits of floats, and the order of pairs.  (`clp-s` prints six digits, in its own order.)

        An event above the limit `payload_size` ends reading.
        """
        self.name, self._exact, self._most = name, exact, limits.payload_size
        self.metadata: dict[str, Any] | None = None
        self.at = self.start = self.refused = 0
        self.ended = self._at_end = False  # `_at_end`: by the token that ends a stream, and `trailing` was not reported
        self._decoder = KvIrDecoder()
        self._encoder: Any = None  # the one that the decoder is set to
        self._data = b""  # bytes that `run` encodes next
        self._held, self._wanted = Gathering(), 0  # bytes that wait for more, until there are so many

    @property
    def events(self) -> int:
        return int(self._decoder.events) + self.refused

    def push(self, piece: bytes, *, final: bool, wait: bool = True) -> bool:
        """Add bytes of the stream; return whether it is time to `run`, which without `wait` it always is.

        `final`: no bytes follow.  Raises the fault in the preamble.
        """
        if not self._held.size:
            # Wait for twice as many bytes, so that a long event is examined only a few times until it is complete.
            self._held, self._wanted, self._data = Gathering(self._data), 2 * len(self._data), b""
        self._held.add(piece)
        if wait and not final and self._held.size < self._wanted:
            return False
        self._data = self._held.take()
        if self.metadata is None and (final or has_preamble(self._data)):
            where = Span(self.name, 0, len(self._data))
            preamble = parse_preamble(self._data, where)
            self.metadata = parse_metadata(preamble, where).get("USER_DEFINED_METADATA", {})
            self._leave(preamble.size)
        return True

    def expects(self, part: StreamPart) -> bool:
        """Whether a part is next: everything before it was encoded, and no byte of it was pushed."""
        return self.metadata is not None and not (self.ended or self.left) and self.at == part.chunk.start

    def pass_over(self, part: StreamPart) -> None:
        """Skip a part that a worker has encoded: count its events, and declare the keys in it to the decoder."""
        chunk, worker = part.chunk, part.worker
        assert worker is not None
        part.stream_chunks.teach(self._decoder, chunk.known, chunk.known_after)
        self._decoder.events += worker.decoder.events
        self.at += len(chunk.data)
        part.stream_chunks.release(worker, chunk)

    def run(self, encoder: Any, target: int, *, final: bool) -> tuple[Status, ExhumeError | None]:
        """Encode the available bytes with `encoder`, the one of the current archive; return (status, error).

        The status is why it stopped: `MORE` (all bytes were taken), `END`, `FULL` (the archive has `target` bytes) or
        `NO_ROOM` (it has no ids left): another archive is to be begun; `RECORD` (the encoder rejects an event, with the
        reason in `encoder_fault`); or one that comes with an error.

        A rejected or faulty event is skipped.  After an error that leaves later units unreadable, `ended` is set.
        """
        if self.metadata is None:
            return Status.MORE, None
        if encoder is not self._encoder:
            self._decoder.encode_into(encoder, self._exact)
            self._encoder = encoder
        # Offsets in the data: `after`: end of the units that were taken; `place`: the fault; `stop`: end of the faulty
        # unit, -1 if unknown.  The limit applies to each call, so that an event above it never fits.
        at, size = 0, len(self._data)
        while True:
            end = min(size, at + self._most)
            status, after, place, stop = self._decoder.run(self._data, at, end, self.at, EventForm.ENCODE, target)
            if status != Status.MORE or end == size or after == at:
                break
            at = after
        base = self.at
        self.start = base + after
        if status == Status.MORE:
            error = self._shortage(after, place, is_last=final and end == size)
            return Status.MORE, error
        if status in (Status.END, Status.FULL):
            self._leave(after)
            self.ended = self._at_end = status == Status.END
            return Status(status), None
        # The encoder rejected the event (skip it) or has no space (keep it for the next archive).
        if status in (Status.RECORD, Status.NO_ROOM):
            self._leave(after)
            if status == Status.RECORD:
                self.refused += 1
                self._leave(stop - after)
            return Status(status), None
        # A faulty unit: skipped if its end is known and later units do not depend on it.
        span = Span(self.name, base + place, base + (stop if stop >= 0 else place + 1))
        error = checks.OF_STATUS[status].error(span=span)
        if stop < 0 or status in checks.LOSES_COUNT:
            self.ended = True
            self._leave(after)
        else:
            self.refused += 1
            self._leave(stop)
        return Status(status), error

    def _shortage(self, after: int, place: int, *, is_last: bool) -> ExhumeError | None:
        """Drop the units up to `after`; return the error if the bytes after them cannot become a unit, and end then.

        `place`: the offset of the token that is not complete; `is_last`: no bytes follow.
        """
        wrong = misfit(self._data, place) if place < len(self._data) else None
        is_bad_tag = wrong is not None and not wrong.short and wrong.path == "tag"
        token = Span(self.name, self.at + place, self.at + place + 1)
        self._leave(after)
        error: ExhumeError | None = None
        if is_bad_tag:
            error = checks.UNKNOWN_TAG.error(span=token)
        elif is_last:
            error = (checks.UNIT_CUT if self._data else checks.NO_END).error(span=token)
        elif len(self._data) > self._most:
            error = LimitExceededError(
                "limit payload_size exceeded",
                span=Span(self.name, self.at, self.at + len(self._data)),
                expected=f"at most {self._most}",
                actual="more",
            )
        self.ended, self._at_end = error is not None, False
        return error

    def trailing(self, piece: bytes) -> ExhumeError | None:
        """Add bytes after the end; return the error for all of these, such as a second stream, or None without any.

        It is returned only once.
        """
        if not self._at_end:
            return None
        self._data += piece
        if not self._data:
            return None
        self._at_end = False
        return checks.TRAILING_BYTES.error(span=Span(self.name, self.at, self.at + len(self._data)))

    @property
    def left(self) -> int:
        """Number of bytes that were pushed and not taken."""
        return len(self._data) + self._held.size

    @property
    def encoder_fault(self) -> int:
        """Why the encoder refused an event (a code of `write/status.py`); 0 if it refused none."""
        return int(self._decoder.refused)

    def _leave(self, size: int) -> None:
        """Drop bytes that were consumed."""
        self._data = self._data[size:]
        self.at += size
