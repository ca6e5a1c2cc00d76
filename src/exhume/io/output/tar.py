"""Members as a tar stream."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from typing import IO, Any, Self

from exhume.errors import ExhumeError, SourceError, Span
from exhume.io.output.names import safe_parts
from exhume.io.output.quota import Quota
from exhume.limits import DEFAULT_LIMITS, Limits


class TarSink:
    """Members as a tar stream (pax headers, deterministic metadata: mode 0644, epoch times, no owner)."""

    def __init__(self, file: IO[bytes], *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._quota = Quota(limits, Span("", 0, 0))
        # Not a stream of the library's own ("w|"): one that is given up would still be written to when it is collected.
        self._tar = tarfile.open(fileobj=_Counted(file), mode="w", format=tarfile.PAX_FORMAT)

    def write(self, name: str, size: int, chunks: Iterable[bytes]) -> int:
        """Adds one file of a known size; raises `UnsafePathError` for names that extraction would refuse, and
        `OutputLimitError` when all is too much.

        For one that fails while it is written, the header with its size has been written already, so the stream cannot
        continue: raises `SourceError`.
        """
        safe_parts(name)
        self._quota.take(1, size)
        info = tarfile.TarInfo(name)
        info.size = size
        try:
            self._tar.addfile(info, _ChunkReader(chunks))
        except (ExhumeError, OSError) as error:
            raise SourceError(
                "a damaged member broke the tar stream", actual=f"{name}: {error}", code="EX-606"
            ) from error
        return size

    def make_directory(self, name: str) -> None:
        """Adds a directory entry."""
        safe_parts(name)
        self._quota.take(1, 0)
        info = tarfile.TarInfo(name.rstrip("/") + "/")
        info.type = tarfile.DIRTYPE
        info.mode = 0o755
        self._tar.addfile(info)

    def close(self) -> None:
        """Writes the end of the archive (the underlying file stays open)."""
        self._tar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, *exc: object) -> None:
        if exc_type is None:
            self.close()


class _Counted(io.RawIOBase):
    """A file, or a pipe, that only grows."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self._at = 0

    def tell(self) -> int:
        return self._at

    def write(self, data: Any, /) -> int:
        self._file.write(data)
        self._at += len(data)
        return len(data)


class _ChunkReader(io.RawIOBase):
    """Pieces of bytes as a readable file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        while len(self._rest) < size or size < 0:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._rest = self._rest + chunk if self._rest else chunk
        out, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return out
