"""Databases that LevelDB and RocksDB write, read by us and by them; dfindexeddb on raw entries.

The oracles work on copies.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.findings import Severity
from exhume.findings import Verdict as FoundVerdict
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.model import Role, Status, Verdict
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.io.local import LocalTree
from exhume.testing.damage import flip
from tests.oracles import apart, compared, need

from .producers import Rows, random_writes, rocksdb_options, write_rocksdb

pytestmark = pytest.mark.conformance


def check(path: Path, rows: Rows) -> None:
    """Our reader sees exactly these rows, both ways, everything intact."""
    with LevelDbArchive(LocalTree(path)) as archive:
        database = archive.database
        assert dict(database.scan()) == rows
        versions = list(database.versions())
        assert {v.key: v.value for v in versions if v.status is Status.LIVE} == rows
        assert {v.checksum for v in versions} <= {Verdict.GOOD}
        for key in list(rows)[::17]:
            assert database.get(key) == rows[key]
        live = {f.name for f in database.files if f.role is not Role.ORPHAN}  # a compaction may have been truncated
        found = [f for f in archive.verify() if f.severity is not Severity.NOTE]
        assert [str(f) for f in found if f.span is None or f.span.source in live] == []
        assert archive.sections().gaps() == []


def leveldb_rows(path: Path, scratch: Path) -> Rows:
    plyvel = need("plyvel")
    copy = scratch / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)
    with plyvel.DB(str(copy), paranoid_checks=True) as database:
        return dict(database)


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (1, {"compression": None}),
        (2, {"compression": "snappy", "write_buffer_size": 60_000, "max_file_size": 1 << 20}),
        (3, {"write_buffer_size": 65_536, "block_size": 512, "bloom_filter_bits": 10}),
        (4, {"block_restart_interval": 1}),
    ],
)
@pytest.mark.slow
def test_leveldb(tmp_path: Path, seed: int, options: dict[str, Any]) -> None:
    plyvel = need("plyvel")
    path = tmp_path / "db"
    rows: Rows = {}
    for session in range(2):
        with plyvel.DB(str(path), create_if_missing=True, **options) as database:
            batch = database.write_batch()
            for number, (key, value) in enumerate(random_writes(seed * 10 + session, 4000)):
                target = batch if number % 3 else database
                if value is None:
                    target.delete(key)
                else:
                    target.put(key, value)
                if target is batch:
                    batch.write()
                    batch.clear()
            if session == 0 and seed != 1:
                database.compact_range()
    rows = leveldb_rows(path, tmp_path)
    assert len(rows) > 500
    check(path, rows)


def test_leveldb_batches_with_many_operations(tmp_path: Path) -> None:
    plyvel = need("plyvel")
    path = tmp_path / "db"
    with plyvel.DB(str(path), create_if_missing=True) as database:
        for group in range(30):
            with database.write_batch() as batch:
                for key, value in random_writes(group, 50):
                    if value is None:
                        batch.delete(key)
                    else:
                        batch.put(key, value)
    check(path, leveldb_rows(path, tmp_path))


def backward(one: bytes, other: bytes) -> int:
    return (one < other) - (one > other)


def numeric(one: bytes, other: bytes) -> int:
    return int(one or 0) - int(other or 0)


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("order", [backward, numeric])
def test_comparators_of_applications(tmp_path: Path, order: Callable[[bytes, bytes], int], compacted: bool) -> None:
    """The order of keys is not checked, which is reported; rows are those of the engine, in tables and in the log.

    All fits the buffer of each session: plyvel cannot close a database that compacts in the background.
    """
    plyvel = need("plyvel")
    options = {"comparator": order, "comparator_name": f"test.{order.__name__}".encode()}
    path = tmp_path / "db"
    rng = random.Random(5)
    for session in range(3):
        with plyvel.DB(str(path), create_if_missing=True, **options) as database:
            for number in range(500):
                key = b"%d" % rng.randrange(700)
                if number % 7:
                    database.put(key, b"%d " % number * rng.randrange(20))
                else:
                    database.delete(key)
            if compacted and session == 1:
                database.compact_range()
    with plyvel.DB(str(shutil.copytree(path, tmp_path / "copy")), paranoid_checks=True, **options) as database:
        rows = list(database)
    assert [key for key, _ in rows] != sorted(key for key, _ in rows)
    with LevelDbArchive(LocalTree(path)) as archive:
        found = list(archive.database.scan())
        assert (dict(found), len(found)) == (dict(rows), len(rows))
        assert {v.key: v.value for v in archive.database.versions() if v.status is Status.LIVE} == dict(rows)
        assert {file.kind for file in archive.database.files if file.size} >= {"table", "log"}
        findings = list(archive.verify())
    reported = [(finding.code, finding.severity) for finding in findings if finding.severity is not Severity.NOTE]
    assert reported == [(checks.COMPARATOR.code, Severity.UNCHECKED)]


COMPRESSIONS = ["none", "snappy", "zlib", "bz2", "lz4", "lz4hc", "zstd"]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_rocksdb_compressions(tmp_path: Path, compression: str) -> None:
    rows = write_rocksdb(tmp_path / "db", rocksdb_options(compression, 5), COMPRESSIONS.index(compression))
    assert len(rows) > 300
    check(tmp_path / "db", rows)


@pytest.mark.parametrize("format_version", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("compression", ["zlib", "lz4"])
def test_rocksdb_versions(tmp_path: Path, format_version: int, compression: str) -> None:
    rows = write_rocksdb(tmp_path / "db", rocksdb_options(compression, format_version), format_version, 1500)
    check(tmp_path / "db", rows)


@pytest.mark.parametrize("checksum", ["no_checksum", "crc32c", "xxhash", "xxhash64", "xxh3"])
@pytest.mark.parametrize("format_version", [5, 6])
def test_rocksdb_checksums(tmp_path: Path, checksum: str, format_version: int) -> None:
    rocksdict = need("rocksdict")
    if not hasattr(rocksdict, "ChecksumType") or not hasattr(rocksdict.ChecksumType, checksum):
        pytest.skip("this rocksdict cannot choose the checksum")
    options = rocksdb_options("snappy", format_version, checksum=checksum)
    rows = write_rocksdb(tmp_path / "db", options, 5, 1500)
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        assert dict(archive.database.scan()) == rows
        kinds = {archive.database.table(f).footer.checksum for f in archive.database.files if f.kind == "table"}  # type: ignore[union-attr]
        wanted = {"no_checksum": "none", "xxhash": "xxhash32"}.get(checksum, checksum)
        assert kinds == {wanted}
        assert [str(f) for f in archive.verify() if f.severity is not Severity.NOTE] == []


@pytest.mark.parametrize("shape", ["two_level", "hash_index"])
def test_rocksdb_index_shapes(tmp_path: Path, shape: str) -> None:
    rows = write_rocksdb(tmp_path / "db", rocksdb_options("snappy", 5, **{shape: True}), 9, 3000)
    check(tmp_path / "db", rows)


def test_parts_of_an_index_and_of_a_filter_are_verified(tmp_path: Path) -> None:
    """Only an index of them names them; nothing that reads rows requests a filter."""
    write_rocksdb(tmp_path / "db", rocksdb_options("snappy", 5, two_level=True), 9, 3000)
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        tables = [file for file in archive.database.files if file.kind == "table"]
        parts = {(file.name, *part) for file in tables for part in archive.database.table(file).partitions()}
    assert {name for _, name, _ in parts} == {"index-part", "filter-part"}
    for name in ("index-part", "filter-part"):
        file, _, handle = min(one for one in parts if one[1] == name)
        path = tmp_path / "db" / file
        sound = path.read_bytes()
        path.write_bytes(flip(sound, handle.offset, 1))
        reported = [found.span for found in exhume.verify(tmp_path / "db") if found.code == "LDB-202"]
        path.write_bytes(sound)
        assert [(span.source, span.start) for span in reported if span is not None] == [(file, handle.offset)], name


def test_rocksdb_column_families_and_range_deletions(tmp_path: Path) -> None:
    rocksdict = need("rocksdict")
    options = rocksdb_options("snappy", 5)
    database = rocksdict.Rdict(str(tmp_path / "db"), options)
    other = database.create_column_family("other", rocksdb_options("none", 5))
    for number in range(300):
        database[b"k%03d" % number] = b"default %d" % number
        other[b"k%03d" % number] = b"other %d" % number
    database.flush()
    database.delete_range(b"k100", b"k150")
    database[b"k120"] = b"again"
    database.flush()
    database.delete_range(b"k200", b"k210")
    rows, others = dict(database.items()), dict(other.items())
    other.close()
    database.close()
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        assert archive.database.manifest is not None
        ids = {family.name: number for number, family in archive.database.manifest.families.items()}
        assert dict(archive.database.scan()) == rows
        assert dict(archive.database.scan(column_family=ids["other"])) == others
        live = [v for v in archive.database.versions() if v.status is Status.LIVE]
        assert {v.key: v.value for v in live if v.column_family == 0} == rows
        assert {v.key: v.value for v in live if v.column_family == ids["other"]} == others
        wiped = archive.database.history(b"k110")[-1]
        assert str(wiped.status) in ("deleted", "live")
        assert [str(f) for f in archive.verify() if f.severity is Severity.ERROR] == []


def test_dfindexeddb_agrees_on_raw_entries(tmp_path: Path) -> None:
    plyvel = need("plyvel")
    path = tmp_path / "db"
    for session in range(3):  # each one turns the log of the one before into a table
        with plyvel.DB(str(path), create_if_missing=True, compression=None) as database:
            for key, value in random_writes(77 + session, 1000):
                if value is None:
                    database.delete(key)
                else:
                    database.put(key, value)
    mine = [[v.place.file, v.sequence, v.key.hex(), v.value.hex()] for v in Database(LocalTree(path)).versions()]
    with apart("dfindexeddb", Path(__file__).with_name("dfindexeddb_worker.py")) as oracle:
        assert sorted(oracle.ask(folder=str(path))) == sorted(mine)


@pytest.mark.parametrize("closed", [True, False], ids=["empty", "with rows"])
@pytest.mark.parametrize("engine", ["plyvel", "rocksdict"])
def test_a_database_without_its_log(tmp_path: Path, engine: str, closed: bool, exhume_cli: Callable[..., Any]) -> None:
    """The engines open it with the rows of its tables, and so do we; but what the log had is not known."""
    first = [(b"key %d" % number, b"value") for number in range(9)]
    later = [] if closed else [(b"key 1", b"new"), (b"more", b"value")]
    path, copy, without = tmp_path / "db", tmp_path / "copy", tmp_path / "without"
    if engine == "plyvel":
        plyvel = need("plyvel")
        with plyvel.DB(str(path), create_if_missing=True) as database:
            for key, value in first:
                database.put(key, value)
        with plyvel.DB(str(path)) as database:  # which writes a table of them
            for key, value in later:
                database.put(key, value)
    else:
        rocksdict = need("rocksdict")
        database = rocksdict.Rdict(str(path), rocksdb_options("none", 5))
        for key, value in first:
            database[key] = value
        database.flush()
        for key, value in later:
            database[key] = value
        database.flush_wal(True)
        shutil.copytree(path, without)
        database.close()
    if not without.exists():
        shutil.copytree(path, without)
    logs = list(without.glob("*.log"))
    assert logs
    for log in logs:
        log.unlink()
    shutil.copytree(without, copy)
    if engine == "plyvel":
        with plyvel.DB(str(copy), paranoid_checks=True) as database:
            rows = dict(database)
    else:
        database = rocksdict.Rdict(str(copy), rocksdb_options("none", 5))
        rows = dict(database.items())
        database.close()
    assert rows == dict(first)
    with LevelDbArchive(LocalTree(without)) as archive:
        assert dict(archive.database.scan()) == rows
    checked = exhume.verify(without)
    problems = [(one.code, one.severity) for one in checked if one.is_problem]
    assert (problems, checked.verdict) == ([("LDB-115", Severity.UNCHECKED)], FoundVerdict.INCOMPLETE)
    compared("databases")
    for verb in (("cat",), ("list",), ("search", "key"), ("cat", "--json"), ("list", "--all-versions")):
        ran = exhume_cli(verb[0], without, *verb[1:])
        assert ran.code == 3
        assert ran.err.count("[LDB-115]") == 1
    ran = exhume_cli("export", without, "-o", tmp_path / "rows.jsonl")
    assert (ran.code, "lost: log that is absent (" in ran.err) == (3, True)
    assert exhume.salvage(without, tmp_path / "saved").lost == {"logs": 1}


def test_a_log_that_is_absent_next_to_a_later_one(tmp_path: Path) -> None:
    """LevelDB opens it with the rows that are there, and so do we; but there was a log that the manifest names."""
    plyvel = need("plyvel")
    path, copy = tmp_path / "db", tmp_path / "copy"
    with plyvel.DB(str(path), create_if_missing=True) as database:
        database.put(b"first", b"in a table")
    with plyvel.DB(str(path)) as database:
        database.put(b"second", b"in a log")
    (log,) = path.glob("*.log")
    log.rename(path / f"{int(log.stem) + 1:06d}.log")
    shutil.copytree(path, copy)
    with plyvel.DB(str(copy), paranoid_checks=True) as database:
        rows = dict(database)
    assert sorted(rows) == [b"first", b"second"]
    with LevelDbArchive(LocalTree(path)) as archive:
        assert dict(archive.database.scan()) == rows
        assert [(one.code, one.span and one.span.source) for one in archive.verify()] == [("LDB-115", log.name)]


def test_logs_that_rocksdb_keeps_track_of(tmp_path: Path) -> None:
    """RocksDB does not open a database without one of them."""
    rocksdict = need("rocksdict")
    path = tmp_path / "db"
    database = rocksdict.Rdict(str(path), rocksdict.Options(raw_mode=True))
    database.create_column_family("other", rocksdict.Options(raw_mode=True)).close()
    database.close()
    del database
    newest = max(path.glob("OPTIONS-*"))
    off, on = (f"track_and_verify_wals_in_manifest={word}" for word in ("false", "true"))
    assert off in newest.read_text()
    newest.write_text(newest.read_text().replace(off, on))
    options, families = rocksdict.Options.load_latest(str(path))
    database = rocksdict.Rdict(str(path), options, families)
    other = database.get_column_family("other")
    other[b"row"] = b"keeps the first log"
    for number in range(3):
        database[b"key %d" % number] = b"value"
        database.flush()
    database.flush_wal(True)
    shutil.copytree(path, tmp_path / "whole")
    database.close()
    logs = sorted(file.name for file in (tmp_path / "whole").glob("*.log"))
    assert len(logs) > 2
    for log in logs:
        without, copy = tmp_path / f"without {log}", tmp_path / f"copy {log}"
        shutil.copytree(tmp_path / "whole", without)
        (without / log).unlink()
        shutil.copytree(without, copy)
        with LevelDbArchive(LocalTree(without)) as archive:
            found = [(one.code, one.span and one.span.source) for one in archive.verify() if one.is_problem]
        try:
            options, families = rocksdict.Options.load_latest(str(copy))
            rocksdict.Rdict(str(copy), options, families).close()
        except Exception as error:
            assert f"Missing WAL with log number: {int(log[:-4])}" in str(error)
            assert found == [("LDB-115", log)]
        else:
            assert (log, found) == (logs[-1], []), "it was not closed yet"
    assert [one for one in exhume.verify(tmp_path / "whole") if one.is_problem] == []
