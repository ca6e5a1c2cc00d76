"""TAB in real shells, and what each parameter offers."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

import exhume
from exhume.cli.cmd_completion import completions, split_line
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
PATIENCE = 20.0
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
        self.shell, self.folder = shell, folder
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
        """The first group of the first match in the output from here on."""
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


@contextmanager
def terminal(shell: str, folder: Path) -> Iterator[Terminal]:
    """A shell in a folder, ready to complete."""
    opened = Terminal(shell, folder)
    try:
        opened.type(SETUP[shell] + "\r")
        opened.type("printf '[%s]' ready\r")
        opened.wait(re.compile(r"^\[(ready)\]", re.MULTILINE))
        yield opened
    finally:
        opened.close()


T = TypeVar("T")
R = TypeVar("R")


def at_terminals(shell: str, folders: list[Path], work: Callable[[Terminal, T], R], cases: Sequence[T]) -> list[R]:
    """The result of each case.  Shells mostly wait: each folder has one, which gets its share of the cases."""
    for program in (shell, "setsid"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} on PATH")

    def share(number: int) -> list[R]:
        with terminal(shell, folders[number]) as opened:
            return [work(opened, case) for case in cases[number :: len(folders)]]

    with ThreadPoolExecutor(len(folders)) as hands:
        shares = list(hands.map(share, range(len(folders))))
    assert sum(map(len, shares)) == len(cases) > 0
    return [shares[number % len(folders)][number // len(folders)] for number in range(len(cases))]


def new_folders(parent: Path, number: int) -> list[Path]:
    made = [parent / f"of-terminal-{one}" for one in range(number)]
    for one in made:
        one.mkdir()
    return made


@pytest.mark.slow
@pytest.mark.parametrize("shell", sorted(STARTED))
def test_in_a_real_shell(shell: str, folder: Path) -> None:
    wanted = {
        "exhume ver": ["exhume", "verify"],
        "exhume info sor": ["exhume", "info", "sorted.caf"],
        "exhume info wor": ["exhume", "info", "words of 2026.zs"],
        "exhume cat sorted.caf img/p": ["exhume", "cat", "sorted.caf", "img/pixel.bin"],
        "exhume verify --format data": ["exhume", "verify", "--format", "databundle"],
    }
    got = at_terminals(shell, [folder] * len(wanted), Terminal.completed, list(wanted))
    assert dict(zip(wanted, got, strict=True)) == wanted


HOSTILE = (
    "$(touch PWN)",
    "`touch PWN`",
    "; touch PWN;",
    "a;touch PWN",
    "& touch PWN &",
    "a|touch PWN",
    "\n touch PWN\n",
    "a\ntouch PWN",
    "x\n",
    "a\tb",
    "'; touch PWN; '",
    '"; touch PWN; "',
    "it's",
    'say "so"',
    "\"$(touch PWN)\"'$(touch PWN)'",
    " leading and trailing ",
    "two  spaces",
    "*",
    "[a-z]?{b,c}",
    "~",
    "~root/x",
    "!!",
    "a!touch",
    "#comment",
    "\\",
    "a\\$(touch PWN)",
    "\\'",
    "=cmd",
    "a=b=$(touch PWN)",
    "a:b:$(touch PWN)",
    ":x",
    "<in >out",
    "${PATH}",
    "$PATH",
    "%self",
    "^a^b",
    "(a)",
    "@(a)",
    "\x01\x1b[31m\x7f",
    "\u202egro",
    "größe 測試 🎉",
    "-rf",
    "--audit=aud.log",
    "--audit",
    "--",
    "-$(touch PWN)",
)
"""Names of members that a shell would take for something else."""

GOT = {
    "bash": "exhume() { printf '%s\\0' \"$@\" > \"$HOME/got\"; printf '[%s]' called; }",
    "zsh": "exhume() { printf '%s\\0' \"$@\" > \"$HOME/got\"; printf '[%s]' called }",
    "fish": "function exhume; printf '%s\\0' $argv > \"$HOME/got\"; printf '[%s]' called; end",
}
"""A function in place of the command, which writes down what it is given."""


def press_tab(terminal: Terminal, line: str) -> None:
    terminal.type(f"{line}\t")
    requested = time.monotonic() + PATIENCE
    while not (terminal.folder / "requested").exists() and time.monotonic() < requested:
        time.sleep(0.02)
    time.sleep(0.3)  # shells throw away what is typed while they complete
    (terminal.folder / "requested").unlink()


def completed(terminal: Terminal, *lines: str) -> list[str]:
    """What the command receives after <TAB>, typed after each part of the line, and <Enter>."""
    (terminal.folder / "got").unlink(missing_ok=True)
    for line in lines:
        press_tab(terminal, line)
    terminal.type("\r")
    terminal.wait(re.compile(r"\[(called)\]"))
    return (terminal.folder / "got").read_text("utf-8", "surrogateescape").split("\0")[:-1]


def slow_shell(terminal: Terminal, shell: str, served: str) -> None:
    """Put a program before `exhume` on the PATH that leaves a file when the script has asked it."""
    folder = terminal.folder / "bin"
    folder.mkdir()
    real = shutil.which("exhume", path=served)
    (folder / "exhume").write_text(f'#!/bin/sh\n"{real}" "$@"\ntouch "{terminal.folder}/requested"\n')
    (folder / "exhume").chmod(0o755)
    path = f'"{folder}"'
    terminal.type((f"set -gx PATH {path} $PATH" if shell == "fish" else f"PATH={path}:$PATH") + "\r")
    terminal.type(GOT[shell] + "\r")


ENDS = ("a$(touch PWN)", "a\nb", "x;touch PWN ", "a'b", "a:b c", "über ", "\\")
"""Names that two members begin with: the end of one is typed, then TAB pressed again."""


def complete_a_member(terminal: Terminal, case: tuple[str, tuple[str, ...]]) -> list[str]:
    """What the command receives after `exhume cat NAME.caf`, and what was typed, for an archive that has one member."""
    name, typed = case
    archive = terminal.folder / "c.caf"
    with exhume.create(archive, "caf", overwrite=True) as writer:
        for end in ("1", "2") if name in ENDS else ("",):
            writer.add_bytes(name + end, b"x")
    got = completed(terminal, f"exhume cat c.caf {typed[0]}", *typed[1:])
    assert not (terminal.folder / "PWN").exists(), case
    assert not (terminal.folder / "aud.log").exists(), case
    assert got[:2] == ["cat", "c.caf"], case
    return got[2:]


@pytest.mark.slow
@pytest.mark.parametrize("shell", sorted(STARTED))
def test_hostile_names_in_a_real_shell(shell: str, tmp_path: Path, served_path: str) -> None:
    """No name is evaluated or becomes an option; the command receives the name exactly."""
    wanted: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name in HOSTILE:
        cut = shell == "fish" and (
            "\t" in name or name.startswith("~")
        )  # it cuts a value at a tab, and quotes no tilde
        wanted[name, ("",)] = [] if cut or name.startswith("-") else [name]
        if name.startswith("-"):
            wanted[name, ("-- ",)] = ["--"] if cut else ["--", name]
    for name in ENDS:
        wanted[name, ("", "2")] = [f"{name}2"]
    folders = new_folders(tmp_path, 8)
    cases = list(wanted)
    got = dict(zip(cases, at_terminals(shell, folders, hostile(complete_a_member, served_path), cases), strict=True))
    assert {case: words for case, words in got.items() if words != wanted[case]} == {}


def hostile(work: Callable[[Terminal, T], R], served: str) -> Callable[[Terminal, T], R]:
    """Work at a shell whose `exhume` writes down what it is given; `served` is the fixture `served_path`."""

    def at(terminal: Terminal, case: T) -> R:
        if not (terminal.folder / "bin").exists():
            slow_shell(terminal, terminal.shell, served)
        return work(terminal, case)

    return at


@pytest.mark.slow
@pytest.mark.parametrize("shell", sorted(STARTED))
def test_hostile_files_in_a_real_shell(shell: str, tmp_path: Path, served_path: str) -> None:
    """A file whose name begins with `-` is offered after `./`; the name of no file is evaluated."""
    names = ("--audit=aud.log", "-q", "$(touch PWN).zs", "a\nb;touch PWN", "'; touch PWN; '")

    def complete_a_file(terminal: Terminal, name: str) -> list[str]:
        folder = terminal.folder / "f"
        folder.mkdir()
        (folder / name).write_bytes(b"x")
        terminal.type(f"cd {folder}\r")
        got = completed(terminal, "exhume info ")
        assert not list(terminal.folder.rglob("PWN")), name
        return got

    got = at_terminals(shell, new_folders(tmp_path, len(names)), hostile(complete_a_file, served_path), names)
    for name, words in zip(names, got, strict=True):
        wanted = ["info", f"./{name}" if name.startswith("-") else name]
        if shell == "fish" and name.startswith("-"):
            wanted = ["info"]  # after nothing, fish drops what starts with "./"
        assert words == wanted


@pytest.mark.slow
def test_open_quotes_in_bash(tmp_path: Path, served_path: str) -> None:
    """A quote that was typed is closed before the name is inserted."""
    usual, quoted = "$(touch PWN) 'b\" !c", "a'; touch PWN; '$(touch PWN)"
    begun = {'"': usual, "'": usual, '"$': usual, "'a": quoted, "\\$": usual, "--topic=": usual, "--topic=\\$": usual}
    cases = [(name, (typed,)) for typed, name in begun.items()]
    got = at_terminals("bash", new_folders(tmp_path, len(cases)), hostile(complete_a_member, served_path), cases)
    wanted = [f"--topic={name}" if typed.startswith("--") else name for typed, name in begun.items()]
    assert dict(zip(begun, got, strict=True)) == {typed: [word] for typed, word in zip(begun, wanted, strict=True)}


@pytest.mark.parametrize(
    ("line", "shell", "words"),
    [
        ("", "bash", [""]),
        ("exhume cat ", "bash", ["exhume", "cat", ""]),
        (r"a b\ c 'd e' " + '"f g"h', "bash", ["a", "b c", "d e", "f gh"]),
        ("ls; exhume cat x", "bash", ["exhume", "cat", "x"]),
        (r"a 'b\c' $'d\ne\x41\'' " + '"f\\"\\q"', "bash", ["a", "b\\c", "d\neA'", 'f"\\q']),
        (r"a $'\303\244\u00e4", "bash", ["a", "ää"]),
        (r"a 'b\'c' \n\x41", "fish", ["a", "b'c", "\nA"]),
        ('a "b', "bash", ["a", "b"]),
        ("a\\", "bash", ["a"]),
        ("a\\", "fish", ["a"]),
        ("a 'b\\", "fish", ["a", "b\\"]),
        ("a\\\nb $x", "bash", ["ab", "$x"]),
    ],
)
def test_splitting_a_line(line: str, shell: str, words: list[str]) -> None:
    assert [word.value for word in split_line(line, shell)] == words


def test_only_an_option_or_two_dashes_take_a_name_with_a_dash(tmp_path: Path) -> None:
    path = tmp_path / "c.caf"
    with exhume.create(path, "caf") as writer:
        writer.add_bytes("--audit=aud.log", b"x")
    assert offered(["cat", str(path)], "") == []
    assert offered(["cat", str(path)], "--audit=a") == ["<file>"]
    assert offered(["cat", str(path), "--"], "--") == ["--audit=aud.log"]
    assert offered(["cat", str(path), "--topic"], "") == ["--audit=aud.log"]


def offered(words: list[str], incomplete: str) -> list[str]:
    """What a shell receives; it completes the names of files itself."""
    return [f"<{kind}>" if kind != "word" else value for kind, value, _ in completions(main, words, incomplete)]


@pytest.mark.parametrize(
    ("words", "incomplete", "wanted"),
    [
        (["verify"], "", ["<file>"]),
        (["salvage", "-o"], "x", ["<file>"]),
        (["info", "--format"], "c", ["caf", "clp-ir", "clp-s"]),
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
    monkeypatch.chdir(folder)
    with exhume.open("robot") as log:
        names = [entry.name for entry in log.entries()]
    assert set(offered(["cat", "robot", "--topic"], "")) == set(names)
