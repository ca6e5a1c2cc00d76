"""Backends that run units: the caller itself, threads, processes, or a dask cluster (extra `dask`).

Every worker gets a function and a few units, and returns a result for each unit, also if it fails.

`concurrent.futures` abandons a whole pool when one of its processes dies, and cannot say which unit it was working on.
Here each process has its own pipe, so a death is noticed, costs only one attempt at that unit, and the process is
replaced.  The scheduler of a cluster reruns the tasks of a worker that was killed.  After several workers
(`distributed.scheduler.allowed-failures`) it reports the task as failed, and the units are lost here.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import queue
import signal
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from exhume.counts import counted
from exhume.errors import ExhumeError, MissingDependencyError, SourceError, Span
from exhume.io.parallel import map_ordered

_FINAL = frozenset({"EX-602", "EX-605", "EX-606", "EX-607", "EX-612", "EX-614", "EX-615", "EX-616", "EX-617"})
"""Codes of source errors that another attempt cannot avoid, such as a server without ranges or a closed source."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The outcome of one unit: a value, or an error, which is `passing` if another attempt may succeed."""

    value: Any = None
    error: ExhumeError | None = None
    passing: bool = False


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """The worker died with these units; `final` when they have been tried on others already."""

    reason: str  # in words
    final: bool = False


@dataclass(frozen=True, slots=True)
class ThreadedCall:
    """A function that a worker calls for several units at the same time, on `threads` threads."""

    function: Callable[[Any], Any]
    threads: int

    def __call__(self, unit: Any) -> Any:
        return self.function(unit)


def work(function: Callable[[Any], Any], units: Sequence[Any], delay: float = 0.0) -> list[TaskResult]:
    """`function(unit)` for each unit, in order, after a pause of `delay` seconds; never raises an `Exception`."""
    if delay > 0:
        time.sleep(delay)
    if isinstance(function, ThreadedCall):
        return list(map_ordered(partial(_one, function.function), units, min(function.threads, len(units))))
    return [_one(function, unit) for unit in units]


def _one(function: Callable[[Any], Any], unit: Any) -> TaskResult:
    """Apply the function to one unit and return its result or error; no exception passes."""
    try:
        return TaskResult(function(unit))
    except ExhumeError as error:
        return TaskResult(passing=may_pass(error), error=_portable(error))
    except MemoryError as error:
        return TaskResult(error=failure("out of memory", error), passing=True)
    except Exception as error:  # any error is reported, and the other units continue
        return TaskResult(error=failure("the work on a unit failed", error), passing=True)


def failure(message: str, error: BaseException) -> SourceError:
    """Return an exception that is no `ExhumeError` as a `SourceError`; one for "out of memory" has its own message."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if message == "out of memory":
        return SourceError("out of memory while working on a unit", code="EX-610", actual=text)
    return SourceError("the work on a unit failed", code="EX-610", actual=text)


def may_pass(error: ExhumeError) -> bool:
    """Whether another attempt may succeed: reading failed, though the object exists and reading it is allowed."""
    if not isinstance(error, SourceError) or error.code in _FINAL:
        return False
    return not isinstance(error.__cause__, (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError))


def _portable(error: ExhumeError) -> ExhumeError:
    """The error without its traceback and causes, which keep buffers alive and cannot be sent to another process."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


Work = tuple[int, Callable[[Any], Any], list[Any], float]
"""A task: its number, the function, the units, and the delay in seconds before it starts."""


