"""`ClpSArchive`: a clp-s archive, one file or a directory, opened for reading.

Everything is lazy: opening reads the header, the first use of a property reads its section, and tables are decoded one
by one.  What one damaged section does not touch stays readable.

Spec: clp_s.txt; what it leaves open: `docs/formats/clp_s.md`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exhume.archive import Entry, Progress, RecordArchive, no_progress
from exhume.choices import check_keywords
from exhume.codecs import zstd
from exhume.codecs.common import Buffer
from exhume.errors import CodecError, ExhumeError, LimitExceededError, Span
from exhume.formats.clp_s import checks, layout
from exhume.formats.clp_s.layout import (
    DICTIONARY_HEAD,
    HEADER_FIELDS,
    HEADER_SIZE,
    Compression,
    Header,
    Packet,
    PacketType,
    RangeEntry,
    Schema,
    SchemaTree,
    TableEntry,
    TableMetadata,
    TimestampDictionary,
    TimestampRange,
)
from exhume.formats.clp_s.layout_packed import ENTRY, NUM_ENTRIES
from exhume.formats.clp_s.names import DICTIONARIES, HEADER_FILE, STRUCTURES, TIMESTAMP_FILE
from exhume.formats.clp_s.read import packets
from exhume.formats.clp_s.read.columns import Column, Texts
from exhume.formats.clp_s.read.kernel import ClpsStrings
from exhume.formats.clp_s.read.places import Place, files_of, in_directory, read_together
from exhume.formats.clp_s.read.tables import Table
from exhume.formats.clp_s.read.template import SchemaLayout
from exhume.io.lru import Lru
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.search import Search

if TYPE_CHECKING:
    from exhume.findings import Finding
    from exhume.formats.clp_s.info import ClpSInfo
    from exhume.formats.clp_s.read.timestamps import PatternSet
    from exhume.layout.sections import SectionMap

STRUCTURES_TOGETHER = 8 << 20
"""Stored bytes up to which the structures of a remote archive are one request; larger ones are read one by one."""

SMALL_DICTIONARY = 64 << 10
"""Stored bytes up to which a dictionary comes along with another one from a remote archive."""

STREAM_CACHE = 4
"""Decompressed streams kept: tables of one stream are read one after the other, `jobs` threads work on few streams."""


def open_archive(source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> ClpSArchive:
    """Opens an archive, a file or a directory.  Raises CLPS-101, 102, 105, 301, 307 when the header already says no."""
    return ClpSArchive(source, limits=limits)


def _header_file(tree: Tree) -> Source:
    """The file of a directory that says what the others are.  Raises CLPS-101, 105 or 307 where there is none."""
    names = files_of(tree)
    if HEADER_FILE in names:
        return tree.source(HEADER_FILE)
    if not names:
        raise checks.BAD_MAGIC.error("a directory", span=Span(tree.name, 0, 0))
    if TIMESTAMP_FILE in names:
        raise checks.NO_HEADER_FILE.error(span=Span(TIMESTAMP_FILE, 0, 0))
    raise checks.MISSING_SECTION.error(HEADER_FILE, span=Span(HEADER_FILE, 0, 0), expected=HEADER_FILE)


class ClpSArchive(RecordArchive):
    """A clp-s archive in its own nouns: packets, files, schema tree, schemas, tables, dictionaries.

    `head` is the file that begins with header and metadata section: the archive itself, or `header` in a directory.
    """

    format = "clp-s"

    def __init__(self, source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(source, limits=limits)
        self.head = source if isinstance(source, Source) else _header_file(source)
        where = self.head.span(0, min(HEADER_SIZE, self.head.size))
        self.header: Header = layout.parse_header(self.head.read_up_to(0, HEADER_SIZE), where)
        if self.header.compression_type != Compression.ZSTD:
            raise checks.BAD_COMPRESSION.error(
                span=where.sub(*HEADER_FIELDS.compression_type),
                field_path="compression_type",
                expected=int(Compression.ZSTD),
                actual=self.header.compression_type,
            )
        self._opened = [self.head] if isinstance(source, Tree) else []
        self._streams: Lru[int, bytes] = Lru(STREAM_CACHE)
        self._lock = threading.Lock()
        self._stream_locks: dict[int, threading.Lock] = {}
        self._layouts: dict[int, SchemaLayout] = {}
        self._sections: SectionMap | None = None
        self._small_dictionaries: dict[str, bytes] = {}
        self._fetched: dict[Place, bytes] = {}
        self._has_fetched_structures = False

    @property
    def end(self) -> int:
        """End of the archive in its file: what the header says, or the end of the file if that comes first.

        Of a directory, the end of what the archive has in `header`.
        """
        stated = self.header.files_base if isinstance(self.source, Tree) else self.header.archive_size
        return min(stated, self.head.size)

    def close(self) -> None:
        super().close()
        for source in self._opened:
            source.close()

    def info(self) -> ClpSInfo:
        """Versions, sizes, counts, time ranges and ingestion units."""
        from exhume.formats.clp_s import info

        return info.collect(self)

    def sections(self) -> SectionMap:
        """What every byte is for: header, metadata, the sections of the files part, streams and tables within."""
        if self._sections is not None:
            return self._sections
        from exhume.formats.clp_s import sections
        from exhume.layout.sections import SectionKind

        found = sections.build(self)
        if not any(section.kind is SectionKind.UNREAD for section in found):  # else a later call may read more
            self._sections = found
        return found

    def entries(self) -> Iterator[Entry]:
        """The tables, in stored order."""
        from exhume.formats.clp_s import info

        return (info.table_entry(self, table) for table in self.tables)

    def content_digest(self) -> str:
        """SHA-256 over version, metadata and payloads, wherever they lie and however they are compressed."""
        from exhume.formats.clp_s.recode import content_digest

        return content_digest(self)

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        """Every broken rule; `quick` leaves the dictionaries' content and the tables' rows alone."""
        from exhume.findings import each_once
        from exhume.formats.clp_s import verify

        return each_once(verify.verify(self, quick, jobs, progress))

    # -- metadata section ---------------------------------------------------------------------------------------

    @property
    def cut(self) -> Finding | None:
        """Rule CLPS-302, where the file ends before the archive does; None for a directory, whose files end each."""
        size = self.head.size
        if self.header.archive_size <= size or isinstance(self.source, Tree):
            return None
        return checks.FILE_TOO_SHORT.finding(
            span=self.head.span(size, size),
            field_path="header.len_archive",
            expected=f"{self.header.archive_size} bytes",
            actual=f"{size} bytes",
        )

    @cached_property
    def metadata_place(self) -> Place:
        """Where the compressed metadata section lies."""
        return Place("metadata", self.head, HEADER_SIZE, self.header.files_base)

    @property
    def metadata_span(self) -> Span:
        """The same as a span."""
        return self.metadata_place.span

    @cached_property
    def metadata_payload(self) -> bytes:
        """The decompressed metadata section.  Raises CLPS-304, CLPS-309; of a directory, CLPS-302."""
        place = self.metadata_place
        if place.end > self.header.archive_size or (place.is_cut and not isinstance(self.source, Tree)):
            raise checks.BAD_METADATA_SIZE.error(
                span=self.head.span(*HEADER_FIELDS.len_metadata),
                field_path="header.len_metadata",
                expected=f"at most {max(0, self.end - HEADER_SIZE)}",
                actual=self.header.metadata_size,
            )
        return self.inflate(place, self.limits.structure_size)

    @cached_property
    def packets(self) -> list[Packet]:
        """Metadata packets in file order, those of unknown type included.  Raises CLPS-305."""
        data = self.metadata_payload
        return layout.parse_packets(data, self.metadata_span.in_payload(0, len(data)))[0]

    def packets_of(self, kind: PacketType) -> list[Packet]:
        """The packets of one type."""
        return [packet for packet in self.packets if packet.type == kind]

    @cached_property
    def _file_list(self) -> tuple[list[Place], dict[str, ExhumeError]]:
        for packet in self.packets_of(PacketType.ARCHIVE_INFO):
            count = packets.segment_count(packet)
            if count is not None and count != 1:
                raise checks.BAD_SEGMENT_COUNT.error(span=packet.span, expected=1, actual=count)
        listing = self.packets_of(PacketType.ARCHIVE_FILE_INFO)
        listed, problems = packets.section_list(listing, self.header, self.head)
        if isinstance(self.source, Tree):
            listed, problems = in_directory(self.source, listed, problems, listing[0].span)
            self._opened += [place.source for place in listed]
        return listed, problems

    @property
    def files(self) -> list[Place]:
        """The sections of the files part, in stored order, with their place; of a directory, those that are there.

        Raises CLPS-306, CLPS-313.
        """
        return self._file_list[0]

    @property
    def section_problems(self) -> Mapping[str, ExhumeError]:
        """Sections whose place makes no sense or whose file is missing or too long, and why."""
        return self._file_list[1]

    @cached_property
    def timestamp_dictionary(self) -> TimestampDictionary:
        """Timestamp ranges and patterns; empty when the archive has no such packet.  Raises CLPS-408."""
        found = self.packets_of(PacketType.TIMESTAMP_DICTIONARY)
        if not found:
            return TimestampDictionary()
        return layout.parse_timestamp_dictionary(found[-1].body, found[-1].span)

    @property
    def timestamp_ranges(self) -> tuple[TimestampRange, ...]:
        """Ranges of the timestamp keys; the first one is the authoritative one."""
        return self.timestamp_dictionary.ranges

    @cached_property
    def patterns(self) -> PatternSet:
        """Timestamp patterns, compiled for this archive's version."""
        from exhume.formats.clp_s.read.timestamps import PatternSet

        found = self.timestamp_dictionary
        return PatternSet.build(found.patterns, self.header.has_nanosecond_timestamps, found.span)

    @cached_property
    def range_index(self) -> list[RangeEntry]:
        """Which records came from which ingestion unit, with its properties.  Raises CLPS-409."""
        return packets.range_entries(self.packets_of(PacketType.RANGE_INDEX))

    # -- sections -----------------------------------------------------------------------------------------------

    def file_entry(self, name: str) -> Place:
        """The section of that name.  Raises CLPS-307 (missing), CLPS-308 (impossible place), CLPS-312 (too long)."""
        problems = self.section_problems
        for known in (name, "/tables") if name == "/0" else (name,):
            if known in problems:
                raise problems[known]
            for place in self.files:
                if place.name == known:
                    return place
        raise checks.MISSING_SECTION.error(span=self.metadata_span, expected=name)

    def section_span(self, name: str) -> Span:
        """Where a section lies."""
        return self.file_entry(name).span

    def fetch(self, place: Place) -> None:
        """Reads the stored bytes of a dictionary or stream, which whoever decompresses it then takes from here."""
        self._fetched[place] = place.read()

    def forget(self, place: Place) -> None:
        """Drops what was fetched, if nobody took it."""
        self._fetched.pop(place, None)

    def inflate(self, place: Place, max_size: int, size: int | None = None, stored: Buffer | None = None) -> bytes:
        """Decompresses the zstd frames that lie there; bytes after the frames are left to `verify`.

        `size`, where it is told elsewhere, only makes it faster: what is there may be more or less.  `stored` are the
        bytes there, if they were read already.

        Raises CLPS-302 (behind the end of the file), CLPS-309 (damaged frame), CLPS-501 (too large).
        """
        span = place.span
        if place.is_cut:
            end = place.source.size
            raise checks.FILE_TOO_SHORT.error(
                span=place.source.span(end, end), expected=f"{place.end} bytes", actual=f"{end} bytes"
            )
        if stored is None:
            stored = self._fetched.pop(place, None) or place.read()
        if size is not None and size <= max_size:
            whole = zstd.zstd_sized(stored, size)
            if whole is not None:
                return whole
        cap = min(max_size, max(self.limits.expansion_floor, len(stored) * self.limits.expansion))
        if len(stored) >= 1 << 16:
            whole = zstd.zstd_whole(stored, max_size=cap)
            if whole is not None:
                return whole
        parts: list[bytes] = []
        try:
            parts.extend(part for _, _, part in zstd.zstd_frames(stored, max_size=cap))
        except CodecError as error:
            if not parts:
                raise checks.BAD_FRAME.error(error.message, span=span, actual=error.actual) from error
        except LimitExceededError as error:
            raise checks.TOO_LARGE.error(error.message, span=span, expected=error.expected) from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def structure(self, name: str) -> tuple[bytes, Span]:
        """The decompressed payload of a section that is parsed as a whole, and where it lies."""
        if self.source.cost.wait and not self._has_fetched_structures:
            self._has_fetched_structures = True
            self._fetch_structures()
        entry = self.file_entry(name)
        data = self.inflate(entry, self.limits.structure_size)
        return data, entry.span.in_payload(0, len(data))

    def _fetch_structures(self) -> None:
        """Reads the stored bytes of all structures at once."""
        try:
            places = [self.file_entry(name) for name in STRUCTURES]
            if sum(place.size for place in places) <= STRUCTURES_TOGETHER:
                self._fetched |= zip(places, read_together(places), strict=True)
        except ExhumeError:
            return  # it is raised again where the damaged one is read

    @cached_property
    def schema_tree(self) -> SchemaTree:
        """The merged parse tree.  Raises CLPS-320, CLPS-321."""
        return layout.parse_schema_tree(*self.structure("/schema_tree"))[0]

    @cached_property
    def schemas(self) -> dict[int, Schema]:
        """Schemas by id, in stored order.  Raises CLPS-330."""
        return layout.parse_schema_map(*self.structure("/schema_ids"))[0]

    @cached_property
    def table_metadata(self) -> TableMetadata:
        """Streams and tables.  Raises CLPS-340, CLPS-341."""
        return layout.parse_table_metadata(*self.structure("/table_metadata"))[0]

    @cached_property
    def tables(self) -> list[Table]:
        """The tables in stored order, which is the order of `clp-s x`."""
        return [Table(self, entry) for entry in self.table_metadata.tables]

    @property
    def num_messages(self) -> int:
        """Number of records in all tables."""
        return sum(entry.num_messages for entry in self.table_metadata.tables)

    def dictionary(self, name: str) -> ClpsStrings:
        """A dictionary section, read anew.  Raises CLPS-350."""
        entry = self.file_entry(name)
        span = entry.span
        if entry.size < DICTIONARY_HEAD:
            raise checks.BAD_DICTIONARY.error(
                f"{name} has no count", span=span, expected=f"{DICTIONARY_HEAD} bytes", actual=entry.size
            )
        if entry.is_cut:
            self.inflate(entry, 0)  # raises CLPS-302
        head, body = self._stored_dictionary(entry)
        (count,) = NUM_ENTRIES.unpack(head)
        most = self.limits.payload_size
        rest = entry.part(DICTIONARY_HEAD)
        payload = self.inflate(rest, most, stored=body) if rest.size else b""
        where = span.sub(DICTIONARY_HEAD, span.size).in_payload(0, len(payload))
        most = len(payload) // ENTRY.size
        if count > most:
            raise checks.BAD_DICTIONARY.error(
                f"{name} ends before its last entry",
                span=span.sub(0, DICTIONARY_HEAD),
                field_path="num_entries",
                expected=f"at most {most}",
                actual=count,
            )
        self.limits.check("entries", count, span)
        try:
            return ClpsStrings(payload, count)
        except ValueError as error:
            entries, _, problem = layout.parse_dictionary(payload, count)
            assert problem is not None  # the kernel read the same
            raise checks.BAD_DICTIONARY.error(
                f"{name} ends inside entry {len(entries)}",
                span=where.sub(problem.at, min(problem.stop, len(payload))),
                field_path=problem.path,
                expected=problem.expected,
                actual=problem.actual,
            ) from error

    def _stored_dictionary(self, entry: Place) -> tuple[Buffer, Buffer | None]:
        """The count of a dictionary, and its stored body where the same request brought it.

        Over a network one request brings a whole dictionary, and the small ones come with it.
        """
        if not self.source.cost.wait:
            fetched = self._fetched.pop(entry, None)
            if fetched is None:
                return entry.part(0, DICTIONARY_HEAD).read(), None
            return fetched[:DICTIONARY_HEAD], memoryview(fetched)[DICTIONARY_HEAD:]
        with self._lock:
            stored = self._small_dictionaries.get(entry.name)
            if stored is None:
                others = [
                    other
                    for other in self.files
                    if other.name in DICTIONARIES and other != entry
                    and DICTIONARY_HEAD <= other.size <= SMALL_DICTIONARY
                    and other.name not in self.section_problems and not other.is_cut
                ]  # fmt: skip
                wanted = [entry, *(o for o in others if o.name not in self._small_dictionaries)]
                stored, *more = read_together(wanted)
                self._small_dictionaries.update(zip((one.name for one in wanted[1:]), more, strict=True))
        return stored[:DICTIONARY_HEAD], stored[DICTIONARY_HEAD:]

    @cached_property
    def variables(self) -> ClpsStrings:
        """The variable dictionary: a sequence of byte strings, the id is the position.  Raises CLPS-350."""
        return self.dictionary("/var.dict")

    @cached_property
    def log_types(self) -> ClpsStrings:
        """Log types as stored (placeholder bytes, escapes).  Raises CLPS-350."""
        return self.dictionary("/log.dict")

    @cached_property
    def array_types(self) -> ClpsStrings:
        """Array log types as stored; empty when the archive has none.  Raises CLPS-350."""
        names = {*self.section_problems, *(entry.name for entry in self.files)}
        if "/array.dict" not in names or self.file_entry("/array.dict").size == 0:
            return ClpsStrings(b"", 0)
        return self.dictionary("/array.dict")

    @cached_property
    def texts(self) -> Texts:
        """Dictionaries and patterns as columns need them, each read when it is first used."""
        return Texts(self)

    # -- tables -------------------------------------------------------------------------------------------------

    @cached_property
    def _schemas_span(self) -> Span:
        return self.section_span("/schema_ids")

    def schema_layout(self, schema: Schema) -> SchemaLayout:
        """Columns and runs of a schema, worked out once."""
        found = self._layouts.get(schema.schema_id)
        if found is None or found.schema is not schema:
            found = SchemaLayout(self.schema_tree, schema, self._schemas_span)
            self._layouts[schema.schema_id] = found
        return found

    def stream_place(self, stream_id: int) -> Place:
        """Where a packed stream lies.  Raises CLPS-342, CLPS-343."""
        section = self.file_entry("/0")
        streams = self.table_metadata.streams
        if stream_id >= len(streams):
            raise checks.BAD_STREAM_ID.error(
                span=self.section_span("/table_metadata"), expected=f"below {len(streams)}", actual=stream_id
            )
        start = streams[stream_id].offset
        stop = streams[stream_id + 1].offset if stream_id + 1 < len(streams) else section.size
        if not 0 <= start <= stop <= section.size:
            raise checks.BAD_STREAM_OFFSET.error(
                f"stream {stream_id}",
                span=self.section_span("/table_metadata"),
                field_path=f"streams[{stream_id}].ofs_stream",
                expected=f"at most {section.size}",
                actual=streams[stream_id].offset,
            )
        return section.part(start, stop)

    def stream_span(self, stream_id: int) -> Span:
        """The same as a span.  Raises CLPS-342, CLPS-343."""
        return self.stream_place(stream_id).span

    def stream_payload(self, stream_id: int) -> bytes:
        """A packed stream, decompressed (the last few are kept).  Raises CLPS-309, CLPS-347, CLPS-501."""
        found = self._streams.get(stream_id)
        if found is not None:
            return found
        with self._lock:
            lock = self._stream_locks.setdefault(stream_id, threading.Lock())
        with lock:
            found = self._streams.get(stream_id)
            if found is None:
                found = self._inflate_stream(stream_id)
                self._streams.put(stream_id, found)
        return found

    def _inflate_stream(self, stream_id: int) -> bytes:
        place = self.stream_place(stream_id)
        size = self.table_metadata.streams[stream_id].size
        if size == 0:
            return b""
        if size > self.limits.payload_size:
            raise checks.TOO_LARGE.error(
                f"stream {stream_id}",
                span=place.span,
                expected=f"at most {self.limits.payload_size}",
                actual=size,
            )
        data = self.inflate(place, self.limits.payload_size, size)
        if len(data) < size:
            raise checks.BAD_STREAM_SIZE.error(
                f"stream {stream_id}",
                span=place.span,
                expected=f"{size} bytes",
                actual=f"{len(data)} bytes",
            )
        return data

    def table_bytes(self, entry: TableEntry) -> memoryview:
        """The decompressed bytes of one table."""
        if entry.start == entry.end:
            return memoryview(b"")
        return memoryview(self.stream_payload(entry.stream_id))[entry.start : entry.end]

    def columns(self, key: int | str) -> Iterator[tuple[Table, Column]]:
        """The column of a schema tree node, or of a key path as in `a.b`, in each table that has it.

        Columns are typed sequences (see `Column.values`); no record is built.
        """
        nodes = {key} if isinstance(key, int) else set(self.schema_tree.find(key))
        for table in self.tables:
            if table.num_messages and not nodes.isdisjoint(table.layout.nodes):
                data = table.load()
                for index, node in enumerate(data.layout.nodes):
                    if node in nodes:
                        yield table, data.column_at(index)

    # -- records ------------------------------------------------------------------------------------------------

    def search(self, query: str, **options: Any) -> Search:
        """The records that a KQL query matches; options are those of `search.Options` (`ignore_case`, time bounds).

        Raises `QueryError`.
        """
        from exhume.formats.clp_s.query.plan import Options
        from exhume.formats.clp_s.query.search import Search

        check_keywords("search()", options, Options)
        return Search(self, query, Options(**options))

    def json_chunks(self, *, ordered: bool = False, complete: bool = False, jobs: int = 1) -> Iterator[bytes]:
        """The exact text of `clp-s x` (`ordered`: of `clp-s x --ordered`) in pieces of whole records.

        `complete` also prints what upstream does not: root arrays, auto-generated keys, empty keys of containers
        inside arrays.  `jobs` threads decode and print tables.  Where a table is damaged, what comes before the damage
        is given before its error is raised.
        """
        from exhume.formats.clp_s.read import records

        return records.json_chunks(self, ordered=ordered, complete=complete, jobs=jobs)

    def json_lines(
        self,
        query: str | None = None,
        *,
        ordered: bool = False,
        complete: bool = False,
        **options: Any,
    ) -> Iterator[bytes]:
        """One record at a time, each with its newline; see `json_chunks`, which is faster.

        With a KQL query, the matching records as `clp-s s` prints them; further options are those of `search`.
        """
        if query is not None or options:
            return self.search("*" if query is None else query, **options).lines(ordered=ordered, complete=complete)
        from exhume.formats.clp_s.read import records

        return records.json_lines(self, ordered=ordered, complete=complete)

    def events(
        self, query: str | None = None, *, ordered: bool = False, with_source: bool = False, **options: Any
    ) -> Iterator[Any]:
        """Records as Python objects, with everything that the archive holds.

        With a KQL query, the matching records; further options are those of `search`.

        Dicts, or lists for root arrays; auto-generated keys of KV-IR streams are below the key `@`.  `with_source`
        yields `Sourced` tuples `(event, log_event_idx, properties)` instead, with the range index properties of the
        ingestion unit that the record came from.
        """
        if query is not None or options:
            return self.search("*" if query is None else query, **options).events(
                ordered=ordered, with_source=with_source
            )
        from exhume.formats.clp_s.read import records

        return records.events(self, ordered=ordered, with_source=with_source)

    def to_arrow(self, **options: Any) -> Any:
        """A streaming `pyarrow.RecordBatchReader` over the records; see `exhume.formats.clp_s.arrow.to_arrow`."""
        from exhume.formats.clp_s.arrow import to_arrow
        from exhume.formats.clp_s.query.plan import Options

        check_keywords("to_arrow()", options, to_arrow, Options)
        return to_arrow(self, **options)
