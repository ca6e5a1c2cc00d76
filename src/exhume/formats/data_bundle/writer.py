"""Writing bundles: members are queued, then packed into shards record by record, the index last, all of it atomically.

Deterministic: the same members and options give the same bytes, whatever the number of threads.

Spec: "Shard Files", "Index"; `docs/formats/data_bundle.md`, "Writing".
"""

from __future__ import annotations

import hashlib
import os
import stat
import uuid
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from exhume.archive import Progress, Writer, no_progress
from exhume.checksums import crc32c
from exhume.codecs import compress
from exhume.codecs.stored import store
from exhume.errors import UnsafePathError, WriterError, shorten
from exhume.formats.data_bundle.bundle import shard_name
from exhume.formats.data_bundle.keys import CONFIG_KEY, RecordKey, file_key
from exhume.formats.data_bundle.messages import (
    BundleConfig,
    Compression,
    FileMetadata,
    FileType,
    RecordMetadata,
    ShardHeader,
    UserData,
)
from exhume.formats.data_bundle.shard import DEFAULT_RECORD_SIZE, LARGE_FILE
from exhume.formats.leveldb.table_writer import write_database
from exhume.output.atomic import AtomicDirectory
from exhume.output.names import safe_parts
from exhume.parallel import map_ordered
from exhume.source import source_error

DEFAULT_ALIGNMENT = 4096
MAX_SHARDS = 100_000
METHODS = {"none": Compression.NONE, "snappy": Compression.SNAPPY, "zlib": Compression.ZLIB}


@dataclass(slots=True)
class _Member:
    """A queued file: where its bytes are, and what becomes known of it."""

    name: str
    size: int
    data: bytes | None
    path: str | None
    read: Callable[[int, int], bytes] | None
    user_data: UserData | None
    shard: int = 0
    offset: int = 0
    crc: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """A range of a member that goes into a record."""

    member: _Member
    start: int
    stop: int


