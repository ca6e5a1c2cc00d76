"""Files and directories that get their name only when they are complete.

Until then they have a temporary name (`.NAME.HEX.part`) next to the final one.  To commit is to write everything to the
disk and rename; to abort is to remove the output.
"""

from __future__ import annotations

import abc
import contextlib
import errno
import io
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, Final, Self

from exhume.errors import OutputExistsError, SourceError, Span
from exhume.io import activity
from exhume.io.files import BINARY, CLOEXEC, DIRECTORY, RawFile, naming, pwrite
from exhume.io.output.scratch import discard, stem, unused, watch
from exhume.io.source import STREAM_CHUNK, source_error


def report_output(path: Path) -> None:
    """Report a finished output to the observer, if there is one."""
    if activity.current is not None:
        activity.current.on_write(path)


UNFINISHED: Final = ".exhume-unfinished"
"""A file in a directory of several outputs.  It remains if the run is interrupted."""

FEW: Final = 8
"""Files that are flushed to disk one by one; for more of them, one system call flushes everything."""

_POSTPONED: ContextVar[bool] = ContextVar("postponed", default=False)  # whether `postponed` is in effect


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Do not wait for the disk when outputs are finished within; the caller calls `sync_tree` afterwards."""
    before = _POSTPONED.set(True)
    try:
        yield
    finally:
        _POSTPONED.reset(before)


@contextlib.contextmanager
def several_outputs(folder: Path) -> Iterator[None]:
    """Mark a directory as unfinished until the outputs made within (with `postponed`) are all on the disk.

    Raises `SourceError` when the mark cannot be made, or something cannot be flushed.
    """
    mark = folder / UNFINISHED
    with naming(mark):
        mark.touch()
    yield
    sync_tree(folder)
    with naming(mark):
        mark.unlink(missing_ok=True)
    sync_directory(folder)


def sync_tree(root: Path) -> None:
    """Flush every file and directory below a directory to disk.  Raises `SourceError`."""
    folders = [(Path(folder), files) for folder, _, files in os.walk(root, topdown=False)]
    if sum(len(files) for _, files in folders) > FEW and hasattr(os, "sync"):
        os.sync()  # the calls below then only report whether it succeeded
    with naming(root):
        for folder, files in folders:
            for file in files:
                _sync(folder / file)
            sync_directory(folder)


# Flags of `os.open`: a new file, to write and read.
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | CLOEXEC | BINARY


class _Atomic(abc.ABC):
    """A context manager: leaving it commits, an exception removes the output."""

    @abc.abstractmethod
    def commit(self) -> None: ...

    @abc.abstractmethod
    def abort(self) -> None: ...

    @abc.abstractmethod
    def roll_back(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *exc: object) -> None:
        if exc_type is None:
            try:
                self.commit()
            except BaseException:
                self.abort()
                raise
        else:
            self.abort()


class AtomicFile(_Atomic):
    """A new file that appears under its name only when complete: temporary file, fsync, rename.

    A context manager around the binary `file`; an exception (or `abort`) removes the temporary file.  Raises
    `OutputExistsError` when the name is taken and `overwrite` is off, and when it is not that of a file.
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Create the temporary file next to `path`."""
        self.path: Path = Path(path)
        self.overwrite = overwrite
        with naming(self.path):
            # What is replaced is a file, or a link to one or to nothing: not a directory, a pipe or a device.
            kept = self.path.exists() and not self.path.is_file()
            taken = kept or (not overwrite and os.path.lexists(self.path))
        if taken:
            raise exists_error(self.path)
        self.temporary: Path = unused(self.path)
        self._watch = watch(self, self.temporary)  # removes it if this object is abandoned
        with naming(self.path):
            fd = os.open(self.temporary, _NEW, 0o666)
        self._raw = RawFile(fd, self.path)
        self.file: BinaryIO = io.BufferedRandom(self._raw, STREAM_CHUNK)
        self._done = self._placed = False  # committed or aborted; has its final name

    def sync(self) -> None:
        """Wait until the written data is on the disk.  Raises `SourceError`."""
        with naming(self.path):
            self.file.flush()
            if not _POSTPONED.get():
                os.fsync(self.file.fileno())

    def seal(self) -> None:
        """Flush to disk and close, but leave the temporary name (several files to be named together)."""
        if self.file.closed:
            return
        with naming(self.path):
            self.sync()
            self.file.close()

    def commit(self) -> None:
        """Flush to disk and rename the file to its name; harmless to repeat."""
        if self._done:
            return
        self.seal()
        put_in_place(self.temporary, self.path, overwrite=self.overwrite)
        self._done = self._placed = True
        self._watch.detach()
        report_output(self.path)
        sync_directory(self.path.parent)

    def abort(self) -> None:
        """Remove the output; harmless to repeat and after `commit`."""
        if not self._done:
            self._done = True
            with contextlib.suppress(OSError):
                self._raw.close()  # without flushing the buffer, as the disk may be full
            discard(self.temporary)
            self._watch.detach()

    def roll_back(self) -> None:
        """`abort`; after `commit`, removes the file again, because the output that it is part of failed."""
        self.abort()
        if self._placed:
            self._placed = False
            discard(self.path)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files that killed processes have left for an `AtomicFile` of this name.

    Only for a caller who knows that no one else is writing the file now.
    """
    target = Path(path)
    ours = re.compile(rf"\.{re.escape(stem(target.name))}\.[0-9a-f]{{16}}\.part")
    for each in target.parent.iterdir():
        if ours.fullmatch(each.name):
            each.unlink(missing_ok=True)


