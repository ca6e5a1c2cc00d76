"""What ksy/data_bundle_index_block.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Tables(IntEnum):
    """`data_bundle_index_block::tables`"""
    UNKNOWN = 0
    CONFIG = 1
    FILES = 2
    RECORDS = 3


class Row:
    """`data_bundle_index_block::row`"""

    class cases:
        """Values for which there is a type."""

        value: Final = (1, 2, 3)
