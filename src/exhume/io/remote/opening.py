"""Opening fsspec URLs: an object is a `RemoteSource`, a directory or key prefix a `FsspecTree`.

fsspec is imported by this module and those it imports only, so that local use never pays for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from fsspec.asyn import sync
from fsspec.core import url_to_fs

from exhume.errors import EntryNotFoundError, ExhumeError, MissingDependencyError, SourceError, Span
from exhume.io.parallel import map_ordered
from exhume.io.remote.source import HEAD, TAIL, RemoteSource, attempt
from exhume.io.remote.stores import FsspecSource, HttpSource, S3Source, source_kind
from exhume.io.source import Source, Tree, check_relative

for _logger in ("gcsfs", "s3fs", "aiobotocore", "botocore"):  # what they report is raised too: say it once
    logging.getLogger(_logger).addHandler(logging.NullHandler())

MOST_KNOWN = 256
"""Files of a remote directory whose head and tail are kept."""

TOGETHER = 16
"""Files of a remote directory that are asked for at the same time."""


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
    local sources; their path may be percent-encoded, as `Path.as_uri` writes it.  Raises `SourceError`, or
    `MissingDependencyError` when the package for this kind of URL is missing.
    """
    options = dict(storage_options or {})
    allow_full_download = bool(options.pop("allow_full_download", False))
    fs, path = _file_system(url, options)
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    if "file" in protocols or "local" in protocols:
        from exhume.io.source import open_target

        return open_target(path if os.path.lexists(path) else unquote(path))
    kind = source_kind(fs)
    if size is not None and kind is not FsspecSource:
        return kind(fs, path, url, {"size": size}, allow_full_download=allow_full_download)
    fs.invalidate_cache(path)  # a listing from before must not stand for the object as it is now
    tree = FsspecTree(fs, path, url, allow_full_download=allow_full_download)
    if url.partition("::")[0].endswith("/") and (kind is HttpSource or tree.names()):
        return tree
    if kind.has_keys and "." not in path.rpartition("/")[2] and tree.names():
        return tree  # directories are called so, as a rule
    info = kind.first(fs, path, url, tail_first)
    if info is None and kind.has_keys and tree.names():
        return tree
    if info is None:
        info = attempt(lambda: fs.info(path), url, again=not kind.tries_again)
    if info.get("type") == "directory":
        return tree
    return kind(fs, path, url, info, allow_full_download=allow_full_download)


