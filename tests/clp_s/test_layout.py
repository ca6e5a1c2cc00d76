"""The fast readers agree with the generated classes on any input, errors included."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest
from exhume_ksy.clp_s import ClpS
from exhume_ksy.clp_s_metadata import ClpSMetadata
from exhume_ksy.clp_s_schema_ids import ClpSSchemaIds
from exhume_ksy.clp_s_schema_tree import ClpSSchemaTree
from exhume_ksy.clp_s_table import ClpSTable
from exhume_ksy.clp_s_table_metadata import ClpSTableMetadata
from hypothesis import example, given
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s import checks, layout, layout_packed, layout_schemas
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.layout_table import needed_columns
from exhume.formats.clp_s.probe import probe
from exhume.formats.clp_s.read import places
from exhume.formats.clp_s.read.places import StoredRange
from exhume.formats.clp_s.reader import open_archive
from exhume.formats.clp_s.write.build import build_schema_ids
from exhume.io.source import BytesSource
from exhume.layout import kaitai
from tests.clp_s import build
from tests.sizes import some

WHERE = Span("test", 0, 10).in_payload(0, 1 << 20)


def outcome(function: Callable[[], Any]) -> Any:
    """The value, or that it failed."""
    try:
        return function()
    except ExhumeError:
        return "refused"


def tree_of_pure(data: bytes) -> Any:
    parsed, end = layout.parse_schema_tree(data, WHERE)
    return list(zip(parsed.parents, parsed.keys, parsed.types, strict=True)), len(parsed.repeated), end


def tree_of_generated(data: bytes) -> Any:
    """The generated tree, held to the two rules that the schema leaves to code: parents first, triples once."""
    raw = kaitai.parse(ClpSSchemaTree, data, WHERE)
    nodes: dict[tuple[int, bytes, int], None] = {}
    for index, node in enumerate(raw.nodes):
        if not -1 <= node.parent_id < index:
            return "refused"
        triple = (node.parent_id, node.key, int(getattr(node.type, "value", node.type)))
        if triple not in nodes:
            if node.parent_id >= len(nodes):
                return "refused"
            nodes[triple] = None
    return list(nodes), len(raw.nodes) - len(nodes), raw._io.pos()


def schemas_of_pure(data: bytes) -> Any:
    schemas, repeated, end = layout.parse_schema_map(data, WHERE)
    return {s.schema_id: (list(s.entries), s.num_ordered) for s in schemas.values()}, len(repeated), end


def schemas_of_generated(data: bytes) -> Any:
    raw = kaitai.parse(ClpSSchemaIds, data, WHERE)
    found = {s.schema_id: ([e.value for e in s.entries], s.num_ordered) for s in raw.schemas}
    return found, len(raw.schemas) - len(found), raw._io.pos()


def tables_of_pure(data: bytes) -> Any:
    found, end = layout.parse_table_metadata(data, WHERE)
    streams = [(s.offset, s.size) for s in found.streams]
    return streams, [(t.stream_id, t.start, t.schema_id, t.num_messages) for t in found.tables], end


def tables_of_generated(data: bytes) -> Any:
    raw = kaitai.parse(ClpSTableMetadata, data, WHERE)
    if raw.num_separate_column_schemas:
        return "refused"
    streams = [(s.ofs_stream, s.len_uncompressed) for s in raw.streams]
    return streams, [(t.stream_id, t.ofs_table, t.schema_id, t.num_messages) for t in raw.tables], raw._io.pos()


def header_of_pure(data: bytes) -> Any:
    found = layout.parse_header(data, WHERE)
    version = found.version
    sizes = (found.original_size, found.archive_size, found.metadata_size)
    return version, sizes, found.compression_type, found.reserved


def header_of_generated(data: bytes) -> Any:
    raw = kaitai.parse(ClpS, data[:64], WHERE).header
    version = (raw.version.major, raw.version.minor, raw.version.patch)
    sizes = (raw.len_original, raw.len_archive, raw.len_metadata)
    reserved = (raw.reserved1, raw.reserved2.to_bytes(2, "little"))
    return version, sizes, int(getattr(raw.compression_type, "value", raw.compression_type)), reserved


def packets_of_pure(data: bytes) -> Any:
    packets, end = layout.parse_packets(data, WHERE)
    return [(packet.type, packet.body, packet.span) for packet in packets], end


def packets_of_generated(data: bytes) -> Any:
    raw: Any = kaitai.parse(ClpSMetadata, data, WHERE)
    found, at = [], 1
    for packet in raw.packets:
        start, at = at + 5, at + 5 + len(packet._raw_body)
        found.append((int(getattr(packet.type, "value", packet.type)), packet._raw_body, WHERE.sub(start, at)))
    return found, raw._io.pos()


def times_of_pure(data: bytes) -> Any:
    found = layout.parse_timestamp_dictionary(data, WHERE)
    ranges = [(r.key, r.column_ids, r.encoding, repr(r.begin), repr(r.end)) for r in found.ranges]
    return ranges, found.patterns


def times_of_generated(data: bytes) -> Any:
    raw = kaitai.parse(ClpSMetadata.TimestampDictionary, data, WHERE)
    ranges = []
    for item in raw.ranges:
        encoding = int(getattr(item.encoding, "value", item.encoding))
        kind = {1: "epoch", 2: "double"}.get(encoding, "")
        bounds = [repr(getattr(item, f"{end}_{kind}", None)) for end in ("begin", "end")]
        ranges.append((item.key.bytes, tuple(item.column_ids), encoding, *bounds))
    return ranges, {item.pattern_id: item.pattern.bytes for item in raw.patterns}


PAIRS = {
    "header": (header_of_pure, header_of_generated),
    "packets": (packets_of_pure, packets_of_generated),
    "timestamps": (times_of_pure, times_of_generated),
    "/schema_tree": (tree_of_pure, tree_of_generated),
    "/schema_ids": (schemas_of_pure, schemas_of_generated),
    "/table_metadata": (tables_of_pure, tables_of_generated),
}
DEMO = open_archive(BytesSource(build.demo().build()))
GOOD = build.demo().payloads() | {
    "header": DEMO.head.read_at(0, 64),
    "packets": DEMO.metadata_payload,
    "timestamps": DEMO.packets_of(layout.PacketType.TIMESTAMP_DICTIONARY)[0].body,
}


@pytest.mark.parametrize("name", PAIRS)
def test_implementations_agree_on_a_good_section(name: str) -> None:
    pure, generated = PAIRS[name]
    assert pure(GOOD[name]) == generated(GOOD[name])


@pytest.mark.parametrize("name", PAIRS)
@given(st.data())
def test_implementations_agree_on_damage(name: str, data: st.DataObject) -> None:
    pure, generated = PAIRS[name]
    raw = bytearray(GOOD[name])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF, raw[at] ^ 1]))
    damaged = bytes(raw[: data.draw(st.integers(0, len(raw)))]) if data.draw(st.booleans()) else bytes(raw)
    assert outcome(lambda: pure(damaged)) == outcome(lambda: generated(damaged))


@pytest.mark.parametrize("name", PAIRS)
@given(raw=st.binary(max_size=120))
@example(raw=b"")
def test_implementations_agree_on_anything(name: str, raw: bytes) -> None:
    pure, generated = PAIRS[name]
    assert outcome(lambda: pure(raw)) == outcome(lambda: generated(raw))


def test_repeated_nodes_move_ids_down() -> None:
    nodes = [*build.DEMO_NODES[:4], build.DEMO_NODES[3], (2, b"after", 0)]
    tree, _ = layout.parse_schema_tree(build.demo(nodes=nodes).payloads()["/schema_tree"], WHERE)
    assert tree.repeated == [4]
    assert tree.keys[4] == b"after"


def test_columns_agree_with_the_generated_class() -> None:
    archive = open_archive(BytesSource(build.demo().build()))
    for table in some(archive.tables):
        data = table.load()
        types = [column.type for column in data.columns]
        raw: Any = kaitai.parse(ClpSTable, bytes(data.data), table.span, table.num_messages, types)
        for column, parsed in some(zip(data.columns, raw.columns, strict=True)):
            stored: Any = column.stored
            match column.type:
                case NodeType.INTEGER | NodeType.DELTA_INTEGER:
                    assert list(stored.values) == parsed.values
                case NodeType.FLOAT | NodeType.VAR_STRING | NodeType.DICTIONARY_FLOAT:
                    assert list(column.values) == parsed.values
                case NodeType.BOOLEAN:
                    assert bytes(column.values) == parsed.values
                case NodeType.FORMATTED_FLOAT:
                    assert list(column.values) == parsed.values
                    assert list(column.formats) == [f.word for f in parsed.formats]
                case NodeType.TIMESTAMP:
                    assert list(stored.deltas) == parsed.deltas
                    assert list(column.pattern_ids) == parsed.pattern_ids
                case _:
                    assert list(column.values) == [row.word for row in parsed.rows]
                    assert list(column.variables) == parsed.variables


def test_header_fields() -> None:
    data = build.demo(original_size=99).build()
    header = layout.parse_header(data[:64], Span("x", 0, 64))
    assert header.version == (0, 5, 1)
    assert header.original_size == 99
    assert header.archive_size == len(data)
    assert header.files_base == 64 + header.metadata_size


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.text(max_size=40)
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=5), inner, max_size=20),
    max_leaves=20,
)


@given(JSON)
def test_packets_unpack_as_in_messagepack(value: Any) -> None:
    packed = layout.Packet(3, msgpack.packb(value), WHERE)
    assert places.unpack(packed, checks.BAD_METADATA) == value


@given(st.binary(max_size=24))
@example(b"\x81\x90\x01")
@example(b"\xa3ab")
@example(b"\xcd\x01")
@example(b"\x91" * 3000)
@example(b"\x01\x01")
def test_any_packet_unpacks_or_breaks_its_rule(raw: bytes) -> None:
    try:
        places.unpack(layout.Packet(3, raw, WHERE), checks.BAD_METADATA)
    except ExhumeError as error:
        assert (error.code, error.span) == (checks.BAD_METADATA.code, WHERE)


# --- by hand: results of code on the values, and the places of its errors


FILE = Span("file", 1000, 2000)


def refused(parse: Callable[..., Any], data: bytes, where: Span = FILE) -> ExhumeError:
    with pytest.raises(ExhumeError) as caught:
        parse(data, where)
    return caught.value


def test_names_of_types_and_packets() -> None:
    assert [layout.type_name(number) for number in (0, 2, 14, 77)] == ["integer", "clp_string", "timestamp", "type 77"]
    assert [layout.Packet(number, b"", FILE).name for number in (0, 3, 9)] == ["archive_info", "range_index", "type 9"]
    assert StoredRange("/0", BytesSource(bytes(100)), 70, 95).size == 25


@pytest.mark.parametrize(
    ("version", "text", "core", "nanoseconds"),
    [
        ((0, 3, 2), "0.3.2", False, False),
        ((0, 4, 0), "0.4.0", True, False),
        ((0, 4, 9), "0.4.9", True, False),
        ((0, 5, 0), "0.5.0", True, True),
        ((1, 0, 0), "1.0.0", True, True),
    ],
)
def test_what_a_version_has(version: tuple[int, int, int], text: str, core: bool, nanoseconds: bool) -> None:
    header = layout.Header(version, 1, 2, 36, 0)
    assert (header.version_text, header.has_core_text, header.has_nanosecond_timestamps) == (text, core, nanoseconds)
    assert (header.files_base, header.reserved) == (100, (b"", b""))


def test_versions_that_clp_s_wrote_are_known() -> None:
    """Those that the format's page names: a header of any other makes an archive less certain."""
    wrote = {(0, 2, 0), (0, 3, 0), (0, 3, 1), (0, 3, 2), (0, 4, 0), (0, 4, 1), (0, 5, 0), (0, 5, 1)}
    known = set()
    good = build.tiny().build()
    for version in product((0, 1), range(8), range(4)):
        major, minor, patch = version
        data = good[:4] + patch.to_bytes(2, "little") + bytes((minor, major)) + good[8:]
        found = probe(BytesSource(data))
        assert found is not None
        if f"format version {major}.{minor}.{patch}" in found.evidence:
            known.add(version)
    assert known == wrote


