"""Values -> bytes of a clp-s archive: every section as it is written."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgpack

from exhume.formats.clp_s import layout_packed as packed
from exhume.formats.clp_s.layout import HEADER_PACKED, MAGIC, Compression, PacketType, TimestampEncoding, Version
from exhume.formats.clp_s.names import SECTION_NAMES

INTEGER_EPOCH: Final = int(TimestampEncoding.EPOCH)
DOUBLE_EPOCH: Final = int(TimestampEncoding.DOUBLE_EPOCH)


def build_header(version: Version, original_size: int, archive_size: int, metadata_size: int) -> bytes:
    """The 64-byte header.  Spec: Header section."""
    major, minor, patch = version
    return struct.pack(
        HEADER_PACKED,
        MAGIC,
        patch,
        minor,
        major,
        original_size,
        archive_size,
        b"",
        metadata_size,
        Compression.ZSTD,
        0,
    )


def build_metadata(
    section_sizes: Sequence[int], timestamps: bytes, ranges: Sequence[tuple[int, int, Mapping[str, Any]]]
) -> bytes:
    """The payload of the metadata section.  Spec: Metadata section.

    Args:
        section_sizes: Stored sizes of the sections, in the order of `SECTION_NAMES`.
        timestamps: Body of the TimestampDictionary packet.
        ranges: First record, end and properties of each ingestion unit; without any there is no RangeIndex packet.
    """
    files = []
    offset = 0
    for name, size in zip(SECTION_NAMES, section_sizes, strict=True):
        files.append({"n": name, "o": offset})
        offset += size
    packets = [
        (PacketType.ARCHIVE_INFO, msgpack.packb({"num_segments": 1})),
        (PacketType.ARCHIVE_FILE_INFO, msgpack.packb({"files": files})),
        (PacketType.TIMESTAMP_DICTIONARY, timestamps),
    ]
    if ranges:
        entries = [
            {"e": end, "f": sort_keys(properties), "s": start} for start, end, properties in ranges
        ]  # keys in byte order, as upstream writes them
        packets.append((PacketType.RANGE_INDEX, msgpack.packb(entries)))
    return pack_packets(packets)


def pack_packets(packets: Sequence[tuple[int, bytes]]) -> bytes:
    """Packets by type and body, as the metadata section has them."""
    heads = [packed.PACKET.pack(kind, len(body)) + body for kind, body in packets]
    return packed.NUM_PACKETS.pack(len(packets)) + b"".join(heads)


def sort_keys(value: Any) -> Any:
    """A JSON value with the keys of its maps in byte order, all the way down."""
    if isinstance(value, Mapping):
        return {key: sort_keys(value[key]) for key in sorted(value, key=lambda key: str(key).encode())}
    if isinstance(value, list | tuple):
        return [sort_keys(item) for item in value]
    return value


def build_timestamps(
    ranges: Iterable[tuple[bytes, Sequence[int], int, float, float]], patterns: Mapping[bytes, int]
) -> bytes:
    """Body of the TimestampDictionary packet.  Spec: TimestampDictionary packet.

    Args:
        ranges: Key text, node ids, encoding (1 integer, 2 double), first and last value of each range.
        patterns: Ids by pattern.
    """
    listed = [
        packed.pack_range(key, ids, encoding, begin, end, epochs=encoding == INTEGER_EPOCH)
        for key, ids, encoding, begin, end in ranges
    ]
    numbered = [(number, pattern) for pattern, number in patterns.items()]
    return b"".join([packed.NUM_RANGES.pack(len(listed)), *listed, pack_patterns(numbered)])


def pack_patterns(patterns: Sequence[tuple[int, bytes]]) -> bytes:
    """The patterns of a timestamp dictionary by their ids, preceded by their number."""
    listed = [packed.PATTERN.pack(ident, len(pattern)) + pattern for ident, pattern in patterns]
    return packed.NUM_PATTERNS.pack(len(listed)) + b"".join(listed)


def build_schema_tree(nodes: Sequence[tuple[int, bytes, int]]) -> bytes:
    """The payload of `/schema_tree` from parent id, key and type of each node.  Spec: Merged parse tree."""
    out = bytearray(packed.NUM_NODES.pack(len(nodes)))
    for parent, key, kind in nodes:
        out += packed.NODE.pack(parent, len(key)) + key + packed.NODE_TYPE.pack(kind)
    return bytes(out)


def build_schema_ids(schemas: Iterable[tuple[Sequence[int], int]]) -> bytes:
    """The payload of `/schema_ids` from entries and number of ordered ones; a schema's id is its position.

    Written in the order of the entries, like upstream does.  Spec: Schema map.
    """
    rows = [packed.pack_schema(number, *schema) for number, schema in enumerate(schemas)]
    rows.sort(key=packed.schema_entries)
    return b"".join((packed.NUM_SCHEMAS.pack(len(rows)), *rows))


def build_table_metadata(streams: Sequence[tuple[int, int]], tables: Iterable[tuple[int, int, int, int]]) -> bytes:
    """The payload of `/table_metadata`.  Spec: Table metadata.

    Args:
        streams: Offset in `/0` and uncompressed size of each packed stream.
        tables: Stream id, offset in the stream, schema id and records of each table.
    """
    listed = b"".join(packed.TABLE.pack(*table) for table in tables)
    parts = [packed.NUM_STREAMS.pack(len(streams)), *(packed.STREAM.pack(*stream) for stream in streams)]
    return b"".join((*parts, packed.pack_table_heads(len(listed) // packed.TABLE.size), listed))


def build_dictionary(entries: Sequence[bytes]) -> bytes:
    """The payload of a dictionary, without the preceding number of entries.

    Spec: Variable dictionary, Log-type dictionary, Array log-type dictionary.
    """
    return b"".join(packed.ENTRY.pack(len(entry)) + entry for entry in entries)
