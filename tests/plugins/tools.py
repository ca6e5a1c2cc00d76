"""The tools that exhume plugs into, in `.venv-plugins` (`make plugins`), or the sentence why one is missing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real import ROOT

ENVIRONMENT = ROOT / ".venv-plugins"


def tool(name: str) -> Path:
    """The executable of a tool, or skips the test."""
    found = ENVIRONMENT / "bin" / name
    if not found.exists():
        pytest.skip(f"{name} is not installed: `make plugins` gives the tools an environment of their own")
    return found


def run(name: str, *arguments: Any, code: int | None = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a tool prints; it has to end with that exit code (None: any)."""
    path = f"{ENVIRONMENT / 'bin'}{os.pathsep}{ROOT / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [tool(name), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path, **variables},
    )
    assert code is None or ran.returncode == code, ran.stdout + ran.stderr
    return ran
