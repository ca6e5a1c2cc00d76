"""What ksy/data_bundle_key.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Varuint:
    """`data_bundle_key::varuint`"""


    class at:
        """Where fields start and end, in bytes from the start."""

        first: Final = (0, 1)
