"""The decoder of units: that of the compiled `exhume.native._kernel` when it was built, else its twin.

What it does is written in `pykernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native.compiled import KERNEL

if not TYPE_CHECKING and hasattr(KERNEL, "KvIrDecoder"):  # else none, or one built before this format was added
    _implementation = KERNEL
else:
    from exhume.formats.kv_ir import pykernel as _implementation

KvIrDecoder = _implementation.KvIrDecoder

__all__ = ["KvIrDecoder"]
