# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ClpSDictionaryEntries(KaitaiStruct):
    class ClassicMarks(enum.IntEnum):
        integer_or_dictionary_entry = 17
        decimal = 18
        escape = 92
    class Marks(enum.IntEnum):
        integer = 17
        dictionary_entry = 18
        decimal = 19
        escape = 92
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class ClassicLogTypeByte(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        mark: ClpSDictionaryEntries.ClassicMarks | int
    class Entry(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_value: int
        value: bytes
        text: str
    class LogTypeByte(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        mark: ClpSDictionaryEntries.Marks | int
    entries: list[ClpSDictionaryEntries.Entry]
