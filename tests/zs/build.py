"""Builds ZS files piece by piece, right or wrong as wanted; shares nothing with the writer but the block encoding."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Any

import exhume
from exhume.codecs.checksums import crc64_xz
from exhume.formats.zs.reader import ZsArchive
from exhume.native.kernel import build_uleb128

MAGIC = b"\xabZSfiLe\x01"
PARTIAL = b"\xabZStoBe\x01"


def records(*items: bytes) -> bytes:
    """A data payload."""
    return b"".join(build_uleb128(len(item)) + item for item in items)


def entries(*items: tuple[bytes, int, int]) -> bytes:
    """An index payload from (key, offset, size)."""
    return b"".join(build_uleb128(len(k)) + k + build_uleb128(o) + build_uleb128(s) for k, o, s in items)


Place = tuple[int, int]
"""Offset and size of a block."""


@dataclass
class File:
    """A file in the making; blocks are stored (codec `none`) unless `stored` says otherwise."""

    codec: bytes = b"none"
    metadata: bytes = b"{}"
    extensions: bytes = b""
    magic: bytes = MAGIC
    body: bytearray = field(default_factory=bytearray)
    digest: bytes = b""

    @property
    def start(self) -> int:
        """Where the first block goes."""
        return 24 + 80 + len(self.metadata) + len(self.extensions)

    @property
    def end(self) -> int:
        """Where the next block goes."""
        return self.start + len(self.body)

    def block(self, level: int, payload: bytes, *, stored: bytes | None = None, crc: int | None = None) -> Place:
        """Append a block; `stored` replaces the stored form of the payload."""
        raw = bytes((level,)) + (payload if stored is None else stored)
        checksum = crc64_xz(raw) if crc is None else crc
        if level == 0:
            self.digest += payload
        return self.raw(build_uleb128(len(raw)) + raw + struct.pack("<Q", checksum))

    def raw(self, data: bytes) -> Place:
        """Append any bytes."""
        at = self.end
        self.body += data
        return at, len(data)

    def data(self, *items: bytes) -> Place:
        """Append a data block."""
        return self.block(0, records(*items))

    def index(self, level: int, *items: tuple[bytes, Place]) -> Place:
        """Append an index block over (key, place of the block)."""
        return self.block(level, entries(*((key, *place) for key, place in items)))

    def finish(
        self,
        root: Place,
        *,
        length: int | None = None,
        sha256: bytes | None = None,
        crc: int | None = None,
        header_size: int | None = None,
        metadata_size: int | None = None,
    ) -> bytes:
        """The file's bytes; keywords replace what the header would truly say."""
        header = struct.pack(
            "<QQQ32s16sQ",
            *root,
            self.end if length is None else length,
            hashlib.sha256(self.digest).digest() if sha256 is None else sha256,
            self.codec,
            len(self.metadata) if metadata_size is None else metadata_size,
        )
        header += self.metadata + self.extensions
        checksum = crc64_xz(header) if crc is None else crc
        size = len(header) if header_size is None else header_size
        return self.magic + struct.pack("<Q", size) + header + struct.pack("<Q", checksum) + bytes(self.body)


def simple(file: File | None = None, *items: bytes) -> bytes:
    """One data block under one index block."""
    file = file or File()
    place = file.data(*(items or (b"a", b"b")))
    return file.finish(file.index(1, (b"", place)))


def reader(target: Any, **options: Any) -> ZsArchive:
    """An open ZS file."""
    archive = exhume.open(target, format="zs", **options)
    assert isinstance(archive, ZsArchive)
    return archive
