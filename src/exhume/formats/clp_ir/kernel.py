"""The hot loops of CLP IR: `ClpIrDecoder` (events to text, lines or columns) and `ClpIrEncoder` (events to bytes).

They come from the compiled `exhume.native._kernel` if it was built, else from the pure-Python `pykernel`, which
documents them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native import bind

if TYPE_CHECKING:
    from exhume.formats.clp_ir.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)
