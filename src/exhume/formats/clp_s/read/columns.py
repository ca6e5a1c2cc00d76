"""Columns of one table: slicing the table's bytes, typed access, and the values as text or as Python objects.

Most columns store numbers.  Strings are stored as ids of the archive's variable dictionary (distinct strings), or as
encoded text: the id of a log type, which is the text with placeholders, and the variables that fill these, in sequence
for all rows.  Times are epochs with the id of the timestamp pattern that prints them.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import Header, NodeType, type_name
from exhume.formats.clp_s.layout_packed import pack_dictionary
from exhume.formats.clp_s.layout_schemas import ColumnSpec
from exhume.formats.clp_s.layout_table import (
    CLP_S_TABLE_COLUMNS,
    BooleanColumn,
    ClpColumn,
    DateColumn,
    FloatColumn,
    FormattedFloatColumn,
    IdColumn,
    IntegerColumn,
    TimestampColumn,
)
from exhume.formats.clp_s.read import kernel
from exhume.formats.clp_s.read.kernel import ClpsLogTypes, ClpsProgram, ClpsStrings
from exhume.limits import Limits

if TYPE_CHECKING:
    from exhume.formats.clp_s.layout_table import Stored
    from exhume.formats.clp_s.read.timestamps import PatternSet

V = TypeVar("V")
"""The type of a property's value."""
DELTA_INTEGER: Final = NodeType.DELTA_INTEGER.value  # looked up once: compared for each column

MOST_CACHED: Final = 1 << 16
"""Most different values of a column whose Python objects are kept: with more, values hardly repeat."""


class TextSource(Protocol):
    """The properties of an archive that `PrintContext` needs."""

    limits: Limits

    @property
    def header(self) -> Header: ...
    @property
    def variables(self) -> ClpsStrings: ...
    def share_variables(self) -> None: ...
    def dictionary_start(self, name: str, count: int) -> ClpsStrings | None:
        """The entries of the section `name` with ids below `count`; None if reading only these would save little."""

    @property
    def log_types(self) -> ClpsStrings: ...
    @property
    def array_types(self) -> ClpsStrings: ...
    @property
    def patterns(self) -> PatternSet: ...


class _CachedProperty(Generic[V]):
    """A property of `PrintContext` that is made once, under the lock of its object, and an attribute from then on.

    `functools.cached_property` has, up to Python 3.11, one lock for all objects; with the object's own lock inside it
    two threads that come by different properties would wait for each other.
    """

    def __init__(self, make: Callable[[PrintContext], V]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, texts: PrintContext, owner: type | None = None) -> V:
        """Return the value, which the first access makes."""
        # Without `__set__`, the entry of `__dict__` hides this object afterwards: no call and no lock from then on.
        with texts.lock:
            known = texts.__dict__
            if self._name not in known:
                known[self._name] = self._make(texts)
            value: V = known[self._name]
            return value


