# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_block_handle
from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbIndexDelta(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Entry(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_shared: leveldb_varint.LeveldbVarint
        len_key_suffix: leveldb_varint.LeveldbVarint
        key_suffix: bytes
        handle: leveldb_block_handle.LeveldbBlockHandle
        raw_delta: leveldb_varint.LeveldbVarint
    class EntryList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        entries: list[LeveldbIndexDelta.Entry]
    entries: LeveldbIndexDelta.EntryList
    num_restarts: int
    ofs_restarts: int
    packed_num_restarts: int
    restarts: list[int]
