"""What is written is read again, damaged logs lose nothing else, and the compiled kernel equals its twin."""

from __future__ import annotations

from typing import Any

import pytest
from exhume_ksy.fast.leveldb_block import scan_entry
from hypothesis import given
from hypothesis import strategies as st

from exhume.codecs.checksums import crc32c, mask_crc32c
from exhume.errors import Span
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.blocks import build_block, seal_block
from exhume.formats.leveldb.layout import parse_batch, parse_internal_key, parse_tail
from exhume.formats.leveldb.log import BLOCK, LogReader, build_batch, build_log
from exhume.formats.leveldb.model import Place, Status, Verdict, Version
from exhume.formats.leveldb.wire import (
    MAX_U64,
    InternalKey,
    build_varint,
)
from exhume.io.source import BytesSource
from exhume.native import kernel, pykernel

HERE = Span("x", 0, 1 << 20)
BUDGET = 1 << 20


varint_like = st.one_of(
    st.integers(0, (1 << 64) - 1).map(build_varint),
    st.binary(max_size=12),
    st.lists(st.integers(0x80, 0xFF), max_size=10)
    .map(bytes)
    .flatmap(lambda b: st.integers(0, 3).map(lambda n: b + bytes((n,)))),
)


@given(st.binary(max_size=20), st.integers(0, (1 << 56) - 1), st.sampled_from([0, 1, 2, 7]))
def test_internal_keys(key: bytes, sequence: int, kind: int) -> None:
    raw = InternalKey(key, sequence, kind).build()
    assert parse_internal_key(raw) == (key, sequence, kind)


rows = st.dictionaries(st.binary(min_size=1, max_size=12), st.binary(max_size=30), max_size=40)


@given(rows, st.integers(1, 5))
def test_blocks(entries: dict[bytes, bytes], interval: int) -> None:
    block = build_block(sorted(entries.items()), interval)
    end, restarts = parse_tail(block, HERE)
    split, stop, problem = kernel.block_entries(block, end, BUDGET)
    assert [(key, value) for key, value, _ in split] == sorted(entries.items())
    assert (stop, problem) == (end, 0)
    assert len(restarts) == max(1, -(-len(entries) // interval))


@given(st.binary(max_size=120), rows, st.integers(0, 200))
def test_block_kernel_and_generated_class_agree_on_anything(noise: bytes, entries: dict[bytes, bytes], at: int) -> None:
    good = build_block(sorted(entries.items()))
    for block in (noise, good[:at] + noise[:3] + good[at + 3 :]):
        pure = pykernel.block_entries(block, len(block), BUDGET)
        assert kernel.block_entries(block, len(block), BUDGET) == pure
        assert kernel.internal_entries(block, len(block), BUDGET, 1, None) == pykernel.internal_entries(
            block, len(block), BUDGET, 1, None
        )
        found = scan_entry(block, 0, len(block))
        fits = pure[2] in (pykernel.BLOCK_FINE, pykernel.BLOCK_SHARED)
        assert (found.problem is None) == fits or pure[2] == pykernel.BLOCK_SHARED


def test_shared_prefixes_have_a_budget() -> None:
    block = build_varint(0) + build_varint(200) + b"\0" + b"k" * 200 + (build_varint(200) + b"\0\0") * 1000
    for twin in (kernel, pykernel):
        assert twin.block_entries(block, len(block), 1000)[2] == pykernel.BLOCK_BOMB
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
    assert found == pykernel.find_blocks(data)
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
    for record in read:
        assert b"".join(data[one.data_offset : one.end] for one in record.fragments) == record.payload


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
    batch = parse_batch(payload, HERE)
    assert batch.problem is None
    assert (batch.sequence, batch.stated) == (sequence, len(ops))
    assert [(o.value_type, o.key, o.value) for o in batch.operations] == [
        (k, key, v if k else b"") for k, key, v in ops
    ]


@pytest.mark.parametrize("value", [-1, 1 << 64])
def test_numbers_that_do_not_fit(value: int) -> None:
    with pytest.raises(ValueError, match="64-bit"):
        build_varint(value)


histories = st.lists(
    st.tuples(st.binary(max_size=3), st.integers(0, 9), st.sampled_from([0, 1, 2, 7, 15, 20])), max_size=30
)


@given(histories, st.integers(0, 9), st.integers(0, 30), st.lists(st.integers(0, 40)))
def test_order_and_statuses_are_the_same_in_both_kernels(
    history: list[tuple[bytes, int, int]], last_sequence: int, cut: int, starts: list[int]
) -> None:
    entries = [(InternalKey(*entry).build(), b"value") for entry in history]
    for block in (build_block(entries), build_block(sorted(entries))[:cut]):
        for kinds, restarts in ((b"", ()), (bytes([1]) * 16 + bytes(240), [0]), (bytes([1]) * 256, starts[:2])):
            told = pykernel.survey_entries(block, len(block), BUDGET, kinds, restarts)
            assert kernel.survey_entries(block, len(block), BUDGET, kinds, restarts) == told
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
        assert (found, after) == pykernel.resolve_items(part, state, *options)
        assert all(type(version) is Version for version in found)
        state = after
    if kernel.COMPILED:
        with pytest.raises(TypeError):
            kernel.resolve_items([], state, 0, 0, int, tuple(Status)[:5], None)  # type: ignore[arg-type]
