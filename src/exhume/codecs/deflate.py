"""deflate, zlib and gzip: decompressed by ISA-L where it is installed, else by zlib; compressed by libdeflate.

deflate is a bare compressed stream; zlib and gzip put a header before it and a checksum after it.  gzip is always
decompressed by zlib.
"""

from __future__ import annotations

import functools
import zlib
from typing import Any

from exhume.codecs.common import Buffer, Decoded, Decoder, over_budget
from exhume.counts import counted
from exhume.errors import CodecError, MissingDependencyError

INFLATE_FIRST = 1 << 20
"""Bytes that ISA-L may return in the first step; see `_igzip_family`."""


def _ended(name: str, engine: Any, data: Buffer, out: bytes, max_size: int) -> Decoded:
    """Return the decoded bytes `out` of the codec `name`, after a check that the stream ended within its budget.

    `engine` is the decompressor, which knows whether the stream ended and which bytes of `data` are after it.
    """
    if len(out) > max_size:
        raise over_budget(name, max_size)
    if not engine.eof:
        raise CodecError(f"{name}: truncated stream", actual=f"{counted(len(data), 'bytes')} without an end")
    return Decoded(out, len(data) - len(engine.unused_data))


def _zlib_family(name: str, wbits: int, dictionary: bytes = b"") -> Decoder:
    """Return a decoder for zlib's `wbits`: negative for raw deflate, 15 for zlib, 31 for gzip."""

    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        """Decompress `data`, at most `max_size` bytes of it."""
        engine = zlib.decompressobj(wbits, zdict=dictionary) if dictionary else zlib.decompressobj(wbits)
        try:
            out = engine.decompress(data, max_size + 1)  # one byte past the budget distinguishes "full" from "too much"
        except zlib.error as error:
            raise CodecError(f"{name}: corrupt stream", actual=str(error)) from error
        return _ended(name, engine, data, out, max_size)

    return decode


@functools.cache
def igzip_lib() -> Any:
    """ISA-L, which decompresses about twice as fast as zlib; None where it is not installed."""
    try:
        from isal import igzip_lib as found
    except ImportError:
        return None
    return found


def _igzip_family(name: str, wbits: int, flag: str) -> Decoder:
    """A decoder that uses ISA-L where it is installed, else zlib; both check the trailer of the container.

    `wbits` is zlib's number of the container (see `_zlib_family`), `flag` the name of ISA-L's constant for it.
    """
    fallback = _zlib_family(name, wbits)

    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        """A `Decoder` by ISA-L if it is installed, else by `fallback`."""
        igzip = igzip_lib()
        if igzip is None:
            return fallback(data, max_size, size)
        engine = igzip.IgzipDecompressor(getattr(igzip, flag))
        # The engine takes a buffer of the limit's size at once, and releases it when it is large: fresh pages for
        # every block.  So the first step is one that most payloads fit in and the allocator keeps.
        most = max_size + 1  # one byte past the budget distinguishes "full" from "too much"
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
    """The decompressed size of a raw deflate stream in bytes, without keeping the output; stops beyond `limit`.

    Raises `CodecError` for a corrupt stream.
    """
    igzip = igzip_lib()
    engine = zlib.decompressobj(-15) if igzip is None else igzip.IgzipDecompressor(igzip.DECOMP_DEFLATE)  # -15: raw
    failures = (zlib.error,) if igzip is None else (zlib.error, igzip.error)
    total = 0
    rest: Buffer = data
    try:
        while not engine.eof and total <= limit:
            piece = engine.decompress(rest, 1 << 20)
            rest = engine.unconsumed_tail if igzip is None else b""  # ISA-L keeps what it has not used itself
            total += len(piece)
            if not piece:
                break
    except failures as error:
        raise CodecError("deflate: corrupt stream", actual=str(error)) from error
    return total


# The decoders of the three codecs.
deflate: Decoder = _igzip_family("deflate", -15, "DECOMP_DEFLATE")
zlib_stream: Decoder = _igzip_family("zlib", 15, "DECOMP_ZLIB")
gzip: Decoder = _zlib_family("gzip", 31)


def primed_deflate(dictionary: bytes) -> Decoder:
    """A decoder of raw deflate streams that refer back into a dictionary."""
    return _zlib_family("deflate", -15, dictionary)


DEFLATE_LEVEL = 5
"""The default level of libdeflate: its output is a little smaller than zlib's at 6, in less than 0.4 of the time."""


def deflate_compress(data: Buffer, container: str, level: int | None = None) -> bytes:
    """Compress with libdeflate, whose output depends only on its version: neither on the processor, as that of ISA-L
    does, nor on the zlib that the interpreter was built with.

    `container` is `deflate`, `zlib` or `gzip`; `level` is 0 (stored) to 12.  Raises `MissingDependencyError` without
    the package `deflate`.
    """
    try:
        import deflate
    except ImportError as error:
        raise MissingDependencyError("writing deflate needs the package deflate") from error
    engine = getattr(deflate, f"{container}_compress")
    return bytes(engine(data, DEFLATE_LEVEL if level is None else level))


def isal_compress(data: Buffer) -> bytes:
    """Compress to a raw deflate stream with ISA-L: fastest, but the output depends on the processor's instructions.

    Raises `MissingDependencyError` without the package `isal`.
    """
    igzip = igzip_lib()
    if igzip is None:
        raise MissingDependencyError("this compression level needs the package isal")
    out: bytes = igzip.compress(data, igzip.ISAL_BEST_COMPRESSION, igzip.COMP_DEFLATE)
    return out
