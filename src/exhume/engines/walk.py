"""The content of a directory: archives, the files that belong to them, and everything else, each named once.

A directory is one archive when a format recognizes its root.  Links are reported and not followed, so nothing is
visited twice.  One directory at a time is held in memory (for a remote one, its listing).
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator

from exhume.errors import ExhumeError, SourceError
from exhume.io.local import LocalTree
from exhume.io.tree import Tree
from exhume.registry import formats, get_format
from exhume.tuples import NamedTuple


class Kind(enum.StrEnum):
    """Kind of a walk entry; `WalkEntry` says what each means."""

    ARCHIVE = "archive"
    PART = "part"
    FILE = "file"
    LINK = "link"
    UNREADABLE = "unreadable"


class WalkEntry(NamedTuple):
    """One thing that was found: its path or URL, and what it is.

    ARCHIVE: a directory of that `format`, which `tree` opens without listing it again; PART: a file of the archive
    `archive`; FILE: any other file, which may be an archive of its own; LINK: a symbolic link; UNREADABLE: a directory
    or file, for the reason in `error`.
    """

    name: str
    kind: Kind
    format: str | None = None
    archive: str | None = None
    error: ExhumeError | None = None
    tree: Tree | None = None


class _Folder(NamedTuple):
    """A directory to search: `path` is its path below the root.

    `owner` is the archive whose format it belongs to (None: none), `within` its path below that archive. `tree` is the
    innermost archive that contains it, part of the format or not, and `place` its path in that.
    """

    path: str = ""
    owner: WalkEntry | None = None
    within: str = ""
    tree: Tree | None = None
    place: str = ""


def walk_tree(root: Tree, recognize: Callable[[Tree], str | None]) -> Iterator[WalkEntry]:
    """Everything below a directory, the files of a directory before its directories, by name.

    `recognize` says which format a directory is an archive of.  Each directory is listed once, also when the archives
    that are found are opened by their `tree`.
    """
    local = isinstance(root, LocalTree)
    waiting = [_Folder()]  # a stack: the last one is searched next
    while waiting:
        folder, owner, within, tree, place = waiting.pop()
        name = join(root.location or root.name, folder)
        apart = tree is None  # outside of any archive
        if tree is None:
            # A local tree remembers what it lists: one for each directory, or all would be held in memory.
            tree, place = (LocalTree(name), "") if local and folder else (root, folder)
        try:
            entries = tree.listing(place)
        except SourceError as error:
            yield WalkEntry(name, Kind.UNREADABLE, error=error)
            continue
        if not _owns(owner, within):  # not a part of the archive above: it may be an archive itself
            owner, within = None, ""
            if _promising(entries):
                # The directory as a tree of its own, which keeps the listing.
                here = tree.alone(place, name) if place else tree
                try:
                    format = recognize(here)
                except SourceError as error:
                    format = None
                    yield WalkEntry(name, Kind.UNREADABLE, error=error)
                if format is not None:
                    owner, tree, place, apart = WalkEntry(name, Kind.ARCHIVE, format, tree=here), here, "", False
                    _list_own(owner)
                    yield owner
        folders = []
        for entry, kind in entries:
            # Its path below the root, below the archive that owns it, and in `tree`.
            path, below, inside = (f"{base}/{entry}" if base else entry for base in (folder, within, place))
            if kind == "directory" and apart:  # it gets a tree of its own
                folders.append(_Folder(path, owner, below))
            elif kind == "directory":
                folders.append(_Folder(path, owner, below, tree, inside))
            else:
                yield _lone(join(root.location or root.name, path), kind, owner if _owns(owner, below) else None)
        waiting += reversed(folders)


def _lone(name: str, kind: str, owner: WalkEntry | None) -> WalkEntry:
    """Return the entry of something other than a directory, which belongs to the archive `owner`, if any.

    `kind` is that of `Tree.listing`: file, link or other (a device, a pipe).
    """
    if kind == "link":
        return WalkEntry(name, Kind.LINK)
    if kind == "other":
        return WalkEntry(name, Kind.UNREADABLE, error=SourceError("not a regular file or directory"))
    return WalkEntry(name, Kind.PART, owner.format, owner.name) if owner is not None else WalkEntry(name, Kind.FILE)


def _list_own(archive: WalkEntry) -> None:
    """List the folders of an archive, which its tree keeps: other processes, which get that, need not list them."""
    waiting = [""]
    while waiting and archive.tree is not None:
        folder = waiting.pop()
        with contextlib.suppress(SourceError):  # the walk will come there and state it
            for name, kind in archive.tree.listing(folder):
                path = f"{folder}/{name}" if folder else name
                if kind == "directory" and _owns(archive, path):
                    waiting.append(path)


def _owns(owner: WalkEntry | None, name: str) -> bool:
    """Whether a file or directory of that name, relative to an archive, belongs to it."""
    if owner is None or owner.format is None or not name:
        return False
    found: bool = get_format(owner.format).hook("owns")(name)
    return found


def _promising(entries: list[tuple[str, str]]) -> bool:
    """Whether a directory may be an archive, judged by the names in it; most are not."""
    hooks = [described.hook("owns") for described in formats().values() if described.owns]
    return any(owns(name) for name, _ in entries for owns in hooks)


def join(root: str, name: str) -> str:
    """The path or URL of a name below a directory; in a chained URL, the name is appended to the first link."""
    head, link, rest = root.partition("::") if "://" in root else (root, "", "")
    if not name:
        return root
    return f"{head}{'' if head.endswith('/') else '/'}{name}{link}{rest}"
