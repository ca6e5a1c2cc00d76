"""Writing bundles: members are queued, then packed into shards record by record, the index last, all of it atomically.

The stream of a shard is the contents of its members, back to back.  It is cut into records, each compressed by
itself and padded to the alignment, or stored as it is ("flat").  The index, a database, has a row for each member and
each record; a record of zeros has only that.

Deterministic: the same members and options give the same bytes, whatever the number of threads.

Spec: data_bundle.txt, Shard Files, Index; `docs/formats/data_bundle.md`, "Write".
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import uuid
from bisect import insort
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final, Literal

from exhume.archive import Progress, Writer, no_progress
from exhume.codecs import compress
from exhume.codecs.checksums import crc32c
from exhume.codecs.stored import store
from exhume.counts import counted
from exhume.errors import Span, UnsafePathError, WriterError, shorten
from exhume.formats.data_bundle.layout import CONFIG_KEY, build_escaped, build_record_key, file_key
from exhume.formats.data_bundle.messages import (
    BundleConfig,
    Compression,
    FileMetadata,
    FileType,
    RecordMetadata,
    ShardHeader,
    UserData,
)
from exhume.formats.data_bundle.names import shard_name
from exhume.formats.data_bundle.shard import LARGE_FILE
from exhume.formats.leveldb.table_writer import write_database
from exhume.io.files import READ, pread, safe_parts
from exhume.io.folders import read_files
from exhume.io.output.atomic import AtomicDirectory
from exhume.io.parallel import map_ordered
from exhume.io.source import source_error
from exhume.tuples import NamedTuple

RECORD_SIZE = 128 << 10
"""Half of the format's default: reading any part of a record means decoding all of it."""

DEFAULT_ALIGNMENT = 4096
"""Bytes, a page."""
MAX_SHARDS = 100_000  # all are open while a bundle is written
SNIFF = 64
"""Bytes of a record that are examined before all of it is searched for anything but zeros."""

_PLAIN_LEAF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+ -]{0,199}")
"""Last components of names that need no further check if their directory is safe."""

CompressionName = Literal["none", "snappy", "zlib"]

# Their numbers in the headers of shards.
METHODS: Final[dict[CompressionName, Compression]] = {
    "none": Compression.NONE,
    "snappy": Compression.SNAPPY,
    "zlib": Compression.ZLIB,
}


@dataclass(slots=True)
class _Member:
    """A queued file.  Its bytes are `data`, or at `path`, or returned by `read(start, stop)`."""

    name: str
    size: int
    data: bytes | None
    path: str | None
    read: Callable[[int, int], bytes] | None
    user_data: UserData | None
    # Set while packing: key in the index, place in the stream of a shard, CRC-32C.
    key: bytes = b""
    shard: int = 0
    offset: int = 0
    crc: int = 0


class _MemberRange(NamedTuple):
    """A range of a member that goes into a record."""

    member: _Member
    start: int
    stop: int


@dataclass(slots=True)
class _Record:
    """A planned record: its shard, its offset in the shard's stream, and the ranges of members in it."""

    shard: int
    offset: int
    pieces: list[_MemberRange] = field(default_factory=list)


