"""Writing to a failing disk: every call fails once, in every way; the output is then absent, old or complete.

Spec: none; docs/testing.md, "Failing disks".
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from exhume.errors import SourceError
from exhume.io.files import RawFile, open_input
from exhume.io.output.atomic import UNFINISHED, AtomicDirectory, AtomicFile
from exhume.io.output.scratch import ScratchDirectory, discard, scratch_file
from exhume.io.output.tree import OutputTree
from exhume.registry import formats
from exhume.testing.damage import CALLS, EMPTY, FULL, SHORT, Disk, ways
from tests.conftest import ROOT
from tests.faults import run
from tests.faults.tasks import TASKS, Task
from tests.sizes import size


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the inputs of all tasks."""
    import tempfile

    folder, before = tmp_path_factory.mktemp("faults"), tempfile.tempdir
    run.prepare(folder)
    yield folder
    tempfile.tempdir = before


@pytest.mark.parametrize(
    "task", TASKS, ids=lambda task: task.label.replace(" ", "_").replace("{o}/", "").replace("{i}/", "")
)
@pytest.mark.slow
def test_one_call_fails(task: Task, bench: Path) -> None:
    tally = run.try_task(bench, task, size(61, 1))
    assert tally.wrong == []
    assert tally.faults


@pytest.fixture(scope="module")
def killed() -> list[dict[str, Any]]:
    """The outcome of each task whose process was killed.

    The processes are forks of one that has no threads.
    """
    command = [sys.executable, "-m", "tests.faults.run", "--kill", "--json", "--every", str(size(97, 1))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.mark.parametrize("format", [*formats(), "any"])
@pytest.mark.slow
@pytest.mark.xdist_group("killed")
def test_the_process_is_killed(format: str, killed: list[dict[str, Any]]) -> None:
    rows = [row for row in killed if row["format"] == format]
    assert [line for row in rows for line in row["wrong"]] == []
    assert sum(sum(row["faults"].values()) for row in rows) > 0


def test_every_verb_that_writes_and_every_format_is_tried() -> None:
    assert {task.format for task in TASKS} == {*formats(), "any"}
    written = {task.verb for task in TASKS}
    assert written == {
        "carve", "catalog", "compile", "create", "explain", "export", "extract", "map", "payload", "recode", "repair",
        "report", "salvage", "snippet",
    }  # fmt: skip
    for id, described in formats().items():
        for verb in filter(described.has, ("create", "recode", "salvage")):
            assert any((task.format, task.verb) == (id, verb) for task in TASKS), (id, verb)


# -- the judge


def naive(path: Path) -> None:
    """A writer that is not atomic."""
    with path.open("wb", buffering=0) as file:
        file.write(b"first\n")
        file.write(b"second\n")


def test_the_judge_sees_what_is_wrong(tmp_path: Path) -> None:
    before = run.state(tmp_path)
    naive(tmp_path / "made")
    after = run.state(tmp_path)
    (tmp_path / "made").unlink()
    with Disk("write", 1) as disk, pytest.raises(OSError, match="Input/output error"):
        naive(tmp_path / "made")
    assert disk.struck == "write"
    found = run.state(tmp_path)
    task = Task("any", "none", "")
    assert "neither old nor complete" in str(run.judge(task, before, after, found, killed=False))
    assert run.judge(task, before, after, before, killed=False) is None
    assert run.judge(task, before, after, after, killed=False) is None
    left = {".made.abcdefgh.part": ""}
    assert "left behind" in str(run.judge(task, before, after, left, killed=False))
    assert run.judge(task, before, after, left, killed=True) is None
    assert "lost" in str(run.judge(task, after, after, {}, killed=True))
    parts = {"made/a": "1", "made/b": "2", "made": "/"}
    half = {"made/a": "1", "made": "/"}
    assert "looks whole" in str(run.judge(Task("any", "none", "", tree=True), {}, parts, half, killed=True))
    marked = half | {f"made/{UNFINISHED}": ""}
    assert run.judge(Task("any", "none", "", tree=True), {}, parts, marked, killed=True) is None


def test_the_disk_counts_and_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with Disk() as disk:
        path.write_bytes(b"0123456789")
        path.replace(path)
    assert disk.calls["open"] == disk.calls["write"] == disk.calls["rename"] == 1
    assert disk.struck is None
    for kind in CALLS:
        assert set(ways(kind)) >= {"EIO", "ENOSPC", "EINTR"}
    with Disk("read", 0, SHORT):
        assert path.read_bytes() == b"0123456789"
    with Disk("read", 0, EMPTY):
        assert path.read_bytes() == b""
    with Disk("write", 1, FULL), path.open("wb", buffering=0) as file:
        file.write(b"fits")
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                file.write(b"does not")
    assert path.read_bytes() == b"fits" + b"does"[:4] * 2
    assert os.open is disk._real["open"]


# -- one by one: what the runs above found


def test_errors_of_files_name_the_file_and_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    reading, writing = (RawFile(os.open(path, mode), path) for mode in (os.O_RDONLY, os.O_WRONLY))
    end, other = os.pipe()
    pipe = RawFile(end, path)
    os.close(other)
    calls: list[Callable[[], object]] = [
        lambda: writing.readinto(bytearray(5)),
        lambda: reading.write(b"abc"),
        lambda: pipe.seek(1),
        lambda: pipe.write(b"abc"),
        reading.truncate,
    ]
    for call in calls:
        with pytest.raises(SourceError) as caught:
            call()
        assert caught.value.span is not None
        assert caught.value.span.source == str(path)
    assert (reading.seekable(), pipe.seekable()) == (True, False)
    for raw in (reading, writing, pipe):
        raw.close()
        raw.close()
        with pytest.raises(ValueError, match="closed"):
            raw.fileno()
    with open_input(path) as file:
        file.seek(4)
        with Disk("read", 0), pytest.raises(SourceError) as caught:
            file.read(3)
        assert caught.value.span is not None
        assert caught.value.span.start == 4
    for bad in (tmp_path / "missing", tmp_path):
        with pytest.raises(SourceError):
            open_input(bad)


def test_a_disk_that_stays_full_leaves_nothing(tmp_path: Path) -> None:
    """The buffer cannot be written when the file is given up, either."""
    with Disk("write", 0, FULL), pytest.raises(SourceError, match="No space left"), AtomicFile(tmp_path / "f") as file:
        file.file.write(b"x")
    assert os.listdir(tmp_path) == []


def test_what_resists_once_is_removed(tmp_path: Path) -> None:
    for kind in ("unlink", "open"):
        folder = tmp_path / kind
        (folder / "below").mkdir(parents=True)
        (folder / "below/file").touch()
        with Disk(kind, 0):
            discard(folder)
        assert not folder.exists()
    discard(tmp_path / "missing")


def test_scratch(tmp_path: Path) -> None:
    with scratch_file(tmp_path) as file:
        file.write(b"abc")
        file.seek(0)
        assert file.read() == b"abc"
        assert os.listdir(tmp_path) == []
    with ScratchDirectory(tmp_path / "made") as folder:
        (folder / "x").touch()
        assert folder.parent == tmp_path
        assert folder.name.startswith(".made.")
        assert folder.name.endswith(".part")
    assert os.listdir(tmp_path) == []
    with pytest.raises(SourceError):
        scratch_file(tmp_path / "missing")


def test_a_kernel_copy_that_fails_half_way_is_rebuilt(tmp_path: Path) -> None:
    from exhume.io.local import FileSource

    data = os.urandom(5000)
    (tmp_path / "f").write_bytes(data)
    for number, fault in enumerate((Disk("write", 0), Disk("write", 1), Disk("write", 0, SHORT))):
        with OutputTree(tmp_path / f"out{number}") as tree, FileSource(tmp_path / "f") as source, fault:
            tree.copy("copy", source, 0, len(data))
        assert (tmp_path / f"out{number}/copy").read_bytes() == data


def test_an_extraction_states_when_it_is_unfinished(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(ZeroDivisionError), OutputTree(out) as tree:
        tree.write("a", [b"1"])
        raise ZeroDivisionError
    assert sorted(os.listdir(out)) == [UNFINISHED, "a"]
    with OutputTree(out) as tree:
        tree.write("b", [b"2"])
    assert sorted(os.listdir(out)) == ["a", "b"]


def test_an_interruption_while_a_scratch_directory_is_made_or_removed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, removed, calls = os.mkdir, shutil.rmtree, []

    def interrupted_when_made(*args: Any, **more: Any) -> None:
        made(*args, **more)
        raise KeyboardInterrupt

    def interrupted_when_removed(*args: Any, **more: Any) -> None:
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        removed(*args, **more)

    for module, name, call in ((os, "mkdir", interrupted_when_made), (shutil, "rmtree", interrupted_when_removed)):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, call)
            with pytest.raises(KeyboardInterrupt), ScratchDirectory(tmp_path / "made") as folder:
                (folder / "file").write_bytes(b"")
        assert list(tmp_path.iterdir()) == []
    assert len(calls) == 2


def _write_file(path: Path) -> None:
    with AtomicFile(path) as file:
        file.file.write(b"all of it")


def _write_directory(path: Path) -> None:
    with AtomicDirectory(path) as folder, folder.create("f") as file:
        file.write(b"all of it")


def _use_scratch(path: Path) -> None:
    with ScratchDirectory(path):
        pass


@pytest.mark.parametrize("write", [_write_file, _write_directory, _use_scratch])
def test_an_interruption_between_any_two_instructions_leaves_nothing_or_all(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    """Also before `with` knows what it entered, and inside of what cleans up."""
    ours = (write.__code__.co_filename, f"{os.sep}atomic.py", f"{os.sep}scratch.py")
    before = sys.gettrace()
    for moment in itertools.count():
        seen = 0

        def trace(frame: FrameType, event: str, value: object, moment: int = moment) -> Any:
            nonlocal seen
            if event == "call":
                if not frame.f_code.co_filename.endswith(ours):
                    return None
                frame.f_trace_opcodes = True
            elif event == "opcode":
                seen += 1
                if seen == moment:
                    raise KeyboardInterrupt
            return trace

        interrupted = False
        sys.settrace(trace)
        try:
            write(tmp_path / "made")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(before)
        left = [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))]
        assert left in ([], ["made"], ["made", "made/f"]), moment
        if not interrupted and moment:
            break
        discard(tmp_path / "made")
    assert moment > 50
