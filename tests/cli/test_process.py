"""The command as a process of its own: closed streams, full disks."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = "tests/samples/clp_s/demo.clps"


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])


@pytest.mark.parametrize("closed", [">&-", "2>&-", "| head -c 1"])
@pytest.mark.parametrize(
    "verb", [["cat", DEMO], ["search", DEMO, "*: *"], ["info", DEMO]], ids=["cat", "search", "info"]
)
@pytest.mark.slow
def test_closed_streams_are_no_trouble(verb: list[str], closed: str) -> None:
    command = shlex.join([sys.executable, "-m", "exhume", *verb])
    done = subprocess.run(
        ["bash", "-c", f"{command} {closed}; exit ${{PIPESTATUS[0]}}"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("verb", [["cat", DEMO], ["search", DEMO, "*: *"]], ids=["cat", "search"])
def test_a_full_disk_is_an_error(verb: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "exhume", *verb]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
