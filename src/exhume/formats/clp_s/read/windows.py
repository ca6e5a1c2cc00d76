"""Rows of a large table a window at a time, so that memory grows with the window and not with the table.

A table stores its columns in sequence, in a packed stream that is compressed as zstd frames.  If there are several
frames, a range of rows (window) needs one or two frames of each column.  The copy made from these frames is a table of
its own, with fewer rows.  Columns of deltas need the sum of all deltas before; encoded text (words with the id of a log
type and an offset among the column's variables) needs the variables that its words refer to.

A window does not locate damage: on an error, the caller reads the table as a whole and reports the position, unless the
table exceeds the limit `payload_size`: then only the error of the window is reported.

`here` are the frames that a caller has in use: `here.buffer(size)` provides memory, and `here.gather(ranges, buffer)`
copies ranges (start, end, offset in the buffer) of the stream into it.  `prints`: the rows will be printed as JSON.
`place` is the range of a column in the table.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from exhume.codecs.frames import FramedPayload, decompress_shared
from exhume.codecs.serial import FrameReader, IndexedFrameReader, LeanPinnedFrames, Serial
from exhume.errors import ExhumeError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.layout_packed import NUM_VARIABLES, VARIABLE_SIZE, WORD_SIZE, ClpWord
from exhume.formats.clp_s.layout_table import (
    CLP_S_TABLE_COLUMNS,
    SIZED_INSIDE,
    WIDTHS,
    IntegerColumn,
    located_columns,
)
from exhume.formats.clp_s.read.columns import Column
from exhume.formats.clp_s.read.kernel import BAD_LOG_TYPE, clps_undelta, clps_variables_of
from exhume.formats.clp_s.read.tables import Table, TableData

if TYPE_CHECKING:
    from exhume.codecs.frames import FrameCache, PinnedFrames
    from exhume.formats.clp_s.layout_schemas import ColumnSpec
    from exhume.formats.clp_s.read.template import SchemaLayout

WORTHWHILE: Final = 8 << 20
"""Decompressed bytes of a table below which it is held as a whole."""

DELTAS: Final = frozenset({NodeType.DELTA_INTEGER, NodeType.TIMESTAMP})
"""Types whose first array has differences (deltas): a window needs the sum of those before it."""

SUMMED_ROWS: Final = 1 << 13
"""The sum of such an array is kept after each this many rows, so that a window adds up few rows before its own."""

SUMS_AT_A_TIME: Final = 16
"""Number of these sums that one thread computes at a time."""

WIDE: Final = 8
"""Divisor of the limit `payload_size`: the frames of one row may use that share and are kept for the next row."""

VARIABLES_PER_ROW: Final = 2048
"""More variables than one row has: a window that refers to more is read only within the limit `payload_size`."""


class Window(TableData):
    """Some rows of a table, with the requested columns; a `TableData` whose columns are made in advance."""

    def __init__(self, table: Table, layout: SchemaLayout, ends: list[int], columns: dict[int, Column], rows: int):
        """Take columns by index, of `rows` rows; `ends` are those of the whole table."""
        super().__init__(table, layout, memoryview(b""), ends, frozenset(columns))
        self._made = columns
        self._rows = rows

    @property
    def num_messages(self) -> int:
        """Number of rows."""
        return self._rows


class Windows:
    """A table whose rows are read on request, by any number of threads."""

    table: Table
    layout: SchemaLayout

    def __init__(self, table: Table, frame_reader: FrameCache | FrameReader, ends: list[int]) -> None:
        """Read a table whose columns end at `ends` through the frames in `frame_reader`."""
        self.table, self.layout = table, table.layout
        self.ends = ends
        """By column: the offset of its end in the table."""
        self._frame_reader = frame_reader
        self._sums: dict[int, Sequence[int]] = {}  # by column: see `_sums_of`
        # By column, while its sums are computed: by number of a part, its lock and its result.
        self._made: dict[int, tuple[dict[int, threading.Lock], dict[int, list[int]]]] = {}

    def start(self, index: int) -> int:
        """Return the offset of a column in the payload of the stream."""
        return self.table.entry.start + (self.ends[index - 1] if index else 0)

    def summed(
        self, index: int, start: int, stop: int, here: PinnedFrames | LeanPinnedFrames
    ) -> memoryview[Any] | None:
        """Return rows `[start, stop)` of a column of deltas, summed up; None for a column of another type.

        `here`: the frames in use by the caller.  Raises `CodecError` if a frame is damaged.
        """
        if self.layout.node_types[index] not in DELTAS:
            return None
        before = start // SUMMED_ROWS  # index of the last known sum before the rows
        first = before * SUMMED_ROWS  # the row that it is known for
        return self._added(index, first, stop, self._sums_of(index)[before], here)[start - first :]

    def _added(
        self, index: int, start: int, stop: int, total: int, here: PinnedFrames | LeanPinnedFrames
    ) -> memoryview[Any]:
        """Return the values of rows `[start, stop)` of a delta column: the deltas summed up, starting at `total`."""
        width = WIDTHS[self.layout.node_types[index]][0]  # bytes of a row in its first array, the deltas
        at, size = self.start(index), width * (stop - start)
        deltas = here.buffer(size)
        here.gather([(at + width * start, at + width * stop, 0)], deltas)
        integers, _ = CLP_S_TABLE_COLUMNS[NodeType.INTEGER](
            memoryview(clps_undelta(deltas, total)), 0, size, stop - start
        )
        assert isinstance(integers, IntegerColumn)
        return integers.values

    def _sums_of(self, index: int) -> Sequence[int]:
        """Return the sum of the deltas before each block of `SUMMED_ROWS` rows.

        Threads that request it compute it together.
        """
        if index not in self._sums:
            rows, step = self.table.num_messages, SUMMED_ROWS * SUMS_AT_A_TIME
            locks, made = self._made.setdefault(index, ({}, {}))

            def add(number: int) -> None:
                """Sum up one part from 0 on, and keep the sum after each `SUMMED_ROWS` rows."""
                start = number * step
                with self._frame_reader.stop() as here:
                    added = self._added(index, start, min(start + step, rows), 0, here)
                made[number] = added[SUMMED_ROWS - 1 :: SUMMED_ROWS].tolist()

            decompress_shared(range(-(-rows // step)), locks, made, add)
            # Each part started from 0: add the sum of the parts before it.
            sums = [0]
            for number in sorted(made):
                before = sums[-1]
                sums += [before + one for one in made[number]]
            self._sums[index] = sums
        return self._sums[index]

    def finish(self) -> None:
        """Decompress the frames that no window used, as a check.  Raises `CodecError` if a frame is damaged."""
        self._frame_reader.finish(self.table.entry.start, self.table.entry.end)

    @contextmanager
    def rows(self, start: int, stop: int, *, keep: bool = False) -> Iterator[WindowRows]:
        """The rows `[start, stop)`, valid until the context ends or, with `keep`, as long as they are referenced."""
        with self._frame_reader.stop(keep=keep) as here:
            yield WindowRows(self, here, start, stop)


class WindowRows:
    """Some rows of a table; see `Windows.rows`."""

    stop: int

    def __init__(self, windows: Windows, here: PinnedFrames | LeanPinnedFrames, start: int, stop: int) -> None:
        self._windows, self._here, self._start, self.stop = windows, here, start, stop  # `here`: the frames in use
        self.layout: SchemaLayout = windows.layout

    def window(self, indices: Collection[int], *, prints: bool = False) -> Window:
        """Return the rows with the columns `indices` of the table's layout; `prints`: they will be printed as JSON.

        Raises `CodecError` if a frame is damaged, CLPS-501 if only the whole table can be read, and propagates errors
        from reading a string or a dictionary.
        """
        windows, count = self._windows, self.stop - self._start
        table = windows.table
        summed = {index: windows.summed(index, self._start, self.stop, self._here) for index in indices}
        cells, places = self._copied(summed)
        texts = self._texts(cells, places, prints=prints)  # encoded strings are a buffer of their own
        columns = {}
        for index, (first, last) in places.items():
            data, at, end = texts.get(index, (cells, first, last))
            # Errors name the place of the whole column in the table.
            begin = windows.start(index) - table.entry.start
            place = begin, windows.ends[index]
            columns[index] = Column(
                windows.layout.spec(index), data, table, at, end, count, summed[index], place, self._start
            )
        return Window(table, windows.layout, windows.ends, columns, count)

    def _copied(self, summed: Mapping[int, memoryview[Any] | None]) -> tuple[memoryview, dict[int, tuple[int, int]]]:
        """Copy the rows of all columns into one buffer: `(buffer, range of each column in it)`.

        `summed`: by index of the column, what `Windows.summed` returns; deltas that were summed up are not copied.
        """
        windows, count = self._windows, self.stop - self._start
        ranges: list[tuple[int, int, int]] = []  # of the stream: (start, end, offset in the buffer)
        places: dict[int, tuple[int, int]] = {}
        size = 0
        for index, sums in summed.items():
            at, first = windows.start(index), size
            for width in WIDTHS[windows.layout.node_types[index]]:
                if sums is None or size > first:  # deltas are the column's first array
                    ranges.append((at + width * self._start, at + width * self.stop, size))
                at += width * windows.table.num_messages
                size += width * count
            places[index] = first, size
        cells = self._here.buffer(size)
        self._here.gather(ranges, cells)
        return cells, places

    def _texts(
        self, cells: memoryview, places: dict[int, tuple[int, int]], *, prints: bool
    ) -> dict[int, tuple[memoryview, int, int]]:
        """Return the columns of encoded strings as (data, start, end), by column index.

        `cells` has one word per row of each column, at `places[index]`: its log type, and where its variables start.
        The data of a column has the form of a whole column: the words, the number of variables, and the variables, but
        only those of these rows.
        """
        ranges: list[tuple[int, int, int]] = []  # (start, end, position in the result) to be copied from the table
        heads: dict[int, tuple[int, bytes]] = {}  # by column: (position in the result, bytes before its variables)
        size = 0
        for index in places:
            if self._windows.layout.node_types[index] not in SIZED_INSIDE:
                continue
            words, start, stop = self._variables(index, cells[slice(*places[index])], prints=prints)
            head = words + NUM_VARIABLES.pack((stop - start) // VARIABLE_SIZE)
            heads[index] = size, head
            ranges.append((start, stop, size + len(head)))
            size += len(head) + stop - start
        # Copy the variables of all columns at once.
        data = self._here.buffer(size)
        for at, head in heads.values():
            data[at : at + len(head)] = head
        self._here.gather(ranges, data)
        ends = [*(at for at, _ in heads.values()), size][1:]  # a column ends where the next one starts
        return {index: (data, at, end) for (index, (at, _)), end in zip(heads.items(), ends, strict=True)}

    def _variables(self, index: int, words: memoryview, *, prints: bool) -> tuple[bytes, int, int]:
        """Return the words of a column of encoded text for its variables alone, and the range of these in the stream.

        The words that are returned count from the first of these variables.  `words`: those of the rows, as stored.
        Raises CLPS-501 if there are more variables than a window may have, which reading the whole table would allow,
        and the rule of a word whose log type does not exist.
        """
        windows, table = self._windows, self._windows.table
        texts = table.archive.texts
        is_array = windows.layout.node_types[index] == NodeType.UNSTRUCTURED_ARRAY
        log_types = texts.array_types if is_array else texts.any_log_types(escaped=prints)
        found = clps_variables_of(words, log_types)
        if found is None:
            place = windows.start(index) - table.entry.start, windows.ends[index]
            raise _no_log_type(words, windows.layout.spec(index), table, place, self._start)
        # The range of the variables in use, by number, and the words counted from its start.
        low, high, moved = found
        # The variables of a column follow its words and their own number.
        begin = windows.start(index) + WORD_SIZE * table.num_messages + NUM_VARIABLES.size
        start, stop = begin + VARIABLE_SIZE * low, begin + VARIABLE_SIZE * high
        usual = VARIABLE_SIZE * VARIABLES_PER_ROW * (len(words) // WORD_SIZE)
        most = max(usual, table.archive.limits.payload_size)
        if stop - start > most or stop > table.entry.start + windows.ends[index]:
            raise table.archive.too_large(table.archive.stream_place(table.entry.stream_id))
        return moved, start, stop


def _no_log_type(words: memoryview, spec: ColumnSpec, table: Table, place: tuple[int, int], first: int) -> ExhumeError:
    """Return the error of the first of these words that refers to a log type that does not exist."""
    texts = table.archive.texts
    is_array = spec.type == NodeType.UNSTRUCTURED_ARRAY
    log_types = texts.array_types if is_array else texts.any_log_types(escaped=False)
    data = memoryview(bytes(words) + NUM_VARIABLES.pack(0))
    column = Column(spec, data, table, 0, len(data), len(words) // WORD_SIZE, None, place, first)
    idents = [ClpWord.log_type_id(word) for word in column.values]
    row = next(row for row, ident in enumerate(idents) if ident >= len(log_types))
    return column.failure((BAD_LOG_TYPE, 0, row, idents[row]))


def columns_of(layout: SchemaLayout, nodes: Collection[int] | None) -> Collection[int]:
    """Return the indices of the columns of these nodes.

    All columns if `nodes` is None, or if one of them is a structured array, which takes several columns.
    """
    if nodes is None or not layout.runs.keys().isdisjoint(nodes):
        return range(len(layout.nodes))
    return [index for index, node in enumerate(layout.nodes) if node in nodes]


def is_large(table: Table) -> bool:
    """Return whether a table should be read in windows, if its stream allows that."""
    return table.size >= WORTHWHILE or is_too_large(table)


def is_too_large(table: Table) -> bool:
    """Return whether a table cannot be read as a whole, because its stream is larger than the limit `payload_size`."""
    streams, number = table.archive.table_metadata.streams, table.entry.stream_id
    return number < len(streams) and streams[number].size > table.archive.limits.payload_size


def _frames(table: Table) -> FramedPayload | Serial | None:
    """Return the table's stream, if ranges of it can be decompressed."""
    parts = table.archive.stream_parts(table.entry.stream_id) if table.entry.problem is None else None
    return parts if isinstance(parts, (FramedPayload, Serial)) else None


