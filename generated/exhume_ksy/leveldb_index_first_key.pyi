# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_bytes
from . import leveldb_index_delta
from ._struct import KaitaiStruct

class LeveldbIndexFirstKey(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class EntryList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        entries: list[LeveldbIndexFirstKey.KeyedEntry]
    class KeyedEntry(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        entry: leveldb_index_delta.LeveldbIndexDelta.Entry
        first_key: leveldb_bytes.LeveldbBytes
    entries: LeveldbIndexFirstKey.EntryList
    num_restarts: int
    ofs_restarts: int
    packed_num_restarts: int
    restarts: list[int]
