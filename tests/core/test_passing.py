"""Payloads that are decompressed chunk by chunk have the same content as when decompressed as a whole.

Spec: none; the codecs are those of docs/architecture.md, "The way of a byte".
"""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator

import cramjam
import pytest

from exhume import codecs
from exhume.codecs import decompress
from exhume.codecs.passing import PIECE, PayloadStream
from exhume.errors import CodecError, LimitExceededError, UnsupportedFeatureError
from tests.sizes import some

CODECS = sorted(codecs.CODECS)


def compress(codec: str, content: bytes) -> bytes:
    return bytes(cramjam.lz4.compress(content)) if codec == "lz4-frame" else codecs.compress(codec, content)


def contents() -> list[bytes]:
    chance = random.Random(1)
    words = [bytes(chance.choices(b"abcdefgh", k=chance.randrange(1, 12))) for _ in range(300)]
    text = b" ".join(chance.choices(words, k=40_000))
    return [b"", b"x", b"abc" * 5, text, chance.randbytes(300_000), bytes(1_300_000), text * 4 + bytes(200_000) + text]


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def size_of(codec: str, content: bytes) -> int | None:
    return len(content) if codec == "lz4" else None


@pytest.mark.parametrize("codec", CODECS)
def test_pieces_are_the_content(codec: str) -> None:
    for content in some(one for one in contents() if one or codec != "lz4"):
        stored = compress(codec, content)
        for step in (997, 1 << 22):
            stream = PayloadStream(codec, cut(stored, step), max_size=1 << 30, size=size_of(codec, content))
            pieces = list(stream)
            assert b"".join(pieces) == content
            assert max(map(len, pieces), default=0) <= PIECE
            assert stream.consumed == len(stored)


@pytest.mark.parametrize("codec", CODECS)
def test_damage_is_found_as_in_one_piece(codec: str) -> None:
    """What is refused as a whole is refused in chunks; what is not has the same content."""
    content = contents()[3][:5000]
    stored = compress(codec, content)
    chance = random.Random(2)
    damaged = [stored[:at] for at in range(0, len(stored), 37)] + [stored + b"\0", stored + b"more" * 9]
    for _ in range(200):
        at = chance.randrange(len(stored))
        damaged.append(stored[:at] + bytes((stored[at] ^ 1 << chance.randrange(8),)) + stored[at + 1 :])
    for data in some(damaged):
        size = size_of(codec, content)
        try:
            whole = decompress(codec, data, max_size=1 << 24, size=size)
        except (CodecError, LimitExceededError):
            with pytest.raises((CodecError, LimitExceededError, UnsupportedFeatureError)):
                list(PayloadStream(codec, cut(data, 100), max_size=1 << 24, size=size))
        else:
            assert b"".join(PayloadStream(codec, cut(data, 100), max_size=1 << 24, size=size)) == whole


def test_what_follows_may_be_left() -> None:
    for codec in some(sorted({*CODECS} - {"none", "lz4", "lz4-frame", "zstd", "lzma"})):
        stored = compress(codec, b"content" * 99)
        stream = PayloadStream(codec, cut(stored + b"behind", 50), max_size=1 << 20, trailing=True)
        assert b"".join(stream) == b"content" * 99
        assert stream.consumed == len(stored)


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_and_the_size_are_kept(codec: str) -> None:
    stored = compress(codec, bytes(5 << 20))
    size = size_of(codec, bytes(5 << 20))
    with pytest.raises(LimitExceededError, match="payload_size"):
        list(PayloadStream(codec, cut(stored, 1 << 20), max_size=1 << 20, size=size))
    with pytest.raises(CodecError, match="size"):
        list(PayloadStream(codec, cut(stored, 1 << 20), max_size=1 << 30, size=(5 << 20) - 1))


@pytest.mark.parametrize("codec", CODECS)
def test_memory_is_that_of_a_piece(codec: str) -> None:
    size = 32 << 20
    stored = compress(codec, random.Random(4).randbytes(size) if codec == "snappy" else bytes(size))  # few elements
    tracemalloc.start()
    try:
        step = min(1 << 16, max(1 << 10, len(stored) // 16))
        assert sum(map(len, PayloadStream(codec, cut(stored, step), max_size=size, size=size))) == size
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (36 if codec.startswith("zstd") else 20) << 20


def test_copies_from_further_back_than_is_kept() -> None:
    """An element of Snappy may reach back further than any encoder does: it is refused by the limit, not as damage."""
    literal = b"\xf8" + (200_000 - 1).to_bytes(3, "little") + random.Random(3).randbytes(200_000)
    far = bytes((63 << 2 | 3,)) + (2_000_000).to_bytes(4, "little")
    total = 3_000_064
    size, head = total, bytearray()
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    stored = bytes(head) + literal * 15 + far
    with pytest.raises(LimitExceededError, match="payload_size"):
        list(PayloadStream("snappy", cut(stored, 1 << 16), max_size=1 << 30))


def test_frames_of_lz4_with_linked_blocks() -> None:
    """Blocks that refer back into those before them, compared with the library that wrote them."""
    lz4 = pytest.importorskip("lz4.frame")
    content = contents()[3] * 3
    for block_size in (4, 5, 6, 7):
        for checked in (False, True):
            stored = lz4.compress(
                content, block_size=block_size, block_linked=True, block_checksum=checked, content_checksum=checked
            )
            assert b"".join(PayloadStream("lz4-frame", cut(stored, 1 << 12), max_size=1 << 30)) == content
            skippable = b"\x5e\x2a\x4d\x18\x03\0\0\0any"
            several = stored + skippable + stored
            assert decompress("lz4-frame", several, max_size=1 << 30) == content * 2


def test_unknown_codecs() -> None:
    with pytest.raises(UnsupportedFeatureError, match="unknown codec 'lz5'"):
        PayloadStream("lz5", [], max_size=1)
