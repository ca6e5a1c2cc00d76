"""What ksy/caf.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class Caf(metaclass=fixed):
    """`caf`"""

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        footer: Final = (4, 0)


class ChunkFooter(metaclass=fixed):
    """`caf::chunk_footer`"""

    size: Final = 4
    dtype: Final = [("len_index", "<u4")]
    packed: Final = "<I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        len_index: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_index: Final = "<I"
