"""Structure and position of the records of a clp-s archive: schema tree, schemas, streams and tables.

The schema tree has a node for each key, below that of the object around it, and each type of its values.  A schema is
the list of nodes of a record: ordered entries, for values in objects, then unordered ones, which lay out structured
arrays (arrays that are stored as columns) with markers.  A table has the rows of one schema; a packed stream is several
tables that are compressed together.

All are kept as columns (one sequence per field), because there may be hundreds of thousands of each; objects are made
on request.  Upstream is `clp-s`.

Spec: clp_s.txt, Merged parse tree, Schema map and Table metadata.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, overload

from exhume_ksy.facts.clp_s_schema_ids import Entry
from exhume_ksy.facts.clp_s_schema_tree import Node
from exhume_ksy.facts.clp_s_schema_tree import NodeType as NodeType
from exhume_ksy.facts.clp_s_table import ClpSTable
from exhume_ksy.facts.clp_s_table_metadata import Table
from exhume_ksy.fast.clp_s_schema_ids import read_clp_s_schema_ids
from exhume_ksy.fast.clp_s_schema_tree import read_clp_s_schema_tree
from exhume_ksy.fast.clp_s_table_metadata import read_clp_s_table_metadata

from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout_packed import I64_MAX
from exhume.layout.fast import read
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume_ksy.fast.clp_s_schema_ids import SchemaColumns
    from exhume_ksy.fast.clp_s_table_metadata import TableColumns

    from exhume.findings import Rule

ROOT: Final = -1
"""Parent of the roots of the schema tree."""
MAX_NODE_ID: Final = (1 << Entry.shift.container_type) - 1
"""Largest id of a node: the bits of an entry above it are those of markers."""
is_marker: Final[Callable[[int], bool]] = Entry.is_marker
"""Whether an unordered entry opens a container instead of naming a node."""

COLUMN_TYPES: Final = frozenset(map(NodeType, ClpSTable.cases.columns))
"""Node types that store a column; all others store nothing."""

_ROOTS: Final = {NodeType.OBJECT, NodeType.STRUCTURED_ARRAY, NodeType.UNSTRUCTURED_ARRAY, NodeType.METADATA}
"""Node types of roots: records are objects or arrays, and have internal fields."""

MOST_SPECS: Final = 1 << 16
"""Most `ColumnSpec` objects that are kept to be shared by the next schemas."""


def type_name(node_type: int) -> str:
    """`clp_string`, or `type 77` for a number that has no name."""
    try:
        return NodeType(node_type).name.lower()
    except ValueError:
        return f"type {node_type}"


class ColumnSpec(NamedTuple):
    """A column of a schema: its place, node and type, and whether it belongs to a structured array (`unordered`)."""

    place: int
    node: int
    type: int
    unordered: bool


class SchemaTree:
    """The merged parse tree.  Node `i` has `parents[i]`, `keys[i]` (raw UTF-8, unescaped) and `types[i]`.

    Built the way upstream builds it: a repeated (parent, key, type) makes no node of its own (`repeated` lists the
    positions in the file where that happened).
    """

    __slots__ = ("__dict__", "keys", "parents", "repeated", "specs", "types")

    def __init__(self, parents: Sequence[int], keys: Sequence[bytes], types: Sequence[int]) -> None:
        """Take the nodes as three columns in file order.  Repeated nodes are removed, so later nodes move up."""
        self.specs: dict[tuple[int, int, bool], ColumnSpec] = {}
        """Columns of the schemas by place, node and whether they belong to a structured array; see `MOST_SPECS`."""
        self.repeated: list[int] = []
        # Hashes take less memory than the nodes; only if two are equal, the nodes themselves are compared.
        if len(set(map(hash, zip(parents, keys, types, strict=True)))) < len(keys):
            seen: set[tuple[int, bytes, int]] = set()
            for position, triple in enumerate(zip(parents, keys, types, strict=True)):
                if triple in seen:
                    self.repeated.append(position)
                seen.add(triple)
            left = sorted(set(range(len(keys))).difference(self.repeated))
            parents, keys = [parents[one] for one in left], [keys[one] for one in left]
            types = [types[one] for one in left]
        self.parents: Sequence[int] = parents if isinstance(parents, array) else array("i", parents)
        self.keys: Sequence[bytes] = keys
        self.types: Sequence[int] = bytes(types)

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def has_column(self) -> bytes:
        """Return for each node whether it stores a column, as 1 or 0."""
        return bytes(self.types).translate(bytes(kind in COLUMN_TYPES for kind in range(256)))

    @cached_property
    def misplaced(self) -> set[int]:
        """Nodes with a place in a record only by a run, or with none: those that are not in objects alone."""
        kinds, roots = self.types, self.children[ROOT]
        found = {node for node in roots if kinds[node] not in _ROOTS}
        holders = {*self.parents} - {ROOT, *(node for node in roots if kinds[node] == NodeType.METADATA)}
        others = {node for node in holders if kinds[node] != NodeType.OBJECT}
        for node, parent in enumerate(self.parents if found or others else ()):
            if parent in found or parent in others:
                found.add(node)
        return found

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
        """The root of the JSON records, the only subtree that upstream prints; None if there is none."""
        return self.roots.get((b"", NodeType.OBJECT))

    @cached_property
    def log_event_idx(self) -> int | None:
        """The node that numbers the records; None if log order was not recorded."""
        root = self.roots.get((b"", NodeType.METADATA))
        if root is None:
            return None
        for node in self.children[root]:
            if self.keys[node] == b"log_event_idx" and self.types[node] in (NodeType.INTEGER, NodeType.DELTA_INTEGER):
                return node
        return None

    def path(self, node: int) -> list[int]:
        """The nodes from the root down to `node`, both included."""
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
        """Node numbers by path text, with dots in keys escaped.  A path has one node for each type of its values."""
        texts: list[str] = []
        found: dict[str, list[int]] = {}
        for node, parent in enumerate(self.parents):
            if parent == ROOT:
                texts.append(self.keys[node].decode("utf-8", "backslashreplace"))
            else:
                # Directly below a root there is no dot: "@" + "key", or just "key".
                before = self._before(node) if self.parents[parent] == ROOT else "."
                texts.append(f"{texts[parent]}{before}{_escaped(self.keys[node])}")
            found.setdefault(texts[node], []).append(node)
        return found

    def path_text(self, node: int) -> str:
        """The path as written in queries: keys joined by dots, after the namespace sign if there is one.

        Different keys have different paths: bytes that are not UTF-8 are `\\xNN`, and where there are auto-generated
        keys, whose sign is `@`, an `@` that begins the path of another key has a backslash.
        """
        keys, parents = self.keys, self.parents
        found: list[str] = []
        while (parent := parents[node]) != ROOT:
            key = _escaped(keys[node])
            found.append(self._before(node) + key if parents[parent] == ROOT else key)
            node = parent
        head = keys[node].decode("utf-8", "backslashreplace")  # of the root: "", or the sign of a namespace
        return f"{head}{'.'.join(reversed(found))}"

    def _before(self, node: int) -> str:
        """What precedes the path of a key directly below a root: a backslash if it could be taken for an auto-generated
        one, else nothing.
        """
        is_alike = self.keys[node].startswith(b"@") and not self.keys[self.parents[node]]
        return "\\" if is_alike and self._has_auto else ""

    @cached_property
    def _has_auto(self) -> bool:
        """Whether there are auto-generated keys: those below a root with the key `@`."""
        return any(
            parent != ROOT and self.parents[parent] == ROOT and self.keys[parent] == b"@" for parent in self.parents
        )


def _escaped(key: bytes) -> str:
    """A key as a part of a path, different for different keys."""
    if b"\\" in key or b"." in key:
        key = key.replace(b"\\", b"\\\\").replace(b".", b"\\.")
    return key.decode("utf-8", "backslashreplace")


def parse_schema_tree(data: bytes, where: Span) -> tuple[SchemaTree, int]:
    """Return `(schema tree, offset after the last node)` from its decompressed section, whose span is `where`.

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
    parents, types = nodes.parent_id, nodes.type
    del nodes, raw  # free their memory before the tree takes more
    tree = SchemaTree(parents, keys, types)
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
    """Return `(node type of the container, number of following entries in it)` of a marker."""
    return Entry.container_type(entry), Entry.num_beneath(entry)


