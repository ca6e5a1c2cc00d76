"""Compiled from ksy/clp_s_table_metadata.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct
from array import array

from ._layout import LayoutError, View, native, short

_unpack0 = struct.Struct("<Q").unpack_from
_unpack1 = struct.Struct("<QQ").unpack_from
_unpack2 = struct.Struct("<QQiQ").unpack_from


class ClpSTableMetadata:
    """Offset of each table. A table contains all records of one schema; tables are packed into streams that are
    compressed one by one.
    """
    __slots__ = ('num_streams', 'streams', 'num_separate_column_schemas', 'num_tables', 'tables')
    num_streams: int
    streams: StreamColumns
    num_separate_column_schemas: int
    """Always 0."""
    num_tables: int
    tables: TableColumns


def read_clp_s_table_metadata(view: View, at: int, end: int) -> tuple[ClpSTableMetadata, int]:
    """`clp_s_table_metadata` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpSTableMetadata()
    if end - at < 8:
        raise short("num_streams", at, end, 8)
    (num_streams,) = _unpack0(view, at)
    at += 8
    if num_streams > (end - at) // 16:
        raise LayoutError("num_streams", at - 8, at, f"at most {(end - at) // 16}", num_streams)
    value.num_streams = num_streams
    streams = scan_stream(view, at, end, num_streams if num_streams > 0 else 0)
    if streams.problem is not None:
        streams.problem.within("streams")
        raise streams.problem
    at = streams.resume_at
    value.streams = streams
    if end - at < 16:
        raise short((("num_separate_column_schemas", 8), ("num_tables", 16),), at, end, 16)
    num_separate_column_schemas, num_tables = _unpack1(view, at)
    at += 16
    value.num_separate_column_schemas = num_separate_column_schemas
    value.num_tables = num_tables
    if num_tables > (end - at) // 28:
        raise LayoutError("num_tables", at - 8, at, f"at most {(end - at) // 28}", num_tables)
    tables = scan_table(view, at, end, num_tables if num_tables > 0 else 0)
    if tables.problem is not None:
        tables.problem.within("tables")
        raise tables.problem
    at = tables.resume_at
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
    ofs_stream, len_uncompressed = _unpack1(view, at)
    at += 16
    value.ofs_stream = ofs_stream
    value.len_uncompressed = len_uncompressed
    return value, at


class StreamColumns:
    """Many `clp_s_table_metadata::stream`, one column per field; see `scan_stream`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'ofs_stream', 'len_uncompressed')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.ofs_stream: array[int] = array("Q")
        self.len_uncompressed: array[int] = array("Q")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Stream:
        """One element as an object."""
        return read_stream(self.view, self.at[index], self.end)[0]


def scan_stream(view: View, at: int, end: int, count: int | None = None) -> StreamColumns:
    """The `clp_s_table_metadata::stream` from `at` to `end`, or `count` of them, as columns; does not raise, see
    `problem`.
    """
    columns = StreamColumns(view, end)
    if native is not None:
        at = native.clp_s_table_metadata_stream(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_ofs_stream = columns.ofs_stream.append
    add_len_uncompressed = columns.len_uncompressed.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            if end - at < 16:
                raise short((("ofs_stream", 8), ("len_uncompressed", 16),), at, end, 16)
            ofs_stream, len_uncompressed = _unpack1(view, at)
            at += 16
            add_at(first)
            add_ofs_stream(ofs_stream)
            add_len_uncompressed(len_uncompressed)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns


class Table:
    """One table."""
    __slots__ = ('stream_id', 'ofs_table', 'schema_id', 'num_messages')
    stream_id: int
    """Position of its stream in the list above."""
    ofs_table: int
    """Offset in the decompressed stream. The table ends where the next one of the same stream begins, or with the
    stream.
    """
    schema_id: int
    """The schema of its records, as the schema map names it."""
    num_messages: int
    """Number of records."""


def read_table(view: View, at: int, end: int) -> tuple[Table, int]:
    """`clp_s_table_metadata::table` at `at`, and where it ends. Raises `LayoutError`."""
    value = Table()
    if end - at < 28:
        raise short((("stream_id", 8), ("ofs_table", 16), ("schema_id", 20), ("num_messages", 28),), at, end, 28)
    stream_id, ofs_table, schema_id, num_messages = _unpack2(view, at)
    at += 28
    value.stream_id = stream_id
    value.ofs_table = ofs_table
    value.schema_id = schema_id
    value.num_messages = num_messages
    return value, at


class TableColumns:
    """Many `clp_s_table_metadata::table`, one column per field; see `scan_table`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'stream_id', 'ofs_table', 'schema_id', 'num_messages')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.stream_id: array[int] = array("Q")
        self.ofs_table: array[int] = array("Q")
        self.schema_id: array[int] = array("i")
        self.num_messages: array[int] = array("Q")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Table:
        """One element as an object."""
        return read_table(self.view, self.at[index], self.end)[0]


def scan_table(view: View, at: int, end: int, count: int | None = None) -> TableColumns:
    """The `clp_s_table_metadata::table` from `at` to `end`, or `count` of them, as columns; does not raise, see
    `problem`.
    """
    columns = TableColumns(view, end)
    if native is not None:
        at = native.clp_s_table_metadata_table(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_stream_id = columns.stream_id.append
    add_ofs_table = columns.ofs_table.append
    add_schema_id = columns.schema_id.append
    add_num_messages = columns.num_messages.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            if end - at < 28:
                raise short((("stream_id", 8), ("ofs_table", 16), ("schema_id", 20), ("num_messages", 28),), at, end, 28)
            stream_id, ofs_table, schema_id, num_messages = _unpack2(view, at)
            at += 28
            add_at(first)
            add_stream_id(stream_id)
            add_ofs_table(ofs_table)
            add_schema_id(schema_id)
            add_num_messages(num_messages)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns
