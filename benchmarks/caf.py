"""CAF against `cp -r`, the standard library's zipfile, and the reference implementations.

    python benchmarks/caf.py [--dir DIR] [--repeat N] [--quick]

All rivals run in the same round, each in a fresh process with fresh target directories, over the same trees: 20,000
files of 4 KB and 200 of 1 MB.  CPU is user + system seconds of the work itself (of the whole process for `cp`); every
figure is the median of the rounds, every ratio the median of the ratios within a round.  Work on tmpfs: other file
systems make removed directories expensive.

`EXHUME_CAF_TS` names the compiled module of the TypeScript reference (`cafSerializer.js`, run with `node`),
`EXHUME_CAF_GO` the `cafcli` of the Go reference.  What is missing is named and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SMALL, LARGE = (20_000, 4096), (200, 1 << 20)
TARGETS = {
    "create small / cp -r": 0.8,
    "extract small / cp -r": 0.95,
    "create large / cp -r": 1.6,
    "extract large / cp -r": 1.6,
    "create small / zipfile": 0.4,
    "extract small / zipfile": 0.4,
    "open + one member / zipfile": 0.25,
    "random member p50 / zipfile": 0.2,
    "extract --jobs 2 / --jobs 1 (wall)": 0.75,
    "one of 1,000,000 (CPU s)": 0.1,
    "one of 1,000,000 (MB)": 100.0,
    "512 MB member (MB)": 60.0,
}

Figures = dict[str, float]

# As users run it: modules are compiled once, not on every start.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

WORKER = """
import json, os, random, resource, statistics, sys, time
import exhume, zipfile
from pathlib import Path
from exhume.engines.extract import extract
from exhume.formats.caf.inputs import plan_inputs, write_plan
from exhume.formats.caf.writer import create
from exhume.io.output.tree import OutputTree

what, source, target = sys.argv[1:4]
extra = sys.argv[4] if len(sys.argv) > 4 else ""


def usage():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def p50(read, names):
    spent = []
    for name in names:
        begin = time.perf_counter()
        read(name)
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent)


def pick(names):
    names = sorted(names)
    return random.Random(3).sample(names, min(3000, len(names)))


cpu, wall = usage(), time.perf_counter()
p = 0.0
if what == "create":
    plan = plan_inputs([source])
    with create(target) as writer:
        write_plan(writer, plan)
elif what == "extract":
    with exhume.open(source, format="caf") as archive, OutputTree(target) as output:
        assert extract(archive, output, jobs=int(extra)).ok
elif what == "zip-create":
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(Path(source).rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(Path(source).parent))
elif what == "zip-extract":
    with zipfile.ZipFile(source) as archive:
        archive.extractall(target)
elif what == "open":
    for _ in range(20):
        with exhume.open(source, format="caf") as archive:
            archive.read_member(extra)
elif what == "zip-open":
    for _ in range(20):
        with zipfile.ZipFile(source) as archive:
            archive.read(extra)
elif what == "random":
    with exhume.open(source, format="caf") as archive:
        names = pick(archive.names())
        for name in names:
            archive.read_member(name)
        p = p50(archive.read_member, names)
elif what == "zip-random":
    with zipfile.ZipFile(source) as archive:
        names = pick(archive.namelist())
        for name in names:
            archive.read(name)
        p = p50(archive.read, names)
