"""deflate, zlib and gzip: inflated by ISA-L where there is a build of it, else by zlib; deflated by libdeflate."""

from __future__ import annotations

import functools
import zlib
from typing import Any

from exhume.codecs.common import Buffer, Decoded, Decoder, over_budget
from exhume.errors import CodecError, MissingDependencyError

INFLATE_FIRST = 1 << 20
"""Bytes that ISA-L may put out in the first step."""


def _ended(name: str, engine: Any, data: Buffer, out: bytes, max_size: int) -> Decoded:
    """What came out, once it is sure that the stream has ended within its budget."""
    if len(out) > max_size:
        raise over_budget(name, max_size)
    if not engine.eof:
        raise CodecError(f"{name}: the stream is cut short", actual=f"{len(data)} bytes without an end")
    return Decoded(out, len(data) - len(engine.unused_data))


def _zlib_family(name: str, wbits: int) -> Decoder:
    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        engine = zlib.decompressobj(wbits)
        try:
            out = engine.decompress(data, max_size + 1)  # one byte past the budget tells "full" from "too much"
        except zlib.error as error:
            raise CodecError(f"{name}: corrupt stream", actual=str(error)) from error
        return _ended(name, engine, data, out, max_size)

    return decode


@functools.cache
def igzip_lib() -> Any:
    """ISA-L, which inflates about twice as fast as zlib; None where there is no build of it."""
    try:
        from isal import igzip_lib as found
    except ImportError:
        return None
    return found


def _igzip_family(name: str, wbits: int, flag: str) -> Decoder:
    """Inflating with ISA-L where it is there, else with zlib; both check what trailer the container has."""
    fallback = _zlib_family(name, wbits)

    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        igzip = igzip_lib()
        if igzip is None:
            return fallback(data, max_size, size)
        engine = igzip.IgzipDecompressor(getattr(igzip, flag))
        # The engine takes a buffer of the limit's size at once, and gives it back when it is large: fresh pages for
        # every block.  So the first step is one that most payloads fit in and the allocator keeps.
        most = max_size + 1  # one byte past the budget tells "full" from "too much"
        first = min(most, max(INFLATE_FIRST, 4 * len(data)) if size is None else size + 1)
        try:
            out = engine.decompress(data, first)
            if len(out) == first < most and not engine.eof:
                out += engine.decompress(b"", most - first)
        except igzip.error as error:
            raise CodecError(f"{name}: corrupt stream", actual=str(error)) from error
        return _ended(name, engine, data, out, max_size)

    return decode


def inflated_size(data: Buffer, limit: int) -> int:
    """Decompressed bytes of a raw deflate stream, counted up to the first step past `limit`; nothing is kept.

    Raises `CodecError` for a corrupt stream.
    """
    igzip = igzip_lib()
    engine = zlib.decompressobj(-15) if igzip is None else igzip.IgzipDecompressor(igzip.DECOMP_DEFLATE)
    failures = (zlib.error,) if igzip is None else (zlib.error, igzip.error)
    total = 0
    rest: Buffer = data
    try:
        while not engine.eof and total <= limit:
            piece = engine.decompress(rest, 1 << 20)
            rest = engine.unconsumed_tail if igzip is None else b""
            total += len(piece)
            if not piece:
                break
    except failures as error:
        raise CodecError("deflate: corrupt stream", actual=str(error)) from error
    return total


deflate = _igzip_family("deflate", -15, "DECOMP_DEFLATE")
zlib_stream = _igzip_family("zlib", 15, "DECOMP_ZLIB")
gzip = _zlib_family("gzip", 31)


DEFLATE_LEVEL = 5
"""Level of libdeflate where none is named: a little smaller than zlib's 6, in less than 0.4 of its time."""


def deflate_compress(data: Buffer, container: str, level: int | None = None) -> bytes:
    """A stream from libdeflate, whose output depends on its version alone: neither on the processor, as ISA-L's does,
    nor on which zlib the interpreter was built with.

    `container` is `deflate`, `zlib` or `gzip`; `level` is 0 (stored) to 12.
    """
    try:
        import deflate
    except ImportError as error:
        raise MissingDependencyError("writing deflate needs the package deflate") from error
    engine = getattr(deflate, f"{container}_compress")
    return bytes(engine(data, DEFLATE_LEVEL if level is None else level))


def isal_compress(data: Buffer) -> bytes:
    """A raw deflate stream from ISA-L: the soonest, and other bytes on processors with other vector instructions."""
    igzip = igzip_lib()
    if igzip is None:
        raise MissingDependencyError("this compression level needs the package isal")
    out: bytes = igzip.compress(data, igzip.ISAL_BEST_COMPRESSION, igzip.COMP_DEFLATE)
    return out
