"""`cafcat://`: all chunks of a CAF catalog as one file system; a file is fetched without its chunk's index.

A CAF chunk is an archive of files; a catalog is a database with the chunk and the byte range of each file.  A
`Location` is a row of it.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from fsspec.utils import stringify_path

from exhume.errors import SourceChangedError, WriterError
from exhume.filesystems.base import OpenObjectCache
from exhume.filesystems.readonly import Info, ReadOnlyFileSystem, file_time, folder_info, is_path
from exhume.io.opening import open_target
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.caf.catalog import Catalog
    from exhume.formats.caf.catalog_entries import Location

SQLITE = b"SQLite format 3\0"
"""First bytes of a SQLite file."""

CATALOGS: OpenObjectCache[Catalog] = OpenObjectCache()
"""The open catalogs of all file systems of the process."""
CHUNKS: OpenObjectCache[Source] = OpenObjectCache()
"""The open chunks, by the key of the file system and their location."""


class _Request(NamedTuple):
    """A range to read of the chunk at `place`, and the number of the request that it is for."""

    number: int
    place: Location
    span: tuple[int, int]


class CafCatalogFileSystem(ReadOnlyFileSystem):
    """Every cataloged member by its path, in any chunk; reading it takes one range request.

    `fo` is the catalog: a SQLite file, a SQLAlchemy URL (extra `catalog`), or a URL of a SQLite file, which is fetched
    whole; `target_protocol` and `target_options` say how fsspec reaches it.  `cafcat:///data/catalog.db/dir/member`
    names both; chained: `cafcat://dir/member::file:///data/catalog.db`.
    `remote_options` are fsspec's options for reaching the chunks.  `chunks_in` are folders and URL prefixes below which
    chunks are read; without any, only the catalog's own folder is one.

    With a path in several chunks, the one with the last id counts.
    """

    protocol: ClassVar[str] = "cafcat"

    def __init__(
        self,
        fo: Any = "",
        target_protocol: str | None = None,
        target_options: Mapping[str, Any] | None = None,
        remote_options: Mapping[str, Any] | None = None,
        chunks_in: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        """Note the options; nothing is opened yet.  Raises `WriterError` without a catalog."""
        super().__init__(**kwargs)
        if not os.fspath(fo):
            raise WriterError("which catalog? cafcat://MEMBER::URL-OF-THE-CATALOG, cafcat://FILE/MEMBER, or fo=")
        self.fo: str = os.fspath(fo)
        self.target_protocol = target_protocol
        self.target_options: dict[str, Any] = dict(target_options or {})
        self.remote_options: dict[str, Any] = dict(remote_options or {})
        self.chunks_in: list[str] = list(chunks_in)
        self._key = object()
        self._locations: set[str] = set()  # of the chunks that were opened
        weakref.finalize(self, _drop, self._key, self._locations)

    # One URL that holds both the catalog and the member

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        """Return the path inside the catalog, without `cafcat://` and the database's path."""
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = stringify_path(path)
        if text.startswith("cafcat://"):
            text = text.removeprefix("cafcat://")
            text = text.removeprefix(_database_in(text))
        return super()._strip_protocol(text)

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        """Return the catalog that a URL contains before the path, as the argument `fo`; fsspec calls it for `cafcat://`."""
        found = _database_in(path.removeprefix("cafcat://"))
        return {"fo": found} if found else {}

    # The catalog and the chunks

    @contextmanager
    def _catalog(self) -> Iterator[Catalog]:
        """Use the open catalog inside a `with`; one thread at a time."""
        with CATALOGS.lease(self._key, self._open_catalog) as held, held.lock:
            yield held.item

    def _open_catalog(self) -> Catalog:
        """Open the catalog: a local one in place, a remote SQLite file after it was fetched completely.

        Raises `FileNotFoundError` or `IsADirectoryError` if it is not a file.
        """
        from exhume.formats.caf.catalog import open_catalog

        if self.target_protocol in (None, "file", "local"):
            path = self.fo.removeprefix("file://")
            if "://" not in path and not os.path.exists(path):  # noqa: PTH110 - path is text
                raise FileNotFoundError(path)
            return open_catalog(path, chunks_in=self.chunks_in)
        from exhume.formats.caf.catalog import Catalog
        from exhume.formats.caf.catalog_store import load_sqlite

        options = {**self.target_options, "protocol": self.target_protocol, "allow_full_download": True}
        url = self.fo if "://" in self.fo else f"{self.target_protocol}://{self.fo}"
        with open_target(url, storage_options=options) as source:
            if isinstance(source, Tree):
                raise IsADirectoryError(self.fo)
            below = self.chunks_in or [url.rpartition("/")[0]]
            return Catalog(load_sqlite(source.read_at(0, source.size), source.name), chunks_in=below)

    def close(self) -> None:
        """Close catalog and chunks; the next use opens them again."""
        _drop(self._key, self._locations)

    def invalidate_cache(self, path: Any = None) -> None:
        """Forget everything that was read from the chunks."""
        _drop(self._key, self._locations)

    # Asking

    def _location(self, path: str) -> Location | None:
        """Return the newest location of a path; None if the catalog does not have it."""
        if not is_path(path):
            return None
        with self._catalog() as catalog:
            found = catalog.find_exact(path)
        return found[-1] if found else None

    def _entry(self, path: str) -> Info | None:
        """Return a path as a file, or as a folder if others are below it; None if there is neither."""
        if not path:
            return folder_info("")
        found = self._location(path)
        if found is not None:
            return _location_info(found)
        if not is_path(path):
            return None
        with self._catalog() as catalog:
            below = next(catalog.list_directory(path), None)
        return None if below is None else folder_info(path)

    def _children(self, path: str) -> list[Info] | None:
        """Return files and folders directly below a path; None if there are none."""
        with self._catalog() as catalog:
            found = [
                folder_info(name) if place is None else _location_info(place)
                for name, place in catalog.list_directory(path)
                if is_path(name)
            ]
        return found if found or not path else None

    def _stored_at(self) -> datetime | None:
        return file_time(self.fo.removeprefix("file://")) if self.target_protocol in (None, "file", "local") else None

    # Reading

    def _fetch(self, requests: Sequence[tuple[str, int | None, int | None]]) -> list[bytes | Exception]:
        """Answer requests `(path, start, end)`, in their order, each with its bytes or the exception that it raises.

        Ranges in the same chunk are read together.
        """
        out: list[bytes | Exception] = [b""] * len(requests)
        chunks: dict[str, list[_Request]] = {}  # by the path of the chunk
        for index, (path, start, end) in enumerate(requests):
            place = self._location(path)
            if place is None:
                out[index] = IsADirectoryError(path) if self.isdir(path) else FileNotFoundError(path)
                continue
            first, last, _ = slice(start, end).indices(place.size)
            if last > first:
                span = (place.start_byte + first, place.start_byte + last)
                chunks.setdefault(place.location, []).append(_Request(index, place, span))
        for wanted in chunks.values():
            chunk = wanted[0].place  # each request names it
            try:
                answers: Sequence[bytes | Exception] = self._read_chunk(chunk, [one.span for one in wanted])
            except Exception as error:  # the answer for these paths, whatever it is: the others still have to be read
                answers = [error] * len(wanted)
            for request, answer in zip(wanted, answers, strict=True):
                out[request.number] = answer
        return out

    def _read_chunk(self, place: Location, spans: list[tuple[int, int]]) -> list[bytes]:
        """Read ranges of the chunk at `place`, which is opened if it is not open yet.

        Raises the same errors as `read_many`, and as `check` for a chunk in a place that is not permitted.
        """
        from exhume.formats.caf.catalog_entries import open_location

        with self._catalog() as catalog:
            catalog.places.check(place.location)
        self._locations.add(place.location)
        key = (self._key, place.location)
        try:
            with CHUNKS.lease(key, lambda: open_location(place, self.remote_options)) as held:
                return held.item.read_many(spans)
        except SourceChangedError:
            CHUNKS.drop(key)
            raise


def _drop(key: object, locations: set[str]) -> None:
    """Close the catalog and the chunks of a file system."""
    CATALOGS.drop(key)
    for location in locations:
        CHUNKS.drop((key, location))


def _location_info(place: Location) -> Info:
    """Return a location as an fsspec entry."""
    return {
        "name": place.file_path,
        "size": place.size,
        "type": "file",
        "offset": place.start_byte,
        "caf_file_id": place.caf_file_id,
        "location": place.location,
    }


def _database_in(path: str) -> str:
    """The leading part of a path that is a SQLite file; empty without one."""
    cut = path.find("/", 1)  # the end of the leading part; -1: the whole path
    while True:
        head = path if cut < 0 else path[:cut]
        try:
            if os.path.isfile(head):  # noqa: PTH113 - head is text
                with open(head, "rb") as file:  # noqa: PTH123 - head is text
                    return head if file.read(len(SQLITE)) == SQLITE else ""
        except OSError:
            return ""
        if cut < 0:
            return ""
        cut = path.find("/", cut + 1)
