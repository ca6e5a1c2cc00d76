"""RocksDB databases over the options that shape their logs and manifests: the live rows are the engine's.

Each database is copied while it is open, so that its logs are as a killed process leaves them, and read after it was
closed, too.  RocksDB opens a copy of both and states the rows.
"""

from __future__ import annotations

import itertools
import random
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import exhume
from exhume.findings import Severity, Verdict
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.model import Role
from exhume.io.local import LocalTree
from tests.oracles import need
from tests.sizes import THOROUGH, size

from .crafted import ours, with_options
from .producers import Rows

pytestmark = [pytest.mark.conformance, pytest.mark.slow]

CHOICES: dict[str, tuple[Any, ...]] = {
    "wal_compression": ("kNoCompression", "kZSTD"),
    "recycle_log_file_num": ("0", "2"),
    "manual_wal_flush": ("false", "true"),
    "atomic_flush": ("false", "true"),
    "avoid_flush_during_shutdown": ("false", "true"),
    "track_and_verify_wals_in_manifest": ("false", "true"),
    "two_write_queues": ("false", "true"),
    "unordered_write": ("false", "true"),
    "max_manifest_file_size": ("300", "1073741824"),
    "write_dbid_to_manifest": ("false", "true"),
    "persist_stats_to_disk": ("false", "true"),
    "allow_2pc": ("false", "true"),
    "families": (0, 2),
    "batches": (False, True),
    "ranges": (False, True),
    "entities": (False, True),
    "large": (False, True),
    "buffer": (20_000, 1 << 20),
}
"""The options of OPTIONS, and the rows to write."""
OPTIONS = list(CHOICES)[: list(CHOICES).index("families")]


class Shape(NamedTuple):
    """One choice of each."""

    values: dict[str, Any]

    def __str__(self) -> str:
        return "-".join(str(one) for one in self.values.values())


def shapes() -> list[Shape]:
    """This many shapes that each pair of choices occurs."""
    wanted = {
        ((one, a), (other, b))
        for one, other in itertools.combinations(CHOICES, 2)
        for a in CHOICES[one]
        for b in CHOICES[other]
    }
    rng = random.Random(45)
    found: list[Shape] = []
    while wanted or (THOROUGH and len(found) < 300):
        tries = [{name: rng.choice(values) for name, values in CHOICES.items()} for _ in range(60)]
        best = max(tries, key=lambda one: len(wanted & set(itertools.combinations(one.items(), 2))))
        found.append(Shape(best))
        wanted -= set(itertools.combinations(best.items(), 2))
    return found


def write(path: Path, shape: Shape) -> None:
    """Write a database of that shape to `path`, with a copy of it while it was open in `path` with `.open`."""
    rocksdict = need("rocksdict")
    made, chosen = rocksdict.Options(raw_mode=True), shape.values
    made.create_if_missing(True)
    made.set_write_buffer_size(chosen["buffer"])
    made.set_disable_auto_compactions(True)
    if chosen["unordered_write"] == "true":
        made.set_allow_concurrent_memtable_write(True)
    options = with_options(path, made, **{name: chosen[name] for name in OPTIONS})
    database = rocksdict.Rdict(str(path), options)
    targets = [database]
    targets += [
        database.create_column_family(f"family{number}", rocksdict.Options(raw_mode=True))
        for number in range(chosen["families"])
    ]
    rng = random.Random(str(shape))
    for step in range(size(250, 400)):
        change(database, rng.choice(targets), step, rng, chosen)
    if chosen["families"] == 2 and rng.random() < 0.5:
        targets.pop().close()
        database.drop_column_family("family1")
    if chosen["manual_wal_flush"] == "true":
        database.flush_wal(True)
    copy_of_open(path, path.with_suffix(".open"))
    for target in targets[:0:-1]:
        target.close()
    database.close()


def copy_of_open(path: Path, to: Path) -> None:
    """Copy a database at a moment at which its engine changes no file."""
    for _ in range(100):
        before = files_of(path)
        try:
            shutil.copytree(path, to)
        except shutil.Error:  # a file was deleted meanwhile
            before = {}
        if before and files_of(path) == before:
            return
        shutil.rmtree(to)
    raise AssertionError("the engine never rests")


def files_of(path: Path) -> dict[str, int]:
    """The sizes of the files; of one that was deleted meanwhile, -1."""
    found = {}
    for file in path.iterdir():
        if not file.name.startswith("LOG"):
            try:
                found[file.name] = file.stat().st_size
            except FileNotFoundError:
                found[file.name] = -1
    return found


def change(database: Any, target: Any, step: int, rng: random.Random, chosen: dict[str, Any]) -> None:
    """Write, delete or flush something in a column family."""
    rocksdict = need("rocksdict")
    key = b"k%03d" % rng.randrange(120)
    length = rng.choice((0, 8, 300, 40_000 if chosen["large"] else 20))
    value = (b"value %d " % step * length)[:length]
    kind = rng.randrange(20)
    if kind < 3:
        target.delete(key)
    elif kind == 3 and chosen["ranges"]:
        target.delete_range(key, key + b"5")
    elif kind == 4 and chosen["entities"]:
        target.put_entity(key, [b"", b"x"], [value, b"1"])
    elif kind == 5 and chosen["batches"]:
        batch = rocksdict.WriteBatch(raw_mode=True)
        for other in range(rng.randrange(1, 30)):
            batch.put(b"k%03d" % rng.randrange(120), b"batch %d" % other)
            batch.delete(b"k%03d" % rng.randrange(120))
        database.write(batch)
    elif kind == 6 and step % 3 == 0:
        target.flush()
    else:
        target[key] = value


def engine(path: Path) -> dict[str, Rows]:
    """The rows of each column family that RocksDB reads in a copy of a database."""
    rocksdict = need("rocksdict")
    copy = path.with_suffix(".copy")
    shutil.copytree(path, copy)
    options = rocksdict.Options(raw_mode=True)
    names = rocksdict.Rdict.list_cf(str(copy), options)
    database = rocksdict.Rdict(
        str(copy), options, column_families={name: rocksdict.Options(raw_mode=True) for name in names}
    )
    found = {}
    for name in names:
        family = database if name == "default" else database.get_column_family(name)
        found[name] = dict(family.items())
        if name != "default":
            family.close()
    database.close()
    shutil.rmtree(copy)
    return found


def families_of(path: Path) -> dict[str, Rows]:
    """The live rows of each column family as we read them, in every way."""
    manifest = Database(LocalTree(path)).manifest
    assert manifest is not None
    kept = {number: family.name for number, family in manifest.families.items() if not family.dropped}
    return {name: dict(ours(path, number)) for number, name in kept.items()}


@pytest.mark.parametrize("shape", shapes(), ids=lambda shape: str(shapes().index(shape)))
def test_logs_as_rocksdb_reads_them(shape: Shape, tmp_path: Path) -> None:
    path = tmp_path / "db"
    write(path, shape)
    for one in (path, path.with_suffix(".open")):
        assert families_of(one) == engine(one), shape
        checked = exhume.verify(one)
        unfinished = {file.name for file in Database(LocalTree(one)).files if file.role is Role.ORPHAN}
        found = [
            str(finding)
            for finding in checked
            if finding.severity is not Severity.NOTE
            and not (finding.span and finding.span.source in unfinished)  # tables that the engine is writing
        ]
        assert (checked.verdict, found) == (Verdict.OK, []), shape
