"""Converts what no registry describes from bytes to values and back: split headers, indexes, footers, trailers.

This module returns the results of the generated readers in the terms of the format, and contains the writers.  It adds
which rule is broken by bytes that do not fit, and how a file without a trailer is read.

A split is a file of messages: header, index (an entry per message), messages.  Its header maps short identifiers, one
byte each, to the GUIDs of objects (channels).  A compressed message ends in a footer with its size and codec.  A
serializable file is an rbuf object, a trailer with its type and schema registry, and a footer with the sizes of both.
The modules of `exhume_ksy` are generated from the specifications: `facts` has offsets and sizes, `fast` the readers.
`read` and `reading` turn the errors of these readers into errors of a rule; `where` is the place of `data` in its file.

Spec: ark_log.txt, Split File Format, Manifest File Format; rbuf wire format.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from exhume_ksy.facts import ark_split, ark_stored_message
from exhume_ksy.facts.ark_manifest import ArkManifest
from exhume_ksy.facts.ark_rbuf import GroupHeader
from exhume_ksy.facts.ark_serializable_file import FileFooter as FooterFacts
from exhume_ksy.facts.ark_stored_message import Codec
from exhume_ksy.fast._layout import LayoutError as LayoutError
from exhume_ksy.fast.ark_rbuf import GroupList, read_group, read_group_header
from exhume_ksy.fast.ark_serializable_file import FileFooter, read_file_footer, read_file_trailer
from exhume_ksy.fast.ark_split import read_file_header
from exhume_ksy.fast.ark_stored_message import MessageFooter, read_message_footer
from exhume_ksy.fast.ark_stored_message import flat_message_footer as flat_message_footer

from exhume.counts import counted
from exhume.errors import Span
from exhume.formats.ark.checks import (
    FOOTER_MISSING,
    SPLIT_HEADER,
    SPLIT_VERSION,
    TRAILER_SIZES,
    TRAILER_VERSION,
)
from exhume.formats.ark.rbuf.layout import (
    HEADER,
    HEADERS,
    guid_bytes,
    guid_of,
    guid_text,
    pack_count,
    read_byte_buffer,
    read_text,
)
from exhume.layout.fast import read, reading, rows
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

# Facts of the specifications; the names `..._FIELDS` have a pair (start, end) for each field.
ENTRY_SIZE: Final = ark_split.IndexEntry.size
ENTRY_DTYPE: Final = ark_split.IndexEntry.dtype
_ENTRY = struct.Struct(ark_split.IndexEntry.packed)
ENTRY_FIELDS: Final = ark_split.IndexEntry.at
"""Offsets of the fields in an index entry."""

HEADER_FIELDS: Final = ark_split.FileHeader.at
"""Offsets of the fields of a split header in the file."""

HEADER_SIZE: Final = HEADER_FIELDS.num_type_mappings[1]
"""Size of a header without mappings, in bytes."""

MAPPING_FIELDS: Final = ark_split.TypeMapping.at
MAPPING_SIZE: Final = MAPPING_FIELDS.short_identifier[1]
HEADER_WINDOW: Final = 8192
"""Bytes read for a split header: 256 mappings take 4,643."""

SPLIT_STARTS: Final = tuple(bytes([head, 1, 0]) for head in HEADERS)
"""First bytes of a split: an object without groups or with them, format version 1."""

MANIFEST_FIELDS: Final = ArkManifest.at
"""Offsets of the first fields of a manifest."""


# The footer that ends a manifest: its magic number, which is its last field, its structure and its size.
TRAILER_MAGIC_BYTES: Final = FooterFacts.magic
_FILE_FOOTER = struct.Struct(FooterFacts.packed)
TRAILER_FOOTER_SIZE: Final = FooterFacts.size
NO_BOUND: Final = 1 << 65
"""More bytes than any footer can state."""

# The footer that ends a compressed message, and the codecs by the numbers in it.
_MESSAGE_FOOTER = struct.Struct(ark_stored_message.MessageFooter.packed)
MESSAGE_FOOTER_FIELDS: Final = ark_stored_message.MessageFooter.at
MESSAGE_FOOTER_SIZE: Final = ark_stored_message.MessageFooter.size
MESSAGE_FOOTER_MAGIC: Final = ark_stored_message.MessageFooter.magic
CODEC_NAMES: Final = {codec.value: codec.name.lower() for codec in Codec}
CODEC_NUMBERS: Final = {name: number for number, name in CODEC_NAMES.items()}


class TypeMapping(NamedTuple):
    """A short identifier in a split's index, and the object (channel) that it stands for."""

    short: int
    identifier: str
    offset: int
    """Where the mapping starts in the file, bytes."""


