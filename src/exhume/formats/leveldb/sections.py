"""The purpose of every byte of a database directory, as sections: ranges of a file with a kind and a schema.

A run is a series of sections as columns, which become objects on request: a table has up to millions of blocks.  A
trailer is the compression byte and the checksum after a block.  A section claims its bytes if its schema has a field
for each of them.  `room` is the offset of a table's footer, where the blocks end.

Spec: LevelDB doc/table_format.md, doc/log_format.md, doc/impl.md.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import add, eq
from typing import TYPE_CHECKING

from exhume.codecs.checksums import crc32c, mask_crc32c
from exhume.errors import FormatError, Span
from exhume.findings import Check, Finding, Severity
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.blobs import BlobFile, BlobRecord
from exhume.formats.leveldb.blocks import codec_name
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.kernel import block_codecs, filled_blocks
from exhume.formats.leveldb.large import LargeBlock
from exhume.formats.leveldb.layout_facts import BLOB_HEADER, CHECKED, FULL, Compressions, FragmentTypes
from exhume.formats.leveldb.log import BLOCK, LogReader
from exhume.formats.leveldb.model import Footer, Fragment
from exhume.formats.leveldb.names import PEBBLE, set_aside
from exhume.formats.leveldb.probe import UNREAD_TABLES
from exhume.formats.leveldb.table import PEBBLE_RANGES, Table
from exhume.formats.leveldb.wire import Handle, Handles
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.values import CHUNK, LargeValue, whole
from exhume.layout.sections import PlacedRun, Section, SectionItem, SectionKind, SectionRun
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.layout.trees import Field

_MANY = frozenset({"data", "index-part", "filter-part"})
"""Kinds of blocks that a table has several of, distinguished by their offsets."""

_FRAMED = frozenset({"leveldb_block", "leveldb_data_block"})
"""Schemas of blocks of entries with restart points, in whose keys and values no byte is without a field."""
PIECE = 4096  # blocks whose codecs are read by one thread
TRAILERS = 256
"""The number for trailers in a run; that of blocks is their compression byte."""
AHEAD = 1 << 16  # bytes of a local table that are read at a time to learn how its next blocks are stored


class RowCheck(NamedTuple):
    """A checksum in a row of a data block; the functions take the table, the block, and the fields around it."""

    compare: Callable[[Table, Handle, Sequence[Field]], Check]  # computes and compares it
    covers: Callable[[Table, Handle, Sequence[Field]], int]  # bytes outside of the block that it is about


def file_sections(
    database: Database, rows: str = "leveldb_data_block", check: RowCheck | None = None, jobs: int = 1
) -> list[tuple[Source, list[SectionItem]]]:
    """One section per log, manifest and small file, with its records nested in it; tables are mapped block by block, by
    `jobs` threads (0: one per core).

    `rows` is the schema of data blocks, for databases whose values have a layout of their own, and `check` computes the
    checksums in it.
    """
    files: list[tuple[Source, list[SectionItem]]] = []
    for file in database.files:
        if file.size is None:  # missing
            continue
        source = database.source(file.name)
        if file.kind == "table":
            sections = table_sections(database.table(file), rows, check, jobs)
        elif file.kind in ("log", "manifest"):
            sections = _log_sections(source, file, database)
        elif file.kind == "blob":
            sections = _blob_sections(BlobFile(source, database.limits))
        elif file.kind == PEBBLE:
            sections = [Section(file.name, source.span(0, source.size), SectionKind.UNREAD, note="a file of Pebble")]
        else:
            note = "the manifest's name and a newline" if file.kind == "current" else "not part of the data"
            sections = [Section(file.name, source.span(0, source.size), SectionKind.STRUCTURE, note=note)]
        files.append((source, sections))
    for name in set_aside(database.tree):
        source = database.source(name)
        note = "a repair set it aside; the database does not include it"
        files.append((source, [Section(name, source.span(0, source.size), SectionKind.DATA, note=note)]))
    return files


def _log_sections(source: Source, file: DbFile, database: Database) -> list[SectionItem]:
    """Return the sections of a log or manifest: its records, and the bytes between them that no record uses."""
    kind = file.kind
    schema = "leveldb_manifest" if kind == "manifest" else "leveldb_log"
    whole = Section(
        source.name, source.span(0, source.size), SectionKind.STRUCTURE, schema=schema,
        check=lambda chain: fragment_check(source, chain[-1].span),
    )  # fmt: skip
    payload = "leveldb_version_edit" if kind == "manifest" else "leveldb_write_batch"
    found: list[Finding] = []
    number = file.number if kind == "log" else None
    reader = LogReader(source, checks.collector(found.append), database.limits, number)
    records = _Records(reader, payload)
    unread: dict[int, Section] = {}
    # What no record covers is known from the findings; those inside a record are about bytes that are covered.
    for finding in found:
        if finding.span is not None and finding.span.start not in unread and not records.begins(finding.span.start):
            name = f"{source.name}/unread@{finding.span.start}"
            what = SectionKind.PADDING if finding.code == checks.RECYCLED.code else SectionKind.UNREAD
            unread[finding.span.start] = Section(name, finding.span, what, note=finding.message, parent=source.name)
    return [whole, *records.runs(unread)]


class _Records:
    """The records of a log or manifest as columns: there may be millions."""

    def __init__(self, reader: LogReader, payload: str) -> None:
        """Read all records of `reader`; `payload` is the schema of their content."""
        self._reader, self._payload = reader, payload
        self._name = reader.source.name
        # Absolute offsets of each record, its data and its end; size of its content.
        self._starts, self._data, self._ends, self._sizes = array("q"), array("q"), array("q"), array("q")
        self._parts: dict[int, tuple[Fragment, ...]] = {}  # of the records that have several
        for record in reader:
            if record.earlier:
                continue
            if len(record.fragments) > 1:
                self._parts[len(self._starts)] = record.fragments
            self._starts.append(record.offset)
            self._data.append(record.fragments[0].data_offset)
            self._ends.append(record.end)
            self._sizes.append(len(record.payload))
        self._later = {one.offset for parts in self._parts.values() for one in parts}  # where their fragments start

    def begins(self, offset: int) -> bool:
        """Whether a fragment of a record begins at an offset."""
        at = bisect_left(self._starts, offset)
        return self._starts[at : at + 1] == array("q", (offset,)) or offset in self._later

    def runs(self, others: dict[int, Section]) -> Iterator[SectionItem]:
        """Yield the records as sections, in runs, and between them the sections `others`, which are by offset."""
        first = 0
        for offset in sorted(others):
            stop = bisect_left(self._starts, offset)
            yield from self._run(first, stop)
            yield others[offset]
            first = stop
        yield from self._run(first, len(self._starts))

    def _run(self, first: int, stop: int) -> Iterator[PlacedRun]:
        """Yield the records `[first, stop)` as one run, if there are any."""
        starts, ends = self._starts[first:stop], self._ends[first:stop]
        if starts:
            names = lambda: (f"{self._name}/record@{start}" for start in starts)  # noqa: E731
            yield PlacedRun(
                self._name, starts, ends, make=lambda at: self._make(first + at), names=names, parent=self._name
            )

    def _make(self, number: int) -> Section:
        """Return the section of the record with this number; its content is loaded only when requested."""
        start, end, size, reader = self._starts[number], self._ends[number], self._sizes[number], self._reader
        alone = (Fragment(start, self._data[number], end, FULL, intact=True),)
        fragments = self._parts.get(number, alone)
        return Section(
            f"{self._name}/record@{start}",
            Span(self._name, start, end),
            codec="fragments",
            payload_schema=self._payload,
            payload_size=size,
            load=partial(reader.content, fragments),
            pieces=partial(_chunks, reader, fragments),
            parent=self._name,
        )


def _blob_sections(blobs: BlobFile) -> list[SectionItem]:
    """Return the header, each record, and the footer of a blob file; from damage on, the rest is one section."""
    source = blobs.source
    out: list[SectionItem] = []
    at = 0
    note = ""

    def unreported(rule: checks.Rule, detail: str = "", **_: object) -> None:
        """Use a finding as the note of the section that is not read."""
        nonlocal note
        note = detail or rule.title

    try:  # a damaged header raises; a record that does not fit is reported, and ends the loop
        codec = codec_name(blobs.header.compression)
        out.append(
            Section(f"{source.name}/header", source.span(0, BLOB_HEADER), schema="leveldb_blob_file::file_header")
        )
        at = BLOB_HEADER
        for record in blobs.records(unreported):
            out.append(_blob_section(blobs, record, codec))
            at = record.end
    except FormatError as error:
        note = error.message
    if at < blobs.room:  # `room` is where the footer starts, or the file ends
        out.append(Section(f"{source.name}/unread@{at}", source.span(at, blobs.room), SectionKind.UNREAD, note=note))
    if blobs.footer is not None:
        span, schema = source.span(blobs.room, source.size), "leveldb_blob_file::file_footer"
        out.append(Section(f"{source.name}/footer", span, schema=schema, check=lambda _: blobs.check_footer()))
    return out


def _blob_section(blobs: BlobFile, record: BlobRecord, codec: str) -> Section:
    """A record, whose payload is the value, compressed by `codec`."""
    source, place = blobs.source, (record.value_at, record.len_value)
    return Section(
        f"{source.name}/record@{source.origin + record.offset}", source.span(record.offset, record.end),
        SectionKind.DATA, codec, schema="leveldb_blob_file::record", load=lambda: whole(blobs.read(*place)),
        pieces=lambda: iter(LargeValue.of(blobs.read(*place))),
        check=lambda chain: blobs.check_record(record, chain[-1].name),
    )  # fmt: skip


def _chunks(reader: LogReader, fragments: tuple[Fragment, ...]) -> Iterator[bytes]:
    """The payload of a record in chunks, read again from its fragments."""
    data = memoryview(reader.large_content(fragments))
    return (bytes(data[at : at + CHUNK]) for at in range(0, len(data), CHUNK))


def table_sections(
    table: Table, rows: str = "leveldb_data_block", check: RowCheck | None = None, jobs: int = 1
) -> list[SectionItem]:
    """Return blocks, trailers and footer; without a readable footer, one unread section.  See `file_sections`."""
    source = table.source
    footer = table.footer_or_none()
    if footer is None:
        tail = bytes(source.read_up_to(max(0, source.size - 8), 8))
        note = UNREAD_TABLES.get(tail, "no table footer")
        return [Section(source.name, source.span(0, source.size), SectionKind.UNREAD, note=note)]
    out: list[SectionItem] = []
    found: list[Finding] = []
    named, data = _blocks(table, footer), table.index(checks.collector(found.append)).handles
    # Why parts of the index could not be read (a limit, an unsupported form): it then does not name all blocks.
    notes = [one.message for one in found if one.severity is Severity.UNCHECKED]
    room = footer.offset - source.origin
    # The data blocks as one run, or among the other blocks if these are between them.
    spans: list[tuple[int, int, str]] = []  # (start, stop, name) of the blocks, to find the padding between them
    if _are_consecutive(data, [handle for _, handle, _ in named], room):
        out.append(_data_run(table, data, rows, check, jobs))
        spans.append((data.offsets[0], data[-1].stop, "data"))
    else:
        named += [("data", handle, rows) for handle in data]
    blocks: dict[Handle, tuple[str, str]] = {}
    for name, handle, schema in named:
        if handle.stop <= room:
            blocks.setdefault(handle, (name, schema))
    codecs = _stored_codecs(table, Handles.of(blocks))
    for (handle, (name, schema)), codec in zip(blocks.items(), codecs, strict=True):
        kind = SectionKind.DATA if name == "data" else SectionKind.STRUCTURE
        label = f"{source.name}/{name}@{source.origin + handle.offset}" if name in _MANY else f"{source.name}/{name}"
        out.append(_contents(table, label, kind, handle, codec, schema, check if name == "data" else None))
        out.append(_trailer(table, label, handle))
    if notes:
        out += _unread(source, sorted({*blocks, *data}), room, notes[0])
    else:
        spans += [(handle.offset, handle.stop, name) for handle, (name, _) in blocks.items()]
        out += _padding(table, spans, room)
    span = source.span(room, room + footer.size)
    out.append(
        Section(
            f"{source.name}/footer", span, SectionKind.STRUCTURE, schema="leveldb_footer",
            check=lambda _: table.check_sealed_footer(),  # footers of RocksDB have a checksum from version 6 on
        )
    )  # fmt: skip
    return out


def _are_consecutive(blocks: Handles, others: Sequence[Handle], room: int) -> bool:
    """Whether blocks are consecutive and end before `room`, with none of the others among them."""
    if not blocks:
        return False
    stops = map(layout.BLOCK_TRAILER.__add__, map(add, blocks.offsets, blocks.sizes))
    start, stop = blocks.offsets[0], blocks[-1].stop
    return (
        all(map(eq, blocks.offsets[1:], stops))
        and stop <= room
        and all(other.stop <= start or other.offset >= stop for other in others)
    )


def _unread(source: Source, blocks: list[Handle], room: int, note: str) -> Iterator[Section]:
    """The spans of a table before `room` that none of the blocks covers; `note` is the reason."""
    at = 0
    for start, stop in [*((one.offset, one.stop) for one in blocks), (room, room)]:
        if at < start:
            yield Section(f"{source.name}/unread@{at}", source.span(at, start), SectionKind.UNREAD, note=note)
        at = max(at, stop)


def _padding(table: Table, blocks: list[tuple[int, int, str]], room: int) -> list[Section]:
    """Return the padding between data blocks, if all gaps between blocks are such padding; `blocks` has (start, stop,
    name) of those before `room`.
    """
    blocks.sort()
    starts = [*(start for start, _, _ in blocks[1:]), *([room] if blocks else [])]
    ends = ((stop, start, name) for (_, stop, name), start in zip(blocks, starts, strict=True))
    gaps = [(at, end, name) for at, end, name in ends if end > at]  # `name`: that of the block before
    if any(name != "data" for _, _, name in gaps) or not table.is_padding([(start, stop) for start, stop, _ in gaps]):
        return []
    name, span = table.source.name, table.source.span
    return [Section(f"{name}/padding@{at}", span(at, end), SectionKind.PADDING) for at, end, _ in gaps]


def _stored_codecs(table: Table, handles: Handles) -> bytes:
    """Return the compression byte of each block, from the byte after it in the file."""
    source, out = table.source, bytearray()
    ahead = layout.BLOCK_TRAILER if source.is_remote else AHEAD  # of a remote table, trailers alone
    while len(out) < len(handles):
        rest = handles[len(out) :]
        begin = rest.offsets[0] + rest.sizes[0]
        window = source.read_at(begin, min(ahead, source.size - begin))
        out += block_codecs(window, begin, rest.offsets, rest.sizes)
    return bytes(out)


def _data_run(table: Table, handles: Handles, rows: str, check: RowCheck | None, jobs: int) -> SectionRun:
    """Consecutive data blocks at `handles`, each followed by its trailer; `rows` and `check` as in `file_sections`."""
    source, pieces = table.source, range(0, len(handles), PIECE)
    # Sections alternate: a block, its trailer.  `bounds` has their offsets and the end, `kinds` a codec or `TRAILERS`.
    codecs = b"".join(map_ordered(lambda at: _stored_codecs(table, handles[at : at + PIECE]), pieces, jobs))
    bounds = array("q", [0]) * (2 * len(handles) + 1)
    bounds[:-1:2] = array("q", map(source.origin.__add__, handles.offsets))
    bounds[1::2] = array("q", map(add, bounds[:-1:2], handles.sizes))
    bounds[-1] = bounds[-2] + layout.BLOCK_TRAILER
    kinds = array("H", [TRAILERS]) * (2 * len(handles))
    kinds[::2] = array("H", iter(codecs))
    label = f"{source.name}/data@"

    def make(number: int) -> Section:
        """Return section `number`: even ones are blocks, odd ones trailers."""
        block = number // 2
        name, handle = f"{label}{bounds[2 * block]}", handles[block]
        if number % 2:
            return _trailer(table, name, handle)
        return _contents(table, name, SectionKind.DATA, handle, codecs[block], rows, check)

    def names() -> Iterator[str]:
        """Yield the names of all sections, without making these."""
        for start in bounds[:-1:2]:
            yield f"{label}{start}"
            yield f"{label}{start}/trailer"

    def claims(first: int, last: int) -> bool:
        """Whether fields cover all bytes of the sections from `first` to `last`."""
        chosen = slice(first // 2, (last + 1) // 2)
        if Compressions.NONE not in codecs[chosen]:
            return True  # only trailers have a schema
        return rows in _FRAMED and _fill(table, handles[chosen])

    return SectionRun(source.name, memoryview(bounds), kinds, make=make, names=names, claims=claims)


def _fill(table: Table, handles: Handles) -> bool:
    """Return whether fields cover all bytes of the uncompressed blocks; False also if that has to be examined."""
    done = 0
    while done < len(handles):
        offset, size = handles[done]
        stored = table.read_ahead(handles, done) or table.source.read_at(offset, size + layout.BLOCK_TRAILER)
        found = filled_blocks(stored, offset, handles.offsets[done:], handles.sizes[done:])
        if not found:
            return False
        done += found
    return True


def _blocks(table: Table, footer: Footer) -> list[tuple[str, Handle, str]]:
    """Return name, handle and schema ("" if none describes it) of each block other than the data blocks."""
    handles: list[tuple[str, Handle, str]] = [("metaindex", footer.metaindex, "leveldb_block")]
    for name, handle in table.metaindex(checks.ignore).items():
        schema = ""
        if name == "rocksdb.properties":
            schema = "leveldb_properties"
        elif name.startswith("filter."):
            schema = "leveldb_filter" if footer.family == "leveldb" else ""
        elif name in ("rocksdb.range_del", PEBBLE_RANGES):
            schema = "leveldb_data_block"
        if name != "rocksdb.index":  # (added below, as "index")
            handles.append((name, handle, schema))
    of_index = table.index_schema()
    if footer.index_handle is not None:
        handles.append(("index", footer.index_handle, of_index))
    elif (index := table.metaindex(checks.ignore).get("rocksdb.index")) is not None:
        handles.append(("index", index, of_index))
    for name, handle in table.partitions():
        handles.append((name, handle, of_index if name == "index-part" else ""))
    return handles


def _contents(
    table: Table, label: str, kind: SectionKind, handle: Handle, codec: int, schema: str, check: RowCheck | None = None
) -> Section:
    """Return the section `label` of a block without its trailer, to be loaded on request; `codec`: compression byte."""
    source = table.source
    end = handle.offset + handle.size
    stored = codec == Compressions.NONE

    def load() -> bytes:
        """Return the decompressed block; the table's dictionary is for data blocks only."""
        dictionary = table.dictionary if kind is SectionKind.DATA else b""
        block = table.read_block(handle, checks.strict, dictionary=dictionary)
        if block is None:
            raise FormatError("the block cannot be read", span=source.span(handle.offset, end))
        return block.data

    is_filled = {**dict.fromkeys(_FRAMED, layout.fills_block), "leveldb_filter": layout.fills_filter}.get(schema)

    def pieces() -> Iterator[bytes]:
        """Yield the contents of the block in chunks, when its section is read."""
        block = table.read_data(handle, checks.strict)
        return block.pieces() if isinstance(block, LargeBlock) else iter((block.data if block is not None else load(),))

    return Section(
        label, source.span(handle.offset, end), kind, codec_name(codec),
        schema=(schema or None) if stored else None, payload_schema=None if stored else schema or None, load=load,
        pieces=pieces if kind is SectionKind.DATA and not stored else None,
        check=partial(check.compare, table, handle) if check is not None else None,
        covers=partial(check.covers, table, handle) if check is not None else None,
        claims=(lambda: is_filled(source.read_at(handle.offset, handle.size))) if stored and is_filled else None,
        note="" if schema else "a kind of block that no schema describes",
    )  # fmt: skip


def _trailer(table: Table, label: str, handle: Handle) -> Section:
    """The compression and the checksum of a block, whose section is called `label`."""
    return Section(
        f"{label}/trailer", table.source.span(handle.offset + handle.size, handle.stop), SectionKind.CHECKSUM,
        schema="leveldb_table::block_trailer", check=lambda _: table.check_block(handle),
    )  # fmt: skip


def fragment_check(source: Source, where: Span | None) -> Check:
    """The checksum of the fragment whose header starts at `where`, computed and compared."""
    at = where.start - source.origin if where is not None else 0
    data = source.read_up_to(at, BLOCK - at % BLOCK)
    try:
        stop, stored, size, kind, _, _, _ = layout.flat_fragment(data, 0, len(data))
    except layout.LayoutError:
        return Check.skipped("truncated fragment, or its length is wrong")
    if kind == FragmentTypes.ZERO and not size:
        return Check.skipped("filler, which has no checksum")
    return Check.compare(f"{stored:08x}", f"{mask_crc32c(crc32c(data[CHECKED:stop])):08x}")
