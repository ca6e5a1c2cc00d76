"""Block compressions that no installed producer writes any more, and the checksums of each kind."""

from __future__ import annotations

import zlib

import pytest

from exhume.codecs import compress
from exhume.errors import CodecError, Span, StructureError, UnsupportedFeatureError
from exhume.formats.leveldb.blocks import block_checksum, codec_name, decode_block, seal_block
from exhume.formats.leveldb.layout import parse_tail
from exhume.formats.leveldb.model import Verdict
from exhume.formats.leveldb.table_blocks import TableBlock
from exhume.formats.leveldb.wire import Handle, build_varint
from exhume.io.source import BytesSource

DATA = b"the same words again and again, " * 50
SIZE = build_varint(len(DATA))


@pytest.mark.parametrize(
    ("family", "version", "compression", "stored"),
    [
        ("leveldb", 0, 0, DATA),
        ("leveldb", 0, 1, compress("snappy", DATA)),
        ("leveldb", 0, 2, compress("zlib", DATA)),  # dacha
        ("leveldb", 0, 2, compress("zstd", DATA)),  # newer LevelDB
        ("leveldb", 0, 2, compress("deflate", DATA)),  # RocksDB, version 0
        ("rocksdb", 1, 2, compress("deflate", DATA)),
        ("rocksdb", 2, 2, SIZE + compress("deflate", DATA)),
        ("rocksdb", 1, 4, len(DATA).to_bytes(8, "little") + compress("lz4", DATA)),
        ("rocksdb", 5, 5, SIZE + compress("lz4", DATA)),
        ("rocksdb", 5, 3, SIZE + compress("bz2", DATA)),
        ("rocksdb", 5, 7, SIZE + compress("zstd", DATA)),
        ("rocksdb", 5, 0x40, SIZE + compress("zstd", DATA)),
    ],
)
def test_compressions(family: str, version: int, compression: int, stored: bytes) -> None:
    assert decode_block(stored, compression, family=family, version=version, max_size=1 << 20) == DATA
    assert not codec_name(compression).startswith("type-")


@pytest.mark.parametrize(
    ("compression", "stored", "error"),
    [
        (6, b"xpress", UnsupportedFeatureError),
        (99, b"", UnsupportedFeatureError),
        (4, b"\xff" * 4, CodecError),
        (7, b"", CodecError),
        (2, SIZE + compress("deflate", DATA[:-1]), CodecError),
    ],
)
def test_blocks_that_do_not_decode(compression: int, stored: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decode_block(stored, compression, family="rocksdb", version=5, max_size=1 << 20)


def test_checksums() -> None:
    sealed = seal_block(b"123456789", "zlib")
    assert block_checksum("crc32c", sealed[:-4]) == int.from_bytes(sealed[-4:], "little")
    assert block_checksum("none", b"x") is None
    plain = block_checksum("xxhash32", b"abc")
    assert plain == 0x32D153FF
    assert block_checksum("xxhash64", b"abc") == 0x44BC2CF5AD770999 & 0xFFFFFFFF
    assert block_checksum("xxhash32", b"abc", base_context=7, offset=1 << 33) == (plain + (7 ^ 2)) & 0xFFFFFFFF


@pytest.mark.parametrize("block", [b"", b"\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"])
def test_tails_that_do_not_fit(block: bytes) -> None:
    with pytest.raises(StructureError) as caught:
        parse_tail(block, Span("x", 0, 9).in_payload(0, len(block)))
    assert caught.value.field_path in ("packed_num_restarts", "num_restarts", "num_buckets")
    whole = TableBlock(Handle(0, len(block)), BytesSource(block), "none", Verdict.GOOD, block)
    with pytest.raises(StructureError):
        _ = whole.entries_end


@pytest.mark.parametrize(("kind", "wbits"), [(2, 15), (4, -15)])
def test_compressions_of_minecraft(kind: int, wbits: int) -> None:
    """Mojang's LevelDB: 2 is a zlib stream, 4 raw deflate, where RocksDB has LZ4."""
    engine = zlib.compressobj(6, zlib.DEFLATED, wbits)
    stored = engine.compress(b"blocks " * 50) + engine.flush()
    assert decode_block(stored, kind, family="leveldb", version=0, max_size=1000) == b"blocks " * 50
