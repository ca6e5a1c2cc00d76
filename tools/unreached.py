"""Asserts in `tests/` that no test run reaches: loops that run zero times, and branches never taken.

    python -m tools.unreached run [PYTEST ARGUMENTS]     runs the tests and records the executed lines of `tests/`
    python -m tools.unreached report                     lists the asserts that were not executed; exit code 1 if any

`make unreached` does both.  An assert that never runs proves nothing, although its test passes.  Skipped tests are not
listed: a function whose first statement did not run did not start.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.blocks import ROOT

KEPT = ROOT / "build" / "unreached"
DATA = KEPT / "data"

SETTINGS = f"""[run]
source = tests
data_file = {DATA}
parallel = true
patch = subprocess
disable_warnings = no-data-collected, module-not-measured, couldnt-parse
"""


def run(arguments: list[str]) -> int:
    """Run the tests under coverage.py, which records only `tests/`; return the exit code of pytest."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for old in KEPT.glob("data*"):
        old.unlink()
    settings = KEPT / "coveragerc"
    settings.write_text(SETTINGS, encoding="utf-8")
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False).returncode
    subprocess.run([sys.executable, "-m", "coverage", "combine", "-q", f"--rcfile={settings}"], cwd=ROOT, check=True)
    return done


def executed() -> dict[Path, set[int]]:
    """The executed lines of each file of `tests/`."""
    from coverage import CoverageData

    data = CoverageData(str(DATA))
    data.read()
    return {Path(name): set(data.lines(name) or ()) for name in data.measured_files()}


def asserts(function: ast.AST) -> Iterator[ast.Assert]:
    """The asserts of a function, without those of functions nested in it."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.Assert):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from asserts(node)


def unreached(source: str, lines: set[int]) -> Iterator[tuple[str, int]]:
    """The function and line of each assert that did not run in a function that did."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        # Without docstrings, as these do not run.
        body = [node for node in function.body if not isinstance(getattr(node, "value", None), ast.Constant)]
        did_run = bool(body) and body[0].lineno in lines
        if did_run:
            for found in asserts(function):
                if not lines.intersection(range(found.lineno, (found.end_lineno or found.lineno) + 1)):
                    yield function.name, found.lineno


def report() -> int:
    """Print the asserts that never ran; return 1 if there are any."""
    count = 0
    for path, lines in sorted(executed().items()):
        for name, line in unreached(path.read_text(encoding="utf-8"), lines):
            count += 1
            print(f"{path.relative_to(ROOT)}:{line}: {name}")
    print(f"{count} asserts were not executed")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[2:]) if sys.argv[1:2] == ["run"] else report())
