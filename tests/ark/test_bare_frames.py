"""Messages that are a frame of lz4 or zstd without a footer, as one would write them from the published text alone."""

from __future__ import annotations

import random

import cramjam
import pytest
import zstandard

from exhume.codecs.checksums import xxhash32
from exhume.errors import ExhumeError, LimitExceededError, Span
from exhume.findings import Finding
from exhume.formats.ark.checks import BARE_FRAME, FOOTER_MISSING
from exhume.formats.ark.messages import Decompressor
from exhume.limits import DEFAULT_LIMITS, Limits

DATA = b"one message, and again one message, " * 40 + random.Random(4).randbytes(300) + bytes(500)
WHERE = Span("split", 100, 200)


def block(data: bytes) -> bytes:
    return bytes(cramjam.lz4.compress_block(data, store_size=False))


def stored(data: bytes) -> tuple[int, bytes]:
    """A block as it is: the highest bit of its size states it."""
    return 1 << 31 | len(data), data


def packed(data: bytes) -> tuple[int, bytes]:
    return len(block(data)), block(data)


def frame(
    *blocks: tuple[int, bytes], size: bool = False, sums: bool = False, total: bool = False, linked: bool = False
) -> bytes:
    """An lz4 frame of `DATA` in these blocks, with all that its flags announce."""
    described = bytes([(0x40 if linked else 0x60) | 0x08 * size | 0x10 * sums | 0x04 * total, 0x40])
    described += len(DATA).to_bytes(8, "little") * size
    out = b"\x04\x22\x4d\x18" + described + bytes([xxhash32(described) >> 8 & 0xFF])
    for word, data in blocks:
        out += word.to_bytes(4, "little") + data + xxhash32(data).to_bytes(4, "little") * sums
    return out + bytes(4) + xxhash32(DATA).to_bytes(4, "little") * total


def decode(message: bytes, limits: Limits = DEFAULT_LIMITS) -> tuple[bytes, list[Finding]]:
    findings: list[Finding] = []
    return Decompressor("lz4", limits).decode(message, lambda: WHERE, findings), findings


ALL = ("size", "sums", "total", "linked")
FLAGS = [{}, *({flag: True} for flag in ALL), dict.fromkeys(ALL, True)]


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: "-".join(flags) or "none")
def test_frames_of_lz4(flags: dict[str, bool]) -> None:
    for blocks in ([packed(DATA)], [packed(DATA[:500]), stored(DATA[500:600]), packed(DATA[600:])]):
        found, findings = decode(frame(*blocks, **flags))
        assert found == DATA
        assert [(f.code, f.span) for f in findings] == [(BARE_FRAME.code, WHERE)]


def test_a_frame_of_nothing() -> None:
    assert decode(frame())[0] == b""


def test_a_frame_of_zstd() -> None:
    for content_size in (True, False):
        parameters = zstandard.ZstdCompressionParameters.from_level(3, write_content_size=content_size)
        message = zstandard.ZstdCompressor(compression_params=parameters).compress(DATA)
        found, findings = decode(message)
        assert (found, [f.code for f in findings]) == (DATA, [BARE_FRAME.code])
        assert Decompressor("zstd", DEFAULT_LIMITS).decode(message, lambda: WHERE) == DATA


GOOD = frame(packed(DATA))
BROKEN = {
    "another version": GOOD[:4] + b"\xa0" + GOOD[5:],
    "cut in the header": GOOD[:6],
    "cut before a block": GOOD[:7],
    "cut in a block": GOOD[:50],
    "cut before the end": GOOD[:-1],
    "bytes behind it": GOOD + b"?",
    "a header of another checksum": GOOD[:6] + bytes([GOOD[6] ^ 1]) + GOOD[7:],
    "a block of another checksum": frame(packed(DATA), sums=True)[:-8] + bytes(8),
    "content of another checksum": frame(packed(DATA[1:]), total=True),
    "content of another size": frame(packed(DATA[1:]), size=True),
    "a block that is none": frame((4, b"\x10a\x05\x00")),
    "no frame of zstd": b"\x28\xb5\x2f\xfd" + bytes(20),
    "neither": b"no frame at all",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_frame_lacks_its_footer(name: str) -> None:
    with pytest.raises(ExhumeError) as caught:
        decode(BROKEN[name])
    assert caught.value.code == FOOTER_MISSING.code


def test_a_frame_that_grows_beyond_the_limit() -> None:
    message = frame(*[packed(bytes(60_000))] * 3)
    assert decode(message)[0] == bytes(180_000)
    small = Limits(payload_size=100_000)
    with pytest.raises(LimitExceededError) as caught:
        decode(message, small)
    assert caught.value.expected == f"at most {small.payload_budget(len(message))} bytes"
