"""All that is said about every broken archive, compared with `tests/golden/`; `make golden` after a wanted change."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from exhume.findings import RuleTable
from exhume.registry import get_format
from tests.broken import FORMATS, broken, describe, golden

CASES = [(format, name) for format in FORMATS for name in broken(format)]
NO_FINDINGS = {"ARK-108"}
"""What only an answer to a question can be: `verify` looks at all logs of a directory."""


@pytest.mark.parametrize(("format", "name"), CASES, ids=["-".join(case) for case in CASES])
def test_all_that_is_said(tmp_path: Path, format: str, name: str) -> None:
    assert describe(format, broken(format)[name], tmp_path) == golden(format)[name]


@pytest.mark.parametrize("format", FORMATS)
def test_every_rule_is_broken_somewhere(format: str) -> None:
    told = golden(format)
    assert list(told) == list(broken(format))
    package = get_format(format).package
    rules: RuleTable = importlib.import_module(f"{package}.checks").RULES
    codes = {finding.get("code") for case in told.values() for finding in case["findings"]}
    assert [rule.code for rule in rules if rule.code not in codes | NO_FINDINGS] == []
