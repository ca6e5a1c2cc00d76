"""What ksy/leveldb_block.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class LeveldbBlock(metaclass=fixed):
    """`leveldb_block`"""

    class each(metaclass=fixed):
        """Bytes of each element."""

        restarts: Final = 4

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        packed_num_restarts: Final = (4, 0)
        num_buckets: Final = (6, 4)

    class form(metaclass=fixed):
        """Formats of numbers for `struct`."""

        packed_num_restarts: Final = '<I'
        num_buckets: Final = '<H'
        restarts: Final = '<I'