class SplitHeader(NamedTuple):
    """The header of a split file: `item_count` indexed messages, in an index of at most `maximum_count` entries.

    Spec: ark_log.txt, Split File Format.
    """

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
    """The header at the start of a split file; `data` is its first `HEADER_WINDOW` bytes (or fewer), stored at `where`.

    Raises the errors of rules ARK-320 (not a header) and ARK-102 (version).
    """
    raw, size = read(read_file_header, data, where, SPLIT_HEADER)
    mappings = []
    at = HEADER_SIZE
    for mapping in raw.type_mappings:
        mappings.append(TypeMapping(mapping.short_identifier, guid_of(mapping.object_identifier), at))
        at += MAPPING_SIZE + _groups_size(mapping.groups)  # a mapping is an object, which may have groups
    header = SplitHeader(
        identifier=guid_of(raw.split_identifier),
        index_offset=raw.ofs_index,
        item_count=raw.num_indexed_items,
        maximum_count=raw.num_maximum_items,
        mappings=tuple(mappings),
        size=size,
        version=raw.format_version,
    )
    if header.version != 1:
        span = where.sub(*HEADER_FIELDS.format_version)
        raise SPLIT_VERSION.error(span=span, field_path="format_version", expected=1, actual=header.version)
    return header


def iter_entries(data: bytes | bytearray | memoryview) -> Iterator[tuple[int, int, int, int, int]]:
    """Index entries one by one: time (ns), offset and size of the message, short identifier, flags.

    Raises `ValueError` (in pure Python `struct.error`) unless whole entries fill `data`.
    """
    return _ENTRY.iter_unpack(data)


class EntryFields(NamedTuple):
    """An index entry as `iter_entries` yields it, with names."""

    time_ns: int
    offset: int
    size: int
    short: int
    flags: int


def entry_at(data: bytes, number: int) -> EntryFields:
    """One of several index entries."""
    return EntryFields._make(_ENTRY.unpack_from(data, number * ENTRY_SIZE))


def entry_time(data: bytes, number: int) -> int:
    """The time (ns) of one of several index entries."""
    return entry_at(data, number).time_ns


def parse_index(data: bytes) -> np.ndarray[Any, Any]:
    """Index entries as rows of `ENTRY_DTYPE`."""
    return rows(ark_split.IndexEntry, data)


def _groups_size(found: GroupList | None) -> int:
    """Bytes of the groups (blocks of added fields) that follow an object; 0 without groups."""
    return 0 if found is None else sum(GroupHeader.size + group.header.len_body for group in found.groups)


def read_header_by_place(data: bytes) -> SplitHeader:
    """The fields of a damaged header, read at their usual places whatever its mark, version and count of mappings are.

    The mappings are as many as fit in `data`.  No generated reader is used, because a schema would refuse the header.
    """
    # `ends` are the ends of all mappings that could be in `data`, back to back.
    at, ends = HEADER_FIELDS, range(HEADER_SIZE + MAPPING_SIZE, len(data) + 1, MAPPING_SIZE)
    identifier, short = slice(*MAPPING_FIELDS.object_identifier), slice(*MAPPING_FIELDS.short_identifier)
    found = ((end - MAPPING_SIZE, data[end - MAPPING_SIZE : end]) for end in ends)
    mappings = (TypeMapping(_number(raw[short]), guid_text(raw[identifier]), start) for start, raw in found)
    return SplitHeader(
        identifier=guid_text(data[slice(*at.split_identifier)]),
        index_offset=_number(data[slice(*at.ofs_index)]),
        item_count=_number(data[slice(*at.num_indexed_items)]),
        maximum_count=_number(data[slice(*at.num_maximum_items)]),
        mappings=tuple(mappings),
        size=HEADER_SIZE,
        version=_number(data[slice(*at.format_version)]),
    )


def read_counted(data: bytes, at: int) -> tuple[bytes, int] | None:
    """The bytes of the text at `at`, whether UTF-8 or not, and their end; None when they do not fit."""
    try:
        found, end = read_byte_buffer(data, at, len(data))
    except LayoutError:
        return None
    return bytes(found), end


def read_text_before(data: bytes, start: int, end: int) -> str | None:
    """The text in `[start, end)`, preceded by its length; None when there is none."""
    try:
        found, stop = read_text(data, start, end)
    except LayoutError:
        return None
    return found if stop == end else None


def read_guid_at(data: bytes, place: tuple[int, int]) -> str | None:
    """The GUID at a place; None when the data ends before the GUID does."""
    start, end = place
    return guid_text(data[start:end]) if end <= len(data) else None


def read_first_group(data: bytes, at: int) -> tuple[int, bytes] | None:
    """The number and the bytes of the group of fields at `at`; None where there is no group."""
    try:
        raw, _ = read_group(data, at, len(data))
    except LayoutError:
        return None
    return raw.header.number, bytes(raw.body)


def group_end(data: bytes, at: int) -> int | None:
    """Where the group of fields at `at` ends; None when there is none, or only part of it."""
    try:
        raw, body = read_group_header(data, at, len(data))
    except LayoutError:
        return None
    return body + raw.len_body


def _number(data: bytes) -> int:
    """A number where the generated facts place it; `read_header_by_place` says why no generated reader is used."""
    return int.from_bytes(data, "little")


