"""Directories of sources, addressed by relative names with `/` between their parts.

A `Source` is one readable file.  Trees are local directories, remote ones, or in memory.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Self

from exhume.errors import EntryNotFoundError, Span, UnsafePathError
from exhume.io.files import WINDOWS_NAMES
from exhume.io.source import LOCAL_COST, BytesSource, Cost, Source, StoppableSource


def check_relative(name: str, root: str = "") -> str:
    """A `/`-separated name below a root, or `UnsafePathError`: nothing outside a target directory is ever opened."""
    parts = name.split("/")
    if WINDOWS_NAMES and ("\\" in name or ":" in name):
        parts = [""]  # another drive, a stream of a file, or a way out
    if not name or name.startswith("/") or "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise UnsafePathError("a name leads outside the directory", code="EX-503", span=Span(root, 0, 0), actual=name)
    return name


class Tree(abc.ABC):
    """A directory of sources, addressed by relative `/`-separated names."""

    name: str

    @abc.abstractmethod
    def names(self, prefix: str = "") -> list[str]:
        """All files below `prefix` (a directory name or ""), relative to the root, sorted."""

    def files(self) -> list[str]:
        """The files directly in the directory, sorted."""
        return [name for name in self.names() if "/" not in name]

    @property
    def cost(self) -> Cost:
        """The cost of reading a file, or of requesting its size."""
        return LOCAL_COST

    @property
    def is_remote(self) -> bool:
        """Whether each file that is read costs a request."""
        return self.cost.wait > 0

    def listed_size(self, name: str) -> int | None:
        """The size of a file if it is known without requesting the file; 0 when it is known to be missing."""
        return None

    @abc.abstractmethod
    def exists(self, name: str) -> bool:
        """Whether a file of that name is there."""

    @abc.abstractmethod
    def source(self, name: str) -> Source:
        """Open one file; the source is called by its relative name.  Raises `EntryNotFoundError`."""

    def will_read(  # noqa: B027 - most trees are available
        self,
        names: Iterable[str] = (),
        *,
        tails: Iterable[str] = (),
        sizes: Iterable[str] = (),
        spans: Mapping[str, tuple[int, int]] = MappingProxyType({}),
        listing: bool = False,
    ) -> None:
        """Announce reads, so that a remote tree can request all of them at the same time.

        `names`: files whose beginning will be read; `tails`: files whose end and beginning will be; `sizes`: files
        whose size will be requested; `spans`: ranges that will be read in small reads, see `Source.will_read`;
        `listing`: the names of all files.  Errors are raised only when the files are read.
        """

    @abc.abstractmethod
    def subtree(self, name: str) -> Tree:
        """The directory `name` as a tree of its own (whether or not it exists)."""

    def alone(self, name: str, called: str) -> Tree:
        """The directory `name` as if it had been opened by itself, by its own path or URL `called`.

        What is known of its files is shared, so that nothing is listed twice.
        """
        return self.subtree(name)

    def listing(self, folder: str = "") -> list[tuple[str, str]]:
        """The entries of a folder by name, each with `file`, `directory`, `link` or `other`.

        Raises `SourceError` where the folder cannot be listed.
        """
        return sorted(self._folders.get(folder, {}).items())

    @functools.cached_property
    def _folders(self) -> dict[str, dict[str, str]]:
        """The entries of each folder: names, each with `file` or `directory`."""
        folders: dict[str, dict[str, str]] = {"": {}}
        for name in self.names():
            parent, _, last = name.rpartition("/")
            folders.setdefault(parent, {})[last] = "file"
            while parent:
                above, _, last = parent.rpartition("/")
                known = folders.setdefault(above, {})
                if last in known:
                    break
                known[last] = "directory"
                parent = above
        return folders

    @property
    def location(self) -> str | None:
        """The path or URL that opens this tree again, or None."""
        return None

    def close(self) -> None:  # noqa: B027 - most trees hold nothing
        """Release what the tree holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class MemoryTree(Tree):
    """Files held in memory, by name (tests, carving, remote staging)."""

    def __init__(self, files: Mapping[str, bytes | Source], name: str = "<memory>", prefix: str = "") -> None:
        self.name = name
        self._files = {check_relative(key): value for key, value in files.items()}
        self._prefix = prefix  # before the names of its files, in messages

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all files below `prefix`, sorted."""
        lead = f"{prefix}/" if prefix else ""
        return sorted(name for name in self._files if name.startswith(lead))

    def exists(self, name: str) -> bool:
        return check_relative(name, self.name) in self._files

    def source(self, name: str) -> Source:
        """Open one file.  Raises `EntryNotFoundError`, or `UnsafePathError` for a name that leads outside."""
        data = self._files.get(check_relative(name, self.name))
        if data is None:
            raise EntryNotFoundError("no such file in the directory", span=Span(self.name, 0, 0), actual=name)
        return data if isinstance(data, Source) else BytesSource(data, self._prefix + name)

    def subtree(self, name: str) -> Tree:
        """Return a directory of the tree as a tree of its own."""
        lead = check_relative(name, self.name) + "/"
        files = {key[len(lead) :]: value for key, value in self._files.items() if key.startswith(lead)}
        return MemoryTree(files, f"{self.name}/{name}", self._prefix + lead)


class StoppableTree(Tree):
    """Another directory whose files are read until `stopped()`, as `StoppableSource` has it."""

    def __init__(self, base: Tree, stopped: Callable[[], bool]) -> None:
        self._base, self._stopped = base, stopped
        self.name: str = base.name

    def names(self, prefix: str = "") -> list[str]:
        return self._base.names(prefix)

    @property
    def cost(self) -> Cost:
        return self._base.cost

    def listed_size(self, name: str) -> int | None:
        return self._base.listed_size(name)

    def exists(self, name: str) -> bool:
        return self._base.exists(name)

    def source(self, name: str) -> Source:
        """Open one file.  Raises what the directory raises."""
        return StoppableSource(self._base.source(name), self._stopped, owned=True)

    def will_read(
        self,
        names: Iterable[str] = (),
        *,
        tails: Iterable[str] = (),
        sizes: Iterable[str] = (),
        spans: Mapping[str, tuple[int, int]] = MappingProxyType({}),
        listing: bool = False,
    ) -> None:
        """Pass the announcement on to the underlying tree."""
        self._base.will_read(names, tails=tails, sizes=sizes, spans=spans, listing=listing)

    def subtree(self, name: str) -> Tree:
        return StoppableTree(self._base.subtree(name), self._stopped)

    def alone(self, name: str, called: str) -> Tree:
        return StoppableTree(self._base.alone(name, called), self._stopped)

    def listing(self, folder: str = "") -> list[tuple[str, str]]:
        return self._base.listing(folder)

    @property
    def location(self) -> str | None:
        return self._base.location


def stoppable(opened: Source | Tree, stopped: Callable[[], bool]) -> Source | Tree:
    """A source or directory that is read until `stopped()`; closing it leaves the original open."""
    return (StoppableTree if isinstance(opened, Tree) else StoppableSource)(opened, stopped)  # type: ignore[arg-type]
