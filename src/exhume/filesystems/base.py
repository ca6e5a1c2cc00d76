"""From the instance of a file system to an open archive, and to the bytes of what is in it.

fsspec is the library of file systems in which exhume's take part.
Only a few archives are open at a time; they are closed when idle and opened again when needed: fsspec keeps every file
system instance for the life of the process, and a loop over ten thousand chunks must not keep ten thousand files and
indexes open.
"""

from __future__ import annotations

import os
import threading
import weakref
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from exhume.archive import Archive
from exhume.errors import EntryNotFoundError, SourceChangedError, SourceError, WriterError
from exhume.filesystems.readonly import ReadOnlyFileSystem, file_time
from exhume.io.opening import open_target
from exhume.io.remote.opening import open_url
from exhume.io.remote.source import RemoteSource
from exhume.io.source import Source, plan_reads
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.registry import get_format
from exhume.tuples import NamedTuple

MOST_OPEN = 32
"""Idle archives kept open in a process."""


class Closable(Protocol):
    """Anything that can be closed, and so be held open."""

    def close(self) -> None:
        """Release it."""


T = TypeVar("T", bound=Closable)


class SharedObject(Generic[T]):
    """An open object, data read from it (`notes`), and the number of its users."""

    __slots__ = ("dropped", "identity", "item", "lock", "notes", "users")

    def __init__(self, item: T, identity: Any) -> None:
        """Wrap an open object. `identity` shows whether its file has changed since."""
        self.item: T = item
        self.identity: Any = identity
        self.notes: dict[str, Any] = {}  # data that users read from it and share
        self.lock: threading.RLock = threading.RLock()  # for `notes`, and for items that are not thread-safe
        self.users: int = 0  # `lease`s in progress
        self.dropped: bool = False  # no longer in the cache: the last user closes it


