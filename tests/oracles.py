"""Independent implementations that the conformance tests compare with, and the sentence that says why one is missing.

Most of them are in the project's environment (dependency group `oracles`).  Those that insist on old versions of their
own dependencies are in `.venv-oracles` (`make setup-oracles`), without these dependencies, and run in a subprocess.
"""

from __future__ import annotations

import importlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.real import ROOT

ENVIRONMENT = ROOT / ".venv-oracles"
ASKED: set[str] = set()
"""Names of the packages that tests requested; see `tools.oracle_table`."""
COMPARED: Counter[str] = Counter()
"""How many inputs of each kind a test compared; see `tools.oracle_table`."""


def compared(kind: str = "files") -> None:
    """Count one input that an oracle and exhume read: a file, a database, a stream or a query."""
    COMPARED[kind] += 1


def need(module: str, package: str = "") -> Any:
    """Import a module of the group `oracles`, or skip the test."""
    ASKED.add(package or module)
    try:
        return importlib.import_module(module)
    except ImportError:
        pytest.skip(
            f"{package or module} is not installed: `make setup` does it where this Python and processor have a wheel"
        )


@contextmanager
def apart(module: str, worker: Path) -> Iterator[Oracle]:
    """Run a worker under the Python of `.venv-oracles`, or skip the test."""
    ASKED.add(module)
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists() or not list(ENVIRONMENT.glob(f"lib/python*/site-packages/{module}")):
        pytest.skip(f"{module} is not installed: `make setup-oracles` gives it an environment of its own")
    with subprocess.Popen([python, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Oracle(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


class Oracle:
    """A worker that answers one line of JSON with one line of JSON."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, **question: Any) -> Any:
        """The worker's answer; its own traceback goes to standard error when it has none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the oracle gave up"
        compared("questions")
        return json.loads(line)
