"""The container around payloads that exist already: what recoding and salvage write."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import msgpack

from exhume.formats.clp_s.layout import HEADER_SIZE, PacketType, Version
from exhume.formats.clp_s.write.build import build_header, pack_packets
from exhume.io.output.atomic import AtomicFile

Piece = tuple[str, Iterable[bytes]]


def write_container(
    output: str | os.PathLike[str],
    version: Version,
    original_size: int,
    packets: Iterable[tuple[int, bytes]],
    sections: Iterable[Piece],
    wrap: Callable[[bytes], bytes],
) -> None:
    """Writes an archive from stored sections, in this order.

    Args:
        packets: Type and body of the metadata packets; the list of sections is made anew in its place (or in front).
        sections: Name and stored bytes, in pieces, of each section; a piece is all that is held in memory.
        wrap: What turns the metadata payload into its stored form.
    """
    with tempfile.TemporaryFile(prefix="exhume-clps-", dir=Path(output).parent) as spool:
        files = []
        for name, pieces in sections:
            files.append({"n": name, "o": spool.tell()})
            for piece in pieces:
                spool.write(piece)
        size = spool.tell()
        kept = [(int(kind), body) for kind, body in packets]
        listed = msgpack.packb({"files": files}, unicode_errors="surrogateescape")
        if not any(kind == PacketType.ARCHIVE_FILE_INFO for kind, _ in kept):
            kept.insert(0, (int(PacketType.ARCHIVE_FILE_INFO), b""))
        chosen = [(kind, listed if kind == PacketType.ARCHIVE_FILE_INFO else body) for kind, body in kept]
        metadata = wrap(pack_packets(chosen))
        header = build_header(version, original_size, HEADER_SIZE + len(metadata) + size, len(metadata))
        with AtomicFile(output) as file:
            file.file.write(header + metadata)
            spool.seek(0)
            shutil.copyfileobj(spool, file.file, 1 << 20)
