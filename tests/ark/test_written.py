"""Handwritten writers produce what the specifications read."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from exhume_ksy.ark_manifest import ArkManifest
from hypothesis import given
from hypothesis import strategies as st
from kaitaistruct import KaitaiStream

from exhume.errors import Span
from exhume.formats.ark import layout
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
from exhume.formats.ark.rbuf.layout import guid_text

GUIDS = st.uuids().map(str)
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
    assert layout.read_header_by_place(raw) == header._replace(size=35)


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
    filters = st.builds(Filter, st.none() | U64, st.none() | U64, names, names, st.just({}), st.just(b""))
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
                    (s.item_count, s.maximum_ns) for s in split.statistics
                ]
