# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import clp_kv_ir
from ._struct import KaitaiStruct

class ClpIr(KaitaiStruct):
    class Tags(enum.IntEnum):
        end_of_stream = 0
        variable_text_1 = 17
        variable_text_2 = 18
        variable_text_4 = 19
        variable_4 = 24
        variable_8 = 25
        log_type_1 = 33
        log_type_2 = 34
        log_type_4 = 35
        timestamp = 48
        delta_1 = 49
        delta_2 = 50
        delta_4 = 51
        delta_8 = 52
        utc_offset_change = 63
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Token(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        tag: ClpIr.Tags | int
        number1: int
        number2: int
        number4: int
        number8: int
        len_text1: int
        len_text2: int
        len_text4: int
        text: bytes
        has_text1: bool
        has_text2: bool
        has_text4: bool
    class Units(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        tokens: list[Any]
    head: clp_kv_ir.ClpKvIr.Preamble
    body: ClpIr.Units
