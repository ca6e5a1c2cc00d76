"""Payloads of several zstd frames that state their sizes: each frame is decompressed when bytes of it are asked for."""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate, pairwise

import zstandard

from exhume.codecs.common import Buffer
from exhume.codecs.layout import frame_places
from exhume.codecs.zstd import ZSTD_WINDOW_MAX, is_plausible, zstd_frame_size
from exhume.errors import CodecError, LimitExceededError, UnsupportedFeatureError

Reading = Callable[[int, int], Buffer]
"""Gives the stored bytes from an offset to another."""

FRAME_WINDOWS = (1 << 18, 1 << 19, 1 << 20, 1 << 21)
"""Stored bytes in which the next frames are looked for: more where no frame ends in them."""

PASSING_MOST = 4 << 20
"""Decompressed bytes of the largest frame with which a `Passage` is worth while."""


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
        needed = numbers_within(self._ends, start, end)
        together(needed, self._locks, self._left.__contains__, self._decompress)
        return self.view[start:stop]

    def passage(self) -> Passage | None:
        """A reader that goes through the payload; None where all of it was taken already, or a frame is large."""
        read, ends = self._read, self._ends
        if read is None or any(end - start > PASSING_MOST for start, end in pairwise(ends)):
            return None
        return Passage(read, self._places, ends)

    def _decompress(self, number: int) -> None:
        read = self._read
        if read is None:
            return
        decompress(read(*self._places[number]), self._buffer[self._ends[number] : self._ends[number + 1]])
        self._left.discard(number)
        if not self._left:
            self._read = None


class Passage:
    """The payload of such frames for threads that go through it, each at several places at the same time.

    Frames that nobody needs just now are kept as long as they are among those that were used last, and their memory is
    used again: to touch memory that is new to the process takes as long as to decompress what goes into it.
    """

    def __init__(self, read: Reading, places: list[tuple[int, int]], ends: list[int]) -> None:
        self._read, self._places, self._ends = read, places, ends
        self._locks = [threading.Lock() for _ in places]
        self._left = set(range(len(places)))  # which were never decompressed
        self._made: dict[int, bytearray] = {}  # read without the lock: what somebody uses stays in it
        self._recent: dict[int, None] = {}  # those, in the order of their last use
        self._users: Counter[int] = Counter()
        self._most = 0  # frames that one stop needed
        self._lock = threading.Lock()
        self._rooms: list[bytearray] = []

    @contextmanager
    def stop(self) -> Iterator[Stop]:
        """Until it ends, the frames that are gathered from stay."""
        here = Stop(self)
        try:
            yield here
        finally:
            with self._lock:
                self._most = max(self._most, len(here.frames))
                self._users.subtract(here.frames)
                for number in here.frames:
                    if number in self._made:
                        self._recent.pop(number, None)
                        self._recent[number] = None
                idle = [number for number in self._recent if not self._users[number]]
                for number in idle[: max(0, len(self._recent) - self._most - self._most // 2)]:
                    del self._recent[number]
                    self._rooms.append(self._made.pop(number))
                self._rooms += here.rooms

    def finish(self, start: int, stop: int) -> None:
        """Decompresses the frames of these bytes that nobody asked for.  Raises `CodecError` as `Frames.take` does."""
        for number in numbers_within(self._ends, start, stop):
            if number in self._left:
                with self.stop() as here:
                    here.gather([(self._ends[number], self._ends[number] + 1, 0)], memoryview(bytearray(1)))

    def gather(self, ranges: Iterable[tuple[int, int, int]], room: memoryview, here: Stop) -> None:
        """See `Stop.gather`."""
        wanted = [(start, stop, at) for start, stop, at in ranges if start < stop]
        numbers = (number for start, stop, _ in wanted for number in numbers_within(self._ends, start, stop))
        needed = dict.fromkeys((number for number in numbers if number not in here.frames), 1)
        with self._lock:
            self._users.update(needed)
            here.frames |= needed
        together(needed, self._locks, lambda number: number not in self._made, self._decompress)
        for start, stop, at in wanted:
            for number in numbers_within(self._ends, start, stop):
                before = self._ends[number]
                first, last = max(start, before), min(stop, self._ends[number + 1])
                frame = memoryview(self._made[number])
                room[at + first - start : at + last - start] = frame[first - before : last - before]

    def room(self, size: int) -> bytearray:
        """So many bytes or more, with anything in them: one that is no longer used, if there is one."""
        with self._lock:
            fitting = [one for one in self._rooms if size <= len(one) <= 2 * size]
            if fitting:
                found = min(fitting, key=len)
                self._rooms = [one for one in self._rooms if one is not found]
                return found
        return bytearray(size)

    def _decompress(self, number: int) -> None:
        size = self._ends[number + 1] - self._ends[number]
        room = self.room(size)
        decompress(self._read(*self._places[number]), memoryview(room)[:size])
        self._made[number] = room
        self._left.discard(number)


class Stop:
    """A place in a passage; see `Passage.stop`."""

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self.frames: dict[int, int] = {}
        self.rooms: list[bytearray] = []

    def gather(self, ranges: Iterable[tuple[int, int, int]], room: memoryview) -> None:
        """Copies what lies at each range, its start and stop in the payload, into the room, at the third number.

        Threads that need the same frames share the work.  Raises `CodecError` as `Frames.take` does.
        """
        self._passage.gather(ranges, room, self)

    def room(self, size: int) -> memoryview:
        """So many bytes, with anything in them, until the end of the stop."""
        self.rooms.append(self._passage.room(size))
        return memoryview(self.rooms[-1])[:size]


def numbers_within(ends: Sequence[int], start: int, stop: int) -> range:
    """Which frames the bytes `[start, stop)` lie in."""
    return range(bisect_right(ends, start) - 1, bisect_left(ends, stop))


def together(
    needed: Iterable[int],
    locks: Sequence[threading.Lock],
    is_left: Callable[[int], bool],
    decompress: Callable[[int], None],
) -> None:
    """Has the frames that are left decompressed: first those that no other thread is at."""
    for wait in (False, True):
        for number in needed:
            if is_left(number) and locks[number].acquire(wait):
                try:
                    if is_left(number):
                        decompress(number)
                finally:
                    locks[number].release()


def decompress(stored: Buffer, room: memoryview) -> None:
    """Fills the room with what a frame becomes.  Raises `CodecError` where that is less."""
    engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
    try:
        with engine.stream_reader(stored) as reader:  # in one go: it sees that there is room for all
            size = reader.readinto(room)
    except zstandard.ZstdError as error:
        raise CodecError("zstd: corrupt frame", actual=str(error)) from error
    if size != len(room):
        raise CodecError("zstd: wrong decompressed size", expected=len(room), actual=size)


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
