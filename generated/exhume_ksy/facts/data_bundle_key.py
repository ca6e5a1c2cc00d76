"""What ksy/data_bundle_key.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Tables(IntEnum):
    """`data_bundle_key::tables`"""
    UNKNOWN = 0
    CONFIG = 1
    FILES = 2
    RECORDS = 3


class DataBundleKey:
    """`data_bundle_key`"""

    class cases:
        """Values for which there is a type."""

        body: Final = (1, 2, 3)


class Varuint:
    """`data_bundle_key::varuint`"""

    most: Final = 9
    prefix: Final = "<B"

    class at:
        """Where fields start and end, in bytes from the start."""

        first: Final = (0, 1)

    class format:
        """Numbers by themselves."""

        first: Final = "<B"
        byte1: Final = "<B"
        byte2: Final = "<B"
        byte3: Final = "<B"
        byte4: Final = "<B"
        byte5: Final = "<B"
        byte6: Final = "<B"
        byte7: Final = "<B"
        byte8: Final = "<B"


class Escaped:
    """`data_bundle_key::escaped`"""

    marker: Final = (0, 0xff,)

    class format:
        """Numbers by themselves."""

        marker: Final = "<B"


class Chunk:
    """`data_bundle_key::chunk`"""

    marker: Final = (0, 0xff,)
    suffix: Final = "<B"

    class format:
        """Numbers by themselves."""

        marker: Final = "<B"
