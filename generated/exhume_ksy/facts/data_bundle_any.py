"""What ksy/data_bundle_any.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Names(IntEnum):
        """`data_bundle_any::names`"""
        TYPE_URL = 1
        VALUE = 2

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Names": (("TYPE_URL", 1), ("VALUE", 2),),
    })
