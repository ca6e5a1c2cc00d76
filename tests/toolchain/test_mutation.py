"""The mutants that `make mutation` tries: found, applied to a module that is imported already, listed where they are
equivalent.
"""

from __future__ import annotations

import sys
import types

import pytest

from tests.sizes import some
from tools.blocks import read_block
from tools.mutants import find_mutants
from tools.mutation import GOAL, equivalents, judges, path_of, transplant

SOURCE = '''
from functools import cached_property
LIMIT = 4
def above(values, limit=LIMIT):
    """Counts."""
    found = [v for v in values if not v <= limit]
    if len(found) > 2 and found[0] is not None:
        return -1
    return len(found) + 10
class Box:
    size = 7
    def __init__(self, value): self.value = value
    @property
    def double(self): return self.value * 2
    @cached_property
    def half(self): return self.value // 2
    @staticmethod
    def one(): return 1
'''


def names() -> list[str]:
    return [mutant.name for mutant in find_mutants(SOURCE)]


def test_what_is_changed() -> None:
    assert {
        "module | LIMIT = 4: 4 -> 5",
        "above | not v <= limit -> v <= limit",
        "above | v <= limit -> v < limit",
        "above | len(found) > 2: 2 -> 3",
        "above | len(found) > 2 and found[0] is not None -> len(found) > 2 or found[0] is not None",
        "above | found[0] is not None -> found[0] is None",
        "above | return len(found) + 10 -> return None",
        "above | len(found) + 10 -> len(found) - 10",
        "Box.__init__ | self.value = value -> removed",
        "Box.one | return 1 -> return None",
    } <= set(names())
    assert len(set(names())) == len(names())
    assert not any("Counts" in name for name in names())


def test_findings_lose_their_parts() -> None:
    source = 'def check():\n    yield RULE.finding(f"in {x}", span=a, expected=1, severity=Severity.NOTE)\n'
    found = {mutant.name.split(" | ")[1] for mutant in find_mutants(source)}
    assert {
        "RULE.finding(… span=a) dropped",
        "RULE.finding(… expected=1) dropped",
        "RULE.finding(f'in {x}' …) dropped",
        "Severity.NOTE -> Severity.ERROR",
    } <= found


def imported(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(__file__="<mutated>", __package__="", __spec__=None, __loader__=None)
    exec(compile(SOURCE, "<mutated>", "exec"), module.__dict__)
    return module


def behavior(module: types.ModuleType) -> object:
    box = module.Box(9)
    return module.above([1, 4, 5, 6]), module.above([5, 6, 7]), module.LIMIT, box.double, box.half, box.one(), box.size


@pytest.mark.parametrize("name", [name for name in names() if "found[0]" not in name])
def test_a_mutant_reaches_what_others_have_imported(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module, user = imported("exhume.mutated"), types.ModuleType("tests.user")
    user.__dict__.update(Box=module.Box, above=module.above, LIMIT=module.LIMIT)
    for each in (module, user):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    before = behavior(user)
    [mutant] = [one for one in find_mutants(SOURCE) if one.name == name]
    transplant(module, compile(mutant.module(), "<mutated>", "exec"))
    try:
        after: object = behavior(user)
    except (AttributeError, TypeError) as error:
        after = error
    assert after != before


def test_equivalent_mutants_are_mutants() -> None:
    for module, known in some(equivalents().items()):
        assert module in judges()
        found = {mutant.name for mutant in find_mutants(path_of(module).read_text(encoding="utf-8"))}
        assert [name for name in known if name not in found] == [], f"{module}: no such mutant any more"
        assert all(len(reason) > 20 for reason in known.values())


def test_what_judges_reaches_the_goal() -> None:
    lines = [line for line in read_block("testing.md", "mutation").splitlines() if "`" in line]
    rows = {line.split("`")[1].removesuffix(".py"): float(line.split("|")[-2].strip(" %")) for line in lines}
    assert set(rows) == set(judges())
    assert {name: share for name, share in rows.items() if share < 100 * GOAL} == {}
