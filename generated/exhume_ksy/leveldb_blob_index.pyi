# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_varint
from ._struct import KaitaiStruct

class LeveldbBlobIndex(KaitaiStruct):
    class Kinds(enum.IntEnum):
        inlined_ttl = 0
        blob = 1
        blob_ttl = 2
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    kind: LeveldbBlobIndex.Kinds | int
    expiration: leveldb_varint.LeveldbVarint
    inlined: bytes
    file_number: leveldb_varint.LeveldbVarint
    ofs_value: leveldb_varint.LeveldbVarint
    len_value: leveldb_varint.LeveldbVarint
    compression: int