def takes_passes(table: Table) -> bool:
    """Whether each window of a table decompresses much more than its own rows, so that few windows should be used."""
    if not is_too_large(table):
        return False
    parts = _frames(table)
    return isinstance(parts, Serial) or (parts is not None and _is_wide(table, parts))


def _is_wide(table: Table, parts: FramedPayload) -> bool:
    """Return whether the frames of one row of a table take too much memory to keep them; see `WIDE`."""
    places = parts.places
    columns = len(table.layout.node_types)
    if places is None or not columns:
        return False
    # The size of a frame, by the first one; of an average column, if that is smaller.
    frame = min(places.ends[1], table.size // columns)
    # A row of a column may be at the border of two frames.
    return 2 * columns * frame > table.archive.limits.payload_size // WIDE


def has_windows(table: Table) -> bool:
    """Whether `open_windows` finds the frames that it requires."""
    with suppress(ExhumeError):  # reported when the table is read
        return is_large(table) and _frames(table) is not None
    return False


def open_windows(table: Table) -> Windows | None:
    """Return the windows of a large table; None if it should be read as a whole.

    Propagates errors from reading the stream.
    """
    parts = _frames(table) if is_large(table) else None
    frame_reader: FrameCache | FrameReader | None = None
    if isinstance(parts, FramedPayload) and parts.places is not None and is_too_large(table) and _is_wide(table, parts):
        frame_reader = IndexedFrameReader(parts.places)  # keeps no frames
    elif parts is not None:
        frame_reader = parts.frame_reader()
    if parts is None or frame_reader is None:
        return None
    entry, first = table.entry, table.entry.start
    data = parts.view[first : entry.end]
    # `take` keeps the bytes in memory, which would be too many here.
    take = parts.peek if isinstance(parts, FramedPayload) and is_too_large(table) else parts.take
    ends = located_columns(
        table.layout.node_types, table.num_messages, lambda start, stop: take(first + start, first + stop), data
    )
    # The columns have to fill the table exactly; else it is damaged.
    return None if not ends or ends[-1] != len(data) else Windows(table, frame_reader, ends)
