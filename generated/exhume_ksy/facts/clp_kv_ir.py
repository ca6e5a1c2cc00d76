"""What ksy/clp_kv_ir.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Encodings(IntEnum):
        """`clp_kv_ir::encodings`"""
        FOUR_BYTE = 41
        EIGHT_BYTE = 48

    class MetadataTypes(IntEnum):
        """`clp_kv_ir::metadata_types`"""
        JSON = 1

    class MetadataLengths(IntEnum):
        """`clp_kv_ir::metadata_lengths`"""
        ONE_BYTE = 17
        TWO_BYTES = 18

    class Tags(IntEnum):
        """`clp_kv_ir::tags`"""
        END_OF_STREAM = 0
        VARIABLE_TEXT_1 = 17
        VARIABLE_TEXT_2 = 18
        VARIABLE_TEXT_4 = 19
        VARIABLE_4 = 24
        VARIABLE_8 = 25
        LOG_TYPE_1 = 33
        LOG_TYPE_2 = 34
        LOG_TYPE_4 = 35
        UTC_OFFSET_CHANGE = 63
        TEXT_1 = 65
        TEXT_2 = 66
        TEXT_4 = 67
        INTEGER_1 = 81
        INTEGER_2 = 82
        INTEGER_4 = 83
        INTEGER_8 = 84
        REAL = 86
        TRUE_VALUE = 87
        FALSE_VALUE = 88
        FOUR_BYTE_ENCODING = 89
        EIGHT_BYTE_ENCODING = 90
        EMPTY_OBJECT = 94
        NULL_VALUE = 95
        PARENT_1 = 96
        PARENT_2 = 97
        PARENT_4 = 98
        KEY_1 = 101
        KEY_2 = 102
        KEY_4 = 103
        NODE_INTEGER = 113
        NODE_REAL = 114
        NODE_BOOLEAN = 115
        NODE_TEXT = 116
        NODE_ARRAY = 117
        NODE_OBJECT = 118

    class Marks(IntEnum):
        """`clp_kv_ir::marks`"""
        INTEGER = 17
        TEXT = 18
        DECIMAL = 19
        ESCAPE = 92

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Encodings": (("FOUR_BYTE", 41), ("EIGHT_BYTE", 48),),
        "MetadataTypes": (("JSON", 1),),
        "MetadataLengths": (("ONE_BYTE", 17), ("TWO_BYTES", 18),),
        "Tags": (("END_OF_STREAM", 0), ("VARIABLE_TEXT_1", 17), ("VARIABLE_TEXT_2", 18), ("VARIABLE_TEXT_4", 19), ("VARIABLE_4", 24), ("VARIABLE_8", 25), ("LOG_TYPE_1", 33), ("LOG_TYPE_2", 34), ("LOG_TYPE_4", 35), ("UTC_OFFSET_CHANGE", 63), ("TEXT_1", 65), ("TEXT_2", 66), ("TEXT_4", 67), ("INTEGER_1", 81), ("INTEGER_2", 82), ("INTEGER_4", 83), ("INTEGER_8", 84), ("REAL", 86), ("TRUE_VALUE", 87), ("FALSE_VALUE", 88), ("FOUR_BYTE_ENCODING", 89), ("EIGHT_BYTE_ENCODING", 90), ("EMPTY_OBJECT", 94), ("NULL_VALUE", 95), ("PARENT_1", 96), ("PARENT_2", 97), ("PARENT_4", 98), ("KEY_1", 101), ("KEY_2", 102), ("KEY_4", 103), ("NODE_INTEGER", 113), ("NODE_REAL", 114), ("NODE_BOOLEAN", 115), ("NODE_TEXT", 116), ("NODE_ARRAY", 117), ("NODE_OBJECT", 118),),
        "Marks": (("INTEGER", 17), ("TEXT", 18), ("DECIMAL", 19), ("ESCAPE", 92),),
    })


class Preamble(metaclass=fixed):
    """`clp_kv_ir::preamble`"""

    magic_start: Final = b'\xfd/\xb5'
    prefix: Final = "<3sBBB"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        magic_start: Final = (0, 3)
        encoding: Final = (3, 4)
        metadata_type: Final = (4, 5)
        metadata_length: Final = (5, 6)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        encoding: Final = "<B"
        metadata_type: Final = "<B"
        metadata_length: Final = "<B"
        len_metadata1: Final = "<B"
        len_metadata2: Final = ">H"


class Token(metaclass=fixed):
    """`clp_kv_ir::token`"""

    prefix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        tag: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        tag: Final = "<B"
        number1: Final = "<b"
        number2: Final = ">h"
        number4: Final = ">i"
        number8: Final = ">q"
        real: Final = ">d"
        len_text1: Final = "<B"
        len_text2: Final = ">H"
        len_text4: Final = ">I"


class LogTypeByte(metaclass=fixed):
    """`clp_kv_ir::log_type_byte`"""

    size: Final = 1
    dtype: Final = [("mark", "u1")]
    packed: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        mark: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        mark: Final = "<B"


class Decimal4(metaclass=fixed):
    """`clp_kv_ir::decimal_4`"""

    size: Final = 4
    dtype: Final = [("word", ">u4")]
    packed: Final = ">I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        word: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        word: Final = ">I"

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        num_fraction_digits: Final = 0
        num_digits: Final = 3
        digits: Final = 6
        sign: Final = 31

    @staticmethod
    def num_fraction_digits(word: int) -> int:
        """Digits after the point."""
        return (word & 7) + 1

    @staticmethod
    def num_digits(word: int) -> int:
        return (word >> 3 & 7) + 1

    @staticmethod
    def digits(word: int) -> int:
        """As one number, without the point."""
        return word >> 6 & 0x1ffffff

    @staticmethod
    def sign(word: int) -> int:
        """1 if a minus sign precedes the digits."""
        return word >> 31


class Decimal8(metaclass=fixed):
    """`clp_kv_ir::decimal_8`"""

    size: Final = 8
    dtype: Final = [("word", ">u8")]
    packed: Final = ">Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        word: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        word: Final = ">Q"

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        num_fraction_digits: Final = 0
        num_digits: Final = 4
        digits: Final = 8
        sign: Final = 63

    @staticmethod
    def num_fraction_digits(word: int) -> int:
        """Digits after the point."""
        return (word & 15) + 1

    @staticmethod
    def num_digits(word: int) -> int:
        return (word >> 4 & 15) + 1

    @staticmethod
    def digits(word: int) -> int:
        """As one number, without the point."""
        return word >> 8 & 0x3fffffffffffff

    @staticmethod
    def sign(word: int) -> int:
        """1 if a minus sign precedes the digits."""
        return word >> 62 >> 1
