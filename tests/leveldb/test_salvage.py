"""What salvage keeps of a database: rows and versions, the outcome of every file, counts, notes, progress."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import UnsupportedOperationError
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.layout_facts import BATCH
from exhume.formats.leveldb.log import LogReader
from exhume.formats.leveldb.salvage import _filler, salvage
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import InternalKey, build_bytes
from exhume.io.local import LocalTree
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.limits import Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport, VerifiedBy
from exhume.testing.damage import flip
from tests.leveldb.crafted import build_batch, fragments
from tests.leveldb.make_samples import DELETE, PUT, build_database, build_table, edit, write_files
from tests.leveldb.test_damage import CASES, KEY, LIVE, Files, drop, retable, table_of
from tests.leveldb.test_ranges import files_of
from tests.oracles import need
from tests.sizes import some

RECORDS = SalvageMode.RECORDS
LOG, OLD_LOG, TABLE, MANIFEST = "000006.log", "000003.log", "000005.ldb", "MANIFEST-000004"


def salvaged(files: Files, folder: Path, **options: Any) -> tuple[SalvageReport, dict[bytes, bytes]]:
    """The report, and the rows of the output."""
    folder.mkdir(exist_ok=True)
    report = salvage(MemoryTree(files), folder / "out", **options)
    with exhume.open(folder / "out", format="leveldb") as archive:
        opened: Any = archive
        return report, dict(opened.database.scan())


def reported(report: SalvageReport) -> list[tuple[str, int, int, str, str]]:
    return [(s.span.source, s.span.start, s.span.end, str(s.outcome), s.content) for s in report.spans]


def test_a_sound_database(tmp_path: Path) -> None:
    files = build_database()
    seen: list[tuple[int, int | None, str]] = []
    report, rows = salvaged(files, tmp_path, progress=lambda *step: seen.append(step))
    assert rows == LIVE  # what only the obsolete log knows, and what was deleted, stays away
    assert (dict(report.recovered), dict(report.lost), report.notes) == ({"rows": 3}, {}, [])
    assert report.verified_by is VerifiedBy.CHECKSUMS
    assert sorted(reported(report)) == [
        (OLD_LOG, 0, len(files[OLD_LOG]), "ignored", "obsolete log"),
        (TABLE, 0, 212, "recovered", "data"),
        (TABLE, 212, len(files[TABLE]), "rebuilt", "index and other structure of the file"),
        (LOG, 0, len(files[LOG]), "recovered", "data"),
        ("CURRENT", 0, 16, "rebuilt", "CURRENT"),
        (MANIFEST, 0, len(files[MANIFEST]), "rebuilt", MANIFEST),
    ]
    assert seen[-1] == (3, 3, "rows")


def test_rows_of_a_sound_database_are_those_of_its_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = [[(b"%03d" % (number * step), int(number % 5 > 0), bytes(30)) for number in range(60)] for step in (1, 2)]
    whole = files_of([*layers, [(b"005", 1, b"new"), (b"007", 0, b"")]])
    family = b"\x05\x07" + build_bytes(b"000") + build_bytes(b"of another family")
    wiped = b"\x0f" + build_bytes(b"010") + build_bytes(b"020")  # a range deletion of RocksDB
    logged = BATCH.pack(400, 2) + family + wiped
    manifest = build_log([edit(log=6, last=30, following=99, tables=[])])
    beyond = {name: data for name, data in whole.items() if name != LOG} | {MANIFEST: manifest}
    for number, files in enumerate((whole, {**whole, LOG: build_log([logged])}, beyond, build_database())):
        report, rows = salvaged(files, tmp_path / f"{number}", jobs=2)
        with monkeypatch.context() as patch:
            patch.setattr(Database, "is_sound", lambda self, jobs=1: False)
            slow, expected = salvaged(files, tmp_path / f"{number}-slow")
        assert rows == expected
        assert (dict(report.lost), report.verified_by, reported(report)) == (
            dict(slow.lost),
            slow.verified_by,
            reported(slow),
        )


def test_files_that_are_no_part_of_the_data(tmp_path: Path) -> None:
    report, _ = salvaged({**build_database(), "LOG": b"text"}, tmp_path)
    assert sorted(row[0] for row in reported(report) if row[3] == "ignored") == [OLD_LOG, "LOG"]


def test_lines_report_every_version(tmp_path: Path) -> None:
    files = build_database()
    files[LOG] = build_log([build_batch(7, [(PUT, b"elder", b"bl\xffck"), (DELETE, b"cherry", b"")])])
    seen: list[tuple[int, int | None, str]] = []
    out = tmp_path / "lines"
    report = salvage(MemoryTree(files), out, mode=RECORDS, progress=lambda *step: seen.append(step))
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 10 == report.recovered["versions"]
    assert [step for step in seen if step[2] == "versions"] == [(n, None, "versions") for n in range(1, 11)]
    (elder,) = [line for line in lines if line["key"]["text"] == "elder"]
    assert elder["key"] == {"text": "elder"}
    assert elder["value"] == {"text": "bl�ck", "base64": base64.b64encode(b"bl\xffck").decode()}
    assert (elder["sequence"], elder["status"], elder["checksum"]) == (7, "live", "good")
    assert report.verified_by is VerifiedBy.CHECKSUMS


def test_the_limits_apply(tmp_path: Path) -> None:
    """A block above `payload_size` is copied in chunks; if it has more bytes than may be read, its rows are lost."""
    bomb = dict(build_database())
    table_of((build_block([(KEY, bytes(1000))]), KEY))(bomb)
    whole, rows = salvaged(bomb, tmp_path)
    assert whole.recovered["rows"] == 3
    few = Limits(payload_size=100, structure_size=100)
    assert salvage(MemoryTree(bomb), tmp_path / "chunks", limits=few).complete
    assert dict(Database(LocalTree(tmp_path / "chunks")).scan()) == rows
    bomb["000005.ldb"] = build_table([(b"k", 1, PUT, bytes(5000))], "snappy")[0]
    retable(bomb, small=InternalKey(b"k", 1, PUT).build())
    few = few._replace(expansion=1, expansion_floor=300)
    small = salvage(MemoryTree(bomb), tmp_path / "small", limits=few)
    assert (small.recovered["rows"], small.complete) == (2, False)
    (lost,) = (one for one in small.to_dict()["spans"] if one["outcome"] == "lost")
    assert (lost["source"], lost["code"]) == ("000005.ldb", "LDB-503")


def test_keys_are_no_file_names(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperationError, match="as files"):
        exhume.salvage(MemoryTree(build_database()), tmp_path / "out", mode=SalvageMode.FILES)


def test_the_newest_version_that_is_proved_counts(tmp_path: Path) -> None:
    """Nothing in a log record with a wrong checksum is used: no value, and no deletion either."""
    files = build_database()
    batch = build_batch(7, [(PUT, b"apple", b"forged"), (DELETE, b"damson", b"")])
    data = build_log([batch, build_batch(9, [(PUT, b"elder", b"black")])])
    files[LOG] = flip(data, 0)
    report, rows = salvaged(files, tmp_path)
    assert rows == {b"apple": b"red", b"cherry": b"dark", b"damson": b"blue" * 20, b"elder": b"black"}
    assert report.lost == {"versions with a bad checksum": 2, "spans": 1}
    assert report.recovered == {"rows": 4}
    assert report.verified_by is VerifiedBy.CHECKSUMS
    end = 7 + len(batch)
    assert [row for row in reported(report) if row[0] == LOG and row[3] == "recovered"] == [
        (LOG, end, len(data), "recovered", "data")
    ]
    assert {s.code for s in report.spans if str(s.outcome) == "lost"} == {"LDB-201"}


@pytest.mark.parametrize("lose", ["CURRENT", MANIFEST])
def test_without_a_manifest_every_file_counts(lose: str, tmp_path: Path) -> None:
    files = build_database()
    files[OLD_LOG] = build_log([build_batch(1, [(PUT, b"fig", b"late")]), build_batch(60, [(PUT, b"apple", b"new")])])
    drop(lose)(files)
    report, rows = salvaged(files, tmp_path)
    assert rows == {**LIVE, b"fig": b"late", b"apple": b"new"}
    assert report.lost == ({"manifests": 1} if lose == MANIFEST else {})


def test_a_damaged_manifest_is_none(tmp_path: Path) -> None:
    """Its second record is lost, or one of its tables is missing: older files count again."""
    files = build_database()
    files[OLD_LOG] = build_log([build_batch(1, [(PUT, b"fig", b"late")])])
    assert b"fig" not in salvaged(files, tmp_path)[1]
    damaged = {**files, MANIFEST: flip(files[MANIFEST], len(files[MANIFEST]) - 1)}
    assert salvaged(damaged, tmp_path / "1")[1][b"fig"] == b"late"
    del files[TABLE]
    report, rows = salvaged(files, tmp_path / "2")
    assert rows == {b"apple": b"golden", b"elder": b"black", b"fig": b"late"}
    assert report.lost == {"tables": 1}
    assert report.notes == [f"{TABLE} is missing", "the lost rows may have replaced or deleted rows that were written"]
    assert {row[0] for row in reported(report)} == {"CURRENT", MANIFEST, OLD_LOG, LOG}


def test_versions_beyond_the_last_sequence_are_no_state(tmp_path: Path) -> None:
    files = build_database()
    keys = [InternalKey(key, n, PUT).build() for key, n in ((b"k", 1 << 40), (b"k", 1), (b"m", 1))]
    table_of((build_block(list(zip(keys, (b"v", b"w", b"x"), strict=True))), keys[-1]))(files)
    _, rows = salvaged(files, tmp_path)
    assert rows == {b"apple": b"golden", b"elder": b"black", b"k": b"w", b"m": b"x"}


def put_in(family: int, key: bytes, value: bytes) -> bytes:
    return b"\x05" + bytes((family,)) + build_bytes(key) + build_bytes(value)


def test_other_column_families_are_counted_as_lost(tmp_path: Path) -> None:
    """A LevelDB database has one; that rows of others are not in the output is said."""
    files = build_database()
    known = [bytes(record.payload) for record in LogReader(BytesSource(files["MANIFEST-000004"]))]
    files["MANIFEST-000004"] = build_log([*known, b"\xc8\1\2\xc9\1" + build_bytes(b"other")])
    batch = build_batch(7, [(PUT, b"z", b"1")])
    batch = batch[:8] + (3).to_bytes(4, "little") + batch[12:] + put_in(2, b"a", b"2") + put_in(2, b"b", b"3")
    files[LOG] = build_log([batch])
    report, rows = salvaged(files, tmp_path)
    assert rows == {b"apple": b"red", b"cherry": b"dark", b"damson": b"blue" * 20, b"z": b"1"}
    assert report.lost == {"versions in other column families": 2}
    assert not report.complete


def test_a_range_deletion_deletes_what_is_older(tmp_path: Path) -> None:
    """And it is not a row itself, whatever follows it in the order of keys."""
    files = build_database()
    batch = build_batch(7, [(15, b"b", b"d"), (PUT, b"c", b"new")])
    files[LOG] = build_log([batch])
    report, rows = salvaged(files, tmp_path)
    assert rows == {b"apple": b"red", b"c": b"new", b"damson": b"blue" * 20}
    assert report.lost == {}


def test_notes_of_verify_cost_nothing(tmp_path: Path) -> None:
    """Warnings and errors with a place make a span of the file lost; notes (an obsolete file) do not."""
    files = build_database()
    retable(files)
    report, _ = salvaged({**files, "000002.log": b""}, tmp_path)
    assert "lost" not in {row[3] for row in reported(report)}


@pytest.mark.parametrize("number", range(0, len(CASES), 4))
def test_the_spans_of_each_file_are_all_of_it(number: int, tmp_path: Path) -> None:
    files = build_database()
    CASES[number][1](files)
    report = salvage(MemoryTree(files), tmp_path / "out")
    for name, data in some(files.items()):
        if name.startswith("lost/"):  # set aside by a repair: a database of its own
            continue
        at = 0
        for source, start, end, *_ in reported(report):
            if source == name:
                assert start == at
                at = end
        assert at == len(data), name


@pytest.mark.parametrize("size", [500, 60_000, 400_000])
def test_a_table_of_zeros_is_given_up_soon(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each zero may be the end of a block: no more than a million of them are examined, here 20,000."""
    monkeypatch.setattr("exhume.formats.leveldb.forensics._MOST_ENDS", 20_000)
    write_files(tmp_path / "db", build_database() | {"000005.ldb": bytes(size)})
    report = exhume.salvage(tmp_path / "db", tmp_path / "out")
    assert report.lost["tables"] == 1
    assert "the lost rows may have replaced or deleted rows that were written" in report.notes


