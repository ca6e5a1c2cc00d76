"""Readers with small readers written into them read, and fail, as those that call each other."""

from __future__ import annotations

import ast
import itertools
import struct
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from exhume.compiler.emit import inline, sums
from exhume.layout.foreign import Specification, compile_ksy
from tests.compiler import specs
from tests.toolchain.natively import compared

NAMES = """meta: {id: names, endian: le}
seq: [{id: names, type: name, repeat: eos}]
types:
  name:
    seq:
    - {id: labels, type: label(labels.size), repeat: until, repeat-until: _.length == 0}
    - {id: end, type: end, size: 2}
  label:
    params: [{id: index, type: u4}]
    seq: [{id: length, type: u1}, {id: text, type: str, encoding: UTF-8, size: length}]
    instances: {place: {value: index + 1}}
  end: {seq: [{id: low, type: u1}]}
"""
OTHER = """meta: {id: other, imports: [names]}
seq: [{id: name, type: names, size: 8}, {id: rest, type: names::name}]
"""
SUMS = """meta: {id: sums, endian: le}
seq: [{id: a, type: s8}, {id: b, type: s8}]
instances:
  product: {value: a * b}
  more: {value: product * product}
  less: {value: product - more}
  both: {value: product + more + a}
"""


@cache
def every() -> Specification:
    return compile_ksy(specs.EVERY)


def calling(specification: Specification) -> Specification:
    """The same specification, whose readers call each other."""
    found = Specification(specification.id, specification.specs, specification.texts, specification.given)
    found.__dict__["_run_texts"] = specification.texts
    return found


def called(text: str) -> dict[str, set[str]]:
    """The readers that each reader of a module calls."""
    found = {}
    for one in ast.parse(text).body:
        if isinstance(one, ast.FunctionDef) and one.name.startswith("read_"):
            nodes = [node.func for node in ast.walk(one) if isinstance(node, ast.Call)]
            names = {getattr(node, "id", getattr(node, "attr", "")) for node in nodes}
            found[one.name] = {name for name in names if name.startswith("read_")}
    return found


@pytest.fixture
def names(tmp_path: Path) -> Specification:
    for id, text in (("names", NAMES), ("other", OTHER)):
        (tmp_path / f"{id}.ksy").write_text(text, encoding="utf-8")
    return compile_ksy(tmp_path / "other.ksy")


def test_small_readers_are_written_into_those_that_call_them(names: Specification) -> None:
    before = called(names.texts["names.py"])
    assert before["read_names"] == {"read_name"}
    assert before["read_name"] == {"read_label", "read_end"}
    found = inline.inlined(names.texts)
    assert set().union(*called(found["names.py"]).values()) == set()
    assert called(found["other.py"]) == {"read_other": {"read_names"}}  # which is too long by now


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"\1a\0\5\0\0\5\0" + b"\0\5\0", ""),
        (b"\1a\0\5\0\2a\0", "name.names[1].labels[1].length"),
        (b"\1a\0\5\0\0\5\0" + b"\2ab\1\xff\0\5\0", "rest.labels[1].text"),
        (b"\0\5\0\0\5\0\0\5", "name.names[2].end"),
        (b"\1a\0\5\0\0\5\0" + b"\2a", "rest.labels[0].text"),
        (b"\1a\0\5", "name"),
    ],
)
def test_errors_have_the_path_and_the_place_of_those_of_calls(names: Specification, data: bytes, path: str) -> None:
    found: list[tuple[Any, ...]] = []
    for one in (names, calling(names)):
        module = one.module
        try:
            value = module.Other.from_bytes(data)
        except ValueError as error:
            assert isinstance(error, module.LayoutError)
            found.append((error.path, error.offset, error.stop, error.expected, error.found, type(error).__name__))
        else:
            assert [label.place for label in value.rest.labels] == [1]
            assert value.name.names[0].labels[0]._parent is value.name.names[0]
            found.append((value.name.names[1].labels[0].text, value.name.names[0].end._io.pos(), value._io.pos()))
    assert found[0] == found[1]
    assert found[0][0] == path


@pytest.mark.parametrize("file", specs.files(), ids=lambda file: file.stem)
def test_they_yield_what_readers_that_call_each_other_yield(file: Path) -> None:
    plain = specs.part(every(), file.stem, native=False)
    many, found = compared(calling(plain), plain, 4)
    assert not found
    assert many > 5


