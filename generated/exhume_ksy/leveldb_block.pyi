# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbBlock(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Entry(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_shared: leveldb_varint.LeveldbVarint
        len_key_suffix: leveldb_varint.LeveldbVarint
        len_value: leveldb_varint.LeveldbVarint
        key_suffix: bytes
        value: LeveldbBlock.EntryValue
    class EntryList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        entries: list[LeveldbBlock.Entry]
    class EntryValue(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        data: bytes
    buckets: bytes | None
    entries: LeveldbBlock.EntryList
    has_hash_index: bool
    is_uniform: bool
    num_buckets: int | None
    num_restarts: int
    ofs_restarts: int
    packed_num_restarts: int
    restarts: list[int]
