"""What the layout makes of the generated readers: footers of all versions, version edits, batches, whole keys."""

from __future__ import annotations

from typing import Any

import pytest

from exhume.errors import ExhumeError, Span, StructureError, TruncatedError, UnsupportedFeatureError
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.layout import (
    BLOCK_TRAILER,
    NEWEST_VERSION,
    Batch,
    Operation,
    Tail,
    fills_block,
    parse_batch,
    parse_filter,
    parse_footer,
    parse_handle,
    parse_internal_key,
    parse_tail,
    parse_version_edit,
    whole_handle,
    whole_number,
)
from exhume.formats.leveldb.layout_facts import LEVELDB_FOOTER, MAGIC_SIZE, ROCKSDB_FOOTER
from exhume.formats.leveldb.layout_index import parse_index_delta, parse_index_first_key
from exhume.formats.leveldb.model import Footer, TableFile, VersionEdit
from exhume.formats.leveldb.wire import MAX_U64, BlockIndex, Handle, InternalKey, build_bytes, build_varint

META, INDEX = Handle(100, 20), Handle(125, 30)
HANDLES = META.build() + INDEX.build()
LEVELDB, ROCKSDB = bytes.fromhex("57fb808b247547db"), bytes.fromhex("f7cff485b741e288")
AT = 7000


def test_sizes_of_footers_are_those_of_the_formats() -> None:
    """Spec: LevelDB doc/table_format.md (48 bytes, the last 8 a magic number); RocksDB format.h (53)."""
    assert (MAGIC_SIZE, LEVELDB_FOOTER, ROCKSDB_FOOTER) == (8, 48, 53)


def where(data: bytes) -> Span:
    """A span in a file, at an arbitrary offset."""
    return Span("file", AT, AT + len(data))


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def u64(value: int) -> bytes:
    return value.to_bytes(8, "little")


def varints(*values: int) -> bytes:
    return b"".join(map(build_varint, values))


# --- footers


@pytest.mark.parametrize("before", [b"", b"x", b"?" * 5, b"?" * 500])
def test_a_footer_of_leveldb(before: bytes) -> None:
    tail = before + HANDLES.ljust(39, b"\0") + b"!" + LEVELDB
    padding = bytes(39 - len(HANDLES)) + b"!"
    found = parse_footer(tail, where(tail))
    assert found == Footer("leveldb", 0, "crc32c", META, INDEX, AT + len(before), 48, padding)
    assert found is not None
    assert (found.footer_checksum, found.base_context) == (None, 0)


def rocksdb(version: int, checksum: int = 1, handles: bytes = HANDLES) -> bytes:
    return bytes([checksum]) + handles.ljust(40, b"\0") + u32(version) + ROCKSDB


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "none"), (1, "crc32c"), (2, "xxhash32"), (3, "xxhash64"), (4, "xxh3"), (5, "type-5"), (255, "type-255")],
)
def test_a_footer_of_rocksdb(version: int, number: int, name: str) -> None:
    for before in (b"", b"???"):
        tail = before + rocksdb(version, number)
        expected = Footer("rocksdb", version, name, META, INDEX, AT + len(before), 53, bytes(40 - len(HANDLES)))
        assert parse_footer(tail, where(tail)) == expected


@pytest.mark.parametrize("version", range(6, NEWEST_VERSION + 1))
def test_a_sealed_footer(version: int) -> None:
    """The metaindex directly precedes it, and names the index."""
    sealed = b"\x3e\0\x7a\0" + u32(0x12345678) + u32(0x9ABCDEF0) + u32(40)
    for before in (b"", b"???"):
        tail = before + rocksdb(version, 4, sealed)
        start = AT + len(before)
        meta = Handle(start - BLOCK_TRAILER - 40, 40)
        expected = Footer("rocksdb", version, "xxh3", meta, None, start, 53, bytes(24), 0x12345678, 0x9ABCDEF0)
        assert parse_footer(tail, where(tail)) == expected


