"""An Ark log as a section map: manifest and splits, every byte of them.

A section is a named range of a file with the schema (Kaitai specification) that describes it; `exhume list --sections`
and `explain` show them.  A split is a file of messages: header, index with reserved slots, messages.  Messages that
follow each other without a gap are a run.

Spec: ark_log.txt, Manifest File Format, Split File Format.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Callable, Iterator
from posixpath import basename, dirname
from typing import TYPE_CHECKING, Final

from exhume.counts import counted
from exhume.errors import ExhumeError, SourceError
from exhume.formats.ark.kernel import ark_entries, ark_runs
from exhume.formats.ark.layout import ENTRY_SIZE, SPLIT_STARTS, TRAILER_FOOTER_SIZE, iter_entries, parse_file_footer
from exhume.formats.ark.messages import Decompressor, column_codec
from exhume.formats.ark.splits import ANY_OBJECT, UNBOUNDED, Split
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.layout.sections import Section, SectionKind, SectionMap
from exhume.limits import Limits

if TYPE_CHECKING:
    from exhume.formats.ark.log import ArkLog, SplitReference
    from exhume.formats.ark.pykernel import Run

BATCH: Final = 1 << 14
"""Index entries that are examined together: their columns stay in the cache of a core."""

Message = tuple[int, int, int]
"""A message: its position in the index, its offset and its stored size."""

MOST_PADDING: Final = 1 << 20
"""Bytes after the header that are examined at most, to see that they are zeros."""

MESSAGE_SECTIONS: Final = 20_000
"""Splits with at most this many messages get a section for each."""


def section_map(reader: ArkLog) -> SectionMap:
    """The map of the manifest and of every split that is there; the caller closes its sources of splits."""
    files: list[tuple[Source, list[Section]]] = []
    if reader.manifest_source is not None:
        file = reader.loaded.file
        used = len(file.content) if file is not None else None
        label = f"manifest {reader.manifest.identifier}"
        files.append((reader.manifest_source, manifest_sections(label, reader.manifest_source, used)))
    if reader.single_split is not None:
        files.append(
            (
                reader.single_split,
                split_sections(
                    reader.references[0].identifier,
                    reader.single_split,
                    split_codec(reader.references[0]),
                    reader.limits,
                ),
            )
        )
        return SectionMap(files)
    seen: set[str] = set()  # several references may name the same split
    for reference in reader.references:
        name = reader.split_name(reference.identifier)
        if name is None or name in seen or reader.root is None:
            continue
        seen.add(name)
        source = reader.root.source(name)
        files.append((source, split_sections(reference.identifier, source, split_codec(reference), reader.limits)))
    return SectionMap(files)


def inspect(source: Source | Tree, *, limits: Limits) -> SectionMap:
    """The sections of a log whose manifest cannot be read: of each manifest and split, or of a lone file, by itself.

    Without a manifest, the codec of a split's messages is unknown, so they are not decompressed.
    """
    files: list[tuple[Source, list[Section]]] = []
    for name in sorted(source.names()) if isinstance(source, Tree) else [""]:
        file = source.source(name) if isinstance(source, Tree) else source
        last, folder = basename(name), basename(dirname(name))
        if folder == "splits" or (not name and file.read_up_to(0, 3) in SPLIT_STARTS):
            files.append((file, split_sections(last or "file", file, None, limits)))
        elif folder == "manifests" or not name:
            files.append((file, manifest_sections(f"manifest {last}".rstrip(), file, None)))
        else:
            note = "not part of a log"
            files.append((file, [Section(name, file.span(0, file.size), SectionKind.DATA, note=note)]))
    return SectionMap(files)


def manifest_sections(label: str, source: Source, used: int | None) -> list[Section]:
    """Content, trailer and footer of the manifest; in a manifest without a footer, the first `used` bytes hold its
    object.
    """
    size = source.size
    schema = "ark_manifest"
    footer_at = size - TRAILER_FOOTER_SIZE
    footer = parse_file_footer(source.read_up_to(max(0, footer_at), TRAILER_FOOTER_SIZE), footer_at)
    # A footer whose sizes are those of all bytes before it; their number is the argument of its schema.
    if footer is not None and footer.len_content + footer.len_trailer == footer_at:
        out = [Section(label, source.span(0, footer.len_content), schema=schema)]
        if footer.len_trailer:
            block = source.span(footer.len_content, footer_at)
            out.append(Section(f"{label} trailer", block, schema="ark_serializable_file::file_trailer"))
        schema = "ark_serializable_file::file_footer"
        out.append(Section(f"{label} footer", source.span(footer_at, size), schema=schema, schema_args=(footer_at,)))
        return out
    used = size if used is None else used
    out = [Section(label, source.span(0, used), schema=schema)]
    if used < size:
        note = "bytes after the manifest object"
        out.append(Section(f"{label} rest", source.span(used, size), SectionKind.UNREAD, note=note))
    return out


def split_sections(identifier: str, source: Source, codec: str | None, limits: Limits) -> list[Section]:
    """Header, padding, index, spare index slots and messages of one split; a `codec` of None is unknown."""
    label = f"split {identifier}"
    try:
        split = Split(source)
        split.check_index()
    except SourceError:
        raise
    except ExhumeError as error:
        whole = source.span(0, source.size)
        return [Section(label, whole, SectionKind.UNREAD, schema="ark_split::file_header", note=str(error))]
    runs, truncated = _runs(split)
    out = _head_sections(label, split, [start for start, _ in runs])
    inside = _by_run(split, runs) if split.header.item_count <= MESSAGE_SECTIONS else [[] for _ in runs]
    for number, (start, end) in enumerate(runs):
        name = f"{label} messages" if len(runs) == 1 else f"{label} messages {number}"
        out.append(Section(name, source.span(start, end), SectionKind.DATA))
        out += _messages(limits, split, label, name, inside[number], codec)
    # The first truncated message that begins in the file takes what remains after all that is whole.
    begun = [(position, offset) for position, offset in truncated if offset < source.size]
    for position, offset in begun[:1]:
        start = max(offset, split.header.index_end, *(end for _, end in runs))
        note = f"truncated: {counted(len(truncated), 'messages')}, the first is message {position}"
        if start < source.size:
            out.append(Section(f"{label} unread", source.span(start, source.size), SectionKind.UNREAD, note=note))
    return out


def _head_sections(label: str, split: Split, starts: list[int]) -> list[Section]:
    """Header and index of a split, each followed by its padding; `starts` are the offsets of its runs of messages."""
    source, header = split.source, split.header
    out = [Section(f"{label} header", source.span(0, header.size), schema="ark_split::file_header")]
    # The first byte in use after the header; what is before it is padding if it is zeros.
    first_use = min([header.index_offset, *(start for start in starts if start >= header.size)])
    if first_use > header.size and not any(source.read_at(header.size, min(first_use - header.size, MOST_PADDING))):
        padding = source.span(header.size, first_use)
        out.append(Section(f"{label} header padding", padding, SectionKind.PADDING))
    if header.item_count:
        span = source.span(header.index_offset, header.index_end)
        out.append(Section(f"{label} index", span, schema="ark_split::entry_list"))
    capacity = max(header.item_count, header.maximum_count)
    first_data = min((start for start in starts if start >= header.index_end), default=source.size)
    spare_end = min(header.index_offset + capacity * ENTRY_SIZE, first_data)
    if spare_end > header.index_end:
        spare = source.span(header.index_end, spare_end)
        note = "slots of the index that are not in use"
        out.append(Section(f"{label} spare index", spare, SectionKind.PADDING, note=note))
    return out


def split_codec(reference: SplitReference) -> str | None:
    """The codec of a split's messages; None for one that is not known."""
    try:
        return column_codec(reference.column.compression)
    except ExhumeError:
        return None


