"""Range deletions of RocksDB: which keys and versions they hide, in tables, in logs, and where the manifest is lost."""

from __future__ import annotations

import random
import time
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError
from exhume.formats.leveldb import pykernel
from exhume.formats.leveldb.comparators import REVERSE, comparator_of
from exhume.formats.leveldb.deletions import Deletions, RangeDeletion
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.model import BYTEWISE, Place, Role, Status, TableFile, ValueTypes, Verdict
from exhume.formats.leveldb.ranges import versions_of
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.leveldb.wire import MAX_SEQUENCE, InternalKey
from exhume.io.local import LocalTree
from exhume.testing.damage import flip
from tests.leveldb.crafted import DELETE, MERGE, PUT, RANGE_DELETE, Crafted, batch, ours, rewrite_options
from tests.leveldb.producers import rocksdb_options
from tests.oracles import need


def key(number: int) -> bytes:
    return b"k%03d" % number


def divided(path: Path, order: str) -> dict[bytes, bytes]:
    """Make a database in which compaction copied a range deletion to several tables, and dropped one of these; return
    its rows.

    A key there was then written again: its number became 0, which is below that of the range deletion.
    """
    rocksdict = need("rocksdict")
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_compression_type(rocksdict.DBCompressionType.none())
    options.set_num_levels(4)
    options.set_level_compaction_dynamic_level_bytes(False)
    options.set_disable_auto_compactions(True)
    options.set_target_file_size_base(4096)
    options.set_level_zero_file_num_compaction_trigger(2)
    families = {}
    if order == REVERSE:
        rocksdict.Rdict(str(path), options).close()
        rewrite_options(path, {"comparator": order})
        options, families = rocksdict.Options.load_latest(str(path))
        rmtree(path)
    database = rocksdict.Rdict(str(path), options, column_families=families)
    for number in range(100):
        database[key(number)] = b"old"
    database.flush()
    bottom = rocksdict.CompactOptions()
    bottom.set_change_level(True)
    bottom.set_target_level(3)
    database.compact_range(None, None, bottom)
    database.delete_range(*(key(n) for n in ((5, 95) if order == BYTEWISE else (95, 5))))
    rng = random.Random(1)
    for half in range(2):
        for number in range(half, 100, 4):
            database[key(number)] = rng.randbytes(900)
        database.flush()
    database.set_options({"disable_auto_compactions": "false"})
    end = time.monotonic() + 60
    while not all(file["level"] for file in database.live_files()) and time.monotonic() < end:
        time.sleep(0.01)
    copies = [file for file in database.live_files() if file["level"] == 1]
    assert len(copies) > 3
    database[key(50)] = b"again"
    database.flush()
    database.compact_range(*sorted((key(50), key(51)), reverse=order != BYTEWISE))
    rows = dict(database.items())
    database.close()
    return rows


@pytest.mark.conformance
@pytest.mark.parametrize("order", [BYTEWISE, REVERSE])
def test_a_range_deletion_counts_in_its_own_table(tmp_path: Path, order: str) -> None:
    rows = divided(tmp_path / "db", order)
    assert len(rows) == 56 - (order == REVERSE)
    assert ours(tmp_path / "db") == rows
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        database = archive.database
        assert {one.key: one.value for one in database.state()} == rows
        assert {one.key: one.value for one in database.state(database.last_sequence())} == rows
    report = exhume.salvage(tmp_path / "db", tmp_path / "out")
    assert report.lost == {}
    assert ours(tmp_path / "out") == rows


@pytest.mark.parametrize(
    ("order", "smallest", "largest", "deleted"),
    [
        (BYTEWISE, (b"c", 5), (b"f", MAX_SEQUENCE), b"cde"),  # the table ends before its largest key
        (BYTEWISE, (b"c", 5), (b"f", 9), b"cdef"),
        (BYTEWISE, (b"A", 5), (b"z", 9), b"bcdefg"),
        (BYTEWISE, (b"h", 5), (b"z", 9), b""),
        (REVERSE, (b"f", 5), (b"c", MAX_SEQUENCE), b"def"),
        (REVERSE, (b"f", 5), (b"c", 9), b"cdef"),
        (f"{REVERSE}.u64ts", (b"f" + bytes(8), 5), (b"c" + bytes(8), 9), b"cdef"),
        (f"{BYTEWISE}.u64ts", (b"c" + bytes(8), 5), (b"f" + bytes(8), MAX_SEQUENCE), b"cde"),
    ],
)
def test_the_bounds_of_a_range_deletion(
    order: str, smallest: tuple[bytes, int], largest: tuple[bytes, int], deleted: bytes
) -> None:
    known = comparator_of(order)
    stamp = bytes(known.timestamp)
    first_key = InternalKey(*smallest, ValueTypes.VALUE).build()
    last_key = InternalKey(*largest, ValueTypes.RANGE_DELETION).build()
    first, stop = (b"b", b"h") if BYTEWISE in order else (b"g", b"a")
    found = RangeDeletion(first + stamp, stop + stamp, 9, 0).within(TableFile(1, 5, 100, first_key, last_key), known)
    low, high = found.bounds(known)
    inside = [byte for byte in b"abcdefghi" if low <= known.rank(bytes([byte]) + stamp) < high]
    assert bytes(inside) == deleted