def test_a_version_that_is_not_read() -> None:
    tail = b"??" + rocksdb(NEWEST_VERSION + 1)
    with pytest.raises(ExhumeError) as caught:
        parse_footer(tail, where(tail))
    assert (caught.value.code, caught.value.span) == (checks.BAD_VERSION.code, where(tail))
    assert (caught.value.expected, caught.value.actual) == (f"0 to {NEWEST_VERSION}", NEWEST_VERSION + 1)


@pytest.mark.parametrize(
    "tail", [b"", LEVELDB, ROCKSDB, bytes(40) + ROCKSDB, rocksdb(2)[1:], bytes(39) + LEVELDB, bytes(53)]
)
def test_no_footer(tail: bytes) -> None:
    assert parse_footer(tail, where(tail)) is None


def test_handles_that_cannot_be_read() -> None:
    for tail in (b"\xff" * 40 + LEVELDB, b"\x01" + b"\xff" * 40 + u32(2) + ROCKSDB):
        with pytest.raises(ExhumeError):
            parse_footer(tail, where(tail))


# --- numbers, handles, keys


def test_handles() -> None:
    assert parse_handle(HANDLES, where(HANDLES)) == META
    with pytest.raises(TruncatedError) as caught:
        parse_handle(META.build()[:-1], Span("file", AT, AT + 9))
    assert caught.value.span is not None
    assert caught.value.span.start >= AT
    assert whole_handle(INDEX.build()) == INDEX
    assert whole_handle(INDEX.build() + b"\0") is None
    assert whole_handle(INDEX.build()[:1]) is None


def test_numbers() -> None:
    assert [whole_number(data) for data in (b"\x05", b"\x85\x01", b"\x05\x00", b"\x85", b"")] == [
        5, 133, None, None, None,
    ]  # fmt: skip


def test_an_internal_key() -> None:
    assert parse_internal_key(b"user" + b"\x01" + (77).to_bytes(7, "little")) == InternalKey(b"user", 77, 1)
    assert parse_internal_key(bytes(8)) == InternalKey(b"", 0, 0)


# --- blocks


def test_the_tail_of_a_block() -> None:
    block = b"entries" + u32(0) + u32(5) + u32(2)
    found = parse_tail(block, where(block))
    assert isinstance(found, Tail)
    assert (found.end, list(found.restarts)) == (7, [0, 5])
    assert parse_tail(u32(0), where(u32(0))).end == 0


def test_restarts_that_pass_the_block() -> None:
    block = b"entry" + u32(0) + u32(3)
    with pytest.raises(StructureError) as caught:
        parse_tail(block, where(block))
    error = caught.value
    assert (error.span, error.field_path) == (Span("file", AT + 9, AT + 13), "num_restarts")
    assert (error.expected, error.actual) == ("at most 2", 3)
    with pytest.raises(StructureError, match="the restart points exceed the block"):
        parse_tail(b"abc" + u32(1), where(bytes(7)))
    with pytest.raises(ExhumeError) as short:
        parse_tail(b"abc", where(b"abc"))
    assert short.value.span is not None
    assert AT <= short.value.span.start <= AT + 3


def test_a_filter_block() -> None:
    data = b"AAA" + b"BB" + u32(0) + u32(3) + u32(3) + u32(5) + b"\x0b"
    assert parse_filter(data, where(data)) == (11, [b"AAA", b"", b"BB"])
    nothing = u32(0) + b"\x0b"
    assert parse_filter(nothing, where(nothing)) == (11, [])
    torn = b"AAA" + u32(0) + b"?" + u32(3) + b"\x0b"
    with pytest.raises(StructureError, match="without whole offsets") as caught:
        parse_filter(torn, where(torn))
    assert caught.value.span == where(torn)


def entry(shared: int, suffix: bytes, rest: bytes) -> bytes:
    return varints(shared, len(suffix)) + suffix + rest


