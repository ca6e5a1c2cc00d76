"""What ksy/data_bundle_config.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class CompressionMethods(IntEnum):
        """`data_bundle_config::compression_methods`"""
        UNKNOWN = 0
        NONE = 1
        SNAPPY = 2
        ZLIB = 3

    class Names(IntEnum):
        """`data_bundle_config::names`"""
        VERSION_MAGIC = 1
        BLOCK_SIZE = 2
        RECORD_SIZE = 3
        COMPRESSION_METHOD = 4
        RAW_PACKED = 6

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "CompressionMethods": (("UNKNOWN", 0), ("NONE", 1), ("SNAPPY", 2), ("ZLIB", 3),),
        "Names": (("VERSION_MAGIC", 1), ("BLOCK_SIZE", 2), ("RECORD_SIZE", 3), ("COMPRESSION_METHOD", 4), ("RAW_PACKED", 6),),
    })
