"""Finds the compiled kernel, without importing its pure twins: short commands need one of the two only."""

from __future__ import annotations

import os

from exhume.lighttyping import Any

VERSION = 7
"""Raised with every function that is added or changed in `_pykernel` and `_kernel.pyx`: both must be of one version."""


def _load() -> Any:
    if os.environ.get("EXHUME_PURE", "") not in ("", "0"):
        return None
    try:
        import exhume._kernel as found  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    return found if getattr(found, "VERSION", 0) == VERSION else None


KERNEL: Any = _load()
"""The compiled module, None when there is none, when it is outdated, or when `EXHUME_PURE=1` forces the twins."""
