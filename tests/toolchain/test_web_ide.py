"""`make web-ide`: every bundle compiles on its own, opens its samples, and reads the same as the original."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import pytest

from exhume.errors import SpecificationError
from tests.toolchain import trees
from tests.toolchain.projects import BRANCH, LEAF, project
from tools import web_ide

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("twin")]


@functools.cache
def bundle_results() -> dict[str, dict[str, Any]]:
    """Return the parser's result for every sample opened with its bundle, alone in a folder."""
    trees.node_or_skip()
    with tempfile.TemporaryDirectory() as scratch:
        todo = trees.cases()
        items = []
        for bundle in web_ide.write_bundles(Path(scratch, "out")):
            alone = Path(scratch, bundle.stem, bundle.name)
            alone.parent.mkdir()
            bundle.rename(alone)
        for name, sample in todo:
            items.append({**trees.pure_item(name, sample), "spec": str(Path(scratch, name, f"{name}.ksy"))})
        return {trees.case_id(case): r for case, r in zip(todo, trees.run_pure(items), strict=True)}


def without_types(tree: Any) -> Any:
    """Return a tree without class names: an inlined type is called the same but lives elsewhere."""
    if isinstance(tree, dict):
        return {key: without_types(value) for key, value in tree.items() if key != "$type"}
    return [without_types(item) for item in tree] if isinstance(tree, list) else tree


@pytest.mark.parametrize("case", trees.cases(), ids=trees.case_id)
@pytest.mark.slow
def test_bundle_opens_alone_and_reads_the_same(case: trees.Case) -> None:
    bundled, original = bundle_results()[trees.case_id(case)], trees.pure_results()[trees.case_id(case)]
    assert bundled["error"] is None
    assert bundled["incomplete"] == []
    assert without_types(bundled["tree"]) == without_types(original["tree"])


def test_imports_are_inlined_however_far_down(tmp_path: Path) -> None:
    trees.node_or_skip()
    twig = "meta:\n  id: twig\n  imports:\n    - branch\nseq:\n  - id: one\n    type: branch\n"
    root = project(tmp_path / "project", leaf=LEAF, branch=BRANCH, twig=twig)
    web_ide.write_bundles(tmp_path / "out", root)
    text = (tmp_path / "out" / "twig.ksy").read_text()
    assert "imports:" not in text
    assert "  branch:\n    meta:\n      endian: le\n    seq:" in text
    assert "  leaf:\n    meta:\n      endian: le\n    seq:" in text
    assert (tmp_path / "out" / "leaf.ksy").read_text() == LEAF, "without imports it is copied"
    (tmp_path / "data").write_bytes(b"\x05\x00")
    item = {"spec": str(tmp_path / "out" / "twig.ksy"), "sample": str(tmp_path / "data"), "args": []}
    (result,) = trees.run_pure([item])
    assert result["error"] is None
    assert result["tree"]["one"]["first"]["numThings"] == 5


def test_a_type_named_like_an_import_is_an_error(tmp_path: Path) -> None:
    root = project(tmp_path / "project", leaf=LEAF, branch=BRANCH + "types:\n  leaf:\n    seq: []\n")
    with pytest.raises(SpecificationError, match="type leaf has the name of an imported specification"):
        web_ide.write_bundles(tmp_path / "out", root)


def test_the_pure_form_reports_what_breaks(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"\x05")
    (tmp_path / "leaf.ksy").write_text(LEAF)
    (tmp_path / "lazy.ksy").write_text(
        "meta:\n  id: lazy\n  endian: le\nseq:\n  - id: one\n    type: u1\n"
        "instances:\n  far:\n    pos: 9\n    type: u4\n"
    )
    (tmp_path / "lost.ksy").write_text(BRANCH.replace("id: branch", "id: lost").replace("- leaf", "- ../leaf"))
    items = [{"spec": str(tmp_path / f"{n}.ksy"), "sample": str(tmp_path / "data")} for n in ("leaf", "lazy", "lost")]
    leaf, lazy, lost = trees.run_pure(items)
    assert "requested 2 bytes" in leaf["error"]
    assert leaf["incomplete"] == ["/numThings"]
    assert lazy["error"].startswith("/far: ")
    assert "no such file" in lost["error"]