def _messages(
    limits: Limits, split: Split, label: str, parent: str, messages: list[Message], codec: str | None
) -> list[Section]:
    """Return one section for each message; `codec` is None if the column's codec is unknown.

    `label` is the name of the split, `parent` that of the section of the run with these messages.  Only packed messages
    have a loader: the others are stored as their content.
    """
    out = []
    packed = codec not in (None, "none")
    plain = "ark_rbuf" if codec is not None else None
    for position, start, stored in messages:
        out.append(
            Section(
                f"{label} message {position}",
                split.source.span(start, start + stored),
                SectionKind.DATA,
                codec=codec if packed else None,
                schema="ark_stored_message" if packed else plain,
                payload_schema="ark_rbuf" if packed else None,
                load=_loader(limits, split, start, stored, codec) if packed and codec is not None else None,
                pieces=_streamer(limits, split, start, stored, codec) if packed and codec is not None else None,
                parent=parent,
            )
        )
    return out


def _loader(limits: Limits, split: Split, start: int, stored: int, codec: str) -> Callable[[], bytes]:
    """Return a function that decompresses the message stored at `start`."""

    def load() -> bytes:
        """Decompress the stored message, when its section is read."""
        data = split.source.read_at(start, stored)
        return Decompressor(codec, limits).decode(data, lambda: split.source.span(start, start + stored))

    return load


