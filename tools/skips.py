"""A pytest plugin that writes the table of skipped tests, with reasons, into `docs/testing.md`.

    make skips

It is for a run of all tests with what `make test` installs and nothing else: no samples next to the repository, no
environment variable that names a server or a program.  It fails if more tests are skipped than a default run may skip.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from tools.blocks import write_block

MOST = 60
"""Tests that a default run may skip."""


def table(skipped: list[tuple[str, str]]) -> str:
    """The table in Markdown, of (file, reason) pairs."""
    lines = [f"{len(skipped)} tests are skipped; at most {MOST} may be.", ""]
    lines += ["| tests | in | because |", "|--:|---|---|"]
    for (file, reason), number in sorted(Counter(skipped).items()):
        lines.append(f"| {number} | `{file}` | {reason.replace('|', '&#124;')} |")
    return "\n".join(lines)


def reasons(reports: list[Any]) -> list[tuple[str, str]]:
    """The file and the reason of each skipped test."""
    found = []
    for report in reports:
        if isinstance(report.longrepr, tuple):  # not that of an expected failure
            reason = re.sub(r"^Skipped: |^could not import ", "", report.longrepr[2])
            found.append((Path(report.nodeid.partition("::")[0]).as_posix(), reason))
    return found


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the table when all tests passed; say when too many were skipped."""
    stats = terminalreporter.stats
    if stats.get("failed") or stats.get("error"):
        terminalreporter.write_line("make skips: not all tests passed; docs/testing.md stays as it was", red=True)
        return
    skipped = reasons(stats.get("skipped", []))
    write_block("testing.md", "skips", table(skipped))
    terminalreporter.write_line(f"make skips: {len(skipped)} in docs/testing.md")


def pytest_sessionfinish(session: Any) -> None:
    """Fail the run in which too many tests are skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and len(reporter.stats.get("skipped", [])) > MOST:
        session.exitstatus = 1
