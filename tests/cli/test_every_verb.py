"""Every verb, pointed at anything, ends with a documented exit code and says why: no traceback, no hang."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from exhume.cli import ExitCode
from exhume.cli import run as running
from exhume.cli.main import ending, main
from exhume.formats.zs import writer as zs_writer
from exhume.limits import DEFAULT_LIMITS
from exhume.registry import formats
from tests.conftest import ROOT
from tests.sizes import size, some

Cli = Callable[..., Any]

OF_OTHERS = [
    "T --ksy SPEC",
    "T --ksy SPEC --coverage",
    "T --ksy SPEC --html OUT",
    "T --ksy T",
    "SPEC --ksy SPEC --at 1",
]
CALLS: dict[str, list[str]] = {
    "audit": ["T", "T --no-files", "T --expect 00"],
    "browse": ["T", "T --ksy SPEC"],
    "carve": ["T", "T -o OUT"],
    "cat": ["T", "T none", "T --range 1:2"],
    "catalog": ["build OUT T", "find T *", "check T"],
    "compile": ["T", "T -o OUT", "SPEC -o OUT"],
    "completion": ["T"],
    "create": [f"{id} T -o OUT" for id in formats()],
    "diff": ["T FOLDER", "FOLDER T", "T T"],
    "explain": [
        "T",
        "T --at 3",
        "T --range 1:9",
        "T --coverage",
        "T --html OUT",
        "T --section none --file none",
        *OF_OTHERS,
    ],
    "explore": ["T --no-browser --idle 0.05", "T --no-browser --idle 0.05 --image"],
    "export": ["T --to jsonl -o OUT", *(f"T --to {to} -o OUT" for to in ("csv", "tar", "zip", "mcap", "nothing"))],
    "extract": ["T -o OUT", "T none --tar OUT", "T"],
    "formats": ["T"],
    "identify": ["T", "T T"],
    "info": ["T", "T --stats", "T --offset 1"],
    "list": ["T", "T --long", "T --sections", "T --glob ["],
    "map": ["T --svg OUT", "T"],
    "payload": ["T header", "T none"],
    "recode": ["T -o OUT", "T -o OUT --stored", "T -o OUT --directory", "T -o OUT --single-file"],
    "repair": ["T", "T --log 0"],
    "report": ["T -o OUT --folder no-folder", "T -o OUT", "T -o OUT --folder T"],
    "salvage": ["T -o OUT", "T -o OUT --as-files", "T -o OUT --jsonl"],
    "schema": ["T", "zs", "zs --bundle"],
    "search": ["T a", "T T ((", "T a --count"],
    "selftest": ["T", "--count 1 -o T"],
    "snippet": ["T -o OUT", "T --start-ns 9 --stop-ns 1"],
    "verify": ["T", "T --quick", "T T --jobs 1"],
}
"""Arguments of each verb: T is the target, OUT a new name, FOLDER a directory of files, SPEC a specification."""

SPEC = str(ROOT / "tests/toolchain/foreign/foreign_texts.ksy")

SAMPLES = {
    "ark": "ark/log",
    "caf": "caf/sorted.caf",
    "clp-s": "clp_s/tiny.clps",
    "clp-s, a directory": "clp_s/directory",
    "databundle": "data_bundle/zlib",
    "clp-ir": "clp_ir/small.clp",
    "kv-ir": "kv_ir/small.clp",
    "leveldb": "leveldb/small",
    "zs": "zs/words-none.zs",
}
ODD = ("empty", "noise", "folder", "no-folder", "missing", "fifo", "/dev/null", "/dev/zero")


def test_the_table_has_every_verb_and_every_format() -> None:
    assert set(CALLS) == set(main.list_commands(click.Context(main)))
    assert {name.partition(",")[0] for name in SAMPLES} == set(formats())


@pytest.fixture
def place(tmp_path: Path, samples: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"x")
    (tmp_path / "no-folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "noise").write_bytes(b"just some text\n" * 9)
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.setattr(zs_writer, "LARGEST_RECORD", 1 << 20)
    monkeypatch.setattr(running, "DEFAULT_LIMITS", DEFAULT_LIMITS._replace(structure_size=1 << 20))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(place: Path, exhume_cli: Cli, target: str, verb: str, call: str, number: int) -> None:
    names = {"T": target, "OUT": str(place / f"out-{number}"), "FOLDER": str(place / "folder"), "SPEC": SPEC}
    ran = exhume_cli(verb, *(names.get(word, word) for word in call.split()))
    reported = f"{verb} {call}: {ran.code}: {ran.err}"
    assert ran.code in (0, 1, 2, 3, 4), reported
    assert "Traceback" not in ran.err, reported
    lines = ran.err.splitlines()
    if ran.code == 1:
        assert all(line.startswith(("exhume: ", "  ")) for line in lines), reported  # with the query and a caret
        assert lines or ran.out, reported  # `verify` of several reports on standard output
    if ran.code == 2:
        assert lines[0].startswith("Usage: "), reported
        assert lines[-1].startswith("Error: "), reported


@pytest.mark.parametrize("verb", sorted(CALLS))
@pytest.mark.parametrize("format", sorted(SAMPLES))
@pytest.mark.bulk
def test_on_an_archive_of_each_format(format: str, verb: str, place: Path, samples: Path, exhume_cli: Cli) -> None:
    source = samples / SAMPLES[format]
    target = place / "archives" / source.name
    target.parent.mkdir()
    (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for number, call in some(enumerate(CALLS[verb])):
        check(place, exhume_cli, str(target), verb, call, number)


@pytest.mark.parametrize("target", ODD)
@pytest.mark.slow
def test_on_what_is_no_archive(target: str, place: Path, exhume_cli: Cli) -> None:
    for number, verb in enumerate(CALLS):
        if (target, verb) == ("fifo", "create"):
            continue  # reading one is what it is for, see below
        for at, call in some(enumerate(CALLS[verb][: None if verb == "create" else size(1, 2)])):
            check(place, exhume_cli, str(place / target), verb, call, 100 * number + at)


PRINTING = {
    "audit": "log",
    "carve": "T",
    "cat": "T",
    "catalog": "find catalog *",
    "compile": "SPEC",
    "completion": "bash",
    "create": "zs TEXT -o OUT --json",
    "diff": "bundle bundle --json",
    "explain": "T",
    "explore": "T --no-browser --idle 0.05",
    "export": "WHOLE --to jsonl",
    "extract": "sorted.caf --tar -",
    "formats": "",
    "identify": "T",
    "info": "T",
    "list": "T",
    "map": "T --svg OUT --json",
    "payload": "T header",
    "recode": "WHOLE -o OUT --json",
    "repair": "ark",
    "report": "T -o out.html --json",
    "salvage": "T -o OUT",
    "schema": "zs",
    "search": "WHOLE a --count",
    "selftest": "--count 1",
    "snippet": "ark -o OUT --log 0 --json",
    "verify": "T",
}
"""Arguments with which each verb prints something on standard output; T is a damaged archive."""


@pytest.fixture
def closed() -> Iterator[int]:
    """The write end of a pipe without a reader."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def run(*words: object, **streams: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "exhume", *map(str, words)]
    return subprocess.run(command, check=False, timeout=100, **streams)


