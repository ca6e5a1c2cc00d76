"""Databases in parts: one table or log file each, with all its versions.

A part is a share of an archive that a distributed job reads on its own (`exhume.parts`); its selection is the index of
the file in the directory's listing, or empty for the whole database.  All files are needed to decide whether a version
is live, so parts have no `status`, except for a single part that is the whole database.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exhume.formats.leveldb.model import Role, Version
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.parts import Part, Selection

PARTS_LACK_COLUMNS = True
"""A table of a part has fewer columns than one of the whole."""

_OF_ALL = ("status", "superseded_by")
"""Columns that depend on all files."""


def plan(archive: LevelDbArchive, size: int | None, options: dict[str, Any]) -> Iterator[Part]:
    """Yield one part for each live table and log, by its index in the directory's listing; without a `size` of parts, a
    single one.
    """
    archive.database.require_sound()
    if size is None:
        yield Part()
        return
    for place, file in enumerate(archive.database.files):
        if file.kind in ("table", "log") and file.role is Role.LIVE:
            yield Part((place,), file.size or 0)


def items(archive: LevelDbArchive, part: Selection, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`{"key", "value", "sequence", "type", "file"}` of each version, and `"status"` if the part is all of the data."""
    from exhume.formats.leveldb import checks
    from exhume.formats.leveldb.model import type_name

    def row(version: Version) -> dict[str, Any]:
        """Return a version as a row; in a part that is one file, it has no status."""
        found = {
            "key": version.key,
            "value": version.value,
            "sequence": version.sequence,
            "type": type_name(version.value_type),
            "file": version.place.file,
        }
        return found if part else {**found, "status": str(version.status)}

    _restrict(archive, part)
    return map(row, archive.database.versions(checks.strict, unreferenced=False, older=False))


def table(archive: LevelDbArchive, part: Selection, options: dict[str, Any]) -> Any:
    """The versions as `to_arrow` returns them (the live rows, if the part is the whole database)."""
    if not part:
        return archive.to_arrow(**options)
    _restrict(archive, part)
    if options.get("columns") is None:
        columns = [name for name in archive.to_arrow(all_versions=True).schema.names if name not in _OF_ALL]
        options = {**options, "columns": columns}
    return archive.to_arrow(**{**options, "all_versions": True})


def _restrict(archive: LevelDbArchive, part: Selection) -> None:
    """Reduce the opened database to the file of a part."""
    if part:
        archive.database.files = [archive.database.files[part[0]]]


def tally(archive: LevelDbArchive, jobs: int) -> int:
    """The number of live rows of the default column family, read and counted."""
    return sum(archive.database.map_live(len, jobs=jobs, lean=True))
