"""Fast twins in the layout against the generated classes, and the small pieces around them."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from exhume_ksy.zs import Zs
from exhume_ksy.zs_index_block import ZsIndexBlock
from hypothesis import given
from hypothesis import strategies as st
from kaitaistruct import BytesIO, KaitaiStream

from exhume.errors import ExhumeError, Span
from exhume.formats.zs import layout
from exhume.formats.zs.encode import shortest_key
from exhume.formats.zs.search import after_prefix, make_bounds
from exhume.kernel import build_uleb128

ENTRIES = st.lists(
    st.builds(layout.IndexEntry, st.binary(max_size=5), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
    max_size=6,
)


def generated(make: Any) -> Any:
    """What generated code parses, or None when it fails."""
    try:
        return make()
    except Exception:  # whatever it raises on malformed input
        return None


@given(
    st.one_of(st.binary(max_size=40), st.tuples(ENTRIES.map(layout.build_index), st.binary(max_size=5)).map(b"".join))
)
def test_index_twin_agrees_with_the_generated_class(payload: bytes) -> None:
    expected = generated(
        lambda: [
            (entry.key, entry.ofs_block.value, entry.len_block.value)
            for entry in ZsIndexBlock(KaitaiStream(BytesIO(payload))).entries
        ]
    )
    try:
        found: Any = [(entry.key, entry.offset, entry.size) for entry in layout.parse_index(payload)]
    except ValueError:
        found = None
    assert found == expected


@given(ENTRIES)
def test_index_round_trips(entries: list[layout.IndexEntry]) -> None:
    found = layout.parse_index(layout.build_index(entries))
    assert [(e.key, e.offset, e.size) for e in found] == [(e.key, e.offset, e.size) for e in entries]


BLOCKS = st.one_of(
    st.binary(max_size=40),
    st.builds(
        lambda body, crc: build_uleb128(len(body)) + body + struct.pack("<Q", crc),
        st.binary(max_size=200),
        st.integers(0, 2**64 - 1),
    ),
)


@given(BLOCKS)
def test_block_twin_agrees_with_the_generated_class(data: bytes) -> None:
    def parse() -> tuple[int, bytes, int]:
        block = Zs.Block(KaitaiStream(BytesIO(data)))
        return block.body.level, block.body.payload, block.crc

    try:
        block = layout.parse_block(memoryview(data), 0, 0)
        found: Any = (block.level, bytes(block.body[1:]), block.crc)
    except ValueError:
        found = None
    assert found == generated(parse)


@given(
    st.builds(
        layout.Header,
        st.integers(0, 2**64 - 1),
        st.integers(0, 2**64 - 1),
        st.integers(0, 2**64 - 1),
        st.binary(min_size=32, max_size=32),
        st.binary(min_size=16, max_size=16),
        st.binary(max_size=50),
        st.binary(max_size=20),
    )
)
def test_header_round_trips(header: layout.Header) -> None:
    raw = layout.build_header(header)
    assert len(raw) == header.size
    assert layout.parse_header(raw, Span("x", 16, 16 + len(raw))) == header


@pytest.mark.parametrize("size", [0, 8, 40, 79])
def test_short_header_says_where(size: int) -> None:
    with pytest.raises(ExhumeError) as caught:
        layout.parse_header(bytes(size), Span("x", 16, 16 + size))
    assert caught.value.code == "ZS-302"
    assert caught.value.span is not None
    assert 16 <= caught.value.span.start <= 16 + size


@given(st.binary(max_size=5), st.one_of(st.none(), st.binary(max_size=5)))
def test_shortest_key_is_legal_and_minimal(first: bytes, before: bytes | None) -> None:
    if before is not None and before > first:
        first, before = before, first
    key = shortest_key(first, before)
    assert key <= first
    assert before is None or key >= before
    shorter = [first[:n] for n in range(len(key))]
    assert before is None or all(candidate < before for candidate in shorter)


@given(st.binary(max_size=4), st.binary(max_size=4))
def test_prefix_bound_is_exact(prefix: bytes, record: bytes) -> None:
    bound = after_prefix(prefix)
    inside = record >= prefix and (bound is None or record < bound)
    assert inside == record.startswith(prefix)


def test_bounds_are_intersected() -> None:
    bounds = make_bounds(b"b", b"x", b"bb")
    assert (bounds.low, bounds.high) == (b"bb", b"bc")
    assert make_bounds(b"b", None, b"\xff").high is None
    assert make_bounds(None, b"", None).empty
    assert make_bounds(b"b", b"b", None).empty
    assert not make_bounds(None, None, b"").empty


def test_the_bounds_are_those_that_are_documented() -> None:
    """`ZS-503` names the bound; the codec field has 16 bytes."""
    assert layout.MAX_INDEX_ENTRIES == 1_000_000
    assert {len(layout.codec_field(name)) for name in ("none", "deflate", "lzma")} == {16}
