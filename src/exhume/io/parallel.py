"""Work in threads: ordered maps, reading in advance, and optional work for free threads.

All have bounded look-ahead, results in the order of the input, and the first error raised in its place.  Threads, not
processes: zlib, lzma, zstd, hashing and `pread` all release the GIL, and nothing has to be pickled.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import Empty, Full, Queue, SimpleQueue
from typing import Any, Generic, TypeVar

from exhume.limits import cpu_count

T = TypeVar("T")
R = TypeVar("R")


class _Call(Generic[T, R]):
    """The call for one item, and its result or error once it was made."""

    __slots__ = ("_done", "_error", "_item", "_result")

    def __init__(self, item: T) -> None:
        """Prepare one call; its lock is held until the result is there."""
        self._item = item
        self._done = threading.Lock()  # held until the call was made
        self._done.acquire()
        self._error: Exception | None = None
        self._result: R

    @property
    def finished(self) -> bool:
        """Whether `result` will not wait."""
        return not self._done.locked()

    def run(self, function: Callable[[T], R]) -> None:
        """Make the call."""
        done = self._done
        try:
            self._result = function(self._item)
        except Exception as error:  # raised again by `result`, in the caller's thread
            self._error = error
            del self  # the traceback of the error refers to this frame: see `result`
        finally:
            done.release()

    def result(self) -> R:
        """Wait for the result and return it, or raise the error."""
        with self._done:
            if self._error is None:
                return self._result
            try:
                raise self._error
            finally:
                del self  # or the error would keep itself, and everything in the frames that it passes


class BackgroundRunner:
    """Runs calls in sequence, each in parallel with its caller until the next call; with one job, in the caller."""

    def __init__(self, jobs: int) -> None:
        self._is_alone = (jobs or cpu_count()) == 1  # without a thread
        self._last: _Call[Any, object] | None = None

    def submit(self, function: Callable[[T], object], item: T) -> None:
        """Wait for the call before, then start this one.  Raises the error of the call before."""
        if self._is_alone:
            function(item)
            return
        self.wait()
        todo: SimpleQueue[_Call[T, object] | None] = SimpleQueue()
        self._last = call = _Call[T, object](item)
        todo.put(call)
        try:
            threading.Thread(target=_work_once, args=(function, todo), name="exhume", daemon=True).start()
        except BaseException:
            if _next_call(todo) is not None:  # no thread has taken the call, so it will never end
                self._last = None
            raise

    def wait(self) -> None:
        """Wait for the last call.  Raises its error, once."""
        if self._last is not None:
            try:
                self._last.result()
            except Exception:
                self._last = None
                raise
            self._last = None


class OrderedCalls(Generic[T, R]):
    """Calls of one function on `jobs` threads, the caller's among them; results come in the order of the items.

    Threads start when there is work for them, and have the context variables of the caller.
    """

    def __init__(self, function: Callable[[T], R], jobs: int) -> None:
        """Call `function` in up to `jobs` threads, this one included."""
        self._function = function
        self._most = jobs - 1  # threads besides the caller's
        self._waiting: deque[_Call[T, R]] = deque()  # all calls whose result was not taken, in order
        self._todo: SimpleQueue[_Call[T, R] | None] = SimpleQueue()  # those that no thread has; None ends a thread
        # Not `concurrent.futures`: importing it takes longer than many short commands.
        self._threads: list[threading.Thread] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, item: T) -> None:
        """Add an item; a thread starts at once, since the next item may take long to come."""
        call: _Call[T, R] = _Call(item)
        self._waiting.append(call)
        self._todo.put(call)
        if len(self._threads) < min(self._most, len(self._waiting)):
            run = partial(copy_context().run, _work, self._function, self._todo)
            thread = threading.Thread(target=run, name="exhume", daemon=True)
            self._threads.append(thread)
            thread.start()

    def help(self) -> bool:
        """Make one call in the caller's thread while the next result is pending; False when there is none to make."""
        if self._waiting[0].finished or (call := _next_call(self._todo)) is None:
            return False
        call.run(self._function)
        return True

    def next(self) -> R:
        """Remove the oldest item and return its result, or raise its error; make other calls instead of waiting."""
        while self.help():
            pass
        return self._waiting.popleft().result()

    def close(self, *, wait: bool = True) -> None:
        """Drop the calls that have not started, and end the threads; with `wait`, wait for the calls in progress."""
        while _next_call(self._todo) is not None:
            pass
        self._waiting.clear()
        for _ in self._threads:
            self._todo.put(None)
        # The garbage collector may call this in one of the threads.  Then it does not wait for the others, as they may
        # need a lock that this thread holds.
        for thread in self._threads if wait and threading.current_thread() not in self._threads else ():
            with suppress(RuntimeError):  # an interruption came before it was started
                thread.join()
        self._threads.clear()


