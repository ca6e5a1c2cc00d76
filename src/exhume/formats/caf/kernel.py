"""The walk over an index (the JSON that names the files of a chunk): compiled if it was built, else from `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.formats.caf.pykernel import IndexWalk
from exhume.native import bind, pick

if TYPE_CHECKING:
    from exhume.formats.caf.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)


def walk(text: bytes | memoryview, at: int, name: bytes) -> IndexWalk:
    """`caf_walk` with a named result, which the compiled kernel has as a plain tuple."""
    return IndexWalk(*pick("exhume.formats.caf.pykernel").caf_walk(text, at, name))
