"""What ksy/data_bundle_key.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class DataBundleKey:
    """`data_bundle_key`"""

    class cases:
        """Values for which there is a type."""

        body: Final = (1, 2, 3)


class Varuint:
    """`data_bundle_key::varuint`"""

    prefix: Final = "<B"

    class at:
        """Where fields start and end, in bytes from the start."""

        first: Final = (0, 1)


class Escaped:
    """`data_bundle_key::escaped`"""

    marker: Final = (0, 0xff,)


class Chunk:
    """`data_bundle_key::chunk`"""

    marker: Final = (0, 0xff,)
    suffix: Final = "<B"
