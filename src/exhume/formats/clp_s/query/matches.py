"""Rows that match a query, in a large table or in a run of small ones, as masks, text or counts.

A table has all records with the same set of keys.  Its requirement (see `requirement`) is what its records have to
fulfill; a mask has a byte for each row, 1 if it does.

Threads search a table in blocks of rows (`SharedSearch`).  A large one is read in windows: ranges of rows, with only
the columns that are needed (see `read.windows`).

There may also be hundreds of thousands of tables with one record each.  A run is a range of tables, by number, that are
in one decompressed stream: the kernel gathers their values, which are compared at once (`RunSearch`).  `planned`: the
tables of the query's plan, or those of them that are in a run; `part`: the requirement for the records of a table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import ExhumeError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.query.evaluate import Evaluator
from exhume.formats.clp_s.query.operand import ARRAYS, TEXTS
from exhume.formats.clp_s.query.plan import Plan
from exhume.formats.clp_s.query.requirement import Check, Requirement, checks_of
from exhume.formats.clp_s.query.resolve import LITERAL_TYPES
from exhume.formats.clp_s.read import blocks, windows
from exhume.formats.clp_s.read.blocks import Printed, SharedValue, TableWindows, printed, printed_columns, text_rows
from exhume.formats.clp_s.read.together import ALONE, READ, GatheredColumn, KernelTables, RunSource
from exhume.formats.clp_s.read.windows import columns_of
from exhume.io.caching import cached_property

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.plan import TablePlan
    from exhume.formats.clp_s.read.tables import Table, TableArchive, TableData
    from exhume.formats.clp_s.read.windows import WindowRows


class MatchingRows:
    """The matching rows of one table, or of a window of it."""

    __slots__ = ("_rows", "count", "data", "mask")

    def __init__(self, data: TableData, mask: bytes | None) -> None:
        """Take the mask of the rows; `data` is the table or window that they are in."""
        self.data: TableData = data
        self.mask: bytes | None = mask
        """A byte for each row of the table, 1 for those that match; None when all do."""
        self.count: int = data.num_messages if mask is None else mask.count(1)
        """Number of rows that match."""
        self._rows: list[int] | None = None

    @property
    def rows(self) -> Sequence[int] | None:
        """Numbers of the rows that match, ascending; None if all do."""
        if self._rows is None and self.mask is not None:
            self._rows = list(compress(range(len(self.mask)), self.mask))
        return self._rows

    def positions(self) -> Sequence[int]:
        """The `log_event_idx` of each row; 0 where the table has none, as the native search counts it."""
        idx = self.data.log_event_idx
        if idx is None:
            return [0] * self.count
        return idx if self.rows is None else [idx[row] for row in self.rows]


def examined_nodes(part: Requirement, nodes: Collection[int] | None) -> Collection[int] | None:
    """Return the nodes whose columns a requirement examines, and `nodes`; None (all) if it may examine any column.

    Also None if `nodes` is None.
    """
    searched = {check.node for check in checks_of(part)}
    return None if nodes is None or None in searched else {*nodes, *(node for node in searched if node is not None)}


class SharedSearch:
    """A table whose blocks of rows are searched by threads that share it; `nodes`: those that are printed (None: all).

    In a large table, only the columns of the condition are read completely; other columns only for the matching rows.

    `_windowed` calls a function for a window of rows; its result is None if the table has to be read as a whole (it has
    no windows, or one is damaged), which is what the methods then do, by `_data`.
    """

    def __init__(
        self,
        plan: Plan,
        table: Table,
        part: Requirement,
        data: SharedValue[TableData],
        nodes: Collection[int] | None = None,
    ) -> None:
        """Search the rows of `table` for those that fulfill `part`; `data` is the whole table, loaded if needed."""
        self._plan, self._table, self._part, self._data, self._nodes = plan, table, part, data, nodes
        self._windowed = TableWindows(table)
        self._renderer = SharedValue(lambda: data.get().renderer(nodes=nodes))

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the rows in blocks `[start, stop)`, each for one thread."""
        return self._windowed.blocks()

    @cached_property
    def _condition(self) -> Collection[int]:
        """The columns that the requirement examines."""
        return columns_of(self._table.layout, examined_nodes(self._part, ()))

    @cached_property
    def _printed(self) -> Collection[int]:
        """The columns that are printed."""
        return printed_columns(self._table.layout.tokens(complete=False, nodes=self._nodes))

    def count(self, start: int, stop: int) -> int:
        """Return the number of rows in `[start, stop)` that match.  Propagates errors from decoding them."""
        found = self._windowed.call(lambda rows: self._mask(rows.window(self._condition)).count(1), start, stop)
        return self._mask(self._data.get(), start, stop).count(1) if found is None else found

    def chunks(self, start: int, stop: int) -> Printed:
        """Return the text of the rows in `[start, stop)` that match, up to an error."""

        def window(rows: WindowRows) -> Iterable[bytes]:
            """Search a window, and print the matches from another one with the columns that are printed."""
            # True: all rows match, whatever their values.
            mask = None if self._part is True else self._mask(rows.window(self._condition))
            if mask is not None and 1 not in mask:
                return ()
            return rows.window(self._printed, prints=True).renderer(nodes=self._nodes).chunks(mask=mask)

        found = self._windowed.printed(window, start, stop)
        return printed(self._whole(start, stop)) if found is None else found

    def hits(self, *, keep: bool = False) -> Iterator[MatchingRows]:
        """Yield the windows of the table that have matches; if it cannot be read in windows, the table.

        Each is valid until the next is requested, or, with `keep`, as long as it is referenced.
        """
        done = 0
        for rows in self._windowed.each(keep=keep):
            found = None if rows is None else self._windowed.within(self._window_hits, rows)
            if rows is None or found is None:
                data = self._data.get()
                left = data.num_messages - done
                # Rows of earlier windows do not match again.
                mask = bytes(done) + (b"\1" * left if self._part is True else self._mask(data, done))
                if 1 in mask:
                    yield MatchingRows(data, mask if 0 in mask else None)
                return
            yield from found
            done = rows.stop

    def _window_hits(self, rows: WindowRows) -> list[MatchingRows]:
        """Return the matches of a window: none, or one object."""
        mask = None if self._part is True else self._mask(rows.window(self._condition))
        if mask is not None and 1 not in mask:
            return []
        return [MatchingRows(rows.window(self._needed), mask if mask is not None and 0 in mask else None)]

    @cached_property
    def _needed(self) -> Collection[int]:
        """The columns that the caller of `hits` needs."""
        return columns_of(self._table.layout, self._nodes)

    def _whole(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield the text of the rows in `[start, stop)` that match, from the whole table."""
        mask = None if self._part is True else self._mask(self._data.get(), start, stop)
        if mask is None or 1 in mask:
            yield from self._renderer.get().chunks(start, stop, mask=mask)

    def _mask(self, data: TableData, start: int = 0, stop: int | None = None) -> bytes:
        """Return a byte for each of the rows: 1 for those that match."""
        return Evaluator(data, self._plan, start, stop).run(self._part)


LEAST_TABLES: Final = 4
"""Tables with the same condition from which on their values are gathered."""


class RunEvaluator(Evaluator):
    """Evaluates conditions for the `chosen` ones of a run of small tables, on values gathered from all of them.

    Masks have a byte for each row of the run.  `searched`: the search; `first` and `stop`: the run, of `rows` rows;
    `chosen`: a byte for each of its tables, `READ` to search it; the kernel changes that to `ALONE` for a table that
    has to be read alone.  Raises the errors of values that cannot be read, without their place.
    """

    def __init__(self, searched: RunSearch, first: int, stop: int, chosen: bytearray, rows: int) -> None:
        span = searched.archive.stream_span(searched.kernel_tables.entries.stream_ids[first])
        self._source = RunSource(searched.archive, span, rows)
        super().__init__(self._source, searched.plan)  # type: ignore[arg-type]  # columns come from `_columns`
        self._searched, self._first, self._stop, self._chosen = searched, first, stop, chosen

    def _columns(self, check: Check) -> Iterator[tuple[Any, int]]:
        """Yield the values of all tables that a check compares, with their literal type; text and arrays come last."""
        searched = self._searched
        types = searched.archive.schema_tree.types
        if check.node is not None:
            wanted = bytearray(len(types))
            wanted[check.node] = 1
            yield self._gathered(types[check.node], wanted), check.types
            return
        present = set(types)
        kinds = [(node_type, kind) for node_type, kind in LITERAL_TYPES.items() if kind & check.types]
        for node_type, kind in sorted(kinds, key=lambda pair: pair[1] in (TEXTS, ARRAYS)):
            if node_type in present and node_type != NodeType.NULL_VALUE:
                yield self._gathered(node_type, searched.nodes_of(node_type)), kind

    def _gathered(self, kind: int, wanted: bytes | bytearray) -> GatheredColumn:
        """Return the values of the wanted nodes, of node type `kind`, from the chosen tables."""
        return self._searched.kernel_tables.gathered(self._source, self._first, self._stop, self._chosen, kind, wanted)

    def of_column(self, check: Check, column: Any, kind: int, wanted: int) -> int:
        """Return the mask of the rows that have a gathered value that fulfills a check, before its negation.

        `kind` is the literal type of the values; all rows are searched, whatever is `wanted`.
        """
        gathered: GatheredColumn = column
        rows = gathered.column.rows
        # Compare the gathered values as the rows of one column; then mark the row of the run that each match is from.
        inner = Evaluator(RunSource(self._source.archive, self._source.span, rows), self.plan)  # type: ignore[arg-type]
        mask = inner.of_column(check, gathered.column, kind, inner.ones).to_bytes(rows, "little")
        out = bytearray(self.rows)
        for row in compress(gathered.owners, mask):
            out[row] = 1
        return int.from_bytes(out, "little")


def are_many(archive: TableArchive, planned: Sequence[TablePlan]) -> bool:
    """Return whether there are enough tables to search them together, or one that has more columns than rows.

    Python objects of such a table's columns would take longer than the search in it.
    """
    if len(planned) >= LEAST_TABLES:
        return True
    columns = archive.schemas.columns.num_entries
    places = [(archive.schemas.place(table.entry.schema_id), table.entry.num_messages) for table in planned]
    return any(place >= 0 and rows < columns[place] for place, rows in places)


class RunSearch:
    """Searches runs of small tables together, or one with more columns than rows; a run is `[first, stop)` by number.

    Raises the error that keeps the schema tree or the schemas from being read.
    """

    archive: TableArchive
    plan: Plan

    def __init__(self, archive: TableArchive, plan: Plan) -> None:
        """Read the tree and the schemas; tables are read when a run is searched."""
        self.archive, self.plan = archive, plan
        self.kernel_tables: KernelTables = KernelTables(archive, prints=False)
        self._printing = SharedValue(lambda: KernelTables(archive))  # made when the first match is printed
        self._nodes: dict[int, bytes] = {}  # by node type: see `nodes_of`
        # Tables are numbered as in the whole archive: the number of the first one is not 0 in a part of an archive.
        self._first = archive.tables[0].index if len(archive.tables) else 0

    def split(self, planned: Sequence[TablePlan]) -> Iterator[tuple[int, int, list[TablePlan]]]:
        """Yield the tables of a plan as (first, stop, tables) of runs, or (0, 0, tables) to search one by one."""
        at = 0  # index in `planned` of the next table
        together = self.kernel_tables
        for first, stop in together.runs(min(blocks.BLOCK_BYTES, windows.WORTHWHILE), text_rows(self.archive)):
            start = at
            while at < len(planned) and planned[at].entry.number < stop:
                at += 1
            if start == at:
                continue
            is_run = at - start >= LEAST_TABLES or (stop == first + 1 and together.is_wide(first))
            yield (first, stop, list(planned[start:at])) if is_run else (0, 0, list(planned[start:at]))

    def nodes_of(self, kind: int) -> bytes:
        """Return a byte for each node: 1 if it has this type and is searched by a filter on any column."""
        found = self._nodes.get(kind)
        if found is None:
            tree = self.archive.schema_tree
            made = bytearray(bytes(tree.types).translate(bytes(one == kind for one in range(256))))
            metadata = tree.roots.get((b"", NodeType.METADATA))
            for node in tree.children[metadata] if metadata is not None else ():
                made[node] = 0
            found = self._nodes[kind] = bytes(made)
        return found

    def mask(self, first: int, stop: int, planned: Sequence[TablePlan]) -> bytearray | None:
        """Return a byte for each record of a run, 1 if it matches; None if all do.

        Propagates errors from reading tables.
        """
        rows = self.kernel_tables.rows
        before = [0, *accumulate(rows[first:stop])]  # by table: rows before it in the run
        # None only if the plan has all records of the run, and all of them match.
        if all(table.part is True for table in planned) and (
            sum(table.entry.num_messages for table in planned) == before[-1]
        ):
            return None
        out = bytearray(before[-1])
        parts: dict[int, list[TablePlan]] = {}  # tables with the same requirement, by its identity
        for table in planned:
            if rows[table.entry.number]:
                parts.setdefault(id(table.part), []).append(table)
        for same in parts.values():
            part = same[0].part
            alone: Collection[int] = [table.entry.number for table in same]  # tables to read one by one
            # A run of one table is one with more columns than rows, which the kernel reads faster.
            if part is not True and (len(same) >= LEAST_TABLES or stop == first + 1):
                alone = self._search_run(part, first, stop, alone, before, out)
            for index in alone:
                at, size = before[index - first], rows[index]
                out[at : at + size] = b"\1" * size if part is True else self._search_table(part, index)
        return out

    def _search_run(
        self, part: Requirement, first: int, stop: int, indices: Collection[int], before: list[int], out: bytearray
    ) -> Collection[int]:
        """Set the bytes of the rows of these tables that match, and return the tables that have to be read alone.

        `part`: the requirement of all of them; `before` and `out` are those of `mask`.
        """
        chosen = bytearray(stop - first)
        for index in indices:
            chosen[index - first] = READ
        mask = RunEvaluator(self, first, stop, chosen, before[-1]).run(part)
        alone = []
        for index in indices:
            if chosen[index - first] == ALONE:
                alone.append(index)
            else:
                rows = slice(before[index - first], before[index - first + 1])
                out[rows] = mask[rows]
        return alone

    def _search_table(self, part: Requirement, index: int) -> bytes:
        """Return the mask of one table, read alone."""
        data = self.archive.tables[index - self._first].load()
        return Evaluator(data, self.plan).run(part)

    def count(self, first: int, stop: int, planned: Sequence[TablePlan]) -> int | None:
        """Count the records of a run that match; None if a table is damaged."""
        with suppress(ExhumeError):
            mask = self.mask(first, stop, planned)
            return sum(self.kernel_tables.rows[first:stop]) if mask is None else mask.count(1)
        return None

    def chunks(self, first: int, stop: int, planned: Sequence[TablePlan]) -> Printed | None:
        """Print the records of a run that match; None if a table is damaged before anything is printed."""
        try:
            mask = self.mask(first, stop, planned)
        except ExhumeError:
            return None
        if mask is not None and 1 not in mask:
            return [], None
        return printed(self._printed(first, stop, mask))

    def _printed(self, first: int, stop: int, mask: bytearray | None) -> Iterator[bytes]:
        """Yield JSON lines of the tables `[first, stop)`; tables that the kernel cannot print are printed here.

        `mask` has a byte for each row of these tables, 1 if it matches; None prints all.
        """
        rows = self.kernel_tables.rows
        for found in self._printing.get().printed(first, stop, mask):
            if isinstance(found, bytes):
                yield found
                continue
            index, row = found  # a table that the kernel does not print, and its first row to print
            at = sum(rows[first:index])
            left = None if mask is None else bytes(mask[at + row : at + rows[index]])
            if left is None or 1 in left:
                data = self.archive.tables[index - self._first].load()
                yield from data.renderer().chunks(row, mask=left)
