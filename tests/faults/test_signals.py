"""Ctrl-C at any moment: the process ends, states it, and leaves nothing, the previous state, or all of its output.

    python -m tests.faults.test_signals [ROUNDS]     # make signals: how long they took to end, into docs/testing.md

Spec: none; docs/testing.md, "Threads, processes and signals".
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from exhume.cli import ExitCode
from exhume.cli.main import ending, invoke, main
from exhume.cli.main import run as program
from tests.faults import run
from tests.faults.tasks import TASKS, Task, make_inputs, repeatable
from tests.faults.traced import is_traced
from tests.forks import Ended, Forks
from tests.sizes import THOROUGH, size
from tools.blocks import write_block

LONGEST = 1.0
"""Seconds of the processor that a process may take to end."""

LOCKED = "Exception ignored in: <function _get_module_lock"
"""What CPython says when Ctrl-C meets the few instructions in which its import machinery clears a lock: it drops the
interrupt and may keep the lock, so that imports of other threads wait until the next Ctrl-C.  Nothing of exhume can
prevent that."""

FILES = "{i}/a.zs {i}/a.caf {i}/a.clps {i}/a.clp"
MANY = f"{FILES} {FILES.replace('/a.', '/bad-a.')}"

APART = ("export", "report", "salvage")
"""Verbs whose outputs are not parts of one thing."""

OTHERS = [
    *(Task("any", verb, words) for verb, words in {
        "audit": "{i}/records", "cat": "{i}/log --ndjson", "completion": "bash", "diff": "{i}/bundle {i}/plain-bundle",
        "explain": "{i}/a.clps --json", "explore": "{i}/a.zs --no-browser --idle 0.2",
        "formats": "--json", "identify": MANY, "info": "{i}/log --stats",
        "list": "{i}/log --sections", "schema": "zs --bundle", "search": "{i}/a.clps * --ordered",
        "selftest": "--count 1 -o {o}/made", "verify": f"{MANY} {{i}}/log",
    }.items()),
    *(Task("workers", verb, f"{words} --jobs 2", tree=True, apart=verb in APART) for verb, words in {
        "carve": "{i}/image -o {o}/made --chunk-size 8K", "cat": "{i}/bundle",
        "catalog": "build {o}/made {i}/a.caf {i}/made.caf", "diff": "{i}/bundle {i}/plain-bundle --content",
        "create": "zs {i}/numbers -o {o}/made --no-default-metadata --block-size 1K",
        "explain": "{i}/bundle --recursive --coverage", "export": f"{FILES} --to jsonl -o {{o}}/made",
        "extract": "{i}/made.caf -o {o}/made", "identify": MANY, "info": "{i}/db --recursive",
        "list": "{i}/bundle --recursive", "map": "{i}/bundle --svg {o}/made",
        "report": "{i}/image -o {o}/made/case.html --folder {o}/made/case",
        "recode": "{i}/bundle -o {o}/made --codec snappy", "salvage": "{i}/bad-a.zs {i}/bad-a.caf -o {o}/made",
        "search": "{i}/a.clps {i}/a.clps * --count", "verify": MANY,
    }.items()),
]  # fmt: skip
"""What only reads, and what has others do the work."""

TRIED = {(task.format, task.verb): task for task in reversed([*TASKS, *OTHERS])}
"""One task of each format and verb that writes, and of each other verb; with workers where there can be some."""

IMPORTS = """
import sys
from tests.faults.tasks import repeatable
from exhume.cli.main import run
"""
WORK = """
    sys.argv[1:] = words
    with repeatable():
        run()
