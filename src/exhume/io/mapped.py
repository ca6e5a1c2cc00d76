"""Whole files as bytes: mapped where they are local and not small, so that they need not fit into memory."""

from __future__ import annotations

import mmap
from typing import Any

from exhume.io import activity
from exhume.io.source import Source

SMALL = 1 << 20
"""Bytes of a file that are read rather than mapped."""


def mapped(source: Source) -> Any:
    """All bytes of a source, as `bytes` or as a `mmap`, which readers use alike; raises what reading raises.

    A file that gets shorter while it is mapped ends the process (SIGBUS), as with every program that maps it.
    """
    number = source.fileno() if source.size > SMALL and activity.current is None else None
    if number is None or source.origin % mmap.ALLOCATIONGRANULARITY:
        return source.read_at(0, source.size)
    try:
        return mmap.mmap(number, source.size, access=mmap.ACCESS_READ, offset=source.origin)
    except OSError:  # a file system without
        return source.read_at(0, source.size)


def release(data: Any, start: int, end: int) -> None:
    """Release the pages of `[start, end)` of a mapped file: they are read again where they are needed."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        first = start // mmap.PAGESIZE * mmap.PAGESIZE
        if end - first >= mmap.PAGESIZE:
            data.madvise(mmap.MADV_DONTNEED, first, (end - first) // mmap.PAGESIZE * mmap.PAGESIZE)
