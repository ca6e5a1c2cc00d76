"""The rows of a bundle's index, by path, by directory, by shard; live through the strict reader of `leveldb`.

The index is a LevelDB database.  A file row has the path of a file as its key and states where the content is in the
stream of a shard (the uncompressed content of that shard); a record row states where a part of it is stored; one
row is the configuration.  Values are Protocol Buffers messages.

Spec: data_bundle.txt, Index; `docs/formats/data_bundle.md`, "Profile".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from exhume.errors import ExhumeError, Span
from exhume.formats.data_bundle import checks
from exhume.formats.data_bundle.kernel import bundle_file_row, bundle_record_row
from exhume.formats.data_bundle.layout import (
    CONFIG_KEY,
    FILE_PREFIX,
    FILE_STOP,
    FileKey,
    build_escaped,
    escape,
    file_key,
    parse_file_key,
    parse_record_key,
    record_prefix,
)
from exhume.formats.data_bundle.messages import MAGIC_TEXT, BundleConfig, FileMetadata, RecordMetadata
from exhume.formats.data_bundle.names import INDEX
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.wire import WireError
from exhume.tuples import NamedTuple

T = TypeVar("T")


class FileRow(NamedTuple):
    """A file or directory: its relative path, and its index row: value (`meta`: place, size, checksum) and key."""

    path: str
    meta: FileMetadata
    key: FileKey


class RecordRow(NamedTuple):
    """A record: where it starts in the stream, and where in the shard file according to its row (None: all zeros)."""

    offset: int
    byte_offset: int | None
    meta: RecordMetadata


def plain_file_row(key: bytes, value: bytes) -> FileRow | None:
    """Return a file row of the usual form, parsed by the compiled kernel in a fraction of the time; None for others,
    and without the kernel.
    """
    found: FileRow | None = bundle_file_row(key, value, FileRow, FileKey, FileMetadata)
    return found


def plain_record_row(key: bytes, value: bytes) -> RecordRow | None:
    """A record row of the usual form; see `plain_file_row`."""
    found: RecordRow | None = bundle_record_row(key, value, RecordRow, RecordMetadata)
    return found


def parse_file_row(key: bytes, value: bytes, where: Span) -> FileRow:
    """A file row; raises DBND-302 when key or value cannot be read."""
    found = plain_file_row(key, value)
    if found is not None:
        return found
    try:
        parts = parse_file_key(key)
        return FileRow(parts.path, FileMetadata.parse(value), parts)
    except WireError as error:
        raise checks.FILE_ROW.error(error.reason, span=where, actual=key) from error


def parse_record_row(key: bytes, value: bytes, where: Span) -> RecordRow:
    """A record row; raises DBND-303 when key or value cannot be read, or when they contradict each other."""
    found = plain_record_row(key, value)
    if found is not None:
        return found
    try:
        parts = parse_record_key(key)
        meta = RecordMetadata.parse(value)
    except WireError as error:
        raise checks.RECORD_ROW.error(error.reason, span=where, actual=key) from error
    if (meta.shard_index, meta.offset) != parts:
        raise checks.RECORD_ROW.error(
            "key and value differ", span=where, expected=parts, actual=(meta.shard_index, meta.offset)
        )
    if meta.byte_offset is None and not meta.all_zeros:
        raise checks.RECORD_ROW.error("it has neither an offset nor the mark of all zeros", span=where)
    return RecordRow(meta.offset, meta.byte_offset, meta)


def parse_config(value: bytes, where: Span) -> BundleConfig:
    """Parse the configuration row. Raises DBND-301 when it cannot be read, DBND-102 when it is not that of a bundle."""
    try:
        config = BundleConfig.parse(value)
    except WireError as error:
        raise checks.CONFIG_ROW.error(error.reason, span=where) from error
    if config.magic != MAGIC_TEXT:
        raise checks.CONFIG_MAGIC.error(span=where, expected=MAGIC_TEXT, actual=config.magic)
    return config


class BundleIndex:
    """Live rows of the index database."""

    def __init__(self, database: Database, sequence: int | None = None) -> None:
        """The rows as of the sequence number `sequence`; None: the newest."""
        self.database = database
        self.sequence = sequence

    @property
    def where(self) -> Span:
        """The span of the index as a whole, for errors."""
        return Span(INDEX, 0, 0)

    def config(self) -> BundleConfig:
        """The configuration; raises when there is none."""
        value = self.database.get(CONFIG_KEY, sequence=self.sequence)
        if value is None:
            raise checks.NO_CONFIG.error(span=self.where)
        return self._parsed(lambda _, value, where: parse_config(value, where), CONFIG_KEY, value)

    def file(self, path: str) -> FileRow | None:
        """The row of one path, None when there is none.  Raises DBND-302 when the row cannot be read."""
        parts = file_key(path)
        key = parts.build()
        value = self.database.get(key, sequence=self.sequence)
        if value is None:
            return None
        try:
            return FileRow(path, FileMetadata.parse(value), parts)
        except WireError as error:
            raise checks.FILE_ROW.error(error.reason, span=self._place(key), actual=key) from error

    def _parsed(self, parse: Callable[[bytes, bytes, Span], T], key: bytes, value: bytes) -> T:
        """Return a row parsed by `parse`.

        If it cannot be parsed, the row is searched for again, to report its place.
        """
        try:
            return parse(key, value, self.where)
        except ExhumeError:
            return parse(key, value, self._place(key))

    def _place(self, key: bytes) -> Span:
        """The place of a live row, as `verify` states it; the index as a whole in past states."""
        found = None if self.sequence is not None else next(self.database.live_versions(key, key + b"\0"), None)
        return self.where if found is None else found.span

    def files(self, start: bytes = FILE_PREFIX, stop: bytes = FILE_STOP) -> Iterator[FileRow]:
        """File and directory rows with `start <= key < stop`, in key order."""
        for key, value in self.database.scan(start, stop, sequence=self.sequence):
            yield plain_file_row(key, value) or self._parsed(parse_file_row, key, value)

    def records(self, shard: int) -> list[RecordRow]:
        """The record rows of one shard in stream order; without any, its stream is stored as it is."""
        prefix = record_prefix(shard)
        rows = self.database.scan(prefix, _key_after(prefix), sequence=self.sequence)
        return [plain_record_row(key, value) or self._parsed(parse_record_row, key, value) for key, value in rows]

    def children(self, folder: str) -> Iterator[tuple[str, FileRow | None]]:
        """`(name, row)` of each entry of a directory; the row is None for a directory without a row of its own.

        Rows of the directory are one prefix scan; deeper directories are then found by seeking past each of them.
        """
        # Keys have the directory, a terminator, then the name: so the rows of a directory are together.
        raw = folder.encode("utf-8", "surrogateescape")
        lead = b"/" + raw + b"/" if raw else b"/"
        seen: set[str] = set()  # names of the directory's own rows, then also of deeper directories
        direct = FILE_PREFIX + build_escaped(lead)
        for row in self.files(direct, _key_after(direct)):
            name = row.key.name.decode("utf-8", "surrogateescape")
            seen.add(name)
            yield name, row
        # A deeper directory is only known by the rows below it: find one, then skip the others of the same directory.
        inner = FILE_PREFIX + escape(lead)
        start, stop = direct + b"\xff", _key_after(inner)  # deeper directories follow the rows of this one
        while True:
            found = next(iter(self.files(start, stop)), None)
            if found is None:
                return
            part = found.key.directory[len(lead) :].split(b"/", 1)[0]
            name = part.decode("utf-8", "surrogateescape")
            if name and name not in seen:
                seen.add(name)
                yield name, None
            # Past all rows below that directory, and at least to the smallest key after the row.
            start = max(_key_after(inner + escape(part) + b"/"), found.key.build() + b"\0")


def _key_after(prefix: bytes) -> bytes:
    """Return the first key after all keys that start with `prefix`; for a prefix of 0xFF bytes, a longer one."""
    cut = prefix.rstrip(b"\xff")
    return cut[:-1] + bytes((cut[-1] + 1,)) if cut else b"\xff" * (len(prefix) + 1)


def group_records(rows: Iterable[RecordRow]) -> dict[int, list[RecordRow]]:
    """Record rows by shard, in stream order."""
    out: dict[int, list[RecordRow]] = {}
    for row in rows:
        out.setdefault(row.meta.shard_index, []).append(row)
    for part in out.values():
        part.sort(key=lambda row: row.offset)
    return out
