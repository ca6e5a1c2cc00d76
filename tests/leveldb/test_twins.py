"""Written data read back, damaged logs lose nothing else, and the compiled kernel equals the pure-Python one."""

from __future__ import annotations

from array import array
from contextlib import suppress
from io import BytesIO
from typing import Any

import pytest
from exhume_ksy.fast.leveldb_block import scan_entry
from hypothesis import given
from hypothesis import strategies as st

from exhume.codecs import compress
from exhume.codecs.checksums import crc32c, mask_crc32c, masked_crc32c
from exhume.errors import FormatError, Span, WriterError
from exhume.formats.leveldb import checks, table_writer
from exhume.formats.leveldb import pykernel as rows_pure
from exhume.formats.leveldb.blocks import build_block, seal_block
from exhume.formats.leveldb.comparators import comparator_of
from exhume.formats.leveldb.deletions import Deletions, RangeDeletion
from exhume.formats.leveldb.kernel import LeveldbRows, block_handles, number_range, table_blocks
from exhume.formats.leveldb.layout import parse_batch, parse_internal_key, parse_tail, whole_handle
from exhume.formats.leveldb.layout_facts import user_key
from exhume.formats.leveldb.log import BLOCK, LogReader
from exhume.formats.leveldb.model import BYTEWISE, Place, Status, Verdict, Version
from exhume.formats.leveldb.ranges import versions_of
from exhume.formats.leveldb.table import Table
from exhume.formats.leveldb.table_writer import TableWriter, build_log
from exhume.formats.leveldb.wire import MAX_U64, BlockIndex, Handle, InternalKey, build_varint, key_text
from exhume.io.source import BytesSource
from exhume.native import kernel, pykernel
from tests.leveldb.crafted import build_batch

HERE = Span("x", 0, 1 << 20)
BUDGET = 1 << 20


handles = st.builds(lambda at, size: Handle(at, size).build(), st.integers(0, 1 << 62), st.integers(0, 1 << 40))
damage = st.one_of(st.none(), st.tuples(st.integers(0, 400), st.integers(1, 255)))
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
        fits = pure[2] in (kernel.BLOCK_FINE, kernel.BLOCK_SHARED)
        assert (found.problem is None) == fits or pure[2] == kernel.BLOCK_SHARED


def test_shared_prefixes_have_a_budget() -> None:
    block = build_varint(0) + build_varint(200) + b"\0" + b"k" * 200 + (build_varint(200) + b"\0\0") * 1000
    for python in (kernel, pykernel):
        assert python.block_entries(block, len(block), 1000)[2] == kernel.BLOCK_BOMB
        assert len(python.block_entries(block, len(block), 1 << 20)[0]) == 1001


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
    st.tuples(st.binary(max_size=3), st.integers(0, 9), st.sampled_from([0, 1, 2, 7, 15, 17, 20, 22])), max_size=30
)


def spans(drawn: list[tuple[bytes, bytes, int]]) -> list[tuple[bytes, bytes, int]]:
    return Deletions([RangeDeletion(*one, 5) for one in drawn], 5, comparator_of(BYTEWISE), 9).spans


wiped = st.lists(st.tuples(st.binary(max_size=2), st.binary(max_size=2), st.integers(0, 9)), max_size=4).map(spans)
texts = st.one_of(st.binary(max_size=9), st.text(max_size=9).map(str.encode), st.sampled_from([b"\\", b"\x7f\xc3\x28"]))


@given(histories, histories, texts, st.integers(0, 9), wiped, st.integers(0, 30))
def test_rows_are_the_same_in_both_kernels(
    older: list[tuple[bytes, int, int]],
    newer: list[tuple[bytes, int, int]],
    value: bytes,
    last_sequence: int,
    ranges: list[tuple[bytes, bytes, int]],
    cut: int,
) -> None:
    log = Place("log", 3, None, 0, 9, Verdict.GOOD, operations=tuple(range(40)))
    places = [Place("table", 4, 1, 0, 9, Verdict.GOOD, codec="none"), log]
    runs = [
        sorted(
            (key + value[:2], ~(sequence << 8 | kind) & MAX_U64, rank, number, value * (number % 3), places[number % 2])
            for number, (key, sequence, kind) in enumerate(history)
        )
        for rank, history in enumerate((older, newer))
    ]
    reported = []
    for python in (LeveldbRows, rows_pure.LeveldbRows):
        state: tuple[bytes | None, int, int] = (None, -1, -1)
        shown: list[Any] = []
        for part in ([runs[0][:cut], runs[1]], [runs[0][cut:]], []):
            rows = python(5)
            for run in part:
                rows.add_items(run)
            state = rows.resolve(state, last_sequence, ranges)
            chains = rows.chains()
            shown += [state, chains, *views(rows)]
            rows.settle([(at, made[0][1] if at % 2 else None) for at, _, made in chains], bool(cut % 2))
            shown += [rows.chains(), *views(rows)]
            for chosen in ((False, b"", b"\xf0", value[1:3]), (True, value[:1], None, None), (True, None, None, b"x")):
                rows.choose(*chosen)
                shown += views(rows)
            rows.mark([(number % 10, number - 1) for number in range(len(rows))])
            shown += [*views(rows), rows.cut(bytes([1]) * 2 + bytes(254)), *views(rows)]
        reported.append(shown)
    assert reported[0] == reported[1]


def views(rows: Any) -> list[Any]:
    """Everything that can be asked of rows."""
    versions = rows.versions(
        Version, tuple(Status), rows.places, lambda place, at: at + 1 if place.operations else None
    )
    assert all(type(version) is Version for version in versions)
    return [
        len(rows), rows.family, versions, rows.facts(), rows.tally(), rows.json(), rows.text(False, key_text),
        rows.text(True, key_text), rows.column(False), rows.column(True), *map(rows.numbers, range(6)),
    ]  # fmt: skip


