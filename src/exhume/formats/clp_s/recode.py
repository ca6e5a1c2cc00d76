"""Recoding: the same sections and streams, recompressed or stored in raw zstd blocks, or moved as they are.

A packed stream is tables back to back, each stored column by column.  Its payload is cut into several zstd frames.
These end with columns if possible, so that readers can skip columns that they do not need (see `write.build`).
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exhume.archive import Progress, no_progress
from exhume.codecs.checksums import sha256
from exhume.codecs.common import Buffer
from exhume.codecs.serial import Serial
from exhume.errors import ExhumeError, WriterError
from exhume.formats.clp_s.layout import DICTIONARY_HEAD, STREAM_SIZE, STREAMS_AT, PacketType
from exhume.formats.clp_s.layout_packed import OFS_STREAM
from exhume.formats.clp_s.layout_table import column_ends
from exhume.formats.clp_s.names import DICTIONARIES, TABLE_SECTIONS
from exhume.formats.clp_s.read.places import StoredRange
from exhume.formats.clp_s.read.tables import Table
from exhume.formats.clp_s.read.windows import is_large, is_too_large, open_windows
from exhume.formats.clp_s.write import build as framing_sizes
from exhume.formats.clp_s.write.build import (
    Framing,
    Payload,
    Piece,
    in_file,
    put,
    reserve,
    whole,
    write_container,
)
from exhume.io.output.scratch import scratch_file
from exhume.io.parallel import map_ordered
from exhume.io.source import STREAM_CHUNK
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import TableArchive

STRUCTURES = ("/schema_tree", "/schema_ids")
"""Sections whose payloads do not change; that of `/table_metadata` states offsets, and does."""


def recode(
    archive: TableArchive,
    output: str | os.PathLike[str],
    *,
    stored: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    level: str | None = None,
    directory: bool | None = None,
    jobs: int = 1,
) -> None:
    """Write every section at zstd `level` (1 to 22, default 3), or `stored` in raw blocks.

    `directory` chooses the form: a directory (True), a single file (False), or what the archive is (None).  A form that
    is requested without `level` or `stored` keeps all stored bytes.  Packets and sections of unknown kinds are kept as
    they are.  Propagates the errors of damaged sections; raises `WriterError` for a section whose name is not a valid
    file name.
    """
    if level is not None and not (level.isdigit() and 1 <= int(level) <= 22):
        raise WriterError("the level is zstd's", expected="1 to 22", actual=level)
    form = isinstance(archive.source, Tree) if directory is None else directory
    if directory is not None and level is None and not stored:
        _move(archive, output, directory, progress)
        return
    framing = Framing(3 if level is None else int(level), stored)
    write_container(
        output,
        archive.header.version,
        archive.header.original_size,
        [(packet.type, packet.body) for packet in archive.packets],
        _sections(archive, framing, progress, Path(output).parent, jobs),
        framing,
        directory=form,
    )


def _move(archive: TableArchive, output: str | os.PathLike[str], directory: bool, progress: Progress) -> None:
    """Write the stored bytes of all sections as a directory or a file, without decompressing them.

    Header and metadata section are the same in both forms; they are rebuilt only if there are gaps between sections.
    """
    for problem in archive.section_problems.values():
        raise problem

    def sections() -> Iterator[Piece]:
        """Yield the stored sections, and report the progress."""
        for done, entry in enumerate(archive.files, 1):
            yield entry.name, entry.source.chunks(entry.start, entry.end)
            progress(done, len(archive.files), "sections")

    header = archive.header
    if sum(entry.size for entry in archive.files) == header.archive_size - header.files_base:
        with reserve(output, directory) as made:
            put(made, archive.head.read_at(0, header.files_base), sections())
    else:
        packets = [(packet.type, packet.body) for packet in archive.packets]
        size = header.original_size
        write_container(output, header.version, size, packets, sections(), Framing(), directory=directory)


def _sections(archive: TableArchive, framing: Framing, progress: Progress, folder: Path, jobs: int) -> Iterator[Piece]:
    """Yield the new sections in the archive's order, recompressed in threads.

    The table metadata state the stored sizes of the streams and may come before them.  So the streams are stored in a
    scratch file first (in `folder`); the dictionaries are compressed in the order in which their sections are yielded.
    """
    count = len(archive.table_metadata.streams)
    tables: dict[int, array[int]] = {}  # by stream: the numbers of its tables; arrays, since there may be very many
    for table, stream in enumerate(archive.table_metadata.tables.stream_ids):
        tables.setdefault(stream, array("I")).append(table)
    dictionaries = [entry for entry in archive.files if entry.name in DICTIONARIES]
    payloads: list[Callable[[], Payload]]
    payloads = [partial(_stream, archive, number, tables.get(number, ()), folder) for number in range(count)]
    payloads += [partial(_dictionary, archive, entry) for entry in dictionaries]
    with scratch_file(folder) as spool:
        read = map_ordered(lambda payload: payload(), payloads, jobs, ahead=jobs)
        stored = framing.several(read, jobs)  # the frames of each payload: the streams, then the dictionaries
        sizes = [sum(map(spool.write, frames)) for frames in islice(stored, count)]
        for done, entry in enumerate(archive.files, 1):
            if entry.name in STRUCTURES:  # `structure` returns the payload and its span
                yield entry.name, [framing.one(archive.structure(entry.name)[0])]
            elif entry.name in DICTIONARIES:
                yield entry.name, chain([entry.part(0, min(DICTIONARY_HEAD, entry.size)).read()], next(stored))
            elif entry.name == "/table_metadata":
                yield entry.name, [framing.one(with_stream_offsets(archive.structure(entry.name)[0], sizes))]
            elif entry.name in TABLE_SECTIONS:
                spool.seek(0)
                yield entry.name, iter(partial(spool.read, STREAM_CHUNK), b"")
            else:
                yield entry.name, entry.source.chunks(entry.start, entry.end)
            progress(done, len(archive.files), "sections")


def _stream(archive: TableArchive, number: int, tables: Iterable[int], folder: Path) -> Payload:
    """The payload of a packed stream: the sizes of its parts, after each of which a frame may end, and its bytes.

    The parts are the columns of its tables.  A table that cannot be read is one part, and so is a small table, if a
    frame that ended inside would be shorter than the least size.  `number`: of the stream; `tables`: theirs, in order;
    `folder`: for a temporary file.
    """
    size, read = archive.stream_bytes(number)
    entries = archive.table_metadata.tables
    ends, cut = [0], 0  # ends of the parts; `cut`: the end of the last frame
    for table in tables:
        start, end = entries.starts[table], entries.ends[table]
        if start == ends[-1] and end <= size:
            within: list[int] = []
            if end - cut >= framing_sizes.LEAST:  # a frame may end inside the table: its columns are needed
                with suppress(ExhumeError):
                    within = _column_ends(Table(archive, entries[table]), read)
            for stop in (*(start + place for place in within), end):
                ends.append(stop)
                if stop - cut >= framing_sizes.LEAST:
                    cut = stop
    ends.append(size)
    # A stream of one large frame can only be decompressed from its start: do that once, into a file.
    if isinstance(archive.stream_parts(number), Serial):
        spool = scratch_file(folder)
        for at in range(0, size, STREAM_CHUNK):
            spool.write(read(at, min(size, at + STREAM_CHUNK)))
        return in_file(list(pairwise(ends)), spool)
    return [stop - start for start, stop in pairwise(ends)], read


def _column_ends(table: Table, read: Callable[[int, int], Buffer]) -> list[int]:
    """The offset in a table where each column ends; none for a table that is too large and has no windows.

    `read` returns a range of the stream.  Raises the fault in the table.
    """
    windows = open_windows(table) if is_large(table) else None
    if windows is not None or is_too_large(table):
        return [] if windows is None else windows.ends
    entry, place = table.entry, partial(table.archive.stream_span, table.entry.stream_id)
    return column_ends(memoryview(read(entry.start, entry.end)), table.layout, table.num_messages, place)


def _dictionary(archive: TableArchive, entry: StoredRange) -> Payload:
    """The payload of a dictionary, as one part."""
    _, entries = dictionary_payload(archive, entry)
    return whole(entries)


def with_stream_offsets(payload: bytes, sizes: Sequence[int]) -> bytes:
    """Change a table metadata payload to state that streams with these stored sizes are back to back."""
    out = bytearray(payload)
    offset = 0
    for number, size in enumerate(sizes):
        OFS_STREAM.pack_into(out, STREAMS_AT + STREAM_SIZE * number, offset)
        offset += size
    return bytes(out)


def dictionary_payload(archive: TableArchive, entry: StoredRange) -> tuple[bytes, Buffer]:
    """Return `(number of entries as it is stored, decompressed entries)` of a dictionary section."""
    if entry.size <= DICTIONARY_HEAD:
        return entry.read(), b""
    return entry.part(0, DICTIONARY_HEAD).read(), archive.payload_in_file_or_memory(entry.part(DICTIONARY_HEAD))[0]


def _add(digest: Any, name: str, *parts: Buffer) -> None:
    """Add a value to a digest: a line with its name and size, so that values cannot run together, and its bytes."""
    digest.update(f"{name} {sum(map(len, parts))}\n".encode())
    for part in parts:
        digest.update(part)


def content_digest(archive: TableArchive) -> str:
    """SHA-256 over version, metadata and decompressed payloads: recoding does not change it."""
    digest = sha256()

    add = partial(_add, digest)
    add("version", archive.header.version_text.encode())
    add("original size", str(archive.header.original_size).encode())
    for packet in archive.packets:
        if packet.type != PacketType.ARCHIVE_FILE_INFO:
            add(f"packet {packet.type}", packet.body)
    for entry in archive.files:
        if entry.name == "/table_metadata":
            no_sizes = [0] * len(archive.table_metadata.streams)  # sets all offsets to 0
            add(entry.name, with_stream_offsets(archive.structure(entry.name)[0], no_sizes))
        elif entry.name in STRUCTURES:
            add(entry.name, archive.structure(entry.name)[0])
        elif entry.name in DICTIONARIES:
            add(entry.name, *dictionary_payload(archive, entry))
        elif entry.name in TABLE_SECTIONS:
            for number in range(len(archive.table_metadata.streams)):
                size, read = archive.stream_bytes(number)
                digest.update(f"stream {number} {size}\n".encode())
                for start in range(0, size, STREAM_CHUNK):
                    digest.update(read(start, min(size, start + STREAM_CHUNK)))
        else:
            digest.update(f"{entry.name} {entry.size}\n".encode("utf-8", "surrogateescape"))
            for chunk in entry.source.chunks(entry.start, entry.end):
                digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"
