"""`-` is what is piped in, for every verb that reads a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def piped(data: bytes, *words: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """`exhume` with these bytes on standard input, and a folder for temporary files of its own."""
    (cwd / "scratch").mkdir(exist_ok=True)
    known = os.environ | {"TMPDIR": str(cwd / "scratch")}
    command = [sys.executable, "-m", "exhume", *words]
    return subprocess.run(command, input=data, cwd=cwd, env=known, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verify", "-"], b"-: zs: ok"),
        (["identify", "-"], b"-: zs (100%)"),
        (["info", "-"], b"codec"),
        (["cat", "-"], b"\n"),
        (["list", "-", "--sections"], b"header"),
        (["payload", "-", "metadata"], b"{"),
        (["carve", "-"], b"complete"),
        (["salvage", "-", "-o", "saved.zs"], b"saved.zs: written"),
        (["explain", "-", "--section", "header"], b"header"),
    ],
)
@pytest.mark.slow
def test_an_archive_that_is_piped_in(words: list[str], said: bytes, samples: Path, tmp_path: Path) -> None:
    data = (samples / "zs/words-none.zs").read_bytes()
    done = piped(data, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert list((tmp_path / "scratch").iterdir()) == [], "nothing is left behind"


@pytest.mark.slow
def test_what_is_piped_in_may_be_part_of_it_or_nothing(samples: Path, tmp_path: Path) -> None:
    data = (samples / "zs/words-none.zs").read_bytes()
    done = piped(bytes(100) + data, "verify", "-", "--offset", "100", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = piped(b"", "info", "-", cwd=tmp_path)
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
