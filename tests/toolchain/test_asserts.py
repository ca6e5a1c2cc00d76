"""Tests that prove nothing, or that change what others see.

Each test has to assert something outside of loops and conditions that may not run.

`make unreached` runs the tests, and finds the asserts that no run reaches; this examines the text alone.  A loop counts
where its text shows that it runs, as over a constant, or where it is over `tests.sizes.some(...)`, which fails if there
is nothing.

No generator patches anything: left half-way, it keeps its patch until the collector of garbage ends it, in the middle
of another test.  Fixtures, context managers and hooks are generators that something always ends.
"""

from __future__ import annotations

import ast
import gc
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT

RAISES = {
    "ark/test_rbuf.py::test_damage_never_escapes": "any other exception fails it",
    "clp_s/test_kql.py::test_whatever_is_no_query_is_refused_at_a_column": "any other exception fails it",
    "clp_s/test_layout.py::test_any_packet_unpacks_or_breaks_its_rule": "any other exception fails it",
    "clp_s/test_search_conformance.py::test_times_and_time_bounds": "other tests see to it that archives are made",
    "core/test_codecs.py::test_garbage_never_escapes": "any other exception fails it",
    "core/test_output.py::test_a_directory_that_cannot_be_synced": "an exception fails it",
    "fuzz/test_fuzz.py::test_what_was_found_stays_repaired": "the guard raises",
    "toolchain/test_strategies.py::test_the_walk_reads_every_sample": "the walk raises",
}
"""Tests that fail by what they call, and how."""

CHECKS = {"raises", "warns", "fail", "deprecated_call", "check_call", "check_output"}
KEEP = {"sorted", "list", "tuple", "set", "enumerate", "reversed", "dict", "frozenset"}
"""Functions that keep whether what they get has elements."""


class Name(NamedTuple):
    """A name of a module."""

    path: Path
    name: str


Function = ast.FunctionDef | ast.AsyncFunctionDef


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement of a module, outer ones first, without the expressions in them."""
    waiting: deque[ast.AST] = deque(tree.body)
    while waiting:
        node = waiting.popleft()
        yield node
        for parts in ("body", "handlers", "cases", "orelse", "finalbody"):
            waiting.extend(getattr(node, parts, ()))


class Module:
    """What the names of a module are, and its functions in whose text is a `yield`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.functions: dict[str, Function] = {}
        self.constants: dict[str, ast.expr] = {}
        self.imports: dict[str, Name] = {}
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        tree = ast.parse(text)
        every = list(statements(tree))
        self.generators = [
            node
            for node in every
            if isinstance(node, Function) and "yield" in "\n".join(lines[node.lineno - 1 : node.end_lineno])
        ]
        for node in every:
            if isinstance(node, Function):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    for folder in (ROOT, ROOT / "tests", path.parent):
                        stem = folder.joinpath(*node.module.split("."))
                        for file, name in ((stem.with_suffix(".py"), alias.name), (stem / f"{alias.name}.py", "")):
                            if file.is_file():
                                self.imports.setdefault(alias.asname or alias.name, Name(file, name))
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        self.constants[target.id] = node.value


module = cache(Module)


@pytest.fixture(scope="module", autouse=True)
def trees() -> Iterator[None]:
    """Keep the trees of all modules for the tests of this one, and from the collector of garbage."""
    gc.disable()
    yield
    module.cache_clear()
    gc.enable()


