"""What ksy/zs.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Zs:
    """`zs`"""


    class at:
        """Where fields start and end, in bytes from the start."""

        magic: Final = (0, 8)
        len_header: Final = (8, 16)


class FileHeader:
    """`zs::file_header`"""


    class at:
        """Where fields start and end, in bytes from the start."""

        ofs_root: Final = (0, 8)
        len_root: Final = (8, 16)
        len_file: Final = (16, 24)
        sha256_data: Final = (24, 56)
        codec: Final = (56, 72)
        len_metadata: Final = (72, 80)


class BlockBody:
    """`zs::block_body`"""


    class at:
        """Where fields start and end, in bytes from the start."""

        level: Final = (0, 1)
