"""Files of the operating system: names they may have, errors that name them, and what stands in for calls of Windows.

Where the system has the call, it is the call.  The substitutes of `pread` and `pwrite` are safe for any number of
threads as long as every positional read of a descriptor uses them, and `locked` is a lock between processes as `flock`
is.  Missing flags are 0: `NOFOLLOW` and `DIRECTORY` then have no effect, and code that relies on their effect checks
`HAS_DIR_FD` (see `exhume.io.folders`).

The rules for member names that become names of files are here as well (`safe_parts`).
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from exhume.errors import ExhumeError, SourceError, Span, UnsafePathError, shorten
from exhume.io import activity
from exhume.io.source import STREAM_CHUNK, source_error

# Flags of `os.open`, 0 on systems without them.
CLOEXEC: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
BINARY: int = getattr(os, "O_BINARY", 0)
NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
READ: int = os.O_RDONLY | CLOEXEC | BINARY
"""Opens a file to read bytes from."""

WINDOWS_NAMES: bool = os.name == "nt"
"""Whether names of files follow the rules of Windows."""

HAS_DIR_FD: bool = bool(NOFOLLOW and DIRECTORY and os.supports_dir_fd)
"""Whether files can be opened below an open directory, without following a link."""

_LOCK_AT = 1 << 40  # past the end of the data: Windows denies others access to locked bytes
_seeking = threading.Lock()  # held while a file position is moved


def pread(fd: int, size: int, offset: int) -> bytes:
    """Up to `size` bytes at an offset; the position of the file stays.  Raises `OSError`."""
    if hasattr(os, "pread"):
        return os.pread(fd, size, offset)
    with _at(fd, offset):
        return os.read(fd, size)


def pwrite(fd: int, data: memoryview, offset: int) -> int:
    """Write at an offset, maybe not all; the position of the file stays.  Raises `OSError`."""
    if hasattr(os, "pwrite"):
        return os.pwrite(fd, data, offset)
    with _at(fd, offset):
        return os.write(fd, data)


@contextlib.contextmanager
def _at(fd: int, offset: int) -> Iterator[None]:
    """Move the file position to `offset` for the body of a `with`, and back; one thread at a time."""
    with _seeking:
        before = os.lseek(fd, 0, os.SEEK_CUR)
        os.lseek(fd, offset, os.SEEK_SET)
        try:
            yield
        finally:
            os.lseek(fd, before, os.SEEK_SET)


def read_into(fd: int, buffer: Any) -> int:
    """Fill a buffer as far as there is something to read; return the number of bytes.  Raises `OSError`."""
    if hasattr(os, "readv"):
        return os.readv(fd, [buffer])
    view = memoryview(buffer).cast("B")
    data = os.read(fd, len(view))
    view[: len(data)] = data
    return len(data)


def write_pieces(fd: int, pieces: Sequence[bytes | memoryview]) -> int:
    """Write buffers back to back, possibly not all; return the number of bytes: 0 where the system cannot do it, so
    that the caller writes them one by one.

    Raises `OSError`.
    """
    return os.writev(fd, pieces) if hasattr(os, "writev") else 0


@contextlib.contextmanager
def locked(fd: int) -> Iterator[None]:
    """Keep a file locked, waiting for its current holder.  Raises `OSError`, also if files cannot be locked."""
    try:
        import fcntl
    except ImportError:
        with _locked_byte(fd):
            yield
        return
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)


@contextlib.contextmanager
def _locked_byte(fd: int) -> Iterator[None]:
    """Lock one byte of a file on Windows, far after its end, while the block runs; wait until it is free.

    Raises `OSError` on systems without such locks.
    """
    try:
        import msvcrt

        windows: Any = msvcrt  # it has no functions for a type checker elsewhere
    except ImportError:
        raise OSError("this system cannot lock files") from None
    while True:
        os.lseek(fd, _LOCK_AT, os.SEEK_SET)
        try:
            windows.locking(fd, windows.LK_NBLCK, 1)
            break
        except PermissionError:  # another process has it
            time.sleep(0.01)
    try:
        yield
    finally:
        os.lseek(fd, _LOCK_AT, os.SEEK_SET)
        windows.locking(fd, windows.LK_UNLCK, 1)


HELD = 8 << 20
"""Bytes of a buffer that `keep_freed_memory` frees; twice this much freed memory then stays with the process."""


@functools.cache
def keep_freed_memory() -> None:
    """Let buffers of up to `HELD` bytes be allocated, freed and allocated again without new pages from the system.

    A reader allocates a few buffers of some 100 KiB per block and frees them again.  The C library would return each to
    the system at once, and the kernel would clear and map every page again for the next block, which takes 33 % of the
    time to inflate it.  glibc adapts the sizes it keeps (`M_MMAP_THRESHOLD`, `M_TRIM_THRESHOLD`) to the largest buffer
    freed so far, so one is allocated and freed here (its pages are never touched).  Other allocators are unaffected.
    """
    bytes(HELD)


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
    """An open descriptor as a raw file, which it closes.  Its methods raise `SourceError` that names file and bytes."""

    def __init__(self, fd: int, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.name: str = os.fspath(path)
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
        """Return whether the file can be positioned; pipes cannot."""
        try:
            os.lseek(self.fileno(), 0, os.SEEK_CUR)
        except OSError:  # a FIFO
            return False
        return True

    def isatty(self) -> bool:
        return False

    def _at(self, error: OSError, size: int) -> OSError:
        """Return an error of reading or writing `size` bytes with file name and position."""
        try:
            position = os.lseek(self._fd, 0, os.SEEK_CUR)
        except OSError:
            return source_error(error, self.name)
        return source_error(error, self.name, position, position + size)

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer until it is full or the file ends.  Raises `SourceError` with the place."""
        if activity.current is not None and self.seekable():  # for the observer
            at = os.lseek(self._fd, 0, os.SEEK_CUR)
            activity.current.on_read(self.name, at, at + memoryview(buffer).nbytes)
        try:
            size = read_into(self.fileno(), buffer)
        except OSError as error:
            raise self._at(error, memoryview(buffer).nbytes) from error
        if activity.counted is not None:
            activity.count(size)
        return size

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
        kind = os.stat(path).st_mode  # noqa: PTH116 - pathlib imports much
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # `open_input` reports the problems of a directory
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


