"""Local workers: the caller itself, threads, or processes that may die without taking the run with them.

`concurrent.futures` abandons a whole pool when one of its processes dies, and cannot say which unit it was working on.
Here each process has its own pipe, so a death is noticed, costs only one attempt at that unit, and the process is
replaced.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import pickle
import queue
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker
from typing import Any

from exhume.distributed.work import TaskResult, WorkerLost, failure, work

Work = tuple[int, Callable[[Any], Any], list[Any], float]


class Inline:
    """Everything in the caller, one unit after the other."""

    slots = 1

    def __init__(self) -> None:
        self._waiting: deque[Work] = deque()

    def submit(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        self._waiting.append((task, function, units, delay))

    def next(self) -> tuple[int, list[TaskResult] | WorkerLost]:
        task, function, units, delay = self._waiting.popleft()
        return task, work(function, units, delay)

    def close(self) -> None:
        self._waiting.clear()


class Threads:
    """Threads of this process: for units that wait for storage more than they compute."""

    def __init__(self, count: int) -> None:
        self.slots = count + max(1, count // 4)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="exhume-unit")
        self._done: queue.SimpleQueue[tuple[int, list[TaskResult]]] = queue.SimpleQueue()
        self._closed = threading.Event()

    def submit(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        self._pool.submit(self._work, task, function, units, delay)

    def _work(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        if not self._closed.is_set():
            try:
                answers = work(function, units, delay)
            except BaseException as error:  # a thread that ended otherwise would never be heard of again
                answers = [TaskResult(error=failure("the work on a unit failed", error)) for _ in units]
            self._done.put((task, answers))

    def next(self) -> tuple[int, list[TaskResult] | WorkerLost]:
        return self._done.get()

    def close(self) -> None:
        self._closed.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Processes:
    """Processes of this machine, each on its own pipe; one that dies is replaced."""

    def __init__(self, count: int) -> None:
        # Not by fork: the caller may have threads, and inherited locks would hang the child now and then.
        self._context = multiprocessing.get_context("spawn")
        self.slots = count
        self._idle: list[_Worker] = []
        self._busy: dict[Any, _Worker] = {}
        self._started = 0

    def submit(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        call = pickle.dumps((function, units, delay), pickle.HIGHEST_PROTOCOL)
        message = pickle.dumps((len(units), call))  # the number of units is known even if they cannot be unpickled
        while True:
            worker = self._idle.pop() if self._idle else _Worker(self._context)
            worker.task = task
            try:
                worker.pipe.send_bytes(message)
            except OSError:  # died while idle
                worker.kill()
                continue
            self._busy[worker.pipe] = worker
            return

    def next(self) -> tuple[int, list[TaskResult] | WorkerLost]:
        pipe: Any = multiprocessing.connection.wait(list(self._busy))[0]
        worker = self._busy.pop(pipe)
        try:
            answers: list[TaskResult] = pickle.loads(pipe.recv_bytes())  # noqa: S301 - from a worker of this very process
        except (EOFError, OSError):
            return worker.task, WorkerLost(worker.kill())
        self._idle.append(worker)
        return worker.task, answers

    def close(self) -> None:
        for worker in [*self._idle, *self._busy.values()]:
            if worker in self._idle:
                worker.stop()
            else:
                worker.process.terminate()
                worker.kill()
        self._idle.clear()
        self._busy.clear()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started meanwhile: a terminal sends it to them as well, while they import.

    For this one it waits until the end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # starting it would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """One process and our end of its pipe."""

    def __init__(self, context: Any) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True, name="exhume-worker")
        with _deaf():
            self.process.start()
        theirs.close()
        self.task = -1

    def kill(self) -> str:
        """Wait until the process has ended; return in words how it ended."""
        self.pipe.close()
        self.process.join(5)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        code = self.process.exitcode or 0
        self.process.close()
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"

    def stop(self) -> None:
        """Let an idle process end by itself."""
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(b"")
        self.kill()


def serve(pipe: Any) -> None:
    """The life of a worker process: answers until its pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the run
    while True:
        try:
            message = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        if not message:
            return
        count, call = pickle.loads(message)  # noqa: S301 - from the process that started this one
        try:
            function, units, delay = pickle.loads(call)  # noqa: S301 - the same
            answers = work(function, units, delay)
            reply = pickle.dumps(answers, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # what cannot be unpickled here, or pickled back
            reply = pickle.dumps([TaskResult(error=failure("the work on a unit failed", error))] * count)
        pipe.send_bytes(reply)
