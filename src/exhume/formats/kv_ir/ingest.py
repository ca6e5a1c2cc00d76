"""Events of a stream into clp-s archives: the stream is pushed in as it comes, the archive may change in between.

Chunks of it may have been encoded elsewhere (`cut_stream`), and are then skipped.

The parallel decoder of chunks is here, too.  Each chunk starts with the keys declared before it.

Keys are declared between the events, and never removed.  A first pass finds where units end and which of them declare
keys; the chunks between can then be decoded by any thread whose decoder has those keys.  At the first error, one
decoder continues with that unit: output, findings and errors are identical for any number of jobs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from exhume.errors import ExhumeError, Span
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.kernel import KvIrDecoder, scan_units
from exhume.formats.kv_ir.layout import (
    MAGIC_SIZE,
    MAGICS,
    MAX_PREAMBLE,
    has_preamble,
    misfit,
    parse_metadata,
    parse_preamble,
)
from exhume.formats.kv_ir.units import EventForm, Status
from exhume.io.parallel import map_ordered
from exhume.io.values import Gathering
from exhume.limits import Limits, cpu_count

T = TypeVar("T")


class BufferedBytes(Protocol):
    """The bytes of a stream that are in memory, as `Units` has them.

    Attributes:
        at: Where in the stream the next unit starts.
        held: The bytes, and where in the stream they start.
    """

    at: int

    @property
    def held(self) -> tuple[bytes, int]: ...

    def more(self, at: int) -> bool:
        """Continue at a later position and read more bytes; False when there are none."""


class ResumableUnits(BufferedBytes, Protocol):
    """A pass over units that can continue with another decoder, as `Units` can, within limits."""

    limits: Limits

    def count(self, other: KvIrDecoder) -> None:
        """Count the events that another decoder has decoded, and reset that decoder's count."""

    def resume(self, decoder: KvIrDecoder, at: int, data: bytes) -> None:
        """Continue at a unit with a decoder that knows its keys; `data` are the bytes up to the old position."""


CHUNK_SIZE = 1 << 19
"""Size in bytes of a chunk that is decoded to lines or columns, or checked."""

MOST_MADE = 1 << 21
"""Bytes of output of a chunk to return at once, except for the rest of the last event: few bytes can name long keys."""

LARGE = 1 << 24
"""Bytes of a unit that is too large to be held several times."""

LEAST_LIMIT = 1 << 26
"""The limit `payload_size` below which units are decoded in sequence, because their sizes have to be examined."""

MOST_DECLARED = 1 << 18
"""Bytes of declarations from which on one decoder continues: otherwise every decoder would store all keys."""

ALL = (1 << 63) - 1
"""More than there is to decode."""


class UnitChunk(NamedTuple):
    """Whole units: their bytes, where in the stream they start, and how many keys are known there and at their end."""

    data: bytes
    start: int
    known: int
    known_after: int


@dataclass(slots=True)
class Worker:
    """A decoder, how many keys it knows, and what else belongs to it."""

    decoder: KvIrDecoder
    known: int = 0
    into: tuple[Any, Any] | None = None


class StreamChunks:
    """The chunks of a stream, and the decoders for them."""

    def __init__(self, size: int | None = None, make: Callable[[], KvIrDecoder] | None = None) -> None:
        """`size`: bytes of a chunk (`CHUNK_SIZE`), plus the rest of its last unit; `make` creates the decoders."""
        self._make = make or KvIrDecoder
        self._most = CHUNK_SIZE if size is None else size
        self._declared: list[tuple[int, bytes]] = []
        self._size = 0
        self._idle: list[Worker] = []
        self._lock = threading.Lock()

    def cut(self, units: BufferedBytes) -> Iterator[UnitChunk]:
        """Yield chunks of whole units up to the end of the stream, the first incomplete unit, or one that is too large.

        Propagates errors from reading the bytes, after the chunks before them.
        """
        known, scanned = 0, units.at
        failure: ExhumeError | None = None
        is_last = False
        while not is_last:
            data, base = units.held
            status, stop, place, places = scan_units(data, scanned - base, units.at + self._most - base)
            for start, end in places:
                self._declared.append((base + start, data[start:end]))
                self._size += end - start
            scanned = base + stop
            is_last = status not in (Status.FULL, Status.MORE) or self._size > MOST_DECLARED
            if status == Status.MORE and not is_last:
                wrong = misfit(data, place) if place < len(data) else None
                is_last = len(data) - stop >= LARGE or (wrong is not None and not wrong.short and wrong.path == "tag")
                if not is_last:
                    try:
                        is_last = not units.more(units.at)
                    except ExhumeError as error:
                        failure, is_last = error, True
            if (status == Status.FULL or is_last) and scanned > units.at:
                data, base = units.held
                start, units.at = units.at, scanned
                yield UnitChunk(data[start - base : scanned - base], start, known, len(self._declared))
                known = len(self._declared)
        if failure is not None:
            raise failure

    def worker(self, known: int) -> Worker:
        """Return a decoder that knows the first `known` keys: an idle one that is taught the missing keys, or a new
        one.
        """
        with self._lock:
            worker = next((one for one in self._idle if one.known <= known), None)
            if worker is None:
                worker = Worker(self._make())
            else:
                self._idle.remove(worker)
        self.teach(worker.decoder, worker.known, known)
        worker.known = known
        return worker

    def last(self) -> KvIrDecoder:
        """A decoder that knows all keys of the chunks."""
        return self.worker(len(self._declared)).decoder

    def teach(self, decoder: KvIrDecoder, start: int, stop: int) -> None:
        """Declare keys to a decoder."""
        for offset, unit in self._declared[start:stop]:
            decoder.run(unit, 0, len(unit), offset, EventForm.CHECK, ALL)

    def release(self, worker: Worker, portion: UnitChunk) -> None:
        """Take back a decoder that has decoded all of a chunk."""
        worker.known = portion.known_after
        with self._lock:
            self._idle.append(worker)


