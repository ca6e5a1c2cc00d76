"""What ksy/clp_s_dictionary_entries.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Entry:
    """`clp_s_dictionary_entries::entry`"""

    prefix: Final = "<Q"

    class at:
        """Where fields start and end, in bytes from the start."""

        len_value: Final = (0, 8)
