"""Compiled from ksy/leveldb_write_batch.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct
from array import array

from ._layout import LayoutError, View, native, short
from .leveldb_bytes import read_leveldb_bytes
from .leveldb_varint import read_leveldb_varint

_unpack0 = struct.Struct("<QI").unpack_from


class LeveldbWriteBatch:
    """One record of a write-ahead log: operations that were written together.

    LevelDB and RocksDB give operation *i* the sequence number `sequence + i`; dacha assigns `sequence` to all of
    them.
    """
    __slots__ = ('sequence', 'num_operations', 'operations')
    sequence: int
    """Sequence number of the first operation."""
    num_operations: int
    """Operations that take a sequence number; markers and log data of RocksDB do not count."""
    operations: OperationColumns


def read_leveldb_write_batch(view: View, at: int, end: int) -> tuple[LeveldbWriteBatch, int]:
    """`leveldb_write_batch` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbWriteBatch()
    if end - at < 12:
        raise short((("sequence", 8), ("num_operations", 12),), at, end, 12)
    sequence, num_operations = _unpack0(view, at)
    at += 12
    value.sequence = sequence
    value.num_operations = num_operations
    operations = scan_operation(view, at, end)
    if operations.problem is not None:
        operations.problem.within("operations")
        raise operations.problem
    at = operations.resume_at
    value.operations = operations
    return value, at


class Operation:
    """One write, or a marker of a transaction."""
    __slots__ = ('operation_type', 'column_family', 'key', 'value', 'commit_timestamp', 'transaction_name', '_has_column_family', '_has_key', '_has_transaction_name', '_has_value')
    operation_type: int
    """What is done, and so which fields follow."""
    column_family: int | None
    """RocksDB column family; 0 (default) when absent."""
    key: LeveldbBytes | None
    """For a range deletion its first key; for log data the note."""
    value: LeveldbBytes | None
    """For a range deletion the key it ends before."""
    commit_timestamp: LeveldbBytes | None
    """Commit time of the transaction; precedes its name."""
    transaction_name: LeveldbBytes | None
    """Name of the transaction that the marker is about."""

    @property
    def has_column_family(self) -> bool:
        try:
            return self._has_column_family
        except AttributeError:
            pass
        self._has_column_family = self.operation_type in (4, 5, 6, 8, 14, 16, 23, 25)
        return self._has_column_family

    @property
    def has_key(self) -> bool:
        """Markers have none."""
        try:
            return self._has_key
        except AttributeError:
            pass
        self._has_key = self.operation_type not in (9, 13, 18, 19) and not self.has_transaction_name
        return self._has_key

    @property
    def has_transaction_name(self) -> bool:
        try:
            return self._has_transaction_name
        except AttributeError:
            pass
        self._has_transaction_name = self.operation_type in (10, 11, 12, 21)
        return self._has_transaction_name

    @property
    def has_value(self) -> bool:
        try:
            return self._has_value
        except AttributeError:
            pass
        self._has_value = self.operation_type in (1, 2, 15, 17, 22, 24, 5, 6, 14, 16, 23, 25)
        return self._has_value


def read_operation(view: View, at: int, end: int) -> tuple[Operation, int]:
    """`leveldb_write_batch::operation` at `at`, and where it ends. Raises `LayoutError`."""
    value = Operation()
    if at >= end:
        raise short("operation_type", at, end, 1)
    operation_type = view[at]
    at += 1
    if not (operation_type in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25,)):
        raise LayoutError("operation_type", at - 1, at, "a value of operation_types", operation_type)
    value.operation_type = operation_type
    if operation_type in (4, 5, 6, 8, 14, 16, 23, 25):
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
    if operation_type not in (9, 13, 18, 19) and not (operation_type in (10, 11, 12, 21)):
        try:
            key, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("key")
            raise
    else:
        key = None
    value.key = key
    if operation_type in (1, 2, 15, 17, 22, 24, 5, 6, 14, 16, 23, 25):
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
    if operation_type in (10, 11, 12, 21):
        try:
            transaction_name, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("transaction_name")
            raise
    else:
        transaction_name = None
    value.transaction_name = transaction_name
    return value, at


