"""What one worker does, and what follows for 1 TB, 100 TB and 10 PB: the figures of `docs/scaling.md`.

    python -m benchmarks.scaling [--size 64M] [--dir DIR] [--write docs/scaling.md] [--no-cluster]

Archives of every format are made (the same every time), then each verb runs on each of them twice, in processes of its
own: once on the local file, for CPU seconds and peak memory, and once through a file system that counts requests.  The
tables of the page between its markers are rewritten with `--write`.  `benchmarks.simulation` checks the model.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

import exhume
from benchmarks.ark import CHANNELS, STEP_NS, payloads
from benchmarks.clp_s_logs import write_logs
from benchmarks.data_bundle import make_tree
from exhume.limits import parse_size

VOLUMES = {"1 TB": 10**12, "100 TB": 10**14, "10 PB": 10**16}
ARCHIVE = 64 << 20
"""Stored bytes of an archive in the model."""

GET_PRICE = 0.40
"""Assumed dollars for a million GET or HEAD requests."""

CORE_PRICE = 0.04
"""Assumed dollars for one core for one hour, with its memory."""

FORMATS = ("zs", "clp-s", "ark", "caf", "databundle")
IN_IMAGE = ("zs", "clp-s", "caf")
VERBS = ("verify", "cat", "search")


@dataclass
class Figure:
    """One verb on one archive: stored bytes, CPU and wall seconds, peak memory; requests and bytes read remotely."""

    format: str
    verb: str
    stored: int
    cpu: float
    wall: float
    peak: int
    requests: int = 0
    read: int = 0

    @property
    def rate(self) -> float:
        """Stored megabytes a core gets through in a second."""
        return self.stored / 1e6 / max(self.cpu, 1e-9)


# ---------------------------------------------------------------------------------------------------- the archives


def make_archives(folder: Path, size: int) -> dict[str, Path]:
    """One archive of each format out of `size` bytes of content."""
    found = {id: folder / f"scaling.{id}" for id in FORMATS}
    tree = folder / "tree"
    if not tree.exists():
        make_tree(tree, max(1, size // 40_000), 40_000)
    if not found["zs"].exists():
        lines = sorted(line for path in sorted(tree.rglob("*.txt")) for line in path.read_bytes().splitlines())
        with exhume.create(found["zs"], "zs", codec="deflate") as writer:
            archive: Any = writer
            archive.add_records(lines)
    if not found["clp-s"].exists():
        write_logs(folder / "logs.jsonl", "flat", size)
        subprocess.run(
            [sys.executable, "-m", "exhume", "create", "clp-s", "-q", folder / "logs.jsonl", "-o", found["clp-s"]],
            check=True,
        )
    if not found["ark"].exists():
        make_ark(found["ark"], size)
    for id in ("caf", "databundle"):
        if not found[id].exists():
            subprocess.run([sys.executable, "-m", "exhume", "create", id, "-q", tree, "-o", found[id]], check=True)
    return found


def make_ark(path: Path, size: int) -> None:
    """A log of messages of 200 bytes on several channels."""
    from exhume.formats.ark.writer import ArkWriter

    with ArkWriter(path) as log:
        writers = [log.channel(f"/topic/{number}").write for number in range(CHANNELS)]
        for number, message in enumerate(payloads(size // 200, 200)):
            writers[number % CHANNELS](number * STEP_NS, message)


def stored_size(path: Path) -> int:
    """Bytes on disk."""
    return (
        sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else path.stat().st_size
    )


def make_image(path: Path, archives: dict[str, Path], size: int) -> None:
    """Noise with the archives of one file in it."""
    rng = random.Random(3)
    with path.open("wb") as file:
        for id in (*IN_IMAGE, None):
            for at in range(0, size // 4, 1 << 20):
                file.write(rng.randbytes(min(1 << 20, size // 4 - at)))
            if id is not None:
                with archives[id].open("rb") as archive:
                    shutil.copyfileobj(archive, file, 1 << 20)


# ------------------------------------------------------------------------------------------------------- the verbs


class Null:
    """Takes bytes and counts them."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: bytes | memoryview) -> int:
        self.bytes += len(data)
        return len(data)


def do(verb: str, target: str, storage: dict[str, Any]) -> None:
    """One verb on one target, from opening to the last byte."""
    if verb == "verify":
        findings = [one for one in exhume.verify(target, storage_options=storage) if one.severity == "error"]
        assert not findings, findings[:3]
        return
    if verb == "carve":
        found = list(exhume.carve(target, storage_options=storage))
        assert len(found) >= 3, found
        return
    with exhume.open(target, storage_options=storage) as opened:
        archive: Any = opened
        (cat if verb == "cat" else search)(archive)


