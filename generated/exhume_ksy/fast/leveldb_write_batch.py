"""Compiled from ksy/leveldb_write_batch.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .leveldb_bytes import read_leveldb_bytes
from .leveldb_varint import read_leveldb_varint

_STRUCT0 = struct.Struct("<QI")


class LeveldbWriteBatch:
    """One record of a write-ahead log: operations that were written together.

    LevelDB and RocksDB give operation *i* the sequence number `sequence + i`; dacha gives `sequence` to all of
    them.
    """
    __slots__ = ('sequence', 'num_operations', 'operations')
    sequence: int
    """Sequence number of the first operation."""
    num_operations: int
    """Operations that take a sequence number; markers and log data of RocksDB do not count."""
    operations: list[Operation]


def read_leveldb_write_batch(view: View, at: int, end: int) -> tuple[LeveldbWriteBatch, int]:
    """`leveldb_write_batch` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbWriteBatch()
    if end - at < 12:
        raise short((("sequence", 8), ("num_operations", 12),), at, end, 12)
    sequence, num_operations = _STRUCT0.unpack_from(view, at)
    at += 12
    value.sequence = sequence
    value.num_operations = num_operations
    operations = []
    try:
        while at < end:
            one, at = read_operation(view, at, end)
            operations.append(one)
    except LayoutError as error:
        error.within(f"operations[{len(operations)}]")
        raise
    value.operations = operations
    return value, at


class Operation:
    """One write, or a marker of a transaction."""
    __slots__ = ('operation_type', 'column_family', 'key', 'value', 'commit_timestamp', '_has_column_family', '_has_key', '_has_value')
    operation_type: int
    column_family: int | None
    """RocksDB column family; 0 (default) when absent."""
    key: LeveldbBytes | None
    """For a range deletion its first key; for markers a transaction name."""
    value: LeveldbBytes | None
    """For a range deletion the key it ends before."""
    commit_timestamp: LeveldbBytes | None
    """Follows the timestamp in `key` as the transaction name."""

    @property
    def has_column_family(self) -> bool:
        try:
            return self._has_column_family
        except AttributeError:
            pass
        self._has_column_family = self.operation_type == 4 or self.operation_type == 5 or self.operation_type == 6 or self.operation_type == 8 or self.operation_type == 14 or self.operation_type == 16 or self.operation_type == 23 or self.operation_type == 25
        return self._has_column_family

    @property
    def has_key(self) -> bool:
        try:
            return self._has_key
        except AttributeError:
            pass
        self._has_key = self.operation_type != 9 and self.operation_type != 13 and self.operation_type != 18 and self.operation_type != 19
        return self._has_key

    @property
    def has_value(self) -> bool:
        try:
            return self._has_value
        except AttributeError:
            pass
        self._has_value = self.operation_type == 1 or self.operation_type == 2 or self.operation_type == 15 or self.operation_type == 17 or self.operation_type == 22 or self.operation_type == 24 or self.operation_type == 5 or self.operation_type == 6 or self.operation_type == 14 or self.operation_type == 16 or self.operation_type == 23 or self.operation_type == 25
        return self._has_value


def read_operation(view: View, at: int, end: int) -> tuple[Operation, int]:
    """`leveldb_write_batch::operation` at `at`, and where it ends. Raises `LayoutError`."""
    value = Operation()
    start = at
    if at >= end:
        raise short("operation_type", at, end, 1)
    operation_type = view[at]
    at += 1
    if not (operation_type in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25,)):
        raise LayoutError("operation_type", start, "a value of operation_types", operation_type)
    value.operation_type = operation_type
    if operation_type == 4 or operation_type == 5 or operation_type == 6 or operation_type == 8 or operation_type == 14 or operation_type == 16 or operation_type == 23 or operation_type == 25:
        if at < end and (column_family := view[at]) < 0x80:
            at += 1
        else:
            try:
                column_family, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("column_family")
                raise
    else:
        column_family = None
    value.column_family = column_family
    if operation_type != 9 and operation_type != 13 and operation_type != 18 and operation_type != 19:
        try:
            key, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("key")
            raise
    else:
        key = None
    value.key = key
    if operation_type == 1 or operation_type == 2 or operation_type == 15 or operation_type == 17 or operation_type == 22 or operation_type == 24 or operation_type == 5 or operation_type == 6 or operation_type == 14 or operation_type == 16 or operation_type == 23 or operation_type == 25:
        try:
            value_, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("value")
            raise
    else:
        value_ = None
    value.value = value_
    if operation_type == 21:
        try:
            commit_timestamp, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("commit_timestamp")
            raise
    else:
        commit_timestamp = None
    value.commit_timestamp = commit_timestamp
    return value, at
