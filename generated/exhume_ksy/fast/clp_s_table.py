"""Compiled from ksy/clp_s_table.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, numbers, short

_STRUCT0 = struct.Struct("<H")
_STRUCT1 = struct.Struct("<Q")


class ClpSTable:
    """The columns of one table, end to end. Nothing in the bytes tells which columns there are or how long they are:
    the caller passes the row count from the table metadata and the node types from the schema.
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


class IntegerColumn:
    """Integers, or for node type 11 the first integer and then the difference to the row before, modulo 2^64."""
    __slots__ = ('num_values', 'values')
    num_values: int
    values: memoryview[int]


def read_integer_column(view: View, at: int, end: int, num_values: int) -> tuple[IntegerColumn, int]:
    """`clp_s_table::integer_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = IntegerColumn()
    value.num_values = num_values
    many = max(0, num_values)
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
    many = max(0, num_values)
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
    formats: list[FloatFormat]


def read_formatted_float_column(view: View, at: int, end: int, num_values: int) -> tuple[FormattedFloatColumn, int]:
    """`clp_s_table::formatted_float_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = FormattedFloatColumn()
    value.num_values = num_values
    many = max(0, num_values)
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"values[{many}]", at + many * 8, end, 8)
    values = numbers(view, at, many * 8, "d", "little")
    at += many * 8
    value.values = values
    formats = []
    try:
        for _ in range(num_values):
            one, at = read_float_format(view, at, end)
            formats.append(one)
    except LayoutError as error:
        error.within(f"formats[{len(formats)}]")
        raise
    value.formats = formats
    return value, at


class FloatFormat:
    """How a number was written."""
    __slots__ = ('word', '_notation', '_exponent_sign', '_num_exponent_digits', '_num_significant_digits')
    word: int

    @property
    def notation(self) -> int:
        try:
            return self._notation
        except AttributeError:
            pass
        self._notation = self.word // 0x4000
        return self._notation

    @property
    def exponent_sign(self) -> int:
        try:
            return self._exponent_sign
        except AttributeError:
            pass
        self._exponent_sign = self.word // 0x1000 % 4
        return self._exponent_sign

    @property
    def num_exponent_digits(self) -> int:
        try:
            return self._num_exponent_digits
        except AttributeError:
            pass
        self._num_exponent_digits = self.word // 0x400 % 4 + 1
        return self._num_exponent_digits

    @property
    def num_significant_digits(self) -> int:
        try:
            return self._num_significant_digits
        except AttributeError:
            pass
        self._num_significant_digits = self.word // 32 % 32 + 1
        return self._num_significant_digits


def read_float_format(view: View, at: int, end: int) -> tuple[FloatFormat, int]:
    """`clp_s_table::float_format` at `at`, and where it ends. Raises `LayoutError`."""
    value = FloatFormat()
    if end - at < 2:
        raise short("word", at, end, 2)
    (word,) = _STRUCT0.unpack_from(view, at)
    at += 2
    value.word = word
    return value, at


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
    many = max(0, num_values)
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
    rows: list[ClpWord]
    num_variables: int
    variables: memoryview[int]


def read_clp_column(view: View, at: int, end: int, num_values: int) -> tuple[ClpColumn, int]:
    """`clp_s_table::clp_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpColumn()
    value.num_values = num_values
    rows = []
    try:
        for _ in range(num_values):
            one, at = read_clp_word(view, at, end)
            rows.append(one)
    except LayoutError as error:
        error.within(f"rows[{len(rows)}]")
        raise
    value.rows = rows
    start = at
    if end - at < 8:
        raise short("num_variables", at, end, 8)
    (num_variables,) = _STRUCT1.unpack_from(view, at)
    at += 8
    if num_variables > (end - at) // 8:
        raise LayoutError("num_variables", start, at, f"at most {(end - at) // 8}", num_variables)
    value.num_variables = num_variables
    many = max(0, num_variables)
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"variables[{many}]", at + many * 8, end, 8)
    variables = numbers(view, at, many * 8, "q", "little")
    at += many * 8
    value.variables = variables
    return value, at


class ClpWord:
    """Log type and position of the first variable, in one word."""
    __slots__ = ('word', '_log_type_id', '_ofs_variable')
    word: int

    @property
    def log_type_id(self) -> int:
        try:
            return self._log_type_id
        except AttributeError:
            pass
        self._log_type_id = self.word % 0x1000000
        return self._log_type_id

    @property
    def ofs_variable(self) -> int:
        """Index into the variables of the column."""
        try:
            return self._ofs_variable
        except AttributeError:
            pass
        self._ofs_variable = self.word // 0x1000000
        return self._ofs_variable


def read_clp_word(view: View, at: int, end: int) -> tuple[ClpWord, int]:
    """`clp_s_table::clp_word` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpWord()
    if end - at < 8:
        raise short("word", at, end, 8)
    (word,) = _STRUCT1.unpack_from(view, at)
    at += 8
    value.word = word
    return value, at


class DateColumn:
    """Epochs, then the pattern of each."""
    __slots__ = ('num_values', 'epochs', 'pattern_ids')
    num_values: int
    epochs: memoryview[int]
    """Milliseconds; with the patterns %E and %F as they were."""
    pattern_ids: memoryview[int]


def read_date_column(view: View, at: int, end: int, num_values: int) -> tuple[DateColumn, int]:
    """`clp_s_table::date_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = DateColumn()
    value.num_values = num_values
    many = max(0, num_values)
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"epochs[{many}]", at + many * 8, end, 8)
    epochs = numbers(view, at, many * 8, "q", "little")
    at += many * 8
    value.epochs = epochs
    many = max(0, num_values)
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
    pattern_ids: memoryview[int]


def read_timestamp_column(view: View, at: int, end: int, num_values: int) -> tuple[TimestampColumn, int]:
    """`clp_s_table::timestamp_column` at `at`, and where it ends. Raises `LayoutError`."""
    value = TimestampColumn()
    value.num_values = num_values
    many = max(0, num_values)
    if many > (end - at) // 8:
        many = max(0, end - at) // 8
        raise short(f"deltas[{many}]", at + many * 8, end, 8)
    deltas = numbers(view, at, many * 8, "q", "little")
    at += many * 8
    value.deltas = deltas
    many = max(0, num_values)
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
