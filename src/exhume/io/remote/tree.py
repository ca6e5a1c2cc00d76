"""Directories and key prefixes of fsspec stores, listed once; `remote_source` opens one file of a file system.

fsspec is a library of file systems by URL schemes.  A store of keys (S3) has no directories: a prefix of keys that ends
with a slash counts as one.  Each request takes long, so requests are made in advance and in parallel (`will_read`).
`allow_full_download` permits to read most of an object (see `RemoteSource`), `pace` is the number of requests in
flight, and `called` is the URL of a directory that is a tree of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from fsspec.asyn import sync

from exhume.errors import EntryNotFoundError, ExhumeError, SourceError, Span
from exhume.io.caching import Lru
from exhume.io.parallel import map_ordered
from exhume.io.remote import attempt
from exhume.io.remote.readahead import AdaptiveConcurrency
from exhume.io.remote.source import HEAD, TAIL, RemoteSource
from exhume.io.remote.stores import FsspecSource, HttpSource, S3Source, source_kind
from exhume.io.source import NETWORK_COST, Cost, Source
from exhume.io.tree import Tree, check_relative
from exhume.redaction import redact

MOST_KNOWN = 256
"""Files of a remote directory whose head and tail are kept."""

TOGETHER = 16
"""Files of a remote directory that are requested at the same time."""


def remote_source(
    fs: Any,
    path: str,
    name: str,
    info: Mapping[str, Any] | None = None,
    *,
    allow_full_download: bool = False,
    tail_first: bool = False,
    pace: AdaptiveConcurrency | None = None,
) -> RemoteSource:
    """Return one file of an fsspec file system as a source; `info` is its entry in a listing, if that is known.

    Otherwise it is requested, with the first bytes of the file (`tail_first`: the last) if the store can do that.
    """
    kind = source_kind(fs)
    if info is None:
        info = kind.first(fs, path, name, tail_first)
    if info is None:
        info = attempt(lambda: fs.info(path), name, again=not kind.tries_again)
    return kind(fs, path, name, info, allow_full_download=allow_full_download, pace=pace)


class _Snapshot:
    """Cache of a remote directory while it is open: listings by prefix, and sources with their edges.

    Every question is asked once.  An object that is replaced meanwhile is a `SourceChangedError` when it is read.
    """

    def __init__(self) -> None:
        self.listings: dict[str, dict[str, Mapping[str, Any]]] = {}
        """For each folder that was listed, the entries of all files below it by path."""
        self.sources: Lru[str, RemoteSource] = Lru(MOST_KNOWN, drop=RemoteSource.forget)
        self.pace: AdaptiveConcurrency = AdaptiveConcurrency()  # shared: files of a store are equally fast to read
        self.lock: threading.RLock = threading.RLock()

    def find(self, path: str) -> tuple[bool, Mapping[str, Any] | None]:
        """Return (whether a listing covers the path, the entry of the path or None if there is no such file)."""
        for base, listing in self.listings.items():
            if path.startswith(f"{base}/"):
                return True, listing.get(path)
        return False, None


def _find(fs: Any, base: str) -> dict[str, Mapping[str, Any]]:
    """Every file below the path `base` with its entry in the listing."""
    kind = source_kind(fs)
    if kind is not HttpSource:
        parent, _, last = base.rpartition("/")
        # Without a prefix s3fs requests an object of that name when it finds none below it.
        below = {"prefix": f"{last}/"} if kind is S3Source and parent else {}
        found: dict[str, Mapping[str, Any]] = fs.find(parent if below else base, detail=True, **below)
        return found
    out: dict[str, Mapping[str, Any]] = {}
    pages = [f"{base}/"]  # index pages link directories with a slash, which fsspec's own walk leaves out
    while pages:  # up to `TOGETHER` of them are requested at a time
        requested, waiting = pages[:TOGETHER], pages[TOGETHER:]
        answers = sync(fs.loop, partial(_gather, fs, requested))
        for page, answer in zip(requested, answers, strict=True):
            for info in answer:
                name = info["name"]
                if not name.startswith(page) or "?" in name:
                    continue  # the parent folder, and links that reorder the list
                if name.endswith("/"):
                    waiting.append(name)
                else:
                    out[name] = info
        pages = waiting
    return out


async def _gather(fs: Any, pages: list[str]) -> list[list[dict[str, Any]]]:
    """Return the entries that each index page links to, requested in parallel."""
    answers = await asyncio.gather(*(fs._ls(page, detail=True) for page in pages))  # noqa: SLF001 - ls() of many
    return list(answers)


class FsspecTree(Tree):
    """A directory or key prefix of an fsspec store."""

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
        """Take the folder `path` of `fs`; `prefix` is before the names of its files in messages and URLs.

        A `snapshot` has the listings and sources that the trees of one store share.
        """
        self.name: str = redact(name)
        self._location = name
        self._fs, self._prefix = fs, prefix
        self._path = str(fs._strip_protocol(path)).rstrip("/")  # noqa: SLF001 - the form of paths that find() returns
        self._allow = allow_full_download
        self._known = snapshot if snapshot is not None else _Snapshot()

    @property
    def location(self) -> str | None:
        return self._location

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all files below `prefix`, sorted."""
        base = f"{self._path}/{check_relative(prefix, self.name)}" if prefix else self._path
        listing = self._listing(base)
        return sorted(path[len(self._path) :].lstrip("/") for path in listing)

    def _listing(self, base: str) -> dict[str, Mapping[str, Any]]:
        """Every file below `base` with its entry, from a listing that is kept; empty if there is no such folder."""
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
        """Whether there is a file of that name: by a listing if one is known, else by a request to the store."""
        path = f"{self._path}/{check_relative(name, self.name)}"
        with self._known.lock:
            if self._known.sources.get(path) is not None:
                return True
            is_known, info = self._known.find(path)
        if is_known:
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
        """The source of a file, opened once and then shared.

        With `tail_first`, its last bytes are requested first.  Raises `EntryNotFoundError` if there is no such file.
        """
        path = f"{self._path}/{check_relative(name, self.name)}"
        with self._known.lock:
            source = self._known.sources.get(path)
            if source is not None:
                return source
            is_known, info = self._known.find(path)
        if is_known and info is None:
            raise EntryNotFoundError("no such file in the directory", span=Span(self.name, 0, 0), actual=name)
        if info is not None and info.get("size") is None:
            info = None  # listings of some servers have no sizes
        try:
            source = remote_source(
                self._fs,
                path,
                self._prefix + name,
                info,
                allow_full_download=self._allow,
                tail_first=tail_first,
                pace=self._known.pace,
            )
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise EntryNotFoundError(
                    "no such file in the directory", span=Span(self.name, 0, 0), actual=name
                ) from error
            raise
        source.is_shared = True
        with self._known.lock:
            known = self._known.sources.get(path)
            if known is not None:  # another thread was faster
                return known
            self._known.sources.put(path, source)
        return source

    def will_read(
        self,
        names: Iterable[str] = (),
        *,
        tails: Iterable[str] = (),
        sizes: Iterable[str] = (),
        spans: Mapping[str, tuple[int, int]] = MappingProxyType({}),
        listing: bool = False,
    ) -> None:
        """Request concurrently what will be read: the heads of `names` and `sizes`, the `tails`, and `spans` of files.

        `sizes` names files whose size is needed; with `listing` the folder is listed first.  Failures are ignored here:
        they are raised when the file is read.
        """
        if listing:  # once, before another thread requests a part of it
            self.names()
        asks: list[partial[None]] = []  # the requests to make
        with self._known.lock:
            wanted = dict.fromkeys(tails)
            for name in wanted:
                size = self.listed_size(name)
                if size is None or size <= HEAD + TAIL:  # the tail is the whole file, or its response states the size
                    asks.append(partial(self._read_ends, name))
                elif size:
                    asks += [partial(self._read_tail, name), partial(self._read_head, name)]
            for name in dict.fromkeys(names):
                if name not in wanted and self.listed_size(name) != 0:
                    asks.append(partial(self._read_head, name))
            wanted |= dict.fromkeys(names)
            for name in dict.fromkeys(sizes):
                if name not in wanted and self.listed_size(name) is None:
                    asks.append(partial(self._read_head, name))
        asks = [*asks[:MOST_KNOWN], *(partial(self._read_span, name, *spans[name]) for name in spans)]
        for _ in map_ordered(_quietly, asks, min(TOGETHER, len(asks))):
            pass

    # One byte is enough: a small read at either end fetches the whole head or tail, which is kept.

    def _read_head(self, name: str) -> None:
        self.source(name).read_up_to(0, 1)

    def _read_tail(self, name: str) -> None:
        """Read the last bytes of a file, and learn its size by that request."""
        source = self._open(name, tail_first=True)
        source.read_up_to(source.size - 1, 1)

    def _read_ends(self, name: str) -> None:
        """Read the first and the last bytes of a file."""
        self._read_tail(name)
        self._read_head(name)

    def _read_span(self, name: str, start: int, end: int) -> None:
        self.source(name).preload(start, end)

    @property
    def cost(self) -> Cost:
        return NETWORK_COST

    def listed_size(self, name: str) -> int | None:
        """Return a file's size if a listing or an open source states it, without a request; 0 if it does not exist."""
        path = f"{self._path}/{check_relative(name, self.name)}"
        source = self._known.sources.get(path)
        if source is not None:
            return source.size
        is_known, info = self._known.find(path)
        if not is_known:
            return None
        size = info.get("size") if info is not None else 0  # what is not there is not requested
        return None if size is None else int(size)

    def close(self) -> None:
        with self._known.lock:
            for source in self._known.sources.values():
                source.forget()

    def subtree(self, name: str) -> Tree:
        return self._part(name, f"{self._location.rstrip('/')}/{name}", f"{self._prefix}{name}/")

    def alone(self, name: str, called: str) -> Tree:
        return self._part(name, called, "")

    def _part(self, name: str, called: str, prefix: str) -> FsspecTree:
        """Return the folder `name` as a tree that shares the snapshot."""
        path = f"{self._path}/{check_relative(name, self.name)}"
        return FsspecTree(self._fs, path, called, prefix, allow_full_download=self._allow, snapshot=self._known)

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process: with the listing below the directory, without the data of its files."""
        is_known, _ = self._known.find(f"{self._path}/")
        listing = self._listing(self._path) if is_known else None
        return _unpickled, (self._fs, self._path, self._location, self._prefix, self._allow, listing)


def _unpickled(
    fs: Any, path: str, name: str, prefix: str, allow: bool, listing: dict[str, Mapping[str, Any]] | None
) -> FsspecTree:
    """Return the tree in another process, with the listing that it had."""
    known = _Snapshot()
    tree = FsspecTree(fs, path, name, prefix, allow_full_download=allow, snapshot=known)
    if listing is not None:
        known.listings[path] = listing
    return tree


def _quietly(ask: Callable[[], None]) -> None:
    """Make a request whose failure will show again where the answer is used."""
    with contextlib.suppress(ExhumeError):
        ask()


def parent_tree(source: Source, levels: int = 1) -> Tree | None:
    """The directory that holds a remote file, `levels` up; None for every other source."""
    if not isinstance(source, RemoteSource):
        return None
    fs, path = source.above(levels)
    return FsspecTree(fs, path, fs.unstrip_protocol(path), allow_full_download=source.allow_full_download)
