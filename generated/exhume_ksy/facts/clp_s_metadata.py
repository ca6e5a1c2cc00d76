"""What ksy/clp_s_metadata.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class PacketType(IntEnum):
        """`clp_s_metadata::packet_type`"""
        ARCHIVE_INFO = 0
        ARCHIVE_FILE_INFO = 1
        TIMESTAMP_DICTIONARY = 2
        RANGE_INDEX = 3

    class TimestampEncoding(IntEnum):
        """`clp_s_metadata::timestamp_encoding`"""
        UNKNOWN = 0
        EPOCH = 1
        DOUBLE_EPOCH = 2

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "PacketType": (("ARCHIVE_INFO", 0), ("ARCHIVE_FILE_INFO", 1), ("TIMESTAMP_DICTIONARY", 2), ("RANGE_INDEX", 3),),
        "TimestampEncoding": (("UNKNOWN", 0), ("EPOCH", 1), ("DOUBLE_EPOCH", 2),),
    })


class ClpSMetadata(metaclass=fixed):
    """`clp_s_metadata`"""

    prefix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        num_packets: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_packets: Final = "<B"


class Packet(metaclass=fixed):
    """`clp_s_metadata::packet`"""

    prefix: Final = "<BI"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        type: Final = (0, 1)
        len_body: Final = (1, 5)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        type: Final = "<B"
        len_body: Final = "<I"


class TimestampDictionary(metaclass=fixed):
    """`clp_s_metadata::timestamp_dictionary`"""

    prefix: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        num_ranges: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_ranges: Final = "<Q"
        num_patterns: Final = "<Q"


class TimestampRange(metaclass=fixed):
    """`clp_s_metadata::timestamp_range`"""

    prefix: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        len_key: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_key: Final = "<Q"
        num_column_ids: Final = "<Q"
        column_ids: Final = "<i"
        encoding: Final = "<Q"
        begin_epoch: Final = "<q"
        end_epoch: Final = "<q"
        begin_double: Final = "<d"
        end_double: Final = "<d"

    class each(metaclass=fixed):
        """Bytes of each element."""

        column_ids: Final = 4


class TimestampPattern(metaclass=fixed):
    """`clp_s_metadata::timestamp_pattern`"""

    prefix: Final = "<QQ"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        pattern_id: Final = (0, 8)
        len_pattern: Final = (8, 16)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        pattern_id: Final = "<Q"
        len_pattern: Final = "<Q"
