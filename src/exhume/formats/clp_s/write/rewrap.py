"""Writes a new container, a file or a directory, around existing payloads, for recoding and salvage."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgpack

from exhume.errors import WriterError
from exhume.formats.clp_s.layout import HEADER_SIZE, PacketType, Version
from exhume.formats.clp_s.names import HEADER_FILE
from exhume.formats.clp_s.write.build import build_header, pack_packets
from exhume.formats.clp_s.write.frames import Framing
from exhume.io.output.atomic import AtomicDirectory, AtomicFile
from exhume.io.output.scratch import scratch_file
from exhume.io.tree import check_relative

Piece = tuple[str, Iterable[bytes]]


def reserve(
    output: str | os.PathLike[str], directory: bool, *, overwrite: bool = False
) -> AtomicFile | AtomicDirectory:
    """The file or directory to write an archive to."""
    return AtomicDirectory(output) if directory else AtomicFile(output, overwrite=overwrite)


def put(made: AtomicFile | AtomicDirectory, head: bytes, sections: Iterable[Piece]) -> None:
    """Write an archive: header and metadata section, and the stored sections."""
    if isinstance(made, AtomicDirectory):
        for name, pieces in sections:
            _put_file(made, name, pieces)
        with made.create(HEADER_FILE) as file:
            file.write(head)
    else:
        made.file.write(head)
        for _, pieces in sections:
            made.file.writelines(pieces)
        made.file.flush()


def _put_file(folder: AtomicDirectory, name: str, pieces: Iterable[bytes]) -> int:
    """Write a section as a file; return its size.  Raises `WriterError` when no file can have its name."""
    file = check_relative(name.removeprefix("/"), os.fspath(folder.path))
    if file == HEADER_FILE or "/" in file or (folder.temporary / file).exists():
        raise WriterError("no file of a directory can be named after this section", actual=name)
    with folder.create(file) as out:
        out.writelines(pieces)
        return out.tell()


def write_container(
    output: str | os.PathLike[str],
    version: Version,
    original_size: int,
    packets: Iterable[tuple[int, bytes]],
    sections: Iterable[Piece],
    framing: Framing,
    *,
    directory: bool = False,
) -> None:
    """Write an archive from stored sections, in this order.

    Args:
        packets: Type and body of the metadata packets; the list of sections is rebuilt in its place (or put first).
        sections: Name and stored bytes, in chunks, of each section; only a chunk is kept in memory.
        framing: How the metadata payload is stored.
        directory: Whether to write a file for each section, instead of one file.
    """
    with (
        scratch_file(Path(output).parent) as spool,
        reserve(output, directory) as made,
    ):
        files = []
        size = 0
        for name, pieces in sections:
            files.append({"n": name, "o": size})
            if isinstance(made, AtomicDirectory):
                size += _put_file(made, name, pieces)
            else:
                spool.writelines(pieces)
                size = spool.tell()
        kept = [(int(kind), body) for kind, body in packets]
        listed = msgpack.packb({"files": files}, unicode_errors="surrogateescape")
        if not any(kind == PacketType.ARCHIVE_FILE_INFO for kind, _ in kept):
            kept.insert(0, (int(PacketType.ARCHIVE_FILE_INFO), b""))
        chosen = [(kind, listed if kind == PacketType.ARCHIVE_FILE_INFO else body) for kind, body in kept]
        metadata = framing.one(pack_packets(chosen))
        put(
            made, build_header(version, original_size, HEADER_SIZE + len(metadata) + size, len(metadata)) + metadata, ()
        )
        if isinstance(made, AtomicFile):
            spool.seek(0)
            shutil.copyfileobj(spool, made.file, 1 << 20)
