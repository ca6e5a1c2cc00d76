"""Values -> bytes of a clp-s archive: every section as it is written."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgpack

from exhume.formats.clp_s.layout import (
    HEADER_PACKED,
    MAGIC,
    SECTION_NAMES,
    STREAM_PACKED,
    TABLE_PACKED,
    Compression,
    PacketType,
    TimestampEncoding,
    Version,
)

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
    out = bytearray([len(packets)])
    for kind, body in packets:
        out += struct.pack("<BI", kind, len(body)) + body
    return bytes(out)


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
    out = bytearray()
    listed = list(ranges)
    out += struct.pack("<Q", len(listed))
    for key, ids, encoding, begin, end in listed:
        out += struct.pack("<Q", len(key)) + key
        out += struct.pack(f"<Q{len(ids)}iQ", len(ids), *ids, encoding)
        out += struct.pack("<qq" if encoding == INTEGER_EPOCH else "<dd", begin, end)
    out += struct.pack("<Q", len(patterns))
    for pattern, number in patterns.items():
        out += struct.pack("<QQ", number, len(pattern)) + pattern
    return bytes(out)


def build_schema_tree(nodes: Sequence[tuple[int, bytes, int]]) -> bytes:
    """The payload of `/schema_tree` from parent id, key and type of each node.  Spec: Merged parse tree."""
    parts = [struct.pack("<Q", len(nodes))]
    parts += [struct.pack("<iQ", parent, len(key)) + key + bytes((kind,)) for parent, key, kind in nodes]
    return b"".join(parts)


def build_schema_ids(schemas: Sequence[tuple[Sequence[int], int]]) -> bytes:
    """The payload of `/schema_ids` from entries and number of ordered ones; a schema's id is its position.

    Written in the order of the entries, like upstream does.  Spec: Schema map.
    """
    parts = [struct.pack("<Q", len(schemas))]
    for number in sorted(range(len(schemas)), key=lambda number: list(schemas[number][0])):
        entries, num_ordered = schemas[number]
        parts.append(struct.pack(f"<iII{len(entries)}i", number, len(entries), num_ordered, *entries))
    return b"".join(parts)


def build_table_metadata(streams: Sequence[tuple[int, int]], tables: Sequence[tuple[int, int, int, int]]) -> bytes:
    """The payload of `/table_metadata`.  Spec: Table metadata.

    Args:
        streams: Offset in `/0` and uncompressed size of each packed stream.
        tables: Stream id, offset in the stream, schema id and records of each table.
    """
    parts = [struct.pack("<Q", len(streams))]
    parts += [struct.pack(STREAM_PACKED, *stream) for stream in streams]
    parts.append(struct.pack("<QQ", 0, len(tables)))
    parts += [struct.pack(TABLE_PACKED, *table) for table in tables]
    return b"".join(parts)
