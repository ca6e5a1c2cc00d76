"""Output other than new files: standard output (`-`), a file of lines that only grows, and copies from file to file."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from exhume.errors import SourceError, Span, WriterError
from exhume.io import activity
from exhume.io.files import BINARY, CLOEXEC, locked, naming, pread
from exhume.io.output.atomic import AtomicFile
from exhume.io.source import STREAM_CHUNK, Source, close_quietly

COPY_STEP = 64 << 20
"""Most bytes that one system call copies: between calls, progress is shown and an interrupt takes effect."""


def read_all(fd: int, size: int, offset: int) -> bytes:
    """The bytes `[offset, offset + size)` of a file; fewer only if the file ends.  Short reads are repeated."""
    parts: list[bytes] = []
    while size and (part := pread(fd, size, offset)):
        parts.append(part)
        size, offset = size - len(part), offset + len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all of the data, repeating short writes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def copy_range(source: Source, start: int, end: int, out_fd: int) -> None:
    """Copy `[start, end)` of a source to a descriptor: by `copy_file_range`, else `sendfile`, else read and write."""
    in_fd = source.fileno()
    location = source.outermost.location
    if activity.current is not None and location is not None:
        activity.current.on_read(location, source.origin + start, source.origin + end)
    if in_fd is not None and start >= 0 and end <= source.size:
        at, stop = source.origin + start, source.origin + end
        base = os.lseek(out_fd, 0, os.SEEK_CUR) - at  # what turns an input offset into that of the output
        for copier in (_kernel_copy, _kernel_send):
            try:
                while at < stop and (done := copier(in_fd, out_fd, at, min(stop - at, COPY_STEP))):
                    at += done
                    activity.count(done)
            except (OSError, AttributeError):
                os.lseek(out_fd, base + at, os.SEEK_SET)  # a failed call may have moved the position
                continue
            if at == stop:
                return
        start = at - source.origin  # the rest, if neither call copied everything
    for chunk in source.chunks(start, end):
        write_all(out_fd, chunk)


def copy_between(in_fd: int, out_fd: int, size: int, offset: int | None = None) -> int:
    """Copy up to `size` bytes from `in_fd` to the position of `out_fd`; return how many there were.

    Reads from `offset`, or from the position of `in_fd`, which then moves.  The system copies them itself if it can.
    """
    done = 0
    if offset is None:
        offset = os.lseek(in_fd, 0, os.SEEK_CUR)
    base = os.lseek(out_fd, 0, os.SEEK_CUR)
    for copier in (_kernel_copy, _kernel_send):
        try:
            while done < size and (step := copier(in_fd, out_fd, offset + done, min(size - done, COPY_STEP))):
                done += step
                activity.count(step)
        except (OSError, AttributeError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise
            # Try the next way, from where the copies so far have come to.
            os.lseek(out_fd, base + done, os.SEEK_SET)
            continue
        break
    while done < size and (data := pread(in_fd, min(STREAM_CHUNK, size - done), offset + done)):
        write_all(out_fd, data)
        done += len(data)
        activity.count(len(data))
    return done


# Copies by the system, which may share the blocks of the files, or does not pass the data through this process.  Each
# copies up to `count` bytes from `offset` of `in_fd` to the position of `out_fd`, and returns how many, 0 at the end.
# `OSError`: not for these files; `AttributeError`: not on this system.


def _kernel_copy(in_fd: int, out_fd: int, offset: int, count: int) -> int:
    return os.copy_file_range(in_fd, out_fd, count, offset_src=offset)


def _kernel_send(in_fd: int, out_fd: int, offset: int, count: int) -> int:
    return os.sendfile(out_fd, in_fd, offset, count)


# Control characters other than tab, line feed and carriage return.
_CONTROL = bytes(byte for byte in range(32) if byte not in (9, 10, 13)) + b"\x7f"


@contextmanager
def binary_output(output: str, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A new file that appears when complete, or standard output for `-`; raises `WriterError` for a terminal."""
    if output == "-" and sys.stdout.isatty():
        raise WriterError("refusing to write binary data to a terminal: redirect it, or use -o FILE")
    with _opened(output, overwrite) as file:
        yield file


@contextmanager
def text_output(output: str, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Like `binary_output` for text, which may go to a terminal unless it has control characters (`WriterError`)."""
    with _opened(output, overwrite) as file:
        yield cast("BinaryIO", _SafeTerminal(file)) if output == "-" and sys.stdout.isatty() else file


@contextmanager
def _opened(output: str, overwrite: bool) -> Iterator[BinaryIO]:
    """Open the output for the body of a `with`; `-` is standard output."""
    if output == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with AtomicFile(output, overwrite=overwrite) as file:
        yield file.file


class _SafeTerminal(io.RawIOBase):
    """A terminal that receives text only, never control characters that it would act on."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        """Write text without control characters.  Raises `WriterError` for others."""
        raw = bytes(data)
        if len(raw.translate(None, _CONTROL)) != len(raw):
            raise WriterError("refusing to write control characters to a terminal: redirect it, or use -o FILE")
        return self._file.write(raw)


LONGEST_LINE = 64 << 20
"""Most bytes of a line: no record is longer, as the number of findings in it is limited."""

_PIECE = 64 << 10
"""Bytes that are read first from the end of the file, to find the start of its last line."""


class AppendOnlyLog:
    """A file whose lines are appended by one process at a time, each completely or not at all; no line is ever changed.

    Raises `SourceError` when the file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open or create a regular file to append to."""
        self.path: str = os.fspath(path)
        with naming(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | CLOEXEC | BINARY, 0o666)
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            self.close()
            raise SourceError("not a regular file", span=self._span(0))

    def last(self) -> bytes | None:
        """The last line, without its end; None when there is none.  Raises `WriterError` when it was truncated."""
        with naming(self.path):
            end = os.fstat(self._fd).st_size
            tail = b""
            at = end
            # Read backwards until a line end precedes the last line, whose own end is the last byte.
            while at and tail.count(b"\n", 0, -1) == 0:
                if len(tail) > LONGEST_LINE:
                    raise WriterError("the last line is too long for a record", span=self._span(end))
                step = min(max(_PIECE, len(tail)), at)  # twice as much each time
                at -= step
                tail = read_all(self._fd, step, at) + tail
        if not tail:
            return None
        if not tail.endswith(b"\n"):
            raise WriterError(
                "the file does not end with a complete record: remove what follows the last one, or name another file",
                span=self._span(end),
            )
        _, _, line = tail[:-1].rpartition(b"\n")
        return line

    def append(self, make: Callable[[bytes | None], bytes]) -> None:
        """Append the line that `make` returns for the last one, and wait for the disk.  Raises `WriterError`."""
        with naming(self.path), locked(self._fd):
            line = make(self.last()) + b"\n"
            size = os.fstat(self._fd).st_size
            try:
                write_all(self._fd, line)
                os.fsync(self._fd)
            except BaseException:  # also an interrupt: no part of a line remains
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, size)
                raise

    def close(self) -> None:
        """Close the file; harmless to repeat."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            close_quietly(fd)

    def _span(self, end: int) -> Span:
        """The place in the file for an error."""
        return Span(self.path, end, end)
