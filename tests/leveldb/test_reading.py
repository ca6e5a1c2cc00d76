"""How tables are read: neighbors together, a sound table once, and no differently where that does not work."""

from __future__ import annotations

import pytest

from exhume.errors import SourceError
from exhume.formats.leveldb import database as module
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.table import Level, Table
from exhume.formats.leveldb.table_blocks import READ_AHEAD
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.testing.damage import flip
from exhume.testing.sources import CountingSource, MisreportingSource
from tests.leveldb.make_samples import PUT, build_database, build_table

ENTRIES = [(b"key%06d" % n, n + 1, PUT, b"value %d" % n * 9) for n in range(8000)]
TABLE, _ = build_table(ENTRIES, "none", 1000)


def test_neighboring_blocks_are_fetched_together() -> None:
    source = CountingSource(BytesSource(TABLE, "table"))
    table = Table(source)
    handles = [handle for _, handle in table.index()]
    source.reset()
    alone = [table.read_block(handle) for handle in handles]
    assert len(source.requests) == len(handles) > 500
    source.reset()
    assert list(table.read_blocks(handles)) == alone
    assert len(source.requests) <= len(TABLE) // READ_AHEAD * 2
    assert list(table.read_blocks(handles[::-1])) == alone[::-1]
    assert list(table.read_blocks(handles[::3])) == alone[::3]


def test_blocks_before_a_place_that_cannot_be_read_are_read() -> None:
    index = Table(BytesSource(TABLE)).index()
    broken = index[len(index) // 2][1].offset + 1

    def lie(offset: int, size: int, data: bytes) -> bytes:
        if offset <= broken < offset + size:
            raise SourceError("input/output error")
        return data

    table = Table(MisreportingSource(BytesSource(TABLE), lie))
    found: list[object] = []
    with pytest.raises(SourceError):
        found.extend(table.read_blocks([handle for _, handle in index]))
    found.extend(table.read_blocks([handle for _, handle in index if handle.offset > broken]))
    assert len(found) == len(index) - 1
    assert None not in found


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.slow
def test_a_sound_table_is_read_once(damaged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    files = build_database(sorted(ENTRIES), "snappy")
    name = "000005.ldb"
    size = len(files[name])
    data = flip(files[name], size // 2) if damaged else files[name]

    def open_database() -> tuple[Database, CountingSource]:
        source = CountingSource(BytesSource(data, name))
        return Database(MemoryTree({**files, name: source})), source

    database, source = open_database()
    versions = list(database.versions())
    assert len(versions) > 7900
    assert source.bytes_read < 1.2 * size
    source.reset()
    assert list(database.versions()) == versions  # a second time without a survey
    assert source.bytes_read < 1.2 * size
    for room in (0, 10_000):
        monkeypatch.setattr(module, "MOST_KEPT", room)
        database, source = open_database()
        assert list(database.versions()) == versions
        assert source.bytes_read > 1.4 * size


@pytest.mark.parametrize("largest", [[b"b", b"d", b"f"], [b"d", b"b", b"f"]])
def test_a_level_leaves_out_tables_that_end_before_a_key(largest: list[bytes]) -> None:
    tables = [Table(BytesSource(build_table([(key, 1, PUT, b"")])[0]), number) for number, key in enumerate(largest)]
    level = Level(tables, largest)
    assert [item[0] for item in level.items(None, None)] == largest
    for start in (b"", b"b", b"c", b"d", b"e", b"f", b"g"):
        assert [item[0] for item in level.items(start, None)] == [key for key in largest if key >= start]
