"""`make generated`: what is stale is decided by content, the output is the same everywhere, and orphans go."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.forks import Ended, Forks
from tests.toolchain.projects import BRANCH, LEAF, project
from tests.toolchain.trees import ROOT, node_or_skip
from tools import generate

# No Node.js on PATH, and a compiler that fails when it is asked.
NO_NODE = {"PATH": "/nonexistent", "KSC": "/nonexistent/ksc", "LC_ALL": "C"}


Run = Callable[..., Ended]
"""Runs the generator: `run(root, "--check", PATH="/nonexistent")`."""

IMPORTS = "import json, os; from tools import generate"
WORK = """
    environment, *options = words
    os.environ.pop("KSC", None)
    os.environ.update(json.loads(environment))
    leave(generate.main(options))
"""


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run the generator on a project in a process of its own, a fork of one that imported it."""
    with Forks(IMPORTS, WORK.strip()) as forks:
        yield lambda root, *options, **environment: forks.run(json.dumps(environment), "--root", str(root), *options)


def started(root: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same in a process that starts in another environment, such as one of another language."""
    command = [sys.executable, str(ROOT / "tools" / "generate.py"), "--root", str(root), *options]
    kept = {key: value for key, value in os.environ.items() if key != "KSC"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**kept, **environment})


def tree(root: Path) -> dict[str, bytes]:
    """Return every generated file with its content."""
    folder = root / "generated"
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """A small project, compiled once."""
    node_or_skip()
    root = project(tmp_path_factory.mktemp("template") / "project", leaf=LEAF, branch=BRANCH)
    done = run(root)
    assert (done.code, done.err) == (0, ""), done.err
    return root


@pytest.fixture
def compiled(template: Path, tmp_path: Path) -> Path:
    """A small project, freshly compiled."""
    return shutil.copytree(template, tmp_path / "project")


@pytest.mark.slow
def test_committed_code_is_what_the_compiler_makes_of_ksy(tmp_path: Path) -> None:
    node_or_skip()
    with generate.compiled(ROOT) as texts:
        different = [path for path, text in texts.items() if (ROOT / path).read_bytes() != text.encode()]
    assert different == []


@pytest.mark.slow
def test_the_compiler_runs_in_any_folder(tmp_path: Path) -> None:
    node = node_or_skip()
    folder = tmp_path / "a folder (1) für 100%"
    shutil.copytree(ROOT / "tools", folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    (folder / "leaf.ksy").write_text(LEAF)
    for script, command in (("ksc.mjs", ["dump"]), ("ksc_internals.mjs", ["warnings"])):
        words = [*node, str(folder / "tools" / script), *command, str(folder / "leaf.ksy")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout, script


def test_lock_is_in_its_normal_form() -> None:
    lock = {**generate.input_lines(ROOT), **generate.output_lines(ROOT)}
    assert (ROOT / "generated" / "ksc.lock").read_text() == generate.render_lock(lock)


@pytest.mark.node
def test_layout_and_relative_imports(compiled: Path) -> None:
    names = ["__init__.py", "branch.py", "leaf.py"]
    expected = {"ksc.lock", *(f"exhume_ksy/{n}" for n in names), *(f"exhume_ksy/debug/{n}" for n in names)}
    expected |= {"exhume_ksy/debug/_stream.py", "exhume_ksy/specs/branch.json", "exhume_ksy/specs/leaf.json"}
    expected |= {"exhume_ksy/fast/_layout.py"}
    expected |= {f"exhume_ksy/fast/{n}" for n in ("_native.pyx", "_elements.pxi", "_facts.pxi")}
    expected |= {"exhume_ksy/facts/_fixed.py", "exhume_ksy/facts/_tiling.py"}
    expected |= {f"exhume_ksy/{n}" for n in ("_struct.pyi", "branch.pyi", "leaf.pyi")}
    expected |= {f"exhume_ksy/{kind}/{n}" for kind in ("fast", "facts") for n in names}
    assert set(tree(compiled)) == expected
    assert b"\nfrom . import leaf\n" in tree(compiled)["exhume_ksy/branch.py"]
    assert b"\nimport leaf\n" not in tree(compiled)["exhume_ksy/branch.py"]
    assert b"_debug" in tree(compiled)["exhume_ksy/debug/branch.py"]
    assert b"_debug" not in tree(compiled)["exhume_ksy/branch.py"]


@pytest.mark.node
@pytest.mark.slow
def test_output_does_not_depend_on_place_locale_or_time_zone(compiled: Path, tmp_path: Path, run: Run) -> None:
    other = project(tmp_path / "ein anderer Ort", branch=BRANCH, leaf=LEAF)
    done = started(other, LC_ALL="C.UTF-8", TZ="Asia/Kathmandu", LANG="tr_TR.UTF-8")
    assert done.returncode == 0, done.stderr
    assert tree(other) == tree(compiled)
    before = tree(compiled)
    assert run(compiled, "--force").code == 0
    assert tree(compiled) == before


@pytest.mark.node
def test_fresh_needs_no_node_and_writes_nothing(compiled: Path) -> None:
    for file in (compiled / "ksy").iterdir():  # a checkout scrambles modification times
        os.utime(file)
    times = {path: path.stat().st_mtime_ns for path in (compiled / "generated").rglob("*.py")}
    for options in ([], ["--check"]):
        done = started(compiled, *options, **NO_NODE)
        assert (done.returncode, done.stdout) == (0, "generated/ is fresh\n"), done.stderr
    assert times == {path: path.stat().st_mtime_ns for path in (compiled / "generated").rglob("*.py")}


@pytest.mark.node
@pytest.mark.slow
def test_a_changed_specification_is_stale_and_recompiled(compiled: Path, run: Run) -> None:
    (compiled / "ksy" / "leaf.ksy").write_text(LEAF.replace("num_things", "num_others"))
    done = run(compiled, "--check", **NO_NODE)
    assert done.code == 1
    assert "ksy/leaf.ksy differs" in done.err
    assert "ksy/branch.ksy with imports differs" in done.err
    assert run(compiled).code == 0
    assert b"num_others" in tree(compiled)["exhume_ksy/leaf.py"]
    assert run(compiled, "--check", **NO_NODE).code == 0


@pytest.mark.node
@pytest.mark.slow
def test_what_does_not_match_the_lock_is_stale(compiled: Path, run: Run) -> None:
    """Each damage by itself; the first ones are then repaired together."""
    lock, package = compiled / "generated" / "ksc.lock", compiled / "generated/exhume_ksy"
    text = lock.read_text()
    damages: list[tuple[Path, str | None]] = [
        (package / "debug/leaf.py", "print('by hand')\n"),
        (package / "leaf.py", None),
        (package / "__init__.py", ""),
        (lock, text.replace("0.11.0  compiler", "0.10.0  compiler")),
        (lock, f"{'0' * 64}  ksy/leaf.ksy\n{text}"),  # two hashes for one file
        (lock, None),
    ]
    before = tree(compiled)
    for file, content in damages:
        whole = file.read_bytes()
        change(file, content)
        assert run(compiled, "--check", **NO_NODE).code == 1, (file, content)
        file.write_bytes(whole)
    for file, content in damages[:4]:
        change(file, content)
    assert run(compiled).code == 0
    assert tree(compiled) == before


def change(file: Path, content: str | None) -> None:
    """Write a file, or delete it."""
    file.unlink() if content is None else file.write_text(content)


@pytest.mark.node
@pytest.mark.slow
def test_orphans_are_reported_and_deleted(compiled: Path, run: Run) -> None:
    (compiled / "ksy" / "branch.ksy").unlink()
    (compiled / "generated/exhume_ksy/stray").mkdir()
    done = run(compiled, "--check", **NO_NODE)
    assert done.code == 1
    assert "branch.py has no specification" in done.err
    assert run(compiled).code == 0
    assert not [name for name in tree(compiled) if "branch" in name]
    assert not (compiled / "generated/exhume_ksy/stray").exists()
    assert "branch" not in (compiled / "generated/ksc.lock").read_text()


@pytest.mark.node
def test_a_lock_merged_by_union_is_accepted_and_normalized(compiled: Path, run: Run) -> None:
    lock = compiled / "generated" / "ksc.lock"
    normal = lock.read_text()
    lines = normal.splitlines(keepends=True)
    lock.write_text("".join([*reversed(lines), *lines, f"{'0' * 64}  ksy/gone.ksy\n", "<<<<<<< not an entry\n"]))
    assert run(compiled, "--check", **NO_NODE).code == 0
    done = run(compiled, **NO_NODE)
    assert (done.code, done.out) == (0, "generated/ is fresh; ksc.lock normalized\n")
    assert lock.read_text() == normal


@pytest.mark.node
def test_an_error_in_a_specification_changes_nothing(compiled: Path, run: Run) -> None:
    before = tree(compiled)
    (compiled / "ksy" / "leaf.ksy").write_text(LEAF.replace("u2", "no_such_type"))
    done = run(compiled)
    assert done.code == 1
    assert "ksy/" in done.err
    assert "no_such_type" in done.err
    assert "Traceback" not in done.err
    assert tree(compiled) == before


@pytest.mark.node
@pytest.mark.parametrize("name", ["../leaf", "/common/leaf"])
@pytest.mark.slow
def test_imports_from_elsewhere_are_refused(compiled: Path, name: str, run: Run) -> None:
    (compiled / "ksy" / "branch.ksy").write_text(BRANCH.replace("- leaf", f"- {name}"))
    assert run(compiled).code == 1


def stand_in(folder: Path, version: str) -> Path:
    """Write a command that takes the official compiler's options and compile with the JavaScript one."""
    node = " ".join(f"'{word}'" for word in node_or_skip())
    script = folder / "kaitai-struct-compiler"
    script.write_text(
        f"""#!/bin/sh
set -eu
if [ "$1" = --version ]; then echo "kaitai-struct-compiler {version}"; exit; fi
[ "$1 $2 $3 $4" = "-t python --python-package ." ] || exit 9
shift 4
out=--out
if [ "$1" = --debug ]; then out=--debug-out; shift; fi
[ "$1" = --outdir ] || exit 9
folder=$2; shift 2
{node} '{ROOT}/tools/ksc.mjs' compile --target python "$out" "$folder" "$@"
for file in "$folder"/*.py; do
  sed 's/^import leaf$/from . import leaf/' "$file" > "$file.new"
  mv "$file.new" "$file"
done
echo called >> '{folder}/calls'
"""
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


@pytest.mark.node
@pytest.mark.slow
def test_ksc_names_another_compiler(compiled: Path, tmp_path: Path, run: Run) -> None:
    script = stand_in(tmp_path, "0.11")
    before = tree(compiled)
    assert run(compiled, KSC=str(script)).code == 0
    assert not (tmp_path / "calls").exists(), "nothing was stale"
    done = run(compiled, "--force", KSC=str(script))
    assert done.code == 0, done.err
    assert (tmp_path / "calls").read_text().split() == ["called", "called"]
    assert tree(compiled) == before


@pytest.mark.node
@pytest.mark.parametrize("version", ["0.10", "0.1", "1.0.11", "0.110"])
@pytest.mark.slow
def test_ksc_of_another_version_is_refused(compiled: Path, tmp_path: Path, version: str, run: Run) -> None:
    done = run(compiled, "--force", KSC=str(stand_in(tmp_path, version)))
    assert done.code == 1
    assert "is not version 0.11" in done.err


def test_ksc_that_does_not_run_is_one_line(tmp_path: Path, run: Run) -> None:
    root = project(tmp_path / "project", leaf=LEAF)
    done = run(root, KSC="/nonexistent/ksc")
    assert done.code == 1
    assert done.err.startswith("make generated: KSC=/nonexistent/ksc does not run")
    assert len(done.err.splitlines()) == 1


def test_npm_lock_names_no_registry() -> None:
    text = (ROOT / "package-lock.json").read_text()
    assert '"resolved"' not in text
    assert text.count('"integrity": "sha512-') == text.count('"node_modules/')
    assert "omit-lockfile-registry-resolved=true" in (ROOT / ".npmrc").read_text()


def test_runtime_and_compiler_are_the_same_version() -> None:
    import kaitaistruct

    compiler = generate.input_lines(ROOT)["compiler kaitai-struct-compiler"]
    assert {kaitaistruct.__version__ + ".0"} == compiler
