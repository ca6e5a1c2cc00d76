"""The command line as a whole: verbs are found, messages are one line, exit codes are the documented ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exhume.cli.params import BYTES
from exhume.cli.render import human_size, printable, table
from exhume.cli.terminal.screen import key_values
from exhume.io.jsonout import dumps

Cli = Callable[..., Any]


def test_help_names_the_verbs(exhume_cli: Cli) -> None:
    ran = exhume_cli("--help")
    assert ran.code == 0
    for verb in ("identify", "info", "list", "cat", "extract", "create", "verify", "payload", "formats", "completion"):
        assert f"\n  {verb}" in ran.text
        assert exhume_cli(verb, "--help").code == 0


def test_typos_get_a_hint(exhume_cli: Cli) -> None:
    ran = exhume_cli("verfiy", "x")
    assert ran.code == 2
    assert "did you mean 'verify'?" in ran.err


def test_nothing_recognized(exhume_cli: Cli, tmp_path: Path) -> None:
    noise = tmp_path / "noise"
    noise.write_bytes(b"just some text\n")
    ran = exhume_cli("identify", noise)
    assert (ran.code, ran.text) == (4, f"{noise}: not recognized\n")
    assert json.loads(exhume_cli("identify", "--json", noise).out) == {
        "schema": "exhume.identify/1",
        "target": str(noise),
        "candidates": [],
    }
    ran = exhume_cli("info", noise)
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err == f"exhume: {noise}: format not recognized; use --format FORMAT to choose one [EX-101]\n"
    body = json.loads(exhume_cli("info", "--json", noise).err)
    assert (body["schema"], body["code"]) == ("exhume.error/1", "EX-101")
    assert exhume_cli("verify", noise).code == 4


def test_an_empty_file_is_called_empty(exhume_cli: Cli, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    assert exhume_cli("identify", empty).text == f"{empty}: not recognized: the file is empty\n"
    ran = exhume_cli("info", empty)
    assert (ran.code, ran.err.startswith(f"exhume: {empty}: format not recognized (the file is empty); ")) == (1, True)


@pytest.mark.parametrize("name", ["zs/words-none.zs", "kv_ir/small.clp", "clp_ir/small.clp"])
def test_cat_takes_one_target(name: str, exhume_cli: Cli, samples: Path) -> None:
    ran = exhume_cli("cat", samples / name, samples / name)
    assert (ran.code, ran.out) == (2, b"")
    assert f"one TARGET at a time: {samples / name} is another file" in " ".join(ran.err.split())
    assert "have no names" in exhume_cli("cat", samples / name, "no-such-name").err


def test_the_folder_above_an_archive_gets_a_hint(exhume_cli: Cli, samples: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("zs/words-none.zs", "caf/sorted.caf", "leveldb/small", "zs/words-lzma.zs")):
        target = tmp_path / "box" / f"{number}-{Path(name).name}"
        target.parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (samples / name).is_dir() else shutil.copy
        copy(samples / name, target)
        (tmp_path / "box" / "notes.txt").write_text("nothing to see")
        if number == 1:
            ran = exhume_cli("identify", tmp_path / "box")
            hint = "inside it: 0-words-none.zs (zs), 1-sorted.caf (caf) (--recursive takes each)"
            assert ran.text.endswith(f"not recognized; {hint}\n")
    ran = exhume_cli("info", tmp_path / "box")
    assert ran.code == 1
    hint = "but inside it: 0-words-none.zs (zs), 1-sorted.caf (caf), 3-words-lzma.zs (zs) and more"
    reported = f"exhume: {tmp_path / 'box'}: format not recognized ({hint}); "
    assert (
        ran.err == f"{reported}use --format FORMAT to choose one, or use --recursive for the archives inside [EX-101]\n"
    )


def test_missing_files(exhume_cli: Cli, tmp_path: Path) -> None:
    for verb in ("identify", "info", "list", "cat", "verify"):
        ran = exhume_cli(verb, tmp_path / "missing")
        assert ran.code == 1
        assert ran.err.count("\n") == 1
        assert "No such file" in ran.err


def test_unknown_format_and_limit(exhume_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    assert "one of" in exhume_cli("info", "--format", "zip", tmp_path / "f").err
    assert exhume_cli("info", "--limit", "nonsense=1", tmp_path / "f").code == 2
    assert exhume_cli("info", "--offset", "1x", tmp_path / "f").code == 2
    assert exhume_cli("info", "--offset", "5", tmp_path / "f").code == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(exhume_cli: Cli, shell: str) -> None:
    assert "_EXHUME_COMPLETE" in exhume_cli("completion", shell).text


def test_formats(exhume_cli: Cli) -> None:
    body = json.loads(exhume_cli("formats", "--json").out)
    assert body["schema"] == "exhume.formats/1"
    assert all({"id", "title", "capabilities", "codecs"} <= set(row) for row in body["formats"])
    can = {row["id"]: row["capabilities"] for row in body["formats"]}
    assert can["caf"] == ["identify", "read", "verify", "create", "salvage", "carve"]
    assert [id for id, verbs in can.items() if "create" not in verbs] == ["leveldb"]


def test_a_closed_pipe_ends_quietly() -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "exhume", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    process.wait(30)
    assert b"Traceback" not in error


def test_json_is_exact() -> None:
    value = {
        "big": 1 << 60,
        "ok": 1 << 53,
        "neg": -(1 << 60),
        "nan": float("nan"),
        "raw": b"\xff",
        "text": b"hi",
        "s": "\ud800",
    }
    assert json.loads(dumps(value)) == {
        "big": str(1 << 60),
        "ok": 1 << 53,
        "neg": str(-(1 << 60)),
        "nan": "nan",
        "raw": {"text": "\ufffd", "base64": "/w=="},
        "text": {"text": "hi"},
        "s": "\ud800",
    }


def test_byte_arguments() -> None:
    convert = BYTES.convert
    assert convert(r"a\tb\x00\\n\q", None, None) == b"a\tb\0\\n\\q"
    assert convert("é", None, None) == "é".encode()
    assert convert("\udcff", None, None) == b"\xff"
    assert convert(r"\x4", None, None) == b"\\x4"


def test_rendering() -> None:
    assert printable("a\nb\x1b[0m\ud800") == "a\\nb\\x1b[0m\\ud800"
    assert [human_size(n) for n in (None, 0, 9999, 10_000, 1 << 20, 5 << 30)] == [
        "-",
        "0 B",
        "9,999 B",
        "9.8 KiB",
        "1.0 MiB",
        "5.0 GiB",
    ]
    assert table([["a", 1], ["bbb", 22]], ["name", "n"]) == ["name   n", "a      1", "bbb   22"]
    assert table([["a", 1], ["a", True], [None, None]], ["s", "n"]) == ["s  n", "a  1", "a  yes", "-  -"]
    assert table([["%s", 1], ["é\n", None]], ["s", "n"]) == ["s    n", "%s   1", "é\\n  -"]
    assert table([], ["s", "n"]) == ["s  n"]
    assert key_values({"a": 1, "sub": {"b": None}, "rows": [{"x": 1}, {"x": 2, "y": True}]}) == [
        "a  1",
        "sub:",
        "  b  -",
        "rows:",
        "  x  y",
        "  1  -",
        "  2  yes",
    ]
