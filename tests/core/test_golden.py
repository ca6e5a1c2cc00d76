"""All that is said about every broken archive, compared with `tests/golden/`; `make golden` after a wanted change."""

from __future__ import annotations

import contextlib
import importlib
import random
from collections import deque
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import exhume
from exhume.archive import MemberArchive
from exhume.errors import ExhumeError, Span
from exhume.findings import CappedFindings, Finding, RuleTable, Severity, Verdict, deduplicated
from exhume.limits import Limits
from exhume.recovery import CarveVerdict, VerifiedBy
from exhume.registry import get_format
from exhume.testing.damage import zero_sector
from tests.broken import FORMATS, broken, describe, golden
from tests.conftest import ROOT
from tests.sizes import size, some
from tools.gen_docs import findings_page, folder_of
from tools.raised import raised_codes

CASES = [(format, name) for format in FORMATS for name in broken(format)]
NO_FINDINGS = {"ARK-108"}
"""What only an answer to a question can be: `verify` examines all logs of a directory."""


@pytest.mark.parametrize(("format", "name"), CASES, ids=["-".join(case) for case in CASES])
@pytest.mark.bulk
def test_all_that_is_reported(tmp_path: Path, format: str, name: str) -> None:
    stated = describe(format, broken(format)[name], tmp_path)
    assert {part: value for part, value in stated.items() if value is not None} == golden(format)[name]


@pytest.mark.parametrize("format", FORMATS)
def test_every_rule_is_broken_somewhere(format: str) -> None:
    reported = golden(format)
    assert list(reported) == list(broken(format))
    package = get_format(format).package
    rules: RuleTable = importlib.import_module(f"{package}.checks").RULES
    codes = {finding.get("code") for case in reported.values() for finding in case["findings"]}
    assert [rule.code for rule in rules if rule.code not in codes | NO_FINDINGS] == []


@pytest.mark.parametrize("format", FORMATS)
def test_the_page_of_findings_is_fresh(format: str) -> None:
    """It has all of a rule: number, severity, exception, sentence, line of the specification, hint."""
    described = get_format(format)
    page = ROOT / "docs" / "findings" / f"{folder_of(described)}.md"
    assert findings_page(described) == page.read_text(encoding="utf-8"), "run: make docs"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.slow
def test_readers_raise_what_the_page_states(tmp_path: Path, format: str) -> None:
    """No reader raises a rule at which, as its page states, readers do not stop."""
    described = get_format(format)
    raised = raised_codes(described)
    rules: RuleTable = described.hook("rules")
    met: dict[str, str] = {}
    for number, (name, case) in enumerate(broken(format).items()):
        with case.target(tmp_path / str(number)) as target:
            try:
                with exhume.open(target, format=format, limits=case.limits) as archive:
                    for entry in archive.entries():
                        if isinstance(archive, MemberArchive):
                            archive.read_member(entry.name or "")
            except ExhumeError as error:
                met.setdefault(error.code, name)
    assert raised & met.keys()
    ours = {rule.code for rule in rules}
    assert {code: name for code, name in met.items() if code in ours - raised} == {}


@pytest.mark.parametrize("format", FORMATS)
def test_one_fault_is_one_finding(format: str) -> None:
    """However many checks meet it; the same words twice stand for two fields, and both are named."""
    for name, case in some(golden(format).items()):
        reported: dict[str, list[str | None]] = {}
        for finding in case["findings"]:
            reported.setdefault(str([finding[key] for key in ("code", "span", "message")]), []).append(
                finding["field_path"]
            )
        repeated = {words: paths for words, paths in reported.items() if len(paths) > 1}
        assert all(None not in paths and len(set(paths)) == len(paths) for paths in repeated.values()), (name, repeated)


@pytest.mark.parametrize("format", FORMATS)
def test_info_finds_nothing_that_verify_does_not(tmp_path: Path, format: str) -> None:
    cases = broken(format)
    reported = {"clp-s": "salvage: wrong info and ranges", "kv-ir": "a new key lost"}.get(format)
    others: dict[str, set[str]] = {}
    for name in dict.fromkeys([*filter(None, [reported]), *list(cases)[::4]]):
        with cases[name].target(tmp_path / name.replace("/", "_")) as target, contextlib.suppress(ExhumeError):
            with exhume.open(target, format=format, limits=cases[name].limits) as archive:
                found = {finding.code for finding in archive.info().findings if finding.is_problem}
            others[name] = found - {finding["code"] for finding in golden(format)[name]["findings"]}
    assert {name: found for name, found in others.items() if found} == {}


PRESENT = {CarveVerdict.COMPLETE: Verdict.OK, CarveVerdict.PARTIAL: Verdict.DAMAGED}
"""The verdict of `verify` on an archive for those of `carve` that have another name; the others have the same."""