def decode_ahead(units: ResumableUnits, how: EventForm, jobs: int) -> Iterator[bytes]:
    """The lines of what `units` hold, or nothing where they are checked; see `make_ahead`."""
    return make_ahead(units, how, jobs, KvIrDecoder.take, MOST_MADE if how else ALL)


def make_ahead(
    units: ResumableUnits,
    how: EventForm,
    jobs: int,
    take: Callable[[KvIrDecoder], T],
    most: int,
    make: Callable[[], KvIrDecoder] | None = None,
) -> Iterator[T]:
    """Yield the results for `units`, in chunks decoded in parallel (with one job, in sequence), up to the first error.

    `make` creates the decoders.  `take` takes the result from one, on the thread that decodes, at the end of a chunk
    and, before that, about every `most` bytes.

    After the last chunk, `units` continue as if they had decoded it all.  Propagates errors from reading the bytes.
    """
    if (jobs or cpu_count()) == 1 or units.limits.payload_size < LEAST_LIMIT:
        return
    portions = StreamChunks(make=make)
    waiting: deque[UnitChunk] = deque()

    def cut() -> Iterator[UnitChunk]:
        for portion in portions.cut(units):
            waiting.append(portion)
            yield portion

    def run(worker: Worker, portion: UnitChunk, at: int) -> tuple[Status, int, T]:
        data = portion.data
        status, stop, *_ = worker.decoder.run(data, at, len(data), portion.start, how, most)
        return Status(status), stop, take(worker.decoder)

    def decode(portion: UnitChunk) -> tuple[Worker, tuple[Status, int, T]]:
        worker = portions.worker(portion.known)
        return worker, run(worker, portion, 0)

    # Results in order; a full decoder continues with the rest of its chunk here.
    with closing(map_ordered(decode, cut(), jobs)) as results:
        for worker, (status, stop, made) in results:
            portion = waiting[0]
            units.count(worker.decoder)
            yield made
            while status == Status.FULL:
                status, stop, made = run(worker, portion, stop)
                units.count(worker.decoder)
                yield made
            if status != Status.MORE or stop < len(portion.data):
                break
            waiting.popleft()
            portions.release(worker, portion)
    # Hand over to `units` where decoding stopped.
    if waiting:
        left = b"".join(portion.data for portion in waiting)
        units.resume(worker.decoder, waiting[0].start + stop, left[stop:])
    else:
        units.resume(portions.last(), units.at, b"")


def is_kv_ir(head: bytes) -> bool | None:
    """Whether a decompressed input is a stream; None while more bytes are needed to decide."""
    if len(head) < MAGIC_SIZE and any(magic.startswith(head) for magic in MAGICS):
        return None
    return head[:MAGIC_SIZE] in MAGICS


@dataclass(slots=True)
class StreamPart:
    """A chunk of a stream, one of its `portions`, and the worker that has encoded all of it (`exact` as `Ingest`)."""

    portions: StreamChunks
    portion: UnitChunk
    exact: bool
    worker: Worker | None = None

    def encode(self, make: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any] | None:
        """Encode the chunk into the pair that `make` returns, encoder first, created once per worker; returns the pair,
        None if anything stops it.
        """
        data, start, known, _ = self.portion
        worker = self.portions.worker(known)
        if worker.into is None:
            worker.into = make()
            worker.decoder.encode_into(worker.into[0], self.exact)
        worker.decoder.events = 0
        status, stop, *_ = worker.decoder.run(data, 0, len(data), start, EventForm.ENCODE, ALL)
        if status != Status.MORE or stop < len(data):
            return None
        self.worker = worker
        return worker.into


class _UncutBytes:
    """The bytes of a stream that were read and not yet cut."""

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
        before, wanted = parts.size, max(1, parts.size)  # a long unit is looked at again when twice as much is there
        data, self.held = b"", (b"", at)
        try:
            while wanted > 0 and (piece := next(self._pieces, b"")):
                parts.add(piece)
                wanted -= len(piece)
        except ExhumeError as error:
            self._failure = error
        self.at, self.held = at, (parts.take(), at)
        if len(self.held[0]) == before and self._failure is not None:
            raise self._failure
        return len(self.held[0]) > before


