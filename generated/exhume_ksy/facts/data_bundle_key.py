"""What ksy/data_bundle_key.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Tables(IntEnum):
        """`data_bundle_key::tables`"""
        UNKNOWN = 0
        CONFIG = 1
        FILES = 2
        RECORDS = 3

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Tables": (("UNKNOWN", 0), ("CONFIG", 1), ("FILES", 2), ("RECORDS", 3),),
    })


class DataBundleKey(metaclass=fixed):
    """`data_bundle_key`"""

    class cases(metaclass=fixed):
        """Values for which there is a type."""

        body: Final = (1, 2, 3)


class Varuint(metaclass=fixed):
    """`data_bundle_key::varuint`"""

    most: Final = 9
    prefix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        first: Final = (0, 1)

    class format(metaclass=fixed):
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


class Escaped(metaclass=fixed):
    """`data_bundle_key::escaped`"""

    marker: Final = (0, 0xff,)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        marker: Final = "<B"


class Chunk(metaclass=fixed):
    """`data_bundle_key::chunk`"""

    marker: Final = (0, 0xff,)
    suffix: Final = "<B"

    class format(metaclass=fixed):
        """Numbers by themselves."""

        marker: Final = "<B"
