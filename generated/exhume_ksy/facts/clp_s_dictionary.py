"""What ksy/clp_s_dictionary.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class ClpSDictionary(metaclass=fixed):
    """`clp_s_dictionary`"""

    prefix: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        num_entries: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_entries: Final = "<Q"