def cut_stream(pieces: Iterator[bytes], *, exact: bool = False) -> Iterator[bytes | StreamPart]:
    """A stream cut into parts that can be encoded apart; the preamble, and what cannot be cut, are bytes."""
    held = _UncutBytes(pieces)
    while len(held.held[0]) < MAX_PREAMBLE and held.more(0):
        pass
    data = held.held[0]
    with suppress(ExhumeError):  # reported when the bytes are taken
        held.at = parse_preamble(data, Span("", 0, len(data))).size
    yield data[: held.at]
    portions = StreamChunks()
    for portion in portions.cut(held):
        yield StreamPart(portions, portion, exact)
    data, base = held.held
    yield data[held.at - base :]
    yield from pieces


class Ingest:
    """A stream on its way into archives.

    Attributes:
        metadata: The producer's metadata of the stream; None until the preamble is there.
        at: How many bytes of the stream were taken.
        start: Where the unit starts that stopped the last run.
        events: How many events were met, those that were refused included.
        ended: Whether nothing more is read: the end of the stream was met, or damage after which nothing can be.
    """

    ended: bool
    start: int
    name: str
    at: int
    refused: int

    def __init__(self, name: str, *, exact: bool = False) -> None:
        """`exact`: floats keep all digits and pairs their order; `clp-s` prints six digits, in an order of its own."""
        self.name, self._exact = name, exact
        self.metadata: dict[str, Any] | None = None
        self.at = self.start = self.refused = 0
        self.ended = self._at_end = False
        self._decoder = KvIrDecoder()
        self._encoder: Any = None
        self._data = b""
        self._held, self._wanted = Gathering(), 0

    @property
    def events(self) -> int:
        return int(self._decoder.events) + self.refused

    def push(self, piece: bytes, *, final: bool, wait: bool = True) -> bool:
        """Add bytes of the stream; return whether it is time to `run`, which without `wait` it always is.

        Raises the problem with its preamble.
        """
        if not self._held.size:
            # A long event is looked at again only when twice as much is there.
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
        """Whether a part comes next."""
        return self.metadata is not None and not (self.ended or self.left) and self.at == part.portion.start

    def pass_over(self, part: StreamPart) -> None:
        """Pass over a part that was encoded."""
        portion, worker = part.portion, part.worker
        assert worker is not None
        part.portions.teach(self._decoder, portion.known, portion.known_after)
        self._decoder.events += worker.decoder.events
        self.at += len(portion.data)
        part.portions.release(worker, portion)

    def run(self, encoder: Any, target: int, *, final: bool) -> tuple[Status, ExhumeError | None]:
        """Encode the available bytes until something stops it: `MORE`, `END`, `FULL` (another archive is to be begun),
        `RECORD` (the encoder rejects an event, with the reason in `encoder_fault`) or a status that comes with an
        error.

        A rejected event is skipped; after any other error nothing more is read.
        """
        if self.metadata is None:
            return Status.MORE, None
        if encoder is not self._encoder:
            self._decoder.encode_into(encoder, self._exact)
            self._encoder = encoder
        # Offsets in the data: `after` of the unit not taken, `place` of the fault, `stop` of the end of that unit.
        status, after, place, stop = self._decoder.run(
            self._data, 0, len(self._data), self.at, EventForm.ENCODE, target
        )
        base = self.at
        self.start = base + after
        # The encoder refused the event, or has no space: skip or keep it.
        if status in (Status.RECORD, Status.NO_ROOM):
            self._leave(after)
            if status == Status.RECORD:
                self.refused += 1
                self._leave(stop - after)
            return Status(status), None
        # All available units were taken; incomplete bytes at the end are a fault only if nothing follows.
        if status in (Status.MORE, Status.END, Status.FULL):
            wrong = misfit(self._data, place) if status == Status.MORE and place < len(self._data) else None
            bad_tag = wrong is not None and not wrong.short and wrong.path == "tag"
            cut = status == Status.MORE and final
            self._leave(after)
            if bad_tag or cut:
                rule = checks.UNKNOWN_TAG if bad_tag else checks.UNIT_CUT if self._data else checks.NO_END
                self.ended = True
                span = Span(self.name, base + place, base + place + 1)
                return Status.MORE, rule.error(span=span)
            self.ended = self._at_end = status == Status.END
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

    def trailing(self, piece: bytes) -> ExhumeError | None:
        """The error for bytes after the end of the stream, such as a second stream; None without them, and once."""
        if not self._at_end:
            return None
        self._data += piece
        if not self._data:
            return None
        self._at_end = False
        return checks.TRAILING_BYTES.error(span=Span(self.name, self.at, self.at + len(self._data)))

    @property
    def left(self) -> int:
        """How many bytes were pushed and not taken."""
        return len(self._data) + self._held.size

    @property
    def encoder_fault(self) -> int:
        """Why the encoder refused an event."""
        return int(self._decoder.refused)

    def _leave(self, size: int) -> None:
        self._data = self._data[size:]
        self.at += size
