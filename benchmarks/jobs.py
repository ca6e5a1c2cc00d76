"""The cost of every verb: with one job and with several, compared with the tools people use today and with the floor.

    python -m benchmarks.jobs [--size 256M] [--jobs 2] [--dir DIR] [--results FILE] [--seconds N] [--write PAGE] [ROW]

Before each row it waits until the machine is idle, and has as many whole cores as there are jobs: loops of numbers have
to take as long in parallel as one alone.  A row during which other processes used more than 5 % of it, or after which
the cores are no longer whole, is measured again, not printed.  Before each command it writes to the memory that the
command may take: a virtual machine returns memory that was free for some seconds to its host, and gets it back, slowly,
on the next touch.  Copies of the command with one job run in parallel as well: they share nothing, so that as many jobs
can hardly take less.  Rows go to the results file as soon as they are done, and rows in that file are skipped: with
`--seconds`, and with `--dir`, which keeps the inputs, the table is made in slices.  `--write` puts it between its
markers in a page.  The serial share and the time on 16 cores follow from the
two walls by Amdahl's law.  `--unwatched` measures on a busy machine too, for trying out rows: then nothing is kept or
written.  Only for Linux (`/proc/stat`).

Rows, rivals and floors are those of `benchmarks.rows`, `benchmarks.rivals` and `benchmarks.floors`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine import BUSY, Watch, has_cores, own_cpu, settle, wait_for_idle, warm
from benchmarks.rows import Work, rows
from benchmarks.scaling import write_page
from exhume.limits import parse_size

ENOUGH = 20.0
"""Seconds of runs after which commands are not repeated."""

LEAST = 0.002
"""CPU seconds of a floor below which there is nothing to compare with."""

USAGE = 2
"""The exit code of wrong usage."""

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Compiled modules are written and used, as they are wherever a command was run once."""

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where commands write: into memory if possible, for a file system on a disk may itself take turns at making files."""

Cost = tuple[float, float]
"""Wall and CPU seconds."""


@dataclass
class Row:
    """One verb of one format: wall and CPU seconds with one job, with several, and of its rival; `content` is in bytes,
    `others` the share of other processes meanwhile, `floor` CPU seconds, `copies` the wall of as many copies with one
    job in parallel.  None: the verb has no `--jobs`, or there is no such figure."""

    name: str
    content: int
    jobs: int
    wall: float
    cpu: float
    wall_jobs: float | None
    cpu_jobs: float | None
    others: float
    rival: str = ""
    wall_rival: float | None = None
    cpu_rival: float | None = None
    floor: float | None = None
    copies: float | None = None

    @property
    def ratio(self) -> float | None:
        """Wall with several jobs over wall with one."""
        return None if self.wall_jobs is None else self.wall_jobs / self.wall

    @property
    def ceiling(self) -> float | None:
        """The same of copies of the command: of what shares nothing."""
        return None if self.copies is None else self.copies / self.jobs / self.wall

    @property
    def serial(self) -> float | None:
        """The share of the work that one job does alone, by Amdahl's law: from 0 to 1."""
        ratio = self.ratio
        return None if ratio is None else min(1.0, max(0.0, (ratio * self.jobs - 1) / (self.jobs - 1)))

    def on(self, cores: int) -> float | None:
        """Wall on this many cores over wall with one job, if the serial share stays."""
        return None if self.serial is None else self.serial + (1 - self.serial) / cores


class JobsRefusedError(Exception):
    """The command refused its options."""


