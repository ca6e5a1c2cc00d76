"""What ksy/leveldb_internal_key.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class ValueTypes(IntEnum):
        """`leveldb_internal_key::value_types`"""
        DELETION = 0
        VALUE = 1
        MERGE = 2
        SINGLE_DELETION = 7
        RANGE_DELETION = 15
        BLOB_INDEX = 17
        DELETION_WITH_TIMESTAMP = 20
        WIDE_COLUMN_ENTITY = 22
        VALUE_PREFERRED_SEQNO = 24

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "ValueTypes": (("DELETION", 0), ("VALUE", 1), ("MERGE", 2), ("SINGLE_DELETION", 7), ("RANGE_DELETION", 15), ("BLOB_INDEX", 17), ("DELETION_WITH_TIMESTAMP", 20), ("WIDE_COLUMN_ENTITY", 22), ("VALUE_PREFERRED_SEQNO", 24),),
    })


class LeveldbInternalKey(metaclass=fixed):
    """`leveldb_internal_key`"""

    suffix: Final = "<BIHB"

    class format(metaclass=fixed):
        """Numbers by themselves."""

        value_type: Final = "<B"
        sequence_lo: Final = "<I"
        sequence_hi: Final = "<H"
        sequence_top: Final = "<B"
