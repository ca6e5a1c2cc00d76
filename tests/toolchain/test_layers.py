"""The house: no circle of imports, none upwards, and a page that says what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import layers
from tools.blocks import ROOT, read_block


def test_no_module_imports_itself_by_any_detour() -> None:
    assert layers.circles(layers.graph(types=True)) == []


def test_imports_run_one_way() -> None:
    assert layers.upward(types=True) == []


def test_no_module_is_too_large_or_too_small_without_a_reason() -> None:
    assert layers.sizes() == []


def test_stages_of_the_compiler_import_only_those_before_them() -> None:
    stages = ["front", "ir", "emit"]
    found = [
        (name, other)
        for name, imports in layers.graph(types=True).items()
        for other in imports
        for before, stage in enumerate(stages)
        if name.startswith(f"exhume.compiler.{stage}.")
        and any(f"{other}.".startswith(f"exhume.compiler.{one}.") for one in [*stages[before + 1 :], "instances"])
    ]
    assert found == []


def test_every_folder_is_a_layer() -> None:
    folders = {path.parent.name for path in layers.SRC.glob("*/__init__.py")}
    assert folders <= layers.LAYERS.keys()


@pytest.mark.slow
def test_the_page_states_what_the_code_states() -> None:
    assert read_block("architecture.md", "layers").strip() == layers.table(), "run `make layers`"


def test_the_page_names_what_is_there() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = [name for name in re.findall(r"`([a-z_/]+(?:\.py|/))`", page) if "/" in name]
    assert len(named) > 20
    assert [name for name in named if not (layers.SRC / name).exists()] == []


def test_circles_are_found() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": []}
    assert layers.circles(graph) == [["b", "c"]]


def test_imports_inside_functions_count_and_those_for_types_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from exhume import three\n"
        "def work():\n    from exhume.two import thing\n    from . import four\n"
    )
    for name in ("two", "three", "four"):
        (tmp_path / f"{name}.py").write_text("")
    layers.modules.cache_clear()
    monkeypatch.setattr(layers, "SRC", tmp_path)
    try:
        assert layers.imports("exhume.one") == {"exhume.two", "exhume.four"}
    finally:
        monkeypatch.undo()
        layers.modules.cache_clear()
