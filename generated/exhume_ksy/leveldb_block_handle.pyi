# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbBlockHandle(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    ofs_block: leveldb_varint.LeveldbVarint
    len_block: leveldb_varint.LeveldbVarint