def test_a_node_and_the_length_of_a_container_have_24_bits() -> None:
    assert layout.MAX_NODE_ID == 0xFFFFFF
    assert layout.pack_marker(5, 0x010203) == 0x05010203
    assert not layout.is_marker(layout.MAX_NODE_ID)
    assert layout.is_marker(layout.MAX_NODE_ID + 1)


def test_streams_follow_their_number() -> None:
    assert metadata([(7, 100)], [])[layout.STREAMS_AT :][:16] == bytes([7, *bytes(7), 100, *bytes(7)])


def test_a_header_that_is_none() -> None:
    good = build.tiny().build()
    for data in (b"", b"x", b"\xfd\x2f\xc5", good[:63]):
        error = refused(layout.parse_header, data)
        if data in (b"", b"x"):
            assert (error.code, error.span) == (checks.BAD_MAGIC.code, Span("file", 1000, 1000 + len(data)))
            assert (error.expected, error.actual) == (b"\xfd\x2f\xc5\x30", data)
        else:
            assert (error.code, error.span) == (checks.SHORT_HEADER.code, FILE)
            assert (error.expected, error.actual) == ("64 bytes", f"{len(data)} bytes")
            assert error.field_path
    wrong = refused(layout.parse_header, b"\xfd\x2f\xc5\x31" + good[4:64])
    assert (wrong.span, wrong.actual) == (Span("file", 1000, 1004), b"\xfd\x2f\xc5\x31")


