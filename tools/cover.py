"""Branch coverage of the tests with both kernels, and the table of it in `docs/testing.md`.

    python -m tools.cover run [PYTEST ARGUMENTS]     runs all tests, then those that are not slow with EXHUME_PURE=1
    python -m tools.cover report                     the measured coverage, as a table and per file

`make coverage` does both.  Processes that the tests start are measured as well.  The command line (`cli/` and `cli*.py`
of the formats) is measured but not counted: it is tested through its documents and exit codes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.blocks import ROOT, write_block

KEPT = ROOT / "build" / "coverage"
GOAL = 0.95  # of all statements and branches


@dataclass
class Count:
    """Statements and branches, and how many of both the tests took."""

    statements: int = 0
    branches: int = 0
    covered: int = 0

    def add(self, summary: dict[str, Any]) -> None:
        """Add a file's numbers."""
        self.statements += summary["num_statements"]
        self.branches += summary["num_branches"]
        self.covered += summary["covered_lines"] + summary["covered_branches"]

    @property
    def share(self) -> float:
        """Taken statements and branches of all of them."""
        return self.covered / max(1, self.statements + self.branches)

    def row(self, name: str) -> str:
        """A line of the table."""
        return f"| {name} | {self.statements:,} | {self.branches:,} | {self.share:.1%} |"


def coverage(*arguments: str) -> None:
    """Run coverage.py; its data is stored in `build/coverage/`."""
    KEPT.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "coverage", *arguments], cwd=ROOT, check=True)


def run(arguments: list[str]) -> int:
    """Run the tests with each kernel, whatever came of the others; return the last exit status that is not 0.

    Slow tests run with the compiled kernel alone: what only they would reach of the other counts as not taken.
    """
    coverage("erase")
    worst = 0
    for pure, chosen in (("", ()), ("1", ("-m", "not slow"))):
        environment = {**os.environ, "EXHUME_PURE": pure}
        command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-q", *chosen, *arguments]
        worst = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode or worst
    return worst


def area(path: str) -> str:
    """The row that a file belongs to."""
    parts = Path(path).parts
    inner = parts[parts.index("exhume") + 1 : -1]
    return "/".join(("exhume", *inner[:2])) if inner[:1] == ("formats",) else "/".join(("exhume", *inner[:1]))


def is_command_line(path: str) -> bool:
    """Whether a file is not counted."""
    return "/cli/" in path or Path(path).name.startswith("cli")


def report() -> int:
    """Write the table and print the uncovered lines, the worst file first; return 1 below the goal."""
    coverage("combine", "--quiet", "--keep")
    coverage("json", "--quiet")
    files = json.loads((KEPT / "coverage.json").read_text(encoding="utf-8"))["files"]
    areas: defaultdict[str, Count] = defaultdict(Count)
    total = Count()
    missed = []
    for path, found in files.items():
        if not is_command_line(path):
            areas[area(path)].add(found["summary"])
            total.add(found["summary"])
            lines, branches = found["missing_lines"], found["missing_branches"]
            missed.append((len(lines) + len(branches), path, lines, branches))
    for count, path, lines, branches in sorted(missed, reverse=True):
        if count:
            print(f"{count:4} {path}: {_ranges(lines)}  {' '.join(f'{a}->{b}' for a, b in branches if a not in lines)}")
    head = ["| part | statements | branches | covered |", "| --- | ---: | ---: | ---: |"]
    rows = [areas[name].row(f"`{name}`") for name in sorted(areas)]
    write_block("testing.md", "coverage", "\n".join([*head, *rows, total.row("**all**")]))
    print(total.row("all"))
    return int(total.share < GOAL)


def _ranges(lines: list[int]) -> str:
    """Return ascending line numbers as text with ranges: `3 7-9`."""
    out: list[list[int]] = []
    for line in lines:
        if out and line == out[-1][1] + 1:
            out[-1][1] = line
        else:
            out.append([line, line])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


if __name__ == "__main__":
    sys.exit(run(sys.argv[2:]) if sys.argv[1:2] == ["run"] else report())
