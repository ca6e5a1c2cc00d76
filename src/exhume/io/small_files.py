"""Many small files at a time: compiled loops that release the GIL, or their pure-Python implementation.

Per file they cost little more than the system calls.  Anything out of the ordinary (a name that is taken, a file that
changed) is left to the caller's careful path: these functions only report which files need it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from exhume.io.files import HAS_DIR_FD, NONBLOCK, READ
from exhume.io.output import folders
from exhume.io.source import close_quietly
from exhume.native.kernel import COMPILED

Buffer = bytes | bytearray | memoryview

_READ = READ | NONBLOCK


def py_write_files(jobs: list[tuple[folders.Folder, bytes, int, int]], data: Buffer) -> list[int]:
    """Create files `(folder, leaf name, start, stop)` that hold `data[start:stop]`.

    Returns an error number per file, 0 where it was created; a file that could not be written whole is removed.  Never
    replaces a file or follows a link.  Raises `ValueError` for a range outside the data or NUL in a name.
    """
    view = memoryview(data)
    for _, name, start, stop in jobs:
        if not 0 <= start <= stop <= len(view) or b"\0" in name:
            raise ValueError("a file outside the data, or NUL in its name")
    return [_write_one(folder, name, view[start:stop]) for folder, name, start, stop in jobs]


def _write_one(folder: folders.Folder, name: bytes, data: memoryview) -> int:
    """Write one file into an open folder; return 0, or the `errno` of the failure, after which the file is removed."""
    try:
        fd = folders.create(folder, name)
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
            folders.remove(folder, name)
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
