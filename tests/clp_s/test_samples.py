"""The project's own clp-s archives, those of our writer among them, and what `info` shows of their ingestion units."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exhume.formats.clp_s.reader import open_archive
from exhume.formats.clp_s.write.options import VERSIONS
from exhume.io.local import FileSource
from exhume.io.source import BytesSource
from tests.clp_s.build import demo
from tests.clp_s.make_samples import RECORDS, WRITTEN


@pytest.mark.parametrize("version", WRITTEN)
def test_written_samples(samples: Path, version: str) -> None:
    path = samples / "clp_s" / f"{WRITTEN[version]}.clps"
    with open_archive(FileSource(path)) as archive:
        assert archive.header.version == VERSIONS[version]
        assert b"".join(archive.json_chunks(ordered=True)) == path.with_suffix(".jsonl").read_bytes()
        assert list(archive.events(ordered=True)) == [
            # Arrays come as they were; a float of 0.3.1 has lost its spelling, not its value.
            json.loads(line)
            for line in RECORDS
        ]
        assert [finding for finding in archive.verify() if str(finding.severity) == "error"] == []


@pytest.mark.parametrize("version", WRITTEN)
def test_info_shows_ingestion_units(samples: Path, version: str, exhume_cli: Callable[..., Any]) -> None:
    path = samples / "clp_s" / f"{WRITTEN[version]}.clps"
    first, second = json.loads(exhume_cli("info", path, "--json").text)["ingestion_units"]
    shared = {"_archive_creator_id": "exhume-sample", "_file_split_number": 0, "team": "core", "rack": {"row": 4}}
    assert first == {"start": 0, "end": 2, "_filename": "first.jsonl", **shared}
    assert second == {"start": 2, "end": 3, "_filename": "second.jsonl", "topic": "audit", **shared}
    shown = exhume_cli("info", path).text
    for text in ("first.jsonl", "second.jsonl", "audit", "row=4", "exhume-sample"):
        assert text in shown


def test_info_shows_the_metadata_of_kv_ir_streams(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    """The metadata of a KV-IR stream are listed with the three default properties, with values of any kind."""
    stream = {"host": "web-1", "pid": 42, "ratio": 0.5, "secure": True, "zone": None, "path": ["a", {"b": 1}]}
    defaults = {"_archive_creator_id": "c", "_file_split_number": 0, "_filename": "a.clp.zst"}
    path = tmp_path / "kv.clps"
    path.write_bytes(demo(range_index=[{"e": 3, "f": {**defaults, **stream}, "s": 0}]).build())
    with open_archive(FileSource(path)) as archive:
        assert archive.range_index[0].properties == {**defaults, **stream}
        assert [item.properties for item in archive.events(with_source=True)] == [{**defaults, **stream}] * 3
        assert len(list(archive.events("$host: web-1 AND $pid: 42"))) == 3
        assert list(archive.events("$host: web-2")) == []
    (unit,) = json.loads(exhume_cli("info", path, "--json").text)["ingestion_units"]
    assert unit == {"start": 0, "end": 3, **defaults, **stream}
    shown = exhume_cli("info", path).text
    for text in ("a.clp.zst", "web-1", "42", "0.5", "yes", "b=1"):
        assert text in shown


def test_a_range_index_of_no_use_does_not_hide_the_rest() -> None:
    with open_archive(BytesSource(demo(range_index=[{"e": 3, "f": {}}]).build())) as archive:
        info = archive.info().to_dict()
        assert info["ingestion_units"] == []
        assert any("CLPS-409" in str(problem) for problem in info["problems"])
