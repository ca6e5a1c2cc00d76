"""An Ark log as a section map: manifest and splits, every byte of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from exhume.errors import ExhumeError, SourceError
from exhume.formats.ark.layout import ENTRY_SIZE, TRAILER_FOOTER, TRAILER_FOOTER_SIZE, TRAILER_MAGIC_BYTES
from exhume.formats.ark.messages import Decompressor, column_codec
from exhume.formats.ark.splits import Array, Split
from exhume.sections import Section, SectionKind, SectionMap
from exhume.source import Source

if TYPE_CHECKING:
    from exhume.formats.ark.reader import ArkReader, SplitReference

MESSAGE_SECTIONS: Final = 20_000
"""Splits with at most this many messages get a section for each."""


def section_map(reader: ArkReader) -> SectionMap:
    """The map of the manifest and of every split that is there; the caller closes its sources of splits."""
    files: list[tuple[Source, list[Section]]] = []
    if reader.manifest_source is not None:
        files.append((reader.manifest_source, manifest_sections(reader, reader.manifest_source)))
    if reader.single_split is not None:
        files.append((reader.single_split, split_sections(reader, reader.references[0], reader.single_split)))
        return SectionMap(files)
    seen: set[str] = set()
    for reference in reader.references:
        name = reader.split_name(reference.identifier)
        if name is None or name in seen or reader.root is None:
            continue
        seen.add(name)
        source = reader.root.source(name)
        files.append((source, split_sections(reader, reference, source)))
    return SectionMap(files)


def manifest_sections(reader: ArkReader, source: Source) -> list[Section]:
    """Content, trailer and footer of the manifest."""
    size = source.size
    schema = "ark_manifest"
    label = f"manifest {reader.manifest.identifier}"
    if source.read_up_to(max(0, size - 16), 16) == TRAILER_MAGIC_BYTES and size >= TRAILER_FOOTER_SIZE:
        footer_at = size - TRAILER_FOOTER_SIZE
        trailer_size, content_size, _, _ = TRAILER_FOOTER.unpack(source.read_at(footer_at, TRAILER_FOOTER_SIZE))
        if content_size + trailer_size == footer_at:
            out = [Section(label, source.span(0, content_size), schema=schema)]
            if trailer_size:
                block = source.span(content_size, footer_at)
                out.append(Section(f"{label} trailer", block, schema="ark_serializable_file::file_trailer"))
            footer = source.span(footer_at, size)
            schema = "ark_serializable_file::file_footer"
            out.append(Section(f"{label} footer", footer, schema=schema, schema_args=(footer_at,)))
            return out
    file = reader.loaded.file
    used = len(file.content) if file is not None else size
    out = [Section(label, source.span(0, used), schema=schema)]
    if used < size:
        note = "bytes after the manifest object"
        out.append(Section(f"{label} rest", source.span(used, size), SectionKind.UNREAD, note=note))
    return out


def split_sections(reader: ArkReader, reference: SplitReference, source: Source) -> list[Section]:
    """Header, padding, index, spare index slots and messages of one split."""
    label = f"split {reference.identifier}"
    try:
        split = Split(source)
        split.check_index()
    except SourceError:
        raise
    except ExhumeError as error:
        return [Section(label, source.span(0, source.size), SectionKind.UNREAD, note=error.message)]
    header = split.header
    index_end = header.index_end
    capacity = max(header.item_count, header.maximum_count)
    entries = split.read_index(0, header.item_count)
    offset, size = entries["offset"].astype(np.int64), entries["size"].astype(np.int64)
    usable = offset + size <= source.size
    runs = _runs(offset[usable], size[usable])
    first_data = min((start for start, _ in runs if start >= index_end), default=source.size)
    spare_end = min(header.index_offset + capacity * ENTRY_SIZE, first_data)
    out = [Section(f"{label} header", source.span(0, header.size), schema="ark_split::file_header")]
    first_use = min([header.index_offset, *(start for start, _ in runs if start >= header.size)])
    if first_use > header.size and not any(source.read_at(header.size, min(first_use - header.size, 1 << 20))):
        padding = source.span(header.size, first_use)
        out.append(Section(f"{label} header padding", padding, SectionKind.PADDING))
    if header.item_count:
        span = source.span(header.index_offset, index_end)
        out.append(Section(f"{label} index", span, schema="ark_split::entry_list"))
    if spare_end > index_end:
        spare = source.span(index_end, spare_end)
        note = "slots of the index that are not in use"
        out.append(Section(f"{label} spare index", spare, SectionKind.PADDING, note=note))
    codec = _codec(reference)
    for number, (start, end) in enumerate(runs):
        name = f"{label} messages" if len(runs) == 1 else f"{label} messages {number}"
        out.append(Section(name, source.span(start, end), SectionKind.DATA))
        if header.item_count <= MESSAGE_SECTIONS:
            inside = np.flatnonzero(usable & (offset >= start) & (offset + size <= end) & (size > 0))
            out += _messages(reader, split, label, name, offset, size, inside, codec)
    return out


def _codec(reference: SplitReference) -> str | None:
    try:
        return column_codec(reference.column.compression)
    except ExhumeError:
        return None


def _messages(
    reader: ArkReader,
    split: Split,
    label: str,
    parent: str,
    offset: Array,
    size: Array,
    which: Array,
    codec: str | None,
) -> list[Section]:
    out = []
    for position in which.tolist():
        start, stored = int(offset[position]), int(size[position])
        packed = codec not in (None, "none")
        out.append(
            Section(
                f"{label} message {position}",
                split.source.span(start, start + stored),
                SectionKind.DATA,
                codec=codec if packed else None,
                schema="ark_stored_message" if packed else "ark_rbuf",
                payload_schema="ark_rbuf" if packed else None,
                load=_loader(reader, split, start, stored, codec) if packed and codec is not None else None,
                parent=parent,
            )
        )
    return out


def _loader(reader: ArkReader, split: Split, start: int, stored: int, codec: str) -> Callable[[], bytes]:
    def load() -> bytes:
        data = split.source.read_at(start, stored)
        return Decompressor(codec, reader.limits).decode(data, lambda: split.source.span(start, start + stored))

    return load


def _runs(offset: Array, size: Array) -> list[tuple[int, int]]:
    """Touching or overlapping messages as joined half-open ranges, in file order."""
    if not len(offset):
        return []
    order = np.argsort(offset, kind="stable")
    start, end = offset[order], (offset + size)[order]
    reach = np.maximum.accumulate(end)
    edges = np.flatnonzero(start[1:] > reach[:-1]) + 1
    firsts, lasts = np.append(0, edges), np.append(edges, len(start)) - 1
    return list(zip(start[firsts].tolist(), reach[lasts].tolist(), strict=True))