def evaluated(expression: ast.AST) -> Iterator[ast.AST]:
    """What is evaluated of an expression, whatever its values are."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            waiting.append(node.generators[0].iter)
        elif isinstance(node, ast.IfExp):
            waiting.append(node.test)
        elif isinstance(node, ast.BoolOp):
            waiting.append(node.values[0])
        elif not isinstance(node, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


class Looks:
    """Looks for asserts in the functions of a module."""

    def __init__(self, path: Path, seen: frozenset[Name] = frozenset()) -> None:
        self.module, self.seen = module(path), seen

    def function(self, name: str) -> bool:
        """Whether a function of this module, or one that it imports, always asserts."""
        here = Name(self.module.path, name)
        if here in self.seen:
            return False
        if name in self.module.imports:
            there = self.module.imports[name]
            return bool(there.name) and Looks(there.path, self.seen | {here}).function(there.name)
        if (found := self.module.functions.get(name)) is None:
            return False
        return Looks(self.module.path, self.seen | {here}).block(found.body)

    def block(self, body: list[ast.stmt]) -> bool:
        return any(map(self.statement, body))

    def statement(self, node: ast.stmt) -> bool:
        """Whether a statement always asserts something."""
        match node:
            case ast.Assert() | ast.Raise():
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return False
            case ast.If():
                return self.expression(node.test) or (self.block(node.body) and self.block(node.orelse))
            case ast.For() | ast.AsyncFor():
                runs = self.has_elements(node.iter) and self.block(node.body)
                return runs or self.expression(node.iter) or self.block(node.orelse)
            case ast.While():
                return self.expression(node.test) or (isinstance(node.test, ast.Constant) and self.block(node.body))
            case ast.With() | ast.AsyncWith():
                return any(self.expression(item.context_expr) for item in node.items) or self.block(node.body)
            case ast.Try():
                tried = self.block(node.body) or self.block(node.orelse)
                handled = all(self.block(handler.body) for handler in node.handlers)
                return (tried and handled) or self.block(node.finalbody)
            case ast.Match():
                return all(self.block(case.body) for case in node.cases)
        return any(map(self.expression, (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))))

    def expression(self, node: ast.expr) -> bool:
        """Whether evaluating an expression asserts something."""
        return any(self.call(one) for one in evaluated(node) if isinstance(one, ast.Call))

    def call(self, node: ast.Call) -> bool:
        words = {word.arg: ast.unparse(word.value) for word in node.keywords}
        if words.get("check") == "True":
            return True
        match node.func:
            case ast.Name(name):
                return self.function(name)
            case ast.Attribute(ast.Name("self"), name):
                return self.function(name)
            case ast.Attribute(owner, name):
                there = self.module.imports.get(owner.id) if isinstance(owner, ast.Name) else None
                known = there is not None and not there.name and Looks(there.path, self.seen).function(name)
                return known or name in CHECKS or name.startswith("assert_")
        return False

    def has_elements(self, node: ast.expr, depth: int = 0) -> bool:  # noqa: C901 - one case for each kind
        """Whether the text of an expression shows that a loop over it runs."""
        deeper = depth + 1
        match node:
            case ast.Tuple(elements) | ast.List(elements) | ast.Set(elements):
                return any(not isinstance(one, ast.Starred) or self.has_elements(one.value, deeper) for one in elements)
            case ast.Dict(keys, values):
                pairs = zip(keys, values, strict=True)
                return any(key is not None or self.has_elements(value, deeper) for key, value in pairs)
            case ast.Constant(value):
                return isinstance(value, str | bytes) and bool(value)
            case ast.Name(name) if depth < 8:
                if name in self.module.constants:
                    return self.has_elements(self.module.constants[name], deeper)
                there = self.module.imports.get(name)
                return there is not None and Looks(there.path).has_elements(ast.Name(there.name), deeper)
            case ast.BinOp(left, ast.Add() | ast.BitOr(), right):
                return self.has_elements(left, deeper) or self.has_elements(right, deeper)
            case ast.ListComp(_, generators) | ast.GeneratorExp(_, generators) | ast.SetComp(_, generators):
                return all(not one.ifs and self.has_elements(one.iter, deeper) for one in generators)
            case ast.Call(ast.Name(name), arguments):
                if name in KEEP:
                    return bool(arguments) and self.has_elements(arguments[0], deeper)
                if name in ("zip", "product"):
                    return bool(arguments) and all(self.has_elements(one, deeper) for one in arguments)
                return name == "some" or (name == "range" and self.counts(arguments))
            case ast.Call(ast.Attribute(owner, name), arguments):
                if name in ("items", "values", "keys", "split", "splitlines"):
                    return self.has_elements(owner, deeper)
                return name in ("count", "permutations")
        return False

    def counts(self, arguments: list[ast.expr]) -> bool:
        """Whether a range is not empty."""
        if len(arguments) == 1:
            match arguments[0]:
                case ast.BinOp(ast.Call(ast.Name("len")), ast.Add(), ast.Constant(int(more))):
                    return more > 0
        numbers = [self.number(one) for one in arguments]
        return all(number is not None for number in numbers) and bool(range(*(number or 0 for number in numbers)))

    def number(self, node: ast.expr) -> int | None:
        match node:
            case ast.Constant(int(value)):
                return value
            case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
                return -value
            case ast.Call(ast.Name("size"), [ast.Constant(int(value)), _]):
                return value
            case ast.BinOp(left, ast.Mult(), right):
                pair = self.number(left), self.number(right)
                return None if pair[0] is None or pair[1] is None else pair[0] * pair[1]
            case ast.Name(name) if name in self.module.constants:
                return self.number(self.module.constants[name])
        return None


def idle() -> list[str]:
    """The tests that may pass without having asserted anything."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        place = path.relative_to(ROOT / "tests").as_posix()
        tests = {name: node for name, node in module(path).functions.items() if name.startswith("test_")}
        found += [f"{place}::{name}" for name, node in tests.items() if not Looks(path).block(node.body)]
    return found


def test_every_test_asserts_something() -> None:
    found = idle()
    assert [one for one in found if one not in RAISES] == []
    assert [one for one in RAISES if one not in found] == [], "no longer so"


