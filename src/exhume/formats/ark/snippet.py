"""Snippets: a new manifest over existing splits that shows part of a log.  Nothing is copied.

Spec: ark_log.txt, Split File Format ("you may create a 'snippet' or 'subindex'"); Manifest File Format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from exhume.errors import UnsupportedOperationError, WriterError
from exhume.formats.ark.assumptions import MAXIMUM_TIME_INCLUSIVE
from exhume.formats.ark.derive import derived_file
from exhume.formats.ark.filters import Filter, compile_pattern
from exhume.formats.ark.manifest import Manifest, ManifestSection
from exhume.formats.ark.rbuf.guid import new_guid
from exhume.formats.ark.reader import ArkArchive
from exhume.io.output.atomic import AtomicFile


@dataclass(frozen=True, slots=True)
class NewManifest:
    """A manifest that was written."""

    path: Path
    manifest: Manifest


def write_snippet(
    log: ArkArchive,
    *,
    start_ns: int | None = None,
    stop_ns: int | None = None,
    allow: Iterable[str] = (),
    deny: Iterable[str] = (),
    name: str | None = None,
    identifier: str | None = None,
    path: str | os.PathLike[str] | None = None,
) -> NewManifest:
    """Write a manifest that shows the part of `log` with `start_ns <= time < stop_ns` on the channels chosen.

    `allow` and `deny` are channel names or regular expressions for whole names.  The new manifest has a section without
    columns first, whose filter applies to all that follow; it is written next to the old one unless `path` is passed
    (its splits are searched next to its directory).  Takes milliseconds, whatever the size of the log.  Raises
    `WriterError` for an empty range and patterns that would be refused on reading, `UnsupportedOperationError` for a
    log that is not on the local disk.
    """
    stop = None if stop_ns is None else stop_ns - (1 if MAXIMUM_TIME_INCLUSIVE else 0)
    if start_ns is not None and stop is not None and stop < start_ns:
        raise WriterError("the time range is empty", expected=f"more than {start_ns}", actual=stop_ns)
    chosen = Filter(start_ns, stop, tuple(allow), tuple(deny))
    for pattern in (*chosen.allow, *chosen.deny):
        compile_pattern(pattern)
    fresh = identifier or new_guid()
    old = log.manifest
    section = ManifestSection((), fresh, chosen)
    manifest = replace(
        old, identifier=fresh, name=old.name if name is None else name, sections=(section, *old.sections)
    )
    data = derived_file(log.loaded, manifest, in_front=1)
    where = Path(path) if path is not None else manifest_folder(log) / fresh
    with AtomicFile(where) as file:
        file.file.write(data)
    return NewManifest(where, manifest)


def manifest_folder(log: ArkArchive) -> Path:
    """The local directory that holds a log's manifest.

    Raises `UnsupportedOperationError` for a log that is not on the local disk.
    """
    location = log.manifest_source.location if log.manifest_source is not None else None
    if location is None or "://" in location:
        raise UnsupportedOperationError("the log is not on a local disk: choose a path for the new manifest")
    return Path(location).parent
