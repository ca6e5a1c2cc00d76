"""Files of the operating system, for input and output, whose errors are `SourceError` and name the file."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from exhume.errors import ExhumeError, SourceError, Span
from exhume.io import activity
from exhume.io.portable import READ, read_into
from exhume.io.source import STREAM_CHUNK, source_error


@contextlib.contextmanager
def naming(path: str | os.PathLike[str], start: int = 0, end: int = 0) -> Iterator[None]:
    """Raise errors of the operating system as `SourceError` that names the file (and the bytes, if given)."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ExhumeError):
            raise
        raise source_error(error, os.fspath(path), start, end) from error


class RawFile(io.RawIOBase):
    """An open descriptor as a raw file, which it closes.  Its methods raise `SourceError` with the bytes at stake."""

    def __init__(self, fd: int, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.name = os.fspath(path)
        self._fd = fd

    def fileno(self) -> int:
        """The descriptor.  Raises `ValueError` when the file is closed."""
        if self._fd < 0:
            raise ValueError("the file is closed")
        return self._fd

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        try:
            os.lseek(self.fileno(), 0, os.SEEK_CUR)
        except OSError:  # a FIFO
            return False
        return True

    def isatty(self) -> bool:
        return False

    def _at(self, error: OSError, size: int) -> OSError:
        try:
            position = os.lseek(self._fd, 0, os.SEEK_CUR)
        except OSError:
            return source_error(error, self.name)
        return source_error(error, self.name, position, position + size)

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer until it is full or the file ends.  Raises `SourceError` with the place."""
        if activity.current is not None and self.seekable():
            at = os.lseek(self._fd, 0, os.SEEK_CUR)
            activity.current.on_read(self.name, at, at + memoryview(buffer).nbytes)
        try:
            return read_into(self.fileno(), buffer)
        except OSError as error:
            raise self._at(error, memoryview(buffer).nbytes) from error

    def write(self, data: Any, /) -> int:
        """Write bytes, possibly not all of them.  Raises `SourceError` with the place."""
        try:
            return os.write(self.fileno(), data)
        except OSError as error:
            raise self._at(error, memoryview(data).nbytes) from error

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        with naming(self.name):
            return os.lseek(self.fileno(), offset, whence)

    def truncate(self, size: int | None = None, /) -> int:
        """Cut the file, or fill it up with zeros, to `size` bytes (default: up to the position)."""
        size = self.tell() if size is None else size
        with naming(self.name):
            os.ftruncate(self.fileno(), size)
        return size

    def close(self) -> None:
        """Close the descriptor; harmless to repeat."""
        fd, self._fd = self._fd, -1
        super().close()
        if fd >= 0:
            with naming(self.name):
                os.close(fd)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Like `open_input`, for regular files only: raises `SourceError` for pipes and devices, which may block or never
    end.
    """
    with naming(path):
        kind = Path(path).stat().st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # `open_input` says what is wrong with a directory
        raise SourceError("not a regular file", span=Span(os.fspath(path), 0, 0))
    return open_input(path)


def open_input(path: str | os.PathLike[str]) -> BinaryIO:
    """A buffered binary file for reading, on top of a `RawFile`.  Raises `SourceError`."""
    if activity.current is not None:
        activity.current.on_open(path)
    with naming(path):
        fd = os.open(path, READ)
        raw = RawFile(fd, path)
        try:
            os.read(fd, 0)  # a directory opens, but cannot be read
        except OSError:
            raw.close()
            raise
    return io.BufferedReader(raw, STREAM_CHUNK)
