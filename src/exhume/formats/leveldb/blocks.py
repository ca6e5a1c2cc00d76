"""One stored block of a table: its checksum, its codec, its entries.  Pure functions over bytes.

A stored block is its contents, perhaps compressed, then a byte for the compression and a checksum of both (masked: a
CRC-32C is rotated and shifted, as LevelDB does).  An entry omits the bytes of its key that it shares with the key
before, except at restart points, whose offsets end the block.  `family` is the kind of footer that the table has
(`leveldb` or `rocksdb`), `version` the format version in it.

Spec: LevelDB doc/table_format.md; RocksDB table/format.cc (checksum types, compression formats).
"""

from __future__ import annotations

from exhume.codecs import compress, decompress
from exhume.codecs.checksums import RunningChecksum, crc32c, mask_crc32c, xxh3_64, xxhash32, xxhash64
from exhume.counts import counted
from exhume.errors import CodecError, UnsupportedFeatureError
from exhume.formats.leveldb.layout import LayoutError, read_leveldb_varint
from exhume.formats.leveldb.layout_facts import NUM_RESTARTS, RESTART, TRAILER, ZSTD_MAGIC, Compressions
from exhume.formats.leveldb.wire import build_varint
from exhume.native.kernel import BLOCK_BOMB, BLOCK_FINE, BLOCK_LENGTHS, BLOCK_SHARED, BLOCK_SHORT_KEY
from exhume.tuples import NamedTuple

# The name of each compression byte, as exhume's codecs are called.
CODEC_NAMES = {int(one): one.name.lower() for one in Compressions}
CODEC_NAMES |= {Compressions.BZIP2: "bz2", Compressions.EARLY_ZSTD: "zstd"}
_SIZED: dict[int, str] = {
    Compressions.ZLIB: "deflate",
    Compressions.BZIP2: "bz2",
    Compressions.LZ4: "lz4",
    Compressions.LZ4HC: "lz4",
    Compressions.ZSTD: "zstd",
    Compressions.EARLY_ZSTD: "zstd",
}
"""Codecs of RocksDB's compressions that are preceded by the decompressed size."""
_PRIMED = frozenset(
    (Compressions.ZLIB, Compressions.LZ4, Compressions.LZ4HC, Compressions.ZSTD, Compressions.EARLY_ZSTD)
)
"""Compressions that RocksDB primes with the table's dictionary."""
# Descriptions of the kinds of checksums.
ALGORITHMS = {
    "crc32c": "masked CRC-32C",
    "xxhash32": "XXH32",
    "xxhash64": "XXH64, low half",
    "xxh3": "XXH3, low half",
    "none": "none, the place of the footer alone",
}
# Messages for the problems with which the kernel stops at an entry.
PROBLEMS = {
    BLOCK_FINE: "",
    BLOCK_LENGTHS: "lengths pass the end of the block",
    BLOCK_SHARED: "a key shares more bytes than the one before it has",
    BLOCK_SHORT_KEY: "an internal key is shorter than 8 bytes",
    BLOCK_BOMB: "shared prefixes expand beyond the limit",
}
_U32 = 0xFFFFFFFF  # as a mask: checksums have 32 bits
_LAST_BYTE_PRIME = 0x6B9083D9
"""RocksDB adds the compression byte to XXH3 by itself (table/format.cc, `ModifyChecksumForLastByte`)."""


def block_checksum(kind: str, stored: bytes, *, base_context: int = 0, offset: int = 0) -> int | None:
    """Return the checksum of `stored` (contents and compression byte); None for the kinds of tables without checksums.

    In RocksDB from version 6, it is modified by `base_context`, a number in the footer, and the block's `offset`.
    """
    match kind:
        case "crc32c":
            value = mask_crc32c(crc32c(stored))
        case "xxhash32":
            value = xxhash32(stored)
        case "xxhash64":
            value = xxhash64(stored) & _U32
        case "xxh3":
            value = (xxh3_64(memoryview(stored)[:-1]) & _U32) ^ (stored[-1] * _LAST_BYTE_PRIME & _U32)
        case _:
            return None
    return (value + context_modifier(base_context, offset)) & _U32


def sealed_checksum(kind: str, running: RunningChecksum, compression: int) -> int:
    """Return the checksum of a block whose contents were added to `running`; 0 for tables without checksums.

    It is that of `block_checksum` without context.  `running` is not changed.
    """
    match kind:
        case "crc32c":
            return mask_crc32c(running.value(bytes((compression,))))
        case "xxh3":
            return (running.value() & _U32) ^ (compression * _LAST_BYTE_PRIME & _U32)
        case "none":
            return 0
        case _:
            return running.value(bytes((compression,))) & _U32


def context_modifier(base_context: int, offset: int) -> int:
    """The number that RocksDB 6 and later add to the checksum of a block at `offset` (0 if `base_context` is 0)."""
    return (base_context ^ ((offset & _U32) + (offset >> 32)) & _U32) if base_context else 0


def codec_name(compression: int) -> str:
    """The name of a compression byte, `type-N` for an unknown one."""
    return CODEC_NAMES.get(compression, f"type-{compression}")


class BlockCodec(NamedTuple):
    """How the contents of a block are compressed.

    `start` is where the codec's bytes begin, `size` the decompressed size if it is stated, `dictionary` what primes the
    codec.
    """

    codec: str
    start: int = 0
    size: int | None = None
    dictionary: bytes = b""


