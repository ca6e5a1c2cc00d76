"""What ksy/leveldb_index_first_key.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class LeveldbIndexFirstKey:
    """`leveldb_index_first_key`"""

    class each:
        """Bytes of each element."""

        restarts: Final = 4

    class before_end:
        """Bytes from start and end to the end of the stream."""

        packed_num_restarts: Final = (4, 0)

    class form:
        """Formats of numbers for `struct`."""

        packed_num_restarts: Final = '<I'
        restarts: Final = '<I'
