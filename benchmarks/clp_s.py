"""clp-s against the C++ binary: `cat`, `cat --ordered`, one column, Arrow (all, two columns, two jobs); on 50 MB of
service logs of two shapes.

The rows called `directory` are the same archive with a file for each section.

    EXHUME_CLP_S_BIN=/path/to/clp-s python -m benchmarks.clp_s [--size 50000000] [--folder /dev/shm] [--repeat 5]

Every measurement is a process of its own, interpreter start-up included; rivals run in turns with us.  The table lists
median CPU and wall seconds and peak memory, and the ratio to `clp-s x` of the same run.  Without EXHUME_CLP_S_BIN the
binary of the package `yscope-clp-core` (dependency group `oracles`) is used.
"""

from __future__ import annotations

import argparse
import filecmp
import importlib.util
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clp_s_logs import SHAPES, write_logs

TARGETS = {
    "cat": ("cpu", 1.5),
    "cat -j2": ("wall", 1.0),
    "to_arrow": ("arrow", 0.15),
    "to_arrow, two columns": ("arrow", 0.05),
}
COLUMN = "timestamp"
TWO = {"flat": ["timestamp", "level"], "nested": ["timestamp", "log.level"]}


@dataclass(frozen=True)
class Sample:
    """What one process cost."""

    cpu: float
    wall: float
    mib: float


def binary() -> Path:
    """The real `clp-s`."""
    named = os.environ.get("EXHUME_CLP_S_BIN", "").split(os.pathsep)[0]
    if named:
        return Path(named)
    spec = importlib.util.find_spec("yscope_clp_core")
    if spec is None or spec.origin is None:
        sys.exit("no clp-s binary: install the dependency group oracles or set EXHUME_CLP_S_BIN")
    return Path(spec.origin).parent / "bin" / "clp-s"


