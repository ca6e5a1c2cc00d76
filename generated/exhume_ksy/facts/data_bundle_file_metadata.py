"""What ksy/data_bundle_file_metadata.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class FileTypes(IntEnum):
        """`data_bundle_file_metadata::file_types`"""
        UNKNOWN = 0
        REGULAR_FILE = 1
        DIRECTORY = 2

    class Names(IntEnum):
        """`data_bundle_file_metadata::names`"""
        FILE_TYPE = 1
        SHARD_INDEX = 2
        SHARD_UNCOMPRESSED_OFFSET = 3
        UNCOMPRESSED_SIZE = 4
        CRC32C = 5
        USER_DATA = 6

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "FileTypes": (("UNKNOWN", 0), ("REGULAR_FILE", 1), ("DIRECTORY", 2),),
        "Names": (("FILE_TYPE", 1), ("SHARD_INDEX", 2), ("SHARD_UNCOMPRESSED_OFFSET", 3), ("UNCOMPRESSED_SIZE", 4), ("CRC32C", 5), ("USER_DATA", 6),),
    })
