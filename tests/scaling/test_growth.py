"""No verb executes many more than twice the lines when a count of its archive doubles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scaling.growth import CASES, LONG, MOST, MOST_AT_FIRST, Case, Growth, grow, lines

ALL = [
    pytest.param(case, verb, id=f"{case.format}-{case.grows}-{verb}", marks=pytest.mark.xdist_group(case.make.__name__))
    for case in CASES
    for verb in case.verbs
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all verbs, so that each archive is made once."""
    return tmp_path_factory.mktemp("growth")


@pytest.mark.parametrize(("case", "verb"), ALL)
def test_lines_grow_with_the_count(case: Case, verb: str, folder: Path) -> None:
    if "arrow" in verb or "csv" in verb or (case.format == "kv-ir" and "export" in verb):
        pytest.importorskip("pyarrow", reason="the extra arrow (pyarrow) is not installed")
    found = grow(case, verb, folder)
    assert found.worst < (MOST_AT_FIRST if case.make in LONG else MOST), found


def test_a_square_is_found() -> None:
    assert Growth([1, 2, 4, 8], [100 + size * size * 100 for size in (1, 2, 4, 8)]).worst > MOST


def test_a_square_in_one_call_is_found() -> None:
    sizes = [50, 100, 200, 400]
    counted = [lines(lambda: [{one for one in range(size)} for _ in range(size)]) for size in sizes]  # noqa: B023, C416
    assert Growth(sizes, counted).worst > MOST