def _streamer(limits: Limits, split: Split, start: int, stored: int, codec: str) -> Callable[[], Iterator[bytes]]:
    """Return a function that decompresses the message stored at `start` in chunks."""
    return lambda: Decompressor(codec, limits).pieces(split.source, start, start + stored)


def _runs(split: Split) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Touching or overlapping messages as joined half-open ranges, in file order, and messages that are truncated.

    The latter are given by their position in the index and their offset.
    """
    parts: list[tuple[int, int]] = []
    cut: list[tuple[int, int]] = []
    count, size = split.header.item_count, split.source.size
    for first in range(0, count, BATCH):
        entries = split.read_entries(first, min(count, first + BATCH))
        _, _, offsets, sizes, _, bad = ark_entries(entries, size, ANY_OBJECT, ANY_OBJECT)
        # Bad entries may be truncated messages; without any, the kernel joins the messages.
        places = list(zip(offsets, sizes, strict=True)) if 1 in bad else []
        if places:
            cut += [(first + number, at) for number, (at, stored) in enumerate(places) if at + stored > size]
            places = [(at, stored) for at, stored in places if at + stored <= size]
            parts += _joined(places)
        else:
            found = ark_runs(offsets, sizes, 0, UNBOUNDED)
            parts += _joined(list(zip(offsets, sizes, strict=True))) if found is None else _ends(found)
    return _joined([(start, end - start) for start, end in parts]), cut


def _joined(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges that several places, given by offset and size, cover together."""
    places.sort()
    offsets, sizes = array("q", (offset for offset, _ in places)), array("q", (size for _, size in places))
    found = ark_runs(offsets, sizes, 0, UNBOUNDED)
    assert found is not None  # they are in order
    return _ends(found)


def _ends(runs: list[Run]) -> list[tuple[int, int]]:
    """Start and end of each run, without its messages."""
    return [(start, end) for start, end, _, _ in runs]


def _by_run(split: Split, runs: list[tuple[int, int]]) -> list[list[Message]]:
    """The messages in each of the runs, in the order of the index."""
    starts = [start for start, _ in runs]
    found: list[list[Message]] = [[] for _ in runs]
    entries = iter_entries(split.read_entries(0, split.header.item_count))
    for position, (_, offset, size, _, _) in enumerate(entries):
        number = bisect.bisect_right(starts, offset) - 1
        # Messages that are truncated or empty are in no run.
        if size and number >= 0 and offset + size <= runs[number][1]:
            found[number].append((position, offset, size))
    return found
