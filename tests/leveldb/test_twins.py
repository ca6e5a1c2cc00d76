"""Hand-written parsers and writers against the generated classes, and the compiled kernel against its twin."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from exhume_ksy.leveldb_block_handle import LeveldbBlockHandle
from exhume_ksy.leveldb_bytes import LeveldbBytes
from exhume_ksy.leveldb_internal_key import LeveldbInternalKey
from exhume_ksy.leveldb_varint import LeveldbVarint
from hypothesis import given
from hypothesis import strategies as st

from exhume import _pykernel, kernel
from exhume.checksums import crc32c, mask_crc32c
from exhume.errors import ExhumeError, Span
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.blocks import build_block, entries_end, restart_offsets, seal_block
from exhume.formats.leveldb.log import BLOCK, LogReader, build_batch, build_log, parse_batch
from exhume.formats.leveldb.model import Place, Status, Verdict, Version
from exhume.formats.leveldb.wire import (
    MAX_U64,
    Handle,
    InternalKey,
    WireError,
    build_bytes,
    build_varint,
    parse_bytes,
    parse_handle,
    parse_internal_key,
    parse_varint,
)
from exhume.kaitai import parse
from exhume.source import BytesSource

HERE = Span("x", 0, 1 << 20)
BUDGET = 1 << 20


def generated(cls: Any, data: bytes) -> Any:
    """The generated object, None when the bytes do not fit the schema."""
    try:
        return parse(cls, data, HERE)
    except ExhumeError:
        return None


def attempt(function: Any, *args: Any) -> Any:
    with contextlib.suppress(WireError):
        return function(*args)
    return None


varint_like = st.one_of(
    st.integers(0, (1 << 64) - 1).map(build_varint),
    st.binary(max_size=12),
    st.lists(st.integers(0x80, 0xFF), max_size=10)
    .map(bytes)
    .flatmap(lambda b: st.integers(0, 3).map(lambda n: b + bytes((n,)))),
)


@given(varint_like)
def test_varints(data: bytes) -> None:
    mine = attempt(parse_varint, data, 0, len(data))
    theirs = generated(LeveldbVarint, data)
    assert mine == (None if theirs is None else (theirs.value, theirs._io.pos()))
    if mine is not None:
        assert parse_varint(build_varint(mine[0]), 0, 10)[0] == mine[0]


@given(st.one_of(st.binary(max_size=40), st.binary(max_size=300).map(build_bytes)))
def test_byte_strings_and_handles(data: bytes) -> None:
    mine, theirs = attempt(parse_bytes, data, 0, len(data)), generated(LeveldbBytes, data)
    assert (None if mine is None else mine[0]) == (None if theirs is None else theirs.data)
    handle, other = attempt(parse_handle, data), generated(LeveldbBlockHandle, data)
    assert (None if handle is None else tuple(handle[0])) == (
        None if other is None else (other.ofs_block.value, other.len_block.value)
    )


@given(st.binary(max_size=20), st.integers(0, (1 << 56) - 1), st.sampled_from([0, 1, 2, 7]))
def test_internal_keys(key: bytes, sequence: int, kind: int) -> None:
    raw = InternalKey(key, sequence, kind).build()
    assert parse_internal_key(raw) == (key, sequence, kind)
    theirs = generated(LeveldbInternalKey, raw)
    assert (theirs.user_key, theirs.sequence, int(theirs.value_type)) == (key, sequence, kind)
    if len(key) < 8:
        assert attempt(parse_internal_key, key) is None


rows = st.dictionaries(st.binary(min_size=1, max_size=12), st.binary(max_size=30), max_size=40)


@given(rows, st.integers(1, 5))
def test_blocks(entries: dict[bytes, bytes], interval: int) -> None:
    block = build_block(sorted(entries.items()), interval)
    end, count = entries_end(block)
    split, stop, problem = kernel.block_entries(block, end, BUDGET)
    assert [(key, value) for key, value, _ in split] == sorted(entries.items())
    assert (stop, problem) == (end, 0)
    theirs = layout.generated_block(block, HERE)
    assert theirs.num_restarts == count
    assert theirs.restarts == restart_offsets(block)
    key = b""
    for mine, entry in zip(split, theirs.entries.entries, strict=True):
        key = key[: entry.len_shared.value] + entry.key_suffix
        assert mine[:2] == (key, entry.value.data)


@given(st.binary(max_size=120), rows, st.integers(0, 200))
def test_block_kernel_and_generated_class_agree_on_anything(noise: bytes, entries: dict[bytes, bytes], at: int) -> None:
    good = build_block(sorted(entries.items()))
    for block in (noise, good[:at] + noise[:3] + good[at + 3 :]):
        pure = _pykernel.block_entries(block, len(block), BUDGET)
        assert kernel.block_entries(block, len(block), BUDGET) == pure
        assert kernel.internal_entries(block, len(block), BUDGET, 1, None) == _pykernel.internal_entries(
            block, len(block), BUDGET, 1, None
        )
        fits = pure[2] in (_pykernel.BLOCK_FINE, _pykernel.BLOCK_SHARED)
        theirs = generated(_entry_list, block + (0).to_bytes(4, "little"))
        assert (theirs is not None) == fits or pure[2] == _pykernel.BLOCK_SHARED


def _entry_list(stream: Any) -> Any:
    """A block without restarts whose entries are read at once, as the kernel does."""
    from exhume_ksy.leveldb_block import LeveldbBlock

    block = LeveldbBlock(stream)
    assert block.entries is not None
    return block


def test_shared_prefixes_have_a_budget() -> None:
    block = build_varint(0) + build_varint(200) + b"\0" + b"k" * 200 + (build_varint(200) + b"\0\0") * 1000
    for twin in (kernel, _pykernel):
        assert twin.block_entries(block, len(block), 1000)[2] == _pykernel.BLOCK_BOMB
        assert len(twin.block_entries(block, len(block), 1 << 20)[0]) == 1001


@given(
    st.lists(st.binary(min_size=1, max_size=60), max_size=5),
    st.binary(max_size=40),
    st.sampled_from(["none", "snappy"]),
)
def test_blocks_are_found_by_their_checksums(contents: list[bytes], noise: bytes, codec: str) -> None:
    data, expected = noise, []
    for content in contents:
        sealed = seal_block(content, codec)
        expected.append((len(data), len(data) + len(sealed) - 5))
        data += sealed + noise
    found = kernel.find_blocks(data)
    assert found == _pykernel.find_blocks(data)
    assert set(expected) <= set(found)
    for start, end in found:
        assert mask_crc32c(crc32c(data[start : end + 1])) == int.from_bytes(data[end + 1 : end + 5], "little")


records = st.lists(st.one_of(st.binary(max_size=50), st.integers(0, 3 * BLOCK).map(lambda n: b"x" * n)), max_size=6)


@given(records, st.integers(0, 30))
def test_logs_across_block_borders(payloads: list[bytes], shift: int) -> None:
    payloads = [b"p" * (BLOCK - 7 - shift), *payloads]
    data = build_log(payloads)
    read = list(LogReader(BytesSource(data), checks.strict))
    assert [record.payload for record in read] == payloads
    fragments = [f for record in read for f in record.fragments]
    theirs = [
        (f.data.bytes, int(f.fragment_type))
        for block in layout.generated_log(data, HERE).blocks or []
        for f in block.fragments
        if not f.is_zero_fill
    ]
    assert [(data[f.data_offset : f.end], f.kind) for f in fragments] == theirs
    for record in read:
        for position in {0, len(record.payload) // 2}:
            if position < len(record.payload):
                assert data[record.file_offset(position)] == record.payload[position]


@given(records, st.data())
def test_damaged_logs_never_raise_and_never_lie(payloads: list[bytes], draw: st.DataObject) -> None:
    data = bytearray(build_log(payloads))
    if not data:
        return
    for _ in range(draw.draw(st.integers(1, 4))):
        data[draw.draw(st.integers(0, len(data) - 1))] ^= draw.draw(st.integers(1, 255))
    read = [r for r in LogReader(BytesSource(bytes(data)), checks.ignore) if r.intact]
    assert all(record.payload in payloads for record in read)


operations = st.lists(st.tuples(st.sampled_from([0, 1]), st.binary(max_size=20), st.binary(max_size=20)), max_size=8)


@given(st.integers(0, (1 << 56) - 1), operations)
def test_write_batches(sequence: int, ops: list[tuple[int, bytes, bytes]]) -> None:
    payload = build_batch(sequence, ops)
    batch = parse_batch(payload)
    assert batch.problem is None
    assert (batch.sequence, batch.stated) == (sequence, len(ops))
    assert [(o.value_type, o.key, o.value) for o in batch.operations] == [
        (k, key, v if k else b"") for k, key, v in ops
    ]
    theirs = layout.generated_batch(payload, HERE)
    assert [(int(o.operation_type), o.key.data) for o in theirs.operations] == [(k, key) for k, key, _ in ops]


@given(st.binary(max_size=60))
def test_write_batches_of_noise(noise: bytes) -> None:
    payload = bytes(12) + noise
    mine = parse_batch(payload)
    try:
        theirs = layout.generated_batch(payload, HERE)
    except ExhumeError:
        assert mine.problem is not None
    else:
        assert mine.problem is None
        assert len(mine.operations) <= len(theirs.operations)


@pytest.mark.parametrize("value", [-1, 1 << 64])
def test_numbers_that_do_not_fit(value: int) -> None:
    with pytest.raises(ValueError, match="64-bit"):
        build_varint(value)


def test_handles_build() -> None:
    assert parse_handle(Handle(4096, 300).build())[0] == (4096, 300)


histories = st.lists(
    st.tuples(st.binary(max_size=3), st.integers(0, 9), st.sampled_from([0, 1, 2, 7, 15, 20])), max_size=30
)


@given(histories, st.integers(0, 9), st.integers(0, 30))
def test_order_and_statuses_are_the_same_in_both_kernels(
    history: list[tuple[bytes, int, int]], last_sequence: int, cut: int
) -> None:
    entries = [(InternalKey(*entry).build(), b"value") for entry in history]
    for block in (build_block(entries), build_block(sorted(entries))[:cut]):
        assert kernel.entries_order(block, len(block), BUDGET) == _pykernel.entries_order(block, len(block), BUDGET)
    log = Place("log", 3, None, 0, 9, Verdict.GOOD, operations=(0, 7))
    places = [Place("table", 4, 1, 0, 9, Verdict.GOOD, codec="none"), log]
    items = sorted(
        (key, ~(sequence << 8 | kind) & MAX_U64, 0, number, b"value", places[number % 2])
        for number, (key, sequence, kind) in enumerate(history)
    )
    state: tuple[bytes | None, int, int] = (None, -1, -1)
    for part in (items[:cut], items[cut:]):
        options: Any = (last_sequence, 5, Version, tuple(Status)[:5], lambda item: item[3])
        found, after = kernel.resolve_items(part, state, *options)
        assert (found, after) == _pykernel.resolve_items(part, state, *options)
        assert all(type(version) is Version for version in found)
        state = after
    if kernel.COMPILED:
        with pytest.raises(TypeError):
            kernel.resolve_items([], state, 0, 0, int, tuple(Status)[:5], None)  # type: ignore[arg-type]
