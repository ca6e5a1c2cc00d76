"""Makes the databases of `tests/samples/real/leveldb` with LevelDB (plyvel) and RocksDB (rocksdict), on inputs of ours.

    python -m tests.leveldb.make_real CASE...

Each gets the rows that its producer returns in its `expected.json` (and for the small ones the raw entries that
dfindexeddb finds), and its entry in the manifest of the samples.
The informational `LOG` files are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.oracles import apart, need
from tests.real import REPOSITORY, enter

from .producers import Rows, rocksdb_options, write_rocksdb

BIRDS = {b"dunlin": b"shore", b"heron": b"reeds", b"plover": b"beach", b"swift": b"tower"}


def leveldb(*sessions: Callable[[Any], None], **options: Any) -> Rows:
    """One database, opened once per session: opening turns the log of the session before into a table."""
    plyvel = need("plyvel")
    for session in sessions:
        with plyvel.DB("db", create_if_missing=True, **options) as database:
            session(database)
    shutil.copytree("db", "copy")
    with plyvel.DB("copy", paranoid_checks=True) as database:
        rows = dict(database)
    shutil.rmtree("copy")
    return rows


def put(rows: Rows) -> Callable[[Any], None]:
    """A session that writes rows, ten to a batch."""

    def session(database: Any) -> None:
        items = list(rows.items())
        for start in range(0, len(items), 10):
            with database.write_batch() as batch:
                for key, value in items[start : start + 10]:
                    batch.put(key, value)

    return session


def change(database: Any) -> None:
    """Overwrite two birds and remove one."""
    database.compact_range()
    database.put(b"dunlin", b"mud")
    database.delete(b"heron")
    database.put(b"swift", b"sky")


def paths(count: int) -> Rows:
    """Keys with long prefixes in common."""
    return {b"station/%02d/sensor/%03d" % (n % 7, n): b"reading %d of many" % (n * 31) for n in range(count)}


def rocksdb(compression: str, format_version: int, count: int = 600, **more: Any) -> Rows:
    """One database of random writes, with a compaction in the middle."""
    return write_rocksdb(Path("db"), rocksdb_options(compression, format_version, **more), format_version, count)


def rocksdb_tiny() -> Rows:
    """Two tables of few rows, with the checksums of the newest version."""
    database = need("rocksdict").Rdict("db", rocksdb_options("zstd", 6, checksum="xxh3"))
    for rows in ({b"apple": b"red", b"banana": b"yellow" * 8}, {b"apple": b"green"}):
        for key, value in rows.items():
            database[key] = value
        database.flush()
    found = dict(database.items())
    database.close()
    return found


CASES: dict[str, Callable[[], Rows]] = {
    "leveldb-untouched": lambda: leveldb(lambda database: None),
    "leveldb-birds": lambda: leveldb(put(BIRDS)),
    "leveldb-birds-changed": lambda: leveldb(put(BIRDS), change),
    "leveldb-paths": lambda: leveldb(put(paths(300)), put(paths(400)), block_size=1024),
    "leveldb-bloom": lambda: leveldb(put(paths(500)), change, compression=None, bloom_filter_bits=10),
    "rocksdb-snappy": lambda: rocksdb("snappy", 2),
    "rocksdb-zlib": lambda: rocksdb("zlib", 3),
    "rocksdb-lz4": lambda: rocksdb("lz4", 4, checksum="xxhash64"),
    "rocksdb-zstd": lambda: rocksdb("zstd", 6, checksum="xxh3"),
    "rocksdb-two-level": lambda: rocksdb("none", 5, two_level=True),
    "rocksdb-tiny": rocksdb_tiny,
}


def make(case: str) -> None:
    """Write one case; the producer works in its folder, so that no path gets into the files."""
    folder = REPOSITORY / "leveldb" / case
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    rows = CASES[case]()
    for log in Path("db").glob("LOG*"):
        log.unlink()
    digest = hashlib.sha256()
    for key, value in sorted(rows.items()):
        digest.update(struct.pack("<I", len(key)) + key + struct.pack("<I", len(value)) + value)
    package = "plyvel" if case.startswith("leveldb") else "rocksdict"
    expected: dict[str, Any] = {"count": len(rows), "sha256_of_pairs": digest.hexdigest()}
    if package == "plyvel" and len(rows) < 10:
        expected["entries"] = [[key.decode(), value.decode()] for key, value in sorted(rows.items())]
        with apart("dfindexeddb", Path(__file__).with_name("dfindexeddb_worker.py")) as oracle:
            keys = ("file", "seq", "key_hex", "value_hex")
            raw = [dict(zip(keys, row, strict=True)) for row in oracle.ask(folder="db")]
        expected |= {"raw_count": len(raw), "raw_entries": raw}
    Path("expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    name = {"plyvel": "LevelDB", "rocksdict": "RocksDB"}[package]
    version = f"of {package} {importlib.metadata.version(package)}"
    enter(f"leveldb/{case}", name, version, f"python -m tests.leveldb.make_real {case}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make databases with LevelDB and RocksDB.")
    parser.add_argument("cases", nargs="+", choices=CASES, metavar="CASE", help=f"of: {', '.join(CASES)}")
    for case in parser.parse_args().cases:
        make(case)
