"""A failing disk under everything that exhume writes: every call fails once, in every way.

    python -m tests.faults.run [--kill] [--every N] [--json] [WORD ...]    # tasks whose label has all the words
    python -m tests.faults.run --write                                     # make faults

After each fault the disk is checked: nothing, the previous state, or all that a run without a fault writes; never
anything else under its final name, and no temporary file unless the process was killed.  The kernel's
loops over small files run interpreted, so that their calls are seen.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import io
import json
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from exhume.cli import ExitCode
from exhume.cli.main import CarriedError, invoke, main
from exhume.errors import ExhumeError
from exhume.io import folders
from exhume.io.output.atomic import UNFINISHED
from exhume.testing.damage import CALLS, KILL, SHORT, Disk, ways
from tests.archives import descriptors
from tests.faults.tasks import TASKS, Task, make_inputs, repeatable
from tools.blocks import write_block

State = dict[str, str]
"""What is in a folder: the digest of each file by its name, `/` for a directory."""

TEMPORARY = re.compile(r"(^|/)\.[^/]*\.part(/|$)|-journal$")
"""Names that cannot be confused with a finished output."""

EMPTY_CATALOG = "an empty catalog"


@dataclass
class Tally:
    """What came of the faults of one task."""

    task: Task
    faults: Counter[str] = field(default_factory=Counter)
    complete: int = 0
    """Faults after which all was there, as without one."""
    wrong: list[str] = field(default_factory=list)


def state(folder: Path) -> State:
    """What a folder holds."""
    found: State = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        found[name] = "/" if path.is_dir() and not path.is_symlink() else _digest(path)
    return found


def _digest(path: Path) -> str:
    data = path.read_bytes()
    if data.startswith(b"SQLite format 3\0"):
        import sqlite3

        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            if not next(database.execute("SELECT count(*) FROM caf_files"))[0]:
                return EMPTY_CATALOG
            data = "\n".join(database.iterdump()).encode()
    return hashlib.sha256(data).hexdigest()


class Bench:
    """The folders that one task is run in, again and again."""

    def __init__(self, folder: Path, task: Task) -> None:
        self.inputs, self.out, self.scratch = folder / "in", folder / "out", folder / "tmp"
        self.task = task

    def fresh(self) -> None:
        """Empty the output folders, except for the files that the task expects."""
        for path in (self.out, self.scratch):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        if self.task.before:
            self.task.before(self.inputs, self.out)

    def run(self, disk: Disk) -> tuple[tuple[int, str], BaseException | None]:
        """Run the task on a disk; return the exit code with what was reported, and an exception that is not ours."""
        words = self.task.words.format(i=self.inputs, o=self.out).split()
        streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
        with (
            contextlib.redirect_stdout(streams[0]),
            contextlib.redirect_stderr(streams[1]),
            repeatable(),
            interpreted(),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            try:
                with disk:
                    result: Any = main.main([self.task.verb, *words, "-q", "--json"], "exhume", standalone_mode=False)
            except CarriedError as ended:
                error: BaseException | None = None if isinstance(ended.error, ExhumeError) else ended.error
                return (int(ExitCode.FAILED), str(ended.error)), error
            except Exception as error:
                return (int(ExitCode.FAILED), ""), error
        streams[0].flush()
        stated = streams[0].buffer.getvalue().decode("utf-8", "replace")
        leaks = [w for w in caught if issubclass(w.category, ResourceWarning)]
        return (int(result or 0), stated), ResourceWarning(str(leaks[0].message)) if leaks else None

    def state(self) -> State:
        """The current files: outputs, and leftovers in the folder of temporary files."""
        return state(self.out) | {f"/tmp/{name}": each for name, each in state(self.scratch).items()}


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Has small files read and written by Python code, not by the compiled kernel."""
    with (
        mock.patch("exhume.io.output.tree.write_files", folders.py_write_files),
        mock.patch("exhume.formats.caf.inputs.read_files", folders.py_read_files),
        mock.patch("exhume.formats.data_bundle.writer.read_files", folders.py_read_files),
    ):
        yield


def judge(task: Task, before: State, after: State, found: State, *, killed: bool) -> str | None:
    """The problem with the state after a fault; None if nothing is."""
    left = {name for name in found if TEMPORARY.search(name) or name.startswith("/tmp/")}
    if left and not killed:
        return f"left behind: {', '.join(left)}"
    marked = any(name.endswith(f"/{UNFINISHED}") for name in found)
    rest = {name: each for name, each in found.items() if name not in left and not name.endswith(UNFINISHED)}
    if rest in (before, after):
        return None
    gone = [name for name in before if name not in rest]
    if gone:
        return f"lost: {', '.join(gone)}"
    if marked and task.tree and killed:
        return None
    unknown = [name for name, each in rest.items() if each not in (before.get(name), after.get(name), EMPTY_CATALOG)]
    if unknown:
        return f"neither old nor complete: {', '.join(unknown)}"
    new = [name for name, each in rest.items() if each not in ("/", EMPTY_CATALOG, before.get(name))]
    if (task.tree and (marked or not new)) or task.apart:
        return None
    if all(re.fullmatch(r"made[.-]\d+", name) for name in new):  # without the first, which comes last
        return None
    return f"a part of the outputs that looks whole: {', '.join(new)}"


