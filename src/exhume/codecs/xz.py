"""LZMA: raw LZMA2 and the containers `.xz` and `.lzma`; and bzip2, whose decoder in the standard library is used alike.

Raw LZMA2 is the usual codec of ZS files, and decoding it takes nearly all of the time that reading them takes.  liblzma
5.6 decodes a quarter faster; Python uses the version of the system, which is often older.  The package `imagecodecs`
(the extra `lzma`) brings a current version, which is used where there is much to decode.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

from exhume.codecs.common import Buffer, Decoded, Decoder, over_budget
from exhume.codecs.deflate import deflate_compress
from exhume.counts import counted
from exhume.errors import CodecError, MissingDependencyError
from exhume.native.kernel import build_uleb128

ZS_LZMA2_DICTIONARY: Final = 1 << 20
"""Bytes of the dictionary of raw LZMA2, as ZS prescribes; the stream itself does not state it."""

WORTHWHILE: Final = 32 << 20
"""Bytes that the standard library decodes before a newer liblzma is loaded; loading takes 0.1 s."""

REDUNDANCY_SAMPLE: Final = 32 << 10
"""Bytes from the middle of a payload that show how similar its records are."""

REDUNDANT: Final = 3
"""Records share most of a line when libdeflate's level 1 makes a sample of them this many times smaller."""


def _family(name: str, make: Callable[[], Any]) -> Decoder:
    """The decoder of the codec `name`; `make` returns a new engine of the standard library for each payload."""

    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        """A `Decoder`: raises `CodecError` for damage, `LimitExceededError` for more than `max_size` bytes."""
        import lzma

        # One byte past what may come distinguishes "full" from "too much".  A known size keeps the engine from taking a
        # buffer of 1 MiB for the last piece, most of it unused.
        most = max_size if size is None else size
        engine = make()
        try:
            out = engine.decompress(bytes(data) if isinstance(data, memoryview) else data, most + 1)
        except (lzma.LZMAError, OSError, EOFError, ValueError) as error:
            raise CodecError(f"{name}: corrupt stream", actual=str(error)) from error
        if len(out) > most:
            if size is None:
                raise over_budget(name, max_size)
            raise CodecError(f"{name}: wrong decompressed size", expected=counted(size, "bytes"), actual="more")
        if not engine.eof:
            raise CodecError(f"{name}: truncated stream", actual=f"{counted(len(data), 'bytes')} without an end")
        return Decoded(out, len(data) - len(engine.unused_data))

    return decode


def lzma2_decoder() -> Any:
    """The standard library's decoder of raw LZMA2 with the dictionary of ZS."""
    import lzma

    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": ZS_LZMA2_DICTIONARY}]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)


def lzma2_extent(data: Buffer) -> tuple[int, int]:
    """`(stored_size, decompressed_size)` of the raw LZMA2 stream at the start of `data`, from its chunk headers.

    Nothing is decoded.  Raises `CodecError` when a chunk reaches past the end or the end marker is missing.
    """
    # The first byte of a chunk: 0 ends the stream, 1 and 2 are uncompressed chunks, from 0x80 on LZMA chunks (from 0xC0
    # on with new properties, in one more byte).  Sizes are big-endian and stored minus one.
    at, total, end = 0, 0, len(data)
    while at < end:
        control = data[at]
        if control == 0:
            return at + 1, total
        if control >= 0x80:
            header = 6 if control >= 0xC0 else 5
            if at + header > end:
                break
            # The lower five bits of the control byte are the highest of the decompressed size.
            total += ((control & 0x1F) << 16) + (data[at + 1] << 8) + data[at + 2] + 1
            at += header + (data[at + 3] << 8) + data[at + 4] + 1
        elif control <= 2:
            if at + 3 > end:
                break
            stored = (data[at + 1] << 8) + data[at + 2] + 1
            total += stored
            at += 3 + stored
        else:
            raise CodecError("lzma2: invalid chunk header", actual=f"control byte 0x{control:02x}")
    raise CodecError("lzma2: truncated stream", actual=f"{counted(end, 'bytes')} without an end marker")


_standard_lzma2 = _family("lzma2", lzma2_decoder)
"""The decoder of raw LZMA2 by the standard library."""


class NewerLiblzma:
    """Decodes raw LZMA2 with the liblzma of `imagecodecs`, once enough was decoded to make loading it worthwhile."""

    def __init__(self, worthwhile: int = WORTHWHILE) -> None:
        self._left = worthwhile  # bytes that the standard library decodes before this decoder is used

    def decode(self, data: Buffer, max_size: int) -> Decoded | None:
        """The decoded stream; None when this decoder is not used or fails (the standard library then reports why)."""
        if self._left > 0:
            return None
        engine = newer_engine()
        if engine is None:
            return None
        try:
            stored, size = lzma2_extent(data)
            if not 0 < size <= max_size:
                return None
            # This engine only reads containers; `out` is the size of the content.
            return Decoded(engine(_as_xz(data[:stored], size), out=size), stored)
        except (CodecError, RuntimeError, ValueError, MemoryError):
            return None

    def count(self, size: int) -> None:
        """Add `size` bytes to what the standard library has decoded."""
        self._left -= size


