"""Payloads of several zstd frames that state their sizes: each frame is decompressed when bytes of it are requested.

A zstd frame is a compressed stream that can be decoded on its own; a payload (the bytes that one compressed part of an
archive becomes) may be stored as many of them.  `frames_of` and `frames_at` return a `FramedPayload`, which keeps what
it decompressed; its `frame_reader` returns a `FrameCache`, which evicts frames.  In this module `places` are the ranges
of frames, `start` and `stop` are positions in the decompressed payload, and frames are numbered from 0.
"""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import accumulate, pairwise

import zstandard

from exhume.codecs.common import Buffer, over_budget
from exhume.codecs.layout import frame_places
from exhume.codecs.zstd import ZSTD_WINDOW_MAX, zstd_frame_size
from exhume.errors import CodecError, LimitExceededError, UnsupportedFeatureError
from exhume.native import pick

Reading = Callable[[int, int], Buffer]
"""Returns the stored bytes `[start, stop)`."""

FRAME_WINDOWS = (1 << 18, 1 << 19, 1 << 20, 1 << 21)
"""Stored bytes that are read to locate the next frames; the next larger number if no frame ends within them."""

PASSING_MOST = 4 << 20
"""Largest frame in decompressed bytes for which a `FrameCache` is made.

A payload that may not be in memory as a whole gets one whatever its frames are.
"""


class FrameIndex:
    """Index of the frames of a payload: their positions, and the range of the payload in each.  Built as far as needed.

    If the payload's `size` is not given, all frames are located at once.  `max_size` limits the bytes that are in
    memory at once, and so each frame; `most` limits all of them together.
    """

    def __init__(
        self,
        read: Reading,
        stored: int,
        max_size: int,
        windows: Sequence[int],
        size: int | None = None,
        most: int | None = None,
    ) -> None:
        """Locate the first two frames if the payload's `size` is known, else all, in `stored` bytes that `read` reads.

        Raises `CodecError` unless the payload has several frames and is within its limits.
        """
        self.read = read
        self.stored: list[tuple[int, int]] = []
        """Stored range of each frame."""
        self.ends: list[int] = [0]
        """Frame `n` decompresses to the payload bytes between the `n`th of these and the next."""
        self.max_size = max_size
        """Bytes that may be in memory at once."""
        self._left, self._windows = stored, windows
        """Stored bytes not searched yet, and the sizes of windows to try, from the smallest."""
        self._at = self._reach = 0
        """Stored position where the next frame starts, and the index in `_windows` of the size in use."""
        self._lock = threading.Lock()
        while self._left and (size is None or len(self.stored) < 2):
            self._look(size)
        self.size: int = self.ends[-1] if size is None else size
        """Bytes of the payload."""
        if len(self.stored) < 2 or self.size > (max_size if most is None else most):
            raise CodecError("zstd: not several frames")

    @property
    def is_complete(self) -> bool:
        """Whether all frames are located."""
        return not self._left

    def within(self, start: int, stop: int) -> range:
        """Numbers of the frames with the bytes `[start, stop)`.  Raises `CodecError` if something else is stored, and
        propagates errors from `read`.
        """
        while self.ends[-1] < stop:
            with self._lock:
                if self.ends[-1] < stop:  # no other thread located them meanwhile
                    self._look(self.size)
        return range(bisect_right(self.ends, start) - 1, bisect_left(self.ends, stop))

    def _look(self, size: int | None) -> None:
        """Locate the frames in the next window of stored bytes: `_windows[_reach]` bytes at most, from `_at` on.

        If it contains none completely, the next call takes a larger window. Raises `CodecError` for a frame without a
        size, or if the sizes do not add up to `size`.
        """
        view = memoryview(self.read(self._at, self._at + min(self._windows[self._reach], self._left)))
        try:
            first = zstd_frame_size(view, self.max_size) if view else None
            found = frame_places(view) if first is not None else []
            if first is not None and not found and self._reach + 1 < len(self._windows):
                self._reach += 1
                return
            sizes = [zstd_frame_size(view[start:end], self.max_size) for start, end in found]  # None: not stated
        except (LimitExceededError, UnsupportedFeatureError) as error:
            raise CodecError("zstd: not such a frame") from error
        if not found or not all(sizes):
            raise CodecError("zstd: frame without a stated size")
        ends = list(accumulate(filter(None, sizes), initial=self.ends[-1]))[1:]  # of these frames, in the payload
        _, stop = found[-1]
        # The payload's end and that of the stored bytes have to be the end of the same frame.
        if size is not None and (ends[-1] > size or (ends[-1] == size) != (stop == self._left)):
            raise CodecError("zstd: wrong decompressed size", expected=size, actual=ends[-1])
        # Added before `ends`, which makes them visible to other threads.
        self.stored += [(self._at + start, self._at + end) for start, end in found]
        self.ends += ends
        self._at += stop
        self._left -= stop


