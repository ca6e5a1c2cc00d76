"""What went over the wire: requests, and how many of them had to wait for another one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Wire:
    """Notes requests; each takes `delay` seconds, so that concurrent ones can be seen."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.noted: list[tuple[float, float, str]] = []
        self.under_way = 0
        self.most = 0
        """The largest number of requests in flight."""
        self._lock = threading.Lock()

    @contextmanager
    def request(self, what: str) -> Iterator[None]:
        """One request, from its arrival to its answer."""
        start = time.monotonic()
        with self._lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        if self.delay:
            time.sleep(self.delay)
        try:
            yield
        finally:
            with self._lock:
                self.under_way -= 1
                self.noted.append((start, time.monotonic(), what))

    def clear(self) -> None:
        """Forget the requests so far."""
        self.noted.clear()

    @property
    def rounds(self) -> int:
        """The round trips that a caller waits for: the longest sequence of requests that did not overlap."""
        count, over = 0, 0.0
        for start, end, _ in sorted(self.noted, key=lambda one: one[1]):
            if start >= over:
                count, over = count + 1, end
        return count

    @property
    def requests(self) -> list[str]:
        """What was asked, in order."""
        return [what for _, _, what in sorted(self.noted)]
