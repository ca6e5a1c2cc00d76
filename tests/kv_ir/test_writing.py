"""Writing streams from objects and lines, what is refused, and the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import WriterError
from exhume.formats.kv_ir.writer import KvIrWriter, array_text
from tests.real import REPOSITORY

from .streams import EVENTS, SMALL

Cli = Callable[..., Any]


def test_lines_of_both_pairs_come_back(exhume_cli: Cli, tmp_path: Path) -> None:
    lines = exhume_cli("cat", "--pairs", "both", REPOSITORY / "kv_ir" / "types-change-0.clp.zst").out.decode()
    (tmp_path / "lines.jsonl").write_text(lines, encoding="utf-8")
    made = exhume_cli("create", "kv-ir", tmp_path / "lines.jsonl", "--pairs", "both", "-o", tmp_path / "a.clp.zst")
    assert made.code == 0, made.err
    assert (tmp_path / "a.clp.zst").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert exhume_cli("cat", "--pairs", "both", tmp_path / "a.clp.zst").out.decode() == lines


def test_lines_of_the_user(exhume_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": "x y", "b": {"c": []}}')
    made = exhume_cli(
        "create", "kv-ir", tmp_path / "a.jsonl", "-o", tmp_path / "a.clp", "--metadata", '{"m": 1}', "--json"
    )
    assert json.loads(made.out)["events"] == 2
    assert exhume_cli("cat", tmp_path / "a.clp").out == b'{"a":1}\n{"a":"x y","b":{"c":[]}}\n'
    assert json.loads(exhume_cli("info", tmp_path / "a.clp", "--json").out)["metadata"] == {"m": 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1]", "not a JSON object"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -1e999}', "a number does not fit a double"),
        ('{"a": 1, "a": 2}', "the same key twice"),
        ('{"a": 9223372036854775808}', "does not fit"),
        ("{", "line 1: not JSON in column 2"),
        ('{}\n\n{"a": [1, ', "line 3: not JSON in column 11: Expecting value at "),
        ('{}\n\n{"a": [1, ', "at 4 (0x4)"),
        ('{"\udcff": 1}', "line 1: not UTF-8 in column 3"),
        ("[" * 100_000, "line 1: nested too deeply"),
    ],
)
def test_bad_lines_are_named(text: str, why: str, exhume_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    made = exhume_cli("create", "kv-ir", tmp_path / "a.jsonl", "-o", tmp_path / "a.clp")
    assert made.code == 1
    assert why in made.err
    assert not (tmp_path / "a.clp").exists()


def test_bad_metadata_is_named(exhume_cli: Cli, tmp_path: Path) -> None:
    made = exhume_cli("create", "kv-ir", tmp_path / "a.jsonl", "-o", tmp_path / "a.clp", "--metadata", "[")
    assert (made.code, "--metadata: not JSON in column 2" in made.err) == (1, True)


@pytest.mark.parametrize(
    "value", [{"a": 1 << 63}, {1: 2}, {"a": object()}, {"a": [float("inf")]}, {"a": [1 << 64]}, {"a": [{1: 2}]}]
)
def test_what_a_stream_cannot_contain_leaves_no_trace(value: Any, tmp_path: Path) -> None:
    with KvIrWriter(tmp_path / "a.clp") as writer:
        writer.write({"x": 1})
        with pytest.raises(WriterError):
            writer.write({"new": "key", **value})
        writer.write({"y": 2})
    with exhume.open(tmp_path / "a.clp") as archive:
        assert [user for _, user in archive.events()] == [{"x": 1}, {"y": 2}]  # type: ignore[attr-defined]


def test_floats_in_arrays_keep_their_digits() -> None:
    assert array_text([0.1, 1 / 3, 1.0, 123456789.125]) == "[0.1,0.3333333333333333,1,123456789.125]"


def test_archives_of_a_stream_with_times(tmp_path: Path) -> None:
    source = REPOSITORY / "kv_ir" / "logger-0.clp.zst"
    with exhume.create(tmp_path / "a.clps", "clp-s", timestamp_key="@timestamp.unix_millisecs") as writer:
        writer.add_file(source)
    with exhume.open(tmp_path / "a.clps") as archive:
        (found,) = archive.info().to_dict()["timestamp_ranges"]
        assert found["key"] == "@timestamp.unix_millisecs"
        assert archive.info().to_dict()["records"] == 120


def test_damaged_streams_are_refused_or_passed_over(tmp_path: Path) -> None:
    (tmp_path / "cut.clp").write_bytes(SMALL[:-4])
    with pytest.raises(exhume.ExhumeError) as caught, exhume.create(tmp_path / "a.clps", "clp-s") as writer:
        writer.add_file(tmp_path / "cut.clp")
    assert caught.value.code == "KVIR-304"
    with exhume.create(tmp_path / "b.clps", "clp-s", on_error="skip") as writer:
        writer.add_file(tmp_path / "cut.clp")
    assert (writer.records, writer.skipped) == (len(EVENTS) - 1, 1)
