"""Printing the tables of an archive in stored order: pieces of work for one thread each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from exhume.errors import ExhumeError
from exhume.formats.clp_s.read import windowed, windows
from exhume.formats.clp_s.read.together import KernelTables
from exhume.formats.clp_s.read.windowed import WITH_VARIABLES, Printed, SharedValue, TableWindows, printed_columns
from exhume.io.caching import cached_property

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import Table, TableArchive
    from exhume.formats.clp_s.read.windows import WindowRows

TEXT_BYTES: Final = 16 << 20
"""Bytes of text that one thread prints at a time, as records are on average: a large string takes a word in a table."""

LEAST_ROWS: Final = 64
"""Rows that one thread prints at a time at least, however long their text is."""


class Printer:
    """Prints blocks of rows of a table."""

    def __init__(self, table: Table, complete: bool) -> None:
        self._table, self._complete = table, complete
        self.windowed: TableWindows = TableWindows(table)
        self._whole = SharedValue(lambda: table.load().renderer(complete=complete), table.share)

    @cached_property
    def _indices(self) -> Collection[int]:
        return printed_columns(self._table.layout.tokens(complete=self._complete))

    def chunks(self, start: int, stop: int) -> Iterator[bytes]:
        """The text of a block in chunks.  Raises the rule of a record that cannot be printed."""

        def window(rows: WindowRows) -> Iterator[bytes]:
            return rows.window(self._indices).renderer(complete=self._complete).chunks()

        found = self.windowed.printed(window, start, stop)
        if found is None:
            yield from self._whole.get().chunks(start, stop)
            return
        yield from found[0]
        if found[1] is not None:
            raise found[1]


def text_rows(archive: TableArchive, most: int = TEXT_BYTES) -> int:
    """Rows whose text is some `most` bytes, as the archive's records are on average."""
    size = archive.header.original_size // max(1, archive.num_messages)
    return max(LEAST_ROWS, most // max(1, size))


def pieces(archive: TableArchive, complete: bool) -> Iterator[Callable[[], Iterator[bytes]]]:
    """What prints the tables, in order, each for one thread."""
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
    offset = tables[0].index  # of an archive in parts
    for first, stop in together.runs(min(windowed.BLOCK_BYTES, windows.WORTHWHILE), most):
        if stop > first + 1 or together.is_wide(first):
            yield partial(_run, archive, together, first, stop)
        elif 0 <= first - offset < len(tables):
            yield from _blocks(tables[first - offset], complete, most)


def _blocks(table: Table, complete: bool, most: int) -> Iterator[Callable[[], Iterator[bytes]]]:
    if table.num_messages or table.entry.problem is not None:
        printer = Printer(table, complete)
        for start, stop in printer.windowed.blocks(most):
            yield partial(printer.chunks, start, stop)


def _run(archive: TableArchive, together: KernelTables, first: int, stop: int) -> Iterator[bytes]:
    """The records of tables that are small or wide."""
    offset = archive.tables[0].index
    for found in together.printed(first, stop):
        if isinstance(found, bytes):
            yield found
        else:
            table = archive.tables[found[0] - offset]
            yield from Printer(table, False).chunks(found[1], table.num_messages)


def warm(archive: TableArchive) -> Printed:
    """Read the variable dictionary, if a table needs it, while another thread reads the first table.

    What is wrong with it is raised where it is needed.
    """
    with suppress(ExhumeError):
        types = archive.schema_tree.types
        tables = (table.layout.nodes for table in archive.tables if table.num_messages)
        if not WITH_VARIABLES.isdisjoint(types) and any(
            types[node] in WITH_VARIABLES for nodes in tables for node in nodes
        ):
            archive.texts.escaped_variables  # noqa: B018 - reads it
    return [], None
