"""Printing records: from a table's columns and its template to the exact text of `clp-s x`.

The template (see `template`) is a list of tokens, such as "open an object" or "the value of column 3".  It becomes a
program of the kernel (see `program`) that prints a row: literals with the text between two values, and the values.
`kind` is that of a token.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import repeat
from typing import Any, Protocol

from exhume.errors import ExhumeError
from exhume.formats.clp_s.read.columns import Column
from exhume.formats.clp_s.read.kernel import LITERAL, ClpsProgram, Fault
from exhume.formats.clp_s.read.program import clps_escape
from exhume.formats.clp_s.read.template import Kind, Roots, SchemaLayout, Token

CHUNK_SIZE = 1 << 20
"""Bytes of text after which a chunk ends (a chunk always holds whole records)."""

# JSON text of the tokens without a value of their own.
_CONSTANTS = {Kind.NULL: b"null", Kind.EMPTY_OBJECT: b"{}", Kind.EMPTY_ARRAY: b"[]"}
_OPENERS = {Kind.OBJECT: b"{", Kind.ARRAY: b"["}
_CLOSERS = {Kind.OBJECT: b"}", Kind.ARRAY: b"]"}


def operations(
    tokens: Sequence[Token], column_at: Callable[[int], Column], *, complete: bool, exact: bool = False
) -> tuple[list[tuple[object, ...]], list[int]]:
    """Return kernel operations that print one record and a newline, and for each the index of its column (-1: a
    literal).

    `column_at` returns a column by its index; `complete`: print the empty keys that upstream leaves out, too; `exact`:
    print floats with all their digits, see `Column.operation`.
    """
    ops: list[tuple[object, ...]] = []
    owners: list[int] = []
    literal = bytearray()
    opened: list[Kind] = []  # the open objects and arrays
    first = True  # no comma before the next member
    # Everything between two columns is collected in `literal`.
    for token in tokens:
        if token.kind is Kind.CLOSE:
            literal += _CLOSERS[opened.pop()]
            first = False
            continue
        if not first:
            literal += b","
        if token.key is not None and (complete or not token.bare):
            literal += b'"' + clps_escape(token.key) + b'":'
        first = False
        if token.kind in _OPENERS:
            literal += _OPENERS[token.kind]
            opened.append(token.kind)
            first = True
        elif token.kind in _CONSTANTS:
            literal += _CONSTANTS[token.kind]
        else:
            column = column_at(token.column)
            if column.quoted:
                literal += b'"'
            ops += [(LITERAL, bytes(literal)), column.operation(exact=exact)]
            owners += [-1, token.column]
            # The closing quote begins the text after the value.
            literal = bytearray(b'"' if column.quoted else b"")
    literal += b"\n"
    ops.append((LITERAL, bytes(literal)))
    owners.append(-1)
    return ops, owners


class LoadedTable(Protocol):
    """A loaded table, as its printer sees it; see `tables.TableData`."""

    layout: SchemaLayout

    @property
    def num_messages(self) -> int:
        """Number of records."""

    def column_at(self, index: int) -> Column:
        """The column of `layout.columns[index]`."""


class TableRenderer:
    """Prints any rows of one table.

    `nodes` keeps only these leaf nodes and structured arrays (a projection); `complete` also prints what upstream
    does not (root arrays, auto-generated keys, empty keys of containers inside arrays); `roots` lists the root nodes of
    the schema tree that belong to records (default: the root object).
    """

    def __init__(
        self, data: LoadedTable, *, nodes: Collection[int] | None = None, complete: bool = False, roots: Roots = ()
    ) -> None:
        """Compile the program that prints the rows of `data`; for the options see the class."""
        self.data = data
        self.tokens: list[Token] = data.layout.tokens(complete=complete, nodes=nodes, roots=roots)
        # `_owners`: by operation, the index of the column that it prints.
        ops, self._owners = operations(self.tokens, data.column_at, complete=complete)
        self.program: ClpsProgram = ClpsProgram(ops, data.num_messages)

    def chunks(
        self, start: int = 0, stop: int | None = None, max_size: int = CHUNK_SIZE, *, mask: bytes | None = None
    ) -> Iterator[bytes]:
        """Yield the text of rows `[start, stop)`, each with its newline, in chunks of whole records.

        `mask` has one byte for each of these rows: rows with a 0 are left out.  If a row cannot be printed, the rows
        before it are yielded, and then its error is raised.
        """
        stop = self.data.num_messages if stop is None else min(stop, self.data.num_messages)
        first = start
        while start < stop:
            # `start` moves to the first row that is not printed yet.
            text, start, fault = self.program.render(start, stop, max_size, mask and mask[start - first :])
            if text:
                yield text
            if fault is not None:
                raise self.failure(fault)

    def lines(self, rows: Sequence[int]) -> list[bytes]:
        """The text of each given row (any order, repeats allowed), each with its newline.

        Raises the error of the first row that cannot be printed; `IndexError` for a row that does not exist.
        """
        lines, fault = self.program.lines(rows)
        if fault is not None:
            raise self.failure(fault)
        return lines

    def failure(self, fault: Fault) -> ExhumeError:
        """Return the error for a fault of the kernel, which names the operation; its column knows the position."""
        _, operation, *_ = fault
        return self.data.column_at(self._owners[operation]).failure(fault)


def _closed(kind: Kind, keys: list[str], members: list[Any], rows: int) -> list[Any]:
    """Return the arrays or objects of all rows; `members` has a list for each member, with its value in each row."""
    if not members:
        return [[] if kind is Kind.ARRAY else {} for _ in range(rows)]
    if kind is Kind.ARRAY:
        return [list(row) for row in zip(*members, strict=True)]
    return [dict(zip(keys, row, strict=True)) for row in zip(*members, strict=True)]


def build_objects(
    tokens: Sequence[Token], columns: Sequence[Column], rows: int, chosen: Sequence[int] | None = None
) -> list[Any]:
    """Return the records of a table as Python objects, built column by column from the inside out.

    `rows` is the number of records, `chosen` their row numbers (default: all rows of the table).

    Where an object has two members of the same name (equal keys with values of different types), the last one counts,
    as for `json.loads`.
    """
    # The objects and arrays that are open: token, keys of its members so far, and the values of each member by row.
    opened: list[tuple[Token, list[str], list[Any]]] = []
    result: list[Any] = []

    def add(key: bytes | None, values: Any) -> None:
        """Add a member with its values to the innermost open container; without one, it is the record itself."""
        if not opened:
            result.extend(values)
            return
        _, keys, members = opened[-1]
        if key is not None:
            keys.append(key.decode("utf-8", "surrogateescape"))
        members.append(values)

    for token in tokens:
        match token.kind:
            case Kind.OBJECT | Kind.ARRAY:
                opened.append((token, [], []))
            case Kind.CLOSE:
                opener, keys, members = opened.pop()
                add(opener.key, _closed(opener.kind, keys, members, rows))
            case Kind.COLUMN:
                add(token.key, columns[token.column].objects(chosen))
            case Kind.NULL:
                add(token.key, list(repeat(None, rows)))
            case Kind.EMPTY_OBJECT:
                add(token.key, [{} for _ in range(rows)])
            case Kind.EMPTY_ARRAY:
                add(token.key, [[] for _ in range(rows)])
    return result
