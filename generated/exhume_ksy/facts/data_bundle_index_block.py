"""What ksy/data_bundle_index_block.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Tables(IntEnum):
    """`data_bundle_index_block::tables`"""
    UNKNOWN = 0
    CONFIG = 1
    FILES = 2
    RECORDS = 3


class DataBundleIndexBlock:
    """`data_bundle_index_block`"""

    class each:
        """Bytes of each element."""

        restarts: Final = 4

    class before_end:
        """Bytes from start and end to the end of the stream."""

        packed_num_restarts: Final = (4, 0)
        num_buckets: Final = (6, 4)

    class form:
        """Formats of numbers for `struct`."""

        packed_num_restarts: Final = '<I'
        num_buckets: Final = '<H'
        restarts: Final = '<I'


class Row:
    """`data_bundle_index_block::row`"""

    class cases:
        """Values for which there is a type."""

        value: Final = (1, 2, 3)