def timed(command: list[str], out: Path, copies: int = 1) -> Cost:
    """Wall and CPU seconds of a command, or of copies of it in parallel; their output is removed before.

    Raises `JobsRefusedError` when it ends with the exit code of wrong usage, and `SystemExit` when it fails.
    """
    outs = [out, *(out.with_name(f"{out.name}-{number}") for number in range(1, copies))]
    for each in outs:
        shutil.rmtree(each, ignore_errors=True)
        each.unlink(missing_ok=True)
    settle()
    cpu, wall = own_cpu(), time.perf_counter()
    running = [
        subprocess.Popen(
            [str(each) if word == str(out) else word for word in command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        for each in outs
    ]
    reported = "".join(one.communicate()[1] for one in running)
    wall, cpu = time.perf_counter() - wall, own_cpu() - cpu
    for each in outs[1:]:
        shutil.rmtree(each, ignore_errors=True)
        each.unlink(missing_ok=True)
    failed = next((one.returncode for one in running if one.returncode), 0)
    if failed == USAGE and "jobs" in reported:
        raise JobsRefusedError
    if failed:
        raise SystemExit(f"failed ({failed}): {' '.join(command)}\n{reported}")
    return wall, cpu


def best(trials: Sequence[Callable[[], Cost]], repeat: int) -> list[Cost]:
    """The least of `repeat` runs of each, in turns; of fewer if these take long.

    Raises as `timed` does.
    """
    found: list[list[Cost]] = []
    while not found or (len(found) < repeat and sum(wall for costs in found for wall, _ in costs) < ENOUGH):
        found.append([trial() for trial in trials])
    return [min(costs) for costs in zip(*found, strict=True)]


def measure(name: str, work: Work, jobs: int, repeat: int, out: Path, until: float, watched: bool) -> Row | None:
    """A row, the best of the repetitions; None when the machine was not idle for it before the time `until`."""
    warm(work.reads)
    while not watched or wait_for_idle(until, jobs):
        watch = Watch()
        one, several = ([*work.command, "--jobs", str(number)] for number in (1, jobs))
        trials = [partial(timed, one, out), partial(timed, several, out), partial(timed, one, out, jobs)]
        try:
            (wall, cpu), (wall_jobs, cpu_jobs), (copies, _) = best(trials, repeat)
            row = Row(name, work.content or 0, jobs, wall, cpu, wall_jobs, cpu_jobs, 0.0, copies=copies)
        except JobsRefusedError:
            [(wall, cpu)] = best([partial(timed, work.command, out)], repeat)
            row = Row(name, work.content or 0, jobs, wall, cpu, None, None, 0.0)
        if work.rival is not None:
            row.rival = work.rival.name
            row.wall_rival, row.cpu_rival = timed(work.rival.command, out)
        if work.floor is not None:
            row.floor = floor(*work.floor)
        row.others = watch.others()
        if not watched or (row.others <= BUSY and has_cores(jobs)):
            return row
        if time.perf_counter() > until:
            break
    return None


def floor(format: str, work: str, path: Path) -> float | None:
    """CPU seconds of decompressor and checksum alone, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.floors", format, work, str(path)]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=ENVIRONMENT).stdout.strip()
    return None if found == "-" else float(found)


def table(rows: Iterable[Row]) -> Iterator[str]:
    """The lines of the table."""
    yield (
        "| verb | MB | jobs | wall of one, s | wall, s | of one job | two copies | CPU of one job "
        "| serial share | on 16 cores | rival | wall of rival | CPU of rival | CPU of floor |"
    )
    yield "| --- " + "| --: " * 9 + "| --- " + "| --: " * 3 + "|"
    for row in rows:
        wall = row.wall if row.wall_jobs is None else row.wall_jobs
        cells = [
            row.name, f"{row.content / 1e6:.0f}", "-" if row.wall_jobs is None else str(row.jobs), f"{row.wall:.2f}",
            _number(row.wall_jobs), _number(row.ratio), _number(row.ceiling), _ratio(row.cpu_jobs, row.cpu),
            "-" if row.serial is None else f"{row.serial:.0%}", _number(row.on(16)), row.rival or "-",
            _ratio(wall, row.wall_rival), _ratio(row.cpu, row.cpu_rival),
            _ratio(row.cpu, row.floor if row.floor and row.floor > LEAST else None),
        ]  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _ratio(value: float | None, other: float | None) -> str:
    return "-" if value is None or not other else f"{value / other:.2f}"


def kept(results: Path, size: int, jobs: int) -> dict[str, dict[str, Any]]:
    """The rows of an earlier run.  Raises `SystemExit` for those of another size or number of jobs."""
    if not results.exists():
        return {}
    found = json.loads(results.read_text())
    if (found.get("size"), found.get("jobs")) != (size, jobs):
        raise SystemExit(f"{results} is of another --size or --jobs: remove it, or name another file with --results")
    rows: dict[str, dict[str, Any]] = found["rows"]
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing; 1 when some rows still are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="only rows whose names contain one of these strings")
    parser.add_argument(
        "--size", type=parse_size, help="bytes of content (256M); four times that where it takes a second"
    )
    parser.add_argument("--jobs", type=int, help="jobs besides one (2)")
    parser.add_argument("--repeat", type=int, default=6, help="runs of each command, but for those that take long (6)")
    parser.add_argument("--dir", type=Path, help="keep the inputs in this folder")
    parser.add_argument("--results", type=Path, default=Path("build/jobs.json"), help="rows that are done")
    parser.add_argument("--seconds", type=float, default=3600, help="begin no further row after this time")
    parser.add_argument("--write", type=Path, help="a page with the markers of the table")
    parser.add_argument("--unwatched", action="store_true", help="also on a busy machine: nothing is kept or written")
    options = parser.parse_args(arguments)
    if options.unwatched and options.write:
        parser.error("what --unwatched measures is not written")
    size, jobs = options.size or parse_size("256M"), options.jobs or 2
    until, missing = time.perf_counter() + options.seconds, False
    done = {} if options.unwatched else kept(options.results, size, jobs)
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir=MEMORY) as written:
        folder, out = options.dir or Path(scratch), Path(written) / "out"
        folder.mkdir(parents=True, exist_ok=True)
        order = rows(folder, size, out)
        for name, work in order.items():
            wanted = not options.rows or any(text in name for text in options.rows)
            if name in done or not wanted:
                continue
            if time.perf_counter() > until:
                missing = True
                break
            row = measure(name, work, jobs, options.repeat, out, until, not options.unwatched)
            if row is None:
                print(f"{name}: the machine was not idle", file=sys.stderr)
                missing = True
                continue
            done[name] = asdict(row)
            if options.unwatched:
                print(list(table([row]))[-1], flush=True)
                continue
            options.results.parent.mkdir(parents=True, exist_ok=True)
            options.results.write_text(json.dumps({"size": size, "jobs": jobs, "rows": done}, indent=1) + "\n")
    lines = table(Row(**done[name]) for name in order if name in done)
    if options.write:
        write_page(options.write, {"jobs": lines})
    else:
        print("\n".join(lines))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
