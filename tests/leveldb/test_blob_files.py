"""Blob files without their database: listed, searched, salvaged, and found in an image; written by RocksDB.

Spec: RocksDB db/blob/blob_log_format.h.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.findings import Verdict
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.layout_facts import BLOB_FOOTER
from exhume.io.local import LocalTree
from exhume.testing.damage import flip
from tests.leveldb.test_large import BLOB, with_blob
from tests.oracles import compared, need

Cli = Callable[..., Any]

ROWS = {b"key %02d" % number: b"value %d " % number * 30 for number in range(40)}


def written(folder: Path, codec: str) -> bytes:
    """A blob file that RocksDB wrote, with `ROWS`."""
    rocksdict = need("rocksdict")
    options = rocksdict.Options(raw_mode=True)
    options.set_enable_blob_files(True)
    options.set_min_blob_size(10)
    options.set_blob_compression_type(getattr(rocksdict.DBCompressionType, codec)())
    database = rocksdict.Rdict(str(folder), options)
    for key, value in ROWS.items():
        database[key] = value
    database.flush()
    database.close()
    (path,) = folder.glob("*.blob")
    return path.read_bytes()


@pytest.mark.conformance
@pytest.mark.parametrize("codec", ["none", "snappy", "lz4", "zstd"])
def test_a_blob_file_alone_has_its_rows(codec: str, tmp_path: Path, exhume_cli: Cli) -> None:
    path = tmp_path / "evidence"
    path.write_bytes(data := written(tmp_path / "db", codec))
    compared("databases")
    assert exhume.verify(path).verdict is Verdict.OK
    printed = [json.loads(line) for line in exhume_cli("cat", path).text.splitlines()]
    assert {one["key"]["text"].encode(): one["value"]["text"].encode() for one in printed} == ROWS
    assert exhume_cli("search", path, "key 1", "--count").out == b"10\n"
    assert exhume_cli("list", path).out.split(b"\n")[:-1] == list(ROWS)
    assert exhume_cli("export", path, "-o", tmp_path / "rows.jsonl").code == 0
    report = exhume.salvage(path, tmp_path / "saved")
    assert (report.recovered, report.lost, report.verified_by) == ({"rows": 40}, {"manifests": 1}, "checksums")
    assert dict(Database(LocalTree(tmp_path / "saved")).scan()) == ROWS
    # In an image, whole, without its footer, and cut.
    image = b"x" * 777 + data + b"y" * 99 + data[:-BLOB_FOOTER] + bytes(40) + data[:1000]
    found = [(one.offset, one.length, one.verdict) for one in exhume.carve(image)]
    assert found[:2] == [(777, len(data), "complete"), (876 + len(data), len(data) - BLOB_FOOTER, "partial")]
    (cut,) = found[2:]
    assert (cut[0], cut[2]) == (916 + 2 * len(data) - BLOB_FOOTER, "partial")


def test_a_damaged_value_of_a_blob_file_alone(tmp_path: Path, exhume_cli: Cli) -> None:
    """The others are read, and it is named; so is a record whose numbers do not fit, which ends the file."""
    path, data = tmp_path / "evidence", with_blob()["000009.blob"]
    path.write_bytes(data)
    assert exhume_cli("cat", path, "k").out == BLOB
    path.write_bytes(flip(data, 100))
    assert [one.code for one in exhume.verify(path)] == ["LDB-211"]
    ran = exhume_cli("cat", path)
    assert (ran.code, json.loads(ran.out)["value"], "[LDB-211]" in ran.err) == (3, None, True)
    (found,) = exhume.carve(bytes(99) + path.read_bytes())
    assert (found.offset, found.verdict, [one.code for one in found.findings]) == (99, "damaged", ["LDB-211"])
    path.write_bytes(flip(data, 33))
    assert exhume.verify(path).verdict is Verdict.DAMAGED
    assert exhume_cli("cat", path).code != 0
    assert list(exhume.carve(path.read_bytes())) == []
