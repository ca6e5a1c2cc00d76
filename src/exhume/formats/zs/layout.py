"""Converts ZS bytes to values and back, without I/O: the results of the generated readers in the terms of the format.

A file is a magic number, a header and blocks.  A block is a length (uleb128: 7 bits per byte, the lowest first), a
level (0: data, 1 to 63: index, above: extension), a compressed payload and a CRC-64.

This module adds what a schema cannot express: reading a header whatever its magic number and checksum are, the rule
that is broken by bytes that do not fit, and the number of bytes that a truncated block would need.  Positions are
relative to the given data; offsets inside index entries are those of the file.

Spec: zs.txt, "Integer representations" to "Index block payload".
"""

from __future__ import annotations

from typing import Any, Final

from exhume_ksy.facts import zs as facts
from exhume_ksy.facts.uleb128 import Uleb128
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.uleb128 import read_uleb128
from exhume_ksy.fast.zs import flat_block, read_crc64, read_file_header
from exhume_ksy.fast.zs_index_block import scan_entry

from exhume.codecs.checksums import crc64_xz
from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.formats.zs import checks
from exhume.formats.zs.layout_facts import (
    CRC,
    ENVELOPE_SIZE,
    FIXED_HEADER,
    PREAMBLE,
    STORED_CODECS,
)
from exhume.layout.fast import read
from exhume.native.kernel import MalformedRecordsError, build_uleb128, next_block
from exhume.tuples import NamedTuple

MAGIC_AT: Final = facts.Zs.at.magic
HEADER_LENGTH_AT: Final = facts.Zs.at.len_header


def _in_file(place: tuple[int, int]) -> tuple[int, int]:
    """Return a range of the header data as one of the file."""
    return place[0] + PREAMBLE.size, place[1] + PREAMBLE.size


ROOT_OFFSET_AT: Final = _in_file(facts.FileHeader.at.ofs_root)
ROOT_LENGTH_AT: Final = _in_file(facts.FileHeader.at.len_root)
FILE_LENGTH_AT: Final = _in_file(facts.FileHeader.at.len_file)
SHA256_AT: Final = _in_file(facts.FileHeader.at.sha256_data)
CODEC_AT: Final = _in_file(facts.FileHeader.at.codec)
"""`(start, end)` of the fields of the head in the file."""

LENGTH_SIZE: Final = Uleb128.most
"""Bytes of the longest length of a block."""

FRAME_SIZE: Final = LENGTH_SIZE + facts.BlockBody.at.level[1]
"""With this many bytes of a block, its size and level are known in any case."""

MAX_INDEX_LEVEL = 63
"""The highest level of an index block; blocks above are extensions, which readers skip."""


class Header(NamedTuple):
    """The header's fields; `size` is that of the header data (H), `metadata` its raw JSON.

    `root_offset` and `root_size`: the place of the root index block; `data_sha256`: of the payloads of all data blocks;
    `codec_field`: the 16 bytes that name the codec; `extensions`: bytes after the metadata, which are reserved.
    """

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
        """Offset of the first block in the file."""
        return ENVELOPE_SIZE + self.size

    @property
    def codec(self) -> str:
        """The codec as the header spells it, NUL padding removed; bytes beyond ASCII show as Latin-1."""
        return self.codec_field.rstrip(b"\0").decode("latin-1")


def parse_checksum(data: bytes | memoryview, at: int = 0) -> int:
    """Return the checksum in the eight bytes after a header or a block, at `at` of `data`."""
    return read_crc64(data, at, at + CRC.size)[0]


def parse_header(data: bytes, where: Span) -> Header:
    """Return the header from its data (without magic number, length and checksum), which is at `where`.

    Raises ZS-302 when the fields do not fit.
    """
    found, _ = read(read_file_header, data, where, checks.HEADER_LAYOUT)
    return Header(
        root_offset=found.ofs_root,
        root_size=found.len_root,
        file_size=found.len_file,
        data_sha256=bytes(found.sha256_data),
        codec_field=bytes(found.codec),
        metadata=bytes(found.metadata),
        extensions=bytes(found.extensions),
    )


def build_preamble(magic: bytes, size: int) -> bytes:
    """Return the bytes before the header data: magic number and length."""
    return PREAMBLE.pack(magic, size)


def build_checksum(crc: int) -> bytes:
    """Return the eight bytes that follow a header or a block, with its CRC-64."""
    return CRC.pack(crc & 0xFFFFFFFF, crc >> 32)


def build_header(header: Header) -> bytes:
    """Return the header data, without magic number, length and checksum."""
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
    """Return the 16 bytes that name a codec (`none`, `deflate`, `lzma`) in the header."""
    return STORED_CODECS[name].encode("ascii").ljust(16, b"\0")


class RawBlock(NamedTuple):
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
        """Whether this is a data block."""
        return self.body[0] == 0

    @property
    def is_index(self) -> bool:
        """Whether this is an index block."""
        return 1 <= self.body[0] <= MAX_INDEX_LEVEL


class ShortBlockError(ValueError):
    """More bytes are needed; `needed` is the size of the block as far as it is known (0: its length field is cut)."""

    def __init__(self, needed: int) -> None:
        super().__init__(f"the block needs {counted(needed, 'bytes')}")
        self.needed = needed


