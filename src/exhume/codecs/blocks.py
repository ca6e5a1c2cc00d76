"""Snappy and LZ4: raw blocks without a frame around them, and frames of LZ4."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Any

from exhume.codecs.common import Buffer, Decoded, Decoder, over_budget
from exhume.counts import counted
from exhume.errors import CodecError, MissingDependencyError, UnsupportedFeatureError


def snappy_size(data: Buffer) -> tuple[int, int]:
    """Declared size of a raw Snappy block and the length of that declaration.  Raises `CodecError`."""
    value = shift = 0
    for index, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index + 1
        shift += 7
    raise CodecError("snappy: bad length prefix")


def snappy_end(data: Buffer) -> tuple[int, int]:
    """`(stored_size, decompressed_size)` of the raw Snappy block at the start of `data`, from its element headers.

    The block has no end marker: it ends when the declared length is reached, whatever follows.  Raises `CodecError`
    when the elements do not add up to that length.
    """
    size, at = snappy_size(data)
    end, out = len(data), 0
    while out < size:
        if at >= end:
            raise CodecError("snappy: truncated block", expected=counted(size, "bytes"), actual=counted(out, "bytes"))
        tag = data[at]
        at += 1
        kind = tag & 3
        # Literal: up to 60 bytes in the tag; 60 to 63 mean that 1 to 4 bytes of length follow.
        if kind == 0:
            length = tag >> 2
            if length >= 60:
                extra = length - 59
                length = int.from_bytes(data[at : at + extra], "little")
                at += extra
            length += 1
            at += length
        elif kind == 1:
            length = ((tag >> 2) & 7) + 4
            at += 1
        else:
            length = (tag >> 2) + 1
            at += 2 if kind == 2 else 4
        out += length
        if at > end:
            raise CodecError("snappy: truncated block", expected=counted(size, "bytes"), actual=counted(out, "bytes"))
    if out != size:
        raise CodecError(
            "snappy: elements exceed the declared length", expected=counted(size, "bytes"), actual=counted(out, "bytes")
        )
    return at, size


def snappy(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """The raw Snappy block at the start of `data`.  Raises `CodecError`, or `LimitExceededError` beyond `max_size`."""
    stated, _ = snappy_size(data)
    if stated > max_size:
        raise over_budget("snappy", max_size, stated)
    raw = bytes(data)
    with suppress(Exception):  # as below; as a rule nothing follows the block, and finding its end costs as much again
        return Decoded(bytes(_cramjam().snappy.decompress_raw(raw)), len(raw))
    used, _ = snappy_end(raw)
    try:
        out = bytes(_cramjam().snappy.decompress_raw(raw[:used]))
    except Exception as error:  # cramjam.DecompressionError is not a stable name
        raise CodecError("snappy: corrupt block", actual=str(error)) from error
    return Decoded(out, used)


def lz4_block(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """The raw LZ4 block that fills `data`; the caller has checked that `size` is within `max_size`.

    Raises `CodecError` for damage or another size, `UnsupportedFeatureError` when `size` is None.
    """
    if size is None:
        raise UnsupportedFeatureError("lz4: a block without its decompressed size cannot be decoded")
    if size == 0:
        if bytes(data) not in (b"", b"\0"):
            raise CodecError("lz4: corrupt block", expected="an empty block", actual=counted(len(data), "bytes"))
        return Decoded(b"", len(data))
    out = bytearray(size)
    try:
        # Not `decompress_block`: it hides a short block by filling up with zeros.
        written = _cramjam().lz4.decompress_block_into(bytes(data), out, output_len=size)
    except Exception as error:  # cramjam.DecompressionError is not a stable name
        raise CodecError("lz4: corrupt block", actual=str(error)) from error
    if written != size:
        raise CodecError(
            "lz4: wrong decompressed size", expected=counted(size, "bytes"), actual=counted(written, "bytes")
        )
    return Decoded(bytes(out), len(data))


_LZ4_REACH = (1 << 16) - 1
"""Bytes that a block of LZ4 can refer back."""


def primed_lz4(dictionary: bytes) -> Decoder:
    """Return a decoder of raw LZ4 blocks that refer back into a dictionary.

    A block starts with literals. The decoder puts the end of the dictionary before the block's own first literals,
    decodes both, and drops the dictionary from the result.
    """
    prefix = dictionary[-_LZ4_REACH:]

    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        """Decode the block with the dictionary as its first literals, and return its own content."""
        raw = bytes(data)
        if size is None or not raw or size == 0:
            return lz4_block(data, max_size, size)
        literals, at = raw[0] >> 4, 1
        if literals == 15:
            while at < len(raw):
                literals += raw[at]
                at += 1
                if raw[at - 1] != 255:
                    break
        more, rest = divmod(max(0, literals + len(prefix) - 15), 255)
        length = b"\xff" * more + bytes((rest,)) if literals + len(prefix) >= 15 else b""
        token = bytes((min(15, literals + len(prefix)) << 4 | raw[0] & 15,))
        found = lz4_block(token + length + prefix + raw[at:], max_size + len(prefix), size + len(prefix))
        return Decoded(found.data[len(prefix) :], len(raw))

    return decode


LZ4_FRAME_MAGIC = b"\x04\x22\x4d\x18"
LZ4_NAMES_DICTIONARY = 1
"""The flag of a frame, in the byte after the magic number, that says that it names the dictionary it needs."""

LZ4_MOST = 255
"""The largest possible ratio of decompressed to stored size of LZ4."""


def lz4_frame(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """The LZ4 frames that fill `data`.

    The sizes that they state are not believed: the output buffer is as large as their stored bytes can become.  Raises
    `CodecError`, `LimitExceededError` beyond `max_size`, or `UnsupportedFeatureError` if the first one needs a
    dictionary.
    """
    raw = bytes(data)
    if not raw.startswith(LZ4_FRAME_MAGIC):
        raise CodecError("lz4: not a frame")
    if len(raw) > len(LZ4_FRAME_MAGIC) and raw[len(LZ4_FRAME_MAGIC)] & LZ4_NAMES_DICTIONARY:
        raise UnsupportedFeatureError("lz4: the frame needs a dictionary")
    out = bytearray(min(max_size, LZ4_MOST * len(raw)))
    try:
        written = _cramjam().lz4.decompress_into(raw, out)
    except Exception as error:  # cramjam.DecompressionError is not a stable name
        if len(out) == max_size and "write whole buffer" in str(error):
            raise over_budget("lz4", max_size) from error
        raise CodecError("lz4: corrupt frame", actual=str(error)) from error
    return Decoded(bytes(memoryview(out)[:written]), len(raw))


@functools.cache
def _cramjam() -> Any:
    """Return the module `cramjam`, imported on first use."""
    try:
        import cramjam
    except ImportError as error:
        raise MissingDependencyError("snappy and lz4 need the package cramjam") from error
    return cramjam


def snappy_compress(data: Buffer) -> bytes:
    """A raw Snappy block."""
    return bytes(_cramjam().snappy.compress_raw(bytes(data)))


def lz4_compress(data: Buffer) -> bytes:
    """A raw LZ4 block, without its decompressed size."""
    return bytes(_cramjam().lz4.compress_block(bytes(data), store_size=False))
