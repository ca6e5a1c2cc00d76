"""What ksy/data_bundle_row_key.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class DataBundleRowKey(metaclass=fixed):
    """`data_bundle_row_key`"""

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        version: Final = (8, 0)