class OperationColumns:
    """Many `leveldb_write_batch::operation`, one column per field; see `scan_operation`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'operation_type', 'column_family', 'key_data_start', 'key_data_end', 'value_data_start', 'value_data_end', 'commit_timestamp_data_start', 'commit_timestamp_data_end', 'transaction_name_data_start', 'transaction_name_data_end')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.operation_type: array[int] = array("B")
        self.column_family: array[int] = array("Q")
        self.key_data_start: array[int] = array("q")
        self.key_data_end: array[int] = array("q")
        self.value_data_start: array[int] = array("q")
        self.value_data_end: array[int] = array("q")
        self.commit_timestamp_data_start: array[int] = array("q")
        self.commit_timestamp_data_end: array[int] = array("q")
        self.transaction_name_data_start: array[int] = array("q")
        self.transaction_name_data_end: array[int] = array("q")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Operation:
        """One element as an object."""
        return read_operation(self.view, self.at[index], self.end)[0]

    def key_data(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.key_data_start[index] : self.key_data_end[index]]

    def value_data(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.value_data_start[index] : self.value_data_end[index]]

    def commit_timestamp_data(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.commit_timestamp_data_start[index] : self.commit_timestamp_data_end[index]]

    def transaction_name_data(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.transaction_name_data_start[index] : self.transaction_name_data_end[index]]


def scan_operation(view: View, at: int, end: int, count: int | None = None) -> OperationColumns:
    """The `leveldb_write_batch::operation` from `at` to `end`, or `count` of them, as columns; does not raise, see
    `problem`.
    """
    columns = OperationColumns(view, end)
    if native is not None:
        at = native.leveldb_write_batch_operation(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_operation_type = columns.operation_type.append
    add_column_family = columns.column_family.append
    add_key_data_start = columns.key_data_start.append
    add_key_data_end = columns.key_data_end.append
    add_value_data_start = columns.value_data_start.append
    add_value_data_end = columns.value_data_end.append
    add_commit_timestamp_data_start = columns.commit_timestamp_data_start.append
    add_commit_timestamp_data_end = columns.commit_timestamp_data_end.append
    add_transaction_name_data_start = columns.transaction_name_data_start.append
    add_transaction_name_data_end = columns.transaction_name_data_end.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            if at >= end:
                raise short("operation_type", at, end, 1)
            operation_type = view[at]
            at += 1
            if not (operation_type in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25,)):
                raise LayoutError("operation_type", at - 1, at, "a value of operation_types", operation_type)
            if operation_type in (4, 5, 6, 8, 14, 16, 23, 25):
                if at < end and (column_family := view[at]) < 0x80:
                    at += 1
                else:
                    try:
                        column_family, at = read_leveldb_varint(view, at, end)
                    except LayoutError as error:
                        error.within("column_family")
                        raise
            else:
                column_family = 0
            if operation_type not in (9, 13, 18, 19) and not (operation_type in (10, 11, 12, 21)):
                start = at
                if at < end and (key_len_data := view[at]) < 0x80:
                    at += 1
                else:
                    try:
                        key_len_data, at = read_leveldb_varint(view, at, end)
                    except LayoutError as error:
                        error.within("key.len_data")
                        raise
                if key_len_data > end - at:
                    raise LayoutError("key.len_data", start, at, f"at most {end - at}", key_len_data)
                at_key_data = at
                at = end_key_data = at + key_len_data
            else:
                at_key_data = end_key_data = 0
            if operation_type in (1, 2, 15, 17, 22, 24, 5, 6, 14, 16, 23, 25):
                start = at
                if at < end and (value_len_data := view[at]) < 0x80:
                    at += 1
                else:
                    try:
                        value_len_data, at = read_leveldb_varint(view, at, end)
                    except LayoutError as error:
                        error.within("value.len_data")
                        raise
                if value_len_data > end - at:
                    raise LayoutError("value.len_data", start, at, f"at most {end - at}", value_len_data)
                at_value_data = at
                at = end_value_data = at + value_len_data
            else:
                at_value_data = end_value_data = 0
            if operation_type == 21:
                start = at
                if at < end and (commit_timestamp_len_data := view[at]) < 0x80:
                    at += 1
                else:
                    try:
                        commit_timestamp_len_data, at = read_leveldb_varint(view, at, end)
                    except LayoutError as error:
                        error.within("commit_timestamp.len_data")
                        raise
                if commit_timestamp_len_data > end - at:
                    raise LayoutError("commit_timestamp.len_data", start, at, f"at most {end - at}", commit_timestamp_len_data)
                at_commit_timestamp_data = at
                at = end_commit_timestamp_data = at + commit_timestamp_len_data
            else:
                at_commit_timestamp_data = end_commit_timestamp_data = 0
            if operation_type in (10, 11, 12, 21):
                start = at
                if at < end and (transaction_name_len_data := view[at]) < 0x80:
                    at += 1
                else:
                    try:
                        transaction_name_len_data, at = read_leveldb_varint(view, at, end)
                    except LayoutError as error:
                        error.within("transaction_name.len_data")
                        raise
                if transaction_name_len_data > end - at:
                    raise LayoutError("transaction_name.len_data", start, at, f"at most {end - at}", transaction_name_len_data)
                at_transaction_name_data = at
                at = end_transaction_name_data = at + transaction_name_len_data
            else:
                at_transaction_name_data = end_transaction_name_data = 0
            add_at(first)
            add_operation_type(operation_type)
            add_column_family(column_family)
            add_key_data_start(at_key_data)
            add_key_data_end(end_key_data)
            add_value_data_start(at_value_data)
            add_value_data_end(end_value_data)
            add_commit_timestamp_data_start(at_commit_timestamp_data)
            add_commit_timestamp_data_end(end_commit_timestamp_data)
            add_transaction_name_data_start(at_transaction_name_data)
            add_transaction_name_data_end(end_transaction_name_data)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns


def flat_operation(view: View, at: int, end: int) -> tuple[int, int, int, int, int, int, int, int, int, int, int]:
    """Where the `leveldb_write_batch::operation` at `at` ends, and its fields: operation_type, column_family,
    key_data_start, key_data_end, value_data_start, value_data_end, commit_timestamp_data_start,
    commit_timestamp_data_end, transaction_name_data_start, transaction_name_data_end. Raises `LayoutError`.
    """
    if native is not None and (found := native.flat_leveldb_write_batch_operation(view, at, end)) is not None:
        return found
    if at >= end:
        raise short("operation_type", at, end, 1)
    operation_type = view[at]
    at += 1
    if not (operation_type in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25,)):
        raise LayoutError("operation_type", at - 1, at, "a value of operation_types", operation_type)
    if operation_type in (4, 5, 6, 8, 14, 16, 23, 25):
        if at < end and (column_family := view[at]) < 0x80:
            at += 1
        else:
            try:
                column_family, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("column_family")
                raise
    else:
        column_family = 0
    if operation_type not in (9, 13, 18, 19) and not (operation_type in (10, 11, 12, 21)):
        start = at
        if at < end and (key_len_data := view[at]) < 0x80:
            at += 1
        else:
            try:
                key_len_data, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("key.len_data")
                raise
        if key_len_data > end - at:
            raise LayoutError("key.len_data", start, at, f"at most {end - at}", key_len_data)
        at_key_data = at
        at = end_key_data = at + key_len_data
    else:
        at_key_data = end_key_data = 0
    if operation_type in (1, 2, 15, 17, 22, 24, 5, 6, 14, 16, 23, 25):
        start = at
        if at < end and (value_len_data := view[at]) < 0x80:
            at += 1
        else:
            try:
                value_len_data, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("value.len_data")
                raise
        if value_len_data > end - at:
            raise LayoutError("value.len_data", start, at, f"at most {end - at}", value_len_data)
        at_value_data = at
        at = end_value_data = at + value_len_data
    else:
        at_value_data = end_value_data = 0
    if operation_type == 21:
        start = at
        if at < end and (commit_timestamp_len_data := view[at]) < 0x80:
            at += 1
        else:
            try:
                commit_timestamp_len_data, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("commit_timestamp.len_data")
                raise
        if commit_timestamp_len_data > end - at:
            raise LayoutError("commit_timestamp.len_data", start, at, f"at most {end - at}", commit_timestamp_len_data)
        at_commit_timestamp_data = at
        at = end_commit_timestamp_data = at + commit_timestamp_len_data
    else:
        at_commit_timestamp_data = end_commit_timestamp_data = 0
    if operation_type in (10, 11, 12, 21):
        start = at
        if at < end and (transaction_name_len_data := view[at]) < 0x80:
            at += 1
        else:
            try:
                transaction_name_len_data, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("transaction_name.len_data")
                raise
        if transaction_name_len_data > end - at:
            raise LayoutError("transaction_name.len_data", start, at, f"at most {end - at}", transaction_name_len_data)
        at_transaction_name_data = at
        at = end_transaction_name_data = at + transaction_name_len_data
    else:
        at_transaction_name_data = end_transaction_name_data = 0
    return at, operation_type, column_family, at_key_data, end_key_data, at_value_data, end_value_data, at_commit_timestamp_data, end_commit_timestamp_data, at_transaction_name_data, end_transaction_name_data
