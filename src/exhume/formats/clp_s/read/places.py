"""The places of stored bytes: in the one file of an archive, or in the files of a directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from exhume.counts import counted
from exhume.errors import EntryNotFoundError, ExhumeError, Span
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.names import FILES, HEADER_FILE, SECTION_NAMES, STRUCTURES
from exhume.io.source import BytesSource, Source
from exhume.io.tree import Tree


class StoredRange(NamedTuple):
    """A named range of stored bytes, such as a section or a stream: `[start, end)` of `source`.

    `source` is the archive's file, or the file of that name where the archive is a directory.
    """

    name: str
    source: Source
    start: int
    end: int

    @property
    def size(self) -> int:
        """Stored bytes."""
        return self.end - self.start

    @property
    def span(self) -> Span:
        """Their span."""
        return self.source.span(self.start, self.end)

    @property
    def is_cut(self) -> bool:
        """Whether the file ends before they do."""
        return self.end > self.source.size

    def part(self, start: int, end: int | None = None) -> StoredRange:
        """The bytes from `start` to `end` (by default all that follow), counted from the first byte here."""
        return StoredRange(self.name, self.source, self.start + start, self.end if end is None else self.start + end)

    def read(self) -> bytes:
        """The stored bytes.  Raises `TruncatedError` where the file ends before they do."""
        return self.source.read_at(self.start, self.size)


def read_together(places: Sequence[StoredRange]) -> list[bytes]:
    """The stored bytes of several places; those of a remote archive are requested at the same time."""
    if all(place.source is places[0].source for place in places):
        return places[0].source.read_many([(place.start, place.end) for place in places])
    from exhume.io.parallel import map_ordered

    return list(map_ordered(StoredRange.read, places, len(places)))


def files_of(tree: Tree) -> frozenset[str]:
    """The archive's files among those of a directory.

    For a remote directory, the listing also states the sizes, and the files needed to open and describe it are fetched
    together.
    """
    names = FILES.intersection(tree.files())
    if HEADER_FILE in names:
        tree.will_read(sorted(names & {HEADER_FILE, *(name.removeprefix("/") for name in STRUCTURES)}))
    return names


def header_or_nothing(tree: Tree) -> Source:
    """The header file of a directory; an empty one where it is missing."""
    return tree.source(HEADER_FILE) if tree.exists(HEADER_FILE) else BytesSource(b"", HEADER_FILE)


def section_files(tree: Tree) -> dict[str, StoredRange]:
    """The sections by the names of the files of a directory, without its header; missing ones are empty."""
    names = ["/tables" if name == "/0" and not tree.exists("0") else name for name in SECTION_NAMES]
    files = [name.removeprefix("/") for name in names]
    sources = [tree.source(file) if tree.exists(file) else BytesSource(b"", file) for file in files]
    return {name: StoredRange(name, source, 0, source.size) for name, source in zip(names, sources, strict=True)}


def in_directory(
    tree: Tree, listed: Sequence[StoredRange], problems: dict[str, ExhumeError], span: Span
) -> tuple[list[StoredRange], dict[str, ExhumeError]]:
    """Return the sections as files of a directory, each from its file's first byte.

    A missing file, or one longer than listed, is a problem; a shorter one shows when it is read. Raises CLPS-313 if the
    sizes of most files do not match `listed`, at `span`.
    """
    found: list[StoredRange] = []
    told: list[StoredRange] = []
    problems = dict(problems)
    for place in listed:
        file = place.name.removeprefix("/")
        try:
            source = tree.source(file)
        except EntryNotFoundError:
            problems[place.name] = checks.MISSING_SECTION.error(place.name, span=Span(file, 0, 0), expected=file)
            continue
        found.append(StoredRange(place.name, source, 0, place.size))
        if source.size != place.size:
            told.append(found[-1])
        if source.size > place.size:
            problems.setdefault(
                place.name,
                checks.FILE_TOO_LONG.error(
                    place.name,
                    span=source.span(place.size, source.size),
                    expected=counted(place.size, "bytes"),
                    actual=counted(source.size, "bytes"),
                ),
            )
    # If most sizes differ, the header belongs to other files.
    if len(told) > max(1, len(found) // 2):
        raise checks.FOREIGN_HEADER.error(
            span=span,
            expected=", ".join(f"{place.source.name} {place.size}" for place in told),
            actual=", ".join(f"{place.source.name} {place.source.size}" for place in told),
        )
    return found, problems
