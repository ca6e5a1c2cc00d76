"""Access to zstd payloads in one frame, and to those that are too large for memory.

A payload is what a compressed part of an archive becomes.  A frame is a zstd stream, which can only be decoded from its
start.  `PayloadPrefix` keeps what it decompressed; `Serial` is for a payload too large for that, and decompresses again
for each use; `FrameReader` and its subclasses offer the interface of `frames.FrameCache` without keeping frames.
"""

from __future__ import annotations

import abc
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import zstandard

from exhume.codecs.common import Buffer, over_budget
from exhume.codecs.frames import FrameIndex, Reading, decompress, reserve
from exhume.codecs.zstd import ZSTD_WINDOW_MAX
from exhume.errors import CodecError

STEP = 1 << 20
"""Bytes that are decompressed at a time to reach the start of a range."""


class _StoredFile:
    """The stored bytes as a file object, for the decompressor."""

    def __init__(self, read: Reading, size: int) -> None:
        self._read, self._left, self._at = read, size, 0  # bytes to come, and where they start

    def read(self, size: int = -1) -> bytes:
        """Read like a file: `size` bytes, or all that remain."""
        step = self._left if size < 0 else min(size, self._left)
        found = bytes(self._read(self._at, self._at + step)) if step else b""
        self._at, self._left = self._at + step, self._left - step
        return found


class Cursor:
    """A position in the decompressed payload that moves forward; going back starts again at the beginning."""

    def __init__(self, read: Reading, stored: int) -> None:
        self._read, self._stored = read, stored
        self._skipped = memoryview(bytearray(STEP))  # takes the bytes before a requested range
        self._restart()

    def _restart(self) -> None:
        """Go back to the start of the payload."""
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
    """A payload in one frame of `stored` bytes, which `read` returns by range.

    A range can only be decompressed by decompressing everything before it, too.  `max_size` bounds the bytes that are
    in memory at once.
    """

    is_small = False
    """Whether all of the payload may be in memory at once."""

    def __init__(self, read: Reading, stored: int, size: int, max_size: int) -> None:
        """Reserve address space for a payload of `size` bytes; only the ranges that are taken use memory."""
        self.size = size
        self._max_size = max_size
        self._buffer = reserve(size)
        self.view: memoryview = self._buffer.toreadonly()
        """The payload; only the ranges that were taken have their bytes."""
        self._cursor = Cursor(read, stored)
        self._lock = threading.Lock()
        self._held = 0  # bytes of all ranges that were taken, against `_max_size`

    def take(self, start: int = 0, stop: int | None = None) -> memoryview:
        """Decompress `[start, stop)` (default: all) into `view`, and return that part.

        Raises `CodecError` for damage, `LimitExceededError` if the sizes of all ranges exceed the limit.
        """
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


class PayloadPrefix:
    """A payload of `size` bytes in frames without stated sizes, decompressed from its start as far as requested."""

    is_small = True
    """All of it may be in memory at once."""

    def __init__(self, data: Buffer, size: int) -> None:
        """Prepare to decompress a payload of `size` bytes from its start, as far as it is needed."""
        self.size = size
        self._buffer = reserve(size)
        self.view: memoryview = self._buffer.toreadonly()
        """All of it; what was not taken yet is not there."""
        engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
        self._reader = engine.stream_reader(data, read_across_frames=True)
        self._done = 0  # bytes decompressed so far
        self._lock = threading.Lock()

    def take(self, start: int = 0, stop: int | None = None) -> memoryview:
        """The bytes `[start, stop)`, or all.  Raises `CodecError` where there are none."""
        stop = self.size if stop is None else stop
        with self._lock:
            if stop > self._done:
                try:
                    self._done += self._reader.readinto(self._buffer[self._done : stop])
                except zstandard.ZstdError as error:
                    raise CodecError("zstd: corrupt frame", actual=str(error)) from error
            if stop > self._done:
                raise CodecError("zstd: truncated frame")
        return self.view[start:stop]


class FrameReader(abc.ABC):
    """Reads ranges of a payload without keeping frames; it has the interface of `frames.FrameCache`."""

    @contextmanager
    def stop(self, *, keep: bool = False) -> Iterator[LeanPinnedFrames]:
        """Begin a use, as `FrameCache.stop`; `keep` has no effect, because no frames are kept."""
        yield LeanPinnedFrames(self)

    @abc.abstractmethod
    def finish(self, start: int, stop: int) -> None:
        """Check the frames of `[start, stop)` that no request decompressed.  Raises `CodecError`."""

    @abc.abstractmethod
    def gather(self, ranges: Iterable[tuple[int, int, int]], buffer: memoryview) -> None:
        """See `LeanPinnedFrames.gather`."""


class IndexedFrameReader(FrameReader):
    """Reads payloads with an index of their frames: each request decompresses the frames that it needs."""

    def __init__(self, places: FrameIndex) -> None:
        self._places = places
        self._seen: set[int] = set()  # numbers of the frames that were decompressed

    def finish(self, start: int, stop: int) -> None:
        """Decompress the frames of a range that were not read, so that their checksums are verified."""
        for number in self._places.within(start, stop):
            if number not in self._seen:  # read one byte of it
                begin = self._places.ends[number]
                self.gather([(begin, begin + 1, 0)], memoryview(bytearray(1)))

    def gather(self, ranges: Iterable[tuple[int, int, int]], buffer: memoryview) -> None:
        """Copy ranges of the payload, `(start, stop, at)`, into `buffer` at `at`; each frame is decompressed once."""
        places, ends = self._places, self._places.ends
        frame, known = memoryview(b""), -1  # the last decompressed frame, and its number (-1: none yet)
        for start, stop, at in sorted(ranges):
            for number in places.within(start, stop) if start < stop else ():
                before, end = ends[number], ends[number + 1]  # the frame is this range of the payload
                if number != known:
                    frame, known = memoryview(bytearray(end - before)), number
                    decompress(places.read(*places.stored[number]), frame)
                    self._seen.add(number)
                first, last = max(start, before), min(stop, end)
                buffer[at + first - start : at + last - start] = frame[first - before : last - before]


class SerialFrameReader(FrameReader):
    """Reads payloads of one frame: each request decompresses it from the beginning, once for all its ranges."""

    def __init__(self, cursor: Cursor, lock: threading.Lock) -> None:
        self._cursor, self._lock = cursor, lock

    def finish(self, start: int, stop: int) -> None:
        """Decompress everything up to `stop`, so that faults before it are found."""
        with self._lock:
            self._cursor.fill(stop, memoryview(b""))  # moves to `stop`, decompressing everything before it

    def gather(self, ranges: Iterable[tuple[int, int, int]], buffer: memoryview) -> None:
        """Copy each range, `(start, stop, offset in the buffer)`, into the buffer: one pass, as they are sorted."""
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
