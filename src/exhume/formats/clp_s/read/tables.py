"""Tables: all records of one schema, decoded on demand and independently of each other.

A schema is a set of nodes of the archive's schema tree, which has a node for each key path and type.  A table stores
one column for each node, in sequence; a structured array takes several columns.  Several tables are in one packed
stream, which is compressed as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, overload

from exhume.counts import counted
from exhume.errors import CodecError, EntryNotFoundError, ExhumeError, LimitExceededError, Span
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import Schema, SchemaTree, TableEntry, TimestampRange
from exhume.formats.clp_s.layout_schemas import TableEntries
from exhume.formats.clp_s.layout_table import column_ends, needed_columns
from exhume.formats.clp_s.read.columns import Column, PrintContext
from exhume.formats.clp_s.read.render import TableRenderer, build_objects
from exhume.formats.clp_s.read.streams import Streams
from exhume.formats.clp_s.read.template import Roots, SchemaLayout
from exhume.io.caching import cached_property as locked_property


class Table:
    """One table: cheap to have, nothing is read before `load()`."""

    __slots__ = ("_archive", "_layout", "entry")

    def __init__(self, archive: Streams, entry: TableEntry) -> None:
        self._archive = archive
        self._layout: SchemaLayout | None = None
        self.entry: TableEntry = entry

    def __repr__(self) -> str:
        return f"<Table {self.index}: {counted(self.num_messages, 'records')} of schema {self.schema_id}>"

    @property
    def archive(self) -> Streams:
        """The archive that it belongs to."""
        return self._archive

    @property
    def index(self) -> int:
        """Position in the table metadata, which is the order of `clp-s x`."""
        return self.entry.number

    @property
    def schema_id(self) -> int:
        """Id of the schema of all its records."""
        return self.entry.schema_id

    @property
    def num_messages(self) -> int:
        """Number of records."""
        return self.entry.num_messages

    @property
    def size(self) -> int:
        """Decompressed bytes."""
        return self.entry.end - self.entry.start

    @property
    def schema(self) -> Schema:
        """Its schema.  Raises CLPS-346 if no schema has its id."""
        found = self._archive.schemas.get(self.schema_id)
        if found is None:
            raise checks.UNKNOWN_SCHEMA.error(
                f"table {self.index}", span=self._archive.section_span("/table_metadata"), actual=self.schema_id
            )
        return found

    @property
    def layout(self) -> SchemaLayout:
        """Columns and array runs of its schema (shared by all tables of the schema)."""
        found = self._layout
        if found is None:
            found = self._layout = self._archive.schema_layout(self.schema)
        return found

    @property
    def span(self) -> Span:
        """Its location: the stream in the file, narrowed to the table's bytes of the decompressed stream."""
        return self._archive.stream_span(self.entry.stream_id).in_payload(self.entry.start, self.entry.end)

    def column(self, key: int | str) -> Column:
        """One column by schema tree node or key path, without building records.  Raises the same errors as `load`, and
        `EntryNotFoundError`.
        """
        return self.load().column(key)

    def load(self, nodes: Collection[int] | None = None) -> TableData:
        """Decompress the table and split it into its columns.

        With `nodes`, the table has only the columns of these schema tree nodes; others are not decompressed if
        possible.

        Raises the error that keeps it from being read: CLPS-342 to 348 (table metadata, stream), CLPS-309 (frame),
        CLPS-331 to 334 (schema).
        """
        if self.entry.problem is not None:
            raise self.entry.problem
        layout = self.layout
        rows = self.num_messages
        if not layout.nodes:
            # Records without columns take no bytes, so that nothing else limits their stated number.
            self._archive.limits.check("entries", rows, self.span)
        if nodes is not None:
            try:
                found = self._load_parts(layout, nodes)
                if found is not None:
                    return found
            except CodecError:  # which is reported when all of it is decompressed
                pass
            except LimitExceededError:
                raise self._archive.too_large(self._archive.stream_place(self.entry.stream_id)) from None
        data = self._archive.table_bytes(self.entry)
        return TableData(self, layout, data, column_ends(data, layout, rows, lambda: self.span))

    def share(self, nodes: Collection[int] | None = None) -> None:
        """Decompress what `load` needs, sharing the work with all threads that are about to load the table.

        Errors are left to `load`.
        """
        if self.entry.problem is None:
            with suppress(ExhumeError):
                self._archive.table_bytes(self.entry) if nodes is None else self.load(nodes)

    def _load_parts(self, layout: SchemaLayout, nodes: Collection[int]) -> TableData | None:
        """Return only the columns of these nodes; None if the stream cannot be decompressed in parts."""
        parts = self._archive.stream_parts(self.entry.stream_id)
        if parts is None:
            return None
        first = self.entry.start
        data = parts.view[first : self.entry.end]
        # Finds where these columns are, which may need the number of variables stored in the columns before.  Returns
        # the end of each column, and the indices of those that were loaded.
        found = needed_columns(
            layout, nodes, self.num_messages, lambda start, stop: parts.take(first + start, first + stop), data
        )
        return None if found is None else TableData(self, layout, data, found[0], frozenset(found[1]))


