"""What ksy/data_bundle_record_metadata.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Names(IntEnum):
    """`data_bundle_record_metadata::names`"""
    SHARD_INDEX = 1
    SHARD_UNCOMPRESSED_OFFSET = 2
    SHARD_BYTE_OFFSET = 3
    ALL_ZEROS = 4
