"""Codecs: budgets, ends of streams, trailing bytes; each known trap of the libraries underneath has a test."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
import tracemalloc
import zlib

import cramjam
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from exhume import codecs
from exhume.codecs import Stepwise, deflate, xz
from exhume.codecs.common import Decoded, none
from exhume.codecs.deflate import INFLATE_FIRST
from exhume.codecs.layout import frames_most
from exhume.codecs.stored import store
from exhume.codecs.streams import inflate_file
from exhume.codecs.xz import lzma2_extent
from exhume.codecs.zstd import ZSTD_MAGIC, zstd_frames, zstd_partial, zstd_stream, zstd_whole
from exhume.errors import CodecError, LimitExceededError, MissingDependencyError, UnsupportedFeatureError
from exhume.native.kernel import frame_records
from tests.sizes import some

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
    stored = store(codec, data)
    assert codecs.decompress(codec, stored, max_size=size) == data
    assert data[:50] in stored


@pytest.mark.parametrize("codec", SELF_ENDING)
def test_trailing_bytes_are_reported_or_left_alone(codec: str) -> None:
    data = b"some data " * 100
    stored = codecs.compress(codec, data)
    assert codecs.decompress_prefix(codec, stored + b"\0\0tail", max_size=10_000) == Decoded(data, len(stored))
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
def test_the_budget_applies(codec: str) -> None:
    stored = codecs.compress(codec, bytes(1 << 20))
    with pytest.raises(LimitExceededError):
        codecs.decompress(codec, stored, max_size=(1 << 20) - 1)
    assert len(codecs.decompress(codec, stored, max_size=1 << 20)) == 1 << 20


@pytest.mark.parametrize("codec", ["deflate", "lzma2", "bz2", "zstd"])
@pytest.mark.slow
def test_a_bomb_costs_no_memory(codec: str) -> None:
    bomb = codecs.compress(codec, bytes(128 << 20), level=1)
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
    for kind in range(0x50, 0x60):
        skipped = bytes((kind,)) + b"\x2a\x4d\x18\x03\0\0\0xyz"
        pieces = [frames, skipped, frames]
        assert b"".join(content for _, content, _ in zstd_stream(pieces)) == b"abcabc"
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0xyz"
    assert codecs.decompress("zstd", frames, max_size=10) == b"abc"
    assert codecs.decompress("zstd", skippable + frames, max_size=10) == b"abc"
    assert [d for _, _, d in zstd_frames(frames, max_size=10)] == [b"a", b"bc"]
    assert codecs.decompress("zstd", b"", max_size=10) == b""
    with pytest.raises(CodecError):
        codecs.decompress("zstd", frames + b"junk", max_size=10)


def test_the_most_that_zstd_frames_can_become() -> None:
    """Raw and repeated blocks state it, a compressed one becomes at most 128 KiB; incomplete frames do not count."""
    text, noise = b"some words " * 1000, bytes(range(256))
    compressed = zstandard.ZstdCompressor(write_content_size=False).compress
    repeated = b"\x28\xb5\x2f\xfd\x00\x58" + (5000 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"x"
    assert codecs.decompress("zstd", repeated, max_size=5000) == b"x" * 5000
    assert frames_most(compressed(text)) == 1 << 17
    assert frames_most(compressed(noise)) == len(noise)
    assert frames_most(repeated) == 5000
    skipped = b"\x50\x2a\x4d\x18\x03\0\0\0xyz"
    assert frames_most(repeated + skipped + compressed(noise)) == 5000 + len(noise)
    assert frames_most(repeated + compressed(noise)[:-1]) == frames_most(repeated + b"junk") == 5000


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
    huge = ZSTD_MAGIC + b"\x00" + bytes([21 << 3]) + b"\x01\x00\x00"
    with pytest.raises(LimitExceededError):
        codecs.decompress("zstd", huge, max_size=1 << 20)


def test_unknown_codec() -> None:
    with pytest.raises(UnsupportedFeatureError):
        codecs.decompress("rot13", b"", max_size=1)
    with pytest.raises(UnsupportedFeatureError):
        codecs.compress("rot13", b"")
    with pytest.raises(UnsupportedFeatureError):
        store("lz4", b"")


@given(st.binary(max_size=3000), st.integers(0, 9))
def test_lzma2_size_needs_no_decoding(data: bytes, preset: int) -> None:
    stored = lzma.compress(data, format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": preset}])
    assert lzma2_extent(stored + b"tail") == (len(stored), len(data))
    for cut in range(len(stored)):
        with pytest.raises(CodecError):
            lzma2_extent(stored[:cut])


@pytest.fixture
def newer_liblzma(monkeypatch: pytest.MonkeyPatch) -> xz.NewerLiblzma:
    """The decoder that takes over after much decoding, from the first byte on."""
    pytest.importorskip("imagecodecs")
    engine = xz.NewerLiblzma(worthwhile=0)
    monkeypatch.setattr(xz, "_newer", engine)
    return engine


@pytest.mark.parametrize("preset", [0, 1, 6 | lzma.PRESET_EXTREME])
@pytest.mark.parametrize("size", [1, 2, 5000, 70_000, 3 << 20])
@pytest.mark.bulk
def test_a_newer_liblzma_yields_the_same(newer_liblzma: xz.NewerLiblzma, preset: int, size: int) -> None:
    data = random.Random(size).randbytes(size // 2) + b"text " * (size // 10) + bytes(size - size // 2 - size // 10 * 5)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": 1 << 20}]
    for stored in (lzma.compress(data, lzma.FORMAT_RAW, filters=filters), store("lzma2", data)):
        assert newer_liblzma.decode(stored, size) == Decoded(data, len(stored))
        assert codecs.decompress_prefix("lzma2", memoryview(stored + b"\0tail"), max_size=size).consumed == len(stored)
        assert newer_liblzma.decode(stored, size - 1) is None
        with pytest.raises(LimitExceededError):
            codecs.decompress("lzma2", stored, max_size=size - 1)


def test_the_standard_library_reports_what_is_wrong(newer_liblzma: xz.NewerLiblzma) -> None:
    assert codecs.decompress("lzma2", b"\0", max_size=0) == b""
    data = b"".join(b"%d " % (i * i) for i in range(2000))
    stored = codecs.compress("lzma2", data)
    far = lzma.compress(random.Random(1).randbytes((1 << 20) + 100_000) * 2, lzma.FORMAT_RAW,
                        filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 8 << 20}])  # fmt: skip
    damaged = [stored[:-1], b"\x77" + stored, stored[:1000] + b"\xff\xff\xff" + stored[1003:], far]
    for bad in damaged:
        assert newer_liblzma.decode(bad, 8 << 20) is None
        with pytest.raises(CodecError, match=r"corrupt stream|truncated"):
            codecs.decompress("lzma2", bad, max_size=8 << 20)


def test_a_newer_liblzma_is_loaded_when_it_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[int] = []

    def engine() -> None:
        requested.append(1)

    monkeypatch.setattr(xz, "newer_engine", engine)
    monkeypatch.setattr(xz, "_newer", xz.NewerLiblzma(worthwhile=2500))
    stored = codecs.compress("lzma2", bytes(1000))
    for expected in (0, 0, 0, 1, 2):
        assert codecs.decompress("lzma2", stored, max_size=1000) == bytes(1000)
        assert len(requested) == expected


WORDS = ("alpha", "beta", "gamma", "delta", "foo", "bar", "lorem", "ipsum", "dolor", "amet", "news", "blog", "shop")


@pytest.mark.parametrize(
    "shape",
    [
        "https://example.org/{0}/{1}-{2}-{3}?id={4}",
        '{{"level": "{0}", "user": {5}, "msg": "{1} {2} took {4} ms"}}',
        "{4:06}{5} {0} {5} {4:x}",
    ],
)
@pytest.mark.slow
def test_the_fast_lzma_level_costs_little_size(shape: str) -> None:
    """Whether neighboring records share nearly all of a line, or a few bytes."""
    random.seed(shape)
    lines = sorted(
        shape.format(*random.choices(WORDS, k=4), random.randrange(10**6), random.randrange(999)).encode()
        for _ in range(9000)
    )
    data = frame_records(lines)
    fast = xz.lzma2_fast(data)
    assert codecs.decompress("lzma2", fast, max_size=len(data)) == data
    assert len(fast) <= 1.01 * len(xz.lzma2_compress(data, 0, extreme=True))


@pytest.mark.parametrize("isal", [True, False])
@pytest.mark.parametrize("codec", ["deflate", "lzma2"])
def test_steps_yield_what_the_whole_yields(codec: str, isal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not isal:
        monkeypatch.setattr(deflate, "igzip_lib", lambda: None)
    data = b"".join(b"%d " % (i * i) for i in range(20_000))
    stored = codecs.compress(codec, data)
    engine = Stepwise(codec, memoryview(stored + b"tail"))
    out = b""
    while piece := engine.more(1000):
        assert len(piece) <= 1000
        out += piece
    assert (out, engine.finished, engine.consumed) == (data, True, len(stored))
    assert engine.more(1) == b""
    engine = Stepwise(codec, stored[: len(stored) // 2])
    with pytest.raises(CodecError, match="truncated"):
        while True:
            engine.more(1000)
    with pytest.raises(CodecError, match="corrupt"):
        Stepwise(codec, b"\xff" * 100).more(1000)


@pytest.mark.parametrize("codec", ["deflate", "zlib", "gzip", "lzma", "lzma2"])
def test_a_compressor_that_is_not_there(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """None replaces another: the output would depend on the installation."""
    xz._encoder.cache_clear()
    monkeypatch.setitem(sys.modules, "deflate", None)
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(MissingDependencyError, match="needs the package"):
        codecs.compress(codec, b"x")


@pytest.mark.parametrize("codec", ["deflate", "zlib"])
def test_payloads_beyond_the_first_step(codec: str) -> None:
    for size in (INFLATE_FIRST - 1, INFLATE_FIRST, INFLATE_FIRST + 1, 3 * INFLATE_FIRST):
        data = bytes(size)
        stored = codecs.compress(codec, data)
        assert codecs.decompress_prefix(codec, stored + b"tail", max_size=size) == Decoded(data, len(stored))
        with pytest.raises(LimitExceededError):
            codecs.decompress(codec, stored, max_size=size - 1)
        with pytest.raises(CodecError, match="truncated"):
            codecs.decompress(codec, stored[:-6], max_size=4 << 20)
        with pytest.raises(CodecError, match="wrong decompressed size"):
            codecs.decompress(codec, stored, max_size=4 << 20, size=size + 1)


def test_a_stated_size_that_is_too_small() -> None:
    for codec in ("deflate", "zlib", "lzma2", "lzma"):
        with pytest.raises(CodecError):
            codecs.decompress(codec, codecs.compress(codec, bytes(5000)), max_size=1 << 20, size=4999)


LZ4_FRAMES = {
    "linked blocks": "04224d18684048000000000000004f100000006f68656c6c6f2006002a50656c6c6f2000000000",
    "every checksum": "04224d187c4048000000000000002b100000006f68656c6c6f2006002a50656c6c6f20a7c4c27900000000ba8cfa17",
    "no size": "04224d18604082100000006f68656c6c6f2006002a50656c6c6f2000000000",
}
"""What lz4 4.4.5 (the package around liblz4) makes of the same 72 bytes."""


@pytest.mark.parametrize("frame", LZ4_FRAMES.values(), ids=LZ4_FRAMES)
def test_lz4_frames(frame: str) -> None:
    stored, data = bytes.fromhex(frame), b"hello " * 12
    assert codecs.decompress("lz4-frame", stored, max_size=72) == data
    assert codecs.decompress("lz4-frame", stored + stored, max_size=144) == data + data
    for damaged in (stored[:-1], stored[:20], stored + b"?", stored[:-10] + b"?" + stored[-9:], b""):
        with pytest.raises(CodecError, match="lz4: "):
            codecs.decompress("lz4-frame", damaged, max_size=1 << 20)
    with pytest.raises(LimitExceededError):
        codecs.decompress("lz4-frame", stored, max_size=71)


def test_an_lz4_frame_costs_what_it_can_become() -> None:
    bomb = bytes(cramjam.lz4.compress(bytes(8 << 20)))
    assert codecs.decompress("lz4-frame", bomb, max_size=8 << 20) == bytes(8 << 20)
    tracemalloc.start()
    with pytest.raises(LimitExceededError):
        codecs.decompress("lz4-frame", bomb, max_size=1 << 20)
    with pytest.raises(CodecError):
        codecs.decompress("lz4-frame", bomb[:100], max_size=1 << 40)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


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
    assert zlib.decompress(store("zlib", data)) == data
    assert zstandard.ZstdDecompressor().decompressobj().decompress(store("zstd", data)) == data


SKIPPABLE = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"aside"


@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_compressed_files_are_read_whole(size: int) -> None:
    """Consecutive frames and members are one content, in chunks of at most `size` bytes."""
    data = random.Random(1).randbytes(3000) + bytes(40_000)
    frame = zstandard.compress(data)
    stored = {b"": b"", data: data, SKIPPABLE + frame + SKIPPABLE + frame: data * 2, gzip.compress(data) * 2: data * 2}
    for file, content in some(stored.items()):
        pieces = list(inflate_file(io.BytesIO(file), "file", size))
        assert b"".join(pieces) == content
        assert max(map(len, pieces), default=0) <= size


def test_a_compressed_file_cut_anywhere_is_refused() -> None:
    data = random.Random(1).randbytes(300)
    frame = zstandard.compress(data)
    for cut in range(4, len(frame)):
        found = b""
        with pytest.raises(CodecError, match="file: the zstd stream ends inside a frame"):
            for piece in inflate_file(io.BytesIO(frame + frame[:cut]), "file"):
                found += piece
        assert found[: len(data)] == data
    packed = gzip.compress(data)
    for cut in range(4, len(packed)):
        with pytest.raises(CodecError, match="file: corrupt gzip stream"):
            list(inflate_file(io.BytesIO(packed[:cut]), "file"))
    for rest in (b"junk!", SKIPPABLE[:6]):
        with pytest.raises(CodecError, match="zstd stream"):
            list(inflate_file(io.BytesIO(frame + rest), "file"))


@pytest.mark.parametrize("states_size", [True, False])
def test_a_whole_zstd_frame_has_nothing_after_it(states_size: bool) -> None:
    frame = zstandard.ZstdCompressor(write_content_size=states_size).compress(b"abc" * 1000)
    assert zstd_whole(frame, max_size=1 << 20) == b"abc" * 1000
    for more in (b"x", b"more than a header", frame, b"\x50\x2a\x4d\x18\0\0\0\0"):
        assert zstd_whole(frame + more, max_size=1 << 20) is None, more
    assert zstd_whole(frame[:-1], max_size=1 << 20) is None
    assert zstd_whole(b"\x50\x2a\x4d\x18\0\0\0\0", max_size=1 << 20) is None, "a skippable frame alone"
    assert zstd_whole(b"", max_size=1 << 20) is None


def test_a_zstd_frame_that_wrongly_states_that_it_is_empty() -> None:
    frame = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(b"a"))
    frame[len(ZSTD_MAGIC) + 1] = 0
    assert zstd_whole(frame, max_size=1 << 20) is None
    with pytest.raises(CodecError):
        codecs.decompress("zstd", bytes(frame), max_size=1 << 20)


@pytest.mark.parametrize("sized", [True, False])
def test_what_is_left_of_a_zstd_frame(sized: bool) -> None:
    data = random.Random(7).randbytes(300_000)
    frame = zstandard.ZstdCompressor(write_content_size=sized, write_checksum=True).compress(data)
    for following in (b"", b"junk", frame):
        assert zstd_partial(frame + following, max_size=len(data)) == (data, len(frame), True)
    cut, _, whole = zstd_partial(frame[:200_000], max_size=len(data))
    assert not whole
    assert len(cut) >= 128 << 10, "the block before the cut"
    assert data.startswith(cut)
    damaged = bytearray(frame)
    damaged[-1] ^= 1
    kept, _, whole = zstd_partial(bytes(damaged), max_size=len(data))
    assert not whole
    assert kept
    assert data.startswith(kept)
    with pytest.raises(LimitExceededError):
        zstd_partial(frame, max_size=len(data) - 1)


def test_an_lz4_frame_that_needs_a_dictionary_is_not_corrupt() -> None:
    frame = b"\x04\x22\x4d\x18" + b"\x61\x40" + b"\x07\0\0\0" + b"\x5c" + b"\0\0\0\0"
    with pytest.raises(UnsupportedFeatureError, match="dictionary"):
        codecs.decompress("lz4-frame", frame, max_size=1000)


def test_errors_state_what_was_expected_and_what_was_there() -> None:
    assert none(b"abc", 3, 2) == Decoded(b"ab", 2)
    with pytest.raises(CodecError, match="none: truncated payload") as cut:
        none(b"abc", 9, 5)
    assert (cut.value.expected, cut.value.actual) == ("5 bytes", "3 bytes")
    with pytest.raises(LimitExceededError) as above:
        none(b"abc", 2, None)
    assert (above.value.expected, above.value.actual) == ("at most 2 bytes", 3)


@pytest.mark.parametrize("codec", ["deflate", "lzma2"])
def test_steps_state_what_is_wrong(codec: str) -> None:
    stored = store(codec, b"abc" * 99)
    steps = Stepwise(codec, stored[:-3])
    with pytest.raises(CodecError, match="truncated stream") as cut:
        while True:
            steps.more(1000)
    assert cut.value.actual == f"{len(stored) - 3} bytes without an end"
    with pytest.raises(CodecError, match="corrupt stream") as corrupt:
        Stepwise(codec, b"\x07" * 99).more(1000)
    assert str(corrupt.value.actual) not in ("", "None")


def test_steps_keep_the_bytes_of_a_view() -> None:
    view = memoryview(store("deflate", b"abc" * 99))
    steps = Stepwise("deflate", view)
    view.release()
    assert steps.more(1000) == b"abc" * 99
