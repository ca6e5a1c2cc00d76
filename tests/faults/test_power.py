"""When the power fails: no name stands for a file that was not synced, and no name that was promised is lost.

Spec: none; docs/testing.md, "Failing disks".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exhume.io.output.atomic import UNFINISHED
from exhume.testing.damage import Disk
from tests.faults import run
from tests.faults.tasks import TASKS, Task

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors have no names here")

PROMISED = [task for task in TASKS if not task.tree and task.verb != "catalog"]
"""What is promised to be durable: not extracted files, and not SQLite's own, which sees to its files itself."""


class Recorder(Disk):
    """A disk that does not fail, and notes each write, sync and rename with the names of files, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[str, str, str]] = []

    def _counted(self, kind: str, real: Callable[..., Any]) -> Callable[..., Any]:
        counted = super()._counted(kind, real)
        if kind not in ("write", "sync", "rename", "unlink"):
            return counted

        def call(*args: Any, **more: Any) -> Any:
            noted = kind
            if kind == "rename":
                first, second = map(os.path.abspath, args[:2])
                noted = "rename" if _is_final(Path(second)) else "pending"
            elif kind == "unlink":
                first, second = os.path.abspath(os.fsdecode(args[0])), ""  # noqa: PTH100
                noted = "unmark" if Path(first).name == UNFINISHED else ""
            else:
                fd = args[1] if real.__name__ == "copy_file_range" else args[0]
                first, second = os.fspath(Path(f"/proc/self/fd/{fd}").readlink()), ""
            result = counted(*args, **more)
            if noted:
                self.events.append((noted, first, second))
            return result

        return call


def _is_final(path: Path) -> bool:
    """Whether a name promises anything: neither in a folder that is yet to be named, nor in one that is marked."""
    return not (path.parent / UNFINISHED).exists() and not any(one.endswith(".part") for one in path.parent.parts)


def broken_promises(events: list[tuple[str, str, str]], out: Path) -> list[str]:
    """The files that may be lost although their names exist."""
    dirty: set[str] = set()
    nameless: set[str] = set()
    wrong = []
    for kind, first, second in events:
        if kind == "write":
            dirty.add(first)
        elif kind == "sync":
            dirty.discard(first)
            nameless.discard(first)
        elif kind == "pending":
            moved = {one for one in dirty if one == first or _below(one, first)}
            dirty = (dirty - moved) | {second + one[len(first) :] for one in moved}
        elif kind == "unmark":
            folder = os.path.dirname(first)  # noqa: PTH120
            wrong += [f"{first} is removed before {one} is synced" for one in dirty if _below(one, folder)]
            nameless.add(folder)
        elif Path(second).is_relative_to(out):
            wrong += [
                f"{second} is named before {one} is synced" for one in dirty if one == first or _below(one, first)
            ]
            nameless.add(os.fspath(Path(second).parent))
    wrong += [f"{one} is never synced" for one in dirty if _below(one, os.fspath(out)) and Path(one).exists()]
    return [*wrong, *(f"the names in {one} are never synced" for one in nameless)]


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder + "/")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the inputs of all tasks."""
    import tempfile

    folder, before = tmp_path_factory.mktemp("power"), tempfile.tempdir
    run.prepare(folder)
    yield folder
    tempfile.tempdir = before


@pytest.mark.parametrize("task", PROMISED, ids=lambda task: task.label.replace(" ", "_"))
@pytest.mark.bulk
def test_files_are_synced_before_they_are_named(task: Task, bench: Path) -> None:
    folders, disk = run.Bench(bench, task), Recorder()
    folders.fresh()
    reported, error = folders.run(disk)
    assert error is None
    assert reported[0] in (0, 3)
    assert {kind for kind, _, _ in disk.events} >= {"write", "sync"}
    assert broken_promises(disk.events, folders.out) == []


def test_what_is_promised_can_be_broken(tmp_path: Path) -> None:
    for synced, named in ((False, False), (True, False), (True, True)):
        with Recorder() as disk, (tmp_path / "part").open("wb", buffering=0) as file:
            file.write(b"x")
            if synced:
                os.fsync(file.fileno())
            (tmp_path / "part").replace(tmp_path / "made")
            if named:
                folder = os.open(tmp_path, os.O_RDONLY)
                os.fsync(folder)
                os.close(folder)
        found = broken_promises(disk.events, tmp_path)
        assert any("before" in one for one in found) == (not synced)
        assert any("names in" in one for one in found) == (not named)
    with Recorder() as disk:
        (tmp_path / "in place").write_bytes(b"x")
    assert broken_promises(disk.events, tmp_path) == [f"{tmp_path / 'in place'} is never synced"]
