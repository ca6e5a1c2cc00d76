"""The hot loops of clp-s: those of the compiled `exhume.native._kernel` when it was built, else those of `pykernel`.

The names are the same in both; `pykernel` (and `program`, for constants) documents them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.formats.clp_s.read.program import *  # noqa: F403
from exhume.native import bind

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.pykernel import *  # noqa: F403
else:
    # At run time, each name is looked up in the module that was chosen, on first use.
    __getattr__ = bind(__name__)
