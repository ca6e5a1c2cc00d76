# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbProperties(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Property(KaitaiStruct):
        def __init__(self, number: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        number: Any
        len_shared: leveldb_varint.LeveldbVarint
        len_name: leveldb_varint.LeveldbVarint
        len_value: leveldb_varint.LeveldbVarint
        name: str
        value: bytes
        text: str | None
        whole_name: Any
    class PropertyList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        properties: list[LeveldbProperties.Property]
    num_restarts: int
    ofs_restarts: int
    properties: LeveldbProperties.PropertyList
    restarts: list[int]
