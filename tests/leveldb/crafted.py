"""Logs and databases that no available tool writes, and what RocksDB (rocksdict) reads in a copy of them."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from exhume.codecs.checksums import crc32c, mask_crc32c
from exhume.formats.leveldb.log import BLOCK, HEADER
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import build_bytes, build_varint
from exhume.io.local import LocalTree
from tests.oracles import need

DELETE, PUT, MERGE, NOTE, SINGLE_DELETE, RANGE_DELETE, ENTITY, TIMED_PUT = 0, 1, 2, 3, 7, 15, 22, 24
BEGIN, END, COMMIT, ROLLBACK, NOOP, BEGIN_PERSISTED, BEGIN_UNPREPARED, COMMIT_AT = 9, 10, 11, 12, 13, 18, 19, 21
MARKS = (NOTE, BEGIN, END, COMMIT, ROLLBACK, NOOP, BEGIN_PERSISTED, BEGIN_UNPREPARED, COMMIT_AT)
IN_FAMILY = {DELETE: 4, PUT: 5, MERGE: 6, SINGLE_DELETE: 8, RANGE_DELETE: 14, ENTITY: 23, TIMED_PUT: 25}
"""Types of the same operations in a column family that is not the default one."""

Operation = tuple[Any, ...]
"""A type and its byte strings; a number after them is the column family."""


def batch(sequence: int, *operations: Operation, count: int | None = None) -> bytes:
    """A write batch; `count` is its stated number of operations."""
    body = bytearray()
    for kind, *parts in operations:
        family = parts.pop() if parts and isinstance(parts[-1], int) else 0
        body += bytes((IN_FAMILY[kind],)) + build_varint(family) if family else bytes((kind,))
        body += b"".join(map(build_bytes, parts))
    written = sum(kind not in MARKS for kind, *_ in operations)
    return struct.pack("<QI", sequence, written if count is None else count) + body


def build_batch(sequence: int, operations: Iterable[tuple[int, bytes, bytes]]) -> bytes:
    """A write batch of puts and deletions, as `(type, key, value)`; a deletion has no value."""
    return batch(sequence, *(one[:2] if one[0] == DELETE else one for one in operations))


def fragments(records: Iterable[tuple[int, bytes]], number: int | None = None) -> bytes:
    """Frames `(type of a whole record, payload)`; with a log's `number` in the form of recycled logs, which pieces have
    the types after.

    A type of 1 (or 5) stands for a record, which is split where it must be.
    """
    out = bytearray()
    header = HEADER if number is None else HEADER + 4
    for kind, payload in records:
        at, first = 0, True
        while True:
            room = BLOCK - len(out) % BLOCK
            if room < header:
                out += bytes(room)
                room = BLOCK
            piece = payload[at : at + room - header]
            at += len(piece)
            last = at == len(payload)
            own = kind
            if kind in (1, 5):
                own = kind + (0 if first and last else 1 if first else 3 if last else 2)
            tail = b"" if number is None else (number & 0xFFFFFFFF).to_bytes(4, "little")
            body = bytes((own,)) + tail + piece
            out += struct.pack("<IH", mask_crc32c(crc32c(body)), len(piece)) + body
            first = False
            if last:
                break
    return bytes(out)


def rewrite_options(path: Path, options: Mapping[str, str]) -> None:
    """Replace lines of the newest OPTIONS of a database."""
    file = max(path.glob("OPTIONS-*"))
    text = file.read_text()
    for name, value in options.items():
        replacement = rf"\g<1>{name}=" + value.replace("\\", r"\\")
        text, count = re.subn(rf"(?m)^(\s*){name}=.*$", replacement, text)
        assert count, name
    file.write_text(text)


def with_options(path: Path, options: Any, **more: str) -> Any:
    """The options, and those that rocksdict has no method for; makes the database."""
    rocksdict = need("rocksdict")
    rocksdict.Rdict(str(path), options).close()
    rewrite_options(path, more)
    return rocksdict.Options.load_latest(str(path))[0]


class Crafted:
    """A database that RocksDB made, whose live log and OPTIONS are then ours."""

    def __init__(self, path: Path, families: Iterable[str] = (), **options: str) -> None:
        """Make it with one row, `a`; `options` replace lines of OPTIONS."""
        rocksdict = need("rocksdict")
        self.path = path
        made = rocksdict.Options(raw_mode=True)
        made.create_if_missing(True)
        database = rocksdict.Rdict(str(path), made)
        database[b"a"] = b"1"
        for family in families:
            database.create_column_family(family, rocksdict.Options(raw_mode=True)).close()
        database.close()
        rewrite_options(path, options)

    @classmethod
    def of(cls, path: Path) -> Crafted:
        """A database that is there."""
        made = cls.__new__(cls)
        made.path = path
        return made

    @classmethod
    def stamped(cls, path: Path, order: str) -> Crafted:
        """An empty one whose keys have timestamps of eight bytes, in the order of bytes or its reverse."""
        rocksdict = need("rocksdict")
        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)
        rocksdict.Rdict(str(path), options).close()
        rewrite_options(path, {"comparator": f"{order}.u64ts"})
        options, families = rocksdict.Options.load_latest(str(path))
        shutil.rmtree(path)
        rocksdict.Rdict(str(path), options, column_families=families).close()
        return cls.of(path)

    def flush(self) -> None:
        """Let RocksDB write a table of what it reads in the log."""
        rocksdict = need("rocksdict")
        options, families = rocksdict.Options.load_latest(str(self.path))
        database = rocksdict.Rdict(str(self.path), options, column_families=families)
        database.flush()
        database.close()

    @property
    def log(self) -> Path:
        """The newest log."""
        return max(self.path.glob("*.log"))

    @property
    def number(self) -> int:
        """The number of the newest log."""
        return int(self.log.stem)

    def write(self, *records: bytes) -> None:
        """Make these batches the content of the newest log."""
        self.log.write_bytes(build_log(records))

    def engine(self, family: str = "default") -> dict[bytes, bytes]:
        """The rows that RocksDB reads in a copy."""
        rocksdict = need("rocksdict")
        copy = self.path.with_name(f"{self.path.name}-copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.path, copy)
        options, families = rocksdict.Options.load_latest(str(copy))
        database = rocksdict.Rdict(str(copy), options, column_families=families)
        try:
            if family == "default":
                return dict(database.items())
            other = database.get_column_family(family)
            rows = dict(other.items())
            other.close()
            return rows
        finally:
            database.close()


def ours(path: Path, family: int = 0, **options: Any) -> Mapping[bytes, bytes]:
    """The rows that we read, in both ways."""
    from exhume.formats.leveldb.reader import LevelDbArchive

    with LevelDbArchive(LocalTree(path), **options) as archive:
        database = archive.database
        rows = dict(database.scan(column_family=family))
        versions = [v for v in database.versions() if v.column_family == family]
        assert {v.key: v.value for v in versions if v.status == "live"} == rows
        assert [v.key for v in versions if v.status == "unresolved"] == []
        live = [v for v in database.live_versions() if v.column_family == family]
        assert {v.key: v.value for v in live} == rows
        for key, value in rows.items():
            assert database.get(key, column_family=family) == value
        return rows


Make = Callable[[Path], Crafted]
