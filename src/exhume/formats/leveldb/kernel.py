"""The loops over columns of versions: from the compiled kernel if there is one, else from `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native.compiled import pick

if TYPE_CHECKING:
    from exhume.formats.leveldb import pykernel as _implementation
else:
    _implementation = pick("exhume.formats.leveldb.pykernel")

LeveldbRows = _implementation.LeveldbRows
block_codecs = _implementation.block_codecs
block_handles = _implementation.block_handles
filled_blocks = _implementation.filled_blocks
number_range = _implementation.number_range
single_writes = _implementation.single_writes
table_blocks = _implementation.table_blocks

__all__ = [
    "LeveldbRows",
    "block_codecs",
    "block_handles",
    "filled_blocks",
    "number_range",
    "single_writes",
    "table_blocks",
]
