"""Damaged databases: every rule is reported with its place, the forensic view continues, nothing outside is opened."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from exhume_ksy.fast.leveldb_log import read_leveldb_log

import exhume
from exhume.codecs.checksums import crc32c, mask_crc32c, masked_crc32c
from exhume.engines.explain import Selection, explain_archive
from exhume.errors import ChecksumError, ExhumeError, Span, UnsafePathError, UnsupportedFeatureError
from exhume.findings import Check, CheckOutcome, Finding, Severity
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.blocks import build_block, context_modifier, seal_block
from exhume.formats.leveldb.checks import RULES
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.files import SourcePool
from exhume.formats.leveldb.forensics import find_data_blocks
from exhume.formats.leveldb.log import LogReader
from exhume.formats.leveldb.manifest import replay
from exhume.formats.leveldb.model import Status, Verdict
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.leveldb.table import Table
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.verify import TableVerifier
from exhume.formats.leveldb.wire import Handle, InternalKey, build_bytes, build_varint
from exhume.io.local import LocalTree
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.layout.sections import SectionKind
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome
from exhume.testing.damage import flip, overwrite
from exhume.view.map import VERDICT_COLORS, draw_map, to_svg
from tests.leveldb.crafted import build_batch
from tests.leveldb.make_samples import DELETE, HISTORY, PUT, build_database, build_table, edit, write_files
from tests.real import RealSamples
from tests.sizes import size, some

Files = dict[str, bytes]
Change = Callable[[Files], None]
LIVE = {b"apple": b"golden", b"damson": b"blue" * 20, b"elder": b"black"}
KEY = InternalKey(b"k", 1, 1).build()


def findings(files: Files, limits: Limits = DEFAULT_LIMITS) -> list[Finding]:
    return list(exhume.verify(MemoryTree(files), format="leveldb", limits=limits))


def put(name: str, data: bytes) -> Change:
    return lambda files: files.update({name: data})


def drop(name: str) -> Change:
    def change(files: Files) -> None:
        del files[name]

    return change


def flip_at(name: str, offset: int, mask: int = 0xFF) -> Change:
    return lambda files: files.update({name: flip(files[name], offset, mask)})


def both(*changes: Change) -> Change:
    def change(files: Files) -> None:
        for one in changes:
            one(files)

    return change


def table_of(
    *blocks: tuple[bytes, bytes],
    separator: bytes | None = None,
    properties: list[tuple[bytes, bytes]] | None = None,
    filter: bytes | None = None,
    deleted: list[tuple[bytes, bytes]] | None = None,
    ranges: bytes = b"rocksdb.range_del",
    kind: int | None = None,
    size: int | None = None,
    gap: bytes = b"",
    footer: bytes = b"",
    places: Sequence[Handle] = (),
) -> Change:
    """Replace table 5 by one made of `(contents, index key)`, sealed by hand, so that it may be wrong in any way.

    `places` are the index entries of the first blocks.
    """

    def change(files: Files) -> None:
        out = bytearray()
        index = []
        for number, (contents, key) in enumerate(blocks):
            place = places[number] if number < len(places) else Handle(len(out), size or len(contents))
            index.append((separator or key, place.build()))
            sealed = seal_block(contents)
            if kind is not None:
                stored = contents + bytes((kind,))
                sealed = stored + mask_crc32c(crc32c(stored)).to_bytes(4, "little")
            out += sealed + gap
        meta = []
        if properties is not None:
            block = build_block(properties, 1)
            meta.append((b"rocksdb.properties", Handle(len(out), len(block)).build()))
            out += seal_block(block)
        if deleted is not None:
            block = build_block(deleted, 1)
            meta.append((ranges, Handle(len(out), len(block)).build()))
            out += seal_block(block)
        if filter is not None:
            meta.append((b"filter.leveldb.BuiltinBloomFilter2", Handle(len(out), len(filter)).build()))
            out += seal_block(filter)
        handles = []
        for content in (build_block(meta, 1), build_block(index, 1)):
            handles.append(Handle(len(out), len(content)).build())
            out += seal_block(content)
        out += footer or b"".join(handles).ljust(40, b"\0") + bytes.fromhex("57fb808b247547db")
        files["000005.ldb"] = bytes(out)
        retable(files)

    return change


PROPERTIES = {
    "external": b"rocksdb.external_sst_file.version",
    "number": b"rocksdb.external_sst_file.global_seqno",
    "index": b"rocksdb.block.based.table.index.type",
    "apart": b"rocksdb.separate.key.value.in.data.block",
}


def rocks(*blocks: tuple[bytes, bytes], checksum: int = 1, **properties: bytes) -> Change:
    """The same as `table_of` with RocksDB's footer of version 2, and with properties."""
    named = sorted((PROPERTIES[name], value) for name, value in properties.items())

    def change(files: Files) -> None:
        table_of(*blocks, properties=named)(files)
        table = files["000005.ldb"]
        files["000005.ldb"] = (
            table[:-48] + bytes((checksum,)) + table[-48:-8] + b"\2\0\0\0" + bytes.fromhex("f7cff485b741e288")
        )
        retable(files)

    return change


def blob_file(value: bytes = b"a large value", key: bytes = b"k", compression: int = 0) -> bytes:
    """A blob file with one value, made by hand."""
    sizes = len(key).to_bytes(8, "little") + len(value).to_bytes(8, "little") + bytes(8)
    head = b"".join(masked_crc32c(checked).to_bytes(4, "little") for checked in (sizes, key + value))
    magic = bytes.fromhex("378f2400")
    last = magic + (1).to_bytes(8, "little") + bytes(16)
    header = magic + b"\1" + bytes(8) + bytes((compression,)) + bytes(16)
    return header + sizes + head + key + value + last + masked_crc32c(last).to_bytes(4, "little")


def blob_index(offset: int = 63, size: int = 13, number: int = 9, kind: int = 1) -> bytes:
    return bytes((kind,)) + b"".join(map(build_varint, (number, offset, size))) + b"\0"


