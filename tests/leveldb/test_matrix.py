"""RocksDB databases over the product of the options that shape their tables: the live rows are the engine's."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import exhume
from exhume.findings import Severity
from exhume.formats.leveldb.forensics import find_data_blocks
from exhume.formats.leveldb.model import Status
from exhume.formats.leveldb.ranges import json_of
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.leveldb.table import Table
from exhume.formats.leveldb.table_index import INDEX_TYPE
from exhume.io.local import LocalTree
from exhume.io.source import BytesSource
from exhume.layout.sections import SectionKind
from exhume.recovery import CarveVerdict
from exhume.testing.damage import flip
from tests.oracles import compared, need
from tests.sizes import THOROUGH, size

from .crafted import rewrite_options, with_options
from .producers import Rows

pytestmark = [pytest.mark.conformance, pytest.mark.slow]


class Shape(NamedTuple):
    """How tables are written."""

    version: int = 6
    checksum: str = "xxh3"
    compression: str = "zstd"
    dictionary: int = 0
    trained: int = 0
    shape_of_index: str = "binary_search"
    hashed: bool = False
    filter: bool = False
    block_size: int = 512
    ingest: bool = False
    blobs: str = ""

    def __str__(self) -> str:
        return "-".join(str(one) for one in self)


FIRST_KEY = "first_key"
"""RocksDB's `kBinarySearchWithFirstKey`, which only OPTIONS can choose here."""

CHOICES: dict[str, tuple[Any, ...]] = {
    "version": (2, 3, 4, 5, 6),
    "checksum": ("no_checksum", "crc32c", "xxhash", "xxhash64", "xxh3"),
    "compression": ("none", "snappy", "zlib", "bz2", "lz4", "lz4hc", "zstd"),
    "dictionary": (0, 4096),
    "trained": (0, 1 << 16),
    "shape_of_index": ("binary_search", "hash_search", "two_level_index_search", FIRST_KEY),
    "hashed": (False, True),
    "filter": (False, True),
    "block_size": (512, 4096),
    "ingest": (False, True),
    "blobs": ("", "none", "snappy", "lz4", "zstd"),
}


def shapes() -> list[Shape]:
    """Every shape (the thorough profile), or so many that each pair of choices occurs."""
    names = list(CHOICES)
    if THOROUGH:
        return [Shape(*values) for values in itertools.product(*CHOICES.values())]
    wanted = {
        ((one, a), (other, b))
        for one, other in itertools.combinations(names, 2)
        for a in CHOICES[one]
        for b in CHOICES[other]
    }
    rng = random.Random(44)
    out: list[Shape] = []
    while wanted:
        tries = [Shape(**{name: rng.choice(values) for name, values in CHOICES.items()}) for _ in range(40)]
        best = max(tries, key=lambda shape: len(wanted & _pairs(shape)))
        if wanted & _pairs(best):
            out.append(best)
            wanted -= _pairs(best)
    return out


def _pairs(shape: Shape) -> set[Any]:
    return set(itertools.combinations(shape._asdict().items(), 2))


def write(path: Path, shape: Shape, writes: int = 500) -> Rows:
    """Write a database of that shape; return the rows that RocksDB reads."""
    rocksdict = need("rocksdict")
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_compression_type(getattr(rocksdict.DBCompressionType, shape.compression)())
    options.set_compression_options(-14, 32767, 0, shape.dictionary)
    options.set_zstd_max_train_bytes(shape.trained if shape.dictionary else 0)
    table = rocksdict.BlockBasedOptions()
    table.set_format_version(shape.version)
    table.set_checksum_type(getattr(rocksdict.ChecksumType, shape.checksum)())
    if shape.shape_of_index != FIRST_KEY:
        table.set_index_type(getattr(rocksdict.BlockBasedIndexType, shape.shape_of_index)())
    table.set_index_block_restart_interval(3)
    table.set_block_size(shape.block_size)
    table.set_metadata_block_size(256)
    if shape.shape_of_index == "hash_search":
        options.set_prefix_extractor(rocksdict.SliceTransform.create_fixed_prefix(2))
    if shape.hashed:
        table.set_data_block_index_type(rocksdict.DataBlockIndexType.binary_and_hash())
    if shape.filter:
        table.set_bloom_filter(10, False)
        table.set_partition_filters(shape.shape_of_index == "two_level_index_search")
    options.set_block_based_table_factory(table)
    if shape.blobs:
        options.set_enable_blob_files(True)
        options.set_min_blob_size(40)
        options.set_blob_compression_type(getattr(rocksdict.DBCompressionType, shape.blobs)())
    opened = options
    if shape.shape_of_index == FIRST_KEY:
        opened = with_options(path, options, index_type="kBinarySearchWithFirstKey")
    database = rocksdict.Rdict(str(path), opened)
    rng = random.Random(str(shape))
    for number in range(writes):
        database[b"k%03d" % rng.randrange(300)] = b"value %d " % number * rng.randrange(20)
    database.flush()
    database.compact_range(None, None)
    for number in range(0, 300, 7):
        database.delete(b"k%03d" % number)
    database.flush()
    if shape.ingest:
        writer = rocksdict.SstFileWriter(options=options)
        writer.open(str(path / "added"))
        for number in range(0, 300, 5):
            writer[b"k%03d" % number] = b"added %d" % number
        writer.finish()
        database.ingest_external_file([str(path / "added")])
        database[b"k005"] = b"after it"
        database.delete(b"k010")
        database.flush()
    rows = dict(database.items())
    database.close()
    return rows


