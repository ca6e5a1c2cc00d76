"""The hot loops: compiled if `exhume.native._kernel` was built, else in pure Python.

`EXHUME_PURE=1` in the environment forces pure Python.  `COMPILED` states which one is used.  The functions are
documented in `exhume.native.pykernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native.compiled import KERNEL, pick
from exhume.native.pykernel import (
    BLOCK_BOMB,
    BLOCK_FINE,
    BLOCK_LENGTHS,
    BLOCK_SHARED,
    BLOCK_SHORT_KEY,
    build_uleb128,
)
from exhume.native.types import MalformedRecordsError, Scan

COMPILED = KERNEL is not None
if TYPE_CHECKING:
    from exhume.native import pykernel as _implementation
else:
    _implementation = pick("exhume.native.pykernel")

split_records = _implementation.split_records
scan_records = _implementation.scan_records
find_range = _implementation.find_range
terminate_records = _implementation.terminate_records
record_values = _implementation.record_values
frame_records = _implementation.frame_records
frame_terminated = _implementation.frame_terminated
take_records = _implementation.take_records
copy_parts = _implementation.copy_parts
block_entries = _implementation.block_entries
internal_entries = _implementation.internal_entries
find_blocks = _implementation.find_blocks
next_block = _implementation.next_block
find_patterns = _implementation.find_patterns

__all__ = [
    "BLOCK_BOMB",
    "BLOCK_FINE",
    "BLOCK_LENGTHS",
    "BLOCK_SHARED",
    "BLOCK_SHORT_KEY",
    "COMPILED",
    "MalformedRecordsError",
    "Scan",
    "block_entries",
    "build_uleb128",
    "copy_parts",
    "find_blocks",
    "find_patterns",
    "find_range",
    "frame_records",
    "frame_terminated",
    "internal_entries",
    "next_block",
    "record_values",
    "scan_records",
    "split_records",
    "take_records",
    "terminate_records",
]
