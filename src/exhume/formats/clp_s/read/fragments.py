"""The parts of a damaged archive, found with or without its header and packets.

`Finder` reads what is intact of the header and of the metadata packets (which list the sections), and then the
sections: three structures (schema tree, schema map, table metadata), three dictionaries and the streams with the
tables.  Without a list of sections it searches for the first structure by the magic number of its zstd frame, and
expects the others after it.  `Fragments` is the result; salvage writes a new archive from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from exhume.codecs import zstd
from exhume.codecs.common import Buffer, over_budget
from exhume.codecs.layout import frames_most
from exhume.counts import counted
from exhume.errors import ExhumeError, LimitExceededError, Span
from exhume.formats.clp_s import checks, layout
from exhume.formats.clp_s.layout import (
    DICTIONARY_HEAD,
    HEADER_SIZE,
    Header,
    NodeType,
    Packet,
    PacketType,
    Schema,
    SchemaTree,
    TableMetadata,
    Version,
)
from exhume.formats.clp_s.layout_packed import NUM_ENTRIES, NUM_SCHEMAS, ClpWord, Marks, pack_schema
from exhume.formats.clp_s.names import DICTIONARIES, KNOWN_VERSIONS
from exhume.formats.clp_s.read import dictionaries
from exhume.formats.clp_s.read.kernel import ClpsStrings
from exhume.formats.clp_s.read.places import StoredRange, header_or_nothing, in_directory, section_files, section_list
from exhume.formats.clp_s.read.template import has_layout
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import Limits
from exhume.recovery import Outcome, SalvageReport

STEP: Final = 256
"""Stored bytes of large payloads that are decompressed at a time; at damage, the content of one such step is lost."""

WINDOW: Final = 64 << 20
"""Bytes of the file that are searched at a time; also the largest stored size of a structure that is found."""

MAX_DICTIONARY: Final = 1 << ClpWord.shift.ofs_variable
"""Largest plausible count of a dictionary: a column cannot refer to more log types.  A larger one is damage."""

ENTRIES_PER_BYTE: Final = 4
"""Largest plausible number of entries per stored byte: all entries differ, so that each takes some space."""

FEW_ENTRIES: Final = 1024
"""Plausible number of entries for a dictionary of any size."""


@dataclass(slots=True)
class Dictionary:
    """The surviving entries of a dictionary (numbered strings that records refer to).

    Attributes:
        count: Number of entries before the damage; 0 if unknown.
        kept: Number of the surviving ones, which are the first.
        payload: Their decompressed bytes.
        place: The range of the file that has the stored section.
    """

    name: str  # of its section
    count: int
    kept: int
    payload: Buffer
    place: StoredRange
    intact: bool
    """Whether the range contains all of the section, and nothing else."""

    @property
    def lost(self) -> int:
        """Entries that are gone."""
        return self.count - self.kept


_CORE_ONLY: Final = bytes((Marks.DECIMAL,))
"""The placeholder that only the core dialect of log types has, which began with 0.4.0."""


def _has_core_placeholder(dictionary: Dictionary) -> bool:
    """Whether a log type (variables are not log types) has a placeholder of the core dialect."""
    if dictionary.name == "/var.dict":
        return False
    entries = ClpsStrings(dictionary.payload, dictionary.kept)
    return any(_CORE_ONLY in entries[index] for index in range(len(entries)))


@dataclass(slots=True)
class Fragments:
    """The parts of an archive that were found; those that were lost are None or empty.

    The three structures are present as bytes, decompressed (`tree`, `schema_ids`, `table_metadata`), and parsed
    (`parsed_tree`, `schemas` by id, `tables`).  `streams`: the section with the tables.
    """

    header: Header | None = None
    packets: list[Packet] = field(default_factory=list)
    tree: bytes = b""
    schema_ids: bytes = b""
    table_metadata: bytes = b""
    parsed_tree: SchemaTree | None = None
    schemas: Mapping[int, Schema] = field(default_factory=dict)
    tables: TableMetadata | None = None
    dictionaries: list[Dictionary] = field(default_factory=list)
    streams: StoredRange | None = None

    def version(self) -> Version:
        """Return the format version: that of the header if it is known, else one with the node types and log types in
        use.
        """
        if self.header is not None and self.header.version in KNOWN_VERSIONS:
            return self.header.version
        types = set(self.parsed_tree.types) if self.parsed_tree is not None else set()
        if NodeType.TIMESTAMP in types:
            return (0, 5, 1)
        if types & {NodeType.FORMATTED_FLOAT, NodeType.DICTIONARY_FLOAT}:
            return (0, 4, 1)
        if any(map(_has_core_placeholder, self.dictionaries)):
            return (0, 4, 0)
        return (0, 3, 2) if NodeType.DELTA_INTEGER in types else (0, 3, 1)


class _DamagedError(Exception):
    """A structure is damaged, so that it cannot be used."""


def _check_end(content: bytes, end: int) -> None:
    """Raise `_DamagedError` if a structure that was parsed up to `end` is not all of its content."""
    if end != len(content):
        raise _DamagedError


class Finder:
    """Searches for the parts of one archive and accounts for the bytes that it skips.

    The sections of a directory are its files; its header is not consulted.
    """

    def __init__(self, source: Source | Tree, limits: Limits, report: SalvageReport) -> None:
        self._tree = source if isinstance(source, Tree) else None
        self._source = source if isinstance(source, Source) else header_or_nothing(source)
        self._limits = limits
        self._report = report

    def find(self) -> Fragments:
        """Return all parts that can be found, and report the bytes that belong to none or are damaged."""
        found = Fragments()
        base = self._envelope(found)
        entries = self._listed(found) if self._tree is None else section_files(self._tree)
        if not self._structures(found, entries) and self._tree is None:
            # The list of sections is missing or wrong: try each zstd frame as the schema tree.
            for offset in self._frames(base or HEADER_SIZE):
                if self._structures(found, {"/schema_tree": self._from(offset)}):
                    break
        return found

    def _envelope(self, found: Fragments) -> int:
        """Read header and packets into `found`, and report both; return where the sections start (0: unknown)."""
        head = self._source.span(0, min(HEADER_SIZE, self._source.size))
        try:
            found.header = layout.parse_header(self._source.read_up_to(0, HEADER_SIZE), head)
        except ExhumeError as error:
            self._report.add_span(head, Outcome.LOST, "header", error.message, error.code)
        else:
            self._report.add_span(head, Outcome.REBUILT, "header")
        payload, used, whole = self._decode(self._from(HEADER_SIZE), self._limits.structure_size)
        where = self._source.span(HEADER_SIZE, HEADER_SIZE + used)
        try:
            if not whole:
                raise ValueError("the frame is damaged")
            packets, _ = layout.parse_packets(payload, where.in_payload(0, len(payload)))
            if self._tree is not None and found.header is not None and self._is_foreign(packets, found.header):
                found.header = None
                # Of another directory: neither its header nor its list of sections describes these files.
                raise ValueError(checks.FOREIGN_HEADER.title)
        except (ExhumeError, ValueError) as error:
            base = found.header.files_base if found.header is not None else 0
            if base > self._source.size:
                base = 0
            lost = self._source.span(HEADER_SIZE, max(base, HEADER_SIZE + used))
            self._report.add_span(lost, Outcome.LOST, "metadata packets", str(getattr(error, "message", error)))
            self._report.add_lost("metadata packets")
            return base
        found.packets = packets
        self._report.add_span(where, Outcome.RECOVERED, "metadata packets")
        return HEADER_SIZE + used

    def _is_foreign(self, packets: list[Packet], header: Header) -> bool:
        """Return whether the packets of a directory describe other files than its own, by their sizes."""
        assert self._tree is not None
        listing = [packet for packet in packets if packet.type == PacketType.ARCHIVE_FILE_INFO]
        try:
            listed, problems = section_list(listing, header, self._source)
            in_directory(self._tree, listed, problems, self._source.span(0, 0))
        except ExhumeError as error:
            return error.code == checks.FOREIGN_HEADER.code
        return False

    def _from(self, start: int) -> StoredRange:
        """The bytes of the archive's one file from an offset on."""
        return StoredRange("", self._source, start, max(start, self._source.size))

    @staticmethod
    def _following(place: StoredRange) -> StoredRange:
        """Return all bytes of the same file after a place."""
        return StoredRange("", place.source, place.end, max(place.end, place.source.size))

    def _listed(self, found: Fragments) -> dict[str, StoredRange]:
        """Return where the sections begin, by name, as the packets state; empty if they list none.

        Each place reaches to the end of the file: only the stated starts are used.
        """
        if not found.packets:
            return {}
        # The last report is that of the packets: the sections start where they end.
        used = self._report.spans[-1].span.end - self._source.origin
        size = used - HEADER_SIZE
        # `Header` takes version, size of the original text, of the archive and of the metadata, and the compression.
        header = found.header or Header((0, 0, 0), 0, self._source.size, size, 0)
        # A header that fits the file as it is: the stored one may be lost or wrong.
        header = Header(header.version, header.original_size, self._source.size, size, 0)
        listing = [packet for packet in found.packets if packet.type == PacketType.ARCHIVE_FILE_INFO]
        try:
            entries, _ = section_list(listing, header, self._source)
        except ExhumeError:
            return {}
        return {entry.name: self._from(entry.start) for entry in entries}

    def _frames(self, start: int) -> Iterator[int]:
        """Yield offsets from `start` on at which a zstd frame may start: those of its magic number."""
        at = start
        overlap = len(zstd.ZSTD_MAGIC) - 1
        while at < self._source.size:
            data = self._source.read_up_to(at, WINDOW)
            hit = data.find(zstd.ZSTD_MAGIC)
            while hit >= 0:
                yield at + hit
                hit = data.find(zstd.ZSTD_MAGIC, hit + 1)
            if len(data) < WINDOW:
                return
            at += len(data) - overlap  # a magic number may be in both windows

    def _decode(self, place: StoredRange, most: int) -> tuple[bytes, int, bool]:
        """Decompress at most `most` bytes at a place: content, stored bytes used, whether the frame is complete."""
        return zstd.zstd_partial(place.source.read_up_to(place.start, WINDOW), max_size=most)

    def _structures(self, found: Fragments, at: dict[str, StoredRange]) -> bool:
        """Find tree, schema map, table metadata and what follows, and add them to `found`.

        `at` has the sections whose start is known, by name.  Each of the others is expected after the one before it.
        Returns False, and adds nothing, if one of the three structures is damaged.
        """
        start = at.get("/schema_tree")
        if start is None:
            return False
        try:
            tree, place = self._structure(start)  # a tree above the limits ends the salvage
        except _DamagedError:
            return False
        try:
            tree_span = place.span
            parsed, end = layout.parse_schema_tree(tree, tree_span.in_payload(0, len(tree)))
            _check_end(tree, end)
            ids, place = self._structure(at.get("/schema_ids", self._following(place)))
            ids_span = place.span
            schemas, _, end = layout.parse_schema_map(ids, ids_span.in_payload(0, len(ids)))
            _check_end(ids, end)
            tables, place = self._structure(at.get("/table_metadata", self._following(place)))
            tables_span = place.span
            metadata, end = layout.parse_table_metadata(tables, tables_span.in_payload(0, len(tables)))
            _check_end(tables, end)
        except (ExhumeError, _DamagedError):
            return False
        # Schemas without a valid layout are left out, with their tables.
        found.tree, found.parsed_tree = tree, parsed
        sound = [schema_id for schema_id in schemas if has_layout(schemas, schema_id, parsed)]
        found.schemas, found.schema_ids = schemas, ids
        if len(sound) < len(schemas):
            found.schemas = {schema_id: schemas[schema_id] for schema_id in sound}
            found.schema_ids = build_schema_map(found.schemas.values())
            self._report.add_lost("schemas", len(schemas) - len(found.schemas))
        found.table_metadata, found.tables = tables, metadata
        for name, span in (("schema tree", tree_span), ("schema map", ids_span), ("table metadata", tables_span)):
            self._report.add_span(span, Outcome.RECOVERED, name)
        self._dictionaries(found, at, self._following(place))
        return True

    def _structure(self, place: StoredRange) -> tuple[bytes, StoredRange]:
        """Decompress the structure that starts at a place: `(content, its stored bytes)`.

        Raises `_DamagedError` if its frame is not complete.
        """
        content, used, whole = self._decode(place, self._limits.structure_size)
        if not whole:
            raise _DamagedError
        return content, place.part(0, used)

    def _dictionaries(self, found: Fragments, at: dict[str, StoredRange], follows: StoredRange) -> None:
        """Add the three dictionaries to `found`, and set the place of its streams.

        `at` has the sections whose start is known, by name.  A dictionary that is not among them is expected after the
        previous section, the first one at `follows`.
        """
        names = DICTIONARIES
        for number, name in enumerate(names):
            place = at.get(name, follows)
            # The section after the last dictionary is that of the streams, `/tables` in the oldest archives.
            after = at.get(names[number + 1] if number + 1 < len(names) else "/0", at.get("/tables"))
            if self._tree is not None:  # a directory: each section is a file
                stated_end = place.end
            elif after is not None and after.start > place.start:
                stated_end = after.start
            else:
                stated_end = 0  # only its content shows where it ends
            dictionary = self._dictionary(name, place, stated_end)
            found.dictionaries.append(dictionary)
            follows = self._following(dictionary.place)
        found.streams = at.get("/0", at.get("/tables", follows))

    def _decoded(self, stored: StoredRange, count: int | None) -> tuple[Buffer, Iterator[int], int, bool]:
        """Decompress as much as possible of a dictionary.

        Returns the content, steps as `ClpsStrings` has them, the number of stored bytes used, and whether the last
        frame is complete.  With a `count`, the dictionary ends with the frame in which that many entries are complete.
        Raises CLPS-501 above the limit `expansion`.
        """
        most = self._limits.payload_size
        parts: list[bytes] = []
        used, whole = 0, True
        try:
            data = stored.read() if stored.size <= most and count is None else None
            if data is None or frames_most(data) > most:
                # As if it were too large in memory: decompress it into a file, below.
                raise over_budget("zstd", most)
            for used, part, whole in zstd.zstd_survivors(data, max_size=most):  # noqa: B007
                parts.append(part)
        except LimitExceededError:
            parts.clear()
            found = dictionaries.spill(stored, self._limits.expansion_budget(stored.size), step=STEP, count=count)
            return found.data, found.steps(), found.used, found.in_frames == len(found.data)
        return b"".join(parts), iter(()), used, whole

    def _dictionary(self, name: str, place: StoredRange, stated_end: int) -> Dictionary:
        """Return what can be decoded of the dictionary at `place`, and report the outcome of each of its bytes.

        `stated_end` is where the next section starts, or 0 if that is unknown: the dictionary then ends where its last
        complete frame does.
        """
        source, start = place.source, place.start
        raw = source.read_up_to(start, DICTIONARY_HEAD)
        count = NUM_ENTRIES.unpack(raw)[0] if len(raw) == DICTIONARY_HEAD else 0
        body = start + DICTIONARY_HEAD
        payload: Buffer = b""
        steps: Iterator[int] = iter(())
        used, whole = 0, True
        if stated_end > body or (count and not stated_end):
            # Without a list of sections, only its count ends the last dictionary: the frames of the streams follow.
            unbounded = name == DICTIONARIES[-1] and not stated_end
            stored = StoredRange(name, source, body, min(stated_end or source.size, max(body, source.size)))
            payload, steps, used, whole = self._decoded(stored, count if unbounded else None)
        kept, entries_end = dictionaries.measure(payload, count, steps)
        end = stated_end or body + used
        size = max(0, min(stated_end or source.size, source.size) - body)
        intact = whole and count == kept and entries_end == len(payload) and body + used == end <= source.size
        # An implausible count is damaged itself, so the number of lost entries is unknown.
        if count > min(MAX_DICTIONARY, ENTRIES_PER_BYTE * size + FEW_ENTRIES):
            self._report.notes.append(
                f"dictionary {name} states {counted(count, 'entries')}, more than fit: {kept} were found, "
                "and how many are lost is unknown"
            )
            count = kept
        elif whole and count == kept and entries_end < len(payload):
            self._report.notes.append(
                f"dictionary {name} has more than the {counted(count, 'entries')} that it states: the rest is left out"
            )
        found = Dictionary(name, count, kept, payload[:entries_end], StoredRange(name, source, start, end), intact)
        self._report_dictionary(found, used=used, is_complete=whole, has_count=len(raw) == DICTIONARY_HEAD)
        return found

    def _report_dictionary(self, found: Dictionary, *, used: int, is_complete: bool, has_count: bool) -> None:
        """Report the outcome of a dictionary's bytes.

        `used` are the bytes after the count that were decoded; `is_complete`: the last frame is complete; `has_count`:
        the file does not end within the count.
        """
        source, name = found.place.source, found.name
        where = span_of(source, found.place.start, found.place.end)
        decoded_end = found.place.start + DICTIONARY_HEAD + used
        undecoded = max(0, min(found.place.end, source.size) - decoded_end) if has_count else 0
        if found.lost or not is_complete or (self._tree is not None and not has_count):
            why = f"the section is damaged: {found.lost} of {counted(found.count, 'entries')} lost"
            why = why if has_count else "the file is missing or cut before its first entry"
            self._report.add_span(where, Outcome.LOST, f"dictionary {name}", why)
            self._report.add_lost("dictionary entries", found.lost)
        elif undecoded and not used:  # an empty dictionary has no further bytes, or an empty frame
            why = f"{counted(undecoded, 'bytes')} after a count of 0 cannot be decoded"
            self._report.add_span(where, Outcome.LOST, f"dictionary {name}", why)
            self._report.add_lost("dictionaries")
        else:
            self._report.add_span(where.sub(0, where.size - undecoded), Outcome.RECOVERED, f"dictionary {name}")
            if undecoded:
                self._report.add_span(
                    where.sub(where.size - undecoded, where.size), Outcome.IGNORED, f"bytes after dictionary {name}"
                )
        self._report.add_recovered("dictionary entries", found.kept)


def build_schema_map(schemas: Iterable[Schema]) -> bytes:
    """The payload of `/schema_ids` for these schemas, ids kept."""
    rows = [pack_schema(one.schema_id, one.entries, one.num_ordered) for one in schemas]
    return NUM_SCHEMAS.pack(len(rows)) + b"".join(rows)


def span_of(source: Source, start: int, end: int) -> Span:
    """Return the span `[start, end)`, clipped to the source."""
    return source.span(min(start, source.size), min(max(start, end), source.size))
