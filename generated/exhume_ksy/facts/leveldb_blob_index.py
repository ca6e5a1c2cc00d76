"""What ksy/leveldb_blob_index.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Kinds(IntEnum):
    """`leveldb_blob_index::kinds`"""
    INLINED_TTL = 0
    BLOB = 1
    BLOB_TTL = 2


class LeveldbBlobIndex:
    """`leveldb_blob_index`"""

    prefix: Final = "<B"

    class at:
        """Where fields start and end, in bytes from the start."""

        kind: Final = (0, 1)

    class format:
        """Numbers by themselves."""

        kind: Final = "<B"
        compression: Final = "<B"
