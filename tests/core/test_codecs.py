"""Codecs: budgets, ends of streams, trailing bytes; each known trap of the libraries underneath has a test."""

from __future__ import annotations

import bz2
import lzma
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from exhume import codecs
from exhume.errors import CodecError, LimitExceededError, UnsupportedFeatureError

ROUND_TRIP = ("none", "deflate", "zlib", "gzip", "lzma2", "lzma", "bz2", "zstd", "snappy", "lz4")
SELF_ENDING = ("deflate", "zlib", "gzip", "lzma2", "bz2", "zstd-frame", "snappy")
STORED = ("none", "deflate", "zlib", "lzma2", "zstd", "snappy")


@pytest.mark.parametrize("codec", ROUND_TRIP)
@given(data=st.binary(max_size=5000))
def test_round_trip(codec: str, data: bytes) -> None:
    stored = codecs.compress(codec, data)
    assert codecs.decompress(codec, stored, max_size=5000, size=len(data)) == data


@pytest.mark.parametrize("codec", STORED)
@pytest.mark.parametrize("size", [0, 1, 59, 60, 61, 255, 65_535, 65_536, 65_537, 131_072, 131_073, 300_000])
def test_stored_streams_are_valid_and_transparent(codec: str, size: int) -> None:
    data = bytes(i * 7 & 0xFF for i in range(size))
    stored = codecs.store(codec, data)
    assert codecs.decompress(codec, stored, max_size=size) == data
    assert data[:50] in stored


@pytest.mark.parametrize("codec", SELF_ENDING)
def test_trailing_bytes_are_told_or_left_alone(codec: str) -> None:
    data = b"some data " * 100
    stored = codecs.compress(codec, data)
    assert codecs.decompress_prefix(codec, stored + b"\0\0tail", max_size=10_000) == codecs.Decoded(data, len(stored))
    with pytest.raises(CodecError, match="after the end"):
        codecs.decompress(codec, stored + b"\0", max_size=10_000)


