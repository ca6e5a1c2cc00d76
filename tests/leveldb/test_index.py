"""The index of a table as columns: its content, searches in it, and objects made only on request."""

from __future__ import annotations

from bisect import bisect_left
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.formats.leveldb import table_index, wire
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.table import Table
from exhume.formats.leveldb.table_writer import TableWriter, write_database
from exhume.formats.leveldb.wire import MAX_U64, BlockIndex, Handle
from exhume.io.source import BytesSource
from exhume.native import kernel

handles = st.builds(Handle, st.integers(0, MAX_U64), st.integers(0, MAX_U64))
entries = st.lists(st.tuples(st.binary(max_size=4), handles), max_size=12)


@given(entries, st.integers(-14, 14), st.integers(-14, 14), st.binary(max_size=4))
def test_an_index_is_a_sequence_of_its_entries(
    pairs: list[tuple[bytes, Handle]], first: int, last: int, key: bytes
) -> None:
    index = BlockIndex.of(pairs)
    assert list(index) == pairs
    assert [index[at] for at in range(-len(pairs), len(pairs))] == pairs * 2
    part = index[first:last]
    assert list(part) == pairs[first:last]
    assert list(part[1:]) == pairs[first:last][1:]
    assert (list(part.keys), list(part.handles)) == ([k for k, _ in part], [handle for _, handle in part])
    assert bisect_left(index.keys, key) == bisect_left([k for k, _ in pairs], key)
    for column in (index, index.keys, index.handles):
        with pytest.raises(IndexError):
            column[len(pairs)]


@given(st.lists(st.integers(0, 40), max_size=20), st.integers(0, 100))
def test_strides_contain_all_blocks(sizes: list[int], size: int) -> None:
    index = BlockIndex.of((b"%02d" % number, Handle(0, stored)) for number, stored in enumerate(sizes))
    found = list(index.strides(size))
    assert sum(stored for _, stored in found) == sum(sizes)
    assert all(stored >= size for _, stored in found[:-1])
    held = 0
    for key, stored in found:
        held += stored
        assert held == sum(sizes[: int(key) + 1])


@pytest.mark.skipif(not kernel.COMPILED, reason="the pure-Python kernel reads block by block")
def test_no_object_is_made_for_a_block_that_is_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(Handle):
        def __new__(cls, *values: Any) -> Self:
            made.append(values)
            return super().__new__(cls, *values)

    write_database(lambda name: (tmp_path / name).open("wb"), ((b"%06d" % n, bytes(100)) for n in range(40000)))
    monkeypatch.setattr(wire, "Handle", Counted)
    monkeypatch.setattr(table_index, "Handle", Counted)
    with exhume.leveldb.open(tmp_path) as archive:
        table = next(archive.database.table(file) for file in archive.database.files if file.kind == "table")
        blocks = len(table.index())
        assert list(archive.verify()) == []
        assert sum(archive.database.map_live(len)) == 40000
        assert list(archive.database.scan(b"007000", b"007001")) == [(b"007000", bytes(100))]
    assert blocks > 900
    assert 0 < len(made) < blocks / 4


@pytest.mark.skipif(not kernel.COMPILED, reason="the pure-Python kernel reads block by block")
def test_places_of_blocks_are_made_when_they_are_requested() -> None:
    file = BytesIO()
    writer = TableWriter(file, block_size=1)
    writer.add_values([(b"%02d" % number, b"value") for number in range(9)])
    writer.finish()
    table = Table(BytesSource(file.getvalue()))
    rows = LeveldbRows()
    assert table.add_blocks(rows, table.strict_index[:4])
    rows.add_items([(b"k", 5, 0, 0, b"v", "a place"), (b"l", 5, 0, 0, b"v", "a place")])
    assert table.add_blocks(rows, table.strict_index[4:6])
    handles = list(table.strict_index.handles)
    expected = [(table, handle, 0) for handle in handles[:6]]
    assert rows.places == [*expected[:4], "a place", *expected[4:]]