def blobs(index: bytes | None = None, data: bytes | None = None, garbage: int = 0, *, named: bool = True) -> Change:
    """Table 5 refers to a value in blob file 9, which the manifest names, unless it was repaired by RocksDB."""

    def change(files: Files) -> None:
        table_of((build_block([(InternalKey(b"k", 1, 17).build(), index or blob_index())]), KEY))(files)
        files["000009.blob"] = blob_file() if data is None else data
        record = edit(log=6, last=6, following=10, tables=[(1, 5, len(files["000005.ldb"]), key_of(b"a"), KEY)])
        record = record.replace(b"\x07\x01\x05", b"\x67\x01\x05") + b"\1\1\4\1\x09\1"  # with its oldest blob file
        if named:
            record += b"\x90\3\x09\1\x2e\0\0\0"
        if garbage:
            record += b"\x91\3\x09" + build_varint(garbage) + b"\x2e\0"
        files["MANIFEST-000004"] = build_log([record])

    return change


def retable(files: Files, **values: Any) -> None:
    """A manifest that fits the table that is there."""
    table = files["000005.ldb"]
    small, large = (
        values.get("small", InternalKey(b"a", 100, 1).build()),
        values.get("large", InternalKey(b"k", 1, 1).build()),
    )
    record = edit(log=6, last=values.get("last", 6), following=7, tables=[(1, 5, len(table), small, large)])
    if "numbers" in values:  # the form of RocksDB, with the smallest and the largest sequence number
        record = record.replace(b"\x07\x01\x05", b"\x64\x01\x05") + b"".join(map(build_varint, values["numbers"]))
    files["MANIFEST-000004"] = build_log([record])


def manifest(*records: bytes) -> Change:
    return lambda files: files.update({"MANIFEST-000004": build_log(list(records))})


def log(data: bytes) -> Change:
    return put("000006.log", data)


def fragment(kind: int, data: bytes) -> bytes:
    body = bytes((kind,)) + data
    return mask_crc32c(crc32c(body)).to_bytes(4, "little") + len(data).to_bytes(2, "little") + body


def recycled(number: int, data: bytes) -> bytes:
    """A record in the form of recycled logs."""
    body = b"\5" + number.to_bytes(4, "little") + data
    return mask_crc32c(crc32c(body)).to_bytes(4, "little") + len(data).to_bytes(2, "little") + body


def rocks_footer(version: int, checksum: int = 1) -> bytes:
    handles = (Handle(0, 8).build() + Handle(0, 8).build()).ljust(40, b"\0")
    return bytes((checksum,)) + handles + version.to_bytes(4, "little") + bytes.fromhex("f7cff485b741e288")


def sealed_footer() -> bytes:
    body = b"\x3e\0\x7a\0" + b"WRNG" + bytes(4) + (8).to_bytes(4, "little")
    return b"\x01" + body.ljust(40, b"\0") + (6).to_bytes(4, "little") + bytes.fromhex("f7cff485b741e288")


def fixed(offset: int, new: bytes) -> Change:
    """Overwrite part of the table's footer, which no checksum covers."""
    return lambda f: f.update({"000005.ldb": overwrite(f["000005.ldb"], len(f["000005.ldb"]) + offset, new)})


GOOD = build_block([(KEY, b"v")])
OTHER = build_block([(InternalKey(b"a", 1, 1).build(), b"v")])
TABLE = (1, 5, 474, InternalKey(b"a", 9, 1).build(), InternalKey(b"z", 1, 1).build())
WIDER = (1, 5, 474, InternalKey(b"Z", 9, 1).build(), InternalKey(b"z", 1, 1).build())
TWICE = edit(log=6, last=6, following=7, tables=[TABLE, TABLE])
BOMB = (build_varint(0) + build_varint(900) + b"\0" + b"k" * 900
        + (build_varint(900) + b"\0\0") * 30 + bytes(4) + b"\1\0\0\0")  # fmt: skip
"""A block whose keys take 27,000 bytes."""

