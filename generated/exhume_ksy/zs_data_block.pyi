# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import uleb128
from ._struct import KaitaiStruct

class ZsDataBlock(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Record(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_data: uleb128.Uleb128
        data: bytes
    records: list[ZsDataBlock.Record]
