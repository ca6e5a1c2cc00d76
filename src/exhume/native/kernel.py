"""The hot loops: compiled if `exhume.native._kernel` was built, else in pure Python.

`EXHUME_PURE=1` in the environment forces pure Python.  `COMPILED` states which one is used.  The functions are
documented in `exhume.native.pykernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native import KERNEL, bind

# What the compiled kernel does not have, or what callers compare results with.
from exhume.native.types import BLOCK_BOMB as BLOCK_BOMB
from exhume.native.types import BLOCK_FINE as BLOCK_FINE
from exhume.native.types import BLOCK_LENGTHS as BLOCK_LENGTHS
from exhume.native.types import BLOCK_SHARED as BLOCK_SHARED
from exhume.native.types import BLOCK_SHORT_KEY as BLOCK_SHORT_KEY
from exhume.native.types import MalformedRecordsError as MalformedRecordsError
from exhume.native.types import Scan as Scan
from exhume.native.types import build_uleb128 as build_uleb128

if TYPE_CHECKING:
    from exhume.native.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)

COMPILED = KERNEL is not None