class FramedPayload:
    """A payload of several frames, which threads decompress together into one buffer.

    Threads that request the same bytes share the work: each takes a frame that no other has begun. Unrequested bytes
    take no memory, only addresses.
    """

    def __init__(self, places: FrameIndex) -> None:
        """Reserve the buffer of the payload; its frames are decompressed when they are needed."""
        self.size: int = places.size
        """Bytes of the payload."""
        self._buffer = reserve(self.size)
        self.view: memoryview = self._buffer.toreadonly()
        """All of it; bytes that were not taken yet are undefined."""
        self._places: FrameIndex | None = places
        self._locks: dict[int, threading.Lock] = {}
        """By number of a frame: held by the thread that decompresses it."""
        self._done: set[int] = set()
        """Numbers of the decompressed frames."""
        self._held = 0
        """Decompressed bytes of these frames."""

    @property
    def is_small(self) -> bool:
        """Whether all of it may be in memory at once."""
        return self._places is None or self.size <= self._places.max_size

    @property
    def places(self) -> FrameIndex | None:
        """Index of its frames; None if all of it was taken already."""
        return self._places

    def take(self, start: int = 0, stop: int | None = None) -> memoryview:
        """The bytes `[start, stop)`, or all.  Raises `CodecError` where a frame does not become what it states,
        `LimitExceededError` when more would be in memory than is allowed, and as reading does.
        """
        if (places := self._places) is not None:
            self._have(places, places.within(start, self.size if stop is None else min(stop, self.size)))
        return self.view[start:stop]

    def peek(self, start: int, stop: int) -> memoryview:
        """Return bytes as `take` does, but keep nothing else of their frames; for few bytes of a large payload."""
        if (places := self._places) is not None:
            for number in places.within(start, min(stop, self.size)):
                before, end = places.ends[number], places.ends[number + 1]  # the frame is this range of the payload
                frame = memoryview(bytearray(end - before))
                decompress(places.read(*places.stored[number]), frame)
                first, last = max(start, before), min(stop, end)
                self._buffer[first:last] = frame[first - before : last - before]
        return self.view[start:stop]

    def steps(self) -> Iterator[int]:
        """Take all frames; yields the end of each in order, while later ones may still be missing.

        Raises `CodecError` as `take` does.
        """
        if (places := self._places) is not None:
            needed = places.within(0, self.size)
            following = iter(needed)  # shared by all steps: frames to work on while other threads have the needed one
            for number in needed:
                self._have(places, (number,), following)
                yield places.ends[number + 1]
        else:
            yield self.size

    def _have(self, places: FrameIndex, needed: Iterable[int], following: Iterable[int] = ()) -> None:
        """Decompress frames by number, sharing the work with other threads; drop the index after the last.

        `following` are frames to decompress instead of waiting for other threads.
        """
        decompress_shared(needed, self._locks, self._done, partial(self._decompress, places), following)
        if places.is_complete and len(self._done) == len(places.stored):
            self._places = None

    def frame_reader(self) -> FrameCache | None:
        """A reader that goes through the payload and keeps only recent frames.

        None if all of it was taken already, or if it may be in memory as a whole and has a frame over `PASSING_MOST`.
        """
        places = self._places
        if places is None or (
            self.size <= places.max_size and any(end - start > PASSING_MOST for start, end in pairwise(places.ends))
        ):
            return None
        return FrameCache(places)

    def _decompress(self, places: FrameIndex, number: int) -> None:
        """Decompress frame `number` into its place in the buffer, and charge it to the budget."""
        buffer = self._buffer[places.ends[number] : places.ends[number + 1]]
        self._held += len(buffer)  # threads may add at once; only payloads that are too large are counted exactly
        if not self.is_small and self._held > places.max_size:
            raise over_budget("zstd", places.max_size)
        decompress(places.read(*places.stored[number]), buffer)
        self._done.add(number)


