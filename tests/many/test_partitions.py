"""Partitions: small, complete, reading their own bytes; bags and dataframes made of them."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import fsspec
import pytest

import exhume
from exhume.distributed import partitions, to_bag, to_dataframe
from exhume.distributed.collections import conform, merged_schema
from exhume.formats.leveldb.table_writer import build_log
from exhume.io.remote.source import HEAD, TAIL
from tests.archives import own_archives
from tests.conftest import ROOT
from tests.leveldb.crafted import build_batch
from tests.leveldb.make_samples import build_table, edit, write_files
from tests.many.conftest import make_zs

pytest.importorskip("dask")

READABLE = [path for path in own_archives() if path.name != "amended"]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """The ranges that are read of a `memory://` object."""
    from fsspec.implementations.memory import MemoryFileSystem

    ranges: list[tuple[int, int]] = []
    plain = MemoryFileSystem.cat_file

    def cat_file(self: Any, path: str, start: int | None = None, end: int | None = None, **more: Any) -> Any:
        ranges.append((start or 0, end or 0))
        return plain(self, path, start=start, end=end, **more)

    monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)
    yield ranges
    memory = fsspec.filesystem("memory")
    if memory.exists("/counted"):
        memory.rm("/counted", recursive=True)


@pytest.mark.parametrize("path", READABLE, ids=lambda path: "/".join(path.parts[-2:]))
def test_parts_yield_everything_once(path: Path) -> None:
    whole = partitions(path, size=None)
    assert len(whole) == 1
    parts = partitions(path, size=1)
    assert all(len(pickle.dumps(one)) < 1024 for one in parts)
    assert [pickle.loads(pickle.dumps(one)) for one in parts] == parts
    expected = list(whole[0].records())
    found = [record for one in parts for record in one.records()]
    if parts and parts[0].format == "leveldb":
        rows = [{key: value for key, value in row.items() if key != "status"} for row in expected]
        expected, found = (sorted(each, key=lambda row: (row["key"], row["sequence"])) for each in (rows, found))
    elif parts and parts[0].format == "ark":
        found.sort(key=lambda message: message.time_ns)
        expected.sort(key=lambda message: message.time_ns)
        assert sorted(map(str, found)) == sorted(map(str, expected))
        return
    assert found == expected


@pytest.mark.parametrize("path", READABLE, ids=lambda path: "/".join(path.parts[-2:]))
def test_an_open_archive_plans_the_same(path: Path) -> None:
    with exhume.open(path) as archive:
        assert archive.partitions(1) == partitions(path, size=1)
        whole = archive.partitions(size=None)
        assert [one.selection for one in whole] == [()]
        assert pickle.loads(pickle.dumps(whole)) == whole
    if path.is_file():
        with exhume.open(path.read_bytes()) as archive, pytest.raises(exhume.ExhumeError, match="path or URL"):
            archive.partitions()


def test_a_directory_of_logs_wants_a_choice() -> None:
    amended = next(path for path in own_archives() if path.name == "amended")
    with pytest.raises(exhume.ExhumeError, match="several"):
        partitions(amended)
    log = sorted((amended / "manifests").iterdir())[0].name
    assert [one.format for one in partitions(amended, opening={"log": log})][:1] == ["ark"]


@pytest.mark.parametrize("size", [300, 1000, 5000, 100_000])
def test_zs_is_cut_by_keys(tmp_path: Path, size: int) -> None:
    records = make_zs(tmp_path / "a.zs", 1, count=3000, block_size=300)
    parts = partitions(tmp_path / "a.zs", size=size)
    assert [record for one in parts for record in one.records()] == records
    stored = (tmp_path / "a.zs").stat().st_size
    assert stored / size / 3 <= len(parts) <= max(1, 3 * stored / size)
    for before, after in pairwise(parts):
        assert before.stop == after.first
        assert after.first is not None
        assert max(before.records()) < after.first <= min(after.records())


def test_long_keys_keep_partitions_small(tmp_path: Path) -> None:
    records = sorted(b"same" * 300 + b"%05d" % (number * 7) + b"x" * 3000 for number in range(60))
    records += sorted(bytes([200 + number]) * 3000 for number in range(20))
    with exhume.create(tmp_path / "long.zs", "zs", codec="none", block_size=4000, branching_factor=3) as writer:
        made: Any = writer
        made.add_records(records)
    parts = partitions(tmp_path / "long.zs", size=4000)
    assert len(parts) > 5  # the first sixty share their first 128 bytes: they cannot be cut so
    assert all(len(pickle.dumps(one)) < 1024 for one in parts)
    assert [record for one in parts for record in one.records()] == records


def test_a_zs_part_reads_its_own_blocks(tmp_path: Path, counted: list[tuple[int, int]]) -> None:
    with exhume.create(tmp_path / "a.zs", "zs", codec="none", block_size=4000, branching_factor=8) as writer:
        made: Any = writer
        made.add_records(b"%08d" % number + b"." * 92 for number in range(12_000))
    data = (tmp_path / "a.zs").read_bytes()
    fsspec.filesystem("memory").pipe_file("/counted/a.zs", data)
    parts = partitions("memory://counted/a.zs", size=200_000)
    assert len(parts) in range(5, 9)
    planned = sum(end - start for start, end in counted)
    assert planned < len(data) / 2
    for one in parts:
        counted.clear()
        count = sum(1 for _ in one.records())
        read = sum(end - start for start, end in counted)
        # Its records, a block more before them, one index block per level, and the head (64 KiB) and tail (256 KiB).
        assert read < count * 103 + 8 * 5000 + (72 << 10) + (256 << 10), (one, read)


def test_a_clps_part_reads_its_own_tables(tmp_path: Path, counted: list[tuple[int, int]]) -> None:
    with exhume.create(tmp_path / "a.clps", "clp-s", min_table_size=1 << 16) as writer:
        made: Any = writer
        for number in range(30_000):
            kind = number % 10
            made.write({f"k{kind}": hash((number, kind)) % (1 << 60), f"v{kind}": number * 0.37, "n": number})
    data = (tmp_path / "a.clps").read_bytes()
    fsspec.filesystem("memory").pipe_file("/counted/a.clps", data)
    parts = partitions("memory://counted/a.clps", size=1)
    assert len(parts) == 10
    for one in parts:
        counted.clear()
        rows = list(one.records())
        assert len(rows) == 3000
        assert sum(end - start for start, end in counted) < 2 * 65536 + 3 * len(data) / 10


def test_a_caf_part_reads_its_own_members(tmp_path: Path, counted: list[tuple[int, int]]) -> None:
    with exhume.create(tmp_path / "a.caf", "caf") as writer:
        made: Any = writer
        for number in range(40):
            made.add_bytes(f"m{number}", bytes([number]) * 50_000)
    fsspec.filesystem("memory").pipe_file("/counted/a.caf", (tmp_path / "a.caf").read_bytes())
    parts = partitions("memory://counted/a.caf", size=500_000)
    assert len(parts) == 4
    names = []
    for one in parts:
        counted.clear()
        rows = list(one.records())
        names += [row["name"] for row in rows]
        assert sum(end - start for start, end in counted) < 500_000 + 400_000  # and the tail that has the index
    assert names == [f"m{number}" for number in range(40)]
    counted.clear()
    assert all("data" not in row for one in partitions("memory://counted/a.caf", data=False) for row in one.records())
    assert sum(end - start for start, end in counted) < 700_000


def counted_tree(path: Path) -> tuple[str, dict[str, int]]:
    """A directory put into memory: its URL, and the sizes of its files."""
    memory = fsspec.filesystem("memory")
    files = {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    for name, data in files.items():
        memory.pipe_file(f"/counted/{name}", data)
    return "memory://counted", {name: len(data) for name, data in files.items()}


def test_a_bundle_part_reads_its_own_members(tmp_path: Path, counted: list[tuple[int, int]]) -> None:
    """The index, the heads (64 KiB) of its shards, and the records that hold its members."""
    writer: Any = exhume.create(tmp_path / "b", "databundle", shards=2, record_size=64 << 10)
    with writer:
        for number in range(60):
            writer.add(f"m{number:02}", random.Random(number).randbytes(50_000))
    url, sizes = counted_tree(tmp_path / "b")
    index = sum(size for name, size in sizes.items() if name.startswith("index/"))
    parts = partitions(url, size=500_000)
    assert len(parts) == 6
    assert sum(end - start for start, end in counted) < 2 * index + (64 << 10)  # the index is read, and one head
    names = []
    for one in parts:
        counted.clear()
        rows = list(one.records())
        names += [row["name"] for row in rows]
        own = sum(row["size"] for row in rows)
        assert sum(end - start for start, end in counted) < own + 2 * (64 << 10) + 3 * (64 << 10) + 2 * index, one
    assert sorted(names) == [f"m{number:02}" for number in range(60)]


def test_a_database_part_reads_its_own_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest, and one table or log."""
    from fsspec.implementations.memory import MemoryFileSystem

    tables: list[tuple[int, int, int, bytes, bytes]] = []
    files: dict[str, bytes] = {"CURRENT": b"MANIFEST-000004\n", "LOCK": b""}
    for number in range(5, 8):
        rows = [(b"%d%05d" % (number, i), number * 10_000 + i, 1, b"value" * 30) for i in range(4000)]
        table, writer = build_table(rows, block_size=4096)
        files[f"{number:06}.ldb"] = table
        tables.append((1, number, len(table), writer.smallest, writer.largest))
    files["MANIFEST-000004"] = build_log([edit(log=9, last=90_000, following=10, tables=tables)])
    files["000009.log"] = build_log([build_batch(90_001, [(1, b"9", b"new")])])
    write_files(tmp_path / "db", files)
    url, sizes = counted_tree(tmp_path / "db")
    parts = partitions(url, size=1)
    assert len(parts) == 4
    read: dict[str, int] = {}
    plain = MemoryFileSystem.cat_file

    def cat_file(self: Any, path: str, start: int | None = None, end: int | None = None, **more: Any) -> Any:
        data = plain(self, path, start=start, end=end, **more)
        name = path.rpartition("/")[2]
        read[name] = read.get(name, 0) + len(data)
        return data

    monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)
    own = set()
    for one in parts:
        read.clear()
        versions = list(one.records())
        (name,) = {row["file"] for row in versions}
        assert len(versions) == (4000 if name.endswith(".ldb") else 1)
        assert set(read) == {"MANIFEST-000004", name}
        assert read[name] <= 2 * sizes[name] + HEAD + TAIL  # a pass for the order of its keys, and its ends
        own.add(name)
    assert len(own) == 4
    fsspec.filesystem("memory").rm("/counted", recursive=True)