def cat(archive: Any) -> None:
    """Read everything."""
    out = Null()
    if archive.format == "zs":
        archive.dump(out)
    elif archive.format == "clp-s":
        for chunk in archive.json_chunks():
            out.write(chunk)
    elif archive.format == "ark":
        for message in archive.messages(decode=False):
            out.bytes += len(message.data)
    else:
        for name in archive.names():
            if archive.stat(name).kind != "directory":
                out.write(archive.read_member(name))
    assert out.bytes > 1 << 20


def search(archive: Any) -> None:
    """Read a selection: a prefix, a rare value, one second of one topic, one member."""
    if archive.format == "zs":
        assert archive.count(prefix=b"hel") >= 0
    elif archive.format == "clp-s":
        archive.search("level: FATAL AND status >= 599").count()
    elif archive.format == "ark":
        assert sum(1 for _ in archive.messages(topics=["/topic/3"], start_ns=10**9, stop_ns=2 * 10**9, latched=False))
    else:
        name = next(name for name in archive.names() if archive.stat(name).kind != "directory")
        assert archive.read_member(name)


# --------------------------------------------------------------------------------------------------- measuring them


class CountedFileSystem(DirFileSystem):  # type: ignore[misc]
    """Local files as a remote store would see them: every question and every range is a request."""

    protocol = "counted"
    cachable = False
    requests = 0
    read = 0

    def __init__(self, **options: Any) -> None:
        super().__init__(path="/", fs=LocalFileSystem())

    def _count(self, size: int = 0) -> None:
        CountedFileSystem.requests += 1
        CountedFileSystem.read += size

    def info(self, path: str, **options: Any) -> Any:
        self._count()
        return super().info(path, **options)

    def find(self, path: str, *args: Any, **options: Any) -> Any:
        self._count()
        return super().find(path, *args, **options)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> Any:
        data = super().cat_file(path, start, end, **options)
        self._count(len(data))
        return data

    def cat_ranges(self, paths: list[str], starts: Any, ends: Any, *args: Any, **options: Any) -> list[Any]:
        return [self.cat_file(path, start, end) for path, start, end in zip(paths, starts, ends, strict=True)]


def one_job(verb: str, target: str, remote: bool) -> dict[str, Any]:
    """Run in a process of its own."""
    if remote:
        fsspec.register_implementation("counted", CountedFileSystem, clobber=True)
        do(verb, f"counted://{target}", {"allow_full_download": True})
        return {"requests": CountedFileSystem.requests, "read": CountedFileSystem.read}
    do(verb, target, {})  # a worker has its modules loaded
    wall, cpu = time.perf_counter(), time.process_time()
    do(verb, target, {})
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "peak": peak_memory()}


def peak_memory() -> int:
    """Most bytes of memory that this program had (`ru_maxrss` also counts what its parent had when it was started)."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def measure(id: str, verb: str, path: Path, repeat: int) -> Figure:
    """The best of some local runs, and the requests of a remote one."""

    def job(*more: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "benchmarks.scaling", "--job", verb, str(path.resolve()), *more]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    best = min((job() for _ in range(repeat)), key=lambda run: run["cpu"])
    return Figure(id, verb, stored_size(path), **best, **job("--remote"))


def no_work(unit: int) -> int:
    """A unit that costs nothing but being sent."""
    return unit


def task_cost() -> dict[str, float]:
    """Seconds that a unit costs the run itself: through a dask scheduler one by one and 32 at a time, and locally."""
    import logging

    distributed: Any = __import__("distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    from exhume.distributed import run

    def seconds(count: int, **how: Any) -> float:
        list(run(no_work, range(64), **how))
        began = time.perf_counter()
        list(run(no_work, range(count), **how))
        return (time.perf_counter() - began) / count

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        one, many = seconds(1500, cluster=address, batch=1), seconds(20_000, cluster=address, batch=32)
    return {"dask": one, "dask, 32 at a time": many, "processes": seconds(20_000, jobs=2, batch=1)}


# -------------------------------------------------------------------------------------------------------- the model


def human(count: float) -> str:
    """A count with a unit."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= limit:
            return f"{count / limit:.3g}{unit}"
    return f"{count:.3g}"


def measured_table(figures: list[Figure]) -> Iterator[str]:
    """What one worker does."""
    yield "| format | verb | stored MB | MB/s per core | peak memory, MiB | requests | MB read remotely |"
    yield "| --- | --- | --: | --: | --: | --: | --: |"
    for one in figures:
        rate = f"{one.rate:.0f}" if one.verb in ("verify", "cat", "carve") else f"({one.cpu * 1000:.0f} ms)"
        yield (
            f"| {one.format} | {one.verb} | {one.stored / 1e6:.1f} | {rate} | {one.peak / 2**20:.0f} "
            f"| {one.requests} | {one.read / 1e6:.1f} |"
        )