class Inline:
    """The backend that runs each task in the caller, when its result is requested."""

    slots = 1

    def __init__(self) -> None:
        self._waiting: deque[Work] = deque()  # tasks that were not run yet

    def submit(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        self._waiting.append((task, function, units, delay))

    def next(self) -> tuple[int, list[TaskResult] | WorkerLost]:
        """Run the next task, here and now, and return its number and results."""
        task, function, units, delay = self._waiting.popleft()
        return task, work(function, units, delay)

    def close(self) -> None:
        self._waiting.clear()


class Threads:
    """The backend of threads: for units that wait for storage more than they compute."""

    def __init__(self, count: int) -> None:
        self.slots: int = count + max(1, count // 4)  # a few tasks wait, so that no thread is idle between two
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="exhume-unit")
        self._done: queue.SimpleQueue[tuple[int, list[TaskResult]]] = queue.SimpleQueue()  # task, results
        self._closed = threading.Event()  # tasks that have not started are skipped

    def submit(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        self._pool.submit(self._work, task, function, units, delay)

    def _work(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        """Run a task in a thread of the pool and put its results into the queue."""
        if not self._closed.is_set():
            try:
                answers = work(function, units, delay)
            except BaseException as error:  # `next` would wait forever for a thread that ended without a result
                answers = [TaskResult(error=failure("the work on a unit failed", error)) for _ in units]
            self._done.put((task, answers))

    def next(self) -> tuple[int, list[TaskResult] | WorkerLost]:
        return self._done.get()

    def close(self) -> None:
        """Skip the tasks that have not started, and wait for the others."""
        self._closed.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Processes:
    """The backend of local processes, each on its own pipe; one that dies is replaced."""

    def __init__(self, count: int) -> None:
        """Prepare `count` processes; each is started when it is first needed."""
        # Not by fork: the caller may have threads, and inherited locks would hang the child now and then.
        self._context = multiprocessing.get_context("spawn")
        self.slots = count
        self._idle: list[_Worker] = []  # started, and without a task
        self._busy: dict[Any, _Worker] = {}  # by its pipe, for which `next` waits

    def submit(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        """Send a task to an idle process, or to a new one if none is idle or it has died."""
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
        """Wait for a worker to answer. Returns its task and results, or `WorkerLost` if it died."""
        pipe: Any = multiprocessing.connection.wait(list(self._busy))[0]
        worker = self._busy.pop(pipe)
        try:
            answers: list[TaskResult] = pickle.loads(pipe.recv_bytes())  # noqa: S301 - from a worker of this very process
        except (EOFError, OSError):
            return worker.task, WorkerLost(worker.kill())
        self._idle.append(worker)
        return worker.task, answers

    def close(self) -> None:
        """Stop idle workers and terminate busy ones."""
        for worker in [*self._idle, *self._busy.values()]:
            if worker in self._idle:
                worker.stop()
            else:
                worker.process.terminate()
                worker.kill()
        self._idle.clear()
        self._busy.clear()


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from processes started within: a terminal sends it to them as well, and they would print a traceback.

    In this process, it takes effect at the end of the block.
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
        """Start a process that serves tasks from a pipe."""
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True, name="exhume-worker")
        with _ignoring_interrupts():
            self.process.start()
        theirs.close()
        self.task = -1  # number of the task it works on; -1: none yet

    def kill(self) -> str:
        """Wait until the process has ended; return in words how it ended."""
        self.pipe.close()
        self.process.join(5)  # seconds
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
    """Serve tasks in a worker process until its pipe closes, or an empty message comes."""
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
        except Exception as error:  # the call cannot be unpickled here, or the results not pickled
            reply = pickle.dumps([TaskResult(error=failure("the work on a unit failed", error))] * count)
        pipe.send_bytes(reply)


CONNECT_TIMEOUT = 20.0
"""Seconds to wait for the scheduler."""

SIZE_KNOWN_FOR = 5.0
"""Seconds after which the size of the cluster is queried again: clusters grow and shrink."""


class Cluster:
    """The backend that submits tasks to a dask scheduler."""

    def __init__(self, cluster: Any) -> None:
        """Connect to a scheduler: `cluster` is its address or file, or a client, which stays open afterwards.

        Raises `MissingDependencyError` if dask is not installed.
        """
        try:
            import distributed
        except ImportError as error:
            raise MissingDependencyError("a cluster needs the extra dask: pip install 'exhume[dask]'") from error
        self._owned = isinstance(cluster, str)  # whether the client is ours to close
        self._name = cluster if self._owned else "cluster"
        self._client: Any = self._connect(distributed, cluster) if self._owned else cluster
        completed: Any = distributed.as_completed
        # Yields futures as they end.
        self._completed = completed([], with_results=True, raise_errors=False, loop=self._client.loop)
        self._tasks: dict[str, tuple[int, int]] = {}  # key of the future: number of the task, number of its units
        self._run = uuid.uuid4().hex[:12]  # makes keys unique on a scheduler that several runs share
        self._threads = 0  # of all workers, at the last query
        self._checked_at = -1e9  # time of that query in seconds: long ago

    def _connect(self, distributed: Any, cluster: str) -> Any:
        """Connect to a dask scheduler by address or scheduler file. Raises `SourceError` if it is not there."""
        where = {"scheduler_file": cluster} if is_scheduler_file(cluster) else {"address": cluster}
        if "scheduler_file" in where and not os.path.isfile(cluster):  # noqa: PTH113 - dask would wait for it for ever
            raise self._gone("no such scheduler file")
        try:
            return distributed.Client(**where, timeout=CONNECT_TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise self._gone(error) from error

    def _gone(self, error: object) -> ExhumeError:
        """Return the error for a cluster that cannot be reached."""
        return SourceError("the cluster cannot be reached", code="EX-608", span=Span(self._name, 0, 0), actual=error)

    @property
    def slots(self) -> int:
        """Number of tasks that are worth submitting in advance.  Raises `SourceError` when the cluster is gone."""
        now = time.monotonic()
        if now - self._checked_at > SIZE_KNOWN_FOR:
            self._checked_at = now
            try:
                self._threads = sum(self._client.nthreads().values())
            except (OSError, ValueError, TimeoutError) as error:
                raise self._gone(error) from error
        return max(16, 3 * self._threads)  # some wait for each thread; 16 while the cluster has few

    def submit(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        """Send a task to the cluster; `next` returns its results."""
        key = f"exhume-{self._run}-{task}"
        future = self._client.submit(work, function, units, delay, key=key, pure=False, retries=0)
        self._tasks[key] = task, len(units)
        self._completed.add(future)

    def next(self) -> tuple[int, list[TaskResult] | WorkerLost]:
        """Wait for any task to end.  Raises `SourceError` when the cluster is gone."""
        future, result = next(self._completed)
        task, count = self._tasks.pop(future.key)
        if isinstance(result, list):
            return task, result
        if future.status != "error":
            raise self._gone(f"a task was {future.status}")
        error = future.exception()
        if type(error).__name__ == "KilledWorker":  # its class is in a module that need not be imported here
            times = getattr(error, "allowed_failures", 0) + 1
            return task, WorkerLost(f"on {counted(times, 'workers')}, one after the other", final=True)
        return task, [TaskResult(error=failure("the work on a unit failed", error), passing=True)] * count

    def close(self) -> None:
        """Forget the tasks, and disconnect from a cluster that this object connected to."""
        self._completed.clear()
        self._tasks.clear()
        if self._owned:
            self._client.close()


def is_scheduler_file(cluster: str) -> bool:
    """Whether `--cluster` names a scheduler file instead of an address."""
    if "://" in cluster:
        return False
    return os.sep in cluster or cluster.endswith(".json") or Path(cluster).is_file()
