"""One remote object as a source: edges kept, small reads in sequence joined, the length of every answer checked.

The edges of an object are its first and last bytes (head and tail), which identify the format.  How an object is
requested is up to its store (`stores`); when to try again, and which error a failure becomes, is in `exhume.io.remote`.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from exhume.counts import counted
from exhume.errors import (
    RangeNotSupportedError,
    ShortReadError,
    SourceChangedError,
    SourceError,
    Span,
)
from exhume.io import activity
from exhume.io.remote import attempt
from exhume.io.remote.readahead import AdaptiveConcurrency, ReadAhead
from exhume.io.source import COALESCE_GAP, NETWORK_COST, Cost, Source, plan_reads
from exhume.redaction import redact

FREE_BYTES = 16 << 20
"""Bytes of a remote object that may be read without `allow_full_download`; see `RemoteSource`."""

HEAD = 64 << 10
TAIL = 256 << 10
"""Bytes at the start and at the end of an object that are fetched in one request each and kept, as they identify the
format."""

SMALL = 4 << 10
"""Reads below this size fetch the whole head or tail that contains them; larger ones only their range."""

_BLOCK = 1 << 20
"""Unit in which `RequestedSpans` counts requested bytes."""

# Keys of an entry in a listing that change when the object is written, as different stores name them.
_IDENTITY_KEYS = (
    "ETag",
    "etag",
    "LastModified",
    "last_modified",
    "mtime",
    "updated",
    "created",
    "md5Hash",
    "generation",
)


class RequestedSpans:
    """The megabytes of an object that were requested, as disjoint spans in order.

    Their memory depends on the requests alone, as the size that a server states may be wrong.
    """

    def __init__(self) -> None:
        # Where the spans start and stop: multiples of `_BLOCK`, ascending.
        self._starts: list[int] = []
        self._stops: list[int] = []
        self.size: int = 0
        """Bytes, in whole megabytes."""

    def _find(self, start: int, stop: int) -> tuple[int, int, int, int]:
        """Return `(low, high, start, end)`: the indexes `[low, high)` of the spans that a range touches, and the range
        that covers it and them.
        """
        first, last = start // _BLOCK * _BLOCK, -(-stop // _BLOCK) * _BLOCK  # rounded down, and up
        low, high = bisect_left(self._stops, first), bisect_right(self._starts, last)
        if low < high:
            first, last = min(first, self._starts[low]), max(last, self._stops[high - 1])
        return low, high, first, last

    def size_with(self, start: int, stop: int) -> int:
        """Return what `size` would be after `add` of the same range."""
        low, high, first, last = self._find(start, stop)
        known = zip(self._starts[low:high], self._stops[low:high], strict=True)
        return self.size + last - first - sum(end - begin for begin, end in known)

    def add(self, start: int, stop: int) -> None:
        """Enter a range."""
        self.size = self.size_with(start, stop)
        low, high, first, last = self._find(start, stop)
        self._starts[low:high] = [first]
        self._stops[low:high] = [last]


class RemoteSource(Source):
    """One remote object.  Every answer's length is checked; the object's identity is remembered.

    Reading most of it (more than `FREE_BYTES` and more than half, counted in distinct megabytes) needs
    `allow_full_download`: a selective tool should not become a download by surprise.
    """

    has_keys = False
    """Whether the store has no directories, only keys with common prefixes; then `first` may take one for an object."""

    is_shared = False
    """Whether a tree hands this source out again and again, and closes it itself."""

    tries_again = False
    """Whether the file system repeats failed requests itself, for long enough."""

    def __init__(
        self,
        fs: Any,
        path: str,
        name: str,
        info: Mapping[str, Any],
        *,
        allow_full_download: bool = False,
        pace: AdaptiveConcurrency | None = None,
    ) -> None:
        """Take an object whose entry `info` is known: `size` is required; `edge` is (offset, bytes) of an end.

        `path` is how `fs` knows the object, `name` is for messages; `pace` is the number of requests in flight, if it
        is shared.  Raises `RangeNotSupportedError` without a usable size.
        """
        self.name: str = redact(name)
        self.allow_full_download = allow_full_download
        self._location = name  # with the secrets that `name` hides
        self._fs, self._path = fs, path
        size = info.get("size")
        if size is None:
            raise RangeNotSupportedError("server did not report the object size", span=Span(name, 0, 0))
        self._size = int(size)
        self._identity = identity_of(info)
        self.modified: datetime | None = _time(info)
        """Time of the last write, if the storage reports it."""
        self._version = info.get("VersionId") or info.get("version_id")
        self._edges: list[tuple[int, bytes]] = []  # (offset, bytes) of the head and tail once they were fetched
        if info.get("edge"):
            self._edges.append(info["edge"])
            self._report_fetch(*info["edge"])
        if not 0 <= self._size < 1 << 63:
            raise RangeNotSupportedError("the server states an impossible size", span=Span(name, 0, 0), actual=size)
        self._touched = RequestedSpans()  # what was requested so far
        self._lock = threading.Lock()  # for `_touched`
        self._edge_locks = (threading.Lock(), threading.Lock())  # for the head and the tail
        # Prefetch in threads only where the file system is made for several requests at a time.
        ahead = self._fetch_ahead if getattr(fs, "async_impl", False) else None
        self._ahead = ReadAhead(self._size, COALESCE_GAP, self._fetch_further, ahead, pace)

    @classmethod
    def first(cls, fs: Any, path: str, name: str, tail: bool = False) -> Mapping[str, Any] | None:
        """Size, identity and head (or tail) of an object in one request; None where that cannot be: ask `fs.info`."""
        return None

    @property
    def size(self) -> int:
        return self._size

    @property
    def location(self) -> str | None:
        return self._location

    @property
    def cost(self) -> Cost:
        return NETWORK_COST

    def _read(self, offset: int, size: int) -> bytes:
        """Read a range from the cached head or tail, from a sequential read, or by a request of its own."""
        end = offset + size
        kept = self._cached_edge(offset, end)
        if kept is not None:
            return kept
        if self._size <= HEAD + TAIL:  # a small object is fetched as a whole
            with self._edge_locks[0]:
                return self._cached_edge(offset, end) or self._read_whole()[offset:end]
        # A very small read at either end fetches the whole head or tail, which is kept.
        is_edge = size < SMALL and (end <= HEAD or offset >= self._size - TAIL)
        run = self._ahead.find(offset, end, guess=not is_edge)
        if run is not None:
            return self._ahead.read(run, offset, end)
        if not is_edge:
            return self._fetch_checked([(offset, end)])[0]
        with self._edge_locks[end > HEAD]:  # that of the head or the tail: requested once, however many want it
            kept = self._cached_edge(offset, end)
            if kept is None:
                first, last = (0, HEAD) if end <= HEAD else (self._size - TAIL, self._size)
                (data,) = self._fetch_checked([(first, last)])
                self._edges.append((first, data))
                kept = data[offset - first : end - first]
            return kept

    def _read_whole(self) -> bytes:
        """Fetch a small object completely, without the head if that is there already, and keep it as its only edge."""
        head = self._cached_edge(0, HEAD) or b"" if self._size > HEAD else b""
        whole = head + self._fetch_checked([(len(head), self._size)])[0]
        self._edges[:] = [(0, whole)]
        return whole

    def _fetch_further(self, start: int, end: int, stop: int) -> bytes:
        """Fetch `[start, stop)`; only `[start, end)` if the rest would exceed what may be read."""
        if self._may_read(start, stop):
            end = stop
        return self._fetch_checked([(start, end)])[0]

    def _fetch_ahead(self, start: int, stop: int) -> Callable[[], bytes] | None:
        """Return a function that fetches `[start, stop)` in another thread, tried once.

        None if that would exceed what may be read, or if an observer has to be notified of all fetched bytes.
        """
        if activity.current is not None:
            return None
        if self._may_read(start, stop):
            return lambda: self._fetch_checked([(start, stop)], again=False)[0]
        return None

    def will_read(self, start: int, stop: int) -> None:
        self._ahead.will_read(start, stop)

    def preload(self, start: int, stop: int) -> None:
        """Announce a read of `[start, stop)`, and fetch its first chunk now, in one request."""
        if stop <= start or self._cached_edge(start, stop) is not None:
            return
        if self._size <= HEAD + TAIL:  # any read fetches the whole object
            self._read(start, 1)
        else:
            self._ahead.load(start, stop)

    def close(self) -> None:
        if not self.is_shared:
            self.forget()

    def forget(self) -> None:
        """Free the prefetched data."""
        self._ahead.drop()

    def _cached_edge(self, start: int, end: int) -> bytes | None:
        """The bytes of a range within the head or tail already fetched."""
        for at, data in self._edges:
            if at <= start and end <= at + len(data):
                return data[start - at : end - at]
        return None

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read several ranges `(start, end)` with few requests, since near ones are fetched together.

        Raises `SourceError` for one that is not within the object, and as `read_at` does.
        """
        for start, end in ranges:
            if not 0 <= start <= end <= self._size:
                self.read_at(start, end - start)  # raises the error
        if self._size <= HEAD + TAIL:  # any read fetches the whole object
            return [self._read(start, end - start) if end > start else b"" for start, end in ranges]
        out = [self._cached_edge(start, end) or b"" if end > start else b"" for start, end in ranges]
        wanted = [number for number, (start, end) in enumerate(ranges) if end > start and not out[number]]
        # Each read of the plan serves several of the wanted ranges, its members.
        plan = plan_reads([ranges[number] for number in wanted])
        places = [(start, end) for start, end, _ in plan]
        # A single read may be part of an announced range.
        run = self._ahead.find(*places[0], guess=False) if len(plan) == 1 else None
        answers = [self._ahead.read(run, *places[0])] if run is not None else self._fetch_checked(places)
        for (start, _, members), data in zip(plan, answers, strict=True):
            for member in members:
                number = wanted[member]
                first, last = ranges[number]
                out[number] = data[first - start : last - start]
        return out

    def _fetch_checked(self, ranges: list[tuple[int, int]], *, again: bool = True) -> list[bytes]:
        """Fetch ranges and check the length of each answer.

        `again` allows to repeat failed requests, unless the store does that itself.
        """
        if not ranges:
            return []
        self._account(ranges)
        again = again and not self.tries_again
        answers = attempt(lambda: self._fetch(ranges), self.name, ranges[0][0], ranges[-1][1], again=again)
        for (start, end), data in zip(ranges, answers, strict=True):
            if len(data) != end - start:
                self._explain_length(start, end - start, len(data))
            activity.count(len(data))
            self._report_fetch(start, data)
        return answers

    def _report_fetch(self, start: int, data: bytes) -> None:
        """Reports fetched bytes to the observer, if there is one."""
        if activity.current is None:
            return
        facts = {
            "size": self._size,
            "identity": dict(self._identity),
            "version": None if self._version is None else str(self._version),
            "modified": None if self.modified is None else self.modified.isoformat(),
        }
        name = self.name if "://" in self.name else redact(str(self._fs.unstrip_protocol(self._path)))
        activity.current.on_fetch(name, facts, start, data)

    def _fetch(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """The bytes of non-empty ranges; any exception may be raised, any length returned."""
        raise AssertionError("a subclass reads")

    @property
    def _free_bytes(self) -> int:
        """Bytes of the object that may be read without `allow_full_download`."""
        return max(FREE_BYTES, self._size // 2)

    def _may_read(self, start: int, stop: int) -> bool:
        """Whether a range may be read in addition to those before."""
        if self.allow_full_download:
            return True
        with self._lock:
            return self._touched.size_with(start, stop) <= self._free_bytes

    def _account(self, ranges: list[tuple[int, int]]) -> None:
        """Count ranges that will be fetched.  Raises `SourceError` [EX-607] if they are most of a large object."""
        if self.allow_full_download or self._size <= FREE_BYTES:
            return
        with self._lock:
            for start, end in ranges:
                self._touched.add(start, end)
            too_many = self._touched.size > self._free_bytes
        if too_many:
            raise SourceError(
                "would download most of the object",
                code="EX-607",
                span=Span(self.name, 0, 0),
                expected=f"at most {counted(self._free_bytes, 'bytes')}",
                actual=f"an object of {counted(self._size, 'bytes')}",
            )

    def _explain_length(self, offset: int, size: int, got: int) -> None:
        """Raise the error for an answer of `got` instead of `size` bytes: range ignored, object changed, or cut."""
        span = self.span(offset, offset + size)
        if got > size:
            raise RangeNotSupportedError(
                "the server ignored the byte range",
                span=span,
                expected=counted(size, "bytes"),
                actual=counted(got, "bytes"),
            )
        self.check_unchanged()
        raise ShortReadError("short response", span=span, expected=counted(size, "bytes"), actual=counted(got, "bytes"))

    def check_unchanged(self) -> None:
        """Request the object's identity again; raise `SourceChangedError` when it is another one now."""
        self._fs.invalidate_cache()
        info = attempt(lambda: self._fs.info(self._path), self.name, again=not self.tries_again)
        now = identity_of(info)
        other = any(now[key] != value for key, value in self._identity.items() if key in now)
        if info.get("size") != self._size or other:
            raise self._changed(_in_words(info.get("size"), now))

    def _changed(self, now: str) -> SourceChangedError:
        """Return the error for an object that changed; `now` is its identity or size now."""
        return SourceChangedError(
            "the object changed while it was being read",
            span=Span(self.name, 0, 0),
            expected=_in_words(self._size, self._identity),
            actual=now,
        )

    def above(self, levels: int) -> tuple[Any, str]:
        """The fsspec file system, and in it the path of the directory `levels` up."""
        path = self._path
        for _ in range(levels):
            path = self._fs._parent(path)  # noqa: SLF001 - fsspec's own way up, overridden per file system
        return self._fs, path


def identity_of(info: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of an object's entry that change when it is written."""
    return {key: str(info[key]).strip('"') for key in _IDENTITY_KEYS if info.get(key) is not None}


def _time(info: Mapping[str, Any]) -> datetime | None:
    """Time of an object's last write, under any of the names that file systems use."""
    for key in ("modified", "LastModified", "last_modified", "mtime", "updated", "created", "Last-Modified"):
        value = info.get(key)
        try:
            if isinstance(value, datetime):
                return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            if isinstance(value, (int, float)):
                return datetime.fromtimestamp(value, UTC)
            if isinstance(value, str):
                return parsedate_to_datetime(value) if "," in value else datetime.fromisoformat(value)
        except (ValueError, OverflowError, OSError):
            continue
    return None


def _in_words(size: Any, identity: Mapping[str, Any]) -> str:
    """The size of an object, and what the server states to identify its version, if anything."""
    return ", ".join([counted(size, "bytes"), *(f"{key} {value}" for key, value in identity.items())])
