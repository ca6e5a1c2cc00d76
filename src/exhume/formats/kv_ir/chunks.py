"""Parallel decoding of a stream in chunks, each of which starts with the keys declared before it.

A stream consists of units: events, and declarations of keys, which are between the events and are never revoked.  A
first pass (`StreamChunks.cut`) finds where units end and which of them declare keys.  A chunk is a range of whole
units; any thread whose decoder knows the keys declared before the chunk can decode it.  At the first error, one decoder
continues in sequence with the faulty unit: output, findings and errors are identical for any number of jobs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from exhume.errors import ExhumeError
from exhume.formats.kv_ir.kernel import KvIrDecoder, scan_units
from exhume.formats.kv_ir.layout import misfit
from exhume.formats.kv_ir.units import EventForm, Status
from exhume.io.parallel import map_ordered
from exhume.limits import Limits, cpu_count
from exhume.tuples import NamedTuple

T = TypeVar("T")


class BufferedBytes(Protocol):
    """The bytes of a stream that are in memory, as `passes.Units` and `ingest` have them.

    Attributes:
        at: Where in the stream the next unit starts.
        held: `(data, base)`: the bytes, and the offset in the stream where they start.
    """

    at: int

    @property
    def held(self) -> tuple[bytes, int]: ...

    def more(self, at: int) -> bool:
        """Drop the bytes before `at`, continue there and read more bytes; False when there are none."""


class ResumableUnits(BufferedBytes, Protocol):
    """A pass over units that can continue with another decoder, as `Units` can, within limits."""

    limits: Limits

    def count(self, other: KvIrDecoder) -> None:
        """Count the events that another decoder has decoded, and reset that decoder's count."""

    def resume(self, decoder: KvIrDecoder, at: int, data: bytes) -> None:
        """Continue at a unit with a decoder that knows its keys; `data` are the bytes up to the old position."""


CHUNK_SIZE = 1 << 19
"""Size in bytes of a chunk that is decoded to lines or columns, or checked; it ends with a whole unit."""

MOST_MADE = 1 << 21
"""Output in bytes after which a decoder stops within a chunk, after the current event, for the output to be taken.

Otherwise a crafted chunk could fill the memory: few bytes of an event can refer to long keys.
"""

LARGE = 1 << 24
"""Size in bytes of a unit that is not cut into a chunk: chunks are copies, and every job would have one."""

LEAST_LIMIT = 1 << 26
"""The limit `payload_size` below which units are decoded in sequence, because their sizes have to be examined."""

MOST_DECLARED = 1 << 18
"""Bytes of declarations above which decoding continues in sequence: otherwise every decoder would store all keys."""

ALL = (1 << 63) - 1
"""A target of output that is never reached: decode everything."""


class UnitChunk(NamedTuple):
    """A range of whole units."""

    data: bytes
    start: int  # offset in the stream
    known: int  # number of keys that are declared before the chunk
    known_after: int  # number that are declared before the end of the chunk


@dataclass(slots=True)
class Worker:
    """A decoder, and the number of keys that it knows.

    `into` is free for `make_ahead`'s caller: what the decoder decodes to, if that is kept with it.
    """

    decoder: KvIrDecoder
    known: int = 0
    into: tuple[Any, Any] | None = None