def tree(*nodes: tuple[int, bytes, int]) -> layout.SchemaTree:
    return layout.SchemaTree(*map(list, zip(*nodes, strict=True)))


def test_a_tree() -> None:
    """Roots, children, paths as people write them; dots and backslashes in keys are escaped."""
    found = tree(
        (-1, b"", 10), (0, b"log_event_idx", 11), (-1, b"", 5), (2, b"a", 5), (3, b"x.y\\z", 0), (-1, b"@", 5),
        (5, b"k", 3), (3, b"x.y\\z", 3), (6, b"deep\xff", 0),
        (3, b"p.q", 0),
    )  # fmt: skip
    assert len(found) == 10
    assert (found.object_root, found.log_event_idx) == (2, 1)
    assert found.children == [[1], [], [3], [4, 7, 9], [], [6], [8], [], [], [], [0, 2, 5]]
    assert found.roots == {(b"", 10): 0, (b"", 5): 2, (b"@", 5): 5}
    assert [found.path(node) for node in (0, 4, 8)] == [[0], [2, 3, 4], [5, 6, 8]]
    texts = ["", "log_event_idx", "", "a", "a.x\\.y\\\\z", "@", "@k", "a.x\\.y\\\\z", "@k.deep\\xff", "a.p\\.q"]
    assert [found.path_text(node) for node in range(10)] == texts
    assert {text: found.find(text) for text in texts} == {
        text: [n for n in range(10) if texts[n] == text] for text in texts
    }
    assert found.find("b") == []
    assert list(found.has_column) == [False, True, False, False, True, False, True, True, True, True]


