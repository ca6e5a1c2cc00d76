"""Search: which records of an archive a KQL query matches, in the order and text of the native search.

The query is compiled, the plan drops tables that cannot match (`plan.py`; a table has all records with the same set of
keys), and each table that is left is evaluated column by column into a mask of its rows: a byte per row, 1 if it
matches.  Only columns that the query names are read.  Many small tables are searched together (`RunSearch`), large ones
in windows (ranges of rows, see `read.windows`).

`nodes` are those of the schema tree whose columns are needed; `hits` are the matching rows of a table or window;
`first` and `stop` are a run: a half-open range of small tables, by number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from exhume.choices import check_keywords
from exhume.errors import ExhumeError, QueryError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.query import Options, QueryOptions, kql
from exhume.formats.clp_s.query.matches import MatchingRows, RunSearch, SharedSearch, are_many, examined_nodes
from exhume.formats.clp_s.query.plan import Plan, TablePlan, make_plan
from exhume.formats.clp_s.query.requirement import Requirement
from exhume.formats.clp_s.query.resolve import LITERAL_TYPES
from exhume.formats.clp_s.query.tree import Column, EscapeError, Expression, Key, parse_column
from exhume.formats.clp_s.read.blocks import Prefetcher, Printed, SharedValue, printed, warm
from exhume.formats.clp_s.read.template import Roots
from exhume.io.parallel import map_ordered

if TYPE_CHECKING:
    from exhume.formats.clp_s.layout_schemas import SchemaTree
    from exhume.formats.clp_s.read.tables import Table, TableArchive, TableData

    Loading = tuple[Table, Requirement, SharedValue[TableData]]
    """A table, the requirement for its records, and its data (loaded when first needed)."""

R = TypeVar("R")

DEFAULT_OPTIONS = Options()

LINES_AT_ONCE: Final = 1024
"""Lines of text that are in memory at a time."""


def compile_query(query: str | Expression) -> Expression:
    """Return the syntax tree of a query, which may be one already.  Raises `QueryError`."""
    return kql.parse(query) if isinstance(query, str) else query


def _following_streams(tables: Sequence[TablePlan]) -> dict[int, TablePlan]:
    """Return, by the index in `tables` of the first table of each stream, the first table of the next stream.

    That is prefetched while the stream is searched.  Streams whose first table is damaged are passed over.
    """
    firsts = [
        place
        for place, planned in enumerate(tables)
        if planned.entry.problem is None and (not place or planned.entry.stream_id != tables[place - 1].entry.stream_id)
    ]
    return {place: tables[later] for place, later in pairwise(firsts)}


class Search:
    """One query on one archive, run by up to `jobs` threads.  `printing`: matches will be printed, so their dictionary
    is prefetched.  If strings of the query are looked up, the first table is prefetched too, unless a `projection`
    prints only a few of its columns.  Without tables that can match, nothing is prefetched.

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
        self._ahead = Prefetcher(archive, jobs)  # decompresses what comes next in the background
        self.plan: Plan = make_plan(archive, archive.header.version, expression, options, query=self.query)
        if not self.plan.tables:
            return
        if self.plan.has_strings and self._filled:
            # Decompressed while the dictionaries are searched below; these rarely drop the first table.
            first = self._filled[0]
            nodes = resolve_projection(archive, projection) if projection else None
            looked_at = examined_nodes(first.part, nodes if printing else ())  # `()`: only the condition's columns
            self._ahead.table(archive.tables[first.entry.number], looked_at, variables=True)
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
                self._ahead.table(stored[later.entry.number], examined_nodes(later.part, nodes))
            table, wanted = stored[planned.entry.number], examined_nodes(planned.part, nodes)
            share = partial(table.share, wanted) if shared else None
            yield table, planned.part, SharedValue(partial(table.load, wanted), share)

    @property
    def _filled(self) -> list[TablePlan]:
        """The tables that have records."""
        return [planned for planned in self.plan.tables if planned.entry.num_messages]

    def hits(self, nodes: Collection[int] | None = None, *, keep: bool = False) -> Iterator[MatchingRows]:
        """Yield the tables with matches, in the archive's order; large tables as windows with matches.

        Each is valid until the next is requested, or, with `keep`, as long as it is referenced.  Rows before damage are
        found before it is reported.

        With `nodes`, only the columns of these nodes are sure to be present.
        """
        for loading in self._loading(self._filled, nodes):
            yield from SharedSearch(self.plan, *loading, nodes).hits(keep=keep)

    def count(self, *, jobs: int = 1) -> int:
        """Return the number of matching records; `jobs` threads search for them."""
        # Tables all of whose records match need not be read.
        total = sum(planned.entry.num_messages for planned in self.plan.tables if planned.part is True)
        looked_at = [planned for planned in self._filled if planned.part is not True]

        def blocks(loading: Loading) -> Iterator[Callable[[], int]]:
            """Calls that each count the matches in one block of a table's rows."""
            searched = SharedSearch(self.plan, *loading)
            return (partial(searched.count, start, stop) for start, stop in searched.blocks())

        def run(small: RunSearch, first: int, stop: int, tables: Sequence[TablePlan]) -> int:
            """Count the matches in a run of small tables at once, or table by table if one cannot be read."""
            found = small.count(first, stop, tables)
            if found is None:  # read alone, the damaged table raises its error
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
        """Yield the searches of the tables in order, each a call for one thread.

        `run` searches a run of small tables, numbered `[first, stop)`; `blocks` yields the calls for another table.
        With `together` False there are no runs.  `nodes` as for `_loading`.
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
        """The text of the matching records one by one.

        `ordered`: in the order of the input instead of that of the tables; `complete`: with what upstream does not
        print, such as auto-generated keys; `nodes`: only these leaves of the schema tree (None: all); `roots`: the
        roots of the tree that make up a record (see `Roots`; empty: the root object).
        """

        def stream(hits: MatchingRows) -> Iterator[bytes]:
            """Yield the lines of a table's matches."""
            renderer = hits.data.renderer(nodes=nodes, complete=complete, roots=roots)
            rows = range(hits.data.num_messages) if hits.rows is None else hits.rows
            for start in range(0, len(rows), LINES_AT_ONCE):
                yield from renderer.lines(rows[start : start + LINES_AT_ONCE])

        return self._in_order(stream, ordered)

    def events(self, *, ordered: bool = False, with_source: bool = False) -> Iterator[Any]:
        """The matching records as Python objects.

        `ordered`: in the order of the input; `with_source`: as `RecordWithOrigin`, with number and ingestion unit.
        """
        from exhume.formats.clp_s.read.records import SourceFinder, event_stream

        finder = SourceFinder(self.archive.range_index) if with_source else None
        return self._in_order(lambda hits: event_stream(hits.data, finder, hits.rows), ordered)

    def _in_order(self, stream: Callable[[MatchingRows], Iterator[Any]], ordered: bool) -> Iterator[Any]:
        """Yield the streams of all matches in sequence or, if `ordered`, merged by the position of the records in the
        input."""
        # Without `log_event_idx`, the node that numbers the records, the order of the input is not known.
        if not ordered or self.archive.schema_tree.log_event_idx is None:
            for hits in self.hits():
                yield from stream(hits)
            return
        import heapq

        def keyed(searched: SharedSearch) -> Iterator[tuple[int, Any]]:
            """Yield (position in the input, item) for the matches of a table."""
            for hits in searched.hits():
                yield from zip(hits.positions(), stream(hits), strict=True)

        tables = [keyed(SharedSearch(self.plan, *loading)) for loading in self._loading(self._filled)]
        for _, item in heapq.merge(*tables, key=itemgetter(0)):
            yield item

    def chunks(self, nodes: Collection[int] | None = None, *, jobs: int = 1) -> Iterator[bytes]:
        """The text of the matching records, one JSON line each, in chunks of whole lines; `jobs` threads look for them
        and print them.

        If a record is damaged, those before it are yielded, and then its error is raised.  `nodes`: only these leaves
        of the schema tree (None: all).  A `Printed` is the text of some records and the error after them, or None.
        """

        def blocks(loading: Loading) -> Iterator[Callable[[], Printed]]:
            """Calls that each print the matches in one block of a table's rows."""
            searched = SharedSearch(self.plan, *loading, nodes)
            return (partial(searched.chunks, start, stop) for start, stop in searched.blocks())

        def run(small: RunSearch, first: int, stop: int, tables: Sequence[TablePlan]) -> Printed:
            """Print the matches in a run of small tables at once, or table by table if one cannot be read."""
            found = small.chunks(first, stop, tables)
            if found is None:
                found = printed(given(block() for loading in self._loading(tables) for block in blocks(loading)))
            return found

        def given(parts: Generator[Printed]) -> Iterator[bytes]:
            """Yield the text of the parts, up to an error, which is raised."""
            with closing(parts):  # ends its threads if the caller stops early
                for out, error in parts:
                    yield from out
                    if error is not None:
                        raise error

        def pieces() -> Iterator[Callable[[], Printed]]:
            """Yield the calls for the threads; the first reads the dictionary that matches are printed with."""
            if jobs != 1 and self._filled:
                yield partial(warm, self.archive)
            # Runs of small tables are printed by the kernel, with all columns.
            yield from self._pieces(self._filled, nodes, run, blocks, jobs, together=nodes is None)

        return given(map_ordered(lambda piece: piece(), pieces(), jobs))

    def ordered_chunks(self, nodes: Collection[int] | None = None, roots: Roots = ()) -> Iterator[bytes]:
        """Yield the matching records as JSON lines in the order of the input, as far as the archive recorded it."""
        pending: list[bytes] = []
        for line in self.lines(ordered=True, nodes=nodes, roots=roots):
            pending.append(line)
            if len(pending) == LINES_AT_ONCE:
                yield b"".join(pending)
                pending.clear()
        if pending:
            yield b"".join(pending)


