"""What ksy/zs.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class Zs(metaclass=fixed):
    """`zs`"""

    magic: Final = (b'\xabZSfiLe\x01', b'\xabZStoBe\x01',)
    prefix: Final = "<8sQ"
    suffix: Final = "<II"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        magic: Final = (0, 8)
        len_header: Final = (8, 16)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_header: Final = "<Q"

    class means(metaclass=fixed):
        """What makes it true."""

        is_complete: Final = b'\xabZSfiLe\x01'


class FileHeader(metaclass=fixed):
    """`zs::file_header`"""

    prefix: Final = "<QQQ32s16sQ"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        ofs_root: Final = (0, 8)
        len_root: Final = (8, 16)
        len_file: Final = (16, 24)
        sha256_data: Final = (24, 56)
        codec: Final = (56, 72)
        len_metadata: Final = (72, 80)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        ofs_root: Final = "<Q"
        len_root: Final = "<Q"
        len_file: Final = "<Q"
        len_metadata: Final = "<Q"

    class means(metaclass=fixed):
        """What makes it true."""

        is_stored: Final = b'none\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'


class Block(metaclass=fixed):
    """`zs::block`"""

    suffix: Final = "<II"


class Crc64(metaclass=fixed):
    """`zs::crc64`"""

    size: Final = 8
    dtype: Final = [("low", "<u4"), ("high", "<u4")]
    packed: Final = "<II"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        low: Final = (0, 4)
        high: Final = (4, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        low: Final = "<I"
        high: Final = "<I"


class BlockBody(metaclass=fixed):
    """`zs::block_body`"""

    prefix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        level: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        level: Final = "<B"
