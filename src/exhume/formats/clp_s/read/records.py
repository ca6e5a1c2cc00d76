"""Streams of records over a whole archive: exact text or Python objects, in table order or in log order.

An archive stores its records in tables, one for each set of keys.  If the order of the input (log order) was recorded,
each record has its number in it (`log_event_idx`), and rows of many tables are merged by these numbers.  Small tables
are printed by the kernel (see `together`).  The others are merged with them here: tables that the kernel does not
support ("odd") have a program of their own, and large tables are read in windows of the rows that are next.

`ordered`: in log order; `complete`: print also what upstream leaves out; `known`: the tables as the kernel has them;
`finder` finds the ingestion unit of a record.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import ExhumeError
from exhume.formats.clp_s.read import kernel, windows
from exhume.formats.clp_s.read.blocks import (
    Printed,
    SharedValue,
    TableWindows,
    each_part,
    pieces,
    printed,
    printed_columns,
    warm,
)
from exhume.formats.clp_s.read.kernel import ClpsMerged
from exhume.formats.clp_s.read.program import DONE, ODD
from exhume.formats.clp_s.read.render import CHUNK_SIZE
from exhume.formats.clp_s.read.together import KernelTables
from exhume.formats.clp_s.read.windows import takes_passes
from exhume.io.parallel import map_ordered
from exhume.io.values import joined
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.codecs.common import Buffer
    from exhume.formats.clp_s.layout import RangeEntry
    from exhume.formats.clp_s.read.render import TableRenderer
    from exhume.formats.clp_s.read.tables import Table, TableArchive, TableData

    Part = tuple[int, int, array[int], Mapping[int, tuple[int, int]]]
    """Rows `[start, stop)` of the merged order, the next row of each table (int64), and by large table the range of its
    rows among them.
    """

MERGE_ROWS: Final = 8192
"""Rows of the merged order that one thread prints at a time."""

TABLES_PER_ROW: Final = 4
"""Tables for each row of such a part, at most: a part copies a cursor for each table, so it has more rows if there are
more tables."""


class _LargeTable:
    """A large table whose rows are printed among those of others: by windows of its next rows, or else as a whole."""

    def __init__(self, table: Table, complete: bool) -> None:
        self._table, self._complete = table, complete
        self._windowed = TableWindows(table)
        self._whole = SharedValue(lambda: table.load().renderer(complete=complete))

    def renderer(self, stack: ExitStack, start: int, stop: int) -> tuple[TableRenderer, int]:
        """Return a renderer of rows `[start, stop)`, valid until the stack is closed, and the number that the row
        `start` has in it.
        """
        found = self._windowed.get()
        if found is not None:
            rows = stack.enter_context(found.rows(start, stop))
            indices = printed_columns(self._table.layout.tokens(complete=self._complete))
            data = self._windowed.of(rows, indices)
            if data is not None:
                return data.renderer(complete=self._complete), 0
        return self._whole.get(), start


def positions(table: Table) -> memoryview[Any] | None:
    """Return the numbers of a table's records in log order (int64); None if none are stored.

    Upstream takes missing numbers for 0.  Raises the error that keeps the table from being read.
    """
    node = table.layout.tree.log_event_idx
    if node is not None and windows.is_too_large(table):
        windowed, out = TableWindows(table), array("q")
        indices = [index for index, one in enumerate(table.layout.nodes) if one == node]
        for rows in windowed.each():
            data = None if rows is None else windowed.of(rows, indices)
            found = None if data is None else data.log_event_idx
            if found is None:
                break
            out.extend(found)
        else:  # all windows were read
            return memoryview(out)
    # Small enough, or with a fault, which this raises.
    return table.load(() if node is None else {node}).log_event_idx


def _large_tables(archive: TableArchive, known: KernelTables) -> set[int]:
    """The tables whose rows are read in windows, because they or their streams are too large to be decompressed.

    Not those with more columns than rows (wide), which the kernel prints faster.
    """
    entries, streams = known.entries, archive.table_metadata.streams
    return {
        index
        for index, (stream, start, end) in enumerate(zip(entries.stream_ids, entries.starts, entries.ends, strict=True))
        if known.rows[index]
        and (end - start >= windows.WORTHWHILE or streams[stream].size > archive.limits.payload_size)
        and not known.is_wide(index)
    }


def _small_payloads(archive: TableArchive, known: KernelTables, large: set[int], jobs: int) -> list[Buffer | None]:
    """Return each stream, decompressed; None for damaged ones, and for those that have only tables among `large`."""
    needed = {
        stream for index, stream in enumerate(known.entries.stream_ids) if known.rows[index] and index not in large
    }

    def payload(stream: int) -> Buffer | None:
        """Return a stream, decompressed, if it is needed and intact."""
        try:
            return archive.stream_payload(stream) if stream in needed else None
        except ExhumeError:  # reported for each table
            return None

    return list(map_ordered(payload, range(len(archive.table_metadata.streams)), jobs))


class _TableMerge:
    """The tables of an archive, to be merged.  Raises the error that keeps one of them from being read."""

    def __init__(self, archive: TableArchive, complete: bool, jobs: int) -> None:
        """Open the tables in three groups, by the way their rows are printed; up to `jobs` threads read them.

        The kernel prints small tables from decompressed streams.  `_large` tables are read in windows of rows, and
        `_renderers` print tables that it does not support.  With `complete`, the kernel prints none.
        """
        self._archive, self._complete = archive, complete
        self._kernel_tables = known = KernelTables(archive)
        if known.entries.problems:
            raise known.entries.problems[min(known.entries.problems)]
        # Tables are numbered as in the whole archive: the first one is not 0 in a part of an archive.
        self._offset = archive.tables[0].index if len(archive.tables) else 0
        large = _large_tables(archive, known)
        # The kernel does not print the tables of a stream without a payload.
        streams = len(archive.table_metadata.streams)
        payloads = [None] * streams if complete else _small_payloads(archive, known, large, jobs)
        idx = archive.schema_tree.log_event_idx
        self._merged = ClpsMerged(known.tables, known.entries.stream_ids, payloads, -1 if idx is None else idx)
        # Tables with rows that the kernel does not print.
        tables = {index: archive.tables[index - self._offset] for index in self._merged.odd()}
        # `ahead` covers all tables: every result is needed before the merge can start.
        numbers = map_ordered(positions, tables.values(), jobs, ahead=len(tables) + 1)
        self._order = self._merged.order(dict(zip(tables, numbers, strict=True)))
        self._large = {index: _LargeTable(table, complete) for index, table in tables.items() if index in large}
        rest = {index: table for index, table in tables.items() if index not in large}
        made = map_ordered(self._renderer, rest.values(), jobs, ahead=len(rest) + 1)
        self._renderers = dict(zip(rest, made, strict=True))

    def _renderer(self, table: Table) -> TableRenderer:
        """Return the renderer of a whole table.  Propagates errors of reading."""
        return table.load().renderer(complete=self._complete)

    def parts(self) -> Iterator[Part]:
        """Yield the merged rows in parts for one thread each."""
        tables = len(self._kernel_tables.entries)
        cursors = array("q", [0]) * tables  # by table: its next row
        step = max(MERGE_ROWS, tables // TABLES_PER_ROW)
        for start in range(0, len(self._order), step):
            stop = min(start + step, len(self._order))
            before = cursors[:]
            self._merged.advance(self._order, start, stop, cursors)
            among = {index: (before[index], cursors[index]) for index in self._large if before[index] < cursors[index]}
            yield start, stop, before, among

    def printed(self, part: Part) -> Printed:
        """Return the text of a part up to an error, and the error."""
        start, stop, cursors, large = part
        out: list[bytes] = []
        renderers = dict(self._renderers)
        with ExitStack() as stack:
            try:
                for index, (first, last) in large.items():
                    # The next row of the table, as the renderer numbers it: a window starts with its row 0.
                    renderers[index], cursors[index] = self._large[index].renderer(stack, first, last)
                programs = {index: renderer.program for index, renderer in renderers.items()}
                while start < stop:
                    text, start, table, why = self._merged.render(
                        programs, self._order, start, stop, cursors, CHUNK_SIZE
                    )
                    out.append(text)
                    if why == DONE or (why != ODD and self._kernel_tables.supply(why)):
                        continue
                    # The kernel stopped at a row that it cannot print: print it alone to find the reason.
                    renderer = renderers.get(table) or self._renderer(self._archive.tables[table - self._offset])
                    renderer.lines([cursors[table]])  # raises the fault
            except ExhumeError as error:
                return out, error
        return out, None


def merged_chunks(archive: TableArchive, complete: bool, jobs: int) -> Iterator[bytes]:
    """The text of all records in log order, in chunks.  Raises the rule of the damage that ends it."""
    archive.hint_streams()
    merging = _TableMerge(archive, complete, jobs)
    for out, error in map_ordered(merging.printed, merging.parts(), jobs):
        yield from out
        if error is not None:
            raise error


class RecordWithOrigin(NamedTuple):
    """A record with its origin.

    `event` is the record as a Python object, `log_event_idx` its number in the input, `properties` those of its
    ingestion unit (such as the name of the input file); both are None if the archive does not state them.
    """

    event: Any
    log_event_idx: int | None
    properties: Mapping[str, Any] | None


def _tables(archive: TableArchive) -> list[Table]:
    """Return the tables that have records, or a problem to report; announces that they will be read in sequence."""
    chosen = [table for table in archive.tables if table.num_messages or table.entry.problem is not None]
    archive.hint_streams()
    return chosen


def json_chunks(
    archive: TableArchive, *, ordered: bool = False, complete: bool = False, jobs: int = 1
) -> Iterator[bytes]:
    """Yield the text of all records, one JSON line each, in chunks; `jobs` threads print.

    Raises the rule of the damage that ends a table.
    """
    if ordered and archive.schema_tree.log_event_idx is not None:
        most = archive.limits.payload_size
        if any(stream.size > most for stream in archive.table_metadata.streams) and any(
            map(takes_passes, archive.tables)
        ):
            # Each window of such a table decompresses much of its stream: `json_lines` reads fewer and larger windows.
            yield from joined(json_lines(archive, ordered=True, complete=complete), MERGE_ROWS)
        else:
            yield from merged_chunks(archive, complete, jobs)
        return
    if jobs == 1:
        for piece in pieces(archive, complete):
            yield from piece()
        return
    # The first task reads the dictionary that nearly all records need, while another thread prints the first table.
    work = (partial(lambda piece: printed(piece()), one) for one in pieces(archive, complete))
    for out, error in map_ordered(lambda piece: piece(), chain([partial(warm, archive)], work), jobs):
        yield from out
        if error is not None:
            raise error


def json_lines(archive: TableArchive, *, ordered: bool = False, complete: bool = False) -> Iterator[bytes]:
    """Yield all records as JSON lines, one by one."""
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
    """Return for each record in log order the index of its table in `tables`.

    The next record is always the one with the least number; tables without numbers count as 0, as upstream has it.
    """

    def numbers(table: Table) -> memoryview[Any]:
        """Return the numbers of a table's records, zeros if it has none."""
        found = positions(table)  # raises the error of the table
        return memoryview(array("q", [0]) * table.num_messages) if found is None else found

    return kernel.clps_merge_order(list(map_ordered(numbers, tables, jobs, ahead=len(tables) + 1)))


