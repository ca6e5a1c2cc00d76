"""Codecs that a dictionary primes."""

from __future__ import annotations

import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from exhume.codecs import compress, decompress
from exhume.errors import CodecError, LimitExceededError, UnsupportedFeatureError

WORDS = b"the quick brown fox jumps over the lazy dog " * 40


def lz4_of(literals: bytes, back: int, length: int, rest: bytes) -> bytes:
    """A block of LZ4: literals, a match of 4 to 18 bytes that many bytes back, and more literals."""
    out = b""
    for size, text, more in ((len(literals), literals, True), (len(rest), rest, False)):
        token = min(15, size) << 4 | (length - 4 if more else 0)
        extra = size - 15
        out += bytes((token,))
        while extra >= 0:
            out += bytes((min(255, extra),))
            if extra < 255:
                break
            extra -= 255
        out += text + (back.to_bytes(2, "little") if more else b"")
    return out


@given(st.binary(min_size=30, max_size=70_000), st.integers(0, 600), st.integers(4, 18), st.integers(1, 65_535))
def test_lz4_refers_back_into_the_dictionary(dictionary: bytes, count: int, length: int, back: int) -> None:
    literals = bytes(range(256))[:count] if count < 256 else b"x" * count
    back = max(length, min(back, count + len(dictionary)))
    whole = dictionary + literals
    if back > len(whole):
        return
    copied = whole[len(whole) - back :][:length]
    expected = literals + copied + b"final literals"
    block = lz4_of(literals, back, length, b"final literals")
    primed = decompress("lz4", block, max_size=1 << 20, size=len(expected), dictionary=dictionary)
    assert primed == expected
    with pytest.raises(CodecError):
        decompress("lz4", block, max_size=1 << 20, size=len(expected) + 1, dictionary=dictionary)


def test_deflate_and_zstd_with_a_dictionary() -> None:
    engine = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=WORDS)
    deflated = engine.compress(WORDS[:300]) + engine.flush()
    assert len(deflated) < 20
    assert decompress("deflate", deflated, max_size=300, dictionary=WORDS) == WORDS[:300]
    plain = zstandard.ZstdCompressionDict(WORDS, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    samples: list[bytes | bytearray | memoryview] = [b"key %d: " % n + WORDS[n : n + 200] for n in range(300)]
    trained = zstandard.train_dictionary(2000, samples)
    for dictionary in (plain, trained):
        frame = zstandard.ZstdCompressor(dict_data=dictionary).compress(samples[7])
        out = decompress("zstd-frame", frame, max_size=1000, dictionary=dictionary.as_bytes())
        assert out == samples[7]
        with pytest.raises(LimitExceededError):
            decompress("zstd-frame", frame, max_size=10, dictionary=dictionary.as_bytes())
    with pytest.raises(UnsupportedFeatureError, match="needs a dictionary"):
        decompress("zstd-frame", frame, max_size=1000)


def test_other_codecs_take_none() -> None:
    with pytest.raises(UnsupportedFeatureError, match="cannot be used with this codec"):
        decompress("snappy", compress("snappy", b"abc"), max_size=10, dictionary=b"x")
