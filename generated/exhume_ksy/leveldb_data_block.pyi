# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_internal_key
from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbDataBlock(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Entry(KaitaiStruct):
        def __init__(self, number: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        number: Any
        len_shared: leveldb_varint.LeveldbVarint
        len_key_suffix: leveldb_varint.LeveldbVarint
        len_value: leveldb_varint.LeveldbVarint
        key_suffix: LeveldbDataBlock.KeySuffix
        value: bytes
        key: Any
        key_parts: leveldb_internal_key.LeveldbInternalKey | None
        user_key: Any
    class EntryList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        entries: list[LeveldbDataBlock.Entry]
    class KeySuffix(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        bytes: bytes
        text: str
    buckets: bytes | None
    entries: LeveldbDataBlock.EntryList
    has_hash_index: bool
    is_uniform: bool
    num_buckets: int | None
    num_restarts: int
    ofs_restarts: int
    packed_num_restarts: int
    restarts: list[int]
