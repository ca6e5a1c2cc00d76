"""The walk over an index: from the compiled kernel if it was built, else from `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.formats.caf.pykernel import Entries, Walk
from exhume.native.compiled import pick

if TYPE_CHECKING:
    from exhume.formats.caf import pykernel as _implementation
else:
    _implementation = pick("exhume.formats.caf.pykernel")

entries = _implementation.caf_entries


def walk(text: bytes | memoryview, at: int, name: bytes) -> Walk:
    """What `pykernel.caf_walk` says."""
    return Walk(*_implementation.caf_walk(text, at, name))


__all__ = ["Entries", "Walk", "entries", "walk"]