def test_an_index_of_differences() -> None:
    """Each handle follows the one before it, its size is a difference; at a restart it is complete."""
    entries = (
        entry(0, b"apple", Handle(10, 70).build()) + entry(3, b"ricot", varints(2 * 5)) + entry(1, b"z", varints(3))
    )
    entries += entry(0, b"b", Handle(9, 1).build())
    data = entries + u32(0) + u32(1)
    second = 10 + 70 + BLOCK_TRAILER
    third = second + 75 + BLOCK_TRAILER
    assert parse_index_delta(data, where(data)) == [
        (b"apple", Handle(10, 70)), (b"appricot", Handle(second, 75)), (b"az", Handle(third, 73)), (b"b", Handle(9, 1)),
    ]  # fmt: skip


def test_an_index_of_differences_with_first_keys() -> None:
    """Each handle or difference is followed by the first key of the block, which may be of any length."""
    entries = entry(0, b"apple", Handle(10, 70).build()) + build_bytes(b"a" * 200)
    entries += entry(3, b"ricot", varints(2 * 5)) + build_bytes(b"")
    entries += entry(0, b"b", Handle(9, 1).build()) + build_bytes(b"azure")
    data = entries + u32(0) + u32(1)
    assert parse_index_first_key(data, where(data)) == [
        (b"apple", Handle(10, 70)), (b"appricot", Handle(10 + 70 + BLOCK_TRAILER, 75)), (b"b", Handle(9, 1)),
    ]  # fmt: skip
    for wrong, path in (
        (entry(6, b"x", varints(2)) + build_bytes(b""), "entries[1].entry.len_shared"),
        (entry(1, b"x", varints(2 * 70 + 1)) + build_bytes(b""), "entries[1].entry.raw_delta"),
        (entry(1, b"x", varints(2)), "entries.entries[1].first_key.len_data.group0"),
        (entry(1, b"x", varints(2)) + b"\x05key", "entries.entries[1].first_key.len_data"),
    ):
        data = entry(0, b"apple", Handle(10, 70).build()) + build_bytes(b"a") + wrong + u32(0) + u32(1)
        with pytest.raises(ExhumeError) as caught:
            parse_index_first_key(data, where(data))
        assert caught.value.field_path == path


@pytest.mark.parametrize("parse", [parse_index_delta, parse_index_first_key])
def test_an_index_in_another_layout_is_not_read(parse: Any) -> None:
    data = entry(0, b"a", Handle(10, 70).build()) + build_bytes(b"") + u32(0) + u32(1 | 1 << 28)
    with pytest.raises(UnsupportedFeatureError):
        parse(data, where(data))


@pytest.mark.parametrize(
    ("second", "reported"),
    [
        (entry(6, b"x", varints(2)), ("shares more", 2, "entries[1].len_shared", "at most 5", 6)),
        (entry(1, b"x", varints(2 * 70 + 1)), ("negative size", 3, "entries[1].raw_delta", None, -1)),
    ],
)
def test_an_index_of_differences_that_do_not_add_up(second: bytes, reported: tuple[Any, ...]) -> None:
    first = entry(0, b"apple", Handle(10, 70).build())
    data = first + second + u32(0) + u32(1)
    with pytest.raises(StructureError, match=reported[0]) as caught:
        parse_index_delta(data, where(data))
    error = caught.value
    assert error.span == Span("file", AT + len(first), AT + len(first) + reported[1])
    assert (error.field_path, error.expected, error.actual) == reported[2:]


def test_a_size_of_nothing_is_none_that_is_negative() -> None:
    data = entry(0, b"a", Handle(10, 70).build()) + entry(1, b"b", varints(2 * 70 - 1)) + u32(0) + u32(1)
    assert parse_index_delta(data, where(data))[1] == (b"ab", Handle(10 + 70 + BLOCK_TRAILER, 0))