class AtomicDirectory(_Atomic):
    """A new directory that appears under its name only when complete; the same contract as `AtomicFile`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Make a temporary directory next to `path`, which must be absent or empty."""
        self.path: Path = Path(path)
        if os.path.lexists(self.path) and not (self.path.is_dir() and not any(self.path.iterdir())):
            raise exists_error(self.path)
        self.temporary: Path = unused(self.path)
        self._watch = watch(self, self.temporary)  # removes it if this object is abandoned
        with naming(self.path):
            self.temporary.mkdir()
        self._done = self._placed = False  # committed or aborted; has its final name

    def create(self, name: str) -> BinaryIO:
        """A new file of the directory, under the name that it keeps; the caller closes it, `commit` syncs it."""
        path = self.temporary / name
        with naming(self.path / name):
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, _NEW, 0o666)
        return io.BufferedWriter(RawFile(fd, self.path / name), STREAM_CHUNK)

    def commit(self) -> None:
        """Flush every file to disk and rename the directory to its name; a second call does nothing.

        Raises `OutputExistsError` when the name has been taken meanwhile, else `SourceError` when renaming fails.
        """
        if self._done:
            return
        with naming(self.path):
            if not _POSTPONED.get():
                sync_tree(self.temporary)
        try:
            if self.path.is_dir():
                self.path.rmdir()  # empty, checked at the start
            self.temporary.rename(self.path)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):  # the name was taken meanwhile
                raise exists_error(self.path) from None
            raise source_error(error, os.fspath(self.path)) from error
        self._done = self._placed = True
        self._watch.detach()
        report_output(self.path)
        sync_directory(self.path.parent)

    def abort(self) -> None:
        """Remove the output; harmless to repeat and after `commit`."""
        if not self._done:
            self._done = True
            discard(self.temporary)
            self._watch.detach()

    def roll_back(self) -> None:
        """`abort`; after `commit`, removes the directory again."""
        self.abort()
        if self._placed:
            self._placed = False
            discard(self.path)


@contextlib.contextmanager
def named_after(output: Path, temporary: Path) -> Iterator[None]:
    """Let errors of the body that name a file below the directory `temporary` name `output` instead."""
    try:
        yield
    except SourceError as error:
        if error.span is not None and Path(error.span.source).is_relative_to(temporary):
            error.span = Span(os.fspath(output), 0, 0)
        raise


class GrowingFile:
    """A new file that is written in place, by position, for formats that must survive a stop at any moment.

    It has its final name from the start (what refers to it appears later).  Raises `OutputExistsError` when the name is
    taken.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Create the file. Raises if it exists."""
        self.path: Path = Path(path)
        try:
            with naming(self.path):
                self._fd = os.open(self.path, _NEW, 0o666)
        except SourceError as error:
            if isinstance(error.__cause__, FileExistsError):
                raise exists_error(self.path) from None
            raise

    def write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at `offset`; bytes skipped between writes read as zeros.  Raises `SourceError`."""
        view = memoryview(data)
        try:
            while view:
                done = pwrite(self._fd, view, offset)
                view, offset = view[done:], offset + done
        except OSError as error:
            raise source_error(error, os.fspath(self.path), offset, offset + len(view)) from error

    def sync(self) -> None:
        """Wait until the written data is on the disk.  Raises `SourceError`."""
        with naming(self.path):
            if not _POSTPONED.get():
                os.fsync(self._fd)

    def close(self) -> None:
        """Close the file; harmless to repeat.  Raises `SourceError`."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            report_output(self.path)
            with naming(self.path):
                os.close(fd)

    def remove(self) -> None:
        """Close and delete the file."""
        with contextlib.suppress(SourceError):
            self.close()
        discard(self.path)


def put_in_place(temporary: Path, path: Path, *, overwrite: bool) -> None:
    """Rename a finished temporary file.

    Without `overwrite`, a file that took the name meanwhile is never replaced: raises `OutputExistsError`.  Raises
    `SourceError` when the system cannot do it.
    """
    with naming(path):
        if overwrite:
            temporary.replace(path)
            return
        try:
            os.link(temporary, path)  # unlike a rename, it fails if the name is taken
        except FileExistsError:
            discard(temporary)
            raise exists_error(path) from None
        except OSError:  # no hard links here: the check and the rename are then two steps
            if os.path.lexists(path):
                discard(temporary)
                raise exists_error(path) from None
            temporary.rename(path)
        else:
            discard(temporary)


def exists_error(path: str | os.PathLike[str]) -> OutputExistsError:
    """The error for an output that exists already: a file, which `overwrite` replaces, a directory, or neither."""
    span = Span(os.fspath(path), 0, 0)
    if Path(path).is_dir():
        return OutputExistsError(
            "a directory, which is never replaced: remove it, or name another", span=span, code="EX-709"
        )
    if Path(path).exists() and not Path(path).is_file():
        return OutputExistsError("a device or pipe, which is never replaced: name another", span=span, code="EX-709")
    return OutputExistsError("the output exists already", span=span)


def sync_directory(path: Path) -> None:
    """Make a rename durable; file systems that cannot fsync a directory are left alone."""
    if _POSTPONED.get():
        return
    with contextlib.suppress(OSError):
        fd = os.open(path or Path(), os.O_RDONLY | DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _sync(path: Path) -> None:
    """Write the data of a file from the system's cache to the disk."""
    fd = os.open(path, os.O_RDWR)  # Windows syncs only what may be written
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
