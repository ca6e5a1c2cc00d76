"""A ZS file as a section map: magic and header, then block after block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from exhume.errors import ExhumeError, SourceError
from exhume.formats.zs import checks
from exhume.formats.zs.layout import FIXED_HEADER, PREAMBLE, IndexEntry
from exhume.formats.zs.search import Index, IndexNode
from exhume.parallel import map_ordered
from exhume.sections import Section, SectionKind, SectionMap

if TYPE_CHECKING:
    from exhume.formats.zs.reader import ZsReader

READERS = 8
"""Index blocks of a remote file that are asked for at the same time."""

PAYLOAD_SCHEMAS = {"data": "zs_data_block", "index": "zs_index_block"}


def section_map(archive: ZsReader) -> SectionMap:
    """The sections of an open file; from where blocks cannot be followed on, one section of unread bytes."""
    return SectionMap([(archive.source, _sections(archive))])


def outline(archive: ZsReader) -> SectionMap:
    """The same as far as the index tells it: data blocks are not read, what the index leaves out is walked through.

    An index that cannot be read, or whose references overlap, is not believed: then block after block.
    """
    try:
        return SectionMap([(archive.source, _sections(archive, _indexed(archive)))])
    except SourceError:
        raise
    except ExhumeError:
        return section_map(archive)


def _indexed(archive: ZsReader) -> list[tuple[int, int, int]]:
    """`(offset, size, level)` of every block, in file order."""
    header, index = archive.header, archive.index
    root = index.root()
    found = [(header.root_offset, header.root_size, root.level)]
    nodes = [root]
    for level in range(root.level - 1, -1, -1):
        entries = [entry for node in nodes for entry in node.entries]
        archive.limits.check("entries", len(found) + len(entries))
        found += [(entry.offset, entry.size, level) for entry in entries]
        if level:
            read = partial(_node, index, level)
            nodes = list(map_ordered(read, entries, READERS if archive.source.is_remote else 1))
    found.sort()
    out: list[tuple[int, int, int]] = []
    at = header.blocks_offset
    for offset, size, level in [*found, (archive.source.size, 0, 0)]:
        if offset < at:
            raise checks.REF_DANGLING.error(span=archive.source.span(offset, offset + size))
        if offset > at:  # extension blocks, and blocks that nothing refers to
            out += ((block.offset, block.size, block.level) for block in archive.file.walk(at, offset, read_ahead=4096))
            if out and out[-1][0] + out[-1][1] != offset:
                raise checks.REF_DANGLING.error(span=archive.source.span(offset, offset + size))
        if size:
            out.append((offset, size, level))
        at = offset + size
    return out


def _node(index: Index, level: int, entry: IndexEntry) -> IndexNode:
    return index.node(entry, level)


def _sections(archive: ZsReader, blocks: Iterable[tuple[int, int, int]] | None = None) -> Iterator[Section]:
    source, header = archive.source, archive.header
    start = header.blocks_offset
    yield Section("header", source.span(0, start), schema="zs")
    at = PREAMBLE.size + FIXED_HEADER.size
    meta_end = at + len(header.metadata)
    yield Section("metadata", source.span(at, meta_end), SectionKind.DATA, note="JSON", parent="header")
    if header.extensions:
        span = source.span(meta_end, meta_end + len(header.extensions))
        yield Section("header-extensions", span, SectionKind.DATA, note="reserved, to be ignored", parent="header")
    counts: dict[str, int] = {}
    end = start
    try:
        for offset, size, level in archive.file.frames(start) if blocks is None else blocks:
            yield _block(archive, counts, offset, size, level)
            end = offset + size
    except SourceError:
        raise
    except ExhumeError as error:
        yield Section("unread", source.span(end, source.size), SectionKind.UNREAD, note=error.message)


def _block(archive: ZsReader, counts: dict[str, int], offset: int, size: int, level: int) -> Section:
    from exhume.formats.zs.reader import kind_of

    kind = kind_of(level)
    ordinal = counts.get(kind, 0)
    counts[kind] = ordinal + 1
    return Section(
        f"{kind}-{ordinal}",
        archive.source.span(offset, offset + size),
        SectionKind.DATA if kind == "data" else SectionKind.STRUCTURE,
        codec=archive.header.codec if kind != "extension" else None,
        schema="zs::block",
        payload_schema=PAYLOAD_SCHEMAS.get(kind),
        load=_loader(archive, offset, size) if kind != "extension" else None,
        note=f"level {level}",
    )


def _loader(archive: ZsReader, offset: int, size: int) -> Callable[[], bytes]:
    return lambda: archive.file.payload(archive.file.read(offset, size))
