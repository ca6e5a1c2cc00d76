"""What ksy/data_bundle_key.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Varuint:
    """`data_bundle_key::varuint`"""

    prefix: Final = "<B"

    class at:
        """Where fields start and end, in bytes from the start."""

        first: Final = (0, 1)


class Chunk:
    """`data_bundle_key::chunk`"""

    marker: Final = (0, 0xff,)
    suffix: Final = "<B"
