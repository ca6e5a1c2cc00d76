"""What ksy/clp_s_table.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class FloatNotation(IntEnum):
        """`clp_s_table::float_notation`"""
        PLAIN = 0
        LOWER_EXPONENT = 1
        RESERVED = 2
        UPPER_EXPONENT = 3

    class ExponentSign(IntEnum):
        """`clp_s_table::exponent_sign`"""
        NONE = 0
        PLUS = 1
        MINUS = 2
        RESERVED = 3

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "FloatNotation": (("PLAIN", 0), ("LOWER_EXPONENT", 1), ("RESERVED", 2), ("UPPER_EXPONENT", 3),),
        "ExponentSign": (("NONE", 0), ("PLUS", 1), ("MINUS", 2), ("RESERVED", 3),),
    })


class ClpSTable(metaclass=fixed):
    """`clp_s_table`"""

    class cases(metaclass=fixed):
        """Values for which there is a type."""

        columns: Final = (0, 1, 2, 3, 4, 6, 8, 11, 12, 13, 14)


class IntegerColumn(metaclass=fixed):
    """`clp_s_table::integer_column`"""

    class format(metaclass=fixed):
        """Numbers by themselves."""

        values: Final = "<q"

    class each(metaclass=fixed):
        """Bytes of each element."""

        values: Final = 8


class FloatColumn(metaclass=fixed):
    """`clp_s_table::float_column`"""

    class format(metaclass=fixed):
        """Numbers by themselves."""

        values: Final = "<d"

    class each(metaclass=fixed):
        """Bytes of each element."""

        values: Final = 8


class FormattedFloatColumn(metaclass=fixed):
    """`clp_s_table::formatted_float_column`"""

    class format(metaclass=fixed):
        """Numbers by themselves."""

        values: Final = "<d"
        formats: Final = "<H"

    class each(metaclass=fixed):
        """Bytes of each element."""

        values: Final = 8
        formats: Final = 2


class FloatFormat(metaclass=fixed):
    """`clp_s_table::float_format`"""

    size: Final = 2
    dtype: Final = [("word", "<u2")]
    packed: Final = "<H"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        word: Final = (0, 2)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        word: Final = "<H"

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        notation: Final = 14
        exponent_sign: Final = 12
        num_exponent_digits: Final = 10
        num_significant_digits: Final = 5

    @staticmethod
    def notation(word: int) -> int:
        """With an exponent, and which letter starts it, or without."""
        return word >> 14

    @staticmethod
    def exponent_sign(word: int) -> int:
        """The sign between that letter and the digits of the exponent."""
        return word >> 12 & 3

    @staticmethod
    def num_exponent_digits(word: int) -> int:
        return (word >> 10 & 3) + 1

    @staticmethod
    def num_significant_digits(word: int) -> int:
        return (word >> 5 & 31) + 1


class IdColumn(metaclass=fixed):
    """`clp_s_table::id_column`"""

    class format(metaclass=fixed):
        """Numbers by themselves."""

        values: Final = "<Q"

    class each(metaclass=fixed):
        """Bytes of each element."""

        values: Final = 8


class ClpColumn(metaclass=fixed):
    """`clp_s_table::clp_column`"""

    class format(metaclass=fixed):
        """Numbers by themselves."""

        rows: Final = "<Q"
        num_variables: Final = "<Q"
        variables: Final = "<q"

    class each(metaclass=fixed):
        """Bytes of each element."""

        rows: Final = 8
        variables: Final = 8


class ClpWord(metaclass=fixed):
    """`clp_s_table::clp_word`"""

    size: Final = 8
    dtype: Final = [("word", "<u8")]
    packed: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        word: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        word: Final = "<Q"

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        log_type_id: Final = 0
        ofs_variable: Final = 24

    @staticmethod
    def log_type_id(word: int) -> int:
        """Position of the log type in its dictionary."""
        return word & 0xffffff

    @staticmethod
    def ofs_variable(word: int) -> int:
        """Index into the variables of the column."""
        return word >> 24


class DecimalVariable(metaclass=fixed):
    """`clp_s_table::decimal_variable`"""

    size: Final = 8
    dtype: Final = [("word", "<u8")]
    packed: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        word: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        word: Final = "<Q"

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


class ClassicDecimalVariable(metaclass=fixed):
    """`clp_s_table::classic_decimal_variable`"""

    size: Final = 8
    dtype: Final = [("word", "<u8")]
    packed: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        word: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        word: Final = "<Q"

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        digits: Final = 0
        num_fraction_digits: Final = 55
        num_digits: Final = 59
        sign: Final = 63

    @staticmethod
    def digits(word: int) -> int:
        """As one number, without the point."""
        return word & 0x3fffffffffffff

    @staticmethod
    def num_fraction_digits(word: int) -> int:
        """Digits after the point."""
        return (word >> 55 & 15) + 1

    @staticmethod
    def num_digits(word: int) -> int:
        return (word >> 59 & 15) + 1

    @staticmethod
    def sign(word: int) -> int:
        """1 if a minus sign precedes the digits."""
        return word >> 62 >> 1


class ClassicVariable(metaclass=fixed):
    """`clp_s_table::classic_variable`"""

    size: Final = 8
    first_id: Final = 0x4000000000000000
    dtype: Final = [("value", "<i8")]
    packed: Final = "<q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        value: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        value: Final = "<q"

    @staticmethod
    def is_id(value: int) -> bool:
        return value >= 0x4000000000000000 and value != 0x7fffffffffffffff

    @staticmethod
    def dictionary_id(value: int) -> int:
        """The position, where it is one."""
        return value - 0x4000000000000000


class DateColumn(metaclass=fixed):
    """`clp_s_table::date_column`"""

    class format(metaclass=fixed):
        """Numbers by themselves."""

        epochs: Final = "<q"
        pattern_ids: Final = "<q"

    class each(metaclass=fixed):
        """Bytes of each element."""

        epochs: Final = 8
        pattern_ids: Final = 8


class TimestampColumn(metaclass=fixed):
    """`clp_s_table::timestamp_column`"""

    class format(metaclass=fixed):
        """Numbers by themselves."""

        deltas: Final = "<q"
        pattern_ids: Final = "<Q"

    class each(metaclass=fixed):
        """Bytes of each element."""

        deltas: Final = 8
        pattern_ids: Final = 8
