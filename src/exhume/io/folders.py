"""Open directories, files named from there, and many small files in them read and written at a time.

Where the system has it, a folder is a descriptor and every name is resolved from it without following a link: what
another process does to the path meanwhile changes nothing.  Elsewhere (Windows) a folder is a path whose components
were all checked not to be links or junctions; a link that another process creates between the check and the use is
followed.  Both create files only if the name is free.

Many small files at a time: compiled loops that release the GIL, or their pure-Python implementation.

Per file they cost little more than the system calls.  Anything out of the ordinary (a name that is taken, a file that
changed) is left to the caller's careful path: these functions only report which files need it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from exhume.io.files import BINARY, CLOEXEC, DIRECTORY, HAS_DIR_FD, NOFOLLOW, NONBLOCK, READ
from exhume.io.source import close_quietly
from exhume.native.kernel import COMPILED

Folder = int | str
"""A descriptor, or a path where directories have none."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC | BINARY
_FOLDER = os.O_RDONLY | DIRECTORY | CLOEXEC


def open_root(path: str | os.PathLike[str]) -> Folder:
    """The directory at a path, links followed.  Raises `OSError`, `NotADirectoryError` for a file."""
    if HAS_DIR_FD:
        return os.open(path, _FOLDER)
    found = os.path.realpath(path)  # a string is what a folder is here
    if not stat.S_ISDIR(os.stat(found).st_mode):  # noqa: PTH116
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(path))
    return found


def enter(folder: Folder, name: str) -> Folder:
    """The directory of that name in a folder, which must not be a link; it is made where it is missing.

    Raises `OSError`, `NotADirectoryError` for a file.
    """
    if isinstance(folder, int):
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o777, dir_fd=folder)
        return os.open(name, _FOLDER | NOFOLLOW, dir_fd=folder)
    path = os.path.join(folder, name)  # noqa: PTH118
    with contextlib.suppress(FileExistsError):
        os.mkdir(path)  # noqa: PTH102
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", False):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return path


def again(folder: Folder) -> Folder:
    """A second handle of the same directory, to be left on its own.  Raises `OSError`."""
    return os.dup(folder) if isinstance(folder, int) else folder


def leave(folder: Folder) -> None:
    """Close a handle."""
    if isinstance(folder, int):
        close_quietly(folder)


def create(folder: Folder, name: str | bytes) -> int:
    """A descriptor for writing a new file; an existing entry, even a link, raises `FileExistsError`."""
    path, at = _place(folder, name)
    return os.open(path, _CREATE, 0o666, dir_fd=at)


def look(folder: Folder, name: str) -> os.stat_result:
    """What is known of a file, or of the link of that name.  Raises `OSError`."""
    path, at = _place(folder, name)
    return os.stat(path, dir_fd=at, follow_symlinks=False)


def remove(folder: Folder, name: str | bytes) -> None:
    """Remove a file.  Raises `OSError`."""
    path, at = _place(folder, name)
    os.unlink(path, dir_fd=at)


def replace(folder: Folder, name: str, by: str) -> None:
    """Rename the file `by` to `name`, replacing the file of that name.  Raises `OSError`."""
    new, at = _place(folder, by)
    os.replace(new, _place(folder, name)[0], src_dir_fd=at, dst_dir_fd=at)


def _place(folder: Folder, name: str | bytes) -> tuple[str | bytes, int | None]:
    """What `os` is to be given for a name in a folder: a path, and a descriptor that it starts from."""
    if isinstance(folder, int):
        return name, folder
    return os.path.join(folder, os.fsdecode(name)), None  # noqa: PTH118


Buffer = bytes | bytearray | memoryview

_READ = READ | NONBLOCK


def py_write_files(jobs: list[tuple[Folder, bytes, int, int]], data: Buffer) -> list[int]:
    """Create files `(folder, leaf name, start, stop)` that hold `data[start:stop]`.

    Returns an error number per file, 0 where it was created; a file that could not be written whole is removed.  Never
    replaces a file or follows a link.  Raises `ValueError` for a range outside the data or NUL in a name.
    """
    view = memoryview(data)
    for _, name, start, stop in jobs:
        if not 0 <= start <= stop <= len(view) or b"\0" in name:
            raise ValueError("a file outside the data, or NUL in its name")
    return [_write_one(folder, name, view[start:stop]) for folder, name, start, stop in jobs]


def _write_one(folder: Folder, name: bytes, data: memoryview) -> int:
    """Write one file into an open folder; return 0, or the `errno` of the failure, after which the file is removed."""
    try:
        fd = create(folder, name)
    except OSError as error:
        return error.errno or -1
    try:
        try:
            while data:
                data = data[os.write(fd, data) :]
        finally:
            os.close(fd)
    except OSError as error:
        with contextlib.suppress(OSError):
            remove(folder, name)
        return error.errno or -1
    return 0


def py_read_files(paths: list[bytes], sizes: Sequence[int]) -> tuple[bytes, list[bool]]:
    """Read files whose sizes are known: `(buffer, whole)`.

    File `i` takes `sizes[i]` bytes of the buffer, after those of the files before it; they are valid only where
    `whole[i]` says that the file was readable and had exactly that size.  The buffer ends with one spare byte.  Raises
    `ValueError` when there are not as many sizes as paths, or a path contains NUL.
    """
    if len(paths) != len(sizes):
        raise ValueError("one size for each path")
    parts: list[bytes] = []
    whole: list[bool] = []
    for path, size in zip(paths, sizes, strict=True):
        if b"\0" in path:
            raise ValueError("NUL in a path")
        if size < 0:
            raise ValueError("negative size")
        data = b""
        fits = False
        try:
            fd = os.open(path, _READ)
        except OSError:
            pass
        else:
            try:
                data = os.read(fd, size + 1)
                fits = len(data) == size
            except OSError:
                pass
            finally:
                close_quietly(fd)
        whole.append(fits)
        parts.append(data if fits else bytes(size))
    return b"".join([*parts, b"\0"]), whole


class Listing(NamedTuple):
    """A directory: `files` are regular ones with size in bytes and inode number, `folders` directories; what is
    neither, or could not be examined, is in `others`.  Links are not followed.  Names are as the system lists them.
    """

    files: list[str]
    sizes: list[int]
    inodes: list[int]
    folders: list[str]
    others: list[str]


def py_list_folder(path: bytes) -> tuple[list[str], list[int], list[int], list[str], list[str]]:
    """The columns of a `Listing`.  Raises `OSError` when the directory cannot be read, `ValueError` for NUL in it."""
    out = Listing([], [], [], [], [])
    with os.scandir(os.fsdecode(path)) as entries:
        for entry in entries:
            try:
                if entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    out.files.append(entry.name)
                    out.sizes.append(found.st_size)
                    out.inodes.append(found.st_ino)
                    continue
                kind = out.folders if entry.is_dir(follow_symlinks=False) else out.others
            except OSError:
                kind = out.others
            kind.append(entry.name)
    return out


write_files = py_write_files
read_files = py_read_files
_list_folder = py_list_folder
if not TYPE_CHECKING and COMPILED and HAS_DIR_FD:
    from exhume.native._kernel import list_folder as _list_folder
    from exhume.native._kernel import read_files, write_files


def list_folder(path: bytes) -> Listing:
    """The content of a directory, listed in one pass; see `py_list_folder`."""
    return Listing(*_list_folder(path))


__all__ = ["Listing", "list_folder", "py_list_folder", "py_read_files", "py_write_files", "read_files", "write_files"]
