"""Sources over fsspec URLs: exact ranges, coalesced and concurrent, with everything a server may get wrong checked.

fsspec is imported here only, so that local use never pays for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import fsspec
from fsspec.core import url_to_fs

from exhume.errors import (
    EntryNotFoundError,
    MissingDependencyError,
    RangeNotSupportedError,
    ShortReadError,
    SourceChangedError,
    SourceError,
    Span,
)
from exhume.source import COALESCE_GAP, COALESCE_SIZE, Source, Tree, check_relative, plan_reads

RETRIES = 3
"""Attempts after the first for errors that may pass (time-outs, connection resets, 5xx)."""

RETRY_DELAY = 0.2
"""Seconds before the first retry; doubled each time."""

_IDENTITY_KEYS = (
    "ETag",
    "etag",
    "e_tag",
    "LastModified",
    "last_modified",
    "mtime",
    "updated",
    "created",
    "md5Hash",
    "generation",
)

T = TypeVar("T")


def open_url(url: str, storage_options: Mapping[str, Any] | None = None) -> Source | Tree:
    """The source or tree behind an fsspec URL (chained URLs included); raises `SourceError`."""
    try:
        fs, path = url_to_fs(url, **dict(storage_options or {}))
    except ImportError as error:
        raise MissingDependencyError(
            f"no support for this kind of URL is installed ({error}); try: pip install 'exhume[cloud]'",
            span=Span(url, 0, 0),
        ) from error
    except (ValueError, OSError) as error:
        raise SourceError("cannot open the URL", span=Span(url, 0, 0), actual=error) from error
    info = _attempt(lambda: fs.info(path), url, 0, 0)
    if info.get("type") == "directory":
        return FsspecTree(fs, path, url)
    return FsspecSource(fs, path, url, info)


def _attempt(call: Callable[[], T], name: str, start: int, end: int) -> T:
    delay = RETRY_DELAY
    for attempt in range(RETRIES + 1):
        try:
            return call()
        except FileNotFoundError as error:
            raise SourceError("no such file or object", span=Span(name, start, end)) from error
        except (PermissionError, IsADirectoryError, NotADirectoryError) as error:
            raise SourceError(str(error) or type(error).__name__, span=Span(name, start, end)) from error
        except Exception as error:  # backends raise their own types; all of them mean "the read failed"
            if attempt == RETRIES or not is_transient(error):
                raise SourceError(
                    f"reading failed after {attempt + 1} attempt{'s' if attempt else ''}",
                    span=Span(name, start, end),
                    actual=f"{type(error).__name__}: {error}",
                ) from error
            time.sleep(delay)
            delay *= 2
    raise AssertionError("unreachable")


def is_transient(error: BaseException) -> bool:
    """Whether trying again may help: time-outs, dropped connections, 429 and 5xx answers."""
    status = getattr(error, "status", None) or getattr(error, "code", None)
    if isinstance(status, int):
        return status == 429 or status >= 500
    if isinstance(error, (TimeoutError, ConnectionError)):
        return True
    return type(error).__name__ in {
        "ClientConnectionError",
        "ClientOSError",
        "ClientPayloadError",
        "ServerDisconnectedError",
        "ServerTimeoutError",
        "FSTimeoutError",
        "EndpointConnectionError",
        "ReadTimeoutError",
        "ConnectTimeoutError",
        "IncompleteRead",
    }


class FsspecSource(Source):
    """One object behind fsspec.  Every answer's length is checked; the object's identity is remembered."""

    def __init__(self, fs: Any, path: str, name: str, info: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self._fs, self._path = fs, path
        info = info if info is not None else _attempt(lambda: fs.info(path), name, 0, 0)
        size = info.get("size")
        if size is None:
            raise RangeNotSupportedError("the server does not tell the object's size", span=Span(name, 0, 0))
        self._size = int(size)
        self._identity = {key: str(info[key]) for key in _IDENTITY_KEYS if info.get(key) is not None}

    @property
    def size(self) -> int:
        return self._size

    @property
    def location(self) -> str | None:
        return self.name

    @property
    def is_remote(self) -> bool:
        return True

    def _read(self, offset: int, size: int) -> bytes:
        data = _attempt(
            lambda: bytes(self._fs.cat_file(self._path, start=offset, end=offset + size)),
            self.name,
            offset,
            offset + size,
        )
        if len(data) != size:
            self._explain_length(offset, size, len(data))
        return data

    def _explain_length(self, offset: int, size: int, got: int) -> None:
        span = self.span(offset, offset + size)
        if got > size:
            raise RangeNotSupportedError(
                "the server ignored the byte range", span=span, expected=f"{size} bytes", actual=f"{got} bytes"
            )
        self.check_unchanged()
        raise ShortReadError("short answer", span=span, expected=f"{size} bytes", actual=f"{got} bytes")

    def check_unchanged(self) -> None:
        """Asks for the object's identity again; raises `SourceChangedError` when it is another one now."""
        self._fs.invalidate_cache()
        info = _attempt(lambda: self._fs.info(self._path), self.name, 0, 0)
        now = {key: str(info[key]) for key in _IDENTITY_KEYS if info.get(key) is not None}
        if info.get("size") != self._size or now != self._identity:
            raise SourceChangedError(
                "the object changed while it was being read",
                span=Span(self.name, 0, self._size),
                expected=f"{self._size} bytes {self._identity}",
                actual=f"{info.get('size')} bytes {now}",
            )

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        for start, end in ranges:
            if not 0 <= start <= end <= self._size:
                self.read_at(start, end - start)
        plan = plan_reads(ranges, max_gap=COALESCE_GAP, max_size=COALESCE_SIZE)
        answers = _attempt(
            lambda: self._fs.cat_ranges(
                [self._path] * len(plan), [p[0] for p in plan], [p[1] for p in plan], on_error="raise"
            ),
            self.name,
            0,
            self._size,
        )
        out = [b""] * len(ranges)
        for (start, end, members), data in zip(plan, answers, strict=True):
            if len(data) != end - start:
                self._explain_length(start, end - start, len(data))
            for index in members:
                first, last = ranges[index]
                out[index] = bytes(data[first - start : last - start])
        return out

    def parent(self, levels: int = 1) -> Tree | None:
        path = self._path
        for _ in range(levels):
            path = self._fs._parent(path)  # noqa: SLF001 - fsspec's own way up, overridden per file system
        return FsspecTree(self._fs, path, self._fs.unstrip_protocol(path))


