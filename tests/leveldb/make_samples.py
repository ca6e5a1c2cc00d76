"""The project's own LevelDB samples: one file per specification, and a small database with a past."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from exhume.codecs.checksums import masked_crc32c
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.model import BYTEWISE
from exhume.formats.leveldb.table_writer import TableWriter, build_log
from exhume.formats.leveldb.wire import Handle, InternalKey, build_bytes, build_varint
from tests.leveldb.crafted import build_batch

PUT, DELETE = 1, 0

HISTORY: list[tuple[bytes, int, int, bytes]] = [
    (b"apple", 6, PUT, b"red"),
    (b"apple", 1, PUT, b"green"),
    (b"banana", 5, DELETE, b""),
    (b"banana", 2, PUT, b"yellow"),
    (b"cherry", 3, PUT, b"dark"),
    (b"damson", 4, PUT, b"blue" * 20),
]
"""Entries of the table: key, sequence number, type, value."""

LOG_RECORDS = [
    build_batch(7, [(PUT, b"elder", b"black"), (DELETE, b"cherry", b"")]),
    build_batch(9, [(PUT, b"apple", b"golden")]),
]


def build_table(
    entries: list[tuple[bytes, int, int, bytes]], codec: str = "none", block_size: int = 64
) -> tuple[bytes, TableWriter]:
    """A table in memory, and its writer for what it knows about it."""
    file = io.BytesIO()
    writer = TableWriter(file, codec, block_size)
    for key, sequence, kind, value in entries:
        writer.add(InternalKey(key, sequence, kind), value)
    writer.finish()
    return file.getvalue(), writer


def edit(*, log: int, last: int, following: int, tables: list[tuple[int, int, int, bytes, bytes]]) -> bytes:
    """A version edit: counters and new tables (level, number, size, smallest, largest)."""
    out = b"\x01" + build_bytes(BYTEWISE.encode()) + b"\x02" + build_varint(log) + b"\x09\x00"
    out += b"\x03" + build_varint(following) + b"\x04" + build_varint(last)
    for level, number, size, smallest, largest in tables:
        out += b"\x07" + build_varint(level) + build_varint(number) + build_varint(size)
        out += build_bytes(smallest) + build_bytes(largest)
    return out


def build_database(entries: list[tuple[bytes, int, int, bytes]] | None = None, codec: str = "none") -> dict[str, bytes]:
    """The files of a small database: one table of level 1, one log, an obsolete log."""
    table, writer = build_table(HISTORY if entries is None else entries, codec)
    first = edit(log=2, last=0, following=3, tables=[])
    second = edit(log=6, last=6, following=7, tables=[(1, 5, len(table), writer.smallest, writer.largest)])
    return {
        "CURRENT": b"MANIFEST-000004\n",
        "MANIFEST-000004": build_log([first, second]),
        "000003.log": build_log([build_batch(1, [(PUT, b"apple", b"green"), (PUT, b"banana", b"yellow")])]),
        "000005.ldb": table,
        "000006.log": build_log(LOG_RECORDS),
        "LOCK": b"",
    }


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Replace a directory by these files."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _footers() -> dict[str, bytes]:
    handles = Handle(100, 20).build() + Handle(125, 30).build()
    legacy = handles.ljust(40, b"\0") + bytes.fromhex("57fb808b247547db")
    rocks = b"\x01" + handles.ljust(40, b"\0") + (2).to_bytes(4, "little") + bytes.fromhex("f7cff485b741e288")
    sealed = b"\x3e\0\x7a\0" + bytes(4) + (0x12345678).to_bytes(4, "little") + (40).to_bytes(4, "little")
    rocks6 = b"\x04" + sealed.ljust(40, b"\0") + (6).to_bytes(4, "little") + bytes.fromhex("f7cff485b741e288")
    return {"leveldb_footer": legacy, "leveldb_footer-rocksdb": rocks, "leveldb_footer-rocksdb6": rocks6}


def _specifications() -> dict[str, bytes]:
    entries = [(InternalKey(key, n, kind).build(), value) for key, n, kind, value in HISTORY]
    one = entries[0][0]
    delta = b"\0" + build_varint(len(one)) + one + Handle(0, 70).build()
    delta += build_varint(3) + build_varint(2) + b"zz" + build_varint(9)
    delta += bytes(4) + (1).to_bytes(4, "little")
    keyed = b"\0" + build_varint(len(one)) + one + Handle(0, 70).build() + build_bytes(one)
    keyed += build_varint(3) + build_varint(2) + b"zz" + build_varint(9) + build_bytes(one)
    keyed += bytes(4) + (1).to_bytes(4, "little")
    bloom = bytes([0x25, 0x10, 0x83, 0x4C, 6])
    filters = bloom + bloom + b"".join(n.to_bytes(4, "little") for n in (0, 5, 10)) + b"\x0b"
    facts = [(b"rocksdb.num.entries", build_varint(6)), (b"rocksdb.raw.key.size", build_varint(300))]
    added = edit(log=6, last=6, following=7, tables=[(1, 5, 321, one, one)])
    more = b"\x05\x01" + build_bytes(one) + b"\x06\x01\x04" + b"\xa0\x06\x07"
    value = b"a value in a blob file"
    sizes = len(b"apple").to_bytes(8, "little") + len(value).to_bytes(8, "little") + bytes(8)
    checked = (masked_crc32c(sizes), masked_crc32c(b"apple" + value))
    record = sizes + b"".join(number.to_bytes(4, "little") for number in checked) + b"apple" + value
    magic = (2395959).to_bytes(4, "little")
    last = magic + (1).to_bytes(8, "little") + bytes(16)
    blobs = magic + (1).to_bytes(4, "little") + bytes(22) + record + last + masked_crc32c(last).to_bytes(4, "little")
    columns = b"\1\2\0" + build_varint(4) + build_bytes(b"color") + build_varint(3) + b"tartred"
    return {
        **_footers(),
        "leveldb_blob_file": blobs,
        "leveldb_blob_index": b"\1" + b"".join(map(build_varint, (10, 67, len(value)))) + b"\0",
        "leveldb_wide_columns": columns,
        "leveldb_varint": build_varint(300),
        "leveldb_bytes": build_bytes(b"hello"),
        "leveldb_block_handle": Handle(4096, 300).build(),
        "leveldb_internal_key": InternalKey(b"apple", 0x0102030405, PUT).build(),
        "leveldb_block": build_block(entries, 2),
        "leveldb_data_block": build_block(entries, 2),
        "leveldb_manifest": build_log([added]) + bytes(100),
        "leveldb_index_delta": delta,
        "leveldb_index_first_key": keyed,
        "leveldb_filter": filters,
        "leveldb_properties": build_block(facts, 1),
        "leveldb_log": build_log(LOG_RECORDS) + bytes(100),
        "leveldb_write_batch": LOG_RECORDS[0],
        "leveldb_version_edit": added + more,
        "leveldb_table": build_table(HISTORY)[0],
    }


def make(root: Path) -> None:
    """Write `leveldb/small` and the samples of the specifications."""
    for name, data in _specifications().items():
        (root / "ksy" / f"{name}.bin").write_bytes(data)
    write_files(root / "leveldb" / "small", build_database())
    write_files(root / "leveldb" / "snappy", build_database(codec="snappy"))
