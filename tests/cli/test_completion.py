"""TAB in real shells, and what each parameter offers."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from exhume.cli.completing import SHELLS
from exhume.cli.main import main

STARTED = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SETUP = {
    "bash": "source <(exhume completion bash)",
    "zsh": "autoload -Uz compinit; compinit -u -D; source <(exhume completion zsh)",
    "fish": "exhume completion fish | source",
}
PATIENCE = 60.0
"""Seconds for a shell to answer on a busy machine."""


@pytest.fixture
def folder(tmp_path: Path, samples: Path) -> Path:
    shutil.copy(samples / "zs/words-none.zs", tmp_path / "words of 2026.zs")
    shutil.copy(samples / "caf/sorted.caf", tmp_path / "sorted.caf")
    shutil.copytree(samples / "ark/log", tmp_path / "robot")
    return tmp_path


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, shell: str, folder: Path) -> None:
        self.ours, theirs = os.openpty()
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        known = {"PATH": path, "HOME": str(folder), "TERM": "dumb", "LANG": "C.UTF-8", "PS1": "$ ", "COLUMNS": "300"}
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *STARTED[shell]], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=known
        )
        os.close(theirs)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def wait(self, pattern: re.Pattern[str], seconds: float = PATIENCE) -> str:
        """The first group of the first match in what is printed from here on."""
        end = time.monotonic() + seconds
        while (found := pattern.search(self.seen)) is None:
            assert time.monotonic() < end, f"nothing like {pattern.pattern} in {self.seen!r}"
            if select.select([self.ours], [], [], 0.2)[0]:
                self.seen += os.read(self.ours, 1 << 16).decode("utf-8", "replace")
        self.seen = self.seen[found.end() :]
        return found[1]

    def completed(self, line: str) -> list[str]:
        """The words of the line after TAB: `printf` gets them, so that the shell itself says what they are."""
        self.type(f"{line}\t")
        time.sleep(1.0)  # shells throw away what is typed while they complete
        self.type("\x01printf '[%s]' \x05 END\r")
        return re.findall(r"\[([^]]*)\]", self.wait(re.compile(r"^((?:\[[^]\r\n]*\])+)\[END\]", re.MULTILINE)))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.fixture(params=sorted(STARTED))
def terminal(request: pytest.FixtureRequest, folder: Path) -> Iterator[Terminal]:
    for program in (request.param, "setsid"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} on PATH")
    opened = Terminal(request.param, folder)
    try:
        opened.type(SETUP[request.param] + "\r")
        opened.type("printf '[%s]' ready\r")
        opened.wait(re.compile(r"^\[(ready)\]", re.MULTILINE))
        yield opened
    finally:
        opened.close()


@pytest.mark.slow
def test_in_a_real_shell(terminal: Terminal) -> None:
    for typed, words in (
        ("exhume ver", ["exhume", "verify"]),
        ("exhume info sor", ["exhume", "info", "sorted.caf"]),
        ("exhume info wor", ["exhume", "info", "words of 2026.zs"]),
        ("exhume cat sorted.caf img/p", ["exhume", "cat", "sorted.caf", "img/pixel.bin"]),
        ("exhume verify --as data", ["exhume", "verify", "--as", "databundle"]),
    ):
        assert terminal.completed(typed) == words


def offered(words: list[str], incomplete: str) -> list[str]:
    """What bash is told; names of files are left to the shell."""
    found = SHELLS["bash"](main, {}, "exhume", "_EXHUME_COMPLETE").get_completions(words, incomplete)
    return [f"<{item.type}>" if item.type != "plain" else item.value for item in found]


@pytest.mark.parametrize(
    ("words", "incomplete", "wanted"),
    [
        (["verify"], "", ["<file>"]),
        (["salvage", "-o"], "x", ["<file>"]),
        (["info", "--as"], "c", ["caf", "clp-s"]),
        (["carve", "--only"], "z", ["zs"]),
        (["create"], "k", ["kv-ir"]),
        (["verify", "--limit"], "payload", ["payload_size="]),
        (["schema"], "zs_", ["zs_data_block", "zs_index_block"]),
        (["export", "sorted.caf", "--to"], "pa", ["parquet"]),
        (["payload", "sorted.caf"], "fo", ["footer"]),
        (["explain", "sorted.caf", "--section"], "fo", ["footer"]),
        (["cat", "sorted.caf"], "img/p", ["img/pixel.bin"]),
        (["export", "sorted.caf", "--columns"], "name,si", ["name,size"]),
        (["cat", "missing.caf"], "a", []),
        (["cat", "s3://bucket/a.caf"], "a", []),
        (["create", "ark", "--name"], "s", []),
    ],
)
def test_what_a_parameter_offers(
    words: list[str], incomplete: str, wanted: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert offered(words, incomplete) == wanted


def test_channels_are_offered_as_topics(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import exhume

    monkeypatch.chdir(folder)
    with exhume.open("robot") as log:
        names = [entry.name for entry in log.entries()]
    assert set(offered(["cat", "robot", "--topic"], "")) == set(names)


def test_bash_gets_words_that_it_takes_as_one() -> None:
    from click.shell_completion import CompletionItem

    bash = SHELLS["bash"](main, {}, "exhume", "_EXHUME_COMPLETE")
    assert bash.format_completion(CompletionItem("a b$(c).txt")) == r"plain,a\ b\$\(c\).txt"
    assert isinstance(main, click.Group)
