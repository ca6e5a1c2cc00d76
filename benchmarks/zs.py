"""ZS against the reference implementation, and against what the decompressor and checksums alone need.

    python benchmarks/zs.py [--size MB] [--repeat N] [--codecs none,deflate,lzma] [--dir DIR]

`EXHUME_ZS_PYTHON` names a Python that has the reference package `zs`; without it only our own figures and the floor
are printed.  Both read the same files (made by the reference when it is there), in turns.  Every figure is the median
of the repetitions, each in a fresh process; CPU is user + system seconds of one process tree.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PYTHON = os.environ.get("EXHUME_ZS_PYTHON", "")

# As users run it: modules are compiled once, not on every start.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

TARGETS = {
    "dump": (0.35, 0.40, 0.95),
    "validate": (0.30, 0.45, 0.80),
    "lookup": (0.1, 0.2, 0.3),
    "make": (0.6, 0.4, 1.0),
    "process": (0.8, 0.8, 0.8),
}
JOBS_TARGET = 0.6
MEMORY_TARGET = 100.0
CODECS = ("none", "deflate", "lzma")
UNITS = {"lookup": "ms"}

Figures = dict[str, float]


def make_text(path: Path, size: int) -> None:
    """Sorted lines "word word word<TAB>count" of about `size` bytes, the same every time, a first word at a time."""
    random.seed(7)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = sorted({"".join(random.choices(letters, k=random.randint(2, 9))) for _ in range(20_000)})
    ranks = list(range(len(words)))
    random.shuffle(ranks)
    weights = [1 / (rank + 5) for rank in ranks]
    cumulative = list(itertools.accumulate(weights))
    lines = size / 24.5
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        due = 0.0
        for word, weight in zip(words, weights, strict=True):
            due += lines * weight / cumulative[-1]
            count, due = int(due), due - int(due)
            second = random.choices(words, cum_weights=cumulative, k=count)
            third = random.choices(words, cum_weights=cumulative, k=count)
            pairs = zip(second, third, strict=True)
            block = [f"{word} {b} {c}\t{random.randrange(40, 4000)}".encode() for b, c in pairs]
            block.sort()
            file.writelines(line + b"\n" for line in block)
    part.rename(path)


# What runs in the processes that are measured; each prints one JSON line.

OURS_READ = """
import json, sys, time, resource, statistics
import exhume
path, op, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3])
zs = exhume.open(path)
if op == "lookup":
    import random
    random.seed(11)
    keys = [bytes.fromhex(k) for k in sys.stdin.read().split()]
    list(zs.records(prefix=keys[0]))
    spent = []
    for key in keys:
        begin = time.process_time()
        list(zs.records(prefix=key))
        spent.append((time.process_time() - begin) * 1000)
    cpu = wall = statistics.median(spent)
else:
    wall, cpu = time.perf_counter(), time.process_time()
    if op == "dump":
        with open("/dev/null", "wb") as out:
            zs.dump(out, jobs=jobs)
    else:
        assert list(zs.verify(jobs=jobs)) == []
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak}))
"""

THEIRS_READ = """
import json, sys, time, statistics
import zs as package
path, op = sys.argv[1], sys.argv[2]
zs = package.ZS(path, parallelism=0)
if op == "lookup":
    keys = [bytes.fromhex(k) for k in sys.stdin.read().split()]
    list(zs.search(prefix=keys[0]))
    spent = []
    for key in keys:
        begin = time.process_time()
        list(zs.search(prefix=key))
        spent.append((time.process_time() - begin) * 1000)
    cpu = wall = statistics.median(spent)
else:
    wall, cpu = time.perf_counter(), time.process_time()
    if op == "dump":
        with open("/dev/null", "wb") as out:
            zs.dump(out)
    else:
        zs.validate()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(json.dumps({"cpu": cpu, "wall": wall}))
