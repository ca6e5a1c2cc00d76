"""Version edits of RocksDB: atomic groups, tracked logs, tags that may be skipped and tags that may not."""

from __future__ import annotations

import pytest

import exhume
from exhume.findings import Severity, Verdict
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import InternalKey, build_bytes, build_varint
from exhume.io.tree import MemoryTree
from tests.leveldb.crafted import build_batch
from tests.leveldb.make_samples import PUT, build_database, build_table, edit

FIRST = edit(log=6, last=9, following=20, tables=[])


def in_group(left: int, more: bytes) -> bytes:
    return build_varint(300) + build_varint(left) + more


def table(number: int, key: bytes) -> tuple[bytes, bytes]:
    """A table of one row, and the edit that adds it."""
    data, writer = build_table([(key, number, PUT, b"v")], "none")
    added = b"\7\0" + build_varint(number) + build_varint(len(data))
    return data, added + build_bytes(writer.smallest) + build_bytes(writer.largest)


def database(*edits: bytes) -> dict[str, bytes]:
    files = {name: data for name, data in build_database().items() if name in ("CURRENT", "LOCK")}
    files["MANIFEST-000004"] = build_log([FIRST, *edits])
    files["000006.log"] = build_log([build_batch(9, [(PUT, b"log", b"v")])])
    for number in (5, 7):
        files[f"{number:06d}.ldb"] = table(number, b"t%d" % number)[0]
    return files


def keys(files: dict[str, bytes]) -> set[bytes]:
    return {key for key, _ in Database(MemoryTree(files)).scan()}


def codes(files: dict[str, bytes]) -> list[str]:
    found = exhume.verify(MemoryTree(files), format="leveldb")
    return [f.code for f in found if f.severity is not Severity.NOTE]


def test_an_atomic_group_is_applied_as_a_whole() -> None:
    five, seven = table(5, b"t5")[1], table(7, b"t7")[1]
    whole = database(in_group(1, five), in_group(0, seven))
    assert keys(whole) == {b"log", b"t5", b"t7"}
    assert codes(whole) == []
    cut = database(five, in_group(1, seven))
    assert keys(cut) == {b"log", b"t5"}
    assert codes(cut) == ["LDB-303"]
    interrupted = database(in_group(1, seven), five)
    assert codes(interrupted) == ["LDB-307"]
    assert {version.key for version in Database(MemoryTree(interrupted)).state()} == {b"log", b"t5"}


@pytest.mark.parametrize(
    "more",
    [
        bytes.fromhex("8440 06 02 0a 01") + bytes.fromhex("8540 05"),  # tracked logs without lengths
        bytes.fromhex("8740 04 06 02 0a 01") + bytes.fromhex("8840 01 05"),  # and with them
        bytes.fromhex("8740 00 8840 01 ff"),  # without a number
        bytes.fromhex("80c001 02 ffff"),  # a tag that may be skipped
    ],
)
def test_tags_that_state_nothing_of_tables_are_passed_over(more: bytes) -> None:
    files = database(more + table(5, b"t5")[1])
    assert keys(files) == {b"log", b"t5"}
    assert codes(files) == []


@pytest.mark.parametrize(
    ("more", "absent"),
    [
        (bytes.fromhex("8440 05 01 8440 07 01"), [5, 7]),  # the first form
        (bytes.fromhex("8740 02 05 01 8740 02 07 01"), [5, 7]),
        (bytes.fromhex("8740 02 05 01 8740 02 06 01 8740 02 07 01 8840 01 06"), [7]),  # logs below 6 are gone
        (bytes.fromhex("8440 05 01 8440 07 01 8540 07"), [7]),
        (bytes.fromhex("8740 02 05 01 8740 02 07 01 0a 08"), []),  # those below 8 are not needed
        (bytes.fromhex("8740 02 05 01 8740 02 07 01 8840 01 08"), []),
    ],
)
def test_tracked_logs_that_are_absent(more: bytes, absent: list[int]) -> None:
    """RocksDB would not open it ("Missing WAL with log number"); the rows that are there are read all the same."""
    files = database(table(5, b"t5")[1], more)
    found = list(exhume.verify(MemoryTree(files), format="leveldb"))
    names = [one.span.source for one in found if one.code == "LDB-115" and one.span is not None]
    assert names == [f"{number:06d}.log" for number in absent]
    assert Verdict.of(found) is (Verdict.INCOMPLETE if absent else Verdict.OK)
    assert keys(files) == {b"log", b"t5"}


@pytest.mark.parametrize("more", [b"\x08\x01", bytes.fromhex("808001 01 41"), bytes.fromhex("f501 01")])
def test_an_unknown_tag_is_unchecked(more: bytes) -> None:
    """It is not damage, but the tables of the database are then unknown: strict methods raise."""
    files = database(table(5, b"t5")[1], more)
    assert codes(files)[0] == "LDB-112"
    assert Verdict.of(exhume.verify(MemoryTree(files), format="leveldb")) is Verdict.INCOMPLETE
    with pytest.raises(exhume.ExhumeError) as caught:
        keys(files)
    assert caught.value.code == "LDB-112"


@pytest.mark.parametrize(("tag", "known"), [(63, True), (65, True), (66, False), (127, False)])
def test_attributes_of_tables_that_may_not_be_skipped(tag: int, known: bool) -> None:
    data, _ = table(5, b"t5")
    key = InternalKey(b"t5", 5, PUT).build()
    added = b"\x67\0\5" + build_varint(len(data)) + build_bytes(key) * 2 + b"\5\5" + build_varint(tag) + b"\1\0\1"
    assert codes(database(added)) == ([] if known else ["LDB-112"])