def parse_frame(data: memoryview, position: int) -> tuple[int, int]:
    """Return size and level of the block whose length field starts at `position`; `data` need not have all of it.

    Raises:
        ShortBlockError: `data` ends before the level.
        MalformedRecordsError: `overlong` length.
        ValueError: length 0, so that there is no level.
    """
    try:
        length, start = read_uleb128(data, position, len(data))
    except LayoutError as error:
        if error.short:
            raise ShortBlockError(0) from error
        raise MalformedRecordsError("overlong", position) from error
    if length == 0:
        raise ValueError("a block of length 0")
    size = start - position + length + CRC.size
    if start >= len(data):
        raise ShortBlockError(size)
    return size, data[start]


def parse_block(data: memoryview, position: int, offset: int) -> RawBlock:
    """Return the block whose length field starts at `position` of `data`, which is `offset` of the file.

    Raises the same errors as `parse_frame`, and `ShortBlockError` when `data` ends inside the block.
    """
    try:  # `size`: of level and payload, which end at `stop`; `after`: the end of the block
        after, size, _, _, stop, crc = flat_block(data, position, len(data))
    except LayoutError as error:
        # `parse_frame` raises the other errors, or returns the size.
        needed, _ = parse_frame(data, position)
        raise ShortBlockError(needed) from error
    return RawBlock(offset, after - position, data[stop - size : stop], crc)


def _integer(error: LayoutError) -> tuple[str, int]:
    """Return the path and the start of the field of an error.

    The generated reader reports a wrong byte of a uleb128 as `...group[N]`: then those of the whole integer.
    """
    path, _, group = error.path.partition(".group")
    return path, error.offset - int(group or 0)


def find_block(data: memoryview, start: int, stop: int, largest: int) -> int:
    """Return the first position in `[start, stop)` of a block whose checksum matches; `stop` if there is none.

    Only data and index blocks of at most `largest` bytes are found.
    """
    while (start := next_block(data, start, stop, largest, MAX_INDEX_LEVEL)) < stop:
        _, size, _, _, end, crc = flat_block(data, start, len(data))  # as in `parse_block`
        if crc64_xz(data[end - size : end]) == crc:
            break
        start += 1
    return start


def build_block(level: int, stored: bytes, crc: int) -> tuple[bytes, bytes, bytes]:
    """Return a block's bytes, in parts; `crc` is over the level byte and the stored payload."""
    return build_uleb128(len(stored) + 1) + bytes((level,)), stored, build_checksum(crc)


class IndexEntry(NamedTuple):
    """A reference to the block of `size` bytes at `offset`; `position` is where the entry starts in its payload."""

    key: bytes
    offset: int
    size: int
    position: int = 0


MAX_INDEX_ENTRIES = 1_000_000
"""The most entries of one index block that are read: a thousand times the usual number, about 200 MB as objects."""


def parse_index(payload: bytes, where: Span) -> list[IndexEntry]:
    """Return the entries of an index block's decompressed payload, which is at `where`.

    Raises ZS-310, ZS-311, ZS-330, ZS-333 and ZS-503.
    """
    size = len(payload)
    found = scan_entry(payload, 0, size, MAX_INDEX_ENTRIES + 1)
    if len(found) > MAX_INDEX_ENTRIES:
        raise checks.INDEX_TOO_LARGE.error(span=where)
    # Fewer entries than requested are a problem to the reader, but not if they end with the payload.
    if found.problem is not None and found.resume_at < size:
        raise _bad_entry(found.problem, size, where) from found.problem
    keys = [payload[start:end] for start, end in zip(found.key_start, found.key_end, strict=True)]
    return list(map(IndexEntry, keys, found.ofs_block, found.len_block, found.at))


def _bad_entry(error: LayoutError, size: int, where: Span) -> ExhumeError:
    """Return the error for an index entry that cannot be parsed.

    ZS-310 for an entry that is truncated, ZS-311 for an integer not in its shortest form, ZS-330 and ZS-333 for an
    offset and a length that no file can have.  `size` is that of the payload.
    """
    path, at = _integer(error)  # `path` differs from that of the error for a wrong byte of an integer
    # An offset or length that was read, but is impossible.
    if path == error.path and not error.path.endswith(".len_key"):
        rule = checks.REF_DANGLING if error.path.endswith(".ofs_block") else checks.REF_LENGTH
        span = where.sub(at, error.stop)
        return rule.error(span=span, field_path=f"entries{path}", expected=error.expected, actual=error.found)
    facts: dict[str, Any] = {"span": where.sub(at, size), "field_path": f"entries{path}"}
    # An integer that is malformed, or truncated; else a key that is longer than the rest of the payload.
    if path != error.path and not error.short:
        return checks.INTEGER_FORM.error(**facts)
    if path != error.path:
        return checks.ENTRY_CUT.error(**facts, expected="a whole length", actual=counted(size - at, "bytes"))
    return checks.ENTRY_CUT.error(
        **facts, expected=counted(error.found, "bytes"), actual=counted(size - error.stop, "bytes")
    )


def build_index(entries: list[IndexEntry]) -> bytes:
    """Return the payload of an index block with these entries."""
    parts: list[bytes] = []
    for entry in entries:
        parts += (build_uleb128(len(entry.key)), entry.key, build_uleb128(entry.offset), build_uleb128(entry.size))
    return b"".join(parts)
