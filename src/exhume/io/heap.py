"""How the C library keeps the memory of large, short-lived buffers."""

from __future__ import annotations

import functools

HELD = 8 << 20
"""Twice this much freed memory stays with the process."""


@functools.cache
def keep_freed_memory() -> None:
    """Lets buffers of up to `HELD` bytes be allocated, freed and allocated again without new pages from the system.

    A reader needs a few buffers of some 100 KiB per block and frees them again.  The C library would give each back to
    the system at once, and every one of their pages would be cleared and mapped anew for the next block: a third of the
    time that inflating takes.  glibc adapts the sizes it keeps (`M_MMAP_THRESHOLD`, `M_TRIM_THRESHOLD`) to the largest
    buffer it has seen freed, so it is shown one (untouched, and so without cost).  Other allocators are unaffected.
    """
    bytes(HELD)
