"""Input files that may be compressed as a whole: `inflate_file` recognizes gzip and zstd by their first bytes."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from exhume.codecs.layout import FRAME_STARTS
from exhume.codecs.zstd import ZSTD_WINDOW_MAX
from exhume.errors import CodecError

GZIP: Final = b"\x1f\x8b"
"""First bytes of a gzip member."""


def inflate_file(file: BinaryIO, name: str, size: int = 1 << 20) -> Iterator[bytes]:
    """The content of a file in chunks of at most `size` bytes; gzip and zstd are recognized and decompressed.

    Concatenated gzip members and zstd frames are one content.  Raises `CodecError` for damage, and whatever `file`
    raises.
    """
    head = file.read(4)
    while len(head) < 4 and (more := file.read(4 - len(head))):  # a pipe may return fewer
        head += more
    if head[:2] != GZIP and head not in FRAME_STARTS:
        yield from _pieces(head + file.read(max(size - len(head), 0)), size)
        while piece := file.read(size):
            yield piece
        return
    # The bytes just read are put back, since `file` may not be able to seek.
    joined = io.BufferedReader(_PrefixedFile(head, file), size)
    if head[:2] != GZIP:
        yield from _zstd(joined, name, size)
        return
    import gzip

    stream = gzip.GzipFile(fileobj=joined)
    try:
        while piece := stream.read(size):
            yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CodecError(f"{name}: corrupt gzip stream", actual=error) from error


STEP = 1 << 10
"""Stored bytes that are decompressed at once.  Few, since they can become 16,000 times as many (constant bytes)."""


def _zstd(file: BinaryIO, name: str, size: int) -> Iterator[bytes]:
    """Yield the content of zstd frames in chunks of at most `size` bytes.  Raises `CodecError`.

    The library's own reader is not used: it silently accepts a truncated last frame.
    """
    import zstandard

    engine: Any = None  # the decompressor of the current frame; None between frames
    stored = b""
    held: list[bytes] = []  # content that was not yielded yet
    room = 0  # bytes of it
    while stored or (stored := file.read(STEP)):
        if engine is None:
            engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX).decompressobj()
        try:
            piece = engine.decompress(stored)
        except zstandard.ZstdError as error:
            raise CodecError(f"{name}: corrupt zstd stream", actual=error) from error
        stored = b""
        # The rest belongs to the next frame.
        if engine.eof:
            stored, engine = engine.unused_data, None
        held.append(piece)
        room += len(piece)
        if room >= size:
            yield from _pieces(b"".join(held), size)
            held, room = [], 0
    yield from _pieces(b"".join(held), size)
    if engine is not None:
        raise CodecError(f"{name}: the zstd stream ends inside a frame")


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    """Yield the bytes in chunks of at most `size`."""
    for at in range(0, len(data), size):
        yield data[at : at + size]


class _PrefixedFile(io.RawIOBase):
    """Bytes already read, then the rest of the file they came from."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        super().__init__()
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill `buffer` from the prefix first, then from the file; return the number of bytes."""
        data, self._head = self._head, b""
        data = data or self._file.read(len(buffer))
        if len(data) > len(buffer):
            data, self._head = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)