CASES: list[tuple[str, Change]] = [
    ("LDB-101", drop("CURRENT")),
    ("LDB-101", put("CURRENT", b"MANIFEST-000004")),
    ("LDB-101", put("CURRENT", b"\n")),
    ("LDB-102", put("CURRENT", b"MANIFEST-000099\n")),
    ("LDB-102", put("CURRENT", b"MANIFEST-000004\r\n")),
    ("LDB-102", put("CURRENT", b"MANIFEST-000004\n\n")),
    ("LDB-103", manifest(b"\x01" + build_bytes(b"my_order") + b"\x02\x06\x03\x07\x04\x06")),
    ("LDB-104", lambda f: f.update({"000005.ldb": f["000005.ldb"][:-1]})),
    ("LDB-105", table_of((GOOD, KEY), footer=rocks_footer(99))),
    ("LDB-106", table_of((GOOD, KEY), kind=6)),
    ("LDB-107", table_of((GOOD, KEY), footer=rocks_footer(2, checksum=77))),
    ("LDB-108", log(fragment(77, b"x") + build_log([build_batch(7, [(PUT, b"k", b"v")])]))),
    ("LDB-121", fixed(-8, bytes.fromhex("6495bf6396224282"))),
    ("LDB-121", fixed(-8, bytes.fromhex("b8138f7aeb18344f"))),
    ("LDB-121", fixed(-8, bytes.fromhex("7378f1c5d0896792"))),
    ("LDB-121", fixed(-8, bytes.fromhex("f09faab3f09faab3"))),
    ("LDB-124", put("marker.format-version.000012.013", b"")),
    ("LDB-122", table_of((GOOD[:-1] + b"\x10", KEY))),
    ("LDB-122", rocks((GOOD, KEY), index=((4).to_bytes(4, "little")))),
    ("LDB-122", rocks((GOOD, KEY), apart=b"\x01")),
    ("LDB-122", rocks((GOOD, KEY), external=(9).to_bytes(4, "little"))),
    ("LDB-109", log(fragment(9, b"\4\0\0\0") + build_log([build_batch(7, [(PUT, b"k", b"v")])]))),
    ("LDB-109", log(fragment(9, b"\7"))),
    ("LDB-110", log(fragment(10, b"odd"))),
    ("LDB-111", log(build_log([build_batch(7, [])[:8] + b"\1\0\0\0\x63"]))),
    ("LDB-302", log(build_log([build_batch(7, [])]) + fragment(9, b"\7\0\0\0"))),
    ("LDB-326", log(fragment(9, b"\7\0\0\0") + build_log([build_batch(7, [(PUT, b"k", b"v")])]))),
    ("LDB-405", log(recycled(6, build_batch(7, [])) + recycled(4, build_batch(5, [])))),
    ("LDB-123", blobs(b"\2\5" + blob_index()[1:])),
    ("LDB-123", blobs(b"\0\7value")),
    ("LDB-123", blobs(blob_index(number=0))),
    ("LDB-201", flip_at("000006.log", 20)),
    ("LDB-202", flip_at("000005.ldb", 20)),
    ("LDB-203", table_of((GOOD, KEY), footer=sealed_footer())),
    ("LDB-211", both(blobs(), flip_at("000009.blob", 55))),
    ("LDB-211", both(blobs(), flip_at("000009.blob", 70))),
    ("LDB-301", log(bytes.fromhex("00000000ffff01") + bytes(40_000))),
    ("LDB-302", log(fragment(4, b"the end of something") + fragment(1, build_batch(7, [])))),
    ("LDB-302", log(fragment(2, b"start") + fragment(1, build_batch(7, [])))),
    ("LDB-303", log(fragment(1, build_batch(7, [(PUT, b"k", b"v")]))[:-3])),
    ("LDB-303", log(fragment(2, b"start"))),
    ("LDB-304", log(fragment(1, build_batch(7, [])) + bytes(7) + b"junk after zeros")),
    ("LDB-305", log(build_log([b"short"]))),
    ("LDB-305", log(build_log([build_batch(7, [])[:8] + b"\1\0\0\0\x01\xff\xff\xff\xff\x0fk"]))),
    ("LDB-305", log(build_log([build_batch(1 << 56, [(PUT, b"k", b"v")])]))),
    ("LDB-305", log(build_log([build_batch((1 << 64) - 1, [(PUT, b"k", b"v"), (PUT, b"l", b"w")])]))),
    ("LDB-306", log(build_log([overwrite(build_batch(7, [(PUT, b"k", b"v")]), 8, b"\x05")]))),
    ("LDB-112", manifest(edit(log=6, last=6, following=7, tables=[]), b"\x08\x01")),
    ("LDB-307", manifest(edit(log=6, last=6, following=7, tables=[]), b"\x07\x01\x05")),
    ("LDB-308", manifest(edit(log=6, last=6, following=7, tables=[]), b"\x04\x01")),
    ("LDB-308", manifest(b"\x02\x06")),
    ("LDB-308", manifest(edit(log=6, last=6, following=3, tables=[TABLE]))),
    ("LDB-309", manifest(edit(log=6, last=6, following=7, tables=[TABLE]), b"\x06\x00\x63")),
    ("LDB-309", manifest(edit(log=6, last=6, following=7, tables=[TABLE, WIDER]))),
    ("LDB-309", manifest(TWICE + b"\x0a\x06")),  # as RocksDB would write it
    ("LDB-113", both(drop("000006.log"), put("OPTIONS-000009", b"[DBOptions]\n  wal_dir=/var/logs\n"))),
    ("LDB-114", both(put("OPTIONS-000009", b'[CFOptions "default"]\n  inplace_update_support=true\n'), log(build_log(
        [build_batch(7, [(PUT, b"k", b"1"), (15, b"a", b"z"), (PUT, b"k", b"2")])])))),
    ("LDB-115", both(drop("000006.log"), put("OPTIONS-000009", b"[DBOptions]\n  wal_dir=\n"))),
    ("LDB-115", drop("000006.log")),
    ("LDB-310", drop("000005.ldb")),
    ("LDB-310", both(blobs(), drop("000009.blob"))),
    ("LDB-311", lambda f: f.update({"000005.ldb": b"more" + f["000005.ldb"]})),
    ("LDB-312", both(table_of((GOOD, KEY)), lambda f: retable(f, large=InternalKey(b"j", 1, 1).build()))),
    ("LDB-312", both(table_of((GOOD, KEY)), lambda f: retable(f, large=InternalKey(b"z", 1, 1).build()))),
    ("LDB-313", manifest(edit(log=6, last=6, following=9, tables=[TABLE, (1, 8, 1, TABLE[3], TABLE[4])]))),
    ("LDB-314", fixed(-48, b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01")),
    ("LDB-315", table_of((b"\xff\xff\xff\xff\xff" + GOOD[5:], KEY))),
    ("LDB-315", table_of((b"\x05" + GOOD[1:], KEY))),
    ("LDB-315", table_of((build_block([(b"short", b"")]), KEY))),
    ("LDB-315", table_of((b"\xff\xff\xff\x7f", KEY))),
    ("LDB-316", table_of((b"\x40 not snappy", KEY), kind=1)),
    ("LDB-503", table_of((b"\xff\xff\xff\xff\x0f bomb", KEY), kind=1)),
    ("LDB-317", table_of((GOOD, KEY), (OTHER, KEY))),
    ("LDB-317", table_of((build_block([(KEY, b"v"), (KEY, b"w")]), KEY))),
    ("LDB-318", table_of((GOOD, KEY), separator=InternalKey(b"a", 1, 1).build())),
    ("LDB-319", table_of((GOOD[:-8] + b"\x03\0\0\0\1\0\0\0", KEY))),
    ("LDB-320", table_of((GOOD, KEY), gap=b"gap")),
    ("LDB-321", table_of((GOOD, KEY), properties=[(b"rocksdb.num.entries", b"\x63")])),
    ("LDB-322", both(table_of((build_block([(InternalKey(b"k", 1 << 40, 1).build(), b"v")]), KEY)))),
    ("LDB-323", lambda f: f.update({"000005.sst": f["000005.ldb"]})),
    ("LDB-324", fixed(-10, b"!")),
    ("LDB-325", put("000005.ldb", b"tiny")),
    ("LDB-341", both(blobs(), flip_at("000009.blob", 0))),
    ("LDB-341", blobs(blob_index(offset=62))),
    ("LDB-341", blobs(blob_index(offset=500))),
    ("LDB-341", blobs(data=blob_file(compression=7))),
    ("LDB-341", blobs(named=False)),
    ("LDB-342", blobs(b"\1\x09")),
    ("LDB-342", blobs(b"\7\x09\1\1\0")),
    ("LDB-344", blobs(data=blob_file()[:80] + b"more")),
    ("LDB-309", blobs(garbage=2)),
    ("LDB-343", both(rocks((GOOD, KEY), external=(2).to_bytes(4, "little"), number=(5).to_bytes(8, "little")),
                     lambda f: retable(f, numbers=(6, 6)))),
    ("LDB-401", put("000002.log", b"")),
    ("LDB-402", lambda f: f.update({"000099.ldb": f["000005.ldb"]})),
    ("LDB-406", lambda f: f.update({"lost/000005.ldb": f["000005.ldb"]})),
    ("LDB-407", rocks((GOOD, KEY), checksum=0)),
    ("LDB-404", log(build_log([build_batch(7, [])[:8] + b"\1\0\0\0\2" + build_bytes(b"k") + build_bytes(b"v")]))),
    ("LDB-403", table_of((build_block([(InternalKey(b"k", 1, 99).build(), b"v")]), KEY))),
    ("LDB-501", put("CURRENT", b"../../etc/passwd\n")),
    ("LDB-501", put("CURRENT", b"/etc/passwd\n")),
    ("LDB-501", put("CURRENT", b"MANIFEST-1/../../x\n")),
    ("LDB-502", table_of((BOMB, KEY))),
]  # fmt: skip


def item(key: bytes, sequence: int = 1, kind: int = 1) -> tuple[bytes, bytes]:
    return InternalKey(key, sequence, kind).build(), b"v"


def key_of(key: bytes) -> bytes:
    return item(key)[0]


WIDE = build_block([item(b"a"), item(b"z")])
UNSPLIT = b"\xff\xff\xff\xff\xff" + GOOD[5:]
BLOOM = bytes([0x25, 0x10, 0x83, 0x4C, 6]) + (0).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"\x0b"

VARIANTS: dict[str, Change] = {
    "older manifest damaged": lambda f: f.update({"MANIFEST-000001": flip(f["MANIFEST-000004"], 20)}),
    "older manifest": lambda f: f.update({"MANIFEST-000001": f["MANIFEST-000004"]}),
    "obsolete log damaged": flip_at("000003.log", 20),
    "table of no manifest damaged": lambda f: f.update({"000099.ldb": flip(f["000005.ldb"], 20)}),
    "obsolete log is newer": both(table_of((build_block([item(b"k", 50)]), KEY)),
                                  put("000003.log", build_log([build_batch(100, [(PUT, b"k", b"v")])]))),
    "a little newer than the log": table_of((build_block([item(b"k", 12)]), KEY)),
    "two blocks that cannot be split": table_of((UNSPLIT, key_of(b"j")), (UNSPLIT, KEY)),
    "two wrong restart points": table_of((GOOD[:-8] + b"\x03\0\0\0\x05\0\0\0\2\0\0\0", KEY)),
    "empty block": table_of((bytes(4) + b"\1\0\0\0", key_of(b"b")), (GOOD, KEY)),
    "the same block twice": table_of((GOOD, KEY), (GOOD, KEY)),
    "below the block before": table_of((GOOD, KEY), (WIDE, key_of(b"z"))),
    "above its separator": table_of((WIDE, key_of(b"m"))),
    "below the smallest key": both(table_of((build_block([item(b"a"), item(b"k")]), KEY)),
                                   lambda f: retable(f, small=key_of(b"ab"))),
    "above the largest key": both(table_of((build_block([item(b"a"), item(b"k\0")]), key_of(b"k\0"))),
                                  lambda f: retable(f)),
    "filter": table_of((GOOD, KEY), filter=BLOOM),
    "filter cut": table_of((GOOD, KEY), filter=BLOOM[:3]),
    "filter out of order": table_of((GOOD, KEY), filter=BLOOM[:5] + b"\xff" * 8 + b"\x0b"),
    "filter damaged": both(table_of((GOOD, KEY), filter=BLOOM), flip_at("000005.ldb", len(GOOD) + 6)),
    "one key in two blocks": table_of((build_block([item(b"k", 5)]), KEY), (build_block([item(b"k", 3)]), KEY)),
    "no last sequence": both(table_of((GOOD, KEY)), log(b""), lambda f: f.update({"MANIFEST-000004": build_log([
        edit(log=6, last=6, following=7, tables=[(1, 5, len(f["000005.ldb"]), key_of(b"a"), KEY)]).replace(
            b"\x04\x06", b"", 1)])})),
    "no last sequence, and a number of zero": both(
        table_of((build_block([item(b"k", 0)]), key_of(b"k"))), log(b""), lambda f: f.update({
            "MANIFEST-000004": build_log([edit(log=6, last=6, following=7, tables=[
                (1, 5, len(f["000005.ldb"]), key_of(b"a"), item(b"k", 0)[0])]).replace(b"\x04\x06", b"", 1)])})),
    "an unknown type with the last number, counted": table_of(
        (build_block([item(b"k", 6, 99)]), KEY), properties=[(b"rocksdb.num.entries", b"\x01")]),
    "an unknown type behind a newer version": table_of(
        (build_block([item(b"k", 5)]), KEY), (build_block([item(b"k", 3), item(b"k", 2, 99)]), KEY)),
    "deleted ranges are counted": table_of((GOOD, KEY), properties=[
        (b"rocksdb.num.entries", b"\x03"), (b"rocksdb.num.range-deletions", b"\x02")]),
    "a deleted range reaches the largest key": both(
        table_of((GOOD, KEY), deleted=[(InternalKey(b"k", 2, 15).build(), b"z")]),
        lambda f: retable(f, large=key_of(b"z"))),
    "a block that passes the end of the file": table_of((GOOD, KEY), size=1 << 20),
    "type three": table_of((build_block([item(b"k", 1, 3)]), KEY)),
    "a damaged block, then a wrong one": both(table_of((GOOD, key_of(b"b")), (WIDE, key_of(b"m"))),
                                              flip_at("000005.ldb", 2)),
    "the second block damaged": both(table_of((OTHER, key_of(b"a")), (GOOD, KEY)),
                                     flip_at("000005.ldb", len(OTHER) + 7)),
    "tombstones of one key": table_of((build_block([item(b"k", 3, 0), item(b"k", 2, 1)]), KEY)),
}  # fmt: skip
"""More damage, for what several rules together, or the words of a finding, depend on."""


@pytest.mark.parametrize(("code", "change"), CASES, ids=[f"{code}-{n}" for n, (code, _) in enumerate(CASES)])
@pytest.mark.slow
def test_each_rule_is_reported_and_the_reader_continues(code: str, change: Change) -> None:
    files = build_database()
    change(files)
    limits = Limits(structure_size=20_000) if code == "LDB-502" else DEFAULT_LIMITS
    found = findings(files, limits)
    reported = [f for f in found if f.code == code]
    assert reported, [str(f) for f in found]
    assert reported[0].span is not None
    assert reported[0].spec_ref
    assert "\n" not in str(reported[0])
    database = Database(MemoryTree(files), limits=limits)
    list(database.versions())  # the forensic view never raises for damage
    severe = [f for f in found if f.severity is Severity.ERROR]
    if severe:
        try:
            list(database.scan())
        except ExhumeError as error:
            assert error.code in {f.code for f in found} | {"EX-501"}
    with LevelDbArchive(MemoryTree(files), limits=limits) as archive:
        archive.info().to_dict()
        archive.stats()
        assert archive.sections().coverage().total == sum(map(len, files.values()))


def test_a_table_that_leveldb_lists_twice_is_one_table() -> None:
    """As goleveldb does when it opens a database: its first edit has what it recovered, then all tables."""
    files = build_database()
    rows = list(Database(MemoryTree(files)).scan())
    [known] = replay(BytesSource(files["MANIFEST-000004"])).tables
    table = (known.level, known.number, known.size, known.smallest, known.largest)
    once = edit(log=6, last=6, following=7, tables=[table])
    for records in ([edit(log=6, last=6, following=7, tables=[table, table])], [once, once]):
        manifest(*records)(files)
        assert [f for f in findings(files) if f.severity is not Severity.NOTE] == []
        assert list(Database(MemoryTree(files)).scan()) == rows


@pytest.mark.parametrize("kind", [10, 11, 33, 34, 130, 131, 200])
def test_what_a_log_states_about_itself_is_passed_over(kind: int) -> None:
    """RocksDB's fragments with or without the number of the log; its first versions numbered 130 and 131 as 33, 34."""
    number = b"" if kind in (10, 33, 130, 200) else (6).to_bytes(4, "little")
    body = bytes((kind,)) + number + b"\2\0\0\0\x08\0"
    note = mask_crc32c(crc32c(body)).to_bytes(4, "little") + (6).to_bytes(2, "little") + body
    writes = []
    for sequence in (7, 8):
        batch = build_batch(sequence, [(PUT, b"k%d" % sequence, b"v")])
        own = b"\5" + (6).to_bytes(4, "little") + batch
        writes.append(mask_crc32c(crc32c(own)).to_bytes(4, "little") + len(batch).to_bytes(2, "little") + own)
    data = note + writes[0] + note + writes[1] + note
    assert [record.payload[0] for record in LogReader(BytesSource(data))] == [7, 8]
    blocks = read_leveldb_log(data, 0, len(data))[0].blocks or []
    assert [one.fragment_type for one in blocks[0].fragments or []] == [kind, 5, kind, 5, kind]
    files = build_database()
    log(data)(files)
    assert {f.code for f in findings(files)} == {"LDB-401"}
    torn = LogReader(BytesSource(b"\xff" * 9 + data), checks.ignore)
    assert [record.payload[0] for record in torn] == [7, 8]
    assert torn.lost == (9 if kind != 200 else 9 + len(note))


def test_sequence_numbers_at_their_end() -> None:
    files = build_database()
    log(build_log([build_batch((1 << 56) - 1, [(PUT, b"k", b"v"), (PUT, b"l", b"w")])]))(files)
    versions = {v.key: v.sequence for v in Database(MemoryTree(files)).versions() if v.key in (b"k", b"l")}
    assert versions == {b"k": (1 << 56) - 1, b"l": 0}  # there is no following one


def test_a_strict_reader_raises_what_verify_reports() -> None:
    reported: list[Finding] = []
    facts: dict[str, Any] = {"span": Span("x", 1, 2), "expected": 3, "actual": 4}
    checks.collector(reported.append)(checks.LOG_CRC, "why", **facts)
    for reader in (checks.strict, checks.raise_rule):
        with pytest.raises(ChecksumError) as caught:
            reader(checks.LOG_CRC, "why", **facts)
        assert [Finding.from_error(caught.value)] == reported
    checks.strict(checks.OBSOLETE, **facts)
    checks.ignore(checks.LOG_CRC, **facts)
    with pytest.raises(ExhumeError):
        checks.raise_rule(checks.OBSOLETE, **facts)


def test_every_rule_has_a_case() -> None:
    assert {rule.code for rule in RULES} == {code for code, _ in CASES}


def test_the_undamaged_database_is_clean() -> None:
    assert {f.code for f in findings(build_database())} == {"LDB-401"}
    assert dict(Database(MemoryTree(build_database())).scan()) == LIVE


@pytest.mark.parametrize("codec", ["none", "snappy"])
@pytest.mark.slow
def test_flips_everywhere_are_found_or_harmless(codec: str) -> None:
    files = build_database(codec=codec)
    clean = {str(f) for f in findings(files)}
    for name, at in some((name, at) for name, data in files.items() for at in range(0, len(data), size(7, 1))):
        broken = {**files, name: flip(files[name], at, (0xFF, 1, 0x80, 8)[at % 4])}
        found = [f for f in findings(broken) if str(f) not in clean]
        if found:
            list(Database(MemoryTree(broken)).versions())
        assert found or dict(Database(MemoryTree(broken)).scan()) == LIVE, (name, at)


@pytest.mark.slow
def test_cuts_everywhere_are_found_or_end_a_log() -> None:
    files = build_database()
    clean = {str(f) for f in findings(files)}
    step = size(7, 1)
    for name, length in some((name, at) for name, data in files.items() for at in range(0, len(data), step)):
        broken = {**files, name: files[name][:length]}
        found = [f for f in findings(broken) if str(f) not in clean]
        versions = list(Database(MemoryTree(broken)).versions())
        # A log may end between any two records, an unused one anywhere.
        assert found or name.endswith(".log"), (name, length)
        if name == "000006.log":
            assert {v.key for v in versions if v.place.level == 1} == {key for key, _, _, _ in HISTORY}


def checked_footers(files: Files) -> list[tuple[str, Check]]:
    """What `explain` says of the checksums in the footers of tables."""
    with exhume.open(MemoryTree(files), format="leveldb") as archive:
        explained = [one for one in explain_archive(archive, Selection()) if one.section.name.endswith("/footer")]
    fields = [field for one in explained for tree in one.trees() for _, field in tree.walk()]
    return [(field.checksum, field.check) for field in fields if field.name == "footer_checksum" and field.check]


def test_the_checksum_of_a_footer_is_explained(real_samples: RealSamples) -> None:
    """RocksDB version 6: it matches, does not (verify says the same), or there is no way to compute it."""
    folder = real_samples.path("leveldb", "rocksdb-zstd") / "db"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    found = checked_footers(files)
    assert found
    assert {(name, check.outcome) for name, check in found} == {("XXH3, low half", CheckOutcome.MATCHES)}
    name, data = next((name, data) for name, data in files.items() if name.endswith(".sst"))
    for at, outcome, reason in (
        (-53 + 1 + 4, CheckOutcome.MISMATCH, ""),
        (-53, CheckOutcome.NOT_CHECKED, "a kind that exhume does not know, type-5"),
        (-53, CheckOutcome.MISMATCH, ""),
    ):
        new = bytes([data[at] ^ 1]) if at != -53 else b"\5" if reason else b"\0"
        broken = {name: overwrite(data, len(data) + at, new)}
        ((_, check),) = checked_footers(broken)
        assert (check.outcome, check.reason) == (outcome, reason)
        reported = [f for f in findings(broken) if f.code == "LDB-203"]
        assert [(f.expected, f.actual) for f in reported] == [(check.expected, check.actual)][: not reason]
    base = int.from_bytes(data[-53 + 9 : -53 + 13], "little")  # what RocksDB writes for a table without checksums
    stored = context_modifier(base, len(data) - 53).to_bytes(4, "little")
    unsealed = {name: overwrite(data, len(data) - 53, b"\0" + data[-52:-48] + stored)}
    assert [check.outcome for _, check in checked_footers(unsealed)] == [CheckOutcome.MATCHES]


def test_a_bad_block_loses_only_itself() -> None:
    files = build_database()
    files["000005.ldb"] = flip(files["000005.ldb"], 90)  # in the second block
    database = Database(MemoryTree(files))
    with pytest.raises(ChecksumError) as caught:
        list(database.scan())
    assert caught.value.code == "LDB-202"
    versions = list(database.versions())
    good = {(v.key, v.sequence) for v in versions if v.checksum is Verdict.GOOD}
    assert {(b"apple", 6), (b"apple", 1), (b"elder", 7), (b"apple", 9)} <= good
    assert database.get(b"apple") == b"golden"  # the damaged block is not needed for it


def test_a_table_without_footer_is_read_by_its_blocks() -> None:
    files = build_database()
    files["000005.ldb"] = files["000005.ldb"][:-60]
    versions = [v for v in Database(MemoryTree(files)).versions() if v.place.level == 1]
    assert {(v.key, v.sequence, v.value) for v in versions} == {(k, n, value) for k, n, _, value in HISTORY}
    assert {v.checksum for v in versions} == {Verdict.GOOD}


def test_blocks_are_found_in_a_torn_table() -> None:
    entries = [(b"key%05d" % n, n + 1, PUT, b"value %d" % n * 5) for n in range(2000)]
    for codec in ("none", "snappy"):
        table, _ = build_table(entries, codec, 1000)
        torn = b"garbage" * 11 + table[5000:-100]
        found = list(find_data_blocks(Table(BytesSource(torn))))
        keys = {item[0] for block in found for item in Table(BytesSource(torn)).block_items(block, 0)[0]}
        assert 1500 < len(keys) < 2000 if codec == "none" else len(keys) > 500
        assert keys <= {key for key, _, _, _ in entries}


def test_a_log_continues_after_damage_in_the_middle() -> None:
    records = [build_batch(n, [(PUT, b"key%d" % n, b"v" * 100)]) for n in range(1, 1000)]
    data = build_log(records)
    files = build_database()
    for broken in (flip(data, 50_000), data[:40_000] + bytes(600) + data[40_600:], flip(flip(data, 45_004), 45_005)):
        files["000006.log"] = broken
        found = list(Database(MemoryTree(files)).versions())
        keys = {v.key for v in found if v.place.file == "000006.log" and v.checksum is Verdict.GOOD}
        assert len(keys) >= 985
        with pytest.raises(ExhumeError):
            list(Database(MemoryTree(files)).scan())


def test_a_lost_manifest_leaves_everything_readable(tmp_path: Path) -> None:
    files = build_database()
    del files["MANIFEST-000004"]
    database = Database(MemoryTree(files))
    with pytest.raises(ExhumeError):
        list(database.scan())
    assert {v.status for v in database.versions()} == {Status.UNREFERENCED}
    assert {(v.key, v.sequence) for v in database.versions()} >= {(k, n) for k, n, _, _ in HISTORY}
    state = {v.key: v.value for v in database.state(unreferenced=True)}
    assert state == LIVE


def test_links_out_of_the_directory_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path / "db", build_database())
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "db" / "CURRENT").unlink()
    (tmp_path / "db" / "CURRENT").symlink_to(tmp_path / "secret")
    with pytest.raises(UnsafePathError):
        Database(LocalTree(tmp_path / "db"))
    assert [f.code for f in exhume.verify(tmp_path / "db", format="leveldb")] == ["EX-503"]


