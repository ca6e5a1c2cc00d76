"""Ordered parallel maps over threads: bounded look-ahead, results in input order, the first error raised in its place.

Threads, not processes: zlib, lzma, zstd, hashing and `pread` all release the GIL, and nothing has to be pickled.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")


def cpu_count() -> int:
    """Usable cores (the default for `--jobs 0`)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_ordered(
    function: Callable[[T], R], items: Iterable[T], jobs: int = 1, *, ahead: int | None = None
) -> Iterator[R]:
    """`function(item)` for each item, in order, on `jobs` threads (1: in the caller; 0: one per core).

    At most `ahead` items (default `2 * jobs`) are under way or waiting, so memory stays bounded by them.  Abandoning
    the iterator cancels what has not started.
    """
    jobs = jobs or cpu_count()
    if jobs <= 1:
        yield from map(function, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    depth = ahead or 2 * jobs
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(jobs, thread_name_prefix="exhume") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= depth:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
