"""What ksy/leveldb_blob_file.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class LeveldbBlobFile(metaclass=fixed):
    """`leveldb_blob_file`"""

    prefix: Final = "<4sIIBBQQ"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 30)

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        last_magic: Final = (32, 28)

    class form(metaclass=fixed):
        """Formats of numbers for `struct`."""

        last_magic: Final = '<I'


class FileHeader(metaclass=fixed):
    """`leveldb_blob_file::file_header`"""

    size: Final = 30
    magic: Final = b'7\x8f$\x00'
    version: Final = 1
    packed: Final = "<4sIIBBQQ"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        magic: Final = (0, 4)
        version: Final = (4, 8)
        column_family: Final = (8, 12)
        flags: Final = (12, 13)
        compression: Final = (13, 14)
        expiration: Final = (14, 30)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        version: Final = "<I"
        column_family: Final = "<I"
        flags: Final = "<B"
        compression: Final = "<B"


class Expiration(metaclass=fixed):
    """`leveldb_blob_file::expiration`"""

    size: Final = 16
    dtype: Final = [("first", "<u8"), ("last", "<u8")]
    packed: Final = "<QQ"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        first: Final = (0, 8)
        last: Final = (8, 16)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        first: Final = "<Q"
        last: Final = "<Q"


class Record(metaclass=fixed):
    """`leveldb_blob_file::record`"""

    prefix: Final = "<QQQII"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        len_key: Final = (0, 8)
        len_value: Final = (8, 16)
        expiration: Final = (16, 24)
        head_checksum: Final = (24, 28)
        checksum: Final = (28, 32)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_key: Final = "<Q"
        len_value: Final = "<Q"
        expiration: Final = "<Q"
        head_checksum: Final = "<I"
        checksum: Final = "<I"


class FileFooter(metaclass=fixed):
    """`leveldb_blob_file::file_footer`"""

    size: Final = 32
    magic: Final = b'7\x8f$\x00'
    packed: Final = "<4sQQQI"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        magic: Final = (0, 4)
        num_blobs: Final = (4, 12)
        expiration: Final = (12, 28)
        checksum: Final = (28, 32)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_blobs: Final = "<Q"
        checksum: Final = "<I"
