# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class LeveldbFilter(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Filter(KaitaiStruct):
        def __init__(self, idx: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        idx: Any
        raw: bytes | None
    base_lg: int
    filters: list[LeveldbFilter.Filter]
    num_filters: int
    offsets: list[int]
    ofs_offsets: int
