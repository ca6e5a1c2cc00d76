"""What ksy/leveldb_table.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Compressions(IntEnum):
        """`leveldb_table::compressions`"""
        NONE = 0
        SNAPPY = 1
        ZLIB = 2
        BZIP2 = 3
        LZ4 = 4
        LZ4HC = 5
        XPRESS = 6
        ZSTD = 7
        EARLY_ZSTD = 64

    class Kinds(IntEnum):
        """`leveldb_table::kinds`"""
        UNKNOWN = 0
        HANDLES = 1
        DATA = 2
        FILTER = 3
        PROPERTIES = 4
        HANDLE_DELTAS = 5

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Compressions": (("NONE", 0), ("SNAPPY", 1), ("ZLIB", 2), ("BZIP2", 3), ("LZ4", 4), ("LZ4HC", 5), ("XPRESS", 6), ("ZSTD", 7), ("EARLY_ZSTD", 64),),
        "Kinds": (("UNKNOWN", 0), ("HANDLES", 1), ("DATA", 2), ("FILTER", 3), ("PROPERTIES", 4), ("HANDLE_DELTAS", 5),),
    })


class LeveldbTable(metaclass=fixed):
    """`leveldb_table`"""

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        magic: Final = (8, 0)


class BlockTrailer(metaclass=fixed):
    """`leveldb_table::block_trailer`"""

    size: Final = 5
    dtype: Final = [("compression", "u1"), ("checksum", "<u4")]
    packed: Final = "<BI"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        compression: Final = (0, 1)
        checksum: Final = (1, 5)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        compression: Final = "<B"
        checksum: Final = "<I"
