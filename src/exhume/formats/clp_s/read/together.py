"""Many small tables printed by one call of the kernel, without an object of Python for each of them.

A table has all records of one schema (set of keys, which are nodes of the archive's schema tree), column by column;
several tables are in one compressed stream.  There may be hundreds of thousands of tables of one record each.  The
kernel gets the schema tree, the schemas and the places of the tables as arrays, and makes the program that prints a
table when it comes to it.  A run is a range of tables in one stream for one call.  At a table that is unusual ("odd":
structured arrays, keys stored twice) or damaged, the kernel stops; it is then printed as a large one is, which reports
the fault.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final

from exhume.errors import ExhumeError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.layout_packed import NUM_VARIABLES
from exhume.formats.clp_s.layout_schemas import ColumnSpec
from exhume.formats.clp_s.layout_table import SIZED_INSIDE, WIDTHS
from exhume.formats.clp_s.read import kernel
from exhume.formats.clp_s.read.columns import Column
from exhume.formats.clp_s.read.program import ARRAY_TYPES, DONE, FULL, LOG_TYPES, ODD, PATTERNS, VARIABLES
from exhume.formats.clp_s.read.render import CHUNK_SIZE
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume_ksy.fast.clp_s_schema_ids import SchemaColumns

    from exhume.codecs.common import Buffer
    from exhume.errors import Span
    from exhume.formats.clp_s.layout_schemas import SchemaTree, TableEntries
    from exhume.formats.clp_s.read.columns import PrintContext
    from exhume.formats.clp_s.read.tables import TableArchive

MOST_TABLES: Final = 4096
"""Tables that one thread prints at a time."""

SKIP, READ, ALONE = range(3)
"""What to do with a table of a run, as a byte of `chosen` (see `KernelTables.gathered`); the kernel sets `ALONE`."""

ROW_BYTES: Final = bytes(sum(WIDTHS.get(kind, ())) for kind in range(256))
"""Bytes of a column per row, by node type; for text columns, without the variables."""

assert all(ROW_BYTES[kind] for kind in SIZED_INSIDE), "texts have words"


SUPPLIES: Final[dict[int, tuple[int, ...]]] = {
    NodeType.CLP_STRING: (VARIABLES, LOG_TYPES),
    NodeType.UNSTRUCTURED_ARRAY: (VARIABLES, ARRAY_TYPES),
    NodeType.DICTIONARY_FLOAT: (VARIABLES,),
}
"""What the kernel has to be supplied with before it can gather values of a node type."""


class RunSource(NamedTuple):
    """The tables of a run, in the place of a single table: a column of values from all of them refers to it."""

    archive: TableArchive
    span: Span
    """Location of the stream that the tables are in."""
    num_messages: int
    """Records of all tables of the run."""

    @property
    def texts(self) -> PrintContext:
        """The archive's dictionaries and patterns."""
        return self.archive.texts


