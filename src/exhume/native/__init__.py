"""The measured hot loops: the compiled kernel, or the pure-Python one.  Those of a format are in its folder.

The kernel is the extension module `exhume.native._kernel` with the hot loops of all formats.  It is built from the
sources and from code generated from the specifications, so it can be older than either ("stale").  It is found here
without importing the pure-Python one: short commands need only one of the two.  In each layer, a module `kernel` has
the functions of one of the two implementations; see `bind`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from exhume_ksy.fast import ELEMENTS, _layout

VERSION = 57
"""Incremented whenever a function in `pykernel` and `_kernel.pyx` is added or changed: both must have one version."""


def _load() -> tuple[Any, str]:
    """Return the compiled kernel, or None with the reason: forced, absent, broken or stale."""
    if os.environ.get("EXHUME_PURE", "") not in ("", "0"):
        return None, "forced"
    try:
        import exhume.native._kernel as found  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None, "absent" if importlib.util.find_spec("exhume.native._kernel") is None else "broken"
    # ELEMENTS is a digest of the generated readers that it was compiled with.
    fits = getattr(found, "VERSION", 0) == VERSION and getattr(found, "ELEMENTS", "") == ELEMENTS
    return (found, _state_of_readers()) if fits else (None, "stale")


def _state_of_readers() -> str:
    """`compiled`, or `partial` if the generated readers were compiled from other specifications or cannot be loaded."""
    if _layout.native is not None or importlib.util.find_spec("exhume_ksy.fast._native") is None:
        return "compiled"
    return "partial"


_LOADED = _load()
KERNEL: Any = _LOADED[0]
"""The compiled module; None if it is missing or outdated, or if `EXHUME_PURE=1` forces the pure-Python one."""
STATE: str = _LOADED[1]
"""`compiled`, or why pure Python runs: `forced`, `stale` (built from older sources or specifications), `broken` (it is
there and cannot be loaded) or `absent`.  With `partial` the kernel runs, but the generated readers are interpreted.
"""
NOT_USED = frozenset(("stale", "broken", "partial"))
"""States in which compiled code is there and not used: no one requested that, so a command reports it."""


def pick(fallback: str) -> Any:
    """The compiled kernel if it can be used, else the interpreted module of that name, which does the same."""
    return KERNEL if KERNEL is not None else importlib.import_module(fallback)


def bind(selector: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module `selector` named `kernel`, whose names are those of `pykernel` next to it.

    Each is looked up when it is first imported, so that no module lists the names again.
    """

    def lookup(name: str) -> Any:
        """Return a name of the implementation, and keep it in the module for the next import."""
        if name.startswith("__"):  # requested by the import system
            raise AttributeError(f"module {selector!r} has no attribute {name!r}")
        found = getattr(pick(f"{selector.rpartition('.')[0]}.pykernel"), name)
        setattr(sys.modules[selector], name, found)
        return found

    return lookup
