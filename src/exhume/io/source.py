"""Reading bytes: positional, thread-safe, exact; never a shared file position, never opened for writing.

`Source` is one file-like object; a directory of them is a `Tree` (`exhume.io.tree`).  A `Span` is a range of a file as
messages show it.  Offsets and sizes are in bytes.
"""

from __future__ import annotations

import abc
import contextlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from exhume.counts import counted
from exhume.errors import ShortReadError, SourceError, Span, TruncatedError, source_error_type
from exhume.tuples import NamedTuple

COALESCE_GAP = 64 << 10
"""Ranges closer than this are fetched in one request: the bytes between them usually cost less than another request."""

COALESCE_SIZE = 8 << 20
"""Most bytes of a merged request, so that reading a whole file by ranges needs little memory."""

STREAM_CHUNK = 1 << 20
"""Bytes per read wherever a span is copied or hashed in chunks."""


class Cost(NamedTuple):
    """Advice on reading from a source or directory efficiently."""

    wait: int
    """Latency of a read, as the bytes that could be read meanwhile; 0 if there is none."""
    piece: int
    """Fewest bytes that a sequential read should fetch at once."""
    parallel_reads: int
    """Number of concurrent reads that is worthwhile."""


LOCAL_COST = Cost(wait=0, piece=0, parallel_reads=1)
"""Memory and local files."""

NETWORK_COST = Cost(wait=64 << 10, piece=8 << 20, parallel_reads=16)
"""Object stores and web servers: a request usually takes longer than reading another 64 KiB."""