elif what == "member":
    with exhume.open(source, format="caf") as archive:
        size = 0
        for piece in archive.iter_member(extra):
            size += len(piece)
        with archive.open_member(extra) as file:
            file.seek(size // 2)
            file.read(1000)
cpu, wall = usage() - cpu, time.perf_counter() - wall
# VmHWM, not ru_maxrss: the latter starts with the peak of the process that started this one.
peak = next(int(line.split()[1]) / 1000 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak, "p50": p}))
"""

NODE = """
const {CAFSerializer, CAFDeserializer} = require(process.argv[1]);
const fs = require('fs'), path = require('path');
const [what, source, target] = process.argv.slice(2);
console.log = () => {};
function walk(dir, out) {
  for (const entry of fs.readdirSync(dir, {withFileTypes: true})) {
    const full = path.join(dir, entry.name);
    if (entry.isDirectory()) walk(full, out); else out.push(full);
  }
  return out;
}
(async () => {
  const before = process.cpuUsage(), begin = process.hrtime.bigint();
  if (what === 'create') {
    const writer = new CAFSerializer(target);
    for (const file of walk(source, []).sort())
      await writer.addFileFromPath(path.relative(path.dirname(source), file), file);
    await writer.finalize();
  } else {
    const reader = new CAFDeserializer(source);
    await reader.loadIndex();
    await reader.extractAll(target);
  }
  const used = process.cpuUsage(before), wall = Number(process.hrtime.bigint() - begin) / 1e9;
  process.stdout.write(JSON.stringify({cpu: (used.user + used.system) / 1e6, wall}));
})();
"""


def make_tree(root: Path, count: int, size: int) -> Path:
    """`count` files of `size` random bytes in 100 directories."""
    for i in range(100):
        (root / f"{i:02d}").mkdir(parents=True)
    for i in range(count):
        (root / f"{i % 100:02d}" / f"file-{i:06d}.bin").write_bytes(os.urandom(size))
    return root


def make_million(path: Path) -> str:
    """A chunk of 1,000,000 entries (73 MB of index); returns one name in its middle."""
    from exhume.formats.caf.chunk import build_index

    files = {f"dir-{i % 1000:03d}/object-{i:09d}.json": (i * 10, i * 10 + 10) for i in range(1_000_000)}
    index = build_index(files)
    with path.open("wb") as file:
        file.truncate(10_000_000)
        file.seek(10_000_000)
        file.write(index)
        file.write(len(index).to_bytes(4, "little"))
    return "dir-777/object-000500777.json"


def ours(*args: object) -> Figures:
    """Run one piece of work in a fresh process."""
    ran = subprocess.run(
        [sys.executable, "-c", WORKER, *map(str, args)], check=True, capture_output=True, text=True, env=ENVIRONMENT
    )
    figures: Figures = json.loads(ran.stdout)
    return figures


def command(*args: object) -> Figures:
    """Run a command; CPU of the whole process."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(arg) for arg in args], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "wall": time.perf_counter() - begin}


def references() -> dict[str, tuple[Callable[[Path, Path], Figures], Callable[[Path, Path], Figures]]]:
    """The reference implementations that are there: `(create, extract)` each."""
    found: dict[str, tuple[Callable[[Path, Path], Figures], Callable[[Path, Path], Figures]]] = {}
    module, node = os.environ.get("EXHUME_CAF_TS", ""), shutil.which("node")
    if module and node:

        def run(what: str, source: Path, target: Path) -> Figures:
            ran = subprocess.run(
                [node, "-e", NODE, module, what, str(source), str(target)], check=True, capture_output=True, text=True
            )
            figures: Figures = json.loads(ran.stdout)
            return figures

        found["TypeScript"] = (
            lambda source, target: run("create", source, target),
            lambda source, target: run("extract", source, target),
        )
    else:
        print("skipped: TypeScript reference (EXHUME_CAF_TS and node)")
    cafcli = os.environ.get("EXHUME_CAF_GO", "")
    if cafcli:
        found["Go"] = (
            lambda source, target: command(cafcli, "create", target, *sorted(source.iterdir()), "-b", source.parent),
            lambda source, target: command(cafcli, "split", source, "-o", target),
        )
    else:
        print("skipped: Go reference (EXHUME_CAF_GO)")
    return found


