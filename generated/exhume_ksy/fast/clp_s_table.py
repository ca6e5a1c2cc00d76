"""Compiled from ksy/clp_s_table.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, numbers, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_unpack0 = struct.Struct("<Q").unpack_from
_unpack1 = struct.Struct("<H").unpack_from
_unpack2 = struct.Struct("<q").unpack_from


class ClpSTable:
    """The columns of one table, end to end. The bytes do not state which columns there are or how long they are: the
    caller passes the row count from the table metadata and the node types from the schema.
    """
    __slots__ = ('num_messages', 'node_types', 'columns', '_num_columns')
    num_messages: int
    """Number of rows."""
    node_types: View
    """Node type of each column in schema order, without those that store nothing (objects, nulls, structured arrays)."""
    columns: list[BooleanColumn | ClpColumn | DateColumn | FloatColumn | FormattedFloatColumn | IdColumn | IntegerColumn | TimestampColumn | UnknownColumn]

    @property
    def num_columns(self) -> int:
        try:
            return self._num_columns
        except AttributeError:
            pass
        self._num_columns = len(self.node_types)
        return self._num_columns


def read_clp_s_table(view: View, at: int, end: int, num_messages: int, node_types: View) -> tuple[ClpSTable, int]:
    """`clp_s_table` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpSTable()
    value.num_messages = num_messages
    value.node_types = node_types
    columns = []
    try:
        for _ in range(len(node_types)):
            on = node_types[len(columns)]
            if on == 0:
                one, at = read_integer_column(view, at, end, num_messages)
            elif on == 1:
                one, at = read_float_column(view, at, end, num_messages)
            elif on == 2:
                one, at = read_clp_column(view, at, end, num_messages)
            elif on == 3:
                one, at = read_id_column(view, at, end, num_messages)
            elif on == 4:
                one, at = read_boolean_column(view, at, end, num_messages)
            elif on == 6:
                one, at = read_clp_column(view, at, end, num_messages)
            elif on == 8:
                one, at = read_date_column(view, at, end, num_messages)
            elif on == 11:
                one, at = read_integer_column(view, at, end, num_messages)
            elif on == 12:
                one, at = read_formatted_float_column(view, at, end, num_messages)
            elif on == 13:
                one, at = read_id_column(view, at, end, num_messages)
            elif on == 14:
                one, at = read_timestamp_column(view, at, end, num_messages)
            else:
                one, at = read_unknown_column(view, at, end)
            columns.append(one)
    except LayoutError as error:
        error.within(f"columns[{len(columns)}]")
        raise
    value.columns = columns
    return value, at


def ends_clp_s_table_columns(view: View, at: int, end: int, num_messages: int, node_types: View) -> list[int]:
    """Where each of the `columns` of `clp_s_table` ends, when the first begins at `at`. Raises `LayoutError`."""
    ends: list[int] = []
    add = ends.append
    length_of = _LENGTHS_COLUMNS.get
    first = at
    try:
        for on in node_types:
            if (length := length_of(on)) is not None:
                at += length * num_messages
            elif on in (2, 6):
                at += 8 * num_messages
                if end - at < 8:
                    raise short("num_variables", at, end, 8)
                (num_variables,) = _unpack0(view, at)
                at += 8
                if num_variables > (end - at) // 8:
                    raise LayoutError("num_variables", at - 8, at, f"at most {(end - at) // 8}", num_variables)
                at += 8 * num_variables
            add(at)
        if at <= end:
            return ends
    except LayoutError:
        pass
    read_clp_s_table(view, first, end, num_messages, node_types)
    raise AssertionError("what does not fit was read")


class IntegerColumn:
    """Integers, or for node type 11 the first integer and then the difference to the row before, modulo 2^64."""
    __slots__ = ('num_values', 'values')
    num_values: int
    values: memoryview[int]