@pytest.mark.parametrize(
    ("text", "asserts"),
    [
        ("assert x", True),
        ("for one in found(): assert one", False),
        ("for one in (1, 2): assert one", True),
        ("for one in some(found()): assert one", True),
        ("for one in EMPTY: assert one", False),
        ("for one in sorted(FULL): assert one", True),
        ("for one in range(3): assert one", True),
        ("for one in range(len(x)): assert one", False),
        ("if x: assert x", False),
        ("if x: assert x\nelse: check()", True),
        ("check()", True),
        ("x and check()", False),
        ("[check() for one in x]", False),
        ("with pytest.raises(E): x()", True),
        ("try: x()\nexcept E: assert y", False),
        ("try: x()\nexcept E: pass\nelse: assert y", False),
        ("try: x()\nexcept E: assert z\nelse: assert y", True),
        ("def inner(): assert x", False),
        ("run(x, check=True)", True),
    ],
)
def test_the_check_itself(text: str, asserts: bool, tmp_path: Path) -> None:
    body = "\n".join(f"    {line}" for line in text.splitlines())
    path = tmp_path / "test_it.py"
    path.write_text(f"EMPTY = ()\nFULL = {{1, 2}}\ndef check(): assert x\ndef test_it():\n{body}\n")
    assert Looks(path).function("test_it") is asserts


PATCHES = {"setattr", "delattr", "setitem", "delitem", "setenv", "delenv", "syspath_prepend", "chdir", "context"}
"""Methods of a `MonkeyPatch`, and functions, that change what other tests see."""
PATCHED = {"os.environ", "sys.modules", "sys.meta_path", "sys.path"}
ENDED = ("fixture", "contextmanager", "hookimpl")
"""Decorators of generators that something always ends."""


def own(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function's body without those of functions in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def is_ended(function: Function) -> bool:
    return any(word in ast.unparse(one) for one in function.decorator_list for word in ENDED)


def patches(node: ast.AST, within: Module) -> bool:
    """Whether a statement or call changes what other tests see until something undoes it."""
    match node:
        case ast.Call(ast.Name("patch" | "chdir" | "setattr" | "delattr")):
            return True
        case ast.Call(ast.Attribute(owner, name)):
            of = ast.unparse(owner)
            if of.rpartition(".")[2] in ("patch", "mock") or name in PATCHES:
                return True
            return of in PATCHED and name not in ("get", "items", "copy")
        case ast.Call(ast.Name(name)) if name in within.functions or name in within.imports:
            there = within.imports.get(name, Name(within.path, name))
            function = module(there.path).functions.get(there.name)
            return function is not None and is_ended(function) and leaks(function, module(there.path))
        case ast.Subscript(owner, _, ast.Store() | ast.Del()):
            return ast.unparse(owner) in PATCHED
    return False


def leaks(function: Function, within: Module) -> bool:
    """Whether a generator holds a patch at a point where it may be left."""
    nodes = list(own(function))
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in nodes) and any(
        patches(one, within) for one in nodes
    )


def test_no_generator_patches_anything() -> None:
    found = [
        f"{path.relative_to(ROOT / 'tests').as_posix()}::{node.name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in module(path).generators
        if not is_ended(node) and leaks(node, module(path))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def it(m):\n    with m.context() as p:\n        p.setattr(x, 'y', 1)\n        yield", True),
        ("def it(monkeypatch):\n    monkeypatch.setenv('A', 'b')\n    yield from x", True),
        ("def it():\n    with patch('os.fsync'):\n        yield 1", True),
        ("def it():\n    with mock.patch.object(os, 'fsync'):\n        yield 1", True),
        ("def it():\n    os.chdir(x)\n    yield 1", True),
        ("def it():\n    os.environ['A'] = 'b'\n    yield 1", True),
        ("def it():\n    sys.modules.pop('json')\n    yield 1", True),
        ("def it():\n    print(os.environ.get('A'))\n    yield 1", False),
        ("@pytest.fixture\ndef it(monkeypatch):\n    monkeypatch.setenv('A', 'b')\n    yield", False),
        (
            "@contextmanager\ndef a():\n    os.chdir(x)\n    yield\ndef it():\n    with a():\n        yield",
            True,
        ),
        ("@contextmanager\ndef quiet():\n    yield\ndef it():\n    with quiet():\n        yield", False),
        ("def it(m):\n    m.setenv('A', 'b')\n    def inner():\n        yield\n    return inner", False),
        ("def it(m):\n    def inner():\n        m.setenv('A', 'b')\n        yield\n    return inner", True),
    ],
)
def test_the_check_of_generators(text: str, expected: bool, tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(text)
    it = module(path)
    found = [one for one in it.generators if not is_ended(one) and leaks(one, it)]
    assert bool(found) is expected