class PrintContext:
    """Dictionaries (raw and JSON-escaped), log types and timestamp patterns, which printing a column may need.

    Each is read when a column first needs it, so that a damaged dictionary affects only the columns that use it.
    Threads share the object.
    """

    def __init__(self, archive: TextSource) -> None:
        self._archive = archive
        self.lock: threading.RLock = threading.RLock()
        self._first: ClpsStrings | None = None  # the first entries of the variable dictionary, if only they are read
        self._needs_all = False  # whether the whole dictionary was read, or has to be

    @property
    def variables(self) -> ClpsStrings:
        """The variable dictionary; not made under the lock: threads that need it decompress it together."""
        self._archive.share_variables()
        found = self._archive.variables
        self._needs_all = True
        return found

    def first_variables(self, count: int) -> ClpsStrings:
        """Return entries of the variable dictionary: at least those with ids below `count`.

        The others are not read if that saves much.  A value gets its id when it first occurs, so columns of values that
        repeat need only the beginning.
        """
        with self.lock:
            if not self._needs_all and (self._first is None or len(self._first) < count):
                self._first = self._archive.dictionary_start("/var.dict", count)
                self._needs_all = self._first is None
            if not self._needs_all and self._first is not None:
                return self._first
        return self.variables

    @property
    def escaped_variables(self) -> ClpsStrings:
        """The variable dictionary as JSON string content."""
        self.variables  # noqa: B018 - reads it
        return self._escaped_variables

    @_CachedProperty
    def _escaped_variables(self) -> ClpsStrings:
        return self._archive.variables.escaped()

    @_CachedProperty
    def log_types(self) -> ClpsLogTypes:
        """Log types whose static text has the escapes of JSON."""
        return self._log_types(self._archive.log_types, escape=True)

    @_CachedProperty
    def raw_log_types(self) -> ClpsLogTypes:
        """Log types with their static text as it is."""
        return self._log_types(self._archive.log_types)

    def any_log_types(self, *, escaped: bool) -> ClpsLogTypes:
        """Return log types for a use to which escapes do not matter, such as their number or placeholders.

        This is the form (escaped or raw) that was made already, else the one that `escaped` selects.
        """
        with self.lock:
            has_escaped, has_raw = "log_types" in self.__dict__, "raw_log_types" in self.__dict__
            return self.log_types if has_escaped or (escaped and not has_raw) else self.raw_log_types

    @_CachedProperty
    def array_types(self) -> ClpsLogTypes:
        """Array log types: JSON text of arrays with placeholders; it is JSON already, so nothing is escaped."""
        return self._log_types(self._archive.array_types)

    def _log_types(self, entries: ClpsStrings, *, escape: bool = False) -> ClpsLogTypes:
        """Return the log types parsed for printing; large ones in a mapped file instead of memory."""
        room: Callable[[int], memoryview] | None = None  # returns a buffer of a size; None: `malloc`
        if entries.size > self._archive.limits.payload_size:
            from exhume.io.output.scratch import mapped_room

            room = mapped_room
        return ClpsLogTypes(entries, self._archive.header.has_core_text, escape, room)

    @_CachedProperty
    def patterns(self) -> PatternSet:
        """Timestamp patterns."""
        return self._archive.patterns


class TextHolder(Protocol):
    """The property of an archive that columns use; a protocol, because the archive's class imports this module."""

    @property
    def texts(self) -> PrintContext: ...


class TextOwner(Protocol):
    """The properties of a table that its columns use."""

    @property
    def archive(self) -> TextHolder: ...
    @property
    def span(self) -> Span: ...


