"""The share of described bytes that generated code reads does not fall, and what else reads them is said."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest

import exhume
from exhume.errors import Span
from exhume.formats.leveldb.blocks import build_block
from exhume.native import kernel
from tests.archives import own_archives
from tests.conftest import ROOT
from tests.leveldb.crafted import build_batch
from tests.toolchain import reads


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, reads.Share]]:
    return reads.measure(own_archives())


@pytest.fixture(scope="module")
def shares(measured: dict[str, dict[str, reads.Share]]) -> dict[str, reads.Share]:
    return reads.by_schema(measured)


@pytest.mark.slow
def test_readme_states_the_share_of_all(measured: dict[str, dict[str, reads.Share]]) -> None:
    stated = re.search(r"reads (\d+) % of all structure bytes", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert stated is not None
    assert int(stated[1]) == reads.everything(measured).percent


def test_no_share_falls_below_the_table(shares: dict[str, reads.Share]) -> None:
    table = reads.recorded_shares()
    assert len(table) > 20
    now = {schema: share.percent for schema, share in shares.items()}
    assert {schema: (now.get(schema), was) for schema, was in table.items() if now.get(schema, 0) < was} == {}


@pytest.mark.slow
def test_what_else_reads_a_schema_is_stated(shares: dict[str, reads.Share]) -> None:
    assert {schema for schema, share in shares.items() if share.read < share.size} - reads.REST.keys() == set()


def test_a_byte_counts_only_when_a_reader_of_its_schema_went_over_it() -> None:
    path = next(path for path in own_archives() if path.suffix == ".caf")
    layout: Any = import_module("exhume.formats.caf.layout")
    original = layout.read_chunk_footer
    with reads.recorded() as found, exhume.open(path) as archive:
        assert layout.read_chunk_footer is not original
        list(archive.verify())
    assert layout.read_chunk_footer is original
    footer = path.read_bytes()[-4:]
    assert found.over(footer, "caf") == 4
    assert found.over(footer, "uleb128") == found.over(b"none", "caf") == 0
    assert reads.Reads().over(footer, "caf") == 0


def test_what_is_read_when_requested_is_seen_and_rows_of_generated_fields() -> None:
    rbuf: Any = import_module("exhume_ksy.fast.ark_rbuf")
    layout: Any = import_module("exhume.formats.ark.layout")
    data = b"\xd1" + bytes(range(50))
    with reads.recorded() as found:
        value, _ = rbuf.read_ark_rbuf(data, 0, len(data))
        assert found.over(data, "ark_rbuf") == 1
        assert bytes(value.body) == data[1:]
        assert found.over(data, "ark_rbuf") == len(data)
        entries = bytes(range(36))
        assert len(layout.parse_index(entries)) == 2
        assert found.over(entries, "ark_split") == 36


def test_what_the_kernel_reads_is_counted_by_its_pure_form() -> None:
    zs: Any = import_module("exhume.formats.zs.framing")
    original = kernel.split_records
    payload = b"\x03abc\x02de"
    with reads.recorded() as found:
        assert zs.split_records(payload) == kernel.split_records(payload) == [b"abc", b"de"]
    assert found.over(payload, "zs_data_block") == len(payload)
    assert kernel.split_records is original


def test_what_is_unpacked_by_generated_formats_is_seen() -> None:
    layout: Any = import_module("exhume.formats.leveldb.layout")
    block = build_block([(b"key", b"value")])
    batch = build_batch(7, [])
    with reads.recorded() as found:
        layout.parse_tail(block, Span("x", 0, len(block)))
        layout.parse_batch(batch, Span("x", 0, len(batch)))
    assert found.over(block[-8:], "leveldb_block") == 8  # the restart points as well as their number
    assert found.over(batch, "leveldb_write_batch") == len(batch)


def test_parts_of_buffers_are_found_by_their_contents() -> None:
    found = reads.Reads()
    found.add("uleb128", b"0123456789", 2, 4)
    assert found.over(b"ab0123456789cd", "zs_index_block") == 2  # which imports it
    assert found.over(b"3456", "uleb128") == 0  # too short to be told from others
    assert found.over(b"23456789", "uleb128") == 2
    assert found.over(b"0123456789", "utf8_text") == 0


def test_the_table_names_formats_and_schemas() -> None:
    some = {"zs": {"zstd_frame": reads.Share(10, 3), "zs": reads.Share(10, 10), "zs_index_block": reads.Share()}}
    text = reads.table(some, {"zs": {"zs": reads.Share(7, 7)}})
    assert "| zs | 20 | 65 % | 7 | 100 % |" in text
    assert "| - | - |" in reads.table(some, {})
    assert "| `zs` | 10 | 100 % |  |" in text
    assert f"| `zstd_frame` | 10 | 30 % | {reads.REST['zstd_frame']} |" in text
    assert "zs_index_block" not in text