class Rounds:
    """Figures by name, one per round."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}
        self.ratios: dict[str, list[float]] = {}

    def note(self, name: str, value: float) -> float:
        """Keep a figure."""
        self.values.setdefault(name, []).append(value)
        return value

    def ratio(self, name: str, value: float, rival: float) -> None:
        """Keep a ratio within this round."""
        self.ratios.setdefault(name, []).append(value / rival if rival else float("inf"))


def one_round(
    rounds: Rounds,
    work: Path,
    tree: Path,
    label: str,
    others: dict[str, tuple[Callable[[Path, Path], Figures], Callable[[Path, Path], Figures]]],
) -> None:
    """Every rival once over one tree."""
    spot = Path(tempfile.mkdtemp(dir=work))
    cp = rounds.note(f"cp -r, {label}", command("cp", "-r", tree, spot / "cp")["cpu"])
    made = rounds.note(f"exhume create, {label}", ours("create", tree, spot / "x.caf")["cpu"])
    one = ours("extract", spot / "x.caf", spot / "x1", 1)
    got = rounds.note(f"exhume extract, {label}", one["cpu"])
    two = ours("extract", spot / "x.caf", spot / "x2", 2)
    zip_made = rounds.note(f"zipfile create, {label}", ours("zip-create", tree, spot / "x.zip")["cpu"])
    zip_got = rounds.note(f"zipfile extract, {label}", ours("zip-extract", spot / "x.zip", spot / "z")["cpu"])
    rounds.ratio(f"create {label} / cp -r", made, cp)
    rounds.ratio(f"extract {label} / cp -r", got, cp)
    for name, (make, take) in others.items():
        rounds.ratio(
            f"create {label} / {name}", made, rounds.note(f"{name} create, {label}", make(tree, spot / "r.caf")["cpu"])
        )
        took = take(spot / "r.caf", spot / "r")["cpu"]
        rounds.ratio(f"extract {label} / {name}", got, rounds.note(f"{name} extract, {label}", took))
    if label == "small":
        rounds.ratio("create small / zipfile", made, zip_made)
        rounds.ratio("extract small / zipfile", got, zip_got)
        rounds.ratio("extract --jobs 2 / --jobs 1 (wall)", two["wall"], one["wall"])
        name = f"{tree.name}/07/file-001907.bin"
        opened = ours("open", spot / "x.caf", "-", name)["cpu"] / 20
        zip_opened = ours("zip-open", spot / "x.zip", "-", name)["cpu"] / 20
        rounds.ratio("open + one member / zipfile", rounds.note("exhume open + one (s)", opened), zip_opened)
        warm = rounds.note("exhume random member p50 (s)", ours("random", spot / "x.caf", "-")["p50"])
        rounds.ratio("random member p50 / zipfile", warm, ours("zip-random", spot / "x.zip", "-")["p50"])
    shutil.rmtree(spot)


def main() -> int:
    """Print figures, ratios and targets; the exit status says whether all targets were met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    shared = Path("/dev/shm")
    parser.add_argument("--dir", type=Path, default=shared if shared.is_dir() else None, help="where to work")
    parser.add_argument("--repeat", type=int, default=3, help="rounds")
    parser.add_argument("--quick", action="store_true", help="one round, 10 % of the files")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="exhume-caf-", dir=options.dir))
    rounds = Rounds()
    others = references()
    scale = 10 if options.quick else 1
    try:
        small = make_tree(work / "small", SMALL[0] // scale, SMALL[1])
        large = make_tree(work / "large", LARGE[0] // scale, LARGE[1])
        for _ in range(1 if options.quick else options.repeat):
            one_round(rounds, work, small, "small", others)
            one_round(rounds, work, large, "large", others)
        name = make_million(work / "million.caf")
        for _ in range(options.repeat):
            ran = subprocess.run(
                [sys.executable, "-c", LOOKUP, str(work / "million.caf"), name],
                check=True,
                capture_output=True,
                env=ENVIRONMENT,
            )
            found = json.loads(ran.stdout)
            rounds.ratio("one of 1,000,000 (CPU s)", found["cpu"], 1)
            rounds.ratio("one of 1,000,000 (MB)", found["peak"], 1)
        big = work / "big" / "member"
        big.parent.mkdir()
        with big.open("wb") as file:
            for _ in range(512):
                file.write(os.urandom(1 << 20))
        made = ours("create", big.parent, work / "big.caf")
        read = ours("member", work / "big.caf", "-", "big/member")
        taken = ours("extract", work / "big.caf", work / "out", 1)
        rounds.ratio("512 MB member (MB)", max(made["peak"], read["peak"], taken["peak"]), 1)
    finally:
        shutil.rmtree(work)
    for name, values in rounds.values.items():
        print(f"{name:36s} {statistics.median(values):10.6f}")
    missed = 0
    for name, values in rounds.ratios.items():
        value, target = statistics.median(values), TARGETS.get(name)
        verdict = "" if target is None else f"  target {target:<6g} {'met' if value <= target else 'MISSED'}"
        missed += target is not None and value > target
        print(f"{name:36s} {value:10.3f}{verdict}")
    return 1 if missed else 0


LOOKUP = """
import json, sys, time
import exhume
from exhume.formats.caf import cli, reader  # imported, so that only the lookup counts
begin = time.process_time()
with exhume.open(sys.argv[1], format="caf") as archive:
    assert len(archive.read_member(sys.argv[2])) == 10
    assert not archive.is_loaded
spent = time.process_time() - begin
peak = next(int(line.split()[1]) / 1000 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"cpu": spent, "peak": peak}))
"""


if __name__ == "__main__":
    sys.exit(main())
