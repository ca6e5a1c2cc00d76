"""What ksy/data_bundle_shard_header.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class CompressionMethods(IntEnum):
        """`data_bundle_shard_header::compression_methods`"""
        UNKNOWN = 0
        NONE = 1
        SNAPPY = 2
        ZLIB = 3

    class Names(IntEnum):
        """`data_bundle_shard_header::names`"""
        SHARD_INDEX = 1
        SHARD_COUNT = 2
        RECORD_SIZE = 3
        RECORD_ALIGNMENT = 4
        COMPRESSION_METHOD = 5
        INLINE_METADATA_TABLE = 6
        METADATA_AT_EOF = 7
        EXTERNAL_METADATA = 8

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "CompressionMethods": (("UNKNOWN", 0), ("NONE", 1), ("SNAPPY", 2), ("ZLIB", 3),),
        "Names": (("SHARD_INDEX", 1), ("SHARD_COUNT", 2), ("RECORD_SIZE", 3), ("RECORD_ALIGNMENT", 4), ("COMPRESSION_METHOD", 5), ("INLINE_METADATA_TABLE", 6), ("METADATA_AT_EOF", 7), ("EXTERNAL_METADATA", 8),),
    })