def pack_marker(node_type: int, length: int) -> int:
    """The marker for a container of that many entries."""
    return node_type << Entry.shift.container_type | length << Entry.shift.num_beneath


class Schemas(Mapping[int, Schema]):
    """The schemas by their ids, in stored order, each made on request."""

    def __init__(self, columns: SchemaColumns) -> None:
        """Index the schemas by id: in an array if ids are small and unique (`_dense`), else in a dict (`_places`)."""
        self.columns = columns
        """The stored schemas, as one sequence per field."""
        ids = columns.schema_id
        count = len(ids)
        self.repeated: list[int] = []
        """Ids that are stored again; the last schema counts."""
        self._places: Mapping[int, int] | None = None  # position by id; None if `_dense` is used
        self._dense = array("i")  # position by id, -1: no such schema
        if count and min(ids) >= 0 and max(ids) < 2 * count + 64:  # an array by id is not much larger than needed
            dense = array("i", [-1]) * (max(ids) + 1)
            for place, schema_id in enumerate(ids):
                dense[schema_id] = place
            if dense.count(-1) == len(dense) - count:  # no id twice
                self._dense = dense
                return
        places: dict[int, int] = {}
        for place, schema_id in enumerate(ids):
            if schema_id in places:
                self.repeated.append(schema_id)
            places[schema_id] = place
        self._places = places

    def place(self, schema_id: int) -> int:
        """The position of a schema among those that are stored; -1 where there is none of that id."""
        if self._places is not None:
            return self._places.get(schema_id, -1)
        return self._dense[schema_id] if 0 <= schema_id < len(self._dense) else -1

    def __getitem__(self, schema_id: int) -> Schema:
        place = self.place(schema_id)
        if place < 0:
            raise KeyError(schema_id)
        entries = tuple(self.columns.entries_value(place).tolist())
        return Schema(schema_id, entries, self.columns.num_ordered[place])

    def __contains__(self, schema_id: object) -> bool:
        return isinstance(schema_id, int) and self.place(schema_id) >= 0

    def __iter__(self) -> Iterator[int]:
        return iter(self.columns.schema_id if self._places is None else self._places)

    def __len__(self) -> int:
        return len(self.columns) if self._places is None else len(self._places)


