"""Sources that count, and sources that misreport.

A `Source` is what exhume reads an archive from: bytes with a size, at random access.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from exhume.errors import SourceError, Span
from exhume.io.source import NETWORK_COST, Cost, Source, plan_reads


class CountingSource(Source):
    """Passes reads on and records them: `requests` is a list of half-open ranges, as a remote store would see them."""

    def __init__(self, base: Source) -> None:
        """Count the requests to `base`."""
        self._base = base
        self.name: str = base.name
        self.origin: int = base.origin
        self.requests: list[tuple[int, int]] = []
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        return self._base.size

    @property
    def cost(self) -> Cost:
        return NETWORK_COST

    def _read(self, offset: int, size: int) -> bytes:
        """Record the request, and read."""
        with self._lock:
            self.requests.append((offset, offset + size))
        return self._base.read_at(offset, size)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read ranges like a remote source: near ones are joined into one request."""
        out = [b""] * len(ranges)
        for start, end, members in plan_reads(ranges):
            data = self.read_at(start, end - start)
            for index in members:
                first, last = ranges[index]
                out[index] = data[first - start : last - start]
        return out

    @property
    def bytes_read(self) -> int:
        """The bytes requested in total."""
        return sum(end - start for start, end in self.requests)

    def reset(self) -> None:
        """Forget the requests so far."""
        self.requests.clear()


class MisreportingSource(Source):
    """A source whose answers go wrong on demand.

    `lie` gets (offset, size, data) of each read and returns what comes back instead (shorter, longer, other bytes), or
    raises.
    """

    def __init__(
        self, base: Source, lie: Callable[[int, int, bytes], bytes], *, claimed_size: int | None = None
    ) -> None:
        """Change the bytes of `base` by `lie(offset, size, data)`, and its size to `claimed_size`."""
        self._base, self._lie = base, lie
        self.name: str = base.name
        self._size = base.size if claimed_size is None else claimed_size

    @property
    def size(self) -> int:
        return self._size

    def _read(self, offset: int, size: int) -> bytes:
        return self._lie(offset, size, self._base.read_up_to(offset, size))


def failing(after: int) -> Callable[[int, int, bytes], bytes]:
    """A behavior for `MisreportingSource`: reads work `after` times, then fail as a broken disk does."""
    left = [after]  # reads that still work; a list, so that `lie` can change it

    def lie(offset: int, size: int, data: bytes) -> bytes:
        """Return the data unchanged, or fail."""
        left[0] -= 1
        if left[0] < 0:
            raise SourceError("input/output error", span=Span("<failing>", offset, offset + size))
        return data

    return lie
