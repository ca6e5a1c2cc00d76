"""Databases of real producers, as their expected.json says."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.findings import Severity
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.model import Status, Verdict, type_name
from exhume.io.local import LocalTree
from tests.real import REAL, RealSamples

CASES = REAL.cases("leveldb")


def load(real_samples: RealSamples, case: str) -> tuple[Path, dict[str, Any]]:
    folder = real_samples.path("leveldb", case)
    return folder / "db", json.loads((folder / "expected.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_live_rows(real_samples: RealSamples, case: str) -> None:
    path, expected = load(real_samples, case)
    database = Database(LocalTree(path))
    rows = list(database.scan())
    assert len(rows) == expected["count"]
    digest = hashlib.sha256()
    for key, value in rows:
        digest.update(struct.pack("<I", len(key)) + key + struct.pack("<I", len(value)) + value)
    assert digest.hexdigest() == expected["sha256_of_pairs"]
    if "entries" in expected:
        assert [[key.decode(), value.decode()] for key, value in rows] == expected["entries"]
    live = [(v.key, v.value) for v in database.versions() if v.status is Status.LIVE]
    assert live == rows
    for key, value in rows[:: max(1, len(rows) // 50)]:
        assert database.get(key) == value
        assert next(database.scan(key)) == (key, value)
    assert database.get(b"\xff no such key") is None


@pytest.mark.parametrize("case", CASES)
def test_every_version(real_samples: RealSamples, case: str) -> None:
    path, expected = load(real_samples, case)
    versions = list(Database(LocalTree(path)).versions())
    assert len(versions) >= expected["count"]
    assert {v.checksum for v in versions} <= {Verdict.GOOD}
    if "raw_count" in expected:
        assert len(versions) == expected["raw_count"]
    by_place = {(v.place.file, v.sequence): v for v in versions}
    for entry in expected.get("raw_entries", ()):
        version = by_place[entry["file"], entry["seq"]]
        mine: dict[str, Any] = {
            "file": version.place.file,
            "offset": version.place.offset,
            "in_block": version.entry_offset,
            "key_hex": version.key.hex(),
            "seq": version.sequence,
            "type": type_name(version.value_type),
            "value_hex": version.value.hex(),
        }
        assert {key: mine[key] for key in entry} == entry


@pytest.mark.parametrize("case", CASES)
@pytest.mark.bulk
def test_verifies_clean(real_samples: RealSamples, case: str) -> None:
    path, _ = load(real_samples, case)
    assert [str(f) for f in exhume.verify(path) if f.severity is not Severity.NOTE] == []


def test_statuses_of_an_overwritten_and_a_deleted_key(real_samples: RealSamples) -> None:
    path, _ = load(real_samples, "leveldb-birds-changed")
    database = Database(LocalTree(path))
    got = [(v.key, v.sequence, str(v.status), v.superseded_by) for v in database.versions()]
    assert got == [
        (b"dunlin", 5, "live", None),
        (b"dunlin", 1, "replaced", 5),
        (b"heron", 6, "tombstone", None),
        (b"heron", 2, "deleted", 6),
        (b"plover", 3, "live", None),
        (b"swift", 7, "live", None),
        (b"swift", 4, "replaced", 7),
    ]
    assert [v.value for v in database.history(b"swift")] == [b"sky", b"tower"]
    past = {v.key: v.value for v in database.state(4)}
    assert past == {b"dunlin": b"shore", b"heron": b"reeds", b"plover": b"beach", b"swift": b"tower"}
    assert {v.key: v.value for v in database.state(2)} == {b"dunlin": b"shore", b"heron": b"reeds"}
    assert dict(database.scan(sequence=4)) == past


def test_level_and_log_places(real_samples: RealSamples) -> None:
    path, _ = load(real_samples, "leveldb-birds-changed")
    by_key = {(v.key, v.sequence): v for v in Database(LocalTree(path)).versions()}
    old, new = by_key[b"swift", 4], by_key[b"swift", 7]
    assert (old.place.file, old.place.level, old.operation) == ("000005.ldb", 0, None)
    assert (new.place.file, new.place.level, new.operation) == ("000007.log", None, 0)
    assert (new.place.batch_sequence, new.place.batch_count) == (7, 1)


def test_a_lone_table_opens(real_samples: RealSamples) -> None:
    path, _ = load(real_samples, "leveldb-birds-changed")
    with exhume.open(path / "000005.ldb") as archive:
        assert [(e.name, e.size) for e in archive.entries()] == [
            ("dunlin", 5), ("heron", 5), ("plover", 5), ("swift", 5),
        ]  # fmt: skip
    assert exhume.identify(path / "000005.ldb")[0].format == "leveldb"
    assert [f for f in exhume.verify(path / "000005.ldb") if f.severity is Severity.ERROR] == []
