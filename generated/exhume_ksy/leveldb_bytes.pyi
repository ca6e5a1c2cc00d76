# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbBytes(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    len_data: leveldb_varint.LeveldbVarint
    data: bytes
