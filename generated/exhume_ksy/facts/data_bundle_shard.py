"""What ksy/data_bundle_shard.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class DataBundleShard(metaclass=fixed):
    """`data_bundle_shard`"""

    magic: Final = b'daBS'
    prefix: Final = "<4sII"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        magic: Final = (0, 4)
        len_header: Final = (4, 8)
        ofs_data: Final = (8, 12)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_header: Final = "<I"
        ofs_data: Final = "<I"
