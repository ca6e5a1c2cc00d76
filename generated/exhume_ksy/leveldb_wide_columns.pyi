# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_bytes
from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbWideColumns(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Column(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        name: leveldb_bytes.LeveldbBytes
        len_value: leveldb_varint.LeveldbVarint
    class Value(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        data: bytes
    version: leveldb_varint.LeveldbVarint
    num_columns: leveldb_varint.LeveldbVarint
    columns: list[LeveldbWideColumns.Column]
    values: list[LeveldbWideColumns.Value]
