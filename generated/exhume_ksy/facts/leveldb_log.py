"""What ksy/leveldb_log.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Compressions(IntEnum):
        """`leveldb_log::compressions`"""
        NONE = 0
        ZSTD = 7

    class FragmentTypes(IntEnum):
        """`leveldb_log::fragment_types`"""
        ZERO = 0
        FULL = 1
        FIRST = 2
        MIDDLE = 3
        LAST = 4
        RECYCLABLE_FULL = 5
        RECYCLABLE_FIRST = 6
        RECYCLABLE_MIDDLE = 7
        RECYCLABLE_LAST = 8
        SET_COMPRESSION = 9
        USER_DEFINED_TIMESTAMP_SIZE = 10
        RECYCLABLE_USER_DEFINED_TIMESTAMP_SIZE = 11
        EARLY_PREDECESSOR_LOG = 33
        EARLY_RECYCLABLE_PREDECESSOR_LOG = 34
        PREDECESSOR_LOG = 130
        RECYCLABLE_PREDECESSOR_LOG = 131

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Compressions": (("NONE", 0), ("ZSTD", 7),),
        "FragmentTypes": (("ZERO", 0), ("FULL", 1), ("FIRST", 2), ("MIDDLE", 3), ("LAST", 4), ("RECYCLABLE_FULL", 5), ("RECYCLABLE_FIRST", 6), ("RECYCLABLE_MIDDLE", 7), ("RECYCLABLE_LAST", 8), ("SET_COMPRESSION", 9), ("USER_DEFINED_TIMESTAMP_SIZE", 10), ("RECYCLABLE_USER_DEFINED_TIMESTAMP_SIZE", 11), ("EARLY_PREDECESSOR_LOG", 33), ("EARLY_RECYCLABLE_PREDECESSOR_LOG", 34), ("PREDECESSOR_LOG", 130), ("RECYCLABLE_PREDECESSOR_LOG", 131),),
    })


class Fragment(metaclass=fixed):
    """`leveldb_log::fragment`"""

    prefix: Final = "<IHB"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        checksum: Final = (0, 4)
        len_data: Final = (4, 6)
        fragment_type: Final = (6, 7)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        checksum: Final = "<I"
        len_data: Final = "<H"
        fragment_type: Final = "<B"
        log_number: Final = "<I"


class FragmentData(metaclass=fixed):
    """`leveldb_log::fragment_data`"""

    class each(metaclass=fixed):
        """Bytes of each element."""

        timestamp_sizes: Final = 6

    class form(metaclass=fixed):
        """Formats of numbers for `struct`."""

        stored_magic: Final = '<I'
        compression: Final = '<I'


class TimestampSize(metaclass=fixed):
    """`leveldb_log::timestamp_size`"""

    size: Final = 6
    dtype: Final = [("column_family", "<u4"), ("len_timestamp", "<u2")]
    packed: Final = "<IH"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        column_family: Final = (0, 4)
        len_timestamp: Final = (4, 6)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        column_family: Final = "<I"
        len_timestamp: Final = "<H"
