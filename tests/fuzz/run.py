"""Runs the fuzzers: `python -m tests.fuzz.run [TARGET ...] [--time SECONDS] [--engine ENGINE] [--sanitized]`.

Each target runs in a process of its own.  The engine is atheris, which sees what an input reaches, in the interpreter
and in a kernel that was compiled for it (`make fuzz-kernel`); where it cannot be had, Hypothesis searches for inputs
that reach more functions.  What fails is run once more without the engine; if it fails again it is kept in
`tests/fuzz/found/`, where the ordinary tests replay it from then on.  `--write` adds the counts to
`tests/fuzz/results.json`, and writes the table in `docs/testing.md` from it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT
from tools.blocks import write_block

HERE = Path(__file__).parent
FOUND = HERE / "found"
RESULTS = HERE / "results.json"
WORK = ROOT / "build" / "fuzz"
SANITIZED = ROOT / "build" / "sanitized"
FLAGS = (
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fsanitize-coverage=trace-pc,trace-cmp "
    "-fno-omit-frame-pointer -O1 -g"
)
KERNEL_TESTS = (
    "tests/ark/test_kernel.py", "tests/ark/test_columns.py", "tests/clp_s/test_kernel.py",
    "tests/clp_s/test_search_kernel.py", "tests/clp_s/test_frames.py", "tests/clp_s/test_writer_encoders.py",
    "tests/clp_s/test_writer_frames.py", "tests/kv_ir/test_encoding.py", "tests/kv_ir/test_encoding_jobs.py",
    "tests/clp_ir/test_reading.py", "tests/clp_ir/test_encoding.py", "tests/clp_s/test_textlog.py",
    "tests/kv_ir/test_arrow.py", "tests/kv_ir/test_jobs.py", "tests/kv_ir/test_lines.py", "tests/kv_ir/test_reading.py",
    "tests/leveldb/test_twins.py", "tests/leveldb/test_blocks.py", "tests/leveldb/test_index.py",
    "tests/leveldb/test_sections.py", "tests/zs/test_kernel.py", "tests/caf/test_index.py",
    "tests/toolchain/test_fast.py",
)  # fmt: skip
"""Tests that compare the kernel with its pure-Python form."""


class Row(NamedTuple):
    """What one run of a target counted; `edges` is None for an engine that sees none."""

    executions: int
    edges: int | None
    failed: Path | None


def compile_kernel() -> None:
    """Compile the kernel and the generated readers with sanitizers, next to a copy of the interpreted modules.

    Raises `subprocess.CalledProcessError` when that fails.
    """
    work = ROOT / "build" / "sanitized-temp"
    words = ["setup.py", "-q", "build", "--build-lib", str(SANITIZED), "--build-temp", str(work)]
    environment = {**os.environ, "EXHUME_KERNEL_FLAGS": FLAGS, "PYTHONWARNINGS": "ignore"}
    shutil.rmtree(SANITIZED, ignore_errors=True)
    subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=True)
    edges = [str(HERE / "edges.c"), "-o", str(SANITIZED / "edges.so")]
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", *edges], check=True)
    if not list(SANITIZED.glob("exhume/native/_kernel.*.so")):
        raise subprocess.CalledProcessError(1, "setup.py build: no kernel was made")


def sanitized_environment() -> dict[str, str]:
    """The environment in which Python loads the kernel that `compile_kernel` made.

    The runtime of AddressSanitizer is that of atheris, which has libFuzzer in it, else that of the compiler.
    """
    found = importlib.util.find_spec("asan_with_fuzzer")
    own = [found.origin] if found is not None and found.origin else []
    of_gcc = [
        subprocess.run(
            ["gcc", f"-print-file-name=lib{name}.so"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in ("asan", "ubsan")
        if not own
    ]
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(map(str, [SANITIZED / "edges.so", *own, *of_gcc])),
        # Memory that the interpreter keeps at exit is not a leak; the library that counts blocks has to come first.
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:allocator_may_return_null=1:quarantine_size_mb=32"
        ":malloc_context_size=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": f"{SANITIZED}:{ROOT}",
    }


def run(name: str, seconds: int, engine: str, *, sanitized: bool) -> Row:
    """Run one target for a while, in a process of its own."""
    corpus = WORK / name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for left in (WORK / name).glob("*-*"):
        left.unlink()
    log = WORK / name / "log"
    with tempfile.TemporaryDirectory(prefix="exhume-fuzz-", dir=_fast()) as place, log.open("wb") as out:
        words = [sys.executable, "-m", "tests.fuzz.child", name, engine, str(seconds), place, str(WORK / name)]
        environment = sanitized_environment() if sanitized else os.environ
        code = subprocess.run(words, cwd=ROOT, env=environment, stdout=out, stderr=out, check=False).returncode
    stated = log.read_text(encoding="utf-8", errors="replace")
    counts = re.findall(r"^(?:stat::number_of_executed_units:|Done) +(\d+)", stated, re.MULTILINE)
    counts = counts or re.findall(r"^#(\d+)\t", stated, re.MULTILINE)
    edges = re.findall(r" cov: (\d+)", stated)
    failed = next(iter(sorted((WORK / name).glob("*-*"))), None)
    if code and failed is None:
        raise RuntimeError(f"{name}: the fuzzer itself failed, see {log}\n{stated[-2000:]}")
    return Row(int(counts[-1]) if counts else 0, max(map(int, edges), default=None), failed)


def replay(name: str, file: Path, *, sanitized: bool = False) -> str:
    """What an input does without an engine, within the bounds: "" when that is nothing wrong, else what is reported."""
    with tempfile.TemporaryDirectory(prefix="exhume-fuzz-", dir=_fast()) as place:
        words = [sys.executable, "-m", "tests.fuzz.child", name, "none", "0", place, str(file)]
        environment = sanitized_environment() if sanitized else os.environ
        ran = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, check=False)
    return "" if ran.returncode == 0 else (ran.stderr.decode("utf-8", "replace") or f"ended with {ran.returncode}")


def _fast() -> str | None:
    """A folder in memory, where there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def keep(name: str, file: Path) -> Path:
    """Put an input that failed where the tests replay it."""
    data = file.read_bytes()
    kept = FOUND / name / hashlib.sha256(data).hexdigest()[:12]
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(data)
    return kept