def _file_system(url: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it."""
    try:
        fs, path = url_to_fs(url, **options)
    except ImportError as error:
        raise MissingDependencyError(
            f"no support for this kind of URL is installed ({error}); http, s3 and gs: pip install 'exhume[cloud]'",
            span=Span(url, 0, 0),
        ) from error
    except (ValueError, OSError) as error:
        raise SourceError("cannot open the URL", span=Span(url, 0, 0), actual=error) from error
    return fs, path


def glob_url(url: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """The URLs that match a pattern (`s3://bucket/*.zs`), sorted; of a chain, the first link may have one.

    Raises `SourceError` when nothing matches, and as `open_url` does.
    """
    options = {key: value for key, value in (storage_options or {}).items() if key != "allow_full_download"}
    head, link, rest = url.partition("::")
    fs, path = _file_system(url, options)
    found = attempt(lambda: sorted(fs.glob(path)), url, again=not source_kind(fs).tries_again)
    if not found:
        raise SourceError("no file or object matches", span=Span(url, 0, 0))
    scheme = head.partition("://")[0]
    return [name if "://" in name else f"{scheme}://{name}{link}{rest}" for name in found]


def remote_source(
    fs: Any,
    path: str,
    name: str,
    info: Mapping[str, Any] | None = None,
    *,
    allow_full_download: bool = False,
    tail_first: bool = False,
) -> RemoteSource:
    """One file of an fsspec file system; `info` is what a listing told of it."""
    kind = source_kind(fs)
    if info is None:
        info = kind.first(fs, path, name, tail_first)
    if info is None:
        info = attempt(lambda: fs.info(path), name, again=not kind.tries_again)
    return kind(fs, path, name, info, allow_full_download=allow_full_download)


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
    kind = source_kind(fs)
    if kind is not HttpSource:
        parent, _, last = base.rpartition("/")
        # Without a prefix s3fs asks for an object of that name when it finds none below it.
        below = {"prefix": f"{last}/"} if kind is S3Source and parent else {}
        found: dict[str, Mapping[str, Any]] = fs.find(parent if below else base, detail=True, **below)
        return found
    out: dict[str, Mapping[str, Any]] = {}
    pages = [f"{base}/"]  # index pages link directories with a slash, which fsspec's own walk leaves out
    while pages:  # the pages of one level at the same time
        answers = sync(fs.loop, partial(_gather, fs, pages[:TOGETHER]))
        deeper = pages[TOGETHER:]
        for page, answer in zip(pages, answers, strict=False):
            for info in answer:
                name = info["name"]
                if not name.startswith(page) or "?" in name:
                    continue  # the way up, and pages that sort the list
                if name.endswith("/"):
                    deeper.append(name)
                else:
                    out[name] = info
        pages = deeper
    return out


async def _gather(fs: Any, pages: list[str]) -> list[list[dict[str, Any]]]:
    answers = await asyncio.gather(*(fs._ls(page, detail=True) for page in pages))  # noqa: SLF001 - ls() of many
    return list(answers)


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
                again = not source_kind(self._fs).tries_again
                found = attempt(lambda: _find(self._fs, base), self.name, again=again)
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
        if source_kind(self._fs) is FsspecSource:
            return bool(attempt(lambda: self._fs.isfile(path), self.name))
        try:
            self.source(name)  # its first bytes say it, and will be wanted
        except EntryNotFoundError:
            return False
        return True

    def source(self, name: str) -> RemoteSource:
        return self._open(name)

    def _open(self, name: str, tail_first: bool = False) -> RemoteSource:
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
            source = remote_source(
                self._fs,
                path,
                self._prefix + name,
                info,
                allow_full_download=self._allow,
                tail_first=tail_first,
            )
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise EntryNotFoundError(
                    "no such file in the directory", span=Span(self.name, 0, 0), actual=name
                ) from error
            raise
        source.is_shared = True
        with self._known.lock:
            source = self._known.sources.setdefault(path, source)
            while len(self._known.sources) > MOST_KNOWN:
                self._known.sources.popitem(last=False)[1].forget()
        return source

    def prefetch(
        self,
        names: Iterable[str] = (),
        *,
        tails: Iterable[str] = (),
        sizes: Iterable[str] = (),
        spans: Mapping[str, tuple[int, int]] = MappingProxyType({}),
    ) -> None:
        def head(name: str) -> None:
            self.source(name).read_up_to(0, 1)

        def tail(name: str) -> None:
            source = self._open(name, tail_first=True)
            source.read_up_to(source.size - 1, 1)

        def both(name: str) -> None:
            tail(name)
            head(name)

        def span(name: str) -> None:
            self.source(name).preload(*spans[name])

        asks: list[partial[None]] = []
        with self._known.lock:
            wanted = dict.fromkeys(tails)
            for name in wanted:
                size = self.listed_size(name)
                if size is None or size <= HEAD + TAIL:  # the tail tells, or is, the whole
                    asks.append(partial(both, name))
                elif size:
                    asks += [partial(tail, name), partial(head, name)]
            for name in dict.fromkeys(names):
                if name not in wanted and self.listed_size(name) != 0:
                    asks.append(partial(head, name))
            wanted |= dict.fromkeys(names)
            for name in dict.fromkeys(sizes):
                if name not in wanted and self.listed_size(name) is None:
                    asks.append(partial(head, name))
        asks = [*asks[:MOST_KNOWN], *(partial(span, name) for name in spans)]
        for _ in map_ordered(_quietly, asks, min(TOGETHER, len(asks))):
            pass

    @property
    def is_remote(self) -> bool:
        return True

    def listed_size(self, name: str) -> int | None:
        path = f"{self._path}/{check_relative(name, self.name)}"
        source = self._known.sources.get(path)
        if source is not None:
            return source.size
        told, info = self._known.find(path)
        if not told:
            return None
        size = info.get("size") if info is not None else 0  # what is not there is not asked for
        return None if size is None else int(size)

    def close(self) -> None:
        with self._known.lock:
            for source in self._known.sources.values():
                source.forget()

    def subtree(self, name: str) -> Tree:
        check_relative(name, self.name)
        below, prefix = f"{self.name.rstrip('/')}/{name}", f"{self._prefix}{name}/"
        return FsspecTree(
            self._fs, f"{self._path}/{name}", below, prefix, allow_full_download=self._allow, snapshot=self._known
        )


def _quietly(ask: Callable[[], None]) -> None:
    """Makes a request whose failure will show again where the answer is used."""
    with contextlib.suppress(ExhumeError):
        ask()
