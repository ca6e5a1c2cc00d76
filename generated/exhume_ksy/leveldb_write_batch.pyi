# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_bytes
from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbWriteBatch(KaitaiStruct):
    class OperationTypes(enum.IntEnum):
        deletion = 0
        value = 1
        merge = 2
        log_data = 3
        cf_deletion = 4
        cf_value = 5
        cf_merge = 6
        single_deletion = 7
        cf_single_deletion = 8
        begin_prepare = 9
        end_prepare = 10
        commit = 11
        rollback = 12
        no_operation = 13
        cf_range_deletion = 14
        range_deletion = 15
        cf_blob_index = 16
        blob_index = 17
        begin_persisted_prepare = 18
        begin_unprepare = 19
        commit_with_timestamp = 21
        wide_column_entity = 22
        cf_wide_column_entity = 23
        value_preferred_seqno = 24
        cf_value_preferred_seqno = 25
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Operation(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        operation_type: LeveldbWriteBatch.OperationTypes | int
        column_family: leveldb_varint.LeveldbVarint
        key: leveldb_bytes.LeveldbBytes
        value: leveldb_bytes.LeveldbBytes
        commit_timestamp: leveldb_bytes.LeveldbBytes
        transaction_name: leveldb_bytes.LeveldbBytes
        has_column_family: bool
        has_key: bool
        has_transaction_name: bool
        has_value: bool
    sequence: int
    num_operations: int
    operations: list[LeveldbWriteBatch.Operation]
