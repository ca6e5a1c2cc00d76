"""One vocabulary for verdicts: docs/trust.md has the words, and neither code, JSON nor pages use others."""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.engines.verify import Verification
from exhume.errors import SourceError
from exhume.findings import NOT_CHECKED, STRUCTURE_ONLY, Severity, Verdict
from exhume.io.source import BytesSource
from exhume.recovery import CarveVerdict
from exhume.testing.sources import MisreportingSource, failing
from tests.conftest import ROOT
from tests.sizes import some

PACKAGE = ROOT / "src" / "exhume"
OTHERS = re.compile(
    r"\b(no errors|not verified|sound|healthy|is valid|valid archive|looks (fine|good)|all good|corrupt archive)\b",
    re.I,
)
"""Words that could pass for a verdict."""


def words_of(page: str, mark: str) -> list[str]:
    """The first column of a table between marks."""
    table = page.split(f"<!-- {mark} -->")[1].split(f"<!-- end of {mark} -->")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def test_the_words_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    assert words_of(page, "verdicts") == list(Verdict)
    assert sorted(words_of(page, "carve verdicts")) == sorted(CarveVerdict)


def test_json_has_no_other_verdict() -> None:
    found: dict[frozenset[str], list[str]] = {}
    for path in sorted((PACKAGE / "schemas").glob("*.json")):
        for enums in verdicts_in(json.loads(path.read_text(encoding="utf-8"))):
            found.setdefault(frozenset(enums), []).append(path.stem)
    assert found.keys() == {frozenset(Verdict), frozenset(CarveVerdict)}
    assert set(found[frozenset(CarveVerdict)]) == {"carve", "report"}


def verdicts_in(schema: Any) -> Iterator[list[str]]:
    """The values of each key `verdict`."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "verdict":
                yield next(one["enum"] for one in [value, *value.get("anyOf", ())] if "enum" in one)
            else:
                yield from verdicts_in(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from verdicts_in(value)


JOINTS = re.compile(r"""\\.|["']\s*[bfr]*["']""")
"""What strings have in a module, but not in the program: escapes, and ends of strings that follow each other."""


def texts(source: str) -> Iterator[str]:
    """The strings of a module that are not docstrings."""
    tree = ast.parse(source)
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value


def test_no_text_uses_another_word() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        plain = JOINTS.sub(lambda found: " " * found[0].startswith("\\"), source)
        stated = [text for text in texts(source) if OTHERS.search(text)] if OTHERS.search(plain) else []
        if stated and path.name != "findings.py":
            found[str(path.relative_to(PACKAGE))] = stated
    assert found == {}
    assert "sound" in STRUCTURE_ONLY
    for path in [*PACKAGE.rglob("*.js"), *PACKAGE.rglob("*.css")]:
        assert not OTHERS.search(path.read_text(encoding="utf-8")), path


def test_a_verdict_is_computed_from_all_findings() -> None:
    severities = exhume.Severity
    assert Verdict.of_severities([]) is Verdict.OK
    assert Verdict.of_severities([severities.WARNING, severities.NOTE]) is Verdict.OK
    assert Verdict.of_severities([severities.UNCHECKED, severities.NOTE]) is Verdict.INCOMPLETE
    assert Verdict.of_severities([severities.UNCHECKED, severities.ERROR]) is Verdict.DAMAGED


def test_a_verification_is_neither_true_nor_false(samples: Path) -> None:
    whole = samples / "zs" / "words-none.zs"
    checked = exhume.verify(whole)
    with pytest.raises(TypeError, match="no truth value"):
        bool(checked)
    assert (checked.verdict, checked.ok, list(checked)) == (Verdict.OK, True, [])
    broken = exhume.verify(whole.read_bytes()[:-1])
    first = next(broken)
    assert (first.code, broken.ok, broken.verdict, list(broken)) == ("ZS-303", False, Verdict.DAMAGED, [])

    failed = Verification(MisreportingSource(BytesSource(whole.read_bytes()), failing(0)), format="zs")
    with pytest.raises(SourceError):
        list(failed)
    assert failed.verdict is Verdict.INCOMPLETE


NOT_KNOWN = re.compile(
    r"unknown|not known|does not know|not read\b|not understood|supported"
    r"|allowed|\blimit\b|too (many|deep|large|deeply)"
)
KNOWN_ALL_THE_SAME = {
    "ARK-109": "a manifest without a schema of its own is read with the one of its format",
    "ARK-307": "rbuf lets a reader skip groups that a newer writer added",
    "DBND-319": "a type that is not set is a file; another one is `unchecked` where it is found",
    "KVIR-322": "the stream itself never stated the key",
}
"""Rules whose words state it of something else than a thing that is not supported here."""


@pytest.mark.parametrize("format", ["ark", "caf", "clp_s", "data_bundle", "kv_ir", "leveldb", "zs"])
def test_what_is_not_known_or_over_a_limit_is_not_checked(format: str) -> None:
    """Neither is damage, and neither is fine: such a rule is `unchecked`, as is every rule whose error states it."""
    rules = list(importlib.import_module(f"exhume.formats.{format}.checks").RULES)
    for rule in some(rules):
        prevented = issubclass(rule.error_type, NOT_CHECKED)
        assert (rule.severity is Severity.UNCHECKED) == prevented, rule.code
        if rule.code not in KNOWN_ALL_THE_SAME:
            assert prevented or not NOT_KNOWN.search(rule.title), (rule.code, rule.title)
