"""Where bytes are read twice, by a generated class and by a faster twin, both agree on every input."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import kaitaistruct
from exhume_ksy.ark_manifest import ArkManifest
from exhume_ksy.ark_serializable_file import ArkSerializableFile
from exhume_ksy.ark_split import ArkSplit
from exhume_ksy.ark_stored_message import ArkStoredMessage
from hypothesis import given
from hypothesis import strategies as st
from kaitaistruct import KaitaiStream

from exhume.errors import ExhumeError, Span
from exhume.formats.ark import layout, splitindex
from exhume.formats.ark.filters import Filter
from exhume.formats.ark.manifest import (
    Column,
    Manifest,
    ManifestSection,
    ObjectDeclaration,
    SplitDeclaration,
    Statistics,
    build_manifest,
)
from exhume.formats.ark.rbuf import guid_text

GUIDS = st.uuids().map(str)
U8 = st.integers(0, 255)
U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)


def generated(cls: Any, data: bytes) -> Any:
    return cls(KaitaiStream(BytesIO(data)))


def where(data: bytes) -> Span:
    return Span("twin", 0, len(data))


def guid(raw: Any) -> str:
    return guid_text(raw.high.to_bytes(8, "little") + raw.low.to_bytes(8, "little"))


@given(GUIDS, U32, st.integers(0, 238609294), U32, st.lists(st.tuples(st.integers(0, 255), GUIDS), max_size=60))
def test_split_headers(identifier: str, offset: int, count: int, maximum: int, mappings: list[tuple[int, str]]) -> None:
    made = tuple(layout.TypeMapping(short, name, 35 + 18 * n) for n, (short, name) in enumerate(mappings))
    header = layout.SplitHeader(identifier, offset, count, maximum, made, 35 + 18 * len(made))
    raw = layout.build_split_header(header)
    assert layout.parse_split_header(raw + b"\0" * 9, where(raw)) == header
    read = generated(ArkSplit.FileHeader, raw)
    assert guid(read.split_identifier) == identifier
    assert [(m.short_identifier, guid(m.object_identifier)) for m in read.type_mappings] == mappings


@given(
    st.lists(st.tuples(U64, U32, U32, st.integers(0, 255), st.integers(0, 255)), max_size=20), st.binary(max_size=17)
)
def test_index_entries(entries: list[tuple[int, int, int, int, int]], rest: bytes) -> None:
    header = layout.SplitHeader("00000000-0000-4000-8000-000000000000", 35, len(entries), len(entries), (), 35)
    index = b"".join(
        t.to_bytes(8, "little") + o.to_bytes(4, "little") + s.to_bytes(4, "little") + bytes([i, f])
        for t, o, s, i, f in entries
    )
    read = generated(ArkSplit, layout.build_split_header(header) + index + rest)
    assert read.index_bytes == index
    slow = [(e.timestamp_ns, e.ofs_data, e.len_data, e.object_identifier, e.flags) for e in read.index]
    assert [tuple(entry) for entry in splitindex.parse_index(index).tolist()] == slow == entries


@given(st.binary(max_size=40) | st.binary(max_size=30).map(lambda b: b + b"\xf0"))
def test_message_footers(stored: bytes) -> None:
    try:
        fast = layout.parse_message_footer(stored, where(stored))
    except ExhumeError as error:
        assert error.code == "ARK-401"
        assert len(stored) < 6 or stored[-1] != 0xF0
        return
    read = generated(ArkStoredMessage, stored)
    codec = read.footer.codec
    assert (read.footer.len_message, getattr(codec, "value", codec), read.footer.magic) == (fast.size, fast.codec, 0xF0)
    assert read.payload == stored[:-6]


@given(st.binary(max_size=60), st.text(max_size=10), st.text(max_size=20), st.integers(0, 200), st.integers(0, 255))
def test_serializable_files(content: bytes, name: str, registry: str, at: int, value: int) -> None:
    raw = bytearray(layout.build_serializable_file(content, name, registry if name else ""))
    raw[at % len(raw)] = value
    data = bytes(raw)
    try:
        fast = layout.parse_serializable_file(data, where(data))
    except ExhumeError:
        fast = None
    if fast is None or not fast.has_trailer:
        return
    read = generated(ArkSerializableFile, data)
    assert read.content == fast.content
    assert read.footer.version == 1
    if read.footer.len_trailer:
        assert (read.trailer.type_name.value, read.trailer.schema_registry.value) == (fast.type_name, fast.registry)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """Random manifests."""
    text = st.text(max_size=6)
    objects = st.builds(ObjectDeclaration, text, text, GUIDS, text, st.booleans())
    statistics = st.builds(Statistics, GUIDS, U64, U64, U64, U64)
    splits = st.builds(SplitDeclaration, GUIDS, st.lists(statistics, max_size=2).map(tuple))
    column = st.builds(
        Column, text, text, st.lists(objects, max_size=3).map(tuple), st.lists(splits, max_size=3).map(tuple)
    )
    names = st.lists(text, max_size=2).map(tuple)
    filters = st.builds(Filter, st.none() | U64, st.none() | U64, names, names)
    section = st.builds(ManifestSection, st.lists(column, max_size=2).map(tuple), GUIDS, filters)
    return Manifest(
        draw(GUIDS),
        draw(GUIDS),
        draw(text),
        tuple(draw(st.lists(section, max_size=3))),
        draw(st.dictionaries(text, text, max_size=3)),
    )


@given(manifests())
def test_manifests(manifest: Manifest) -> None:
    file = build_manifest(manifest)
    content = layout.parse_serializable_file(file, where(file)).content
    read = generated(ArkManifest, content)
    assert (guid(read.log_identifier), read.name.value) == (manifest.identifier, manifest.name)
    sections, metadata = (group.body for group in read.groups)
    assert {e.key.value: e.value.value for e in metadata.entries} == manifest.metadata
    for raw, section in zip(sections.sections, manifest.sections, strict=True):
        low = raw.acceptance_filter.minimum_time
        assert (low.value if low.is_present else None) == section.filter.minimum_ns
        assert [t.value for t in raw.acceptance_filter.message_deny_list.items] == list(section.filter.deny)
        for raw_column, column in zip(raw.columns, section.columns, strict=True):
            assert raw_column.compression_type.value == column.compression
            found = [
                (o.name.value, guid(o.identifier), bool(o.groups[0].body.latched)) for o in raw_column.object_types
            ]
            assert found == [(o.name, o.identifier, o.latched) for o in column.objects]
            for raw_split, split in zip(raw_column.splits, column.splits, strict=True):
                assert [(s.num_items, s.maximum_time) for s in raw_split.statistics] == [
                    (s.count, s.maximum_ns) for s in split.statistics
                ]


@given(st.binary(max_size=80))
def test_noise_is_refused_by_both(noise: bytes) -> None:
    try:
        layout.parse_split_header(noise, where(noise))
    except ExhumeError:
        try:
            read = generated(ArkSplit.FileHeader, noise)
        except (kaitaistruct.KaitaiStructError, EOFError):
            return
        assert read.format_version != 1
        return
    assert generated(ArkSplit.FileHeader, noise).format_version == 1
