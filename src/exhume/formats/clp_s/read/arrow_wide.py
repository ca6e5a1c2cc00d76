"""Rows for Arrow: the source of a table's rows, and rows as maps for archives with very many keys.

Maps (of key path to value) are for archives in which N records have N different keys: as columns, these would take N
times N cells.  See `exhume.tabular.wide`.

Such archives have a table per record (a table has all records with the same keys), so small tables are read by one call
of the kernel for a whole run: consecutive tables in one decompressed stream.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import ExhumeError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read.arrow_columns import RowNumbers, TablePart, run_program
from exhume.formats.clp_s.read.blocks import BLOCK_BYTES, SharedValue, TableWindows
from exhume.formats.clp_s.read.together import ALONE, MOST_TABLES, READ, ROW_BYTES, SKIP, KernelTables, RunSource
from exhume.formats.clp_s.read.windows import columns_of, is_large

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.columns import Column
    from exhume.formats.clp_s.read.tables import Table, TableArchive, TableData
    from exhume.tabular.wide import Pair

ROWS: Final = 1024
"""Rows of a table whose values are turned into objects at a time."""


LEAST: Final = 4
"""Number of small tables from which on one call of the kernel reads all of them: for fewer the call costs more."""


class Source:
    """Source of a table's rows: the loaded table `data`, or, for a large `table`, windows of some rows.

    Windows contain only the columns of `nodes`.
    """

    def __init__(self, data: SharedValue[TableData], table: Table | None = None, nodes: Collection[int] = ()) -> None:
        self._data = data
        self._windowed = TableWindows(table) if table is not None and is_large(table) else None
        self._nodes = nodes

    def part(self, stack: ExitStack, rows: RowNumbers) -> TablePart:
        """Return some rows of the table, valid until the stack is closed.  Propagates the errors of reading.

        A window is used only for a range: other row numbers may be anywhere in the table.
        """
        windows = self._windowed.get() if self._windowed is not None and isinstance(rows, range) and rows else None
        if windows is None:
            return TablePart(self._data.get(), rows)
        found = stack.enter_context(windows.rows(rows[0], rows[-1] + 1))
        return TablePart(found.window(columns_of(windows.layout, self._nodes)), range(len(rows)))

    def give_up(self) -> None:
        """Read the table as a whole from now on, because a window failed: this reports the fault in it."""
        self._windowed = None


def sources(tables: Iterable[Table], nodes: Collection[int]) -> Iterator[tuple[int, Source, RowNumbers]]:
    """Yield for each table with rows, in stored order: its size in bytes, its source, and the numbers of all rows.

    `nodes`: the schema tree nodes whose columns will be read.  Raises the error of a table whose place in its stream is
    invalid.
    """
    for table in tables:
        if table.entry.problem is not None:
            raise table.entry.problem
        if table.num_messages:
            data = SharedValue(partial(table.load, nodes), partial(table.share, nodes))
            yield table.size, Source(data, table, nodes), range(table.num_messages)


def wide_rows(
    archive: TableArchive, tables: Iterable[tuple[int, Source, RowNumbers]], nodes: Collection[int]
) -> Iterator[Iterable[Pair]]:
    """Yield groups of rows; a row is pairs of key path and value, for the values of `nodes`.

    If a record has a key twice, the last value counts.  `tables` are those of `sources`, whose sizes are not used.
    Propagates errors of tables, after the rows before.
    """
    tree, known = archive.schema_tree, frozenset(nodes)
    for _, source, rows in tables:
        for start in range(0, len(rows), ROWS):
            chosen = rows[start : start + ROWS]
            try:
                made = _values(source, chosen, known)
            except ExhumeError:  # in a window: the table reports the fault
                source.give_up()
                made = _values(source, chosen, known)
            yield from _rows(list(map(tree.path_text, made)), list(made.values()), len(chosen))


def _rows(names: list[str], columns: Sequence[Sequence[Any]], count: int) -> Iterable[Iterable[Pair]]:
    """Yield the `count` rows of these columns as pairs of name and value."""
    # A key that a record has twice: the dict keeps its last value.
    if len(set(names)) < len(names):
        return (dict(zip(names, row, strict=True)).items() for row in zip(*columns, strict=True))
    if names:
        return (zip(names, row, strict=True) for row in zip(*columns, strict=True))
    return repeat((), count)  # none of the wanted keys: empty rows


def all_rows(archive: TableArchive, nodes: Collection[int]) -> Iterator[Iterable[Pair]]:
    """Yield the rows of all tables as `wide_rows` does; values of small tables are gathered together."""
    # For each node type, a mask of the wanted nodes: the kernel reads values of one type at a time.
    together = KernelTables(archive, prints=False)
    types = archive.schema_tree.types
    wanted: dict[int, bytearray] = {}
    for node in nodes:
        if ROW_BYTES[types[node]]:
            wanted.setdefault(types[node], bytearray(len(types)))[node] = 1
    # The index of the first table, which is not 0 if only a part of the archive is read
    before = archive.tables[0].index if len(archive.tables) else 0
    for first, stop in together.runs(BLOCK_BYTES, MOST_TABLES):
        run: Sequence[Iterable[Iterable[Pair]] | None] = [None] * (stop - first)  # None: to be read alone
        if stop - first >= LEAST:
            try:
                run = _gathered(archive, together, first, stop, wanted)
            except ExhumeError:  # the table reports the fault
                pass
        for index, rows in enumerate(run, first):
            if rows is None:
                rows = wide_rows(archive, sources([archive.tables[index - before]], nodes), nodes)
            yield from rows


def _gathered(
    archive: TableArchive, together: KernelTables, first: int, stop: int, wanted: dict[int, bytearray]
) -> list[Iterable[Iterable[Pair]] | None]:
    """Return the rows of each table of a run (`first` to `stop`); None for a table that has to be read alone.

    `wanted`: by node type, a byte for each node, 1 for those whose values are wanted.  Raises the error of a value that
    cannot be decoded, without its position.
    """
    source = RunSource(archive, archive.stream_span(together.entries.stream_ids[first]), sum(together.rows[first:stop]))
    # The kernel marks tables that have to be read alone.  Then all types are read again, because those that were read
    # before such a table was noticed have values of it.
    chosen, again = bytearray([READ]) * (stop - first), True
    columns: dict[int, Column] = {}
    while again:
        columns = {
            kind: together.gathered(source, first, stop, chosen, kind, nodes).column for kind, nodes in wanted.items()
        }
        again = ALONE in chosen
        chosen = chosen.replace(bytes([ALONE]), bytes([SKIP]))
    # The values of a type are those of all tables in sequence: each table takes as many of them as it has rows.
    values = {kind: iter(_objects(column)) for kind, column in columns.items()}
    nodes_of, tree = archive.schemas.columns.entries_value, archive.schema_tree
    found: list[Iterable[Iterable[Pair]] | None] = []
    for table, is_chosen in enumerate(chosen, first):
        count = together.rows[table]
        if not is_chosen or not count:
            # Not read here; a table that was read but has no records has no rows.
            found.append(None if count or not is_chosen else ())
            continue
        names, cells = [], []
        for node in nodes_of(together.schema_of[table]).tolist():
            kind = tree.types[node]
            if kind in wanted and wanted[kind][node]:
                names.append(tree.path_text(node))
                cells.append(list(islice(values[kind], count)))
        found.append(_rows(names, cells, count))
    return found


def _objects(column: Column, rows: RowNumbers | None = None) -> Sequence[Any]:
    """Return values of a column as `tabular.wide` takes them: an array as JSON text in UTF-8; default: all rows."""
    if column.type == NodeType.UNSTRUCTURED_ARRAY:
        return list(map(_utf8, column.strings(rows)))
    return column.objects(rows)


def _values(source: Source, rows: RowNumbers, nodes: frozenset[int]) -> dict[int, Sequence[Any]]:
    """Return the values of rows by node, for those of `nodes` that the table has.  Propagates errors of reading."""
    found: dict[int, Sequence[Any]] = {}
    with ExitStack() as stack:
        part = source.part(stack, rows)
        for node, index in part.columns.items():
            if node in nodes:
                found[node] = _objects(part.data.column_at(index), part.rows)
        # Structured arrays are several columns; the value is the JSON text of the array.
        for node in part.data.layout.runs:
            if node in nodes:
                program, owners = run_program(part, node)
                lines, fault = program.lines(part.rows)
                if fault is not None:
                    _, operation, _, _ = fault  # (kind, index of the operation, row, bad value)
                    raise part.data.column_at(owners[operation]).failure(fault)
                found[node] = list(map(_utf8, lines))
    return found


def _utf8(text: bytes) -> bytes:
    """The JSON text of an array in UTF-8: bytes that are not become U+FFFD."""
    return text if text.isascii() else text.decode("utf-8", "replace").encode()
