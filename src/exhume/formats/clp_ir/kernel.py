"""The decoder and the encoder of units: those of the compiled `exhume.native._kernel` when it was built, else their
pure-Python implementation.

What they do is written in `pykernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native.compiled import bind

if TYPE_CHECKING:
    from exhume.formats.clp_ir.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)
