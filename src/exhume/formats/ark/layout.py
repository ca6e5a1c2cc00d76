"""Bytes to values and back for what is not driven by a registry: split headers, indexes, footers, trailers.

The only module of the format that imports generated parsers.  The entries of an index are read in `splitindex`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

from exhume_ksy.ark_serializable_file import ArkSerializableFile
from exhume_ksy.ark_split import ArkSplit
from exhume_ksy.ark_stored_message import ArkStoredMessage

from exhume.errors import ExhumeError, Span
from exhume.formats.ark.checks import (
    FOOTER_MISSING,
    SPLIT_HEADER,
    SPLIT_VERSION,
    TRAILER_SIZES,
    TRAILER_VERSION,
)
from exhume.formats.ark.rbuf.guid import guid_bytes, guid_text
from exhume.formats.ark.rbuf.registry import Registry
from exhume.kaitai import parse

ENTRY_SIZE: Final = 18
ENTRY_FIELDS: Final = {"time": (0, 8), "offset": (8, 12), "size": (12, 16), "object": (16, 17), "flags": (17, 18)}
"""Where the fields of an index entry lie in it."""

HEADER_FIELDS: Final = {
    "format_version": (1, 3),
    "split_identifier": (3, 19),
    "index_offset": (19, 23),
    "indexed_item_count": (23, 27),
    "maximum_item_count": (27, 31),
    "type_mappings": (31, 35),
}
"""Where the fields of a split header lie in the file."""

HEADER_SIZE: Final = 35
MAPPING_SIZE: Final = 18
HEADER_WINDOW: Final = 8192
"""Bytes read for a split header: 256 mappings take 4,643."""

TRAILER_MAGIC_BYTES: Final = bytes.fromhex("b648f0e8fce9eb531fea4c6b29ab81bc")
TRAILER_FOOTER: Final = struct.Struct("<IQB16s")
TRAILER_FOOTER_SIZE: Final = TRAILER_FOOTER.size

MESSAGE_FOOTER: Final = struct.Struct("<IBB")
MESSAGE_FOOTER_SIZE: Final = MESSAGE_FOOTER.size
MESSAGE_FOOTER_MAGIC: Final = 0xF0
CODEC_NAMES: Final = {0: "none", 1: "lz4", 2: "zstd", 3: "bz2", 4: "lzma"}
CODEC_NUMBERS: Final = {name: number for number, name in CODEC_NAMES.items()}

_HEADER = struct.Struct("<BH16sIIII")

SPLIT_REGISTRY: Final = """{"schemas":[
{"name":"SplitTypeMappingInfo","object_namespace":"ark::logging","fields":[
{"name":"object_identifier","type":"guid"},{"name":"short_identifier","type":"uint8"}],"groups":[]},
{"name":"SplitFileHeader","object_namespace":"ark::logging","fields":[
{"name":"format_version","type":"uint16"},{"name":"split_identifier","type":"guid"},
{"name":"index_offset","type":"uint32"},{"name":"indexed_item_count","type":"uint32"},
{"name":"maximum_item_count","type":"uint32"},{"name":"type_mappings","type":"arraylist",
"ctr_value_type":{"type":"object","object_type":"ark::logging::SplitTypeMappingInfo"}}],"groups":[]}],"enums":[]}"""
"""The published schema of the split header, for saying exactly where a damaged one breaks."""


@dataclass(frozen=True, slots=True)
class TypeMapping:
    """A short identifier of a split's index, and the object (channel) that it stands for."""

    short: int
    identifier: str
    offset: int
    """Where the mapping starts in the file, bytes."""


@dataclass(frozen=True, slots=True)
class SplitHeader:
    """The header of a split file.  Spec: ark_log.txt, Split File Format."""

    identifier: str
    index_offset: int
    item_count: int
    maximum_count: int
    mappings: tuple[TypeMapping, ...]
    size: int
    version: int = 1

    @property
    def index_end(self) -> int:
        """Offset of the first byte after the indexed entries."""
        return self.index_offset + self.item_count * ENTRY_SIZE


def parse_split_header(data: bytes, where: Span) -> SplitHeader:
    """The header at the start of a split file; `data` is its first `HEADER_WINDOW` bytes (or fewer), lying at `where`.

    Raises the errors of rules ARK-320 (not a header) and ARK-102 (version).
    """
    try:
        raw = parse(ArkSplit.FileHeader, data, where)
    except ExhumeError as error:
        raise _header_error(data, where, error) from error
    mappings = []
    at = HEADER_SIZE
    for mapping in raw.type_mappings:
        identifier = guid_text(_guid(mapping.object_identifier))
        mappings.append(TypeMapping(mapping.short_identifier, identifier, at))
        at += MAPPING_SIZE + _groups_size(mapping)
    header = SplitHeader(
        identifier=guid_text(_guid(raw.split_identifier)),
        index_offset=raw.ofs_index,
        item_count=raw.num_indexed_items,
        maximum_count=raw.num_maximum_items,
        mappings=tuple(mappings),
        size=at + _groups_size(raw),
        version=raw.format_version,
    )
    if header.version != 1:
        span = where.sub(*HEADER_FIELDS["format_version"])
        raise SPLIT_VERSION.error(span=span, expected=1, actual=header.version)
    return header


def _guid(raw: Any) -> bytes:
    return struct.pack("<QQ", raw.high, raw.low)