class FrameCache:
    """Frames of a payload for threads that read it at several places at the same time.

    Frames that no thread needs now are kept as long as they are among the most recently used ones, and their memory is
    reused: touching memory that is new to the process takes as long as decompressing into it.
    """

    def __init__(self, places: FrameIndex) -> None:
        """Start without frames of the payload that `places` is the index of."""
        self._copy = pick("exhume.native.pykernel").copy_parts  # of the compiled kernel, if there is one
        self._places = places
        self._locks: dict[int, threading.Lock] = {}  # by frame: held by the thread that decompresses it
        self._seen: set[int] = set()  # all that were ever decompressed
        self._made: dict[int, bytearray] = {}  # content; lock-free reads are safe: a frame in use is never evicted
        self._recent: dict[int, None] = {}  # the frames in `_made`, the least recently used first
        self._users: Counter[int] = Counter()  # by frame: the threads that have it pinned
        self._most = 0  # the most frames that one `stop` needed
        self._lock = threading.Lock()
        self._rooms: list[bytearray] = []  # buffers of evicted frames, for reuse

    @contextmanager
    def stop(self, *, keep: bool = False) -> Iterator[PinnedFrames]:
        """Pin the frames that are gathered from during the `with`, so that no other thread's use evicts them.

        Afterwards frames beyond 1.5 times the most that one `with` needed are evicted, the least recently used first.
        The buffers that `PinnedFrames.buffer` returned are then reused, except with `keep`: the caller still uses them.
        """
        here = PinnedFrames(self)
        try:
            yield here
        finally:
            with self._lock:
                self._most = max(self._most, len(here.frames))
                self._users.subtract(here.frames)
                for number in here.frames:
                    if number in self._made:  # it is not if decompressing it failed
                        self._recent.pop(number, None)
                        self._recent[number] = None  # as the last, the most recently used
                idle = [number for number in self._recent if not self._users[number]]
                for number in idle[: max(0, len(self._recent) - self._most - self._most // 2)]:
                    del self._recent[number]
                    self._rooms.append(self._made.pop(number))
                if not keep:
                    self._rooms += here.buffers

    def finish(self, start: int, stop: int) -> None:
        """Decompress the frames of these bytes that never were, only to find damage.

        Raises `CodecError` (see `FramedPayload.take`).
        """
        for number in self._places.within(start, stop):
            if number not in self._seen:
                begin = self._places.ends[number]
                with self.stop() as here:
                    here.gather([(begin, begin + 1, 0)], memoryview(bytearray(1)))  # one byte needs the whole frame

    def gather(self, ranges: Iterable[tuple[int, int, int]], buffer: memoryview, here: PinnedFrames) -> None:
        """See `PinnedFrames.gather`; `here` are the pinned frames of the caller."""
        wanted = [(start, stop, at) for start, stop, at in ranges if start < stop]
        numbers = (number for start, stop, _ in wanted for number in self._places.within(start, stop))
        needed = dict.fromkeys((number for number in numbers if number not in here.frames), 1)
        # Pinned before they are decompressed: from then on no other thread evicts them.
        self._use(here, needed)
        decompress_shared(needed, self._locks, self._made, self._decompress, self._following(wanted, here))
        ends = self._places.ends
        parts = []  # per part: its target, the frame's content, and the range in that
        for start, stop, at in wanted:
            for number in self._places.within(start, stop):
                before = ends[number]  # where the frame begins in the payload
                first, last = max(start, before), min(stop, ends[number + 1])
                parts.append((at + first - start, self._made[number], first - before, last - before))
        self._copy(buffer, parts)

    def _following(self, ranges: Iterable[tuple[int, int, int]], here: PinnedFrames) -> Iterator[int]:
        """Frames after the ranges that were not needed yet, and will be needed next by a sequential reader.

        After each range as many bytes are covered as the range has.  The frames are pinned for `here` when yielded.
        """
        size = self._places.size
        for start, stop, _ in ranges:
            for number in self._places.within(stop, min(2 * stop - start, size)):
                if number not in self._seen and number not in here.frames:
                    self._use(here, {number: 1})
                    yield number

    def _use(self, here: PinnedFrames, numbers: dict[int, int]) -> None:
        """Pin frames for the thread of `here`; they are keys with the value 1, which their count of users grows by."""
        with self._lock:
            self._users.update(numbers)
            here.frames |= numbers

    def buffer(self, size: int) -> bytearray:
        """A buffer of at least `size` bytes with undefined content, reused if possible."""
        with self._lock:
            fitting = [one for one in self._rooms if size <= len(one) <= 2 * size]
            if fitting:
                found = min(fitting, key=len)
                self._rooms = [one for one in self._rooms if one is not found]
                return found
        return bytearray(size)

    def _decompress(self, number: int) -> None:
        """Decompress frame `number` into a buffer of the cache."""
        places = self._places
        size = places.ends[number + 1] - places.ends[number]
        buffer = self.buffer(size)
        decompress(places.read(*places.stored[number]), memoryview(buffer)[:size])
        self._made[number] = buffer
        self._seen.add(number)


class PinnedFrames:
    """Frames in use by one thread; see `FrameCache.stop`."""

    def __init__(self, frame_reader: FrameCache) -> None:
        self._cache = frame_reader
        self.frames: dict[int, int] = {}  # numbers of the pinned frames as keys; see `FrameCache._use`
        self.buffers: list[bytearray] = []  # those that `buffer` returned; see `FrameCache.stop`

    def gather(self, ranges: Iterable[tuple[int, int, int]], buffer: memoryview) -> None:
        """Copy each range, `(start, stop, target)` with positions in the payload, to `target` in the buffer `buffer`.

        Threads that need the same frames share the work.  Raises `CodecError` as `FramedPayload.take` does.
        """
        self._cache.gather(ranges, buffer, self)

    def buffer(self, size: int) -> memoryview:
        """A buffer of `size` bytes with undefined content, valid until the stop ends."""
        self.buffers.append(self._cache.buffer(size))
        return memoryview(self.buffers[-1])[:size]


def decompress_shared(
    needed: Iterable[int],
    locks: dict[int, threading.Lock],
    done: Container[int],
    decompress: Callable[[int], None],
    following: Iterable[int] = (),
) -> None:
    """Decompress the `needed` frames that are not done, sharing the work with other threads.

    Frames that no other thread has claimed come first; instead of waiting for the claimed ones, it then decompresses
    unclaimed frames of `following`.  `locks` are the claims, by number of the frame; `decompress` adds it to `done`.
    """

    def have(number: int, wait: bool) -> None:
        """Have frame `number` decompressed; without `wait`, leave it if another thread is doing it."""
        if number not in done:
            lock = locks.setdefault(number, threading.Lock())
            if lock.acquire(wait):
                try:
                    if number not in done:
                        decompress(number)
                finally:
                    lock.release()

    left = list(needed)
    for number in left:
        have(number, wait=False)
    more = iter(following)
    # -1: no further frames to work on.
    while any(number not in done for number in left) and (number := next(more, -1)) >= 0:
        have(number, wait=False)
    for number in left:
        have(number, wait=True)


def decompress(stored: Buffer, buffer: memoryview) -> None:
    """Decompress a frame into a buffer.  Raises `CodecError` if it does not fill the buffer."""
    engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
    try:
        with engine.stream_reader(stored) as reader:  # in one go: the output is known to fit
            size = reader.readinto(buffer)
    except zstandard.ZstdError as error:
        raise CodecError("zstd: corrupt frame", actual=str(error)) from error
    if size != len(buffer):
        raise CodecError("zstd: wrong decompressed size", expected=len(buffer), actual=size)


def frames_of(data: Buffer, max_size: int, most: int | None = None) -> FramedPayload | None:
    """The payload of `data`; None if it is not several frames with stated sizes, or exceeds `max_size` or `most`.

    See `FrameIndex` for the two limits.
    """
    view = memoryview(data)
    return frames_at(lambda start, end: view[start:end], len(view), max_size, windows=(len(view),), most=most)


def frames_at(
    read: Reading,
    stored: int,
    max_size: int,
    size: int | None = None,
    *,
    windows: Sequence[int] = FRAME_WINDOWS,
    most: int | None = None,
) -> FramedPayload | None:
    """The payload of `stored` bytes, which `read` returns by range: a window at a time to find frames, and then each
    frame when it is decompressed.  None if a frame is larger than all of the windows, too.  If the `size` of the
    payload is given, frames are located only as far as bytes are requested.

    Propagates errors from `read`.
    """
    try:
        places = FrameIndex(read, stored, max_size, windows, size, most)
    except CodecError:
        return None
    try:
        return FramedPayload(places)
    except OSError:  # the process cannot reserve so many addresses
        return None


def reserve(size: int) -> memoryview:
    """A buffer of `size` bytes that takes memory only where it is written to; a `bytearray` would be cleared first."""
    buffer = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # Linux: filling it takes a fraction of the time, as there are fewer pages
        with suppress(OSError):  # a Linux kernel without huge pages
            buffer.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(buffer)
