# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ClpSTable(KaitaiStruct):
    class ExponentSign(enum.IntEnum):
        none = 0
        plus = 1
        minus = 2
        reserved = 3
    class FloatNotation(enum.IntEnum):
        plain = 0
        lower_exponent = 1
        reserved = 2
        upper_exponent = 3
    def __init__(self, num_messages: Any, node_types: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class BooleanColumn(KaitaiStruct):
        def __init__(self, num_values: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_values: Any
        values: bytes
    class ClassicDecimalVariable(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        word: int
        digits: int
        num_digits: int
        num_fraction_digits: int
        sign: int
    class ClassicVariable(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        value: int
        dictionary_id: int
        first_id: int
        is_id: bool
    class ClpColumn(KaitaiStruct):
        def __init__(self, num_values: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_values: Any
        rows: list[ClpSTable.ClpWord]
        num_variables: int
        variables: list[int]
    class ClpWord(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        word: int
        log_type_id: int
        ofs_variable: int
    class DateColumn(KaitaiStruct):
        def __init__(self, num_values: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_values: Any
        epochs: list[int]
        pattern_ids: list[int]
    class DecimalVariable(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        word: int
        digits: int
        num_digits: int
        num_fraction_digits: int
        sign: int
    class FloatColumn(KaitaiStruct):
        def __init__(self, num_values: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_values: Any
        values: list[float]
    class FloatFormat(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        word: int
        exponent_sign: ClpSTable.ExponentSign | int
        notation: ClpSTable.FloatNotation | int
        num_exponent_digits: int
        num_significant_digits: int
    class FormattedFloatColumn(KaitaiStruct):
        def __init__(self, num_values: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_values: Any
        values: list[float]
        formats: list[ClpSTable.FloatFormat]
    class IdColumn(KaitaiStruct):
        def __init__(self, num_values: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_values: Any
        values: list[int]
    class IntegerColumn(KaitaiStruct):
        def __init__(self, num_values: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_values: Any
        values: list[int]
    class TimestampColumn(KaitaiStruct):
        def __init__(self, num_values: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_values: Any
        deltas: list[int]
        pattern_ids: list[int]
    class UnknownColumn(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    num_messages: Any
    node_types: Any
    columns: list[ClpSTable.BooleanColumn | ClpSTable.ClpColumn | ClpSTable.DateColumn | ClpSTable.FloatColumn | ClpSTable.FormattedFloatColumn | ClpSTable.IdColumn | ClpSTable.IntegerColumn | ClpSTable.TimestampColumn | ClpSTable.UnknownColumn]
    num_columns: int
