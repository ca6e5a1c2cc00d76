"""What ksy/leveldb_write_batch.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class OperationTypes(IntEnum):
        """`leveldb_write_batch::operation_types`"""
        DELETION = 0
        VALUE = 1
        MERGE = 2
        LOG_DATA = 3
        CF_DELETION = 4
        CF_VALUE = 5
        CF_MERGE = 6
        SINGLE_DELETION = 7
        CF_SINGLE_DELETION = 8
        BEGIN_PREPARE = 9
        END_PREPARE = 10
        COMMIT = 11
        ROLLBACK = 12
        NO_OPERATION = 13
        CF_RANGE_DELETION = 14
        RANGE_DELETION = 15
        CF_BLOB_INDEX = 16
        BLOB_INDEX = 17
        BEGIN_PERSISTED_PREPARE = 18
        BEGIN_UNPREPARE = 19
        COMMIT_WITH_TIMESTAMP = 21
        WIDE_COLUMN_ENTITY = 22
        CF_WIDE_COLUMN_ENTITY = 23
        VALUE_PREFERRED_SEQNO = 24
        CF_VALUE_PREFERRED_SEQNO = 25

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "OperationTypes": (("DELETION", 0), ("VALUE", 1), ("MERGE", 2), ("LOG_DATA", 3), ("CF_DELETION", 4), ("CF_VALUE", 5), ("CF_MERGE", 6), ("SINGLE_DELETION", 7), ("CF_SINGLE_DELETION", 8), ("BEGIN_PREPARE", 9), ("END_PREPARE", 10), ("COMMIT", 11), ("ROLLBACK", 12), ("NO_OPERATION", 13), ("CF_RANGE_DELETION", 14), ("RANGE_DELETION", 15), ("CF_BLOB_INDEX", 16), ("BLOB_INDEX", 17), ("BEGIN_PERSISTED_PREPARE", 18), ("BEGIN_UNPREPARE", 19), ("COMMIT_WITH_TIMESTAMP", 21), ("WIDE_COLUMN_ENTITY", 22), ("CF_WIDE_COLUMN_ENTITY", 23), ("VALUE_PREFERRED_SEQNO", 24), ("CF_VALUE_PREFERRED_SEQNO", 25),),
    })


class LeveldbWriteBatch(metaclass=fixed):
    """`leveldb_write_batch`"""

    prefix: Final = "<QI"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        sequence: Final = (0, 8)
        num_operations: Final = (8, 12)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        sequence: Final = "<Q"
        num_operations: Final = "<I"


class Operation(metaclass=fixed):
    """`leveldb_write_batch::operation`"""

    prefix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        operation_type: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        operation_type: Final = "<B"
