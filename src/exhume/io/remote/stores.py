"""Requests for the objects of each kind of store: HTTP(S), S3, Google Cloud Storage, and anything else of fsspec.

Requests go through fsspec's own sessions (proxies, credentials, keep-alive); status, range, length and identity of
every answer are examined here.  The identity of an object is what changes when it is written: the ETag of HTTP and S3,
the generation of Google Cloud Storage.  The edge is its first or last bytes, whose request also returns the size.
Stores with `has_keys` have no directories, only keys; `tries_again`: their library repeats failed requests itself, so
that `attempt` does not (`again=False`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Mapping
from typing import Any

from fsspec.asyn import sync

from exhume.counts import counted
from exhume.errors import RangeNotSupportedError, SourceError, Span
from exhume.io.remote import TransientError, attempt, is_transient
from exhume.io.remote.source import HEAD, TAIL, RemoteSource, identity_of

CONCURRENCY = 8
"""Requests to one object in flight at a time."""

SILENCE = 30.0
"""Seconds that an HTTP server may take to respond, and between two chunks of a response."""


class FsspecSource(RemoteSource):
    """An object of any fsspec file system; concurrency is the file system's own."""

    def _fetch(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """Fetch ranges, several of them in parallel."""
        if len(ranges) == 1:
            (start, end) = ranges[0]
            return [bytes(self._fs.cat_file(self._path, start=start, end=end))]
        starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
        return [bytes(data) for data in self._fs.cat_ranges([self._path] * len(ranges), starts, ends, on_error="raise")]


class _AsyncSource(RemoteSource):
    """An object of an asynchronous file system, read with our own requests on its event loop."""

    def _fetch(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """Request ranges concurrently, `CONCURRENCY` at a time; their bytes are in the order of `ranges`."""

        async def gather() -> list[bytes]:
            """Fetch the ranges in parallel, at most `CONCURRENCY` at a time."""
            gate = asyncio.Semaphore(CONCURRENCY)

            async def one(start: int, end: int) -> bytes:
                """Fetch one range, when fewer than `CONCURRENCY` others are in progress."""
                async with gate:
                    return await self._get(start, end)

            return await asyncio.gather(*(one(start, end) for start, end in ranges))

        made: list[bytes] = sync(self._fs.loop, gather)
        return made

    def _get(self, start: int, end: int) -> Awaitable[bytes]:
        """Request the bytes `[start, end)`."""
        raise AssertionError("a subclass reads")

    def _check_range(self, text: str, start: int, end: int) -> None:
        """Raise if `Content-Range` states a different size or range, or none, unless the whole object was requested."""
        span, _, total = text.removeprefix("bytes ").partition("/")
        if total.isdigit() and int(total) != self._size:
            raise self._changed(counted(int(total), "bytes"))
        if span != f"{start}-{end - 1}" and (span or (start, end) != (0, self._size)):
            raise RangeNotSupportedError(
                "server returned a different byte range",
                span=self.span(start, end),
                expected=f"{start}-{end - 1}",
                actual=span or "no Content-Range",
            )


class HttpSource(_AsyncSource):
    """An HTTP(S) object: status, Content-Range and ETag of every answer are checked before its body is read."""

    @classmethod
    def first(cls, fs: Any, path: str, name: str, tail: bool = False) -> Mapping[str, Any] | None:
        """Request the first bytes of an object, or its last, instead of its metadata alone.

        `path` is how `fs` knows the object, `name` is for errors; `tail` requests the last bytes.  Returns its `size`,
        identity and these bytes (`edge`, with their offset); None if the server ignores ranges or reports another
        failure, which a request for the metadata then explains.
        """

        async def get() -> Mapping[str, Any] | None:
            """Request the edge of the object; returns its size, identity and these bytes, or None if ranges are not
            supported.
            """
            session = await fs.set_session()
            options = _with_timeout(fs)
            headers = {**options.pop("headers", {}), "Range": _edge_range(tail), "Accept-Encoding": "identity"}
            async with session.get(fs.encode_url(path), headers=headers, **options) as answer:
                if answer.status == 429 or answer.status >= 500:
                    raise TransientError(f"HTTP status {answer.status}")
                if answer.status in (401, 403):
                    raise PermissionError(f"HTTP status {answer.status}")
                # An empty object has no range.
                if answer.status == 416 and answer.headers.get("Content-Range") == "bytes */0":
                    return {"size": 0, "ETag": answer.headers.get("ETag")}
                if 300 <= answer.status < 400:
                    raise SourceError(f"HTTP status {answer.status}", span=Span(name, 0, 0))
                edge = _edge_span(answer.headers.get("Content-Range", ""), tail)
                if answer.status != 206 or edge is None:
                    return None
                written = answer.headers.get("Last-Modified")
                data = await answer.read()
            start, end, size = edge
            if len(data) != end - start:
                raise TransientError(f"{counted(len(data), 'bytes')} instead of {end - start}")
            tag = answer.headers.get("ETag")
            identity = {"ETag": tag} if tag else {"LastModified": written}
            return {"size": size, **identity, "Last-Modified": written, "edge": (start, data)}

        found: Mapping[str, Any] | None = attempt(lambda: sync(fs.loop, get), name)
        return found

    async def _get(self, start: int, end: int) -> bytes:
        """Request one range.  Errors that may pass (`TransientError`) are retried by the caller.

        Raises `RangeNotSupportedError` if the server ignores the range, and `SourceChangedError` if the size or the
        identity of the object is not as before.
        """
        session = await self._fs.set_session()
        options = _with_timeout(self._fs)
        headers = {**options.pop("headers", {}), "Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        async with session.get(self._fs.encode_url(self._path), headers=headers, **options) as answer:
            if answer.status == 429 or answer.status >= 500:
                raise TransientError(f"HTTP status {answer.status}")
            if answer.status in (401, 403):
                raise PermissionError(f"HTTP status {answer.status}")
            if answer.status == 404:
                raise FileNotFoundError(self.name)
            if answer.status == 416:
                raise self._changed("shorter: the range is outside the object")
            if answer.status >= 300:
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
        """Raise if the object's ETag changed since the first answer, or, without one, its time of modification."""
        name = "ETag" if headers.get("ETag") or "ETag" in self._identity else "Last-Modified"
        now = headers.get(name)
        if now is not None:
            key, value = name.replace("-", ""), now.strip('"')
            if self._identity.setdefault(key, value) != value:  # the first answer that names it sets it
                raise self._changed(f"{name} {now}")


def _with_timeout(fs: Any) -> dict[str, Any]:
    """The options of a request; a silent server times out after `SILENCE`, unless the caller set a timeout."""
    if "timeout" in fs.kwargs or "timeout" in (fs.client_kwargs or {}):
        return {**fs.kwargs}
    from aiohttp import ClientTimeout

    return {"timeout": ClientTimeout(total=None, sock_connect=SILENCE, sock_read=SILENCE), **fs.kwargs}


class S3Source(_AsyncSource):
    """An S3 object: each request is made only if the object is still the one that was opened (If-Match)."""

    has_keys = True

    @classmethod
    def first(cls, fs: Any, path: str, name: str, tail: bool = False) -> Mapping[str, Any] | None:
        """As `HttpSource.first`, by one `GetObject`; None for what is not an object, or is empty."""

        async def get() -> Mapping[str, Any] | None:
            """Request the edge of the object; returns its size, identity and these bytes, or None if there are none."""
            bucket, key, version = fs.split_path(path)
            if not key:
                return None
            more = {"VersionId": version} if version else {}
            try:
                answer = await fs._call_s3(  # noqa: SLF001 - as in `_get`
                    "get_object", Bucket=bucket, Key=key, Range=_edge_range(tail), **more
                )
            except Exception as error:  # of classes that botocore makes at run time: the status in it decides
                if is_transient(error):
                    raise
                return None  # missing, empty, or not an object: a request for its metadata reports which
            async with answer["Body"] as stream:
                data = await stream.read()
            edge = _edge_span(answer.get("ContentRange", ""), tail)
            if edge is None:
                return None
            start, end, size = edge
            if len(data) != end - start:
                return None
            written = answer.get("LastModified")
            facts = {"ETag": answer["ETag"], "VersionId": answer.get("VersionId"), "modified": written}
            return {"size": size, **facts, "edge": (start, data)}

        found: Mapping[str, Any] | None = attempt(lambda: sync(fs.loop, get), name)
        return found

    async def _get(self, start: int, end: int) -> bytes:
        """Request one range of the version that was opened.

        Raises `SourceChangedError` if the object has changed.
        """
        bucket, key, version = self._fs.split_path(self._path)
        more = {"VersionId": version} if version else {}
        if "ETag" in self._identity:
            more["IfMatch"] = f'"{self._identity["ETag"]}"'
        try:
            answer = await self._fs._call_s3(  # noqa: SLF001 - the only way to credentials, retries and IfMatch
                "get_object", Bucket=bucket, Key=key, Range=f"bytes={start}-{end - 1}", **more
            )
        except Exception as error:  # botocore makes its classes at run time: only the code in it identifies the error
            if _s3_code(error) in ("PreconditionFailed", "412", "InvalidRange", "416"):
                raise self._changed(f"{type(error).__name__}: {error}") from error
            raise
        async with answer["Body"] as stream:
            self._identity.setdefault("ETag", answer["ETag"].strip('"'))  # the first answer that names it sets it
            self._check_range(answer.get("ContentRange", ""), start, end)
            body: bytes = await stream.read()
            return body


class GcsSource(_AsyncSource):
    """An object of Google Cloud Storage: each request is made only for the generation that was opened."""

    has_keys = True
    tries_again = True  # gcsfs repeats failed requests itself

    @classmethod
    def first(cls, fs: Any, path: str, name: str, tail: bool = False) -> Mapping[str, Any] | None:
        """As `HttpSource.first`, with the generation of the object as its identity; None for what is not an object."""

        async def get() -> Mapping[str, Any] | None:
            """Request the edge of the object; returns its size, identity and these bytes, or None if there are none."""
            _, key, *_ = fs.split_path(path)
            if not key:  # the path is a bucket
                return None
            try:
                headers, data = await fs._call(  # noqa: SLF001 - the only way to credentials and sessions
                    "GET", fs.url(path), headers={"Range": _edge_range(tail)}
                )
            except Exception as error:  # of gcsfs, whose classes are not imported here: the status in it decides
                if is_transient(error):
                    raise
                return None  # missing, empty, or not an object: a request for its metadata reports which
            edge = _edge_span(headers.get("Content-Range", ""), tail)
            if edge is None:
                return None
            start, end, size = edge
            if len(data) != end - start:
                return None
            return {"size": size, **_generation(headers), "edge": (start, data)}

        found: Mapping[str, Any] | None = attempt(lambda: sync(fs.loop, get), name, again=False)
        return found

    async def _get(self, start: int, end: int) -> bytes:
        """Request one range of the generation that was opened.

        Raises `SourceChangedError` if the object has changed.
        """
        generation = self._identity.get("generation")
        more = {"ifGenerationMatch": generation} if generation else {}
        try:
            headers, data = await self._fs._call(  # noqa: SLF001 - as in `first`
                "GET", self._fs.url(self._path), headers={"Range": f"bytes={start}-{end - 1}"}, **more
            )
        except Exception as error:  # gcsfs raises an HttpError of its own: only its code identifies the error
            if isinstance(error, FileExistsError) or str(getattr(error, "code", "")) == "416":  # so gcsfs names 412
                raise self._changed(str(error)) from error
            raise
        for key, value in identity_of(_generation(headers)).items():
            if self._identity.setdefault(key, value) != value:
                raise self._changed(f"{key} {value}")
        self._check_range(headers.get("Content-Range", ""), start, end)
        body: bytes = data
        return body


def _generation(headers: Mapping[str, str]) -> dict[str, Any]:
    """Identity and time of an object by the headers of an answer, as `fs.info` names them."""
    known = {"generation": "X-Goog-Generation", "Last-Modified": "Last-Modified"}
    return {key: headers[name] for key, name in known.items() if headers.get(name)}


def source_kind(fs: Any) -> type[RemoteSource]:
    """Return the class of sources for an fsspec file system: one that checks every answer if there is one for it."""
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    for protocol, kind in (("https", HttpSource), ("s3", S3Source), ("gs", GcsSource)):
        if protocol in protocols:
            return kind
    return FsspecSource


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
    """The error code of the store, which s3fs wraps in an `OSError` of its own."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
        error = error.__cause__
    return ""