class StreamChunks:
    """The chunks of a stream, and the decoders for them."""

    def __init__(self, size: int | None = None, make: Callable[[], KvIrDecoder] | None = None) -> None:
        """`size`: bytes of a chunk (`CHUNK_SIZE`), plus the rest of its last unit; `make` creates the decoders."""
        self._make = make or KvIrDecoder
        self._most = CHUNK_SIZE if size is None else size
        self._declared: list[tuple[int, bytes]] = []  # the units that declare keys, each with its offset
        self._size = 0  # bytes of these units
        self._idle: list[Worker] = []  # decoders that no thread uses
        self._lock = threading.Lock()  # for `_idle`

    def cut(self, units: BufferedBytes) -> Iterator[UnitChunk]:
        """Yield chunks of whole units up to the end of the stream, the first incomplete unit, or one that is too large.

        Propagates errors from reading the bytes, after the chunks before them.
        """
        known, scanned = 0, units.at  # keys before the current chunk; offset up to which units were found
        failure: ExhumeError | None = None
        is_last = False
        while not is_last:
            data, base = units.held
            # `stop`: end of the last whole unit; `place`: the next token; `places`: the ranges that declare keys.
            # The scan continues where it stopped, up to a full chunk.
            status, stop, place, places = scan_units(data, scanned - base, units.at + self._most - base)
            for start, end in places:
                self._declared.append((base + start, data[start:end]))
                self._size += end - start
            scanned = base + stop
            is_last = status not in (Status.FULL, Status.MORE) or self._size > MOST_DECLARED
            if status == Status.MORE and not is_last:
                # Stop before a unit that is too large, or has a byte that is not a token; otherwise read more bytes.
                is_last = len(data) - stop >= LARGE or _is_bad_tag(data, place)
                if not is_last:
                    try:
                        is_last = not units.more(units.at)
                    except ExhumeError as error:
                        failure, is_last = error, True
            if (status == Status.FULL or is_last) and scanned > units.at:
                data, base = units.held  # `more` may have changed them
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
        """Declare the keys `[start, stop)`, counted in the order of the stream, to a decoder."""
        for offset, unit in self._declared[start:stop]:
            decoder.run(unit, 0, len(unit), offset, EventForm.CHECK, ALL)

    def release(self, worker: Worker, chunk: UnitChunk) -> None:
        """Take back a decoder that has decoded all of a chunk, and so knows the keys that are declared in it."""
        worker.known = chunk.known_after
        with self._lock:
            self._idle.append(worker)


def _is_bad_tag(data: bytes, at: int) -> bool:
    """Whether a byte at `at` is not the tag of a token; False at the end of the data."""
    wrong = misfit(data, at) if at < len(data) else None
    return wrong is not None and not wrong.short and wrong.path == "tag"


def decode_ahead(units: ResumableUnits, how: EventForm, jobs: int) -> Iterator[bytes]:
    """The lines of the events of `units`, or nothing if they are only checked; see `make_ahead`."""
    return make_ahead(units, how, jobs, KvIrDecoder.take, MOST_MADE if how else ALL)


def make_ahead(
    units: ResumableUnits,
    how: EventForm,
    jobs: int,
    take: Callable[[KvIrDecoder], T],
    most: int,
    make: Callable[[], KvIrDecoder] | None = None,
) -> Iterator[T]:
    """Yield the results for `units`, in chunks decoded in parallel, up to the first error; with one job, nothing.

    `how`: the form of the results.  `make` creates the decoders (None: as they are by default).  `take` takes the
    result from one, on the thread that decodes, at the end of a chunk and, before that, about every `most` bytes of
    output.

    Afterwards, `units` continue after the last chunk as if they had decoded everything before: the caller runs them to
    the end, as it would without this function.  Propagates errors from reading the bytes.
    """
    if (jobs or cpu_count()) == 1 or units.limits.payload_size < LEAST_LIMIT:
        return
    chunks = StreamChunks(make=make)
    waiting: deque[UnitChunk] = deque()

    def cut() -> Iterator[UnitChunk]:
        """The chunks, which are also kept until they have been decoded."""
        for chunk in chunks.cut(units):
            waiting.append(chunk)
            yield chunk

    def run(worker: Worker, chunk: UnitChunk, at: int) -> tuple[Status, int, T]:
        """Decode a chunk from its offset `at` on; return (status, offset where it stopped, result)."""
        data = chunk.data
        status, stop, *_ = worker.decoder.run(data, at, len(data), chunk.start, how, most)
        return Status(status), stop, take(worker.decoder)

    def decode(chunk: UnitChunk) -> tuple[Worker, tuple[Status, int, T]]:
        """Decode a chunk with a worker that knows its keys, in a thread; return the worker and the result of `run`."""
        worker = chunks.worker(chunk.known)
        return worker, run(worker, chunk, 0)

    # Results in order; a full decoder continues with the rest of its chunk here.
    with closing(map_ordered(decode, cut(), jobs)) as results:
        for worker, (status, stop, made) in results:
            chunk = waiting[0]
            units.count(worker.decoder)
            yield made
            while status == Status.FULL:
                status, stop, made = run(worker, chunk, stop)
                units.count(worker.decoder)
                yield made
            if status != Status.MORE or stop < len(chunk.data):
                break  # an error, or the end of the stream: `units` examine it
            waiting.popleft()
            chunks.release(worker, chunk)
    # Hand over to `units` where decoding stopped: with the bytes of the chunks that were cut but not decoded, if any.
    if waiting:
        left = b"".join(chunk.data for chunk in waiting)
        units.resume(worker.decoder, waiting[0].start + stop, left[stop:])
    else:
        units.resume(chunks.last(), units.at, b"")
