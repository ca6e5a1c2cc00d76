"""A chunk as a section map: the files in the order of their bytes, the index, the footer; gaps show by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from exhume.formats.caf.layout import FOOTER_SIZE
from exhume.sections import Section, SectionKind, SectionMap

if TYPE_CHECKING:
    from exhume.formats.caf.reader import CafArchive


def build_sections(archive: CafArchive) -> SectionMap:
    """The map of one chunk; files whose range is not inside the data section are left out."""
    return SectionMap([(archive.source, _sections(archive))])


def _sections(archive: CafArchive) -> Iterator[Section]:
    source, index = archive.source, archive.index
    for ordinal, name in index.items():
        if ordinal not in index.flaws:
            span = source.span(index.starts[ordinal], index.ends[ordinal])
            yield Section(f"file {name}", span, SectionKind.DATA)
    ofs_index, footer = archive.data_size, source.size - FOOTER_SIZE
    yield Section(
        "index",
        source.span(ofs_index, footer),
        payload_size=archive.index_size,
        note=f"JSON, {len(index)} entries",
    )
    yield Section("footer", source.span(footer, source.size), schema="caf::chunk_footer", schema_args=(footer,))
