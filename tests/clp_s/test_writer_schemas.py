"""The read-write classes of the specifications reproduce every section that we write, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.formats.clp_s.names import SECTION_NAMES
from exhume.formats.clp_s.reader import open_archive
from exhume.formats.clp_s.write.options import VERSIONS
from exhume.formats.clp_s.writer import create
from exhume.io.local import FileSource
from tests.toolchain.readwrite import roundtrip

LINES = b"""
{"ts":"2024-01-02T03:04:05.678Z","i":1,"f":2.5,"g":1.23456789012345678901,"b":true,"n":null,"o":{},"s":"one"}
{"ts":1700000000,"i":-9223372036854775808,"f":1e40,"b":false,"t":"n 1.5 x1"}
{"ts":1700000000.25,"a":[1,"x y",{"k":[[],{"z":null}],"q":{"r":1}},[2.5]],"c":[],"d":{"e":{"":"\xc3\xa9"}}}
{}
"""

PAYLOADS = {
    "/schema_tree": "clp_s_schema_tree",
    "/schema_ids": "clp_s_schema_ids",
    "/table_metadata": "clp_s_table_metadata",
}


@pytest.mark.node
@pytest.mark.parametrize("structurize", [False, True])
@pytest.mark.parametrize("version", list(VERSIONS))
@pytest.mark.slow
def test_every_section_written_back(tmp_path: Path, version: str, structurize: bool) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "x.clps"
    source.write_bytes(LINES)
    with create(
        target, version=version, timestamp_key="ts", structurize_arrays=structurize, properties={"user": [1, None]}
    ) as writer:
        writer.add_files([source])
    data = target.read_bytes()
    with open_archive(FileSource(target)) as archive:
        assert len(archive.tables) == 4
        assert roundtrip("clp_s_metadata", archive.metadata_payload) == archive.metadata_payload
        for packet in archive.packets:
            if packet.type in (0, 1, 3):
                assert roundtrip("clp_s_msgpack", packet.body) == packet.body
        for name, schema in PAYLOADS.items():
            payload = archive.read_section(name)
            assert roundtrip(schema, payload) == payload, name
        for name in SECTION_NAMES[3:6]:
            entry = archive.file_entry(name)
            section = data[entry.start : entry.end]
            assert roundtrip("clp_s_dictionary", section) == section, name
            if len(section) > 8:
                entries = bytes(archive.inflate(entry.part(8)))
                assert roundtrip("clp_s_dictionary_entries", entries) == entries, name
                assert roundtrip("zstd_frame", section[8:]) == section[8:], name
        for table in archive.tables:
            types = [spec.type for spec in table.layout.columns]
            payload = bytes(table.load().data)
            assert roundtrip("clp_s_table", payload, table.num_messages, types) == payload
        assert roundtrip("clp_s", data) == data
