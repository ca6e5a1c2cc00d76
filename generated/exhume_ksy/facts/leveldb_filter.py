"""What ksy/leveldb_filter.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class LeveldbFilter:
    """`leveldb_filter`"""

    class each:
        """Bytes of each element."""

        offsets: Final = 4

    class before_end:
        """Bytes from start and end to the end of the stream."""

        base_lg: Final = (1, 0)
        ofs_offsets: Final = (5, 1)

    class form:
        """Formats of numbers for `struct`."""

        base_lg: Final = '<B'
        ofs_offsets: Final = '<I'
        offsets: Final = '<I'
