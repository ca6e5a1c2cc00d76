"""Opening fsspec URLs: an object is a `RemoteSource`, a directory or key prefix a `FsspecTree`.

fsspec is a library of file systems by URL schemes; a chained URL (`zip://...::https://...`) is a file in another one.
It is imported only by this module and those that it imports, so that local use never pays for it.

A guard bounds what a server may answer: at most the bytes that were requested, from the host that was named, within a
time.  It is a middleware of aiohttp, installed in the sessions of the HTTP, S3 and Google Cloud Storage file systems of
fsspec, so that requests which those make themselves (sizes, listings, chained URLs) are bounded too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

from fsspec.core import url_to_fs

from exhume.counts import counted
from exhume.errors import MissingDependencyError, RangeNotSupportedError, SourceError, Span
from exhume.io.local import open_path
from exhume.io.remote import attempt, refusal
from exhume.io.remote.stores import FsspecSource, HttpSource, source_kind
from exhume.io.remote.tree import FsspecTree
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.tuples import NamedTuple

UNASKED = 16 << 20
"""Bytes of an answer to a request without a range: a listing, or an object as a whole without permission to read it."""

HEADERS = 60.0
"""Seconds until an answer begins, connecting included."""

SLOWEST = 1 << 10
"""Bytes a second, counted from the beginning of an answer after `PATIENCE`, below which a server is given up."""

PATIENCE = 30.0
"""Seconds that an answer may be slower than that."""

LINKS = ("http", "https", "s3", "s3a", "gs", "gcs")
"""The protocols whose sessions can be guarded."""

Handler = Callable[[Any], Awaitable[Any]]
"""Sends a request of aiohttp and returns the answer; a middleware calls the next one."""


class ResponseRules(NamedTuple):
    """The rules for the answers of one target.

    Attributes:
        follow: Whether a redirect may lead to another scheme, host or port.
        whole: Whether an object may be downloaded as a whole.
    """

    follow: bool = False
    whole: bool = False

    async def watch(self, request: Any, handler: Handler) -> Any:
        """Send a request and return its answer with a bounded body; a middleware of aiohttp.

        Raises `SourceError` for a redirect to another host, `RangeNotSupportedError` for a compressed range, and
        `TimeoutError` if no answer begins in time.
        """
        async with asyncio.timeout(HEADERS):
            answer = await handler(request)
        try:
            self._check(request, answer)
        except BaseException:
            answer.close()
            raise
        answer.content = BoundedBody(answer.content, self._budget(request, answer), str(request.url))
        return answer

    def _check(self, request: Any, answer: Any) -> None:
        """Check the headers of one response.

        Raises `SourceError` for a redirect to another host, unless these are followed, and `RangeNotSupportedError` for
        a range that is compressed, since its offsets are not those of the object.
        """
        place = answer.headers.get("Location") or answer.headers.get("URI")
        if answer.status in (301, 302, 303, 307, 308) and place and not self.follow:
            try:
                is_same = request.url.join(type(request.url)(place)).origin() == request.url.origin()
            except ValueError:  # not a URL of a host
                is_same = False
            if not is_same:
                raise SourceError(
                    "the server redirects to another host: allow redirects to follow it",
                    code="EX-612",
                    span=Span(str(request.url), 0, 0),
                    actual=place,
                )
        encoding = answer.headers.get("Content-Encoding", "identity")
        if answer.status in (200, 206) and "Range" in request.headers and encoding.lower() not in ("", "identity"):
            raise RangeNotSupportedError(
                "the server compressed the range", span=Span(str(request.url), 0, 0), actual=encoding
            )

    def _budget(self, request: Any, answer: Any) -> int | None:
        """The bytes that the body may have; None for an object that may be read as a whole and has a known length."""
        # A range `start-last`, or `-size` for the end of the object.
        requested = re.fullmatch(r"bytes=(\d*)-(\d+)", request.headers.get("Range", ""))
        if requested is not None and answer.status < 300:
            return int(requested[2]) - int(requested[1]) + 1 if requested[1] else int(requested[2])
        return None if self.whole and requested is None and answer.content_length is not None else UNASKED

    async def client(self, **options: Any) -> Any:
        """Return a session of aiohttp whose answers are bounded; what fsspec takes as `get_client`."""
        from aiohttp import ClientSession

        return ClientSession(**{**options, "middlewares": (*options.get("middlewares", ()), self.watch)})

    def options(self, url: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options for an fsspec URL, with the guard for each link of the chain that can have it.

        `given` are the caller's options: a client among them is used as it is.
        """
        links = [_protocol(link) for link in url.split("::")]
        links[0] = given.get("protocol") or links[0]
        out = dict(given)
        for number, protocol in enumerate(links):
            if protocol in LINKS:
                mine = out if number == 0 else out.setdefault(protocol, {})
                if number:
                    mine = out[protocol] = dict(mine)
                self._install(protocol, mine)
        return out

    def _install(self, protocol: str, options: dict[str, Any]) -> None:
        """Set the options of a file system so that its requests pass through these rules."""
        if protocol in ("http", "https"):
            options.setdefault("get_client", self.client)
        elif protocol in ("gs", "gcs"):
            session = dict(options.get("session_kwargs") or {})
            options["session_kwargs"] = {**session, "middlewares": (*session.get("middlewares", ()), self.watch)}
        else:
            config = dict(options.get("config_kwargs") or {})
            config.setdefault("http_session_cls", _s3_session(self))
            options["config_kwargs"] = config


