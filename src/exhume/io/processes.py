"""Ordered maps over processes, for work that is Python code: threads would take turns at it.

The caller is one of the workers.  Each of the others is a process, which `FEEDERS` threads of `map_ordered` feed; it
imports only what the work needs, and above all not the caller's main module, so that scripts need no guard.  If a
process dies or its result cannot be sent, the caller does the work again.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, Generic, TypeVar

from exhume.errors import ExhumeError
from exhume.io import activity
from exhume.io.parallel import map_ordered
from exhume.limits import cpu_count

T = TypeVar("T")
R = TypeVar("R")

LENGTH = 8
"""Bytes of the length that precedes a message."""

FEEDERS = 2
"""Threads that feed a process, so that it has its next item while the result of the last one is received."""


def map_processes(function: Callable[[T], R], items: Iterable[T], jobs: int = 1) -> Generator[R]:
    """`function(item)` for each item, in order, on `jobs` processes, the caller's among them (0: one per core).

    `function`, items and results travel between processes, so they are picklable, and an item is worth some tenths of
    a second.  Where processes cannot be fed (no picklable function, no POSIX system, an interpreter inside another
    program) the caller does all of it.  At most four items per process are in progress or waiting.  An error of
    `function` or of `items` is raised after the results of the items before it.
    """
    jobs = jobs or cpu_count()
    call = _sendable(function) if jobs > 1 else None
    if call is None:
        yield from map(function, items)
        return
    workers = _Workers(function, call)
    try:
        # This thread computes itself; `FEEDERS` others feed each of the other processes.
        threads = 1 + FEEDERS * (jobs - 1)
        yield from map_ordered(workers.call, items, threads, ahead=2 * FEEDERS * jobs, leave=True)
    finally:
        workers.close()


def _sendable(function: Callable[..., Any]) -> bytes | None:
    """The pickled function; None where no process can be given it."""
    if os.name != "posix" or not sys.executable or getattr(sys, "frozen", False):
        return None
    try:
        return pickle.dumps(function, pickle.HIGHEST_PROTOCOL)
    except (TypeError, AttributeError, pickle.PicklingError):
        return None


class _Workers(Generic[T, R]):
    """The processes of one map, started as threads request them."""

    def __init__(self, function: Callable[[T], R], call: bytes) -> None:
        """Prepare to start processes, one for every `FEEDERS` threads; `call` is the pickled function."""
        self._function, self._call = function, call
        self._caller = threading.get_ident()
        self._threads: dict[int, int] = {}  # numbers of threads by identifier, in the order in which they came
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()  # for `_threads` and `_workers`
        self._closed = False  # whether the map has ended: nothing is computed any more

    def call(self, item: T) -> R:
        """Return the result for one item: computed in this process by the caller's own thread, in a worker process by
        others.
        """
        if threading.get_ident() == self._caller:
            return self._function(item)
        answer = self._worker().ask(item)
        if answer is None:  # the process died, or could not send it
            if self._closed:
                raise InterruptedError("the map was left")
            return self._function(item)
        result, error, read = answer
        activity.count(read)
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def _worker(self) -> _Worker:
        """Return the process of this thread; start it for the first of its threads."""
        with self._lock:
            number = self._threads.setdefault(threading.get_ident(), len(self._threads)) // FEEDERS
            if number == len(self._workers):
                self._workers.append(_Worker(self._call))
            return self._workers[number]

    def close(self) -> None:
        """End the processes, also in the middle of an item."""
        self._closed = True
        for worker in self._workers:
            worker.close()


class _Worker:
    """One process, fed by several threads through a socket that is its standard input."""

    def __init__(self, call: bytes) -> None:
        """Start a process, and send it `call`, the pickled function that it applies to each request."""
        self._socket, theirs = socket.socketpair()
        script = f"import sys; sys.path[:] = {sys.path!r}; from exhume.io.processes import serve; serve()"
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
                [sys.executable, "-c", script],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for the caller, who ends it, also while it still starts
            )
        self._order: deque[threading.Lock] = deque()
        """A lock for each request without an answer; the thread that holds the first one receives the next answer."""
        self._sending = threading.Lock()  # for `_order`, and so that requests are sent in that order
        self._send(call)

    def _send(self, message: bytes) -> None:
        """Send a message, preceded by its length."""
        with contextlib.suppress(OSError):  # it has died: the thread that waits for its answer will notice
            self._socket.sendall(len(message).to_bytes(LENGTH, "little") + message)

    def ask(self, item: Any) -> tuple[Any, ExhumeError | None, int] | None:
        """Return the result or the error of one item, and the bytes read for it; None if the process returns neither.

        Called by several threads: answers come in the order of the requests, so each thread waits for its turn.
        """
        message = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
        mine = threading.Lock()
        with self._sending:
            if self._order:
                mine.acquire()  # until the answers of those before have been taken
            self._order.append(mine)
            self._send(message)
        with mine:
            found = _receive(self._socket)
            with self._sending:
                self._order.popleft()
                if self._order:
                    self._order[0].release()  # the thread with the next request may receive now
        return None if found is None else pickle.loads(found)  # noqa: S301 - from a process that was started here

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the threads that wait for it
        self._process.kill()
        self._process.wait()
        self._socket.close()


def _receive(from_: socket.socket) -> bytes | bytearray | None:
    """Return the next message; None at the end.  Only two calls wait, as each has to get the interpreter lock back."""
    head = _exactly(from_, LENGTH)
    return None if head is None else _exactly(from_, int.from_bytes(head, "little"))


def _exactly(from_: socket.socket, size: int) -> bytearray | None:
    """Receive `size` bytes; None if the connection ends before."""
    data = bytearray(size)
    view, got = memoryview(data), 0
    try:
        while got < size:
            count = from_.recv_into(view[got:], size - got, socket.MSG_WAITALL)
            if not count:
                return None
            got += count
    except OSError:
        return None
    return data


def serve() -> None:
    """Run a worker process: receive the function, then answer requests until the socket closes."""
    read = _BytesRead()
    activity.counted = read.add
    gc.set_threshold(20_000)  # as the command line does: what a worker holds are values without cycles
    with socket.socket(fileno=os.dup(0)) as line:
        first = _receive(line)
        try:
            function = None if first is None else pickle.loads(first)  # noqa: S301 - from the process that started it
        except Exception:  # the caller does the work if the function cannot be loaded here
            function = None
        while function is not None and (item := _receive(line)) is not None:
            answer = _answer(function, pickle.loads(item), read)  # noqa: S301 - the same
            line.sendall(len(answer).to_bytes(LENGTH, "little") + answer)


class _BytesRead:
    """Counts the bytes that a worker process reads, for the progress that the caller shows."""

    def __init__(self) -> None:
        self._size, self._lock = 0, threading.Lock()

    def add(self, size: int) -> None:
        """Count a read; called from any thread."""
        with self._lock:
            self._size += size

    def take(self) -> int:
        """The bytes since the last call."""
        with self._lock:
            size, self._size = self._size, 0
        return size


def _answer(function: Callable[[Any], Any], item: Any, read: _BytesRead) -> bytes:
    """The pickled result and error of one item, and the bytes read for it, or None if the caller has to compute it."""
    try:
        return pickle.dumps((function(item), None, read.take()), pickle.HIGHEST_PROTOCOL)
    except ExhumeError as error:
        error.__cause__ = error.__context__ = None
        answer: Any = None, error.with_traceback(None), read.take()
    except Exception:  # the caller does the work again and raises the error
        answer = None
    try:
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception:
        return pickle.dumps(None)
