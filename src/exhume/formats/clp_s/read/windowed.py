"""Large tables a window at a time for threads that share them, and what of a table is printed up to an error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from exhume.errors import CodecError, ExhumeError
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read.template import Kind, Token
from exhume.formats.clp_s.read.windows import WindowRows, Windows, is_large, is_too_large, open_windows, takes_passes

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import Table, TableData

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

Printed = tuple[list[bytes], ExhumeError | None]


class SharedValue(Generic[T]):
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


def blocks(table: Table, size: int, most: int | None = None) -> Iterator[tuple[int, int]]:
    """The rows of a table in blocks `[start, stop)` of some bytes, which one thread goes through at a time.

    They have `most` rows at most, unless each of them takes passes through the whole table.
    """
    rows = table.num_messages
    step = max(1, size * max(1, rows) // max(1, table.size))
    if most is not None and not is_too_large(table):
        step = min(step, most)
    return ((start, min(start + step, rows)) for start in range(0, max(1, rows), step))


def printed_columns(tokens: Iterable[Token]) -> Collection[int]:
    """The places of the columns that records of these tokens have values of."""
    return {token.column for token in tokens if token.kind is Kind.COLUMN}


class TableWindows:
    """The windows of a table for threads that share them, opened by the first of them: none of a small table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._opened = SharedValue(lambda: (open_windows(table),))
        self._is_passed_over = not is_large(table)
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
        """The windows, where there are any."""
        if not self._is_passed_over:
            with suppress(ExhumeError):  # reported for the table
                return self._opened.get()[0]
        return None

    def call(self, function: Callable[[WindowRows], R], start: int, stop: int) -> R | None:
        """The function of rows of the table; None where it is to be read as a whole: there are no windows, or something
        is wrong in one, which is reported for the table.  Raises what is wrong in a table that is too large for that.
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
        """What `chunks` prints of rows of the table, up to an error; None as for `call`."""

        def function(rows: WindowRows) -> Printed:
            found = printed(chunks(rows))
            if found[1] is not None and not self.is_only_way:
                raise found[1]
            return found

        try:
            return self.call(function, start, stop)
        except ExhumeError as error:
            return [], error

    def within(self, function: Callable[[WindowRows], R], rows: WindowRows) -> R | None:
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

    def of(self, rows: WindowRows, indices: Collection[int]) -> TableData | None:
        """These columns of such rows."""
        return self.within(lambda rows: rows.window(indices), rows)

    def each(self, *, keep: bool = False) -> Iterator[WindowRows | None]:
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
    """The chunks up to an error, and that error."""
    out: list[bytes] = []
    try:
        out.extend(chunks)
    except ExhumeError as error:
        return out, error
    return out, None