def _protocol(link: str) -> str:
    """The scheme of one link of a chained URL."""
    return link.partition("://")[0]


def _s3_session(guard: ResponseRules) -> type:
    """Return the class of sessions for S3; one for each guard, because botocore takes a class and calls it itself."""
    from aiobotocore.httpsession import AIOHTTPSession

    # The rules are in the name, so that a worker process that unpickles the class can make it; see `__getattr__`.
    name = f"S3Session{int(guard.follow)}{int(guard.whole)}"
    known: type | None = globals().get(name)
    if known is None:

        async def _get_session(self: Any, proxy_url: str | None) -> Any:
            """Return s3fs's HTTP session, with the guard that limits what a server may send."""
            session = await AIOHTTPSession._get_session(self, proxy_url)  # noqa: SLF001 - where sessions are made
            session._middlewares = (guard.watch,)  # noqa: SLF001 - no argument leads there
            return session

        members = {"_get_session": _get_session, "__module__": __name__}
        known = globals()[name] = type(name, (AIOHTTPSession,), members)
    return known


def __getattr__(name: str) -> Any:
    """Return a class of sessions by its name: it is made when another process unpickles it."""
    if name.startswith("S3Session"):
        return _s3_session(ResponseRules(name[-2] == "1", name[-1] == "1"))
    raise AttributeError(name)


