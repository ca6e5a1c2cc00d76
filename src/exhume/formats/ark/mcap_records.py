"""The records of MCAP files in memory, which the official `mcap` library (extra `mcap`) reads.

MCAP is the container of ROS for logged messages.  A record is a byte for its kind, its size (8 bytes) and its content.
A chunk is a record whose content is other records, compressed.  `mcap_pieces` writes records.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import importlib
import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum
from typing import Any, BinaryIO, Final

from exhume import codecs
from exhume.codecs.blocks import lz4_frames
from exhume.codecs.zstd import zstd_partial
from exhume.errors import CodecError, FormatError, MissingDependencyError, UnsupportedFeatureError, shorten
from exhume.limits import DEFAULT_LIMITS, Limits

MAGIC: Final = b"\x89MCAP0\r\n"
"""The first and the last bytes of a file."""
ENCODING: Final = "rbuf"
"""Encoding of messages and schemas that are those of Ark."""
LIBRARY: Final = "exhume"
"""The writing program in the header of our files."""
LOG_RECORD: Final = "ark.log"
"""Name of the metadata record with the identifiers and the name of an exported log."""
METADATA_RECORD: Final = "ark.metadata"
"""Name of the metadata record with the metadata of an exported log."""
CRC_SIZE: Final = 4
"""Bytes of the checksum of a footer or an attachment: its last field, which it does not cover."""
HEAD_SIZE: Final = 9
"""Bytes before the content of a record."""
SIZE_BYTES: Final = 8
"""Bytes of the size of a record, or of data in one."""
MESSAGE_SIZE: Final = 22
"""Bytes of the content of a message without data."""
ATTACHMENT_SIZE: Final = 32
"""Bytes of the fields of an attachment before its checksum, without name, media type and data."""
FOOTER_CHECKED: Final = 16
"""Bytes of a footer that its checksum covers."""


def library(name: str) -> Any:
    """A module of the library.  Raises `MissingDependencyError` without it."""
    try:
        return importlib.import_module(f"mcap.{name}")
    except ImportError as error:
        raise MissingDependencyError("MCAP needs the extra `mcap`: pip install 'exhume[mcap]'") from error


class Kind(IntEnum):
    """Kinds of records, as the library's `Opcode`, which is imported only where records are parsed."""

    TRUNCATED = 0x00
    """No record: the data end before the record does."""

    HEADER = 0x01
    FOOTER = 0x02
    SCHEMA = 0x03
    CHANNEL = 0x04
    MESSAGE = 0x05
    CHUNK = 0x06
    MESSAGE_INDEX = 0x07
    CHUNK_INDEX = 0x08
    ATTACHMENT = 0x09
    ATTACHMENT_INDEX = 0x0A
    STATISTICS = 0x0B
    METADATA = 0x0C
    METADATA_INDEX = 0x0D
    SUMMARY_OFFSET = 0x0E
    DATA_END = 0x0F


def parsed(name: str, content: bytes) -> Any:
    """A record of the library's class of that name, from the content of one; None if it is damaged."""
    try:
        return getattr(library("records"), name).read(library("data_stream").ReadDataStream(io.BytesIO(content)))
    except (library("exceptions").McapError, struct.error, EOFError, ValueError, OverflowError):
        return None


def unit_records(is_chunk: bool, data: bytes, *, cut: bool = False, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """The records of one unit of a file: of the content of a chunk, or those between chunks, which are `data` itself.

    With `cut` (the chunk is not complete), returns those that can be decompressed.  Raises `FormatError` for a damaged
    chunk, `UnsupportedFeatureError` for an unknown compression and `LimitExceededError` for one that is too large.
    """
    if not is_chunk:
        return data
    chunk = parsed("Chunk", data)
    if chunk is None:
        raise FormatError("damaged chunk")
    most = limits.payload_size
    codec = {"": "none", "zstd": "zstd", "lz4": "lz4-frame"}.get(chunk.compression)
    if codec is None:
        raise UnsupportedFeatureError(f"the compression {shorten(chunk.compression)!r} is not supported")
    if cut:
        return _beginning(codec, chunk.data, most)
    records = codecs.decompress(codec, chunk.data, max_size=most)
    if len(records) != chunk.uncompressed_size:
        raise FormatError("its size is not the stated one", expected=chunk.uncompressed_size, actual=len(records))
    if chunk.uncompressed_crc and chunk.uncompressed_crc != zlib.crc32(records):
        raise FormatError("its checksum does not match")
    return records


def _beginning(codec: str, data: bytes, most: int) -> bytes:
    """Decompress as much as possible of the beginning of a chunk, at most `most` bytes."""
    if codec == "none":
        return data
    if codec == "zstd":
        return zstd_partial(data, max_size=most)[0]
    found = bytearray()
    with suppress(CodecError, UnsupportedFeatureError):
        for block in lz4_frames(io.BytesIO(data).read):
            found += block
            if len(found) >= most:
                break
    return bytes(found[:most])


def read_head(file: BinaryIO) -> tuple[int, int]:
    """The kind of the record at this place of a file and the size of its content; `Kind.TRUNCATED` at the end."""
    stream = library("data_stream").ReadDataStream(file)
    try:
        return stream.read1(), stream.read8()
    except (library("exceptions").McapError, struct.error):
        return Kind.TRUNCATED, 0


def read_number(data: bytes) -> int:
    """A number of four bytes."""
    number: int = library("data_stream").ReadDataStream(io.BytesIO(data)).read4()
    return number


def records_in(data: bytes) -> Iterator[tuple[int, Any]]:
    """Records: the kind of each, and the message, or the content of another kind; the last may be `Kind.TRUNCATED`.

    A message that is too short for its fields comes as its content, too.
    """
    read_message, make_stream = library("records").Message.read, library("data_stream").ReadDataStream
    short, size = (library("exceptions").McapError, struct.error), len(data)
    stream = make_stream(io.BytesIO(data))
    while (at := stream.count) < size:
        try:
            kind, length = stream.read1(), stream.read8()
        except short:
            kind, length = Kind.TRUNCATED, 0
        if kind == Kind.TRUNCATED or at + HEAD_SIZE + length > size:
            yield Kind.TRUNCATED, None
            return
        yield (
            kind,
            read_message(stream, length) if kind == Kind.MESSAGE and length >= MESSAGE_SIZE else stream.read(length),
        )
