"""What ksy/clp_s_dictionary_entries.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Marks(IntEnum):
        """`clp_s_dictionary_entries::marks`"""
        INTEGER = 17
        DICTIONARY_ENTRY = 18
        DECIMAL = 19
        ESCAPE = 92

    class ClassicMarks(IntEnum):
        """`clp_s_dictionary_entries::classic_marks`"""
        INTEGER_OR_DICTIONARY_ENTRY = 17
        DECIMAL = 18
        ESCAPE = 92

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Marks": (("INTEGER", 17), ("DICTIONARY_ENTRY", 18), ("DECIMAL", 19), ("ESCAPE", 92),),
        "ClassicMarks": (("INTEGER_OR_DICTIONARY_ENTRY", 17), ("DECIMAL", 18), ("ESCAPE", 92),),
    })


class Entry(metaclass=fixed):
    """`clp_s_dictionary_entries::entry`"""

    prefix: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        len_value: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_value: Final = "<Q"


class LogTypeByte(metaclass=fixed):
    """`clp_s_dictionary_entries::log_type_byte`"""

    size: Final = 1
    dtype: Final = [("mark", "u1")]
    packed: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        mark: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        mark: Final = "<B"


class ClassicLogTypeByte(metaclass=fixed):
    """`clp_s_dictionary_entries::classic_log_type_byte`"""

    size: Final = 1
    dtype: Final = [("mark", "u1")]
    packed: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        mark: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        mark: Final = "<B"