def test_sequence_rules() -> None:
    """dacha assigns all operations of a batch one number, and of two writes to one key in a batch the first wins."""
    per_operation = [build_batch(7, [(PUT, b"a", b"1"), (PUT, b"a", b"2")]), build_batch(9, [(PUT, b"b", b"")])]
    per_batch = [build_batch(7, [(PUT, b"a", b"1"), (PUT, b"a", b"2")]), build_batch(8, [(PUT, b"b", b"")])]
    files = build_database()
    for records, rule, live in ((per_operation, "per-operation", b"2"), (per_batch, "per-batch", b"1")):
        files["000006.log"] = build_log(records)
        database = Database(MemoryTree(files))
        loaded = database.load_log(
            database.logs()[0] if database.logs() else next(f for f in database.files if f.name == "000006.log")
        )
        assert (str(loaded.rule), database.get(b"a")) == (rule, live)
        assert loaded.evidence
    files["000006.log"] = build_log(per_batch)
    from exhume.formats.leveldb.model import SequenceRule

    assert Database(MemoryTree(files), sequence_rule=SequenceRule.PER_OPERATION).get(b"a") == b"2"
    assert [(v.sequence, v.operation) for v in Database(MemoryTree(files)).history(b"a")] == [(7, 0), (7, 1)]


