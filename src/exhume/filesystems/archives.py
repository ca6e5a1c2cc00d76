"""Archives as file systems: of named files (`caf://`, `databundle://`), and of decompressed sections (`clps://`, `zs://`).

fsspec calls the methods of `ReadOnlyFileSystem`; those here find what is at a path.  `held` is the open archive, shared
by all threads, with `notes`, a dictionary of data read from it (`base.py`).  A section is a range of an archive's
bytes with one purpose; `section.load` decompresses it, and is None if it is stored uncompressed.
`origin` of a source is the offset of its first byte in the outermost file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from exhume.archive import Archive, Entry, MemberArchive
from exhume.errors import EntryNotFoundError, ExhumeError, SourceError
from exhume.filesystems.base import ArchiveFileSystem, SharedObject
from exhume.filesystems.readonly import Info, Paths, folder_info, is_path
from exhume.io.caching import Lru
from exhume.io.source import Source
from exhume.layout.sections import Section

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

    def _place(self, held: SharedObject[Archive], path: str) -> tuple[int, tuple[Source, int] | None]:
        """The size of a file, and `(source, start)` where its bytes are stored; None if they have to be decoded.

        Raises `FileNotFoundError` or `IsADirectoryError`.
        """
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

    def _read(self, held: SharedObject[Archive], path: str, start: int, end: int) -> bytes:
        return _members(held).read_member(path, start, end)

    def _entry(self, path: str) -> Info | None:
        """Return the facts of a file or directory, as fsspec's `info` does; None if there is none."""
        with self._lease() as held:
            return self._of(held, path)

    def _of(self, held: SharedObject[Archive], path: str) -> Info | None:
        """The entry of a path: the root, a member, or a folder in the names of members; None if there is none."""
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

    def _paths(self, held: SharedObject[Archive]) -> Paths:
        """All names in order, sorted once."""
        with held.lock:
            found = held.notes.get("paths")
            if found is None:
                found = held.notes["paths"] = Paths(_members(held).names())
        made: Paths = found
        return made

    def _root(self, held: SharedObject[Archive]) -> Info:
        return folder_info("")

    def _is_folder(self, held: SharedObject[Archive], path: str) -> bool:
        return self._paths(held).is_folder(path)

    def _children(self, path: str) -> list[Info] | None:
        """Return the entries of a directory, as fsspec's `ls` does; None if there is none."""
        with self._lease() as held:
            return self._below(held, path)

    def _below(self, held: SharedObject[Archive], path: str) -> list[Info] | None:
        """Do what `_children` does, in an archive that is open already."""
        paths = self._paths(held)
        if not paths.is_folder(path):
            return None
        return [folder_info(name) if folder else self._of(held, name) or {} for name, folder in paths.children(path)]


class CafFileSystem(MemberFileSystem):
    """A CAF chunk.  A name that is a file and also a directory of others is both, as in object storage."""

    protocol: ClassVar[str] = "caf"
    format: ClassVar[str] = "caf"

    def _root(self, held: SharedObject[Archive]) -> Info:
        """Return the facts of the root, with the number of names that are not paths and so left out."""
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
        """Return all files below a path, as fsspec defines it."""
        with self._lease() as held:
            # Read all rows at once and index their paths, so that `_listed` reads nothing for each directory.
            _bundle(held).rows()
            self._paths(held)
            return super().find(path, *args, **kwargs)

    def _is_folder(self, held: SharedObject[Archive], path: str) -> bool:
        """Return whether a path is a directory: by the list of all paths if it is known, else by asking the index."""
        if "paths" in held.notes:
            return self._paths(held).is_folder(path)
        return next(_bundle(held).list_directory(path), None) is not None

    def _below(self, held: SharedObject[Archive], path: str) -> list[Info] | None:
        """Return the entries of a directory by name; None if there is no such directory."""
        found = {entry["name"]: entry for entry in self._listed(held, path)}
        if not found and path:
            own = self._of(held, path)
            if own is None or own["type"] != "directory":
                return None
        return [found[name] for name in sorted(found)]

    def _listed(self, held: SharedObject[Archive], path: str) -> Iterator[Info]:
        """Yield the entries of a directory: from the path index once it exists, else from the bundle."""
        if "paths" in held.notes:
            for name, folder in self._paths(held).children(path):
                yield folder_info(name) if folder else self._of(held, name) or {}
            return
        for entry in _bundle(held).list_directory(path):
            if entry.name is not None and is_path(entry.name):
                yield entry_info(entry, entry.name)


def _members(held: SharedObject[Archive]) -> MemberArchive:
    """Return the open archive, by its type."""
    archive = held.item
    assert isinstance(archive, MemberArchive)
    return archive


