"""Search: which records of an archive a KQL query matches, in the order and text of the native search.

The query is compiled, the plan drops what cannot match (`plan.py`), and each table that is left is evaluated column by
column into a mask of its rows; only columns that the query names are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import compress, islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from exhume.choices import check_keywords
from exhume.errors import ExhumeError, QueryError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.query import kql
from exhume.formats.clp_s.query.evaluate import Evaluator, RunSearch, are_many
from exhume.formats.clp_s.query.options import Options, QueryOptions
from exhume.formats.clp_s.query.plan import Plan, TablePlan, make_plan
from exhume.formats.clp_s.query.requirement import Requirement, checks_of
from exhume.formats.clp_s.query.resolve import LITERAL_TYPES
from exhume.formats.clp_s.query.tree import Column, EscapeError, Expression, Key, parse_column
from exhume.formats.clp_s.read.blocks import (
    Prefetcher,
    Printed,
    SharedValue,
    TableWindows,
    printed,
    printed_columns,
    warm,
)
from exhume.formats.clp_s.read.template import Roots
from exhume.formats.clp_s.read.windows import columns_of
from exhume.io.caching import cached_property
from exhume.io.parallel import map_ordered

if TYPE_CHECKING:
    from exhume.formats.clp_s.layout_schemas import SchemaTree
    from exhume.formats.clp_s.read.tables import Table, TableArchive, TableData
    from exhume.formats.clp_s.read.windows import WindowRows

    Loading = tuple[Table, Requirement, SharedValue[TableData]]
    """A table, what its records have to fulfil, and its data."""

R = TypeVar("R")

DEFAULT_OPTIONS = Options()


def compile_query(query: str | Expression) -> Expression:
    """The syntax tree of a query text (or the tree itself).  Raises `QueryError`."""
    return kql.parse(query) if isinstance(query, str) else query


class MatchingRows:
    """The matching rows of one table: `rows` in order, None for all of them."""

    __slots__ = ("_rows", "count", "data", "mask")

    def __init__(self, data: TableData, mask: bytes | None) -> None:
        """Describe the matching rows of one table."""
        self.data: TableData = data
        self.mask: bytes | None = mask
        """A byte for each row of the table, 1 for those that match; None when all do."""
        self.count: int = data.num_messages if mask is None else mask.count(1)
        """Number of rows that match."""
        self._rows: list[int] | None = None

    @property
    def rows(self) -> Sequence[int] | None:
        """The rows that match; None when all do."""
        if self._rows is None and self.mask is not None:
            self._rows = list(compress(range(len(self.mask)), self.mask))
        return self._rows

    def positions(self) -> Sequence[int]:
        """The `log_event_idx` of each row; 0 where the table has none, as the native search counts it."""
        idx = self.data.log_event_idx
        if idx is None:
            return [0] * self.count
        return idx if self.rows is None else [idx[row] for row in self.rows]


def _following_streams(tables: Sequence[TablePlan]) -> dict[int, TablePlan]:
    """For each place where the tables go on to another stream, the first sound table of the stream that follows it."""
    firsts = [
        place
        for place, planned in enumerate(tables)
        if planned.entry.problem is None and (not place or planned.entry.stream_id != tables[place - 1].entry.stream_id)
    ]
    return {place: tables[later] for place, later in pairwise(firsts)}


def _examined_nodes(part: Requirement, nodes: Collection[int] | None) -> Collection[int] | None:
    """The nodes whose columns a condition examines, and others; None where it may examine any, or `nodes` is None."""
    searched = {check.node for check in checks_of(part)}
    return None if nodes is None or None in searched else {*nodes, *(node for node in searched if node is not None)}


class _SharedSearch:
    """A table whose blocks of rows are searched by threads that share it; `nodes`: those that are printed, or all.

    In a large table, only the columns of the condition are read completely; other columns only for the matching rows.
    """

    def __init__(
        self,
        plan: Plan,
        table: Table,
        part: Requirement,
        data: SharedValue[TableData],
        nodes: Collection[int] | None = None,
    ) -> None:
        """Search a table by windows that several threads take; they share its data and its renderer."""
        self._plan, self._table, self._part, self._data, self._nodes = plan, table, part, data, nodes
        self._windowed = TableWindows(table)
        self._renderer = SharedValue(lambda: data.get().renderer(nodes=nodes))

    def blocks(self) -> Iterator[tuple[int, int]]:
        """The rows in blocks."""
        return self._windowed.blocks()

    @cached_property
    def _condition(self) -> Collection[int]:
        return columns_of(self._table.layout, _examined_nodes(self._part, ()))

    @cached_property
    def _printed(self) -> Collection[int]:
        return printed_columns(self._table.layout.tokens(complete=False, nodes=self._nodes))

    def count(self, start: int, stop: int) -> int:
        """Number of rows that match.  Propagates errors from decoding them."""
        found = self._windowed.call(lambda rows: self._mask(rows.window(self._condition)).count(1), start, stop)
        return self._mask(self._data.get(), start, stop).count(1) if found is None else found

    def chunks(self, start: int, stop: int) -> Printed:
        """The text of those that match, up to an error."""

        def window(rows: WindowRows) -> Iterable[bytes]:
            mask = None if self._part is True else self._mask(rows.window(self._condition))
            if mask is not None and 1 not in mask:
                return ()
            return rows.window(self._printed, prints=True).renderer(nodes=self._nodes).chunks(mask=mask)

        found = self._windowed.printed(window, start, stop)
        return printed(self._whole(start, stop)) if found is None else found

    def hits(self, *, keep: bool = False) -> Iterator[MatchingRows]:
        """Windows of the table with rows that match, or the table; each for use before the next, or to `keep`."""
        done = 0
        for rows in self._windowed.each(keep=keep):
            found = None if rows is None else self._windowed.within(self._window_hits, rows)
            if rows is None or found is None:
                data = self._data.get()
                left = data.num_messages - done
                mask = bytes(done) + (b"\1" * left if self._part is True else self._mask(data, done))
                if 1 in mask:
                    yield MatchingRows(data, mask if 0 in mask else None)
                return
            yield from found
            done = rows.stop

    def _window_hits(self, rows: WindowRows) -> list[MatchingRows]:
        mask = None if self._part is True else self._mask(rows.window(self._condition))
        if mask is not None and 1 not in mask:
            return []
        return [MatchingRows(rows.window(self._needed), mask if mask is not None and 0 in mask else None)]

    @cached_property
    def _needed(self) -> Collection[int]:
        return columns_of(self._table.layout, self._nodes)

    def _whole(self, start: int, stop: int) -> Iterator[bytes]:
        mask = None if self._part is True else self._mask(self._data.get(), start, stop)
        if mask is None or 1 in mask:
            yield from self._renderer.get().chunks(start, stop, mask=mask)

    def _mask(self, data: TableData, start: int = 0, stop: int | None = None) -> bytes:
        """A byte for each of the rows: 1 for those that match."""
        return Evaluator(data, self._plan, start, stop).run(self._part)


class Search:
    """One query on one archive, run by up to `jobs` threads.  `printing`: matches will be printed, so their dictionary
    is prefetched.  If strings of the query are looked up, the first table is prefetched too, unless a `projection`
    prints only a few of its columns.

    Raises `QueryError` for time bounds that the archive has no column for, and the archive's own errors.
    """

    def __init__(
        self,
        archive: TableArchive,
        query: str | Expression,
        options: Options = DEFAULT_OPTIONS,
        *,
        printing: bool = False,
        projection: Sequence[str] = (),
        jobs: int = 1,
    ) -> None:
        """Compile the query and drop the tables that cannot match, by metadata and then by dictionaries."""
        self.archive = archive
        self.query: str = query if isinstance(query, str) else ""
        expression = compile_query(query)
        self._ahead = Prefetcher(archive, jobs)
        self.plan: Plan = make_plan(archive, archive.header.version, expression, options, query=self.query)
        if not self.plan.tables:
            return
        if self.plan.has_strings and self._filled:
            first = self._filled[0]  # the dictionary is searched meanwhile; that it rules the table out is rare
            nodes = resolve_projection(archive, projection) if projection else None
            looked_at = _examined_nodes(first.part, nodes if printing else ())
            self._ahead.table(archive.tables[first.index], looked_at, variables=True)
        elif printing:
            self._ahead.variables()
        self.plan.look_up(archive)

    def _loading(
        self, tables: Sequence[TablePlan], nodes: Collection[int] | None = None, *, shared: bool = False
    ) -> Iterator[Loading]:
        """Yield each table with its requirement and its data, which is loaded on first use.

        `nodes`: columns needed in addition to those of the condition. The next stream is decompressed in advance; with
        `shared`, the threads that need it decompress it together instead.
        """
        following = {} if shared else _following_streams(tables)
        stored = self.archive.tables
        for place, planned in enumerate(tables):
            if place in following:
                later = following[place]
                self._ahead.table(stored[later.index], _examined_nodes(later.part, nodes))
            table, wanted = stored[planned.index], _examined_nodes(planned.part, nodes)
            share = partial(table.share, wanted) if shared else None
            yield table, planned.part, SharedValue(partial(table.load, wanted), share)

    @property
    def _filled(self) -> list[TablePlan]:
        """The tables that have records."""
        return [planned for planned in self.plan.tables if planned.entry.num_messages]

    def hits(self, nodes: Collection[int] | None = None, *, keep: bool = False) -> Iterator[MatchingRows]:
        """Tables with matching rows, in the archive's order, and of large tables windows: each for use before the next,
        or to `keep` it.  Rows before damage are found before it is reported.

        With `nodes`, only the columns of these are sure to be there.
        """
        for loading in self._loading(self._filled, nodes):
            yield from _SharedSearch(self.plan, *loading, nodes).hits(keep=keep)

    def count(self, *, jobs: int = 1) -> int:
        """The number of matching records; `jobs` threads look for them."""
        total = sum(planned.entry.num_messages for planned in self.plan.tables if planned.part is True)
        looked_at = [planned for planned in self._filled if planned.part is not True]

        def blocks(loading: Loading) -> Iterator[Callable[[], int]]:
            """Calls that each count the matches in one block of a table's rows."""
            searched = _SharedSearch(self.plan, *loading)
            return (partial(searched.count, start, stop) for start, stop in searched.blocks())

        def run(small: RunSearch, first: int, stop: int, tables: Sequence[TablePlan]) -> int:
            """Count the matches in a run of small tables at once, or table by table if one cannot be read."""
            found = small.count(first, stop, tables)
            if found is None:  # whatever is wrong is raised for its table
                found = sum(block() for loading in self._loading(tables, ()) for block in blocks(loading))
            return found

        return total + sum(map_ordered(lambda piece: piece(), self._pieces(looked_at, (), run, blocks, jobs), jobs))

    def _pieces(
        self,
        tables: Sequence[TablePlan],
        nodes: Collection[int] | None,
        run: Callable[[RunSearch, int, int, Sequence[TablePlan]], R],
        blocks: Callable[[Loading], Iterator[Callable[[], R]]],
        jobs: int,
        *,
        together: bool = True,
    ) -> Iterator[Callable[[], R]]:
        """Yield the searches of the tables in order, each a call for one thread: `run` for runs of small tables, and
        what `blocks` yields for other tables.
        """
        small: RunSearch | None = None
        if together and are_many(self.archive, tables):
            with suppress(ExhumeError):  # reported for each table
                small = RunSearch(self.archive, self.plan)
        # As `RunSearch.split` yields them; the tables of a group with stop 0 are searched one by one.
        groups = [(0, 0, list(tables))] if small is None else list(small.split(tables))
        alone = [planned for _, stop, group in groups if not stop for planned in group]
        loading = self._loading(alone, nodes, shared=jobs != 1)
        for first, stop, group in groups:
            if small is not None and stop:
                yield partial(run, small, first, stop, group)
            else:
                for one in islice(loading, len(group)):  # `loading` has the tables of these groups in the same order
                    yield from blocks(one)

    def lines(
        self,
        *,
        ordered: bool = False,
        complete: bool = False,
        nodes: Collection[int] | None = None,
        roots: Roots = (),
    ) -> Iterator[bytes]:
        """The text of the matching records one by one; `ordered` and `complete` as for `ClpSArchive.json_chunks`,
        `nodes` and `roots` as for `TableRenderer`."""

        def stream(hits: MatchingRows) -> Iterator[bytes]:
            renderer = hits.data.renderer(nodes=nodes, complete=complete, roots=roots)
            rows = range(hits.data.num_messages) if hits.rows is None else hits.rows
            for start in range(0, len(rows), 1024):
                yield from renderer.lines(rows[start : start + 1024])

        return self._in_order(stream, ordered)

    def events(self, *, ordered: bool = False, with_source: bool = False) -> Iterator[Any]:
        """The matching records as Python objects; see `ClpSArchive.events`."""
        from exhume.formats.clp_s.read.records import SourceFinder, event_stream

        finder = SourceFinder(self.archive.range_index) if with_source else None
        return self._in_order(lambda hits: event_stream(hits.data, finder, hits.rows), ordered)

    def _in_order(self, stream: Callable[[MatchingRows], Iterator[Any]], ordered: bool) -> Iterator[Any]:
        """The streams in sequence, or merged by the position of the records in the input."""
        if not ordered or self.archive.schema_tree.log_event_idx is None:
            for hits in self.hits():
                yield from stream(hits)
            return
        import heapq

        def keyed(searched: _SharedSearch) -> Iterator[tuple[int, Any]]:
            for hits in searched.hits():
                yield from zip(hits.positions(), stream(hits), strict=True)

        tables = [keyed(_SharedSearch(self.plan, *loading)) for loading in self._loading(self._filled)]
        for _, item in heapq.merge(*tables, key=itemgetter(0)):
            yield item

    def chunks(self, nodes: Collection[int] | None = None, *, jobs: int = 1) -> Iterator[bytes]:
        """The text of the matching records, one JSON line each, in chunks of whole lines; `jobs` threads look for them
        and print them.

        Where a record is damaged, those before it are given before its error is raised.
        """

        def blocks(loading: Loading) -> Iterator[Callable[[], Printed]]:
            """Calls that each print the matches in one block of a table's rows."""
            searched = _SharedSearch(self.plan, *loading, nodes)
            return (partial(searched.chunks, start, stop) for start, stop in searched.blocks())

        def run(small: RunSearch, first: int, stop: int, tables: Sequence[TablePlan]) -> Printed:
            """Print the matches in a run of small tables at once, or table by table if one cannot be read."""
            found = small.chunks(first, stop, tables)
            if found is None:
                found = printed(given(block() for loading in self._loading(tables) for block in blocks(loading)))
            return found

        def given(parts: Generator[Printed]) -> Iterator[bytes]:
            with closing(parts):
                for out, error in parts:
                    yield from out
                    if error is not None:
                        raise error

        def pieces() -> Iterator[Callable[[], Printed]]:
            if jobs != 1 and self._filled:
                yield partial(warm, self.archive)
            yield from self._pieces(self._filled, nodes, run, blocks, jobs, together=nodes is None)

        return given(map_ordered(lambda piece: piece(), pieces(), jobs))

    def ordered_chunks(self, nodes: Collection[int] | None = None, roots: Roots = ()) -> Iterator[bytes]:
        """Yield the matching records as JSON lines in the order of the input, as far as the archive recorded it."""
        pending: list[bytes] = []
        for line in self.lines(ordered=True, nodes=nodes, roots=roots):
            pending.append(line)
            if len(pending) == 1024:
                yield b"".join(pending)
                pending.clear()
        if pending:
            yield b"".join(pending)


