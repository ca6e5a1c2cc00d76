# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class Caf(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class ChunkFooter(KaitaiStruct):
        def __init__(self, max_index: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        max_index: Any
        len_index: int
    data: bytes
    footer: Caf.ChunkFooter
    index: str
    ofs_index: int
