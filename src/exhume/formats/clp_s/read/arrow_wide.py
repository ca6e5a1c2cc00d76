"""Rows for Arrow: where they are taken from, and as maps where an archive has very many keys.

See `exhume.tabular.wide`: a table of N records that each have another key is N times N cells as columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import ExhumeError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read.arrow_columns import RowNumbers, TablePart, run_program
from exhume.formats.clp_s.read.windowed import Shared, Windowed
from exhume.formats.clp_s.read.windows import columns_of, is_large

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import Table, TableArchive, TableData
    from exhume.tabular.wide import Pair

ROWS: Final = 1024
"""Rows of a table whose values are objects at the same time."""


class Source:
    """Where rows of a table are taken from: of a large one, from windows of the columns that these nodes have."""

    def __init__(self, data: Shared[TableData], table: Table | None = None, nodes: Collection[int] = ()) -> None:
        self._data = data
        self._windowed = Windowed(table) if table is not None and is_large(table) else None
        self._nodes = nodes

    def part(self, stack: ExitStack, rows: RowNumbers) -> TablePart:
        """Some rows of it, until the stack is closed.  Raises what keeps them from being read."""
        windows = self._windowed.get() if self._windowed is not None and isinstance(rows, range) and rows else None
        if windows is None:
            return TablePart(self._data.get(), rows)
        found = stack.enter_context(windows.rows(rows[0], rows[-1] + 1))
        return TablePart(found.window(columns_of(windows.layout, self._nodes)), range(len(rows)))

    def give_up(self) -> None:
        """From now on the table is read as a whole, which reports what is wrong with it."""
        self._windowed = None


def wide_rows(
    archive: TableArchive, tables: Iterable[tuple[int, Source, RowNumbers]], nodes: Collection[int]
) -> Iterator[Iterable[Pair]]:
    """The rows of tables as pairs of key path and value, of these nodes.

    Where a record has a key twice, the last value counts.  Propagates errors of tables, after the rows before.
    """
    tree, known = archive.schema_tree, frozenset(nodes)
    for _, source, rows in tables:
        for start in range(0, len(rows), ROWS):
            chosen = rows[start : start + ROWS]
            try:
                made = _values(source, chosen, known)
            except ExhumeError:  # in a window: the table reports what is wrong
                source.give_up()
                made = _values(source, chosen, known)
            names = list(map(tree.path_text, made))
            if len(set(names)) < len(names):
                yield from (dict(zip(names, row, strict=True)).items() for row in zip(*made.values(), strict=True))
            elif names:
                yield from (zip(names, row, strict=True) for row in zip(*made.values(), strict=True))
            else:
                yield from repeat((), len(chosen))


def _values(source: Source, rows: RowNumbers, nodes: frozenset[int]) -> dict[int, Sequence[Any]]:
    """The values of rows by node."""
    found: dict[int, Sequence[Any]] = {}
    with ExitStack() as stack:
        part = source.part(stack, rows)
        for node, index in part.columns.items():
            if node in nodes:
                column = part.data.column_at(index)
                is_array = column.type == NodeType.UNSTRUCTURED_ARRAY
                found[node] = list(map(_utf8, column.strings(part.rows))) if is_array else column.objects(part.rows)
        for node in part.data.layout.runs:
            if node in nodes:
                program, owners = run_program(part, node)
                lines, fault = program.lines(part.rows)
                if fault is not None:
                    raise part.data.column_at(owners[fault[1]]).failure(fault)
                found[node] = list(map(_utf8, lines))
    return found


def _utf8(text: bytes) -> bytes:
    """The JSON text of an array in UTF-8: bytes that are not become U+FFFD."""
    return text if text.isascii() else text.decode("utf-8", "replace").encode()
