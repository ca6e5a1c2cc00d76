"""Streams of records over a whole archive: exact text or Python objects, in table order or in log order."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from exhume.formats.clp_s.read import kernel
from exhume.formats.clp_s.read.merged import MERGE_ROWS, merged_chunks, positions
from exhume.formats.clp_s.read.printing import pieces, warm
from exhume.formats.clp_s.read.windowed import each_part, printed
from exhume.formats.clp_s.read.windows import takes_passes
from exhume.io.parallel import map_ordered

if TYPE_CHECKING:
    from exhume.formats.clp_s.layout import RangeEntry
    from exhume.formats.clp_s.read.tables import Table, TableArchive, TableData


class Sourced(NamedTuple):
    """A record with where it came from; `properties` is None when the range index does not cover it."""

    event: Any
    log_event_idx: int | None
    properties: Mapping[str, Any] | None


def _tables(archive: TableArchive) -> list[Table]:
    """The tables that have records, or a problem to report; they will be read in sequence."""
    chosen = [table for table in archive.tables if table.num_messages or table.entry.problem is not None]
    archive.hint_streams()
    return chosen


def json_chunks(
    archive: TableArchive, *, ordered: bool = False, complete: bool = False, jobs: int = 1
) -> Iterator[bytes]:
    """See `ClpSArchive.json_chunks`.  Raises the rule of the damage that ends a table."""
    if ordered and archive.schema_tree.log_event_idx is not None:
        most = archive.limits.payload_size
        if any(stream.size > most for stream in archive.table_metadata.streams) and any(
            map(takes_passes, archive.tables)
        ):  # use few windows
            lines = json_lines(archive, ordered=True, complete=complete)
            yield from iter(lambda: b"".join(islice(lines, MERGE_ROWS)), b"")
        else:
            yield from merged_chunks(archive, complete, jobs)
        return
    if jobs == 1:
        for piece in pieces(archive, complete):
            yield from piece()
        return
    work = (partial(lambda piece: printed(piece()), one) for one in pieces(archive, complete))
    for out, error in map_ordered(lambda piece: piece(), chain([partial(warm, archive)], work), jobs):
        yield from out
        if error is not None:
            raise error


def json_lines(archive: TableArchive, *, ordered: bool = False, complete: bool = False) -> Iterator[bytes]:
    """See `ClpSArchive.json_lines`."""
    if ordered and archive.schema_tree.log_event_idx is not None:
        tables = [table for table in archive.tables if table.num_messages]
        order = merge_order(tables)
        streams = [line_stream(table, complete) for table in tables]
        for index in order:
            yield next(streams[index])
        return
    for table in _tables(archive):
        yield from line_stream(table, complete)


def line_stream(table: Table, complete: bool) -> Iterator[bytes]:
    """The records of one table as text, one by one.  Raises the rule of a record that cannot be printed."""
    for data, chosen in each_part(table):
        renderer = data.renderer(complete=complete)
        rows = range(data.num_messages) if chosen is None else chosen
        for start in range(0, len(rows), 1024):
            lines, fault = renderer.program.lines(rows[start : start + 1024])
            yield from lines
            if fault is not None:
                raise renderer.failure(fault)


def merge_order(tables: Sequence[Table], jobs: int = 1) -> Sequence[int]:
    """Which of the tables each record of the log order comes from: always the one whose next record is the earliest.

    Tables without `log_event_idx` count as position 0, as upstream has it.
    """

    def numbers(table: Table) -> memoryview[Any]:
        found = positions(table)
        return memoryview(array("q", [0]) * table.num_messages) if found is None else found

    return kernel.clps_merge_order(list(map_ordered(numbers, tables, jobs, ahead=len(tables) + 1)))


def events(archive: TableArchive, *, ordered: bool = False, with_source: bool = False) -> Iterator[Any]:
    """See `ClpSArchive.events`."""
    finder = SourceFinder(archive.range_index) if with_source else None
    if ordered and archive.schema_tree.log_event_idx is not None:
        tables = [table for table in archive.tables if table.num_messages]
        order = merge_order(tables)
        streams = [table_events(table, finder) for table in tables]
        for index in order:
            yield next(streams[index])
        return
    for table in _tables(archive):
        yield from table_events(table, finder)


def table_events(table: Table, finder: SourceFinder | None) -> Iterator[Any]:
    """The records of a table, with their ingestion units when there is a finder."""
    for data, rows in each_part(table):
        yield from event_stream(data, finder, rows)


def event_stream(data: TableData, finder: SourceFinder | None, rows: Sequence[int] | None = None) -> Iterator[Any]:
    """The records of a table, or those rows of it, with their ingestion units when there is a finder."""
    objects = data.objects(rows)
    if finder is None:
        yield from objects
        return
    idx = data.log_event_idx
    positions: Any = repeat(None, len(objects)) if idx is None else idx
    if idx is not None and rows is not None:
        positions = [positions[row] for row in rows]
    for event, position in zip(objects, positions, strict=True):
        yield Sourced(event, position, finder.find(position))


class SourceFinder:
    """Finds the ingestion unit of a record by its `log_event_idx`."""

    def __init__(self, ranges: Sequence[RangeEntry]) -> None:
        self._ranges = sorted((entry for entry in ranges if entry.end > entry.start), key=lambda entry: entry.start)
        self._starts = [entry.start for entry in self._ranges]

    def find(self, position: int | None) -> Mapping[str, Any] | None:
        """The properties of the unit that holds a position, None when no range does."""
        if position is None:
            return None
        index = bisect_right(self._starts, position) - 1
        if index < 0 or position >= self._ranges[index].end:
            return None
        return self._ranges[index].properties
