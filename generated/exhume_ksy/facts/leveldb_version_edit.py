"""What ksy/leveldb_version_edit.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class AttributeTags(IntEnum):
        """`leveldb_version_edit::attribute_tags`"""
        TERMINATE = 1
        NEED_COMPACTION = 2
        MIN_LOG_NUMBER_TO_KEEP = 3
        OLDEST_BLOB_FILE_NUMBER = 4
        OLDEST_ANCESTOR_TIME = 5
        FILE_CREATION_TIME = 6
        FILE_CHECKSUM = 7
        FILE_CHECKSUM_FUNCTION = 8
        TEMPERATURE = 9
        MIN_TIMESTAMP = 10
        MAX_TIMESTAMP = 11
        UNIQUE_ID = 12
        EPOCH_NUMBER = 13
        COMPENSATED_RANGE_DELETION_SIZE = 14
        TAIL_SIZE = 15
        USER_DEFINED_TIMESTAMPS_PERSISTED = 16
        PATH_ID = 65

    class Tags(IntEnum):
        """`leveldb_version_edit::tags`"""
        COMPARATOR = 1
        LOG_NUMBER = 2
        NEXT_FILE_NUMBER = 3
        LAST_SEQUENCE = 4
        COMPACT_POINTER = 5
        DELETED_FILE = 6
        NEW_FILE = 7
        PREVIOUS_LOG_NUMBER = 9
        MIN_LOG_NUMBER_TO_KEEP = 10
        NEW_FILE2 = 100
        NEW_FILE3 = 102
        NEW_FILE4 = 103
        COLUMN_FAMILY = 200
        COLUMN_FAMILY_ADD = 201
        COLUMN_FAMILY_DROP = 202
        MAX_COLUMN_FAMILY = 203
        IN_ATOMIC_GROUP = 300
        BLOB_FILE_ADDITION = 400
        BLOB_FILE_GARBAGE = 401
        COMPACTION_WATERLINE = 800
        IGNORABLE = 8192
        WAL_ADDITION = 8196
        WAL_DELETION = 8197

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "AttributeTags": (("TERMINATE", 1), ("NEED_COMPACTION", 2), ("MIN_LOG_NUMBER_TO_KEEP", 3), ("OLDEST_BLOB_FILE_NUMBER", 4), ("OLDEST_ANCESTOR_TIME", 5), ("FILE_CREATION_TIME", 6), ("FILE_CHECKSUM", 7), ("FILE_CHECKSUM_FUNCTION", 8), ("TEMPERATURE", 9), ("MIN_TIMESTAMP", 10), ("MAX_TIMESTAMP", 11), ("UNIQUE_ID", 12), ("EPOCH_NUMBER", 13), ("COMPENSATED_RANGE_DELETION_SIZE", 14), ("TAIL_SIZE", 15), ("USER_DEFINED_TIMESTAMPS_PERSISTED", 16), ("PATH_ID", 65),),
        "Tags": (("COMPARATOR", 1), ("LOG_NUMBER", 2), ("NEXT_FILE_NUMBER", 3), ("LAST_SEQUENCE", 4), ("COMPACT_POINTER", 5), ("DELETED_FILE", 6), ("NEW_FILE", 7), ("PREVIOUS_LOG_NUMBER", 9), ("MIN_LOG_NUMBER_TO_KEEP", 10), ("NEW_FILE2", 100), ("NEW_FILE3", 102), ("NEW_FILE4", 103), ("COLUMN_FAMILY", 200), ("COLUMN_FAMILY_ADD", 201), ("COLUMN_FAMILY_DROP", 202), ("MAX_COLUMN_FAMILY", 203), ("IN_ATOMIC_GROUP", 300), ("BLOB_FILE_ADDITION", 400), ("BLOB_FILE_GARBAGE", 401), ("COMPACTION_WATERLINE", 800), ("IGNORABLE", 8192), ("WAL_ADDITION", 8196), ("WAL_DELETION", 8197),),
    })


class Field(metaclass=fixed):
    """`leveldb_version_edit::field`"""

    class cases(metaclass=fixed):
        """Values for which there is a type."""

        body: Final = (1, 2, 3, 4, 5, 6, 7, 9, 10, 100, 102, 103, 200, 201, 202, 203, 300, 400, 401, 800, 8196, 8197, 8192)