@pytest.mark.parametrize(
    ("nodes", "number"),
    [
        ([(-1, b"", 5), (0, b"log_event_idx", 0)], None),
        ([(-1, b"", 10), (0, b"other", 0)], None),
        ([(-1, b"", 10), (0, b"log_event_idx", 3)], None),
        ([(-1, b"", 10), (0, b"other", 0), (0, b"log_event_idx", 3), (0, b"log_event_idx", 0)], 3),
        ([(-1, b"", 10), (0, b"log_event_idx", 11)], 1),
    ],
)
def test_the_node_that_numbers_records(nodes: list[tuple[int, bytes, int]], number: int | None) -> None:
    found = tree(*nodes)
    assert found.log_event_idx == number
    assert found.object_root == (0 if nodes[0][2] == 5 else None)


def node_bytes(*nodes: tuple[int, bytes, int]) -> bytes:
    return build.tiny(nodes=list(nodes)).payloads()["/schema_tree"]


def test_parents_come_before_their_children() -> None:
    for parent, good in ((-2, False), (-1, True), (0, True), (1, False), (2, False)):
        data = node_bytes((-1, b"", 5), (parent, b"a", 0))
        if good:
            assert list(layout.parse_schema_tree(data, FILE)[0].parents) == [-1, parent]
            continue
        error = refused(layout.parse_schema_tree, data)
        at = 1000 + 8 + 13
        assert (error.code, error.span) == (checks.BAD_PARENT.code, Span("file", at, at + 4))
        assert (error.field_path, error.expected, error.actual) == ("nodes[1].parent_id", "-1 to 0", parent)
        assert error.message.endswith("node 1")


