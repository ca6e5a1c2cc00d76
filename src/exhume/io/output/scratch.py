"""Temporary files and directories for work that does not fit into memory, and the removal of unfinished output.

A scratch file has no name, or loses it at once, so that nothing remains if the process is killed.
"""

from __future__ import annotations

import io
import mmap
import os
import weakref
from typing import TYPE_CHECKING, Any, BinaryIO

from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.io.files import BINARY, CLOEXEC, RawFile, naming
from exhume.io.source import STREAM_CHUNK

if TYPE_CHECKING:
    from pathlib import Path


def discard(path: Path) -> None:
    """Remove a file, or a directory with its content, if it exists; if that fails twice, it remains.

    Raises `KeyboardInterrupt` when the user interrupts it, but only after removing.
    """
    interrupted = False
    for _ in range(2):
        try:
            if path.is_dir() and not path.is_symlink():
                import shutil  # it loads five compressions

                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            break
        except OSError:
            continue
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt


def scratch_file(folder: str | os.PathLike[str] | None = None) -> BinaryIO:
    """An unnamed file that vanishes when it is closed, in `folder` or in the system's temporary directory.

    Raises `SourceError`.
    """
    import tempfile  # a spool that stays in memory does without

    where = os.fspath(folder) if folder is not None else tempfile.gettempdir()
    with naming(where):
        try:
            fd = os.open(where, os.O_RDWR | os.O_TMPFILE | CLOEXEC, 0o600)
        except (OSError, AttributeError):  # this file system or this system does not have such files
            fd, name = tempfile.mkstemp(prefix=".exhume-", suffix=".part", dir=where)
            # Windows cannot remove an open file, but removes one that was opened with this flag when it is closed.
            if hasattr(os, "O_TEMPORARY"):
                first, fd = fd, os.open(name, os.O_RDWR | os.O_TEMPORARY | BINARY | CLOEXEC)
                os.close(first)
            else:
                from pathlib import Path

                discard(Path(name))
    return io.BufferedRandom(RawFile(fd, where), STREAM_CHUNK)


def mapped_room(size: int) -> memoryview:
    """A writable buffer of `size` bytes in a temporary file, which vanishes with the last view of it.

    Its pages need not stay in memory.  Raises `SourceError` if the file system has not that much space.
    """
    with scratch_file() as file:
        where = f"a temporary file of {counted(size, 'bytes')}"
        with naming(where):
            if hasattr(os, "posix_fallocate"):  # writing to a page without space would end the process
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_WRITE))


class Spool:
    """A buffer that is appended to: in memory up to `most` bytes, beyond that in a temporary file.

    `add` and `take` raise `SourceError`.
    """

    def __init__(self, most: int) -> None:
        """Keep up to `most` bytes in memory and the rest in a temporary file."""
        self._most = most
        self._parts: list[bytes] = []  # while all is in memory
        self._file: BinaryIO | None = None
        self.size: int = 0
        """Bytes that were added."""

    def add(self, data: bytes) -> None:
        """Add bytes at the end."""
        self.size += len(data)
        if self._file is None and self.size > self._most:
            self._file = scratch_file()
            self._file.writelines(self._parts)
            self._parts.clear()
        if self._file is None:
            self._parts.append(data)
        else:
            self._file.write(data)

    def take(self) -> bytes | memoryview:
        """Return all bytes.  If they are in a file, it is mapped, and vanishes with the last view of it."""
        if self._file is None:
            return b"".join(self._parts)
        with self._file as file:
            file.flush()
            return memoryview(mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ))


LONGEST = 200
"""Bytes of a name that a temporary name repeats: with the rest of it, it stays below the limit of 255 bytes."""


def stem(name: str) -> str:
    """The start of an output's temporary names, after the dot."""
    while len(os.fsencode(name)) > LONGEST:
        name = name[:-1]
    return name


def unused(target: Path) -> Path:
    """Return a temporary name next to `target` that contains its name and ends with `.part`."""
    while True:
        path = target.parent / f".{stem(target.name)}.{os.urandom(8).hex()}.part"
        if not os.path.lexists(path):
            return path


def watch(owner: object, path: Path) -> weakref.finalize[..., Any]:
    """Remove `path` when `owner` is garbage or the process ends, unless the result is detached before.

    Ctrl-C can come between any two instructions, also before a `with` statement has its object.  So an unfinished
    output is registered here before it is made.
    """
    return weakref.finalize(owner, _discard_ours, path, os.getpid())


def _discard_ours(path: Path, process: int) -> None:
    """Remove a path if the process is still the one that registered it."""
    if os.getpid() == process:  # not in a forked child
        discard(path)


class ScratchDirectory:
    """A context manager: a temporary directory next to `target`, removed with its content in the end.

    Entering it returns its path, or raises `SourceError`.  Errors about files in it name the target: a file with the
    target's name is the unfinished target, and others are only needed to make it.
    """

    def __init__(self, target: Path) -> None:
        self._target, self._path = target, unused(target)
        self._watch = watch(self, self._path)

    def __enter__(self) -> Path:
        try:
            with naming(self._target):
                self._path.mkdir(0o700)
        except BaseException:
            self.__exit__()
            raise
        return self._path

    def __exit__(self, exc_type: object = None, error: object = None, *traceback: object) -> None:
        """Remove the folder; an error about a file in it names the output instead."""
        discard(self._path)
        self._watch.detach()
        if isinstance(error, ExhumeError) and error.span is not None:
            from pathlib import Path

            place = Path(error.span.source)
            if place.is_relative_to(unfinished := self._path / self._target.name):
                error.span = error.span._replace(source=str(self._target / place.relative_to(unfinished)))
            elif place.is_relative_to(self._path):
                error.span = Span(str(self._target), 0, 0)
