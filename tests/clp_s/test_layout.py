"""The fast twins of the generated classes agree with them on any input, errors included."""

from __future__ import annotations

from collections.abc import Callable
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

from exhume import kaitai
from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s import checks, layout, packets
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.reader import open_archive
from exhume.source import BytesSource
from tests.clp_s import build

WHERE = Span("test", 0, 10).in_payload(0, 1 << 20)


def outcome(function: Callable[[], Any]) -> Any:
    """The value, or that it failed."""
    try:
        return function()
    except ExhumeError:
        return "refused"


def tree_of_twin(data: bytes) -> Any:
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


def schemas_of_twin(data: bytes) -> Any:
    schemas, repeated, end = layout.parse_schema_map(data, WHERE)
    return {s.schema_id: (list(s.entries), s.num_ordered) for s in schemas.values()}, len(repeated), end


def schemas_of_generated(data: bytes) -> Any:
    raw = kaitai.parse(ClpSSchemaIds, data, WHERE)
    found = {s.schema_id: ([e.value for e in s.entries], s.num_ordered) for s in raw.schemas}
    return found, len(raw.schemas) - len(found), raw._io.pos()


def tables_of_twin(data: bytes) -> Any:
    found, end = layout.parse_table_metadata(data, WHERE)
    streams = [(s.offset, s.size) for s in found.streams]
    return streams, [(t.stream_id, t.start, t.schema_id, t.num_messages) for t in found.tables], end


def tables_of_generated(data: bytes) -> Any:
    raw = kaitai.parse(ClpSTableMetadata, data, WHERE)
    if raw.num_separate_column_schemas:
        return "refused"
    streams = [(s.ofs_stream, s.len_uncompressed) for s in raw.streams]
    return streams, [(t.stream_id, t.ofs_table, t.schema_id, t.num_messages) for t in raw.tables], raw._io.pos()


def header_of_twin(data: bytes) -> Any:
    found = layout.parse_header(data, WHERE)
    version = found.version
    sizes = (found.original_size, found.archive_size, found.metadata_size)
    return version, sizes, found.compression_type, found.reserved


def header_of_generated(data: bytes) -> Any:
    raw = kaitai.parse(ClpS, data[:64], WHERE).header
    version = (raw.version.major, raw.version.minor, raw.version.patch)
    sizes = (raw.len_original, raw.len_archive, raw.len_metadata)
    reserved = raw.reserved1 + raw.reserved2.to_bytes(2, "little")
    return version, sizes, int(getattr(raw.compression_type, "value", raw.compression_type)), reserved


def packets_of_twin(data: bytes) -> Any:
    packets, end = layout.parse_packets(data, WHERE)
    return [(packet.type, packet.body, packet.span) for packet in packets], end


def packets_of_generated(data: bytes) -> Any:
    raw = kaitai.parse(ClpSMetadata, data, WHERE)
    found, at = [], 1
    for packet in raw.packets:
        start, at = at + 5, at + 5 + len(packet._raw_body)
        found.append((int(getattr(packet.type, "value", packet.type)), packet._raw_body, WHERE.sub(start, at)))
    return found, raw._io.pos()


def times_of_twin(data: bytes) -> Any:
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
    "header": (header_of_twin, header_of_generated),
    "packets": (packets_of_twin, packets_of_generated),
    "timestamps": (times_of_twin, times_of_generated),
    "/schema_tree": (tree_of_twin, tree_of_generated),
    "/schema_ids": (schemas_of_twin, schemas_of_generated),
    "/table_metadata": (tables_of_twin, tables_of_generated),
}
DEMO = open_archive(BytesSource(build.demo().build()))
GOOD = build.demo().payloads() | {
    "header": DEMO.source.read_at(0, 64),
    "packets": DEMO.metadata_payload,
    "timestamps": DEMO.packets_of(layout.PacketType.TIMESTAMP_DICTIONARY)[0].body,
}


@pytest.mark.parametrize("name", PAIRS)
def test_twins_agree_on_a_good_section(name: str) -> None:
    twin, generated = PAIRS[name]
    assert twin(GOOD[name]) == generated(GOOD[name])


@pytest.mark.parametrize("name", PAIRS)
@given(st.data())
def test_twins_agree_on_damage(name: str, data: st.DataObject) -> None:
    twin, generated = PAIRS[name]
    raw = bytearray(GOOD[name])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF, raw[at] ^ 1]))
    damaged = bytes(raw[: data.draw(st.integers(0, len(raw)))]) if data.draw(st.booleans()) else bytes(raw)
    assert outcome(lambda: twin(damaged)) == outcome(lambda: generated(damaged))


@pytest.mark.parametrize("name", PAIRS)
@given(raw=st.binary(max_size=120))
@example(raw=b"")
def test_twins_agree_on_anything(name: str, raw: bytes) -> None:
    twin, generated = PAIRS[name]
    assert outcome(lambda: twin(raw)) == outcome(lambda: generated(raw))


def test_repeated_nodes_move_ids_down() -> None:
    nodes = [*build.DEMO_NODES[:4], build.DEMO_NODES[3], (2, b"after", 0)]
    tree, _ = layout.parse_schema_tree(build.demo(nodes=nodes).payloads()["/schema_tree"], WHERE)
    assert tree.repeated == [4]
    assert tree.keys[4] == b"after"


def test_columns_agree_with_the_generated_class() -> None:
    archive = open_archive(BytesSource(build.demo().build()))
    for table in archive.tables:
        data = table.load()
        types = [column.type for column in data.columns]
        raw = kaitai.parse(ClpSTable, bytes(data.data), table.span, table.num_messages, types)
        for column, parsed in zip(data.columns, raw.columns, strict=True):
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


def strictly(data: bytes) -> Any:
    """What `msgpack` makes of the bytes, as the reader asks it."""
    size = len(data)
    limits = {f"max_{kind}_len": size for kind in ("str", "bin", "array", "map", "ext")}
    try:
        return msgpack.unpackb(data, raw=False, strict_map_key=False, unicode_errors="surrogateescape", **limits)
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException):
        return "refused"


def unpacked(data: bytes) -> Any:
    try:
        return packets.unpack(layout.Packet(3, data, WHERE), checks.BAD_METADATA)
    except ExhumeError:
        return "refused"


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
def test_packets_unpack_as_messagepack_says(value: Any) -> None:
    assert unpacked(msgpack.packb(value)) == value


@given(st.binary(max_size=24) | st.binary(max_size=24).map(lambda raw: b"\x81\xa5files" + raw))
@example(b"\x82\x01\x02\x01\x03")
@example(b"\x81\x90\x01")
@example(b"\x81\x80\x01")
@example(b"\xa3ab")
@example(b"\xa1\xff")
@example(b"\xcd\x01")
@example(b"\x91" * 3000)
@example(b"\x01\x01")
def test_any_packet_unpacks_as_messagepack_says(raw: bytes) -> None:
    assert repr(unpacked(raw)) == repr(strictly(raw))