def resolve_projection(archive: TableArchive, columns: Sequence[str], *, known: bool = True) -> frozenset[int]:
    """Return the leaf nodes (those with values) that `--projection` columns name.

    Where the archive is part of a stream and lacks a column, these are nodes of other parts, unless `known` is False.

    Every key but the last must be that of an object.  Raises `QueryError` for a string that is not a column path, for
    wildcards, and for a column that is named twice.
    """
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
        found = _values_named(archive.schema_tree, column)
        nodes.update(found or (_values_named(archive.known_tree, column) if known else ()))
    return frozenset(nodes)


def unprojected(archive: TableArchive, column: str, roots: Roots = ()) -> list[str]:
    """Return in words the kinds of values that a projection of `column` omits, as `clp-s` does.

    `roots`: the roots of the tree that make up a record (empty: the root object).
    """
    tree, named = archive.schema_tree, parse_column(column)
    types = {tree.types[node] for node in _nodes_named(tree, named)}
    words = {NodeType.STRUCTURED_ARRAY: "arrays that are stored as columns", NodeType.OBJECT: "objects"}
    found = [word for type, word in words.items() if type in types]
    if types and named.namespace.encode() not in ({key for key, _ in roots} or {b""}):
        found.append("auto-generated keys" if named.namespace else "keys of the user")
    return found


def _values_named(tree: SchemaTree, column: Column) -> list[int]:
    """Return the nodes with values that a column names."""
    return [node for node in _nodes_named(tree, column) if tree.types[node] in LITERAL_TYPES]


def _nodes_named(tree: SchemaTree, column: Column) -> list[int]:
    """Return the nodes that the last key of a column names, of any type; the other keys must be those of objects."""
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
