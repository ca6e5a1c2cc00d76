"""All that is said about every broken archive, compared with `tests/golden/`; `make golden` after a wanted change."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from exhume.findings import RuleTable
from exhume.registry import get_format
from tests.broken import FORMATS, broken, describe, golden
from tests.conftest import ROOT
from tools.gen_docs import findings_page, folder_of

CASES = [(format, name) for format in FORMATS for name in broken(format)]
NO_FINDINGS = {"ARK-108"}
"""What only an answer to a question can be: `verify` looks at all logs of a directory."""


@pytest.mark.parametrize(("format", "name"), CASES, ids=["-".join(case) for case in CASES])
def test_all_that_is_said(tmp_path: Path, format: str, name: str) -> None:
    for part, said in describe(format, broken(format)[name], tmp_path):
        assert said == golden(format)[name].get(part), part


@pytest.mark.parametrize("format", FORMATS)
def test_every_rule_is_broken_somewhere(format: str) -> None:
    told = golden(format)
    assert list(told) == list(broken(format))
    package = get_format(format).package
    rules: RuleTable = importlib.import_module(f"{package}.checks").RULES
    codes = {finding.get("code") for case in told.values() for finding in case["findings"]}
    assert [rule.code for rule in rules if rule.code not in codes | NO_FINDINGS] == []


@pytest.mark.parametrize("format", FORMATS)
def test_the_page_of_findings_is_fresh(format: str) -> None:
    """It has all of a rule: number, severity, exception, sentence, line of the specification, hint."""
    described = get_format(format)
    page = ROOT / "docs" / "findings" / f"{folder_of(described)}.md"
    assert findings_page(described) == page.read_text(encoding="utf-8"), "run: make docs"
