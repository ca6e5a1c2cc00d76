"""The differences between two bundles, or a bundle and a directory.

Files are compared by size and CRC-32C as the index states them, and with `content` byte by byte.  A directory is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exhume.codecs.checksums import crc32c
from exhume.formats.data_bundle.index import FileRow
from exhume.formats.data_bundle.inputs import walk
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.io.source import STREAM_CHUNK, source_error


@dataclass(frozen=True, slots=True)
class Side:
    """A member as one side has it: kind, size, CRC-32C, and user data (None for a plain directory)."""

    kind: str
    size: int
    crc: int
    user_data: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One name that differs.  `change`: added, removed, kind, content, user-data."""

    name: str
    change: str
    left: Side | None
    right: Side | None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {"name": self.name, "change": self.change}
        for label, side in (("left", self.left), ("right", self.right)):
            if side is not None:
                out[label] = {"kind": side.kind, "size": side.size, "crc32c": f"{side.crc:08x}"}
        return out


def bundle_side(archive: DataBundleArchive, *, content: bool = False) -> dict[str, Side]:
    """The members of a bundle; with `content` every file is read, so that its bytes are known to be right.

    Directories without a row of their own count as well.
    """
    out: dict[str, Side] = {}
    for name, row in archive.rows().items():
        _add_parents(out, name)
        out[name] = _row_side(archive, row, content)
    return out


def _row_side(archive: DataBundleArchive, row: FileRow, content: bool) -> Side:
    meta = row.meta
    if meta.is_directory:
        return Side("directory", 0, 0, meta.user_data.to_dict() if meta.user_data else None)
    if content:
        for _ in archive.view.chunks(row):
            pass
    return Side("file", meta.size, meta.crc32c, meta.user_data.to_dict() if meta.user_data else None)


def directory_side(path: str | os.PathLike[str]) -> dict[str, Side]:
    """The regular files and directories below a directory."""
    out: dict[str, Side] = {}
    for kind, file, name, _ in walk(os.fspath(path), ""):
        if kind == "directory":
            out[name] = Side("directory", 0, 0)
        elif kind == "file":
            out[name] = Side("file", *_sum_file(file))
    return out


def _sum_file(path: str) -> tuple[int, int]:
    size = 0
    crc: int | None = None
    try:
        with Path(path).open("rb") as file:
            while chunk := file.read(STREAM_CHUNK):
                size += len(chunk)
                crc = crc32c(chunk, crc) if crc is not None else crc32c(chunk)
    except OSError as error:
        raise source_error(error, path) from error
    return size, crc or 0


def _add_parents(out: dict[str, Side], name: str) -> None:
    parent = name.rpartition("/")[0]
    while parent and parent not in out:
        out[parent] = Side("directory", 0, 0)
        parent = parent.rpartition("/")[0]


def compare(left: dict[str, Side], right: dict[str, Side], *, user_data: bool = True) -> Iterator[Difference]:
    """The differences, sorted by name; `user_data` compares user data as well, which only bundles have."""
    for name in sorted(left.keys() | right.keys()):
        one, other = left.get(name), right.get(name)
        if one is None:
            yield Difference(name, "added", None, other)
        elif other is None:
            yield Difference(name, "removed", one, None)
        elif one.kind != other.kind:
            yield Difference(name, "kind", one, other)
        elif (one.size, one.crc) != (other.size, other.crc):
            yield Difference(name, "content", one, other)
        elif user_data and one.user_data != other.user_data:
            yield Difference(name, "user-data", one, other)
