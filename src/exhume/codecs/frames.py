"""Payloads of several zstd frames that state their sizes: each frame is decompressed when bytes of it are asked for."""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate

import zstandard

from exhume.codecs.common import Buffer
from exhume.codecs.layout import frame_places
from exhume.codecs.zstd import ZSTD_WINDOW_MAX, is_plausible, zstd_frame_size
from exhume.errors import CodecError, LimitExceededError, UnsupportedFeatureError

Reading = Callable[[int, int], Buffer]
"""Gives the stored bytes from an offset to another."""

FRAME_WINDOWS = (1 << 18, 1 << 19, 1 << 20, 1 << 21)
"""Stored bytes in which the next frames are looked for: more where no frame ends in them."""


class Frames:
    """The payload of such frames, each of which becomes what lies between two of the `ends` (a 0 in front).

    Several threads that ask for the same bytes share the work: each goes on with a frame that nobody has begun.  What
    was not asked for takes no memory, only addresses.
    """

    def __init__(self, read: Reading, places: list[tuple[int, int]], ends: list[int]) -> None:
        self.size = ends[-1]
        """Bytes of the payload."""
        self._buffer = _room(self.size)
        self.view = self._buffer.toreadonly()
        """All of it; what was not taken yet is not there."""
        self._read: Reading | None = read
        self._places, self._ends = places, ends
        self._locks = [threading.Lock() for _ in places]
        self._left = set(range(len(places)))

    def take(self, start: int = 0, stop: int | None = None) -> memoryview:
        """The bytes `[start, stop)`, or all.  Raises `CodecError` where a frame does not become what it states, and as
        reading does.
        """
        end = self.size if stop is None else min(stop, self.size)
        needed = range(bisect_right(self._ends, start) - 1, bisect_left(self._ends, end))
        for wait in (False, True):  # first those that no other thread is at
            for number in needed:
                if number in self._left and self._locks[number].acquire(wait):
                    try:
                        self._decompress(number)
                    finally:
                        self._locks[number].release()
        return self.view[start:stop]

    def _decompress(self, number: int) -> None:
        read = self._read
        if number not in self._left or read is None:
            return
        stored = read(*self._places[number])
        room = self._buffer[self._ends[number] : self._ends[number + 1]]
        engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
        try:
            with engine.stream_reader(stored) as reader:  # in one go: it sees that there is room for all
                size = reader.readinto(room)
        except zstandard.ZstdError as error:
            raise CodecError("zstd: corrupt frame", actual=str(error)) from error
        if size != len(room):
            raise CodecError("zstd: wrong decompressed size", expected=len(room), actual=size)
        self._left.discard(number)
        if not self._left:
            self._read = None


def frames_of(data: Buffer, max_size: int) -> Frames | None:
    """The payload of `data`; None where it is not several frames that state their sizes, or these are not plausible."""
    view = memoryview(data)
    return frames_at(lambda start, end: view[start:end], len(view), max_size, (len(view),))


def frames_at(read: Reading, size: int, max_size: int, windows: Sequence[int] = FRAME_WINDOWS) -> Frames | None:
    """The same of `size` bytes, of which `read` gives those from an offset to another: a window at a time to find the
    frames, and then each frame when it is decompressed.  None where a frame is larger than all of the windows, too.

    Raises what reading raises.
    """
    places: list[tuple[int, int]] = []
    ends, at, reach = [0], 0, 0
    try:
        while at < size:
            view = memoryview(read(at, min(at + windows[reach], size)))
            if zstd_frame_size(view, max_size) is None:
                return None
            found = frame_places(view)
            if not found and reach + 1 < len(windows):
                reach += 1
                continue
            sizes = [zstd_frame_size(view[start:end], max_size) for start, end in found]
            if not found or not all(sizes):
                return None
            places += [(at + start, at + end) for start, end in found]
            ends += accumulate(filter(None, sizes[1:]), initial=ends[-1] + (sizes[0] or 0))
            at = places[-1][1]
    except (CodecError, LimitExceededError, UnsupportedFeatureError):
        return None
    if len(places) < 2 or ends[-1] > max_size or not is_plausible(ends[-1], size):
        return None
    try:
        return Frames(read, places, ends)
    except OSError:  # not so many addresses
        return None


def _room(size: int) -> memoryview:
    """So many bytes, which take memory from when they are written on; a `bytearray` would be cleared first."""
    room = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # Linux: filling it takes a fraction of the time, as there are fewer pages
        with suppress(OSError):  # of a kernel that has none
            room.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(room)


class Beginning:
    """The payload of frames that state no sizes, decompressed as far as anybody asked; it has `size` bytes."""

    def __init__(self, data: Buffer, size: int) -> None:
        self.size = size
        self._buffer = _room(size)
        self.view = self._buffer.toreadonly()
        """All of it; what was not taken yet is not there."""
        engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
        self._reader = engine.stream_reader(data, read_across_frames=True)
        self._done = 0
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
                raise CodecError("zstd: the frame is cut short")
        return self.view[start:stop]
