"""The check vectors, in both directions and through the generated classes."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from exhume_ksy.ark_manifest import ArkManifest
from exhume_ksy.ark_rbuf import ArkRbuf
from exhume_ksy.ark_serializable_file import ArkSerializableFile
from exhume_ksy.ark_split import ArkSplit
from exhume_ksy.ark_stored_message import ArkStoredMessage
from kaitaistruct import KaitaiStream

from exhume import codecs
from exhume.errors import Span
from exhume.formats.ark import layout
from exhume.formats.ark.manifest import Manifest, ManifestSection, build_manifest, own_registry
from exhume.formats.ark.manifest_load import load_manifest
from exhume.formats.ark.messages import Decompressor
from exhume.formats.ark.names import is_guid
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.idl import parse_idl
from exhume.formats.ark.rbuf.layout import guid_bytes, guid_text
from exhume.limits import DEFAULT_LIMITS
from tests.ark import vectors as v


def generated(cls: Any, data: bytes) -> Any:
    return cls(KaitaiStream(BytesIO(data)))


def where(data: bytes) -> Span:
    return Span("vector", 0, len(data))


def test_guid() -> None:
    assert guid_text(v.GUID_WIRE) == v.GUID_TEXT
    assert guid_bytes(v.GUID_TEXT) == guid_bytes(v.GUID_TEXT.upper()) == v.GUID_WIRE
    raw = generated(ArkRbuf.Guid, v.GUID_WIRE)
    assert f"{raw.high:016x}{raw.low:016x}" == v.GUID_TEXT.replace("-", "")
    assert guid_text(v.MAGIC) == "53ebe9fc-e8f0-48b6-bc81-ab296b4cea1f"
    assert is_guid(v.GUID_TEXT)
    assert not is_guid("0011-22")
    with pytest.raises(ValueError, match="not a GUID"):
        guid_bytes("00112233")


def test_message() -> None:
    registry = parse_idl(v.MY_MESSAGE_IDL)
    value = {"number": 7, "text": "hi"}
    assert encoder_for(registry, "MyMessage").encode(value) == v.MY_MESSAGE
    assert decoder_for(registry, "MyMessage").decode(v.MY_MESSAGE) == value
    raw = generated(ArkRbuf, v.MY_MESSAGE)
    assert (raw.header.magic, raw.header.has_groups, raw.header.version) == (0xD, False, 1)
    assert raw.body == v.MY_MESSAGE[1:]


def test_split_header() -> None:
    header = layout.parse_split_header(v.SPLIT_HEADER, where(v.SPLIT_HEADER))
    assert (header.identifier, header.index_offset, header.item_count, header.maximum_count) == (v.SPLIT, 1024, 2, 4)
    assert [(m.short, m.identifier, m.offset) for m in header.mappings] == [(0, v.OBJECT, 35)]
    assert header.size == len(v.SPLIT_HEADER) == 53
    assert layout.build_split_header(header) == v.SPLIT_HEADER


def test_index_entry() -> None:
    (entry,) = layout.parse_index(v.INDEX_ENTRY)
    assert entry.item() == (5_000_000_000, 1096, 9, 0, 0)
    assert np.array([entry.item()], layout.ENTRY_DTYPE).tobytes() == v.INDEX_ENTRY
    raw = generated(ArkSplit.IndexEntry, v.INDEX_ENTRY)
    assert (raw.timestamp_ns, raw.ofs_data, raw.len_data, raw.object_identifier, raw.flags) == entry.item()


@pytest.mark.parametrize(("stored", "codec"), [(v.LZ4_MESSAGE, "lz4"), (v.ZSTD_MESSAGE, "zstd")])
def test_compressed_message(stored: bytes, codec: str) -> None:
    message = v.MY_MESSAGE * 8
    assert Decompressor(codec, DEFAULT_LIMITS).decode(stored, lambda: where(stored)) == message
    footer = layout.parse_message_footer(stored, where(stored))
    assert (footer.len_message, layout.CODEC_NAMES[footer.codec]) == (88, codec)
    assert layout.build_message_footer(88, codec) == stored[-6:]
    again = codecs.compress(codec, message) + layout.build_message_footer(88, codec)
    assert Decompressor(codec, DEFAULT_LIMITS).decode(again, lambda: where(again)) == message
    if codec == "lz4":
        assert again == stored
    raw = generated(ArkStoredMessage, stored)
    assert raw.payload == stored[:-6]
    assert (raw.footer.len_message, raw.footer.codec.name, raw.footer.magic) == (88, codec, 0xF0)


def test_manifest() -> None:
    manifest = Manifest(v.LOG, v.COMMON, "demo", (), {"k": '"v"'})
    file = build_manifest(manifest)
    assert file.startswith(v.MANIFEST)
    loaded = load_manifest(file, where(file))
    assert loaded.manifest == manifest
    assert loaded.findings == ()
    value = decoder_for(own_registry(), "ark::logging::Manifest").decode(v.MANIFEST)
    assert encoder_for(own_registry(), "ark::logging::Manifest").encode(value) == v.MANIFEST
    raw = generated(ArkManifest, v.MANIFEST)
    assert raw.name.value == "demo"
    assert [group.header.number for group in raw.groups] == [0, 1]
    assert raw.groups[0].body.num_sections == 0
    assert [(e.key.value, e.value.value) for e in raw.groups[1].body.entries] == [("k", '"v"')]


def test_serializable_file() -> None:
    content, name, registry = b"\xd1" + bytes(40), "crl::knight::PartitionSummary", '{"schemas":[]}'
    data = layout.build_serializable_file(content, name, registry)
    block = 8 + len(name) + len(registry)
    assert data[-29:] == block.to_bytes(4, "little") + unlong(41) + b"\x01" + v.MAGIC
    assert len(data) == 41 + block + 29
    file = layout.parse_serializable_file(data, where(data))
    assert (file.content, file.type_name, file.registry) == (content, name, registry)
    raw = generated(ArkSerializableFile, data)
    assert raw.content == content
    assert raw.trailer.type_name.value == name
    bare = layout.build_serializable_file(content)
    assert layout.parse_serializable_file(bare, where(bare)).content == content
    assert generated(ArkSerializableFile, bare).footer.len_trailer == 0


def unlong(number: int) -> bytes:
    return number.to_bytes(8, "little")


def test_manifest_through_the_file_schema() -> None:
    file = build_manifest(Manifest(v.LOG, v.COMMON, "n", (ManifestSection(),)))
    raw = generated(ArkSerializableFile, file)
    section = raw.manifest.groups[0].body.sections[0]
    assert section.acceptance_filter.minimum_time.is_present == 0
