"""Records as Arrow record batches, column by column: no record and no JSON text is built.

One Arrow column per key path (dots in keys escaped), in the order of the schema tree:

| values of the path | Arrow type |
|---|---|
| integers | int64 |
| floats, or integers and floats | float64 |
| booleans | bool |
| strings | dictionary of string; its entries are those that the batch uses |
| timestamps (0.5.0 on) | timestamp[ns, UTC] |
| date strings (up to 0.4.1) | timestamp[ms, UTC]; large_string when a pattern holds epochs of unknown unit |
| arrays | large_string, their JSON text |
| only nulls | null |
| anything mixed | large_string, the text of each value |

Auto-generated keys have columns that start with `@`.  Records that lack a path have null there, and so do those whose
value is an empty object.

A table has the records with one schema (list of nodes of the schema tree; a node is a key path and a type).  Tables are
small if records have many schemas (hundreds in one log), and most of the cost of a record batch is per column, not per
row: so the rows of many tables, a group, go into one batch.  A field is a column of the result, and may have the values
of several nodes.  A run is the layout of a structured array (one that is stored as columns).

Counted as lost (see `exhume.tabular.arrow`): strings that are not UTF-8, whose bad bytes are replaced; integers that
float64 cannot represent; floats whose text is not a number (null); values of mixed columns that are not strings; all
but the last value of a key that a record has twice.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Unpack

from exhume.errors import ExhumeError
from exhume.formats.clp_s.layout import COLUMN_TYPES, NodeType
from exhume.formats.clp_s.query import QueryOptions
from exhume.formats.clp_s.read.arrow_columns import ArrowField, ColumnMaker, RowNumbers, TablePart
from exhume.formats.clp_s.read.arrow_wide import Source, all_rows, sources, wide_rows
from exhume.formats.clp_s.read.blocks import WITH_VARIABLES, Prefetcher, SharedValue, text_rows
from exhume.formats.clp_s.read.together import KernelTables
from exhume.io.parallel import map_ordered
from exhume.tabular import wide
from exhume.tabular.arrow import BATCH_ROWS, TableOptions, check_rows, choose, import_pyarrow

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.search import Search
    from exhume.formats.clp_s.read.tables import Table, TableArchive

    # The rows of one batch: tables (each decompressed when it is needed), and which of their rows.
    Group = list[tuple["Source", RowNumbers]]

GROUP_BYTES: Final = 64 << 20
"""Limit in bytes of the decompressed tables that form one batch, and of its records as text, estimated from their
average size.  They are kept until the batch is complete."""

MANY: Final = 256
"""Number of tables from which on their schemas are read by the kernel, not as an object for each."""

MOST_CELLS: Final = 16 << 20
"""Most rows times columns of a batch: one with many columns has fewer rows than were requested."""

WHOLE_DICTIONARY: Final = WITH_VARIABLES - {NodeType.VAR_STRING}
"""Types whose columns need all of the variable dictionary; others may need its beginning only."""

_INTEGERS: Final = frozenset({NodeType.INTEGER, NodeType.DELTA_INTEGER})
_FLOATS: Final = frozenset({NodeType.FLOAT, NodeType.FORMATTED_FLOAT, NodeType.DICTIONARY_FLOAT})
_STRINGS: Final = frozenset({NodeType.VAR_STRING, NodeType.CLP_STRING, NodeType.DATE_STRING})
_ARRAYS: Final = frozenset({NodeType.UNSTRUCTURED_ARRAY, NodeType.STRUCTURED_ARRAY})
_EPOCH_PATTERNS: Final = frozenset({b"%E", b"%F"})
"""Timestamp patterns up to 0.4.1 whose times are epochs of unknown unit."""


class ClpSTableOptions(TableOptions, QueryOptions, total=False):
    """Options of `to_arrow`, which documents them."""

    query: str | None
    dictionaries: bool
    jobs: int
    widest: int | None


def to_arrow(
    archive: TableArchive,
    *,
    columns: Iterable[str] | None = None,
    query: str | None = None,
    dictionaries: bool = True,
    batch_rows: int = BATCH_ROWS,
    losses: Counter[str] | None = None,
    jobs: int = 1,
    widest: int | None = None,
    **options: Unpack[QueryOptions],
) -> Any:
    """A streaming `pyarrow.RecordBatchReader` over all tables, in table order; see the module for the types.

    `columns` selects key paths, in this order.  With a KQL `query`, only tables that can match are read, and only
    matching records are returned; further options are those of `ClpSArchive.search`.  `dictionaries=False` makes
    strings plain large_string.  `jobs` threads make batches (0: one per core), which are identical for any number.

    With more than `widest` columns (None: never), unless `columns` names some, the rows are maps instead, see
    `exhume.tabular.wide`; one thread makes them.

    Raises `EntryNotFoundError` for a path that no record has, `QueryError`, and `MissingDependencyError` without
    pyarrow; damage is raised by the batch that meets it.
    """
    check_rows(batch_rows)
    search: Search | None = None
    if query is not None or options:
        from exhume.formats.clp_s.query.search import chosen

        search = chosen(archive, query, options, jobs)
    by_name = {item.name: item for item in _fields(archive)}
    fields = [by_name[name] for name in choose(by_name, columns)]  # all, or the `columns`
    nodes = {node for item in fields for node in item.nodes}
    counted: Counter[str] = Counter() if losses is None else losses
    if widest is not None and columns is None and len(fields) > widest:
        pa = import_pyarrow()
        # Each row as pairs of path and value, of all records or of those that match.
        if search is None:
            rows = all_rows(archive, nodes)
        else:
            rows = wide_rows(archive, _tables(archive, search, nodes), nodes)
        return pa.RecordBatchReader.from_batches(wide.schema(), wide.batches(rows, batch_rows, counted))
    # Importing pyarrow takes as long as decompressing a table: do both at the same time.
    if jobs != 1 and search is None and "pyarrow" not in sys.modules:
        _prefetch_first(archive, fields, nodes, jobs)
    pa = import_pyarrow()
    schema = _choose_types(pa, archive, fields, dictionaries)
    # Rows of a batch: as many as are requested, or whose text is about GROUP_BYTES, or that have MOST_CELLS values.
    most = min(batch_rows, text_rows(archive, GROUP_BYTES), max(1, MOST_CELLS // max(1, len(fields))))
    groups = _groups(_tables(archive, search, nodes), most)
    return pa.RecordBatchReader.from_batches(schema, _batches(pa, archive, groups, fields, schema, counted, jobs))


def _prefetch_first(archive: TableArchive, fields: list[ArrowField], nodes: set[int], jobs: int) -> None:
    """Begin to read the first table with records in the background; `nodes` are those of the `fields`."""
    first = next((table for table in archive.tables if table.num_messages), None)
    if first is not None:
        Prefetcher(archive, jobs).table(first, nodes, variables=bool(_used(fields) & WHOLE_DICTIONARY))


def _choose_types(pa: Any, archive: TableArchive, fields: list[ArrowField], dictionaries: bool) -> Any:
    """Set the Arrow types of the fields, and return the `pyarrow.Schema`.

    `pa` is pyarrow, which is imported late; `dictionaries`: whether strings are a dictionary.
    """
    known: dict[Any, Any] = {}
    for item in fields:
        made = _arrow_type(pa, archive, item, dictionaries)
        item.arrow_type = known.setdefault(made, made)  # equal types are one object, by which nulls are shared
        item.mixed = _is_mixed(pa, item)
    return pa.schema([pa.field(item.name, item.arrow_type) for item in fields])


def _fields(archive: TableArchive) -> list[ArrowField]:
    """The columns that the records of all tables need, by key path, in tree order."""
    tree = archive.schema_tree
    used: set[int] = set()  # nodes of values in objects
    runs: set[int] = set()  # nodes of structured arrays
    tables = archive.tables if len(archive.tables) < MANY else _odd_tables(archive, used)
    for table in tables:
        if table.num_messages and table.entry.problem is None:
            used.update(table.layout.schema.ordered)
            runs.update(table.layout.runs)
    stored = COLUMN_TYPES | {NodeType.NULL_VALUE}
    used = {node for node in used if tree.types[node] in stored} | runs
    if tree.log_event_idx is not None:
        used.discard(tree.log_event_idx)  # the number of the record is not content
    found: dict[str, ArrowField] = {}
    for node in sorted(used):
        name = tree.path_text(node)
        item = found.setdefault(name, ArrowField(name, []))
        item.nodes.append(node)
        item.types.add(tree.types[node])
    return list(found.values())


def nodes_by_name(archive: TableArchive) -> dict[str, list[int]]:
    """The names of the columns in Arrow, each with the nodes of the schema tree that have its values (for exports)."""
    return {item.name: item.nodes for item in _fields(archive)}


def _odd_tables(archive: TableArchive, used: set[int]) -> Iterator[Table]:
    """Add the nodes of all schemas that tables use to `used`; yield a table of each schema that has other entries.

    These are odd schemas, which have structured arrays or are invalid.  Each schema is examined once.
    """
    together = KernelTables(archive, prints=False)
    odd, columns, problems = set(together.odd_schemas()), archive.schemas.columns, together.entries.problems
    chosen = archive.tables
    first = chosen[0].index
    seen: set[int] = set()
    for index in range(first, first + len(chosen)):
        place = together.schema_of[index]  # position of the table's schema among the stored ones; -1: missing
        if place in seen or not together.rows[index] or index in problems:
            continue
        if place < 0 or place in odd:
            yield chosen[index - first]
        else:
            used.update(columns.entries_value(place).tolist())
        seen.add(place)


def _arrow_type(pa: Any, archive: TableArchive, item: ArrowField, dictionaries: bool) -> Any:
    """Return the Arrow type of a column from the node types of its values: the table in the module's docstring."""
    types = item.types - {NodeType.NULL_VALUE}
    if not types:
        return pa.null()
    if types <= _INTEGERS:
        return pa.int64()
    if types <= _INTEGERS | _FLOATS:
        return pa.float64()
    if types == {NodeType.BOOLEAN}:
        return pa.bool_()
    if types == {NodeType.TIMESTAMP}:
        return pa.timestamp("ns", tz="UTC")
    if types == {NodeType.DATE_STRING} and _EPOCH_PATTERNS.isdisjoint(archive.patterns.texts.values()):
        return pa.timestamp("ms", tz="UTC")
    if types == {NodeType.VAR_STRING} and dictionaries:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.large_string()