class BoundedBody:
    """The stream of a body: raises `RangeNotSupportedError` after `most` bytes, and `TimeoutError` if it is slow."""

    def __init__(self, stream: Any, most: int | None, url: str) -> None:
        """`most`: bytes that the body may have, None for any number; `url` is for messages."""
        self._stream, self._most, self._url = stream, most, url
        self._start = time.monotonic()
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _count(self, data: bytes) -> bytes:
        """Count received bytes, and return them.

        Raises `RangeNotSupportedError` for more than were requested, `TimeoutError` if they come too slowly.
        """
        self._size += len(data)
        if self._most is not None and self._size > self._most:
            raise RangeNotSupportedError(
                "the server sends more than was requested",
                span=Span(self._url, 0, 0),
                expected=f"at most {counted(self._most, 'bytes')}",
            )
        late = time.monotonic() - self._start
        if late > PATIENCE and self._size < late * SLOWEST:
            raise TimeoutError(f"{counted(self._size, 'bytes')} in {late:.0f} seconds")
        return data

    async def read(self, n: int = -1) -> bytes:
        """Return up to `n` bytes, or all that follow."""
        if n >= 0:
            return self._count(await self._stream.read(n))
        parts = []
        while data := await self._stream.readany():
            parts.append(self._count(data))
        return b"".join(parts)

    async def readany(self) -> bytes:
        """Return the bytes that are there."""
        return self._count(await self._stream.readany())

    async def readchunk(self) -> tuple[bytes, bool]:
        """Return the next chunk, and whether it ends one of the transfer encoding."""
        data, ends = await self._stream.readchunk()
        return self._count(data), ends

    async def iter_chunked(self, n: int) -> AsyncIterator[bytes]:
        """Yield chunks of at most `n` bytes."""
        while data := await self.read(n):
            yield data

    async def iter_any(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they come."""
        while data := await self.readany():
            yield data

    async def iter_chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        """Yield chunks as the server sends them."""
        while (chunk := await self.readchunk()) != (b"", False):
            yield chunk


OWN_OPTIONS = ("allow_full_download", "follow_redirects")
"""Storage options that are not for fsspec."""

for _logger in ("gcsfs", "s3fs", "aiobotocore", "botocore"):  # what they report is raised too: say it once
    logging.getLogger(_logger).addHandler(logging.NullHandler())


def open_url(
    url: str,
    storage_options: Mapping[str, Any] | None = None,
    size: int | None = None,
    tail_first: bool = False,
) -> Source | Tree:
    """The source or tree of an fsspec URL (chained URLs included).

    With `size`, no request is made for the size of an HTTP or S3 object: the first answer has to agree.  Otherwise
    one request returns the size and the head (with `tail_first`, the tail).  An HTTP URL that ends in `/` is a
    directory, read by the server's index pages.

    `storage_options` go to fsspec, except `allow_full_download` (see `RemoteSource`) and `follow_redirects`, which
    permits redirects to another scheme, host or port.  `file://` URLs become plain local sources; their path may be
    percent-encoded, as `Path.as_uri` writes it.  Raises `SourceError`, or `MissingDependencyError` when the package for
    this kind of URL is missing.
    """
    fs, path = _file_system(url, storage_options)
    allow_full_download = bool((storage_options or {}).get("allow_full_download"))
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    if "file" in protocols or "local" in protocols:
        return open_path(path if os.path.lexists(path) else unquote(path))
    # An object of known size needs no request.
    kind = source_kind(fs)
    if size is not None and kind is not FsspecSource:
        return kind(fs, path, url, {"size": size}, allow_full_download=allow_full_download)
    fs.invalidate_cache(path)  # a listing from before must not stand for the object as it is now
    # A directory, by the form of the URL, or by names below it in a store of keys.
    tree = FsspecTree(fs, path, url, allow_full_download=allow_full_download)
    if url.partition("::")[0].endswith("/") and (kind is HttpSource or tree.names()):
        return tree
    if kind.has_keys and "." not in path.rpartition("/")[2] and tree.names():
        return tree  # directories are called so, as a rule
    # An object, by its first bytes or its metadata.
    info = kind.first(fs, path, url, tail_first)
    if info is None and kind.has_keys and tree.names():  # not a key, but a prefix of keys
        return tree
    if info is None:
        info = attempt(lambda: fs.info(path), url, again=not kind.tries_again)
    if info.get("type") == "directory":
        return tree
    return kind(fs, path, url, info, allow_full_download=allow_full_download)


def _file_system(url: str, storage_options: Mapping[str, Any] | None) -> tuple[Any, str]:
    """The fsspec file system of a URL, whose answers are guarded, and the path in it."""
    options = dict(storage_options or {})
    own = {name: bool(options.pop(name, False)) for name in OWN_OPTIONS}
    guard = ResponseRules(own["follow_redirects"], own["allow_full_download"])
    try:
        fs, path = url_to_fs(url, **guard.options(url, options))
    except ImportError as error:
        raise MissingDependencyError(
            f"no support for this kind of URL is installed ({error}); http, s3 and gs: pip install 'exhume[cloud]'",
            span=Span(url, 0, 0),
        ) from error
    except Exception as error:  # a chained file system reads while it is made, and raises whatever its library does
        if (ours := refusal(error)) is not None:
            raise ours from error
        raise SourceError("cannot open the URL", span=Span(url, 0, 0), actual=error) from error
    return fs, path


def glob_url(url: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """The URLs that match a pattern (`s3://bucket/*.zs`), sorted; of a chain, the first link may have one.

    Raises `SourceError` when nothing matches, and as `open_url` does.
    """
    head, link, rest = url.partition("::")
    fs, path = _file_system(url, storage_options)
    found = attempt(lambda: sorted(fs.glob(path)), url, again=not source_kind(fs).tries_again)
    if not found:
        raise SourceError("no file or object matches", span=Span(url, 0, 0))
    scheme = head.partition("://")[0]
    return [name if "://" in name else f"{scheme}://{name}{link}{rest}" for name in found]