def test_sums_and_products_are_the_same_and_end_at_the_same_bounds(tmp_path: Path) -> None:
    file = tmp_path / "sums.ksy"
    file.write_text(SUMS, encoding="utf-8")
    plain = compile_ksy(file)
    text = inline.inlined(plain.texts)["sums.py"]
    assert "self._product = _made if -536870912 < (_made := (self.a * self.b)) and _made < 536870912 else" in text
    bounds = [0, 1, 3, 2**14, 2**15, 2**29 - 1, 2**29, 2**32, 2**63 - 1]
    numbers = [sign * one for one in bounds for sign in (1, -1)]
    for a, b in itertools.product(numbers, numbers):
        one, other = (each.module.Sums.from_bytes(struct.pack("<qq", a, b)) for each in (plain, calling(plain)))
        found = [one.product, one.more, one.less, one.both]
        assert found == [other.product, other.more, other.less, other.both]
        assert found == [a * b, (a * b) ** 2, a * b - (a * b) ** 2, a * b + (a * b) ** 2 + a]


def test_long_products_do_not_grow_with_every_factor(tmp_path: Path) -> None:
    file = tmp_path / "sums.ksy"
    file.write_text(SUMS.replace("a * b}", f"{'a * ' * 60}b}}"), encoding="utf-8")
    plain = compile_ksy(file)
    assert len(inline.inlined(plain.texts)["sums.py"]) < 2 * len(plain.texts["sums.py"])
    assert plain.module.Sums.from_bytes(struct.pack("<qq", 3, 5)).product == 3**60 * 5


def test_no_name_is_left_undefined() -> None:
    texts = inline.inlined(every().texts)
    found = [f"{path}: {one}" for path, text in texts.items() if path[0] != "_" for one in specs.names_amiss(text)]
    assert [one for one in found if "not defined" in one] == []


def test_a_package_grows_to_a_bound(names: Specification, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline, "MOST_ADDED", 0)
    texts = inline.inlined(names.texts)
    assert called(texts["names.py"]) == called(names.texts["names.py"])


def test_functions_are_called_often_enough_for_python_to_adapt_them(names: Specification) -> None:
    layout = sys.modules[f"{names.module.__package__}._layout"]
    calls = []

    def read(view: int, run: int) -> None:
        calls.append((view, run))
        run.steps  # type: ignore[attr-defined]  # noqa: B018 - as readers do first

    layout.warm(read)
    assert calls == [(0, 0)] * (layout.CALLS if sys.version_info[:2] == (3, 11) else 0)


FOUR = "multiplied(multiplied(multiplied(multiplied(a, b), c), 2), 3)"


@pytest.mark.parametrize(
    ("text", "many", "whole"),
    [
        ("multiplied(a, b)", 1, True), ("multiplied(len(s), b)", 1, True), ("multiplied(int(a), b)", 0, False),
        ("joined(0, a, 1)", 1, True), ("joined(0, a, -b)", 1, True), ("joined(0, a, multiplied(b, c))", 2, True),
        ("joined(0, a, b)", 0, False), ("joined(0, s, 'text')", 0, False), ("joined(0, a, ~b)", 0, False),
        ("joined(0, a, joined(0, b, 1))", 1, False), ("joined(0, a, -joined(0, b, 1))", 1, False),
        ("int(multiplied(a, b))", 1, False), ("a + b", 0, False),
        (FOUR, 4, True), (f"multiplied({FOUR}, b)", 4, False),
    ],
)  # fmt: skip
def test_checks_are_written_in_place_of_few_calls_of_numbers(text: str, many: int, whole: bool) -> None:
    tree = ast.parse(text, mode="eval")
    assert sums.write_sums(tree) is (many > 0)
    written = ast.unparse(tree)
    assert (written.count("(_made := "), written.startswith("_made if ")) == (many, whole)
    calls: list[str] = []

    def multiplied(left: Any, right: Any) -> Any:
        calls.append("multiplied")
        return left * right

    def joined(_: int, left: Any, right: Any) -> Any:
        calls.append("joined")
        return left + right

    for numbers in ({"a": 7, "b": -3, "c": 5}, {"a": 1 << 40, "b": 1 << 35, "c": -(1 << 33)}):
        given = {"multiplied": multiplied, "joined": joined, "s": "text", **numbers}
        expected = eval(text, given)
        calls.clear()
        assert eval(written, given) == expected
        assert calls == [] or not whole or numbers["a"] > 7, "small numbers need no call"
