"""A pytest plugin that counts comparisons with independent implementations, and writes them into `docs/testing.md`.

    make oracles

It runs the tests that are marked `conformance`, whose random inputs have fixed seeds.  A test that has not begun after
`EXHUME_ORACLE_SECONDS` (default: 600) is skipped.  The tools of a test are the argument of its mark and the modules
that it asks `tests.oracles` for; what is compared is the name of the test.  The inputs are those that `tests.oracles`
counts, and one for a test that counts none.
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
_PROPERTY = "oracle"  # names of the properties that a test's report carries: its tools,
_INPUTS = "inputs"  # and the number of inputs that it compared
_DEADLINE = time.monotonic() + float(os.environ.get("EXHUME_ORACLE_SECONDS", "600"))  # no test begins later

Row = tuple[str, str, str]
"""Format, tool, what is compared."""


def row_of(nodeid: str, tools: str) -> Row:
    """The row of a test."""
    path, _, name = nodeid.partition("::")
    folder = Path(path).parent.name
    feature = name.rpartition("::")[2].partition("[")[0].removeprefix("test_").replace("_", " ")
    return folder, tools or "samples of its own tools", feature


def table(passed: Counter[Row], inputs: Counter[Row], skipped: Counter[Row]) -> str:
    """The table in Markdown, from the tests that passed, the inputs that they compared, and those that did not run."""
    made = f"{inputs.total():,} inputs compared in {passed.total()} tests, 0 differences"
    lines = [f"{made}; {skipped.total()} tests were not run, for lack of the tool.", ""]
    lines += ["| tests of | compared with | what | tests | inputs | not run |", "| --- | --- | --- | --: | --: | --: |"]
    for row in sorted(passed | skipped):
        lines.append(f"| {' | '.join(row)} | {passed[row]} | {inputs[row]:,} | {skipped[row]} |")
    return "\n".join(lines)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test for which no time is left, and forget the tools of the one before."""
    from tests import oracles

    oracles.ASKED.clear()
    oracles.COMPARED.clear()
    if time.monotonic() > _DEADLINE:
        pytest.skip(NOT_RUN)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Attach the tools of a test, and how many inputs it compared, to its report."""
    from tests import oracles

    report = yield
    mark = item.get_closest_marker("conformance")
    requested = {str(one) for one in mark.args} if mark is not None else set()
    report.user_properties.append((_PROPERTY, ", ".join(sorted(requested | oracles.ASKED))))
    report.user_properties.append((_INPUTS, oracles.COMPARED.total() or 1))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the table when all tests passed."""
    stats = terminalreporter.stats
    if stats.get("failed") or stats.get("error"):
        terminalreporter.write_line("make oracles: there are differences; docs/testing.md stays as it was", red=True)
        return
    counts: list[Counter[Row]] = [Counter(), Counter(), Counter()]
    for kind, tests in (("passed", counts[0]), ("skipped", counts[2])):
        for one in stats.get(kind, []):
            if "::" not in one.nodeid:
                continue  # no test, but a file whose tests were skipped together
            found = dict(one.user_properties)
            row = row_of(one.nodeid, found.get(_PROPERTY, ""))
            tests[row] += 1
            if kind == "passed":
                counts[1][row] += found.get(_INPUTS, 1)
    late = sum(NOT_RUN in str(one.longrepr) for one in stats.get("skipped", []))
    if late:
        terminalreporter.write_line(
            f"make oracles: no time for {late} tests; docs/testing.md stays as it was", red=True
        )
        return
    write_block("testing.md", "oracles", table(*counts))
    terminalreporter.write_line(f"make oracles: {counts[1].total():,} inputs in docs/testing.md")
