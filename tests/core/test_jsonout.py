"""JSON of long values is written in chunks: together they equal the text made at once."""

from __future__ import annotations

from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from exhume.io import jsonout
from exhume.io.jsonout import dump_bytes, dump_pieces, dumps

TEXTS = st.text(max_size=20) | st.lists(st.sampled_from(["\ud83d", "\ude00", "\U0001f600", "\0", "é", "a", '"']))
RAW = st.binary(max_size=20) | TEXTS.map(lambda found: "".join(found).encode("utf-8", "surrogatepass"))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.floats() | TEXTS.map("".join) | RAW | RAW.map(bytearray),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(VALUES, st.sampled_from([3, 6]))
def test_pieces_are_the_text_that_is_made_at_once(value: Any, size: int) -> None:
    with mock.patch.object(jsonout, "PIECE", size):
        assert "".join(dump_pieces(value)) == dumps(value)


def test_no_piece_is_long() -> None:
    long = bytes(4 * jsonout.PIECE) + b"\xff"
    for value in (long, {"record": long}, [long.decode("latin-1")]):
        pieces = list(dump_pieces(value))
        assert "".join(pieces) == dumps(value)
        assert max(map(len, pieces)) <= 6 * jsonout.PIECE


@given(RAW)
def test_bytes_alone_are_the_same_text(value: bytes) -> None:
    assert dump_bytes(value) == dumps(value)
