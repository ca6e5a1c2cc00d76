"""How the C library keeps the memory of large, short-lived buffers."""

from __future__ import annotations

import functools

HELD = 8 << 20
"""Twice this much freed memory stays with the process."""


@functools.cache
def keep_freed_memory() -> None:
    """Lets buffers of up to `HELD` bytes be allocated, freed and allocated again without new pages from the system.

    A reader allocates a few buffers of some 100 KiB per block and frees them again.  The C library would return each to
    the system at once, and the kernel would clear and map every page again for the next block, which takes 33 % of the
    time to inflate it.  glibc adapts the sizes it keeps (`M_MMAP_THRESHOLD`, `M_TRIM_THRESHOLD`) to the largest buffer
    freed so far, so one is allocated and freed here (its pages are never touched).  Other allocators are unaffected.
    """
    bytes(HELD)