def parse_schema_map(data: bytes, where: Span) -> tuple[Schemas, list[int], int]:
    """Return `(schemas by id, ids that occur twice, offset after the last schema)`; of two, the last one counts.

    Raises CLPS-330.
    """
    raw, at = read(read_clp_s_schema_ids, memoryview(data), where, checks.BAD_SCHEMA_MAP)
    schemas = Schemas(raw.schemas)
    return schemas, schemas.repeated, at


class StreamEntry(NamedTuple):
    """A packed stream: `offset` from the start of the tables section, `size` decompressed."""

    offset: int
    size: int


class TableEntry(NamedTuple):
    """A table: bytes `[start, end)` of decompressed stream `stream_id`, `num_messages` rows of schema `schema_id`.

    `number` is its place among all tables.  `problem` is the error when its place in the stream is impossible; the
    other tables can still be read.
    """

    number: int
    stream_id: int
    start: int
    end: int
    schema_id: int
    num_messages: int
    problem: ExhumeError | None = None


class TableEntries(Sequence[TableEntry]):
    """The tables in stored order, each made on request.  The attributes are its fields, with one item per table."""

    def __init__(self, stored: TableColumns, ends: Sequence[int], problems: Mapping[int, ExhumeError]) -> None:
        """Take the tables as they are stored, where each of them ends, and the errors of those that have one."""
        self.stream_ids: Sequence[int] = stored.stream_id
        self.starts: Sequence[int] = stored.ofs_table
        self.ends = ends
        self.schema_ids: Sequence[int] = stored.schema_id
        self.num_messages: Sequence[int] = stored.num_messages
        self.problems = problems

    def __len__(self) -> int:
        return len(self.stream_ids)

    @overload
    def __getitem__(self, index: int) -> TableEntry: ...
    @overload
    def __getitem__(self, index: slice) -> list[TableEntry]: ...
    def __getitem__(self, index: int | slice) -> TableEntry | list[TableEntry]:
        """Return one table, or a list of them for a slice.  Raises `IndexError` outside of the list."""
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return TableEntry(
            index,
            self.stream_ids[index],
            self.starts[index],
            self.ends[index],
            self.schema_ids[index],
            self.num_messages[index],
            self.problems.get(index),
        )

    def __iter__(self) -> Iterator[TableEntry]:
        get = self.problems.get
        columns = (self.stream_ids, self.starts, self.ends, self.schema_ids, self.num_messages)
        for index, row in enumerate(zip(*columns, strict=True)):
            yield TableEntry(index, *row, get(index))