def faults(calls: Counter[str], every: int, *, kill: bool) -> list[tuple[str, int, str]]:
    """Every kind of call, each of its calls, and how it fails; only every this many on request, but at least one."""
    found = [
        (kind, call, how)
        for kind in CALLS
        if not (kind == "read" and kill)
        for call in range(calls[kind])
        for how in ((KILL,) if kill else ways(kind))
    ]
    return found[len(found) // 2 % every :: every]


def freeze() -> None:
    """Limit the garbage collector to objects made from now on: those that a fault may leave.

    They stay frozen: `gc.unfreeze` would make it go through all collected tests each time.
    """
    gc.collect()
    gc.freeze()


def try_task(folder: Path, task: Task, every: int = 1, *, kill: bool = False) -> Tally:
    """Run a task with every fault."""
    bench, tally = Bench(folder, task), Tally(task)
    already = descriptors(folder)  # what another task left is its fault, not that of all after it
    bench.fresh()
    before = bench.state()
    for _ in range(2):  # the first run may import
        bench.fresh()
        disk = Disk()
        usual, error = bench.run(disk)
        if error is not None or usual[0] not in (0, 3):
            tally.wrong.append(f"without a fault: exit {usual}, {error!r}")
            return tally
    after = bench.state()
    if open_of(bench, already) > 0:
        tally.wrong.append("without a fault: descriptors left open")
    if any(TEMPORARY.search(name) or name.startswith("/tmp/") for name in after):
        tally.wrong.append(f"without a fault: left behind {after}")
    inputs = state(bench.inputs)
    freeze()
    for kind, number, how in faults(disk.calls, every, kill=kill):
        bench.fresh()
        disk = Disk(kind, number, how)
        if kill:
            struck, problem = _killed(bench, disk, after)
        else:
            problem = _failed(bench, disk, before, usual, after, already)
            struck = disk.struck is not None
        if not struck and not problem:
            continue  # threads made fewer calls than the last time
        tally.faults[kind] += 1
        tally.complete += bench.state() == after
        if problem:
            tally.wrong.append(f"{kind} {number} {how} ({disk.struck}): {problem}")
    if state(bench.inputs) != inputs:
        tally.wrong.append("the inputs are not what they were")
    return tally


def open_of(bench: Bench, already: int) -> int:
    """How many more descriptors are open than there were, once threads that only end had the time to."""
    for _ in range(100):
        gc.collect()
        if (found := descriptors(bench.out.parent) - already) <= 0:
            break
        time.sleep(0.05)
    return found


def _failed(bench: Bench, disk: Disk, before: State, usual: tuple[int, str], after: State, already: int) -> str | None:
    """Run the task on a failing disk and report the problem with what came of it."""
    reported, error = bench.run(disk)
    leaked = open_of(bench, already)
    found = bench.state()
    if error is not None:
        return f"not an error of ours: {error!r}"
    if leaked > 0:
        return f"{leaked} descriptors left open"
    if disk.how == SHORT and reported != usual:
        return f"did not go on after less than it requested: {reported}"
    names_unread = bench.task.verb == "report" and '"kind":"unreadable"' in reported[1]
    if reported[0] in (0, 3) or names_unread:  # it reports how much it has
        if found == after or reported != usual:
            return None
        return f"says that all is as it should be, but {sorted(set(after.items()) ^ set(found.items()))} is not"
    return judge(bench.task, before, after, found, killed=False)


def _killed(bench: Bench, disk: Disk, after: State) -> tuple[bool, str | None]:
    """Run the task in a child that is killed at the fault: whether it came to that, and the problem then."""
    before = bench.state()
    child = os.fork()
    if not child:
        bench.run(disk)
        os._exit(disk.struck is not None)
    _, status = os.waitpid(child, 0)
    found, code = bench.state(), os.waitstatus_to_exitcode(status)
    if code == 0:
        return False, None if found == after else "the call was not made, and what is there is not complete"
    if code != -signal.SIGKILL:
        return True, "the child was not killed"
    rest = {name: each for name, each in found.items() if not TEMPORARY.search(name)}
    if bench.task.log and rest != after:  # written in place: what there is of it must not verify
        verdict = _verdict(bench.out / "made")
        return True, None if verdict not in (0, 3) else f"verify says {verdict} of a part"
    return True, judge(bench.task, before, after, found, killed=True)


def _verdict(target: Path) -> int:
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        return int(invoke(["verify", str(target)]))


def prepare(folder: Path) -> None:
    """Make the inputs, and have temporary files made where they are looked for."""
    (folder / "in").mkdir()
    (folder / "tmp").mkdir()
    make_inputs(folder / "in")
    main.main(
        ["create", "caf", str(folder / "in/files"), "-o", str(folder / "in/made.caf"), "--base-dir", str(folder / "in"),
         "-q"], "exhume", standalone_mode=False,
    )  # fmt: skip
    tempfile.tempdir = str(folder / "tmp")


def chosen(words: list[str]) -> list[Task]:
    """The tasks whose label has all of the words."""
    return [task for task in TASKS if all(word in task.label for word in words)]


_FOLDER = Path()


def in_memory() -> str | None:
    """A folder in memory, where there is one: the tasks sync what they write."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _worker(temporary: str) -> None:
    global _FOLDER  # noqa: PLW0603 - of a worker of its own
    _FOLDER = Path(tempfile.mkdtemp(dir=temporary))
    prepare(_FOLDER)


def _work(job: tuple[Task, int, bool]) -> Tally:
    task, every, kill = job
    return try_task(_FOLDER, task, every, kill=kill)


def table(tallies: list[tuple[bool, Tally]]) -> str:
    """What came of all faults, by verb, as a table in Markdown."""
    verbs = sorted({tally.task.verb for _, tally in tallies})
    heads = ["verb", "of formats", "ways to call it", "calls that failed", "processes killed"]
    heads += ["nothing, or the old one", "complete", "wrong"]
    lines = [f"| {' | '.join(heads)} |", "| --- | --- |" + " ---: |" * (len(heads) - 2)]
    for verb in [*verbs, "all"]:
        mine = [(kill, tally) for kill, tally in tallies if verb in (tally.task.verb, "all")]
        names = ", ".join(sorted({tally.task.format for _, tally in mine} - {"any"})) if verb != "all" else ""
        failed, killed = (sum(t.faults.total() for kill, t in mine if kill is which) for which in (False, True))
        complete, wrong = sum(t.complete for _, t in mine), sum(len(t.wrong) for _, t in mine)
        ways_ = len({tally.task.label for _, tally in mine})
        cells = [failed, killed, failed + killed - complete - wrong, complete, wrong]
        shown = f"`{verb}`" if verb != "all" else "**all**"
        lines.append(f"| {shown} | {names} | {ways_} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(lines)


def write(jobs: int, every: int) -> bool:
    """Run every task with every fault, write the table in `docs/testing.md`; return whether all behaved."""
    work = [(task, every, kill) for kill in (False, True) for task in TASKS]
    with (
        tempfile.TemporaryDirectory(prefix="exhume-faults-", dir=in_memory()) as temporary,
        multiprocessing.get_context("spawn").Pool(jobs, _worker, (temporary,)) as pool,
    ):
        tallies = []
        for (task, _, kill), tally in zip(work, pool.imap(_work, work), strict=True):
            tallies.append((kill, tally))
            for line in tally.wrong:
                print(f"{task.label}: {line}", flush=True)  # noqa: T201
    reported = f"Of each {every} faults one was tried.\n\n" if every > 1 else ""
    write_block("testing.md", "faults", reported + table(tallies))
    return not any(tally.wrong for _, tally in tallies)


def main_() -> None:
    """Run tasks and print what came of them."""
    parser = argparse.ArgumentParser(description="Every call fails once, in every way.")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--kill", action="store_true", help="the process is killed instead")
    parser.add_argument("--every", type=int, default=1, help="only every so many faults")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="everything, and its table in docs/testing.md")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes, with --write")
    options = parser.parse_args()
    if options.write:
        sys.exit(not write(options.jobs, options.every))
    tallies = []
    with tempfile.TemporaryDirectory(prefix="exhume-faults-", dir=in_memory()) as temporary:
        folder = Path(temporary)
        prepare(folder)
        for task in chosen(options.words):
            tally = try_task(folder, task, options.every, kill=options.kill)
            tallies.append(tally)
            if not options.json:
                print(f"{tally.faults.total():5} {tally.complete:5} {len(tally.wrong):4}  {task.label}", flush=True)  # noqa: T201
                for line in tally.wrong[:12]:
                    print(f"        {line}")  # noqa: T201
    if options.json:
        rows = [{"format": t.task.format, "verb": t.task.verb, "label": t.task.label, "faults": dict(t.faults),
                 "complete": t.complete, "wrong": t.wrong} for t in tallies]  # fmt: skip
        print(json.dumps(rows))  # noqa: T201
    sys.exit(any(t.wrong for t in tallies))


if __name__ == "__main__":
    main_()
