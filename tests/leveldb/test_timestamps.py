"""Keys with user-defined timestamps, in logs and in the tables that RocksDB makes of them.

RocksDB (rocksdict) opens such a database and replays its log, but has no method here that reads a row at a timestamp.
The rule that stands for it: of a key, the newest timestamp is live (RocksDB include/rocksdb/comparator.h); a range
deletion covers what has a lower sequence number (db/range_tombstone_fragmenter.h, `MaxCoveringTombstoneSeqnum`).
"""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.findings import Severity
from exhume.formats.leveldb.comparators import REVERSE
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.model import BYTEWISE, Status
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.io.local import LocalTree
from tests.leveldb.crafted import DELETE, PUT, RANGE_DELETE, Crafted, batch, fragments
from tests.sizes import size

pytestmark = pytest.mark.conformance

SIZES = (10, struct.pack("<IH", 0, 8))
"""The fragment that says how long the timestamps of column family 0 are."""

Rows = dict[bytes, tuple[int, bytes]]
"""Timestamp and value by key."""


def stamp(number: int) -> bytes:
    return number.to_bytes(8, "little")


def writes(seed: int, *, backward: bool) -> tuple[list[bytes], Rows]:
    """Batches whose timestamps grow, and the live rows that they make."""
    rng = random.Random(seed)
    out: list[bytes] = []
    rows: Rows = {}
    for sequence in range(100, 400):
        now = stamp(sequence * 3)
        key, value = b"k%02d" % rng.randrange(40), b"value %d" % sequence * rng.randrange(5)
        kind = rng.choices((PUT, DELETE, RANGE_DELETE), (8, 2, 0.3))[0]
        if kind == PUT:
            out.append(batch(sequence, (PUT, key + now, value)))
            rows[key] = sequence * 3, value
        elif kind == DELETE:
            out.append(batch(sequence, (DELETE, key + now)))
            rows.pop(key, None)
        else:
            low, high = key, key[:2] + b"9"
            first, stop = (high, low) if backward else (low, high)
            out.append(batch(sequence, (RANGE_DELETE, first + now, stop + now)))
            gone = {one for one in rows if (low < one <= high if backward else low <= one < high)}
            rows = {one: found for one, found in rows.items() if one not in gone}
    return out, rows


def versions(path: Path, rows: Rows) -> set[Any]:
    """All versions, of a database that is sound and has these live rows."""
    plain = {key: value for key, (_, value) in rows.items()}
    with LevelDbArchive(LocalTree(path)) as archive:
        database = archive.database
        assert dict(database.scan()) == plain
        assert all(database.get(key) == value for key, value in plain.items())
        found = [v for v in database.versions() if v.value_type != RANGE_DELETE]
        assert {v.key: (v.timestamp, v.value) for v in found if v.status is Status.LIVE} == rows
        assert [str(one) for one in archive.verify() if one.severity is not Severity.NOTE] == []
        assert archive.sections().gaps() == []
        return {(v.key, v.timestamp, v.value, v.sequence, str(v.status)) for v in found}


@pytest.mark.parametrize("order", [BYTEWISE, REVERSE])
@pytest.mark.parametrize("seed", range(size(2, 10)))
def test_logs_and_tables_with_timestamps(tmp_path: Path, order: str, seed: int) -> None:
    path = tmp_path / "db"
    database = Crafted.stamped(path, order)
    batches, rows = writes(seed, backward=order == REVERSE)
    assert len(rows) > 5
    database.log.write_bytes(fragments([SIZES, *((1, one) for one in batches[:200])]))
    database.flush()
    database.log.write_bytes(fragments([SIZES, *((1, one) for one in batches[200:])]))
    some = versions(path, rows)
    database.flush()
    assert len(list(path.glob("*.sst"))) == 2
    assert len(versions(path, rows)) == len(some)
    report = exhume.salvage(path, tmp_path / "saved")
    assert report.lost == {"timestamps of keys": len(rows)}
    assert report.recovered == {"rows": len(rows)}
    assert dict(Database(LocalTree(tmp_path / "saved")).scan()) == {key: value for key, (_, value) in rows.items()}