def _is_mixed(pa: Any, item: ArrowField) -> bool:
    """Whether a column has text because no other type could have all its values: strings, numbers, arrays ..."""
    types = item.types - {NodeType.NULL_VALUE}
    alike = types <= _STRINGS or types <= _ARRAYS or len(types) == 1
    return bool(pa.types.is_large_string(item.arrow_type)) and not alike


def comparable(archive: TableArchive) -> dict[str, str]:
    """The columns whose filters can be translated to KQL, since it compares them as Arrow does, and their types.

    A type is `integer`, `float`, `boolean`, `text` or `time` (nanoseconds since 1970).  Columns of mixed types, arrays
    and the date strings of old archives are not among them.
    """
    found = {}
    kinds = {
        "integer": _INTEGERS,
        "float": _INTEGERS | _FLOATS,
        "boolean": frozenset({NodeType.BOOLEAN}),
        "text": _STRINGS - {NodeType.DATE_STRING},
        "time": frozenset({NodeType.TIMESTAMP}),
    }
    for item in _fields(archive):
        types = item.types - {NodeType.NULL_VALUE}
        kind = next((name for name, possible in kinds.items() if types and types <= possible), None)
        if kind is not None:
            found[item.name] = kind
    return found


def _used(fields: Iterable[ArrowField]) -> set[int]:
    """The types of the nodes that feed the columns."""
    return {kind for item in fields for kind in item.types}


