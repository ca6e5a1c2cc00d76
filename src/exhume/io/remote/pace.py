"""Number of concurrent range requests to one object: it grows as long as throughput grows with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

MAX_IN_FLIGHT = 16
"""Ranges in flight at a time."""

MIN_SPEEDUP = 1.1
"""Factor by which throughput must grow when the number of ranges doubles."""

BACKOFF_ROUNDS = 16
"""Rounds until more ranges are tried again after they did not help or were rejected."""


class RequestToken(NamedTuple):
    """A range in flight: its round, its start time, and whether it reached the allowed number in flight."""

    round: int
    began: float
    is_full: bool


class AdaptiveConcurrency:
    """The number of ranges that may be in flight, `width`, between 1 and `most`.  Thread-safe.

    A round is `width` ranges fetched while that number was in flight.  After a round the width doubles; if throughput
    grew by less than `MIN_SPEEDUP`, it goes back for `BACKOFF_ROUNDS` rounds.  If a range fails, it
    halves.  A reader that is slower than its source never fills the width, and so never gets a larger one.
    """

    def __init__(self, most: int = MAX_IN_FLIGHT, clock: Callable[[], float] = time.perf_counter) -> None:
        self.width = 1
        self._most, self._clock = most, clock
        self._lock = threading.Lock()
        self._under_way = 0
        self._round = 0
        self._pause = 0
        self._before = 0.0
        """Bytes a second at half the width, while more is being tried; else 0."""
        self._begin_round()

    def begin(self) -> RequestToken:
        """A range is asked for."""
        with self._lock:
            self._under_way += 1
            return RequestToken(self._round, self._clock(), self._under_way >= self.width)

    def end(self, ticket: RequestToken, size: int) -> None:
        """The range is there, `size` bytes of it; 0: it failed."""
        with self._lock:
            self._under_way -= 1
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
        self.width, self._pause, self._before = width, pause, before
        self._begin_round()

    def _begin_round(self) -> None:
        self._round += 1
        self._count = self._bytes = 0
        self._seconds = 0.0
