"""What the layout makes of generated readers, and the small pieces around it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ExhumeError, Span
from exhume.formats.zs import layout
from exhume.formats.zs.encode import shortest_key
from exhume.formats.zs.search import after_prefix, make_bounds
from exhume.native.types import MalformedRecordsError

ENTRIES = st.lists(
    st.builds(
        layout.IndexEntry, st.binary(max_size=5), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.just(0)
    ),
    max_size=6,
)


LARGE = bytes([0x80] * 9 + [1])
"""2**63, which no offset or length can be."""


@given(ENTRIES)
def test_index_round_trips(entries: list[layout.IndexEntry]) -> None:
    payload = layout.build_index(entries)
    found = layout.parse_index(payload, Span("x", 0, len(payload)))
    assert [(e.key, e.offset, e.size) for e in found] == [(e.key, e.offset, e.size) for e in entries]
    assert found[:1] == entries[:1]  # the first is at the start


@pytest.mark.parametrize(
    ("payload", "code", "span", "path", "expected", "actual"),
    [
        (b"\x00\x05\x06\x03ab", "ZS-310", (3, 6), "entries[1].len_key", "3 bytes", "2 bytes"),
        (b"\x01a\x85", "ZS-310", (2, 3), "entries[0].ofs_block", "a whole length", "1 byte"),
        (b"\x01a\x05", "ZS-310", (3, 3), "entries[0].len_block", "a whole length", "0 bytes"),
        (b"\x01a\x85\x00\x07", "ZS-311", (2, 5), "entries[0].ofs_block", None, None),
        (b"\x01a" + LARGE + b"\x05", "ZS-330", (2, 12), "entries[0].ofs_block", f"at most {(1 << 63) - 1}", 1 << 63),
        (b"\x01a\x05" + LARGE, "ZS-333", (3, 13), "entries[0].len_block", f"at most {(1 << 63) - 1}", 1 << 63),
    ],
)
def test_an_index_states_which_field_is_wrong(
    payload: bytes, code: str, span: tuple[int, int], path: str, expected: str | None, actual: str | int | None
) -> None:
    where = Span("x", 100, 200).in_payload(0, len(payload))
    with pytest.raises(ExhumeError) as caught:
        layout.parse_index(payload, where)
    error = caught.value
    assert (error.code, error.field_path, error.expected, error.actual) == (code, path, expected, actual)
    assert error.span == Span("x", 100, 200).in_payload(*span)


@pytest.mark.parametrize("entries", [1, 2, 3])
def test_no_more_entries_are_read_than_the_limit(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MAX_INDEX_ENTRIES", 2)
    payload = b"\x00\x01\x01" * entries
    where = Span("x", 0, len(payload))
    if entries <= 2:
        assert len(layout.parse_index(payload, where)) == entries
    else:
        with pytest.raises(ExhumeError) as caught:
            layout.parse_index(payload + b"\x80", where)
        assert caught.value.code == "ZS-503"


@pytest.mark.parametrize(
    ("data", "needed"),
    [(b"", 0), (b"\x85", 0), (b"\x05", 14), (b"\x05\x01", 14), (b"\x02\x01xAAAAAAA", 11), (b"\x85\x01\x02", 143)],
)
def test_a_short_block_states_how_long_it_is(data: bytes, needed: int) -> None:
    view = memoryview(b"__" + data)
    with pytest.raises(layout.ShortBlockError) as caught:
        layout.parse_block(view, 2, 0)
    assert caught.value.needed == needed
    assert str(caught.value) == f"the block needs {needed} bytes"
    if data[-1:] in (b"\x01", b"A", b"\x02"):
        assert layout.parse_frame(view, 2)[0] == needed
    else:
        with pytest.raises(layout.ShortBlockError):
            layout.parse_frame(view, 2)


@pytest.mark.parametrize("read", [layout.parse_frame, lambda data, at: layout.parse_block(data, at, 0)])
def test_a_block_that_cannot_be_framed_states_why(read: Any) -> None:
    with pytest.raises(ValueError, match="length 0"):
        read(memoryview(b"\x00" + bytes(8)), 0)
    with pytest.raises(MalformedRecordsError) as caught:
        read(memoryview(b"\x85\x00\x01" + bytes(20)), 0)
    assert (caught.value.reason, caught.value.offset, caught.value.length) == ("overlong", 0, -1)


@given(
    st.builds(
        layout.Header,
        st.integers(0, 2**63 - 1),
        st.integers(0, 2**63 - 1),
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
def test_short_header_states_where(size: int) -> None:
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
