"""Multi-pattern search over a source: pyperscan when it is installed, the kernel otherwise."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.io.source import Source
from exhume.native.kernel import find_patterns


class Scanner:
    """Finds every occurrence of several byte strings in one pass over windows of bounded size.

    Windows overlap by the longest pattern less one byte, and a hit is reported by the window that holds its first byte,
    so no hit is lost or doubled at a border.
    """

    def __init__(self, patterns: Sequence[bytes], *, engine: str | None = None) -> None:
        if not patterns or not all(patterns):
            raise ValueError("patterns must not be empty")
        self._patterns = list(patterns)
        self._overlap = max(map(len, patterns)) - 1
        self._database: _Hyperscan | None = _hyperscan(self._patterns) if engine in (None, "pyperscan") else None
        if engine == "pyperscan" and self._database is None:
            from exhume.errors import MissingDependencyError

            raise MissingDependencyError("the fast scanner needs the extra carve: pip install 'exhume[carve]'")

    @property
    def engine(self) -> str:
        """Which engine runs: `pyperscan` or `kernel`."""
        return "pyperscan" if self._database is not None else "kernel"

    def scan(
        self, source: Source, start: int, stop: int, window: int, progress: Progress = no_progress
    ) -> Iterator[tuple[int, int]]:
        """`(offset, pattern index)` of every occurrence that starts in `[start, stop)`, in order of offset."""
        source.will_read(start, min(stop + self._overlap, source.size))
        at = start
        while at < stop:
            size = min(window, stop - at)
            data = source.read_up_to(at, size + self._overlap)
            for hit, index in self.find(data):
                if hit < size:
                    yield at + hit, index
            at += size
            progress(at - start, stop - start, "bytes")

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """`(offset, pattern index)` of every occurrence in `data`, in ascending order; offsets count from its start."""
        if self._database is not None:
            lengths = [len(pattern) for pattern in self._patterns]
            return sorted((end - lengths[index], index) for index, end in self._database.scan(data))
        return find_patterns(data, self._patterns)


class _Hyperscan:
    """A thin wrapper of pyperscan: `scan(data)` yields `(pattern index, end)` for each match."""

    def __init__(self, patterns: Sequence[bytes]) -> None:
        import pyperscan

        flags = pyperscan.Flag.DOTALL
        texts = [b"".join(b"\\x%02x" % byte for byte in pattern) for pattern in patterns]
        made = [pyperscan.Pattern(text, flags, tag=i) for i, text in enumerate(texts)]
        self._pyperscan = pyperscan
        self._database: Any = pyperscan.BlockDatabase(*made)
        self._hits: list[tuple[int, int]] = []
        self._scanner = self._database.build(self._hits, self._on_match)

    def _on_match(self, hits: list[tuple[int, int]], index: int, start: int, end: int) -> Any:
        hits.append((index, end))
        return self._pyperscan.Scan.Continue

    def scan(self, data: bytes) -> list[tuple[int, int]]:
        self._hits.clear()
        self._scanner.scan(data)
        return list(self._hits)


_kept = threading.local()


def _hyperscan(patterns: Sequence[bytes]) -> _Hyperscan | None:
    """The database of these patterns: the last one that this thread built, because building one per file adds up."""
    if getattr(_kept, "patterns", None) != patterns:
        try:
            _kept.database = _Hyperscan(patterns)
        except ImportError:
            return None
        _kept.patterns = list(patterns)
    database: _Hyperscan = _kept.database
    return database
