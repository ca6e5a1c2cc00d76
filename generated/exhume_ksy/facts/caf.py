"""What ksy/caf.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Caf:
    """`caf`"""

    class before_end:
        """Bytes from start and end to the end of the stream."""

        footer: Final = (4, 0)


class ChunkFooter:
    """`caf::chunk_footer`"""

    size: Final = 4
    dtype: Final = [("len_index", "<u4")]
    packed: Final = "<I"

    class at:
        """Where fields start and end, in bytes from the start."""

        len_index: Final = (0, 4)

    class format:
        """Numbers by themselves."""

        len_index: Final = "<I"
