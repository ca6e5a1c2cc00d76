"""The walk over an index: from the compiled kernel when it was built, else from its twin `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.formats.caf.pykernel import Entries, Walk
from exhume.formats.caf.pykernel import caf_entries as py_entries
from exhume.formats.caf.pykernel import caf_walk as py_walk
from exhume.native.kernel import COMPILED

entries = py_entries
walk = py_walk

if not TYPE_CHECKING and COMPILED:
    from exhume.native._kernel import caf_entries as entries
    from exhume.native._kernel import caf_walk as _walk

    def walk(text, at, name):
        """`pykernel.caf_walk`, compiled."""
        return Walk(*_walk(text, at, name))


__all__ = ["Entries", "Walk", "entries", "walk"]
