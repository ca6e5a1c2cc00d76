"""The stubs of Kaitai's classes: what they say of every attribute is so in all samples; a type checker reads them."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kaitaistruct
import pytest

from tests.conftest import ROOT
from tools.ksy_stubs import stubs

FOLDER = ROOT / "generated/exhume_ksy"
SAMPLES = sorted(path for path in (ROOT / "tests/samples/ksy").glob("*.bin"))
PLAIN = {"int": int, "str": str, "bytes": bytes, "bool": bool, "float": float, "None": type(None)}


def stated(module: str) -> dict[str, dict[str, str]]:
    """The annotations in the stub of a module, by class and attribute."""
    found: dict[str, dict[str, str]] = {}

    def look(node: ast.AST, lead: str) -> None:
        for child in getattr(node, "body", ()):
            if isinstance(child, ast.ClassDef):
                found[lead + child.name] = {
                    one.target.id: ast.unparse(one.annotation)
                    for one in child.body
                    if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
                }
                look(child, f"{lead}{child.name}.")

    look(ast.parse((FOLDER / f"{module}.pyi").read_text(encoding="utf-8")), "")
    return found


def fits(value: Any, type: str) -> bool:
    if type == "Any":
        return True
    if type.startswith("list[") and type.endswith("]"):
        return isinstance(value, list) and all(fits(one, type[5:-1]) for one in value)
    if " | " in type:
        return any(fits(value, one) for one in type.split(" | "))
    if type in PLAIN:
        return isinstance(value, PLAIN[type])
    qualified = value.__class__.__qualname__
    return qualified == type or f"{value.__class__.__module__.rpartition('.')[2]}.{qualified}" == type


def walk(value: Any) -> Iterator[tuple[Any, str, Any]]:
    """Every attribute of a structure and of those below it that was read or can be."""
    waiting, seen = [value], 0
    while waiting and seen < 3000:
        one = waiting.pop()
        seen += 1
        for name in stated(one.__class__.__module__.rpartition(".")[2])[one.__class__.__qualname__]:
            try:
                found = getattr(one, name)
            except (AttributeError, EOFError, ValueError, kaitaistruct.KaitaiStructError, TypeError, IndexError):
                continue  # on a condition that is not met, or in what a sample leaves out
            yield one, name, found
            waiting += [each for each in (found if isinstance(found, list) else [found]) if hasattr(each, "_read")]


def test_they_state_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import functools

    monkeypatch.setitem(globals(), "stated", functools.cache(stated))
    wrong: Counter[str] = Counter()
    looked = 0
    for path in SAMPLES:
        module = path.stem.partition("-")[0]
        if path.with_suffix(".args.json").exists():
            continue  # those take arguments
        name = "".join(word.capitalize() for word in module.split("_"))
        made = getattr(importlib.import_module(f"exhume_ksy.{module}"), name).from_bytes(path.read_bytes())
        for one, attribute, value in walk(made):
            looked += 1
            where = one.__class__
            type = stated(where.__module__.rpartition(".")[2])[where.__qualname__][attribute]
            if not fits(value, type):
                wrong[f"{where.__module__}: {where.__qualname__}.{attribute}: {type}, not {value.__class__}"] += 1
    assert wrong == {}
    assert looked > 2000


def test_nearly_every_attribute_has_a_type() -> None:
    types = Counter(
        type == "Any"
        for path in FOLDER.glob("*.pyi")
        for attributes in stated(path.stem).values()
        for name, type in attributes.items()
        if not name.startswith("_")
    )
    assert types[True] < 0.15 * types.total()


@pytest.mark.slow
def test_a_type_checker_reads_them(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(
        "from exhume_ksy.zs import Zs\n"
        'with Zs.from_file("words.zs") as file:\n'
        "    print(file.header.codec_name.upper(), file.header.len_root + 1, file.blocks[0].body.level)\n"
        "    file.header.nothing\n"
    )
    environment = {**os.environ, "MYPYPATH": str(ROOT / "generated")}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *map(str, FOLDER.glob("*.pyi")), "use.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[0] == 'use.py:4: error: "FileHeader" has no attribute "nothing"  [attr-defined]'
    assert done.stdout.splitlines()[1].startswith("Found 1 error in 1 file"), done.stdout


def test_forms_are_distinguished() -> None:
    text = """
class A(KaitaiStruct):
    class E(IntEnum):
        one = 1
    def __init__(self, count, _io, _parent=None, _root=None):
        self.count = count
    def _read(self):
        self.e = KaitaiStream.resolve_enum(A.E, self._io.read_u1())
        self.rows = []
        for i in range(self.count):
            self.rows.append((self._io.read_bytes(2)).decode(u"UTF-8"))
        self.other = self._io.read_f4le()
    @property
    def half(self):
        if hasattr(self, '_m_half'):
            return self._m_half
        if self.count > 1:
            pass
            self._m_half = self.count // 2
        return getattr(self, '_m_half', None)
    @property
    def first(self):
        self._m_first = self.rows[0]
        return self._m_first
"""
    lines = stubs({"a": text})["a.pyi"].splitlines()
    for line in (
        "    def __init__(self, count: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...",
        "    e: A.E | int", "    rows: list[str]", "    other: float", "    half: int | None", "    first: str",
        "    class E(enum.IntEnum):", "        one = 1", "    count: Any",
    ):  # fmt: skip
        assert line in lines
