"""Open directories, files named from there, many small files in them read and written at a time, and whole trees.

Where the system has it, a folder is a descriptor and every name is resolved from it without following a link: what
another process does to the path meanwhile changes nothing.  Elsewhere (Windows) a folder is a path whose components
were all checked not to be links or junctions; a link that another process creates between the check and the use is
followed.  Both create files only if the name is free.

Many small files at a time: compiled loops that release the GIL, or their pure-Python implementation.

Per file they cost little more than the system calls.  Anything out of the ordinary (a name that is taken, a file that
changed) is left to the caller's careful path: these functions only report which files need it.

Trees are the input of archives: what is in each directory, and what an archive of files leaves out.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from operator import not_
from pathlib import Path
from typing import TYPE_CHECKING

from exhume.errors import WriterError
from exhume.io.files import BINARY, CLOEXEC, DIRECTORY, HAS_DIR_FD, NOFOLLOW, NONBLOCK, READ
from exhume.io.source import close_quietly
from exhume.native.kernel import COMPILED
from exhume.tuples import NamedTuple

OpenFolder = int | str
"""A descriptor, or a path where directories have none."""

# Flags of `os.open`: create a new file, open a directory.
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC | BINARY
_FOLDER = os.O_RDONLY | DIRECTORY | CLOEXEC


def open_root(path: str | os.PathLike[str]) -> OpenFolder:
    """The directory at a path, links followed.  Raises `OSError`, `NotADirectoryError` for a file."""
    if HAS_DIR_FD:
        return os.open(path, _FOLDER)
    found = os.path.realpath(path)  # on this system, a folder is its path
    if not stat.S_ISDIR(os.stat(found).st_mode):  # noqa: PTH116
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(path))
    return found


def enter(folder: OpenFolder, name: str) -> OpenFolder:
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


def again(folder: OpenFolder) -> OpenFolder:
    """A second handle of the same directory, to be left on its own.  Raises `OSError`."""
    return os.dup(folder) if isinstance(folder, int) else folder


def leave(folder: OpenFolder) -> None:
    """Close a handle."""
    if isinstance(folder, int):
        close_quietly(folder)


def create(folder: OpenFolder, name: str | bytes) -> int:
    """A descriptor for writing a new file; an existing entry, even a link, raises `FileExistsError`."""
    path, at = _place(folder, name)
    return os.open(path, _CREATE, 0o666, dir_fd=at)


def look(folder: OpenFolder, name: str) -> os.stat_result:
    """The `stat` result of a file, or of the link of that name.  Raises `OSError`."""
    path, at = _place(folder, name)
    return os.stat(path, dir_fd=at, follow_symlinks=False)


def remove(folder: OpenFolder, name: str | bytes) -> None:
    """Remove a file.  Raises `OSError`."""
    path, at = _place(folder, name)
    os.unlink(path, dir_fd=at)


def replace(folder: OpenFolder, name: str, by: str) -> None:
    """Rename the file `by` to `name`, replacing the file of that name.  Raises `OSError`."""
    new, at = _place(folder, by)
    old, _ = _place(folder, name)
    os.replace(new, old, src_dir_fd=at, dst_dir_fd=at)


def _place(folder: OpenFolder, name: str | bytes) -> tuple[str | bytes, int | None]:
    """Arguments for `os` that name an entry of a folder: a path, and the descriptor that it starts from."""
    if isinstance(folder, int):
        return name, folder
    return os.path.join(folder, os.fsdecode(name)), None  # noqa: PTH118


Buffer = bytes | bytearray | memoryview

_READ = READ | NONBLOCK  # opening a pipe that has the name by now must not block


def py_write_files(jobs: list[tuple[OpenFolder, bytes, int, int]], data: Buffer) -> list[int]:
    """Create files `(folder, leaf name, start, stop)` that hold `data[start:stop]`.

    Returns an error number per file, 0 where it was created; a file that could not be written whole is removed.  Never
    replaces a file or follows a link.  Raises `ValueError` for a range outside the data or NUL in a name.
    """
    view = memoryview(data)
    for _, name, start, stop in jobs:
        if not 0 <= start <= stop <= len(view) or b"\0" in name:
            raise ValueError("a file outside the data, or NUL in its name")
    return [_write_one(folder, name, view[start:stop]) for folder, name, start, stop in jobs]


def _write_one(folder: OpenFolder, name: bytes, data: memoryview) -> int:
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
        fits = False  # whether the file has exactly this size
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


# The functions that callers use: compiled, or those above.  They need directories as descriptors.
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


class Folder(NamedTuple):
    """The content of one directory: `path` and stored name, its leaves, and `(path, reason)` of entries left out.

    `files` and `folders` are leaf names; `sizes` are those of the files in bytes.  Links to files are files.
    """

    path: str
    name: str
    files: list[str]
    sizes: list[int]
    folders: list[str]
    skipped: list[tuple[str, str]]
    is_listed: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether it could be listed and has no entry of any kind."""
        return self.is_listed and not (self.files or self.folders or self.skipped)

    def paths(self, leaves: list[str]) -> list[str]:
        """Paths of some of its leaves, as the system spells them."""
        base = os.path.join(self.path, "")  # noqa: PTH118 - names stay as the system spells them
        return [base + leaf for leaf in leaves]

    def names(self, leaves: list[str]) -> list[str]:
        """Stored names of some of its leaves."""
        lead = f"{self.name}/" if self.name else ""
        return [lead + leaf for leaf in leaves]


