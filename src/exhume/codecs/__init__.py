"""The only place that decompresses: every decoder has an output budget and reports where the stream ended.

Each function takes the stored bytes and `max_size`, the most bytes that it may return, and raises `CodecError`
(corrupt, truncated, or followed by forbidden bytes) or `LimitExceededError`.  Formats turn these into their own rule
with `raise RULE.error(...) from error`.  A codec is a compression format by the name in `CODECS`; a payload is the part
of an archive that one call decompresses.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from exhume.codecs.common import Buffer, Decoded, Decoder, over_budget
from exhume.counts import counted
from exhume.errors import CodecError, UnsupportedFeatureError


def decompress(codec: str, data: Buffer, *, max_size: int, size: int | None = None, dictionary: bytes = b"") -> bytes:
    """Decode a whole payload: the stream must end exactly at the end of `data`.

    `codec` is one of `CODECS`.  `size` is the decompressed size in bytes where the container states it (required for
    `lz4`, checked for the others).  `dictionary` is what the encoder was primed with; only the codecs in
    `WITH_DICTIONARY` take one.  Raises `CodecError` for damage, another size, or bytes after the stream,
    `LimitExceededError` when more than `max_size` bytes would come out, and `UnsupportedFeatureError` for an unknown
    codec.
    """
    decoded = decompress_prefix(codec, data, max_size=max_size, size=size, dictionary=dictionary)
    if decoded.consumed != len(data):
        raise CodecError(
            f"{codec}: bytes after the end of the compressed stream",
            expected=counted(decoded.consumed, "bytes"),
            actual=counted(len(data), "bytes"),
        )
    return decoded.data


def decompress_prefix(
    codec: str, data: Buffer, *, max_size: int, size: int | None = None, dictionary: bytes = b""
) -> Decoded:
    """Decode the stream at the start of `data`; what follows it (padding, the next structure) is left alone.

    Raises `CodecError`, `LimitExceededError` and `UnsupportedFeatureError` as `decompress` does.
    """
    decoder = _primed(codec, dictionary) if dictionary else _decoder(codec)
    if size is not None and size > max_size:
        raise over_budget(codec, max_size, size)
    decoded = decoder(data, max_size, size)
    if size is not None and len(decoded.data) != size:
        raise CodecError(
            f"{codec}: wrong decompressed size",
            expected=counted(size, "bytes"),
            actual=counted(len(decoded.data), "bytes"),
        )
    return decoded


_DECODERS = {
    "none": "common:none",
    "deflate": "deflate:deflate",
    "zlib": "deflate:zlib_stream",
    "gzip": "deflate:gzip",
    "lzma2": "xz:lzma2",
    "lzma": "xz:lzma",
    "bz2": "xz:bz2",
    "zstd": "zstd:zstd_all",
    "zstd-frame": "zstd:zstd_one",
    "snappy": "blocks:snappy",
    "lz4": "blocks:lz4_block",
    "lz4-frame": "blocks:lz4_frame",
}
"""The module and name of each decoder; the module is imported when the decoder is first used."""

WITH_DICTIONARY = {
    "deflate": "deflate:primed_deflate",
    "zstd-frame": "zstd:primed_zstd",
    "lz4": "blocks:primed_lz4",
}
"""The codecs that a dictionary can prime: the module and name of what makes a decoder of one."""

CODECS = tuple(_DECODERS)
"""Names that `decompress` takes.  `zstd`: any number of frames; `zstd-frame`: exactly one; `deflate`: raw RFC 1951;
`lzma2`: raw, 1 MiB dictionary; `lz4` and `snappy`: raw blocks; `lz4-frame`: frames up to the end."""


@functools.cache
def _decoder(codec: str) -> Decoder:
    """Import and return the function that decodes `codec`. Raises `UnsupportedFeatureError` for unknown ones."""
    try:
        module, _, name = _DECODERS[codec].partition(":")
    except KeyError:
        raise UnsupportedFeatureError(f"unknown codec {codec!r}", expected=f"one of {', '.join(CODECS)}") from None
    found: Decoder = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return found


def _primed(codec: str, dictionary: bytes) -> Decoder:
    """A decoder that starts with a dictionary.  Raises `UnsupportedFeatureError` for a codec that takes none."""
    if codec not in WITH_DICTIONARY:
        raise UnsupportedFeatureError(
            f"{codec}: a dictionary cannot be used with this codec", expected=f"one of {', '.join(WITH_DICTIONARY)}"
        )
    module, _, name = WITH_DICTIONARY[codec].partition(":")
    made: Decoder = getattr(importlib.import_module(f"{__name__}.{module}"), name)(dictionary)
    return made


class Stepwise:
    """Decodes a payload in memory a step at a time, for readers that may not need all of it.

    The output is the same as that of `decompress_prefix`; damage after the decoded part is not noticed.
    """

    def __init__(self, codec: str, data: Buffer) -> None:
        """Prepare to decode `data`; `codec` is `deflate` or `lzma2`."""
        if codec == "lzma2":
            from exhume.codecs.xz import lzma2_decoder

            self._engine: Any = lzma2_decoder()
        else:
            import zlib

            from exhume.codecs.deflate import igzip_lib

            igzip = igzip_lib()
            self._engine = zlib.decompressobj(-15) if igzip is None else igzip.IgzipDecompressor(igzip.DECOMP_DEFLATE)
        self._codec = codec
        self._size = len(data)
        self._rest: Buffer = bytes(data) if isinstance(data, memoryview) else data  # what the engine has not seen yet

    @property
    def finished(self) -> bool:
        """Whether the stream's end has been reached."""
        return bool(self._engine.eof)

    @property
    def consumed(self) -> int:
        """Stored bytes of a finished stream."""
        return self._size - len(self._engine.unused_data)

    def more(self, size: int) -> bytes:
        """The next bytes, at most `size`; empty at the end.  Raises `CodecError` for a corrupt or cut stream."""
        if self.finished:
            return b""
        try:
            piece: bytes = self._engine.decompress(self._rest, size)
        except Exception as error:  # zlib.error, isal's, lzma.LZMAError: no common base
            raise CodecError(f"{self._codec}: corrupt stream", actual=str(error)) from error
        self._rest = getattr(self._engine, "unconsumed_tail", b"")  # zlib hands back what the others keep
        if not piece and not self.finished:
            raise CodecError(
                f"{self._codec}: truncated stream", actual=f"{counted(self._size, 'bytes')} without an end"
            )
        return piece