def test_an_unknown_comparator_is_read_whole() -> None:
    entries = [(b"zebra", 1, PUT, b"1"), (b"apple", 2, PUT, b"2")]
    block = build_block([(InternalKey(k, n, t).build(), v) for k, n, t, v in entries])
    files = build_database()
    table_of((block, InternalKey(b"apple", 2, 1).build()))(files)
    counters = b"\x01" + build_bytes(b"idb_cmp1") + b"\x02\x06\x03\x07\x04\x02"
    added = b"\x07\x01\x05" + build_varint(len(files["000005.ldb"])) + build_bytes(KEY) + build_bytes(KEY)
    files["MANIFEST-000004"] = build_log([counters + added])
    files["000006.log"] = build_log([build_batch(3, [(DELETE, b"zebra", b"")])])
    database = Database(MemoryTree(files))
    assert {(v.key, str(v.status)) for v in database.versions() if v.place.referenced} == {
        (b"zebra", "tombstone"), (b"zebra", "deleted"), (b"apple", "live"),
    }  # fmt: skip


def test_many_tables_need_few_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.formats.leveldb.files.MOST_OPEN", 10)
    for number in range(300):
        (tmp_path / f"{number:06d}.ldb").write_bytes(b"%d" % number * 9)
    pool = SourcePool(LocalTree(tmp_path))
    sources = [pool.source(f"{number:06d}.ldb") for number in range(300)]
    assert len(pool._open) == 10
    for number in (0, 299, 5, 0, 150):
        assert sources[number].read_at(0, sources[number].size) == b"%d" % number * 9
    assert len(pool._open) == 10
    pool.close()


