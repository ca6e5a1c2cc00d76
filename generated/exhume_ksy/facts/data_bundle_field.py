"""What ksy/data_bundle_field.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class WireTypes(IntEnum):
        """`data_bundle_field::wire_types`"""
        VARINT = 0
        FIXED64 = 1
        BYTES = 2
        FIXED32 = 5

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "WireTypes": (("VARINT", 0), ("FIXED64", 1), ("BYTES", 2), ("FIXED32", 5),),
    })


class DataBundleField(metaclass=fixed):
    """`data_bundle_field`"""

    class cases(metaclass=fixed):
        """Values for which there is a type."""

        value: Final = (0, 1, 2, 5)


class Fixed64(metaclass=fixed):
    """`data_bundle_field::fixed64`"""

    size: Final = 8
    dtype: Final = [("value", "<u8")]
    packed: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        value: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        value: Final = "<Q"


class Fixed32(metaclass=fixed):
    """`data_bundle_field::fixed32`"""

    size: Final = 4
    dtype: Final = [("value", "<u4")]
    packed: Final = "<I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        value: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        value: Final = "<I"
