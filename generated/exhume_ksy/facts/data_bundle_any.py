"""What ksy/data_bundle_any.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Names(IntEnum):
    """`data_bundle_any::names`"""
    TYPE_URL = 1
    VALUE = 2