def events(archive: TableArchive, *, ordered: bool = False, with_source: bool = False) -> Iterator[Any]:
    """Yield all records as Python objects or, if `with_source`, as `RecordWithOrigin`."""
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
    """Yield the records of a table as Python objects, or as `RecordWithOrigin` if there is a finder."""
    for data, rows in each_part(table):
        yield from event_stream(data, finder, rows)


def event_stream(data: TableData, finder: SourceFinder | None, rows: Sequence[int] | None = None) -> Iterator[Any]:
    """Yield the records of a table, or only `rows` of it, as `table_events` does."""
    objects = data.objects(rows)
    if finder is None:
        yield from objects
        return
    idx = data.log_event_idx
    positions: Any = repeat(None, len(objects)) if idx is None else idx
    if idx is not None and rows is not None:
        positions = [positions[row] for row in rows]
    for event, position in zip(objects, positions, strict=True):
        yield RecordWithOrigin(event, position, finder.find(position))


class SourceFinder:
    """Finds the ingestion unit of a record by its `log_event_idx`."""

    def __init__(self, ranges: Sequence[RangeEntry]) -> None:
        self._ranges = sorted((entry for entry in ranges if entry.end > entry.start), key=lambda entry: entry.start)
        self._starts = [entry.start for entry in self._ranges]

    def find(self, position: int | None) -> Mapping[str, Any] | None:
        """Return the properties of the unit that contains a record number; None if no unit does."""
        if position is None:
            return None
        index = bisect_right(self._starts, position) - 1
        if index < 0 or position >= self._ranges[index].end:
            return None
        return self._ranges[index].properties
