"""Values of versions that are not live, in blob files, entities and timed puts: each is given or called unknown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.io.local import LocalTree
from exhume.recovery import SalvageMode
from tests.leveldb.crafted import ENTITY, PUT, TIMED_PUT, Crafted, batch
from tests.oracles import need

Cli = Callable[..., Any]
KEYS = [b"deleted", b"put again", b"replaced", b"same"]


def large(number: int) -> bytes:
    return b"value %d of a key, " % number * 20


@pytest.fixture
def blobs(tmp_path: Path) -> Path:
    """Three generations of two keys, the first two replaced or deleted: each has a blob file of its own."""
    rocksdict = need("rocksdict")
    path = tmp_path / "db"
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_disable_auto_compactions(True)
    options.set_enable_blob_files(True)
    options.set_min_blob_size(40)
    options.set_blob_compression_type(rocksdict.DBCompressionType.lz4())
    database = rocksdict.Rdict(str(path), options)
    for number in (0, 10):
        database[b"k"] = large(number)
        database[b"gone"] = large(number + 1)
        database.flush()
    database[b"k"] = large(20)
    database.delete(b"gone")
    database.flush()
    database.close()
    return path


def values(path: Path) -> dict[tuple[bytes, int], bytes | None]:
    with LevelDbArchive(LocalTree(path)) as archive:
        return {(v.key, v.sequence): v.known_value for v in archive.database.versions()}


def test_replaced_values_are_read_from_their_blob_files(blobs: Path, exhume_cli: Cli, tmp_path: Path) -> None:
    assert values(blobs) == {
        (b"k", 1): large(0), (b"gone", 2): large(1), (b"k", 3): large(10), (b"gone", 4): large(11),
        (b"k", 5): large(20), (b"gone", 6): b"",
    }  # fmt: skip
    listed = json.loads(exhume_cli("list", blobs, "--all-versions", "--json").text)["entries"]
    assert {one["size"] for one in listed if one["type"] != "deletion"} == {len(large(0)), len(large(10))}
    assert exhume_cli("search", blobs, "value 11 of", "--values", "--all-versions").text.startswith("gone\tvalue 11 of")
    assert exhume_cli("list", blobs, "--key", "gone", "--json").code == 0
    exhume.salvage(blobs, tmp_path / "lines", mode=SalvageMode.RECORDS)
    lines = list(map(json.loads, (tmp_path / "lines").read_text().splitlines()))
    assert {one["sequence"]: one["value"]["text"].encode() for one in lines} == {
        1: large(0), 2: large(1), 3: large(10), 4: large(11), 5: large(20), 6: b"",
    }  # fmt: skip
    with LevelDbArchive(LocalTree(blobs)) as archive:
        table = archive.to_arrow(columns=["sequence", "value"], all_versions=True).read_all().to_pylist()
        assert {row["sequence"]: row["value"] for row in table}[4] == large(11)
        assert {v.key: v.value for v in archive.database.state(4)} == {b"k": large(10), b"gone": large(11)}
        assert archive.database.get(b"gone", sequence=2) == large(1)


def test_a_replaced_value_that_cannot_be_read_is_unknown(blobs: Path, exhume_cli: Cli, tmp_path: Path) -> None:
    min(blobs.glob("*.blob")).unlink()
    lost = {(b"k", 1): None, (b"gone", 2): None}
    assert {key: value for key, value in values(blobs).items() if value is None} == lost
    result = exhume_cli("list", blobs, "--all-versions", "--json")
    assert result.code == 3
    reported = [one["unresolved"] for one in json.loads(result.text)["entries"] if "unresolved" in one]
    assert reported == ["a value of type blob-index that cannot be read"] * 2
    report = exhume.salvage(blobs, tmp_path / "lines", mode=SalvageMode.RECORDS)
    assert report.lost["values that cannot be determined"] == 2
    lines = map(json.loads, (tmp_path / "lines").read_text().splitlines())
    assert {one["sequence"] for one in lines if one["value"] is None} == {1, 2}
    with LevelDbArchive(LocalTree(blobs)) as archive:
        table = archive.to_arrow(columns=["sequence", "value"], all_versions=True).read_all().to_pylist()
        assert {row["sequence"] for row in table if row["value"] is None} == {1, 2}
        assert {v.key: str(v.status) for v in archive.database.state(2)} == {b"k": "unresolved", b"gone": "unresolved"}


def test_replaced_entities_and_timed_puts(tmp_path: Path) -> None:
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    entity = bytes((1, 2, 0, 3, 1)) + b"c" + bytes((2,)) + b"onetw"
    database.write(
        batch(10, (ENTITY, b"e", entity), (TIMED_PUT, b"t", b"value" + bytes(8))),
        batch(12, (PUT, b"e", b"now"), (PUT, b"t", b"then")),
    )
    with LevelDbArchive(LocalTree(database.path)) as archive:
        found = {v.sequence: (v.value, v.columns) for v in archive.database.versions()}
        assert found[10] == (b"one", {b"": b"one", b"c": b"tw"})
        assert found[11] == (b"value", None)
        assert {v.key: v.value for v in archive.database.state(11, unreferenced=True)}[b"e"] == b"one"


@pytest.fixture
def compacted(tmp_path: Path) -> tuple[Path, int]:
    """A database whose last compaction set all sequence numbers to 0, with the tables of an earlier state; and the last
    number of that state.

    That has rows with numbers, rows whose numbers were 0 already, and a deletion.
    """
    rocksdict = need("rocksdict")
    path = tmp_path / "db"
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_disable_auto_compactions(True)
    database = rocksdict.Rdict(str(path), options)
    for _ in range(2):
        for key in [*KEYS, b"zero"]:
            database[key] = b"old"
        database.flush()
    database.compact_range(None, None)
    for key in KEYS:
        database[key] = b"older"
    database.delete(b"put again")
    database.flush()
    earlier = {file: file.read_bytes() for file in path.glob("*.sst")}
    sequence = 15
    for key in (b"put again", b"replaced", b"zero"):
        database[key] = b"new"
    database.delete(b"deleted")
    database.flush()
    database.compact_range(None, None)
    database.close()
    for file, data in earlier.items():
        file.write_bytes(data)
    return path, sequence


def test_a_state_is_not_older_than_it_says(compacted: tuple[Path, int], exhume_cli: Cli) -> None:
    """Files that are no longer used have higher numbers than the newest values."""
    path, sequence = compacted
    rows = {b"put again": b"new", b"replaced": b"new", b"same": b"older", b"zero": b"new"}
    with LevelDbArchive(LocalTree(path)) as archive:
        database = archive.database
        last = database.last_sequence()
        assert {one.key: one.value for one in database.state()} == rows
        assert {one.sequence for one in database.state()} == {0}
        assert {one.key: one.value for one in database.state(last, unreferenced=True)} == rows
        assert {one.key: one.value for one in database.state(unreferenced=True)} == rows | {b"deleted": b"older"}
        before = {one.key: one.known_value for one in database.state(sequence, unreferenced=True)}
    # Whether the newest values are older than this state is not known.
    unknown = {b"put again": None, b"replaced": None, b"zero": None}
    assert before == {b"deleted": b"older", b"same": b"older"} | unknown
    result = exhume_cli("cat", path, "--sequence", str(sequence))
    assert result.code == 3
    assert "value without a sequence number" in result.err
    assert exhume_cli("cat", path, "--sequence", str(last)).code == 0


def test_of_values_without_numbers_the_newer_file_counts(compacted: tuple[Path, int], tmp_path: Path) -> None:
    path, _ = compacted
    for file in (path / "CURRENT", *path.glob("MANIFEST-*")):
        file.unlink()
    exhume.salvage(path, tmp_path / "out")
    with LevelDbArchive(LocalTree(tmp_path / "out")) as archive:
        assert archive.database.get(b"zero") == b"new"
