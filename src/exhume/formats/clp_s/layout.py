"""Bytes <-> values of a clp-s archive: header, metadata packets, schema tree, schema map, table metadata.

Header, packets, timestamp dictionary, schema tree, schema map and table metadata have fast twins here, and a test holds
them to the generated classes on arbitrary input.  The latter three because an archive may hold 10^5 nodes and schemas
(the generated classes take 4-7 us for each); the former three because every command reads them, and importing the
runtime and the generated modules takes 5 ms where the whole of a small search takes 40.  These three leave what does
not fit to the generated class, which says what is wrong with it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cached_property

from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s import checks
from exhume.lightclass import dataclass, field
from exhume.lighttyping import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from exhume.formats.clp_s.template import ColumnSpec

MAGIC: Final = b"\xfd\x2f\xc5\x30"
HEADER_SIZE: Final = 64
ROOT: Final = -1
MAX_NODE_ID: Final = (1 << 24) - 1

SECTION_NAMES: Final = (
    "/schema_tree",
    "/schema_ids",
    "/table_metadata",
    "/var.dict",
    "/log.dict",
    "/array.dict",
    "/0",
)
KNOWN_VERSIONS: Final = ((0, 2, 0), (0, 3, 0), (0, 3, 1), (0, 3, 2), (0, 4, 0), (0, 4, 1), (0, 5, 0), (0, 5, 1))

Version = tuple[int, int, int]


class NodeType(IntEnum):
    """Types of schema tree nodes; the numbers are what the archive stores."""

    INTEGER = 0
    FLOAT = 1
    CLP_STRING = 2
    VAR_STRING = 3
    BOOLEAN = 4
    OBJECT = 5
    UNSTRUCTURED_ARRAY = 6
    NULL_VALUE = 7
    DATE_STRING = 8
    STRUCTURED_ARRAY = 9
    METADATA = 10
    DELTA_INTEGER = 11
    FORMATTED_FLOAT = 12
    DICTIONARY_FLOAT = 13
    TIMESTAMP = 14
    UNKNOWN = 255


def type_name(node_type: int) -> str:
    """`clp_string`, or `type 77` for a number that has no name."""
    try:
        return NodeType(node_type).name.lower()
    except ValueError:
        return f"type {node_type}"


COLUMN_WIDTHS: Final[Mapping[int, int]] = {
    NodeType.INTEGER: 8,
    NodeType.FLOAT: 8,
    NodeType.CLP_STRING: 0,
    NodeType.VAR_STRING: 8,
    NodeType.BOOLEAN: 1,
    NodeType.UNSTRUCTURED_ARRAY: 0,
    NodeType.DATE_STRING: 16,
    NodeType.DELTA_INTEGER: 8,
    NodeType.FORMATTED_FLOAT: 10,
    NodeType.DICTIONARY_FLOAT: 8,
    NodeType.TIMESTAMP: 16,
}
"""Bytes per row of the columns of each node type; 0 for text, whose length is stored.  Other types store nothing."""

COLUMN_TYPES: Final = frozenset(COLUMN_WIDTHS)
"""Node types that store a column; all others store nothing."""


class PacketType(IntEnum):
    """Kinds of metadata packets."""

    ARCHIVE_INFO = 0
    ARCHIVE_FILE_INFO = 1
    TIMESTAMP_DICTIONARY = 2
    RANGE_INDEX = 3


@dataclass(frozen=True, slots=True)
class Header:
    """The 64 bytes at the start.  `archive_size` is the whole file, `metadata_size` the compressed metadata section."""

    version: Version
    original_size: int
    archive_size: int
    metadata_size: int
    compression_type: int
    reserved: bytes = bytes(34)

    @property
    def files_base(self) -> int:
        """Offset of the files section from the start of the archive."""
        return HEADER_SIZE + self.metadata_size

    @property
    def version_text(self) -> str:
        """As in `0.5.1`."""
        return ".".join(map(str, self.version))

    @property
    def has_core_text(self) -> bool:
        """Whether text is encoded as from 0.4.0 on (three placeholder bytes, plain dictionary ids)."""
        return self.version >= (0, 4, 0)

    @property
    def has_nanosecond_timestamps(self) -> bool:
        """Whether timestamps and their patterns are those of 0.5.0 on."""
        return self.version >= (0, 5, 0)


_HEADER = struct.Struct("<4xHBBQQ32sIH2s")


def parse_header(data: bytes, where: Span) -> Header:
    """The header from the first 64 bytes at `where`.

    Raises CLPS-301 (short), CLPS-101 (magic); other fields are for the reader to judge.  Fast twin of `clp_s`.
    Spec: Header section.
    """
    if data[:4] != MAGIC[: len(data)] or not data:
        raise checks.BAD_MAGIC.error(span=where.sub(0, min(4, len(data))), expected=MAGIC, actual=data[:4])
    if len(data) < HEADER_SIZE:
        raise checks.SHORT_HEADER.error(span=where, expected=f"{HEADER_SIZE} bytes", actual=f"{len(data)} bytes")
    patch, minor, major, original, size, reserved1, metadata, compression, reserved2 = _HEADER.unpack_from(data)
    return Header((major, minor, patch), original, size, metadata, compression, reserved1 + reserved2)


@dataclass(frozen=True, slots=True)
class Packet:
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

    Raises CLPS-305.  Fast twin of `clp_s_metadata`.  Spec: Metadata section.
    """
    packets: list[Packet] = []
    at, end = 1, len(data)
    for _ in range(data[0] if data else 0):
        if end - at < 5:
            break
        kind, size = _PACKET.unpack_from(data, at)
        at += 5
        if size > end - at:
            break
        packets.append(Packet(kind, data[at : at + size], where.sub(at, at + size)))
        at += size
    else:
        if data:
            return packets, at
    return _generated_packets(data, where)


