"""The streams and tables of a clp-s archive: the table metadata as columns, for there may be hundreds of thousands.

Spec: clp_s.txt, Table metadata.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

from exhume_ksy.facts.clp_s_table_metadata import Table
from exhume_ksy.fast.clp_s_table_metadata import read_clp_s_table_metadata

from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s import checks
from exhume.layout.fast import read


class StreamEntry(NamedTuple):
    """A packed stream: `offset` from the start of the tables section, `size` decompressed."""

    offset: int
    size: int


@dataclass(slots=True)  # not frozen: there may be thousands, and each would cost twice as much
class TableEntry:
    """A table: bytes `[start, end)` of decompressed stream `stream_id`, `num_messages` rows of schema `schema_id`.

    `problem` is the error when its place is impossible; the other tables can still be read.
    """

    index: int
    stream_id: int
    start: int
    end: int
    schema_id: int
    num_messages: int
    problem: ExhumeError | None = None


@dataclass(slots=True)
class TableEntries(Sequence[TableEntry]):
    """The tables in stored order, each of them made when it is asked for; one item per table in each column."""

    stream_ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]
    schema_ids: Sequence[int]
    num_messages: Sequence[int]
    problems: Mapping[int, ExhumeError]

    def __len__(self) -> int:
        return len(self.stream_ids)

    @overload
    def __getitem__(self, index: int) -> TableEntry: ...
    @overload
    def __getitem__(self, index: slice) -> list[TableEntry]: ...
    def __getitem__(self, index: int | slice) -> TableEntry | list[TableEntry]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return TableEntry(
            index,
            self.stream_ids[index],
            self.starts[index],
            self.ends[index],
            self.schema_ids[index],
            self.num_messages[index],
            self.problems.get(index),
        )

    def __iter__(self) -> Iterator[TableEntry]:
        get = self.problems.get
        columns = (self.stream_ids, self.starts, self.ends, self.schema_ids, self.num_messages)
        for index, row in enumerate(zip(*columns, strict=True)):
            yield TableEntry(index, *row, get(index))


class TableMetadata(NamedTuple):
    """Where the tables are."""

    streams: tuple[StreamEntry, ...]
    tables: TableEntries


def parse_table_metadata(data: bytes, where: Span) -> tuple[TableMetadata, int]:
    """The table metadata from its decompressed section, and the offset after it.

    Raises CLPS-340 (malformed) and CLPS-341; a table with an impossible stream id (CLPS-342) or offset (CLPS-344) has
    that error as `problem`.
    """
    raw, at = read(read_clp_s_table_metadata, data, where, checks.BAD_TABLE_METADATA)
    if raw.num_separate_column_schemas:
        begin = raw.streams.resume_at
        raise checks.SEPARATE_COLUMNS.error(
            span=where.sub(begin, begin + 8), expected=0, actual=raw.num_separate_column_schemas
        )
    streams = tuple(map(StreamEntry, raw.streams.ofs_stream, raw.streams.len_uncompressed))
    found = raw.tables
    count = len(found)
    stream_ids, starts = found.stream_id, found.ofs_table
    sizes = [stream.size for stream in streams]
    problems: dict[int, ExhumeError] = {}
    ends = array("Q", starts)
    following, next_start = -1, 0
    for index in range(count - 1, -1, -1):
        stream_id, start = stream_ids[index], starts[index]
        if stream_id >= len(sizes):
            problems[index] = checks.BAD_STREAM_ID.error(
                f"table {index}",
                span=where.sub(found.at[index], found.at[index] + Table.size),
                field_path=f"tables[{index}].stream_id",
                actual=stream_id,
            )
        else:
            end = sizes[stream_id]
            if following == stream_id and next_start < end:
                end = next_start
            if start > end:
                problems[index] = checks.BAD_TABLE_OFFSET.error(
                    f"table {index}",
                    span=where.sub(found.at[index], found.at[index] + Table.size),
                    field_path=f"tables[{index}].ofs_table",
                    expected=f"at most {end}",
                    actual=start,
                )
            else:
                ends[index] = end
        following, next_start = stream_id, start
    return TableMetadata(
        streams, TableEntries(stream_ids, starts, ends, found.schema_id, found.num_messages, problems)
    ), at
