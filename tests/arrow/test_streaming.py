"""Tables stream: the first batch reads the beginning of an archive, a selective table only what it needs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.formats.ark.writer import ArkWriter
from exhume.formats.clp_s.reader import open_archive as open_clp
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.zs.reader import ZsArchive
from exhume.io.local import FileSource, LocalTree
from exhume.io.source import LOCAL_COST, BytesSource, Cost
from exhume.io.tree import MemoryTree
from exhume.tabular import arrow
from exhume.testing.sources import CountingSource
from tests.leveldb.make_samples import PUT, build_table

pa = pytest.importorskip("pyarrow")


@given(st.lists(st.lists(st.integers(0, 40), max_size=9), max_size=9), st.integers(1, 7), st.integers(1, 90))
def test_batches_do_not_depend_on_the_pieces_that_they_are_made_of(
    pieces: list[list[int]], batch_rows: int, most: int
) -> None:
    made = ((pa.RecordBatch.from_pydict({"size": pa.array(piece, pa.int64())}), piece) for piece in pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow, "BATCH_BYTES", most)
        found = list(arrow.rebatched(made, batch_rows, lambda batch: batch.column(0).to_pylist(), jobs=2))
        assert found == list(arrow.batched(chain.from_iterable(pieces), batch_rows, int))


class LocalCountingSource(CountingSource):
    """A file on disk that is counted: remote ones are read in larger pieces."""

    @property
    def cost(self) -> Cost:
        return LOCAL_COST


def zs_file(tmp_path: Path) -> Path:
    with exhume.create(tmp_path / "x.zs", "zs", codec="none", block_size=16 << 10) as writer:
        writer.add_records(b"%08d\t%s" % (number, b"x" * 400) for number in range(60_000))
    return tmp_path / "x.zs"


def test_zs(tmp_path: Path) -> None:
    source = LocalCountingSource(FileSource(zs_file(tmp_path)))
    with ZsArchive(source) as archive:
        reader = archive.to_arrow(batch_rows=1000)
        assert source.bytes_read <= 8192, "only what opening reads"
        assert reader.read_next_batch().num_rows == 1000
        assert source.bytes_read < source.size / 4
        source.reset()
        found = archive.to_arrow(prefix=b"0003000").read_all()
        assert found["record"].to_pylist() == list(archive.records(prefix=b"0003000"))
        assert found.num_rows == 10
        assert source.bytes_read < source.size / 20
        assert sum(batch.num_rows for batch in archive.to_arrow(batch_rows=7000)) == 60_000
        assert {batch.num_rows for batch in archive.to_arrow(batch_rows=7000)} == {7000, 60_000 % 7000}


def test_memory_does_not_grow_with_the_archive(tmp_path: Path) -> None:
    with exhume.open(zs_file(tmp_path)) as archive:
        archive.to_arrow(batch_rows=1000).read_next_batch()
        tracemalloc.start()
        rows = sum(batch.num_rows for batch in archive.to_arrow(batch_rows=1000))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert rows == 60_000
    assert peak < 6 << 20, "of 25 MB"


def test_clp_s_reads_table_by_table(tmp_path: Path) -> None:
    with exhume.create(tmp_path / "x.clps", "clp-s", min_table_size=1) as writer:
        for number in range(12_000):
            shape = number // 1000
            event = {f"only{shape}": number * 2654435761 % (1 << 32), "shape": shape, "number": number}
            writer.write(event)
    source = CountingSource(FileSource(tmp_path / "x.clps"))
    with open_clp(source) as archive:
        assert len(archive.table_metadata.streams) > 3
        dictionaries = sum(archive.file_entry(name).size for name in ("/var.dict", "/log.dict"))
        streams = archive.file_entry("/0").size
        source.reset()
        reader = archive.to_arrow(columns=["number", "shape"], batch_rows=1000)
        assert reader.read_next_batch().num_rows == 1000
        assert source.bytes_read < streams / 4
        source.reset()
        found = archive.to_arrow(columns=["number"], query="only7: *").read_all()
        assert found["number"].to_pylist() == list(range(7000, 8000))
        assert source.bytes_read < dictionaries + streams / 4


def counted_tree(folder: Path) -> tuple[MemoryTree, Callable[[], int]]:
    """A directory whose files count the bytes read from them."""
    local = LocalTree(folder)
    files: dict[str, Any] = {}
    for name in local.names():
        files[name] = CountingSource(local.source(name))
    return MemoryTree(files), lambda: sum(source.bytes_read for source in files.values())


def test_ark_reads_split_by_split(tmp_path: Path) -> None:
    with ArkWriter(tmp_path / "log", split_items=100) as log:
        channel = log.channel("/n", "N", "schema N { uint64 number; byte_buffer data; }")
        for number in range(2000):
            channel.write(number, {"number": number, "data": bytes(5000)})
    tree, bytes_read = counted_tree(tmp_path / "log")
    size = sum(path.stat().st_size for path in (tmp_path / "log").rglob("*") if path.is_file())
    with exhume.ark.open(tree) as archive:
        before = bytes_read()
        reader = archive.to_arrow(batch_rows=50, columns=["number"])
        assert reader.read_next_batch()["number"].to_pylist() == list(range(50))
        assert bytes_read() - before < size / 4
        found = archive.to_arrow(start_ns=1990).read_all()
        assert found["number"].to_pylist() == list(range(1990, 2000))


def test_leveldb_reads_block_by_block() -> None:
    entries = [(b"%06d" % number, number + 1, PUT, b"v" * 100) for number in range(20_000)]
    data, _ = build_table(entries, block_size=4096)
    source = CountingSource(BytesSource(data))
    with LevelDbArchive(source) as archive:
        before = source.bytes_read
        reader = archive.to_arrow(batch_rows=500)
        assert reader.read_next_batch().num_rows == 500
        assert source.bytes_read - before < source.size / 4
        before = source.bytes_read
        found = archive.to_arrow(prefix=b"0150", columns=["key"]).read_all()
        assert found["key"].to_pylist() == [b"%06d" % number for number in range(15_000, 15_100)]
        assert source.bytes_read - before < source.size / 10


def test_the_member_table_reads_no_members(tmp_path: Path) -> None:
    with exhume.create(tmp_path / "x.caf", "caf") as writer:
        for number in range(300):
            writer.add_bytes(f"{number}.bin", bytes(20_000))
    source = CountingSource(FileSource(tmp_path / "x.caf"))
    with exhume.open(source, format="caf") as archive:
        source.reset()
        assert archive.to_arrow().read_all().num_rows == 300
        assert source.bytes_read == 0, "the index came with opening"
        reader = archive.to_arrow(digest="sha256", columns=["digest"], batch_rows=10)
        assert reader.read_next_batch().num_rows == 10
        assert source.bytes_read <= 11 * 20_000
