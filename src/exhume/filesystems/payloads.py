"""Archives of records as files of their sections, decompressed: `clps://` and `zs://`."""

from __future__ import annotations

from typing import Any, ClassVar

from exhume.archive import Archive
from exhume.filesystems.base import ArchiveFileSystem
from exhume.filesystems.leases import Held
from exhume.filesystems.readonly import Info, Paths, folder_info, is_path
from exhume.io.lru import Lru
from exhume.io.source import Source
from exhume.layout.sections import Section

CACHE_SIZE = 64 << 20
"""Bytes of decompressed sections kept per archive."""


class PayloadFileSystem(ArchiveFileSystem):
    """Every section of the archive as a file with its payload; the names are those that `exhume payload` takes.

    A leading `/` of a section's name is not part of its path.  Sizes that are known only after decompressing are None
    in listings; `info` of a single file has them.
    """

    def _sections(self, held: Held[Archive]) -> dict[str, Section]:
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
        with self._lease() as held:
            sections = self._sections(held)
            paths: Paths = held.notes["paths"]
            if not paths.is_folder(path):
                return None
            return [
                folder_info(name) if folder else _section_info(sections[name], name)
                for name, folder in paths.children(path)
            ]

    def _place(self, held: Held[Archive], path: str) -> tuple[int, tuple[Source, int] | None]:
        section = self._sections(held).get(path)
        if section is None:
            if not path or held.notes["paths"].is_folder(path):
                raise IsADirectoryError(path)
            raise FileNotFoundError(path)
        if section.load is None:
            source = held.notes["map"].sources[section.span.source]
            return section.span.size, (source, section.span.start - source.origin)
        return len(self._payload(held, path)), None

    def _read(self, held: Held[Archive], path: str, start: int, end: int) -> bytes:
        return self._payload(held, path)[start:end]

    def _payload(self, held: Held[Archive], path: str) -> bytes:
        section = self._sections(held)[path]
        with held.lock:
            cache: Lru[str, bytes] = held.notes.setdefault("payloads", Lru(CACHE_SIZE))
            data = cache.get(path)
            if data is None:
                data = held.item.read_section(section.name) if section.load is None else section.load()
                cache.put(path, data, min(len(data), CACHE_SIZE))  # a payload larger than that is kept too, by itself
            return data


def _section_info(section: Section, path: str) -> Info:
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
