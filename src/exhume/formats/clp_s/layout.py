"""Bytes to values of a clp-s archive: the results of the generated readers in the terms of the format.

This module adds what a Kaitai specification cannot express: that parents come before their children, which rule is
broken by invalid bytes, where a table ends (where the next one starts), and how upstream treats repeated nodes and
schemas.

An archive is a header, a metadata section (compressed packets, such as the list of files and the timestamp dictionary),
and the files section.  Schema tree, schemas and tables are in `layout_schemas`, whose names are imported here for other
modules; columns in `layout_table`; packing in `layout_packed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import pack
from typing import Any, Final

from exhume_ksy.facts.clp_s import Compression as Compression
from exhume_ksy.facts.clp_s import FileHeader
from exhume_ksy.facts.clp_s_dictionary import ClpSDictionary
from exhume_ksy.facts.clp_s_metadata import PacketType as PacketType
from exhume_ksy.facts.clp_s_metadata import TimestampEncoding as TimestampEncoding
from exhume_ksy.facts.clp_s_table_metadata import ClpSTableMetadata, Stream
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.clp_s import read_file_header
from exhume_ksy.fast.clp_s_metadata import read_clp_s_metadata, read_timestamp_dictionary

from exhume.codecs.common import Buffer
from exhume.counts import counted
from exhume.errors import Span
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout_schemas import COLUMN_TYPES as COLUMN_TYPES
from exhume.formats.clp_s.layout_schemas import MAX_NODE_ID as MAX_NODE_ID
from exhume.formats.clp_s.layout_schemas import ROOT as ROOT
from exhume.formats.clp_s.layout_schemas import NodeType as NodeType
from exhume.formats.clp_s.layout_schemas import Schema as Schema
from exhume.formats.clp_s.layout_schemas import SchemaTree as SchemaTree
from exhume.formats.clp_s.layout_schemas import StreamEntry as StreamEntry
from exhume.formats.clp_s.layout_schemas import TableEntry as TableEntry
from exhume.formats.clp_s.layout_schemas import TableMetadata as TableMetadata
from exhume.formats.clp_s.layout_schemas import is_marker as is_marker
from exhume.formats.clp_s.layout_schemas import marker_parts as marker_parts
from exhume.formats.clp_s.layout_schemas import pack_marker as pack_marker
from exhume.formats.clp_s.layout_schemas import parse_schema_map as parse_schema_map
from exhume.formats.clp_s.layout_schemas import parse_schema_tree as parse_schema_tree
from exhume.formats.clp_s.layout_schemas import parse_table_metadata as parse_table_metadata
from exhume.formats.clp_s.layout_schemas import type_name as type_name
from exhume.layout.fast import read
from exhume.tuples import NamedTuple

MAGIC: Final = FileHeader.magic
HEADER_SIZE: Final = FileHeader.size
HEADER_FIELDS: Final = FileHeader.at
"""Offsets of the header's fields in the file."""

HEADER_PACKED: Final = FileHeader.packed
"""Format of the header for `struct`."""
STREAM_SIZE: Final = Stream.size
"""Size in bytes of the entry of a stream in the table metadata."""
STREAMS_AT: Final = ClpSTableMetadata.at.num_streams[1]
"""Offset of the first of these entries, after their number."""
DICTIONARY_HEAD: Final = ClpSDictionary.at.num_entries[1]
"""Size in bytes of the entry count that precedes the compressed entries of a dictionary section."""

Version = tuple[int, int, int]
"""`(major, minor, patch)`."""


class Header(NamedTuple):
    """The 64 bytes at the start.  `archive_size` is the whole file, `metadata_size` the compressed metadata section."""

    version: Version
    original_size: int
    archive_size: int
    metadata_size: int
    compression_type: int
    reserved: tuple[bytes, bytes] = (b"", b"")

    @property
    def files_base(self) -> int:
        """Offset of the files section from the start of the archive."""
        return HEADER_SIZE + self.metadata_size

    @property
    def version_text(self) -> str:
        """The version as text, such as `0.5.1`."""
        return ".".join(map(str, self.version))

    @property
    def has_core_text(self) -> bool:
        """Whether text is encoded as from 0.4.0 on (three placeholder bytes, plain dictionary ids)."""
        return self.version >= (0, 4, 0)

    @property
    def has_nanosecond_timestamps(self) -> bool:
        """Whether timestamps and their patterns are those of 0.5.0 on."""
        return self.version >= (0, 5, 0)


