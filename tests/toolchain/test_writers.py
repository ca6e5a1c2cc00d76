"""What writers write of drawn values is read back as these values, by the generated readers and by Kaitai's classes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from exhume.codecs.checksums import crc64_xz
from exhume.formats.ark import layout as ark
from exhume.formats.ark.rbuf.layout import guid_of
from exhume.formats.caf.layout import build_footer
from exhume.formats.clp_ir import layout as clp_ir
from exhume.formats.clp_ir import pykernel as clp_ir_events
from exhume.formats.clp_s import layout_packed
from exhume.formats.clp_s.write import build as clp_s
from exhume.formats.data_bundle.layout import FileKey, build_record_key
from exhume.formats.data_bundle.layout_fields import build
from exhume.formats.kv_ir import layout as kv_ir
from exhume.formats.kv_ir.layout import Encodings, MetadataTypes, Tags
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import build_bytes, build_varint
from exhume.formats.zs import layout as zs
from exhume.native.pykernel import frame_records
from exhume.testing.strategies import Instance, from_ksy
from tests.sizes import size
from tests.toolchain.differential import read_whole
from tests.toolchain.refusals import check, type_at

Values = tuple[Any, ...]
Way = tuple[Callable[[Any], Values | None], Callable[..., bytes]]
"""The values that a writer takes from a parsed structure (None if it never writes it), and the writer."""


def zs_header(one: Any) -> Values:
    fields = (one.ofs_root, one.len_root, one.len_file, one.sha256_data, one.codec, one.metadata, one.extensions)
    return tuple(bytes(value) if isinstance(value, (bytes, memoryview)) else value for value in fields)


def zs_file(one: Any) -> Values:
    blocks = [(block.body.level, bytes(block.body.payload)) for block in one.blocks]
    return bytes(one.magic), zs_header(one.header), blocks


def build_zs(magic: bytes, header: Values, blocks: list[tuple[int, bytes]]) -> bytes:
    raw = zs.build_header(zs.Header(*header))
    written = [b"".join(zs.build_block(level, data, crc64_xz(bytes([level]) + data))) for level, data in blocks]
    return zs.build_preamble(magic, len(raw)) + raw + zs.build_checksum(crc64_xz(raw)) + b"".join(written)


def zs_entries(one: Any) -> Values:
    return ([(bytes(each.key), each.ofs_block, each.len_block) for each in one.entries],)


def block_entries(one: Any) -> Values | None:
    """Whole keys: each takes from the one before what it shares with it."""
    found: list[tuple[bytes, bytes]] = []
    for each in one.entries.entries:
        before = found[-1][0] if found else b""
        if each.len_shared > len(before):
            return None
        found.append((before[: each.len_shared] + bytes(each.key_suffix), bytes(each.value.data)))
    return None if one.has_hash_index else (found,)


def log_records(one: Any) -> Values:
    fragments = [each for block in one.blocks or () for each in block.fragments or () if each.fragment_type == 1]
    return ([bytes(each.data.bytes) for each in fragments],)


def field(one: Any) -> Values | None:
    if one.number > 31 or one.wire_type not in (0, 2):
        return None
    return one.key, bytes(one.value.data.bytes) if one.wire_type == 2 else one.value


def row_key(one: Any) -> Values | None:
    key = one.body
    if type(key).__name__ == "FileKey":
        return unescaped(key.directory), unescaped(key.name)
    return (key.shard_index, key.shard_uncompressed_offset) if type(key).__name__ == "RecordKey" else None


def unescaped(one: Any) -> bytes:
    """A byte string without what stands for its zero bytes."""
    return b"".join(each.content.encode() for each in (one, *(one.more or ())))


def split_header(one: Any) -> Values | None:
    if one.groups is not None or any(each.groups is not None for each in one.type_mappings):
        return None
    mappings = tuple(
        ark.TypeMapping(each.short_identifier, guid_of(each.object_identifier), 0) for each in one.type_mappings
    )
    numbers = one.ofs_index, one.num_indexed_items, one.num_maximum_items
    return guid_of(one.split_identifier), *numbers, mappings, 0, one.format_version


def message(one: Any) -> Values | None:
    codec = ark.CODEC_NAMES.get(one.footer.codec)
    return None if codec is None else (bytes(one.payload), one.footer.len_message, codec)


def serializable(one: Any) -> Values | None:
    trailer = one.trailer
    if trailer is not None and not trailer.type_name:
        return None
    texts = (trailer.type_name, trailer.schema_registry) if trailer is not None else ("", "")
    return bytes(one.content), *texts


def clp_header(one: Any) -> Values:
    return (
        (one.version.major, one.version.minor, one.version.patch),
        one.len_original,
        one.len_archive,
        one.len_metadata,
    )


def schemas(one: Any) -> Values:
    """A schema is known by its place, and they are written in the order of their entries."""
    return (sorted(([each.value for each in schema.entries], schema.num_ordered) for schema in one.schemas),)


def tables(one: Any) -> Values | None:
    if one.num_separate_column_schemas:
        return None
    streams = [(each.ofs_stream, each.len_uncompressed) for each in one.streams]
    return streams, [(each.stream_id, each.ofs_table, each.schema_id, each.num_messages) for each in one.tables]


def packets(one: Any) -> Values:
    return ([(each.type, bytes(view_of(each.body))) for each in one.packets],)


def preamble(one: Any) -> Values | None:
    """The writer writes metadata of one kind."""
    kind = MetadataTypes(one.metadata_type)
    return (Encodings(one.encoding), bytes(one.metadata)) if kind is MetadataTypes.JSON else None


TOKENS: dict[str, Callable[[Any], bytes]] = {
    "KEY": lambda node: kv_ir.build_key(node, auto=False),
    "INTEGER": kv_ir.build_integer,
    "REAL": lambda bits: kv_ir.build_real(struct.unpack("<d", bits)[0]),
    "TEXT": kv_ir.build_text,
    "VARIABLE": kv_ir.build_variable,
    "VARIABLE_TEXT": kv_ir.build_variable_text,
    "LOG_TYPE": kv_ir.build_log_type,
}
"""By what a token is, whatever its width, what writes it."""


def token(one: Any) -> Values | None:
    tag = Tags(one.tag)
    kind = tag.name.rstrip("_1248")
    if kind not in TOKENS or tag is Tags.VARIABLE_8:
        return None
    if one.real is not None:
        return kind, struct.pack("<d", one.real)
    numbers = [value for value in (one.number1, one.number2, one.number4, one.number8) if value is not None]
    return kind, numbers[0] if numbers else bytes(one.text)


TEXT_TOKENS: dict[str, Callable[[Any], bytes]] = {
    "VARIABLE": kv_ir.build_variable,
    "VARIABLE_NUMBER": clp_ir_events.build_number,
    "VARIABLE_TEXT": kv_ir.build_variable_text,
    "LOG_TYPE": kv_ir.build_log_type,
    "DELTA": clp_ir_events.build_delta,
    "TIMESTAMP": clp_ir_events.build_timestamp,
    "UTC_OFFSET_CHANGE": clp_ir.build_utc_offset,
}
"""The same of streams of text."""


def text_token(one: Any) -> Values | None:
    tag = clp_ir.Tags(one.tag)
    kind = "VARIABLE_NUMBER" if tag is clp_ir.Tags.VARIABLE_8 else tag.name.rstrip("_1248")
    numbers = [value for value in (one.number1, one.number2, one.number4, one.number8) if value is not None]
    return (kind, numbers[0] if numbers else bytes(one.text)) if kind in TEXT_TOKENS else None


def view_of(one: Any) -> Any:
    """All bytes of a structure that has a stream of its own."""
    view, start, end = one._io
    return view[start:end]


WAYS: dict[str, Way] = {
    "zs": (zs_file, build_zs),
    "zs_data_block": (lambda one: ([bytes(each.data) for each in one.records],), frame_records),
    "zs_index_block": (zs_entries, lambda entries: zs.build_index([zs.IndexEntry(*each) for each in entries])),
    "leveldb_block": (block_entries, build_block),
    "leveldb_log": (log_records, build_log),
    "leveldb_varint": (lambda one: (one,), build_varint),
    "leveldb_bytes": (lambda one: (bytes(one.data),), build_bytes),
    "data_bundle_field": (field, lambda key, value: build({key: "value"}, [value], key)),
    "data_bundle_key": (
        row_key,
        lambda *key: FileKey(*key).build() if isinstance(key[0], bytes) else build_record_key(*key),
    ),
    "ark_split::file_header": (split_header, lambda *fields: ark.build_split_header(ark.SplitHeader(*fields))),
    "ark_stored_message": (message, lambda data, size, codec: data + ark.build_message_footer(size, codec)),
    "ark_serializable_file": (serializable, ark.build_serializable_file),
    "caf": (
        lambda one: (bytes(one.data), one.index.encode()),
        lambda data, index: data + index + build_footer(len(index)),
    ),
    "clp_kv_ir::preamble": (preamble, kv_ir.build_preamble),
    "clp_kv_ir::token": (token, lambda kind, value: TOKENS[kind](value)),
    "clp_ir::token": (text_token, lambda kind, value: TEXT_TOKENS[kind](value)),
    "clp_s::file_header": (clp_header, clp_s.build_header),
    "clp_s_schema_tree": (
        lambda one: ([(each.parent_id, bytes(each.key), each.type) for each in one.nodes],),
        clp_s.build_schema_tree,
    ),
    "clp_s_schema_ids": (schemas, clp_s.build_schema_ids),
    "clp_s_table_metadata": (tables, clp_s.build_table_metadata),
    "clp_s_dictionary_entries": (
        lambda one: ([bytes(each.value) for each in one.entries],),
        layout_packed.pack_dictionary,
    ),
    "clp_s_metadata": (packets, clp_s.pack_packets),
}


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(WAYS))
def test_what_is_written_of_drawn_values_is_read_back(path: str) -> None:
    values, write = WAYS[path]
    id, _, below = path.partition("::")
    written = 0

    @settings(
        max_examples=size(6, 500), derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(from_ksy(id, below))
    def round_trip(one: Instance) -> None:
        nonlocal written
        found = values(read_whole(type_at(path), one.data, [])[0])
        assume(found is not None)
        assert found is not None
        data = write(*found)
        assert check(path, data, [])
        assert values(read_whole(type_at(path), data, [])[0]) == found
        written += 1

    round_trip()
    assert written > 3
