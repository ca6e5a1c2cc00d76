"""What ksy/leveldb_blob_index.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Kinds(IntEnum):
        """`leveldb_blob_index::kinds`"""
        INLINED_TTL = 0
        BLOB = 1
        BLOB_TTL = 2

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Kinds": (("INLINED_TTL", 0), ("BLOB", 1), ("BLOB_TTL", 2),),
    })


class LeveldbBlobIndex(metaclass=fixed):
    """`leveldb_blob_index`"""

    prefix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        kind: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        kind: Final = "<B"
        compression: Final = "<B"
