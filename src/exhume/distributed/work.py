"""The part that runs on a worker: a function over a few units, with every failure turned into an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from exhume.errors import ExhumeError, SourceError
from exhume.io.parallel import map_ordered

_FINAL = frozenset({"EX-602", "EX-605", "EX-606", "EX-607", "EX-612", "EX-614", "EX-615", "EX-616", "EX-617"})
"""Codes of source errors that another attempt cannot avoid: no ranges, closed, a database, a forbidden download."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The outcome of one unit: a value, or the error and whether another attempt may help."""

    value: Any = None
    error: ExhumeError | None = None
    passing: bool = False


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """The worker died with these units; `final` when they have been tried on others already."""

    reason: str
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
    try:
        return TaskResult(function(unit))
    except ExhumeError as error:
        return TaskResult(passing=may_pass(error), error=_portable(error))
    except MemoryError as error:
        return TaskResult(error=failure("out of memory", error), passing=True)
    except Exception as error:  # any error is reported, and the other units continue
        return TaskResult(error=failure("the work on a unit failed", error), passing=True)


def failure(message: str, error: BaseException) -> SourceError:
    """Any other exception as one of our errors."""
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
