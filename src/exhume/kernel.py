"""The hot loops: compiled when `exhume._kernel` was built, else the pure-Python twin.

`EXHUME_PURE=1` in the environment forces the twin.  `COMPILED` says which one is at work.  What each function does
is written in `exhume._pykernel`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from exhume import _pykernel
from exhume._pykernel import MalformedRecordsError, Scan, build_uleb128, read_uleb128

_implementation = _pykernel
COMPILED = False
if not TYPE_CHECKING and os.environ.get("EXHUME_PURE", "") in ("", "0"):
    try:
        from exhume import _kernel as _implementation
    except ImportError:
        pass
    else:
        COMPILED = True

split_records = _implementation.split_records
scan_records = _implementation.scan_records
find_range = _implementation.find_range
terminate_records = _implementation.terminate_records
frame_records = _implementation.frame_records
frame_terminated = _implementation.frame_terminated
take_records = _implementation.take_records

__all__ = [
    "COMPILED",
    "MalformedRecordsError",
    "Scan",
    "build_uleb128",
    "find_range",
    "frame_records",
    "frame_terminated",
    "read_uleb128",
    "scan_records",
    "split_records",
    "take_records",
    "terminate_records",
]
