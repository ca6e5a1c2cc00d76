"""One runner for this machine and for a cluster: results in the order of the units, in bounded memory.

A unit is one piece of work (an archive, a span of an image): a picklable value to which a function is applied.  A task
is one or more units that are sent to a worker together.  A backend runs tasks: in the caller, on threads, processes or
a cluster (`workers.py`).  It returns a `TaskResult` for each unit (`value`, or `error`, which is `passing` if another
attempt may succeed), or `WorkerLost` (`final` if the units were tried on other workers already).

Only a bounded window of units is in progress or waiting to be returned, however many there are.  A unit whose reading
failed is tried again; if it still fails, it becomes a `Result` with an error, never an exception, so one bad archive of
a hundred thousand does not affect the others.  A worker that dies affects only its own units: each is tried again by
itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

from exhume.archive import Progress, no_progress
from exhume.distributed.workers import TaskResult, ThreadedCall, WorkerLost
from exhume.errors import ExhumeError, SourceError

if TYPE_CHECKING:
    from distributed import Client

RETRY_DELAY = 0.5
"""Seconds before the second attempt; doubled each time."""

MAX_BATCH = 32
"""Units sent to a worker together, when there are so many that sending them takes noticeable time."""

Workers = Literal["processes", "threads"]
"""What local workers are."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of unit number `index` (from 0): `value`, or `error`, after `attempts` attempts."""

    index: int
    unit: Any
    value: Any = None
    error: ExhumeError | None = None
    attempts: int = 1

    @property
    def ok(self) -> bool:
        """Whether the unit succeeded."""
        return self.error is None


