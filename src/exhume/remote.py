"""Sources over fsspec URLs: exact ranges, coalesced and concurrent, with everything a server may get wrong checked.

fsspec is imported here only, so that local use never pays for it.  HTTP(S) and S3 objects go through fsspec's own
sessions (proxies, credentials, keep-alive), but every answer's status, range, length and identity is looked at here.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from fsspec.asyn import sync
from fsspec.core import url_to_fs

from exhume.errors import (
    EntryNotFoundError,
    ExhumeError,
    MissingDependencyError,
    RangeNotSupportedError,
    ShortReadError,
    SourceChangedError,
    SourceError,
    Span,
)
from exhume.parallel import map_ordered
from exhume.source import COALESCE_GAP, COALESCE_SIZE, Source, Tree, check_relative, plan_reads

RETRIES = 3
"""Attempts after the first for errors that may pass (time-outs, dropped connections, 429 and 5xx answers)."""

RETRY_DELAY = 0.2
"""Seconds before the first retry; doubled each time."""

CONCURRENCY = 8
"""Requests to one object under way at a time."""

FREE_BYTES = 16 << 20
"""Of any remote object this much may be read without asking; see `RemoteSource`."""

HEAD = 64 << 10
TAIL = 256 << 10
"""The first and last bytes of an object are fetched in one piece each and kept: formats are recognised there."""

SMALL = 4 << 10
"""Reads below this fetch the head or tail that they lie in; a larger one knows what it wants."""

MOST_KNOWN = 256
"""Files of a remote directory whose head and tail are kept."""

_BLOCK = 1 << 20

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

T = TypeVar("T")


def open_url(
    url: str,
    storage_options: Mapping[str, Any] | None = None,
    size: int | None = None,
    tail_first: bool = False,
) -> Source | Tree:
    """The source or tree behind an fsspec URL (chained URLs included).

    With `size`, an HTTP or S3 object is not asked for its size first: the first answer has to agree.  Otherwise
    one request tells it and brings the head (with `tail_first`, the tail).  An HTTP URL that ends in `/` is a
    directory, read by the server's index pages.

    `storage_options` go to fsspec, but for `allow_full_download` (see `RemoteSource`).  `file://` URLs become plain
    local sources.  Raises `SourceError`, or `MissingDependencyError` when the package for this kind of URL is missing.
    """
    options = dict(storage_options or {})
    allow_full_download = bool(options.pop("allow_full_download", False))
    try:
        fs, path = url_to_fs(url, **options)
    except ImportError as error:
        raise MissingDependencyError(
            f"no support for this kind of URL is installed ({error}); http, s3 and gs: pip install 'exhume[cloud]'",
            span=Span(url, 0, 0),
        ) from error
    except (ValueError, OSError) as error:
        raise SourceError("cannot open the URL", span=Span(url, 0, 0), actual=error) from error
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    if "file" in protocols or "local" in protocols:
        from exhume.source import open_target

        return open_target(path)
    kind = _kind(fs)
    if size is not None and kind is not FsspecSource:
        return kind(fs, path, url, {"size": size}, allow_full_download=allow_full_download)
    fs.invalidate_cache(path)  # a listing from before must not stand for the object as it is now
    tree = FsspecTree(fs, path, url, allow_full_download=allow_full_download)
    if kind is HttpSource and path.endswith("/"):
        return tree
    info = kind.first(fs, path, url, tail_first)
    if info is None and kind is S3Source and tree.names():
        return tree
    if info is None:
        info = _attempt(lambda: fs.info(path), url, 0, 0)
    if info.get("type") == "directory":
        return tree
    return kind(fs, path, url, info, allow_full_download=allow_full_download)


def _kind(fs: Any) -> type[RemoteSource]:
    """The most careful source there is for an fsspec file system."""
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    if "https" in protocols:
        return HttpSource
    return S3Source if "s3" in protocols else FsspecSource


def glob_url(url: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """The URLs that match a pattern (`s3://bucket/*.zs`), sorted; of a chain, the first link may have one.

    Raises `SourceError` when nothing matches, and as `open_url` does.
    """
    options = {key: value for key, value in (storage_options or {}).items() if key != "allow_full_download"}
    head, link, rest = url.partition("::")
    try:
        fs, path = url_to_fs(url, **options)
    except ImportError as error:
        raise MissingDependencyError(
            f"no support for this kind of URL is installed ({error}); try: pip install 'exhume[cloud]'",
            span=Span(url, 0, 0),
        ) from error
    except (ValueError, OSError) as error:
        raise SourceError("cannot open the URL", span=Span(url, 0, 0), actual=error) from error
    found = _attempt(lambda: sorted(fs.glob(path)), url, 0, 0)
    if not found:
        raise SourceError("no file or object matches", span=Span(url, 0, 0))
    scheme = head.partition("://")[0]
    return [name if "://" in name else f"{scheme}://{name}{link}{rest}" for name in found]


def remote_source(
    fs: Any, path: str, name: str, info: Mapping[str, Any] | None = None, *, allow_full_download: bool = False
) -> RemoteSource:
    """One file of an fsspec file system; `info` is what a listing told of it."""
    kind = _kind(fs)
    if info is None:
        info = kind.first(fs, path, name) or _attempt(lambda: fs.info(path), name, 0, 0)
    return kind(fs, path, name, info, allow_full_download=allow_full_download)


class TransientError(Exception):
    """An answer that another try may better."""


def _attempt(call: Callable[[], T], name: str, start: int, end: int) -> T:
    """Calls with retries; whatever a backend raises becomes a `SourceError`."""
    delay = RETRY_DELAY
    span = Span(name, start, end)
    for attempt in range(RETRIES + 1):
        try:
            return call()
        except ExhumeError:
            raise
        except FileNotFoundError as error:
            raise SourceError("no such file or object", span=span) from error
        except (PermissionError, IsADirectoryError, NotADirectoryError) as error:
            raise SourceError(str(error) or type(error).__name__, span=span) from error
        except Exception as error:  # backends raise their own types; all of them mean "the read failed"
            if attempt == RETRIES or not is_transient(error):
                times = f" after {attempt + 1} attempts" if attempt else ""
                raise SourceError(
                    f"reading failed{times}", span=span, actual=f"{type(error).__name__}: {error}"
                ) from error
            time.sleep(delay)
            delay *= 2
    raise AssertionError("unreachable")


def is_transient(error: BaseException) -> bool:
    """Whether trying again may help: time-outs, dropped connections, 429 and 5xx answers."""
    status = getattr(error, "status", None) or getattr(error, "code", None)
    if isinstance(status, int):
        return status == 429 or status >= 500
    if isinstance(error, (TransientError, TimeoutError, ConnectionError)):
        return True
    return type(error).__name__ in {
        "ClientConnectionError",
        "ClientConnectorError",
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


class RemoteSource(Source):
    """One remote object.  Every answer's length is checked; the object's identity is remembered.

    Reading most of it (more than `FREE_BYTES` and more than half, counted in distinct megabytes) needs
    `allow_full_download`: a selective tool should not become a download by surprise.
    """

    def __init__(
        self, fs: Any, path: str, name: str, info: Mapping[str, Any], *, allow_full_download: bool = False
    ) -> None:
        self.name = name
        self.allow_full_download = allow_full_download
        self._fs, self._path = fs, path
        size = info.get("size")
        if size is None:
            raise RangeNotSupportedError("the server does not tell the object's size", span=Span(name, 0, 0))
        self._size = int(size)
        self._identity = _identity(info)
        self.modified = _time(info)
        """When the object was last written, where the storage tells it."""
        self._edges: list[tuple[int, bytes]] = []  # (offset, bytes) of the head and tail once they were fetched
        if info.get("edge"):
            self._edges.append(info["edge"])
        self._touched = bytearray(-(-self._size // _BLOCK))
        self._lock = threading.Lock()

    @classmethod
    def first(cls, fs: Any, path: str, name: str, tail: bool = False) -> Mapping[str, Any] | None:
        """Size, identity and head (or tail) of an object in one request; None where that cannot be: ask `fs.info`."""
        return None

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
        end = offset + size
        kept = self._kept(offset, end)
        if kept is not None:
            return kept
        if self._size <= HEAD + TAIL:
            head = self._kept(0, HEAD) or b"" if self._size > HEAD else b""
            whole = head + self._fetch_checked([(len(head), self._size)])[0]
            self._edges[:] = [(0, whole)]
            return whole[offset:end]
        start, stop = offset, end
        if size < SMALL and end <= HEAD:
            start, stop = 0, HEAD
        elif size < SMALL and offset >= self._size - TAIL:
            start, stop = self._size - TAIL, self._size
        data = self._fetch_checked([(start, stop)])[0]
        if (start, stop) != (offset, end):
            self._edges.append((start, data))
        return data[offset - start : end - start]

    def _kept(self, start: int, end: int) -> bytes | None:
        """The bytes of a range that lies in the head or tail that was fetched."""
        for at, data in self._edges:
            if at <= start and end <= at + len(data):
                return data[start - at : end - at]
        return None

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        for start, end in ranges:
            if not 0 <= start <= end <= self._size:
                self.read_at(start, end - start)  # raises, in the usual words
        out = [self._kept(start, end) or b"" if end > start else b"" for start, end in ranges]
        wanted = [i for i, (start, end) in enumerate(ranges) if end > start and not out[i]]
        plan = plan_reads([ranges[i] for i in wanted], max_gap=COALESCE_GAP, max_size=COALESCE_SIZE)
        answers = self._fetch_checked([(start, end) for start, end, _ in plan])
        for (start, _, members), data in zip(plan, answers, strict=True):
            for member in members:
                first, last = ranges[wanted[member]]
                out[wanted[member]] = data[first - start : last - start]
        return out

    def _fetch_checked(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        if not ranges:
            return []
        self._account(ranges)
        answers = _attempt(lambda: self._fetch(ranges), self.name, ranges[0][0], ranges[-1][1])
        for (start, end), data in zip(ranges, answers, strict=True):
            if len(data) != end - start:
                self._explain_length(start, end - start, len(data))
        return answers

    def _fetch(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """The bytes of non-empty ranges; any exception may be raised, any length returned."""
        raise AssertionError("a subclass reads")

    def _account(self, ranges: list[tuple[int, int]]) -> None:
        if self.allow_full_download:
            return
        with self._lock:
            for start, end in ranges:
                first, last = start // _BLOCK, -(-end // _BLOCK)
                self._touched[first:last] = b"\1" * (last - first)
            most = max(FREE_BYTES, self._size // 2)
            if self._touched.count(1) * _BLOCK > most and self._size > FREE_BYTES:
                raise SourceError(
                    "this reads most of a remote object: add --allow-full-download (allow_full_download=True) to go on",
                    code="EX-607",
                    span=Span(self.name, 0, 0),
                    expected=f"at most {most} bytes",
                    actual=f"an object of {self._size} bytes",
                )

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
        now = _identity(info)
        other = any(now[key] != value for key, value in self._identity.items() if key in now)
        if info.get("size") != self._size or other:
            raise self._changed(f"{info.get('size')} bytes {now}")

    def _changed(self, now: str) -> SourceChangedError:
        return SourceChangedError(
            "the object changed while it was being read",
            span=Span(self.name, 0, 0),
            expected=f"{self._size} bytes {self._identity}",
            actual=now,
        )

    def parent(self, levels: int = 1) -> Tree | None:
        path = self._path
        for _ in range(levels):
            path = self._fs._parent(path)  # noqa: SLF001 - fsspec's own way up, overridden per file system
        name = self._fs.unstrip_protocol(path)
        return FsspecTree(self._fs, path, name, allow_full_download=self.allow_full_download)


def _identity(info: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(info[key]).strip('"') for key in _IDENTITY_KEYS if info.get(key) is not None}


def _time(info: Mapping[str, Any]) -> datetime | None:
    """When an object was last written, by whatever name a file system tells it."""
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


class FsspecSource(RemoteSource):
    """An object of any fsspec file system; concurrency is the file system's own."""

    def _fetch(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        if len(ranges) == 1:
            (start, end) = ranges[0]
            return [bytes(self._fs.cat_file(self._path, start=start, end=end))]
        starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
        return [bytes(data) for data in self._fs.cat_ranges([self._path] * len(ranges), starts, ends, on_error="raise")]


class _AsyncSource(RemoteSource):
    """An object of an asynchronous file system, read with our own requests on its event loop."""

    def _fetch(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        async def gather() -> list[bytes]:
            gate = asyncio.Semaphore(CONCURRENCY)

            async def one(start: int, end: int) -> bytes:
                async with gate:
                    return await self._get(start, end)

            return await asyncio.gather(*(one(start, end) for start, end in ranges))

        made: list[bytes] = sync(self._fs.loop, gather)
        return made

    def _get(self, start: int, end: int) -> Awaitable[bytes]:
        raise AssertionError("a subclass reads")


class HttpSource(_AsyncSource):
    """An HTTP(S) object: status, Content-Range and ETag of every answer are checked before its body is read."""

    @classmethod
    def first(cls, fs: Any, path: str, name: str, tail: bool = False) -> Mapping[str, Any] | None:
        async def get() -> Mapping[str, Any] | None:
            session = await fs.set_session()
            options = {**fs.kwargs}
            headers = {**options.pop("headers", {}), "Range": _edge_range(tail), "Accept-Encoding": "identity"}
            async with session.get(fs.encode_url(path), headers=headers, **options) as answer:
                if answer.status == 429 or answer.status >= 500:
                    raise TransientError(f"HTTP status {answer.status}")
                if answer.status == 416 and answer.headers.get("Content-Range") == "bytes */0":
                    return {"size": 0, "ETag": answer.headers.get("ETag")}
                edge = _edge_span(answer.headers.get("Content-Range", ""), tail)
                if answer.status != 206 or edge is None:
                    return None
                written = answer.headers.get("Last-Modified")
                data = await answer.read()
            start, end, size = edge
            if len(data) != end - start:
                raise TransientError(f"{len(data)} bytes instead of {end - start}")
            tag = answer.headers.get("ETag")
            return {"size": size, "ETag": tag, "Last-Modified": written, "edge": (start, data)}

        found: Mapping[str, Any] | None = _attempt(lambda: sync(fs.loop, get), name, 0, 0)
        return found

    async def _get(self, start: int, end: int) -> bytes:
        session = await self._fs.set_session()
        options = {**self._fs.kwargs}
        headers = {**options.pop("headers", {}), "Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        async with session.get(self._fs.encode_url(self._path), headers=headers, **options) as answer:
            if answer.status == 429 or answer.status >= 500:
                raise TransientError(f"HTTP status {answer.status}")
            if answer.status == 404:
                raise FileNotFoundError(self.name)
            if answer.status == 416:
                raise self._changed("shorter: the range is outside the object")
            if answer.status >= 400:
                raise SourceError(f"HTTP status {answer.status}", span=self.span(start, end))
            self._check_identity(answer.headers)
            if answer.status != 206 and (start, end) != (0, self._size):
                raise RangeNotSupportedError(
                    "the server ignored the byte range", span=self.span(start, end), expected="status 206",
                    actual=f"status {answer.status}",
                )  # fmt: skip
            if answer.status == 206:
                self._check_range(answer.headers.get("Content-Range", ""), start, end)
            body: bytes = await answer.read()
            return body

    def _check_identity(self, headers: Mapping[str, str]) -> None:
        known, now = self._identity.get("ETag"), headers.get("ETag")
        if now is not None:
            if known is None:
                self._identity["ETag"] = now.strip('"')  # the first answer that names it sets it
            elif known != now.strip('"'):
                raise self._changed(f"ETag {now}")

    def _check_range(self, text: str, start: int, end: int) -> None:
        span, _, total = text.removeprefix("bytes ").partition("/")
        if total.isdigit() and int(total) != self._size:
            raise self._changed(f"{total} bytes")
        if span and span != f"{start}-{end - 1}":
            raise RangeNotSupportedError(
                "the server sent another range", span=self.span(start, end), expected=f"{start}-{end - 1}", actual=span
            )


class S3Source(_AsyncSource):
    """An S3 object: each request is made only if the object is still the one that was opened (If-Match)."""

    @classmethod
    def first(cls, fs: Any, path: str, name: str, tail: bool = False) -> Mapping[str, Any] | None:
        async def get() -> Mapping[str, Any] | None:
            bucket, key, version = fs.split_path(path)
            if not key:
                return None
            more = {"VersionId": version} if version else {}
            try:
                answer = await fs._call_s3(  # noqa: SLF001 - as below
                    "get_object", Bucket=bucket, Key=key, Range=_edge_range(tail), **more
                )
            except Exception as error:
                if is_transient(error):
                    raise
                return None  # missing, empty, or no object: asking for it says which
            async with answer["Body"] as stream:
                data = await stream.read()
            edge = _edge_span(answer.get("ContentRange", ""), tail)
            if edge is None or len(data) != edge[1] - edge[0]:
                return None
            written = answer.get("LastModified")
            return {"size": edge[2], "ETag": answer["ETag"], "modified": written, "edge": (edge[0], data)}

        found: Mapping[str, Any] | None = _attempt(lambda: sync(fs.loop, get), name, 0, 0)
        return found

    async def _get(self, start: int, end: int) -> bytes:
        bucket, key, version = self._fs.split_path(self._path)
        more = {"VersionId": version} if version else {}
        if "ETag" in self._identity:
            more["IfMatch"] = f'"{self._identity["ETag"]}"'
        try:
            answer = await self._fs._call_s3(  # noqa: SLF001 - the one door to credentials, retries and IfMatch
                "get_object", Bucket=bucket, Key=key, Range=f"bytes={start}-{end - 1}", **more
            )
        except Exception as error:
            if _s3_code(error) in ("PreconditionFailed", "412", "InvalidRange", "416"):
                raise self._changed(f"{type(error).__name__}: {error}") from error
            raise
        async with answer["Body"] as stream:
            self._identity.setdefault("ETag", answer["ETag"].strip('"'))  # the first answer that names it sets it
            total = answer.get("ContentRange", "").rpartition("/")[2]
            if total.isdigit() and int(total) != self._size:
                raise self._changed(f"{total} bytes")
            body: bytes = await stream.read()
            return body


def _edge_range(tail: bool) -> str:
    """The head or tail of an object whose size is not known, as a `Range` header."""
    return f"bytes=-{TAIL}" if tail else f"bytes=0-{HEAD - 1}"


def _edge_span(text: str, tail: bool) -> tuple[int, int, int] | None:
    """`(start, end, size)` of a `Content-Range` that answers `_edge_range`; None for another one."""
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", text)
    if found is None:
        return None
    start, end, size = int(found[1]), int(found[2]) + 1, int(found[3])
    wanted = (max(0, size - TAIL), size) if tail else (0, min(HEAD, size))
    return (start, end, size) if (start, end) == wanted else None


def _s3_code(error: BaseException | None) -> str:
    """The code that the store answered; s3fs hides it behind an `OSError` of its own."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
        error = error.__cause__
    return ""


class _Snapshot:
    """What is known of a remote directory while it is open: listings by prefix, and sources with their edges.

    Every question is asked once.  An object that is replaced meanwhile is a `SourceChangedError` when it is read.
    """

    def __init__(self) -> None:
        self.listings: dict[str, dict[str, Mapping[str, Any]]] = {}
        self.sources: OrderedDict[str, RemoteSource] = OrderedDict()
        self.lock = threading.RLock()

    def find(self, path: str) -> tuple[bool, Mapping[str, Any] | None]:
        """`(whether a listing tells, its entry or None)` for a path."""
        for base, listing in self.listings.items():
            if path.startswith(f"{base}/"):
                return True, listing.get(path)
        return False, None


def _find(fs: Any, base: str) -> dict[str, Mapping[str, Any]]:
    """Every file below a path with what the listing tells of it."""
    if _kind(fs) is not HttpSource:
        found: dict[str, Mapping[str, Any]] = fs.find(base, detail=True)
        return found
    out: dict[str, Mapping[str, Any]] = {}
    pages = [f"{base}/"]  # index pages link directories with a slash, which fsspec's own walk leaves out
    for page in pages:
        for info in fs.ls(page, detail=True):
            name = info["name"]
            if not name.startswith(page) or "?" in name:
                continue  # the way up, and pages that sort the list
            if name.endswith("/"):
                pages.append(name)
            else:
                out[name] = info
    return out


class FsspecTree(Tree):
    """A directory or key prefix behind fsspec."""

    def __init__(
        self,
        fs: Any,
        path: str,
        name: str,
        prefix: str = "",
        *,
        allow_full_download: bool = False,
        snapshot: _Snapshot | None = None,
    ) -> None:
        self.name = name
        self._fs, self._prefix = fs, prefix
        self._path = str(fs._strip_protocol(path)).rstrip("/")  # noqa: SLF001 - the form of paths that find() returns
        self._allow = allow_full_download
        self._known = snapshot if snapshot is not None else _Snapshot()

    @property
    def location(self) -> str | None:
        return self.name

    def names(self, prefix: str = "") -> list[str]:
        base = f"{self._path}/{check_relative(prefix, self.name)}" if prefix else self._path
        listing = self._listing(base)
        return sorted(path[len(self._path) :].lstrip("/") for path in listing)

    def _listing(self, base: str) -> dict[str, Mapping[str, Any]]:
        with self._known.lock:
            for other, listing in self._known.listings.items():
                if base == other or base.startswith(f"{other}/"):
                    return {path: info for path, info in listing.items() if path.startswith(f"{base}/")}
            try:
                found = _attempt(lambda: _find(self._fs, base), self.name, 0, 0)
            except SourceError as error:
                if not isinstance(error.__cause__, FileNotFoundError):
                    raise
                found = {}
            listing = self._known.listings[base] = {
                path: info for path, info in found.items() if path.startswith(f"{base}/")
            }
            return listing

    def exists(self, name: str) -> bool:
        path = f"{self._path}/{check_relative(name, self.name)}"
        with self._known.lock:
            if path in self._known.sources:
                return True
            told, info = self._known.find(path)
        if told:
            return info is not None
        if _kind(self._fs) is FsspecSource:
            return bool(_attempt(lambda: self._fs.isfile(path), self.name, 0, 0))
        try:
            self.source(name)  # its first bytes say it, and will be wanted
        except EntryNotFoundError:
            return False
        return True

    def source(self, name: str) -> Source:
        path = f"{self._path}/{check_relative(name, self.name)}"
        with self._known.lock:
            source = self._known.sources.get(path)
            if source is not None:
                self._known.sources.move_to_end(path)
                return source
            told, info = self._known.find(path)
        if told and info is None:
            raise EntryNotFoundError("no such file in the directory", span=Span(self.name, 0, 0), actual=name)
        if info is not None and info.get("size") is None:
            info = None  # listings of some servers do not tell
        try:
            source = remote_source(self._fs, path, self._prefix + name, info, allow_full_download=self._allow)
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise EntryNotFoundError(
                    "no such file in the directory", span=Span(self.name, 0, 0), actual=name
                ) from error
            raise
        with self._known.lock:
            source = self._known.sources.setdefault(path, source)
            while len(self._known.sources) > MOST_KNOWN:
                self._known.sources.popitem(last=False)
        return source

    def prefetch(self, names: Sequence[str]) -> None:
        def touch(name: str) -> None:
            with contextlib.suppress(ExhumeError):
                self.source(name).read_up_to(0, 1)

        with self._known.lock:
            fresh = [name for name in names[:MOST_KNOWN] if f"{self._path}/{name}" not in self._known.sources]
        for _ in map_ordered(touch, fresh, CONCURRENCY):
            pass

    def subtree(self, name: str) -> Tree:
        check_relative(name, self.name)
        below, prefix = f"{self.name.rstrip('/')}/{name}", f"{self._prefix}{name}/"
        return FsspecTree(
            self._fs, f"{self._path}/{name}", below, prefix, allow_full_download=self._allow, snapshot=self._known
        )
