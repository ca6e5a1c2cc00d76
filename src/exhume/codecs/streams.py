"""Input files that may be compressed as a whole."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from exhume.codecs.zstd import ZSTD_MAGIC, ZSTD_WINDOW_MAX
from exhume.errors import CodecError


def inflate_file(file: BinaryIO, name: str, size: int = 1 << 20) -> Iterator[bytes]:
    """The content of a file in pieces of at most `size` bytes; gzip and zstd are recognised and decompressed.

    Concatenated gzip members and zstd frames are one content.  Raises `CodecError` for damage, and whatever `file`
    raises.
    """
    import gzip

    head = file.read(4)
    while len(head) < 4 and (more := file.read(4 - len(head))):
        head += more
    joined = io.BufferedReader(_Joined(head, file), size)
    stream: Any = joined
    kind = ""
    broken: tuple[type[Exception], ...] = ()
    if head[:2] == b"\x1f\x8b":
        stream = gzip.GzipFile(fileobj=joined)
        kind, broken = "gzip", (EOFError, zlib.error, gzip.BadGzipFile)
    elif head == ZSTD_MAGIC:
        import zstandard

        engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
        stream = engine.stream_reader(joined, read_across_frames=True)
        kind, broken = "zstd", (zstandard.ZstdError,)
    try:
        while piece := stream.read(size):
            yield piece
    except broken as error:
        raise CodecError(f"{name}: corrupt {kind} stream", actual=error) from error


class _Joined(io.RawIOBase):
    """Bytes already read, then the rest of the file they came from."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        super().__init__()
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data, self._head = self._head, b""
        data = data or self._file.read(len(buffer))
        if len(data) > len(buffer):
            data, self._head = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)