class OpenObjectCache(Generic[T]):
    """Open objects by key. The least recently used one is closed first; one in use, when its last user is done."""

    def __init__(self, most: int = MOST_OPEN) -> None:
        """Keep at most `most` objects open, not counting those in use."""
        self._most = most
        self._forget()
        if hasattr(os, "register_at_fork"):
            # Connections and their threads do not survive a fork: the child opens its own.
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Start without open objects, here or in a forked child: those of the parent are not closed."""
        self._held: OrderedDict[object, SharedObject[T]] = OrderedDict()
        self._lock = threading.RLock()  # reentrant: a finalizer may run in this thread at any time

    @contextmanager
    def lease(
        self, key: object, opener: Callable[[], T], identify: Callable[[T], Any] = lambda item: None
    ) -> Iterator[SharedObject[T]]:
        """Keep the object of a key open within a `with`; `opener` opens it if needed.

        It is opened again if `identify` no longer returns the value that it returned then.
        """
        held = self._take(key)
        if held is not None and identify(held.item) != held.identity:
            self._give(held)
            self.drop(key)
            held = None
        if held is None:
            item = opener()
            held = self._put(key, SharedObject(item, identify(item)))
        try:
            yield held
        finally:
            self._give(held)

    def _take(self, key: object) -> SharedObject[T] | None:
        """Return the open object of a key, with one more user; None if it is not open."""
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                held.users += 1
                self._held.move_to_end(key)
            return held

    def _put(self, key: object, made: SharedObject[T]) -> SharedObject[T]:
        """Add an opened object, and return the one to use, which is another thread's if that was faster.

        The oldest objects of a full cache are closed, once no one uses them.
        """
        surplus: list[SharedObject[T]] = []
        with self._lock:
            held = self._held.get(key)
            if held is not None:  # another thread was faster
                surplus.append(made)
            else:
                held = self._held[key] = made
                while len(self._held) > self._most:
                    _, oldest = self._held.popitem(last=False)
                    oldest.dropped = True
                    if not oldest.users:
                        surplus.append(oldest)
            held.users += 1
        for other in surplus:
            other.item.close()
        return held

    def _give(self, held: SharedObject[T]) -> None:
        """End one use of an object, and close it if it was dropped and this was the last."""
        with self._lock:
            held.users -= 1
            done = held.dropped and not held.users
        if done:
            held.item.close()

    def drop(self, key: object) -> None:
        """Close the object of that key once it has no users; do nothing if there is none."""
        with self._lock:
            held = self._held.pop(key, None)
            if held is None:
                return
            held.dropped = True
            done = not held.users
        if done:
            held.item.close()

    def __len__(self) -> int:
        return len(self._held)


OPEN: OpenObjectCache[Archive] = OpenObjectCache()
"""The archives of all file systems of the process."""


class ArchiveFileSystem(ReadOnlyFileSystem):
    """One archive as a file system.

    `fo` is the archive: a path, a URL, or anything else that `exhume.open` takes; in a chained URL, the part after
    `::`.  `target_protocol` and `target_options` say how fsspec reaches it.  `allow_full_download` permits reading most
    of a large remote archive, `follow_redirects` redirects to other hosts; `limits` raises or lowers safety
    limits by name, `archive_options` go to `exhume.open`.

    The archive is opened when it is first needed, and closed by `close()`, when 32 others have been used since, or with
    the instance.  A local archive that is replaced is opened again; a remote one that changes raises
    `SourceChangedError` once, and is then opened again.
    """

    format: ClassVar[str]

    def __init__(
        self,
        fo: Any = "",
        target_protocol: str | None = None,
        target_options: Mapping[str, Any] | None = None,
        allow_full_download: bool = False,
        limits: Mapping[str, int] | None = None,
        archive_options: Mapping[str, Any] | None = None,
        follow_redirects: bool = False,
        **kwargs: Any,
    ) -> None:
        """Note the options; nothing is opened yet.  Raises `WriterError` without an archive."""
        super().__init__(**kwargs)
        if isinstance(fo, (str, os.PathLike)) and not os.fspath(fo):
            raise WriterError(f"which archive? {self.protocol}://MEMBER::URL-OF-THE-ARCHIVE, or fo=")
        self.fo: Any = fo
        self.target_protocol = target_protocol
        self.target_options: dict[str, Any] = dict(target_options or {})
        self.allow_full_download = allow_full_download
        self.follow_redirects = follow_redirects
        self.limits: Limits = _limits(limits)
        self.archive_options: dict[str, Any] = dict(archive_options or {})
        self._key = object()  # of this instance in `OPEN`; not the instance itself, which `OPEN` would keep alive
        weakref.finalize(self, OPEN.drop, self._key)

    # The archive

    @contextmanager
    def _lease(self) -> Iterator[SharedObject[Archive]]:
        """Use the open archive inside a `with`; one whose file has changed is dropped."""
        try:
            with OPEN.lease(self._key, self._open_archive, _local_identity) as held:
                yield held
        except SourceChangedError:
            OPEN.drop(self._key)
            raise

    def _open_archive(self) -> Archive:
        """Open the archive; its target is closed if that fails, unless it is the caller's file."""
        from exhume.engines.identify import open_archive

        target = self._open_target()
        try:
            return open_archive(target, format=self.format, limits=self.limits, **self.archive_options)
        except BaseException:
            if target is not self.fo:
                target.close()
            raise

    def _open_target(self) -> Source | Tree:
        """Open what the archive is in.  Raises `FileNotFoundError` if it is missing, else as `open_target` does."""
        if not isinstance(self.fo, (str, os.PathLike)):
            return open_target(self.fo)
        options = {
            **self.target_options,
            "allow_full_download": self.allow_full_download,
            "follow_redirects": self.follow_redirects,
        }
        if self.target_protocol:
            options["protocol"] = self.target_protocol
        try:  # `tail_first`: the format is read from its end, which is requested first
            return open_url(os.fspath(self.fo), options, tail_first=get_format(self.format).tail_first)
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise FileNotFoundError(error.span.source if error.span else self.fo) from error
            raise

    def _identity(self) -> Any:
        """Return a value that changes when the archive does, for fsspec's checksums of files."""
        with self._lease() as held:
            source = held.item.source
            return held.item.name, held.identity, getattr(source, "identity", None), getattr(source, "size", None)

    def _stored_at(self) -> datetime | None:
        """Return when the archive itself was last modified, if that is known."""
        with self._lease() as held:
            source = held.item.source
            if isinstance(source, RemoteSource):
                return source.modified
            return file_time(source.location)

    def close(self) -> None:
        """Close the archive; the next use opens it again."""
        OPEN.drop(self._key)

    def invalidate_cache(self, path: Any = None) -> None:
        """Forget everything that was read from the archive."""
        OPEN.drop(self._key)

    # Reading

    def _fetch(self, requests: Sequence[tuple[str, int | None, int | None]]) -> list[bytes | Exception]:
        """Return for each request `(path, start, end)`, in order, its bytes or the exception that reading it raises.

        The requested ranges of all uncompressed files are read from the source together.  Those of a compressed file
        are joined where they are near each other, since each read decompresses.
        """
        with self._lease() as held:
            out: list[bytes | Exception] = [b""] * len(requests)
            uncompressed, compressed = self._plan(held, requests, out)
            for source, ranges in uncompressed.values():
                _fill(out, ranges, partial(source.read_many, [one.span for one in ranges]))
            for path, ranges in compressed.items():
                spans = [one.span for one in ranges]
                # Larger ranges to read, each with the indexes of the requests in it.
                for start, end, members in plan_reads(spans):
                    chosen = [ranges[member] for member in members]
                    _fill(out, chosen, _slicer(self, held, path, start, end, [one.span for one in chosen]))
            if any(isinstance(result, SourceChangedError) for result in out):
                OPEN.drop(self._key)  # the next request opens the changed file
            return out

    def _plan(
        self,
        held: SharedObject[Archive],
        requests: Sequence[tuple[str, int | None, int | None]],
        out: list[bytes | Exception],
    ) -> tuple[dict[int, tuple[Source, list[_Request]]], dict[str, list[_Request]]]:
        """Return the ranges to read: of uncompressed files by the id of their source, of compressed ones by path.

        An error of a request is put into `out`, which has their results.
        """
        uncompressed: dict[int, tuple[Source, list[_Request]]] = {}
        compressed: dict[str, list[_Request]] = {}
        for index, (path, start, end) in enumerate(requests):
            try:
                size, place = self._place(held, path)
                first, last, _ = slice(start, end).indices(size)
                if last <= first:
                    if first == 0 == size:
                        self._read(held, path, 0, 0)  # an empty file is checked as far as it can be
                elif place is not None:
                    source, base = place
                    _, ranges = uncompressed.setdefault(id(source), (source, []))
                    ranges.append(_Request(index, (base + first, base + last)))
                else:
                    compressed.setdefault(path, []).append(_Request(index, (first, last)))
            except EntryNotFoundError:
                out[index] = FileNotFoundError(path)
            except Exception as error:  # the result for this path, as in `_fill`
                out[index] = error
        return uncompressed, compressed

    @abstractmethod
    def _place(self, held: SharedObject[Archive], path: str) -> tuple[int, tuple[Source, int] | None]:
        """A file's size, and source and offset if it is stored uncompressed.  Raises `FileNotFoundError` and others."""

    @abstractmethod
    def _read(self, held: SharedObject[Archive], path: str, start: int, end: int) -> bytes:
        """Bytes of a file that `_place` knows; `0 <= start <= end <= size`."""


