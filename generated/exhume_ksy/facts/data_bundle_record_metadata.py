"""What ksy/data_bundle_record_metadata.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Names(IntEnum):
        """`data_bundle_record_metadata::names`"""
        SHARD_INDEX = 1
        SHARD_UNCOMPRESSED_OFFSET = 2
        SHARD_BYTE_OFFSET = 3
        ALL_ZEROS = 4

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Names": (("SHARD_INDEX", 1), ("SHARD_UNCOMPRESSED_OFFSET", 2), ("SHARD_BYTE_OFFSET", 3), ("ALL_ZEROS", 4),),
    })
