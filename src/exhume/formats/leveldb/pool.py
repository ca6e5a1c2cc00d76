"""Sources for many files with only a few open: a closed one is opened again when it is needed.

A database may have thousands of tables and a bundle thousands of shards, more than a process may keep open.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from exhume.io.source import Cost, Source
from exhume.io.tree import Tree

MOST_OPEN = 128


class SourcePool:
    """The files of a directory, `MOST_OPEN` of them open at a time (more while that many are being read)."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._most = MOST_OPEN
        self._known: dict[str, PooledSource] = {}
        self._open: OrderedDict[str, Source] = OrderedDict()
        self._uses: dict[str, int] = {}
        self._lock = threading.Lock()

    def source(self, name: str) -> PooledSource:
        """One file of the directory.  Raises `EntryNotFoundError`, `SourceError`."""
        with self._lock:
            found = self._known.get(name)
            if found is None:
                found = self._known[name] = PooledSource(self, name, self._opened(name))
            return found

    def _opened(self, name: str) -> Source:
        source = self._open.get(name)
        if source is None:
            source = self._open[name] = self._tree.source(name)
            while len(self._open) > self._most and (idle := self._idle(name)) is not None:
                self._open.pop(idle).close()
        self._open.move_to_end(name)
        return source

    def _idle(self, name: str) -> str | None:
        """The file that was not used for the longest time and is not being read, other than `name`."""
        return next((other for other in self._open if not self._uses.get(other) and other != name), None)

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Exactly `size` bytes of a file."""
        with self._lock:
            source = self._opened(name)
            self._uses[name] = self._uses.get(name, 0) + 1
        try:
            return source.read_at(offset, size)
        finally:
            with self._lock:
                self._uses[name] -= 1

    def will_read(self, name: str, start: int, stop: int) -> None:
        """Announce that a range of a file will be read in small pieces."""
        with self._lock:
            self._opened(name).will_read(start, stop)

    def close(self) -> None:
        """Close every file."""
        with self._lock:
            for source in self._open.values():
                source.close()
            self._open.clear()
            self._known.clear()


class PooledSource(Source):
    """A file of a pool."""

    def __init__(self, pool: SourcePool, file: str, opened: Source) -> None:
        self._pool = pool
        self._file = file
        self._size = opened.size
        self._cost = opened.cost
        self.name: str = opened.name
        self.origin: int = opened.origin

    @property
    def size(self) -> int:
        return self._size

    @property
    def cost(self) -> Cost:
        return self._cost

    def will_read(self, start: int, stop: int) -> None:
        if self._cost.wait:  # a local file need not be opened for that
            self._pool.will_read(self._file, start, stop)

    def _read(self, offset: int, size: int) -> bytes:
        return self._pool.read(self._file, offset, size)