def test_a_current_file_that_opening_need_not_read_is_verified(tmp_path: Path) -> None:
    """Its size in the listing is that of a file which names the only manifest."""
    files = build_database() | {"CURRENT": b"MANIFEST-000099\n"}
    write_files(tmp_path / "db", files)
    exhume.open(tmp_path / "db").close()
    assert "LDB-102" in [finding.code for finding in exhume.verify(tmp_path / "db")]


def test_current_may_name_the_manifest_anything_in_the_directory() -> None:
    """LevelDB opens whatever file of the directory it names."""
    files = build_database()
    files["my manifest"] = files.pop("MANIFEST-000004")
    files["CURRENT"] = b"my manifest\n"
    assert [f.code for f in findings(files) if f.severity is not Severity.NOTE] == []
    assert dict(Database(MemoryTree(files)).scan()) == LIVE


def test_a_version_of_an_unknown_type_is_never_live(tmp_path: Path) -> None:
    files = build_database()
    table_of((build_block([(InternalKey(b"k", 6, 99).build(), b"v"), (InternalKey(b"k", 2, 1).build(), b"w")]), KEY))(
        files
    )
    statuses = {v.sequence: v.status for v in Database(MemoryTree(files)).versions() if v.key == b"k"}
    assert statuses == {6: Status.UNRESOLVED, 2: Status.REPLACED}
    report = exhume.salvage(MemoryTree(files), tmp_path / "out", format="leveldb")
    assert report.lost["values that cannot be determined"] == 1
    assert b"k" not in dict(Database(LocalTree(tmp_path / "out")).scan())