def resolve_projection(archive: TableArchive, columns: Sequence[str]) -> frozenset[int]:
    """The leaf nodes that `--projection` columns name.

    Every key but the last must be that of an object.  Raises `QueryError` for a string that is not a column path, for
    wildcards, and for a column that is named twice.
    """
    tree = archive.schema_tree
    nodes: set[int] = set()
    seen: set[tuple[Key, ...]] = set()
    for text in columns:
        try:
            column = parse_column(text)
        except EscapeError as error:
            raise kql.query_error(f"not a column: {error}", text, error.offset) from None
        if column.open:
            raise QueryError("a projection cannot have wildcards", format="clp-s", query=text)
        if column.keys in seen:
            raise QueryError(f"column {text} is named twice", format="clp-s", query=text)
        seen.add(column.keys)
        nodes.update(node for node in _nodes_named(tree, column) if tree.types[node] in LITERAL_TYPES)
    return frozenset(nodes)


def unprojected(archive: TableArchive, column: str) -> list[str]:
    """The kinds of values that a projection of `column` omits, as in `clp-s`: arrays in columns, and objects."""
    tree = archive.schema_tree
    types = {tree.types[node] for node in _nodes_named(tree, parse_column(column))}
    words = {NodeType.STRUCTURED_ARRAY: "arrays that are stored as columns", NodeType.OBJECT: "objects"}
    return [word for type, word in words.items() if type in types]


def _nodes_named(tree: SchemaTree, column: Column) -> list[int]:
    """The nodes that the last key of a column names, of any type; the other keys are those of objects."""
    node = tree.roots.get((column.namespace.encode(), NodeType.OBJECT))
    named: list[int] = []
    for key in column.keys:
        named = [] if node is None else [child for child in tree.children[node] if tree.keys[child] == key.name]
        node = next((child for child in named if tree.types[child] == NodeType.OBJECT), None)
    return named


def chosen(archive: TableArchive, query: str | None, options: QueryOptions, jobs: int = 1) -> Search:
    """The records that a query, or without one the options of a query, choose; raises `QueryError`."""
    if query is None and "ignore_case" in options:
        raise QueryError("ignore_case has no effect without a query")
    check_keywords("search()", options, Options)
    return Search(archive, "*" if query is None else query, Options(**options), jobs=jobs)
