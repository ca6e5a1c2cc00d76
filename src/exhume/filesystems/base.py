"""What the file systems share: reading by path, refusing to write, and the way from an instance to an open archive."""

from __future__ import annotations

import os
import weakref
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, ClassVar, Never

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem
from fsspec.utils import stringify_path, tokenize

from exhume.archive import Archive
from exhume.errors import (
    EntryNotFoundError,
    SourceChangedError,
    SourceError,
    Span,
    UnsupportedOperationError,
    WriterError,
)
from exhume.filesystems.leases import OPEN, Held
from exhume.io.opening import open_target
from exhume.io.remote.opening import open_url
from exhume.io.remote.source import RemoteSource
from exhume.io.source import COALESCE_GAP, COALESCE_SIZE, Source, plan_reads
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.registry import get_format

BLOCK_SIZE = 1 << 20
"""Bytes that an open file reads ahead."""

Info = dict[str, Any]


UNKNOWN_TIME = datetime.fromtimestamp(0, UTC)
"""The result of `modified` for an unknown time: callers expect some time and cannot handle None."""


def file_time(path: str | None) -> datetime | None:
    """When a local file was last written; None for anything else."""
    if path is None or "://" in path:
        return None
    try:
        return datetime.fromtimestamp(os.stat(path).st_mtime, UTC)  # noqa: PTH116 - path is text
    except OSError:
        return None


def is_path(name: str) -> bool:
    """Whether a name can be a path: no empty, `.` or `..` part, which would leave a directory it is copied to."""
    return "\0" not in name and not any(part in ("", ".", "..") for part in name.split("/"))


def folder_info(path: str) -> Info:
    """The entry of a directory."""
    return {"name": path, "size": 0, "type": "directory"}


class Paths:
    """Paths in sorted order, so that a directory is a range of them; `left_out` counts names that are not paths."""

    def __init__(self, names: Iterable[str]) -> None:
        listed = list(names)
        self.paths = sorted(name for name in listed if is_path(name))
        self.left_out = len(listed) - len(self.paths)

    def is_folder(self, path: str) -> bool:
        """Whether anything is below a path."""
        at = bisect_left(self.paths, f"{path}/")
        return not path or (at < len(self.paths) and self.paths[at].startswith(f"{path}/"))

    def children(self, folder: str) -> Iterator[tuple[str, bool]]:
        """What is directly in a directory: `(path, whether it is a directory)`, in sorted order."""
        lead = f"{folder}/" if folder else ""
        at = bisect_left(self.paths, lead)
        while at < len(self.paths) and self.paths[at].startswith(lead):
            path = self.paths[at]
            cut = path.find("/", len(lead))
            if cut < 0:
                yield path, False
                at += 1
            else:
                yield path[:cut], True
                at = bisect_left(self.paths, path[:cut] + "0", at)  # "0" follows "/": behind all that is below


class ReadOnlyFile(AbstractBufferedFile):  # type: ignore[misc]
    """An open member: seekable, buffered, read in ranges."""

    DEFAULT_BLOCK_SIZE = BLOCK_SIZE

    def _fetch_range(self, start: int, end: int) -> bytes:
        data: bytes = self.fs.cat_file(self.path, start=start, end=end)
        return data


class ReadOnlyFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Reading by path, built on three methods: what is at a path, what is below it, and which bytes it has."""

    root_marker = ""
    protocol: ClassVar[str]
    cachable = True

    # What a subclass answers.  Paths are stripped.

    @abstractmethod
    def _entry(self, path: str) -> Info | None:
        """The entry at a path; None when there is none."""

    @abstractmethod
    def _children(self, path: str) -> list[Info] | None:
        """The entries directly below a path; None when it is not a directory."""

    @abstractmethod
    def _fetch(self, requests: Sequence[tuple[str, int | None, int | None]]) -> list[bytes | Exception]:
        """Byte ranges of files, each clipped like a slice, or the error for each that cannot be read."""

    # Asking

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = stringify_path(path)
        for head in (f"{cls.protocol}://", f"{cls.protocol}::"):
            text = text.removeprefix(head)
        return text.strip("/")

    def info(self, path: Any, **kwargs: Any) -> Info:
        """Name, size in bytes, type and other details of one path.  Raises `FileNotFoundError`."""
        stripped = self._strip_protocol(path)
        found = self._entry(stripped)
        if found is None:
            raise FileNotFoundError(stripped)
        return found

    def ls(self, path: Any, detail: bool = True, **kwargs: Any) -> list[Any]:
        """The entries directly below a directory, or the one entry of a file.  Raises `FileNotFoundError`."""
        stripped = self._strip_protocol(path)
        found = self._children(stripped)
        if found is None:
            found = [self.info(stripped)]
        found.sort(key=itemgetter("name"))
        return found if detail else [info["name"] for info in found]

    def exists(self, path: Any, **kwargs: Any) -> bool:
        """Whether something is at the path; a damaged archive raises its error instead of giving False."""
        return self._kind(path) is not None

    def isdir(self, path: Any) -> bool:
        """Whether the path is a directory."""
        return self._kind(path) == "directory"

    def isfile(self, path: Any) -> bool:
        """Whether the path is a file."""
        return self._kind(path) == "file"

    def _kind(self, path: Any) -> str | None:
        try:
            found = self._entry(self._strip_protocol(path))
        except FileNotFoundError:  # the archive itself
            return None
        return None if found is None else str(found["type"])

    def checksum(self, path: Any) -> int:
        """A number that changes when the file does."""
        return int(self.ukey(path), 16)

    def ukey(self, path: Any) -> str:
        """A text that changes when the file does."""
        key: str = tokenize(self._identity(), self.info(path))
        return key

    def _identity(self) -> Any:
        """A value that changes when the archive does."""
        return self.storage_args, self.storage_options

    def modified(self, path: Any) -> datetime:
        """When the archive was stored, since members have no times; `UNKNOWN_TIME` where the storage does not say."""
        self.info(path)
        return self._stored_at() or UNKNOWN_TIME

    @abstractmethod
    def _stored_at(self) -> datetime | None:
        """When the archive was stored; None when unknown."""

    # Reading

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | str | None = None,
        autocommit: bool = True,
        cache_options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> ReadOnlyFile:
        if mode != "rb":
            self._refuse(path)
        info = self.info(path)
        if info["type"] == "directory":
            raise IsADirectoryError(path)
        kwargs["size"] = info["size"]
        return ReadOnlyFile(self, info["name"], mode, block_size or "default", cache_options=cache_options, **kwargs)

    def cat_file(self, path: Any, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        """The bytes `[start, end)` of a file, clipped like a slice; all of it without them.

        Raises `FileNotFoundError`, and the archive's own errors for damage.
        """
        (data,) = self._fetch([(self._strip_protocol(path), start, end)])
        if isinstance(data, Exception):
            raise data
        return data

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list[Any]:
        """The bytes of many ranges; neighbouring ones are read together, others concurrently where the storage can.

        Failures are returned in place of the bytes, or, if `on_error` is not "return", the first one is raised.  Raises
        `TypeError` when `paths` is not a list, and `ValueError` when the lists differ in length.
        """
        if not isinstance(paths, list):
            raise TypeError("paths must be a list")
        starts = starts if isinstance(starts, list) else [starts] * len(paths)
        ends = ends if isinstance(ends, list) else [ends] * len(paths)
        if not len(paths) == len(starts) == len(ends):
            raise ValueError("paths, starts and ends differ in length")
        names = [self._strip_protocol(path) for path in paths]
        out = self._fetch(list(zip(names, starts, ends, strict=True)))
        if on_error != "return":
            for data in out:
                if isinstance(data, Exception):
                    raise data
        return list(out)

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **kwargs: Any) -> Any:
        """Whole files: bytes for one path, a dictionary by path for several (a list, a glob, a directory).

        Raises as `cat_file` does; with `on_error` "return" or "omit", failures are returned or left out instead.
        """
        paths = self.expand_path(path, recursive=recursive)
        if len(paths) == 1 and not recursive and not isinstance(path, list) and self._strip_protocol(path) == paths[0]:
            return self.cat_file(paths[0])
        files = [one for one in paths if not self.isdir(one)]
        out: dict[str, Any] = {}
        for one, data in zip(files, self._fetch([(one, None, None) for one in files]), strict=True):
            if isinstance(data, Exception):
                if on_error == "raise":
                    raise data
                if on_error == "omit":
                    continue
            out[one] = data
        return out

    # Writing: never

    def _refuse(self, path: object = "", *args: object, **kwargs: object) -> Never:
        raise UnsupportedOperationError(
            f"{self.protocol}:// is read-only: archives are written whole, with exhume.create or exhume create",
            span=Span(str(path), 0, 0),
        )

    mkdir = makedirs = rmdir = rm_file = _rm = rm = cp_file = copy = mv = touch = put_file = pipe_file = _refuse


class ArchiveFileSystem(ReadOnlyFileSystem):
    """One archive as a file system.

    `fo` is the archive: a path, a URL, or anything else that `exhume.open` takes; in a chained URL, the part behind
    `::`.  `target_protocol` and `target_options` say how fsspec reaches it.  `allow_full_download` permits reading most
    of a large remote archive, `limits` raises or lowers safety limits by name, `archive_options` go to `exhume.open`.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if isinstance(fo, (str, os.PathLike)) and not os.fspath(fo):
            raise WriterError(f"which archive? {self.protocol}://MEMBER::URL-OF-THE-ARCHIVE, or fo=")
        self.fo = fo
        self.target_protocol = target_protocol
        self.target_options = dict(target_options or {})
        self.allow_full_download = allow_full_download
        self.limits = _limits(limits)
        self.archive_options = dict(archive_options or {})
        self._key = object()
        weakref.finalize(self, OPEN.drop, self._key)

    # The archive

    @contextmanager
    def _lease(self) -> Iterator[Held[Archive]]:
        try:
            with OPEN.lease(self._key, self._open_archive, _local_identity) as held:
                yield held
        except SourceChangedError:
            OPEN.drop(self._key)
            raise

    def _open_archive(self) -> Archive:
        from exhume.engines.opening import open_archive

        target = self._open_target()
        try:
            return open_archive(target, format=self.format, limits=self.limits, **self.archive_options)
        except BaseException:
            if target is not self.fo:
                target.close()
            raise

    def _open_target(self) -> Source | Tree:
        if not isinstance(self.fo, (str, os.PathLike)):
            return open_target(self.fo)
        options = {**self.target_options, "allow_full_download": self.allow_full_download}
        if self.target_protocol:
            options["protocol"] = self.target_protocol
        try:
            return open_url(os.fspath(self.fo), options, tail_first=get_format(self.format).tail_first)
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise FileNotFoundError(error.span.source if error.span else self.fo) from error
            raise

    def _identity(self) -> Any:
        with self._lease() as held:
            source = held.item.source
            return held.item.name, held.identity, getattr(source, "identity", None), getattr(source, "size", None)

    def _stored_at(self) -> datetime | None:
        with self._lease() as held:
            source = held.item.source
            if isinstance(source, RemoteSource):
                return source.modified
            return file_time(source.location)

    def close(self) -> None:
        """Closes the archive; the next use opens it again."""
        OPEN.drop(self._key)

    def invalidate_cache(self, path: Any = None) -> None:
        """Forgets everything that was read from the archive."""
        OPEN.drop(self._key)

    # Reading

    def _fetch(self, requests: Sequence[tuple[str, int | None, int | None]]) -> list[bytes | Exception]:
        with self._lease() as held:
            out: list[bytes | Exception] = [b""] * len(requests)
            stored: dict[int, tuple[Source, list[tuple[int, tuple[int, int]]]]] = {}
            other: dict[str, list[tuple[int, tuple[int, int]]]] = {}
            for index, (path, start, end) in enumerate(requests):
                try:
                    size, place = self._place(held, path)
                    first, last, _ = slice(start, end).indices(size)
                    if last <= first:
                        if first == 0 == size:
                            self._read(held, path, 0, 0)  # an empty file is checked as far as it can be
                    elif place is not None:
                        source, base = place
                        stored.setdefault(id(source), (source, []))[1].append((index, (base + first, base + last)))
                    else:
                        other.setdefault(path, []).append((index, (first, last)))
                except EntryNotFoundError:
                    out[index] = FileNotFoundError(path)
                except Exception as error:  # the answer for this path, as in `_fill`
                    out[index] = error
            for source, ranges in stored.values():
                _fill(out, [i for i, _ in ranges], _reader(source, [span for _, span in ranges]))
            for path, ranges in other.items():
                spans = [span for _, span in ranges]
                for start, end, members in plan_reads(spans, max_gap=COALESCE_GAP, max_size=COALESCE_SIZE):
                    chosen = [ranges[member] for member in members]
                    _fill(out, [i for i, _ in chosen], _slicer(self, held, path, start, end, [s for _, s in chosen]))
            for failed in out:
                if isinstance(failed, SourceChangedError):
                    OPEN.drop(self._key)
            return out

    @abstractmethod
    def _place(self, held: Held[Archive], path: str) -> tuple[int, tuple[Source, int] | None]:
        """A file's size, and source and offset if it is stored uncompressed.  Raises `FileNotFoundError` and others."""

    @abstractmethod
    def _read(self, held: Held[Archive], path: str, start: int, end: int) -> bytes:
        """Bytes of a file that `_place` knows; `0 <= start <= end <= size`."""


def _reader(source: Source, ranges: list[tuple[int, int]]) -> Callable[[], list[bytes]]:
    return lambda: source.read_many(ranges)


def _slicer(
    fs: ArchiveFileSystem, held: Held[Archive], path: str, start: int, end: int, spans: list[tuple[int, int]]
) -> Callable[[], list[bytes]]:
    def read() -> list[bytes]:
        data = fs._read(held, path, start, end)  # noqa: SLF001 - same module
        return [data[first - start : last - start] for first, last in spans]

    return read


def _fill(out: list[bytes | Exception], indexes: list[int], read: Callable[[], list[bytes]]) -> None:
    """Puts the bytes that were read, or the error, at the given indexes of `out`."""
    try:
        for index, data in zip(indexes, read(), strict=True):
            out[index] = data
    except Exception as error:  # fsspec's on_error="return" hands on whatever was raised
        for index in indexes:
            out[index] = error


def _limits(given: Mapping[str, int] | None) -> Limits:
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
