"""What ksy/leveldb_filter.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class LeveldbFilter(metaclass=fixed):
    """`leveldb_filter`"""

    class each(metaclass=fixed):
        """Bytes of each element."""

        offsets: Final = 4

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        base_lg: Final = (1, 0)
        ofs_offsets: Final = (5, 1)

    class form(metaclass=fixed):
        """Formats of numbers for `struct`."""

        base_lg: Final = '<B'
        ofs_offsets: Final = '<I'
        offsets: Final = '<I'
