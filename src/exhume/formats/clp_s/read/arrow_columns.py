"""One Arrow column of the rows of many tables; see `exhume.formats.clp_s.arrow` for the types.

An archive stores its records in tables, one for each set of keys (schema), column by column.  A column of the result is
joined from the parts of several tables: NumPy copies their values into one buffer, with a mask of the rows that have a
value.  Strings are ids of an archive-wide dictionary: they are numbered again for the result column, and the entries in
use are joined once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import LimitExceededError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read.kernel import ClpsProgram
from exhume.formats.clp_s.read.render import operations
from exhume.formats.clp_s.read.template import CLOSE, Kind, Token
from exhume.tabular.arrow import BAD_TEXT, MIXED, ROUNDED, text_array

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.columns import Column
    from exhume.formats.clp_s.read.tables import TableArchive, TableData

# Losses, as they are shown to the user: keys of the counters below.
REPEATED: Final = "values of keys that a record has twice"
NO_NUMBER: Final = "floats that are no numbers"
EXACT: Final = 1 << 53
"""Up to this (and down to its negative) float64 can represent every integer."""

RowNumbers = range | Sequence[int]
"""Rows of a table by number: a range, or a list, such as the rows that a search found."""
# Node types whose values are strings in the record: as text, they lose nothing.
_STRINGS: Final = frozenset({NodeType.VAR_STRING, NodeType.CLP_STRING, NodeType.DATE_STRING})


@dataclass(slots=True)
class ArrowField:
    """An Arrow column and the schema tree nodes that feed it (the schema tree has one node per key path and type)."""

    name: str
    nodes: list[int]
    types: set[int] = field(default_factory=set)
    """The node types of `nodes`, see `NodeType`."""
    arrow_type: Any = None
    """A `pyarrow.DataType`; None until it was chosen."""
    mixed: bool = False
    """Whether the values have several types, and are stored as text therefore."""


class TablePart:
    """Rows of one table; `columns` maps each node outside of arrays to the index of its column."""

    __slots__ = ("columns", "data", "rows")

    def __init__(self, data: TableData, rows: RowNumbers) -> None:
        self.data: TableData = data
        self.rows: RowNumbers = rows
        self.columns: dict[int, int] = data.layout.by_node


class ColumnPiece:
    """One table's share of a column: rows `[start, stop)` of the batch.

    The values are those of `column`, or, if that is None, of the structured array of the node `run` (an array stored as
    several columns, one for each value in it).
    """

    __slots__ = ("column", "part", "run", "start", "stop")

    def __init__(self, part: TablePart, start: int, column: Column | None, run: int) -> None:
        """Put the rows of `part` at row `start` of an Arrow column.

        `column`: the table's column, None for a structured array.  `run`: the node of that array, else -1.
        """
        self.part: TablePart = part
        self.start: int = start
        self.stop: int = start + len(part.rows)
        self.column: Column | None = column
        self.run: int = run


class ColumnMaker:
    """Makes the Arrow arrays of one field, for one thread at a time.

    `pieces` are the shares that several tables have in the column, `rows` is the number of rows of the batch.
    """

    pa: Any

    def __init__(self, pa: Any, item: ArrowField, archive: TableArchive) -> None:
        """Choose the function that fills the arrays, by the field's Arrow type (`pa` is the module `pyarrow`)."""
        import numpy

        self.pa = pa
        self.np: Any = numpy
        self.item = item
        self.archive = archive
        self.lost: Counter[str] = Counter()  # by kind of loss: values of the batch that the column cannot hold
        kind = item.arrow_type
        if pa.types.is_null(kind):
            self._fill = None
        elif pa.types.is_dictionary(kind):
            self._fill = self._dictionary
        elif pa.types.is_large_string(kind):
            self._fill = self._text
        elif pa.types.is_boolean(kind):
            self._fill = self._booleans
        else:
            self._fill = self._numbers

    def make(self, parts: Sequence[tuple[int, TablePart]], rows: int, losses: Counter[str]) -> Any:
        """Return the column of a batch of `rows` rows.

        `parts`: the parts that have the field, each with its first row in the batch; other rows are null.  Values that
        the column cannot hold are counted in `losses`.  Raises the error of the first value that cannot be decoded.
        """
        self.lost = losses
        pieces = self._pieces(parts)
        if self._fill is None or not pieces:
            return self.pa.nulls(rows, self.item.arrow_type)
        return self._fill(pieces, rows)

    def _pieces(self, parts: Sequence[tuple[int, TablePart]]) -> list[ColumnPiece]:
        """Return the value of the field in each part; `parts` as for `make`.

        If a part has several columns of the field (a key that a record has twice), the last one is used and the others
        are counted as lost.  So are values of a mixed column that are not strings, as their type is lost.
        """
        item, pieces = self.item, []
        for start, part in parts:
            arrays = part.data.layout.runs  # most tables have no structured array
            runs = [node for node in item.nodes if node in arrays] if arrays else ()
            found = [part.columns[node] for node in item.nodes if node in part.columns]
            if runs:
                pieces.append(ColumnPiece(part, start, None, runs[0]))
            elif found:
                pieces.append(ColumnPiece(part, start, part.data.column_at(found[-1]), -1))
            else:
                continue
            rows = len(part.rows)
            if len(runs) + len(found) > 1:
                self.lost[REPEATED] += (len(runs) + len(found) - 1) * rows
            column = pieces[-1].column
            if item.mixed and (column is None or column.type not in _STRINGS):
                self.lost[MIXED] += rows
        return pieces

    # -- columns of fixed width -----------------------------------------------------------------------------------

    def _valid(self, pieces: Sequence[ColumnPiece], rows: int) -> Any:
        """Return a mask (bool array) of the rows that have a value; None if all do."""
        if sum(piece.stop - piece.start for piece in pieces) == rows:
            return None
        # Pieces do not overlap, so equal sizes above mean that no row is missing.
        valid = self.np.zeros(rows, bool)
        for piece in pieces:
            valid[piece.start : piece.stop] = True
        return valid

    def _bits(self, flags: Any) -> Any:
        """Pack a mask into Arrow's form, one bit per row from the lowest bit on; None stays None (no nulls)."""
        return None if flags is None else self.pa.py_buffer(self.np.packbits(flags, bitorder="little"))

    def _taken(self, values: Any, rows: RowNumbers) -> Any:
        """Return the values of these rows of a NumPy array: a view for a range, else a copy."""
        return values[rows.start : rows.stop] if isinstance(rows, range) else values[self.np.asarray(rows)]

    def _numbers(self, pieces: Sequence[ColumnPiece], rows: int) -> Any:
        """Return an int64, float64 or timestamp array of `rows`; a string that is not a number becomes null.

        `lost` counts those strings, and the integers that a float rounds.
        """
        np, pa = self.np, self.pa
        floats = pa.types.is_floating(self.item.arrow_type)
        out = np.zeros(rows, "<f8" if floats else "<i8")
        wrong: list[int] = []  # rows whose text is not a number
        for piece in pieces:
            column, chosen = piece.column, piece.part.rows
            assert column is not None
            if column.type == NodeType.DICTIONARY_FLOAT:
                # Floats whose exact text is stored, so they come as strings
                found = [_real(text) for text in column.strings(chosen)]
                wrong += [piece.start + row for row, value in enumerate(found) if value is None]
                values = np.array([0.0 if value is None else value for value in found], "<f8")
            elif column.type in (NodeType.FLOAT, NodeType.FORMATTED_FLOAT):
                values = self._taken(np.asarray(column.values), chosen)
            else:
                values = self._taken(np.asarray(column.values), chosen)
                if floats:
                    # Only integers above 2^53 can change, so only those are compared one by one.
                    large = values[(values > EXACT) | (values < -EXACT)]
                    self.lost[ROUNDED] += sum(int(float(value)) != value for value in large.tolist())
            out[piece.start : piece.stop] = values
        valid = self._valid(pieces, rows)
        if wrong:
            valid = np.ones(rows, bool) if valid is None else valid
            valid[wrong] = False
            self.lost[NO_NUMBER] += len(wrong)
        buffers = [self._bits(valid), pa.py_buffer(out)]
        return pa.Array.from_buffers(self.item.arrow_type, rows, buffers)

    def _booleans(self, pieces: Sequence[ColumnPiece], rows: int) -> Any:
        """Return an Arrow array of booleans, as bits; rows outside the pieces are null."""
        np = self.np
        out = np.zeros(rows, bool)
        for piece in pieces:
            assert piece.column is not None
            flags = np.asarray(piece.column.values)
            out[piece.start : piece.stop] = self._taken(flags, piece.part.rows) != 0
        buffers = [self._bits(self._valid(pieces, rows)), self._bits(out)]
        return self.pa.Array.from_buffers(self.item.arrow_type, rows, buffers)

    # -- dictionaries ---------------------------------------------------------------------------------------------

    def _dictionary(self, pieces: Sequence[ColumnPiece], rows: int) -> Any:
        """Return a dictionary array: a list of strings, and for each row the number of its string in the list.

        The list has only the strings that the batch uses.  A string that is not UTF-8 is changed, and counted in
        `lost`.
        """
        np, pa = self.np, self.pa
        ids, count = self._ids(pieces, rows)
        # The ids are in the same order as the entries, so the beginning of the dictionary is enough.
        variables = self.archive.texts.first_variables(count)
        valid = self._valid(pieces, rows)
        try:
            # `codes` (int32): the number of each row's string; `ends` (int32): the end of each string in `text`.
            codes, ends, text = variables.numbered(ids if valid is None else ids[valid])
        except OverflowError as error:
            raise LimitExceededError(
                "the strings of a batch pass 2 GiB: request smaller batches", format="clp-s"
            ) from error
        # The usual case needs no copy: the joined entries are an Arrow array already.
        if self._is_text(text, np.frombuffer(ends, np.int32)):
            buffers = [None, pa.py_buffer(ends), pa.py_buffer(text)]
            words = pa.Array.from_buffers(pa.string(), len(ends) // 4 - 1, buffers)
        else:
            entries = [text[start:end] for start, end in pairwise(np.frombuffer(ends, np.int32).tolist())]
            words = text_array(pa, entries).cast(pa.string())
            bad = [place for place, entry in enumerate(entries) if not _is_utf8(entry)]
            self.lost[BAD_TEXT] += int(np.isin(np.frombuffer(codes, np.int32), bad).sum())
        places: Any = codes
        if valid is not None:
            places = np.zeros(rows, np.int32)
            places[valid] = np.frombuffer(codes, np.int32)
        buffers = [self._bits(valid), pa.py_buffer(places)]
        return pa.DictionaryArray.from_arrays(pa.Array.from_buffers(pa.int32(), rows, buffers), words)

    def _ids(self, pieces: Sequence[ColumnPiece], rows: int) -> tuple[Any, int]:
        """Return the dictionary id of each row (rows outside of the pieces: 0), and one more than the largest of them.

        Raises the error of an id that the dictionary does not have.
        """
        np = self.np
        is_one_table = pieces[0].stop - pieces[0].start == rows  # use its ids as they are
        ids: Any = None if is_one_table else np.zeros(rows, "<u8")
        count = 0
        for piece in pieces:
            column, chosen = piece.column, piece.part.rows
            assert column is not None
            values = self._taken(np.asarray(column.values), chosen)
            needed = int(values.max()) + 1 if len(values) else 0
            if needed > count and needed > len(self.archive.texts.first_variables(needed)):
                column.strings(chosen)  # raises the error
            count = max(count, needed)
            if is_one_table:
                ids = values
            else:
                ids[piece.start : piece.stop] = values
        return ids, count

    def _is_text(self, text: bytes, ends: Any) -> bool:
        """Return whether each of the joined strings is UTF-8, not only all of them together.

        `ends`: where each string ends in `text`, a 0 first.
        """
        if text.isascii():
            return True
        if not _is_utf8(text):
            return False
        starts = ends[:-1]
        firsts = self.np.frombuffer(text, self.np.uint8)[starts[starts < len(text)]]  # first byte of each string
        # 0b10xxxxxx is a continuation byte: a string that begins with one has a part of a character.
        return not bool(((firsts & 0xC0) == 0x80).any())

    # -- text -----------------------------------------------------------------------------------------------------

    def _text(self, pieces: Sequence[ColumnPiece], rows: int) -> Any:
        """Return a large_string array of the printed values.  `lost` counts those that are not UTF-8, which change."""
        np, pa = self.np, self.pa
        lengths = np.zeros(rows + 1, "<i8")
        texts: list[bytes] = []
        for piece in pieces:
            text, sizes = self._printed(piece)
            texts.append(text)
            # The length of row r is at r + 1, so that the sums are the ends, with a 0 first.
            lengths[piece.start + 1 : piece.stop + 1] = sizes
        text = b"".join(texts)
        ends = np.cumsum(lengths)
        bits = self._bits(self._valid(pieces, rows))
        buffers = [bits, pa.py_buffer(ends), pa.py_buffer(text)]
        if self._is_text(text, ends):
            return pa.Array.from_buffers(pa.large_string(), rows, buffers)
        # Some string is not UTF-8: replace its bytes one string at a time.
        return text_array(pa, pa.Array.from_buffers(pa.large_binary(), rows, buffers).to_pylist(), self.lost)

    def _printed(self, piece: ColumnPiece) -> tuple[bytes, Any]:
        """Return the strings of a piece, joined, and the length of each.

        Raises the error of the first row that cannot be decoded.
        """
        np, data, rows = self.np, piece.part.data, piece.part.rows
        if piece.column is None:
            program, owners = run_program(piece.part, piece.run)
        else:
            owners = [piece.column.spec.place]
            program = ClpsProgram([piece.column.operation(raw=True, exact=True)], data.num_messages)
        if isinstance(rows, range):
            text, ends, fault = program.spans(rows.start, rows.stop)
            sizes = None if fault is not None else np.diff(np.frombuffer(ends, np.int64))
        else:
            lines, fault = program.lines(rows)
            text, sizes = b"".join(lines), [len(line) for line in lines]
        if fault is not None:
            _, operation, _, _ = fault  # (kind, index of the operation, row, bad value)
            raise data.column_at(owners[operation]).failure(fault)
        return text, sizes


def run_program(part: TablePart, node: int) -> tuple[ClpsProgram, list[int]]:
    """Return a program that prints a structured array as JSON text, and the index of the column that each of its
    operations prints.

    `node`: the array's node in the schema tree.
    """
    data = part.data
    tokens = [Token(Kind.ARRAY), *data.layout.runs[node], CLOSE]
    ops, owners = operations(tokens, data.column_at, complete=True, exact=True)
    # `operations` ends a record with a newline, but this is a value.
    ops[-1] = (ops[-1][0], ops[-1][1][:-1])  # type: ignore[index]
    return ClpsProgram(ops, data.num_messages), owners


def _is_utf8(text: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _real(text: bytes) -> float | None:
    """Return the float that the string states; None if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return None
