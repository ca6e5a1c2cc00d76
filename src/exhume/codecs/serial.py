"""Payloads of zstd frames that are too large for memory: decompressed again for each window, and not kept."""

from __future__ import annotations

import abc
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import zstandard

from exhume.codecs.common import over_budget
from exhume.codecs.frames import FrameIndex, Reading, decompress, reserve
from exhume.codecs.zstd import ZSTD_WINDOW_MAX
from exhume.errors import CodecError

STEP = 1 << 20
"""Bytes that are decompressed at a time to get to a place."""


class _StoredFile:
    """The stored bytes as a file."""

    def __init__(self, read: Reading, size: int) -> None:
        self._read, self._left, self._at = read, size, 0

    def read(self, size: int = -1) -> bytes:
        step = self._left if size < 0 else min(size, self._left)
        found = bytes(self._read(self._at, self._at + step)) if step else b""
        self._at, self._left = self._at + step, self._left - step
        return found


class Cursor:
    """A position in the decompressed payload that moves forward; going back starts again at the beginning."""

    def __init__(self, read: Reading, stored: int) -> None:
        self._read, self._stored = read, stored
        self._skipped = memoryview(bytearray(STEP))
        self._restart()

    def _restart(self) -> None:
        engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
        file = _StoredFile(self._read, self._stored)
        self._reader = engine.stream_reader(file, read_across_frames=True)  # type: ignore[arg-type]  # it only reads
        self._at = 0

    def fill(self, start: int, buffer: memoryview) -> None:
        """Fill the buffer with the bytes from `start` on.  Raises `CodecError` if there are fewer, or for damage."""
        if start < self._at:
            self._restart()
        while self._at < start:
            self._next(self._skipped[: start - self._at])
        done = 0
        while done < len(buffer):
            done += self._next(buffer[done:])

    def _next(self, buffer: memoryview) -> int:
        """Decompress the next bytes of the frame into `buffer`, and return how many."""
        try:
            size = self._reader.readinto(buffer)
        except zstandard.ZstdError as error:
            self._restart()
            raise CodecError("zstd: corrupt frame", actual=str(error)) from error
        if not size:
            raise CodecError("zstd: truncated frame")
        self._at += size
        return size


class Serial:
    """A payload in one frame: `stored` bytes, which `read` returns by range.

    `max_size` bounds the bytes that are in memory at once. Each use decompresses everything before the requested range.
    """

    is_small = False
    """All of it may be in memory at once."""

    def __init__(self, read: Reading, stored: int, size: int, max_size: int) -> None:
        """Reserve the buffer of a payload of one frame, which is decompressed from its start as far as needed."""
        self.size = size
        self._max_size = max_size
        self._buffer = reserve(size)
        self.view: memoryview = self._buffer.toreadonly()
        """All of it; what was not taken yet is not there."""
        self._cursor = Cursor(read, stored)
        self._lock = threading.Lock()
        self._held = 0

    def take(self, start: int = 0, stop: int | None = None) -> memoryview:
        """The bytes `[start, stop)`, or all.  Raises `CodecError`, and `LimitExceededError` for too many in all."""
        stop = self.size if stop is None else min(stop, self.size)
        with self._lock:
            self._held += max(0, stop - start)
            if self._held > self._max_size:
                raise over_budget("zstd", self._max_size)
            self._cursor.fill(start, self._buffer[start:stop])
        return self.view[start:stop]

    def frame_reader(self) -> SerialFrameReader:
        """A reader of any ranges of the payload."""
        return SerialFrameReader(self._cursor, self._lock)


class FrameReader(abc.ABC):
    """Reads ranges of a payload and keeps nothing else of it; see `frames.FrameCache`."""

    @contextmanager
    def stop(self, *, keep: bool = False) -> Iterator[LeanPinnedFrames]:
        """A place for what is gathered."""
        yield LeanPinnedFrames(self)

    @abc.abstractmethod
    def finish(self, start: int, stop: int) -> None:
        """Decompress what of these bytes was not requested.  Raises `CodecError`."""

    @abc.abstractmethod
    def gather(self, ranges: Iterable[tuple[int, int, int]], buffer: memoryview) -> None:
        """See `LeanPinnedFrames.gather`."""


class IndexedFrameReader(FrameReader):
    """Decompresses each frame that contains a part of a range, each time."""

    def __init__(self, places: FrameIndex) -> None:
        self._places = places
        self._seen: set[int] = set()

    def finish(self, start: int, stop: int) -> None:
        for number in self._places.within(start, stop):
            if number not in self._seen:
                begin = self._places.ends[number]
                self.gather([(begin, begin + 1, 0)], memoryview(bytearray(1)))

    def gather(self, ranges: Iterable[tuple[int, int, int]], buffer: memoryview) -> None:
        """Copy ranges of the payload, `(start, stop, at)`, into `buffer` at `at`; each frame is decompressed once."""
        places, ends = self._places, self._places.ends
        frame, known = memoryview(b""), -1
        for start, stop, at in sorted(ranges):
            for number in places.within(start, stop) if start < stop else ():
                before, end = ends[number], ends[number + 1]
                if number != known:
                    frame, known = memoryview(bytearray(end - before)), number
                    decompress(places.read(*places.stored[number]), frame)
                    self._seen.add(number)
                first, last = max(start, before), min(stop, end)
                buffer[at + first - start : at + last - start] = frame[first - before : last - before]


class SerialFrameReader(FrameReader):
    """Decompresses the payload from its beginning, in one pass for all ranges that are requested together."""

    def __init__(self, cursor: Cursor, lock: threading.Lock) -> None:
        self._cursor, self._lock = cursor, lock

    def finish(self, start: int, stop: int) -> None:
        with self._lock:
            self._cursor.fill(stop, memoryview(b""))

    def gather(self, ranges: Iterable[tuple[int, int, int]], buffer: memoryview) -> None:
        with self._lock:
            for start, stop, at in sorted(ranges):
                self._cursor.fill(start, buffer[at : at + stop - start])


class LeanPinnedFrames:
    """One use of a `FrameReader`; see `PinnedFrames`."""

    def __init__(self, frame_reader: FrameReader) -> None:
        self._frame_reader = frame_reader

    def gather(self, ranges: Iterable[tuple[int, int, int]], buffer: memoryview) -> None:
        """Copy each range, `(start, stop, target)` with positions in the payload, to `target` in the buffer `buffer`.

        Raises `CodecError`.
        """
        self._frame_reader.gather(ranges, buffer)

    def buffer(self, size: int) -> memoryview:
        """Memory for this many bytes."""
        return memoryview(bytearray(size))
