"""Logs of RocksDB that are compressed, recycled, or have transactions and column families: the state is RocksDB's."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

import exhume
from exhume.codecs import compress
from exhume.findings import Finding, Severity, Verdict
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.log import LogReader
from exhume.formats.leveldb.model import Status
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.leveldb.table_writer import build_log
from exhume.io.local import LocalTree
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.testing.damage import flip
from tests.leveldb.crafted import (
    BEGIN,
    BEGIN_PERSISTED,
    BEGIN_UNPREPARED,
    COMMIT,
    DELETE,
    END,
    MERGE,
    NOOP,
    NOTE,
    PUT,
    RANGE_DELETE,
    ROLLBACK,
    Crafted,
    batch,
    fragments,
    ours,
)
from tests.leveldb.make_samples import build_database, write_files
from tests.oracles import need

Cli = Callable[..., Any]
ZSTD = (9, struct.pack("<I", 7))


def statuses(path: Path) -> dict[bytes, list[str]]:
    out: dict[bytes, list[str]] = {}
    for version in Database(LocalTree(path)).versions():
        out.setdefault(version.key, []).append(str(version.status))
    return out


def verdict(path: Path) -> Verdict:
    return Verdict.of(exhume.verify(path))


def warnings(path: Path) -> list[str]:
    return [str(f) for f in exhume.verify(path) if f.severity is not Severity.NOTE]


def writes(seed: int, count: int, *, sizes: tuple[int, ...] = (0, 5, 300)) -> list[bytes]:
    """Batches of puts and deletions."""
    rng = random.Random(seed)
    out, sequence = [], 100
    for _ in range(count):
        operations: list[Any] = []
        for _ in range(rng.randrange(1, 6)):
            key = b"k%02d" % rng.randrange(30)
            value = rng.choice((rng.randbytes(8), b"value ")) * 50000
            kind = rng.choices((PUT, DELETE), (8, 1))[0]
            operations.append((kind, key, value[: rng.choice(sizes)]) if kind == PUT else (kind, key))
        out.append(batch(sequence, *operations))
        sequence += len(operations)
    return out


@pytest.mark.conformance
@pytest.mark.parametrize("sizes", [(0, 5, 300), (40_000, 200_000)], ids=["small", "larger than a block"])
def test_compressed_logs_as_rocksdb_reads_them(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    database = Crafted(tmp_path / "db")
    records = [(1, compress("zstd", one)) for one in writes(len(sizes), 40, sizes=sizes)]
    database.log.write_bytes(fragments([ZSTD, *records]))
    rows = database.engine()
    assert len(rows) > 10
    assert ours(database.path) == rows
    assert warnings(database.path) == []
    with exhume.open(database.path) as archive:
        assert archive.sections().gaps() == []


def test_a_range_that_ends_before_it_begins_ends_the_log(tmp_path: Path) -> None:
    """RocksDB writes such a deletion to its log before it refuses it, and stops there when it reads the log again."""
    database = Crafted(tmp_path / "db")
    backwards = (RANGE_DELETE, b"z", b"a")
    database.write(
        batch(100, (PUT, b"b", b"1")), batch(101, (PUT, b"c", b"2"), backwards, (PUT, b"d", b"3")),
        batch(104, (PUT, b"e", b"4")), batch(105, (RANGE_DELETE, b"a", b"c")),
    )  # fmt: skip
    rows = database.engine()
    assert rows == {b"a": b"1", b"b": b"1", b"c": b"2"}
    [found] = [one for one in exhume.verify(database.path) if one.severity is Severity.ERROR]
    assert (found.code, found.actual) == ("LDB-305", b"a")
    with pytest.raises(exhume.ExhumeError, match="ends before it begins"):
        ours(database.path)
    assert exhume.salvage(database.path, tmp_path / "saved").recovered == {"rows": 3}
    assert ours(tmp_path / "saved") == rows
    database.write(batch(100, (PUT, b"b", b"1"), (RANGE_DELETE, b"b", b"b"), (PUT, b"c", b"2")))
    assert ours(database.path) == database.engine() == rows
    assert warnings(database.path) == []


@pytest.mark.parametrize("option", ["true", "false"])
def test_an_update_in_place_that_a_range_deletion_may_hide(tmp_path: Path, option: str, exhume_cli: Cli) -> None:
    """With `inplace_update_support` an update has the number of the first write, unless it is longer than that."""
    database = Crafted(tmp_path / "db", inplace_update_support=option, allow_concurrent_memtable_write="false")
    keys = (b"hidden", b"longer", b"shrunk", b"merged", b"later", b"beside", b"gone")
    first = [(PUT, key, b"12345") for key in keys]
    database.write(
        batch(100, *first), batch(107, (PUT, b"shrunk", b"12"), (DELETE, b"merged")),
        batch(109, (RANGE_DELETE, b"g", b"z")),
        batch(110, (PUT, b"hidden", b"54321"), (PUT, b"longer", b"123456"), (PUT, b"shrunk", b"123"),
                   (PUT, b"merged", b"1"), (PUT, b"beside", b"54321"), (PUT, b"fresh", b"1"), (PUT, b"gone", b"1"),
                   (RANGE_DELETE, b"gone", b"gonf"), (PUT, b"hidden", b"543")),
    )  # fmt: skip
    rows, engine = ours(database.path), database.engine()
    found = [(one.code, one.actual) for one in exhume.verify(database.path) if one.is_problem]
    assert found == ([("LDB-114", b"hidden")] if option == "true" else [])
    assert rows.items() - engine.items() == ({(b"hidden", b"543")} if option == "true" else set())
    assert engine.items() <= rows.items()
    for words in (["list", database.path], ["cat", database.path], ["search", database.path, "h"]):
        done = exhume_cli(*words)
        assert ("LDB-114" in done.err, done.code) == ((True, 3) if option == "true" else (False, 0)), words
    notes = exhume.salvage(database.path, tmp_path / "saved").notes
    assert ["LDB-114" in note for note in notes] == ([True] if option == "true" else [])


def test_a_compressed_log_that_rocksdb_wrote(tmp_path: Path) -> None:
    """RocksDB writes it itself when OPTIONS state it."""
    rocksdict = need("rocksdict")
    database = Crafted(tmp_path / "db", wal_compression="kZSTD")
    options, families = rocksdict.Options.load_latest(str(database.path))
    opened = rocksdict.Rdict(str(database.path), options, column_families=families)
    for number in range(300):
        opened[b"k%03d" % number] = b"value %d " % number * (5000 if number % 100 == 0 else number)
    rows = dict(opened.items())
    opened.close()
    assert database.log.read_bytes()[6] == 9
    assert ours(database.path) == rows
    assert warnings(database.path) == []
    assert exhume.salvage(database.path, tmp_path / "saved").complete
    assert ours(tmp_path / "saved") == rows


@pytest.mark.parametrize("first", [[], [ZSTD]], ids=["stored", "compressed"])
def test_the_payload_of_a_record_is_read_again(first: list[tuple[int, bytes]]) -> None:
    given = writes(3, 12, sizes=(5, 300, 40_000, 100_000))
    data = fragments([*first, *((1, compress("zstd", one) if first else one) for one in given)])
    reader = LogReader(BytesSource(data, "000003.log"))
    records = list(reader)
    assert [record.payload for record in records] == given
    assert [reader.content(record.fragments) for record in records] == given
    assert first or max(len(record.fragments) for record in records) > 2


def test_a_compressed_log_without_its_first_fragment_invents_nothing(tmp_path: Path) -> None:
    """The fragment that names the codec is damaged: records are recognized, never parsed as something else."""
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    good = fragments([ZSTD, *((1, compress("zstd", one)) for one in writes(1, 5))])
    database.log.write_bytes(good)
    rows = ours(database.path)
    for at in (0, 4, 6, 8):
        database.log.write_bytes(flip(good, at, 0xFF))
        assert verdict(database.path) is Verdict.DAMAGED
        live = {v.key: v.value for v in Database(LocalTree(database.path)).versions() if v.status == "live"}
        assert live == rows, at


@pytest.mark.parametrize("codec", [1, 4, 99, 0xFFFFFFFF])
def test_a_log_with_an_unknown_codec_is_not_read(tmp_path: Path, codec: int) -> None:
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    database.log.write_bytes(fragments([(9, struct.pack("<I", codec)), (1, writes(1, 1)[0])]))
    found = [f for f in exhume.verify(database.path) if f.severity is not Severity.NOTE]
    assert [f.code for f in found] == ["LDB-109"]
    assert verdict(database.path) is Verdict.INCOMPLETE
    assert statuses(database.path) == {b"a": ["live"]}
    with pytest.raises(exhume.ExhumeError) as caught:
        ours(database.path)
    assert caught.value.code == "LDB-109"


@pytest.mark.parametrize("kind", [12, 32, 127])
def test_an_unknown_type_of_fragment_stops_the_log(tmp_path: Path, kind: int) -> None:
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    first, second = batch(10, (PUT, b"k", b"v")), batch(11, (PUT, b"l", b"w"))
    database.log.write_bytes(fragments([(1, first), (kind, b"?"), (1, second)]))
    assert [f.code for f in exhume.verify(database.path)] == ["LDB-108"]
    assert statuses(database.path) == {b"a": ["live"], b"k": ["live"]}


@pytest.mark.parametrize("kind", [26, 99, 127, 255])
def test_an_unknown_operation_stops_the_log(tmp_path: Path, kind: int) -> None:
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    database.write(batch(10, (PUT, b"k", b"v"), (kind, b"what", b"ever")), batch(12, (PUT, b"never", b"read")))
    assert [f.code for f in exhume.verify(database.path)] == ["LDB-111"]
    assert verdict(database.path) is Verdict.INCOMPLETE
    assert b"never" not in statuses(database.path)


@pytest.mark.conformance
@pytest.mark.parametrize("seed", range(12))
def test_recycled_logs_as_rocksdb_reads_them(tmp_path: Path, seed: int) -> None:
    """The file of an old log is overwritten up to anywhere: in a fragment, between two, in a record of several."""
    rng = random.Random(seed)
    database = Crafted(tmp_path / "db", recycle_log_file_num="2")
    number = database.number
    old = writes(seed, 30, sizes=(5, 300, 20_000))
    new = writes(seed + 50, rng.randrange(0, 9), sizes=(5, 300, 20_000) if seed % 2 else (5, 40))
    before = fragments([(5, one) for one in old], number - rng.randrange(1, 6))
    after = fragments([(5, one) for one in new], number)
    if seed == 5:
        before = after + before[len(after) : len(after) + 5]  # less than a header remains
    database.log.write_bytes(after + before[len(after) :])
    rows = database.engine()
    assert ours(database.path) == rows
    assert warnings(database.path) == []
    found = Counter(str(v.status) for v in Database(LocalTree(database.path)).versions())
    assert set(found) <= {"live", "replaced", "deleted", "tombstone", "unreferenced"}
    if len(before) > len(after) + 40_000:
        assert found["unreferenced"] > 0
    with exhume.open(database.path) as archive:
        assert archive.sections().gaps() == []


def test_damage_inside_a_recycled_log_is_damage(tmp_path: Path) -> None:
    """More of the log follows it; only what is after its last fragment is from an earlier use."""
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    new = [batch(10 + n, (PUT, b"k%d" % n, b"new")) for n in range(3)]
    after = fragments([(5, one) for one in new], database.number)
    before = fragments([(5, one) for one in writes(1, 9)], database.number - 1)
    database.log.write_bytes(flip(after, len(after) * 2 // 3 - 1, 1) + before[len(after) :])
    found = [f.code for f in exhume.verify(database.path)]
    assert found == ["LDB-201", "LDB-405"]
    assert verdict(database.path) is Verdict.DAMAGED
    cut = fragments([(6, new[0])], database.number)  # the record that was never finished
    database.log.write_bytes(cut + before[len(cut) :])
    assert [f.code for f in exhume.verify(database.path)] == ["LDB-303", "LDB-405"]


def transactions(seed: int) -> list[bytes]:
    """Batches of transactions that are prepared and then committed, rolled back, or neither, others among them."""
    rng = random.Random(seed)
    out: list[bytes] = []
    waiting: dict[bytes, int] = {}
    sequence, number = 100, 0

    def operations(most: int) -> list[Any]:
        made: list[Any] = []
        for _ in range(rng.randrange(most)):
            key = b"k%d" % rng.randrange(12)
            kind = rng.choices((PUT, DELETE, MERGE, RANGE_DELETE), (8, 2, 2, 0.5))[0]
            value = key + b"z" if kind == RANGE_DELETE else b"%d" % rng.randrange(12)
            made.append((kind, key) if kind == DELETE else (kind, key, value))
        return made

    for _ in range(50):
        what = rng.choices(("plain", "prepare", "commit", "rollback"), (3, 4, 3, 1))[0]
        own = operations(4)
        if what == "plain" or (what != "prepare" and not waiting):
            own.insert(rng.randrange(len(own) + 1), (NOTE, b"a note"))
            out.append(batch(sequence, *([(NOOP,)] if rng.random() < 0.3 else []), *own))
            sequence += len(own) - 1
        elif what == "prepare":
            number += 1
            name = b"t%d" % number
            waiting[name] = len(own)
            out.append(batch(sequence, (BEGIN,), *own, (END, name)))
        else:
            name = rng.choice(sorted(waiting))
            own = own if what == "commit" and rng.random() < 0.4 else []
            prepared = waiting.pop(name)
            out.append(batch(sequence, *own, (COMMIT if what == "commit" else ROLLBACK, name)))
            sequence += len(own) + (prepared if what == "commit" else 0)  # each write takes a number when committed
    return out


@pytest.mark.conformance
@pytest.mark.parametrize("seed", range(10))
def test_transactions_as_rocksdb_replays_them(tmp_path: Path, seed: int) -> None:
    """Prepared ones wait for their commit, which assigns their sequence numbers; over two logs as well."""
    database = Crafted(tmp_path / "db", allow_2pc="true", merge_operator="stringappend")
    batches = transactions(seed)
    cut = len(batches) // 2 if seed % 2 else 0
    if cut:
        first, second = database.log, database.log.with_name(f"{database.number + 40:06d}.log")
        first.write_bytes(build_log(batches[:cut]))
        second.write_bytes(build_log(batches[cut:]))
    else:
        database.write(*batches)
    rows = database.engine()
    assert len(rows) > 3
    assert ours(database.path) == rows
    assert warnings(database.path) == []
    found = {str(v.status) for v in Database(LocalTree(database.path)).versions()}
    assert found & {"prepared", "rolled-back"}


def test_the_state_of_transactions_is_shown(tmp_path: Path, exhume_cli: Cli) -> None:
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    database.write(
        batch(10, (BEGIN,), (PUT, b"yes", b"1"), (END, b"first")),
        batch(10, (BEGIN,), (PUT, b"no", b"2"), (DELETE, b"a"), (END, b"second")),
        batch(10, (BEGIN,), (PUT, b"open", b"3"), (END, b"third")),
        batch(10, (COMMIT, b"first")),
        batch(11, (ROLLBACK, b"second")),
        batch(11, (COMMIT, b"of a log that is gone")),
        batch(11, (BEGIN,), (PUT, b"never ended", b"4")),
        batch(11, (PUT, b"last", b"5")),
    )
    assert ours(database.path) == {b"a": b"1", b"yes": b"1", b"last": b"5"}
    assert statuses(database.path) == {
        b"a": ["live", "rolled-back"], b"yes": ["live"], b"last": ["live"], b"no": ["rolled-back"],
        b"open": ["prepared"], b"never ended": ["prepared"],
    }  # fmt: skip
    found = {v.key: v.sequence for v in Database(LocalTree(database.path)).versions() if v.status is Status.LIVE}
    assert found == {b"a": 1, b"yes": 10, b"last": 11}
    assert exhume_cli("search", database.path, "no", "--exit-code").code == 4
    assert "rolled-back" in exhume_cli("search", database.path, "no", "--all-versions").text
    assert {v.key for v in Database(LocalTree(database.path)).state(10, unreferenced=True)} == {b"a", b"yes"}
    exhume.salvage(database.path, tmp_path / "saved")
    assert ours(tmp_path / "saved") == {b"a": b"1", b"yes": b"1", b"last": b"5"}
    (database.path / "CURRENT").unlink()
    for manifest in database.path.glob("MANIFEST-*"):
        manifest.unlink()
    exhume.salvage(
        database.path, tmp_path / "more"
    )  # every file counts, and still no transaction that was not committed
    assert ours(tmp_path / "more") == {b"a": b"1", b"yes": b"1", b"last": b"5"}


def test_transactions_that_are_written_before_they_are_committed(tmp_path: Path) -> None:
    """RocksDB's policies WritePrepared and WriteUnprepared: a batch has one sequence number, and the next one for a key
    that it has already (db/write_batch.cc, MaybeAdvanceSeq); what was prepared is in the state if it was committed.
    """
    need("rocksdict")
    database = Crafted(tmp_path / "db")
    database.write(
        batch(10, (PUT, b"x", b"1"), (PUT, b"y", b"1"), (PUT, b"x", b"2"), (NOOP,)),  # 10, 10, 11
        batch(12, (BEGIN_PERSISTED,), (PUT, b"p", b"1"), (PUT, b"a", b"2"), (END, b"t")),
        batch(13, (BEGIN_UNPREPARED,), (PUT, b"u", b"1"), (END, b"s")),
        batch(14, (BEGIN_PERSISTED,), (PUT, b"u", b"2"), (END, b"s")),
        batch(15, (BEGIN_PERSISTED,), (PUT, b"r", b"1"), (PUT, b"x", b"3"), (END, b"q")),
        batch(16, (COMMIT, b"t")),
        batch(17, (PUT, b"x", b"2"), (DELETE, b"r"), (ROLLBACK, b"q")),
        batch(18, (PUT, b"z", b"1"), (NOOP,)),
    )
    with_rows = Database(LocalTree(database.path))
    rows = {v.key: (v.sequence, v.value) for v in with_rows.versions() if v.status is Status.LIVE}
    assert rows == {
        b"a": (12, b"2"), b"p": (12, b"1"), b"x": (17, b"2"), b"y": (10, b"1"), b"z": (18, b"1")
    }  # fmt: skip
    assert dict(with_rows.scan()) == {key: value for key, (_, value) in rows.items()}
    assert statuses(database.path)[b"u"] == ["prepared", "prepared"]
    assert statuses(database.path)[b"r"] == ["tombstone", "rolled-back"]
    assert warnings(database.path) == []


def test_merge_operands_that_a_rollback_leaves(tmp_path: Path) -> None:
    """RocksDB applied them when they were prepared; by default, a rollback writes only the keys of other operations."""
    need("rocksdict")
    database = Crafted(tmp_path / "db", merge_operator="StringAppendOperator")
    database.write(
        batch(10, (PUT, b"x", b"1"), (NOOP,)),
        batch(11, (BEGIN_PERSISTED,), (MERGE, b"x", b"2"), (MERGE, b"y", b"3"), (PUT, b"z", b"4"), (END, b"t")),
        batch(12, (PUT, b"y", b"5"), (DELETE, b"z"), (ROLLBACK, b"t")),
        batch(13, (BEGIN,), (MERGE, b"x", b"6"), (END, b"s")),
        batch(13, (ROLLBACK, b"s")),
    )
    assert ours(database.path) == {b"a": b"1", b"x": b"1,2", b"y": b"5"}
    assert sorted(statuses(database.path)[b"x"]) == ["live", "operand", "operand", "rolled-back"]


def test_prepared_operations_that_are_in_tables(tmp_path: Path) -> None:
    """With those policies memory is flushed before a commit: what was not committed is not in the state."""
    prepared = batch(6, (BEGIN_PERSISTED,), (PUT, b"apple", b"red"), (END, b"t"))
    for records, apple in (([prepared], b"green"), ([prepared, batch(7, (COMMIT, b"t"))], b"red")):
        write_files(tmp_path / "db", build_database() | {"000006.log": build_log(records)})
        rows = {b"apple": apple, b"cherry": b"dark", b"damson": b"blue" * 20}
        assert ours(tmp_path / "db") == rows
        assert ("prepared" in statuses(tmp_path / "db")[b"apple"]) is (len(records) == 1)
        with LevelDbArchive(LocalTree(tmp_path / "db")) as archive:
            assert {one.key: one.value for one in archive.database.state(9)} == rows
        exhume.salvage(tmp_path / "db", tmp_path / "out")
        assert ours(tmp_path / "out") == rows
        rmtree(tmp_path / "out")


@pytest.mark.conformance
def test_column_families_that_were_flushed_apart(tmp_path: Path) -> None:
    """A log is still needed by one family; what another has in tables already is taken from there alone."""
    rocksdict = need("rocksdict")
    path = tmp_path / "db"
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    database = rocksdict.Rdict(str(path), options)
    other = database.create_column_family("other", rocksdict.Options(raw_mode=True))
    gone = database.create_column_family("gone", rocksdict.Options(raw_mode=True))
    for number in range(40):
        database[b"k%02d" % number] = b"old"
        other[b"k%02d" % number] = b"other"
        gone[b"k%02d" % number] = b"gone"
    database.delete_range(b"k10", b"k20")
    other.delete_range(b"k30", b"k35")
    database.flush()  # the default family alone
    for number in range(10, 20):
        database[b"k%02d" % number] = b"after"
    database.flush()
    gone.close()
    database.drop_column_family("gone")
    rows, others = dict(database.items()), dict(other.items())
    other.close()
    database.close()
    assert ours(path) == rows
    with LevelDbArchive(LocalTree(path)) as archive:
        mine = archive.database
        assert mine.manifest is not None
        ids = {family.name: number for number, family in mine.manifest.families.items()}
        assert dict(mine.scan(column_family=ids["other"])) == others
        versions = list(mine.versions())
        for family, expected in ((0, rows), (ids["other"], others)):
            live = [v for v in versions if v.column_family == family and v.status is Status.LIVE]
            assert len(live) == len(expected)
            assert {v.key: v.value for v in live} == expected
        assert not [v for v in versions if v.column_family == ids["gone"] and v.status is Status.LIVE]
        assert [str(v.status) for v in mine.history(b"k15") if v.column_family == 0].count("live") == 1
    assert warnings(path) == []


def test_a_recycled_number_has_32_bits() -> None:
    number = (1 << 32) + 7
    data = fragments([(5, batch(1, (PUT, b"k", b"v")))], number)
    assert [record.earlier for record in LogReader(BytesSource(data), number=number)] == [False]
    assert [record.earlier for record in LogReader(BytesSource(data), checks.ignore, number=8)] == [True]


def test_the_end_that_pebble_writes() -> None:
    """A head without data and checksum that states the number of the next log (record/log_writer.go)."""
    end = bytes(6) + b"\5" + (8).to_bytes(4, "little")
    data = build_log([b"record"]) + end
    found: list[Finding] = []
    records = list(LogReader(BytesSource(data), checks.collector(found.append), number=7))
    assert [(one.payload, one.earlier) for one in records] == [(b"record", False), (b"", True)]
    assert [one.code for one in found] == ["LDB-405"]
    assert next(iter(LogReader(BytesSource(end), number=7))).earlier


@pytest.mark.parametrize("number", ["4294967296", "18446744073709551615", "99999999999999999999"])
def test_numbers_of_any_size(number: str) -> None:
    """To the engines, the file of the last one does not belong to the database."""
    files = build_database()
    files |= {f"{number}.log": files["000006.log"], f"{number}.ldb": files["000005.ldb"]}
    with exhume.open(MemoryTree(files), format="leveldb") as opened:
        archive: Any = opened
        assert [one for one in archive.verify() if one.is_problem] == []
        used = {version.place.file for version in archive.database.versions()}
        assert (f"{number}.log" in used) is (len(number) < 20 or number[0] == "1")
        assert dict(archive.database.scan()) == dict(Database(MemoryTree(build_database())).scan())
