"""What ksy/leveldb_footer.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class ChecksumTypes(IntEnum):
    """`leveldb_footer::checksum_types`"""
    NONE = 0
    CRC32C = 1
    XXHASH32 = 2
    XXHASH64 = 3
    XXH3 = 4


class SealedHandle:
    """`leveldb_footer::sealed_handle`"""

    extended_magic: Final = b'>\x00z\x00'
    prefix: Final = "<4sIII"

    class at:
        """Where fields start and end, in bytes from the start."""

        extended_magic: Final = (0, 4)
        footer_checksum: Final = (4, 8)
        base_context_checksum: Final = (8, 12)
        len_metaindex: Final = (12, 16)