def _groups_size(raw: Any) -> int:
    if not raw.header.groups_follow:
        return 0
    return sum(6 + len(group.body) for group in raw.groups.groups)


def _header_error(data: bytes, where: Span, error: ExhumeError) -> ExhumeError:
    try:
        Registry.from_json(SPLIT_REGISTRY).decoder("ark::logging::SplitFileHeader").decode_prefix(data, span=where)
    except ExhumeError as exact:
        error = exact
    return SPLIT_HEADER.error(
        error.message,
        span=error.span or where,
        field_path=error.field_path,
        expected=error.expected,
        actual=error.actual,
    )


def build_split_header(header: SplitHeader) -> bytes:
    """The bytes of a split header (`size` and the mappings' offsets are not used)."""
    out = bytearray(
        _HEADER.pack(
            0xD1,
            header.version,
            guid_bytes(header.identifier),
            header.index_offset,
            header.item_count,
            header.maximum_count,
            len(header.mappings),
        )
    )
    for mapping in header.mappings:
        out += b"\xd1" + guid_bytes(mapping.identifier) + bytes([mapping.short])
    return bytes(out)


@dataclass(frozen=True, slots=True)
class MessageFooter:
    """The 6 bytes at the end of a stored message of a compressed column."""

    size: int
    codec: int


def parse_message_footer(stored: bytes, where: Span) -> MessageFooter:
    """The compression footer of a stored message; rule ARK-401 when there is none."""
    if len(stored) < MESSAGE_FOOTER_SIZE or stored[-1] != MESSAGE_FOOTER_MAGIC:
        raise FOOTER_MISSING.error(
            span=where.sub(max(0, len(stored) - 1), len(stored)),
            expected=f"0x{MESSAGE_FOOTER_MAGIC:02x}",
            actual=f"0x{stored[-1]:02x}" if stored else "no bytes",
        )
    size, codec, _ = MESSAGE_FOOTER.unpack_from(stored, len(stored) - MESSAGE_FOOTER_SIZE)
    return MessageFooter(size, codec)


def parse_stored_message(stored: bytes, where: Span) -> ArkStoredMessage:
    """A stored message through its schema (the reader uses the twin `parse_message_footer`)."""
    return parse(ArkStoredMessage, stored, where)


def build_message_footer(size: int, codec: str) -> bytes:
    """The footer of a message of `size` bytes before compression."""
    return MESSAGE_FOOTER.pack(size, CODEC_NUMBERS[codec], MESSAGE_FOOTER_MAGIC)


@dataclass(frozen=True, slots=True)
class SerializableFile:
    """An rbuf object in a file of its own; `registry` and `type_name` are empty when no schema is embedded."""

    content: bytes
    type_name: str = ""
    registry: str = ""
    has_trailer: bool = True


def parse_serializable_file(data: bytes, where: Span) -> SerializableFile:
    """A serializable file, from its end.  Without the magic everything is content.

    Raises the errors of rules ARK-106 (version) and ARK-344 (sizes, and text that is not UTF-8).
    """
    if not data.endswith(TRAILER_MAGIC_BYTES):
        return SerializableFile(data, has_trailer=False)
    size = len(data)
    if size < TRAILER_FOOTER_SIZE:
        raise TRAILER_SIZES.error(span=where, expected=f"at least {TRAILER_FOOTER_SIZE} bytes", actual=size)
    footer_at = size - TRAILER_FOOTER_SIZE
    trailer_size, content_size, version, _ = TRAILER_FOOTER.unpack_from(data, footer_at)
    if version != 1:
        raise TRAILER_VERSION.error(span=where.sub(footer_at + 12, footer_at + 13), expected=1, actual=version)
    if content_size + trailer_size != footer_at:
        raise TRAILER_SIZES.error(
            span=where.sub(footer_at, footer_at + 12),
            expected=f"{footer_at} bytes of content and trailer",
            actual=f"{content_size} + {trailer_size}",
        )
    if not trailer_size:
        return SerializableFile(data[:content_size])
    block = data[content_size:footer_at]
    try:
        trailer = parse(ArkSerializableFile.FileTrailer, block, where.sub(content_size, footer_at))
    except ExhumeError as error:
        raise TRAILER_SIZES.error(error.message, span=error.span, field_path=error.field_path) from error
    name, registry = trailer.type_name.value, trailer.schema_registry.value
    used = 8 + trailer.type_name.len_value + trailer.schema_registry.len_value
    if used != trailer_size:
        raise TRAILER_SIZES.error(
            span=where.sub(content_size + used, footer_at), expected=f"{used} bytes", actual=f"{trailer_size} bytes"
        )
    return SerializableFile(data[:content_size], name, registry)


def trailer_magic_span(data: bytes, where: Span) -> Span:
    """Where the trailer's magic ought to be."""
    return where.sub(max(0, len(data) - len(TRAILER_MAGIC_BYTES)), len(data))


def build_serializable_file(content: bytes, type_name: str = "", registry: str = "") -> bytes:
    """Content, trailer (when a type is named) and footer."""
    block = b""
    if type_name:
        for text in (type_name.encode(), registry.encode()):
            block += len(text).to_bytes(4, "little") + text
    return content + block + TRAILER_FOOTER.pack(len(block), len(content), 1, TRAILER_MAGIC_BYTES)
