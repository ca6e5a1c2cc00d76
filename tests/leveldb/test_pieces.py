"""`verify` checks the blocks of tables in chunks, on one thread or several, with the same findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import exhume
from exhume.formats.leveldb import layout, verify
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.layout_facts import LEVELDB_MAGIC
from exhume.formats.leveldb.table_writer import TableWriter, write_database
from exhume.formats.leveldb.wire import Handle, InternalKey
from exhume.io.tree import MemoryTree
from exhume.testing.damage import flip
from tests.broken import golden
from tests.leveldb.make_samples import PUT, build_database, write_files
from tests.leveldb.test_damage import VARIANTS, retable, table_of
from tests.leveldb.test_ranges import files_of
from tests.sizes import THOROUGH, some

STEP = 97 if THOROUGH else 199
"""Bytes from one damaged byte to the next."""


def findings(path: Path, *, jobs: int = 1, quick: bool = False) -> list[exhume.Finding]:
    return list(exhume.verify(path, format="leveldb", jobs=jobs, quick=quick))


def layers() -> list[list[tuple[bytes, int, bytes]]]:
    """Three tables of a few dozen blocks, and a log."""
    tables = [[(b"%04d" % (number * step), 1, bytes(30)) for number in range(60)] for step in (1, 2, 3)]
    return [*tables, [(b"last", 1, b"x")]]


def test_pieces_of_any_size_show_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = files_of(layers())
    tables = [name for name in sorted(whole) if name.endswith(".ldb")]
    damaged = [whole]
    for name in tables:
        damaged += [{**whole, name: flip(whole[name], at)} for at in range(0, len(whole[name]), STEP)]
    damaged.append({**whole, tables[0]: whole[tables[1]], tables[1]: whole[tables[0]]})  # not as in the manifest
    sound = None
    for number, files in some(enumerate(damaged)):
        path = tmp_path / str(number)
        path.mkdir()
        write_files(path, files)
        found = []
        for size in (1, 5, 1 << 30):
            monkeypatch.setattr(verify, "PIECE", size)
            found.append([findings(path), findings(path, quick=True)])
        assert found[0] == found[1] == found[2]
        sound = sound or found[0]
        assert (found[0] != sound) == (files is not whole)


def test_blocks_in_disorder_are_found_across_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "a.ldb").open("wb") as file:
        writer = TableWriter(file, "none", block_size=64)
        for letter in b"ba":
            writer._last = None  # the next keys may sort before the written ones
            for number in range(40):
                writer.add(InternalKey(b"%c%02d" % (letter, number), 7, PUT), bytes(20))
        writer.finish()
    for size in (1, 7, 1 << 30):
        monkeypatch.setattr(verify, "PIECE", size)
        assert [found.code for found in findings(tmp_path / "a.ldb")].count("LDB-317") == 1


@pytest.mark.parametrize("size", [1, 1 << 30])
def test_everything_is_reported_of_any_damage_whatever_the_pieces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "PIECE", size)
    for name, change in VARIANTS.items():
        files = build_database()
        change(files)
        expected = golden("leveldb")[name]
        reported = list(exhume.verify(MemoryTree(files), format="leveldb"))
        assert json.loads(json.dumps([finding.to_dict() for finding in reported])) == expected["findings"], name
        quick = list(exhume.verify(MemoryTree(files), format="leveldb", quick=True))
        assert list(map(str, quick)) == expected.get("quick", list(map(str, reported))), name


BLOCKS = [(build_block([(InternalKey(b"%c" % letter, 1, PUT).build(), bytes(9))]), letter) for letter in b"bcd"]
SIZE = len(BLOCKS[0][0])
FURTHER = SIZE + layout.BLOCK_TRAILER
METAINDEX = Handle(3 * FURTHER, len(build_block([], 1)))
INDEX = 3 * FURTHER + METAINDEX.size + layout.BLOCK_TRAILER


def reported(*places: Handle, metaindex: Handle = METAINDEX) -> list[str]:
    """The findings for a table of three blocks, at these places according to the index."""
    files = build_database()
    blocks = [(block, InternalKey(b"%c" % letter, 1, PUT).build()) for block, letter in BLOCKS]
    stated = places or [Handle(number * FURTHER, SIZE) for number in range(3)]
    index = build_block([(key, place.build()) for (_, key), place in zip(blocks, stated, strict=True)], 1)
    handles = metaindex.build() + Handle(INDEX, len(index)).build()
    table_of(*blocks, places=places, footer=handles.ljust(40, b"\0") + LEVELDB_MAGIC)(files)
    small, large = blocks[0][1], blocks[-1][1]
    retable(files, small=small, large=large)
    found = exhume.verify(MemoryTree(files), format="leveldb")
    return [str(one) for one in found if one.severity is not exhume.Severity.NOTE]


@pytest.mark.parametrize("size", [1, 2, 1 << 30])
def test_blocks_that_are_not_consecutive_are_noted(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "PIECE", size)
    first, last = Handle(0, SIZE), Handle(2 * FURTHER, SIZE)
    assert reported() == []
    assert reported(first, Handle(FURTHER, SIZE), last) == []
    for away in (Handle((1 << 64) - 1, SIZE), Handle(1 << 40, SIZE), Handle(0, SIZE), last):
        assert reported(first, away, last)  # as many bytes as there are from the first to the last
    overlap = reported(metaindex=Handle(FURTHER + 3, SIZE))
    assert len([line for line in overlap if "overlaps the bytes before it" in line]) == 2
    assert len([line for line in overlap if "no block claims these bytes" in line]) == 1


@pytest.mark.slow
def test_threads_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(b"key %05d" % number, b"value\xff" * (number % 9)) for number in range(20_000)]
    write_database(lambda name: (tmp_path / name).open("wb"), rows)
    monkeypatch.setattr(verify, "PIECE", 8)
    assert findings(tmp_path, jobs=3) == findings(tmp_path) == []
    table = tmp_path / "000004.sst"
    whole = table.read_bytes()
    for at in (100, len(whole) // 2, len(whole) - 200):
        table.write_bytes(flip(whole, at))
        alone = findings(tmp_path)
        assert findings(tmp_path, jobs=2) == alone
        assert alone