def test_differences_beyond_64_bits_lie_outside_every_file() -> None:
    large = MAX_U64 // 2
    entries = entry(0, b"a", Handle(large, large).build()) + entry(1, b"b", varints(large - 1)) * 3
    data = entries + u32(0) + u32(1)
    index = BlockIndex.of(parse_index_delta(data, where(data)))
    assert index.handles[0] == Handle(large, large)
    assert index.handles[-1] == Handle(MAX_U64, MAX_U64)


ENTRY = varints(0, 1, 1) + b"kv"


@pytest.mark.parametrize(
    ("block", "whole"),
    [
        (u32(0), True),
        (ENTRY + u32(0) + u32(1), True),
        (ENTRY + u32(0) + b"\0\1\2" + b"\3\0" + u32(1 | 1 << 31), True),  # RocksDB: three buckets
        (ENTRY + u32(0) + b"\0\1\2" + b"\4\0" + u32(1 | 1 << 31), False),  # one of four is part of the restart point
        (ENTRY[:-1] + u32(0) + u32(1), False),
        (ENTRY + b"\0" + u32(0) + u32(1), False),
        (u32(1), False),
        (b"\0", False),
        (b"\7\0" + u32(1 << 31), False),
    ],
)
def test_whether_a_block_is_filled(block: bytes, whole: bool) -> None:
    assert fills_block(block) is whole


# --- version edits


SMALL, LARGE = b"a" + bytes(8), b"z" + bytes(8)
KEYS = build_bytes(SMALL) + build_bytes(LARGE)
RANGED = TableFile(1, 5, 474, SMALL, LARGE, 3, 8, 0)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        (b"\x02" + varints(300), {"log_number": 300}),
        (b"\x03" + varints(301), {"next_file_number": 301}),
        (b"\x04" + varints(302), {"last_sequence": 302}),
        (b"\x09" + varints(303), {"previous_log_number": 303}),
        (b"\x0a" + varints(304), {"min_log_number": 304}),
        (b"\xcb\x01" + varints(305), {"max_column_family": 305}),
        (b"\xac\x02" + varints(306), {"atomic_group_left": 306}),
        (b"\xa0\x06" + varints(307), {"waterline": 307}),
        (b"\x01" + build_bytes(b"by\xfftes"), {"comparator": "by\\xfftes"}),
        (b"\xc9\x01" + build_bytes(b"fam\xff"), {"column_family_add": "fam\\xff"}),
        (b"\xca\x01", {"column_family_drop": True}),
        (b"\xc8\x01" + varints(7), {"column_family": 7}),
        (b"\x05" + varints(2) + build_bytes(b"key"), {"compact_pointers": ((2, b"key"),)}),
        (b"\x06" + varints(1, 9), {"deleted": ((1, 9),)}),
        (b"\x07" + varints(1, 5, 474) + KEYS, {"added": (TableFile(1, 5, 474, SMALL, LARGE, None, None, 0),)}),
        (b"\x64" + varints(1, 5, 474) + KEYS + varints(3, 8), {"added": (RANGED,)}),
        (b"\x66" + varints(1, 5, 2, 474) + KEYS + varints(3, 8), {"added": (RANGED,)}),
        (
            b"\x67" + varints(1, 5, 474) + KEYS + varints(3, 8) + b"\x06" + build_bytes(b"t") + b"\x01",
            {"added": (RANGED,)},
        ),
        (varints(8192) + build_bytes(b"skip me"), {}),
    ],
)  # fmt: skip
def test_each_field_of_a_version_edit(field: bytes, values: dict[str, Any]) -> None:
    found = parse_version_edit(field, where(field))
    assert {name: getattr(found, name) for name in values} == values
    assert len(found.tags) == 1
    assert VersionEdit(**{**values, "tags": found.tags}) == found


def test_tables_are_of_the_column_family_of_their_edit() -> None:
    """Wherever in the edit it is named."""
    table = b"\x07" + varints(1, 5, 474) + KEYS
    family = b"\xc8\x01" + varints(7)
    for payload in (table + family + table, family + table + table):
        found = parse_version_edit(payload, where(payload))
        assert found.column_family == 7
        assert [file.column_family for file in found.added] == [7, 7]