def map_ordered(
    function: Callable[[T], R],
    items: Iterable[T],
    jobs: int = 1,
    *,
    ahead: int | None = None,
    leave: bool = False,
) -> Generator[R]:
    """`function(item)` for each item, in order, on `jobs` threads (1: in the caller; 0: one per core).

    The caller's thread is one of them: while the next result is pending, it makes a call itself instead of waiting.
    This saves two switches between threads per result; for small tasks, they would cost most of what the threads gain.
    The other threads have the context variables of the caller.

    At most `ahead` items (default `2 * jobs`) are in progress or waiting, which bounds memory.  An error of
    `items` is raised after the results of the items before it.  Abandoning the iterator drops what has not started and
    waits for the rest; with `leave`, for functions that write nothing, an interruption by the user does not wait.
    Raises `ValueError` for a negative number of jobs.
    """
    if jobs < 0:
        raise ValueError(f"jobs is a number of threads, 0 for one per core: not {jobs}")
    jobs = jobs or cpu_count()
    if jobs <= 1:
        yield from map(function, items)
        return
    depth = ahead or 2 * jobs
    source = iter(items)
    calls = OrderedCalls(function, jobs)
    open_ended, failure, wait = True, None, True  # whether there may be more items, the error of `items`, see `leave`
    try:
        while True:
            while open_ended and len(calls) < depth:
                try:
                    calls.submit(next(source))
                except StopIteration:
                    open_ended = False
                except Exception as error:  # raised again after the results of the items before it
                    open_ended, failure = False, error
            if not calls:
                break
            if not calls.help():
                yield calls.next()
    except KeyboardInterrupt:
        wait = not leave
        raise
    finally:
        calls.close(wait=wait)
    if failure is not None:
        try:
            raise failure
        finally:
            del failure


def iterate_ahead(sources: Iterable[Iterable[T]], threads: int, *, ahead: int = 4) -> Iterator[Iterator[T]]:
    """Yield an iterator for each source, in order; `threads` threads read the current source and the next ones.

    A thread reads at most `ahead` items in advance.  An error of a source is raised in its place.  An iterator has to
    be exhausted before the next one.  Abandoning the result ends each thread after its current item.
    """
    stop = threading.Event()
    # A queue for each source that is being read, the current one first; items are in tuples, unlike None and errors.
    begun: deque[Queue[tuple[T, None] | BaseException | None]] = deque()
    waiting = iter(sources)

    def begin() -> None:
        """Start a thread for the next source, if there is one."""
        for source in waiting:
            begun.append(Queue(maxsize=ahead))
            threading.Thread(target=_fill, args=(source, begun[-1], stop), name="exhume-input", daemon=True).start()
            return

    def taken(out: Queue[tuple[T, None] | BaseException | None]) -> Iterator[T]:
        """Yield the items of a queue."""
        while (item := out.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item[0]

    try:
        for _ in range(threads):
            begin()
        while begun:
            yield taken(begun.popleft())
            begin()
    finally:
        stop.set()


def _fill(source: Iterable[T], out: Queue[tuple[T, None] | BaseException | None], stop: threading.Event) -> None:
    """Put the items of a source into a queue, each in a tuple, then None or the error that was raised, until `stop`."""
    last: BaseException | None = None
    try:
        for item in source:
            if not _put(out, (item, None), stop):
                return
    except BaseException as error:
        last = error
    _put(out, last, stop)


def _put(out: Queue[T], item: T, stop: threading.Event) -> bool:
    """Put an item into a queue; return False if `stop` was set before there was space."""
    while not stop.is_set():
        try:
            out.put(item, timeout=0.1)
        except Full:
            continue
        return True
    return False


class SpareThreads:
    """Up to `count` threads for optional work, such as prefetching, which is left out if none of them is free."""

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)

    def start(self, work: Callable[[], object]) -> bool:
        """Run `work` in a thread of its own if one is free, and return whether it is; `work` must not raise."""

        def run() -> None:
            """Do the work, and free the thread."""
            try:
                work()
            finally:
                self._free.release()

        if not self._free.acquire(blocking=False):
            return False
        threading.Thread(target=run, name="exhume-spare", daemon=True).start()
        return True


def _next_call(todo: SimpleQueue[_Call[T, R] | None]) -> _Call[T, R] | None:
    """The oldest call that no thread has started, if there is one."""
    try:
        return todo.get_nowait()
    except Empty:
        return None


def _work(function: Callable[[T], R], todo: SimpleQueue[_Call[T, R] | None]) -> None:
    """Make the calls in the queue `todo` until None comes."""
    while (call := todo.get()) is not None:
        call.run(function)
        del call  # so that its result is not kept in memory while the thread waits


def _work_once(function: Callable[[T], R], todo: SimpleQueue[_Call[T, R] | None]) -> None:
    """Make the one call in the queue `todo`, unless the caller took it back."""
    if (call := _next_call(todo)) is not None:
        call.run(function)