def _batches(
    pa: Any,
    archive: TableArchive,
    groups: Iterator[Group | ExhumeError],
    fields: list[ArrowField],
    schema: Any,
    losses: Counter[str],
    jobs: int,
) -> Iterator[Any]:
    """Yield the record batches of all `groups`, in their order, made by up to `jobs` threads.

    A group may be an error, or have damaged tables: the error is raised after the batches before it.
    `losses` is increased by the values that Arrow cannot represent.
    """

    def make(task: Group | ExhumeError | None) -> tuple[list[tuple[Any, Counter[str]]], ExhumeError | None]:
        """Return `([(batch, losses)], error after them)` of a group; for None, only read the dictionary."""
        if isinstance(task, ExhumeError):
            return [], task
        if task is None:  # a fault in the dictionary is raised by the batch that needs it
            with suppress(ExhumeError):
                archive.texts.variables  # noqa: B018 - reads it
            return [], None
        return BatchMakers(pa, archive, fields, schema).batches(task)

    # The dictionary is read in parallel with the first table, if most of it will be needed.
    first: list[None] = [None] if jobs != 1 and _used(fields) & WHOLE_DICTIONARY else []
    for made, error in map_ordered(make, chain(first, groups), jobs):
        for batch, counts in made:
            losses.update(counts)
            yield batch
        if error is not None:
            raise error