def _bundle(held: SharedObject[Archive]) -> DataBundleArchive:
    """Return the open bundle, by its type; its module is imported only when a bundle is used."""
    from exhume.formats.data_bundle.reader import DataBundleArchive

    archive = held.item
    assert isinstance(archive, DataBundleArchive)
    return archive


CACHE_SIZE = 64 << 20
"""Bytes of decompressed sections kept per archive."""


class PayloadFileSystem(ArchiveFileSystem):
    """Every section of the archive as a file with its payload; the names are those that `exhume payload` takes.

    A leading `/` of a section's name is not part of its path.  Sizes that are known only after decompressing are None
    in listings; `info` of a single file has them.
    """

    def _sections(self, held: SharedObject[Archive]) -> dict[str, Section]:
        """The sections of the archive by their paths, found once for each opened archive; of equal names, the first."""
        with held.lock:
            known: dict[str, Section] | None = held.notes.get("sections")
            if known is None:
                known = {}
                held.notes["map"] = held.item.outline()
                for section in held.notes["map"]:
                    name = section.name.strip("/")
                    if is_path(name):
                        known.setdefault(name, section)
                held.notes["paths"] = Paths(known)
                held.notes["sections"] = known
            return known

    def _entry(self, path: str) -> Info | None:
        """Return a section as a file, a prefix of section names as a folder; None if there is neither."""
        if not path:
            return folder_info("")
        with self._lease() as held:
            section = self._sections(held).get(path)
            if section is not None:
                return _section_info(section, path)
            return folder_info(path) if held.notes["paths"].is_folder(path) else None

    def info(self, path: Any, **kwargs: Any) -> Info:
        """Name, exact size in bytes, type and details of one path; may decompress the section to know its size.

        Raises `FileNotFoundError`.
        """
        found = super().info(path)
        if found["size"] is None:
            with self._lease() as held:
                found["size"] = len(self._payload(held, found["name"]))
        return found

    def du(self, path: Any, total: bool = True, maxdepth: int | None = None, withdirs: bool = False, **kw: Any) -> Any:
        """Decompressed bytes below a path, in total or by file; decompresses sections that do not state their size."""
        sizes = {name: self.info(name)["size"] for name in self.find(path, maxdepth=maxdepth, withdirs=withdirs)}
        return sum(sizes.values()) if total else sizes

    def _children(self, path: str) -> list[Info] | None:
        """Return files and folders directly below a path; None if it is not a folder."""
        with self._lease() as held:
            sections = self._sections(held)
            paths: Paths = held.notes["paths"]
            if not paths.is_folder(path):
                return None
            return [
                folder_info(name) if folder else _section_info(sections[name], name)
                for name, folder in paths.children(path)
            ]

    def _place(self, held: SharedObject[Archive], path: str) -> tuple[int, tuple[Source, int] | None]:
        """Return the size of a payload and, if it is stored uncompressed, where it is."""
        section = self._sections(held).get(path)
        if section is None:
            if not path or held.notes["paths"].is_folder(path):
                raise IsADirectoryError(path)
            raise FileNotFoundError(path)
        if section.load is None:
            source = held.notes["map"].sources[section.span.source]
            return section.span.size, (source, section.span.start - source.origin)
        return len(self._payload(held, path)), None

    def _read(self, held: SharedObject[Archive], path: str, start: int, end: int) -> bytes:
        return self._payload(held, path)[start:end]

    def _payload(self, held: SharedObject[Archive], path: str) -> bytes:
        """Return a decompressed payload, from the cache of the open archive if it is there."""
        section = self._sections(held)[path]
        with held.lock:
            cache: Lru[str, bytes] = held.notes.setdefault("payloads", Lru(CACHE_SIZE))
            data = cache.get(path)
            if data is None:
                data = held.item.read_section(section.name) if section.load is None else section.load()
                cache.put(path, data, min(len(data), CACHE_SIZE))  # a payload larger than that is kept too, by itself
            return data


def _section_info(section: Section, path: str) -> Info:
    """Return a section as an fsspec entry."""
    size = section.payload_size if section.load is not None else section.span.size
    more = section.to_dict()
    return {"name": path, "size": size, "type": "file", "section": section.name} | {
        key: more[key] for key in ("kind", "offset", "stored_size", "codec", "payload_schema", "note") if key in more
    }


class ClpSFileSystem(PayloadFileSystem):
    """A clp-s archive: dictionaries, schema tree, tables, ... as files."""

    protocol: ClassVar[str] = "clps"
    format: ClassVar[str] = "clp-s"


class ZsFileSystem(PayloadFileSystem):
    """A ZS archive: header, metadata and the payload of every block as files."""

    protocol: ClassVar[str] = "zs"
    format: ClassVar[str] = "zs"
