"""The walk of CONTRIBUTING, "Changing a field": on a copy of the project, with nothing changed but a specification."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from exhume import compile_ksy
from exhume.cli.main import invoke
from exhume.compiler.whole import compile_specs
from exhume.layout.ksy_files import parse_yaml
from exhume.testing.strategies import Instance, from_ksy
from tests.cli.test_snippets import mypy
from tests.conftest import ROOT
from tests.sizes import size

pytest.importorskip("mypy")
pytest.importorskip("yaml")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the handwritten and the generated files."""
    built = shutil.ignore_patterns("__pycache__", "*.so", "*.c")

    def skipped(folder: str, names: list[str]) -> set[str]:
        """What was built, and Kaitai's parsers with positions; not the stream that they share."""
        parsers = {name for name in names if not name.startswith("_")} if folder.endswith("debug") else set()
        return {*built(folder, names), *parsers}

    for folder in ("src", "generated", "ksy"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=skipped)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def generate(project: Path) -> None:
    """What `make generated` does with our compiler; Kaitai's, which needs Node.js, makes nothing that `src` imports."""
    specs = {path.stem: parse_yaml(path) for path in sorted((project / "ksy").glob("*.ksy"))}
    for path, text in compile_specs(specs).items():
        (project / "generated" / "exhume_ksy" / path).write_text(text, encoding="utf-8")


def complaints(project: Path, cache: Path, *folders: str) -> set[tuple[str, int]]:
    """Files and lines below `src/exhume` that mypy finds wrong."""
    command = mypy(cache, "--no-error-summary", *(f"src/exhume/{one}" for one in folders))
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    found = re.findall(r"^src/exhume/(\S+?):(\d+): error", done.stdout, re.MULTILINE)
    return {(file, int(line)) for file, line in found}


def uses(project: Path, field: str, folder: str) -> set[tuple[str, int]]:
    """Files and lines that ask something for a field of that name."""
    sources = project / "src" / "exhume"
    return {
        (path.relative_to(sources).as_posix(), node.lineno)
        for path in (sources / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == field
    }


RENAMED = {
    ("caf", "len_index"): "formats/caf",
    ("clp_s_table", "ofs_variable"): "formats/clp_s",
    ("leveldb_index_delta", "raw_delta"): "formats/leveldb",
    ("leveldb_version_edit", "raw_tag"): "formats/leveldb",
    ("zs", "ofs_root"): "formats/zs",
}
"""Fields of a footer, of a header and of a switched type, an instance, a column, and a part of a number."""


@pytest.mark.slow
@pytest.mark.xdist_group("mypy")
def test_mypy_names_all_that_must_follow_a_renamed_field(project: Path, mypy_cache: Path) -> None:
    folders = sorted(set(RENAMED.values()))
    for schema, field in RENAMED:
        for path in (project / "ksy").glob(f"{schema.partition('_')[0]}*.ksy"):
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(rf"\b{field}\b", f"{field}_renamed", text), encoding="utf-8")
    generate(project)
    expected: set[tuple[str, int]] = set()
    for (_, field), folder in RENAMED.items():
        found = uses(project, field, folder)
        assert found, field
        expected |= found
    assert complaints(project, mypy_cache, *folders) == expected


@pytest.mark.slow
def test_a_field_that_is_added_is_shown_without_further_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In objects, in the text and JSON of `explain`, in Arrow tables, and in drawn instances."""
    pytest.importorskip("pyarrow")
    for name in ("zs_index_block", "uleb128"):
        shutil.copy(ROOT / "ksy" / f"{name}.ksy", tmp_path)
    path = tmp_path / "zs_index_block.ksy"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.rstrip() + "\n      - id: num_records\n        type: u1\n", encoding="utf-8")
    payload = tmp_path / "payload"
    payload.write_bytes(b"\x01a\x10\x04\x07" + b"\x01b\x14\x04\x09")
    compiled = compile_ksy(path)
    assert [entry.num_records for entry in compiled.read(payload).entries] == [7, 9]
    assert compiled.to_arrow(payload, "entries").column("num_records").to_pylist() == [7, 9]
    invoke(["explain", "--ksy", str(path), str(payload)])
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[-1] for line in shown if "num_records" in line] == ["7", "9"]
    invoke(["explain", "--ksy", str(path), str(payload), "--json"])
    assert capsys.readouterr().out.count("num_records") >= 2

    drawn: set[int] = set()

    @settings(
        max_examples=size(10, 60), derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(from_ksy(path))
    def collect(one: Instance) -> None:
        entries = compiled.read(one.data).entries
        drawn.update(entry.num_records for entry in entries)
        assert not one.data or one.data[-1] == entries[len(entries) - 1].num_records

    collect()
    assert len(drawn) > 5