keys = st.binary(max_size=2)


@given(st.lists(st.tuples(keys, keys, st.integers(0, 9), st.booleans()), max_size=9), keys, st.integers(0, 9))
@pytest.mark.parametrize("order", [BYTEWISE, REVERSE])
def test_the_newest_range_deletion_of_a_key(
    order: str, drawn: list[tuple[bytes, bytes, int, bool]], wanted: bytes, ceiling: int
) -> None:
    """However ranges overlap, and without a comparison with each of them."""
    known = comparator_of(order)
    found = [RangeDeletion(low, high, number, 7, closed) for low, high, number, closed in drawn]
    others = [one._replace(column_family=8, sequence=99) for one in found]
    deletions = Deletions(found + others, 7, known, ceiling)
    assert len(deletions.spans) <= 2 * len(found)
    rank = known.rank(wanted)
    reaching = [one for one in found if one.bounds(known)[0] <= rank < one.bounds(known)[1]]
    assert deletions.newest(rank) == max((one.sequence for one in reaching if one.sequence <= ceiling), default=-1)


@pytest.mark.parametrize("rows_type", [LeveldbRows, pykernel.LeveldbRows])
def test_a_range_deletion_with_the_number_of_an_operand(rows_type: Any) -> None:
    """In a table for ingestion all entries have one number: the operand is newer than what the deletion hides."""
    place = Place("table", 4, 1, 0, 9, Verdict.GOOD)
    top = (1 << 64) - 1
    versions = [(9, MERGE, b"new"), (5, PUT, b"base"), (3, MERGE, b"old")]
    rows = rows_type()
    rows.add_items([(b"k", top - (number << 8 | kind), 0, 0, value, place) for number, kind, value in versions])
    rows.resolve((None, -1, -1), 9, [(b"a", b"c", 9), (b"j", b"l", 9)])
    assert rows.chains() == [(0, b"k", [(int(ValueTypes.MERGE), b"new")])]
    assert [one.status for one in versions_of(rows)] == [Status.UNRESOLVED, Status.DELETED, Status.REPLACED]


def without_manifest(path: Path) -> None:
    for file in (path / "CURRENT", *path.glob("MANIFEST-*")):
        file.unlink()


@pytest.mark.parametrize("flushed", [True, False], ids=["in a table", "in a log"])
def test_range_deletions_without_a_manifest(tmp_path: Path, flushed: bool) -> None:
    """The rows that they deleted are not recovered."""
    rocksdict = need("rocksdict")
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_disable_auto_compactions(True)
    database = rocksdict.Rdict(str(tmp_path / "db"), options)
    for number in range(9):
        database[key(number)] = b"value"
    database.flush()
    database.delete_range(key(3), key(6))
    database.delete_range(key(7), key(7))  # nothing
    database[key(4)] = b"again"
    if flushed:
        database.flush()
    database.close()
    rows = {key(number): b"again" if number == 4 else b"value" for number in (0, 1, 2, 4, 6, 7, 8)}
    assert ours(tmp_path / "db") == rows
    without_manifest(tmp_path / "db")
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        assert {one.key: one.value for one in archive.database.state(unreferenced=True)} == rows
        assert [one.key for one in archive.database.state(9, unreferenced=True)] == [key(number) for number in range(9)]
    report = exhume.salvage(tmp_path / "db", tmp_path / "out")
    assert ours(tmp_path / "out") == rows
    assert "range deletions reach over all keys that they name, without the limits of a manifest" in report.notes


def test_column_families_without_a_manifest(tmp_path: Path) -> None:
    """Tables say in their properties to which one they belong: their keys are not those of another."""
    rocksdict = need("rocksdict")
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_disable_auto_compactions(True)
    database = rocksdict.Rdict(str(tmp_path / "db"), options)
    other = database.create_column_family("other", options)
    rows = {key(number): b"default" for number in range(5)}
    for number in range(5):
        database[key(number)] = b"default"
    for number in range(3, 8):
        other[key(number)] = b"other"
    database.flush()
    other.flush()
    other.delete_range(key(0), key(9))
    other.delete(key(1))
    other.flush()
    other.close()
    database.close()
    without_manifest(tmp_path / "db")
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        found = list(archive.database.versions())
        assert {one.value for one in found if one.column_family == 1} == {b"other", b""}
        state = list(archive.database.state(unreferenced=True))
        assert {one.key: one.value for one in state} == rows
        assert {one.place.column_family for one in found} == {0, 1}
    report = exhume.salvage(tmp_path / "db", tmp_path / "out")
    assert ours(tmp_path / "out") == rows
    assert report.lost == {"manifests": 1, "versions in other column families": 6}


