"""A dask cluster as the place where units run (extra `dask`).

The scheduler reruns what a killed worker had; a unit that keeps killing workers is given up by it
(`distributed.scheduler.allowed-failures`) and comes back here as lost.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exhume.counts import counted
from exhume.distributed.work import TaskResult, WorkerLost, failure, work
from exhume.errors import ExhumeError, MissingDependencyError, SourceError, Span

CONNECT_TIMEOUT = 20.0
"""Seconds to wait for the scheduler."""

SIZE_KNOWN_FOR = 5.0
"""Seconds after which the size of the cluster is queried again: clusters grow and shrink."""


class Cluster:
    """The backend that submits tasks to a dask scheduler."""

    def __init__(self, cluster: Any) -> None:
        try:
            import distributed
        except ImportError as error:
            raise MissingDependencyError("a cluster needs the extra dask: pip install 'exhume[dask]'") from error
        self._owned = isinstance(cluster, str)
        self._name = cluster if self._owned else "cluster"
        self._client: Any = self._connect(distributed, cluster) if self._owned else cluster
        completed: Any = distributed.as_completed
        self._completed = completed([], with_results=True, raise_errors=False, loop=self._client.loop)
        self._tasks: dict[str, tuple[int, int]] = {}
        self._run = uuid.uuid4().hex[:12]
        self._threads = 0
        self._asked = -1e9

    def _connect(self, distributed: Any, cluster: str) -> Any:
        where = {"scheduler_file": cluster} if is_scheduler_file(cluster) else {"address": cluster}
        if "scheduler_file" in where and not os.path.isfile(cluster):  # noqa: PTH113 - dask would wait for it for ever
            raise self._gone("no such scheduler file")
        try:
            return distributed.Client(**where, timeout=CONNECT_TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise self._gone(error) from error

    def _gone(self, error: object) -> ExhumeError:
        return SourceError("the cluster cannot be reached", code="EX-608", span=Span(self._name, 0, 0), actual=error)

    @property
    def slots(self) -> int:
        """How many tasks are worth submitting.  Raises `SourceError` when the cluster is gone."""
        now = time.monotonic()
        if now - self._asked > SIZE_KNOWN_FOR:
            self._asked = now
            try:
                self._threads = sum(self._client.nthreads().values())
            except (OSError, ValueError, TimeoutError) as error:
                raise self._gone(error) from error
        return max(16, 3 * self._threads)

    def submit(self, task: int, function: Callable[[Any], Any], units: list[Any], delay: float) -> None:
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
        if type(error).__name__ == "KilledWorker":
            times = getattr(error, "allowed_failures", 0) + 1
            return task, WorkerLost(f"on {counted(times, 'workers')}, one after the other", final=True)
        return task, [TaskResult(error=failure("the work on a unit failed", error), passing=True)] * count

    def close(self) -> None:
        self._completed.clear()
        self._tasks.clear()
        if self._owned:
            self._client.close()


def is_scheduler_file(cluster: str) -> bool:
    """Whether `--cluster` names a scheduler file instead of an address."""
    if "://" in cluster:
        return False
    return os.sep in cluster or cluster.endswith(".json") or Path(cluster).is_file()
