"""The machine of a benchmark: whether others use it, and what has to be in place before something is measured.

Only for Linux (`/proc/stat`).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

BUSY = 0.05
"""The share of the machine that other processes may take."""

WHOLE = 1.15
"""Largest time of parallel loops relative to one, if each has a core of its own."""

LOOP = "for number in range(10_000_000): pass"
"""A quarter of a second or so of one core."""

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count() or 1


def machine_busy() -> float:
    """CPU seconds that all processes of the machine have taken, and the host in its turn."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return (
        sum(int(fields[at]) for at in (0, 1, 2, 5, 6, 7)) / TICKS
    )  # user, nice, system, interrupts, stolen by the host


def own_cpu() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


class Watch:
    """What other processes take of the machine from here on."""

    def __init__(self) -> None:
        self._wall, self._busy, self._own = time.perf_counter(), machine_busy(), own_cpu()

    def others(self) -> float:
        """Their share of all cores: from 0 to 1."""
        wall = max(1e-9, time.perf_counter() - self._wall)
        return max(0.0, (machine_busy() - self._busy - (own_cpu() - self._own)) / wall / CORES)


def wait_for_idle(until: float, cores: int) -> bool:
    """Whether other processes took little for a second, and the host gave this many cores, before the time `until`."""
    while True:
        watch = Watch()
        time.sleep(1)
        if watch.others() <= BUSY and has_cores(cores):
            return True
        if time.perf_counter() > until:
            return False


def has_cores(count: int) -> bool:
    """Whether `count` loops of numbers, which share nothing, take about as long in parallel as one of them.

    They take more where the host of a virtual machine uses its cores too, or where two are threads of one.
    """
    return _loops(count) <= WHOLE * _loops(1)


def _loops(count: int) -> float:
    """Wall seconds of parallel loops."""
    start = time.perf_counter()
    running = [subprocess.Popen([sys.executable, "-I", "-S", "-c", LOOP]) for _ in range(count)]
    for each in running:
        each.wait()
    return time.perf_counter() - start


def settle(most: int = 2 << 30) -> None:
    """Write to at most `most` bytes of free memory, so that the host of this machine has them in place."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with mmap.mmap(-1, max(mmap.PAGESIZE, min(most, free // 2)), access=mmap.ACCESS_COPY) as room:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # of a kernel that has none
                room.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, len(room), mmap.PAGESIZE):
            room[at] = 1


def warm(path: Path) -> None:
    """Read files, so that the system has them in memory."""
    for file in [path] if path.is_file() else path.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                while opened.read(1 << 22):
                    pass
