"""Open directories, and files named from there, so that nothing on the way can lead elsewhere.

Where the system has it, a folder is a descriptor and every name is resolved from it without following a link: what
another process does to the path meanwhile changes nothing.  Elsewhere (Windows) a folder is a path whose components
were all checked not to be links or junctions; a link that another process creates between the check and the use is
followed.  Both create files only if the name is free.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from exhume.io.files import BINARY, CLOEXEC, DIRECTORY, HAS_DIR_FD, NOFOLLOW
from exhume.io.source import close_quietly

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