class Tables(Sequence[Table]):
    """The tables of an archive, each made from its entry on request."""

    def __init__(self, archive: Streams, entries: TableEntries) -> None:
        self.archive = archive
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> Table: ...
    @overload
    def __getitem__(self, index: slice) -> list[Table]: ...
    def __getitem__(self, index: int | slice) -> Table | list[Table]:
        if isinstance(index, slice):
            return [Table(self.archive, entry) for entry in self.entries[index]]
        return Table(self.archive, self.entries[index])

    def __iter__(self) -> Iterator[Table]:
        archive = self.archive
        return (Table(archive, entry) for entry in self.entries)


class TableData:
    """A loaded table; keeps the decompressed bytes until it is dropped.

    A table that was not loaded as a whole has only the requested columns.  Columns are made on request, because a
    search examines one or two of each of hundreds of tables.
    """

    def __init__(
        self,
        table: Table,
        layout: SchemaLayout,
        data: memoryview,
        ends: list[int],
        only: frozenset[int] | None = None,
    ) -> None:
        """Take the table's payload; `ends` has the end of each column in it.  `only`: numbers of loaded columns."""
        self.table = table
        self.layout = layout
        self.data = data
        self._ends = ends
        self._only = only  # None: all
        self._made: dict[int, Column] = {}  # columns by index in `layout.columns`

    @cached_property
    def columns(self) -> list[Column]:
        """All columns, in schema order."""
        return [self.column_at(index) for index in range(len(self._ends))]

    def column_at(self, index: int) -> Column:
        """The column of `layout.columns[index]`."""
        made = self._made.get(index)
        if made is None:
            assert self._only is None or index in self._only, "a column that was not requested"
            start, end = self._ends[index - 1] if index else 0, self._ends[index]
            made = self._made[index] = Column(
                self.layout.spec(index), self.data, self.table, start, end, self.num_messages
            )
        return made

    def columns_of(self, node: int) -> Iterator[Column]:
        """The columns of a schema tree node: one, or several within structured arrays."""
        return (self.column_at(index) for index, one in enumerate(self.layout.nodes) if one == node)

    @property
    def num_messages(self) -> int:
        """Number of records."""
        return self.table.num_messages

    @property
    def tree(self) -> SchemaTree:
        """The archive's schema tree."""
        return self.layout.tree

    @property
    def texts(self) -> PrintContext:
        """The archive's dictionaries and patterns."""
        return self.table.archive.texts

    def column(self, key: int | str) -> Column:
        """The (first) column of a schema tree node, or of a key path as in `a.b` (dots in keys are escaped: `a\\.b`).

        Raises `EntryNotFoundError`.
        """
        nodes = (key,) if isinstance(key, int) else self.tree.find(key)
        for index, node in enumerate(self.layout.nodes):
            if node in nodes:
                return self.column_at(index)
        raise EntryNotFoundError("this table has no such column", actual=key)

    @cached_property
    def log_event_idx(self) -> memoryview[Any] | None:
        """Position of each record in the archive's input (int64), None when the log order was not recorded."""
        node = self.tree.log_event_idx
        plain = self.layout.nodes[: self.layout.num_ordered]  # columns outside of structured arrays
        return self.column_at(plain.index(node)).integers if node is not None and node in plain else None

    def renderer(
        self, *, nodes: Collection[int] | None = None, complete: bool = False, roots: Roots = ()
    ) -> TableRenderer:
        """A printer for this table's records.

        `nodes`: only these leaves of the schema tree (None: all); `complete`: also what upstream leaves out; `roots`:
        the roots of the tree that make up a record (empty: the root object).
        """
        return TableRenderer(self, nodes=nodes, complete=complete, roots=roots)

    def objects(self, rows: Sequence[int] | None = None) -> list[Any]:
        """Records (all by default) as Python objects, with what upstream does not print (auto-generated keys, ...)."""
        count = self.num_messages if rows is None else len(rows)
        return build_objects(self.layout.tokens(complete=True), self.columns, count, rows)

    def iter_faults(self, index: int) -> Iterator[ExhumeError]:
        """Yield the error of the first row of a column that cannot be decoded, if there is one.

        `index`: the column in `layout.columns`.
        """
        from exhume.formats.clp_s.read.kernel import ClpsProgram

        column = self.column_at(index)
        # Raw: nothing is printed, and the search for characters to escape takes longer than the rest for many tables.
        fault = ClpsProgram([column.operation(raw=True)], self.num_messages).check(0, self.num_messages)
        if fault is not None:
            yield column.failure(fault)


