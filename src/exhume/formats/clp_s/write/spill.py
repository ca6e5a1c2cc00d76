"""What a writer moves out of memory into temporary files: parts of columns, and frames that wait for the header.

The bytes of the archive do not depend on it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from exhume.codecs.common import Buffer
from exhume.io.output.scratch import scratch_file
from exhume.io.source import STREAM_CHUNK

GROWTH: Final = 64 << 20
"""Bytes that an encoder grows by before its columns move out of memory."""

LEAST: Final = 4 << 10
"""Bytes of a column that is moved at least: smaller ones stay in memory."""

HELD: Final = 16 << 20
"""Bytes of frames that are held in memory."""


class Growing(Protocol):
    """An encoder as `Spill` uses it; see `encoder.Encoder`."""

    @property
    def size(self) -> int:
        """Size of its columns in bytes."""

    def spill(self, spill: Spill, least: int) -> None:
        """Move columns of at least `least` bytes to `spill`.  Raises `SourceError`."""


class Spill:
    """A temporary file for the columns of one archive; `folder` is where it is made when it is first needed."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._end = 0
        self._last = 0
        self._lock = threading.Lock()

    def relieve(self, encoder: Growing) -> None:
        """Move columns of an encoder here if it has grown enough since the last time.  Raises `SourceError`."""
        if encoder.size - self._last >= GROWTH:
            self._last = encoder.size
            encoder.spill(self, LEAST)

    def write(self, data: Buffer) -> int:
        """Append bytes and return their offset.  Raises `SourceError`."""
        with self._lock:
            if self._file is None:
                self._file = scratch_file(self._folder)
            at = self._end
            self._file.seek(at)
            self._file.write(data)
            self._end += len(data)
        return at

    def read_at(self, offset: int, size: int) -> bytes:
        """Return bytes that were written; by any number of threads."""
        with self._lock:
            if self._file is None:
                return b""
            self._file.seek(offset)
            return self._file.read(size)

    def close(self) -> None:
        """Remove the file; harmless to repeat."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None


class Frames:
    """The frames of a section, in memory up to `HELD` bytes, then in a temporary file."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: list[bytes] = []
        self._file: BinaryIO | None = None
        self.size: int = 0
        """Bytes of all frames."""

    def add(self, frames: Iterable[bytes]) -> None:
        """Append frames.  Raises `SourceError`."""
        for frame in frames:
            self.size += len(frame)
            if self._file is None:
                self._held.append(frame)
                if self.size > HELD:
                    self._file = scratch_file(self._folder)
                    self._file.writelines(self._held)
                    self._held = []
            else:
                self._file.write(frame)

    def __iter__(self) -> Iterator[bytes]:
        if self._file is None:
            yield from self._held
            return
        self._file.seek(0)
        yield from iter(partial(self._file.read, STREAM_CHUNK), b"")
