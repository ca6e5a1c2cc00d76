"""What is fetched before it is asked for: small reads that follow one another become few large ones.

Memory is bounded twice: by piece (`AHEAD`), and over all objects of the process (`HELD`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from exhume.io.lru import Lru

AHEAD = 8 << 20
"""At most so many bytes are fetched ahead at a time."""

BELOW = 512 << 10
"""Reads of this size and more are worth a request of their own."""

HELD = 64 << 20
"""Bytes that all objects together hold of what was fetched ahead."""

RUNS = 4
"""Places of one object that may be read in sequence at the same time."""


class Run:
    """A place that is read in sequence, promised up to `stop`, or guessed from what was read (`stop` None)."""

    __slots__ = ("at", "data", "length", "lock", "position", "stop")

    def __init__(self, position: int, length: int, stop: int | None) -> None:
        self.position = position
        """Where the last read ended."""
        self.length = length
        """Bytes that were read in sequence so far, without what lies between them."""
        self.stop = stop
        self.at = 0
        self.data = b""
        self.lock = threading.Lock()

    def forget(self) -> None:
        """Gives back what was fetched ahead."""
        self.data = b""


_held: Lru[Run, Run] = Lru(HELD, drop=Run.forget)


def _hold(run: Run, at: int, data: bytes) -> None:
    """Keeps what a run fetched ahead; of too much, what was used longest ago is forgotten."""
    _held.pop(run)
    run.at, run.data = at, data
    if data:
        _held.put(run, run, len(data))


class ReadAhead:
    """The runs of one object of `size` bytes.  Thread-safe.

    A read behind another one (at most `gap` bytes further on) fetches as much again as was read in sequence before, so
    at most half of what is fetched is in vain.  A promised range is fetched in pieces of `AHEAD` and never passed; the
    last piece is kept, as it is often looked at more than once.
    """

    def __init__(self, size: int, gap: int) -> None:
        self._size, self._gap = size, gap
        self._runs: list[Run] = []
        self._lock = threading.Lock()

    def promise(self, start: int, stop: int) -> Run:
        """The bytes `[start, stop)` will be read in small pieces, mostly in order."""
        with self._lock:
            for run in self._runs:
                if run.stop is not None and run.position <= start and stop <= run.stop:
                    return run
            return self._add(Run(start, AHEAD, min(stop, self._size)))

    def load(self, start: int, stop: int, fetch: Callable[[int, int, int], bytes]) -> None:
        """The same, and fetches the first piece of it now, unless it is there."""
        end = min(stop, start + AHEAD)
        with self._lock:
            if any(run.at <= start and end <= run.at + len(run.data) for run in self._runs):
                return
        run = self.promise(start, stop)
        with run.lock:
            if not run.data:
                _hold(run, start, fetch(start, end, end))

    def _add(self, run: Run) -> Run:
        for old in self._runs[: len(self._runs) - RUNS + 1]:
            self._runs.remove(old)
            _hold(old, 0, b"")
        self._runs.append(run)
        return run

    def find(self, start: int, end: int, *, guess: bool) -> Run | None:
        """The run that a read of `[start, end)` belongs to; None when it goes on with nothing.

        `guess`: it may go on with what was read before, or begin something.
        """
        with self._lock:
            run = self._choose(start, end, guess)
            if run is None:
                if guess:
                    self._add(Run(end, end - start, None))
                return None
            run.length += max(0, end - max(start, run.position))
            run.position = max(run.position, end)
            self._runs.remove(run)
            self._runs.append(run)
            return run

    def _choose(self, start: int, end: int, guess: bool) -> Run | None:
        """What holds the bytes; else what was promised; else what they may go on with."""
        for run in self._runs:
            if run.at <= start and end <= run.at + len(run.data):
                return run
        for run in self._runs:
            if run.stop is not None and run.position <= start and end <= run.stop:
                return run
        near = (run for run in self._runs if guess and 0 <= start - run.position <= self._gap)
        return next(near, None)

    def read(self, run: Run, start: int, end: int, fetch: Callable[[int, int, int], bytes]) -> bytes:
        """The bytes of a read in a run; `fetch(start, end, stop)` gives those to `end`, or further on to `stop`."""
        with run.lock:
            at, data = run.at, run.data
            kept = data[start - at : end - at] if at <= start < at + len(data) else b""
            if len(kept) == end - start:
                if end == at + len(data) and run.stop is None:
                    _hold(run, 0, b"")
                return kept
            if run.stop is None and data and start > at + len(data):
                run.length = end - start  # what was fetched ahead was passed over: begin small again
            stop = self._size if run.stop is None or end > run.stop else run.stop
            ahead = min(run.length, AHEAD)
            first = start + len(kept)
            more = fetch(first, end, min(stop, end + ahead))
            data = kept + more
            goes_on = len(data) > end - start or run.stop is not None
            _hold(run, start, data if goes_on else b"")  # also what was just read: it may be looked at again
            return data[: end - start]

    def drop(self) -> None:
        """Forgets what was fetched ahead."""
        with self._lock:
            for run in self._runs:
                _hold(run, 0, b"")
            self._runs.clear()
