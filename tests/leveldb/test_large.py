"""Large table blocks and values, which are read in chunks, give what small ones do.

Spec: LevelDB doc/table_format.md.
"""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.formats.leveldb import large, table, table_blocks
from exhume.formats.leveldb.ranges import json_parts
from exhume.io.tree import MemoryTree
from exhume.io.values import LargeValue
from exhume.limits import DEFAULT_LIMITS, Limits
from tests.leveldb.make_samples import PUT, build_database, write_files

CODECS = ("none", "snappy")
CHANCE = random.Random(6)
VALUES = {
    **{b"key%03d" % n: CHANCE.randbytes(CHANCE.choice((0, 3, 20, 21, 90))) for n in range(40)},
    b"key010a": CHANCE.randbytes(3000), b"key030a": bytes(5000), b"last": b"text " * 900,
}  # fmt: skip


def database(codec: str) -> dict[str, bytes]:
    return build_database(
        [(key, n % 6 + 1, PUT, value) for n, (key, value) in enumerate(sorted(VALUES.items()))], codec
    )


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make nearly every block large, and nearly every value."""
    monkeypatch.setattr(large, "LARGE", 50)
    monkeypatch.setattr(table, "LARGE", 50)
    monkeypatch.setattr(table_blocks, "LOOKED_AT", 50)
    monkeypatch.setattr(large, "LONG", 20)
    monkeypatch.setattr(large, "SLOW", frozenset())
    return monkeypatch


def said(files: dict[str, bytes], limits: Limits = DEFAULT_LIMITS) -> list[Any]:
    """What reading returns, or the error."""
    out: list[Any] = []

    def each(work: Any) -> None:
        try:
            out.append(work())
        except ExhumeError as error:
            out.append((error.code, error.span))

    with exhume.open(MemoryTree(files), format="leveldb", limits=limits) as opened:
        archive: Any = opened
        database = archive.database
        each(lambda: [(one.code, one.severity, one.span) for one in archive.verify()])
        each(lambda: b"".join(part for rows in database.map_live(json_parts, lean=True) for part in rows))
        each(lambda: list(database.scan()))
        each(lambda: list(database.versions()))
        each(lambda: archive.to_arrow().read_all().to_pylist())
        each(lambda: database.get(b"key030a"))
        each(lambda: [(one.offset, one.size, one.name) for one in archive.entries()])
    return out


@pytest.mark.parametrize("codec", CODECS)
def test_rows_are_the_same(codec: str, tiny: pytest.MonkeyPatch) -> None:
    files = database(codec)
    with exhume.open(MemoryTree(files), format="leveldb") as archive:
        rows = dict(archive.database.live_rows())
    assert isinstance(rows[b"key030a"], LargeValue), "the value is not in memory"
    found = said(files)
    assert {code for code, *_ in found[0]} == {"LDB-401"}, "a log that is no longer used"
    tiny.undo()
    assert found == said(files)


@pytest.mark.parametrize("codec", CODECS)
def test_damage_is_found_alike(codec: str, tiny: pytest.MonkeyPatch) -> None:
    files = database(codec)
    (name,) = (one for one in files if one.endswith(".ldb"))
    data, chance = files[name], random.Random(codec)
    damaged = []
    for _ in range(60):
        at, bit = chance.randrange(len(data)), 1 << chance.randrange(8)
        damaged.append({**files, name: data[:at] + bytes((data[at] ^ bit,)) + data[at + 1 :]})
    found = [said(one) for one in damaged]
    tiny.undo()
    for one, mine in zip(damaged, found, strict=True):
        theirs = said(one)
        assert [code for code, *_ in mine[0]] == [code for code, *_ in theirs[0]]
        assert mine[1:] == theirs[1:]


def test_a_value_above_the_limit_is_refused_by_name_where_it_must_be_whole() -> None:
    files = database("none")
    with exhume.open(MemoryTree(files), format="leveldb", limits=Limits(payload_size=4500)) as opened:
        archive: Any = opened
        assert [one for one in archive.verify() if one.is_problem] == []
        assert archive.database.get(b"key010a") == VALUES[b"key010a"]
        with pytest.raises(ExhumeError, match="payload_size"):
            archive.database.get(b"key030a")
        with pytest.raises(ExhumeError, match="payload_size"):
            archive.to_arrow().read_all()


def test_memory_is_that_of_a_chunk(tmp_path: Path) -> None:
    size = 48 << 20
    entries = [(b"a", 1, PUT, b"v"), (b"b", 2, PUT, random.Random(1).randbytes(1 << 20) * (size >> 20))]
    write_files(tmp_path / "db", build_database(entries))
    del entries
    with exhume.open(tmp_path / "db", format="leveldb") as opened:
        archive: Any = opened
        tracemalloc.start()
        try:
            parts = archive.database.map_live(json_parts, families=[0], lean=True)
            assert sum(len(part) for rows in parts for part in rows) > size
            assert [one for one in archive.verify() if one.is_problem] == []
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 24 << 20