class _Request(NamedTuple):
    """A byte range `[start, stop)` to read, and the number of the request that it is for."""

    number: int
    span: tuple[int, int]


def _slicer(
    fs: ArchiveFileSystem, held: SharedObject[Archive], path: str, start: int, end: int, spans: list[tuple[int, int]]
) -> Callable[[], list[bytes]]:
    """Return a function that reads `[start, end)` of a member of the open archive once and cuts `spans` out of it."""

    def read() -> list[bytes]:
        """Read the range, and return the bytes of each span."""
        data = fs._read(held, path, start, end)  # noqa: SLF001 - same module
        return [data[first - start : last - start] for first, last in spans]

    return read


def _fill(out: list[bytes | Exception], requests: list[_Request], read: Callable[[], list[bytes]]) -> None:
    """Call `read` for the bytes of the requests, and put them into `out`; if it raises, the exception instead."""
    try:
        for request, data in zip(requests, read(), strict=True):
            out[request.number] = data
    except Exception as error:  # fsspec's on_error="return" hands on whatever was raised
        for request in requests:
            out[request.number] = error


def _limits(given: Mapping[str, int] | None) -> Limits:
    """Return the default limits with those of the caller."""
    if not given:
        return DEFAULT_LIMITS
    return DEFAULT_LIMITS.with_overrides([f"{name}={value}" for name, value in given.items()])


def _local_identity(archive: Archive) -> Any:
    """A value that distinguishes a local archive from one that replaced it; None for others."""
    if isinstance(archive.source, Source) and archive.source.is_remote:
        return None
    location = archive.source.location
    if location is None or "://" in location:
        return None
    try:
        stat = os.stat(location)  # noqa: PTH116 - location is text
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