def test_a_blob_file_alone() -> None:
    data = blob_file()
    assert exhume.identify(data)[0].format == "leveldb"
    with exhume.open(data) as archive:
        assert list(archive.verify()) == []
        names = [section.name.rpartition("/")[2] for section in archive.sections()]
        assert names == ["header", "record@30", "footer"]
        assert archive.sections().coverage().total == len(data)
    assert [f.code for f in exhume.verify(flip(data, 70), format="leveldb")] == ["LDB-211"]


@pytest.mark.parametrize("verb", ["list", "cat", "search"])
@pytest.mark.parametrize(
    "change",
    [blobs(blob_index(offset=500)), both(blobs(), flip_at("000009.blob", 70)), blobs(b"\1\x09"), blobs(b"\0\7value")],
)
def test_every_verb_names_the_cause(change: Change, verb: str, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    """A missing value is reported as `verify` does."""
    files = build_database()
    change(files)
    write_files(tmp_path / "db", files)
    reported = {one.code for one in exhume.verify(tmp_path / "db") if one.is_problem}
    ran = exhume_cli(verb, tmp_path / "db", *(["k"] if verb == "search" else []))
    assert ran.code == 3
    assert set(re.findall(r"LDB-\d+", ran.err)) == reported


def test_content_without_checksums_is_not_shown_as_confirmed(tmp_path: Path) -> None:
    files = build_database()
    rocks((GOOD, KEY), checksum=0)(files)
    files["000005.ldb"] = flip(files["000005.ldb"], files["000005.ldb"].index(KEY + b"v") + len(KEY))
    verification = exhume.verify(MemoryTree(files), format="leveldb")
    assert [one.code for one in verification if one.span and one.span.source == "000005.ldb"] == ["LDB-407"]
    assert verification.ok
    assert verification.note == "structure is sound; part of the content has no checksums"
    assert verification.summary().endswith("structure is sound; part of the content has no checksums)")
    with exhume.inspect(MemoryTree(files), format="leveldb") as archive:
        drawn = to_svg(draw_map(archive, archive.verify()))
    assert verification.note in drawn
    assert VERDICT_COLORS["ok"] not in drawn


def test_values_are_not_resolved_by_quick() -> None:
    """Whether an entry's reference is right needs its entry, which `quick` leaves out, with either kernel."""
    files = build_database()
    blobs(blob_index(offset=500))(files)
    assert [f.code for f in exhume.verify(MemoryTree(files), format="leveldb") if f.is_problem] == ["LDB-341"]
    quick = exhume.verify(MemoryTree(files), format="leveldb", quick=True)
    assert [f.code for f in quick if f.is_problem] == []
    assert quick.note == "payloads were not examined: --quick"


def test_a_table_whose_keys_have_no_sequence_numbers_is_not_damaged() -> None:
    """As an application makes one with LevelDB's `TableBuilder`; with a bad checksum, its index is damaged instead."""
    files = build_database()
    table_of((build_block([(b"a", b"1"), (b"bcd", b"2")]), b"bcd"), (build_block([(b"word", b"3")]), b"word"))(files)
    table = files["000005.ldb"]
    with LevelDbArchive(BytesSource(table)) as archive:
        assert [(one.code, one.severity) for one in archive.verify()] == [("LDB-122", Severity.UNCHECKED)]
        with pytest.raises(UnsupportedFeatureError, match="keys without sequence numbers"):
            list(archive.entries())
    with LevelDbArchive(BytesSource(flip(table, len(table) - 48 - 7))) as archive:
        assert "LDB-202" in {one.code for one in archive.verify()}


@pytest.mark.parametrize(
    ("magic", "kind"),
    [
        ("6495bf6396224282", "a plain table of RocksDB"),
        ("b8138f7aeb18344f", "a plain table of RocksDB"),
        ("7378f1c5d0896792", "a cuckoo table of RocksDB"),
        ("f09faab3f09faab3", "a table in a format of Pebble's own"),
    ],
)
def test_a_lone_table_of_another_kind_is_named(magic: str, kind: str) -> None:
    data = bytes(range(100)) + bytes.fromhex(magic)
    assert kind in exhume.identify(data)[0].evidence[0]
    with LevelDbArchive(BytesSource(data)) as archive:
        findings = list(archive.verify())
        assert [(one.code, one.severity, one.actual) for one in findings] == [("LDB-121", Severity.UNCHECKED, kind)]
        assert [one.note for one in archive.sections()] == [kind]
        with pytest.raises(UnsupportedFeatureError, match="kind of table"):
            list(archive.entries())


def test_of_a_database_of_pebble_only_tables_are_read(tmp_path: Path) -> None:
    """CURRENT names an old manifest there, and numbers in logs and manifests mean something else."""
    files = build_database()
    table = files["000005.ldb"]
    files["CURRENT"] = b"MANIFEST-000000\n"
    files["000007-001.log"] = files["000006.log"]
    files |= {"marker.format-version.000002.007": b"", "marker.format-version.000012.013": b""}
    files["marker.manifest.000001.MANIFEST-000004"] = b""
    found = findings(files)
    assert [(one.code, one.actual) for one in found] == [("LDB-124", "format major version 13")]
    with LevelDbArchive(MemoryTree(files)) as archive:
        with pytest.raises(UnsupportedFeatureError, match="Pebble"):
            list(archive.database.scan())
        assert {version.place.file for version in archive.database.versions()} == {"000005.ldb"}
        assert {one.kind for one in archive.database.files} == {"pebble", "table", "other"}
        unread = {one.span.source for one in archive.sections() if one.kind is SectionKind.UNREAD}
        assert unread == set(files) - {"000005.ldb", "LOCK"}
    report = exhume.salvage(MemoryTree(files), tmp_path / "out", format="leveldb")
    assert (report.recovered["rows"], report.read_back) == (3, 3)
    assert report.lost == {"files of Pebble": 5}
    lost = {one.span.source: one.code for one in report.spans if one.outcome is Outcome.LOST}
    assert lost == dict.fromkeys(unread - {name for name in files if name.startswith("marker")}, "LDB-124")
    files["000005.ldb"] = table[:-8] + bytes.fromhex("f09faab3f09faab3")
    assert {one.code: one.severity for one in findings(files)} == {
        "LDB-124": Severity.UNCHECKED, "LDB-121": Severity.WARNING,
    }  # fmt: skip
    report = exhume.salvage(MemoryTree(files), tmp_path / "more", format="leveldb")
    assert report.recovered == {"rows": 0}, "blocks with other contents"
    assert report.lost["tables"] == 1


def test_range_deletions_under_the_name_that_pebble_uses() -> None:
    files = build_database()
    deleted = [(InternalKey(b"a", 9, 15).build(), b"z")]
    table_of((GOOD, KEY), deleted=deleted, ranges=b"rocksdb.range_del2")(files)
    table = files["000005.ldb"]
    files["000005.ldb"] = table[:-48] + b"\1" + table[-48:-8] + b"\2\0\0\0" + bytes.fromhex("f7cff485b741e288")
    retable(files)
    database = Database(MemoryTree({"000005.ldb": files["000005.ldb"]}), standalone=True)
    assert {one.status for one in database.versions() if one.value_type == 1} == {Status.DELETED}
    assert [one.stop for one in database.range_deletions()] == [b"z"]


@pytest.mark.parametrize(
    ("names", "gaps"),
    [
        (("data block", "data block", "index block"), []),
        (("data block", "index block", "footer"), [(10, 20), (30, 40)]),
        (("index block", "data block", "footer"), [(10, 20), (30, 40)]),
    ],
)
def test_padding_follows_data_blocks_only(names: tuple[str, ...], gaps: list[tuple[int, int]]) -> None:
    """RocksDB fills a page after data blocks; bytes that no block claims after others are a fault."""
    verifier = object.__new__(TableVerifier)
    reported: list[tuple[int, int]] = []
    table = SimpleNamespace(source=BytesSource(bytes(50)), is_padding=lambda _: True)
    places = zip((0, 20, 40), (10, 30, 50), names, strict=True)
    vars(verifier).update(table=table, sound=[], claimed=list(places), _names_all=True)
    vars(verifier).update(report=lambda rule, *_, span: reported.append((span.start, span.end)))
    verifier._check_claims()
    assert reported == gaps
