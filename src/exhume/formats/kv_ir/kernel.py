"""The decoder of units, the scan for where they end, and the encoder of lines of JSON: those of the compiled
`exhume.native._kernel` when it was built, else the pure-Python ones.

What they do is written in `pykernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native.compiled import bind

if TYPE_CHECKING:
    from exhume.formats.kv_ir.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)
