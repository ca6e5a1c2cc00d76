"""Directory trees as the input of archives: what is in each directory, and what an archive of files leaves out."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from itertools import compress
from operator import not_
from pathlib import Path
from typing import NamedTuple

from exhume.errors import WriterError
from exhume.io.folders import list_folder


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
    """A directory that is stored as `name`, and all below it; `exclude` are `(device, inode)` pairs of files."""
    own = {inode for _, inode in exclude}
    waiting = [(root, name)]
    while waiting:
        path, stored = waiting.pop()
        try:
            listing = list_folder(os.fsencode(path))
        except OSError as error:
            yield Folder(path, stored, [], [], [], [(path, error.strerror or str(error))], is_listed=False)
            continue
        files, sizes, others = listing.files, listing.sizes, listing.others
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
    """Examine what is not obviously a file or directory: links, possibly the output, entries of unknown type."""
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

    Raises `WriterError` for an input outside of it.
    """
    name = os.path.relpath(given, base)
    if Path(name).parts[:1] == (os.pardir,):
        raise WriterError("input is outside the base directory", format=format, expected=base, actual=given)
    return "" if name == os.curdir else name.replace(os.sep, "/")