@given(st.lists(st.lists(st.integers(0, 99))))
def test_numbers_are_counted_the_same(columns: list[list[int]]) -> None:
    packed = [array("q", column).tobytes() for column in columns]
    assert number_range(packed) == rows_pure.number_range(packed)


@pytest.mark.skipif(not kernel.COMPILED, reason="what the compiled kernel checks for itself")
def test_the_kernel_refuses_what_is_not_of_its_rows() -> None:
    rows = LeveldbRows()
    rows.add_items([(b"k", 5, 0, 0, b"v", None)])
    with pytest.raises(TypeError):
        rows.versions(int, tuple(Status), [None], key_text)  # type: ignore[arg-type]
    for call in (
        lambda: rows.versions(Version, tuple(Status), [], key_text),  # type: ignore[arg-type]
        lambda: rows.versions(Version, (), [None], key_text),  # type: ignore[arg-type]
        lambda: rows.numbers(6),
        lambda: rows.mark([]),
        lambda: rows.mark([(10, 0)]),
        lambda: rows.settle([(1, b"")], True),
        lambda: rows.settle([(0, b""), (0, b"")], False),
        lambda: rows.cut(b""),
        lambda: rows.add_blocks(b"", 0, BlockIndex.of(()), None, None, None, None, b"", (1, 1, 1, 1, 1, -1)),
    ):
        with pytest.raises(ValueError, match=r"no |not "):
            call()


@given(st.binary(max_size=400), st.integers(0, 400), st.binary(max_size=30))
def test_snappy_and_its_checksum_in_the_kernel(noise: bytes, at: int, inside: bytes) -> None:
    """Blocks are read at once exactly if the library decompresses them to something that is one."""
    entries = [(InternalKey(b"%04d" % n, 5, 1).build(), (noise * n)[:300]) for n in range(20)]
    whole = compress("snappy", build_block(entries))
    for stored in (whole, whole[:at] + inside + whole[at + len(inside) :], whole[: at % len(whole)]):
        body = stored + b"\x01"
        table = Table(BytesSource(body + masked_crc32c(body).to_bytes(4, "little")))
        table.__dict__["footer"] = None
        rows = LeveldbRows()
        handle = Handle(0, len(stored))
        found = table.add_blocks(rows, BlockIndex.of([(b"\xff" * 20, handle)]))
        block = table.read_block(handle, checks.ignore)
        assert found or stored != whole or not kernel.COMPILED
        if found:
            assert block is not None
            assert [(v.key, v.value) for v in versions_of(rows)] == [
                (item[0], item[4]) for item in table.block_items(block, 0)[0]
            ]


@given(rows, st.integers(1, 200), st.integers(1, 5), st.integers(0, 40), st.booleans())
def test_blocks_of_values_are_those_of_the_pure_python_kernel(
    pairs: dict[bytes, bytes], size: int, interval: int, cut: int, whole: bool
) -> None:
    ordered = sorted(pairs.items())
    for some, before in ((ordered, None), (ordered[cut:] + ordered[:cut], b""), (ordered[:2] * 2, b"\x7f")):
        for packed in (257, MAX_U64 - (1 << 20)):
            expected = rows_pure.table_blocks(some, before, packed, size, interval, whole)
            assert table_blocks(some, before, packed, size, interval, whole) == expected


@given(rows, st.integers(1, 300))
def test_values_make_the_table_that_entries_make(pairs: dict[bytes, bytes], size: int) -> None:
    made = []
    for together in (True, False):
        file = BytesIO()
        writer = TableWriter(file, "snappy", block_size=size)
        if together:
            writer.add_values(sorted(pairs.items()))
        for number, (key, value) in enumerate(() if together else sorted(pairs.items()), 1):
            writer.add(InternalKey(key, number, 1), value)
        writer.finish()
        made.append((file.getvalue(), writer.smallest, writer.largest, writer.count, writer.size))
    assert made[0] == made[1]


def test_values_out_of_order_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for at_once in (1, 2, 4096):
        monkeypatch.setattr(table_writer, "ROWS", at_once)
        for wrong in (b"c", b"b", b""):
            with pytest.raises(WriterError, match="sorted and unique"):
                TableWriter(BytesIO(), block_size=1).add_values([(b"a", b""), (b"c", b"x"), (wrong, b"")])
    writer = TableWriter(BytesIO())
    writer.add(InternalKey(b"b", 1, 1), b"")
    with pytest.raises(WriterError, match="sorted and unique"):
        writer.add_values([(b"a", b"")])


@given(
    st.dictionaries(st.binary(min_size=8, max_size=12), st.one_of(handles, st.binary(max_size=3)), max_size=20), damage
)
def test_handles_of_an_index_are_those_of_its_entries(
    entries: dict[bytes, bytes], flipped: tuple[int, int] | None
) -> None:
    block = bytearray(build_block(sorted(entries.items()), 3))
    if flipped is not None:
        block[flipped[0] % len(block)] ^= flipped[1]
    raw = bytes(block)
    with suppress(FormatError):
        end = parse_tail(raw, HERE).end
        for internal in (True, False):
            found = block_handles(raw, end, BUDGET, internal)
            split, _, problem = pykernel.block_entries(raw, end, BUDGET)
            if found is None:
                assert problem or not kernel.COMPILED or None in map(whole_handle, (value for _, value, _ in split))
            else:
                keys = [user_key(key) if internal else key for key, _, _ in split]
                assert not problem
                assert list(BlockIndex.packed(*found)) == list(
                    zip(keys, (whole_handle(value) for _, value, _ in split), strict=True)
                )
