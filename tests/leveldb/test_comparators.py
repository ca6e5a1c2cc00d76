"""Orders of keys: what is known of each comparator, and databases that were written with one."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path

import pytest

import exhume
from exhume.findings import Severity, Verdict
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.comparators import INDEXED_DB, REVERSE, comparator_of
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.model import BYTEWISE
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import InternalKey, build_bytes
from exhume.io.tree import MemoryTree
from tests.leveldb.crafted import build_batch
from tests.leveldb.make_samples import PUT, build_database, edit
from tests.leveldb.test_damage import Files, key_of, table_of
from tests.sizes import some

IDB = comparator_of(INDEXED_DB)


def stored(database: int, store: int, index: int, rest: bytes) -> bytes:
    """A key of IndexedDB whose numbers take a byte each."""
    return bytes((0, database, store, index)) + rest


def number(value: float) -> bytes:
    return b"\3" + struct.pack("<d", value)


def text(value: str) -> bytes:
    return b"\1" + bytes((len(value),)) + value.encode("utf-16-be")


ORDERED = [
    stored(0, 0, 0, b"\0"),
    stored(0, 0, 0, b"\6"),
    stored(0, 0, 0, b"\x32scope"),
    stored(0, 0, 0, b"\x64\x7f"),
    stored(0, 0, 0, b"\x64\x80\x01"),
    stored(0, 0, 0, b"\xc9\1\0a\1\0n"),
    stored(1, 0, 0, b"\0"),
    stored(1, 0, 0, b"\x32\1\5"),
    stored(1, 0, 0, b"\x32\2\0"),
    stored(1, 0, 0, b"\x64\1\x1e\0"),
    stored(1, 0, 0, b"\xc8\1\0a"),
    stored(1, 0, 0, b"\xc8\1\1\0"),
    stored(1, 0, 0, b"\xc9\1\1\0a"),
    stored(1, 1, 1, b"\5"),
    *(stored(1, 1, 1, number(value)) for value in (-300.0, -2.0, 0.0, 1.0, 2.0, 1e9)),
    stored(1, 1, 1, b"\2" + struct.pack("<d", -5.0)),
    *(stored(1, 1, 1, text(value)) for value in ("", "a", "aa", "b", "\u00ff", "\u0100")),
    stored(1, 1, 1, b"\6\1a"),
    stored(1, 1, 1, b"\4\0"),
    stored(1, 1, 1, b"\4\1" + number(7)),
    stored(1, 1, 1, b"\4\2" + number(7) + text("x")),
    stored(1, 1, 1, b"\4\1" + text("")),
    stored(1, 1, 1, b"\0"),
    stored(1, 1, 2, number(1)),
    stored(1, 1, 3, number(1)),
    stored(1, 1, 30, number(1)),
    stored(1, 1, 30, number(1) + b"\1" + number(5)),
    stored(1, 1, 30, number(1) + b"\0" + number(6)),
    stored(1, 1, 30, number(1) + b"\1" + number(6)),
    stored(1, 1, 30, number(2)),
    bytes((0b00000100, 1, 0, 1, 1)) + number(0),  # store 256
]


def test_keys_of_indexeddb_are_ordered_as_chromium_orders_them() -> None:
    for left, right in some(itertools.combinations(ORDERED, 2)):
        assert IDB.precedes(left, right) is True, (left, right)
        assert IDB.precedes(right, left) is False, (left, right)


def test_keys_that_chromium_takes_for_the_same() -> None:
    for left, right in (
        (stored(1, 1, 1, number(0.0)), stored(1, 1, 1, number(-0.0))),
        (stored(0, 0, 0, b"\1"), stored(0, 0, 0, b"\1more")),
    ):
        assert IDB.precedes(left, right) is None
        assert IDB.order(left) == IDB.order(right)


@pytest.mark.parametrize(
    "key",
    [
        b"", b"\0", b"\xff\1\1\1", stored(1, 1, 1, b"\7"), stored(1, 1, 1, b"\1\5a"), stored(1, 1, 1, b"\3short"),
        stored(1, 1, 5, b"\5"), stored(0, 0, 0, b"\x65"), stored(1, 0, 0, b"\x65"), stored(1, 1, 1, b"\4\x02\5"),
        stored(1, 1, 1, b"\4\1" * 5000), stored(1, 1, 1, number(float("nan"))),
        stored(1, 1, 1, b"\x04\xff\xff\xff\xff\x0f"),
    ],
)  # fmt: skip
def test_keys_that_make_no_sense_have_no_order(key: bytes) -> None:
    assert IDB.order(key) is None
    assert IDB.precedes(key, ORDERED[0]) is None
    assert sorted([key, *ORDERED[::-1]], key=IDB.sort_key) == [*ORDERED, key]


def test_orders_of_rocksdb() -> None:
    backward = comparator_of(REVERSE)
    assert sorted([b"a", b"ab", b"b"], key=backward.sort_key) == [b"b", b"ab", b"a"]
    stamped = comparator_of(f"{BYTEWISE}.u64ts")
    keys = [b"a" + bytes((9,)) + bytes(7), b"a" + bytes(7) + b"\1", b"ab" + bytes(8)]
    assert sorted(keys, key=stamped.sort_key) == [keys[1], keys[0], keys[2]]
    assert stamped.user_key(keys[2]) == b"ab"


def database_of(comparator: bytes, keys: list[bytes]) -> Files:
    """A database with a table of these keys, in this order, and a log that replaces the first."""
    files = build_database()
    table_of((build_block([(InternalKey(key, 1, 1).build(), b"old") for key in keys]), key_of(keys[-1])))(files)
    tables = [(1, 5, len(files["000005.ldb"]), key_of(keys[0]), key_of(keys[-1]))]
    record = edit(log=6, last=6, following=7, tables=tables)
    files["MANIFEST-000004"] = build_log([record.replace(build_bytes(BYTEWISE.encode()), build_bytes(comparator), 1)])
    files["000006.log"] = build_log([build_batch(7, [(PUT, keys[0], b"new")])])
    del files["000003.log"]
    return files


@pytest.mark.parametrize(
    ("comparator", "keys"), [(INDEXED_DB, ORDERED), (REVERSE, [b"c", b"b", b"a"]), (BYTEWISE, [b"a", b"b"])]
)
def test_a_database_in_a_known_order(comparator: str, keys: list[bytes]) -> None:
    files = database_of(comparator.encode(), keys)
    assert [str(f) for f in exhume.verify(MemoryTree(files), format="leveldb")] == []
    database = Database(MemoryTree(files))
    assert list(database.scan()) == [(keys[0], b"new"), *((key, b"old") for key in keys[1:])]
    assert database.get(keys[-1]) == b"old"
    assert [v.key for v in database.state(6)] == keys
    other = database_of(comparator.encode(), keys[::-1])
    found = [f.code for f in exhume.verify(MemoryTree(other), format="leveldb")]
    assert "LDB-317" in found
    assert "LDB-312" in found


def test_of_an_unknown_order_nothing_is_claimed(tmp_path: Path) -> None:
    keys = [b"m", b"a", b"z"]
    files = database_of(b"my_order", keys)
    found = list(exhume.verify(MemoryTree(files), format="leveldb"))
    assert [(f.code, f.severity) for f in found] == [("LDB-103", Severity.UNCHECKED)]
    assert Verdict.of(found) is Verdict.INCOMPLETE
    assert dict(Database(MemoryTree(files)).scan()) == {b"m": b"new", b"a": b"old", b"z": b"old"}
    report = exhume.salvage(MemoryTree(files), tmp_path / "out", format="leveldb")
    assert report.recovered == {"rows": 3}
    alone = files["000005.ldb"]
    with exhume.open(alone, format="leveldb") as archive:
        assert sorted(str(entry.name) for entry in archive.entries()) == ["a", "m", "z"]
        assert Verdict.of(archive.verify()) is Verdict.INCOMPLETE


def test_two_keys_that_are_one_to_the_comparator() -> None:
    zero, negative = stored(1, 1, 1, number(0.0)), stored(1, 1, 1, number(-0.0))
    files = database_of(INDEXED_DB.encode(), [zero, stored(1, 1, 1, number(4))])
    files["000006.log"] = build_log([build_batch(7, [(PUT, negative, b"new")])])
    rows = list(Database(MemoryTree(files)).scan())
    assert rows == [(negative, b"new"), (stored(1, 1, 1, number(4)), b"old")]
    assert [v.key for v in Database(MemoryTree(files)).state()] == [key for key, _ in rows]


@pytest.mark.parametrize("comparator", [BYTEWISE, REVERSE])
@pytest.mark.parametrize("newer", [7, 8])
def test_versions_of_a_key_in_two_tables_of_a_level(newer: int, comparator: str) -> None:
    """RocksDB orders the tables of a level by internal keys; those that it moves keep their numbers."""
    files = database_of(comparator.encode(), [b"k"])
    tables = []
    for number in (7, 8):
        sequence, value = (5, b"new") if number == newer else (3, b"older")
        key = InternalKey(b"k", sequence, 1).build()
        table_of((build_block([(key, value)]), key))(files)
        files[f"{number:06d}.ldb"] = files["000005.ldb"]
        tables.append((2, number, len(files["000005.ldb"]), key, key))
    del files["000005.ldb"]
    files["000006.log"] = b""
    record = edit(log=6, last=6, following=9, tables=tables)
    record = record.replace(build_bytes(BYTEWISE.encode()), build_bytes(comparator.encode()), 1)
    files["MANIFEST-000004"] = build_log([record])
    assert [str(found) for found in exhume.verify(MemoryTree(files), format="leveldb")] == []
    database = Database(MemoryTree(files))
    assert (list(database.scan()), database.get(b"k")) == ([(b"k", b"new")], b"new")
    assert [version.value for version in database.live_versions()] == [b"new"]
