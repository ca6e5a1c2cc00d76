"""Bytes to values of a clp-s archive: the results of the generated readers in the terms of the format.

This module adds what a schema cannot express: that parents come before their children, which rule is broken by bytes
that do not fit, where a table ends (where the next one starts), and how upstream treats repeated nodes and schemas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from struct import pack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exhume_ksy.facts.clp_s import Compression as Compression
from exhume_ksy.facts.clp_s import FileHeader
from exhume_ksy.facts.clp_s_dictionary import ClpSDictionary
from exhume_ksy.facts.clp_s_metadata import PacketType as PacketType
from exhume_ksy.facts.clp_s_metadata import TimestampEncoding as TimestampEncoding
from exhume_ksy.facts.clp_s_schema_ids import Entry
from exhume_ksy.facts.clp_s_schema_tree import Node
from exhume_ksy.facts.clp_s_schema_tree import NodeType as NodeType
from exhume_ksy.facts.clp_s_table import ClpSTable
from exhume_ksy.facts.clp_s_table_metadata import ClpSTableMetadata, Stream, Table
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.clp_s import read_file_header
from exhume_ksy.fast.clp_s_metadata import read_clp_s_metadata, read_timestamp_dictionary
from exhume_ksy.fast.clp_s_schema_ids import read_clp_s_schema_ids
from exhume_ksy.fast.clp_s_schema_tree import read_clp_s_schema_tree
from exhume_ksy.fast.clp_s_table_metadata import read_clp_s_table_metadata

from exhume.codecs.common import Buffer
from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s import checks
from exhume.layout.fast import read

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.template import ColumnSpec

MAGIC: Final = FileHeader.magic
HEADER_SIZE: Final = FileHeader.size
HEADER_FIELDS: Final = FileHeader.at
"""Where the fields of the header lie in the file."""

HEADER_PACKED: Final = FileHeader.packed
STREAM_SIZE: Final = Stream.size
STREAMS_AT: Final = ClpSTableMetadata.at.num_streams[1]
DICTIONARY_HEAD: Final = ClpSDictionary.at.num_entries[1]
"""Bytes of a dictionary section in front of its compressed entries: their number."""

ROOT: Final = -1
MAX_NODE_ID: Final = (1 << Entry.shift.container_type) - 1
is_marker = Entry.is_marker
"""Whether an unordered entry opens a container instead of naming a node."""

Version = tuple[int, int, int]


def type_name(node_type: int) -> str:
    """`clp_string`, or `type 77` for a number that has no name."""
    try:
        return NodeType(node_type).name.lower()
    except ValueError:
        return f"type {node_type}"


COLUMN_TYPES: Final = frozenset(map(NodeType, ClpSTable.cases.columns))
"""Node types that store a column; all others store nothing."""


class Header(NamedTuple):
    """The 64 bytes at the start.  `archive_size` is the whole file, `metadata_size` the compressed metadata section."""

    version: Version
    original_size: int
    archive_size: int
    metadata_size: int
    compression_type: int
    reserved: tuple[bytes, bytes] = (b"", b"")

    @property
    def files_base(self) -> int:
        """Offset of the files section from the start of the archive."""
        return HEADER_SIZE + self.metadata_size

    @property
    def version_text(self) -> str:
        """The version as text, such as `0.5.1`."""
        return ".".join(map(str, self.version))

    @property
    def has_core_text(self) -> bool:
        """Whether text is encoded as from 0.4.0 on (three placeholder bytes, plain dictionary ids)."""
        return self.version >= (0, 4, 0)

    @property
    def has_nanosecond_timestamps(self) -> bool:
        """Whether timestamps and their patterns are those of 0.5.0 on."""
        return self.version >= (0, 5, 0)


def parse_header(data: bytes, where: Span) -> Header:
    """The header from the first 64 bytes at `where`.

    Raises CLPS-301 (short), CLPS-101 (magic); other fields are for the reader to judge.  Spec: Header section.
    """
    start = data[: len(MAGIC)]
    if start != MAGIC[: len(data)] or not data:
        raise checks.BAD_MAGIC.error(span=where.sub(0, len(start)), expected=MAGIC, actual=start)
    try:
        raw, _ = read_file_header(data, 0, len(data))
    except LayoutError as error:
        raise checks.SHORT_HEADER.error(
            span=where, field_path=error.path, expected=f"{HEADER_SIZE} bytes", actual=counted(len(data), "bytes")
        ) from error
    version = (raw.version.major, raw.version.minor, raw.version.patch)
    reserved = (bytes(raw.reserved1), pack(FileHeader.format.reserved2, raw.reserved2))
    return Header(version, raw.len_original, raw.len_archive, raw.len_metadata, raw.compression_type, reserved)


class Packet(NamedTuple):
    """One metadata packet; `type` is a plain number when it is not a `PacketType`.  `span` covers the body."""

    type: int
    body: bytes
    span: Span

    @property
    def name(self) -> str:
        """`range_index`, or `type 9`."""
        try:
            return PacketType(self.type).name.lower()
        except ValueError:
            return f"type {self.type}"


def parse_packets(data: bytes, where: Span) -> tuple[list[Packet], int]:
    """Metadata packets from the decompressed metadata section, and the offset behind the last one.

    Raises CLPS-305.  Spec: Metadata section.
    """
    raw, at = read(read_clp_s_metadata, data, where, checks.BAD_METADATA)
    extents = ((packet.type, *packet.body.extent) for packet in raw.packets)
    return [Packet(kind, data[start:end], where.sub(start, end)) for kind, start, end in extents], at


class TimestampRange(NamedTuple):
    """Inclusive bounds of the values of one timestamp key.

    `key` is an escaped KQL path.  `encoding` 1: integers, in milliseconds from 0.5.0 on and in the unit of the values
    before; 2: doubles in the unit of the values; otherwise there are no bounds.
    """

    key: bytes
    column_ids: tuple[int, ...]
    encoding: int
    begin: int | float | None
    end: int | float | None


@dataclass(frozen=True, slots=True)
class TimestampDictionary:
    """Ranges of the timestamp keys (the first one is the authoritative one) and patterns by id."""

    ranges: tuple[TimestampRange, ...] = ()
    patterns: Mapping[int, bytes] = field(default_factory=dict)
    span: Span | None = None


def parse_timestamp_dictionary(data: bytes, where: Span) -> TimestampDictionary:
    """The timestamp dictionary from the body of its packet.

    Raises CLPS-408.  Spec: TimestampDictionary packet.
    """
    raw, _ = read(read_timestamp_dictionary, data, where, checks.BAD_TIMESTAMP_DICTIONARY)
    ranges = []
    for item in raw.ranges:
        begin: int | float | None = None
        end: int | float | None = None
        if item.encoding == TimestampEncoding.EPOCH:
            begin, end = item.begin_epoch, item.end_epoch
        elif item.encoding == TimestampEncoding.DOUBLE_EPOCH:
            begin, end = item.begin_double, item.end_double
        ranges.append(TimestampRange(bytes(item.key.bytes), tuple(item.column_ids), item.encoding, begin, end))
    return TimestampDictionary(tuple(ranges), {one.pattern_id: bytes(one.pattern.bytes) for one in raw.patterns}, where)


class RangeEntry(NamedTuple):
    """One ingestion unit: properties of the records `[start, end)` by `log_event_idx`."""

    start: int
    end: int
    properties: Mapping[str, Any]


class SchemaTree:
    """The merged parse tree.  Node `i` has `parents[i]`, `keys[i]` (raw UTF-8, unescaped) and `types[i]`.

    Built the way upstream builds it: a repeated (parent, key, type) makes no node of its own (`repeated` lists the
    positions in the file where that happened).
    """

    __slots__ = ("__dict__", "keys", "parents", "repeated", "specs", "types")

    def __init__(self, parents: Sequence[int], keys: Sequence[bytes], types: Sequence[int]) -> None:
        self.parents: list[int] = []
        self.keys: list[bytes] = []
        self.types: list[int] = []
        self.repeated: list[int] = []
        self.specs: dict[tuple[int, int, bool], ColumnSpec] = {}
        """Columns of the schemas by place, node and whether they belong to a structured array: each is made once."""
        seen: set[tuple[int, bytes, int]] = set()
        for position, triple in enumerate(zip(parents, keys, types, strict=True)):
            if triple in seen:
                self.repeated.append(position)
                continue
            seen.add(triple)
            self.parents.append(triple[0])
            self.keys.append(triple[1])
            self.types.append(triple[2])

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def has_column(self) -> list[bool]:
        """Whether each node stores a column."""
        return [node_type in COLUMN_TYPES for node_type in self.types]

    @cached_property
    def children(self) -> list[list[int]]:
        """Children of each node in ascending order; the roots are at index -1 (the last list)."""
        lists: list[list[int]] = [[] for _ in range(len(self.parents) + 1)]
        for node, parent in enumerate(self.parents):
            lists[parent].append(node)
        return lists

    @cached_property
    def roots(self) -> dict[tuple[bytes, int], int]:
        """Root nodes by (key, type)."""
        return {(self.keys[node], self.types[node]): node for node in self.children[ROOT]}

    @property
    def object_root(self) -> int | None:
        """The root of the JSON records, the only subtree that upstream prints."""
        return self.roots.get((b"", NodeType.OBJECT))

    @cached_property
    def log_event_idx(self) -> int | None:
        """The node that numbers the records, if log order was recorded."""
        root = self.roots.get((b"", NodeType.METADATA))
        if root is None:
            return None
        for node in self.children[root]:
            if self.keys[node] == b"log_event_idx" and self.types[node] in (NodeType.INTEGER, NodeType.DELTA_INTEGER):
                return node
        return None

    def path(self, node: int) -> list[int]:
        """Nodes from the root down to `node`."""
        nodes = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        return nodes[::-1]

    def find(self, path: str) -> list[int]:
        """Nodes whose `path_text` is `path`: one per value type that the key has, ascending."""
        return self._by_path.get(path, [])

    @cached_property
    def _by_path(self) -> dict[str, list[int]]:
        texts: list[str] = []
        found: dict[str, list[int]] = {}
        for node, parent in enumerate(self.parents):
            key = self.keys[node].decode("utf-8", "backslashreplace")
            if parent == ROOT:
                texts.append(key)
            else:
                escaped = key.replace("\\", "\\\\").replace(".", "\\.")
                # Directly below a root there is no dot: "@" + "key", or just "key".
                dot = "" if self.parents[parent] == ROOT else "."
                texts.append(f"{texts[parent]}{dot}{escaped}")
            found.setdefault(texts[node], []).append(node)
        return found

    def path_text(self, node: int) -> str:
        """The path as written in queries: keys joined by dots, after the namespace sign if there is one."""
        nodes = self.path(node)
        keys = [self.keys[n].decode("utf-8", "backslashreplace") for n in nodes]
        head = keys[0]
        rest = ".".join(key.replace("\\", "\\\\").replace(".", "\\.") for key in keys[1:])
        return f"{head}{rest}" if head else rest


def parse_schema_tree(data: bytes, where: Span) -> tuple[SchemaTree, int]:
    """The schema tree from its decompressed section, and the offset behind the last node.

    Raises CLPS-320 (malformed) and CLPS-321 (parent not before child).
    """
    raw, at = read(read_clp_s_schema_tree, data, where, checks.BAD_TREE)
    nodes = raw.nodes
    for index, parent in enumerate(nodes.parent_id):
        if not ROOT <= parent < index:
            start, end = Node.at.parent_id
            raise checks.BAD_PARENT.error(
                f"node {index}",
                span=where.sub(nodes.at[index] + start, nodes.at[index] + end),
                field_path=f"nodes[{index}].parent_id",
                expected=f"-1 to {index - 1}",
                actual=parent,
            )
    keys = [data[start:end] for start, end in zip(nodes.key_start, nodes.key_end, strict=True)]
    tree = SchemaTree(nodes.parent_id, keys, nodes.type)
    if tree.repeated:
        # Ids moved down: parents were checked against file positions, now they must hold for ids too.
        for node, parent in enumerate(tree.parents):
            if parent >= node:
                raise checks.BAD_PARENT.error(f"node {node}", span=where, expected=f"below {node}", actual=parent)
    return tree, at


class Schema(NamedTuple):
    """Entries `[0, num_ordered)` are leaf nodes in column order, the others lay out structured arrays."""

    schema_id: int
    entries: Sequence[int]
    num_ordered: int

    @property
    def ordered(self) -> Sequence[int]:
        """Leaf nodes, in the order of their columns."""
        return self.entries[: self.num_ordered]

    @property
    def unordered(self) -> Sequence[int]:
        """Markers and nodes of the structured arrays."""
        return self.entries[self.num_ordered :]


def marker_parts(entry: int) -> tuple[int, int]:
    """Node type and number of following entries that a marker stands for."""
    return Entry.container_type(entry), Entry.num_beneath(entry)


def pack_marker(node_type: int, length: int) -> int:
    """The marker for a container of that many entries."""
    return node_type << Entry.shift.container_type | length << Entry.shift.num_beneath


def parse_schema_map(data: bytes, where: Span) -> tuple[dict[int, Schema], list[int], int]:
    """Schemas by id in file order, ids that occur twice (the last one counts), and the offset behind the last one.

    Raises CLPS-330.
    """
    raw, at = read(read_clp_s_schema_ids, memoryview(data), where, checks.BAD_SCHEMA_MAP)
    schemas: dict[int, Schema] = {}
    repeated: list[int] = []
    found = raw.schemas
    for index, (schema_id, num_ordered) in enumerate(zip(found.schema_id, found.num_ordered, strict=True)):
        if schema_id in schemas:
            repeated.append(schema_id)
        schemas[schema_id] = Schema(schema_id, tuple(found.entries_value(index).tolist()), num_ordered)
    return schemas, repeated, at


def parse_dictionary(data: Buffer, count: int) -> tuple[list[bytes], int, LayoutError | None]:
    """Entries of a decompressed dictionary up to the first of `count` that does not fit, where they end, and what is
    wrong with that one.

    Whole dictionaries the compiled kernel reads, which keeps them in one piece.
    """
    from exhume_ksy.fast.clp_s_dictionary_entries import scan_entry  # no search needs it

    found = scan_entry(memoryview(data), 0, len(data), count)
    entries = [bytes(data[start:end]) for start, end in zip(found.value_start, found.value_end, strict=True)]
    if found.problem is not None:
        found.problem.within("entries")
    return entries, found.resume_at, found.problem


def measure_dictionary(data: Buffer, count: int) -> tuple[int, int]:
    """How many entries `parse_dictionary` gives and where they end, without a copy of each."""
    from exhume_ksy.fast.clp_s_dictionary_entries import scan_entry  # no search needs it

    found = scan_entry(memoryview(data), 0, len(data), count)
    return len(found.value_start), found.resume_at


class StreamEntry(NamedTuple):
    """A packed stream: `offset` from the start of the tables section, `size` decompressed."""

    offset: int
    size: int


@dataclass(slots=True)  # not frozen: there may be thousands, and each would cost twice as much
class TableEntry:
    """A table: bytes `[start, end)` of decompressed stream `stream_id`, `num_messages` rows of schema `schema_id`.

    `problem` is the error when its place is impossible; the other tables can still be read.
    """

    index: int
    stream_id: int
    start: int
    end: int
    schema_id: int
    num_messages: int
    problem: ExhumeError | None = None


class TableMetadata(NamedTuple):
    """Where the tables are."""

    streams: tuple[StreamEntry, ...]
    tables: tuple[TableEntry, ...]


def parse_table_metadata(data: bytes, where: Span) -> tuple[TableMetadata, int]:
    """The table metadata from its decompressed section, and the offset behind it.

    Raises CLPS-340 (malformed) and CLPS-341; a table with an impossible stream id (CLPS-342) or offset (CLPS-344) has
    that error as `problem`.
    """
    raw, at = read(read_clp_s_table_metadata, data, where, checks.BAD_TABLE_METADATA)
    if raw.num_separate_column_schemas:
        begin = raw.streams.resume_at
        raise checks.SEPARATE_COLUMNS.error(
            span=where.sub(begin, begin + 8), expected=0, actual=raw.num_separate_column_schemas
        )
    streams = tuple(map(StreamEntry, raw.streams.ofs_stream, raw.streams.len_uncompressed))
    found, tables = raw.tables, []
    following: tuple[int, int] | None = None
    rows = list(zip(found.stream_id, found.ofs_table, found.schema_id, found.num_messages, strict=True))
    for index in range(len(rows) - 1, -1, -1):
        stream_id, start, schema_id, num_messages = rows[index]
        problem: ExhumeError | None = None
        end = start
        if stream_id >= len(streams):
            problem = checks.BAD_STREAM_ID.error(
                f"table {index}",
                span=where.sub(found.at[index], found.at[index] + Table.size),
                field_path=f"tables[{index}].stream_id",
                actual=stream_id,
            )
        else:
            end = streams[stream_id].size
            if following is not None and following[0] == stream_id:
                end = min(end, following[1])
            if start > end:
                problem = checks.BAD_TABLE_OFFSET.error(
                    f"table {index}",
                    span=where.sub(found.at[index], found.at[index] + Table.size),
                    field_path=f"tables[{index}].ofs_table",
                    expected=f"at most {end}",
                    actual=start,
                )
        following = (stream_id, start)
        tables.append(TableEntry(index, stream_id, start, max(start, end), schema_id, num_messages, problem))
    return TableMetadata(streams, tuple(reversed(tables))), at
