"""Finds the compiled kernel without importing the pure-Python one: short commands need only one of the two."""

from __future__ import annotations

import importlib
import os
from typing import Any

from exhume_ksy.fast import ELEMENTS

VERSION = 38
"""Incremented whenever a function in `pykernel` and `_kernel.pyx` is added or changed: both must have one version."""


def _load() -> tuple[Any, str]:
    if os.environ.get("EXHUME_PURE", "") not in ("", "0"):
        return None, "forced"
    try:
        import exhume.native._kernel as found  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None, "absent"
    fits = getattr(found, "VERSION", 0) == VERSION and getattr(found, "ELEMENTS", "") == ELEMENTS
    return (found, "compiled") if fits else (None, "stale")


_LOADED = _load()
KERNEL: Any = _LOADED[0]
"""The compiled module; None if it is missing or outdated, or if `EXHUME_PURE=1` forces the pure-Python one."""
STATE: str = _LOADED[1]
"""`compiled`, or why pure Python runs: `forced`, `stale` (built from older sources or specifications) or `absent`."""


def pick(twin: str) -> Any:
    """The compiled kernel if it can be used, else the interpreted module of that name, which does the same."""
    return KERNEL if KERNEL is not None else importlib.import_module(twin)
