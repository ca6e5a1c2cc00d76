"""Imports that meet again: one specification that several others import, and that imports one of them."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from exhume.layout.foreign import Specification, compile_ksy
from tests.toolchain.collection import Collection

TEXTS = {
    "top": """
meta: {id: top, endian: le, imports: [left, right, base]}
seq:
  - {id: l, type: left}
  - {id: r, type: right}
  - {id: own, type: base::unit(2)}
  - {id: kind, type: u1, enum: base::kinds}
instances:
  same: {value: l.unit.kind == r.unit.kind}
  named: {value: "base::kinds::b.to_i"}
  one: {value: "kind == base::kinds::a ? l.unit : r.unit"}
""",
    "left": "meta: {id: left, endian: le, imports: base}\nseq: [{id: unit, type: base::unit(1)}]\n",
    "right": """
meta: {id: right, endian: le, imports: [base]}
seq: [{id: unit, type: base::unit(3)}, {id: whole, type: base}]
""",
    "base": """
meta: {id: base, endian: be, imports: [left]}
seq: [{id: u, type: unit(1)}, {id: more, type: left, if: u.kind == kinds::a}]
enums: {kinds: {1: a, 2: b}}
types:
  unit:
    params: [{id: many, type: u1}]
    seq: [{id: kind, type: u1, enum: kinds}, {id: values, type: u2, repeat: expr, repeat-expr: many}]
    instances: {first: {value: 'values[0] + many'}}
""",
}
DATA = b"".join(
    bytes([kind]) + struct.pack(f">{len(values)}H", *values)
    for kind, values in ((1, [7]), (1, [8, 9, 10]), (2, [11]), (5, [12, 13]), (2, []))
)
USED = """
from typing import assert_type

from readers.base import Base
from readers.left import Left
from readers.top import Top

top = Top.from_bytes(b"")
assert_type(top.l.unit, Base.Unit)
assert_type(top.r.whole.u, Base.Unit)
assert_type(top.r.whole.more, Left | None)
units: list[Base.Unit] = [top.l.unit, top.r.unit, top.own, top.one]
number: int = top.own.first + top.kind
"""


@pytest.fixture
def diamond(tmp_path: Path) -> Specification:
    """The specification `top`: its imports `left` and `right` both import `base`, and `base` imports `left`."""
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.ksy").write_text(text, encoding="utf-8")
    return compile_ksy(tmp_path / "top.ksy")


def test_what_is_imported_twice_is_one_type(diamond: Specification) -> None:
    r = diamond.read(DATA)
    assert (r.same, r.named, r.own.first, r.r.whole.u.first) == (True, 2, 14, 12)
    assert len({type(one) for one in (r.l.unit, r.r.unit, r.own, r.r.whole.u, r.one)}) == 1
    assert type(r.kind) is type(r.l.unit.kind)
    assert (r.kind.name, r.own.kind, r.one is r.r.unit) == ("b", 5, True)
    assert sorted(diamond.texts) == ["__init__.py", "_layout.py", "base.py", "left.py", "right.py", "top.py"]
    again = diamond.read(DATA.replace(b"\2\0\x0b", b"\1\0\x0b\1\0\x05"))
    assert type(again.r.whole.more) is type(again.l)
    assert again.r.whole.more.unit.first == 6


@pytest.mark.node
@pytest.mark.slow
def test_kaitai_reads_the_same(diamond: Specification, tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    for name in TEXTS:
        file = tmp_path / f"{name}.ksy"
        tried = collection.compare(file, collection.compiled(file), 8)
        assert not tried.problem
        assert tried.whole > 0


@pytest.mark.slow
def test_the_types_are_one_for_type_checkers(diamond: Specification, tmp_path: Path) -> None:
    (tmp_path / "readers").mkdir()
    for path, content in diamond.package.items():
        (tmp_path / "readers" / path).write_bytes(content)
    (tmp_path / "used.py").write_text(USED)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "readers", "used.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("Success: "), ran.stdout
