"""Many processes that begin alike, each a fork of one that imported what they need.

Python takes a quarter of a second to import exhume, a fork some milliseconds. The process of the tests has threads,
and must not fork: another one does, which has none.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self

from tests.real import ROOT

PATIENCE = 120
"""Seconds after which a process is killed."""

PROGRAM = """
{imports}
from tests.forks import leave, next_child
words = next_child()
if words is not None:
    {work}
    leave(0)
"""


class Ended(NamedTuple):
    """How a process ended: exit code, output, errors, seconds from the signal or begin on, those of the processor."""

    code: int
    out: str
    err: str
    seconds: float
    cpu: float


class Forks:
    """Runs `work` in a process of its own for each list of `words`, after `imports`, both given as Python."""

    def __init__(self, imports: str, work: str, environment: dict[str, str] | None = None) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(imports=imports, work=work)], cwd=ROOT, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", start_new_session=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._parent.communicate()  # closes its input, which ends it

    def run(self, *words: str, interrupt_after: float | None = None) -> Ended:
        """Run one process; interrupt it and its workers after some seconds, as a terminal does."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps([words, interrupt_after]) + "\n")
        self._parent.stdin.flush()
        return Ended(*json.loads(self._parent.stdout.readline()))


LATE = ("pyarrow.compute", "pyarrow.csv", "pyarrow.ipc", "pyarrow.parquet")
RARE = (
    "exhume.cli.terminal.", "exhume.compiler.strategies", "exhume.plugins.", "exhume.tabular.dataset",
    "exhume.testing.",
)  # fmt: skip
"""Modules whose names begin so import pandas, Polars, Textual and Hypothesis, which takes as long as all others do."""


def load_all() -> None:
    """Import what commands import, also late, so that no child has to; no thread may begin."""
    import exhume

    for name in (*(found.name for found in pkgutil.walk_packages(exhume.__path__, "exhume.")), *LATE):
        if not name.startswith(RARE) and not name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # extras that are not installed
                importlib.import_module(name)


def leave(code: int) -> NoReturn:
    """End a process as the interpreter does, but free nothing: that takes ten times as long as to fork."""
    threads: Any = threading
    threads._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def next_child() -> list[str] | None:
    """Fork for each request on standard input; returns in each child, with its words, and without any at the end."""
    gc.collect()
    gc.freeze()
    with os.fdopen(os.dup(0), encoding="utf-8") as requests, os.fdopen(os.dup(1), "w", encoding="utf-8") as replies:
        for line in requests:
            words, delay = json.loads(line)
            with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
                waits, begins = os.pipe()
                child = os.fork()
                if not child:
                    os.setsid()
                    with Path(os.devnull).open("rb") as nothing:
                        os.dup2(nothing.fileno(), 0)
                    os.dup2(out.fileno(), 1)
                    os.dup2(err.fileno(), 2)
                    tempfile.tempdir = None  # as in any process that begins
                    os.close(waits)
                    os.close(begins)
                    return list(words)
                os.close(begins)
                os.read(waits, 1)  # until the child has closed it
                os.close(waits)
                code, seconds, cpu = _followed(child, delay)
                texts = []
                for file in (out, err):
                    file.seek(0)
                    texts.append(file.read().decode("utf-8", "replace"))
            replies.write(json.dumps(Ended(code, texts[0], texts[1], seconds, cpu)) + "\n")
            replies.flush()
    return None


def _followed(child: int, delay: float | None) -> tuple[int, float, float]:
    """The exit code of a child that is interrupted after some seconds, and how long it took from then on."""
    if delay is not None:
        time.sleep(delay)
    used = _cpu(child)
    began = time.monotonic()
    if delay is not None:
        os.killpg(child, signal.SIGINT)
    before = signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(PATIENCE)
    _, status, usage = os.wait4(child, 0)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    return os.waitstatus_to_exitcode(status), time.monotonic() - began, usage.ru_utime + usage.ru_stime - used


def _cpu(group: int) -> float:
    """Seconds of the processor that a process and its workers took so far, and those of its children that ended."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group:
                found += sum(map(int, fields[11:15]))
    return found / os.sysconf("SC_CLK_TCK")
