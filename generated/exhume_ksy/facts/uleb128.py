"""What ksy/uleb128.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class Uleb128(metaclass=fixed):
    """`uleb128`"""

    most: Final = 10
    group9: Final = 1
    prefix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        group0: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        group0: Final = "<B"
        group1: Final = "<B"
        group2: Final = "<B"
        group3: Final = "<B"
        group4: Final = "<B"
        group5: Final = "<B"
        group6: Final = "<B"
        group7: Final = "<B"
        group8: Final = "<B"
        group9: Final = "<B"
