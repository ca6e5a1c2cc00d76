"""Ordered maps over processes: results, errors, and what dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from exhume.errors import FormatError
from exhume.io import activity
from exhume.io.local import FileSource
from exhume.io.processes import map_processes


def worked(folder: str, item: int) -> int:
    """Create a file named after its process; some items fail."""
    (Path(folder) / f"{item}.{os.getpid()}").touch()
    if item == 13:
        raise FormatError("thirteen", expected=12, actual=item)
    if item == 14:
        raise ZeroDivisionError
    if item == 15 and Path(folder, "caller").read_text() != str(os.getpid()):
        os._exit(9)
    time.sleep(0.02)
    return item * item


def by_whom(folder: Path) -> set[int]:
    return {int(path.suffix[1:]) for path in folder.iterdir() if path.suffix[1:].isdigit()}


@pytest.mark.slow
def test_results_come_in_order_and_from_other_processes(tmp_path: Path) -> None:
    items = range(20, 80)
    assert list(map_processes(partial(worked, str(tmp_path)), items, 3)) == [item * item for item in items]
    assert os.getpid() in by_whom(tmp_path)
    assert 2 <= len(by_whom(tmp_path)) <= 3


def read_by(folder: str, item: int) -> int:
    """Read a file of `item` bytes, and note by which process."""
    worked(folder, item)
    name = Path(folder, "data")
    with FileSource(name) as source:
        return len(source.read_at(0, item))


def test_reads_of_all_processes_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(tmp_path, "data").write_bytes(bytes(100))
    sizes: list[int] = []
    monkeypatch.setattr(activity, "counted", sizes.append)
    items = range(20, 80)
    assert list(map_processes(partial(read_by, str(tmp_path)), items, 2)) == list(items)
    assert sum(sizes) == sum(items)
    assert len(by_whom(tmp_path)) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("item", "error"), [(13, FormatError), (14, ZeroDivisionError)])
def test_errors_are_those_of_one_job(tmp_path: Path, item: int, error: type[Exception]) -> None:
    for jobs in (1, 2):
        found: list[int] = []
        with pytest.raises(error) as raised:
            found.extend(map_processes(partial(worked, str(tmp_path)), [1, 2, 3, item, 4], jobs))
        assert found == [1, 4, 9]
        if error is FormatError:
            assert (raised.value.expected, raised.value.actual) == (12, 13)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_process_that_dies_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "caller").write_text(str(os.getpid()))
    items = [1, 2, *[15] * 20, 3]
    assert list(map_processes(partial(worked, str(tmp_path)), items, 2)) == [item * item for item in items]


def test_what_cannot_travel_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    assert list(map_processes(lambda item: seen.append(item) or item, [1, 2], 2)) == [1, 2]  # type: ignore[func-returns-value]
    monkeypatch.setattr("exhume.io.processes.sys.executable", "")
    assert list(map_processes(partial(worked, str(tmp_path)), [1, 2], 2)) == [1, 4]
    assert by_whom(tmp_path) == {os.getpid()}


@pytest.mark.slow
def test_an_interruption_ends_the_processes(tmp_path: Path) -> None:
    """Ctrl-C while all of them work: the command ends, and leaves no process."""
    script = tmp_path / "run.py"
    script.write_text(
        "import signal, sys\nfrom functools import partial\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from exhume.io.processes import map_processes\n"
        "from tests.core.test_processes import endless\n"
        f"list(map_processes(partial(endless, {str(tmp_path)!r}), range(9), 2))\n"
    )
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.Popen([sys.executable, str(script)], env=env, stderr=subprocess.PIPE, cwd=root)
    try:
        while len(by_whom(tmp_path)) < 2:
            assert child.poll() is None, child.stderr and child.stderr.read()
            time.sleep(0.05)
        child.send_signal(2)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert b"KeyboardInterrupt" in errors
    for pid in by_whom(tmp_path) - {child.pid}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def endless(folder: str, item: int) -> None:
    """Work without an end."""
    (Path(folder) / f"{item}.{os.getpid()}").touch()
    while True:
        time.sleep(0.1)