class BatchMakers:
    """Make the batches of one group.  Columns that none of its tables has are nulls, shared by columns of one type."""

    def __init__(self, pa: Any, archive: TableArchive, fields: list[ArrowField], schema: Any) -> None:
        """`schema` is the `pyarrow.Schema` of the `fields`."""
        self._pa, self._archive, self._fields, self._schema = pa, archive, fields, schema
        self._field_of = {node: place for place, item in enumerate(fields) for node in item.nodes}  # index of the field

    def batches(self, group: Group) -> tuple[list[tuple[Any, Counter[str]]], ExhumeError | None]:
        """Return `([(batch, losses)], error after them)`: one batch of all rows of a group, if no table is damaged.

        Else the tables before the damaged one become a batch each.
        """
        with suppress(ExhumeError):
            return [self.batch(group)], None
        # Read the tables as a whole, not in windows of rows: this reports the fault.
        for source, _ in group:
            source.give_up()
        try:
            return [self.batch(group)], None
        except ExhumeError as error:
            if len(group) == 1:
                return [], error
        made: list[tuple[Any, Counter[str]]] = []
        try:
            made.extend(self.batch([part]) for part in group)  # an error leaves those before it
        except ExhumeError as error:
            return made, error
        return made, None

    def batch(self, group: Group) -> tuple[Any, Counter[str]]:
        """Return `(batch, losses)` of the rows of a group."""
        pa, losses = self._pa, Counter[str]()
        with ExitStack() as stack:
            parts = [source.part(stack, rows) for source, rows in group]
            rows = sum(len(part.rows) for part in parts)
            if not self._fields:  # records of nothing but empty objects have no columns, but their number
                return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([]))), losses
            nulls: dict[Any, Any] = {}
            arrays = []
            wanted = self._wanted(parts)
            for place, item in enumerate(self._fields):
                if place in wanted:
                    arrays.append(ColumnMaker(pa, item, self._archive).make(wanted[place], rows, losses))
                    continue
                key = id(item.arrow_type)
                if key not in nulls:
                    nulls[key] = pa.nulls(rows, item.arrow_type)
                arrays.append(nulls[key])
            return pa.RecordBatch.from_arrays(arrays, schema=self._schema), losses

    def _wanted(self, parts: list[TablePart]) -> dict[int, list[tuple[int, TablePart]]]:
        """By index of each field that a table has: the parts (tables with selected rows) that have it, as
        `(first row in the batch, part)`.
        """
        found: dict[int, list[tuple[int, TablePart]]] = {}
        start = 0
        for part in parts:
            for node in chain(part.columns, part.data.layout.runs):
                place = self._field_of.get(node)
                if place is not None:
                    known = found.setdefault(place, [])
                    if not known or known[-1][1] is not part:
                        known.append((start, part))
            start += len(part.rows)
        return found


def _groups(tables: Iterator[tuple[int, Source, RowNumbers]], batch_rows: int) -> Iterator[Group | ExhumeError]:
    """Yield the rows of the tables (items of `_tables`) in groups of `batch_rows`, or fewer that take `GROUP_BYTES`.

    The error of a table that cannot be read is the last item.
    """
    held: Group = []
    free, size = batch_rows, 0  # rows that the group can still have, bytes of its tables
    failure: ExhumeError | None = None
    while failure is None:
        try:
            taken, source, rows = next(tables)
        except StopIteration:
            break
        except ExhumeError as error:
            failure = error
            break
        start = 0
        while start < len(rows):  # over as many groups as its rows take
            part = rows[start : start + free]
            held.append((source, part))
            start += len(part)
            free -= len(part)
            if not free:
                yield held
                held, free, size = [], batch_rows, 0
        size += taken
        if held and size > GROUP_BYTES:
            yield held
            held, free, size = [], batch_rows, 0
    if held:
        yield held
    if failure is not None:
        yield failure


def _tables(archive: TableArchive, search: Search | None, nodes: set[int]) -> Iterator[tuple[int, Source, RowNumbers]]:
    """Yield `(bytes, table, selected rows)` of the tables in stored order, with the columns of at least these `nodes`.

    With a `search`, only its matching rows (`hits.rows`; None: all of them).  A table is decompressed when it is first
    used, by the threads that need it together.
    """
    if search is not None:
        for hits in search.hits(nodes, keep=True):
            rows = range(hits.data.num_messages) if hits.rows is None else hits.rows
            table = hits.data.table
            size = table.size * hits.data.num_messages // max(1, table.num_messages)
            yield size, Source(SharedValue(partial(getattr, hits, "data"))), rows
        return
    yield from sources(archive.tables, nodes)
