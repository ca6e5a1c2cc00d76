"""A hundred thousand archives on slow, failing in-memory storage, read by the real planner, runner and readers.

    python -m benchmarks.simulation [--archives 100000] [--workers 64] [--latency-ms 30] [--scale 0.01]

Every object is one of a few dozen tiny archives (zs, clp-s, caf; some damaged), so the storage itself takes no memory
that grows.  Each request waits (one in a hundred ten times as long); some objects are gone, some never answer, some
answer after a few failures.  What has to hold, and is checked: results in order, one for each archive; every failure
retried where that can help and reported where it did not; as many requests as the model says; memory that does not
grow with the number of archives.
"""

from __future__ import annotations

import argparse
import array
import contextlib
import itertools
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import fsspec
from fsspec.spec import AbstractFileSystem

import exhume
from exhume.distributed import Partition, partitions, run
from exhume.findings import Severity
from exhume.io import remote

REQUESTS = 2
"""The model: an archive up to twice `remote.EDGE` costs one request for its size and one for its bytes."""

GROWTH = 16 << 20
"""Bytes that the process may grow after the first tenth of the archives (allocator and caches settling)."""


@dataclass(frozen=True)
class Template:
    """A tiny archive, and how many errors `verify` finds in it."""

    suffix: str
    data: bytes
    errors: int