"""

FLOOR = """
import json, sys, time
import exhume
from exhume.codecs.checksums import crc64_xz, sha256
from exhume.codecs import decompress
from exhume.io.files import keep_freed_memory
path, op = sys.argv[1], sys.argv[2]
zs = exhume.open(path)
blocks = [(bytes(block.body), block.is_data) for block in zs.file.walk(zs.header.blocks_offset)]
codec, digest = zs.file.decoder, sha256()
keep_freed_memory()
begin = time.process_time()
for body, is_data in blocks:
    crc64_xz(body)
    if is_data:
        payload = decompress(codec, memoryview(body)[1:], max_size=1 << 30) if codec != "none" else body
        if op == "validate":
            digest.update(payload)
spent = time.process_time() - begin
print(json.dumps({"cpu": spent, "wall": spent}))
"""


def run_script(python: str, script: str, *args: object, input: str = "") -> Figures:
    """The figures that a script prints."""
    done = subprocess.run(
        [python, "-c", script, *map(str, args)],
        input=input,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    if done.returncode:
        raise SystemExit(f"benchmark process failed:\n{done.stderr}")
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def run_command(command: list[str]) -> Figures:
    """CPU (with that of the children), wall and peak memory of a whole process."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            assert process.stderr is not None
            raise SystemExit(f"{' '.join(command[:5])} failed:\n{process.stderr.read().decode()}")
    wall = time.perf_counter() - begin
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": wall, "peak": usage.ru_maxrss / 1024}


def in_turns(repeat: int, **measures: Callable[[], Figures] | None) -> dict[str, Figures | None]:
    """The median of each figure of each measurement; they take turns, so that all see the same moods of the machine."""
    runs: dict[str, list[Figures]] = {name: [] for name in measures}
    for _ in range(repeat):
        for name, measure in measures.items():
            if measure is not None:
                runs[name].append(measure())
    return {
        name: {key: statistics.median(run[key] for run in found) for key in found[0]} if found else None
        for name, found in runs.items()
    }


def report(op: str, codec: str, figures: dict[str, Figures | None]) -> None:
    """One line: our CPU and wall, the reference's, the ratios, the floor."""
    ours, theirs, floor = figures["ours"], figures.get("theirs"), figures.get("floor")
    assert ours is not None
    unit = UNITS.get(op, "s")
    line = f"{op:9} {codec:8} ours {ours['cpu']:7.3f} {unit} cpu {ours['wall']:7.3f} wall"
    if theirs is not None:
        ratio = ours["cpu"] / theirs["cpu"]
        target = TARGETS[op][CODECS.index(codec)]
        verdict = "ok" if ratio <= target else "MISSED"
        line += f" | reference {theirs['cpu']:7.3f} cpu {theirs['wall']:7.3f} wall"
        line += f" | ratio cpu {ratio:.2f} wall {ours['wall'] / theirs['wall']:.2f} (target {target:.2f} {verdict})"
    if floor is not None:
        line += f" | floor {floor['cpu']:.3f}, ours is {ours['cpu'] / floor['cpu']:.2f} of it"
    if "peak" in ours:
        line += f" | peak {ours['peak']:.0f} MB {'ok' if ours['peak'] < MEMORY_TARGET else 'MISSED'}"
    print(line, flush=True)