def test_every_shape(tmp_path: Path) -> None:
    primed = 0
    indexes: set[int] = set()
    for number, shape in enumerate(shapes()):
        path = tmp_path / str(number)
        rows = write(path, shape, size(300, 500))
        compared("databases")
        with LevelDbArchive(LocalTree(path)) as archive:
            database = archive.database
            assert dict(database.scan()) == rows, shape
            assert {v.key: v.value for v in database.versions() if v.status is Status.LIVE} == rows, shape
            assert [str(found) for found in archive.verify() if found.severity is not Severity.NOTE] == [], shape
            tables = [database.table(file) for file in database.files if file.kind == "table"]
            primed += sum(bool(table.dictionary) for table in tables)
            assert {_checksum(table) for table in tables} == {shape.checksum}, shape
            indexes |= {table.properties()[INDEX_TYPE][0] for table in tables}
    assert primed > 5, "dictionaries are never used"
    assert indexes == {0, 1, 2, 3}


VERSIONS, COMPRESSIONS = (2, 5, 6), ("none", "snappy", "zstd")
CUT = list(itertools.product(range(len(VERSIONS)), enumerate(CHOICES["checksum"]), range(len(COMPRESSIONS))))


@pytest.mark.parametrize(
    ("version", "checksum", "compression"),
    [  # each pair of two of the three, as a rule
        (VERSIONS[first], checksum, COMPRESSIONS[third])
        for first, (second, checksum), third in CUT
        if THOROUGH or (first + second + third) % 3 == 0
    ],
)
@pytest.mark.bulk
def test_blocks_of_a_cut_table_are_found(tmp_path: Path, version: int, checksum: str, compression: str) -> None:
    """All before the cut, whatever the checksum; without two blocks that were damaged, one of them the first."""
    write(tmp_path / "db", Shape(version, checksum, compression), size(80, 500))
    path = max((tmp_path / "db").glob("*.sst"), key=lambda file: file.stat().st_size)
    data = path.read_bytes()
    handles = list(Table(BytesSource(data)).index().handles)
    whole, (offset, _) = handles[:-5], handles[-5]
    assert len(whole) > 5
    cut = data[: offset + 9]
    assert [block.handle for block in find_data_blocks(Table(BytesSource(cut)))] == whole
    if checksum != "no_checksum":
        middle = len(whole) // 2
        damaged = flip(flip(cut, whole[middle].offset + 5), 2)
        found = [block.handle for block in find_data_blocks(Table(BytesSource(damaged)))]
        assert found == whole[1:middle] + whole[middle + 1 :]


@pytest.mark.parametrize(("size", "least"), [(4096, 1), (512, 4)])
def test_aligned_blocks(tmp_path: Path, size: int, least: int) -> None:
    """Zeros after data blocks up to a multiple of the block size are padding, and nothing else is."""
    rocksdict = need("rocksdict")
    path = tmp_path / "db"
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_compression_type(rocksdict.DBCompressionType.none())
    database = rocksdict.Rdict(str(path), with_options(path, options, block_align="true", block_size=str(size)))
    for number in range(90):
        database[b"k%03d" % number] = b"value" * (number % 9)
    database.flush()
    rows = dict(database.items())
    database.close()
    with LevelDbArchive(LocalTree(path)) as archive:
        assert dict(archive.database.scan()) == rows
        assert [str(found) for found in archive.verify() if found.severity is not Severity.NOTE] == []
        assert archive.sections().gaps() == []
        paddings = [one.span for one in archive.sections() if one.kind is SectionKind.PADDING]
        assert len(paddings) >= least
        assert {span.end % size for span in paddings} == {0}
    table = path / paddings[0].source
    table.write_bytes(flip(table.read_bytes(), paddings[0].start + 1))
    reported = [found.span for found in exhume.verify(path) if found.code == "LDB-320"]
    assert reported == paddings


