"""What ksy/clp_ir.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Tags(IntEnum):
        """`clp_ir::tags`"""
        END_OF_STREAM = 0
        VARIABLE_TEXT_1 = 17
        VARIABLE_TEXT_2 = 18
        VARIABLE_TEXT_4 = 19
        VARIABLE_4 = 24
        VARIABLE_8 = 25
        LOG_TYPE_1 = 33
        LOG_TYPE_2 = 34
        LOG_TYPE_4 = 35
        TIMESTAMP = 48
        DELTA_1 = 49
        DELTA_2 = 50
        DELTA_4 = 51
        DELTA_8 = 52
        UTC_OFFSET_CHANGE = 63

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Tags": (("END_OF_STREAM", 0), ("VARIABLE_TEXT_1", 17), ("VARIABLE_TEXT_2", 18), ("VARIABLE_TEXT_4", 19), ("VARIABLE_4", 24), ("VARIABLE_8", 25), ("LOG_TYPE_1", 33), ("LOG_TYPE_2", 34), ("LOG_TYPE_4", 35), ("TIMESTAMP", 48), ("DELTA_1", 49), ("DELTA_2", 50), ("DELTA_4", 51), ("DELTA_8", 52), ("UTC_OFFSET_CHANGE", 63),),
    })


class Token(metaclass=fixed):
    """`clp_ir::token`"""

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
        len_text1: Final = "<B"
        len_text2: Final = ">H"
        len_text4: Final = ">I"
