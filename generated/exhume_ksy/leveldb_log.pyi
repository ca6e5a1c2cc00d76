# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_version_edit
from . import leveldb_write_batch
from ._struct import KaitaiStruct

class LeveldbLog(KaitaiStruct):
    class Compressions(enum.IntEnum):
        none = 0
        zstd = 7
    class FragmentTypes(enum.IntEnum):
        zero = 0
        full = 1
        first = 2
        middle = 3
        last = 4
        recyclable_full = 5
        recyclable_first = 6
        recyclable_middle = 7
        recyclable_last = 8
        set_compression = 9
        user_defined_timestamp_size = 10
        recyclable_user_defined_timestamp_size = 11
        early_predecessor_log = 33
        early_recyclable_predecessor_log = 34
        predecessor_log = 130
        recyclable_predecessor_log = 131
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Block(KaitaiStruct):
        def __init__(self, is_manifest: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        is_manifest: Any
        fragments: list[Any]
        trailer: bytes
    class Fragment(KaitaiStruct):
        def __init__(self, is_manifest: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        is_manifest: Any
        checksum: int
        len_data: int
        fragment_type: LeveldbLog.FragmentTypes | int
        log_number: int
        data: LeveldbLog.FragmentData
        is_recyclable: bool
        is_whole: bool
        is_zero_fill: bool
    class FragmentData(KaitaiStruct):
        def __init__(self, is_manifest: Any, is_whole: Any, kind: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        is_manifest: Any
        is_whole: Any
        kind: Any
        bytes: bytes
        batch: leveldb_write_batch.LeveldbWriteBatch | None
        compression: LeveldbLog.Compressions | int | None
        is_compressed: bool
        stored_magic: int | None
        timestamp_sizes: list[LeveldbLog.TimestampSize] | None
        version_edit: leveldb_version_edit.LeveldbVersionEdit | None
    class TimestampSize(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        column_family: int
        len_timestamp: int
    blocks: list[LeveldbLog.Block] | None