NAME_MAX = 255
"""Bytes in one path component that every common file system takes."""

PATH_MAX = 4095
"""Bytes in a whole member name."""

_NO_PART = frozenset(("", ".", ".."))

# Names of devices on Windows, also with an extension.
_DEVICES = r"\A(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9\xb9\xb2\xb3]|CONIN\$|CONOUT\$)[ ]*(?:\.|\Z)"
_NOT_ON_WINDOWS = rf'[<>:"|?*\\\x00-\x1f]|[ .]\Z|{_DEVICES}'
"""Components that Windows takes for something else, or cannot store: drives, streams, devices, separators, names
without their end."""

_ELSEWHERE = rf"\\|\A[A-Z]:|{_DEVICES}"
"""Components that lead to another place on Windows: separators, drives, devices."""


def foreign_to_windows(part: str) -> bool:
    """Whether a component of a name means something else on Windows."""
    return _pattern(_NOT_ON_WINDOWS).search(part) is not None


@functools.cache
def _pattern(rules: str) -> re.Pattern[str]:
    """Components that rules match; compiling one takes longer than all else that most commands use this module for."""
    return re.compile(rules, re.IGNORECASE)


def safe_parts(name: str, *, portable: bool = False) -> list[str]:
    """A member name as path components, or `UnsafePathError`: what is refused here is never written anywhere.

    Refused: empty names and components, absolute names, `.` and `..`, NUL, components over 255 bytes, names over 4095
    bytes, names that the file system's encoding cannot hold; on Windows, components that mean something else there;
    with `portable`, for archives that may be unpacked there, components that lead to another place there.
    """
    parts = name.split("/")
    rules = _NOT_ON_WINDOWS if WINDOWS_NAMES else _ELSEWHERE if portable else None
    # Nearly all names pass this one check of the whole name.
    if _NO_PART.isdisjoint(parts) and name.isascii() and len(name) <= NAME_MAX and "\0" not in name and rules is None:
        return parts
    reason = _why_unsafe(name, parts, rules)
    if reason:
        raise UnsafePathError(f"refused member name ({reason})", actual=shorten(name))
    return parts


def _why_unsafe(name: str, parts: list[str], rules: str | None) -> str:
    """Return why `safe_parts` refuses a name, which consists of these parts; empty for a name that is safe.

    `rules`: the components that mean something else on Windows, if that matters.
    """
    if not name:
        return "empty name"
    if "\0" in name:
        return "NUL in the name"
    if name.startswith("/"):
        return "absolute name"
    if ".." in parts:
        return "leads out of its directory"
    if any(part in ("", ".") for part in parts):
        return "empty or '.' path component"
    if rules is not None and any(map(_pattern(rules).search, parts)):
        return "means something else on Windows"
    try:
        sizes = [len(part.encode("utf-8")) for part in parts]
    except UnicodeEncodeError:
        return "not representable in UTF-8"
    if max(sizes) > NAME_MAX or sum(sizes) + len(sizes) - 1 > PATH_MAX:  # with the slashes between them
        return "name too long"
    return ""