def test_column_families_with_other_orders(tmp_path: Path) -> None:
    rocksdict = need("rocksdict")
    backward = rocksdict.Options(raw_mode=True)
    backward.create_if_missing(True)
    rocksdict.Rdict(str(tmp_path / "other"), backward).close()
    rewrite_options(tmp_path / "other", {"comparator": "rocksdb.ReverseBytewiseComparator"})
    _, families = rocksdict.Options.load_latest(str(tmp_path / "other"))
    forward = rocksdict.Options(raw_mode=True)
    forward.create_if_missing(True)
    database = rocksdict.Rdict(str(tmp_path / "db"), forward)
    other = database.create_column_family("backward", families["default"])
    for number in range(300):
        database[b"k%03d" % number] = other[b"k%03d" % number] = b"%d" % number
    other.flush()
    other[b"k007"] = b"again"
    rows = list(other.items())
    other.close()
    database.close()
    assert rows[0][0] == b"k299"
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        assert list(archive.database.scan(column_family=1)) == rows
        assert [str(found) for found in archive.verify() if found.severity is not Severity.NOTE] == []


def test_entities_of_wide_columns(tmp_path: Path) -> None:
    rocksdict = need("rocksdict")
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    database = rocksdict.Rdict(str(tmp_path / "db"), options)
    database.put_entity(b"k1", [b"", b"a", b"\xff"], [b"default", b"1", b"2"])
    database[b"k2"] = b"plain"
    database.flush()
    database.put_entity(b"k3", [b"x"], [b"y"])
    rows = dict(database.items())
    columns = {key: dict(database.get_entity(key)) for key in (b"k1", b"k3")}
    database.close()
    with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
        assert dict(archive.database.scan()) == rows
        assert {v.key: v.columns for v in archive.database.versions()} == {**columns, b"k2": None}
        table = archive.to_arrow(columns=["key", "value", "columns"]).read_all().to_pylist()
        assert {row["key"]: row["value"] for row in table} == rows
        assert {row["key"]: dict(row["columns"]) for row in table if row["columns"] is not None} == columns
        text = b"".join(archive.database.map_live(json_of))
        assert [json.loads(line).get("columns") for line in text.splitlines()] == [
            {"": {"text": "default"}, "a": {"text": "1"}, "\\xff": {"text": "2"}}, None, {"x": {"text": "y"}},
        ]  # fmt: skip
    report = exhume.salvage(tmp_path / "db", tmp_path / "saved")
    assert (report.recovered, report.lost) == ({"rows": 3}, {"entities with columns": 2})
    for manifest in (tmp_path / "db").glob("MANIFEST-*"):
        manifest.unlink()
    assert exhume.salvage(tmp_path / "db", tmp_path / "more").lost["entities with columns"] == 2


def test_tables_are_carved(tmp_path: Path) -> None:
    rng = random.Random(7)
    image, places = b"", []
    for number, version in enumerate((2, 4, 5, 6)):
        for checksum in ("crc32c", "xxh3"):
            folder = tmp_path / f"{number}-{checksum}"
            write(folder, Shape(version, checksum, shape_of_index="two_level_index_search", filter=True))
            for path in sorted(folder.glob("*.sst")):
                image += rng.randbytes(rng.randrange(3000))
                places.append((len(image), path.stat().st_size))
                image += path.read_bytes()
    (tmp_path / "image").write_bytes(image)
    found = [one for one in exhume.carve(tmp_path / "image") if one.format == "leveldb"]
    assert [(one.offset, one.length) for one in found] == places
    assert {one.verdict for one in found} == {CarveVerdict.COMPLETE}


def _checksum(table: Table) -> str:
    assert table.footer is not None
    return {"none": "no_checksum", "xxhash32": "xxhash"}.get(table.footer.checksum, table.footer.checksum)
