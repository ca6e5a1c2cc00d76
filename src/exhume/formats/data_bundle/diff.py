"""The differences between two bundles, or a bundle and a directory.

Files are compared by size and CRC-32C as the index of a bundle states them; with `content`, all bytes of the bundle are
read first, to know that these are right.  Those of a directory are computed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exhume.codecs.checksums import crc32c
from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.data_bundle.index import FileRow
from exhume.formats.data_bundle.inputs import walk
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.io.parallel import map_ordered
from exhume.io.source import STREAM_CHUNK, source_error
from exhume.tabular.arrow import PIECE_BYTES, PIECE_MEMBERS, batched


@dataclass(frozen=True, slots=True)
class DiffEntry:
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
    left: DiffEntry | None
    right: DiffEntry | None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {"name": self.name, "change": self.change}
        for label, side in (("left", self.left), ("right", self.right)):
            if side is not None:
                out[label] = {"kind": side.kind, "size": side.size, "crc32c": f"{side.crc:08x}"}
        return out


def bundle_side(
    archive: DataBundleArchive, *, content: bool = False, jobs: int = 1, found: list[Finding] | None = None
) -> dict[str, DiffEntry]:
    """The members of a bundle; with `content` every file is read, by `jobs` threads (0: one per core), so that its
    bytes are known to be right.

    Directories without a row of their own count as well.  `found` is given the problem with files that cannot be
    read; without it, the first such error is raised.
    """

    def read(part: list[FileRow]) -> list[Finding]:
        """Read these files completely, which checks their CRC-32C, and return the problems; without `found`, raise."""
        wrong: list[Finding] = []
        for row in part:
            try:
                for _ in archive.view.chunks(row):
                    pass
            except ExhumeError as error:
                if found is None:
                    raise
                wrong.append(Finding.from_error(error))
        return wrong

    rows = archive.rows()
    if content:
        files = (row for row in rows.values() if not row.meta.is_directory)
        parts = batched(files, PIECE_MEMBERS, lambda row: row.meta.size, PIECE_BYTES)
        for wrong in map_ordered(read, parts, jobs, leave=True):
            if found is not None:
                found += wrong
    out: dict[str, DiffEntry] = {}
    for name, row in rows.items():
        _add_parents(out, name)
        out[name] = _row_side(row)
    return out


def _row_side(row: FileRow) -> DiffEntry:
    """Return a row as one side of the comparison."""
    meta = row.meta
    user_data = meta.user_data.to_dict() if meta.user_data else None
    return (
        DiffEntry("directory", 0, 0, user_data)
        if meta.is_directory
        else DiffEntry("file", meta.size, meta.crc32c, user_data)
    )


def directory_side(path: str | os.PathLike[str], *, jobs: int = 1) -> dict[str, DiffEntry]:
    """Return everything below a directory, whose files `jobs` threads read (0: one per core).

    What a bundle cannot contain (a pipe, a link to nothing) and a directory that cannot be listed have the kind
    `other`.  Raises `SourceError` for a file that cannot be read.
    """
    found = ((kind, file, name) for kind, file, name, _ in walk(os.fspath(path), ""))

    def look(one: tuple[str, str, str]) -> tuple[str, DiffEntry]:
        """Return (stored name, entry) for (kind, path, stored name)."""
        kind, file, name = one
        if kind == "file":
            return name, DiffEntry(kind, *_sum_file(file))
        return name, DiffEntry("directory" if kind == "directory" else "other", 0, 0)

    return dict(map_ordered(look, found, jobs, leave=True))


def _sum_file(path: str) -> tuple[int, int]:
    """Return size and CRC-32C of a file."""
    size = 0
    crc: int | None = None  # None: no byte was read yet
    try:
        with Path(path).open("rb") as file:
            while chunk := file.read(STREAM_CHUNK):
                size += len(chunk)
                crc = crc32c(chunk, crc) if crc is not None else crc32c(chunk)
    except OSError as error:
        raise source_error(error, path) from error
    return size, crc or 0


def _add_parents(out: dict[str, DiffEntry], name: str) -> None:
    """Add to `out` the directories above `name` without a row: in a bundle they exist by the names below them."""
    parent = name.rpartition("/")[0]
    while parent and parent not in out:
        out[parent] = DiffEntry("directory", 0, 0)
        parent = parent.rpartition("/")[0]


def compare(left: dict[str, DiffEntry], right: dict[str, DiffEntry], *, user_data: bool = True) -> Iterator[Difference]:
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
