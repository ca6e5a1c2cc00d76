"""`export --to timesketch`: what the events are, and that Timesketch's import client takes them."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import exhume
from tests.plugins.tools import run

START = "2026-01-01T00:00:00+00:00"
TIME = 1_700_000_000
"""When the files of the database were changed last, in seconds since 1970."""


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def database(samples: Path, tmp_path: Path) -> Path:
    copy = shutil.copytree(samples / "leveldb/small", tmp_path / "database")
    for file in copy.iterdir():
        os.utime(file, (TIME, TIME))
    return copy


def test_clp_s_events_have_the_time_of_the_archive(
    samples: Path, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    out = tmp_path / "events.jsonl"
    ran = exhume_cli("export", samples / "clp_s/demo.clps", "--to", "timesketch", "--message", "msg", "-o", out)
    assert (ran.code, ran.err) == (3, "exhume: 2 events\nexhume: lost: rows without a time: 1\n")
    first, second = lines(out)
    assert first["message"] == 'took 3.14 ms for a1 "-7"'
    assert [event["datetime"] for event in (first, second)] == [
        "2023-11-14T22:13:20.500000+00:00",
        "2023-11-14T22:13:21.000000+00:00",
    ]
    assert {event["timestamp_desc"] for event in (first, second)} == {"ts"}
    assert "msg" not in first
    assert first["n"] == -5


def test_times_that_nanoseconds_of_64_bits_cannot_hold(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    with exhume.clpir.create(tmp_path / "a.clp", encoding="eight-byte") as writer:
        for year in (1, 1970, 2500, 9999):
            writer.write(
                int((datetime(year, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 1000, "x"
            )
    ran = exhume_cli("export", tmp_path / "a.clp", "--to", "timesketch", "-o", tmp_path / "events.jsonl")
    assert ran.code == 0
    years = [event["datetime"][:4] for event in lines(tmp_path / "events.jsonl")]
    assert years == ["0001", "1970", "2500", "9999"]


def test_different_columns_are_different_fields(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    with exhume.kvir.create(tmp_path / "a.clp") as writer:
        writer.write({"t": 0, "timestamp": 1, "timestamp_": 2, "timestamp__": 3, "tag": 4})
    for name in ("events.jsonl", "events.csv"):
        out = tmp_path / name
        exhume_cli("export", tmp_path / "a.clp", "--to", "timesketch", "--time", "t:s", "-o", out)
        event = lines(out)[0] if out.suffix == ".jsonl" else next(csv.DictReader(out.read_text().splitlines()))
        fields = ("timestamp___", "timestamp_", "timestamp__", "tag_")
        assert [int(event[field]) for field in fields] == [1, 2, 3, 4]


def test_ark_events_count_from_the_start_of_the_clock(
    samples: Path, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    out = tmp_path / "events.jsonl"
    ran = exhume_cli("export", samples / "ark/log", "--to", "timesketch", "--clock-start", START, "-o", out)
    assert ran.code == 3  # nested values are text
    with exhume.ark.open(samples / "ark/log") as log:
        wanted = [(timedelta(microseconds=each.time_ns // 1000), each.channel) for each in log.messages()]
    start = datetime.fromisoformat(START)
    reported = [
        (datetime.fromisoformat(event["datetime"]) - start, event["message"].split(":")[0]) for event in lines(out)
    ]
    assert sorted(reported) == sorted(wanted)
    assert len(reported) == 90


def test_a_steady_clock_is_no_calendar(samples: Path, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    out = tmp_path / "events.jsonl"
    ran = exhume_cli("export", samples / "ark/log", "--to", "timesketch", "-o", out)
    assert ran.code == 3
    assert "lost: rows without a time: 90" in ran.err
    assert "--clock-start" in ran.err
    assert out.read_bytes() == b""


def test_leveldb_events_have_the_time_of_their_file(
    database: Path, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    out = tmp_path / "events.csv"
    assert exhume_cli("export", database, "--to", "timesketch", "--all-versions", "-o", out).code == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with exhume.leveldb.open(database) as archive:
        table = archive.to_arrow(all_versions=True).read_all()
    assert [row["key"] for row in rows] == [key.decode() for key in table["key"].to_pylist()]
    assert {(row["datetime"], row["timestamp_desc"]) for row in rows} == {
        (datetime.fromtimestamp(TIME, UTC).isoformat(timespec="microseconds"), "File Modified")
    }


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_integers_are_times_with_a_unit(unit: str, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    each = 10 ** {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]
    with exhume.create(tmp_path / "a.clps", "clp-s") as writer:
        writer.write_json_line(json.dumps({"at": TIME * each, "timestamp": 7, "_x": [1], "message": "b"}))
        writer.write_json_line(json.dumps({"at": 1 << 62}))
    out = tmp_path / "events.jsonl"
    exhume_cli("export", tmp_path / "a.clps", "--to", "timesketch", "--time", f"at:{unit}", "-o", out)
    event = lines(out)[0]
    assert event["datetime"] == "2023-11-14T22:13:20.000000+00:00"
    assert (event["message"], event["timestamp_"], event["_x"]) == ("b", 7, "[1]")
    assert len(lines(out)) == (2 if unit == "ns" else 1)  # the year 2116; in the others it is past 9999


@pytest.mark.parametrize(
    ("options", "stated"),
    [
        (["--time", "tss"], "did you mean 'ts'"),
        (["--time", "n"], "say their unit"),
        (["--message", "m"], "no such column"),
        (["--clock-start", "noon"], "not an ISO 8601 time"),
        (["--columns", "no"], "no such column"),
    ],
)
def test_mistakes_are_reported(
    samples: Path, tmp_path: Path, exhume_cli: Callable[..., Any], options: list[str], stated: str
) -> None:
    ran = exhume_cli("export", samples / "clp_s/demo.clps", "--to", "timesketch", *options, "-o", tmp_path / "x")
    assert ran.code == 1
    assert stated in ran.err
    assert not (tmp_path / "x").exists()
    assert exhume_cli("export", samples / "clp_s/demo.clps", "--to", "csv", "--time", "ts").code == 2


@pytest.mark.conformance("timesketch")
@pytest.mark.slow
def test_the_import_client_takes_every_event(
    samples: Path, database: Path, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    made = []
    for target, name, *options in (
        (samples / "clp_s/demo.clps", "logs", "--message", "msg"),
        (samples / "ark/log", "robot", "--clock-start", START),
        (database, "database", "--all-versions"),
    ):
        for suffix in ("jsonl", "csv"):
            made.append(tmp_path / f"{name}.{suffix}")
            exhume_cli("export", target, "--to", "timesketch", *options, "-o", made[-1])
    stated = run("python", Path(__file__).with_name("timesketch_worker.py"), *made)
    assert "ERROR" not in stated.stderr
    assert "WARNING" not in stated.stderr
    *uploaded, end = map(json.loads, stated.stdout.splitlines())
    assert end == "end"
    wanted = []
    for file in made:
        if file.suffix == ".jsonl":
            wanted += [(event["message"], event["datetime"], event["timestamp_desc"]) for event in lines(file)]
        else:
            with file.open(newline="") as opened:
                wanted += [(row["message"], row["datetime"], row["timestamp_desc"]) for row in csv.DictReader(opened)]
    taken = [(event["message"], event["datetime"], event["timestamp_desc"]) for event in uploaded]
    assert len(taken) == len(wanted) > 200
    for (message, when, described), (text, time, description) in zip(taken, wanted, strict=True):
        assert (message, described) == (text, description)
        assert datetime.fromisoformat(when) == datetime.fromisoformat(time)