class DataBundleWriter(Writer):
    """Queues members; `finish` (or leaving the context) packs them, in the order of their index keys.

    Not thread-safe.  `user_data` of its methods is a message that readers get with the file.

    Args:
        target: Path of the directory to write.
        compression: `zlib`, `snappy` or `none`.
        level: The level of zlib, 0 to 12 on the scale of libdeflate; None: 5.
        stored: Whether to wrap records in raw blocks of the codec instead of compressing them.
        record_size: Uncompressed bytes per record; a file of 1 MiB or more starts a record of its own.
        alignment: Stored records start at multiples of this (1: no padding).
        shards: Files to spread the members over: each member goes to the shard with the fewest bytes so far.
        jobs: Threads that read and compress (0: one per core); they change nothing in the output.
        raw_packed: Whether `none` stores each stream as it is, without record rows and padding; None: it does.
        index_compression: `none` or `snappy`.
        progress: Called with (done, total or None, unit).

    Raises:
        WriterError: An option makes no sense; a name could not be extracted safely, occurs twice, or is a file and a
            directory at once; `OutputExistsError` when the directory exists.

    Example:
        >>> with exhume.databundle.create("letters.bundle") as bundle:
        ...     bundle.add("a.txt", b"hello")
        >>> list(exhume.databundle.open("letters.bundle").names())
        ['a.txt']
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        compression: CompressionName = "zlib",
        level: int | None = None,
        stored: bool = False,
        record_size: int = RECORD_SIZE,
        alignment: int | None = None,
        shards: int = 1,
        jobs: int = 1,
        raw_packed: bool | None = None,
        index_compression: Literal["none", "snappy"] = "snappy",
        progress: Progress = no_progress,
    ) -> None:
        if compression not in METHODS:
            raise _bad("unknown compression", f"one of {', '.join(METHODS)}", compression)
        if level is not None and (stored or compression != "zlib"):
            what = "stored records have" if stored else f"the compression {compression} has"
            raise WriterError(f"{what} no level", actual=level)
        if level is not None and not 0 <= level <= 12:
            raise _bad("the level is zlib's", "0 to 12", level)
        if not 1 <= record_size <= 1 << 30:
            raise _bad("record size out of range", "1 to 1073741824", record_size)
        if not 1 <= shards <= MAX_SHARDS:
            raise _bad("number of shards out of range", f"1 to {MAX_SHARDS}", shards)
        if raw_packed and compression != "none":
            raise _bad("only uncompressed data can be stored without records", "compression none", compression)
        self.is_flat: bool = compression == "none" if raw_packed is None else raw_packed
        self.alignment: int = alignment if alignment is not None else (1 if self.is_flat else DEFAULT_ALIGNMENT)
        if not 1 <= self.alignment <= 1 << 24:
            raise _bad("alignment out of range", "1 to 16777216", self.alignment)
        self.compression = compression
        self.level = level
        self.stored = stored
        self.record_size = record_size
        self.shards: int = shards
        self.jobs = jobs
        self.index_compression = index_compression
        self._progress = progress
        self._members: dict[str, _Member] = {}
        self._folders: dict[str, UserData | None] = {}  # directories that were added
        self._parents: set[str] = set()  # directories of everything that was added
        self._output: AtomicDirectory | None = AtomicDirectory(target)
        self.size: int = 0
        """Bytes of all members."""

    def add(self, name: str, data: bytes, *, user_data: UserData | None = None) -> None:
        """Queue a file with these bytes."""
        self._queue(_Member(self._check(name), len(data), bytes(data), None, None, user_data))

    def add_path(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        *,
        size: int | None = None,
        user_data: UserData | None = None,
    ) -> None:
        """Queue a regular file; it is read when the bundle is finished and must not change until then.

        `name` is what the bundle calls it, by default the path as given.  `size` is its size in bytes if a listing of
        its directory gave it, which saves a system call.  Raises `SourceError` when it cannot be read, `WriterError`
        when it is not a regular file.
        """
        text = os.fspath(path)
        if size is None:
            try:
                found = Path(text).stat()
            except OSError as error:
                raise source_error(error, text) from error
            if not stat.S_ISREG(found.st_mode):
                raise _bad("not a regular file", None, text)
            size = found.st_size
        self._queue(_Member(self._check(text if name is None else name), size, None, text, None, user_data))

    def add_reader(
        self, name: str, size: int, read: Callable[[int, int], bytes], *, user_data: UserData | None = None
    ) -> None:
        """Queue a file of `size` bytes that `read(start, stop)` returns; `read` may be called from several threads."""
        self._queue(_Member(self._check(name), size, None, None, read, user_data))

    def add_directory(self, name: str, *, user_data: UserData | None = None) -> None:
        """Add a directory, so that it exists even when it is empty."""
        self._check(name, folder=True)
        self._folders[name] = user_data
        self._note_parents(name)

    def _check(self, name: str, *, folder: bool = False) -> str:
        """Return a name; raise `WriterError` if it is unsafe, or taken (a `folder` may be added again)."""
        if self._output is None:
            raise _bad("the writer is finished", None, name)
        parent, _, leaf = name.rpartition("/")
        # A plain name in a directory that was checked is safe, if the two are far below the limit of a whole name.
        if parent not in self._parents or not _PLAIN_LEAF.fullmatch(leaf) or len(parent) > 1000:
            try:
                safe_parts(name)
            except UnsafePathError as error:
                raise _bad(error.message, "a relative path", shorten(name)) from error
        if name in self._members or (not folder and (name in self._folders or name in self._parents)):
            raise _bad("the name is in the bundle already", None, shorten(name))
        return name

    def _queue(self, member: _Member) -> None:
        """Add a member whose name was checked."""
        self._note_parents(member.name)
        self._members[member.name] = member
        self.size += member.size

    def _note_parents(self, name: str) -> None:
        """Note the directories above a name; raise `WriterError` if one is a file."""
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
        """Pack everything and rename the bundle to its name."""
        output = self._output
        if output is None:
            return
        try:
            members = list(self._members.values())
            starts: dict[str, bytes] = {}  # of keys, by directory: most members share one
            for member in members:
                folder, _, leaf = member.name.rpartition("/")
                if folder not in starts:
                    starts[folder] = file_key(f"{folder}/").start()
                member.key = starts[folder] + build_escaped(leaf.encode())
            members.sort(key=attrgetter("key"))
            rows = self._pack(output, members)
            write_database(
                lambda name: output.create(f"index/{name}"),
                sorted(rows), codec=self.index_compression, identity=self._identity(members),
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

    def _assign(self, members: list[_Member]) -> None:
        """Assign each member to the shard with the fewest bytes (the first of equals), back to back in its stream."""
        loads = [(0, number) for number in range(self.shards)]  # (bytes so far, shard), sorted
        for member in members:
            load, number = member.offset, member.shard = loads.pop(0)
            insort(loads, (load + member.size, number))
        self.shards = 1 + max((member.shard for member in members if member.size), default=0)  # none stays empty
        for empty in (member for member in members if member.shard >= self.shards):
            empty.shard = empty.offset = 0

    def _plan(self, members: list[_Member]) -> Iterator[_Record]:
        """Yield the records of each shard: one ends when it is full, before a large file, and with its shard."""
        by_shard: list[list[_Member]] = [[] for _ in range(self.shards)]
        for member in members:
            by_shard[member.shard].append(member)
        for number, part in enumerate(by_shard):
            record, room = _Record(number, 0), self.record_size  # `room`: bytes that still fit in the record
            for member in part:
                if member.size >= LARGE_FILE and record.pieces:
                    yield record
                    record, room = _Record(number, member.offset), self.record_size
                at = 0
                while at < member.size:
                    step = min(room, member.size - at)
                    record.pieces.append(_MemberRange(member, at, at + step))
                    at, room = at + step, room - step
                    if room == 0:
                        yield record
                        record, room = _Record(number, member.offset + at), self.record_size
            if record.pieces:
                yield record

    def _pack(self, output: AtomicDirectory, members: list[_Member]) -> list[tuple[bytes, bytes]]:
        """Write the shards; return the rows of the index.

        Rows are built between records, while other threads compress.
        """
        self._assign(members)
        rows = self._other_rows()
        rows += [(one.key, _file_row(one)) for one in members if not one.size]  # empty files are in no record
        done = 0
        with ExitStack() as stack:
            files = [stack.enter_context(output.create(shard_name(number))) for number in range(self.shards)]
            # Bytes written to each shard.
            ends = [file.write(self._header(number).build_file_start()) for number, file in enumerate(files)]
            for record, data, stored in map_ordered(self._encode, self._plan(members), self.jobs):
                rows += _finished_rows(record, data)
                # Store the record, padded to the alignment; a record of zeros has a row only.
                place: int | None = None
                if stored is not None:
                    place = ends[record.shard]
                    padding = -len(stored) % self.alignment if not self.is_flat else 0
                    files[record.shard].write(stored)
                    files[record.shard].write(bytes(padding))
                    ends[record.shard] += len(stored) + padding
                if not self.is_flat:
                    row = RecordMetadata(record.shard, record.offset, place, all_zeros=place is None)
                    rows.append((build_record_key(record.shard, record.offset), row.build()))
                done += len(data)
                self._progress(done, self.size, "bytes")
        return rows

    def _encode(self, record: _Record) -> tuple[_Record, memoryview, bytes | None]:
        """Read and compress one record; return it, its content, and its stored bytes (None for a record of zeros)."""
        data = _read_pieces(record.pieces)
        if self.is_flat:
            return record, data, bytes(data)
        if not any(data[:SNIFF]) and bytes(data).count(0) == len(data):
            return record, data, None
        if self.stored:
            return record, data, store(self.compression, data)
        return record, data, compress(self.compression, data, level=self.level)

    def _header(self, number: int) -> ShardHeader:
        return ShardHeader(number, self.shards, self.record_size, self.alignment, METHODS[self.compression])

    def _other_rows(self) -> list[tuple[bytes, bytes]]:
        """The rows (key, value) of the configuration and of directories."""
        config = BundleConfig(
            block_size=self.alignment, record_size=self.record_size, compression=METHODS[self.compression],
            raw_packed=self.is_flat,
        )  # fmt: skip
        folders = {name: self._folders.get(name) for name in self._parents | set(self._folders)}
        return [(CONFIG_KEY, config.build())] + [
            (file_key(name).build(), FileMetadata(FileType.DIRECTORY, user_data=user).build())
            for name, user in folders.items()
        ]

    def _identity(self, members: list[_Member]) -> str:
        """A UUID derived from the content, for the IDENTITY file."""
        digest = hashlib.sha256()
        for member in members:
            digest.update(b"%s\0%d\0%d\n" % (member.name.encode("utf-8", "surrogateescape"), member.size, member.crc))
        return str(uuid.UUID(bytes=digest.digest()[:16], version=4))


def _finished_rows(record: _Record, data: memoryview) -> Iterator[tuple[bytes, bytes]]:
    """Add the content of a record to the checksums of its members; yield the row of each that ends in it."""
    at = 0  # in the record, where the ranges of members follow each other
    for member, start, stop in record.pieces:
        part = data[at : at + stop - start]
        at += len(part)
        member.crc = crc32c(part, member.crc if start else None)
        if stop == member.size:
            yield member.key, _file_row(member)


def _file_row(member: _Member) -> bytes:
    """The value of the row of a packed file."""
    place = member.shard, member.offset, member.size
    return FileMetadata(FileType.REGULAR_FILE, *place, member.crc, member.user_data).build()


def _read_pieces(pieces: list[_MemberRange]) -> memoryview:
    """Return the bytes of a record; complete files on disk are read in one call of the kernel."""
    if len(pieces) == 1:
        return memoryview(_read(pieces[0]))
    paths = [member.path for member, start, stop in pieces if member.path and not start and stop == member.size]
    if len(paths) < len(pieces):  # some are not complete files on disk
        return memoryview(b"".join(map(_read, pieces)))
    sizes = [piece.stop for piece in pieces]
    data, whole = read_files([os.fsencode(path) for path in paths], sizes)
    if not all(whole):  # one of them changed, or cannot be read: `_read` raises the error for it
        return memoryview(b"".join(map(_read, pieces)))
    return memoryview(data)[: sum(sizes)]


def _read(piece: _MemberRange) -> bytes:
    """Return the bytes of a range; raises `WriterError` if the member's size has changed."""
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
        fd = os.open(member.path, READ)
        try:
            size = piece.stop - piece.start
            data = pread(fd, size, piece.start)
            while len(data) < size and (more := pread(fd, size - len(data), piece.start + len(data))):
                data += more
            now = os.fstat(fd).st_size
        finally:
            os.close(fd)
    except OSError as error:
        raise source_error(error, member.path) from error
    if len(data) != size or (piece.stop == member.size and now != member.size):
        raise WriterError(
            "a file changed while it was packed", format="databundle", span=Span(os.fspath(member.path), 0, 0),
            expected=counted(member.size, "bytes"), actual=counted(now, "bytes"),
        )  # fmt: skip
    return data


def _bad(message: str, expected: object, actual: object) -> WriterError:
    return WriterError(message, format="databundle", expected=expected, actual=actual)
