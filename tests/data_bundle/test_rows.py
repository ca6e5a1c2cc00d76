"""Keys and messages: written and read back, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

import pytest
from exhume_ksy.fast.data_bundle_key import read_escaped, read_varuint
from hypothesis import example, given
from hypothesis import strategies as st

from exhume.errors import ExhumeError, Span
from exhume.formats.data_bundle import index, layout
from exhume.formats.data_bundle.layout import (
    FILE_PREFIX,
    FILE_STOP,
    RECORD_PREFIX,
    RECORD_STOP,
    FileKey,
    build_escaped,
    build_record_key,
    build_varuint,
    file_key,
    parse_file_key,
    parse_record_key,
    parse_table,
)
from exhume.formats.data_bundle.messages import (
    BundleConfig,
    FileMetadata,
    RecordMetadata,
    ShardHeader,
    UserData,
)
from exhume.formats.leveldb.wire import WireError
from exhume.native import KERNEL

HERE = Span("x", 0, 1 << 20)
u64 = st.integers(0, (1 << 64) - 1)
small_bytes = st.binary(max_size=12)

VECTORS = {
    0: "00", 1: "01", 127: "7f", 128: "8080", 300: "812c", 16383: "bfff", 16384: "c04000", 262144: "c40000",
    (1 << 56) - 1: "feffffffffffffff", 1 << 56: "ff0100000000000000", (1 << 64) - 1: "ff" * 9,
}  # fmt: skip


@pytest.mark.parametrize(("value", "raw"), VECTORS.items())
def test_varuint_vectors(value: int, raw: str) -> None:
    assert build_varuint(value).hex() == raw
    assert read_varuint(bytes.fromhex(raw), 0, len(raw) // 2) == (value, len(raw) // 2)


@pytest.mark.parametrize("value", [-1, 1 << 64])
def test_what_is_no_varuint(value: int) -> None:
    with pytest.raises(ValueError, match=f"{value} does not fit an unsigned 64-bit integer"):
        build_varuint(value)


def test_where_the_keys_of_a_table_stop() -> None:
    assert (bytes((FILE_PREFIX[0] + 1,)), bytes((RECORD_PREFIX[0] + 1,))) == (FILE_STOP, RECORD_STOP)
    assert build_record_key((1 << 64) - 1, (1 << 64) - 1) < RECORD_STOP


@given(u64, u64)
def test_varuints_sort_as_numbers(one: int, other: int) -> None:
    assert (build_varuint(one) < build_varuint(other)) == (one < other)
    assert parse_record_key(build_record_key(one, other)) == (one, other)


@given(small_bytes, small_bytes)
def test_escaped_strings_sort_as_strings(one: bytes, other: bytes) -> None:
    raw = build_escaped(one)
    assert (raw < build_escaped(other)) == (one < other)
    assert read_escaped(raw + other, 0, len(raw + other))[1] == len(raw)
    assert parse_file_key(FileKey(one, other).build()) == (one, other)


@pytest.mark.parametrize(
    ("parse", "key", "reason", "offset"),
    [
        (parse_file_key, "02", "directory.text", 1),
        (parse_file_key, "02610000", "name.text", 4),
        (parse_file_key, "0261000100", "directory.marker", 3),
        (parse_file_key, "026100ff6100fe00", "directory.more[0].marker", 6),
        (parse_file_key, "020000000000", "after the end", 5),
        (parse_record_key, "03", "shard_index.first", 1),
        (parse_record_key, "0301c040", "shard_uncompressed_offset.byte2", 4),
        (parse_record_key, "03010200", "after the end", 3),
        (parse_table, "", "first", 0),
        (parse_table, "ff00", "byte2", 2),
    ],
)
def test_what_is_no_key_states_where(parse: Callable[[bytes], object], key: str, reason: str, offset: int) -> None:
    with pytest.raises(WireError, match=re.escape(reason)) as caught:
        parse(bytes.fromhex(key))
    assert caught.value.offset == offset


# The characters that have a meaning in keys, so that some noise is a key.
@given(st.binary(max_size=20) | st.lists(st.sampled_from([b"\0\0", b"\0\xff", b"/", b"a", b"\xff\0"])).map(b"".join))
@example(b"/\0\0a.txt\0\0")
def test_keys_of_noise_are_read_whole_or_refused(noise: bytes) -> None:
    try:
        key = parse_file_key(b"\x02" + noise)
    except WireError:
        pass
    else:
        assert key.build() == b"\x02" + noise
    with suppress(WireError):
        assert len(build_record_key(*parse_record_key(b"\x03" + noise))) <= 1 + len(noise)


names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(st.lists(names, min_size=1, max_size=4))
def test_paths(parts: list[str]) -> None:
    path = "/".join(parts)
    assert parse_file_key(file_key(path).build()).path == path


user = st.builds(UserData, st.text(st.characters(exclude_categories=["Cs"]), max_size=8), small_bytes)
none = st.just(())
files = st.builds(FileMetadata, st.integers(0, 3), u64, u64, u64, st.integers(0, (1 << 32) - 1), st.none() | user, none)


@given(files)
def test_file_rows(meta: FileMetadata) -> None:
    raw = meta.build()
    assert FileMetadata.parse(raw) == meta


@given(u64, u64, st.none() | u64)
def test_record_rows(shard: int, offset: int, place: int | None) -> None:
    meta = RecordMetadata(shard, offset, place, place is None)
    assert RecordMetadata.parse(meta.build()) == meta


@given(st.builds(BundleConfig, st.just("daBundleV1"), u64, u64, st.integers(0, 3), st.booleans(), none))
def test_configuration_rows(config: BundleConfig) -> None:
    assert BundleConfig.parse(config.build()) == config


@given(st.integers(0, 99), st.integers(0, 99), u64, st.sampled_from([1, 64, 4096]), st.integers(0, 3))
def test_shard_headers(index: int, count: int, size: int, alignment: int, method: int) -> None:
    raw = ShardHeader(index, count, size, alignment, method).build_file_start()
    assert len(raw) % alignment == 0
    parsed = layout.parse_shard_header(raw, Span("x", 0, len(raw)))
    assert parsed == ShardHeader(index, count, size, alignment, method, "external", len(raw))


@pytest.mark.parametrize(
    ("message", "path"),
    [("08011080", "fields[1]"), ("0a00", "fields[0].wire_type"), ("080113", "fields[1]")],
)
def test_what_is_no_message_states_where(message: str, path: str) -> None:
    with pytest.raises(WireError) as caught:
        FileMetadata.parse(bytes.fromhex(message))
    assert path in caught.value.reason


def test_the_last_of_a_oneof_counts() -> None:
    place, zeros = b"\x18\x07", b"\x20\x01"
    assert RecordMetadata.parse(place + zeros).all_zeros
    assert RecordMetadata.parse(zeros + place + zeros + place) == RecordMetadata(0, 0, 7)
    assert RecordMetadata.parse(place + b"\x78\x01").unknown == (15,)


odd = st.sampled_from(
    [b"\0", b"\xff", b"\x80", b"/", b"\x08\x01", b"\x28" + b"\xff" * 4 + b"\x7f", b"\x18\x00", b"\x32\x00", b""]
)
file_keys = st.builds(FileKey, small_bytes | st.just(b"//a/"), small_bytes).map(FileKey.build)
record_keys = st.builds(build_record_key, u64, u64)
records = st.builds(RecordMetadata, u64, u64, u64).map(RecordMetadata.build)
row_values = st.tuples(files.map(FileMetadata.build) | records, odd).map(b"".join)
row_keys = st.tuples(st.just(b"") | odd, file_keys | record_keys, odd).map(b"".join)


@pytest.mark.skipif(KERNEL is None, reason="the compiled kernel is not built, or turned off")
@given(row_keys, row_values)
@example(FileKey(b"/a/", b"b").build(), b"\x08\x01\x28\xff\xff\xff\xff\x1f")
@example(FileKey(b"/a/", b"x" * 5000).build(), b"\x08\x01")
@example(build_record_key(3, 300), RecordMetadata(3, 300, all_zeros=True).build())
@example(build_record_key(3, 300), RecordMetadata(3, 300, 5).build() + b"\x20\x01")
@example(build_record_key(3, 300), RecordMetadata(3, 300).build() + b"\x20\x00")
@example(build_record_key(3, 300), RecordMetadata(4, 300, 5).build())
@example(b"", b"")
def test_the_kernel_reads_rows_as_they_are_read_without_it(key: bytes, value: bytes) -> None:
    for plain, parse in (("plain_file_row", index.parse_file_row), ("plain_record_row", index.parse_record_row)):
        found = getattr(index, plain)(key, value)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(index, plain, lambda *_: None)
            try:
                expected = parse(key, value, HERE)
            except ExhumeError:
                expected = None
        assert found is None or (found, *map(type, found)) == (expected, *map(type, expected or ()))


@pytest.mark.skipif(KERNEL is None, reason="the compiled kernel is not built, or turned off")
@given(
    st.binary(max_size=9).filter(lambda text: b"\0" not in text), files.filter(lambda meta: meta.user_data is None), u64
)
def test_the_kernel_reads_all_usual_rows(name: bytes, meta: FileMetadata, place: int) -> None:
    key = FileKey(b"/\xffa/", name)
    assert index.plain_file_row(key.build(), meta.build()) == index.FileRow(key.path, meta, key)
    for record in (RecordMetadata(meta.shard_index, meta.offset, place), RecordMetadata(7, place, all_zeros=True)):
        row = index.plain_record_row(build_record_key(*record[:2]), record.build())
        assert row == index.RecordRow(record.offset, record.byte_offset, record)


def test_the_examples_of_the_format_description() -> None:
    start = ShardHeader(0, 1, 262144, 4096, 3).build_file_start()
    assert start[:25].hex() == "64614253" + "0d000000" + "00100000" + "1001" + "18808010" + "208020" + "2803" + "4001"
    assert len(start) == 4096
    assert RecordMetadata(0, 0, 0).build().hex() == "1800"
    assert file_key("c.txt") == (b"/", b"c.txt")
    assert file_key("a/b/c.txt") == (b"/a/b/", b"c.txt")
