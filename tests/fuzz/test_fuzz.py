"""The fuzzers themselves: past finds stay repaired, the bounds hold, and every engine finds planted faults."""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import exhume
from tests.conftest import ROOT
from tests.fuzz import archives, child, run
from tests.fuzz.guard import SIZE, BoundError, Guard
from tests.fuzz.targets import TARGETS, corpus
from tests.sizes import THOROUGH, size, some

KEPT = sorted(file for file in run.FOUND.glob("*/*") if file.parent.name in TARGETS)


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A target may go into its folder, and keeps its temporary files there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_everything_that_was_found_belongs_to_a_target() -> None:
    found = {file.parent.name for file in run.FOUND.glob("*/*")}
    assert found, "tests/fuzz/found is empty: nothing would be replayed"
    assert found <= set(TARGETS)


@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_what_was_found_stays_repaired(file: Path, tmp_path: Path) -> None:
    child.guarded(file.parent.name, tmp_path)(file.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_every_target_begins_with_something(name: str, tmp_path: Path) -> None:
    seeds = list(corpus(name, drawn=1))
    assert seeds
    assert max(map(len, seeds)) <= SIZE
    function = child.guarded(name, tmp_path)
    for seed in (b"", *seeds[:: size(20, 1)]):
        function(seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.seeds is archives.seeds])
def test_each_command_line_of_a_target_does_something(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: set[int] = set()
    plain, variant = archives.command, 0

    def command(words: list[str], data: bytes = b"") -> bool:
        if plain(words, data):
            done.add(variant)
        return True

    monkeypatch.setattr(archives, "command", command)
    function = TARGETS[name].make(tmp_path)
    for seed in archives.seeds():
        for variant in {*range(6)} - done:
            with contextlib.suppress(exhume.ExhumeError):
                function(bytes([seed[0], variant]) + seed[2:])
    assert done == {*range(6)}


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda data: _spin(30), "of the processor"),
        (lambda data: Path("/tmp/exhume-fuzz-never").write_bytes(data), "outside of its folder"),
        (lambda data: subprocess.run(["true"], check=True), "outside of its folder"),
    ],
)
def test_a_bound_is_a_failure(work: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.guard.SECONDS", 0.2)
    guard = Guard(work, tmp_path)
    with pytest.raises(BoundError, match=words):
        guard(b"")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is judged only on Linux")
def test_a_bound_of_memory_is_a_failure(tmp_path: Path) -> None:
    """In a process of its own: another thread of this one may free as much meanwhile."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool, pytest.raises(BoundError, match="took 9"):
        pool.submit(_take_memory, tmp_path).result()


def _take_memory(folder: Path) -> None:
    guard = Guard(lambda data: bytearray(b"x") * (96 << 20), folder)
    for _ in range(2):  # memory is judged from the second input on: the first one loads what is loaded once
        guard(b"")


def _spin(rounds: int) -> None:
    for _ in range(rounds):
        sum(range(1 << 20))


def test_our_error_is_no_failure_and_every_other_is(tmp_path: Path) -> None:
    def refuse(data: bytes) -> None:
        raise exhume.ExhumeError("no", code="EX-101") if data else KeyError("what")

    guard = Guard(refuse, tmp_path)
    guard(b"x")
    with pytest.raises(KeyError):
        guard(b"")


def test_what_is_next_to_the_target_is_seen(tmp_path: Path) -> None:
    folder = archives.Folder(tmp_path)
    with pytest.raises(AssertionError, match="outside the target"):
        folder.with_archive(b"\1\0", lambda archive, _: (folder.out.parent / "made").write_bytes(b"x"))


ENGINES = ["hypothesis", *(["atheris"] if importlib.util.find_spec("atheris") else [])]

PLANTED = """
from tests.fuzz import child, targets

def run(data):
    if data[4:6] == bytes(2):
        raise KeyError("planted")

targets.TARGETS["planted"] = targets.Target(lambda place: run, lambda: iter([b"0123456789"]))
child.main()
"""
"""A target that fails on some inputs."""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_finds_what_is_there(engine: str, tmp_path: Path) -> None:
    (tmp_path / "work" / "corpus").mkdir(parents=True)
    (tmp_path / "place").mkdir()
    words = ["-", "planted", engine, "60", str(tmp_path / "place"), str(tmp_path / "work")]
    ran = subprocess.run(
        [sys.executable, *words], cwd=ROOT, input=PLANTED, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode
    assert "planted" in ran.stdout + ran.stderr
    (found,) = (tmp_path / "work").glob("crash-*")
    assert found.read_bytes()[4:6] == bytes(2)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES if THOROUGH else ENGINES[:1])
def test_every_target_is_fuzzed_for_a_while(engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One target as a rule, without atheris, which takes 12 seconds to begin; all for five minutes under
    `make test-thorough`.
    """
    monkeypatch.setattr(run, "WORK", tmp_path)
    names = list(TARGETS) if THOROUGH else ["rbuf"]
    for name in some(names):
        row = run.run(name, max(1, size(1, 300 // len(names))), engine, sanitized=False)
        assert row.executions > 0
        assert row.failed is None or not run.replay(name, row.failed)


def test_the_table_follows_from_the_results() -> None:
    from tools.blocks import read_block

    assert read_block("testing.md", "fuzz").strip() == run.report().strip()
