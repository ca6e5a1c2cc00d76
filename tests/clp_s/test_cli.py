"""The command line on clp-s archives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clp_s import build

Cli = Callable[..., Any]


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "demo.clps"
    path.write_bytes(build.demo().build())
    return path


def test_cat(exhume_cli: Cli, demo: Path) -> None:
    ran = exhume_cli("cat", demo)
    assert (ran.code, ran.out) == (0, build.DEMO_TEXT)
    lines = build.DEMO_TEXT.splitlines(keepends=True)
    assert exhume_cli("cat", "--ordered", "--jobs", "2", demo).out == lines[0] + lines[2] + lines[1]
    assert exhume_cli("cat", demo, demo).out == 2 * build.DEMO_TEXT


def test_cat_complete(exhume_cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.clps"
    path.write_bytes(build.tiny(nodes=[(-1, b"@", 5), (0, b"k", 0)], streams=[[(0, 1, build.i64(3))]]).build())
    assert exhume_cli("cat", path).out == b"{}\n"
    assert exhume_cli("cat", "--complete", path).out == b'{"@":{"k":3}}\n'


def test_text_that_is_not_utf8_in_json(exhume_cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.clps"
    path.write_bytes(build.tiny(nodes=[(-1, b"", 5), (0, b"\xff", 0)]).build())
    ran = exhume_cli("cat", path, "--json")
    assert ran.code == 0, ran.err
    lines = exhume_cli("cat", path).out.decode("utf-8", "surrogateescape").splitlines()
    assert "\udcff" in "".join(lines)
    assert [one["record"] for one in json.loads(ran.out)["records"]] == list(map(json.loads, lines))


def test_floats_whose_format_is_not_stored(exhume_cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.clps"
    values = build.f64(float("nan"), 1e-9, 0.5)
    path.write_bytes(
        build.tiny(nodes=[(-1, b"", 5), (0, b"f", 1)], streams=[[(0, 3, values)]], schemas=[(0, [1], [])]).build()
    )
    records = [one["record"] for one in json.loads(exhume_cli("cat", path, "--json").out)["records"]]
    assert records == ['{"f":nan}', {"f": 0.0}, {"f": 0.5}]  # the text where it is not JSON
    ran = exhume_cli("export", path, "--to", "jsonl")
    assert ran.out == b'{"f":nan}\n{"f":0.000000}\n{"f":0.500000}\n'
    assert (ran.code, "six decimals" in ran.err) == (0, True)
    assert b"1e-9" in exhume_cli("export", path, "--to", "csv").out.replace(b"1e-09", b"1e-9")


def test_cat_reports_that_there_is_no_log_order(exhume_cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.clps"
    path.write_bytes(build.tiny().build())
    ran = exhume_cli("cat", "--ordered", path)
    assert ran.out == build.TINY_TEXT
    assert "table order" in ran.err


def test_cat_of_a_damaged_archive_prints_what_is_before(exhume_cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "cut.clps"
    path.write_bytes(build.demo(compress=build.stored).build()[:-5])
    ran = exhume_cli("cat", path)
    assert ran.code == 1
    assert ran.out == b"".join(build.DEMO_TEXT.splitlines(keepends=True)[:2])
    assert "CLPS-302" in ran.err


def test_list_info_payload(exhume_cli: Cli, demo: Path) -> None:
    entries = json.loads(exhume_cli("list", "--json", demo).out)["entries"]
    assert [(e["kind"], e["ordinal"], e["records"], e["schema_id"]) for e in entries] == [
        ("table", 0, 2, 0),
        ("table", 1, 1, 7),
    ]
    assert entries[1]["columns"] == ["log_event_idx", "name"]
    info = json.loads(exhume_cli("info", "--json", demo).out)
    assert (info["version"], info["records"], info["tables"]) == ("0.5.1", 3, 2)
    assert exhume_cli("payload", demo, "/schema_ids").out == build.demo().payloads()["/schema_ids"]
    assert exhume_cli("payload", demo, "metadata").out == build.demo().metadata()


def test_verify_and_identify(exhume_cli: Cli, demo: Path) -> None:
    assert exhume_cli("verify", demo).code == 0
    data = bytearray(demo.read_bytes())
    data[300] ^= 0xFF
    demo.write_bytes(data)
    assert exhume_cli("verify", demo).code == 4
    found = json.loads(exhume_cli("identify", "--json", demo).out)
    text = json.dumps(found)
    assert '"clp-s"' in text
    assert "0.5.1" in text


@pytest.mark.parametrize("version", ["0.5.1", "0.4.1"])
def test_create_says_that_no_record_has_a_timestamp(exhume_cli: Cli, tmp_path: Path, version: str) -> None:
    """An unknown spelling, such as a day of one digit, begins no event; a time of some record is enough."""
    note = "no record has a timestamp under timestamp: searches by time will be refused"
    source = tmp_path / "a.log"
    for text, is_said in (("Fri, 1 Mar 2024 01:02:03 +0000 a\n", True), ("a\n2024-03-01 01:02:03 b\n", False)):
        source.write_text(text)
        where = ["-o", str(tmp_path / "a.clps"), "--overwrite", "--format-version", version]
        made = exhume_cli("create", "clp-s", str(source), *where, "--timestamp-key", "timestamp")
        assert made.code == 0
        assert (note in made.err) == is_said
