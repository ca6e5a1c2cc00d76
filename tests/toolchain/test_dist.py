"""What is handed out: metadata, the contents of wheels, and that they are the same every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tools import dist, wheels
from tools.nodejs import ROOT
from tools.sbom import sbom

METADATA = b"""Metadata-Version: 2.4
Name: exhume
Version: 1.2
License-Expression: MIT AND CC0-1.0
Requires-Dist: numpy>=1.26
Requires-Dist: kaitaistruct==0.11
Requires-Dist: pyarrow>=17; extra == "arrow"
"""
INFO = "exhume-1.2.dist-info/"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def whole_wheel() -> wheels.Files:
    """A wheel with one of each thing that belongs in."""
    files = {
        "exhume/py.typed": b"",
        "exhume/schemas/list.json": b"{}",
        "exhume/view/page.js": b"",
        "exhume_ksy/ksy/zs.ksy": b"",
        "exhume_ksy/specs/zs.json": b"{}",
        "exhume-1.2.data/data/share/man/man1/exhume.1": b"",
        f"{INFO}METADATA": METADATA,
        f"{INFO}WHEEL": b"Root-Is-Purelib: true\n",
        f"{INFO}licenses/LICENSE": b"",
        f"{INFO}sboms/exhume.cdx.json": b"{}",
    }
    return files | {f"{INFO}RECORD": wheels.record_of(files)}


def test_licenses_are_stated_for_code_and_specifications() -> None:
    assert PROJECT["license"] == "MIT AND CC0-1.0"
    assert all((ROOT / file).exists() for file in PROJECT["license-files"])
    for path in (ROOT / "ksy").glob("*.ksy"):
        assert "\n  license: CC0-1.0\n" in path.read_text(encoding="utf-8"), path.name


def test_no_address_is_invented_and_every_python_is_named() -> None:
    assert "urls" not in PROJECT
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= set(PROJECT["classifiers"])


def test_a_whole_wheel_has_no_faults() -> None:
    assert wheels.faults(whole_wheel()) == []


@pytest.mark.parametrize("name", [name for name in whole_wheel() if "METADATA" not in name and "WHEEL" not in name])
def test_a_wheel_that_lacks_something_is_reported(name: str) -> None:
    files = whole_wheel()
    del files[name]
    assert wheels.faults(files)


@pytest.mark.parametrize("name", ["exhume/_kernel.c", "exhume/a.pyx", "tests/a.py", "exhume/native/_kernel.abi3.so"])
def test_a_wheel_that_contains_too_much_is_reported(name: str) -> None:
    files = whole_wheel() | {name: b""}
    files[f"{INFO}RECORD"] = wheels.record_of(files)
    assert len(wheels.faults(files)) == 1


def test_a_wheel_is_written_the_same_from_any_order(tmp_path: Path) -> None:
    files = whole_wheel()
    wheels.write_wheel(tmp_path / "a.whl", files, 1_700_000_000)
    wheels.write_wheel(tmp_path / "b.whl", dict(reversed(files.items())), 1_700_000_000)
    assert (tmp_path / "a.whl").read_bytes() == (tmp_path / "b.whl").read_bytes()
    assert wheels.read_wheel(tmp_path / "a.whl") == files


def test_an_sdist_is_written_the_same_from_any_order(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for name in ("a", "b"):
        (tmp_path / "x" / name).write_text(name)
    for target, order in (("1.tar.gz", "ab"), ("2.tar.gz", "ba")):
        with tarfile.open(tmp_path / target, "w:gz") as tar:
            for name in order:
                tar.add(tmp_path / "x" / name, f"x/{name}")
        os.utime(tmp_path / "x" / "a", (1, 1))
        wheels.settle_sdist(tmp_path / target, 1_700_000_000)
    assert (tmp_path / "1.tar.gz").read_bytes() == (tmp_path / "2.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "1.tar.gz") as tar:
        found = [(entry.name, entry.mtime, entry.uid) for entry in tar]
    assert found == [("x/a", 1_700_000_000, 0), ("x/b", 1_700_000_000, 0)]


def test_the_bill_of_materials_names_what_is_in_and_what_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "9")
    bill = json.loads(sbom(METADATA, {"exhume/native/_kernel.abi3.so": b"abc"}, 0, headers="3.13.0"))
    parts = {part["name"]: part for part in bill["components"]}
    assert set(parts) == {"exhume specifications", "exhume/native/_kernel.abi3.so", "cython", "numpy", "kaitaistruct"}
    assert {"name": "exhume:contained", "value": "no"} in parts["numpy"]["properties"]
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert parts["exhume/native/_kernel.abi3.so"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert bill["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    made_by = {tool["name"]: tool["version"] for tool in bill["metadata"]["tools"]["components"]}
    assert made_by["CPython headers"] == "3.13.0"
    assert "cython" not in {part["name"] for part in json.loads(sbom(METADATA, {}, 0))["components"]}


def test_a_tool_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(dist.DistError, match="no such thing"):
        dist.run([sys.executable, "-c", "raise SystemExit('no such thing')"], tmp_path)


@pytest.mark.slow
def test_the_wheel_for_every_system_contains_what_it_should(tmp_path: Path) -> None:
    """Built as `pip` builds it, from the files that git tracks; the bill of materials is added by `make dist`."""
    dist.copy_tracked(tmp_path / "tree")
    build = "from setuptools import build_meta; print(build_meta.build_wheel('.'))"
    environment = {**os.environ, "EXHUME_PURE": "1", "SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, "-W", "ignore", "-c", build]
    done = subprocess.run(command, cwd=tmp_path / "tree", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    files = wheels.read_wheel(tmp_path / "tree" / done.stdout.split()[-1])
    info = wheels.info_folder(files)
    bill = {f"{info}sboms/exhume.cdx.json": b"{}"}
    assert wheels.faults(files | bill | {f"{info}RECORD": wheels.record_of(files | bill)}) == []
    assert {path.name for path in (ROOT / "ksy").glob("*.ksy")} == {Path(n).name for n in files if n.endswith(".ksy")}
    assert {"exhume/py.typed", "exhume/__init__.pyi", "exhume_ksy/py.typed"} <= set(files)
    schemas = {f"exhume/schemas/{path.name}" for path in (ROOT / "src" / "exhume" / "schemas").glob("*.json")}
    assert {name for name in files if name.startswith("exhume/schemas/")} == schemas
    assert b"License-Expression: MIT AND CC0-1.0" in files[f"{info}METADATA"]
