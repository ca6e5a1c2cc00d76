"""From a payload to a finished block: order check, compression, checksum.

The payload of a data block is records, each preceded by its length; that of an index block is keys with references.
`compress_payload` is the function that `compressor` returns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from exhume.codecs import compress
from exhume.codecs.checksums import crc64_xz
from exhume.codecs.deflate import isal_compress
from exhume.codecs.stored import store
from exhume.codecs.xz import lzma2_fast
from exhume.errors import WriterError
from exhume.formats.zs.layout import build_block
from exhume.formats.zs.layout_facts import DECODERS, STORED_CODECS
from exhume.native.kernel import scan_records

Codec = Literal["none", "deflate", "lzma"]
"""The codecs of data and index blocks."""

LEVELS: dict[Codec, tuple[str, ...]] = {
    "none": ("fast",),
    "deflate": ("fast", *map(str, range(1, 13)), "isal", "stored"),
    "lzma": ("fast", "0", "0e", "1", "1e", "stored"),
}
"""Compression levels by codec, the default first.  `fast` is nothing for none, level 5 for deflate, and 0e tuned for
records for lzma; the numbers are those of libdeflate and xz; `stored` wraps payloads in raw blocks.  Only the output of
`isal` depends on the processor."""

Compressor = Callable[[bytes], bytes]
"""Function from a payload to its compressed form."""


def compressor(codec: Codec, level: str | int | None = None) -> Compressor:
    """Return a function that compresses one payload.  Raises `WriterError` for unknown codecs and levels."""
    if codec not in STORED_CODECS:
        raise WriterError("unknown codec", expected=f"one of {', '.join(STORED_CODECS)}", actual=codec)
    known = LEVELS[codec]  # the default is the first
    chosen = known[0] if level is None else str(level)
    if chosen not in known:
        raise WriterError(
            f"unknown compression level for {codec}", expected=f"one of {', '.join(known)}", actual=chosen
        )
    if codec == "none":
        return lambda payload: payload
    if chosen == "fast":
        return functools.partial(compress, "deflate") if codec == "deflate" else lzma2_fast
    if chosen == "isal":
        return isal_compress
    if chosen == "stored":
        engine = DECODERS[STORED_CODECS[codec]]
        return lambda payload: store(engine, payload)
    # Numbered levels.
    if codec == "deflate":
        return lambda payload: compress("deflate", payload, level=int(chosen))
    return lambda payload: compress("lzma2", payload, level=int(chosen[0]), extreme=chosen.endswith("e"))


@dataclass(frozen=True, slots=True)
class Encoded:
    """A data block ready to be written, in parts, with what the neighboring blocks and the index need to know.

    Records above `LARGE_RECORD` are not copied.
    """

    block: Sequence[bytes]
    """The bytes to write, in parts; empty if the records are not sorted."""
    payload: bytes
    """The records, not compressed."""
    first: bytes | memoryview
    """The first record."""
    last: bytes | memoryview
    """The last record."""
    records: int
    """Number of records."""
    unsorted: tuple[int, bytes, bytes] | None = None
    """The first record that is smaller than the one before it: its number, the record before, the record."""


LARGE_RECORD = 1 << 20
"""Bytes of a record above which it is not copied out of its payload."""


def encode_block(level: int, payload: bytes, compress_payload: Compressor) -> Sequence[bytes]:
    """Return the bytes of a block of any level, in parts."""
    stored = compress_payload(payload)
    # The checksum continues from that of the level byte.
    return build_block(level, stored, crc64_xz(stored, crc64_xz(bytes((level,)))))


def encode_data(payload: bytes, compress_payload: Compressor) -> Encoded:
    """Encode a data block; if its records are not sorted, it is not compressed, and `unsorted` is set."""
    scan = scan_records(payload)
    first = _record(payload, *scan.first)
    last = first if scan.last == scan.first else _record(payload, *scan.last)
    if scan.unsorted >= 0:
        # `unsorted`: number of the first record out of order; `previous`, `current`: where that before it, and it, are.
        fault = (scan.unsorted, payload[slice(*scan.previous)], payload[slice(*scan.current)])
        return Encoded((), payload, first, last, scan.records, fault)
    return Encoded(encode_block(0, payload, compress_payload), payload, first, last, scan.records)


def _record(payload: bytes, start: int, stop: int) -> bytes | memoryview:
    """Return the record `[start, stop)` of a payload: a copy, or, if it is large, a view that keeps the payload."""
    return payload[start:stop] if stop - start <= LARGE_RECORD else memoryview(payload)[start:stop]


def is_smaller(one: bytes | memoryview, other: bytes | memoryview) -> bool:
    """Return whether a record is smaller than another; large ones are compared in chunks (views have no `<`)."""
    if isinstance(one, bytes) and isinstance(other, bytes):
        return one < other
    for at in range(0, min(len(one), len(other)), LARGE_RECORD):
        left, right = bytes(one[at : at + LARGE_RECORD]), bytes(other[at : at + LARGE_RECORD])
        if left != right:
            return left < right
    return len(one) < len(other)


def shortest_key(first: bytes | memoryview, before: bytes | memoryview | None) -> bytes:
    """Return the shortest key that the specification allows between the record before a block and its first one.

    Empty for the first block; a prefix of `first` otherwise, not smaller than `before`.
    """
    if before is None:
        return b""
    common = 0
    for left, right in zip(first, before, strict=False):
        if left != right:
            break
        common += 1
    # If the common prefix is all of `before`, it is not smaller than that; else one more byte makes it larger.
    return bytes(first[:common] if common == len(before) else first[: common + 1])
