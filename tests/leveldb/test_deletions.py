"""Range deletions of RocksDB in tables: each counts only between the smallest and the largest key of its table."""

from __future__ import annotations

import random
import time
from pathlib import Path
from shutil import rmtree

import pytest

import exhume
from exhume.formats.leveldb.comparators import REVERSE, comparator_of
from exhume.formats.leveldb.deletions import RangeDeletion
from exhume.formats.leveldb.model import BYTEWISE, TableFile, ValueTypes
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.leveldb.wire import MAX_SEQUENCE, InternalKey
from exhume.io.local import LocalTree
from tests.leveldb.crafted import ours, rewrite_options
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
