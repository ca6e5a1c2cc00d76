# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_varint
from ._struct import KaitaiStruct

class DataBundleField(KaitaiStruct):
    class WireTypes(enum.IntEnum):
        varint = 0
        fixed64 = 1
        bytes = 2
        fixed32 = 5
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class ByteString(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_data: leveldb_varint.LeveldbVarint
        data: DataBundleField.Content
    class Content(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        bytes: bytes
    class Fixed32(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        value: int
    class Fixed64(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        value: int
    key: leveldb_varint.LeveldbVarint
    value: DataBundleField.ByteString | DataBundleField.Fixed32 | DataBundleField.Fixed64 | leveldb_varint.LeveldbVarint
    number: int
    wire_type: DataBundleField.WireTypes | int