class Column:
    """One column: `spec` (node, type), `rows`, `stored`, `span` (in the payload of its stream).

    `values` is the typed sequence that the format stores, one item per row:

    | node type | `values` | in addition |
    |---|---|---|
    | integer, delta_integer | int64 (deltas summed up) | |
    | float, formatted_float | float64 | `formats`: uint16 |
    | boolean | uint8 | |
    | var_string, dictionary_float | uint64 ids of the variable dictionary | |
    | clp_string, unstructured_array | uint64 words: log type id, `offset << 24` | `variables`: int64 |
    | date_string | int64 epochs, milliseconds | `pattern_ids` |
    | timestamp | int64 epochs, nanoseconds | `pattern_ids` |
    """

    __slots__ = ("_decoded", "_first", "_place", "_table", "rows", "spec", "stored")

    def __init__(
        self,
        spec: ColumnSpec,
        data: memoryview,
        table: TextOwner,
        start: int,
        end: int,
        rows: int,
        decoded: memoryview[Any] | None = None,
        place: tuple[int, int] | None = None,
        first: int = 0,
    ) -> None:
        """Parse the column at `[start, end)` of `data`, with `rows` values.

        `decoded`: the integers, if deltas were summed up already.  `place`: the range in the table's payload, where
        `data` is only a part of it.  `first`: the table's row number of the first value.
        """
        self.spec: ColumnSpec = spec
        self.rows: int = rows
        self.stored: Stored = CLP_S_TABLE_COLUMNS[spec.type](data, start, end, self.rows)[0]
        """The column as its specification describes it."""
        self._table, self._place = table, place or (start, end)
        self._first = first  # the row of the table that comes first here
        self._decoded = decoded  # the deltas summed up; None until they are needed

    @property
    def texts(self) -> PrintContext:
        """The archive's dictionaries and patterns."""
        return self._table.archive.texts

    @property
    def span(self) -> Span:
        """Its location: the stream in the file, narrowed to the column's bytes of the decompressed stream."""
        return self._table.span.sub(*self._place)

    @property
    def node(self) -> int:
        """The schema tree node."""
        return self.spec.node

    @property
    def type(self) -> int:
        """The node type."""
        return self.spec.type

    @property
    def values(self) -> memoryview[Any]:
        """The typed sequence described above."""
        stored = self.stored
        if isinstance(stored, (IntegerColumn, DateColumn, TimestampColumn)):
            return self.integers
        if isinstance(stored, ClpColumn):
            return stored.rows
        return memoryview(stored.values) if isinstance(stored, BooleanColumn) else stored.values

    @property
    def integers(self) -> memoryview[Any]:
        """The epochs or integers (int64), deltas summed up (once)."""
        stored = self.stored
        if isinstance(stored, IntegerColumn):
            if self.spec.type != DELTA_INTEGER:
                return stored.values
            deltas = stored.values
        elif isinstance(stored, DateColumn):
            return stored.epochs
        else:
            assert isinstance(stored, TimestampColumn), f"a column of {type_name(self.spec.type)} has no integers"
            deltas = stored.deltas
        if self._decoded is None:
            self._decoded = memoryview(kernel.clps_undelta(deltas)).cast(deltas.format)  # type: ignore[call-overload]
        return self._decoded

    @property
    def formats(self) -> memoryview[Any]:
        """Format words of a formatted float column (uint16)."""
        assert isinstance(self.stored, FormattedFloatColumn)
        return self.stored.formats

    @property
    def pattern_ids(self) -> memoryview[Any]:
        """Pattern ids of a date (int64) or timestamp column (uint64)."""
        assert isinstance(self.stored, (DateColumn, TimestampColumn))
        return self.stored.pattern_ids

    @property
    def variables(self) -> memoryview[Any]:
        """Encoded variables of a column of encoded strings (int64), of all rows."""
        assert isinstance(self.stored, ClpColumn)
        return self.stored.variables

    def operation(self, *, raw: bool = False, exact: bool = False) -> tuple[object, ...]:
        """The kernel operation that prints this column's value; `raw`: string content without JSON escapes.

        It is (kind, values, ...) as in the table of `program`.  Quotes around strings are not part of it.  `exact`:
        floats whose format is not stored have as many digits as identify them, not six decimals.
        """
        stored = self.stored
        match stored:  # types that need no dictionary, which is not read for them
            case IntegerColumn():
                return (kernel.INTEGER, self.integers)
            case FloatColumn():
                return _shortest(stored.values) if exact else (kernel.FLOAT, stored.values)
            case FormattedFloatColumn():
                return (kernel.FORMATTED, stored.values, stored.formats)
            case BooleanColumn():
                return (kernel.BOOLEAN, stored.values)
        texts = self.texts
        match stored:
            case IdColumn():
                escaped = not raw and self.spec.type == NodeType.VAR_STRING
                return (kernel.STRING, stored.values, texts.escaped_variables if escaped else texts.variables)
            case ClpColumn():
                if self.spec.type == NodeType.UNSTRUCTURED_ARRAY:
                    return (kernel.TEXT, stored.rows, stored.variables, texts.array_types, texts.variables)
                if raw:
                    return (kernel.TEXT, stored.rows, stored.variables, texts.raw_log_types, texts.variables)
                return (kernel.TEXT, stored.rows, stored.variables, texts.log_types, texts.escaped_variables)
        return (kernel.TIME, self.integers, stored.pattern_ids, texts.patterns.kernel)

    @property
    def quoted(self) -> bool:
        """Whether the value is printed between quotes."""
        return self.spec.type in (NodeType.VAR_STRING, NodeType.CLP_STRING, NodeType.DATE_STRING)

    def to_numpy(self) -> Any:
        """`values` as a NumPy array (read-only, without a copy where nothing was decoded)."""
        import numpy

        return numpy.asarray(self.values)

    def strings(self, rows: Iterable[int] | None = None) -> list[bytes]:
        """The value of each row (all rows by default) as text: strings unescaped and unquoted, the rest as printed.

        Raises the error of the first row that cannot be decoded.
        """
        program = ClpsProgram([self.operation(raw=True)], self.rows)
        out, fault = program.lines(range(self.rows) if rows is None else list(rows))
        if fault is not None:
            raise self.failure(fault)
        return out

    def pieces(self, max_size: int = 1 << 20) -> Iterator[bytes]:
        """`strings` of all rows, joined to pieces that end with the row that passes `max_size` bytes.

        Raises the error of the first row that cannot be decoded.
        """
        program = ClpsProgram([self.operation(raw=True)], self.rows)
        row = 0
        while row < self.rows:
            text, row, fault = program.render(row, self.rows, max_size)
            if fault is not None:
                raise self.failure(fault)
            yield text

    def joined(self, start: int, stop: int) -> bytes:
        """`strings` of the rows `[start, stop)` in one piece.  Raises the error of the first that cannot be decoded."""
        text, _, fault = ClpsProgram([self.operation(raw=True)], self.rows).spans(start, stop)
        if fault is not None:
            raise self.failure(fault)
        found: bytes = text
        return found

    def objects(self, rows: Sequence[int] | None = None) -> list[Any]:
        """The value of each row (all rows by default) as a Python object, as `events()` yields it.

        Text that is not UTF-8 keeps its bytes as surrogates (`errors="surrogateescape"`); array text and numbers that
        JSON does not know stay text.
        """
        match self.spec.type:
            case NodeType.INTEGER | NodeType.DELTA_INTEGER | NodeType.FLOAT | NodeType.FORMATTED_FLOAT:
                values = self.values
                return list(values) if rows is None else [values[row] for row in rows]
            case NodeType.BOOLEAN:
                flags = self.values
                return [flag != 0 for flag in (flags if rows is None else [flags[row] for row in rows])]
            case NodeType.VAR_STRING | NodeType.CLP_STRING | NodeType.DATE_STRING:
                return [text.decode("utf-8", "surrogateescape") for text in self.strings(rows)]
            case _:
                cache: dict[bytes, Any] = {}
                shared = self.spec.type != NodeType.UNSTRUCTURED_ARRAY  # lists must not be shared between records
                out = []
                for text in self.strings(rows):
                    if shared and text in cache:
                        out.append(cache[text])
                    else:
                        out.append(parse_json(text))
                        if shared and len(cache) < MOST_CACHED:
                            cache[text] = out[-1]
                return out

    def failure(self, fault: kernel.Fault) -> ExhumeError:
        """Return the error for a row that the kernel could not print.

        `fault`: (kind, index of the operation, row, bad value); the kinds are the `BAD_...` of the kernel.
        """
        kind, _, row, detail = fault
        size, place = self.values.itemsize, self._first + row  # `place`: the row number in the whole table
        row_span = self.span.sub(size * place, size * place + size)
        where = f"row {place}, column {self.spec.place}"
        texts = self.texts
        match kind:
            case kernel.BAD_LOG_TYPE:
                is_array = self.type == NodeType.UNSTRUCTURED_ARRAY
                table = texts.array_types if is_array else texts.any_log_types(escaped=False)
                expected = f"below {len(table)}"
                return checks.BAD_LOG_TYPE_ID.error(where, span=row_span, expected=expected, actual=detail)
            case kernel.BAD_STRING:
                expected = f"below {len(texts.variables)}"
                return checks.BAD_VARIABLE_ID.error(where, span=row_span, expected=expected, actual=detail)
            case kernel.BAD_OFFSET:
                expected = f"within {counted(len(self.variables), 'variables')}"
                return checks.BAD_VARIABLE_OFFSET.error(where, span=row_span, expected=expected, actual=detail)
            case kernel.BAD_FLOAT:
                return checks.BAD_ENCODED_FLOAT.error(where, span=row_span, actual=f"{detail & (1 << 64) - 1:#x}")
            case _:
                epoch = self.values[row]
                # BAD_PATTERN or BAD_TIME: the patterns know which problem it is.
                return texts.patterns.failure(self.pattern_ids[row], epoch, row_span)


def _shortest(values: memoryview[Any]) -> tuple[object, ...]:
    """Return the kernel operation that prints floats (float64) with as few digits as identify them."""
    numbers: dict[str, int] = {}  # each text and its number; strings, as 0.0 and -0.0 are equal
    ids = array("Q", (numbers.setdefault(repr(value), len(numbers)) for value in values))
    texts = pack_dictionary([text.encode() for text in numbers])
    return (kernel.STRING, memoryview(ids), ClpsStrings(texts, len(numbers)))


def parse_json(text: bytes) -> Any:
    """Return the value of a JSON text; if it is not JSON, the text itself (bytes that are not UTF-8 as surrogates)."""
    import json  # lazily: most searches print arrays as they are

    decoded = text.decode("utf-8", "surrogateescape")
    try:
        return json.loads(decoded, strict=False)
    except (ValueError, RecursionError):
        return decoded
