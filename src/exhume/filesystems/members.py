"""Archives of named files: `caf://` and `databundle://`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from exhume.archive import Archive, Entry, MemberArchive
from exhume.errors import EntryNotFoundError, ExhumeError, SourceError
from exhume.filesystems.base import ArchiveFileSystem
from exhume.filesystems.leases import Held
from exhume.filesystems.readonly import Info, Paths, folder_info, is_path
from exhume.io.source import Source

if TYPE_CHECKING:
    from exhume.formats.data_bundle.reader import DataBundleArchive


def entry_info(entry: Entry, name: str) -> Info:
    """A listed member in the form of fsspec; further details of the format have the names that `exhume list` uses."""
    out: Info = {
        "name": name,
        "size": entry.size if entry.kind != "directory" else 0,
        "type": "directory" if entry.kind == "directory" else "file",
    }
    if entry.offset is not None:
        out["offset"] = entry.offset
    return out | {key: value for key, value in entry.details.items() if key not in out}


class MemberFileSystem(ArchiveFileSystem):
    """An archive of members as a file system; paths are member names.

    Names that are not paths (empty, or with an empty, `.` or `..` part) are left out, and counted in `omitted` of the
    root's entry.
    """

    def _place(self, held: Held[Archive], path: str) -> tuple[int, tuple[Source, int] | None]:
        archive = _members(held)
        entry = self._of(held, path)
        if entry is None:
            raise FileNotFoundError(path)
        if entry["type"] == "directory":
            raise IsADirectoryError(path)
        stored = archive.stored_range(path)
        if stored is None:
            return int(entry["size"]), None
        source, start, end = stored
        return end - start, (source, start)

    def _read(self, held: Held[Archive], path: str, start: int, end: int) -> bytes:
        return _members(held).read_member(path, start, end)

    def _entry(self, path: str) -> Info | None:
        with self._lease() as held:
            return self._of(held, path)

    def _of(self, held: Held[Archive], path: str) -> Info | None:
        if not path:
            return self._root(held)
        if not is_path(path):
            return None
        try:
            return entry_info(_members(held).stat(path), path)
        except EntryNotFoundError:
            return folder_info(path) if self._is_folder(held, path) else None
        except SourceError:
            raise
        except ExhumeError as error:  # a member that cannot be read exists nevertheless
            return {"name": path, "size": None, "type": "file", "problem": error.code, "reason": error.message}

    def _paths(self, held: Held[Archive]) -> Paths:
        """All names in order, sorted once."""
        with held.lock:
            found = held.notes.get("paths")
            if found is None:
                found = held.notes["paths"] = Paths(_members(held).names())
        made: Paths = found
        return made

    def _root(self, held: Held[Archive]) -> Info:
        return folder_info("")

    def _is_folder(self, held: Held[Archive], path: str) -> bool:
        return self._paths(held).is_folder(path)

    def _children(self, path: str) -> list[Info] | None:
        with self._lease() as held:
            return self._below(held, path)

    def _below(self, held: Held[Archive], path: str) -> list[Info] | None:
        paths = self._paths(held)
        if not paths.is_folder(path):
            return None
        return [folder_info(name) if folder else self._of(held, name) or {} for name, folder in paths.children(path)]


class CafFileSystem(MemberFileSystem):
    """A CAF chunk.  A name that is a file and also a directory of others is both, as in object storage."""

    protocol: ClassVar[str] = "caf"
    format: ClassVar[str] = "caf"

    def _root(self, held: Held[Archive]) -> Info:
        omitted = self._paths(held).omitted
        return folder_info("") | ({"omitted": omitted} if omitted else {})


class DataBundleFileSystem(MemberFileSystem):
    """A DataBundle, which is a directory.

    Listing a directory and reading a file read only the part of the index that they need; `find` and operations built
    on it (`glob` with `**`, recursive copies) read all of its rows once.
    """

    protocol: ClassVar[str] = "databundle"
    format: ClassVar[str] = "databundle"

    def find(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        """All files below a path; see fsspec."""
        with self._lease() as held:
            _bundle(held).rows()
            self._paths(held)
            return super().find(path, *args, **kwargs)

    def _is_folder(self, held: Held[Archive], path: str) -> bool:
        if "paths" in held.notes:
            return self._paths(held).is_folder(path)
        return next(_bundle(held).list_directory(path), None) is not None

    def _below(self, held: Held[Archive], path: str) -> list[Info] | None:
        found = {entry["name"]: entry for entry in self._listed(held, path)}
        if not found and path:
            own = self._of(held, path)
            if own is None or own["type"] != "directory":
                return None
        return [found[name] for name in sorted(found)]

    def _listed(self, held: Held[Archive], path: str) -> Iterator[Info]:
        if "paths" in held.notes:
            for name, folder in self._paths(held).children(path):
                yield folder_info(name) if folder else self._of(held, name) or {}
            return
        for entry in _bundle(held).list_directory(path):
            if entry.name is not None and is_path(entry.name):
                yield entry_info(entry, entry.name)


def _members(held: Held[Archive]) -> MemberArchive:
    archive = held.item
    assert isinstance(archive, MemberArchive)
    return archive


def _bundle(held: Held[Archive]) -> DataBundleArchive:
    from exhume.formats.data_bundle.reader import DataBundleArchive

    archive = held.item
    assert isinstance(archive, DataBundleArchive)
    return archive
