"""What ksy/leveldb_footer.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class ChecksumTypes(IntEnum):
        """`leveldb_footer::checksum_types`"""
        NONE = 0
        CRC32C = 1
        XXHASH32 = 2
        XXHASH64 = 3
        XXH3 = 4

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "ChecksumTypes": (("NONE", 0), ("CRC32C", 1), ("XXHASH32", 2), ("XXHASH64", 3), ("XXH3", 4),),
    })


class LeveldbFooter(metaclass=fixed):
    """`leveldb_footer`"""

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        magic: Final = (8, 0)
        leveldb: Final = (48, 8)
        version: Final = (12, 8)
        checksum_type: Final = (53, 52)
        rocksdb: Final = (52, 12)
        rocksdb6: Final = (52, 12)

    class form(metaclass=fixed):
        """Formats of numbers for `struct`."""

        version: Final = '<I'
        checksum_type: Final = '<B'

    class means(metaclass=fixed):
        """What makes it true."""

        is_leveldb: Final = b'W\xfb\x80\x8b$uG\xdb'
        is_rocksdb: Final = b'\xf7\xcf\xf4\x85\xb7A\xe2\x88'
        is_plain: Final = b'd\x95\xbfc\x96"B\x82'
        is_old_plain: Final = b'\xb8\x13\x8fz\xeb\x184O'
        is_cuckoo: Final = b'sx\xf1\xc5\xd0\x89g\x92'
        is_pebble: Final = b'\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3'


class SealedHandle(metaclass=fixed):
    """`leveldb_footer::sealed_handle`"""

    extended_magic: Final = b'>\x00z\x00'
    prefix: Final = "<4sIII"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        extended_magic: Final = (0, 4)
        footer_checksum: Final = (4, 8)
        base_context_checksum: Final = (8, 12)
        len_metaindex: Final = (12, 16)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        footer_checksum: Final = "<I"
        base_context_checksum: Final = "<I"
        len_metaindex: Final = "<I"
