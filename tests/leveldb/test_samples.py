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
from exhume.source import LocalTree

CASES = ["leveldb-empty", "leveldb-food", "leveldb-food-mutate", "leveldb-prefixed", "rocksdb"]


def load(shared_samples: Path, case: str) -> tuple[Path, dict[str, Any]]:
    folder = shared_samples / "leveldb" / case
    return folder / "db", json.loads((folder / "expected.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_live_rows(shared_samples: Path, case: str) -> None:
    path, expected = load(shared_samples, case)
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
def test_every_version(shared_samples: Path, case: str) -> None:
    path, expected = load(shared_samples, case)
    versions = list(Database(LocalTree(path)).versions())
    assert len(versions) == expected["raw_count"]
    assert {v.checksum for v in versions} <= {Verdict.GOOD}
    if "raw_entries" not in expected:
        return
    mine: list[dict[str, Any]] = [
        {
            "file": v.place.file,
            "offset": v.place.offset,
            **({"in_block": v.entry_offset} if v.operation is None else {}),
            "key_hex": v.key.hex(),
            "seq": v.sequence,
            "type": type_name(v.value_type),
            **({"value_hex": v.value.hex()} if v.value_type else {}),
        }
        for v in versions
    ]

    def order(entry: dict[str, Any]) -> tuple[Any, ...]:
        return entry["file"], entry["offset"], entry.get("in_block", 0), entry["seq"]

    assert sorted(mine, key=order) == sorted(expected["raw_entries"], key=order)


@pytest.mark.parametrize("case", CASES)
def test_verifies_clean(shared_samples: Path, case: str) -> None:
    path, _ = load(shared_samples, case)
    assert [str(f) for f in exhume.verify(path) if f.severity is not Severity.NOTE] == []


def test_statuses_of_an_overwritten_and_a_deleted_key(shared_samples: Path) -> None:
    path, _ = load(shared_samples, "leveldb-food-mutate")
    database = Database(LocalTree(path))
    got = [(v.key, v.sequence, str(v.status), v.superseded_by) for v in database.versions()]
    assert got == [
        (b"apples", 5, "live", None),
        (b"apples", 1, "replaced", 5),
        (b"mozzarella", 6, "tombstone", None),
        (b"mozzarella", 3, "deleted", 6),
        (b"oranges", 2, "live", None),
        (b"pizza", 7, "live", None),
        (b"pizza", 4, "replaced", 7),
    ]
    assert [v.value for v in database.history(b"pizza")] == [b"here", b"italy"]
    past = {v.key: v.value for v in database.state(4)}
    assert past == {b"apples": b"fruit", b"mozzarella": b"cheese", b"oranges": b"color", b"pizza": b"italy"}
    assert {v.key: v.value for v in database.state(2)} == {b"apples": b"fruit", b"oranges": b"color"}
    assert dict(database.scan(sequence=4)) == past


def test_level_and_log_places(shared_samples: Path) -> None:
    path, _ = load(shared_samples, "leveldb-food-mutate")
    by_key = {(v.key, v.sequence): v for v in Database(LocalTree(path)).versions()}
    old, new = by_key[b"pizza", 4], by_key[b"pizza", 7]
    assert (old.place.file, old.place.level, old.operation) == ("000005.ldb", 2, None)
    assert (new.place.file, new.place.level, new.operation) == ("000004.log", None, 0)
    assert (new.place.batch_sequence, new.place.batch_count) == (7, 1)


def test_a_lone_table_opens(shared_samples: Path) -> None:
    path, _ = load(shared_samples, "leveldb-food-mutate")
    with exhume.open(path / "000005.ldb") as archive:
        assert [(e.name, e.size) for e in archive.entries()] == [("apples", 4), ("oranges", 5), ("pizza", 5)]
    assert exhume.identify(path / "000005.ldb")[0].format == "leveldb"
    assert [f for f in exhume.verify(path / "000005.ldb") if f.severity is Severity.ERROR] == []