class Backend(Protocol):
    """Runs tasks: threads, processes or a cluster.  `submit` does not wait; `next` waits for any task to end."""

    @property
    def slots(self) -> int:
        """Number of tasks that are worth submitting in advance."""
        ...

    def submit(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
        """Start a task of a number: the function on each unit, after `delay` seconds."""
        ...

    def next(self) -> tuple[int, list[TaskResult] | WorkerLost]:
        """Return the number of a task that ended, and a result for each of its units, in their order."""
        ...

    def close(self) -> None:
        """End the workers; tasks in progress are abandoned."""
        ...


class RunOptions(TypedDict, total=False):
    """The options of `run` about where and how often units are run."""

    cluster: str | Client | None
    jobs: int
    workers: Workers
    retries: int
    retry_delay: float
    window: int | None
    batch: int | None
    at_once: int


def run(
    function: Callable[[Any], Any],
    units: Iterable[Any],
    *,
    cluster: str | Client | None = None,
    jobs: int = 1,
    workers: Workers = "processes",
    retries: int = 2,
    retry_delay: float = RETRY_DELAY,
    window: int | None = None,
    batch: int | None = None,
    at_once: int = 1,
    progress: Progress = no_progress,
    total: int | None = None,
    unit: str = "units",
) -> Iterator[Result]:
    """Yield `function(unit)` for each unit as a `Result`, in the order of the units, as soon as each is known.

    Args:
        function: Picklable (a module's function, or a `functools.partial` of one) unless everything runs in this
            process.
        units: Any number of small picklable values; taken as they are needed.
        cluster: A dask scheduler's address, the path of a scheduler file, or a `distributed.Client`.
        jobs: Local workers (1: in the caller; 0: one per core).  Ignored with a cluster.
        workers: "processes" by default, because threads would take turns at running Python code; "threads" for units
            that wait more than they compute, or cannot be pickled.
        retries: Further attempts for a unit whose reading failed or whose worker died.
        retry_delay: Seconds before the second attempt; doubled each time.
        window: Units in progress, or done and waiting for an earlier one (default: 4 for each slot of a worker).
        batch: Units sent together (default: 1 to 32, growing with the number of units, or of those seen so far).
        at_once: Units that each process or cluster's worker runs at a time, on threads of its own: for units that wait
            for storage more than they compute, where a process for each would cost too much.
        progress: Called with (done, total or None, unit).
        total: The number of units, when it is known and `units` has no length.
        unit: What a unit is called in the progress, in the plural.

    Raises `SourceError` (EX-608) when the cluster cannot be reached or is lost, `MissingDependencyError` without dask.
    """
    if total is None and isinstance(units, Sized):
        total = len(units)
    if at_once > 1:
        function, batch = ThreadedCall(function, at_once), batch or min(MAX_BATCH, 2 * at_once)
    backend = _backend(cluster, jobs, workers)
    try:
        yield from _RunLoop(backend, function, units, retries, retry_delay, window, batch, progress, total, unit)
    finally:
        backend.close()


def _backend(cluster: Any, jobs: int, workers: Workers) -> Backend:
    """The backend for a cluster, or for `jobs` threads or processes (0: one per CPU); `Inline` for one job."""
    if cluster is not None:
        from exhume.distributed.workers import Cluster

        return Cluster(cluster)
    from exhume.distributed.workers import Inline, Processes, Threads
    from exhume.limits import cpu_count

    count = jobs or cpu_count()
    if count <= 1:
        return Inline()
    return Threads(count) if workers == "threads" else Processes(count)


@dataclass(slots=True)
class _RunningUnit:
    """A unit in progress, with its index and the number of attempts that ended."""

    index: int
    unit: Any
    attempts: int = 0


class _RunLoop:
    """One run: keeps the backend busy and the results in order."""

    def __init__(
        self,
        backend: Backend,
        function: Callable[[Any], Any],
        units: Iterable[Any],
        retries: int,
        retry_delay: float,
        window: int | None,
        batch: int | None,
        progress: Progress,
        total: int | None,
        unit: str,
    ) -> None:
        """Begin a run on `backend`; the other arguments are those of `run`."""
        self._backend, self._function, self._retries, self._delay = backend, function, retries, retry_delay
        self._progress, self._total, self._unit = progress, total, unit
        self._rest = enumerate(units)  # units that were not submitted yet
        self._exhausted = False  # whether there are none
        self._batch = batch or _batch(total, backend.slots)  # units per task
        self._growing = batch is None and total is None  # the number of units is unknown: tasks grow with those seen
        self._window = window
        self._pending: dict[int, list[_RunningUnit]] = {}  # units of the submitted tasks, by number of the task
        self._again: deque[_RunningUnit] = deque()  # units for another attempt, each in a task of its own
        self._ready: dict[int, Result] = {}  # results that wait for earlier ones, by index
        self._held = 0  # units taken from `_rest` whose results were not yielded; bounded by the window
        self._tasks = 0  # submitted so far

    def __iter__(self) -> Iterator[Result]:
        """Yield the results in the order of the units, while the backend works on later ones."""
        following = done = 0
        while True:
            self._fill()
            if not self._pending:
                return
            task, answer = self._backend.next()
            for result in self._settle(self._pending.pop(task), answer):
                self._ready[result.index] = result
                done += 1
                self._progress(done, self._total, self._unit)
            while following in self._ready:
                self._held -= 1
                yield self._ready.pop(following)
                following += 1

    def _fill(self) -> None:
        """Submit as many units as the backend has slots for and the window allows."""
        slots = self._backend.slots
        # 32 tasks for each slot at one size of the batch, then one unit more.
        if self._growing:
            self._batch = min(MAX_BATCH, 1 + self._tasks // (32 * slots))
        window = self._window or max(4 * slots * self._batch, 64)  # results that wait for a slow unit count, too
        while len(self._pending) < slots:
            if self._again:
                group = [self._again.popleft()]
            else:
                room = min(self._batch, window - self._held)  # units that may be taken
                group = (
                    [_RunningUnit(*pair) for pair in islice(self._rest, room)]
                    if room > 0 and not self._exhausted
                    else []
                )
                self._exhausted |= room > 0 and not group  # units were allowed, and none came
                self._held += len(group)
            if not group:
                return
            first = group[0]
            delay = self._delay * 2 ** (first.attempts - 1) if first.attempts else 0.0  # doubled each time
            self._pending[self._tasks] = group
            self._backend.submit(self._tasks, self._function, [one.unit for one in group], delay)
            self._tasks += 1

    def _settle(self, group: list[_RunningUnit], answer: list[TaskResult] | WorkerLost) -> Iterator[Result]:
        """Yield the results of a task's units (`group`); units that get another attempt are queued instead."""
        if isinstance(answer, WorkerLost):
            if len(group) > 1:  # one of them may be the reason: alone, it cannot harm the others
                self._again.extend(group)
                return
            error = SourceError("worker process died", code="EX-609", actual=answer.reason)
            answer = [TaskResult(error=error, passing=not answer.final)]
        for one, got in zip(group, answer, strict=True):
            one.attempts += 1
            if got.error is not None and got.passing and one.attempts <= self._retries:
                self._again.append(one)
            else:
                yield Result(one.index, one.unit, got.value, got.error, one.attempts)


def _batch(total: int | None, slots: int) -> int:
    """Units per task: enough tasks to spread evenly, but not so many that sending them dominates.

    `total` is the number of units (None: unknown), `slots` that of tasks which the backend takes in advance.
    """
    return 1 if total is None else max(1, min(MAX_BATCH, total // (32 * slots)))