class GatheredColumn:
    """The values of some nodes of one type in the tables of a run.

    `column` has the values; `owners` has, for each, its record: the number among all records of the run.
    """

    def __init__(self, source: RunSource, kind: int, found: tuple[bytes, bytes, bytes]) -> None:
        """Make the column from the result of `ClpsTables.gather`.

        `kind` is the node type; `found` has the values, their variables (or formats, or pattern ids), and the owners.
        """
        values, more, owners = found
        self.owners: array[int] = array("I", owners)
        rows = len(self.owners)
        # A stored column of encoded text has the number of its variables between the words and the variables.
        middle = NUM_VARIABLES.pack(len(more) // 8) if kind in SIZED_INSIDE else b""
        data = memoryview(b"".join((values, middle, more)))
        # The kernel summed the deltas up already.
        summed = memoryview(array("q", values)) if kind in (NodeType.DELTA_INTEGER, NodeType.TIMESTAMP) else None
        self.column: Column = Column(ColumnSpec(0, 0, kind, False), data, source, 0, len(data), rows, summed)


class KernelTables:
    """The tables of an archive for the kernel.  Raises what keeps the schema tree or the schemas from being read.

    `prints`: whether tables are printed; otherwise the strings are supplied without escapes, which saves time.
    Methods number tables as in the whole archive; a run is `[first, stop)` in these numbers.
    """

    def __init__(self, archive: TableArchive, *, prints: bool = True) -> None:
        """Pass the schema tree, the schemas and the places of all tables to the kernel, one array for each field."""
        tree, schemas = archive.schema_tree, archive.schemas
        entries: TableEntries = archive.table_metadata.tables
        self._archive, self._prints = archive, prints
        self.entries = entries
        self._lock = threading.Lock()
        self._supplied: dict[int, bool] = {}  # by constant (`VARIABLES` ...): whether it could be read
        columns = schemas.columns
        root = tree.object_root
        self.rows: Sequence[int] = entries.num_messages
        """Number of records of each table; 0 for tables that are not in this partition of the archive."""
        chosen = archive.tables
        self._first = chosen[0].index if len(chosen) else 0  # the tables of this partition: `_first` to `_stop`
        self._stop = self._first + len(chosen)
        if len(chosen) < len(entries):
            self.rows = array("Q", [0]) * len(entries)
            for table in chosen:
                self.rows[table.index] = table.num_messages
        self._schemas = columns
        self._misfits: Collection[int] = _misfits(tree, columns)  # the places of schemas that the kernel must not use
        self.schema_of: array[int] = array("i", map(schemas.place, entries.schema_ids))
        """By table: the index of its schema among those that are stored; -1 if there is none that can be used."""
        if self._misfits:
            self.schema_of = array("i", (-1 if place in self._misfits else place for place in self.schema_of))
        self.tables: kernel.ClpsTables = kernel.ClpsTables(
            tree.parents,
            tree.keys if prints else None,
            tree.types,
            -1 if root is None else root,
            ROW_BYTES,
            columns.view,
            columns.entries_value_start,
            columns.num_entries,
            columns.num_ordered,
            self.schema_of,
            entries.starts,
            entries.ends,
            self.rows,
        )

    def is_wide(self, table: int) -> bool:
        """Return whether a table has more columns than rows, and its stream fits in memory.

        Python objects of its columns would take longer to make, and more memory, than the table itself.
        """
        streams, place = self._archive.table_metadata.streams, self.schema_of[table]
        stream = self.entries.stream_ids[table]
        if place < 0 or stream >= len(streams) or streams[stream].size > self._archive.limits.payload_size:
            return False
        return 0 < self.rows[table] < self._schemas.num_entries[place]

    def runs(self, size: int, rows: int) -> Iterator[tuple[int, int]]:
        """Yield the tables in stored order as runs: half-open ranges of table numbers.

        A run is one table, or at most `MOST_TABLES` tables of one stream that have less than `size` bytes and at most
        `rows` rows together.
        """
        entries, counts = self.entries, self.rows
        streams = self._archive.table_metadata.streams
        most = self._archive.limits.payload_size
        is_held = [stream.size <= most for stream in streams]
        first, held, many, current = self._first, 0, 0, -1  # of the run: first table, its bytes, its rows, its stream
        columns = (entries.stream_ids, entries.starts, entries.ends, counts)
        places = zip(*(islice(column, self._first, self._stop) for column in columns), strict=True)
        for index, (stream, start, end, count) in enumerate(places, self._first):
            # In a damaged or too large stream, too large itself, or without bytes: code that reports damage reads it.
            reads_stream = stream < len(is_held) and is_held[stream]
            is_alone = not reads_stream or end - start > size or count > rows or end == start
            if is_alone:
                if first < index:
                    yield first, index
                yield index, index + 1
                first, held, many, current = index + 1, 0, 0, -1
                continue
            held += end - start
            many += count
            # The table does not fit in the run: end that, and start another with it.
            if first < index and (stream != current or held > size or many > rows or index - first >= MOST_TABLES):
                yield first, index
                first, held, many = index, end - start, count
            current = stream
        if first < self._stop:
            yield first, self._stop

    def supply(self, what: int) -> bool:
        """Pass the kernel the dictionary or patterns that it needs to continue.

        Returns False if they cannot be read; printing the table then reports that.
        """
        if what not in self._supplied:
            texts = self._archive.texts
            with suppress(ExhumeError):
                if what == VARIABLES:  # threads read them together, so without the lock
                    texts.escaped_variables if self._prints else texts.variables  # noqa: B018
            with self._lock:
                if what not in self._supplied:
                    self._supplied[what] = False  # until all of it was read without an error
                    with suppress(ExhumeError):
                        if what == VARIABLES:
                            raw = texts.variables
                            self.tables.supply_variables(raw, texts.escaped_variables if self._prints else raw)
                        elif what == LOG_TYPES:
                            self.tables.supply_log_types(texts.log_types if self._prints else texts.raw_log_types)
                        elif what == ARRAY_TYPES:
                            self.tables.supply_array_types(texts.array_types)
                        else:
                            assert what == PATTERNS
                            self.tables.supply_patterns(texts.patterns.kernel)
                        self._supplied[what] = True
        return self._supplied[what]

    def odd_schemas(self) -> Iterator[int]:
        """Places of the schemas with structured arrays, or with nodes that do not exist or are misplaced."""
        yield from self._misfits
        place = self.tables.odd_schema(0)
        while place < len(self._schemas):
            yield place
            place = self.tables.odd_schema(place + 1)

    def payload(self, first: int) -> Buffer:
        """The stream of a run of tables; empty where it cannot be read, which is reported for each table."""
        with suppress(ExhumeError):
            return self._archive.stream_payload(self.entries.stream_ids[first])
        return b""

    def gathered(
        self, source: RunSource, first: int, stop: int, chosen: bytearray, kind: int, wanted: bytes | bytearray
    ) -> GatheredColumn:
        """Return the values of the `wanted` nodes, all of type `kind`, in tables of a run.

        `chosen` has a byte for each table of the run, `READ` or `SKIP`; if a table has to be read alone, its byte
        becomes `ALONE` and it has no values here.  `wanted` has a byte for each node of the schema tree.
        """
        for what in SUPPLIES.get(kind, ()):
            self.supply(what)  # if that fails, the kernel gathers nothing: each table is marked to be read alone
        return GatheredColumn(source, kind, self.tables.gather(self.payload(first), first, stop, chosen, wanted))

    def odd(self, first: int, stop: int) -> list[int]:
        """Return the tables of a run that contain a fault or cannot be checked by the kernel."""
        payload = self.payload(first)
        found: list[int] = []
        table = first
        while table < stop:
            odd, table, why = self.tables.check(payload, table, stop)
            found += array("I", odd)
            if why != DONE and not self.supply(why):
                # It cannot be supplied: the table is checked alone, which reports why.
                found.append(table)
                table += 1
        return found

    def printed(self, first: int, stop: int, mask: Buffer | None = None) -> Iterator[bytes | tuple[int, int]]:
        """Yield the records of tables `[first, stop)` as JSON lines in chunks.

        A table that the kernel cannot print is yielded as `(table, row)`: from that row on, the caller has to print it.
        `mask`: a byte for each record of the run, 1 for those that are printed.
        """
        rows = self.rows
        payload = self.payload(first)
        before = [] if mask is None else [0, *accumulate(rows[first:stop])]  # by table: rows before it in the run
        table, row = first, 0
        while table < stop:
            left = None if mask is None else memoryview(mask)[before[table - first] + row :]
            text, table, row, why = self.tables.render(payload, table, row, stop, CHUNK_SIZE, left)
            if text:
                yield text
            # The call ended at its limit, or has what it lacked now: continue where it stopped.
            if why in (DONE, FULL) or (why != ODD and self.supply(why)):
                continue
            if rows[table]:
                yield table, row
            table, row = table + 1, 0


def _misfits(tree: SchemaTree, schemas: SchemaColumns) -> frozenset[int]:
    """The places of the schemas that name a node outside of structured arrays which has no place in a record."""
    if not tree.misplaced:
        return frozenset()
    found: set[int] = set()
    for place, count in enumerate(schemas.num_ordered):
        if not tree.misplaced.isdisjoint(schemas.entries_value(place)[:count]):
            found.add(place)
    return frozenset(found)
