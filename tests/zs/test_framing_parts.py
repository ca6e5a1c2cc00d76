"""Records of large blocks in other framings: the bytes are those of one piece, whatever the sizes of the records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.formats.zs import framing as module
from exhume.formats.zs.framing import framing
from exhume.native.kernel import MalformedRecordsError, frame_records


@given(st.lists(st.integers(0, 300), max_size=30), st.sampled_from(["terminated", "uleb128", "u64le"]))
def test_parts_are_the_whole(sizes: list[int], form: str) -> None:
    payload = memoryview(frame_records([bytes([number % 200]) * size for number, size in enumerate(sizes)]))
    shape = framing(b"\n", None if form == "terminated" else form)
    usual = bytes(shape.unframe(payload))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGE_PAYLOAD", 0)
        patch.setattr(module, "SPLIT_SIZE", 100)
        assert b"".join(shape.unframe_parts(payload)) == usual


def test_large_records_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE_PAYLOAD", 1000)
    monkeypatch.setattr(module, "SPLIT_SIZE", 1000)
    payload = frame_records([b"small", b"x" * 5000, b"y"])
    parts = list(framing(b"\n", None).unframe_parts(memoryview(payload)))
    large = [part for part in parts if isinstance(part, memoryview) and len(part) == 5000]
    assert [part.obj for part in large] == [payload]


def test_nothing_of_a_malformed_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE_PAYLOAD", 10)
    payload = frame_records([b"x" * 5000, b"y"]) + b"\x05ab"
    with pytest.raises(MalformedRecordsError):
        next(framing(b"\n", None).unframe_parts(memoryview(payload)))
