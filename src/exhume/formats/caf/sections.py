"""A chunk as a section map: the files in the order of their bytes, then the index and the footer.

Gaps are left out here: `SectionMap` finds them.  A section is a named range of a file; a run is many sections that
follow each other, made when they are needed.  A chunk is a CAF file.

Spec: caf.txt, File Structure.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from operator import eq, le, lt
from typing import TYPE_CHECKING

from exhume.counts import counted
from exhume.errors import Span
from exhume.formats.caf.index import parse_partial
from exhume.formats.caf.layout import FOOTER_SIZE, parse_footer
from exhume.formats.caf.table import Index
from exhume.io.source import Source
from exhume.layout.sections import Section, SectionItem, SectionKind, SectionMap, SectionRun
from exhume.limits import Limits

if TYPE_CHECKING:
    from exhume.formats.caf.table import OpenChunk


def build_sections(archive: OpenChunk) -> SectionMap:
    """The map of one chunk; files whose range is not inside the data section are left out."""
    source, index = archive.source, archive.index
    footer = source.size - FOOTER_SIZE
    sections = [*_files(source, index), _index(source, archive.data_size, footer, index), _footer(source, footer)]
    return SectionMap([(source, sections)])


def map_remains(source: Source, end: int, limits: Limits) -> SectionMap:
    """The map of a file that is not a valid chunk and ends at `end`: what footer and index still say."""
    chunk = source.window(0, end) if end < source.size else source
    out = list(_remains(chunk, limits))
    if end < source.size:
        out.append(
            Section("trailing", source.span(end, source.size), SectionKind.UNREAD, note="bytes after the footer")
        )
    return SectionMap([(source, out)])


def _remains(source: Source, limits: Limits) -> Iterator[SectionItem]:
    """Yield the sections of a chunk that cannot be opened: as much as its footer and index still show."""
    size = source.size
    footer = max(0, size - FOOTER_SIZE)
    if size < FOOTER_SIZE:
        yield Section("unread", source.span(0, size), SectionKind.UNREAD, note="too small for a footer")
        return
    start = footer - parse_footer(source.read_at(footer, FOOTER_SIZE), source.span(footer, size))
    if 0 <= start < footer and footer - start <= limits.structure_size:
        index = parse_partial(source.read_at(start, footer - start), source.span(start, footer), limits)
        index.check_ranges(start, size)
        yield from _files(source, index)
        yield _index(source, start, footer, index)
    else:
        note = "the last four bytes lead to no index"
        yield Section("unread", source.span(0, footer), SectionKind.UNREAD, note=note)
    yield _footer(source, footer)


def _files(source: Source, index: Index) -> Iterator[Section | SectionRun]:
    """The files: as a run if each begins where another one ends, as most writers place them."""
    starts, ends, names = index.starts, index.ends, index.names
    if len(names) == len(index.table) > 1 and not index.flaws:
        if not all(map(le, starts, islice(starts, 1, None))):  # the index is not in the order of the bytes
            order = sorted(range(len(names)), key=starts.__getitem__)
            starts, ends = [starts[at] for at in order], [ends[at] for at in order]
            names = [names[at] for at in order]
        if all(map(lt, starts, ends)) and all(map(eq, ends, islice(starts, 1, None))):
            yield _run(source, names, array("q", (source.origin + at for at in (*starts, ends[-1]))))
            return
    for ordinal, name in index.items():
        if ordinal not in index.flaws:
            span = source.span(index.starts[ordinal], index.ends[ordinal])
            yield Section(f"file {name}", span, SectionKind.DATA)


def _run(source: Source, names: list[str], bounds: array[int]) -> SectionRun:
    """Consecutive files, in the order of their bytes; `bounds` says where each begins, and where the last ends."""

    def make(number: int) -> Section:
        """The section of one file of the run."""
        span = Span(source.name, bounds[number], bounds[number + 1])
        return Section(f"file {names[number]}", span, SectionKind.DATA)

    return SectionRun(
        source.name,
        memoryview(bounds),
        bytes(len(names)),  # zeros: all sections are alike, but for name and place
        make=make,
        names=lambda: map("file ".__add__, names),
        claims=lambda first, last: True,  # no file has a schema, so that none of its fields can be missing
        given_names=True,  # those in the chunk
    )


def _index(source: Source, start: int, end: int, index: Index) -> Section:
    """The section of the index; one that breaks off counts as unread."""
    span, note = source.span(start, end), f"JSON, {counted(len(index), 'entries')}"
    if index.broken is not None:
        return Section("index", span, SectionKind.UNREAD, note=f"{note}, then: {index.broken.message}")
    return Section("index", span, payload_size=end - start, note=note)


def _footer(source: Source, start: int) -> Section:
    return Section("footer", source.span(start, source.size), schema="caf::chunk_footer", schema_args=(start,))