"""


def processes() -> Forks:
    """What runs a task in a process of its own."""
    # What measures coverage waits for itself for ever when it is interrupted.
    untraced = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    return Forks(IMPORTS, WORK.strip(), untraced)


def interrupted(forks: Forks, task: Task, folder: Path, delay: float | None) -> Ended:
    """Run a task and interrupt it and its workers after some seconds."""
    words = task.words.format(i=folder / "in", o=folder / "out").split()
    words += [] if task.verb == "completion" else ["-q"]
    return forks.run(task.verb, *words, interrupt_after=delay)


def rounds(forks: Forks, task: Task, folder: Path, count: int, seed: int) -> Iterator[tuple[Ended, str | None]]:
    """Interrupt a task at random moments; yield how each run ended, and the problem with its leftovers."""
    bench = run.Bench(folder, task)
    bench.fresh()
    before = bench.state()
    whole = interrupted(forks, task, folder, None)
    assert whole.code in (0, 3, 4), whole.err
    after = bench.state()
    chance = random.Random(seed)
    for _ in range(count):
        bench.fresh()
        ending = interrupted(forks, task, folder, chance.random() * whole.seconds)
        if LOCKED in ending.err:
            continue
        problem = None
        if ending.code == 130:
            problem = run.judge(task, before, after, bench.state(), killed=False)
            if "exhume: interrupted" not in ending.err or "Traceback" in ending.err:
                problem = f"says {ending.err!r}"
        elif ending.code == whole.code:
            problem = None if bench.state() == after or task.verb == "selftest" else "says that all is well"
        elif ending.code != -signal.SIGINT:  # before exhume listens, or when it is done
            problem = f"exit code {ending.code}: {ending.err}"
        if ending.cpu > LONGEST and not is_traced():
            problem = problem or f"worked for {ending.cpu} s after the signal"
        yield ending, problem


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    before = tempfile.tempdir
    made = tmp_path_factory.mktemp("signals")
    prepare(made)
    tempfile.tempdir = before
    return made


def prepare(folder: Path) -> None:
    """The inputs of all tasks."""
    run.prepare(folder)
    made, records = str(folder / "in/header"), str(folder / "in/records")
    assert not int(invoke(["payload", str(folder / "in/a.zs"), "header", "-o", made, "-q", "--audit", records]))


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with processes() as made:
        yield made


def tried() -> list[tuple[str, str]]:
    """What the tests interrupt: each verb (with workers where it can have some), and writing of each format.

    All tasks are tried under `make test-thorough`, and by `make signals`.
    """
    if THOROUGH:
        return list(TRIED)
    verbs = {verb: (format, verb) for format, verb in sorted(TRIED, key=lambda one: one[0] == "workers")}
    writing = {format: (format, verb) for format, verb in sorted(TRIED, key=lambda one: one[1] == "create")}
    return sorted({*verbs.values(), *writing.values()})


@pytest.mark.parametrize("what", tried(), ids=" ".join)
@pytest.mark.slow
def test_ctrl_c(what: tuple[str, str], folder: Path, forks: Forks) -> None:
    assert [problem for _, problem in rounds(forks, TRIED[what], folder, size(1, 60), len(what[0])) if problem] == []


def test_output_of_a_process_is_kept(forks: Forks, tmp_path: Path) -> None:
    ended = forks.run("info", str(tmp_path / "none"))
    assert ended.code == 1
    assert "none: No such file" in ended.err
    assert "ark" in forks.run("formats").out


def test_every_verb_is_interrupted() -> None:
    verbs = set(main.list_commands(click.Context(main))) - {"browse"}  # its keys are those of tests/cli/test_browser.py
    assert {verb for _, verb in TRIED} == verbs
    for name in verbs - {verb for format, verb in TRIED if format == "workers"}:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert not any("--jobs" in option.opts for option in command.params), name


def test_ctrl_c_inside_a_writer_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the worst moments: in the middle of a write, a sync, a rename."""
    (tmp_path / "in").mkdir()
    make_inputs(tmp_path / "in")
    task = TRIED["zs", "create"]
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


def test_threads_of_an_interrupted_run_end_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """One inside a library of C++ or Rust would abort the process when the interpreter ends."""
    ended: list[bool] = []

    def work() -> None:
        time.sleep(0.05)
        ended.append(True)

    def interrupted() -> ExitCode:
        threading.Thread(target=work, name="exhume", daemon=True).start()
        return ExitCode.INTERRUPTED

    monkeypatch.setattr("exhume.cli.main.invoke", interrupted)
    monkeypatch.setattr("gc.freeze", lambda: None)
    monkeypatch.setattr("gc.set_threshold", lambda *numbers: None)
    with pytest.raises(SystemExit) as caught:
        program()
    assert (caught.value.code, ended) == (130, [True])


def table(found: dict[str, list[float]]) -> str:
    """How long the processes of each verb took to end after the signal."""
    lines = ["| verb | interrupted | median | at most |", "| --- | ---: | ---: | ---: |"]
    for verb, took in sorted(found.items()):
        took.sort()
        lines.append(f"| {verb} | {len(took)} | {took[len(took) // 2]:.2f} s | {took[-1]:.2f} s |")
    return "\n".join(lines)


def tell() -> None:
    """Interrupt every verb and write down how long it took to end."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    found: dict[str, list[float]] = {}
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary, processes() as forks:
        prepare(Path(temporary))
        for (format, verb), task in TRIED.items():
            for ending, problem in rounds(forks, task, Path(temporary), count, 1):
                if ending.code in (130, -signal.SIGINT):
                    name = f"`{verb} --jobs 2`" if format == "workers" else f"`{verb}`"
                    found.setdefault(name, []).append(ending.seconds)
                if problem:
                    wrong += 1
                    print(f"{format} {verb}: {problem}")  # noqa: T201
    write_block("testing.md", "signals", table(found))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    tell()