def read_integer_column(view: View, at: int, end: int, num_values: int) -> tuple[IntegerColumn, int]:
    """`clp_s_table::integer_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = IntegerColumn()
    value.num_values = num_values
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"values[{many}]", at + many * 8, end, 8)
    values = numbers(view, at, many * 8, "q", "little")
    at += many * 8
    value.values = values
    return value, at


class FloatColumn:
    """Binary64 numbers."""
    __slots__ = ('num_values', 'values')
    num_values: int
    values: memoryview[float]


def read_float_column(view: View, at: int, end: int, num_values: int) -> tuple[FloatColumn, int]:
    """`clp_s_table::float_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = FloatColumn()
    value.num_values = num_values
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"values[{many}]", at + many * 8, end, 8)
    values = numbers(view, at, many * 8, "d", "little")
    at += many * 8
    value.values = values
    return value, at


class FormattedFloatColumn:
    """Binary64 numbers, then the format of each."""
    __slots__ = ('num_values', 'values', 'formats')
    num_values: int
    values: memoryview[float]
    """The numbers themselves."""
    formats: memoryview[int]
    """How each of them was written."""


def read_formatted_float_column(view: View, at: int, end: int, num_values: int) -> tuple[FormattedFloatColumn, int]:
    """`clp_s_table::formatted_float_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = FormattedFloatColumn()
    value.num_values = num_values
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"values[{many}]", at + many * 8, end, 8)
    values = numbers(view, at, many * 8, "d", "little")
    at += many * 8
    value.values = values
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 2:
        many = max(0, end - at) // 2
        raise short(f"formats[{many}].word", at + many * 2, end, 2)
    formats = numbers(view, at, many * 2, "H", "little")
    at += many * 2
    value.formats = formats
    return value, at


def read_float_format(view: View, at: int, end: int) -> tuple[int, int]:
    """`clp_s_table::float_format` at `at`: its word, and where it ends. Raises `LayoutError`."""
    if end - at < 2:
        raise short("word", at, end, 2)
    (word,) = _unpack1(view, at)
    at += 2
    return word, at


class BooleanColumn:
    """One byte each; anything but 0 is true."""
    __slots__ = ('num_values', 'values')
    num_values: int
    values: View


def read_boolean_column(view: View, at: int, end: int, num_values: int) -> tuple[BooleanColumn, int]:
    """`clp_s_table::boolean_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = BooleanColumn()
    value.num_values = num_values
    if not 0 <= num_values <= end - at:
        raise short("values", at, end, num_values)
    values = view[at : at + num_values]
    at += num_values
    value.values = values
    return value, at


class IdColumn:
    """Positions in the variable dictionary."""
    __slots__ = ('num_values', 'values')
    num_values: int
    values: memoryview[int]


def read_id_column(view: View, at: int, end: int, num_values: int) -> tuple[IdColumn, int]:
    """`clp_s_table::id_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = IdColumn()
    value.num_values = num_values
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"values[{many}]", at + many * 8, end, 8)
    values = numbers(view, at, many * 8, "Q", "little")
    at += many * 8
    value.values = values
    return value, at


class ClpColumn:
    """Encoded text: which log type each row has and where its variables start, then the variables of all rows."""
    __slots__ = ('num_values', 'rows', 'num_variables', 'variables')
    num_values: int
    rows: memoryview[int]
    """One word for each record."""
    num_variables: int
    variables: memoryview[int]
    """The encoded variables of all rows, back to back."""


def read_clp_column(view: View, at: int, end: int, num_values: int) -> tuple[ClpColumn, int]:
    """`clp_s_table::clp_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpColumn()
    value.num_values = num_values
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"rows[{many}].word", at + many * 8, end, 8)
    rows = numbers(view, at, many * 8, "Q", "little")
    at += many * 8
    value.rows = rows
    if end - at < 8:
        raise short("num_variables", at, end, 8)
    (num_variables,) = _unpack0(view, at)
    at += 8
    if num_variables > (end - at) // 8:
        raise LayoutError("num_variables", at - 8, at, f"at most {(end - at) // 8}", num_variables)
    value.num_variables = num_variables
    many = num_variables if num_variables > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"variables[{many}]", at + many * 8, end, 8)
    variables = numbers(view, at, many * 8, "q", "little")
    at += many * 8
    value.variables = variables
    return value, at


def read_clp_word(view: View, at: int, end: int) -> tuple[int, int]:
    """`clp_s_table::clp_word` at `at`: its word, and where it ends. Raises `LayoutError`."""
    if end - at < 8:
        raise short("word", at, end, 8)
    (word,) = _unpack0(view, at)
    at += 8
    return word, at


