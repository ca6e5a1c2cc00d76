"""Streams of records over a whole archive: exact text or Python objects, in table order or in log order."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from exhume.errors import CodecError, ExhumeError
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read import kernel
from exhume.formats.clp_s.read.render import CHUNK_SIZE
from exhume.formats.clp_s.read.template import Kind, Token
from exhume.formats.clp_s.read.windows import Rows, Windows, is_large, is_too_large, open_windows, takes_passes
from exhume.io.cached import cached_property
from exhume.io.parallel import map_ordered

if TYPE_CHECKING:
    from exhume.formats.clp_s.layout import RangeEntry
    from exhume.formats.clp_s.read.render import TableRenderer
    from exhume.formats.clp_s.read.tables import Table, TableData
    from exhume.formats.clp_s.reader import ClpSArchive

T = TypeVar("T")
R = TypeVar("R")

BLOCK_BYTES: Final = 1 << 19
"""Decompressed bytes of a table that one thread searches or prints at a time."""

WINDOW_BYTES: Final = 1 << 21
"""The same of a table that is not held as a whole."""

SERIAL_WINDOWS: Final = 16
"""Windows of the size `payload_size` together, where each of them takes passes through the whole table."""

WITH_VARIABLES: Final = frozenset(
    (NodeType.VAR_STRING, NodeType.DICTIONARY_FLOAT, NodeType.CLP_STRING, NodeType.UNSTRUCTURED_ARRAY)
)
"""Types of columns whose values are in the variable dictionary, or may be."""

MERGE_ROWS: Final = 8192
"""Rows of the merged order that one thread prints at a time."""

Printed = tuple[list[bytes], ExhumeError | None]


class Sourced(NamedTuple):
    """A record with where it came from; `properties` is None when the range index does not cover it."""

    event: Any
    log_event_idx: int | None
    properties: Mapping[str, Any] | None


class Shared(Generic[T]):
    """What threads need of a table, its rows or their renderer: made by the first of them, dropped with the last block.

    `share` is what all of them do together before one makes it.
    """

    def __init__(self, make: Callable[[], T], share: Callable[[], None] | None = None) -> None:
        self._make = make
        self._share = share
        self._lock = threading.Lock()
        self._made: T | None = None

    def get(self) -> T:
        """What it is.  Raises what keeps it from being made, each time."""
        if self._share is not None and self._made is None:
            self._share()
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def _tables(archive: ClpSArchive) -> list[Table]:
    """The tables that have records, or a problem to tell, which will be read one after the other."""
    chosen = [table for table in archive.tables if table.num_messages or table.entry.problem is not None]
    archive.hint_streams()
    return chosen


def blocks(table: Table, size: int) -> Iterator[tuple[int, int]]:
    """The rows of a table in blocks `[start, stop)` of some bytes, which one thread goes through at a time."""
    rows = table.num_messages
    step = max(1, size * max(1, rows) // max(1, table.size))
    return ((start, min(start + step, rows)) for start in range(0, max(1, rows), step))


def printed_columns(tokens: Iterable[Token]) -> Collection[int]:
    """The places of the columns that records of these tokens have values of."""
    return {token.column for token in tokens if token.kind is Kind.COLUMN}


class Windowed:
    """The windows of a table for threads that share them, opened by the first of them: none of a small table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._opened = Shared(lambda: (open_windows(table),))
        self._is_passed_over = not is_large(table)
        self.is_only_way = is_too_large(table)
        """Whether the table is too large to be read as a whole."""

    def blocks(self) -> Iterator[tuple[int, int]]:
        """The rows of the table in blocks for one thread at a time."""
        size = WINDOW_BYTES if is_large(self._table) else BLOCK_BYTES
        with suppress(ExhumeError):  # told of the table
            if takes_passes(self._table):
                size = max(size, self._table.archive.limits.payload_size // SERIAL_WINDOWS)
        return blocks(self._table, size)

    def get(self) -> Windows | None:
        """The windows, where there are any."""
        if not self._is_passed_over:
            with suppress(ExhumeError):  # told of the table
                return self._opened.get()[0]
        return None

    def call(self, function: Callable[[Rows], R], start: int, stop: int) -> R | None:
        """The function of rows of the table; None where it is to be read as a whole: there are no windows, or something
        is wrong in one, which is told of the table.  Raises what is wrong in a table that is too large for that.
        """
        windows = self.get()
        if windows is not None:
            with windows.rows(start, stop) as rows:
                found = self.within(function, rows)
            if found is not None:
                return found
            self._is_passed_over = True
        return None

    def printed(self, chunks: Callable[[Rows], Iterable[bytes]], start: int, stop: int) -> Printed | None:
        """What `chunks` prints of rows of the table, up to an error; None as for `call`."""

        def function(rows: Rows) -> Printed:
            found = printed(chunks(rows))
            if found[1] is not None and not self.is_only_way:
                raise found[1]
            return found

        try:
            return self.call(function, start, stop)
        except ExhumeError as error:
            return [], error

    def within(self, function: Callable[[Rows], R], rows: Rows) -> R | None:
        """The function of rows that `each` yields; None as for `call`.  Raises CLPS-309 and as the function does."""
        try:
            return function(rows)
        except CodecError as error:
            if self.is_only_way:
                raise checks.BAD_FRAME.error(error.message, span=self._table.span, actual=error.actual) from error
        except ExhumeError:
            if self.is_only_way:
                raise
        return None

    def of(self, rows: Rows, indices: Collection[int]) -> TableData | None:
        """These columns of such rows."""
        return self.within(lambda rows: rows.window(indices), rows)

    def each(self, *, keep: bool = False) -> Iterator[Rows | None]:
        """The rows of the table in order; None where it is to be read as a whole.

        Each is for use before the next, or after that, to `keep` it.
        """
        windows = self.get()
        if windows is None:
            yield None
            return
        for start, stop in self.blocks():
            with windows.rows(start, stop, keep=keep) as rows:
                yield rows


def each_part(table: Table) -> Iterator[tuple[TableData, Sequence[int] | None]]:
    """The records of a table in order: windows of it, or the table and which of its rows these are (None: all)."""
    windowed, done = Windowed(table), 0
    for rows in windowed.each():
        data = None
        if rows is not None:
            data = windowed.of(rows, range(len(table.layout.nodes)))
        if data is None:
            whole = table.load()
            yield whole, range(done, whole.num_messages) if done else None
            return
        yield data, None
        done += data.num_messages


class _Printer:
    """Prints blocks of rows of a table."""

    def __init__(self, table: Table, complete: bool) -> None:
        self._table, self._complete = table, complete
        self.windowed = Windowed(table)
        self._whole = Shared(lambda: table.load().renderer(complete=complete), table.share)

    @cached_property
    def _indices(self) -> Collection[int]:
        return printed_columns(self._table.layout.tokens(complete=self._complete))

    def chunks(self, start: int, stop: int) -> Printed:
        """The text of a block in pieces, up to an error."""

        def window(rows: Rows) -> Iterator[bytes]:
            return rows.window(self._indices).renderer(complete=self._complete).chunks()

        found = self.windowed.printed(window, start, stop)
        return printed(self._whole_chunks(start, stop)) if found is None else found

    def _whole_chunks(self, start: int, stop: int) -> Iterator[bytes]:
        yield from self._whole.get().chunks(start, stop)


def _blocks(archive: ClpSArchive, complete: bool) -> Iterator[tuple[_Printer, int, int]]:
    for table in _tables(archive):
        printer = _Printer(table, complete)
        for start, stop in printer.windowed.blocks():
            yield printer, start, stop


def warm(archive: ClpSArchive) -> Printed:
    """Reads the variable dictionary, if a table needs it, while another thread reads the first table.

    What is wrong with it is raised where it is needed.
    """
    with suppress(ExhumeError):
        types = archive.schema_tree.types
        tables = (table.layout.nodes for table in archive.tables if table.num_messages)
        if any(types[node] in WITH_VARIABLES for nodes in tables for node in nodes):
            archive.texts.escaped_variables  # noqa: B018 - reads it
    return [], None


def _print_block(block: tuple[_Printer, int, int]) -> Printed:
    printer, start, stop = block
    return printer.chunks(start, stop)


def printed(chunks: Iterable[bytes]) -> Printed:
    """The chunks up to an error, and that error."""
    out: list[bytes] = []
    try:
        out.extend(chunks)
    except ExhumeError as error:
        return out, error
    return out, None


def json_chunks(
    archive: ClpSArchive, *, ordered: bool = False, complete: bool = False, jobs: int = 1
) -> Iterator[bytes]:
    """See `ClpSArchive.json_chunks`.  Raises the rule of the damage that ends a table."""
    if ordered and archive.schema_tree.log_event_idx is not None:
        if any(map(takes_passes, archive.tables)):  # of which windows are to be few
            lines = json_lines(archive, ordered=True, complete=complete)
            yield from iter(lambda: b"".join(islice(lines, MERGE_ROWS)), b"")
        else:
            yield from _merged_chunks(archive, complete, jobs)
        return
    first = [] if jobs == 1 else [partial(warm, archive)]
    pieces = chain(first, (partial(_print_block, one) for one in _blocks(archive, complete)))
    for out, error in map_ordered(lambda piece: piece(), pieces, jobs):
        yield from out
        if error is not None:
            raise error


def json_lines(archive: ClpSArchive, *, ordered: bool = False, complete: bool = False) -> Iterator[bytes]:
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

    def positions(table: Table) -> memoryview[Any]:
        node = table.layout.tree.log_event_idx
        idx = table.load(() if node is None else {node}).log_event_idx
        return memoryview(array("q", [0]) * table.num_messages) if idx is None else idx

    return kernel.clps_merge_order(list(map_ordered(positions, tables, jobs, ahead=len(tables) + 1)))


class _Merged:
    """A large table of which rows are printed between those of others: the rows that are next, or all of them."""

    def __init__(self, table: Table, complete: bool) -> None:
        self._table, self._complete = table, complete
        self._windowed = Windowed(table)
        self._whole = Shared(lambda: table.load().renderer(complete=complete))

    def renderer(self, stack: ExitStack, start: int, stop: int) -> tuple[TableRenderer, int]:
        """What prints the rows `[start, stop)`, until the stack is closed, and the number of the first for it."""
        windows = self._windowed.get()
        if windows is not None:
            rows = stack.enter_context(windows.rows(start, stop))
            indices = printed_columns(self._table.layout.tokens(complete=self._complete))
            data = self._windowed.of(rows, indices)
            if data is not None:
                return data.renderer(complete=self._complete), 0
        return self._whole.get(), start


def _merged_chunks(archive: ClpSArchive, complete: bool, jobs: int) -> Iterator[bytes]:
    tables = _tables(archive)
    large = {index: _Merged(table, complete) for index, table in enumerate(tables) if is_large(table)}
    order = merge_order(tables, jobs)
    total = len(order)

    def renderer_of(index: int) -> TableRenderer | None:
        return None if index in large else tables[index].load().renderer(complete=complete)

    small = list(map_ordered(renderer_of, range(len(tables)), jobs, ahead=len(tables) + 1))
    nothing = kernel.ClpsProgram([], 0)
    known = [nothing if renderer is None else renderer.program for renderer in small]

    def parts() -> Iterator[tuple[int, int, list[int], list[int]]]:
        cursors = [0] * len(tables)
        for start in range(0, total, MERGE_ROWS):
            stop = min(start + MERGE_ROWS, total)
            counts = kernel.clps_count(order, start, stop, len(tables))
            ends = [cursor + count for cursor, count in zip(cursors, counts, strict=True)]
            yield start, stop, list(cursors), ends
            cursors = ends

    def show(part: tuple[int, int, list[int], list[int]]) -> Printed:
        start, stop, cursors, ends = part
        out: list[bytes] = []
        programs, renderers = list(known), list(small)
        with ExitStack() as stack:
            try:
                for index, one in large.items():
                    if cursors[index] < ends[index]:
                        renderer, cursors[index] = one.renderer(stack, cursors[index], ends[index])
                        renderers[index], programs[index] = renderer, renderer.program
            except ExhumeError as error:
                return out, error
            while start < stop:
                text, start, table, fault = kernel.clps_render_merged(programs, order, start, stop, cursors, CHUNK_SIZE)
                out.append(text)
                if fault is not None and (failed := renderers[table]) is not None:
                    return out, failed.failure(fault)
        return out, None

    for out, error in map_ordered(show, parts(), jobs):
        yield from out
        if error is not None:
            raise error


def events(archive: ClpSArchive, *, ordered: bool = False, with_source: bool = False) -> Iterator[Any]:
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
