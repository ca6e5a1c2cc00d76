"""What ksy/clp_s_dictionary.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class ClpSDictionary:
    """`clp_s_dictionary`"""

    prefix: Final = "<Q"

    class at:
        """Where fields start and end, in bytes from the start."""

        num_entries: Final = (0, 8)

    class format:
        """Numbers by themselves."""

        num_entries: Final = "<Q"
