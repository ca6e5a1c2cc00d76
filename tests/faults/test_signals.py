"""Ctrl-C at any moment: the process ends, says so, and leaves nothing, what was there before, or all of it.

    python -m tests.faults.test_signals [ROUNDS]     # also says how long it took to end

Spec: none; docs/trust.md, "Threads, processes and signals".
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.cli.main import ending, invoke
from tests.conftest import ROOT
from tests.faults import run
from tests.faults.tasks import TASKS, Task, make_inputs, repeatable
from tests.sizes import size

WRITERS = {(task.format, task.verb): task for task in reversed(TASKS)}
"""One task of each format and verb that writes."""

SCRIPT = """
from tests.faults.tasks import repeatable
from exhume.cli.main import run
print("ready", flush=True)
with repeatable():
    run()
"""


def interrupted(task: Task, folder: Path, delay: float | None) -> tuple[int, float, str]:
    """Runs a task and interrupts it after some seconds; exit code, seconds until it ended, and what it said."""
    words = task.words.format(i=folder / "in", o=folder / "out").split()
    command = [sys.executable, "-c", SCRIPT, task.verb, *words, "-q"]
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, text=True)
    assert done.stdout is not None
    done.stdout.readline()  # everything before is the interpreter's
    if delay is not None:
        time.sleep(delay)
        done.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = done.communicate(timeout=300)
    return done.returncode, time.monotonic() - began, said


def rounds(task: Task, folder: Path, count: int, seed: int) -> Iterator[tuple[float, str | None]]:
    """Interrupts a task at random moments; how long each took to end, and what is wrong with what was left."""
    bench = run.Bench(folder, task)
    bench.fresh()
    before = bench.state()
    began = time.monotonic()
    code, _, said = interrupted(task, folder, None)
    whole = time.monotonic() - began
    assert code in (0, 3), said
    after = bench.state()
    chance = random.Random(seed)
    for _ in range(count):
        bench.fresh()
        code, took, said = interrupted(task, folder, chance.random() * whole)
        problem = None
        if code == 130:
            problem = run.judge(task, before, after, bench.state(), killed=False)
            if "exhume: interrupted" not in said or "Traceback" in said:
                problem = f"says {said!r}"
        elif code in (0, 3):
            problem = None if bench.state() == after else "says that all is well"
        elif code != -signal.SIGINT:  # before exhume listens, or when it is done
            problem = f"exit code {code}: {said}"
        yield took, problem


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    before = tempfile.tempdir
    made = tmp_path_factory.mktemp("signals")
    run.prepare(made)
    tempfile.tempdir = before
    return made


@pytest.mark.parametrize("what", WRITERS, ids=" ".join)
@pytest.mark.slow
def test_ctrl_c(what: tuple[str, str], folder: Path) -> None:
    for _, problem in rounds(WRITERS[what], folder, size(2, 60), len(what[0])):
        assert problem is None


def test_ctrl_c_inside_a_writer_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the worst moments: in the middle of a write, a sync, a rename."""
    (tmp_path / "in").mkdir()
    make_inputs(tmp_path / "in")
    task = WRITERS["zs", "create"]
    bench = run.Bench(tmp_path, task)
    for name in ("write", "fsync", "link"):
        bench.fresh()
        real = getattr(os, name)

        def interrupt(*args: object, real: object = real) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, repeatable():
            patch.setattr(os, name, interrupt)
            words = task.words.format(i=tmp_path / "in", o=bench.out).split()
            assert int(invoke([task.verb, *words])) == 130
        assert bench.state() == {}


def test_ctrl_c_while_a_class_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    """Python before 3.12 wraps what comes out of `__set_name__`."""
    error = RuntimeError("Error calling __set_name__")
    error.__cause__ = KeyboardInterrupt()
    assert int(ending(error, [])) == 130
    assert capsys.readouterr().err == "exhume: interrupted\n"
    with pytest.raises(RuntimeError):
        ending(RuntimeError("a bug"), [])


def main() -> None:
    """Interrupts every writing verb and prints what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    found: list[float] = []
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        run.prepare(Path(temporary))
        for what, task in WRITERS.items():
            for took, problem in rounds(task, Path(temporary), count, 1):
                found.append(took)
                if problem:
                    wrong += 1
                    print(f"{' '.join(what)}: {problem}")  # noqa: T201
    found.sort()
    middle, most = found[len(found) // 2], found[-1]
    print(f"{len(found)} interrupted, {wrong} wrong; ended after {middle:.3f} s (median), {most:.3f} s at most")  # noqa: T201


if __name__ == "__main__":
    main()