def test_parents_come_first_where_ids_moved_down_as_well() -> None:
    """The fourth node of the file is the third of the tree: it cannot be below itself."""
    twice = [(-1, b"", 5), (0, b"a", 5), (0, b"a", 5)]
    assert layout.parse_schema_tree(node_bytes(*twice, (1, b"b", 0)), FILE)[0].repeated == [2]
    error = refused(layout.parse_schema_tree, node_bytes(*twice, (2, b"b", 0)))
    assert (error.code, error.span, error.expected, error.actual) == (checks.BAD_PARENT.code, FILE, "below 2", 2)
    assert error.message.endswith("node 2")


def test_schemas_and_markers() -> None:
    schema = layout.Schema(7, (1, 2, build.marker(9, 3), 4), 2)
    assert (schema.ordered, schema.unordered) == ((1, 2), (build.marker(9, 3), 4))
    assert [layout.is_marker(entry) for entry in (0, (1 << 24) - 1, 1 << 24, build.marker(9, 3))] == [
        False,
        False,
        True,
        True,
    ]
    assert [layout.marker_parts(build.marker(kind, size)) for kind, size in ((9, 3), (255, (1 << 24) - 1))] == [
        (9, 3), (255, (1 << 24) - 1),
    ]  # fmt: skip
    assert [layout.pack_marker(kind, size) for kind, size in ((9, 3), (1, 0))] == [
        build.marker(9, 3),
        build.marker(1, 0),
    ]


def test_a_schema_that_occurs_twice_counts_as_it_is_last() -> None:
    data = build.tiny(schemas=[(4, [1], []), (5, [0], []), (4, [0, 1], [0])]).payloads()["/schema_ids"]
    schemas, repeated, end = layout.parse_schema_map(data, FILE)
    assert (list(schemas), repeated, end) == ([4, 5], [4], len(data))
    assert schemas[4] == layout.Schema(4, (0, 1, 0), 2)


def stored(*ids: int) -> layout_schemas.Schemas:
    return layout.parse_schema_map(build.tiny(schemas=[(one, [0], []) for one in ids]).payloads()["/schema_ids"], FILE)[
        0
    ]


@pytest.mark.parametrize(
    ("ids", "repeated"),
    [
        ((0, 1, 2), []), ((3, 0), []), ((-1,), []), ((-1, 5, 0), []), ((0, 0, 2), [0]), ((7, 7), [7]), ((5, 1000), []),
    ],
)  # fmt: skip
def test_where_schemas_are(ids: tuple[int, ...], repeated: list[int]) -> None:
    """Ids without gaps, with few and with many, negative and repeated ones; all others have no schema."""
    found = stored(*ids)
    assert (found.repeated, list(found), len(found)) == (repeated, list(dict.fromkeys(ids)), len(set(ids)))
    for one in (*ids, *range(-3, 12), 999, 1001):
        last = len(ids) - 1 - ids[::-1].index(one) if one in ids else -1
        assert (found.place(one), one in found) == (last, last >= 0)