def block_codec(
    contents: bytes, compression: int, *, family: str, version: int, dictionary: bytes | None = b""
) -> BlockCodec:
    """Codec of the contents of a block, from its first bytes.

    RocksDB stores the decompressed size first (a varint from version 2, eight bytes before for lz4); type 2 is raw
    deflate there.  With LevelDB's footer, type 2 is a zlib stream in dacha and in Mojang's LevelDB, and a zstd frame in
    newer LevelDB, told apart by their first bytes; type 4 is raw deflate (Mojang).  `dictionary` is that of the table,
    which primes RocksDB's codecs; None for one that cannot be read.  Raises `CodecError` and `UnsupportedFeatureError`.
    """
    if dictionary is None and compression in _PRIMED:
        raise CodecError("its compression dictionary cannot be read", actual=codec_name(compression))
    match compression:
        case Compressions.NONE:
            return BlockCodec("none")
        case Compressions.SNAPPY:
            return BlockCodec("snappy")
        case Compressions.ZLIB if family == "leveldb":
            if contents.startswith(ZSTD_MAGIC):
                return BlockCodec("zstd")
            # The header of zlib (RFC 1950): method 8, and two bytes that are a multiple of 31.
            if len(contents) >= 2 and contents[0] & 0x0F == 8 and (contents[0] << 8 | contents[1]) % 31 == 0:
                return BlockCodec("zlib")
            return BlockCodec("deflate")
        case Compressions.LZ4 if family == "leveldb":
            return BlockCodec("deflate")
        case Compressions.ZLIB if version < 2:
            return BlockCodec("deflate", dictionary=dictionary or b"")
        case Compressions.ZSTD | Compressions.EARLY_ZSTD if contents.startswith(ZSTD_MAGIC):  # no size before the frame
            return BlockCodec("zstd")
        case _ if (codec := _SIZED.get(compression)) is not None:
            size, start = _stated_size(contents, wide=version < 2 and codec == "lz4")
            primed = (dictionary or b"") if compression in _PRIMED else b""
            if primed and codec == "zstd":  # the codec that takes a dictionary
                codec = "zstd-frame"
            return BlockCodec(codec, start, size, primed)
    raise UnsupportedFeatureError("unknown block compression", actual=codec_name(compression))


def decode_block(
    contents: bytes, compression: int, *, family: str, version: int, max_size: int, dictionary: bytes | None = b""
) -> bytes:
    """Return the decompressed contents of a block, at most `max_size` bytes; see `block_codec` for the arguments.

    Raises `CodecError`, `LimitExceededError`, `UnsupportedFeatureError`.
    """
    if not compression:
        return decompress("none", contents, max_size=max_size)
    codec, start, size, primed = block_codec(
        contents, compression, family=family, version=version, dictionary=dictionary
    )
    stored = memoryview(contents)[start:] if start else contents
    return decompress(codec, stored, max_size=max_size, size=size, dictionary=primed)


def _stated_size(contents: bytes, *, wide: bool) -> tuple[int, int]:
    """Return (decompressed size, offset at which the codec's bytes begin). `wide`: the size takes 8 bytes, else it is a
    varint.

    Read by hand, not by a generated reader: which form it is depends on the version in the footer of the table, which
    the specification of a block does not know. Raises `CodecError`.
    """
    if wide:
        if len(contents) < 8:
            raise CodecError("the block is shorter than its size field", actual=counted(len(contents), "bytes"))
        return int.from_bytes(contents[:8], "little"), 8
    try:
        return read_leveldb_varint(contents, 0, len(contents))
    except LayoutError as error:
        raise CodecError("the block does not start with a readable size", actual=error.found) from error


def build_block(entries: list[tuple[bytes, bytes]], restart_interval: int = 16) -> bytes:
    """Return a block of sorted `(key, value)` with shared prefixes, restarting every `restart_interval` entries."""
    return b"".join(block_parts(entries, restart_interval))


def block_parts(
    entries: list[tuple[bytes, bytes]], restart_interval: int = 16, more: int = 0
) -> tuple[bytearray, bytes]:
    """Return the entries of a block, and its end: restart points and their number.

    The last value ends with `more` further bytes, which the caller writes itself.
    """
    out = bytearray()
    restarts: list[int] = []
    previous = b""
    for index, (key, value) in enumerate(entries):
        shared = 0
        if index % restart_interval == 0:
            restarts.append(len(out))
        else:
            shared = _common_prefix(previous, key)
        fresh, size = len(key) - shared, len(value) + (more if index == len(entries) - 1 else 0)
        if shared < 0x80 and fresh < 0x80 and size < 0x80:  # a byte each, without building varints
            out += bytes((shared, fresh, size))
        else:
            out += build_varint(shared) + build_varint(fresh) + build_varint(size)
        out += key[shared:] + value
        previous = key
    restarts = restarts or [0]  # an empty block has one, too
    return out, b"".join(map(RESTART.pack, restarts)) + NUM_RESTARTS.pack(len(restarts))


def _common_prefix(left: bytes, right: bytes) -> int:
    """Return the number of leading bytes that both have in common.

    Read as big-endian numbers, they differ up to a highest bit; the bytes above it are equal. This is faster than a
    loop.
    """
    size = min(len(left), len(right))
    different = int.from_bytes(left[:size], "big") ^ int.from_bytes(right[:size], "big")
    return size - (different.bit_length() + 7) // 8


def seal_block(contents: bytes, codec: str = "none") -> bytes:
    """A block as LevelDB stores it: (compressed) contents, compression byte, masked CRC-32C."""
    kind = Compressions[codec.upper()]
    stored = compress(codec, contents) if kind else contents
    return stored + TRAILER.pack(kind, mask_crc32c(crc32c(stored + bytes((kind,)))))
