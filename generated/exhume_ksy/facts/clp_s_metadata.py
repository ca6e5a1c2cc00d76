"""What ksy/clp_s_metadata.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
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


class ClpSMetadata:
    """`clp_s_metadata`"""

    prefix: Final = "<B"

    class at:
        """Where fields start and end, in bytes from the start."""

        num_packets: Final = (0, 1)

    class format:
        """Numbers by themselves."""

        num_packets: Final = "<B"


class Packet:
    """`clp_s_metadata::packet`"""

    prefix: Final = "<BI"

    class at:
        """Where fields start and end, in bytes from the start."""

        type: Final = (0, 1)
        len_body: Final = (1, 5)

    class format:
        """Numbers by themselves."""

        type: Final = "<B"
        len_body: Final = "<I"


class TimestampDictionary:
    """`clp_s_metadata::timestamp_dictionary`"""

    prefix: Final = "<Q"

    class at:
        """Where fields start and end, in bytes from the start."""

        num_ranges: Final = (0, 8)

    class format:
        """Numbers by themselves."""

        num_ranges: Final = "<Q"
        num_patterns: Final = "<Q"


class TimestampRange:
    """`clp_s_metadata::timestamp_range`"""

    prefix: Final = "<Q"

    class at:
        """Where fields start and end, in bytes from the start."""

        len_key: Final = (0, 8)

    class format:
        """Numbers by themselves."""

        len_key: Final = "<Q"
        num_column_ids: Final = "<Q"
        column_ids: Final = "<i"
        encoding: Final = "<Q"
        begin_epoch: Final = "<q"
        end_epoch: Final = "<q"
        begin_double: Final = "<d"
        end_double: Final = "<d"

    class each:
        """Bytes of each element."""

        column_ids: Final = 4


class TimestampPattern:
    """`clp_s_metadata::timestamp_pattern`"""

    prefix: Final = "<QQ"

    class at:
        """Where fields start and end, in bytes from the start."""

        pattern_id: Final = (0, 8)
        len_pattern: Final = (8, 16)

    class format:
        """Numbers by themselves."""

        pattern_id: Final = "<Q"
        len_pattern: Final = "<Q"
