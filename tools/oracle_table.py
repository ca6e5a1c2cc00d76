"""A pytest plugin that counts comparisons with independent implementations, and writes them into `docs/testing.md`.

    make oracles

It runs the tests that are marked `conformance`, whose random inputs have fixed seeds.  A test that has not begun after
`EXHUME_ORACLE_SECONDS` (default: 600) is skipped.  The tools of a test are the argument of its mark and the modules
that it asks `tests.oracles` for; what is compared is the name of the test.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tools.blocks import write_block

NOT_RUN = "the time of `make oracles` is over"
_PROPERTY = "oracle"
_DEADLINE = time.monotonic() + float(os.environ.get("EXHUME_ORACLE_SECONDS", "600"))

Row = tuple[str, str, str]
"""Format, tool, what is compared."""


def row_of(nodeid: str, tools: str) -> Row:
    """The row of a test."""
    path, _, name = nodeid.partition("::")
    folder = Path(path).parent.name
    feature = name.rpartition("::")[2].partition("[")[0].removeprefix("test_").replace("_", " ")
    return folder, tools or "samples of its own tools", feature


def table(passed: Counter[Row], skipped: Counter[Row]) -> str:
    """The table in Markdown."""
    total = sum(passed.values())
    lines = [f"{total} comparisons, 0 differences; {sum(skipped.values())} were not made, for lack of the tool.", ""]
    lines += ["| tests of | compared with | what | comparisons | not made |", "| --- | --- | --- | --: | --: |"]
    for row in sorted(passed | skipped):
        lines.append(f"| {' | '.join(row)} | {passed[row]} | {skipped[row]} |")
    return "\n".join(lines)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test for which no time is left, and forget the tools of the one before."""
    from tests import oracles

    oracles.ASKED.clear()
    if time.monotonic() > _DEADLINE:
        pytest.skip(NOT_RUN)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Attache the tools of a test to its report."""
    from tests import oracles

    report = yield
    mark = item.get_closest_marker("conformance")
    asked = {str(one) for one in mark.args} if mark is not None else set()
    report.user_properties.append((_PROPERTY, ", ".join(sorted(asked | oracles.ASKED))))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the table when all tests passed."""
    stats = terminalreporter.stats
    if stats.get("failed") or stats.get("error"):
        terminalreporter.write_line("make oracles: there are differences; docs/testing.md stays as it was", red=True)
        return
    counts = [
        Counter(
            row_of(one.nodeid, dict(one.user_properties).get(_PROPERTY, ""))
            for one in stats.get(kind, [])
            if "::" in one.nodeid  # no test, but a file whose tests were skipped together
        )
        for kind in ("passed", "skipped")
    ]
    late = sum(NOT_RUN in str(one.longrepr) for one in stats.get("skipped", []))
    if late:
        terminalreporter.write_line(
            f"make oracles: no time for {late} tests; docs/testing.md stays as it was", red=True
        )
        return
    write_block("testing.md", "oracles", table(*counts))
    terminalreporter.write_line(f"make oracles: {sum(counts[0].values())} comparisons in docs/testing.md")
