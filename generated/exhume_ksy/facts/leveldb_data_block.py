"""What ksy/leveldb_data_block.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final