def make_templates() -> list[Template]:
    """Thirty archives of three formats; one in ten is damaged."""
    made: list[Template] = []
    with tempfile.TemporaryDirectory() as name:
        for number in range(30):
            suffix = ("zs", "clps", "caf")[number % 3]
            path = Path(name) / f"{number}.{suffix}"
            _write(path, suffix, number)
            data = bytearray(path.read_bytes())
            if number % 10 == 9:
                data[len(data) * 3 // 5] ^= 0x55
            errors = sum(finding.severity is Severity.ERROR for finding in exhume.verify(bytes(data)))
            made.append(Template(suffix, bytes(data), errors))
    return made


def _write(path: Path, suffix: str, number: int) -> None:
    rng = random.Random(number)
    with exhume.create(path, {"zs": "zs", "clps": "clp-s", "caf": "caf"}[suffix]) as writer:
        archive: Any = writer
        if suffix == "zs":
            archive.add_records(sorted(b"record %06d" % rng.randrange(10**6) for _ in range(30)))
        elif suffix == "clps":
            for line in range(8):
                archive.write({"n": line, "text": f"request {rng.randrange(999)} took {line} ms"})
        else:
            for member in range(5):
                archive.add_bytes(f"m{member}", rng.randbytes(60))


@dataclass
class World:
    """The storage: which objects there are, how they behave, and what was asked of them."""

    count: int
    latency: float
    templates: list[Template]
    requests: array.array[int] = field(default_factory=lambda: array.array("H"))
    slept: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.requests.extend(itertools.repeat(0, self.count))

    def name(self, number: int) -> str:
        """The URL of an object."""
        return f"simulated://bucket/{number:08d}.{self.template(number).suffix}"

    def template(self, number: int) -> Template:
        """Its bytes."""
        return self.templates[number % len(self.templates)]

    def failing(self, number: int) -> int | None:
        """How many of an object's first requests fail; None: it is gone."""
        dice = random.Random(number).randrange(1000)
        if dice == 0:
            return None
        if dice == 1:
            return 1 << 30  # never answers
        if dice < 4:
            return remote.RETRIES + 2  # outlasts the retries of one request
        return 1 + dice % 2 if dice < 14 else 0

    def request(self, number: int) -> Template:
        """One request: waits, and answers or fails."""
        with self.lock:
            self.requests[number] += 1
            requested = self.requests[number]
        wait = self.latency * (10 if random.Random(number * 31 + requested).random() < 0.01 else 1)
        time.sleep(wait)
        failing = self.failing(number)
        if failing is None:
            raise FileNotFoundError(self.name(number))
        if requested <= failing:
            raise TimeoutError("simulated")
        return self.template(number)


class SimulatedFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """fsspec's view of the world."""

    protocol = "simulated"
    world: ClassVar[World]

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        found = self.world.request(_number(path))
        return {"name": path, "size": len(found.data), "type": "file"}

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        return self.world.request(_number(path)).data[start:end]


def _number(path: str) -> int:
    return int(path.rsplit("/", 1)[-1].partition(".")[0])


def verify(url: str) -> int:
    """The unit of work: how many errors an archive has."""
    return sum(finding.severity is Severity.ERROR for finding in exhume.verify(url))


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@contextlib.contextmanager
def storage(world: World, retry_delay: float) -> Iterator[None]:
    """The world as `simulated://`, with the pauses before retries on its scale."""
    fsspec.register_implementation("simulated", SimulatedFileSystem, clobber=True)
    SimulatedFileSystem.world = world
    before, remote.RETRY_DELAY = remote.RETRY_DELAY, retry_delay
    try:
        yield
    finally:
        remote.RETRY_DELAY = before


def simulate(count: int, *, workers: int = 64, latency: float = 0.0003, retries: int = 2) -> dict[str, Any]:
    """Verify `count` archives; raise `AssertionError` when anything that has to hold does not."""
    world = World(count, latency, make_templates())
    outcomes: Counter[str] = Counter()
    requests = 0
    sizes: list[int] = []
    started, cpu = time.monotonic(), time.process_time()
    with storage(world, latency):
        planned = plan_some(world, 97)
        units = (world.name(number) for number in range(count))
        results = run(verify, units, jobs=workers, workers="threads", retries=retries, retry_delay=latency, total=count)
        for number, result in enumerate(results):
            assert (result.index, result.unit) == (number, world.name(number)), "out of order"
            outcomes[check(world, number, result, retries)] += 1
            requests += world.requests[number]
            if number % max(1, count // 50) == 0:
                sizes.append(resident())
    seconds = time.monotonic() - started
    assert sum(outcomes.values()) == count, "an archive has no result"
    growth = max(sizes) - sizes[len(sizes) // 10]
    assert growth <= GROWTH, f"memory grew by {growth} bytes"
    return {
        "archives": count,
        "workers": workers,
        "planned": planned,
        "outcomes": dict(sorted(outcomes.items())),
        "requests": requests,
        "requests_per_archive": round(requests / count, 4),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "memory_mib": round(max(sizes) / 2**20, 1),
        "growth_mib": round(growth / 2**20, 1),
    }


def plan_some(world: World, every: int) -> int:
    """Plan one sound archive in this many, read the partitions, and check what both cost; how many there were."""
    numbers = [n for n in range(0, world.count, every) if not world.failing(n) and world.failing(n) is not None]
    numbers = [number for number in numbers if not world.template(number).errors]
    planned = partitions(map(world.name, numbers))
    assert [one.target for one in planned] == [world.name(number) for number in numbers], "one partition each"
    assert {world.requests[number] for number in numbers} == {REQUESTS}, "planning costs other requests"
    results = list(run(count_records, planned, jobs=8, workers="threads"))
    counts = {"zs": 30, "clps": 8, "caf": 5}
    assert [one.value for one in results] == [counts[world.template(number).suffix] for number in numbers]
    assert {world.requests[number] for number in numbers} == {2 * REQUESTS}, "reading costs other requests"
    for number in numbers:
        world.requests[number] = 0
    return len(numbers)


def count_records(partition: Partition) -> int:
    """How many records (or members) a partition has."""
    return sum(1 for _ in partition.records())


def check(world: World, number: int, result: Any, retries: int) -> str:
    """Compare one result, and what it cost, with what the storage did; say which kind it is."""
    failing, requested = world.failing(number), world.requests[number]
    tries = remote.RETRIES + 1
    if failing is None:
        assert result.error is not None, "a missing object was not reported"
        assert (result.attempts, requested) == (1, 1), "a missing object was requested again"
        return "missing, reported"
    if failing > tries * (retries + 1):
        assert result.error is not None, "a dead object was not reported"
        assert (result.attempts, requested) == (retries + 1, tries * (retries + 1)), "not all attempts were made"
        return "never answered, reported"
    assert result.error is None, result.error
    assert result.value == world.template(number).errors, "another verdict"
    assert requested == REQUESTS + failing, f"{requested} requests"
    if failing >= tries:
        assert result.attempts == 2, "the unit was not tried again"
        return "unit retried, then read"
    if failing:
        return "request retried, then read"
    return "read, damaged" if result.value else "read"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--latency-ms", type=float, default=30.0)
    parser.add_argument("--scale", type=float, default=0.01, help="of all waiting: 0.01 makes 30 ms 0.3 ms")
    options = parser.parse_args()
    latency = options.latency_ms * options.scale / 1000
    print(json.dumps(simulate(options.archives, workers=options.workers, latency=latency), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
