"""What people see on a terminal: colors there and nowhere else, and advice with options of the verb they typed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from exhume.cli.advice import ADVICE, SYNONYMS, edits, options_of
from exhume.cli.main import main
from tests.conftest import ROOT

Cli = Callable[..., Any]


def on_terminal(*words: str | Path, **environment: str) -> str:
    """What `exhume` prints when standard output and standard error are a terminal."""
    ours, theirs = os.openpty()
    known = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | environment
    command = ["exhume"] if "PATH" in environment else [sys.executable, "-m", "exhume"]
    command += map(str, words)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=known):
        os.close(theirs)
        stated = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # Linux: all writers have closed it
                break
            if not piece:
                break
            stated += piece
    os.close(ours)
    return stated.decode()


@pytest.fixture
def damaged(samples: Path, tmp_path: Path) -> Path:
    data = bytearray((samples / "zs/words-none.zs").read_bytes())
    data[40] ^= 1
    target = tmp_path / "damaged.zs"
    target.write_bytes(data)
    return target


def test_severities_have_colors_on_a_terminal(damaged: Path) -> None:
    assert re.search(r"\x1b\[1;31merror\x1b\[0m:\s.*\[ZS-2", on_terminal("verify", damaged), re.DOTALL)


@pytest.mark.parametrize("quiet", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_they_have_none_when_the_user_wants_none(damaged: Path, quiet: dict[str, str]) -> None:
    stated = on_terminal("verify", damaged, **quiet)
    assert re.search(r"error:\s.*\[ZS-2", stated, re.DOTALL)
    assert "\x1b" not in stated


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize(
    "words",
    [
        ["verify", "BAD", "BAD"], ["explain", "BAD", "--at", "300"], ["explain", "BAD", "--section", "data-1"],
        ["explain", "BAD"], ["formats"], ["carve", "BAD"], ["info", "BAD"], ["list", "-l", "BAD", "GOOD"],
        ["list", "--sections", "BAD"], ["identify", "BAD", "GOOD"], ["salvage", "-v", "BAD", "-o", "OUT"],
        ["explain", "BAD", "--range", "0:400"], ["verify", "GOOD", "-v"], ["map", "BAD"], ["verify", "CLPS", "-r"],
    ],
    ids=lambda words: " ".join(words[:3]),
)  # fmt: skip
@pytest.mark.slow
def test_lines_fit_the_terminal(
    columns: int, words: list[str], damaged: Path, samples: Path, tmp_path: Path, served_path: str
) -> None:
    """Lines break between words, not where the window ends."""
    short = tmp_path / "bad.zs"
    damaged.rename(short)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/other").write_bytes(b"of no format")
    shutil.copy(samples / "clp_s/tiny.clps", tmp_path / "in")
    named = {"BAD": short, "GOOD": samples / "zs/words-none.zs", "OUT": tmp_path / "out", "CLPS": tmp_path / "in"}
    stated = on_terminal(*[named.get(word, word) for word in words], COLUMNS=str(columns), PATH=served_path)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stated).replace("\r", "").splitlines()
    wide = [line for line in lines if len(line) > columns]
    assert [line for line in wide if max(map(len, line.split())) < columns - 8] == [], "each has a path"
    assert len(lines) > 0


def test_guids_are_shortened_where_they_do_not_fit(samples: Path, exhume_cli: Cli) -> None:
    words = "list", "--sections", samples / "ark/log"
    narrow, wide = (on_terminal(*words, COLUMNS=columns, NO_COLOR="1") for columns in ("80", "200"))
    joined = re.sub(r"\s*\n {40,}", " ", narrow.replace("\r", ""))
    assert re.search(r"^splits/0000…0008 +1744 .* message 0$", joined, re.M), "a row of a table"
    for text in (wide, exhume_cli(*words).text, exhume_cli(*words, "--json").text):
        assert "splits/00000000-0000-4000-8000-000000000008" in text


def test_they_have_none_in_a_pipe(damaged: Path, exhume_cli: Cli) -> None:
    assert "\x1b" not in exhume_cli("verify", damaged).text


@pytest.mark.parametrize("code", sorted(ADVICE))
def test_advice_is_about_errors_and_options_that_there_are(code: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs/findings").glob("*.md")]
    assert any(re.search(rf"\b{code}\b", page) for page in pages)
    known = {option for verb in main.list_commands(None) for option in options_of(main, [verb])}  # type: ignore[arg-type]
    known |= {
        option
        for words in (["create", "zs"], ["catalog", "build"], ["catalog", "find"])
        for option in options_of(main, words)
    }
    for option, text in ADVICE[code].items():
        assert option in known or not option  # "": another verb helps
        assert text.startswith(f"use {option}")


@pytest.mark.parametrize("format", ["clp-s", "kv-ir"])
def test_a_log_that_begins_as_json_does_is_advised_to_be_text(format: str, tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "a.log").write_text("{worker} starts\nline\n")
    ran = exhume_cli("create", format, tmp_path / "a.log", "-o", tmp_path / "out")
    assert (ran.code, "; use --input text if it is a plain-text log [EX-701]" in ran.err) == (1, True)
    assert exhume_cli("create", format, "--input", "text", tmp_path / "a.log", "-o", tmp_path / "out").code == 0


def test_an_output_that_is_there_is_replaced_only_where_that_can_be_requested(
    samples: Path, tmp_path: Path, exhume_cli: Cli
) -> None:
    (tmp_path / "out").write_bytes(b"x")
    words = samples / "zs/words-none.zs"
    assert (
        "; use --overwrite to replace it [EX-702]" in exhume_cli("payload", words, "header", "-o", tmp_path / "out").err
    )
    refused = exhume_cli("salvage", words, "-o", tmp_path / "out").err
    assert "EX-702" in refused
    assert "--overwrite" not in refused


OPTION = re.compile(r"(?<![\w-])--[a-z]")


def test_messages_of_the_library_name_no_options() -> None:
    """Its users have arguments; `exhume.cli.advice` names options to users of the command line."""
    import ast

    raised = []
    for file in sorted((ROOT / "src/exhume").rglob("*.py")):
        if "cli" in file.relative_to(ROOT / "src/exhume").as_posix():
            continue
        source = file.read_text(encoding="utf-8")
        if not OPTION.search(source):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Raise) or (isinstance(node, ast.Return) and isinstance(node.value, ast.Call)):
                texts = [
                    one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
                ]
                raised += [f"{file.name}: {text}" for text in texts if OPTION.search(text)]
    assert raised == []


@pytest.mark.parametrize(
    ("count", "plural", "words"),
    [
        (1, "messages", "1 message"), (0, "messages", "0 messages"), (1, "entries", "1 entry"), (1, "bytes", "1 byte"),
        (1, "names of files", "1 name of files"), (2, "entries", "2 entries"), (1, "data", "1 data"),
    ],
)  # fmt: skip
def test_one_thing_is_not_several(count: int, plural: str, words: str) -> None:
    from exhume.counts import counted

    assert counted(count, plural) == words


def test_what_was_written_is_counted_in_good_english(tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "one.txt").write_text("apple\n")
    stated = exhume_cli("create", "zs", tmp_path / "one.txt", "-o", tmp_path / "one.zs").err
    assert "1 record," in stated
    assert "recovered: 1 record" in exhume_cli("salvage", tmp_path / "one.zs", "-o", tmp_path / "again.zs").text


SUGGESTED = {
    "verify --overwrite": (),
    "export --force": ("--overwrite",),
    "export --replace": ("--overwrite",),
    "verify --force": (),
    "verify --threads": ("--jobs",),
    "verify --job": ("--jobs",),
    "verify --jsn": ("--json",),
    "verify --qiuet": ("--quiet",),
    "verify --quick-check": ("--quick",),
    "verify --silent": ("--quiet",),
    "cat --limt": ("--limit",),
    "cat --times-ns": ("--times",),
    "search --ignorecase": ("--ignore-case",),
    "search --ignore_case": ("--ignore-case",),
    "search --icase": ("--ignore-case",),
    "search --fields": ("--projection",),
    "search --since": ("--start-ns",),
    "export --fmt": ("--format", "--to"),
    "export --out": ("--output",),
    "export --outputs": ("--output",),
    "export --where": ("--query",),
    "info --start": (),
    "info --re": ("--recursive",),
    "info --x": (),
    "search --xyzzy": (),
    "recode --max": (),
    "explain --colour": ("--color",),
    "catalog find --overwrite": (),
}


@pytest.mark.parametrize("words", SUGGESTED)
def test_an_unknown_option_gets_a_close_suggestion_or_none(words: str, exhume_cli: Cli) -> None:
    ran = exhume_cli(*words.split(), "x")
    assert ran.code == 2
    last = ran.err.splitlines()[-1]
    assert last.startswith(f"Error: No such option '{words.split()[-1]}'")
    assert tuple(re.findall(r"'(--[a-z-]+)'", last.partition("did you mean")[2])) == SUGGESTED[words]


def test_each_synonym_is_an_option_of_some_verb() -> None:
    known = set().union(*(options_of(main, [name]) for name in main.list_commands(click.Context(main))))
    assert {option for options in SYNONYMS.values() for option in options} <= known
    assert [edits("limt", "limit"), edits("qiuet", "quiet"), edits("", "ab"), edits("abc", "abc")] == [1, 1, 2, 0]
