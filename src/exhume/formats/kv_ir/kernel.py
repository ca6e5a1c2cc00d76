"""The decoder of units, the scan for where they end, and the encoder of lines of JSON: those of the compiled
`exhume.native._kernel` when it was built, else the pure-Python ones.

What they do is written in `pykernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native.compiled import pick

if TYPE_CHECKING:
    from exhume.formats.kv_ir import pykernel as _implementation
else:
    _implementation = pick("exhume.formats.kv_ir.pykernel")

KvIrDecoder = _implementation.KvIrDecoder
KvIrEncoder = _implementation.KvIrEncoder
scan_units = _implementation.scan_units

__all__ = ["KvIrDecoder", "KvIrEncoder", "scan_units"]
