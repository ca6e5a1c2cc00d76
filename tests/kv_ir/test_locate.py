"""Finding streams in raw bytes: the verdict is that of `verify`, and no findings are kept without bound."""

from __future__ import annotations

import pytest
import zstandard
from exhume_ksy.facts.clp_kv_ir import Tags

from exhume.codecs.zstd import ZSTD_MAGIC
from exhume.findings import MAX_PER_RULE
from exhume.formats.kv_ir.layout import END, build_integer
from exhume.formats.kv_ir.locate import locate
from exhume.formats.kv_ir.verify import verify_source
from exhume.io.source import BytesSource
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy
from tests.kv_ir.streams import HEAD, SMALL, event, user, wrapped
from tests.sizes import some

BEFORE = b"\x00" * 100
AFTER = b"\xaa" * 50


def found(data: bytes) -> CarvedArchive:
    """The find for a stream among other bytes."""
    carved = locate(BytesSource(BEFORE + data + AFTER), len(BEFORE))
    assert carved is not None
    return carved


@pytest.mark.parametrize("data", [SMALL, wrapped(SMALL)], ids=["raw", "zstd"])
def test_a_sound_stream_is_whole(data: bytes) -> None:
    carved = found(data)
    assert (carved.verdict, carved.findings, carved.verified_by) == (CarveVerdict.COMPLETE, (), VerifiedBy.STRUCTURE)
    assert (carved.span.start, carved.span.end) == (len(BEFORE), len(BEFORE) + len(data))


NAME = user(Tags.NODE_INTEGER, b"\xff")
ORPHAN = user(Tags.NODE_INTEGER, b"n", parent=9)
WRONG = {
    "a key that is not UTF-8": HEAD + NAME + END,
    "a key without a parent": HEAD + ORPHAN + END,
    "a key that is not known": HEAD + event([], [(7, build_integer(5))]) + END,
    "a key without a parent, and events behind it": HEAD + ORPHAN + user(Tags.NODE_INTEGER, b"m")
    + event([], [(1, build_integer(5))]) + END,
}  # fmt: skip


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG)
def test_what_verify_finds_wrong_is_damaged(data: bytes) -> None:
    carved = found(data)
    assert carved.verdict is CarveVerdict.DAMAGED
    assert carved.span.size == len(data)
    assert {finding.code for finding in carved.findings} == {one.code for one in verify_source(BytesSource(data))}


def test_findings_are_bounded() -> None:
    data = HEAD + event([], [(7, build_integer(5))]) * (MAX_PER_RULE + 500) + END
    carved = found(data)
    assert carved.verdict is CarveVerdict.DAMAGED
    assert len(carved.findings) == MAX_PER_RULE + 1
    assert "500 more" in carved.findings[-1].message


def test_a_stream_without_an_end_is_in_part_there() -> None:
    carved = found(SMALL[:-1])
    assert carved.verdict is CarveVerdict.PARTIAL
    assert carved.span.start == len(BEFORE)


def test_a_stream_inside_frames_ends_with_the_last_of_its_own() -> None:
    """Whatever is next to it: another stream, a frame of something else, the end of the image."""
    whole, half = wrapped(SMALL), len(SMALL) // 2
    for data, others in (
        (whole, (b"", whole, whole[:-1], wrapped(b"of something else"), ZSTD_MAGIC + b"no frame")),
        (wrapped(SMALL[:half]) + wrapped(SMALL[half:]), (b"", whole)),
    ):
        for other in some(others):
            carved = locate(BytesSource(BEFORE + data + other), len(BEFORE))
            assert carved is not None
            assert (carved.verdict, carved.findings) == (CarveVerdict.COMPLETE, ())
            assert (carved.span.start, carved.span.size) == (len(BEFORE), len(data))


def test_a_stream_in_a_frame_that_is_cut_is_in_part_there() -> None:
    """Even if all of the stream is there, and only the end of the frame is not."""
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(SMALL)
    carved = locate(BytesSource(frame[:-4]), 0)
    assert carved is not None
    assert (carved.verdict, carved.span.size) == (CarveVerdict.PARTIAL, len(frame) - 4)
    assert [one.code for one in carved.findings] == [one.code for one in verify_source(BytesSource(frame[:-4]))]


def test_bytes_after_the_stream_in_its_frame_are_reported() -> None:
    carved = found(frame := wrapped(SMALL + b"more"))
    assert (carved.verdict, carved.span.size) == (CarveVerdict.COMPLETE, len(frame))
    assert [one.code for one in carved.findings] == [one.code for one in verify_source(BytesSource(frame))]