def iter_folders(root: str, name: str, exclude: Collection[tuple[int, int]] = ()) -> Iterator[Folder]:
    """The directory `root`, stored as `name`, and all below it; `exclude` are `(device, inode)` pairs of files."""
    own = {inode for _, inode in exclude}  # a first check, without the device
    waiting = [(root, name)]
    while waiting:
        path, stored = waiting.pop()
        try:
            listing = list_folder(os.fsencode(path))
        except OSError as error:
            yield Folder(path, stored, [], [], [], [(path, error.strerror or str(error))], is_listed=False)
            continue
        files, sizes, others = listing.files, listing.sizes, listing.others
        # Files that may be excluded are examined one by one, with the entries of other kinds.
        if own and not own.isdisjoint(listing.inodes):
            kept = [inode not in own for inode in listing.inodes]
            others = others + list(compress(files, map(not_, kept)))
            files, sizes = list(compress(files, kept)), list(compress(sizes, kept))
        found = Folder(path, stored, files, sizes, listing.folders, [])
        for leaf, place in zip(others, found.paths(others), strict=True):
            _look_closer(found, leaf, place, exclude)
        found.folders.sort(key=os.fsencode)
        waiting += zip(found.paths(found.folders), found.names(found.folders), strict=True)
        yield found


def _look_closer(found: Folder, leaf: str, path: str, exclude: Collection[tuple[int, int]]) -> None:
    """Examine what is not obviously a file or directory: links, possibly the output, entries of unknown type.

    The entry `leaf` at `path` is added to the lists of `found`; a file in `exclude` to none.
    """
    is_link = False
    try:
        itself = os.lstat(path)
        is_link = stat.S_ISLNK(itself.st_mode)
        target = Path(path).stat() if is_link else itself
    except OSError as error:
        found.skipped.append((path, "symbolic link to nothing" if is_link else error.strerror or str(error)))
        return
    if stat.S_ISREG(target.st_mode):
        if (target.st_dev, target.st_ino) not in exclude:
            found.files.append(leaf)
            found.sizes.append(target.st_size)
    elif not stat.S_ISDIR(target.st_mode):
        found.skipped.append((path, "not a regular file"))
    elif is_link:
        found.skipped.append((path, "symbolic link to a directory"))
    else:
        found.folders.append(leaf)


def name_below(given: str, base: str, format: str) -> str:
    """The name of an input relative to the directory `base` ("" for `base` itself).

    Raises `WriterError`, which names the `format`, for an input outside of it.
    """
    name = os.path.relpath(given, base)
    if Path(name).parts[:1] == (os.pardir,):
        raise WriterError("input is outside the base directory", format=format, expected=base, actual=given)
    return "" if name == os.curdir else name.replace(os.sep, "/")