def bench_codec(codec: str, text: Path, folder: Path, repeat: int, keys: str) -> None:
    """All operations for one codec."""
    mine, other = folder / f"{codec}-ours.zs", folder / f"{codec}-reference.zs"
    exhume = [sys.executable, "-m", "exhume"]

    def make_ours() -> Figures:
        return run_command(
            [*exhume, "create", "zs", str(text), "-o", str(mine), "--codec", codec, "--jobs", "1", "--overwrite"]
        )

    def make_theirs() -> Figures:
        other.unlink(missing_ok=True)
        return run_command(
            [PYTHON, "-m", "zs", "make", "-j1", "--no-spinner", f"--codec={codec}", "{}", str(text), str(other)]
        )

    def reading(op: str, jobs: int = 1, input: str = "") -> Callable[[], Figures]:
        return lambda: run_script(sys.executable, OURS_READ, path, op, jobs, input=input)

    def their_reading(op: str, input: str = "") -> Callable[[], Figures] | None:
        return (lambda: run_script(PYTHON, THEIRS_READ, path, op, input=input)) if PYTHON else None

    report("make", codec, in_turns(repeat, theirs=make_theirs if PYTHON else None, ours=make_ours))
    print(f"          {codec:8} size {mine.stat().st_size:,}", end="")
    print(f", reference {other.stat().st_size:,} ({mine.stat().st_size / other.stat().st_size:.3f})" if PYTHON else "")
    path = other if PYTHON else mine
    for op in ("dump", "validate"):
        found = in_turns(
            repeat,
            ours=reading(op),
            both=reading(op, jobs=2) if op == "dump" else None,
            theirs=their_reading(op),
            floor=lambda op=op: run_script(sys.executable, FLOOR, path, op),  # type: ignore[misc]
        )
        report(op, codec, found)
        if (ours := found["ours"]) and (both := found["both"]):
            ratio = both["wall"] / ours["wall"]
            wanted = f" (target {JOBS_TARGET} {'ok' if ratio <= JOBS_TARGET else 'MISSED'})" if codec != "none" else ""
            print(f"          {codec:8} jobs=2 wall {both['wall']:.3f}, {ratio:.2f} of jobs=1{wanted}", flush=True)
    report("lookup", codec, in_turns(repeat, ours=reading("lookup", input=keys), theirs=their_reading("lookup", keys)))
    prefix = bytes.fromhex(keys.split()[0]).decode()
    whole = [PYTHON, "-m", "zs", "dump", "-j0", f"--prefix={prefix}", str(path)]
    found = in_turns(
        3 * repeat,
        ours=lambda: run_command([*exhume, "cat", str(path), "--prefix", prefix]),
        theirs=(lambda: run_command(whole)) if PYTHON else None,
    )
    report("process", codec, found)


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="ZS: exhume against the reference implementation.")
    parser.add_argument("--size", type=int, default=200, help="megabytes of input (default 200)")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--codecs", default=",".join(CODECS))
    parser.add_argument("--dir", type=Path, help="where to keep the input and the files (default: a temporary folder)")
    options = parser.parse_args(argv)
    if not PYTHON:
        print("EXHUME_ZS_PYTHON does not name a Python that has the reference: no ratios")
    with tempfile.TemporaryDirectory(prefix="exhume-bench-") as temporary:
        folder: Path = options.dir or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        text = folder / f"lines-{options.size}.txt"
        if not text.exists():
            make_text(text, options.size * 1_000_000)
        keys = sample_keys(text, 300)
        made_of = f"Python {sys.version.split()[0]}, {kernel_name()}, {liblzma_name()}"
        print(f"{text.stat().st_size:,} bytes of input, {made_of}", flush=True)
        for codec in options.codecs.split(","):
            bench_codec(codec, text, folder, options.repeat, keys)


def sample_keys(text: Path, count: int) -> str:
    """Prefixes of lines from all over the file, in hexadecimal."""
    random.seed(13)
    size = text.stat().st_size
    found = []
    with text.open("rb") as file:
        for _ in range(count):
            file.seek(random.randrange(size - 1000))
            file.readline()
            found.append(file.readline().rpartition(b" ")[0].hex())
    return "\n".join(found)


def kernel_name() -> str:
    """Which kernel is measured."""
    from exhume.native import kernel

    return "compiled kernel" if kernel.COMPILED else "pure-Python kernel"


def liblzma_name() -> str:
    """Whose liblzma is measured."""
    from exhume.codecs import xz

    return "system's liblzma" if xz.newer_engine() is None else "liblzma of imagecodecs"


if __name__ == "__main__":
    main()