class FsspecTree(Tree):
    """A directory or key prefix behind fsspec."""

    def __init__(self, fs: Any, path: str, name: str, prefix: str = "") -> None:
        self.name = name
        self._fs, self._path, self._prefix = fs, path.rstrip("/"), prefix

    @property
    def location(self) -> str | None:
        return self.name

    def names(self, prefix: str = "") -> list[str]:
        base = f"{self._path}/{check_relative(prefix, self.name)}" if prefix else self._path
        try:
            found = _attempt(lambda: self._fs.find(base), self.name, 0, 0)
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return []
            raise
        root = self._fs._strip_protocol(self._path)  # noqa: SLF001 - the canonical form of paths that find() returns
        return sorted(name[len(root) :].lstrip("/") for name in found)

    def exists(self, name: str) -> bool:
        path = f"{self._path}/{check_relative(name, self.name)}"
        return bool(_attempt(lambda: self._fs.isfile(path), self.name, 0, 0))

    def source(self, name: str) -> Source:
        path = f"{self._path}/{check_relative(name, self.name)}"
        try:
            return FsspecSource(self._fs, path, self._prefix + name)
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise EntryNotFoundError(
                    "no such file in the directory", span=Span(self.name, 0, 0), actual=name
                ) from error
            raise

    def subtree(self, name: str) -> Tree:
        check_relative(name, self.name)
        return FsspecTree(self._fs, f"{self._path}/{name}", f"{self.name.rstrip('/')}/{name}", f"{self._prefix}{name}/")


def filesystem(protocol: str, **options: Any) -> Any:
    """An fsspec file system by protocol name (a typed door for the writers of remote catalogs and tests)."""
    return fsspec.filesystem(protocol, **options)
