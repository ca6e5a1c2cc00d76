"""The memory that one large value costs each verb grows no faster than docs/testing.md states.

Spec: none; docs/testing.md, "What one large value costs".
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.budgets.values import SIZES, SLACK, USUAL_SIZES, VALUES, factors, formula, processes, usual_cases
from tests.forks import Forks
from tests.sizes import THOROUGH, some
from tools.blocks import read_block


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with processes() as made:
        yield made


@pytest.mark.bulk
@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize("name", VALUES)
def test_memory_grows_as_stated(name: str, forks: Forks) -> None:
    cases = VALUES[name][2] if THOROUGH else usual_cases(name)
    sizes = SIZES if THOROUGH or name.endswith(" made") else USUAL_SIZES
    for words, (_, factor) in some(factors(forks, name, cases, sizes).items()):
        assert factor <= cases[words] + SLACK, words


def test_every_kind_of_export_is_measured_in_turn() -> None:
    exports = {words for _, _, cases in VALUES.values() for words in cases if words.startswith("export")}
    assert {words for name in VALUES for words in usual_cases(name) if words in exports} == exports
    assert all(
        {words for words in cases if words not in exports} <= {*usual_cases(name)}
        for name, (_, _, cases) in VALUES.items()
    )


def test_the_table_has_every_row() -> None:
    table = read_block("testing.md", "memory")
    for name, (what, _, cases) in VALUES.items():
        for words, factor in some(cases.items()):
            row = f"| {name.split()[0]} | {what} | `{words.replace(' -o {out}', '')}` | {formula(factor)} |"
            assert row in table
