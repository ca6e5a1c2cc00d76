"""Blocks of rows for threads that share the tables of an archive: searched, printed up to an error, or prefetched.

A table has all records of one schema (set of keys), column by column; tables are in packed streams, each compressed as
a whole.  A large table is read a window at a time: a window has some rows of all needed columns (see `windows`).  Half
of the time of a selective search is decompression, in calls that release the GIL: while one stream is searched, the
next one is decompressed, and so is the variable dictionary that the first match will be printed with.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from exhume.errors import CodecError, ExhumeError
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read import windows
from exhume.formats.clp_s.read.template import Kind, Token
from exhume.formats.clp_s.read.together import KernelTables
from exhume.formats.clp_s.read.windows import (
    WindowRows,
    Windows,
    has_windows,
    is_large,
    is_too_large,
    open_windows,
    takes_passes,
)
from exhume.io.caching import cached_property
from exhume.io.parallel import SpareThreads
from exhume.limits import cpu_count

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import Table, TableArchive, TableData

T = TypeVar("T")
R = TypeVar("R")

BLOCK_BYTES: Final = 1 << 19
"""Decompressed bytes of a table that one thread searches or prints at a time."""

WINDOW_BYTES: Final = 1 << 21
"""Decompressed bytes of a table that one thread searches or prints at a time, if the table is read in windows."""

SERIAL_WINDOWS: Final = 16
"""If each window takes a pass through the whole table, a window has at least the limit `payload_size` divided by this
number: few windows, few passes."""

WITH_VARIABLES: Final = frozenset(
    (NodeType.VAR_STRING, NodeType.DICTIONARY_FLOAT, NodeType.CLP_STRING, NodeType.UNSTRUCTURED_ARRAY)
)
"""Types of columns whose values are in the variable dictionary, or may be."""

Printed = tuple[list[bytes], ExhumeError | None]
"""The chunks of text that were printed, and the error that ended the printing (None: all was printed)."""


class SharedValue(Generic[T]):
    """A value that threads share, such as a loaded table or its renderer: made by the first thread, dropped with the
    last block.

    `share` is called by each thread that needs the value before it is made: it does part of the work for it.
    """

    def __init__(self, make: Callable[[], T], share: Callable[[], None] | None = None) -> None:
        self._make = make
        self._share = share
        self._lock = threading.Lock()
        self._made: T | None = None

    def get(self) -> T:
        """Return the value, made by the first caller. The error of making it is raised to each caller."""
        if self._share is not None and self._made is None:
            self._share()
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def blocks(table: Table, size: int, most: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield the rows of a table in blocks `[start, stop)` of about `size` bytes, each for one thread.

    They have `most` rows at most, unless each of them takes passes through the whole table.  A table without rows has
    one empty block, so that its problem is reported.
    """
    rows = table.num_messages
    step = max(1, size * max(1, rows) // max(1, table.size))
    if most is not None and not is_too_large(table):
        step = min(step, most)
    return ((start, min(start + step, rows)) for start in range(0, max(1, rows), step))


def printed_columns(tokens: Iterable[Token]) -> Collection[int]:
    """Return the indices of the columns whose values these tokens (see `template`) print."""
    return {token.column for token in tokens if token.kind is Kind.COLUMN}


class TableWindows:
    """The windows of a table, shared by threads; the first thread opens them.  A small table has none."""

    def __init__(self, table: Table) -> None:
        """Prepare to read a table by windows; they are opened when first needed."""
        self._table = table
        self._opened = SharedValue(lambda: (open_windows(table),))  # in a tuple, as None has a meaning for both
        self._is_passed_over = not is_large(table)  # whether the table is read as a whole from now on
        self.is_only_way: bool = is_too_large(table)
        """Whether the table is too large to be read as a whole."""

    def blocks(self, most: int | None = None) -> Iterator[tuple[int, int]]:
        """The rows of the table in blocks for one thread at a time, of `most` rows at most."""
        size = WINDOW_BYTES if is_large(self._table) else BLOCK_BYTES
        with suppress(ExhumeError):  # reported for the table
            if takes_passes(self._table):
                size = max(size, self._table.archive.limits.payload_size // SERIAL_WINDOWS)
        return blocks(self._table, size, most)

    def get(self) -> Windows | None:
        """Return the windows; None if the table should be read as a whole."""
        if not self._is_passed_over:
            with suppress(ExhumeError):  # reported for the table
                return self._opened.get()[0]
        return None

    def call(self, function: Callable[[WindowRows], R], start: int, stop: int) -> R | None:
        """Return `function` of rows `[start, stop)`, read as a window.

        Returns None if the table has to be read as a whole: it has no windows, or one is damaged, which the whole table
        then reports. Raises the error if the table is too large for that.
        """
        windows = self.get()
        if windows is not None:
            with windows.rows(start, stop) as rows:
                found = self.within(function, rows)
            if found is not None:
                return found
            self._is_passed_over = True
        return None

    def printed(self, chunks: Callable[[WindowRows], Iterable[bytes]], start: int, stop: int) -> Printed | None:
        """Return what `chunks` prints of rows `[start, stop)`, and the error after it; None as for `call`."""

        def function(rows: WindowRows) -> Printed:
            """Print the rows; an error after them is raised if the whole table can be read instead."""
            pieces, error = printed(chunks(rows))
            if error is not None and not self.is_only_way:
                raise error
            return pieces, error

        try:
            return self.call(function, start, stop)
        except ExhumeError as error:
            return [], error

    def within(self, function: Callable[[WindowRows], R], rows: WindowRows) -> R | None:
        """Return `function` of rows that are open as a window; None as for `call`.

        Raises CLPS-309, and errors of the function.
        """
        try:
            return function(rows)
        except CodecError as error:
            if self.is_only_way:
                raise checks.BAD_FRAME.error(error.message, span=self._table.span, actual=error.actual) from error
        except ExhumeError:
            if self.is_only_way:
                raise
        return None

    def of(self, rows: WindowRows, indices: Collection[int]) -> TableData | None:
        """Return these columns of rows that are open as a window; None as for `call`."""
        return self.within(lambda rows: rows.window(indices, prints=True), rows)

    def each(self, *, keep: bool = False) -> Iterator[WindowRows | None]:
        """Yield the rows of the table in order, window by window; None instead if it has to be read as a whole.

        Each window is valid until the next is requested, or, with `keep`, as long as it is referenced.
        """
        windows = self.get()
        if windows is None:
            yield None
            return
        for start, stop in self.blocks():
            with windows.rows(start, stop, keep=keep) as rows:
                yield rows


def each_part(table: Table) -> Iterator[tuple[TableData, Sequence[int] | None]]:
    """Yield the records of a table in order, as pairs of loaded data and the rows of it to use (None: all).

    These are windows, each with None.  If that fails, the last pair is the whole table with the rows that no window
    had.
    """
    windowed, done = TableWindows(table), 0
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


def printed(chunks: Iterable[bytes]) -> Printed:
    """Take chunks until an error; return them and the error."""
    out: list[bytes] = []
    try:
        out.extend(chunks)
    except ExhumeError as error:
        return out, error
    return out, None


TEXT_BYTES: Final = 16 << 20
"""Bytes of text that one thread prints at a time, estimated from the average record: the size of the table would
mislead, as even a long string takes only one word in it, its id in a dictionary."""

LEAST_ROWS: Final = 64
"""Rows that one thread prints at a time at least, however long their text is."""


class Printer:
    """Prints blocks of rows of a table, from windows if it has any, for several threads.

    `complete`: print also what upstream (the reference implementation, `clp-s x`) leaves out.
    """

    def __init__(self, table: Table, complete: bool) -> None:
        self._table, self._complete = table, complete
        self.windowed: TableWindows = TableWindows(table)
        self._whole = SharedValue(lambda: table.load().renderer(complete=complete), table.share)

    @cached_property
    def _indices(self) -> Collection[int]:
        """The columns that records have values of."""
        return printed_columns(self._table.layout.tokens(complete=self._complete))

    def chunks(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield rows `[start, stop)` of the table as JSON lines, in chunks.

        Raises the rule of a record that cannot be printed.
        """

        def window(rows: WindowRows) -> Iterator[bytes]:
            return rows.window(self._indices, prints=True).renderer(complete=self._complete).chunks()

        found = self.windowed.printed(window, start, stop)
        if found is None:
            yield from self._whole.get().chunks(start, stop)
            return
        chunks, error = found
        yield from chunks
        if error is not None:
            raise error


def text_rows(archive: TableArchive, most: int = TEXT_BYTES) -> int:
    """Return the number of rows whose text is about `most` bytes, by the average size of the archive's records.

    The header states the size of the original text.
    """
    size = archive.header.original_size // max(1, archive.num_messages)
    return max(LEAST_ROWS, most // max(1, size))


def pieces(archive: TableArchive, complete: bool) -> Iterator[Callable[[], Iterator[bytes]]]:
    """Yield the printing of all records, in order of the tables, as calls for one thread each.

    Small tables are printed by the kernel, a run of them per call; large tables in blocks of rows.  `complete`: print
    also what upstream leaves out; then each table is printed by a program of its own.
    """
    archive.hint_streams()
    together: KernelTables | None = None
    if not complete and len(archive.tables):
        with suppress(ExhumeError):  # reported for each table
            together = KernelTables(archive)
    tables, most = archive.tables, text_rows(archive)
    if together is None:
        for table in tables:
            yield from _blocks(table, complete, most)
        return
    offset = tables[0].index  # `together` numbers all tables of the archive; `tables` may be a part of them
    for first, stop in together.runs(min(BLOCK_BYTES, windows.WORTHWHILE), most):
        # A run of several tables, or a table with more columns than rows: cheap only in the kernel.
        if stop > first + 1 or together.is_wide(first):
            yield partial(_run, archive, together, first, stop)
        elif 0 <= first - offset < len(tables):
            yield from _blocks(tables[first - offset], complete, most)


def _blocks(table: Table, complete: bool, most: int) -> Iterator[Callable[[], Iterator[bytes]]]:
    """Yield the printing of one table as calls for threads, each of at most `most` rows; `complete`: see `Printer`."""
    if table.num_messages or table.entry.problem is not None:
        printer = Printer(table, complete)
        for start, stop in printer.windowed.blocks(most):
            yield partial(printer.chunks, start, stop)


def _run(archive: TableArchive, together: KernelTables, first: int, stop: int) -> Iterator[bytes]:
    """Print tables `[first, stop)`, which are small or wide, together; those that the kernel cannot print are printed
    here.
    """
    offset = archive.tables[0].index
    for found in together.printed(first, stop):
        if isinstance(found, bytes):
            yield found
        else:
            index, row = found  # the table that the kernel stopped at, and its first unprinted row
            table = archive.tables[index - offset]
            yield from Printer(table, False).chunks(row, table.num_messages)


def warm(archive: TableArchive) -> Printed:
    """Read the variable dictionary, if a table needs it, while another thread reads the first table.

    Errors are raised later, where it is needed.
    """
    with suppress(ExhumeError):
        types = archive.schema_tree.types
        tables = (table.layout.nodes for table in archive.tables if table.num_messages)
        if not WITH_VARIABLES.isdisjoint(types) and any(
            types[node] in WITH_VARIABLES for nodes in tables for node in nodes
        ):
            archive.texts.escaped_variables  # noqa: B018 - reads it
    return [], None  # nothing printed: its caller mixes it with calls that print


PREFETCHED: Final = 1 << 18
"""Bytes, decompressed (streams) or stored (dictionaries), below which a thread costs more than it saves."""


class Prefetcher:
    """Decompresses in the background; the archive keeps the result, and a failure occurs again when it is needed.

    One of the `jobs` is left to the caller: when all others are busy, the work is done when its result is needed.
    Nothing is prefetched for remote archives: only the needed bytes are fetched.
    """

    def __init__(self, archive: TableArchive, jobs: int) -> None:
        self._archive = archive
        # `wait`: the latency of a read, above 0 for remote archives.
        self._spare = SpareThreads(0 if archive.source.cost.wait else (jobs or cpu_count()) - 1)

    def table(self, table: Table, nodes: Collection[int] | None = None, *, variables: bool = False) -> None:
        """Decompress a table: its stream, or what the columns of these nodes take of it.

        For a dictionary that is not kept as a whole, the places of its frames are found, and then, if they will be
        needed, the `variables` are read.
        """
        archive, entry = self._archive, table.entry
        if entry.problem is None and archive.table_metadata.streams[entry.stream_id].size >= PREFETCHED:
            if has_windows(table):
                # `* variables`: once or not at all.
                self._start(partial(open_windows, table), *[self._read_variables] * variables)
            else:
                self._start(partial(table.load, nodes))

    def variables(self) -> None:
        """Read the variable dictionary, as nearly every record is printed with it."""
        with suppress(ExhumeError):
            if self._archive.file_entry("/var.dict").size >= PREFETCHED:
                self._start(self._read_variables)

    def _read_variables(self) -> None:
        self._archive.texts.escaped_variables  # noqa: B018 - reads it

    def _start(self, *works: Callable[[], object]) -> None:
        """Run `works` in a thread of its own if one is free; otherwise they are done where they are needed."""

        def run() -> None:
            """Do this thread's share of the work in advance."""
            for work in works:
                with suppress(ExhumeError, MemoryError):  # it is raised again where the result is requested
                    work()

        self._spare.start(run)
