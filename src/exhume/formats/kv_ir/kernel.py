"""The decoder of units: that of the compiled `exhume.native._kernel` when it was built, else its twin.

What it does is written in `pykernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native.compiled import pick

if TYPE_CHECKING:
    from exhume.formats.kv_ir import pykernel as _implementation
else:
    _implementation = pick("exhume.formats.kv_ir.pykernel")

KvIrDecoder = _implementation.KvIrDecoder

__all__ = ["KvIrDecoder"]