def stated_of(target: Any, format: str, limits: Limits) -> dict[str, Verdict]:
    """The verdict on an archive by each verb that shows one."""
    stated = {"verify": exhume.verify(target, format=format, limits=limits).verdict}
    with contextlib.suppress(ExhumeError), exhume.inspect(target, format=format, limits=limits) as archive:
        facts = archive.info().to_dict()
        if "verdict" in facts:
            stated["info"] = Verdict(facts["verdict"])
        deque(archive.verify(), maxlen=0)
        assert archive.verdict is not None
        stated["map, explain"] = archive.verdict
    for found in exhume.carve(target, limits=limits) if isinstance(target, bytes) else ():
        if (found.format, found.offset, found.length) == (format, 0, len(target)):
            same = PRESENT.get(found.verdict)
            stated["carve"] = Verdict(str(found.verdict)) if same is None else same
            if stated["carve"] is Verdict.INCOMPLETE and found.verified_by is VerifiedBy.NONE:
                del stated["carve"]  # of bytes that may be of other files
    return stated


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.bulk
def test_every_verb_has_the_same_verdict(tmp_path: Path, format: str) -> None:
    """For the broken archives, and for each with more damage."""
    differ: dict[str, dict[str, Verdict]] = {}
    rng = random.Random(44)
    for number, (name, case) in enumerate(broken(format).items()):
        severities = {finding["severity"] for finding in golden(format)[name]["findings"]}
        if number % size(9, 1) and not {"error", "unchecked"} <= severities:
            continue  # they differed where one of two faults prevents a check
        with case.target(tmp_path / str(number)) as target:
            for how in range(2) if isinstance(target, bytes) else range(1):
                if how:
                    at = rng.randrange(len(target) or 1)
                    target = target[:at] if at % 3 == 0 else zero_sector(target, at, 1 + at % 2 * 63)
                stated = stated_of(target, format, case.limits)
                if len(set(stated.values())) > 1:
                    differ[f"{name}, damaged at {at}" if how else name] = stated
    assert differ == {}


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_lost_is_counted(format: str) -> None:
    reports = {name: case["salvage"]["archive"] for name, case in golden(format).items()}
    lossy = {
        name: report["lost"]
        for name, report in reports.items()
        if isinstance(report, dict) and any(span["outcome"] == "lost" for span in report["spans"])
    }
    assert [name for name, lost in lossy.items() if not sum(lost.values())] == []


@pytest.mark.parametrize("format", ["caf", "zs"])
def test_every_byte_of_one_file_has_one_outcome(format: str) -> None:
    reports = {name: case["salvage"]["archive"] for name, case in golden(format).items()}
    for name, report in some(item for item in reports.items() if isinstance(item[1], dict)):
        spans = [(outcome["start"], outcome["end"]) for outcome in report["spans"]]
        starts, ends = [start for start, _ in spans], [0, *(end for _, end in spans)]
        assert starts == ends[:-1], (name, spans)


def test_repetitions_are_recognized_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def finding(at: int, path: str | None = None) -> Finding:
        return Finding("EX-1", Severity.ERROR, "wrong", Span("a", at, at + 1), path)

    given = [finding(1, "x"), finding(2), finding(1), finding(2), finding(1, "y"), finding(1, "x"), finding(2, "z")]
    reported = [finding(1, "x"), finding(2), finding(1, "y"), finding(2, "z")]
    assert list(deduplicated(given)) == reported
    monkeypatch.setattr("exhume.findings.MAX_REMEMBERED", 2)
    assert list(deduplicated([*map(finding, range(4)), finding(0), finding(3)])) == [
        *map(finding, range(4)),
        finding(0),
    ]


def test_a_rule_that_is_broken_often_is_reported_a_hundred_times() -> None:
    def finding(code: str, at: int, severity: Severity = Severity.ERROR) -> Finding:
        return Finding(code, severity, f"wrong: {at}", Span("a", at, at + 1), f"x[{at}]", at, at, "spec")

    found = CappedFindings()
    given = [finding("EX-1", at) for at in range(205)] + [finding("EX-2", at, Severity.NOTE) for at in range(100)]
    for one in given:
        found.append(one)
    reported = found.findings()
    assert reported[:200] == given[:100] + given[205:]
    assert reported[200:] == [
        Finding("EX-1", Severity.ERROR, "wrong: 105 more in this file", Span("a", 204, 205), spec_ref="spec")
    ]
    assert found.findings() == reported


@given(st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), max_size=9), max_size=5))
@example(parts=[[("b", 0)], [("a", 0)] * 4 + [("b", 0)] * 3])
def test_parts_of_a_file_are_reported_together(parts: list[list[tuple[str, int]]]) -> None:
    with patch("exhume.findings.MAX_PER_RULE", 3):
        together, whole = CappedFindings(), CappedFindings()
        for part in parts:
            mine = CappedFindings()
            for code, at in part:
                one = Finding(code, Severity.ERROR, f"wrong: {at}", Span("a", at, at + 1))
                mine.append(one)
                whole.append(one)
            together.extend(mine)
        assert together.findings() == whole.findings()