def test_the_largest_node_and_columns_of_different_lengths() -> None:
    assert [layout.is_marker(layout.MAX_NODE_ID + one) for one in (0, 1)] == [False, True]
    assert isinstance(tree((-1, b"", 5)).parents, array)
    for parents, keys, types in (([-1, 0], [b""], [5, 5]), ([-1], [b"", b"a"], [5]), ([-1], [b""], [5, 0])):
        with pytest.raises(ValueError, match="zip"):
            layout.SchemaTree(parents, keys, types)


def test_a_dictionary_up_to_what_does_not_fit() -> None:
    data = build.u64(1) + b"a" + build.u64(2) + b"bc"
    assert layout.parse_dictionary(data, 2) == ([b"a", b"bc"], len(data), None)
    assert layout.parse_dictionary(data, 1) == ([b"a"], 9, None)
    found, end, error = layout.parse_dictionary(data[:-1], 2)
    assert (found, end) == ([b"a"], 9)
    assert error is not None
    assert error.path.startswith("entries[1]")


def metadata(streams: list[tuple[int, int]], tables: list[tuple[int, int, int, int]], separate: int = 0) -> bytes:
    out = build.u64(len(streams)) + b"".join(build.u64(*stream) for stream in streams)
    out += build.u64(separate, len(tables))
    for stream, offset, schema, rows in tables:
        out += build.u64(stream, offset) + schema.to_bytes(4, "little", signed=True) + build.u64(rows)
    return out


def test_where_tables_end() -> None:
    """Where the next one of the same stream starts, else where the stream does."""
    data = metadata([(0, 100), (40, 50)], [(0, 0, 1, 3), (0, 30, 2, 4), (1, 10, 3, 5), (1, 10, -1, 0)])
    found, end = layout.parse_table_metadata(data, FILE)
    assert end == len(data)
    assert [(s.offset, s.size) for s in found.streams] == [(0, 100), (40, 50)]
    assert [(t.number, t.stream_id, t.start, t.end, t.schema_id, t.num_messages) for t in found.tables] == [
        (0, 0, 0, 30, 1, 3), (1, 0, 30, 100, 2, 4), (2, 1, 10, 10, 3, 5), (3, 1, 10, 50, -1, 0),
    ]  # fmt: skip
    assert {table.problem for table in found.tables} == {None}


def test_tables_whose_place_makes_no_sense() -> None:
    data = metadata([(0, 100)], [(0, 50, 1, 3), (0, 20, 2, 4), (1, 0, 3, 5), (0, 101, 4, 1), (0, 100, 5, 0)])
    first, second, third, fourth, fifth = layout.parse_table_metadata(data, FILE)[0].tables
    at = 1000 + 8 + 16 + 16
    assert (second.problem, fifth.problem) == (None, None)
    assert (second.end, fifth.start, fifth.end) == (100, 100, 100)
    for table, code, path, expected, actual in (
        (first, checks.BAD_TABLE_OFFSET, "tables[0].ofs_table", "at most 20", 50),
        (third, checks.BAD_STREAM_ID, "tables[2].stream_id", "below 1", 1),
        (fourth, checks.BAD_TABLE_OFFSET, "tables[3].ofs_table", "at most 100", 101),
    ):
        error = table.problem
        assert error is not None
        assert (error.code, error.field_path, error.expected, error.actual) == (code.code, path, expected, actual)
        assert error.span == Span("file", at + 28 * table.number, at + 28 * table.number + 28)
        assert error.message.endswith(f"table {table.number}")
        assert table.end == table.start


def test_separate_columns_are_refused() -> None:
    error = refused(layout.parse_table_metadata, metadata([(0, 100)], [], separate=2))
    assert (error.code, error.span) == (checks.SEPARATE_COLUMNS.code, Span("file", 1000 + 8 + 16, 1000 + 8 + 16 + 8))
    assert (error.expected, error.actual) == (0, 2)


