"""What ksy/leveldb_index_first_key.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class LeveldbIndexFirstKey(metaclass=fixed):
    """`leveldb_index_first_key`"""

    class each(metaclass=fixed):
        """Bytes of each element."""

        restarts: Final = 4

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        packed_num_restarts: Final = (4, 0)

    class form(metaclass=fixed):
        """Formats of numbers for `struct`."""

        packed_num_restarts: Final = '<I'
        restarts: Final = '<I'