@dataclass
class Forecast:
    """What a volume of archives costs one verb."""

    archives: float
    core_hours: float
    requests: float

    @classmethod
    def of(cls, figure: Figure, volume: int) -> Forecast:
        """Whole reads grow with the bytes, in CPU and in requests; selections with the number of archives."""
        archives = volume / ARCHIVE
        if figure.verb == "search":
            return cls(archives, archives * figure.cpu / 3600, archives * figure.requests)
        scale = volume / figure.stored
        per_archive = max(2.0, figure.requests * ARCHIVE / figure.stored)
        return cls(archives, figure.cpu * scale / 3600, archives * per_archive)


def forecast_table(figures: list[Figure]) -> Iterator[str]:
    """The same for large volumes."""
    yield "| volume | format | verb | archives | requests | core hours | workers for a day | $ requests | $ cores |"
    yield "| --- | --- | --- | --: | --: | --: | --: | --: | --: |"
    for name, volume in VOLUMES.items():
        for one in figures:
            if one.verb in ("verify", "search"):
                found = Forecast.of(one, volume)
                yield (
                    f"| {name} | {one.format} | {one.verb} | {human(found.archives)} | {human(found.requests)} | "
                    f"{human(found.core_hours)} | {max(1, round(found.core_hours / 24)):,} | "
                    f"{found.requests / 1e6 * GET_PRICE:,.0f} | {found.core_hours * CORE_PRICE:,.0f} |"
                )


def scheduler_table(costs: dict[str, float]) -> Iterator[str]:
    """What the run itself costs where all units pass through it."""
    yield "| through | µs per unit | " + " | ".join(VOLUMES) + " |"
    yield "| --- | --: | " + " | ".join("--:" for _ in VOLUMES) + " |"
    for name, seconds in costs.items():
        hours = [f"{volume / ARCHIVE * seconds / 3600:,.2g} h" for volume in VOLUMES.values()]
        yield f"| {name} | {seconds * 1e6:.0f} | {' | '.join(hours)} |"


def write_page(page: Path, tables: dict[str, Iterator[str]]) -> None:
    """Put the tables between their markers."""
    text = page.read_text(encoding="utf-8")
    for name, lines in tables.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        head, _, rest = text.partition(start)
        _, _, tail = rest.partition(end)
        if not tail:
            raise SystemExit(f"{page} has no markers for {name}")
        text = head + start + "\n" + "\n".join(lines) + "\n\n" + end + tail
    page.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default=64 << 20, help="bytes of content in each archive")
    parser.add_argument("--dir", type=Path, help="where archives are kept for the next run")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page whose tables to write")
    parser.add_argument("--no-cluster", action="store_true", help="leave out what a scheduler costs")
    parser.add_argument("--figures", type=Path, help="what an earlier run printed, instead of measuring")
    parser.add_argument("--job", nargs=2, metavar=("VERB", "PATH"), help=argparse.SUPPRESS)
    parser.add_argument("--remote", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        verb, target = options.job
        print(json.dumps(one_job(verb, target, options.remote)))
        return 0
    figures, costs = from_file(options.figures) if options.figures else measure_all(options)
    tables: dict[str, Callable[[], Iterator[str]]] = {
        "measured": lambda: measured_table(figures),
        "forecast": lambda: forecast_table(figures),
        "scheduler": lambda: scheduler_table(costs),
    }
    for name, table in tables.items():
        print(f"\n{name}\n", *table(), sep="\n")
    if options.write:
        write_page(options.write, {name: table() for name, table in tables.items()})
    print(json.dumps({"figures": [asdict(one) for one in figures], "costs": costs}))
    return 0


def from_file(path: Path) -> tuple[list[Figure], dict[str, float]]:
    """What an earlier run printed last."""
    found = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    return [Figure(**one) for one in found["figures"]], found["costs"]


def measure_all(options: argparse.Namespace) -> tuple[list[Figure], dict[str, float]]:
    """Every verb on every format, and what a unit costs the run."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.dir or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        archives = make_archives(folder, options.size)
        make_image(folder / "scaling.img", archives, options.size)
        figures = [measure(id, verb, archives[id], options.repeat) for id in FORMATS for verb in VERBS]
        figures.append(measure("image", "carve", folder / "scaling.img", options.repeat))
    return figures, {} if options.no_cluster else task_cost()


if __name__ == "__main__":
    sys.exit(main())
