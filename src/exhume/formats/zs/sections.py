"""A ZS file as a section map: magic and header, then block after block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from exhume.errors import ExhumeError, SourceError
from exhume.formats.zs.layout import FIXED_HEADER, PREAMBLE
from exhume.sections import Section, SectionKind, SectionMap

if TYPE_CHECKING:
    from exhume.formats.zs.reader import ZsReader

PAYLOAD_SCHEMAS = {"data": "zs_data_block", "index": "zs_index_block"}


def section_map(archive: ZsReader) -> SectionMap:
    """The sections of an open file; from where blocks cannot be followed on, one section of unread bytes."""
    return SectionMap([(archive.source, _sections(archive))])


def _sections(archive: ZsReader) -> Iterator[Section]:
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
        for offset, size, level in archive.file.frames(start):
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
