"""Every specification with its samples: in the parser of the Web IDE, in Python, and written back."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tests.sizes import some
from tests.toolchain import trees
from tests.toolchain.readwrite import roundtrip
from tools import ksy_lint

CASES = pytest.mark.parametrize("case", trees.cases(), ids=trees.case_id)


@pytest.mark.node
@pytest.mark.xdist_group("twin")
@CASES
@pytest.mark.slow
def test_opens_in_the_web_ide_copy(case: trees.Case) -> None:
    result = trees.pure_results()[trees.case_id(case)]
    assert result["error"] is None
    assert result["incomplete"] == []
    assert result["nodes"] > 1


@pytest.mark.node
@pytest.mark.xdist_group("twin")
@CASES
@pytest.mark.slow
def test_python_and_javascript_agree(case: trees.Case) -> None:
    name, sample = case
    tree = trees.python_tree(name, sample.read_bytes(), ksy_lint.arguments(sample, name) or [])
    assert trees.differences(tree, trees.pure_results()[trees.case_id(case)]["tree"]) == []


@pytest.mark.node
@CASES
@pytest.mark.slow
def test_written_back_it_is_the_same(case: trees.Case) -> None:
    name, sample = case
    data = sample.read_bytes()
    assert roundtrip(name, data, *(ksy_lint.arguments(sample, name) or [])) == data


@pytest.mark.parametrize("package", ["exhume_ksy", "exhume_ksy.debug"])
def test_generated_code_compiles_without_warnings(package: str) -> None:
    for name in some(trees.spec_ids()):
        module = importlib.import_module(f"{package}.{name}")
        assert module.__file__ is not None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(Path(module.__file__).read_bytes(), module.__file__, "exec")


def test_the_whole_package_imports_in_isolation() -> None:
    code = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    names = [f"{package}.{name}" for package in ("exhume_ksy", "exhume_ksy.debug") for name in trees.spec_ids()]
    subprocess.run([sys.executable, "-W", "error", "-c", code, *names], check=True)
