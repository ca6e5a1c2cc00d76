"""ZS bytes to values and back, without I/O.

The header goes through the class generated from `ksy/zs.ksy`.  Block framing, records and index entries are hot: they
have fast twins here and in `exhume.kernel`, and tests that they agree with the generated classes on every input.
Positions are relative to what was passed in; offsets inside index entries are those of the file.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any

from exhume_ksy.zs import Zs

from exhume.errors import ExhumeError, Span
from exhume.formats.zs import checks
from exhume.kaitai import parse
from exhume.kernel import MalformedRecordsError, build_uleb128, read_uleb128

MAGIC = b"\xabZSfiLe\x01"
INCOMPLETE_MAGIC = b"\xabZStoBe\x01"

PREAMBLE = struct.Struct("<8sQ")
"""Magic number and header length: what has to be read before the header can be."""

FIXED_HEADER = struct.Struct("<QQQ32s16sQ")
"""The header up to the metadata: 80 bytes."""

CRC_SIZE = 8
ENVELOPE_SIZE = PREAMBLE.size + CRC_SIZE
"""Bytes around the header data; the first block starts this much plus the header length into the file."""

MAX_INDEX_LEVEL = 63

STORED_CODECS = {"none": "none", "deflate": "deflate", "lzma": "lzma2;dsize=2^20"}
"""Codec names for people and what the header says."""

DECODERS = {"none": "none", "deflate": "deflate", "lzma2;dsize=2^20": "lzma2"}
"""What the header says and the name `exhume.codecs` uses."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header's fields; `size` is that of the header data (H), `metadata` its raw JSON."""

    root_offset: int
    root_size: int
    file_size: int
    data_sha256: bytes
    codec_field: bytes
    metadata: bytes
    extensions: bytes = b""

    @property
    def size(self) -> int:
        """Bytes of the header data, without magic, length field and checksum."""
        return FIXED_HEADER.size + len(self.metadata) + len(self.extensions)

    @property
    def blocks_offset(self) -> int:
        """Where the first block starts."""
        return ENVELOPE_SIZE + self.size

    @property
    def codec(self) -> str:
        """The codec as the header spells it, NUL padding removed; bytes beyond ASCII show as Latin-1."""
        return self.codec_field.rstrip(b"\0").decode("latin-1")

    def replace(self, **changes: Any) -> Header:
        """A copy with other values."""
        return replace(self, **changes)


def parse_header(data: bytes, where: Span) -> Header:
    """The header from its H bytes, which lie at `where`.

    Raises ZS-302 when the fields do not fit.
    """
    try:
        found: Any = parse(Zs.FileHeader, data, where)
    except ExhumeError as error:
        raise checks.HEADER_LAYOUT.error(
            span=error.span, field_path=error.field_path, expected=error.expected, actual=error.actual
        ) from error
    return Header(
        root_offset=found.ofs_root,
        root_size=found.len_root,
        file_size=found.len_file,
        data_sha256=found.sha256_data,
        codec_field=found.codec,
        metadata=found.metadata,
        extensions=found.extensions,
    )


def build_header(header: Header) -> bytes:
    """The H bytes of a header."""
    fixed = FIXED_HEADER.pack(
        header.root_offset,
        header.root_size,
        header.file_size,
        header.data_sha256,
        header.codec_field,
        len(header.metadata),
    )
    return fixed + header.metadata + header.extensions


def codec_field(name: str) -> bytes:
    """The 16 bytes that name a codec (`none`, `deflate`, `lzma`) in the header."""
    return STORED_CODECS[name].encode("ascii").ljust(16, b"\0")


@dataclass(frozen=True, slots=True)
class RawBlock:
    """One block as it is stored.

    `offset` and `size` are those of the whole block (length field to checksum) in its file; `body` is what the checksum
    covers, level byte and compressed payload.
    """

    offset: int
    size: int
    body: memoryview
    crc: int

    @property
    def level(self) -> int:
        """0: data, 1 to 63: index, above: extension."""
        return self.body[0]

    @property
    def end(self) -> int:
        """Offset after the block."""
        return self.offset + self.size

    @property
    def is_data(self) -> bool:
        """Whether the block holds records."""
        return self.body[0] == 0

    @property
    def is_index(self) -> bool:
        """Whether the block holds index entries."""
        return 1 <= self.body[0] <= MAX_INDEX_LEVEL


class ShortBlockError(ValueError):
    """More bytes are needed; `needed` is how many the block takes as far as is known (0: its length is cut)."""

    def __init__(self, needed: int) -> None:
        super().__init__(f"the block needs {needed} bytes")
        self.needed = needed


def parse_block(data: memoryview, position: int, offset: int) -> RawBlock:
    """The block whose length field starts at `position` of `data`, which is `offset` of the file.

    Raises:
        ShortBlockError: `data` end inside it.
        MalformedRecordsError: `overlong` length.
        ValueError: length 0, so that there is no level.
    """
    try:
        length, start = read_uleb128(data[position : position + 10], 0)
    except MalformedRecordsError as error:
        if error.reason == "truncated":
            raise ShortBlockError(0) from None
        raise
    if length == 0:
        raise ValueError("a block of length 0")
    size = start + length + CRC_SIZE
    end = position + size
    if end > len(data):
        raise ShortBlockError(size)
    crc_at = end - CRC_SIZE
    return RawBlock(offset, size, data[position + start : crc_at], int.from_bytes(data[crc_at:end], "little"))


def build_block(level: int, stored: bytes, crc: int) -> bytes:
    """A block's bytes; `crc` is over the level byte and the stored payload."""
    return b"".join((build_uleb128(len(stored) + 1), bytes((level,)), stored, crc.to_bytes(8, "little")))


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A reference to the block of `size` bytes at `offset`; `position` is where the entry starts in its payload."""

    key: bytes
    offset: int
    size: int
    position: int = 0


MAX_INDEX_ENTRIES = 1_000_000
"""Entries of one index block that are read; a thousand times the usual number, and about 200 MB as objects."""


class TooManyEntriesError(ValueError):
    """An index block holds more entries than are read."""


def parse_index(payload: bytes) -> list[IndexEntry]:
    """The entries of an index block's decompressed payload.

    Raises:
        TooManyEntriesError: more than `MAX_INDEX_ENTRIES`.
        MalformedRecordsError: the payload ends inside an entry, or an integer is not in its shortest form; `offset`
            is where the key's length, or the integer, starts.
    """
    entries: list[IndexEntry] = []
    position, size = 0, len(payload)
    while position < size:
        if len(entries) >= MAX_INDEX_ENTRIES:
            raise TooManyEntriesError
        entry_start = position
        length, position = read_uleb128(payload, position)
        if length > size - position:
            raise MalformedRecordsError("overrun", entry_start, length)
        key = payload[position : position + length]
        block_offset, position = read_uleb128(payload, position + length)
        block_size, position = read_uleb128(payload, position)
        entries.append(IndexEntry(key, block_offset, block_size, entry_start))
    return entries


def build_index(entries: list[IndexEntry]) -> bytes:
    """The payload of an index block."""
    parts: list[bytes] = []
    for entry in entries:
        parts += (build_uleb128(len(entry.key)), entry.key, build_uleb128(entry.offset), build_uleb128(entry.size))
    return b"".join(parts)
