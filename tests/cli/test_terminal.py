"""What people see on a terminal: colours there and nowhere else, and advice with options of the verb they typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exhume.cli.advice import ADVICE, options_of
from exhume.cli.main import main
from tests.conftest import ROOT

Cli = Callable[..., Any]


def on_terminal(*words: str | Path, **environment: str) -> str:
    """What `exhume` prints when standard output and standard error are a terminal."""
    ours, theirs = os.openpty()
    known = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | environment
    command = [sys.executable, "-m", "exhume", *map(str, words)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=known):
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # Linux: nobody writes any more
                break
            if not piece:
                break
            said += piece
    os.close(ours)
    return said.decode()


@pytest.fixture
def damaged(samples: Path, tmp_path: Path) -> Path:
    data = bytearray((samples / "zs/words-none.zs").read_bytes())
    data[40] ^= 1
    target = tmp_path / "damaged.zs"
    target.write_bytes(data)
    return target


def test_severities_have_colours_on_a_terminal(damaged: Path) -> None:
    assert "\x1b[31m\x1b[1merror\x1b[0m: ZS-2" in on_terminal("verify", damaged)


@pytest.mark.parametrize("quiet", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_they_have_none_when_the_user_wants_none(damaged: Path, quiet: dict[str, str]) -> None:
    said = on_terminal("verify", damaged, **quiet)
    assert "error: ZS-2" in said
    assert "\x1b" not in said


def test_they_have_none_in_a_pipe(damaged: Path, exhume_cli: Cli) -> None:
    assert "\x1b" not in exhume_cli("verify", damaged).text


@pytest.mark.parametrize("code", sorted(ADVICE))
def test_advice_is_about_errors_and_options_that_there_are(code: str) -> None:
    page = (ROOT / "docs/findings/core.md").read_text(encoding="utf-8")
    assert f"| {code} |" in page
    known = {option for verb in main.list_commands(None) for option in options_of(main, [verb])}  # type: ignore[arg-type]
    known |= {option for words in (["create", "zs"], ["catalog", "build"]) for option in options_of(main, words)}
    for option, text in ADVICE[code].items():
        assert option in known
        assert text.startswith(option)


def test_an_output_that_is_there_is_replaced_only_where_that_can_be_asked_for(
    samples: Path, tmp_path: Path, exhume_cli: Cli
) -> None:
    (tmp_path / "out").write_bytes(b"x")
    words = samples / "zs/words-none.zs"
    assert "(--overwrite replaces it)" in exhume_cli("payload", words, "header", "-o", tmp_path / "out").err
    refused = exhume_cli("salvage", words, "-o", tmp_path / "out").err
    assert "EX-702" in refused
    assert "--overwrite" not in refused


def test_messages_of_the_library_name_no_options() -> None:
    """Its users have arguments; whoever types a command is told by `exhume.cli.advice`."""
    import ast

    raised = []
    for file in sorted((ROOT / "src/exhume").rglob("*.py")):
        if "cli" in file.relative_to(ROOT / "src/exhume").as_posix():
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) or (isinstance(node, ast.Return) and isinstance(node.value, ast.Call)):
                texts = [
                    one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
                ]
                raised += [f"{file.name}: {text}" for text in texts if re.search(r"(?<![\w-])--[a-z]", text)]
    assert raised == []