def own_command() -> list[str]:
    """The `exhume` command next to this interpreter, which is what people run; else `python -m exhume`.

    Prints which, and whether the package is installed or an editable copy: the finder of an editable install takes some
    20 ms of every start.
    """
    import exhume

    script = Path(sys.executable).parent / "exhume"
    command = [str(script)] if script.exists() else [sys.executable, "-m", "exhume"]
    editable = "" if "site-packages" in exhume.__path__[0] else " (an editable install: its finder is measured too)"
    print(f"measuring {' '.join(command)}{editable}")
    subprocess.run([*command, "--version"], check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return command


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Compiled modules are written and used, as they are wherever the command was run once."""


def measure(command: list[str], output: Path | None = None) -> Sample:
    """Run a command until it exits.

    This process stays small (it keeps no log in memory), because peak memory counts from the fork on.
    """
    with (output or Path(os.devnull)).open("wb") as sink:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=sink, env=ENVIRONMENT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    if status:
        sys.exit(f"failed: {' '.join(command)}")
    return Sample(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


def scan_column(path: str) -> None:
    """The column scan: smallest, largest and number of the timestamps, no record built."""
    import exhume

    low, high, count = None, None, 0
    with exhume.open(path, format="clp-s") as archive:
        for _, column in archive.columns(COLUMN):
            values = column.to_numpy()
            low = values.min() if low is None else min(low, values.min())
            high = values.max() if high is None else max(high, values.max())
            count += len(values)
    print(low, high, count)


def to_arrow(path: str) -> None:
    """Every record as Arrow batches."""
    import exhume

    with exhume.open(path, format="clp-s") as archive:
        print(sum(batch.num_rows for batch in archive.to_arrow()))


def to_arrow_in_threads(path: str) -> None:
    """The same by two threads."""
    import exhume

    with exhume.open(path, format="clp-s") as archive:
        print(sum(batch.num_rows for batch in archive.to_arrow(jobs=2)))


def two_columns(path: str) -> None:
    """Time and level of every record as Arrow batches."""
    import exhume

    with exhume.open(path, format="clp-s") as archive:
        names = next(names for names in TWO.values() if set(names) <= set(archive.to_arrow().schema.names))
        print(sum(batch.num_rows for batch in archive.to_arrow(columns=names)))


def json_to_arrow(path: str) -> None:
    """What users do today: the printed text through pyarrow's JSON reader."""
    from pyarrow import json as reader

    print(reader.read_json(path).num_rows)


JOBS: dict[str, Callable[[str], None]] = {
    "column": scan_column,
    "arrow": to_arrow,
    "arrow-2": to_arrow_in_threads,
    "two": two_columns,
    "json": json_to_arrow,
}


def compare(shape: str, size: int, folder: Path, repeat: int) -> list[tuple[str, Sample]]:
    """Median costs of each way to read one archive."""
    clp, exhume = str(binary()), own_command()
    logs, out = folder / f"{shape}.jsonl", folder / "out"
    records = write_logs(logs, shape, size)
    archives = folder / f"{shape}-archives"
    archives.mkdir()
    subprocess.run([clp, "c", "--single-file-archive", "--timestamp-key", COLUMN, archives, logs], check=True)
    (archive,) = (str(path) for path in archives.iterdir())
    moved = str(folder / f"{shape}-directory")
    subprocess.run([*exhume, "recode", "-q", archive, "--directory", "-o", moved], check=True)
    print(f"{shape}: {records} records, {logs.stat().st_size} bytes, archive {Path(archive).stat().st_size} bytes")

    def fresh() -> str:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        return str(out)

    script = [sys.executable, "-m", "benchmarks.clp_s", "--job"]
    text = folder / "text.jsonl"
    ways: dict[str, Callable[[], Sample]] = {
        "clp-s x": lambda: measure([clp, "x", archive, fresh()]),
        "cat": lambda: measure([*exhume, "cat", archive], text),
        "cat -j2": lambda: measure([*exhume, "cat", "-j", "2", archive], text),
        "clp-s x, directory": lambda: measure([clp, "x", moved, fresh()]),
        "cat, directory": lambda: measure([*exhume, "cat", moved], text),
        "clp-s x --ordered": lambda: measure([clp, "x", "--ordered", archive, fresh()]),
        "cat --ordered": lambda: measure([*exhume, "cat", "--ordered", archive], text),
        "cat --ordered -j2": lambda: measure([*exhume, "cat", "--ordered", "-j", "2", archive], text),
        "one column": lambda: measure([*script, "column", archive]),
        "pyarrow.json of the text": lambda: measure([*script, "json", str(text)]),
        "to_arrow": lambda: measure([*script, "arrow", archive]),
        "to_arrow, jobs=2": lambda: measure([*script, "arrow-2", archive]),
        "to_arrow, two columns": lambda: measure([*script, "two", archive]),
    }
    runs: dict[str, list[Sample]] = {name: [] for name in ways}
    for _ in range(repeat):
        for name, way in ways.items():
            runs[name].append(way())
    measure([*exhume, "cat", archive], text)
    subprocess.run([clp, "x", archive, fresh()], check=True)
    if not filecmp.cmp(text, next(out.iterdir()), shallow=False):
        sys.exit("the two texts differ")
    return [
        (
            name,
            Sample(
                statistics.median(s.cpu for s in found),
                statistics.median(s.wall for s in found),
                max(s.mib for s in found),
            ),
        )
        for name, found in runs.items()
    ]


def report(found: list[tuple[str, Sample]]) -> None:
    """One table, ratios to the C++ binary's way of the same order."""
    costs = dict(found)
    piped = costs["clp-s x"].cpu + costs["pyarrow.json of the text"].cpu
    print(f"{'':26} {'CPU s':>7} {'wall s':>7} {'MiB':>6}  CPU ratio  wall ratio")
    for name, cost in found:
        base = costs["clp-s x" + (" --ordered" * ("--ordered" in name) or ", directory" * ("directory" in name))]
        print(
            f"{name:26} {cost.cpu:7.3f} {cost.wall:7.3f} {cost.mib:6.0f}  {cost.cpu / base.cpu:9.2f}  "
            f"{cost.wall / base.wall:10.2f}"
        )
    for name, (kind, target) in TARGETS.items():
        ratio = {
            "cpu": costs[name].cpu / costs["clp-s x"].cpu,
            "wall": costs[name].wall / costs["clp-s x"].wall,
            "arrow": costs[name].cpu / piped,
        }[kind]
        of = "clp-s x piped into pyarrow.json, CPU" if kind == "arrow" else f"clp-s x, {kind}"
        print(f"{name}: {ratio:.2f} of {of}; target {target}: {'met' if ratio <= target else 'MISSED'}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=50_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--shape", choices=sorted(SHAPES), action="append")
    parser.add_argument("--job", nargs=2, metavar=("NAME", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        JOBS[options.job[0]](options.job[1])
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for shape in options.shape or SHAPES:
        folder = Path(tempfile.mkdtemp(dir=options.folder))
        try:
            report(compare(shape, options.size, folder, options.repeat))
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
