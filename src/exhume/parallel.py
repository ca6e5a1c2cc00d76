"""Ordered parallel maps over threads: bounded look-ahead, results in input order, the first error raised in its place.

Threads, not processes: zlib, lzma, zstd, hashing and `pread` all release the GIL, and nothing has to be pickled.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")


def cpu_count() -> int:
    """Usable cores (the default for `--jobs 0`)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Call(Generic[T, R]):
    """One item under way: on a thread of the pool, or in the thread that waits for results."""

    __slots__ = ("_error", "_future", "_item", "_result", "_taken")

    def __init__(self, future: Future[R], item: T) -> None:
        self._future = future
        self._item = item
        self._taken = False
        self._result: R
        self._error: Exception | None = None

    @property
    def finished(self) -> bool:
        """Whether `result` will not wait."""
        return self._taken or self._future.done()

    def run_here(self, function: Callable[[T], R]) -> bool:
        """Makes the call in this thread; False when a thread of the pool was faster."""
        if self._taken or not self._future.cancel():
            return False
        self._taken = True
        try:
            self._result = function(self._item)
        except Exception as error:
            self._error = error
        return True

    def result(self) -> R:
        """What came of it, or the error."""
        if not self._taken:
            return self._future.result()
        if self._error is not None:
            raise self._error
        return self._result

    def cancel(self) -> None:
        """Drops it if it has not begun."""
        self._future.cancel()


def map_ordered(
    function: Callable[[T], R], items: Iterable[T], jobs: int = 1, *, ahead: int | None = None
) -> Iterator[R]:
    """`function(item)` for each item, in order, on `jobs` threads (1: in the caller; 0: one per core).

    The caller's thread is one of them: where the next result is not there yet, it makes a call of its own instead of
    waiting.  Per result that saves two switches between threads, which is most of what small tasks would gain.

    At most `ahead` items (default `2 * jobs`) are under way or waiting, so memory stays bounded by them.  An error of
    `items` is raised after the results of the items before it.  Abandoning the iterator cancels what has not started.
    """
    jobs = jobs or cpu_count()
    if jobs <= 1:
        yield from map(function, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    depth = ahead or 2 * jobs
    source = iter(items)
    waiting: deque[_Call[T, R]] = deque()
    open_ended, failure, begun = True, None, 0
    with ThreadPoolExecutor(jobs - 1, thread_name_prefix="exhume") as pool:
        try:
            while True:
                while open_ended and len(waiting) < depth:
                    try:
                        item = next(source)
                    except StopIteration:
                        open_ended = False
                    except Exception as error:
                        open_ended, failure = False, error
                    else:
                        waiting.append(_Call(pool.submit(function, item), item))
                        del item
                if not waiting:
                    break
                if not waiting[0].finished:
                    # The pool begins calls in order too, so the ones that have begun come first.
                    while begun < len(waiting) and not waiting[begun].run_here(function):
                        begun += 1
                    if begun < len(waiting):
                        begun += 1
                        continue
                begun = max(0, begun - 1)
                yield waiting.popleft().result()
        finally:
            for call in waiting:
                call.cancel()
    if failure is not None:
        raise failure