def compress(codec: str, data: Buffer, *, level: int | None = None, extreme: bool = False) -> bytes:
    """Encode a whole payload.  `level` is on the codec's own scale; None is its usual default.

    `extreme` makes `lzma2` slower and its output smaller; other codecs ignore it.  The output depends only on the
    version of the codec's library, which is never the interpreter's (except for `bz2`, whose libbzip2 has not changed
    since 2019).  Raises `UnsupportedFeatureError` for an unknown codec and `MissingDependencyError` when its package is
    not installed.
    """
    match codec:
        case "none":
            return bytes(data)
        case "deflate" | "zlib" | "gzip":
            from exhume.codecs.deflate import deflate_compress

            return deflate_compress(data, codec, level)
        case "lzma2":
            from exhume.codecs.xz import lzma2_compress

            return lzma2_compress(data, level, extreme=extreme)
        case "lzma":
            from exhume.codecs.xz import xz_compress

            return xz_compress(data, level)
        case "bz2":
            import bz2

            return bz2.compress(bytes(data), 9 if level is None else level)
        case "zstd" | "zstd-frame":
            import zstandard

            return zstandard.ZstdCompressor(level=3 if level is None else level).compress(bytes(data))
        case "snappy":
            from exhume.codecs.blocks import snappy_compress

            return snappy_compress(data)
        case "lz4":
            from exhume.codecs.blocks import lz4_compress

            return lz4_compress(data)
    raise UnsupportedFeatureError(f"unknown codec {codec!r}", expected=f"one of {', '.join(CODECS)}")