@pytest.mark.parametrize(
    ("payload", "error", "expected"),
    [
        (b"\x1f\x01", StructureError, "a tag whose length is known"),
        (b"\x07" + varints(1, 5), TruncatedError, None),
        (b"\x02", TruncatedError, None),
    ],
)
def test_an_edit_that_cannot_be_read(payload: bytes, error: type[ExhumeError], expected: str | None) -> None:
    with pytest.raises(error) as caught:
        parse_version_edit(payload, where(payload))
    assert caught.value.span is not None
    assert AT <= caught.value.span.start <= AT + len(payload)
    if expected is not None:
        assert (caught.value.expected, caught.value.field_path) == (expected, "fields[0].raw_tag")


# --- batches


PUT, DELETE = b"\x01", b"\x00"


def batch(*operations: bytes, sequence: int = 5, stated: int | None = None) -> bytes:
    return u64(sequence) + u32(len(operations) if stated is None else stated) + b"".join(operations)


def test_a_batch() -> None:
    one = PUT + build_bytes(b"k") + build_bytes(b"value")
    two = DELETE + build_bytes(b"gone")
    family = b"\x05" + varints(9) + build_bytes(b"k") + build_bytes(b"v")
    note = b"\x03" + build_bytes(b"a note")
    data = batch(one, two, note, family)
    places = [12, 12 + len(one), 12 + len(one) + len(two) + len(note)]
    assert parse_batch(data, where(data)) == Batch(
        5,
        4,
        [
            Operation(1, b"k", b"value", places[0], 0),
            Operation(0, b"gone", b"", places[1], 0),
            Operation(1, b"k", b"v", places[2], 9),
        ],
        None,
    )
    assert parse_batch(batch(), where(batch())) == Batch(5, 0, [], None)


@pytest.mark.parametrize("size", [0, 8, 11])
def test_a_batch_shorter_than_its_header(size: int) -> None:
    data = batch()[:size]
    found = parse_batch(data, where(data))
    assert (found.sequence, found.stated, found.operations) == (0, 0, [])
    problem = found.problem
    assert isinstance(problem, TruncatedError)
    assert problem.message.endswith("it is shorter than its header")
    assert (problem.span, problem.actual) == (where(data).in_payload(0, size), f"{size} bytes")


def test_a_batch_keeps_what_is_before_a_break() -> None:
    one = PUT + build_bytes(b"k") + build_bytes(b"v")
    data = batch(one, one, PUT + b"\x05k", stated=3)
    found = parse_batch(data, where(data))
    assert ([op.offset for op in found.operations], found.stated) == ([12, 12 + len(one)], 3)
    assert found.problem is not None
    assert found.problem.field_path is not None
    assert found.problem.field_path.startswith("operations[2].")
    assert found.problem.span is not None
    assert found.problem.span.payload is not None
    assert (found.problem.span.start, found.problem.span.end) == (AT, AT + len(data))
    assert 12 + 2 * len(one) <= found.problem.span.payload[0] <= found.problem.span.payload[1] <= len(data)


@pytest.mark.parametrize("over", [0, 1])
def test_sequence_numbers_have_56_bits(over: int) -> None:
    data = batch(DELETE + build_bytes(b"k"), sequence=(1 << 56) - 1 + over)
    found = parse_batch(data, where(data))
    assert found.sequence == (1 << 56) - 1 + over
    assert len(found.operations) == 1
    if not over:
        assert found.problem is None
        return
    problem = found.problem
    assert isinstance(problem, StructureError)
    assert problem.message.endswith("its sequence number passes 56 bits")
    assert (problem.span, problem.field_path) == (where(data).in_payload(0, 8), "sequence")
    assert (problem.expected, problem.actual) == (f"at most {(1 << 56) - 1}", 1 << 56)
