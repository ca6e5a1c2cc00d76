"""What lies below a directory: archives, the files that belong to them, and everything else, each named once.

A directory is one archive when a format recognises its root.  Links are reported and not followed, so nothing is
visited twice.  One directory at a time is held in memory (for a remote one, its listing).
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from exhume.errors import ExhumeError, SourceError
from exhume.io.local import LocalTree
from exhume.io.source import source_error
from exhume.io.tree import Tree
from exhume.registry import formats, get_format


class Kind(enum.StrEnum):
    """What kind of thing was found."""

    ARCHIVE = "archive"
    PART = "part"
    FILE = "file"
    LINK = "link"
    UNREADABLE = "unreadable"


class Found(NamedTuple):
    """One thing that was found: its path or URL, and what it is.

    ARCHIVE: a directory of that `format`; PART: a file of the archive `archive`; FILE: any other file, which may be an
    archive of its own; LINK: a symbolic link; UNREADABLE: a directory or file, for the reason in `error`.
    """

    name: str
    kind: Kind
    format: str | None = None
    archive: str | None = None
    error: ExhumeError | None = None


Entry = tuple[str, str]
"""A name in a directory, and `file`, `directory`, `link` or `other`."""


def walk_tree(root: Tree, recognise: Callable[[Tree], str | None]) -> Iterator[Found]:
    """Everything below a directory, the files of a directory before its directories, by name.

    `recognise` says which format a directory is an archive of.
    """
    entries_of = _local(root) if isinstance(root, LocalTree) else _listed(root)
    waiting: list[tuple[str, Found | None, str]] = [("", None, "")]
    while waiting:
        folder, owner, within = waiting.pop()
        name = join(root.name, folder)
        try:
            entries = entries_of(folder)
        except SourceError as error:
            yield Found(name, Kind.UNREADABLE, error=error)
            continue
        if not _owns(owner, within):
            owner, within = None, ""
            try:
                format = recognise(root.subtree(folder) if folder else root) if _promising(entries) else None
            except SourceError as error:
                format = None
                yield Found(name, Kind.UNREADABLE, error=error)
            if format is not None:
                owner = Found(name, Kind.ARCHIVE, format)
                yield owner
        folders = []
        for entry, kind in entries:
            path, place = (f"{base}/{entry}" if base else entry for base in (folder, within))
            if kind == "directory":
                folders.append((path, owner, place))
            elif kind == "link":
                yield Found(join(root.name, path), Kind.LINK)
            elif kind == "other":
                here = join(root.name, path)
                yield Found(here, Kind.UNREADABLE, error=SourceError("not a regular file or directory"))
            elif owner is not None and _owns(owner, place):
                yield Found(join(root.name, path), Kind.PART, owner.format, owner.name)
            else:
                yield Found(join(root.name, path), Kind.FILE)
        waiting += reversed(folders)


def _owns(owner: Found | None, name: str) -> bool:
    """Whether a file or directory of that name, relative to an archive, belongs to it."""
    if owner is None or owner.format is None or not name:
        return False
    found: bool = get_format(owner.format).hook("owns")(name)
    return found


def _promising(entries: list[Entry]) -> bool:
    """Whether a directory may be an archive, judged by the names in it; most are not."""
    hooks = [described.hook("owns") for described in formats().values() if described.owns]
    return any(owns(name) for name, _ in entries for owns in hooks)


def _local(root: LocalTree) -> Callable[[str], list[Entry]]:
    def entries_of(folder: str) -> list[Entry]:
        path = os.path.join(root.name, folder)
        try:
            with os.scandir(path) as found:
                return sorted((entry.name, _kind(entry)) for entry in found)
        except OSError as error:
            raise source_error(error, path) from error

    return entries_of


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _listed(root: Tree) -> Callable[[str], list[Entry]]:
    folders: dict[str, dict[str, str]] = {"": {}}
    for name in root.names():
        parent, _, last = name.rpartition("/")
        folders.setdefault(parent, {})[last] = "file"
        while parent:
            above, _, last = parent.rpartition("/")
            known = folders.setdefault(above, {})
            if last in known:
                break
            known[last] = "directory"
            parent = above
    return lambda folder: sorted(folders[folder].items())


def join(root: str, name: str) -> str:
    """The path or URL of a name below a directory; in a chained URL, the name is appended to the first link."""
    head, link, rest = root.partition("::") if "://" in root else (root, "", "")
    if not name:
        return root
    return f"{head}{'' if head.endswith('/') else '/'}{name}{link}{rest}"