@pytest.mark.parametrize("verb", sorted(PRINTING))
@pytest.mark.slow
def test_a_run_whose_output_has_no_reader_does_not_succeed(
    verb: str, place: Path, samples: Path, closed: int, exhume_cli: Cli, served_path: str
) -> None:
    """Its exit code is that of a program that SIGPIPE ends, whatever the verb found."""
    for name in ("zs/words-none.zs", "caf/sorted.caf"):
        shutil.copy(samples / name, place)
    shutil.copytree(samples / SAMPLES["ark"], place / "ark")
    shutil.copytree(samples / SAMPLES["databundle"], place / "bundle")
    damaged = bytearray((place / "words-none.zs").read_bytes())
    damaged[-20] ^= 1
    (place / "damaged.zs").write_bytes(damaged)
    assert exhume_cli("verify", place / "damaged.zs").code == 4
    assert exhume_cli("catalog", "build", place / "catalog", place / "sorted.caf").code == 0
    assert exhume_cli("info", place / "zs", "--audit", place / "log").code == 1
    names = {"T": "damaged.zs", "OUT": "out", "TEXT": "noise", "SPEC": SPEC, "WHOLE": "words-none.zs"}
    words = [names.get(word, word) for word in PRINTING[verb].split()]
    shutil.copytree(place / "ark", place / "log of robot")
    with_reader = exhume_cli(verb, *words)
    assert with_reader.code != 141
    assert with_reader.out, with_reader.err
    for made in [*place.glob("out*"), place / "ark"]:
        shutil.rmtree(made) if made.is_dir() else made.unlink()
    (place / "log of robot").rename(place / "ark")
    command = ["exhume", verb, *words]
    environment = {**os.environ, "PATH": served_path}
    without = subprocess.run(command, env=environment, check=False, timeout=100, stdout=closed, stderr=subprocess.PIPE)
    assert without.returncode == 141, without.stderr
    assert b"Traceback" not in without.stderr
    assert b"Broken pipe" not in without.stderr


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"], ["cat", "--help"], ["cat", "nothing"], ["cat", "-?"]])
def test_messages_without_a_reader_end_a_run_as_well(words: list[str], closed: int, tmp_path: Path) -> None:
    assert run(*words, stdout=closed, stderr=closed, cwd=tmp_path).returncode == 141


def test_the_record_of_a_run_without_a_reader(closed: int, samples: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    done = run("verify", samples / SAMPLES["zs"], "--audit", tmp_path / "log", stdout=closed, stderr=subprocess.PIPE)
    assert done.returncode == 141
    assert json.loads((tmp_path / "log").read_text().splitlines()[-1])["exit_code"] == 141


def test_a_pipe_that_breaks_elsewhere_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    """To a server, say: the output is written, and the message names the cause."""
    assert ending(BrokenPipeError(errno.EPIPE, "Broken pipe"), []) is ExitCode.FAILED
    assert "Broken pipe" in capfd.readouterr().err


def test_verbs_of_one_format_report_it(exhume_cli: Cli, samples: Path) -> None:
    for verb in ("repair", "snippet"):
        ran = exhume_cli(verb, samples / SAMPLES["zs"])
        assert ran.code == 2
        assert f"{verb} is for ark archives; this is zs" in ran.err
    assert "there is no 'recode' for caf archives" in exhume_cli("recode", samples / SAMPLES["caf"], "-o", "x").err


def test_an_endless_line_does_not_fill_memory(place: Path, exhume_cli: Cli) -> None:
    for format, reported in (("zs", "a record is too long"), ("ark", "line 1 is too long")):
        ran = exhume_cli("create", format, "/dev/zero", "-o", place / "out")
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert reported in ran.err


def test_a_fifo_is_an_input_like_any_other(place: Path, exhume_cli: Cli) -> None:
    writer = threading.Thread(target=lambda: (place / "fifo").write_bytes(b"one\ntwo\n"))
    writer.start()
    assert exhume_cli("create", "zs", place / "fifo", "-o", place / "two.zs").code == 0
    writer.join()
    assert exhume_cli("cat", place / "two.zs").out == b"one\ntwo\n"
