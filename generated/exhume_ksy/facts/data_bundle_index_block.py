"""What ksy/data_bundle_index_block.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Tables(IntEnum):
        """`data_bundle_index_block::tables`"""
        UNKNOWN = 0
        CONFIG = 1
        FILES = 2
        RECORDS = 3

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Tables": (("UNKNOWN", 0), ("CONFIG", 1), ("FILES", 2), ("RECORDS", 3),),
    })


class DataBundleIndexBlock(metaclass=fixed):
    """`data_bundle_index_block`"""

    class each(metaclass=fixed):
        """Bytes of each element."""

        restarts: Final = 4

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        packed_num_restarts: Final = (4, 0)
        num_buckets: Final = (6, 4)

    class form(metaclass=fixed):
        """Formats of numbers for `struct`."""

        packed_num_restarts: Final = '<I'
        num_buckets: Final = '<H'
        restarts: Final = '<I'


class Row(metaclass=fixed):
    """`data_bundle_index_block::row`"""

    class cases(metaclass=fixed):
        """Values for which there is a type."""

        value: Final = (1, 2, 3)