class Source(abc.ABC):
    """A readable byte string with absolute positions.

    `name` is a path, a URL, or a name inside a `Tree`; `origin` is the offset of its byte 0 in the outermost file, so
    that `span()` can give absolute offsets.
    """

    name: str
    origin: int = 0

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Total bytes."""

    @abc.abstractmethod
    def _read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`, which is inside the source; may be called from any thread."""

    @property
    def location(self) -> str | None:
        """The path or URL that opens this source again, or None when there is none."""
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        """For worker processes, which open a local file again by its path.  Raises `TypeError` for anything else."""
        raise TypeError(f"a {type(self).__name__} is not opened again elsewhere")

    @property
    def outermost(self) -> Source:
        """The source that `origin` is an offset in: for a window, the file that it is a part of; else itself."""
        return self

    @property
    def cost(self) -> Cost:
        """The cost of a read."""
        return LOCAL_COST

    @property
    def is_remote(self) -> bool:
        """Whether a read costs a network round trip."""
        return self.cost.wait > 0

    def fileno(self) -> int | None:
        """A file descriptor whose byte `origin` is this source's byte 0, for in-kernel copies; None without one."""
        return None

    def read_at(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset`.

        Raises `TruncatedError` when the source ends too early, `ShortReadError` when fewer bytes arrive than exist.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TruncatedError(
                "the file ends too early",
                span=self.span(max(0, min(offset, self.size)), self.size),
                expected=f"{counted(size, 'bytes')} at offset {self.origin + offset}",
                actual=counted(max(0, self.size - offset), "bytes"),
            )
        if size == 0:
            return b""
        data = self._read(offset, size)
        if len(data) != size:
            raise ShortReadError(
                "short read",
                span=self.span(offset, offset + size),
                expected=counted(size, "bytes"),
                actual=counted(len(data), "bytes"),
            )
        return data

    def read_range(self, start: int, end: int) -> bytes:
        """The bytes `[start, end)`; raises the same errors as `read_at`."""
        return self.read_at(start, end - start)

    def read_up_to(self, offset: int, size: int) -> bytes:
        """Like `read_at`, but clipped at the end of the source (empty beyond it)."""
        if offset < 0:  # clipped at the start as well
            offset, size = 0, size + offset
        return self.read_at(offset, max(0, min(size, self.size - offset))) if offset < self.size else b""

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of several half-open ranges, in their order; neighboring ranges are read together."""
        return [self.read_at(start, end - start) for start, end in ranges]

    def will_read(self, start: int, stop: int) -> None:  # noqa: B027 - most sources are available
        """Announce that `[start, stop)` will be read in small reads, mostly in order: a remote source prefetches.

        Nothing is read yet, and nothing past `stop` is read for it.
        """

    def chunks(self, start: int = 0, end: int | None = None, size: int = STREAM_CHUNK) -> Iterator[bytes]:
        """The bytes of `[start, end)` in chunks of `size`."""
        stop = self.size if end is None else end
        while start < stop:
            step = min(size, stop - start)
            yield self.read_at(start, step)
            start += step

    def stored(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of `[start, end)` without the holes of a sparse file, whose bytes are zero."""
        if start < end:
            yield start, end

    def is_zero(self, start: int, end: int) -> bool:
        """Whether all bytes of `[start, end)` are zero."""
        return all(chunk.count(0) == len(chunk) for range in self.stored(start, end) for chunk in self.chunks(*range))

    def span(self, start: int, end: int) -> Span:
        """The absolute `Span` of a range of this source."""
        return Span(self.name, self.origin + start, self.origin + end)

    def window(self, start: int, end: int | None = None, name: str | None = None) -> Source:
        """The part `[start, end)` as a source of its own; raises `TruncatedError` when it reaches past the end."""
        return WindowSource(self, start, self.size if end is None else end, name)

    def reader(self) -> SourceReader:
        """A seekable, readable raw file object over this source, with its own position."""
        return SourceReader(self)

    def close(self) -> None:  # noqa: B027 - most sources hold nothing
        """Release what the source holds; harmless to repeat."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {counted(self.size, 'bytes')}>"


class PositionedFile(io.RawIOBase):
    """A seekable raw binary file over something that is read by position (not thread-safe; make one per user)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._position = 0

    @abc.abstractmethod
    def _read_span(self, start: int, end: int) -> bytes:
        """The bytes `[start, end)`, a span inside the file that is not empty."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move the position and return it.  Raises `ValueError` for a negative one and for an unknown `whence`."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}.get(whence)
        if base is None:
            raise ValueError(f"invalid whence ({whence})")
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._position = base + offset
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes from the position; negative: to the end."""
        left = max(0, self._size - self._position)
        size = left if size is None or size < 0 else min(size, left)
        data = self._read_span(self._position, self._position + size) if size else b""
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read(-1)

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


class MemberFile(PositionedFile):
    """One member of an archive as a seekable raw file, over `read(start, end)`."""

    def __init__(self, name: str, size: int, read: Callable[[int, int], bytes]) -> None:
        super().__init__(size)
        self.name = name
        self._read = read

    def _read_span(self, start: int, end: int) -> bytes:
        return self._read(start, end)


class SourceReader(PositionedFile):
    """A `Source`, or a span of it, as a raw file."""

    def __init__(self, source: Source, start: int = 0, end: int | None = None) -> None:
        super().__init__((source.size if end is None else end) - start)
        self._source = source
        self._start = start

    def _read_span(self, start: int, end: int) -> bytes:
        return self._source.read_at(self._start + start, end - start)


class BytesSource(Source):
    """Bytes in memory (or an `mmap`)."""

    def __init__(self, data: bytes | bytearray | memoryview, name: str = "<bytes>") -> None:
        self.name = name
        self._data = memoryview(data).cast("B") if not isinstance(data, bytes) else data

    @property
    def size(self) -> int:
        return len(self._data)

    def _read(self, offset: int, size: int) -> bytes:
        return bytes(self._data[offset : offset + size])


class WindowSource(Source):
    """A range of another source; `origin` keeps offsets absolute."""

    def __init__(self, base: Source, start: int, end: int, name: str | None = None) -> None:
        """Show bytes `[start, end)` of `base` as a source. Raises `TruncatedError` if they reach outside."""
        if not 0 <= start <= end <= base.size:
            raise TruncatedError(
                "the range is outside the file",
                span=Span(base.name, 0, 0),
                expected=f"a range within {counted(base.size, 'bytes')}",
                actual=f"[{start}, {end})",
            )
        self._base, self._start, self._end = base, start, end
        self.name: str = base.name if name is None else name
        self.origin: int = base.origin + start

    @property
    def size(self) -> int:
        return self._end - self._start

    @property
    def outermost(self) -> Source:
        return self._base.outermost

    @property
    def cost(self) -> Cost:
        return self._base.cost

    def fileno(self) -> int | None:
        return self._base.fileno()

    def _read(self, offset: int, size: int) -> bytes:
        return self._base.read_at(self._start + offset, size)

    def stored(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges that are not holes, by offsets in this window."""
        for first, last in self._base.stored(self._start + start, self._start + end):
            yield first - self._start, last - self._start

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read ranges of the window; none may pass its bounds."""
        for start, end in ranges:
            if not 0 <= start <= end <= self.size:
                self.read_at(start, end - start)  # raises, with the bounds of the window
        return self._base.read_many([(self._start + start, self._start + end) for start, end in ranges])

    def will_read(self, start: int, stop: int) -> None:
        self._base.will_read(self._start + start, self._start + min(stop, self.size))

    def close(self) -> None:
        self._base.close()


class StoppedError(Exception):
    """Reading was stopped by the caller.  Not an `ExhumeError`: nothing is wrong with the file."""


class StoppableSource(Source):
    """Another source, whose reads raise `StoppedError` as soon as `stopped()` is true.

    Closing it closes the other source only if that is `owned`: others may still read the same file.
    """

    base: Source

    def __init__(self, base: Source, stopped: Callable[[], bool], *, owned: bool = False) -> None:
        self.base = base
        self.stopped: Callable[[], bool] = stopped
        self._owned = owned
        self.name: str = base.name
        self.origin: int = base.origin

    @property
    def size(self) -> int:
        return self.base.size

    @property
    def location(self) -> str | None:
        return self.base.location

    @property
    def outermost(self) -> Source:
        return self.base.outermost

    @property
    def cost(self) -> Cost:
        return self.base.cost

    def _check(self) -> None:
        """Raise `StoppedError` if the caller has stopped the reading."""
        if self.stopped():
            raise StoppedError

    def _read(self, offset: int, size: int) -> bytes:
        """Read from the base, unless the work was stopped."""
        self._check()
        return self.base.read_at(offset, size)

    def stored(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the base's ranges, unless the work was stopped."""
        self._check()
        return self.base.stored(start, end)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read ranges of the base, unless the work was stopped."""
        self._check()
        return self.base.read_many(ranges)

    def will_read(self, start: int, stop: int) -> None:
        """Announce a read to the base, unless the work was stopped."""
        self._check()
        self.base.will_read(start, stop)

    def close(self) -> None:
        if self._owned:
            self.base.close()


class PlannedRead(NamedTuple):
    """A read of the bytes `[start, end)` that serves several ranges; `members` are their positions among all ranges."""

    start: int
    end: int
    members: list[int]


def plan_reads(
    ranges: Sequence[tuple[int, int]], *, max_gap: int = COALESCE_GAP, max_size: int = COALESCE_SIZE
) -> list[PlannedRead]:
    """Merge half-open ranges into fewer reads, in file order.

    Ranges join when the gap is at most `max_gap` bytes and the joined read stays within `max_size`.
    """
    plan: list[PlannedRead] = []
    for index in sorted(range(len(ranges)), key=lambda number: ranges[number]):
        start, end = ranges[index]
        if plan:
            last = plan[-1]
            joined_end = max(end, last.end)
            grows = joined_end > last.end
            if start - last.end <= max_gap and (not grows or joined_end - last.start <= max_size):
                plan[-1] = PlannedRead(last.start, joined_end, [*last.members, index])
                continue
        plan.append(PlannedRead(start, end, [index]))
    return plan


def close_quietly(fd: int) -> None:
    """Close a descriptor that was only read; an error here cannot affect the data already read."""
    with contextlib.suppress(OSError):
        os.close(fd)


def source_error(error: OSError, name: str, start: int = 0, end: int = 0) -> SourceError:
    """Return an operating system error as a `SourceError` that names the file and, if given, the bytes."""
    return source_error_type(error)(error.strerror or str(error), span=Span(name, start, end))