def test_a_table_of_range_deletions_alone_is_not_lost(tmp_path: Path) -> None:
    """It has no data blocks, which are what salvage recovers."""
    rocksdict = need("rocksdict")
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_disable_auto_compactions(True)
    database = rocksdict.Rdict(str(tmp_path / "db"), options)
    for number in range(9):
        database[b"k%d" % number] = b"v"
    database.flush()
    database.delete_range(b"k3", b"k6")
    database.flush()
    database.close()
    report = exhume.salvage(tmp_path / "db", tmp_path / "out")
    assert (report.recovered, report.lost, report.notes) == ({"rows": 6}, {}, [])


@pytest.mark.parametrize(("folder", "code"), [("/var/logs", "LDB-113"), ("", "LDB-115")])
def test_a_log_that_is_not_there_is_lost(tmp_path: Path, folder: str, code: str) -> None:
    """It is missing, or in another directory (RocksDB's `wal_dir`), which does not count as damage."""
    files = build_database() | {"OPTIONS-000009": f"[DBOptions]\n  wal_dir={folder}\n".encode()}
    del files[LOG]
    found = [finding.code for finding in exhume.verify(MemoryTree(files), format="leveldb") if finding.is_problem]
    assert found == [code]
    report, _ = salvaged(files, tmp_path)
    assert report.lost == {"logs": 1}
    assert f"{LOG} is missing" in report.notes