@dataclass(slots=True)
class _Record:
    """A planned record: its place in the stream and what it is made of."""

    shard: int
    offset: int
    pieces: list[_Piece] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Uncompressed bytes."""
        return sum(piece.stop - piece.start for piece in self.pieces)


class DataBundleWriter(Writer):
    """Queues members; `finish` (or leaving the context) packs them.

    - `compression`: `zlib`, `snappy` or `none`; `level` is zlib's.  `stored` wraps records in
      raw blocks of the codec instead of compressing them.  `none` stores each stream as it is, without record
      rows and padding, unless `raw_packed` is False.
    - `record_size`: uncompressed bytes per record; a file of 1 MiB and more starts its own record.
    - `alignment`: stored records start at multiples of this (1: no padding).
    - `shards`: files to spread the members over: each member goes to the shard with the fewest bytes so far.
    - `jobs`: threads that read and compress (0: one per core); they change nothing in the output.
    - `index_compression`: `none` or `snappy`.

    Members are stored in the order of their index keys.  Not thread-safe.  Raises `WriterError` for names that could
    not be extracted safely, that occur twice, or that are a file and a directory at once.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        compression: str = "zlib",
        level: int | None = None,
        stored: bool = False,
        record_size: int = DEFAULT_RECORD_SIZE,
        alignment: int | None = None,
        shards: int = 1,
        jobs: int = 1,
        raw_packed: bool | None = None,
        index_compression: str = "snappy",
        progress: Progress = no_progress,
    ) -> None:
        if compression not in METHODS:
            raise _bad("unknown compression", f"one of {', '.join(METHODS)}", compression)
        if level is not None and not 0 <= level <= 9:
            raise _bad("the level is zlib's", "0 to 9", level)
        if not 1 <= record_size <= 1 << 30:
            raise _bad("record size out of range", "1 to 1073741824", record_size)
        if not 1 <= shards <= MAX_SHARDS:
            raise _bad("number of shards out of range", f"1 to {MAX_SHARDS}", shards)
        if raw_packed and compression != "none":
            raise _bad("only uncompressed data can be stored without records", "compression none", compression)
        self.is_flat = compression == "none" if raw_packed is None else raw_packed
        self.alignment = alignment if alignment is not None else (1 if self.is_flat else DEFAULT_ALIGNMENT)
        if not 1 <= self.alignment <= 1 << 24:
            raise _bad("alignment out of range", "1 to 16777216", self.alignment)
        self.compression = compression
        self.level = level
        self.stored = stored
        self.record_size = record_size
        self.shards = shards
        self.jobs = jobs
        self.index_compression = index_compression
        self._progress = progress
        self._members: dict[str, _Member] = {}
        self._folders: dict[str, UserData | None] = {}
        self._parents: set[str] = set()
        self._output: AtomicDirectory | None = AtomicDirectory(target)
        self.size = 0
        """Bytes of all members."""

    def add(self, name: str, data: bytes, *, user_data: UserData | None = None) -> None:
        """Queues a file with these bytes."""
        self._queue(_Member(self._check(name), len(data), bytes(data), None, None, user_data))

    def add_path(self, name: str, path: str | os.PathLike[str], *, user_data: UserData | None = None) -> None:
        """Queues a regular file; it is read when the bundle is finished and must not change until then."""
        text = os.fspath(path)
        try:
            found = Path(text).stat()
        except OSError as error:
            raise source_error(error, text) from error
        if not stat.S_ISREG(found.st_mode):
            raise _bad("not a regular file", None, text)
        self._queue(_Member(self._check(name), found.st_size, None, text, None, user_data))

    def add_reader(
        self, name: str, size: int, read: Callable[[int, int], bytes], *, user_data: UserData | None = None
    ) -> None:
        """Queues a file of `size` bytes that `read(start, stop)` gives; it may be called from several threads."""
        self._queue(_Member(self._check(name), size, None, None, read, user_data))

    def add_directory(self, name: str, *, user_data: UserData | None = None) -> None:
        """Adds a directory, so that it is there even when it is empty."""
        self._check(name, folder=True)
        self._folders[name] = user_data
        self._note_parents(name)

    def _check(self, name: str, *, folder: bool = False) -> str:
        if self._output is None:
            raise _bad("the writer is finished", None, name)
        try:
            safe_parts(name)
        except UnsafePathError as error:
            raise _bad(error.message, "a relative path", shorten(name)) from error
        if name in self._members or (not folder and (name in self._folders or name in self._parents)):
            raise _bad("the name is in the bundle already", None, shorten(name))
        return name

    def _queue(self, member: _Member) -> None:
        self._note_parents(member.name)
        self._members[member.name] = member
        self.size += member.size

    def _note_parents(self, name: str) -> None:
        parent = name.rpartition("/")[0]
        while parent and parent not in self._parents:
            if parent in self._members:
                raise _bad("a file would be a directory too", None, shorten(parent))
            self._parents.add(parent)
            parent = parent.rpartition("/")[0]

    @property
    def counts(self) -> dict[str, int]:
        """Files and directories that are queued."""
        return {"files": len(self._members), "directories": len(self._parents | set(self._folders))}

    def finish(self) -> None:
        """Packs everything and gives the bundle its name."""
        output = self._output
        if output is None:
            return
        try:
            members = sorted(self._members.values(), key=lambda m: file_key(m.name).build())
            places = self._pack(output, members)
            write_database(
                lambda name: output.create(f"index/{name}"),
                self._rows(members, places), codec=self.index_compression, identity=self._identity(members),
            )  # fmt: skip
            output.commit()
        except BaseException:
            self.abort()
            raise
        self._output = None

    def abort(self) -> None:
        output, self._output = self._output, None
        if output is not None:
            output.abort()

    # Planning

    def _assign(self, members: list[_Member]) -> None:
        """Each member to the shard with the fewest bytes (the first of equals), one after the other in the stream."""
        loads = [(0, number) for number in range(self.shards)]
        for member in members:
            load, number = loads.pop(0)
            member.shard, member.offset = number, load
            insort(loads, (load + member.size, number))

    def _plan(self, members: list[_Member]) -> Iterator[_Record]:
        """Records of each shard in turn: a record ends when it is full, before a large file, and with its shard."""
        by_shard: list[list[_Member]] = [[] for _ in range(self.shards)]
        for member in members:
            by_shard[member.shard].append(member)
        for number, part in enumerate(by_shard):
            record, room = _Record(number, 0), self.record_size
            for member in part:
                if member.size >= LARGE_FILE and record.pieces:
                    yield record
                    record, room = _Record(number, member.offset), self.record_size
                at = 0
                while at < member.size:
                    step = min(room, member.size - at)
                    record.pieces.append(_Piece(member, at, at + step))
                    at += step
                    room -= step
                    if room == 0:
                        yield record
                        record, room = _Record(number, member.offset + at), self.record_size
            if record.pieces:
                yield record

    # Packing

    def _pack(self, output: AtomicDirectory, members: list[_Member]) -> list[tuple[RecordKey, RecordMetadata]]:
        """Writes the shards; returns a row per record."""
        self._assign(members)
        rows: list[tuple[RecordKey, RecordMetadata]] = []
        done = 0
        with ExitStack() as stack:
            files = [stack.enter_context(output.create(shard_name(n))) for n in range(self.shards)]
            ends = []
            for number, file in enumerate(files):
                head = self._header(number).build_file_start()
                file.write(head)
                ends.append(len(head))
            for record, parts, stored in map_ordered(self._encode, self._plan(members), self.jobs):
                for piece, data in zip(record.pieces, parts, strict=True):
                    piece.member.crc = crc32c(data, piece.member.crc) if piece.start else crc32c(data)
                key = RecordKey(record.shard, record.offset)
                if stored is None:
                    rows.append((key, RecordMetadata(*key, all_zeros=True)))
                else:
                    rows.append((key, RecordMetadata(*key, byte_offset=ends[record.shard])))
                    files[record.shard].write(stored)
                    padding = -len(stored) % self.alignment if not self.is_flat else 0
                    files[record.shard].write(bytes(padding))
                    ends[record.shard] += len(stored) + padding
                done += record.size
                self._progress(done, self.size, "bytes")
        return [] if self.is_flat else rows

    def _encode(self, record: _Record) -> tuple[_Record, list[bytes], bytes | None]:
        """Reads and compresses one record; None for one of zeros, which stores nothing."""
        parts = [_read(piece) for piece in record.pieces]
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if self.is_flat:
            return record, parts, data
        if data.count(0) == len(data):
            return record, parts, None
        if self.stored:
            return record, parts, store(self.compression, data)
        return record, parts, compress(self.compression, data, level=self.level)

    def _header(self, number: int) -> ShardHeader:
        return ShardHeader(number, self.shards, self.record_size, self.alignment, METHODS[self.compression])

    # Index

    def _rows(
        self, members: list[_Member], places: list[tuple[RecordKey, RecordMetadata]]
    ) -> Iterator[tuple[bytes, bytes]]:
        config = BundleConfig(
            block_size=self.alignment,
            record_size=self.record_size,
            compression=METHODS[self.compression],
            raw_packed=self.is_flat,
        )
        yield CONFIG_KEY, config.build()
        folders = {name: self._folders.get(name) for name in self._parents | set(self._folders)}
        rows: list[tuple[bytes, FileMetadata]] = [
            (file_key(name).build(), FileMetadata(FileType.DIRECTORY, user_data=user)) for name, user in folders.items()
        ]
        rows += [
            (file_key(m.name).build(), FileMetadata(FileType.REGULAR, m.shard, m.offset, m.size, m.crc, m.user_data))
            for m in members
        ]
        for key, meta in sorted(rows, key=lambda row: row[0]):
            yield key, meta.build()
        for place_key, place in sorted(places, key=lambda row: row[0]):
            yield place_key.build(), place.build()

    def _identity(self, members: list[_Member]) -> str:
        """A UUID that follows from the content, for the IDENTITY file."""
        digest = hashlib.sha256()
        for member in members:
            digest.update(b"%s\0%d\0%d\n" % (member.name.encode("utf-8", "surrogateescape"), member.size, member.crc))
        return str(uuid.UUID(bytes=digest.digest()[:16], version=4))


