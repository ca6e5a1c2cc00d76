"""Streams that hold their content uncompressed, for people who look at a file with a hex viewer."""

from __future__ import annotations

import zlib

from exhume.codecs.common import Buffer
from exhume.codecs.layout import STORED_HEAD, raw_block_header
from exhume.errors import UnsupportedFeatureError

STORED_BLOCK = {"deflate": 65_535, "lzma2": 65_536, "zstd": 131_072}
"""Largest raw block of each codec."""


def store(codec: str, data: Buffer) -> bytes:
    """A valid stream of `codec` that holds `data` uncompressed, in raw blocks (`recode --stored`).

    Raises `UnsupportedFeatureError` for a codec without raw blocks.
    """
    view = memoryview(data)
    out = bytearray()
    match codec:
        case "none":
            out += view
        case "deflate" | "zlib":
            if codec == "zlib":
                out += b"\x78\x01"
            steps = range(0, len(view), STORED_BLOCK["deflate"]) or range(1)
            for start in steps:
                piece = view[start : start + STORED_BLOCK["deflate"]]
                last = start + len(piece) >= len(view)
                out += (
                    bytes([last])
                    + len(piece).to_bytes(2, "little")
                    + (len(piece) ^ 0xFFFF).to_bytes(2, "little")
                    + piece
                )
            if codec == "zlib":
                out += zlib.adler32(view).to_bytes(4, "big")
        case "lzma2":
            for start in range(0, len(view), STORED_BLOCK["lzma2"]):
                piece = view[start : start + STORED_BLOCK["lzma2"]]
                out += bytes([1 if start == 0 else 2]) + (len(piece) - 1).to_bytes(2, "big") + piece
            out.append(0)
        case "zstd":
            out += STORED_HEAD
            for start in range(0, len(view), STORED_BLOCK["zstd"]) or range(1):
                piece = view[start : start + STORED_BLOCK["zstd"]]
                last = start + len(piece) >= len(view)
                out += raw_block_header(len(piece), last=last) + piece
        case "snappy":
            size = len(view)
            while size >= 0x80:
                out.append(size & 0x7F | 0x80)
                size >>= 7
            out.append(size)
            if len(view):
                length = len(view) - 1
                if length < 60:
                    out.append(length << 2)
                else:
                    width = (length.bit_length() + 7) // 8
                    out.append((59 + width) << 2)
                    out += length.to_bytes(width, "little")
                out += view
        case _:
            raise UnsupportedFeatureError(f"codec {codec!r} has no stored form")
    return bytes(out)