def test_an_ark_part_reads_its_own_split(counted: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each split is read by one part."""
    from fsspec.implementations.memory import MemoryFileSystem

    memory = fsspec.filesystem("memory")
    root = ROOT / "tests/samples/ark/log"
    for path in root.rglob("*"):
        if path.is_file():
            memory.pipe_file(f"/counted/{path.relative_to(root)}", path.read_bytes())
    parts = partitions("memory://counted", size=1)
    assert len(parts) > 1
    read: list[str] = []
    plain = MemoryFileSystem.cat_file

    def cat_file(self: Any, path: str, *args: Any, **more: Any) -> Any:
        read.append(path)
        return plain(self, path, *args, **more)

    monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)
    readers: dict[str, int] = {}
    for one in parts:
        read.clear()
        assert list(one.records())
        for name in {name for name in read if "/splits/" in name}:
            readers[name] = readers.get(name, 0) + 1
    assert readers
    assert set(readers.values()) == {1}


def test_options_reach_the_reader(tmp_path: Path, archives: Path) -> None:
    records = make_zs(tmp_path / "a.zs", 1)
    found = partitions(tmp_path / "a.zs", prefix=b"key1", size=10)
    assert [record for one in found for record in one.records()] == [r for r in records if r.startswith(b"key1")]
    events = [event for one in partitions(archives / "l0.clps", query="n >= 4") for event in one.records()]
    assert [event["n"] for event in events] == [4, 5]
    log = ROOT / "tests/samples/ark/log"
    channels = {message.channel for one in partitions(log) for message in one.records()}
    for channel in channels:
        some = [message for one in partitions(log, topics=[channel]) for message in one.records()]
        assert {message.channel for message in some} == {channel}


def test_bags(archives: Path) -> None:
    targets = sorted(archives.glob("l*.clps"))
    bag = to_bag(targets)
    assert bag.npartitions == 6
    assert bag.pluck("n").sum().compute(scheduler="sync") == 6 * 15
    assert to_bag([]).compute(scheduler="sync") == []


def test_dataframes_of_zs_have_divisions(tmp_path: Path) -> None:
    records = make_zs(tmp_path / "a.zs", 1, count=3000, block_size=300)
    frame = to_dataframe(tmp_path / "a.zs", size=600)
    assert frame.known_divisions
    assert frame.npartitions >= 3
    assert frame.divisions[0] == b""
    assert frame.divisions[-1] == records[-1]
    whole = frame.compute(scheduler="sync")
    assert list(whole["record"]) == records
    assert list(whole.index) == records
    assert dict(frame.dtypes) == dict(whole.dtypes)
    some = frame.loc[b"key050":b"key060"]
    assert some.npartitions < frame.npartitions
    assert list(some.compute(scheduler="sync")["record"]) == [r for r in records if b"key050" <= r <= b"key060"]
    twice = next(r for r in records if records.count(r) > 1)
    assert len(frame.loc[twice].compute(scheduler="sync")) == records.count(twice)


def test_dataframes_of_unlike_archives_have_one_meta(tmp_path: Path) -> None:
    for name, event in (("a", {"n": 1, "s": "x", "m": 1}), ("b", {"n": 2.5, "t": True, "m": "text"}), ("c", {"n": 7})):
        with exhume.create(tmp_path / f"{name}.clps", "clp-s") as writer:
            made: Any = writer
            for _ in range(3):
                made.write(event)
    frame = to_dataframe(sorted(tmp_path.glob("*.clps")))
    assert not frame.known_divisions
    assert list(frame.columns) == ["n", "s", "m", "t"]
    whole = frame.compute(scheduler="sync")
    assert dict(frame.dtypes) == dict(whole.dtypes)
    assert list(whole["n"]) == [1.0] * 3 + [2.5] * 3 + [7.0] * 3
    assert list(whole["m"].dropna()) == ["1"] * 3 + ["text"] * 3
    assert whole["t"].notna().sum() == 3


@pytest.mark.parametrize("path", READABLE, ids=lambda path: "/".join(path.parts[-2:]))
@pytest.mark.bulk
def test_every_format_makes_a_dataframe(path: Path) -> None:
    with exhume.open(path) as archive:
        more = {"topic": archive.channels()[0].name} if archive.format == "ark" else {}  # type: ignore[attr-defined]
    frame = to_dataframe(path, size=1, **more)
    whole = frame.compute(scheduler="sync")
    assert list(whole.columns) == list(frame.columns)
    assert dict(frame.dtypes) == dict(whole.dtypes)
    one = to_dataframe(path, size=None, **more)
    assert len(one) == len(whole) or path.parent.name == "leveldb"


def test_schemas_merge() -> None:
    pa = pytest.importorskip("pyarrow")
    one = pa.schema([("a", pa.int64()), ("b", pa.null()), ("c", pa.bool_())])
    other = pa.schema([("b", pa.int32()), ("a", pa.float64()), ("c", pa.int64()), ("d", pa.string())])
    merged = merged_schema(pa, [one, other])
    expected = {"a": pa.float64(), "b": pa.int32(), "c": pa.large_string(), "d": pa.string()}
    assert {field.name: field.type for field in merged} == expected
    more = merged_schema(pa, [merged, pa.schema([("a", pa.null()), ("b", pa.int8()), ("d", pa.string())])])
    assert {field.name: field.type for field in more} == {**expected, "b": pa.int64()}
    table = conform(pa.table({"c": [True, None], "a": [1, 2]}), merged)
    assert table.to_pylist() == [
        {"a": 1.0, "b": None, "c": "true", "d": None},
        {"a": 2.0, "b": None, "c": None, "d": None},
    ]


def test_merged_columns_hold_all_values() -> None:
    pa = pytest.importorskip("pyarrow")
    unsigned, signed = pa.table({"a": pa.array([(1 << 64) - 1], pa.uint64())}), pa.table({"a": [-1]})
    merged = merged_schema(pa, [unsigned.schema, signed.schema])
    assert [conform(one, merged)["a"].to_pylist() for one in (unsigned, signed)] == [[str((1 << 64) - 1)], ["-1"]]
    small = pa.schema([("a", pa.uint8())])
    assert merged_schema(pa, [unsigned.schema, small]) == unsigned.schema
    floats = pa.schema([("a", pa.float32())])
    assert merged_schema(pa, [unsigned.schema, floats]) == pa.schema([("a", pa.float64())])
    raw = conform(pa.table({"a": pa.array([b"\xff"], pa.large_binary())}), merged)
    raw.validate(full=True)
    assert raw["a"].to_pylist() == ['{"text":"\ufffd","base64":"/w=="}'.replace("\ufffd", "\\ufffd")]
    with pytest.raises(pa.ArrowInvalid):  # a schema of the caller that is too small
        conform(unsigned, small)


def test_no_archives() -> None:
    assert partitions([]) == []
    with pytest.raises(ValueError, match="no archives"):
        to_dataframe([])
