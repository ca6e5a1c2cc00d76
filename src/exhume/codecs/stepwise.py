"""Payloads that are decoded from memory a step at a time, as far as a reader needs them."""

from __future__ import annotations

import zlib
from typing import Any

from exhume.codecs.common import Buffer
from exhume.counts import counted
from exhume.errors import CodecError


class Stepwise:
    """Decodes a payload a step at a time, for readers that may not need all of it.

    The output is the same as that of `decompress_prefix`; damage after the decoded part is not noticed.
    """

    def __init__(self, codec: str, data: Buffer) -> None:
        """Prepare to decode `data`; `codec` is `deflate` or `lzma2`."""
        if codec == "lzma2":
            from exhume.codecs.xz import lzma2_decoder

            self._engine: Any = lzma2_decoder()
        else:
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
