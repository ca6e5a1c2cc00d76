"""`-` is what is piped in, for every verb that reads a file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran


def piped(data: bytes, *words: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """`exhume` with these bytes on standard input, and a folder for temporary files of its own."""
    (cwd / "scratch").mkdir(exist_ok=True)
    known = os.environ | {"TMPDIR": str(cwd / "scratch")}
    command = [sys.executable, "-m", "exhume", *words]
    return subprocess.run(command, input=data, cwd=cwd, env=known, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("words", "stated"),
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
def test_an_archive_that_is_piped_in(words: list[str], stated: bytes, samples: Path, tmp_path: Path) -> None:
    data = (samples / "zs/words-none.zs").read_bytes()
    done = piped(data, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert stated in done.stdout
    assert list((tmp_path / "scratch").iterdir()) == [], "nothing is left behind"


@pytest.mark.slow
def test_what_is_piped_in_may_be_part_of_it_or_nothing(samples: Path, tmp_path: Path) -> None:
    data = (samples / "zs/words-none.zs").read_bytes()
    done = piped(bytes(100) + data, "verify", "-", "--offset", "100", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = piped(b"", "info", "-", cwd=tmp_path)
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)


@pytest.mark.parametrize("jobs", [[], ["--jobs", "2"]])
@pytest.mark.parametrize("verb", ["verify", "search", "list", "info", "identify", "export", "salvage"])
def test_what_is_piped_in_is_one_of_several(
    verb: str, jobs: list[str], samples: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]
) -> None:
    """It is read once, whatever examines it, and by this process, however many jobs there are."""
    if jobs and verb in ("list", "info", "identify"):
        jobs = []  # these verbs work in one process
    words = samples / "zs/words-none.zs"
    more: dict[str, list[object]] = {
        "search": ["late"],
        "export": ["--to", "jsonl", "-o", tmp_path / "out"],
        "salvage": ["-o", tmp_path / "out"],
    }
    piped_in = exhume_cli(verb, "-", words, *jobs, *more.get(verb, []), input=words.read_bytes())
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    named = exhume_cli(verb, words, words, *more.get(verb, []))
    assert (piped_in.code, named.code) == (0, 0)
    assert piped_in.text.count("\n") == named.text.count("\n")
    assert verb == "export" or piped_in.text.startswith("-:")


def test_a_pipe_that_is_named_twice_is_the_same(samples: Path, exhume_cli: Callable[..., Ran]) -> None:
    words = samples / "zs/words-none.zs"
    ran = exhume_cli("verify", "-", "-", words, input=words.read_bytes())
    assert (ran.code, ran.text.splitlines()[-1]) == (0, "total: ok (3 ok)")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_several_process_substitutions(samples: Path, tmp_path: Path) -> None:
    words = samples / "zs/words-none.zs"
    command = f"{sys.executable} -m exhume search <(cat {words}) <(cat {words}) late --count"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "total: 10")
