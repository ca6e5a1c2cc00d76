"""What ksy/data_bundle_inline_table.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Names(IntEnum):
    """`data_bundle_inline_table::names`"""
    ROW = 1


class RowNames(IntEnum):
    """`data_bundle_inline_table::row_names`"""
    KEY = 1
    VALUE = 2
