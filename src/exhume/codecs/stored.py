"""Streams that hold their content uncompressed, for people who examine a file with a hex viewer.

Most compression formats have raw blocks for data that does not get smaller.  `store` writes nothing but such blocks:
every decoder accepts the result, and its bytes can be read.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from exhume.codecs.common import Buffer
from exhume.codecs.layout import STORED_HEAD, raw_block_header
from exhume.errors import UnsupportedFeatureError

STORED_BLOCK = {"deflate": 65_535, "lzma2": 65_536, "zstd": 131_072}
"""Largest raw block of each codec, in bytes."""


def store(codec: str, data: Buffer) -> bytes:
    """A valid stream of `codec` that holds `data` uncompressed, in raw blocks (`recode --stored`).

    Raises `UnsupportedFeatureError` for a codec without raw blocks.
    """
    how = _STORED.get(codec)
    if how is None:
        raise UnsupportedFeatureError(f"codec {codec!r} has no stored form")
    return how(memoryview(data))


def _deflate(view: memoryview) -> bytes:
    """Return the bytes as uncompressed deflate blocks: last flag, size, inverted size, data."""
    out = bytearray()
    # `range(1)`: a stream without content has one empty block.
    for start in range(0, len(view), STORED_BLOCK["deflate"]) or range(1):
        piece = view[start : start + STORED_BLOCK["deflate"]]
        size = len(piece)
        last = start + size >= len(view)
        out += bytes([last]) + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little") + piece
    return bytes(out)


def _zlib(view: memoryview) -> bytes:
    """Return a zlib stream: header (deflate, window of 32 KiB, fastest), deflate stream, Adler-32."""
    return b"\x78\x01" + _deflate(view) + zlib.adler32(view).to_bytes(4, "big")


def _lzma2(view: memoryview) -> bytes:
    """Return the bytes as uncompressed LZMA2 chunks: 1 (first: resets the dictionary) or 2, size - 1, data; then 0."""
    out = bytearray()
    for start in range(0, len(view), STORED_BLOCK["lzma2"]):
        piece = view[start : start + STORED_BLOCK["lzma2"]]
        out += bytes([1 if start == 0 else 2]) + (len(piece) - 1).to_bytes(2, "big") + piece
    out.append(0)
    return bytes(out)


def _zstd(view: memoryview) -> bytes:
    """Return the bytes as one zstd frame of raw blocks."""
    out = bytearray(STORED_HEAD)
    # `range(1)`: a frame without content has one empty block.
    for start in range(0, len(view), STORED_BLOCK["zstd"]) or range(1):
        piece = view[start : start + STORED_BLOCK["zstd"]]
        last = start + len(piece) >= len(view)
        out += raw_block_header(len(piece), last=last) + piece
    return bytes(out)


def _snappy(view: memoryview) -> bytes:
    """A raw Snappy block with the data as one literal: its size as a varint, the tag with the length, the data."""
    out = bytearray()
    size = len(view)
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    if view.nbytes:
        length = len(view) - 1  # stored minus one
        if length < 60:
            out.append(length << 2)  # the lower two bits, 0, say that this is a literal
        else:  # 60 to 63 in the tag say that 1 to 4 bytes of length follow
            width = (length.bit_length() + 7) // 8
            out.append((59 + width) << 2)
            out += length.to_bytes(width, "little")
        out += view
    return bytes(out)


# The function for each codec.
_STORED: dict[str, Callable[[memoryview], bytes]] = {
    "none": bytes,
    "deflate": _deflate,
    "zlib": _zlib,
    "lzma2": _lzma2,
    "zstd": _zstd,
    "snappy": _snappy,
}