def record(name: str, build: str, row: Row) -> None:
    """Add a run to the results."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    known = results.setdefault(name, {}).setdefault(build, {"executions": 0})
    known["executions"] += row.executions
    if row.edges is not None:
        known["edges"] = max(known.get("edges", 0), row.edges)
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def report() -> str:
    """The table for the docs, from all results so far."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    lines = [
        "| target | inputs run | with the sanitizers | edges | found and repaired |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    total = [0, 0, 0]
    for name in sorted({*results, *(folder.name for folder in FOUND.iterdir())}):
        builds = results.get(name, {})
        plain, checked = (builds.get(build, {}) for build in ("plain", "sanitized"))
        kept = len(list((FOUND / name).glob("*")))
        row = [plain.get("executions", 0), checked.get("executions", 0), kept]
        total = [one + other for one, other in zip(total, row, strict=True)]
        edges = max(plain.get("edges", 0), checked.get("edges", 0))
        lines.append(f"| `{name}` | {row[0]:,} | {row[1]:,} | {edges or '-'} | {kept} |")
    lines.append(f"| **all** | {total[0]:,} | {total[1]:,} | | {total[2]} |")
    return f"{sum(total[:2]):,} inputs in all.\n\n" + "\n".join(lines)


def say(text: str) -> None:
    """Say how far the work has come."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    from tests.fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--time", type=int, default=10, help="seconds for each target")
    parser.add_argument("--engine", choices=("atheris", "hypothesis"))
    parser.add_argument("--sanitized", action="store_true", help="with the kernel that make fuzz-kernel compiled")
    parser.add_argument("--write", action="store_true", help="add the counts to the table")
    parser.add_argument("--compile", action="store_true", help="compile that kernel, and run nothing")
    parser.add_argument("--tests", action="store_true", help="run the kernel's tests with it, and nothing else")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.targets if name not in TARGETS]:
        parser.error(f"no target {unknown[0]}: {', '.join(TARGETS)}")
    if chosen.compile:
        compile_kernel()
        return 0
    if chosen.tests:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *KERNEL_TESTS]
        return subprocess.run(words, cwd=ROOT, env=sanitized_environment(), check=False).returncode
    engine = chosen.engine or ("atheris" if importlib.util.find_spec("atheris") else "hypothesis")
    wrong = 0
    for name in chosen.targets or TARGETS:
        sanitized = chosen.sanitized or (TARGETS[name].compiled and SANITIZED.exists())
        row = run(name, chosen.time, engine, sanitized=sanitized)
        if chosen.write:
            record(name, "sanitized" if sanitized else "plain", row)
        edges = "" if row.edges is None else f", {row.edges:,} edges"
        say(f"{name}: {row.executions:,} inputs{edges}")
        if row.failed is not None and (stated := replay(name, row.failed, sanitized=sanitized)):
            wrong += 1
            say(f"{name}: {keep(name, row.failed)}\n{stated[:1500]}\n...\n{stated[-1500:]}")
        elif row.failed is not None:
            say(f"{name}: {row.failed} does not fail again")
    if chosen.write:
        write_block("testing.md", "fuzz", report())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