def test_ranges_of_timestamps() -> None:
    """Integers, doubles, and an encoding that has no bounds."""
    built = build.tiny(
        ranges=[(b"a", [1, 2], 1, -5, 9), (b"b", [], 2, 0.5, 1.5), (b"c", [3], 0, 0, 0)], patterns=[(4, b"%Y")]
    )
    found = layout.parse_timestamp_dictionary(built.timestamp_dictionary(), FILE)
    assert [(r.key, r.column_ids, int(r.encoding), r.begin, r.end) for r in found.ranges] == [
        (b"a", (1, 2), 1, -5, 9), (b"b", (), 2, 0.5, 1.5), (b"c", (3,), 0, None, None),
    ]  # fmt: skip
    assert (found.patterns, found.span) == ({4: b"%Y"}, FILE)


def test_how_much_a_row_of_a_column_takes() -> None:
    """An epoch or a delta and the number of its pattern; a double and its format."""
    sizes = (layout_packed.DATE_SIZE, layout_packed.TIMESTAMP_SIZE, layout_packed.FORMATTED_FLOAT_SIZE)
    assert sizes == tuple(len(layout_packed.many("<B", [0] * size)) for size in (8 + 8, 8 + 8, 8 + 2))


def test_which_bytes_of_a_table_its_columns_take(tmp_path: Path) -> None:
    """Those of the requested columns, and the lengths of the strings before them."""
    path = tmp_path / "a.clps"
    with exhume.clps.create(path) as writer:
        for number in range(10):
            writer.write({"a": number, "b": number / 2, "c": number % 2 == 0, "d": f"one {number}", "e": number})
    with exhume.clps.open(path) as archive:
        [table] = archive.tables
        fields, data = table.layout, table.load().data
        names = [archive.schema_tree.keys[node].decode() for node in fields.nodes]
        assert names == ["log_event_idx", "a", "b", "c", "d", "e"]

        def taken(*wanted: str, data: memoryview = data) -> object:
            nodes = [node for node, name in zip(fields.nodes, names, strict=True) if name in wanted]
            requested: list[tuple[int, int]] = []

            def take(start: int, stop: int) -> memoryview:
                requested.append((start, stop))
                return data[start:stop]

            found = needed_columns(fields, nodes, 10, take, data)
            return None if found is None else (*found, requested)

        assert taken() == ([], [], [])
        assert taken("a") == ([80, 160], [1], [(80, 160)])
        assert taken("log_event_idx", "b") == ([80, 160, 260], [0, 2], [(0, 80), (160, 260)])  # 10 bytes for a float
        ends = [80, 160, 260, 270, 270 + 80 + 8 + 80]
        assert taken("d") == (ends, [4], [(350, 358), (270, 438)])
        assert taken("e") == ([*ends, 518], [5], [(350, 358), (438, 518)])
        assert taken("b", data=data[:259]) is None
        assert taken("e", data=data[:349]) is None


def test_columns_after_texts_that_come_first() -> None:
    """The length of the strings follows the first ten rows; columns of a structured array are not told apart."""
    texts = (NodeType.CLP_STRING, NodeType.INTEGER)
    fields: Any = SimpleNamespace(nodes=(4, 7), node_types=texts, runs={})
    data = memoryview(build.i64(*[0] * 10) + build.u64(2) + build.i64(1, 2) + build.i64(*range(10)))
    requested: list[tuple[int, int]] = []

    def take(start: int, stop: int) -> memoryview:
        requested.append((start, stop))
        return data[start:stop]

    assert needed_columns(fields, [7], 10, take, data) == ([104, 184], [1])
    assert requested == [(80, 88), (104, 184)]
    fields.runs = {7: ()}
    assert needed_columns(fields, [7], 10, take, data) is None


def test_schemas_are_in_the_order_of_their_entries_and_integers_have_64_bits() -> None:
    schemas = [([3, 1, 5], 2), ([], 0), ([3, 1], 2), ([-1], 1)]
    packed = build_schema_ids(schemas)
    found, _, end = layout.parse_schema_map(packed, Span("x", 0, len(packed)))
    assert end == len(packed)
    assert [(number, list(one.entries), one.num_ordered) for number, one in found.items()] == [
        (number, *schemas[number]) for number in (1, 3, 2, 0)
    ]
    assert (layout_packed.I64_MIN, layout_packed.I64_MAX) == (-(2**63), 2**63 - 1)