@functools.cache
def newer_engine() -> Callable[..., Any] | None:
    """`lzma_decode` of imagecodecs, None without it."""
    try:
        import imagecodecs

        found: Callable[..., Any] = imagecodecs.lzma_decode
    except (ImportError, AttributeError):
        return None
    return found


_newer = NewerLiblzma()
"""Shared by all payloads of the process, so that it counts them together."""


def lzma2(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """Raw LZMA2 with a dictionary of 1 MiB.  A newer liblzma returns the same result as the standard library's, faster.

    Raises `CodecError`, or `LimitExceededError` beyond `max_size`.
    """
    found = _newer.decode(data, max_size)
    if found is None:
        found = _standard_lzma2(data, max_size, size)
        _newer.count(len(found.data))
    return found


# The parts of the container that `_as_xz` puts around a stream, as the specification of `.xz` lays them out.
_XZ_HEAD: Final = b"\xfd7zXZ\0" + b"\0\0" + crc32(b"\0\0").to_bytes(4, "little")
"""Header of the stream: magic number, flags (no check) and their CRC-32."""
_XZ_BLOCK: Final = b"\x02\0\x21\x01\x10\0\0\0"
"""Header of a block (twelve bytes with its CRC-32): no sizes, one filter, LZMA2 with a dictionary of 1 MiB."""
_XZ_BLOCK_SIZE: Final = len(_XZ_BLOCK) + 4
"""Bytes of that header with its CRC-32."""


def _as_xz(stored: Buffer, size: int) -> bytes:
    """A raw LZMA2 stream in the container `.xz`, without a check: the payloads of ZS have their own.

    `size` is that of its content.  The index has one record, the sizes of the only block; the footer has the size of
    the index in units of four bytes, minus one, the flags of the header again, and the magic number `YZ`.  Block and
    index are padded to whole units.
    """
    index = b"\0\x01" + build_uleb128(_XZ_BLOCK_SIZE + len(stored)) + build_uleb128(size)
    index += bytes(-len(index) % 4)
    index += crc32(index).to_bytes(4, "little")
    tail = (len(index) // 4 - 1).to_bytes(4, "little") + b"\0\0"
    block = _XZ_BLOCK + crc32(_XZ_BLOCK).to_bytes(4, "little")
    padding = bytes(-len(stored) % 4)
    return b"".join((_XZ_HEAD, block, stored, padding, index, crc32(tail).to_bytes(4, "little"), tail, b"YZ"))


def container_decoder() -> Any:
    """The standard library's decoder of `.xz` and `.lzma` files."""
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_AUTO)


def bz2_decoder() -> Any:
    """The standard library's decoder of bzip2."""
    import bz2

    return bz2.BZ2Decompressor()


# The decoders of these two codecs.
lzma: Decoder = _family("lzma", container_decoder)
bz2: Decoder = _family("bz2", bz2_decoder)


EXTREME: Final = 1 << 31
"""The flag of liblzma that makes a preset slower and its output smaller (`xz --extreme`)."""


@functools.cache
def _encoder() -> Any:
    """The liblzma of cramjam; the version of the standard library's depends on how the interpreter was built."""
    try:
        from cramjam import xz
    except ImportError as error:
        raise MissingDependencyError("writing lzma needs the package cramjam") from error
    return xz


def _raw_lzma2(data: Buffer, options: Any) -> bytes:
    """Compress to a raw LZMA2 stream; `options` are an `Options` of cramjam, with a preset and changes to it."""
    xz = _encoder()
    chain = xz.FilterChain()
    chain.append_filter(xz.FilterChainItem(xz.Filter.Lzma2, options))
    return bytes(xz.compress(data, format=xz.Format.RAW, filters=chain))


def xz_compress(data: Buffer, level: int | None = None) -> bytes:
    """A `.xz` file (preset 6 by default)."""
    return bytes(_encoder().compress(data, preset=6 if level is None else level))


def lzma2_compress(data: Buffer, level: int | None = None, *, extreme: bool = False) -> bytes:
    """A raw LZMA2 stream from one of xz's presets (0 by default)."""
    return _raw_lzma2(data, _encoder().Options().set_preset((level or 0) | (EXTREME if extreme else 0)))


def lzma2_fast(data: Buffer) -> bytes:
    """A raw LZMA2 stream with preset 0e tuned for sorted records: faster, and at most 1 % larger than without.

    Records of any length follow each other, so nothing is aligned (`pb` 0), and the preceding bytes predict a byte
    better than its position does (`lc` 4).  A match of 48 bytes ends the search for a longer one.  Where records share
    little (words), the last few entries of a hash chain are as good candidates as a tree of all, which is slow to
    maintain; where they share most of a line (logs, addresses), the tree finds better ones.
    """
    found = _encoder().MatchFinder
    sample = data[len(data) // 2 :][:REDUNDANCY_SAMPLE]
    alike = REDUNDANT * len(deflate_compress(sample, "deflate", 1)) < len(sample)
    # Preset 0 with `EXTREME`.  The depths are how many candidates for a match are tried.
    options = _encoder().Options().set_preset(EXTREME).set_lc(4).set_pb(0).set_nice_len(48)
    if alike:
        return _raw_lzma2(data, options.set_mf(found.BinaryTree4).set_depth(16))
    return _raw_lzma2(data, options.set_mf(found.HashChain4).set_depth(8))