def test_a_directory_that_was_moved_has_its_logs(tmp_path: Path) -> None:
    """RocksDB states the directory of the database itself, as it was called then."""
    files = build_database() | {"OPTIONS-000009": b"[DBOptions]\n  wal_dir=/var/lib/db\n"}
    del files[LOG]
    write_files(tmp_path / "db", files)
    assert [f.code for f in exhume.verify(tmp_path / "db") if f.is_problem] == ["LDB-115"]


@pytest.mark.parametrize("count", [1, 2, 60])
@pytest.mark.parametrize("damage", ["a byte more", "a damaged block", "all blocks damaged"])
def test_an_index_is_never_taken_for_data(count: int, damage: str, tmp_path: Path) -> None:
    """Its values are places of blocks, but blocks can have moved, and can be damaged."""
    rows = [(b"key %05d" % number, number + 1, PUT, b"value %d " % number * 9) for number in range(count)]
    table, _ = build_table(rows)
    data = bytearray(table[:-8])  # no footer leads to the index
    if damage == "a byte more":
        data[:0] = b"?"
    else:
        for at in range(20, 21 if damage == "a damaged block" else data.index(b"key", len(data) * 3 // 5), 40):
            data[at] ^= 1
    target = MemoryTree({"000005.ldb": bytes(data)})
    report = exhume.salvage(target, tmp_path / "out", format="leveldb")
    values = {value for _, _, _, value in rows}
    found = dict(Database(LocalTree(tmp_path / "out")).scan()) if (tmp_path / "out").exists() else {}
    assert set(found.values()) <= values
    if damage == "a byte more":
        assert len(found) == count
    else:
        assert not report.complete


def test_filler_of_a_log_is_not_lost(tmp_path: Path) -> None:
    """No fragment fits into six bytes at the end of a block; zeros where one fits may be lost rows."""
    first = build_batch(7, [(PUT, b"pad", bytes(32768 - 6 - 7 - BATCH.size - 1 - 4 - 3))])
    log = build_log([first, build_batch(8, [(PUT, b"after", b"1")])])
    assert log[32762:32768] == bytes(6)
    report, rows = salvaged(build_database() | {LOG: log}, tmp_path)
    assert (rows[b"after"], dict(report.lost), report.notes) == (b"1", {}, [])
    assert [one for one in reported(report) if one[0] == LOG] == [
        (LOG, 0, 32762, "recovered", "data"),
        (LOG, 32762, 32768, "ignored", "data"),
        (LOG, 32768, len(log), "recovered", "data"),
    ]
    assert [s.reason for s in report.spans if s.span.start == 32762] == ["filler at the end of a block"]
    # In a recycled log a header takes four bytes more.
    first = build_batch(7, [(PUT, b"pad", bytes(32768 - 10 - 11 - BATCH.size - 1 - 4 - 3))])
    recycled = fragments([(5, first), (5, build_batch(8, [(PUT, b"after", b"1")]))], number=6)
    assert recycled[32758:32768] == bytes(10)
    report, rows = salvaged(build_database() | {LOG: recycled}, tmp_path / "recycled")
    assert (rows[b"after"], dict(report.lost), report.notes) == (b"1", {}, [])
    for hurt in (log[:32767] + b"\1" + log[32768:], log[:32768] + bytes(len(log) - 32768)):
        (tmp_path / "hurt").mkdir(exist_ok=True)
        report = salvage(MemoryTree(build_database() | {LOG: hurt}), tmp_path / "hurt" / str(hurt.count(0)))
        assert report.lost == {"spans": 1}
    assert [s.reason for s in report.spans if s.outcome == "lost"] == ["zeros: never written, or overwritten"]


@pytest.mark.parametrize(("type", "header"), [(1, 7), (4, 7), (5, 11), (8, 11)])
def test_filler_is_shorter_than_the_header_after_it(type: int, header: int) -> None:
    block = 1 << 15
    for size in range(13):
        # A gap within a block, one of other bytes at the end of a block, and then the filler.
        data = bytearray(b"x" * 3 * block)
        data[100:103] = bytes(3)
        data[3 * block - size :] = bytes(size) + b"sum." + b"12" + bytes([type])
        content = [(0, 100), (103, block - 3), (block, 3 * block - size), (3 * block, 3 * block + 7)]
        found = list(_filler(BytesSource(bytes(data)), [(*one, Outcome.RECOVERED, "") for one in content]))
        expected = [(3 * block - size, 3 * block, Outcome.IGNORED, "filler at the end of a block")]
        assert found == (expected if 0 < size < header else [])
