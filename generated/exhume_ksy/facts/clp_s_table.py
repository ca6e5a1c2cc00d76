"""What ksy/clp_s_table.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
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


class FloatFormat:
    """`clp_s_table::float_format`"""

    size: Final = 2
    dtype: Final = [("word", "<u2")]
    packed: Final = "<H"

    class at:
        """Where fields start and end, in bytes from the start."""

        word: Final = (0, 2)


class ClpWord:
    """`clp_s_table::clp_word`"""

    size: Final = 8
    dtype: Final = [("word", "<u8")]
    packed: Final = "<Q"

    class at:
        """Where fields start and end, in bytes from the start."""

        word: Final = (0, 8)