def _read(piece: _Piece) -> bytes:
    member = piece.member
    if member.data is not None:
        return member.data[piece.start : piece.stop]
    if member.read is not None:
        data = member.read(piece.start, piece.stop)
        if len(data) != piece.stop - piece.start:
            raise _bad("a reader gave another number of bytes", piece.stop - piece.start, len(data))
        return data
    assert member.path is not None
    try:
        fd = os.open(member.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            size = piece.stop - piece.start
            data = os.pread(fd, size, piece.start)
            while len(data) < size and (more := os.pread(fd, size - len(data), piece.start + len(data))):
                data += more
            grown = piece.stop == member.size and os.fstat(fd).st_size != member.size
        finally:
            os.close(fd)
    except OSError as error:
        raise source_error(error, member.path) from error
    if len(data) != size or grown:
        raise _bad("a file changed while it was packed", f"{member.size} bytes", member.path)
    return data


def _bad(message: str, expected: object, actual: object) -> WriterError:
    return WriterError(message, format="databundle", expected=expected, actual=actual)


def create(target: str | os.PathLike[str], **options: object) -> DataBundleWriter:
    """A writer for a new bundle directory; see `DataBundleWriter` for the options."""
    return DataBundleWriter(target, **options)  # type: ignore[arg-type]


def pack_members(
    target: str | os.PathLike[str], members: Mapping[str, bytes], folders: Iterable[str] = (), **options: object
) -> None:
    """A bundle of these files and directories in one call."""
    with create(target, **options) as writer:
        for name in folders:
            writer.add_directory(name)
        for name, data in members.items():
            writer.add(name, data)
