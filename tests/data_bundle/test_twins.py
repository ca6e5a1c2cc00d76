"""Keys and messages: hand-written code against the generated classes, and both ways."""

from __future__ import annotations

from typing import Any

import pytest
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.data_bundle_key import read_data_bundle_key
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import Span
from exhume.formats.data_bundle import layout
from exhume.formats.data_bundle.keys import (
    FileKey,
    RecordKey,
    build_escaped,
    build_varuint,
    file_key,
    parse_escaped,
    parse_file_key,
    parse_record_key,
    parse_varuint,
)
from exhume.formats.data_bundle.messages import (
    BundleConfig,
    FileMetadata,
    RecordMetadata,
    ShardHeader,
    UserData,
)
from exhume.formats.leveldb.wire import WireError

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
    assert parse_varuint(bytes.fromhex(raw), 0) == (value, len(raw) // 2)


@given(u64, u64)
def test_varuints_sort_as_numbers(one: int, other: int) -> None:
    assert (build_varuint(one) < build_varuint(other)) == (one < other)
    key = RecordKey(one, other).build()
    assert parse_record_key(key) == (one, other)
    theirs: Any = read_data_bundle_key(key, 0, len(key))[0].body
    assert (theirs.shard_index.value, theirs.shard_uncompressed_offset.value) == (one, other)


@given(small_bytes, small_bytes)
def test_escaped_strings_sort_as_strings(one: bytes, other: bytes) -> None:
    assert (build_escaped(one) < build_escaped(other)) == (one < other)
    assert parse_escaped(build_escaped(one) + other, 0) == (one, len(build_escaped(one)))
    key = FileKey(one, other).build()
    assert parse_file_key(key) == (one, other)
    body: Any = read_data_bundle_key(key, 0, len(key))[0].body
    assert [_join(part) for part in (body.directory, body.name)] == [one, other]


def _join(escaped: Any) -> bytes:
    return b"\0".join(chunk.text for chunk in escaped.chunks)


@given(st.binary(max_size=20))
def test_keys_of_noise(noise: bytes) -> None:
    for table, parser in ((b"\x02", parse_file_key), (b"\x03", parse_record_key)):
        key = table + noise
        try:
            mine: Any = parser(key)
        except WireError:
            mine = None
        try:
            theirs: Any = read_data_bundle_key(key, 0, len(key))[0]
        except LayoutError:
            assert mine is None
        else:
            if mine is not None and table == b"\x03":
                assert mine.shard_index == theirs.body.shard_index.value


names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(st.lists(names, min_size=1, max_size=4))
def test_paths(parts: list[str]) -> None:
    path = "/".join(parts)
    assert parse_file_key(file_key(path).build()).path == path


user = st.builds(UserData, st.text(st.characters(exclude_categories=["Cs"]), max_size=8), small_bytes)
files = st.builds(FileMetadata, st.integers(0, 3), u64, u64, u64, st.integers(0, (1 << 32) - 1), st.none() | user)


@given(files)
def test_file_rows(meta: FileMetadata) -> None:
    raw = meta.build()
    assert FileMetadata.parse(raw) == meta


@given(u64, u64, st.none() | u64)
def test_record_rows(shard: int, offset: int, place: int | None) -> None:
    meta = RecordMetadata(shard, offset, place, place is None)
    assert RecordMetadata.parse(meta.build()) == meta


@given(st.builds(BundleConfig, st.just("daBundleV1"), u64, u64, st.integers(0, 3), st.booleans()))
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
def test_what_is_no_message_says_where(message: str, path: str) -> None:
    with pytest.raises(WireError) as caught:
        FileMetadata.parse(bytes.fromhex(message))
    assert path in caught.value.reason


def test_the_last_of_a_oneof_counts() -> None:
    place, zeros = b"\x18\x07", b"\x20\x01"
    assert RecordMetadata.parse(place + zeros).all_zeros
    assert RecordMetadata.parse(zeros + place + zeros + place) == RecordMetadata(0, 0, 7)
    assert RecordMetadata.parse(place + b"\x78\x01").unknown == (15,)


def test_the_examples_of_the_format_description() -> None:
    start = ShardHeader(0, 1, 262144, 4096, 3).build_file_start()
    assert start[:25].hex() == "64614253" + "0d000000" + "00100000" + "1001" + "18808010" + "208020" + "2803" + "4001"
    assert len(start) == 4096
    assert RecordMetadata(0, 0, 0).build().hex() == "1800"
    assert file_key("c.txt") == (b"/", b"c.txt")
    assert file_key("a/b/c.txt") == (b"/a/b/", b"c.txt")