def build_split_header(header: SplitHeader) -> bytes:
    """The bytes of a split header (`size` and the mappings' offsets are not used)."""
    at = HEADER_FIELDS
    out = bytearray(HEADER_SIZE)
    out[slice(*at.header)] = bytes([HEADER])
    out[slice(*at.split_identifier)] = guid_bytes(header.identifier)
    for (start, end), number in (
        (at.format_version, header.version),
        (at.ofs_index, header.index_offset),
        (at.num_indexed_items, header.item_count),
        (at.num_maximum_items, header.maximum_count),
        (at.num_type_mappings, len(header.mappings)),
    ):
        out[start:end] = number.to_bytes(end - start, "little")
    for mapping in header.mappings:
        out += bytes([HEADER]) + guid_bytes(mapping.identifier) + bytes([mapping.short])
    return bytes(out)


def parse_message_footer(stored: bytes, where: Span) -> MessageFooter:
    """The compression footer of a stored message.  Raises ARK-401 when there is none."""
    if len(stored) < MESSAGE_FOOTER_SIZE or stored[-1] != MESSAGE_FOOTER_MAGIC:
        raise FOOTER_MISSING.error(
            span=where.sub(max(0, len(stored) - 1), len(stored)),
            expected=f"0x{MESSAGE_FOOTER_MAGIC:02x}",
            actual=f"0x{stored[-1]:02x}" if stored else "no bytes",
        )
    return read_message_footer(stored, len(stored) - MESSAGE_FOOTER_SIZE, len(stored))[0]


def build_message_footer(size: int, codec: str) -> bytes:
    """The footer of a message of `size` bytes before compression."""
    return _MESSAGE_FOOTER.pack(size, CODEC_NUMBERS[codec], MESSAGE_FOOTER_MAGIC)


class SerializableFile(NamedTuple):
    """An rbuf object in a file of its own; `registry` and `type_name` are empty when no schema is embedded."""

    content: bytes
    type_name: str = ""
    registry: str = ""
    has_trailer: bool = True


def parse_serializable_file(data: bytes, where: Span) -> SerializableFile:
    """A serializable file, read from its end.  Without the magic, everything is content.

    Raises the errors of rules ARK-106 (version) and ARK-344 (sizes, and text that is not UTF-8).
    """
    if not data.endswith(TRAILER_MAGIC_BYTES):
        return SerializableFile(data, has_trailer=False)
    size = len(data)
    if size < TRAILER_FOOTER_SIZE:
        raise TRAILER_SIZES.error(span=where, expected=f"at least {TRAILER_FOOTER_SIZE} bytes", actual=size)
    # The footer is at the end, and states the sizes of trailer and content before it.
    footer_at = size - TRAILER_FOOTER_SIZE
    with reading(where, TRAILER_SIZES):
        footer, _ = read_file_footer(data, footer_at, size, footer_at)  # last: the most bytes that it may state
    trailer_size, content_size = footer.len_trailer, footer.len_content
    at = FooterFacts.at
    if footer.version != 1:
        span = where.sub(footer_at + at.version[0], footer_at + at.version[1])
        raise TRAILER_VERSION.error(span=span, field_path="version", expected=1, actual=footer.version)
    if content_size + trailer_size != footer_at:
        raise TRAILER_SIZES.error(
            span=where.sub(footer_at + at.len_trailer[0], footer_at + at.len_content[1]),
            expected=f"{counted(footer_at, 'bytes')} of content and trailer",
            actual=f"{content_size} + {trailer_size}",
        )
    # The trailer has to fill the bytes between content and footer.
    if not trailer_size:
        return SerializableFile(data[:content_size])
    with reading(where, TRAILER_SIZES):
        trailer, used = read_file_trailer(data, content_size, footer_at)
    if used != footer_at:
        raise TRAILER_SIZES.error(
            span=where.sub(used, footer_at),
            expected=counted(used - content_size, "bytes"),
            actual=counted(trailer_size, "bytes"),
        )
    return SerializableFile(data[:content_size], trailer.type_name, trailer.schema_registry)


def parse_file_footer(data: bytes, before: int = NO_BOUND) -> FileFooter | None:
    """The footer that ends a serializable file, preceded by `before` bytes; None if there is none that fits these."""
    at = len(data) - TRAILER_FOOTER_SIZE
    try:
        return read_file_footer(data, at, len(data), before)[0] if at >= 0 else None
    except LayoutError:
        return None


def trailer_magic_span(data: bytes, where: Span) -> Span:
    """Where the trailer's magic ought to be."""
    return where.sub(max(0, len(data) - len(TRAILER_MAGIC_BYTES)), len(data))


def build_serializable_file(content: bytes, type_name: str = "", registry: str = "") -> bytes:
    """Content, trailer (when a type is named) and footer."""
    block = b""
    if type_name:
        for text in (type_name.encode(), registry.encode()):
            block += pack_count(len(text)) + text
    return content + block + _FILE_FOOTER.pack(len(block), len(content), 1, TRAILER_MAGIC_BYTES)
