"""Local files and directories, read with `pread`, never opened for writing; mapped as a whole, or read as they grow.

Reading leaves the access time of a file unchanged where the system allows that, since files may be evidence.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from exhume.errors import EntryNotFoundError, SourceError, Span, UnsafePathError
from exhume.io import activity
from exhume.io.files import READ, pread
from exhume.io.source import Source, close_quietly, source_error
from exhume.io.tree import Tree, check_relative


def open_untouched(path: str | os.PathLike[str]) -> int:
    """A descriptor for reading; the file's access time is left unchanged where the system allows that.

    Raises `OSError`.
    """
    try:
        return os.open(path, READ | getattr(os, "O_NOATIME", 0))
    except PermissionError:  # only owners of a file may request that
        return os.open(path, READ)


class FileSource(Source):
    """A local file, read with `pread`; a change of size or time while it is open is noticed on failing reads."""

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Open a file to read, without a change of its access time.

        `name` is for messages; without it, the path is used. Raises `SourceError` if it cannot be opened, or is a pipe
        or similar.
        """
        self._path = os.fspath(path)
        self.name: str = self._path if name is None else name
        if activity.current is not None:
            activity.current.on_open(self._path)
        try:
            self._fd = open_untouched(self._path)
        except OSError as error:
            raise source_error(error, self.name) from error
        try:
            self._size = os.lseek(self._fd, 0, os.SEEK_END)
        except OSError as error:
            os.close(self._fd)
            raise SourceError("not a seekable file", span=Span(self.name, 0, 0), actual=error.strerror) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return FileSource, (os.path.abspath(self._path), self.name)

    @property
    def size(self) -> int:
        return self._size

    @property
    def location(self) -> str | None:
        return self._path

    def fileno(self) -> int | None:
        return self._fd if self._fd >= 0 else None

    def _read(self, offset: int, size: int) -> bytes:
        """Read up to `size` bytes at `offset`; fewer are returned at the end of the file."""
        if self._fd < 0:
            raise SourceError("the file is closed", span=self.span(offset, offset + size), code="EX-605")
        if activity.current is not None:
            activity.current.on_read(self._path, offset, offset + size)
        if activity.counted is not None:
            activity.count(size)
        try:
            data = pread(self._fd, size, offset)
            if len(data) == size or not data:
                return data
            parts = [data]  # Linux returns at most 2 GiB - 4 KiB at once
            got = len(data)
            while got < size and (more := pread(self._fd, size - got, offset + got)):
                parts.append(more)
                got += len(more)
            return b"".join(parts)
        except OSError as error:
            raise source_error(error, self.name, offset, offset + size) from error

    def stored(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The ranges that are not holes of a sparse file; all of `[start, end)` where the system has no holes."""
        if activity.current is not None:
            activity.current.on_read(self._path, start, end)
        while start < end:
            try:
                first = os.lseek(self._fd, start, os.SEEK_DATA)
                last = os.lseek(self._fd, first, os.SEEK_HOLE)
            except (AttributeError, OSError) as error:
                if getattr(error, "errno", None) != errno.ENXIO:  # which says that no data follow
                    yield start, end
                return
            if first < end:
                yield first, min(last, end)
            start = last

    def parent(self, levels: int = 1) -> Tree | None:
        """Return the directory `levels` above the file; None above the root."""
        path = os.path.abspath(self._path)
        for _ in range(levels):
            path, below = os.path.dirname(path), path
            if path == below:
                return None
        return LocalTree(path)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            close_quietly(fd)

    def __del__(self) -> None:
        # As a file object does: a long run over many archives must not run out of descriptors for one that was dropped.
        if getattr(self, "_fd", -1) >= 0:
            close_quietly(self._fd)


class FileObjectSource(Source):
    """A seekable binary file object that the caller owns; reads are serialized by a lock."""

    def __init__(self, file: BinaryIO, name: str | None = None) -> None:
        """Take a file object; its `name`, or "<file>", is for messages.

        Raises `SourceError` for text, pipes and sockets.
        """
        given = getattr(file, "name", None)
        self.name: str = name if name is not None else given if isinstance(given, str) else "<file>"
        import threading

        mistaken: object = file
        if isinstance(mistaken, io.TextIOBase):
            raise SourceError("the file object is not open in binary mode", span=Span(self.name, 0, 0))
        self._file = file
        self._lock = threading.Lock()
        try:
            self._size = file.seek(0, io.SEEK_END)
        except (OSError, ValueError, AttributeError) as error:
            raise SourceError("not a seekable binary file object", span=Span(self.name, 0, 0), actual=error) from error

    @property
    def size(self) -> int:
        return self._size

    def _read(self, offset: int, size: int) -> bytes:
        """Read from the caller's file object, one thread at a time."""
        with self._lock:
            try:
                self._file.seek(offset)
                parts: list[bytes] = []
                while size > 0 and (part := self._file.read(size)):
                    parts.append(part)
                    size -= len(part)
            except (OSError, ValueError) as error:
                raise SourceError("read failed", span=self.span(offset, offset + size), actual=error) from error
        return b"".join(parts)


class LocalTree(Tree):
    """A local directory.  Symbolic links that lead outside it are refused.

    Each of its folders is listed once, when its names are first requested: files that come later are not among them.
    `seen` are the folders that are listed already, by path; trees of folders below share it.
    """

    def __init__(
        self, path: str | os.PathLike[str], prefix: str = "", *, seen: dict[str, list[tuple[str, str]]] | None = None
    ) -> None:
        """Describe a directory, nothing is listed yet; `prefix` is before the names of its files in messages, `seen`
        has the listings that subtrees share.
        """
        self.name: str = os.fspath(path)
        self._prefix = prefix  # before the names of its files, in messages
        self._seen = {} if seen is None else seen
        self._names: dict[str, list[str]] = {}  # results of `names`

    @property
    def location(self) -> str | None:
        return self.name

    def listing(self, folder: str = "") -> list[tuple[str, str]]:
        """The entries of a folder, as in `Tree.listing`.  Raises `SourceError` if it cannot be listed."""
        path = os.path.join(self.name, check_relative(folder, self.name)) if folder else self.name
        known = self._seen.get(path)
        if known is None:
            above, last = os.path.split(path)
            # A folder that the listing of the one above does not have is missing, even if it was made since.
            if folder and above in self._seen and last not in dict(self._seen[above]):
                raise source_error(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)), path)
            try:
                with os.scandir(path) as found:
                    known = self._seen[path] = sorted((entry.name, _kind(entry)) for entry in found)
            except OSError as error:
                raise source_error(error, path) from error
        return known

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all files below `prefix`, sorted; the directories are listed once."""
        known = self._names.get(prefix)
        if known is None:
            known = self._names[prefix] = sorted(self._below(prefix))
        return known.copy()

    def _below(self, folder: str, *, deep: bool = True) -> Iterator[str]:
        """The relative paths of the files in a folder, and with `deep` below it; unreadable folders are left out."""
        waiting = [folder]
        while waiting:
            folder = waiting.pop()
            try:
                found = self.listing(folder)
            except SourceError:  # what cannot be listed is not there
                continue
            for name, kind in found:
                path = f"{folder}/{name}" if folder else name
                if kind == "directory":
                    waiting += [path] if deep else []
                elif kind != "link" or not os.path.isdir(os.path.join(self.name, path)):
                    yield path

    def files(self) -> list[str]:
        return list(self._below("", deep=False))

    def _resolve(self, name: str) -> str:
        """Return the path of a file. Raises `UnsafePathError` if a link leads outside the directory."""
        path = os.path.join(self.name, check_relative(name, self.name))
        root = os.path.realpath(self.name)
        if os.path.commonpath((root, os.path.realpath(path))) != root:
            raise UnsafePathError(
                "a link leads outside the directory", code="EX-503", span=Span(self.name, 0, 0), actual=name
            )
        return path

    def exists(self, name: str) -> bool:
        return os.path.isfile(self._resolve(name))

    def source(self, name: str) -> Source:
        """Open one file.

        Raises `EntryNotFoundError`, `UnsafePathError` for a name that leads outside, and `SourceError` where the file
        cannot be opened.
        """
        path = self._resolve(name)
        try:
            is_file = stat.S_ISREG(os.stat(path).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_file = False
        except OSError as error:
            raise source_error(error, path) from error
        if not is_file:
            raise EntryNotFoundError("no such file in the directory", span=Span(self.name, 0, 0), actual=name)
        return FileSource(path, self._prefix + name)

    def subtree(self, name: str) -> Tree:
        return LocalTree(self._resolve(name), f"{self._prefix}{name}/", seen=self._seen)

    def alone(self, name: str, called: str) -> Tree:
        return LocalTree(called, seen=self._seen)


def _kind(entry: os.DirEntry[str]) -> str:
    """Return the kind of a directory entry: link, directory, file or other."""
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def open_path(path: str) -> FileSource | LocalTree:
    """The file or directory at a path.  Raises `SourceError` if it is neither, or cannot be opened."""
    kind = _file_type(path)
    if kind == stat.S_IFDIR:
        return LocalTree(path)
    if kind not in (0, stat.S_IFREG, stat.S_IFBLK):
        raise SourceError("not a regular file or directory", span=Span(path, 0, 0))
    return FileSource(path)


def _file_type(path: str) -> int:
    """The type of file that a path leads to, as in `stat.S_IFREG`; 0 when it is unknown (opening it will say why)."""
    try:
        return stat.S_IFMT(os.stat(path).st_mode)
    except (OSError, ValueError):
        return 0


SMALL = 1 << 20
"""Bytes of a file that are read rather than mapped."""


def mapped(source: Source) -> Any:
    """All bytes of a source, as `bytes` or as a `mmap`, which readers use alike; propagates errors from reading.

    A file that gets shorter while it is mapped ends the process (SIGBUS), as with every program that maps it.
    """
    # Mapped pages are read without a call, so an observer could not be notified of them.
    number = source.fileno() if source.size > SMALL and activity.current is None else None
    if number is None or source.origin % mmap.ALLOCATIONGRANULARITY:  # a mapping begins at a multiple of that
        return source.read_at(0, source.size)
    try:
        return mmap.mmap(number, source.size, access=mmap.ACCESS_READ, offset=source.origin)
    except OSError:  # a file system that cannot map files
        return source.read_at(0, source.size)


def release(data: Any, start: int, end: int) -> None:
    """Release the memory of `[start, end)` of a mapped file, by whole pages: they are read again if they are needed."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        first = start // mmap.PAGESIZE * mmap.PAGESIZE
        if end - first >= mmap.PAGESIZE:
            data.madvise(mmap.MADV_DONTNEED, first, (end - first) // mmap.PAGESIZE * mmap.PAGESIZE)


GROWING_CHUNK = 1 << 16
"""Bytes that are read at once."""

INTERVAL_S = 0.2
"""Seconds to wait before a file that has not grown is examined again."""


class GrowingFile:
    """The content of a file, and what is appended to it.

    Attributes:
        replaced: Why reading ended: `replaced` by another file of its name, or `truncated`; None until then.
        removed: Called once when no file has the name any longer; a new one is waited for.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.replaced: str | None = None
        self.removed: Callable[[], object] = lambda: None
        self._is_removed = False

    def chunks(self) -> Iterator[bytes]:
        """The bytes from the beginning, then what is appended; an empty chunk whenever everything was read.

        Ends when the file becomes shorter, and when another file has its name, after the rest of the old one.  A name
        without a file is waited for, with an empty chunk before each wait.  Raises `SourceError`.
        """
        while (fd := self._open()) is None:
            yield b""
            self.wait(INTERVAL_S)
        at = 0  # bytes read so far
        is_last = False  # another file has the name: read the rest of this one
        try:
            while True:
                data = os.read(fd, GROWING_CHUNK)
                if data:
                    at += len(data)
                    yield data
                    continue
                if is_last:
                    self.replaced = "replaced"
                    return
                yield b""
                if os.fstat(fd).st_size < at:
                    self.replaced = "truncated"
                    return
                is_last = self._is_another(fd)
                if not is_last:
                    self.wait(INTERVAL_S)
        except OSError as error:
            raise source_error(error, self.path) from error
        finally:
            os.close(fd)

    def wait(self, seconds: float) -> None:
        """Wait before the file is examined again."""
        time.sleep(seconds)

    def _open(self) -> int | None:
        """A descriptor of the file; None where there is none."""
        try:
            return open_untouched(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise source_error(error, self.path) from error

    def _is_another(self, fd: int) -> bool:
        """Whether another file has the name by now."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            if not self._is_removed:
                self._is_removed = True
                self.removed()
            return False
        mine = os.fstat(fd)
        return (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino)
