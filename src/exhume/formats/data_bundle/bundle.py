"""A bundle opened: index rows, shards and the way from a path to bytes.

A bundle is a directory with an index (a LevelDB database) and shards (files).  The contents of files are concatenated
to the stream of a shard, which is stored as compressed records, or as it is ("flat").  A file row of the index states
where a file is in a stream, a record row where a record is in the shard.  A `View` reads through one set of rows: the
live ones, or those of a past state.

Spec: data_bundle.txt, Format; `docs/formats/data_bundle.md`, "Profile".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from exhume.codecs.checksums import crc32c
from exhume.errors import EntryNotFoundError, Span
from exhume.findings import Check
from exhume.formats.data_bundle import checks
from exhume.formats.data_bundle.index import FileRow, RecordRow
from exhume.formats.data_bundle.messages import BundleConfig
from exhume.formats.data_bundle.names import shard_name
from exhume.formats.data_bundle.shard import RecordCache, Shard
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.files import SourcePool
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits


class View:
    """Shards of a bundle, read through one set of record rows.  Thread-safe."""

    def __init__(self, tree: Tree, records: Callable[[int], list[RecordRow]], limits: Limits = DEFAULT_LIMITS) -> None:
        """Read the shards in `tree`; `records` returns the rows of a shard's records."""
        self.tree = tree
        self.limits = limits
        self._records = records
        self._cache = RecordCache()  # decoded records of all shards
        self._shards: dict[int, Shard] = {}  # those in use, by number
        self._readers: dict[int, Callable[[int, int], bytes]] = {}  # see `reader`
        self._pool = SourcePool(tree)  # closes files when there are too many
        self._lock = threading.Lock()  # for the dictionaries above

    def source(self, number: int) -> Source:
        """The file of a shard.  Raises DBND-316 when it is missing."""
        try:
            return self._pool.source(shard_name(number))
        except EntryNotFoundError as error:
            raise checks.MISSING_SHARD.error(span=Span(shard_name(number), 0, 0), actual=number) from error

    def shard(self, number: int) -> Shard:
        """A shard; raises DBND-316 when it is missing and the header's rule when its header is bad."""
        with self._lock:
            found = self._shards.get(number)
            if found is None:
                source = self.source(number)
                found = self._shards[number] = Shard(source, number, self._records(number), self._cache, self.limits)
            return found

    def reader(self, number: int) -> Callable[[int, int], bytes]:
        """Return a function that reads bytes `[start, stop)` of the stream of a shard.

        It is the same object each time, so that callers can group files by it.
        """
        with self._lock:
            return self._readers.setdefault(number, lambda start, stop: self.shard(number).read(start, stop))

    def read(self, row: FileRow, start: int = 0, stop: int | None = None) -> bytes:
        """Bytes `[start, stop)` of a file, clipped like a slice; the CRC-32C is checked if that is the whole file."""
        size = 0 if row.meta.is_directory else row.meta.size
        end = size if stop is None else max(0, min(stop, size))
        start = max(0, start)
        whole = start == 0 and end == size
        if end <= start:
            data = b""
        else:
            self._check_place(row)
            base = row.meta.offset
            data = self.shard(row.meta.shard_index).read(base + start, base + end)
        if whole and not row.meta.is_directory:
            self._check_crc(row, crc32c(data))
        return data

    def chunks(self, row: FileRow, jobs: int = 1) -> Iterator[bytes]:
        """A file's bytes record by record, decoded by `jobs` threads; after the last one its CRC-32C is checked."""
        crc = 0
        for part in self._parts(row, jobs):
            crc = crc32c(part, crc)
            yield part
        self._check_crc(row, crc)

    def check_content(self, row: FileRow, data: bytes | memoryview) -> None:
        """Check the whole content of a file, however it was read: its place and its CRC-32C; raise their rules."""
        if row.meta.size:
            self._check_place(row)
        self._check_crc(row, crc32c(data))

    def checked(self, row: FileRow) -> Check:
        """Compute the CRC-32C of a file over its bytes and compare it."""
        crc = 0
        for part in self._parts(row):
            crc = crc32c(part, crc)
        return Check.compare(f"{row.meta.crc32c:08x}", f"{crc:08x}")

    def _parts(self, row: FileRow, jobs: int = 1) -> Iterator[bytes]:
        """Yield a file's bytes in chunks, unchecked."""
        if row.meta.size:
            self._check_place(row)
            base = row.meta.offset
            yield from self.shard(row.meta.shard_index).iter_range(base, base + row.meta.size, jobs=jobs)

    def _check_place(self, row: FileRow) -> None:
        """Raise DBND-315 for a file whose end is not a 64-bit number."""
        if row.meta.offset + row.meta.size >= 1 << 64:
            raise checks.FILE_PLACE.error(
                span=Span(shard_name(row.meta.shard_index), 0, 0), actual=row.meta.offset + row.meta.size
            )

    def _check_crc(self, row: FileRow, value: int) -> None:
        """Raise DBND-201 if the CRC-32C of a file's bytes, `value`, is not that of its row."""
        if value != row.meta.crc32c:
            raise checks.FILE_CRC.error(
                row.path, span=self.file_span(row), expected=f"{row.meta.crc32c:08x}", actual=f"{value:08x}"
            )

    def file_span(self, row: FileRow) -> Span:
        """Return the stored bytes that contain a file: its range in a flat shard, its records otherwise; an empty span
        if the shard was not read, or stores nothing for it (zeros).
        """
        name = shard_name(row.meta.shard_index)
        shard = self._shards.get(row.meta.shard_index)
        if shard is None or not row.meta.size:
            return Span(name, 0, 0)
        if shard.is_flat:
            start = shard.header.data_offset + row.meta.offset
            return shard.source.span(start, start + row.meta.size)
        # The records that the file overlaps; those of zeros have no place.  A shard has, by record, its start in the
        # stream (`starts`) and in the file (`places`), and the end of its stored bytes at the latest (`bounds`).
        from bisect import bisect_left, bisect_right

        first = max(0, bisect_right(shard.starts, row.meta.offset) - 1)
        last = bisect_left(shard.starts, row.meta.offset + row.meta.size)
        places = [place for place in shard.places[first:last] if place is not None]
        if not places:
            return Span(name, 0, 0)
        return shard.source.span(
            min(places), max(shard.bounds[number] for number in range(first, last) if shard.places[number] is not None)
        )

    def close(self) -> None:
        """Close the shards."""
        with self._lock:
            self._pool.close()
            self._shards.clear()
            self._readers.clear()


class OpenBundle(Protocol):
    """An open bundle; see `reader.DataBundleArchive`."""

    limits: Limits
    tree: Tree
    database: Database
    view: View

    @property
    def config(self) -> BundleConfig:
        """The configuration row.  Raises if it is missing or invalid."""

    def shard_files(self) -> Mapping[int, str]:
        """The shard files that exist, by number."""

    def rows(self) -> Mapping[str, FileRow]:
        """Every live file and directory row by path.  Raises at the first damage in the index."""

    def read_member(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """Bytes `[start, stop)` of a member."""

    def iter_member(self, name: str, /) -> Iterator[bytes]:
        """The bytes of a member in chunks."""
