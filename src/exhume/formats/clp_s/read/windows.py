"""Rows of a large table a window at a time, so that memory grows with the window and not with the table.

A table holds one column after the other, and where it consists of several zstd frames, some rows of all its columns
take one or two frames of each.  What is copied out of these is a table of its own, of fewer rows.  It is not for
telling what is wrong: whoever meets damage in a window reads the table as a whole and says where in it that lies.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from exhume.codecs.frames import Frames
from exhume.errors import CodecError, ExhumeError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.layout_packed import NUM_VARIABLES, VARIABLE_SIZE, WORD_SIZE
from exhume.formats.clp_s.layout_table import (
    CLP_S_TABLE_COLUMNS,
    SIZED_INSIDE,
    WIDTHS,
    IntegerColumn,
    located_columns,
)
from exhume.formats.clp_s.read.columns import Column
from exhume.formats.clp_s.read.kernel import clps_undelta, clps_variables_of
from exhume.formats.clp_s.read.tables import Table, TableData

if TYPE_CHECKING:
    from exhume.codecs.frames import Passage, Stop
    from exhume.formats.clp_s.read.template import SchemaLayout

WORTHWHILE: Final = 8 << 20
"""Decompressed bytes of a table below which it is held as a whole."""

DELTAS: Final = frozenset({NodeType.DELTA_INTEGER, NodeType.TIMESTAMP})
"""Types whose first array holds differences: it is summed up once, for a window does not know what came before."""

AT_A_TIME: Final = 1 << 20
"""Bytes of such an array that are copied at a time; items do not lie on a border."""

VARIABLES_PER_ROW: Final = 256
"""More variables than rows of a text have: a window that refers to more is damaged, or of another kind of writer."""


class Window(TableData):
    """Some rows of a table, and of these the columns that were asked for."""

    def __init__(self, table: Table, layout: SchemaLayout, ends: list[int], columns: dict[int, Column], rows: int):
        super().__init__(table, layout, memoryview(b""), ends, frozenset(columns))
        self._made = columns
        self._rows = rows

    @property
    def num_messages(self) -> int:
        """Number of rows."""
        return self._rows


class Windows:
    """A table, any rows of which are read when they are asked for, by any number of threads."""

    def __init__(self, table: Table, passage: Passage, ends: list[int]) -> None:
        self.table, self.layout = table, table.layout
        self.ends = ends
        """Where each column ends in the table."""
        self._passage = passage
        self._sums: dict[int, memoryview[Any]] = {}
        self._lock = threading.Lock()

    def start(self, index: int) -> int:
        """Where a column begins in the payload of the stream."""
        return self.table.entry.start + (self.ends[index - 1] if index else 0)

    def sums(self, index: int) -> memoryview[Any] | None:
        """The deltas of a column of these, summed up.  Raises `CodecError` where a frame is damaged."""
        if self.layout.node_types[index] not in DELTAS:
            return None
        with self._lock:
            if index not in self._sums:
                width = WIDTHS[self.layout.node_types[index]][0]
                deltas = memoryview(bytearray(width * self.table.num_messages))
                for at in range(0, len(deltas), AT_A_TIME):
                    part = deltas[at : at + AT_A_TIME]
                    start = self.start(index) + at
                    with self._passage.stop() as here:
                        here.gather([(start, start + len(part), 0)], part)
                summed = memoryview(clps_undelta(deltas))
                integers, _ = CLP_S_TABLE_COLUMNS[NodeType.INTEGER](summed, 0, len(summed), self.table.num_messages)
                assert isinstance(integers, IntegerColumn)
                self._sums[index] = integers.values
            return self._sums[index]

    def finish(self) -> None:
        """Decompresses what no window had anything of.  Raises `CodecError` where a frame is damaged."""
        self._passage.finish(self.table.entry.start, self.table.entry.end)

    @contextmanager
    def rows(self, start: int, stop: int) -> Iterator[Rows]:
        """The rows `[start, stop)`, until the context ends."""
        with self._passage.stop() as here:
            yield Rows(self, here, start, stop)


class Rows:
    """Some rows of a table; see `Windows.rows`."""

    def __init__(self, windows: Windows, here: Stop, start: int, stop: int) -> None:
        self._windows, self._here, self._start, self._stop = windows, here, start, stop
        self.layout = windows.layout

    def window(self, indices: Collection[int]) -> Window:
        """The columns at these places of the table's layout.

        Raises `CodecError` where a frame or a text is damaged, and what keeps a dictionary from being read.
        """
        windows, here, count = self._windows, self._here, self._stop - self._start
        table, types = windows.table, windows.layout.node_types
        sums = {index: windows.sums(index) for index in indices}
        ranges: list[tuple[int, int, int]] = []
        places: dict[int, tuple[int, int]] = {}
        size = 0
        for index in indices:
            at, first = windows.start(index), size
            for width in WIDTHS[types[index]]:
                if sums[index] is None or size > first:
                    ranges.append((at + width * self._start, at + width * self._stop, size))
                at += width * table.num_messages
                size += width * count
            places[index] = first, size
        room = here.room(size)
        here.gather(ranges, room)
        texts = self._texts(room, places)
        columns = {}
        for index, (first, last) in places.items():
            data, at, end = texts.get(index, (room, first, last))
            summed = sums[index]
            decoded = None if summed is None else summed[self._start : self._stop]
            columns[index] = Column(windows.layout.spec(index), data, table, at, end, count, decoded)
        return Window(table, windows.layout, windows.ends, columns, count)

    def _texts(self, room: memoryview, places: dict[int, tuple[int, int]]) -> dict[int, tuple[memoryview, int, int]]:
        """The columns of encoded texts, of which the room holds the words, with the variables of these rows."""
        windows, table = self._windows, self._windows.table
        types, texts = windows.layout.node_types, table.archive.texts
        ranges: list[tuple[int, int, int]] = []
        heads: dict[int, tuple[int, bytes]] = {}
        size = 0
        for index in places:
            if types[index] not in SIZED_INSIDE:
                continue
            words = room[slice(*places[index])]
            log_types = texts.array_types if types[index] == NodeType.UNSTRUCTURED_ARRAY else texts.log_types
            found = clps_variables_of(words, log_types)
            if found is None:
                raise CodecError("clp-s: a log type does not exist")
            low, high, moved = found
            begin = windows.start(index) + WORD_SIZE * table.num_messages + NUM_VARIABLES.size
            stop = begin + VARIABLE_SIZE * high
            if high - low > VARIABLES_PER_ROW * len(words) or stop > table.entry.start + windows.ends[index]:
                raise CodecError("clp-s: the variables of a window do not lie together")
            heads[index] = size, moved + NUM_VARIABLES.pack(high - low)
            size += len(heads[index][1])
            ranges.append((begin + VARIABLE_SIZE * low, stop, size))
            size += VARIABLE_SIZE * (high - low)
        data = self._here.room(size)
        for at, head in heads.values():
            data[at : at + len(head)] = head
        self._here.gather(ranges, data)
        ends = [*(at for at, _ in heads.values()), size][1:]
        return {index: (data, at, end) for (index, (at, _)), end in zip(heads.items(), ends, strict=True)}


def is_large(table: Table) -> bool:
    """Whether a table is not to be held as a whole, if that can be."""
    return table.size >= WORTHWHILE


def _frames(table: Table) -> Frames | None:
    parts = table.archive.stream_parts(table.entry.stream_id) if table.entry.problem is None else None
    return parts if isinstance(parts, Frames) else None


def has_windows(table: Table) -> bool:
    """Whether `open_windows` finds the frames that it requires."""
    with suppress(ExhumeError):  # told where the table is read
        return is_large(table) and _frames(table) is not None
    return False


def open_windows(table: Table) -> Windows | None:
    """The windows of a large table; None where it is read as a whole nevertheless.

    Raises what reading the stream raises.
    """
    parts = _frames(table) if is_large(table) else None
    passage = None if parts is None else parts.passage()
    if parts is None or passage is None:
        return None
    entry, first = table.entry, table.entry.start
    data = parts.view[first : entry.end]
    ends = located_columns(
        table.layout.node_types, table.num_messages, lambda start, stop: parts.take(first + start, first + stop), data
    )
    return None if not ends or ends[-1] != len(data) else Windows(table, passage, ends)
