"""Exports of hostile content: names for other systems, and text that a terminal would obey."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume

Cli = Callable[..., Any]

NAMES = (
    "..\\..\\win",
    "C:\\x",
    "C:x",
    "c:/x",
    "\\\\server\\share\\x",
    "d\\..\\..\\x",
    "a/..\\..\\x",
    "CON",
    "d/aux.txt",
    "COM1",
    "lpt9.log",
    "nul ",
)
KEPT = ("good", "größe/ok.txt", "..x", "a..b", "console", "10:30:00.log", 'a*b <1> & "2"', "end.", "end /x")


@pytest.mark.parametrize("kind", ["tar", "zip", "extract"])
def test_names_that_mean_something_else_on_windows(kind: str, tmp_path: Path, exhume_cli: Cli) -> None:
    path, out = tmp_path / "a.caf", tmp_path / "out"
    with exhume.create(path, "caf") as writer:
        for name in (*NAMES, *KEPT):
            writer.add_bytes(name, b"x")
    if kind == "extract":
        ran = exhume_cli("extract", path, "--tar", out, "--json")
    else:
        ran = exhume_cli("export", path, "--to", kind, "-o", out, "--json")
    assert ran.code == 3
    if kind == "zip":
        with zipfile.ZipFile(out) as archive:
            found = archive.namelist()
    else:
        with tarfile.open(out) as tar:
            found = tar.getnames()
    assert sorted(found) == sorted(KEPT)
    document = json.loads(ran.text)
    refused = document["refused"] if kind == "extract" else document["notes"]
    assert len(refused) == len(NAMES)


CONTROLS = "\x1b]0;pwned\x07 \x9b31m\x7f\0"


def test_control_characters_in_csv(tmp_path: Path, exhume_cli: Cli) -> None:
    source, path = tmp_path / "in.jsonl", tmp_path / "a.clps"
    lines = [{"text": CONTROLS, "n": 1}, {"text": 'a\tb\r\n"c", =1+1', "n": 2}, {"text": "=cmd|' /C calc'!A0", "n": 3}]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert exhume_cli("create", "clp-s", source, "-o", path).code == 0
    ran = exhume_cli("export", path, "--to", "csv")
    assert ran.code == 3
    assert "texts with control characters" in ran.err
    assert not {*range(9), 11, 12, *range(14, 32), 127} & set(ran.out)
    assert "\x9b" not in ran.text
    assert "\\u001b]0;pwned\\u0007 \\u009b31m\\u007f\\u0000" in ran.text
    assert b'a\tb\r\n""c"", =1+1' in ran.out
    assert b"=cmd|' /C calc'!A0" in ran.out


def test_control_characters_in_the_names_of_columns(tmp_path: Path, exhume_cli: Cli) -> None:
    source, path = tmp_path / "in.jsonl", tmp_path / "a.clps"
    source.write_text(json.dumps({"a\x1b[2J": "x"}) + "\n")
    assert exhume_cli("create", "clp-s", source, "-o", path).code == 0
    for kind, out in (("csv", tmp_path / "x.csv"), ("timesketch", tmp_path / "t.csv")):
        ran = exhume_cli("export", path, "--to", kind, "-o", out)
        assert b"\x1b" not in out.read_bytes(), kind
        assert ran.code == 3, kind


def test_members_with_control_characters(tmp_path: Path, exhume_cli: Cli) -> None:
    path = tmp_path / "a.caf"
    with exhume.create(path, "caf") as writer:
        writer.add_bytes("x\x1b[31m", b"x")
    ran = exhume_cli("export", path, "--to", "csv")
    assert (ran.code, b"\x1b" in ran.out) == (3, False)
    assert io.StringIO(ran.text).readline().startswith('"name"')
