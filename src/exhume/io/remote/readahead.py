"""Prefetching: the ranges that are fetched before they are requested, and the number of requests in flight.

Small reads that follow one another become few large ones, and several chunks of a range that was announced with
`will_read` are in flight (requested, not yet received) at a time: more of them as long as throughput grows with it.  A
run is a sequence of reads, each starting near the end of the one before; it is announced, or guessed from the reads.

Memory is bounded twice: by chunk (`PREFETCH_SIZE`), and over all objects of the process (`PREFETCH_BUDGET`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from exhume.io.caching import Lru
from exhume.tuples import NamedTuple

MAX_IN_FLIGHT = 16
"""Ranges in flight at a time."""

MIN_SPEEDUP = 1.1
"""Factor by which throughput must grow when the number of ranges doubles."""

BACKOFF_ROUNDS = 16
"""Rounds until more ranges are tried again after they did not help or were rejected."""


class RequestToken(NamedTuple):
    """A range in flight: its round, when it began (seconds), and whether it reached the allowed number in flight."""

    round: int
    began: float
    is_full: bool


class AdaptiveConcurrency:
    """The number of ranges that may be in flight, `width`, between 1 and `most`.  Thread-safe.

    A round is `width` ranges fetched while that number was in flight.  After a round the width doubles; if throughput
    grew by less than `MIN_SPEEDUP`, it goes back for `BACKOFF_ROUNDS` rounds.  If a range fails, it
    halves.  A reader that is slower than its source never fills the width, and so never gets a larger one.
    """

    width: int

    def __init__(self, most: int = MAX_IN_FLIGHT, clock: Callable[[], float] = time.perf_counter) -> None:
        """Start with one request at a time; at most `most`."""
        self.width = 1
        self._most, self._clock = most, clock
        self._lock = threading.Lock()
        self._in_flight = 0
        self._round = 0  # number of the current round
        self._pause = 0
        """Rounds for which the width stays."""
        self._before = 0.0
        """Bytes a second at half the width, while more is being tried; else 0."""
        self._begin_round()

    def begin(self) -> RequestToken:
        """Count a range that is requested; pass the result to `end`."""
        with self._lock:
            self._in_flight += 1
            return RequestToken(self._round, self._clock(), self._in_flight >= self.width)

    def end(self, ticket: RequestToken, size: int) -> None:
        """Count a range that arrived with `size` bytes; 0: it failed."""
        with self._lock:
            self._in_flight -= 1
            if ticket.round != self._round:  # it began at a different width, so it does not count for this one
                return
            if not size:
                self._become(max(1, self.width // 2), BACKOFF_ROUNDS)
            elif ticket.is_full:
                self._count += 1
                self._bytes += size
                self._seconds += self._clock() - ticket.began
                if self._count >= self.width:
                    self._judge()

    def _judge(self) -> None:
        """Compare the speed of a finished round with the one before: double the width, halve it, or pause."""
        # The seconds of ranges that were in flight at the same time were added up: so times `width`.
        rate = self.width * self._bytes / max(self._seconds, 1e-9)
        if rate < MIN_SPEEDUP * self._before:
            self._become(self.width // 2, BACKOFF_ROUNDS)
        elif self._pause or self.width == self._most:
            self._before = 0.0
            self._pause = max(0, self._pause - 1)
            self._begin_round()
        else:
            self._become(min(self._most, 2 * self.width), 0, rate)

    def _become(self, width: int, pause: int, before: float = 0.0) -> None:
        """Continue with another width for `pause` rounds; `before` is the speed at the old one, while more is tried."""
        self.width, self._pause, self._before = width, pause, before
        self._begin_round()

    def _begin_round(self) -> None:
        """Start to measure again: ranges, their bytes, and the seconds that each took, added up."""
        self._round += 1
        self._count = self._bytes = 0
        self._seconds = 0.0


PREFETCH_SIZE = 8 << 20
"""Largest number of bytes per prefetch."""

SMALL_READ = 512 << 10
"""Reads below this size are prefetched together; a larger one gets a request of its own."""

PREFETCH_BUDGET = 128 << 20
"""Bytes of prefetched data that all objects together may keep or have in flight."""

RUNS = 4
"""Most sequential reads of one object at the same time."""


class PendingFetch:
    """A chunk that a thread of its own fetches, tried once; if that fails, `take` returns None and the reader asks."""

    start: int
    stop: int

    def __init__(self, start: int, stop: int, fetch: Callable[[], bytes], pace: AdaptiveConcurrency) -> None:
        """Start to fetch bytes `[start, stop)` in a thread of its own; `pace` counts it as in flight."""
        self.start, self.stop = start, stop
        self._data: bytes | None = None
        self._done = threading.Event()
        self._fetch, self._pace = fetch, pace
        self._ticket = pace.begin()
        try:
            threading.Thread(target=self._run, name="exhume ahead", daemon=True).start()
        except RuntimeError:  # the system has no more threads
            pace.end(self._ticket, 0)
            self._done.set()

    @property
    def is_there(self) -> bool:
        """Whether `take` will not wait."""
        return self._done.is_set()

    def take(self) -> bytes | None:
        """Wait for the bytes."""
        self._done.wait()
        return self._data

    def _run(self) -> None:
        """Fetch the bytes; an error leaves them to the reader."""
        try:
            self._data = self._fetch()
        except Exception:  # it is raised again, in its place, where the bytes are read
            self._data = None
        self._pace.end(self._ticket, len(self._data or b""))
        self._done.set()


class SequentialRead:
    """A sequential read, announced up to `stop`, or guessed from earlier reads (`stop` is None)."""

    __slots__ = ("at", "coming", "data", "length", "lock", "position", "read", "stop")

    def __init__(self, position: int, length: int, stop: int | None) -> None:
        """Begin a run at `position`, after `length` bytes that were read in sequence; `stop` is None for a guess."""
        self.position: int = position
        """End of the last read."""
        self.length: int = length
        """Bytes read in sequence so far, without the gaps between them."""
        self.stop: int | None = stop
        self.read: int = 0
        """Bytes read in sequence since the last gap that was too large."""
        self.at: int = 0
        """Offset of `data` in the object."""
        self.data: bytes = b""
        """Prefetched bytes."""
        self.coming: tuple[PendingFetch, ...] = ()
        """The chunks in flight after `data`, in order; replaced, never changed."""
        self.lock: threading.Lock = threading.Lock()  # held while the run is read

    @property
    def ahead(self) -> int:
        """Bytes after `data` that are in flight or have arrived."""
        return sum(piece.stop - piece.start for piece in self.coming)

    def forget(self) -> None:
        """Free the prefetched data."""
        self.data, self.coming = b"", ()


# The runs of all objects that have prefetched data; the cost of each is its bytes.
_held: Lru[SequentialRead, SequentialRead] = Lru(PREFETCH_BUDGET, drop=SequentialRead.forget)


def _hold(run: SequentialRead, at: int, data: bytes) -> None:
    """Keep the prefetched data of a run, and drop the least recently used data above the budget."""
    _held.pop(run)
    run.at, run.data = at, data
    if data or run.coming:
        _held.put(run, run, len(data) + run.ahead)


def _drop(run: SequentialRead) -> None:
    """Forget a run."""
    _held.pop(run)
    run.forget()


class ReadAhead:
    """The runs of one object of `size` bytes.  Thread-safe.

    A read that follows another (at most `gap` bytes later) fetches as much again as was read in sequence before, so at
    most half of the fetched bytes are wasted.  An announced range is fetched in chunks of `PREFETCH_SIZE` and never
    exceeded; its last chunk is kept, since it is often read more than once.

    `fetch(start, end, stop)` returns the bytes to `end`, or further to `stop`.  `ahead(start, stop)`, if present,
    returns a call that fetches these bytes in another thread, or None if they should not be read unasked.  While an
    announced range is read in sequence, `pace` sets how many of its next chunks are in flight, with no more bytes than
    were read before.
    """

    def __init__(
        self,
        size: int,
        gap: int,
        fetch: Callable[[int, int, int], bytes],
        ahead: Callable[[int, int], Callable[[], bytes] | None] | None = None,
        pace: AdaptiveConcurrency | None = None,
    ) -> None:
        """Begin without runs; the arguments are those that the class describes."""
        self._size, self._gap = size, gap
        self._fetch, self._ahead = fetch, ahead
        self._pace = pace or AdaptiveConcurrency()
        self._runs: list[SequentialRead] = []
        self._lock = threading.Lock()

    def will_read(self, start: int, stop: int) -> SequentialRead:
        """Announce that the bytes `[start, stop)` will be read in small reads, mostly in order."""
        with self._lock:
            for run in self._runs:
                if run.stop is not None and run.position <= start and stop <= run.stop:
                    return run
            return self._add(SequentialRead(start, PREFETCH_SIZE, min(stop, self._size)))

    def load(self, start: int, stop: int) -> None:
        """Announce a sequential read of `[start, stop)`, and fetch its first chunk now unless it is there."""
        end = min(stop, start + PREFETCH_SIZE)
        with self._lock:
            if any(run.at <= start and end <= run.at + len(run.data) for run in self._runs):
                return
        run = self.will_read(start, stop)
        with run.lock:
            if not run.data:
                _hold(run, start, self._fetch(start, end, end))

    def _add(self, run: SequentialRead) -> SequentialRead:
        """Add a sequence of reads; the oldest is dropped when there are too many."""
        while len(self._runs) >= RUNS:
            _drop(self._runs.pop(0))
        self._runs.append(run)
        return run

    def find(self, start: int, end: int, *, guess: bool) -> SequentialRead | None:
        """The run that a read of `[start, end)` belongs to; None if it continues none.

        `guess`: it may continue an earlier read, or start a run.  A large read belongs only to an announced range that
        it continues.
        """
        with self._lock:
            run = self._choose(start, end, guess) if end - start < SMALL_READ else self._announced_range(start, end)
            if run is None:
                if guess and end - start < SMALL_READ:
                    self._add(SequentialRead(end, end - start, None))
                return None
            fresh = max(0, end - max(start, run.position))
            run.length += fresh
            run.read = fresh + (run.read if start - run.position <= self._gap else 0)
            run.position = max(run.position, end)
            self._runs.remove(run)
            self._runs.append(run)  # the most recently used is last
            return run

    def _choose(self, start: int, end: int, guess: bool) -> SequentialRead | None:
        """Return the run that has the bytes; else the announced one; else, with `guess`, one that they may continue."""
        for run in self._runs:
            if run.at <= start and end <= run.at + len(run.data):
                return run
        for run in self._runs:
            if run.stop is not None and run.position <= start and end <= run.stop:
                return run
        near = (run for run in self._runs if guess and 0 <= start - run.position <= self._gap)
        return next(near, None)

    def _announced_range(self, start: int, end: int) -> SequentialRead | None:
        """The announced range that a large read begins or continues; such reads may overlap a little."""
        for run in self._runs:
            if run.stop is not None and end <= run.stop:
                ahead = start - run.position
                if abs(ahead) <= self._gap or (not run.read and ahead > 0):
                    return run
        return None

    def read(self, run: SequentialRead, start: int, end: int) -> bytes:
        """Return the bytes `[start, end)` for a read that belongs to a run; prefetch what follows."""
        with run.lock:
            at, data = run.at, run.data
            # All of it was prefetched.
            kept = data[start - at : end - at] if at <= start < at + len(data) else b""
            if len(kept) == end - start:
                if end == at + len(data) and run.stop is None:  # all that a guess has fetched was read
                    _hold(run, 0, b"")
                else:
                    self._prefetch_next(run, at + len(data), in_flight=0)
                return kept
            if run.coming and start < at:  # another thread has read further in this run
                return self._fetch(start, end, end)
            if run.stop is None and data and start > at + len(data):
                run.length = end - start  # the prefetched data was skipped: begin small again
            # Fetch what is missing, then keep what may be read again.
            parts, first = [kept] if kept else [], start + len(kept)
            while first < end:
                parts.append(self._next(run, first, end))
                first += len(parts[-1])
            data = b"".join(parts)
            if len(data) == end - start and run.stop is None:
                _hold(run, 0, b"")
            elif end - start < SMALL_READ:
                _hold(run, start, data)  # also what was just read: it may be examined again
            else:  # of a large read, what was fetched last, which may go beyond it
                _hold(run, first - len(parts[-1]), parts[-1])
            return data[: end - start]

    def _next(self, run: SequentialRead, first: int, end: int) -> bytes:
        """Return bytes from `first` on: those of one fetch, which may end before `end` or prefetch bytes after it."""
        # A chunk in flight, unless the bytes before it are needed.
        while run.coming and run.coming[0].stop <= first:
            run.coming = run.coming[1:]
        if run.coming and run.coming[0].start <= first:
            piece, run.coming = run.coming[0], run.coming[1:]
            self._prefetch_next(run, piece.stop, in_flight=not piece.is_there)
            data = piece.take()
            if data is not None:
                return data[first - piece.start :]
            return self._fetch(first, min(end, piece.stop), piece.stop)
        # A guessed run: fetch in this thread as many bytes more as were read in sequence.
        run.coming = ()
        if self._ahead is None or run.stop is None or end > run.stop:
            stop = self._size if run.stop is None or end > run.stop else run.stop
            return self._fetch(first, end, min(stop, end + min(run.length, PREFETCH_SIZE)))
        # An announced range: fetch a chunk in this thread, and the next ones in others.  A small read gets a whole
        # chunk more, since many follow; a large one at most as many bytes as were read since the last gap.
        end = min(end, first + PREFETCH_SIZE)
        stop = end + PREFETCH_SIZE if end - first < SMALL_READ else max(end, first + min(run.read, PREFETCH_SIZE))
        stop = min(run.stop, stop)
        ticket = self._pace.begin()
        size = 0
        try:
            self._prefetch_next(run, stop, in_flight=1)
            data = self._fetch(first, end, stop)
            size = len(data)
        finally:
            self._pace.end(ticket, size)
        return data

    def _prefetch_next(self, run: SequentialRead, at: int, *, in_flight: int) -> None:
        """Start to fetch the next chunks of an announced range, from `at` or after those in flight.

        `in_flight` is the number of chunks that the caller waits for itself.
        """
        if self._ahead is None or run.stop is None:
            return
        while run.read:
            at = run.coming[-1].stop if run.coming else at
            size, width = min(PREFETCH_SIZE, run.stop - at), self._pace.width
            busy = in_flight + sum(not piece.is_there for piece in run.coming)
            # Enough are in flight or waiting to be read, more than was read before, or over the budget.
            full = busy >= width or len(run.coming) >= width or run.ahead + size > run.read or size > _held.room
            fetch = None if full or size <= 0 else self._ahead(at, at + size)
            if fetch is None:
                return
            run.coming += (PendingFetch(at, at + size, fetch, self._pace),)
            _hold(run, run.at, run.data)

    def drop(self) -> None:
        """Drop the prefetched data."""
        with self._lock:
            for run in self._runs:
                _drop(run)
            self._runs.clear()
