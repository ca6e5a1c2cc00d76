"""No verb takes more than 2.4 times the calls when a count of its archive doubles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scaling.growth import CASES, MOST, Case, Growth, grow

ALL = [(case, verb) for case in CASES for verb in case.verbs]


@pytest.mark.parametrize(("case", "verb"), ALL, ids=[f"{case.format}-{case.grows}-{verb}" for case, verb in ALL])
def test_calls_grow_with_the_count(case: Case, verb: str, tmp_path: Path) -> None:
    if "arrow" in verb or "csv" in verb or (case.format == "kv-ir" and "export" in verb):
        pytest.importorskip("pyarrow", reason="the extra arrow (pyarrow) is not installed")
    found = grow(case, verb, tmp_path)
    assert found.worst < MOST, found


def test_a_square_is_found() -> None:
    assert Growth([1, 2, 4, 8], [100 + size * size * 100 for size in (1, 2, 4, 8)]).worst > MOST
