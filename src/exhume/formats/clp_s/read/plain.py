"""Text logs out of archives: the bytes that `create` made the records of (see `write.textlog`).

A log line is stored as a record with the keys `KEYS`: the timestamp if the line has one, the message, and `INVALID`
with those of its bytes that are not UTF-8, in hexadecimal.  The line is made of these again here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Final

from exhume.errors import ExhumeError, UnsupportedOperationError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read import kernel
from exhume.formats.clp_s.read.blocks import each_part
from exhume.formats.clp_s.read.records import merge_order
from exhume.formats.clp_s.read.timestamps import PatternSet
from exhume.formats.clp_s.write.textlog import INVALID, KEYS, MESSAGE, TIMESTAMP, original
from exhume.io.values import joined

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.columns import Column
    from exhume.formats.clp_s.read.tables import Table, TableArchive

ROWS: Final = 4096
"""Events (log lines) that are printed at a time."""

# `_TEXTS`: of strings; `_TIMES`: further ones of the timestamp.
_TEXTS = frozenset((NodeType.CLP_STRING, NodeType.VAR_STRING))
_TIMES = frozenset((NodeType.DATE_STRING, NodeType.TIMESTAMP))
"""Node types that the message and the timestamp may have."""


def text_chunks(archive: TableArchive, *, jobs: int = 1) -> Iterator[bytes]:
    """Yield the bytes of the log, in chunks of whole lines; up to `jobs` threads read the tables.

    Raises `UnsupportedOperationError` for archives of other records.
    """
    tables = [table for table in archive.tables if table.num_messages or table.entry.problem is not None]
    places = [_places(table) for table in tables]
    if len(tables) > 1 and archive.schema_tree.log_event_idx is None:
        raise UnsupportedOperationError("written without log order: the order of the lines is unknown")
    patterns = _unquoted(archive.texts.patterns) if any(TIMESTAMP in found for found in places) else None
    # The lines of each table; a table has the lines with the same keys.
    streams = [_events(table, patterns) for table in tables]
    if len(tables) == 1:
        events = streams[0]
    else:
        # `merge_order` names the table of each line in turn: take the next line of that table.
        events = map(next, map(streams.__getitem__, merge_order(tables, jobs)))
    yield from joined(events, ROWS)


def _places(table: Table) -> dict[str, int]:
    """Return the index of the column of each key of `KEYS` in a table.

    Raises `UnsupportedOperationError` if its records are not log lines.
    """
    layout = table.layout
    tree = layout.tree
    root = tree.roots.get((b"", NodeType.OBJECT))
    found: dict[str, int] = {}
    for place, node in enumerate(layout.nodes):
        if node == tree.log_event_idx:
            continue
        key = tree.keys[node].decode("utf-8", "replace")
        fits = tree.types[node] in _TEXTS or (key == TIMESTAMP and tree.types[node] in _TIMES)
        if tree.parents[node] != root or key not in KEYS or key in found or not fits:
            raise UnsupportedOperationError(
                "not a plain-text log", expected=f"records of {', '.join(KEYS)}", actual=tree.path_text(node)
            )
        found[key] = place
    if MESSAGE not in found:
        raise UnsupportedOperationError("not a plain-text log: records without a message")
    return found


def _unquoted(patterns: PatternSet) -> PatternSet:
    """Return the patterns without the quotes that are part of them from 0.5.0 on: a log line has none."""
    if not patterns.nanoseconds:
        return patterns
    texts = {}
    for ident, text in patterns.texts.items():
        if text[:1] != b'"' or text[-1:] != b'"' or len(text) < 2:
            raise UnsupportedOperationError("not a plain-text log: timestamps that are numbers")
        texts[ident] = text[1:-1]
    return PatternSet.build(texts, nanoseconds=True)


def _operation(column: Column, patterns: PatternSet | None) -> tuple[object, ...]:
    """Return the kernel operation that prints a column as plain text; `patterns` replace those of its times."""
    found = column.operation(raw=True)
    return (*found[:-1], patterns.kernel) if found[0] == kernel.TIME and patterns is not None else found


def _lines(
    columns: Sequence[Column], patterns: PatternSet | None, rows: Sequence[int]
) -> tuple[list[bytes], ExhumeError | None]:
    """The joined text of these columns in each row up to one that cannot be printed, and the error of that row.

    `rows`: numbers of the rows to print; `patterns` as for `_operation`.
    """
    program = kernel.ClpsProgram([_operation(column, patterns) for column in columns], columns[0].rows)
    lines, fault = program.lines(rows)
    if fault is None:
        return lines, None
    _, number, _, _ = fault  # (kind, number of the operation, row, bad value)
    return lines, columns[number].failure(fault)


def _events(table: Table, patterns: PatternSet | None) -> Iterator[bytes]:
    """The events of a table as they were in the log; `patterns` as for `_operation`.

    Raises the error of a row after the rows before it.
    """
    places = _places(table)
    for data, chosen in each_part(table):
        rows = range(data.num_messages) if chosen is None else chosen
        # In the order of `KEYS`: the timestamp if there is one, the message, the bytes that are not UTF-8 if any.
        columns = [data.column_at(places[key]) for key in KEYS if key in places]
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            if INVALID in places:
                yield from _repaired(columns, patterns, some)
                continue
            lines, error = _lines(columns, patterns, some)
            yield from lines
            if error is not None:
                raise error


def _repaired(columns: Sequence[Column], patterns: PatternSet | None, rows: Sequence[int]) -> Iterator[bytes]:
    """Yield these rows of a table with `INVALID`, whose bytes are put back into the messages; see `_events`.

    `columns`: the timestamp if there is one, the message, and `INVALID`.
    """
    found = [_lines([column], patterns, rows) for column in columns]
    texts = [lines for lines, _ in found]
    *first, messages, invalids = texts
    stamps: Iterable[bytes] = first[0] if first else repeat(b"")
    for stamp, message, invalid in zip(stamps, messages, invalids, strict=False):
        try:
            yield original(stamp, message, invalid)
        except ValueError:
            raise UnsupportedOperationError(
                f"not a plain-text log: {INVALID} does not fit the message", actual=invalid
            ) from None
    # The columns may fail in different rows: the lines ended before the first of these.
    _, error = min(found, key=lambda pair: len(pair[0]))
    if error is not None:
        raise error
