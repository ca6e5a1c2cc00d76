"""Which rules of a format a reader raises, computed from the uses of each in the code of the format.

A rule that only makes findings, or that only `verify` reports, stops no reader: `exhume cat` shows the archive.
"""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator
from pathlib import Path

from exhume import registry
from exhume.findings import Rule

FACTS = frozenset(("finding", "code", "title", "spec", "severity", "hint", "error_type"))
"""Attributes of a rule whose use does not raise it."""


@functools.cache
def raised_codes(described: registry.Format) -> frozenset[str]:
    """Return the codes of the rules that readers of a format raise as exceptions."""
    checks = importlib.import_module(f"{described.package}.checks")
    rules = {name: rule.code for name, rule in vars(checks).items() if isinstance(rule, Rule)}
    folder = Path(str(checks.__file__)).parent
    found: set[str] = set()
    for file in sorted(folder.rglob("*.py")):
        for name, use in _uses(ast.parse(file.read_text(encoding="utf-8")), rules):
            is_reported = use in FACTS or (file.stem.startswith("verify") and use != "error")
            if not is_reported:
                found.add(rules[name])
    return frozenset(found)


def _uses(tree: ast.Module, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Each use of a rule: its name, and the attribute that is read of it; "" where it is passed on."""
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "checks":
            name = node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            name = node.id
        else:
            continue
        if name in names and not isinstance(parents[node], ast.Compare):
            parent = parents[node]
            yield name, parent.attr if isinstance(parent, ast.Attribute) else ""