@pytest.mark.parametrize("codec", [c for c in ROUND_TRIP if c != "none"])
def test_cut_and_corrupt_streams(codec: str) -> None:
    data = bytes(range(256)) * 40
    stored = codecs.compress(codec, data)
    for cut in {0, 1, len(stored) // 2, len(stored) - 1}:
        if codec == "zstd" and cut == 0:
            continue  # an empty section is an empty payload
        with pytest.raises(CodecError):
            codecs.decompress(codec, stored[:cut], max_size=1 << 20, size=len(data))
    with pytest.raises((CodecError, LimitExceededError, UnsupportedFeatureError)):
        codecs.decompress(codec, b"\xff\xfe\xfd" * 20, max_size=1 << 20, size=len(data))


@pytest.mark.parametrize("codec", [c for c in ROUND_TRIP if c != "lz4"])
def test_the_budget_holds(codec: str) -> None:
    stored = codecs.compress(codec, bytes(1 << 20))
    with pytest.raises(LimitExceededError):
        codecs.decompress(codec, stored, max_size=(1 << 20) - 1)
    assert len(codecs.decompress(codec, stored, max_size=1 << 20)) == 1 << 20


@pytest.mark.parametrize("codec", ["deflate", "lzma2", "bz2", "zstd"])
def test_a_bomb_costs_no_memory(codec: str) -> None:
    bomb = codecs.compress(codec, bytes(256 << 20), level=1)
    tracemalloc.start()
    with pytest.raises(LimitExceededError):
        codecs.decompress(codec, bomb, max_size=1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_zstd_frame_that_states_its_size_is_refused_before_decoding() -> None:
    # One-shot zstandard ignores max_output_size for such frames.
    bomb = zstandard.ZstdCompressor().compress(bytes(64 << 20))
    assert zstandard.get_frame_parameters(bomb).content_size == 64 << 20
    with pytest.raises(LimitExceededError) as caught:
        codecs.decompress("zstd", bomb, max_size=1 << 20)
    assert caught.value.actual == 64 << 20


def test_zstd_frames_are_all_read() -> None:
    # One-shot zstandard drops every frame after the first.
    frames = b"".join(
        zstandard.ZstdCompressor(write_content_size=size).compress(d) for size, d in ((True, b"a"), (False, b"bc"))
    )
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0xyz"
    assert codecs.decompress("zstd", frames, max_size=10) == b"abc"
    assert codecs.decompress("zstd", skippable + frames, max_size=10) == b"abc"
    assert [d for _, _, d in codecs.zstd_frames(frames, max_size=10)] == [b"a", b"bc"]
    assert codecs.decompress("zstd", b"", max_size=10) == b""
    with pytest.raises(CodecError):
        codecs.decompress("zstd", frames + b"junk", max_size=10)


def test_zstd_frame_without_a_size_decodes() -> None:
    # One-shot zstandard refuses such frames.
    stored = zstandard.ZstdCompressor(write_content_size=False, write_checksum=False).compress(b"x" * 1000)
    assert codecs.decompress("zstd", stored, max_size=1000) == b"x" * 1000


def test_zstd_checksum_is_checked() -> None:
    stored = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(b"hello " * 100))
    stored[-1] ^= 1
    with pytest.raises(CodecError):
        codecs.decompress("zstd", bytes(stored), max_size=1000)


def test_zstd_window_is_limited() -> None:
    # max_window_size is ignored in one-shot mode; here a 2 GiB window is refused from the header alone.
    huge = codecs.ZSTD_MAGIC + b"\x00" + bytes([21 << 3]) + b"\x01\x00\x00"
    with pytest.raises(LimitExceededError):
        codecs.decompress("zstd", huge, max_size=1 << 20)


def test_unknown_codec() -> None:
    with pytest.raises(UnsupportedFeatureError):
        codecs.decompress("rot13", b"", max_size=1)
    with pytest.raises(UnsupportedFeatureError):
        codecs.compress("rot13", b"")
    with pytest.raises(UnsupportedFeatureError):
        codecs.store("lz4", b"")


@given(st.binary(max_size=3000), st.integers(0, 9))
def test_lzma2_size_needs_no_decoding(data: bytes, preset: int) -> None:
    stored = lzma.compress(data, format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": preset}])
    assert codecs.lzma2_size(stored) == len(data)
    for cut in range(len(stored)):
        with pytest.raises(CodecError):
            codecs.lzma2_size(stored[:cut])


@pytest.mark.parametrize("isal", [True, False])
@pytest.mark.parametrize("codec", ["deflate", "lzma2"])
def test_steps_give_what_the_whole_gives(codec: str, isal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not isal:
        monkeypatch.setattr(codecs, "_igzip", lambda: None)
    data = b"".join(b"%d " % (i * i) for i in range(20_000))
    stored = codecs.compress(codec, data)
    engine = codecs.Stepwise(codec, memoryview(stored + b"tail"))
    out = b""
    while piece := engine.more(1000):
        assert len(piece) <= 1000
        out += piece
    assert (out, engine.finished, engine.consumed) == (data, True, len(stored))
    assert engine.more(1) == b""
    engine = codecs.Stepwise(codec, stored[: len(stored) // 2])
    with pytest.raises(CodecError, match="cut short"):
        while True:
            engine.more(1000)
    with pytest.raises(CodecError, match="corrupt"):
        codecs.Stepwise(codec, b"\xff" * 100).more(1000)


@pytest.mark.parametrize("codec", ["deflate", "zlib"])
def test_payloads_beyond_the_first_step(codec: str) -> None:
    for size in (codecs.INFLATE_FIRST - 1, codecs.INFLATE_FIRST, codecs.INFLATE_FIRST + 1, 3 * codecs.INFLATE_FIRST):
        data = bytes(size)
        stored = codecs.compress(codec, data)
        assert codecs.decompress_prefix(codec, stored + b"tail", max_size=size) == codecs.Decoded(data, len(stored))
        with pytest.raises(LimitExceededError):
            codecs.decompress(codec, stored, max_size=size - 1)
        with pytest.raises(CodecError, match="cut short"):
            codecs.decompress(codec, stored[:-6], max_size=4 << 20)
        with pytest.raises(CodecError, match="wrong decompressed size"):
            codecs.decompress(codec, stored, max_size=4 << 20, size=size + 1)


def test_a_stated_size_that_is_too_small() -> None:
    for codec in ("deflate", "zlib", "lzma2", "lzma"):
        with pytest.raises(CodecError):
            codecs.decompress(codec, codecs.compress(codec, bytes(5000)), max_size=1 << 20, size=4999)


@given(st.binary(max_size=300))
def test_garbage_never_escapes(data: bytes) -> None:
    for codec in codecs.CODECS:
        try:
            codecs.decompress_prefix(codec, data, max_size=4096, size=100 if codec == "lz4" else None)
        except (CodecError, LimitExceededError, UnsupportedFeatureError) as error:
            assert "\n" not in str(error)


def test_peers_agree() -> None:
    data = b"peer " * 1000
    assert zlib.decompress(codecs.compress("zlib", data)) == data
    assert zlib.decompress(codecs.compress("deflate", data), -15) == data
    assert bz2.decompress(codecs.compress("bz2", data)) == data
    assert zlib.decompress(codecs.store("zlib", data)) == data
    assert zstandard.ZstdDecompressor().decompressobj().decompress(codecs.store("zstd", data)) == data
