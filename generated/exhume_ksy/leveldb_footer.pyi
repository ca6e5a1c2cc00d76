# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_block_handle
from ._struct import KaitaiStruct

class LeveldbFooter(KaitaiStruct):
    class ChecksumTypes(enum.IntEnum):
        none = 0
        crc32c = 1
        xxhash32 = 2
        xxhash64 = 3
        xxh3 = 4
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Handles(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        metaindex: leveldb_block_handle.LeveldbBlockHandle
        index: leveldb_block_handle.LeveldbBlockHandle
        padding: bytes
    class SealedHandle(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        extended_magic: bytes
        footer_checksum: int
        base_context_checksum: int
        len_metaindex: int
        padding: bytes
    checksum_type: LeveldbFooter.ChecksumTypes | int | None
    is_cuckoo: bool
    is_leveldb: bool
    is_old_plain: bool
    is_pebble: bool
    is_plain: bool
    is_rocksdb: bool
    leveldb: LeveldbFooter.Handles | None
    magic: bytes
    rocksdb: LeveldbFooter.Handles | None
    rocksdb6: LeveldbFooter.SealedHandle | None
    version: int | None
