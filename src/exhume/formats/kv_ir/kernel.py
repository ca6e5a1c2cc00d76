"""The hot loops of KV-IR: `KvIrDecoder` (units to lines, objects or columns), `scan_units` (where units end), and
`KvIrEncoder` (lines of JSON to units).

They come from the compiled `exhume.native._kernel` if it was built, else from the pure-Python `pykernel`, which
documents them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native import bind

if TYPE_CHECKING:
    from exhume.formats.kv_ir.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)
