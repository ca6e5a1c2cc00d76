"""How much of a long test runs (all of it under `make test-thorough`), and how much memory it took."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
THOROUGH = PROFILE == "thorough"


def size(usual: int, thorough: int) -> int:
    """A number of cases, or a distance between them."""
    return thorough if THOROUGH else usual


T = TypeVar("T")


def some(items: Iterable[T]) -> Iterator[T]:
    """The items: there has to be one, for a loop over none proves nothing."""
    none = True
    for item in items:
        none = False
        yield item
    assert not none, "a loop over nothing"


def bound_memory(size: int) -> None:
    """Let what requests more than `size` bytes of memory from now on fail where it does.

    A process of tests has mapped gigabytes by the time that it forks: these are not counted.
    """
    try:
        mapped = int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
    except OSError:
        mapped = 0
    resource.setrlimit(resource.RLIMIT_AS, (mapped + size, mapped + size))


def peak_memory() -> int:
    """Most bytes of memory that this process had.

    From /proc where there is one: `ru_maxrss` survives exec, so that a child starts with the peak of its parent.
    """
    try:
        with Path("/proc/self/status").open("rb") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith(b"VmHWM:"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak << 10
