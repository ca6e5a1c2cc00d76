"""What a command costs before it has much to do: every verb on a small archive of every format.

    python -m benchmarks.startup [--checkout DIR] [--repeat N] [--verb VERB]... [--format FORMAT]...

Measured is the CPU of the whole process, user and system, as a multiple of that of `python -I -c pass`.  The two
alternate; the figures are medians.  The processes run in an environment of their own, whose only addition to a bare one
is the path to this checkout (or to another one, `--checkout`) and to what it depends on: hooks of an editable
installation would be counted on both sides, and make the ratio look small.  Modules are compiled to bytecode before.
"""

from __future__ import annotations

import argparse
import os
import site
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from statistics import median

BUDGET = 9.0
"""The most that a short command may cost, as a multiple of the interpreter alone."""

CHECKOUT = Path(__file__).resolve().parents[1]
SAMPLES = CHECKOUT / "tests" / "samples"
ARCHIVES = {
    "zs": "zs/words-deflate.zs",
    "clp-s": "clp_s/tiny.clps",
    "ark": "ark/log",
    "caf": "caf/sorted.caf",
    "databundle": "data_bundle/zlib",
    "leveldb": "leveldb/small",
}
QUERIES = {"zs": "a", "clp-s": "*: *", "ark": "/*", "leveldb": "a"}
"""What `search` looks for; the other formats have no search."""

VERBS = ("identify", "verify", "info", "cat", "search", "list", "explain")


def environment(folder: Path, checkout: Path) -> str:
    """An environment in `folder` that knows the checkout and the packages of this one; its interpreter."""
    venv.create(folder, with_pip=False)
    variables = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", variables))
    paths = [checkout / "src", checkout / "generated", *site.getsitepackages()]
    (packages / "checkout.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    return str(folder / "bin" / "python")


def cpu(command: list[str]) -> float:
    """Seconds of CPU of a process that must end well; what it prints is thrown away."""
    null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    pid = os.posix_spawn(command[0], command, {"PATH": os.defpath}, file_actions=null)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(subprocess.run(command, capture_output=True, text=True, check=False).stderr)
    return usage.ru_utime + usage.ru_stime


def commands(verbs: list[str], formats: list[str]) -> dict[tuple[str, str], list[str]]:
    """The command lines that are measured, by verb and format."""
    found: dict[tuple[str, str], list[str]] = {}
    for verb in verbs:
        for format in formats:
            if verb != "search" or format in QUERIES:
                query = [QUERIES[format]] if verb == "search" else []
                found[verb, format] = [verb, str(SAMPLES / ARCHIVES[format]), *query]
    return found


def measure(python: str, lines: dict[tuple[str, str], list[str]], repeat: int) -> dict[tuple[str, str], float]:
    """How many times the interpreter's own CPU each command takes."""
    alone = [python, "-I", "-c", "pass"]
    start = [python, "-I", "-c", "from exhume.cli.main import run; run()"]  # as the console script
    ratios = {}
    for key, words in lines.items():
        ours, floor = [], []
        cpu([*start, *words])  # compiles modules to bytecode and warms the caches
        for _ in range(repeat):
            floor.append(cpu(alone))
            ours.append(cpu([*start, *words]))
        ratios[key] = median(ours) / median(floor)
    return ratios


def report(ratios: dict[tuple[str, str], float], verbs: list[str], formats: list[str]) -> bool:
    """Print the table; whether everything is within the budget."""
    print(f"{'':12}" + "".join(f"{format:>12}" for format in formats))
    for verb in verbs:
        cells = (ratios.get((verb, format)) for format in formats)
        print(f"{verb:12}" + "".join(f"{'-' if cell is None else f'{cell:.1f}':>12}" for cell in cells))
    worst = max(ratios, key=ratios.__getitem__)
    met = ratios[worst] <= BUDGET
    print(f"most: {ratios[worst]:.1f} ({' of '.join(worst)}); budget {BUDGET:.0f}: {'met' if met else 'MISSED'}")
    return met


def main() -> int:
    """Run the command line; 1 when something is over the budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=CHECKOUT)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--verb", action="append", choices=VERBS)
    parser.add_argument("--format", action="append", choices=sorted(ARCHIVES))
    options = parser.parse_args()
    verbs, formats = options.verb or list(VERBS), options.format or list(ARCHIVES)
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder), options.checkout.resolve())
        met = report(measure(python, commands(verbs, formats), options.repeat), verbs, formats)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