class TableMetadata(NamedTuple):
    """The table metadata: which streams there are, and where in them the tables are."""

    streams: tuple[StreamEntry, ...]
    tables: TableEntries


def parse_table_metadata(data: bytes, where: Span) -> tuple[TableMetadata, int]:
    """Return `(table metadata, offset after it)` from its decompressed section, whose span is `where`.

    Raises CLPS-340 (malformed) and CLPS-341.  A table with an impossible stream id (CLPS-342), offset (CLPS-344) or
    number of rows (CLPS-340) has that error as `problem`.
    """
    raw, at = read(read_clp_s_table_metadata, data, where, checks.BAD_TABLE_METADATA)
    if raw.num_separate_column_schemas:
        begin = raw.streams.resume_at  # the number of these schemas follows the streams, in eight bytes
        raise checks.SEPARATE_COLUMNS.error(
            span=where.sub(begin, begin + 8), expected=0, actual=raw.num_separate_column_schemas
        )
    streams = tuple(map(StreamEntry, raw.streams.ofs_stream, raw.streams.len_uncompressed))
    found = raw.tables
    count = len(found)
    stream_ids, starts = found.stream_id, found.ofs_table
    sizes = [stream.size for stream in streams]
    problems: dict[int, ExhumeError] = {}

    def problem(index: int, rule: Rule, field: str, expected: str, actual: int) -> ExhumeError:
        """The error about the value of a field of a table."""
        span = where.sub(found.at[index], found.at[index] + Table.size)
        path = f"tables[{index}].{field}"
        return rule.error(f"table {index}", span=span, field_path=path, expected=expected, actual=actual)

    ends = array("Q", starts)
    # From the last table to the first: a table ends where the next one of its stream starts.
    following, next_start = -1, 0
    for index in range(count - 1, -1, -1):
        stream_id, start = stream_ids[index], starts[index]
        end = sizes[stream_id] if stream_id < len(sizes) else start  # the last table of a stream ends with it
        if following == stream_id and next_start < end:
            end = next_start
        if stream_id >= len(sizes):
            problems[index] = problem(index, checks.BAD_STREAM_ID, "stream_id", f"below {len(sizes)}", stream_id)
        elif start > end:
            problems[index] = problem(index, checks.BAD_TABLE_OFFSET, "ofs_table", f"at most {end}", start)
        elif found.num_messages[index] > I64_MAX:  # more than can be counted, whatever the columns are
            rule, expected = checks.BAD_TABLE_METADATA, f"at most {I64_MAX}"
            problems[index] = problem(index, rule, "num_messages", expected, found.num_messages[index])
        else:
            ends[index] = end
        following, next_start = stream_id, start
    return TableMetadata(streams, TableEntries(found, ends, problems)), at
