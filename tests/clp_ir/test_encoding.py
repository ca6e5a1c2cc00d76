"""Streams of text into clp-s archives, by way of KV-IR; and the writer from lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.formats.clp_ir import kernel, pykernel
from exhume.formats.clp_ir.keyed import as_key_values
from exhume.formats.clp_ir.units import EventForm
from tests.clp_ir.broken import CASES
from tests.clp_ir.streams import EVENTS, SMALL, START_MS, STREAMS, WIDE, head
from tests.kv_ir.streams import SMALL as PAIRS


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("data", STREAMS.values(), ids=STREAMS)
def test_an_archive_contains_times_and_messages(data: bytes, jobs: int, tmp_path: Path) -> None:
    (tmp_path / "a.clp").write_bytes(data)
    with exhume.create(tmp_path / "a.clps", "clp-s", timestamp_key="@timestamp", jobs=jobs) as writer:
        writer.add_file(tmp_path / "a.clp")
    assert exhume.verify(tmp_path / "a.clps").ok
    with exhume.open(tmp_path / "a.clps") as archive:
        events: Any = archive
        found = [(event["@"]["timestamp"], event["message"]) for event in events.events(ordered=True)]
    assert found == [(time, message.decode()) for time, message in EVENTS]


@pytest.mark.parametrize("data", [SMALL, WIDE], ids=["four", "eight"])
def test_what_is_made_is_a_sound_stream(data: bytes) -> None:
    made = b"".join(as_key_values("a", iter([data[:5], data[5:]])))
    assert list(exhume.verify(made)) == []
    with exhume.open(made) as archive:
        stream: Any = archive
        assert [(auto["timestamp"], user["message"]) for auto, user in stream.events()] == [
            (time, message.decode()) for time, message in EVENTS
        ]


@pytest.mark.parametrize("data", [b"", b"\xfd", b"{}\n" * 9, PAIRS, PAIRS[:3]])
def test_other_inputs_pass_as_they_are(data: bytes) -> None:
    assert b"".join(as_key_values("a", iter([data[:2], data[2:]]))) == data


def test_both_decoders_make_the_same() -> None:
    for data, wide in ((SMALL, False), (WIDE, True)):
        body = data[len(head(wide=wide)) :]
        reported = []
        for decoder in (kernel.ClpIrDecoder, pykernel.ClpIrDecoder):
            made = decoder(wide, START_MS)
            reported.append((made.run(body, 0, len(body), 0, EventForm.KEYED, 90), made.take()))
        assert reported[0] == reported[1]


@pytest.mark.parametrize("name", ["CLPIR-303", "CLPIR-304", "CLPIR-305", "CLPIR-306", "CLPIR-401", "CLPIR-403"])
def test_a_damaged_stream_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.clp").write_bytes(CASES[name])
    with pytest.raises(ExhumeError, match=name), exhume.create(tmp_path / "a.clps", "clp-s") as writer:
        writer.add_file(tmp_path / "a.clp")
    assert not (tmp_path / "a.clps").exists()


def test_lines_of_json(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.clp").write_bytes(SMALL)
    for encoding in ("four-byte", "eight-byte"):
        assert (
            exhume_cli("export", tmp_path / "a.clp", "--to", "jsonl", "-o", tmp_path / "a.jsonl", "--overwrite").code
            == 0
        )
        made = tmp_path / f"{encoding}.clp.zst"
        ran = exhume_cli("create", "clp-ir", tmp_path / "a.jsonl", "-o", made, "--encoding", encoding, "--json")
        assert json.loads(ran.text)["events"] == 5
        with exhume.open(made) as archive:
            stream: Any = archive
            assert list(stream.events()) == EVENTS


BAD = {
    '{"message": "x"}': "no 'timestamp' in it",
    '{"timestamp": 5}': "no 'message' in it",
    '{"timestamp": 5, "message": 5}': "must be a string",
    '{"timestamp": true, "message": "x"}': "number of milliseconds",
    '{"timestamp": "soon", "message": "x"}': "not ISO 8601",
    '{"timestamp": "2024-01-01T00:00:00.0001", "message": "x"}': "whole milliseconds",
    '{"timestamp": "2024-01-01T00:00:00.0000001Z", "message": "x"}': "whole milliseconds",
    '{"timestamp": "1604012312345", "message": "x"}': "not ISO 8601",
    '{"timestamp": 1e3, "message": "x"}': "number of milliseconds",
    '{"timestamp": 300000000000000, "message": "x"}': "outside the years 1 to 9999",
    '{"timestamp": 5, "message": "x", "level": 1}': "a time and a message only",
    "[]": "not a JSON object",
}
OTHER_KINDS = {
    b"2024-01-02 03:04:05.678 hello\n": "a plain-text log, not lines of JSON: create kv-ir and create clp-s read it",
    b"\x80\0\1\2\3\n": "line 1: not UTF-8",
}


@pytest.mark.parametrize("data", OTHER_KINDS)
def test_other_inputs_are_named(data: bytes, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    ran = exhume_cli("create", "clp-ir", "-", "-o", tmp_path / "made", input=data)
    assert ran.code == 1
    assert OTHER_KINDS[data] in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", BAD)
def test_lines_that_are_refused(line: str, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    good = '{"timestamp": "2024-01-01T00:00:00Z", "message": "x"}\n\n'
    ran = exhume_cli("create", "clp-ir", "-", "-o", tmp_path / "made", input=(good + line + "\n").encode())
    assert ran.code == 1
    assert "line 3: " in ran.err
    assert BAD[line] in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"encoding": "two-byte"}, "no such encoding"),
        ({"codec": "gzip"}, "no such codec"),
        ({"codec": "none", "level": 3}, "no compression level"),
        ({"codec": "zstd", "level": 99}, "compression level"),
        ({"reference_ms": 1 << 60}, "outside the years"),
        ({"zone": "\udc80"}, "lone surrogate"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ExhumeError, match=reason):
        exhume.create(tmp_path / "made", "clp-ir", **options)
    assert list(tmp_path.iterdir()) == []


def test_events_that_are_refused_leave_nothing(tmp_path: Path) -> None:
    with exhume.create(tmp_path / "made", "clp-ir") as writer:
        for time, message in (("now", "x"), (True, "x"), (1 << 60, "x"), (5, "\ud800")):
            with pytest.raises(ExhumeError):
                writer.write(time, message)  # type: ignore[arg-type]
        writer.write(5, "bytes \udcff\n")
    with pytest.raises(ExhumeError, match="finished"):
        writer.write(5, "more")
    with exhume.open(tmp_path / "made") as archive:
        stream: Any = archive
        assert list(stream.events()) == [(5, b"bytes \xff\n")]


@pytest.mark.parametrize("data", [SMALL, WIDE, PAIRS])
def test_a_stream_is_not_lines_of_json(data: bytes, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    (tmp_path / "a.clp").write_bytes(data)
    ran = exhume_cli("create", "clp-ir", tmp_path / "a.clp", "-o", tmp_path / "b.clp")
    assert ran.code == 1
    assert "recode" in ran.err
    assert not (tmp_path / "b.clp").exists()
