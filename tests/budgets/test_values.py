"""The memory that one large value costs each verb grows no faster than docs/testing.md states.

Spec: none; docs/testing.md, "What one large value costs".
"""

from __future__ import annotations

import pathlib

import pytest

from tests.budgets.values import SLACK, VALUES, factors, formula
from tests.sizes import some
from tools.blocks import read_block


@pytest.mark.bulk
@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize("name", VALUES)
def test_memory_grows_as_stated(name: str) -> None:
    cases = VALUES[name][2]
    for words, (_, factor) in some(factors(name).items()):
        assert factor <= cases[words] + SLACK, words


def test_the_table_has_every_row() -> None:
    table = read_block("testing.md", "memory")
    for name, (what, _, cases) in VALUES.items():
        for words, factor in some(cases.items()):
            row = f"| {name.split()[0]} | {what} | `{words.replace(' -o {out}', '')}` | {formula(factor)} |"
            assert row in table
