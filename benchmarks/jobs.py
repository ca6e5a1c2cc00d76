"""What `--jobs` gives, verb by verb and format by format: wall with several jobs over wall with one.

    python -m benchmarks.jobs [--size 256M] [--jobs 2] [--dir DIR] [--results FILE] [--seconds N] [--write PAGE] [ROW]

Before each row it waits until the machine is idle, and a row during which other processes took more than a twentieth of
it is measured again, not printed.  Rows go to the results file as soon as they are done, and those that stand there are
left out: with `--seconds` the table is made in slices.  `--write` puts it between its markers in a page.  The serial
share and what 16 cores would give follow from the two walls by Amdahl's law.  Only for Linux (`/proc/stat`).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.scaling import make_archives, make_image, write_page
from exhume.limits import parse_size

BUSY = 0.05
"""The share of the machine that other processes may take."""

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count() or 1


@dataclass
class Row:
    """One verb of one format: wall and CPU seconds with one job and with several; `others` is their share meanwhile."""

    name: str
    jobs: int
    wall: float
    cpu: float
    wall_jobs: float
    cpu_jobs: float
    others: float

    @property
    def ratio(self) -> float:
        """Wall with several jobs over wall with one."""
        return self.wall_jobs / self.wall

    @property
    def serial(self) -> float:
        """The share of the work that one job does alone, by Amdahl's law: from 0 to 1."""
        return min(1.0, max(0.0, (self.ratio * self.jobs - 1) / (self.jobs - 1)))

    def on(self, cores: int) -> float:
        """Wall on so many cores over wall with one job, if the serial share stays."""
        return self.serial + (1 - self.serial) / cores


def commands(folder: Path, size: int) -> dict[str, list[str]]:
    """The command of each row, without `--jobs`; what they read is made where it is missing, and all write to `out`."""
    made = make_archives(folder, size)
    image, out = folder / "image", str(folder / "out")
    if not image.exists():
        make_image(image, made, size)
    tree, logs = str(folder / "tree"), str(folder / "logs.jsonl")
    lines = folder / "lines.txt"
    if not lines.exists():
        with lines.open("wb") as file:
            subprocess.run([*EXHUME, "cat", str(made["zs"])], stdout=file, check=True)
    found = {f"{id} verify": ["verify", str(path)] for id, path in made.items() if id != "caf"}
    found |= {f"{id} cat": ["cat", str(made[id])] for id in ("zs", "clp-s")}
    found["clp-s search"] = ["search", str(made["clp-s"]), "level: INFO OR level: WARN"]
    found |= {f"{id} extract": ["extract", str(made[id]), "-o", out] for id in ("caf", "databundle")}
    found["zs create, deflate"] = ["create", "zs", str(lines), "--codec", "deflate", "-o", out]
    found["zs create, lzma"] = ["create", "zs", str(lines), "-o", out]
    found["clp-s create"] = ["create", "clp-s", logs, "-o", out]
    found["databundle create"] = ["create", "databundle", tree, "-o", out]
    found["carve"] = ["carve", str(image)]
    return found


EXHUME = [sys.executable, "-m", "exhume"]


def machine_busy() -> float:
    """CPU seconds that all processes of the machine have taken."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(int(fields[at]) for at in (0, 1, 2, 5, 6)) / TICKS  # user, nice, system, interrupts


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


def wait_for_idle(until: float) -> bool:
    """Whether other processes took little for a second, before the time `until`."""
    while True:
        watch = Watch()
        time.sleep(1)
        if watch.others() <= BUSY:
            return True
        if time.perf_counter() > until:
            return False


def timed(command: list[str], jobs: int, out: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a command; what it writes to is removed before."""
    shutil.rmtree(out, ignore_errors=True)
    out.unlink(missing_ok=True)
    cpu, wall = own_cpu(), time.perf_counter()
    subprocess.run([*EXHUME, *command, "-q", "--jobs", str(jobs)], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - wall, own_cpu() - cpu


def measure(name: str, command: list[str], jobs: int, repeat: int, out: Path, until: float) -> Row | None:
    """A row, the best of the repetitions; None when the machine was not idle for it before the time `until`."""
    timed(command, jobs, out)  # what it reads is in the cache of the system from here on
    while wait_for_idle(until):
        watch = Watch()
        one = min(timed(command, 1, out) for _ in range(repeat))
        several = min(timed(command, jobs, out) for _ in range(repeat))
        if (others := watch.others()) <= BUSY:
            return Row(name, jobs, *one, *several, others)
    return None


def table(rows: Iterable[Row]) -> Iterator[str]:
    """The lines of the table."""
    yield "| verb | jobs | wall of one, s | wall, s | ratio | CPU ratio | serial share | on 16 cores |"
    yield "| --- | --: | --: | --: | --: | --: | --: | --: |"
    for row in rows:
        yield (
            f"| {row.name} | {row.jobs} | {row.wall:.2f} | {row.wall_jobs:.2f} | {row.ratio:.2f} "
            f"| {row.cpu_jobs / row.cpu:.2f} | {row.serial:.0%} | {row.on(16):.2f} |"
        )


def main(arguments: list[str] | None = None) -> int:
    """Measures what is missing; 1 when some rows still are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="only rows whose names hold one of these texts")
    parser.add_argument("--size", type=parse_size, default=256 << 20, help="bytes of content (256M)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--dir", type=Path, help="keep what is made here")
    parser.add_argument("--results", type=Path, default=Path("build/jobs.json"), help="rows that are done")
    parser.add_argument("--seconds", type=float, default=3600, help="begin no further row after this time")
    parser.add_argument("--write", type=Path, help="a page with the markers of the table")
    options = parser.parse_args(arguments)
    until, missing = time.perf_counter() + options.seconds, False
    done = json.loads(options.results.read_text()) if options.results.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.dir or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, command in commands(folder, options.size).items():
            wanted = not options.rows or any(text in name for text in options.rows)
            if name in done or not wanted:
                continue
            if time.perf_counter() > until:
                missing = True
                break
            row = measure(name, command, options.jobs, options.repeat, folder / "out", until)
            if row is None:
                print(f"{name}: the machine was not idle", file=sys.stderr)
                missing = True
                continue
            done[name] = asdict(row)
            options.results.parent.mkdir(parents=True, exist_ok=True)
            options.results.write_text(json.dumps(done, indent=1) + "\n")
    lines = table(Row(**row) for row in done.values())
    if options.write:
        write_page(options.write, {"jobs": lines})
    else:
        print("\n".join(lines))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
