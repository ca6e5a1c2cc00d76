# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import uleb128
from ._struct import KaitaiStruct

class ZsIndexBlock(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Entry(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_key: uleb128.Uleb128
        key: bytes
        ofs_block: uleb128.Uleb128
        len_block: uleb128.Uleb128
    entries: list[ZsIndexBlock.Entry]
