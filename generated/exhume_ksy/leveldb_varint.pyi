# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class LeveldbVarint(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    group0: int
    group1: int
    group2: int
    group3: int
    group4: int
    group5: int
    group6: int
    group7: int
    group8: int
    group9: int
    value: int
