"""clp-s against the C++ binary: `create`, on 50 MB of service logs of two shapes, in one file and in two.

    EXHUME_CLP_S_BIN=/path/to/clp-s python -m benchmarks.clp_s_create [--size 50000000] [--folder /dev/shm] [--repeat 5]

Every measurement is a process of its own, interpreter start-up included; rivals run in turns with us.  The table lists
median CPU and wall seconds, peak memory, the size of the archive, and the ratios to `clp-s c` of the same run; what it
wrote is checked by `clp-s x --ordered`, which must print the input again.  `json.loads` is the floor of any writer
built on the standard library's JSON, before it has stored a single value.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clp_s import ENVIRONMENT, own_command
from benchmarks.clp_s_logs import SHAPES, write_logs

TARGET_CPU = 4.0
TARGET_WALL_TWO_JOBS = 2.0
TARGET_SIZE = 1.05
KEY = "timestamp"
PARSE = "import json,sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"


@dataclass(frozen=True)
class Sample:
    """What one process cost."""

    cpu: float
    wall: float
    mib: float
    size: int


def binary() -> Path:
    """The real `clp-s`."""
    named = os.environ.get("EXHUME_CLP_S_BIN", "").split(os.pathsep)[0]
    if named:
        return Path(named)
    spec = importlib.util.find_spec("yscope_clp_core")
    if spec is None or spec.origin is None:
        sys.exit("no clp-s binary: install the dependency group oracles or set EXHUME_CLP_S_BIN")
    return Path(spec.origin).parent / "bin" / "clp-s"


def measure(command: list[str], folder: Path) -> Sample:
    """Run a command that writes archives into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"failed: {' '.join(command)}")
    size = sum(path.stat().st_size for path in folder.iterdir())
    return Sample(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, size)


def version_of(clp: Path, folder: Path) -> str:
    """The format version that the binary writes."""
    (folder / "one.jsonl").write_text('{"a":1}\n')
    made = folder / "one"
    measure([str(clp), "c", "--single-file-archive", str(made), str(folder / "one.jsonl")], made)
    patch, minor = struct.unpack_from("<HB", next(made.iterdir()).read_bytes(), 4)
    return f"0.{minor}.{patch}"


def compare(shape: str, size: int, folder: Path, repeat: int) -> dict[str, Sample]:
    """Median costs of each way to write the same records."""
    clp, exhume = binary(), own_command()
    version = version_of(clp, folder)
    logs, halves = folder / f"{shape}.jsonl", [folder / f"{shape}-{half}.jsonl" for half in (1, 2)]
    records = write_logs(logs, shape, size)
    with logs.open("rb") as lines, halves[0].open("wb") as first, halves[1].open("wb") as second:
        for number, line in enumerate(lines):
            (first if number < records // 2 else second).write(line)
    print(f"{shape}: {records} records, {logs.stat().st_size} bytes, format {version}")
    theirs, ours = folder / "theirs", folder / "ours"
    native = [str(clp), "c", "--single-file-archive", "--timestamp-key", KEY, str(theirs)]
    own = [*exhume, "create", "clp-s", "-q", "-o", str(ours / "x.clps"), "--timestamp-key", KEY]
    own += ["--format-version", version]
    files = [str(half) for half in halves]
    ways: dict[str, Callable[[], Sample]] = {
        "clp-s c": lambda: measure([*native, str(logs)], theirs),
        "create": lambda: measure([*own, str(logs)], ours),
        "clp-s c, two files": lambda: measure([*native, *files], theirs),
        "create -j2, two files": lambda: measure([*own, "-j2", *files], ours),
        "json.loads": lambda: measure([sys.executable, "-c", PARSE, str(logs)], ours),
    }
    runs: dict[str, list[Sample]] = {name: [] for name in ways}
    for _ in range(repeat):
        for name, way in ways.items():
            runs[name].append(way())
    check(clp, own, logs, ours, folder / "text")
    return {
        name: Sample(
            statistics.median(s.cpu for s in found),
            statistics.median(s.wall for s in found),
            max(s.mib for s in found),
            found[0].size,
        )
        for name, found in runs.items()
    }


def check(clp: Path, own: list[str], logs: Path, ours: Path, text: Path) -> None:
    """The C++ binary must print the records that went in, in their order."""
    import json

    measure([*own, str(logs)], ours)
    measure([str(clp), "x", "--ordered", str(ours / "x.clps"), str(text)], text)
    (printed,) = text.iterdir()
    with printed.open("rb") as left, logs.open("rb") as right:
        for one, other in zip(left, right, strict=True):
            if one != other and json.loads(one) != json.loads(other):  # keys may come in another order
                sys.exit(f"the records differ: {one!r} for {other!r}")


def report(costs: dict[str, Sample]) -> None:
    """One table, ratios to the C++ binary."""
    print(f"{'':24}{'CPU s':>8}{'x':>7}{'wall s':>8}{'x':>7}{'MiB':>7}{'bytes':>12}{'x':>7}")
    for name, cost in costs.items():
        base = costs["clp-s c, two files" if "two" in name else "clp-s c"]
        line = f"{name:24}{cost.cpu:8.2f}{cost.cpu / base.cpu:7.2f}{cost.wall:8.2f}{cost.wall / base.wall:7.2f}"
        line += f"{cost.mib:7.0f}"
        if cost.size:
            line += f"{cost.size:12}{cost.size / base.size:7.3f}"
        print(line)
    one, two = costs["create"], costs["create -j2, two files"]
    met = (
        one.cpu <= TARGET_CPU * costs["clp-s c"].cpu,
        two.wall <= TARGET_WALL_TWO_JOBS * costs["clp-s c, two files"].wall,
        one.size <= TARGET_SIZE * costs["clp-s c"].size,
    )
    for target, kept in zip(
        (
            f"CPU at most {TARGET_CPU}x",
            f"wall with -j2 at most {TARGET_WALL_TWO_JOBS}x",
            f"size at most {TARGET_SIZE}x",
        ),
        met,
        strict=True,
    ):
        print(f"  {'met' if kept else 'MISSED'}: {target}")


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=50_000_000, help="bytes of logs per shape")
    parser.add_argument("--folder", help="where to put the files (default: a temporary folder)")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        for shape in SHAPES:
            report(compare(shape, options.size, Path(name), options.repeat))


if __name__ == "__main__":
    main()