def test_orders_of_column_families_without_a_manifest(tmp_path: Path) -> None:
    """Each family has the order that its own tables name: a range of one that is reversed ends below its beginning."""
    rocksdict = need("rocksdict")
    path = tmp_path / "db"
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    rocksdict.Rdict(str(path), options).close()
    rewrite_options(path, {"comparator": REVERSE})
    options, families = rocksdict.Options.load_latest(str(path))
    rmtree(path)
    database = rocksdict.Rdict(str(path), options, column_families=families)
    other = database.create_column_family("other", rocksdict.Options(raw_mode=True))
    for number in range(9):
        database[key(number)] = other[key(number)] = b"value"
    snapshot = database.snapshot()  # which keeps what is deleted
    database.delete_range(key(6), key(3))
    database.flush()
    other.flush()
    del snapshot
    other.close()
    database.close()
    without_manifest(path)
    rows = {key(number): b"value" for number in (0, 1, 2, 3, 7, 8)}
    exhume.salvage(path, tmp_path / "out")
    assert ours(tmp_path / "out") == rows


def test_a_reversed_or_empty_range_deletes_nothing_in_salvage(tmp_path: Path) -> None:
    """Damage elsewhere makes salvage group all versions of a key."""
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    database.write(
        batch(10, (PUT, b"b", b"2"), (PUT, b"c", b"3")),
        batch(12, (RANGE_DELETE, b"b", b"b"), (RANGE_DELETE, b"c", b"d"), (DELETE, b"x")),
        batch(15, (PUT, b"z", b"9")),
    )
    data = database.log.read_bytes()
    database.log.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    report = exhume.salvage(tmp_path / "db", tmp_path / "out")
    assert report.lost
    assert ours(tmp_path / "out") == {b"a": b"1", b"b": b"2"}


@pytest.mark.parametrize("version", [2, 5])
@pytest.mark.parametrize("block", ["metaindex", "rocksdb.properties", "rocksdb.range_del"])
def test_damage_that_may_hide_range_deletions(tmp_path: Path, block: str, version: int) -> None:
    """Strict reading stops, whatever the version of the table is."""
    options = rocksdb_options("none", version)
    database = need("rocksdict").Rdict(str(tmp_path / "db"), options)
    for number in range(9):
        database[key(number)] = b"value"
    database.delete_range(key(3), key(6))
    snapshot = database.snapshot()  # which keeps it in the table
    database[key(10)] = b"value"
    database.flush()
    del snapshot
    database.close()
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        table = archive.database.table(archive.database.tables(Role.LIVE)[0])
        assert table.footer is not None
        handle = table.footer.metaindex if block == "metaindex" else table.metaindex()[block]
        assert [one.stop for one in archive.database.range_deletions()] == [key(6)]
    path = tmp_path / "db" / table.source.name
    path.write_bytes(flip(path.read_bytes(), handle.offset + 1, 1))
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        with pytest.raises(ExhumeError):
            dict(archive.database.scan())
        with pytest.raises(ExhumeError):
            archive.database.get(key(4))
        with pytest.raises(ExhumeError):
            list(archive.database.live_versions())


def test_range_deletions_of_obsolete_files_hide_no_live_row(tmp_path: Path) -> None:
    """A row that was written after them may have the number 0 by now."""
    rocksdict = need("rocksdict")
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_disable_auto_compactions(True)
    database = rocksdict.Rdict(str(tmp_path / "db"), options)
    for number in range(9):
        database[key(number)] = b"old"
    database.flush()
    database.delete_range(key(3), key(6))
    database[key(4)] = b"again"
    database.flush()
    obsolete = {path: path.read_bytes() for path in (tmp_path / "db").glob("*.sst")}
    database.compact_range(None, None)
    database.close()
    for path, data in obsolete.items():
        path.write_bytes(data)
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        state = {one.key: one.value for one in archive.database.state(99, unreferenced=True)}
        assert archive.database.range_deletions() == []
        assert [one.sequence for one in archive.database.live_versions() if one.key == key(4)] == [0]
    assert state[key(4)] == b"again"
    assert key(3) not in state


def test_a_range_deletion_with_a_wrong_checksum_deletes_nothing_in_salvage(tmp_path: Path) -> None:
    """As little as the deletion of a key does; one that is intact still counts."""
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    database.write(
        batch(10, (PUT, b"b", b"2"), (PUT, b"c", b"3"), (PUT, b"d", b"4")),
        batch(13, (RANGE_DELETE, b"c", b"d")),
        batch(14, (RANGE_DELETE, b"b", b"e")),
        batch(15, (PUT, b"z", b"9")),
    )
    data = database.log.read_bytes()
    at = data.index(b"\x01b\x01e") + 3
    database.log.write_bytes(data[:at] + b"f" + data[at + 1 :])
    for lost in (False, True):
        if lost:
            without_manifest(database.path)
        report = exhume.salvage(database.path, tmp_path / f"out{lost}")
        assert report.lost["versions with a bad checksum"] == 1
        assert ours(tmp_path / f"out{lost}") == {b"a": b"1", b"b": b"2", b"d": b"4", b"z": b"9"}
