"""Compiled from ksy/clp_s_table_metadata.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short

_STRUCT0 = struct.Struct("<Q")
_STRUCT1 = struct.Struct("<QQ")
_STRUCT2 = struct.Struct("<QQiQ")


class ClpSTableMetadata:
    """Where each table lies. A table holds all records of one schema; tables are packed into streams that are
    compressed one by one.
    """
    __slots__ = ('num_streams', 'streams', 'num_separate_column_schemas', 'num_tables', 'tables')
    num_streams: int
    streams: list[Stream]
    num_separate_column_schemas: int
    """Always 0."""
    num_tables: int
    tables: list[Table]


def read_clp_s_table_metadata(view: View, at: int, end: int) -> tuple[ClpSTableMetadata, int]:
    """`clp_s_table_metadata` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpSTableMetadata()
    start = at
    if end - at < 8:
        raise short("num_streams", at, end, 8)
    (num_streams,) = _STRUCT0.unpack_from(view, at)
    at += 8
    if num_streams > (end - at) // 16:
        raise LayoutError("num_streams", start, f"at most {(end - at) // 16}", num_streams)
    value.num_streams = num_streams
    streams = []
    try:
        for _ in range(num_streams):
            one, at = read_stream(view, at, end)
            streams.append(one)
    except LayoutError as error:
        error.within(f"streams[{len(streams)}]")
        raise
    value.streams = streams
    if end - at < 16:
        raise short((("num_separate_column_schemas", 8), ("num_tables", 16),), at, end, 16)
    num_separate_column_schemas, num_tables = _STRUCT1.unpack_from(view, at)
    at += 16
    value.num_separate_column_schemas = num_separate_column_schemas
    value.num_tables = num_tables
    if num_tables > (end - at) // 28:
        raise LayoutError("num_tables", at - 8, f"at most {(end - at) // 28}", num_tables)
    tables = []
    try:
        for _ in range(num_tables):
            one, at = read_table(view, at, end)
            tables.append(one)
    except LayoutError as error:
        error.within(f"tables[{len(tables)}]")
        raise
    value.tables = tables
    return value, at


class Stream:
    """One packed stream."""
    __slots__ = ('ofs_stream', 'len_uncompressed')
    ofs_stream: int
    """Offset of its compressed bytes in the tables section."""
    len_uncompressed: int


def read_stream(view: View, at: int, end: int) -> tuple[Stream, int]:
    """`clp_s_table_metadata::stream` at `at`, and where it ends. Raises `LayoutError`."""
    value = Stream()
    if end - at < 16:
        raise short((("ofs_stream", 8), ("len_uncompressed", 16),), at, end, 16)
    ofs_stream, len_uncompressed = _STRUCT1.unpack_from(view, at)
    at += 16
    value.ofs_stream = ofs_stream
    value.len_uncompressed = len_uncompressed
    return value, at


class Table:
    """One table."""
    __slots__ = ('stream_id', 'ofs_table', 'schema_id', 'num_messages')
    stream_id: int
    ofs_table: int
    """Offset in the decompressed stream. The table ends where the next one of the same stream begins, or with the
    stream.
    """
    schema_id: int
    num_messages: int
    """Number of records."""


def read_table(view: View, at: int, end: int) -> tuple[Table, int]:
    """`clp_s_table_metadata::table` at `at`, and where it ends. Raises `LayoutError`."""
    value = Table()
    if end - at < 28:
        raise short((("stream_id", 8), ("ofs_table", 16), ("schema_id", 20), ("num_messages", 28),), at, end, 28)
    stream_id, ofs_table, schema_id, num_messages = _STRUCT2.unpack_from(view, at)
    at += 28
    value.stream_id = stream_id
    value.ofs_table = ofs_table
    value.schema_id = schema_id
    value.num_messages = num_messages
    return value, at
