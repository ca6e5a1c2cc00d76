"""A clp-s archive as a section map: header, metadata, the sections of the files part, streams and tables inside.

A section map states the purpose of each byte, for `exhume map` and `exhume explain`; a map entry is a `Section`.  The
files part is everything after the metadata.  Packed streams are zstd frames with tables back to back; the entries of
tables are ranges in the payload of their stream, made on request (`PayloadRun`), since there may be very many.

Spec: clp_s.txt, Format overview.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from exhume.codecs.passing import FEED, PIECE, ForwardReader
from exhume.codecs.zstd import zstd_checksum, zstd_stream
from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError, SourceError, Span
from exhume.findings import Check
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import DICTIONARY_HEAD, HEADER_SIZE
from exhume.formats.clp_s.names import DICTIONARIES, HEADER_FILE, TABLE_SECTIONS
from exhume.formats.clp_s.probe import owns
from exhume.formats.clp_s.read.places import StoredRange
from exhume.formats.clp_s.read.template import has_layout
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.layout.sections import PayloadRun, Section, SectionItem, SectionKind, SectionMap
from exhume.limits import Limits

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import TableArchive
    from exhume.layout.trees import Field

PAYLOAD_SCHEMAS = {
    "/schema_tree": "clp_s_schema_tree",
    "/schema_ids": "clp_s_schema_ids",
    "/table_metadata": "clp_s_table_metadata",
    **dict.fromkeys(DICTIONARIES, "clp_s_dictionary_entries"),
}
"""The specification (`ksy/`) of the payload of each section but that of the tables."""


def build(archive: TableArchive) -> SectionMap:
    """The map of an archive, file by file of a directory.

    When a damaged part cannot be divided, its bytes are a single unread section or a gap.
    """
    files: dict[Source, list[SectionItem]] = {archive.head: [*_head(archive)]}
    for place, sections in _files(archive):
        files.setdefault(place.source, []).extend(sections)
    return SectionMap(files.items())


def inspect(source: Source | Tree, *, limits: Limits) -> SectionMap:
    """The sections of an archive whose header is invalid, so that it cannot be opened: the header, and the rest of the
    file or the other files of the directory.
    """
    if isinstance(source, Tree):
        return SectionMap([*_files_alone(source)])
    return SectionMap([(source, _header_alone(source))])


def _header_alone(source: Source) -> list[Section]:
    """Return the sections of an archive if only its header can be read."""
    stop = min(HEADER_SIZE, source.size)
    sections = [Section("header", source.span(0, stop), schema="clp_s::file_header")]
    if stop < source.size:
        note = "the header does not say what these bytes are"
        sections.append(Section("unread", source.span(stop, source.size), SectionKind.UNREAD, note=note))
    return sections


def _files_alone(tree: Tree) -> Iterator[tuple[Source, list[Section]]]:
    """Yield each file of a directory without a readable header as one section."""
    for name in filter(owns, tree.files()):
        source = tree.source(name)
        if name == HEADER_FILE:
            yield source, _header_alone(source)
        else:
            note = "without a header nobody says how this is read"
            yield source, [Section(f"/{name}", source.span(0, source.size), SectionKind.UNREAD, note=note)]


def _head(archive: TableArchive) -> Iterator[Section]:
    """Yield the two sections of the first file before its data: the fixed header and the compressed metadata."""
    span = archive.head.span
    yield Section("header", span(0, HEADER_SIZE), schema="clp_s::file_header")
    stop = min(archive.header.files_base, archive.head.size)
    is_cut = stop < archive.header.files_base
    yield Section(
        "metadata",
        span(HEADER_SIZE, stop),
        SectionKind.UNREAD if is_cut else SectionKind.STRUCTURE,
        codec="zstd",
        note="truncated" if is_cut else "",
        schema="zstd_frame",
        payload_schema="clp_s_metadata",
        load=lambda: archive.metadata_payload,
        check=partial(_frame_check, archive),
    )


def _files(archive: TableArchive) -> Iterator[tuple[StoredRange, list[SectionItem]]]:
    """Yield each section of the files part as its stored range and its map entries: itself, and streams inside it.

    If the list of sections cannot be read, yield the bytes after the metadata, or all other files, as unread.
    """
    try:
        files = archive.files
    except ExhumeError as error:
        stop = min(archive.header.files_base, archive.head.size)
        rest = [StoredRange("files", archive.head, stop, archive.end)] if archive.end > stop else []
        if isinstance(archive.source, Tree):
            tree = archive.source
            sources = [tree.source(name) for name in tree.files() if owns(name) and name != HEADER_FILE]
            rest = [StoredRange(f"/{source.name}", source, 0, source.size) for source in sources]
        for place in rest:
            yield place, [Section(place.name, place.span, SectionKind.UNREAD, note=str(error))]
        return
    seen: set[str] = set()  # a damaged list may have a name twice, but the names of map entries must differ
    for entry in files:
        if problem := archive.section_problems.get(entry.name):
            # In a single file, the place of such a section is impossible: its bytes become a gap in the map.
            if isinstance(archive.source, Tree):
                whole = entry.source.span(0, entry.source.size)
                yield entry, [Section(entry.name, whole, SectionKind.UNREAD, note=str(problem))]
            continue
        if entry.start > entry.source.size:  # the file is truncated before it
            continue
        name = entry.name if entry.name not in seen else f"{entry.name}@{entry.start}"
        seen.add(name)
        yield entry, [_section(archive, name, entry), *(_streams(archive, name) if name in TABLE_SECTIONS else ())]


def _section(archive: TableArchive, name: str, entry: StoredRange) -> Section:
    """Return the map entry of the section `name`, with the functions that load and check its payload."""
    span = entry.span
    if name in TABLE_SECTIONS:
        return Section(name, span, SectionKind.DATA, codec="zstd", schema="zstd_frame", load=_streams_loader(archive),
                       pieces=partial(_streams_pieces, archive), check=partial(_frame_check, archive))  # fmt: skip
    if name not in PAYLOAD_SCHEMAS:
        return Section(name, span, SectionKind.DATA, note="a section that no known version writes")
    schema, head = "zstd_frame", 0
    kind = SectionKind.STRUCTURE
    if name in DICTIONARIES:
        schema, head, kind = "clp_s_dictionary", DICTIONARY_HEAD, SectionKind.DATA
    return Section(
        name,
        span,
        kind,
        codec="zstd",
        schema=schema,
        payload_schema=PAYLOAD_SCHEMAS[name],
        load=_loader(archive, entry.part(head)),
        pieces=partial(_pieces, archive, entry.part(head)),
        check=partial(_frame_check, archive),
    )


def _frame_check(archive: TableArchive, chain: Sequence[Field]) -> Check:
    """Compare the checksum of a zstd frame; `chain`: the checksum, last, and before it the fields around it."""
    frame = chain[-3].span  # the chain ends with: frame, its body, the checksum
    assert frame is not None
    # Spans count from the start of the file, `chunks` from that of the source, which may be a part of it.
    source = archive.sections().sources[frame.source]
    stored = source.chunks(frame.start - source.origin, frame.end - source.origin)
    stated, computed = zstd_checksum(stored, archive.limits.expansion_budget(frame.size))
    return Check.compare(f"{stated:08x}", f"{computed:08x}")


def _loader(archive: TableArchive, place: StoredRange) -> Callable[[], bytes]:
    """Return a function that decompresses a stored range."""
    return lambda: bytes(archive.inflate(place)) if place.size > 0 else b""


def _pieces(archive: TableArchive, place: StoredRange) -> Iterator[bytes]:
    """Decompress the zstd frames of a stored range in chunks; other bytes after them are ignored, as by `inflate`.

    Raises CLPS-309 (damaged frame), CLPS-501 (above the limit `expansion`).
    """
    chunks = place.source.chunks(place.start, place.end) if place.size > 0 else ()
    # Most bytes to decompress, and how many were so far; whether a frame has just ended.
    most, total, is_between = archive.limits.expansion_budget(place.size), 0, False
    try:
        for _, content, is_end in zstd_stream(chunks, FEED):
            total, is_between = total + len(content), is_end
            if total > most:
                raise archive.too_large(place, "expansion", total)
            yield from (content[at : at + PIECE] for at in range(0, len(content), PIECE))
    except CodecError as error:
        if not is_between:  # otherwise these are the other bytes after the frames
            raise checks.BAD_FRAME.error(error.message, span=place.span, actual=error.actual) from error


def _streams_pieces(archive: TableArchive) -> Iterator[bytes]:
    """Decompress all streams in chunks."""
    for index in range(len(archive.table_metadata.streams)):
        yield from _pieces(archive, archive.stream_place(index))


def _streams_loader(archive: TableArchive) -> Callable[[], bytes]:
    """Return a function that decompresses all streams and joins them."""

    def load() -> bytes:
        """Return all streams as one payload."""
        total = sum(stream.size for stream in archive.table_metadata.streams)
        archive.limits.check("payload_size", total)
        return b"".join(archive.stream_payload(index) for index in range(len(archive.table_metadata.streams)))

    return load


def _streams(archive: TableArchive, parent: str) -> Iterator[SectionItem]:
    """Yield the map entry of each packed stream, followed by one for the tables inside it.

    Streams whose place is unknown or truncated are left out.  Yield nothing if the table metadata cannot be read;
    its own section reports that.  `parent`: the name of the section around them.
    """
    try:
        metadata = archive.table_metadata
    except SourceError:
        raise
    except ExhumeError:
        return
    # The numbers of the tables in each stream.
    tables: dict[int, array[int]] = {}
    problems = metadata.tables.problems
    for number, stream_id in enumerate(metadata.tables.stream_ids):
        if number not in problems:
            tables.setdefault(stream_id, array("Q")).append(number)
    for index, stream in enumerate(metadata.streams):
        try:
            place = archive.stream_place(index)
        except ExhumeError:
            continue
        if place.is_cut:
            continue
        name = f"stream-{index}"
        yield Section(
            name,
            place.span,
            SectionKind.DATA,
            codec="zstd",
            schema="zstd_frame",
            payload_size=stream.size,
            load=_stream_loader(archive, index),
            pieces=partial(_pieces, archive, place),
            check=partial(_frame_check, archive),
            parent=parent,
            note=counted(len(tables.get(index, ())), "tables"),
        )
        if numbers := tables.get(index):
            yield _tables(archive, numbers, name, place.span)


def _stream_loader(archive: TableArchive, index: int) -> Callable[[], bytes]:
    """Return a function that decompresses a stream, without bytes after its stated size."""
    return lambda: bytes(archive.stream_payload(index)[: archive.table_metadata.streams[index].size])


def _tables(archive: TableArchive, numbers: array[int], parent: str, stream: Span) -> PayloadRun:
    """The map entries of the tables with these `numbers`, which are in one stream; each is made when it is needed."""
    starts = archive.table_metadata.tables.starts
    return PayloadRun(
        stream,
        parent,
        array("Q", map(starts.__getitem__, numbers)),
        make=lambda at: _table(archive, numbers[at], parent, stream),
        names=lambda: (f"table-{number}" for number in numbers),
        sorts=lambda: bytes(map(_without_layout(archive), numbers)),  # 1: unread, 0: its columns are known
    )


def _without_layout(archive: TableArchive) -> Callable[[int], bool]:
    """Return a function that returns whether the columns of a table (a number) are unknown: its schema is invalid."""
    try:
        tree, schemas = archive.schema_tree, archive.schemas
    except ExhumeError:
        return lambda number: True
    schema_ids = archive.table_metadata.tables.schema_ids

    @cache
    def is_odd(schema_id: int) -> bool:
        """Whether a schema is missing or invalid."""
        return schema_id not in schemas or not has_layout(schemas, schema_id, tree)

    return lambda number: is_odd(schema_ids[number])


def _table_payload(archive: TableArchive, number: int) -> bytes:
    """The bytes of a table."""
    return bytes(archive.tables[number].load().data)


def _table_pieces(archive: TableArchive, number: int) -> Iterator[bytes]:
    """The bytes of a table in chunks; only a small one is compared with what its columns take (CLPS-348)."""
    entry = archive.tables[number].entry
    if entry.problem is not None or entry.end - entry.start <= min(PIECE, archive.limits.payload_size):
        yield _table_payload(archive, number)
        return
    # A large one: decompress its stream up to the end of the table, and keep only a chunk in memory.
    forward = ForwardReader(_pieces(archive, archive.stream_place(entry.stream_id)))
    forward.skip(entry.start)
    yield from forward.pieces(entry.end - entry.start)
    if forward.at < entry.end:
        archive.stream_payload(entry.stream_id)  # raises CLPS-347: the stream is shorter than stated


def _table(archive: TableArchive, number: int, parent: str, stream: Span) -> Section:
    """Return the map entry of the table `number`; `stream` is the stored range of the stream that contains it."""
    table = archive.tables[number]
    span = stream.in_payload(table.entry.start, table.entry.end)
    try:
        types = list(table.layout.node_types)
    except ExhumeError as error:
        return Section(f"table-{table.index}", span, SectionKind.UNREAD, parent=parent, note=str(error))
    return Section(
        f"table-{table.index}",
        span,
        SectionKind.DATA,
        payload_schema="clp_s_table",
        payload_args=(table.num_messages, types),
        payload_size=table.size,
        load=partial(_table_payload, archive, number),
        pieces=partial(_table_pieces, archive, number),
        parent=parent,
        note=f"{counted(table.num_messages, 'records')} of schema {table.schema_id}",
    )
