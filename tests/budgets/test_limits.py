"""Each limit, driven to its edge on each format that it protects, by archives of files of at most 4 KB.

Spec: none; docs/testing.md, "What hostile input can cost".
"""

from __future__ import annotations

import re

import pytest

from exhume.limits import DEFAULT_LIMITS, Limits
from tests.budgets.needs import FORMATS, NEEDS, OTHERS, limit_codes, refusals
from tests.sizes import some
from tools.blocks import ROOT

READING = [name for name in Limits._fields if not name.startswith("output_")]
"""Limits on reading; those on writing are tried by tests/core/test_output_escape.py."""


@pytest.mark.parametrize("name", READING)
@pytest.mark.bulk
def test_the_edge(name: str) -> None:
    """Just enough is enough; less is refused, in words that say which limit it was, and nothing is called damaged."""
    for format in some(FORMATS):
        value = NEEDS[name].get(format, 0)
        assert refusals(format, name, value) == [], format
        for less in {value - 1, value // 2, 0} if value else ():
            stated = refusals(format, name, less)
            assert stated, (format, less)
            for one in stated:
                assert re.search(f"{name}|{OTHERS.get(name, name)}", one), (format, less, one)
                assert one.partition(" ")[0] in limit_codes(), (format, less, one)


def test_every_limit_has_its_reason_and_its_formats() -> None:
    assert set(NEEDS) == set(READING)
    for name in Limits._fields:
        assert re.search(rf"^ +{name}: .", Limits.__doc__ or "", re.MULTILINE), name
        assert f"| `{name}` |" in (ROOT / "docs/testing.md").read_text(encoding="utf-8")
        assert getattr(DEFAULT_LIMITS, name) > 0