def parse_header(data: bytes, where: Span) -> Header:
    """Parse the header from the first 64 bytes, whose span is `where`.

    Raises CLPS-301 (short), CLPS-101 (magic); the caller checks the other fields.  Spec: Header section.
    """
    start = data[: len(MAGIC)]
    if start != MAGIC[: len(data)] or not data:
        raise checks.BAD_MAGIC.error(span=where.sub(0, len(start)), expected=MAGIC, actual=start)
    try:
        raw, _ = read_file_header(data, 0, len(data))
    except LayoutError as error:
        raise checks.SHORT_HEADER.error(
            span=where, field_path=error.path, expected=f"{HEADER_SIZE} bytes", actual=counted(len(data), "bytes")
        ) from error
    version = (raw.version.major, raw.version.minor, raw.version.patch)
    reserved = (bytes(raw.reserved1), pack(FileHeader.format.reserved2, raw.reserved2))
    return Header(version, raw.len_original, raw.len_archive, raw.len_metadata, raw.compression_type, reserved)


class Packet(NamedTuple):
    """One metadata packet; `type` is a plain number when it is not a `PacketType`.  `span` covers the body."""

    type: int
    body: bytes
    span: Span

    @property
    def name(self) -> str:
        """`range_index`, or `type 9`."""
        try:
            return PacketType(self.type).name.lower()
        except ValueError:
            return f"type {self.type}"


def parse_packets(data: bytes, where: Span) -> tuple[list[Packet], int]:
    """Return `(packets, offset after the last one)` of the decompressed metadata section.

    Raises CLPS-305.  Spec: Metadata section.
    """
    raw, at = read(read_clp_s_metadata, data, where, checks.BAD_METADATA)
    extents = ((packet.type, *packet.body.extent) for packet in raw.packets)  # (type, start, end)
    return [Packet(kind, data[start:end], where.sub(start, end)) for kind, start, end in extents], at


class TimestampRange(NamedTuple):
    """Inclusive bounds of the values of one timestamp key.

    `key` is an escaped KQL path.  `encoding` 1: integers, in milliseconds from 0.5.0 on and in the unit of the values
    before; 2: doubles in the unit of the values; otherwise there are no bounds.
    """

    key: bytes
    column_ids: tuple[int, ...]
    encoding: int
    begin: int | float | None
    end: int | float | None


class TimestampDictionary(NamedTuple):
    """Ranges of the timestamp keys (searches by time use the first one), and patterns by id."""

    ranges: tuple[TimestampRange, ...] = ()
    patterns: Mapping[int, bytes] = {}
    span: Span | None = None


def parse_timestamp_dictionary(data: bytes, where: Span) -> TimestampDictionary:
    """Parse the timestamp dictionary from the body of its packet.

    Raises CLPS-408.  Spec: TimestampDictionary packet.
    """
    raw, _ = read(read_timestamp_dictionary, data, where, checks.BAD_TIMESTAMP_DICTIONARY)
    ranges = []
    for item in raw.ranges:
        begin: int | float | None = None
        end: int | float | None = None
        if item.encoding == TimestampEncoding.EPOCH:
            begin, end = item.begin_epoch, item.end_epoch
        elif item.encoding == TimestampEncoding.DOUBLE_EPOCH:
            begin, end = item.begin_double, item.end_double
        ranges.append(TimestampRange(bytes(item.key.bytes), tuple(item.column_ids), item.encoding, begin, end))
    return TimestampDictionary(tuple(ranges), {one.pattern_id: bytes(one.pattern.bytes) for one in raw.patterns}, where)


class RangeEntry(NamedTuple):
    """One ingestion unit: properties of the records `[start, end)` by `log_event_idx`."""

    start: int
    end: int
    properties: Mapping[str, Any]


def parse_dictionary(data: Buffer, count: int) -> tuple[list[bytes], int, LayoutError | None]:
    """Return `(entries, end, fault)` of a decompressed dictionary: the entries before the first of `count` that is
    faulty, the offset where they end, and the fault (None without any).

    For damaged dictionaries; intact ones are read by the kernel.
    """
    from exhume_ksy.fast.clp_s_dictionary_entries import scan_entry  # rarely needed

    found = scan_entry(memoryview(data), 0, len(data), count)
    entries = [bytes(data[start:end]) for start, end in zip(found.value_start, found.value_end, strict=True)]
    if found.problem is not None:
        found.problem.within("entries")
    return entries, found.resume_at, found.problem
