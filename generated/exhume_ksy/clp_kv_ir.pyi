# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ClpKvIr(KaitaiStruct):
    class Encodings(enum.IntEnum):
        four_byte = 41
        eight_byte = 48
    class Marks(enum.IntEnum):
        integer = 17
        text = 18
        decimal = 19
        escape = 92
    class MetadataLengths(enum.IntEnum):
        one_byte = 17
        two_bytes = 18
    class MetadataTypes(enum.IntEnum):
        json = 1
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
        utc_offset_change = 63
        text_1 = 65
        text_2 = 66
        text_4 = 67
        integer_1 = 81
        integer_2 = 82
        integer_4 = 83
        integer_8 = 84
        real = 86
        true_value = 87
        false_value = 88
        four_byte_encoding = 89
        eight_byte_encoding = 90
        empty_object = 94
        null_value = 95
        parent_1 = 96
        parent_2 = 97
        parent_4 = 98
        key_1 = 101
        key_2 = 102
        key_4 = 103
        node_integer = 113
        node_real = 114
        node_boolean = 115
        node_text = 116
        node_array = 117
        node_object = 118
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Decimal4(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        word: int
        digits: int
        num_digits: int
        num_fraction_digits: int
        sign: int
    class Decimal8(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        word: int
        digits: int
        num_digits: int
        num_fraction_digits: int
        sign: int
    class LogTypeByte(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        mark: ClpKvIr.Marks | int
    class Preamble(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        magic_start: bytes
        encoding: ClpKvIr.Encodings | int
        metadata_type: ClpKvIr.MetadataTypes | int
        metadata_length: ClpKvIr.MetadataLengths | int
        len_metadata1: int
        len_metadata2: int
        metadata: bytes
    class Token(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        tag: ClpKvIr.Tags | int
        number1: int
        number2: int
        number4: int
        number8: int
        real: float
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
    head: ClpKvIr.Preamble
    body: ClpKvIr.Units