def read_decimal_variable(view: View, at: int, end: int) -> tuple[int, int]:
    """`clp_s_table::decimal_variable` at `at`: its word, and where it ends. Raises `LayoutError`."""
    if end - at < 8:
        raise short("word", at, end, 8)
    (word,) = _unpack0(view, at)
    at += 8
    return word, at


def read_classic_decimal_variable(view: View, at: int, end: int) -> tuple[int, int]:
    """`clp_s_table::classic_decimal_variable` at `at`: its word, and where it ends. Raises `LayoutError`."""
    if end - at < 8:
        raise short("word", at, end, 8)
    (word,) = _unpack0(view, at)
    at += 8
    return word, at


def read_classic_variable(view: View, at: int, end: int) -> tuple[int, int]:
    """`clp_s_table::classic_variable` at `at`: its value, and where it ends. Raises `LayoutError`."""
    if end - at < 8:
        raise short("value", at, end, 8)
    (value_,) = _unpack2(view, at)
    at += 8
    return value_, at


class DateColumn:
    """Epochs, then the pattern of each."""
    __slots__ = ('num_values', 'epochs', 'pattern_ids')
    num_values: int
    epochs: memoryview[int]
    """Milliseconds; with the patterns %E and %F as they were."""
    pattern_ids: memoryview[int]
    """Number of the pattern in the timestamp dictionary."""


def read_date_column(view: View, at: int, end: int, num_values: int) -> tuple[DateColumn, int]:
    """`clp_s_table::date_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = DateColumn()
    value.num_values = num_values
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"epochs[{many}]", at + many * 8, end, 8)
    epochs = numbers(view, at, many * 8, "q", "little")
    at += many * 8
    value.epochs = epochs
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"pattern_ids[{many}]", at + many * 8, end, 8)
    pattern_ids = numbers(view, at, many * 8, "q", "little")
    at += many * 8
    value.pattern_ids = pattern_ids
    return value, at


class TimestampColumn:
    """Nanoseconds as differences to the row before, then the patterns."""
    __slots__ = ('num_values', 'deltas', 'pattern_ids')
    num_values: int
    deltas: memoryview[int]
    """The first in nanoseconds since 1970, then differences."""
    pattern_ids: memoryview[int]
    """Number of the pattern in the timestamp dictionary."""


def read_timestamp_column(view: View, at: int, end: int, num_values: int) -> tuple[TimestampColumn, int]:
    """`clp_s_table::timestamp_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = TimestampColumn()
    value.num_values = num_values
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"deltas[{many}]", at + many * 8, end, 8)
    deltas = numbers(view, at, many * 8, "q", "little")
    at += many * 8
    value.deltas = deltas
    many = num_values if num_values > 0 else 0
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"pattern_ids[{many}]", at + many * 8, end, 8)
    pattern_ids = numbers(view, at, many * 8, "Q", "little")
    at += many * 8
    value.pattern_ids = pattern_ids
    return value, at


class UnknownColumn:
    """A node type that stores nothing, as far as is known."""
    __slots__ = ()


def read_unknown_column(view: View, at: int, end: int) -> tuple[UnknownColumn, int]:
    """`clp_s_table::unknown_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = UnknownColumn()
    return value, at


CLP_S_TABLE_COLUMNS: dict[int, Callable[[View, int, int, int], tuple[BooleanColumn | ClpColumn | DateColumn | FloatColumn | FormattedFloatColumn | IdColumn | IntegerColumn | TimestampColumn, int]]] = {
    0: read_integer_column,
    1: read_float_column,
    2: read_clp_column,
    3: read_id_column,
    4: read_boolean_column,
    6: read_clp_column,
    8: read_date_column,
    11: read_integer_column,
    12: read_formatted_float_column,
    13: read_id_column,
    14: read_timestamp_column,
}
"""The readers of the `columns` of `clp_s_table`, by what says which is which."""


_LENGTHS_COLUMNS = {0: 8, 1: 8, 3: 8, 4: 1, 8: 16, 11: 8, 12: 10, 13: 8, 14: 16}