_PACKET = struct.Struct("<BI")


def _generated_packets(data: bytes, where: Span) -> tuple[list[Packet], int]:
    """The same by the generated class, for what the twin does not take."""
    from exhume_ksy.clp_s_metadata import ClpSMetadata

    from exhume import kaitai

    try:
        raw = kaitai.parse(ClpSMetadata, data, where)
    except ExhumeError as error:
        raise checks.BAD_METADATA.error(error.message, span=error.span, field_path=error.field_path) from error
    packets: list[Packet] = []
    at = 1
    for packet in raw.packets:
        at += 5
        body = packet._raw_body  # noqa: SLF001 - the generated name for the undecoded bytes of a substream
        packets.append(Packet(int(_plain(packet.type)), body, where.sub(at, at + len(body))))
        at += len(body)
    return packets, at


def _plain(value: Any) -> int:
    return int(getattr(value, "value", value))


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A section of the files part: `[start, end)` counted from the start of the archive."""

    name: str
    start: int
    end: int

    @property
    def size(self) -> int:
        """Stored bytes."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class TimestampRange:
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

    Raises CLPS-408.  Fast twin of `clp_s_metadata::timestamp_dictionary`.  Spec: TimestampDictionary packet.
    """
    at, end = 0, len(data)
    ranges: list[TimestampRange] = []
    patterns: dict[int, bytes] = {}

    def word() -> int:
        """The u64 at hand; raises `EOFError`."""
        nonlocal at
        if end - at < 8:
            raise EOFError
        at += 8
        return int.from_bytes(data[at - 8 : at], "little")

    def take(size: int) -> bytes:
        nonlocal at
        if size > end - at:
            raise EOFError
        at += size
        return data[at - size : at]

    try:
        for _ in range(_at_most(word(), end - at)):
            key = take(word())
            num_ids = word()
            ids = struct.unpack(f"<{_at_most(num_ids, (end - at) // 4)}i", take(4 * num_ids))
            encoding = word()
            begin: int | float | None = None
            stop: int | float | None = None
            if encoding in (1, 2):
                begin, stop = struct.unpack("<qq" if encoding == 1 else "<dd", take(16))
            ranges.append(TimestampRange(key, ids, encoding, begin, stop))
        for _ in range(_at_most(word(), end - at)):
            ident = word()
            patterns[ident] = take(word())
    except EOFError:
        return _generated_timestamp_dictionary(data, where)
    return TimestampDictionary(tuple(ranges), patterns, where)


def _at_most(value: int, room: int) -> int:
    if value > room:
        raise EOFError
    return value


def _generated_timestamp_dictionary(data: bytes, where: Span) -> TimestampDictionary:
    """The same by the generated class, for what the twin does not take."""
    from exhume_ksy.clp_s_metadata import ClpSMetadata

    from exhume import kaitai

    try:
        raw = kaitai.parse(ClpSMetadata.TimestampDictionary, data, where)
    except ExhumeError as error:
        raise checks.BAD_TIMESTAMP_DICTIONARY.error(
            error.message, span=error.span, field_path=error.field_path
        ) from error
    ranges = []
    for item in raw.ranges:
        encoding = _plain(item.encoding)
        begin = item.begin_epoch if encoding == 1 else item.begin_double if encoding == 2 else None
        end = item.end_epoch if encoding == 1 else item.end_double if encoding == 2 else None
        ranges.append(TimestampRange(item.key.bytes, tuple(item.column_ids), encoding, begin, end))
    patterns = {item.pattern_id: item.pattern.bytes for item in raw.patterns}
    return TimestampDictionary(tuple(ranges), patterns, where)


@dataclass(frozen=True, slots=True)
class RangeEntry:
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
    def widths(self) -> list[int | None]:
        """`COLUMN_WIDTHS` of each node, None where it stores no column."""
        return [COLUMN_WIDTHS.get(node_type) for node_type in self.types]

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

    @property
    def auto_root(self) -> int | None:
        """The root of the auto-generated keys of KV-IR streams."""
        return self.roots.get((b"@", NodeType.OBJECT))

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
        """The path as people write it: keys joined by dots, below the namespace sign if there is one."""
        nodes = self.path(node)
        keys = [self.keys[n].decode("utf-8", "backslashreplace") for n in nodes]
        head = keys[0]
        rest = ".".join(key.replace("\\", "\\\\").replace(".", "\\.") for key in keys[1:])
        return f"{head}{rest}" if head else rest


_NODE = struct.Struct("<iQ")


def parse_schema_tree(data: bytes, where: Span) -> tuple[SchemaTree, int]:
    """The schema tree from its decompressed section, and the offset behind the last node.

    Raises CLPS-320 (malformed) and CLPS-321 (parent not before child).  Fast twin of `clp_s_schema_tree`.
    """
    count, at = _count(data, 0, 13, "num_nodes", where, checks.BAD_TREE)
    parents: list[int] = []
    keys: list[bytes] = []
    types: list[int] = []
    end = len(data)
    unpack = _NODE.unpack_from
    for index in range(count):
        if end - at < 13:
            raise checks.BAD_TREE.error(
                f"ends inside node {index}", span=where.sub(at, end), field_path=f"nodes[{index}]", expected="13 bytes"
            )
        parent, length = unpack(data, at)
        at += 12
        if length >= end - at:
            raise checks.BAD_TREE.error(
                f"key of node {index} is too long",
                span=where.sub(at - 8, at),
                field_path=f"nodes[{index}].len_key",
                expected=f"at most {end - at - 1}",
                actual=length,
            )
        if not ROOT <= parent < index:
            raise checks.BAD_PARENT.error(
                f"node {index}",
                span=where.sub(at - 12, at - 8),
                field_path=f"nodes[{index}].parent_id",
                expected=f"-1 to {index - 1}",
                actual=parent,
            )
        parents.append(parent)
        keys.append(data[at : at + length])
        at += length
        types.append(data[at])
        at += 1
    tree = SchemaTree(parents, keys, types)
    if tree.repeated:
        # Ids moved down: parents were checked against file positions, now they must hold for ids too.
        for node, parent in enumerate(tree.parents):
            if parent >= node:
                raise checks.BAD_PARENT.error(f"node {node}", span=where, expected=f"below {node}", actual=parent)
    return tree, at


def _count(data: bytes, at: int, unit: int, name: str, where: Span, rule: Any) -> tuple[int, int]:
    """A u64 count of things of at least `unit` bytes each."""
    if len(data) - at < 8:
        raise rule.error("ends early", span=where.sub(at, len(data)), field_path=name, expected="8 bytes")
    count = int.from_bytes(data[at : at + 8], "little")
    room = (len(data) - at - 8) // unit
    if count > room:
        raise rule.error(
            "a count passes the end of the section",
            span=where.sub(at, at + 8),
            field_path=name,
            expected=f"at most {room}",
            actual=count,
        )
    return count, at + 8


@dataclass(frozen=True, slots=True)
class Schema:
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


def is_marker(entry: int) -> bool:
    """Whether an unordered entry opens a container (upper byte set) instead of naming a node."""
    return entry & 0xFF000000 != 0


def marker_parts(entry: int) -> tuple[int, int]:
    """Node type and number of following entries that a marker stands for."""
    return entry >> 24 & 0xFF, entry & 0xFFFFFF


_SCHEMA = struct.Struct("<iII")


def parse_schema_map(data: bytes, where: Span) -> tuple[dict[int, Schema], list[int], int]:
    """Schemas by id in file order, ids that occur twice (the last one counts), and the offset behind the last one.

    Raises CLPS-330.  Fast twin of `clp_s_schema_ids`.
    """
    count, at = _count(data, 0, 12, "num_schemas", where, checks.BAD_SCHEMA_MAP)
    schemas: dict[int, Schema] = {}
    repeated: list[int] = []
    end = len(data)
    for index in range(count):
        if end - at < 12:
            raise checks.BAD_SCHEMA_MAP.error(
                f"ends inside schema {index}", span=where.sub(at, end), field_path=f"schemas[{index}]"
            )
        schema_id, num_entries, num_ordered = _SCHEMA.unpack_from(data, at)
        if num_entries > (end - at - 12) // 4:
            raise checks.BAD_SCHEMA_MAP.error(
                f"schema {schema_id} passes the end of the section",
                span=where.sub(at + 4, at + 8),
                field_path=f"schemas[{index}].num_entries",
                expected=f"at most {(end - at - 12) // 4}",
                actual=num_entries,
            )
        if num_ordered > num_entries:
            raise checks.BAD_SCHEMA_MAP.error(
                f"schema {schema_id} has more ordered entries than entries",
                span=where.sub(at + 8, at + 12),
                field_path=f"schemas[{index}].num_ordered",
                expected=f"at most {num_entries}",
                actual=num_ordered,
            )
        at += 12
        entries = struct.unpack_from(f"<{num_entries}i", data, at)
        at += 4 * num_entries
        if schema_id in schemas:
            repeated.append(schema_id)
        schemas[schema_id] = Schema(schema_id, entries, num_ordered)
    return schemas, repeated, at


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """A packed stream: `offset` from the start of the tables section, `size` decompressed."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table: bytes `[start, end)` of decompressed stream `stream_id`, `num_messages` rows of schema `schema_id`.

    `problem` is why it cannot be read, when its place makes no sense; the other tables can.
    """

    index: int
    stream_id: int
    start: int
    end: int
    schema_id: int
    num_messages: int
    problem: ExhumeError | None = None


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """Where the tables are."""

    streams: tuple[StreamEntry, ...]
    tables: tuple[TableEntry, ...]


def parse_table_metadata(data: bytes, where: Span) -> tuple[TableMetadata, int]:
    """The table metadata from its decompressed section, and the offset behind it.

    Raises CLPS-340 (malformed) and CLPS-341; a table whose stream id (CLPS-342) or offset (CLPS-344) makes no sense
    says so in its `problem`.  Fast twin of `clp_s_table_metadata`.
    """
    count, at = _count(data, 0, 16, "num_streams", where, checks.BAD_TABLE_METADATA)
    streams = tuple(StreamEntry(*pair) for pair in struct.iter_unpack("<QQ", data[at : at + 16 * count]))
    at += 16 * count
    if len(data) - at < 8:
        raise checks.BAD_TABLE_METADATA.error("ends early", span=where.sub(at, len(data)), expected="8 bytes")
    separate = int.from_bytes(data[at : at + 8], "little")
    if separate:
        raise checks.SEPARATE_COLUMNS.error(span=where.sub(at, at + 8), expected=0, actual=separate)
    count, at = _count(data, at + 8, 28, "num_tables", where, checks.BAD_TABLE_METADATA)
    tables: list[TableEntry] = []
    following: tuple[int, int] | None = None
    rows = list(struct.iter_unpack("<QQiQ", data[at : at + 28 * count]))
    for index in range(count - 1, -1, -1):
        stream_id, start, schema_id, num_messages = rows[index]
        problem: ExhumeError | None = None
        end = start
        if stream_id >= len(streams):
            problem = checks.BAD_STREAM_ID.error(
                f"table {index}",
                span=where.sub(at + 28 * index, at + 28 * index + 28),
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
                    span=where.sub(at + 28 * index, at + 28 * index + 28),
                    field_path=f"tables[{index}].ofs_table",
                    expected=f"at most {end}",
                    actual=start,
                )
        following = (stream_id, start)
        tables.append(TableEntry(index, stream_id, start, max(start, end), schema_id, num_messages, problem))
    return TableMetadata(streams, tuple(reversed(tables))), at + 28 * count