class TableArchive(Streams):
    """An archive with its tables; `reader.ClpSArchive` adds records, searches and findings."""

    @locked_property
    def tables(self) -> Sequence[Table]:
        """The tables in stored order, which is the order of `clp-s x`; each is made on request."""
        return Tables(self, self.table_metadata.tables)

    growing = False
    """Whether records are still added, so that a key that none has so far may come."""

    @property
    def known(self) -> object:
        """What several archives that hold parts of one stream have in common; None for any other archive."""
        return None

    @property
    def known_tree(self) -> SchemaTree:
        """The schema tree, with the nodes of further records that the archive is a part of."""
        return self.schema_tree

    @property
    def known_ranges(self) -> Sequence[TimestampRange]:
        """The timestamp ranges of the archive or, if it has none, of further records that it is a part of."""
        return self.timestamp_ranges

    def hint_streams(self) -> None:
        """Announce that the streams of all tables will be read, in their order."""
        try:
            if not len(self.tables):
                return
            count = len(self.table_metadata.streams)
            places = [self.stream_place(stream_id) for stream_id in self._stream_ids() if stream_id < count]
        except ExhumeError:  # it is raised again where a stream is read
            return
        if places:
            places[0].source.will_read(min(place.start for place in places), max(place.end for place in places))

    def _stream_ids(self) -> set[int]:
        """The streams that tables are in."""
        if isinstance(self.tables, Tables):  # without a `Table` for each
            return set(self.tables.entries.stream_ids)
        return {table.entry.stream_id for table in self.tables}

    def columns(self, key: int | str) -> Iterator[tuple[Table, Column]]:
        """The column of a schema tree node, or of a key path as in `a.b`, in each table that has it.

        Columns are typed sequences (see `Column.values`); no record is built.
        """
        nodes = {key} if isinstance(key, int) else set(self.schema_tree.find(key))
        for table in self.tables:
            if table.num_messages and not nodes.isdisjoint(table.layout.nodes):
                data = table.load()
                for index, node in enumerate(data.layout.nodes):
                    if node in nodes:
                        yield table, data.column_at(index)
