"""What ksy/leveldb_varint.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class LeveldbVarint:
    """`leveldb_varint`"""

    prefix: Final = "<B"

    class at:
        """Where fields start and end, in bytes from the start."""

        group0: Final = (0, 1)
