"""Compiled from ksy/leveldb_wide_columns.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, short
from .leveldb_bytes import read_leveldb_bytes
from .leveldb_varint import read_leveldb_varint


class LeveldbWideColumns:
    """The value of an entry of type `wide_column_entity`: named columns, sorted by name. First come all names, each
    with the length of its value, then all values. The column with the empty name is what a reader gets that
    requests one value.
    """
    __slots__ = ('version', 'num_columns', 'columns', 'values')
    version: int
    """The only version there is."""
    num_columns: int
    columns: list[Column]
    values: list[Value]


def read_leveldb_wide_columns(view: View, at: int, end: int) -> tuple[LeveldbWideColumns, int]:
    """`leveldb_wide_columns` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbWideColumns()
    start = at
    if at < end and (version := view[at]) < 0x80:
        at += 1
    else:
        try:
            version, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("version")
            raise
    if not (version == 1):
        raise LayoutError("version", start, at, '_.value == 1', version)
    value.version = version
    start = at
    if at < end and (num_columns := view[at]) < 0x80:
        at += 1
    else:
        try:
            num_columns, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("num_columns")
            raise
    if num_columns > end - at:
        raise LayoutError("num_columns", start, at, f"at most {end - at}", num_columns)
    value.num_columns = num_columns
    columns = []
    try:
        for _ in range(num_columns):
            one, at = read_column(view, at, end)
            columns.append(one)
    except LayoutError as error:
        error.within(f"columns[{len(columns)}]")
        raise
    value.columns = columns
    values = value.values = []
    try:
        for _ in range(num_columns):
            one, at = read_value(view, at, end, value, len(values))
            values.append(one)
    except LayoutError as error:
        del value.values
        error.within(f"values[{len(values)}]")
        raise
    value.values = values
    return value, at


class Column:
    """Name of a column, and how long its value is."""
    __slots__ = ('name', 'len_value')
    name: LeveldbBytes
    len_value: int


def read_column(view: View, at: int, end: int) -> tuple[Column, int]:
    """`leveldb_wide_columns::column` at `at`, and where it ends. Raises `LayoutError`."""
    value = Column()
    try:
        name, at = read_leveldb_bytes(view, at, end)
    except LayoutError as error:
        error.within("name")
        raise
    value.name = name
    if at < end and (len_value := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_value, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_value")
            raise
    value.len_value = len_value
    return value, at


class Value:
    """Value of the column with the same position."""
    __slots__ = ('idx', 'data')
    idx: int
    """Position of the column."""
    data: View


def read_value(view: View, at: int, end: int, parent: LeveldbWideColumns | None, idx: int) -> tuple[Value, int]:
    """`leveldb_wide_columns::value` at `at`, and where it ends. Raises `LayoutError`."""
    value = Value()
    value.idx = idx
    size = parent.columns[idx].len_value
    if not 0 <= size <= end - at:
        raise short("data", at, end, size)
    data = view[at : at + size]
    at += size
    value.data = data
    return value, at
