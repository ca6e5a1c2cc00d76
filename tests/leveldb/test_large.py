"""Large table blocks and values, which are read in chunks, give what small ones do.

Spec: LevelDB doc/table_format.md.
"""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import exhume
from exhume.codecs import compress
from exhume.codecs.checksums import crc32c, mask_crc32c
from exhume.errors import ExhumeError, LimitExceededError
from exhume.formats.leveldb import large, log, replay, table, table_blocks, table_index
from exhume.formats.leveldb.layout_facts import FRAGMENT, FragmentTypes
from exhume.formats.leveldb.ranges import json_parts
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import build_varint
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.io.values import LargeValue
from exhume.layout.sections import SectionKind
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.native import kernel
from tests.leveldb.crafted import MERGE, build_batch
from tests.leveldb.make_samples import PUT, build_database, build_table, write_files
from tests.leveldb.test_damage import blob_file, blobs
from tests.sizes import size, some

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


def stated(files: dict[str, bytes], limits: Limits = DEFAULT_LIMITS) -> list[Any]:
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
    found = stated(files)
    assert {code for code, *_ in found[0]} == {"LDB-401"}, "a log that is no longer used"
    tiny.undo()
    assert found == stated(files)


@pytest.mark.parametrize("codec", CODECS)
def test_damage_is_found_alike(codec: str, tiny: pytest.MonkeyPatch) -> None:
    files = database(codec)
    (name,) = (one for one in files if one.endswith(".ldb"))
    data, chance = files[name], random.Random(codec)
    damaged = []
    for _ in range(size(30, 60)):
        at, bit = chance.randrange(len(data)), 1 << chance.randrange(8)
        damaged.append({**files, name: data[:at] + bytes((data[at] ^ bit,)) + data[at + 1 :]})
    found = [stated(one) for one in damaged]
    tiny.undo()
    for one, mine in some(zip(damaged, found, strict=True)):
        theirs = stated(one)
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


DELETION = 0


def with_log() -> dict[str, bytes]:
    """A database whose rows are in a log: small and large batches, of one write and of several."""
    files = build_database([(b"old", 1, PUT, b"gone" * 300), (b"older", 2, PUT, b"kept")])
    rows = sorted(VALUES.items())
    batches = [build_batch(100, [(PUT, key, value) for key, value in rows[:30]] + [(DELETION, b"old", b"")])]
    batches += [build_batch(200 + n, [(PUT, *row)]) for n, row in enumerate(rows[30:])]
    batches += [
        build_batch(300, [(PUT, b"key001", bytes(70_000)), (PUT, b"key002", b""), (PUT, b"key003", b"new" * 50)])
    ]
    files["000006.log"] = build_log(batches)
    return files


def test_rows_of_large_records_are_the_same(tiny: pytest.MonkeyPatch) -> None:
    tiny.setattr(log, "LARGE", 50)
    tiny.setattr(replay, "LONG", 20)
    files = with_log()
    with exhume.open(MemoryTree(files), format="leveldb") as archive:
        rows = dict(archive.database.live_rows())
    assert isinstance(rows[b"key001"], LargeValue), "the value is not in memory"
    found = stated(files)
    tiny.undo()
    assert found == stated(files)


@pytest.mark.parametrize("at", [0, 20_000, 40_000, 69_000])
def test_damage_in_large_records_is_found_alike(at: int, tiny: pytest.MonkeyPatch) -> None:
    tiny.setattr(log, "LARGE", 50)
    tiny.setattr(replay, "LONG", 20)
    files = with_log()
    data = bytearray(files["000006.log"])
    data[len(data) - 70_000 + at] ^= 1
    files["000006.log"] = bytes(data)
    found = stated(files)
    tiny.undo()
    assert found == stated(files)


def test_large_records_of_a_compressed_log(tiny: pytest.MonkeyPatch) -> None:
    """What a compressed record contains is not in memory either, and a bomb is refused by name."""
    payload = build_batch(7, [(PUT, b"a", CHANCE.randbytes(300) * 500), (PUT, b"b", b"x"), (PUT, b"c", bytes(99_000))])
    stored = zstandard.ZstdCompressor().compress(payload)
    kind = int(FragmentTypes.SET_COMPRESSION)
    about = (7).to_bytes(4, "little")
    head = FRAGMENT.pack(mask_crc32c(crc32c(bytes((kind,)) + about)), len(about), kind) + about
    body = build_log([stored])
    assert len(head) + len(body) < log.BLOCK
    found = []
    for least in (50, 1 << 20):
        tiny.setattr(log, "LARGE", least)
        reader = log.LogReader(BytesSource(head + body))
        (record,) = reader
        assert isinstance(record.payload, memoryview) == (least == 50)
        ranges = ((0, 9), (20, 150_000), (150_000, len(payload)))
        found.append((bytes(record.payload), [b"".join(reader.pieces(record.fragments, *one)) for one in ranges]))
    assert found[0] == found[1] == (payload, [payload[slice(*one)] for one in ranges])
    few = DEFAULT_LIMITS._replace(payload_size=100, expansion=2, expansion_floor=100)
    with pytest.raises(LimitExceededError, match="expansion"):
        list(log.LogReader(BytesSource(head + body), limits=few))


def test_a_record_above_the_limit_is_read() -> None:
    limits = Limits(payload_size=40_000)
    with exhume.open(MemoryTree(with_log()), format="leveldb", limits=limits) as opened:
        archive: Any = opened
        assert [one for one in archive.verify() if one.is_problem] == []
        assert archive.database.get(b"key003") == b"new" * 50
        assert b"".join(LargeValue.of(dict(archive.database.live_rows())[b"key001"])) == bytes(70_000)
        with pytest.raises(ExhumeError, match="payload_size"):
            archive.database.get(b"key001")


@pytest.mark.parametrize("place", ["log", "table"])
def test_an_operand_above_the_limit_leaves_only_its_key_undetermined(
    place: str, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    files = build_database([(b"a", 1, PUT, b"v"), (b"k", 2, PUT, b"v"), (b"z", 3, PUT, b"zz")])
    writes = [(MERGE, b"k", b"m" * 70_000), (PUT, b"y", b"yy")]
    if place == "log":
        files["000006.log"] = build_log([build_batch(200 + n, [one]) for n, one in enumerate(writes)])
    else:
        stored = [(b"a", 1, PUT, b"v"), (b"k", 4, MERGE, b"m" * 70_000), (b"k", 2, PUT, b"v"), (b"y", 3, PUT, b"yy")]
        files = build_database([*stored, (b"z", 3, PUT, b"zz")])
        files["000006.log"] = b""
    files["OPTIONS-000008"] = b'[CFOptions "default"]\n  merge_operator=stringappend\n'
    write_files(tmp_path / "db", files)
    limit = ("--limit", "payload_size=60000")
    ran = exhume_cli("cat", tmp_path / "db", *limit)
    rows = {one["key"]["text"]: one["value"] for one in map(json.loads, ran.text.splitlines())}
    assert rows == {"a": {"text": "v"}, "k": None, "y": {"text": "yy"}, "z": {"text": "zz"}}
    assert (ran.code, "payload_size" in ran.err, "LDB-404" in ran.err) == (3, True, True)
    ran = exhume_cli("verify", tmp_path / "db", *limit)
    assert (ran.code, "incomplete" in ran.text) == (3, True)
    ran = exhume_cli("salvage", tmp_path / "db", "-o", tmp_path / "out", *limit)
    assert (ran.code, "1 value that cannot be determined" in ran.text) == (3, True)
    with exhume.open(tmp_path / "db") as opened:
        archive: Any = opened
        assert archive.database.get(b"k") == b"v," + b"m" * 70_000


def test_an_operand_above_the_limit_is_reported_once_and_the_tables_are_checked() -> None:
    files = build_database()
    logged = [build_batch(200, [(PUT, b"k", b"v")]), build_batch(201, [(MERGE, b"k", b"m" * 70_000)])]
    files["000006.log"] = build_log(logged)
    table = bytearray(files["000005.ldb"])
    table[3] ^= 1
    files["000005.ldb"] = bytes(table)
    with exhume.open(MemoryTree(files), format="leveldb", limits=Limits(payload_size=60_000)) as opened:
        found = [(one.code, one.span) for one in opened.verify() if one.is_problem]
    assert sorted(code for code, _ in found) == ["EX-501", "LDB-202", "LDB-312", "LDB-404"]
    place = next(span for code, span in found if code == "EX-501")
    assert place is not None
    assert (place.source, place.start) == ("000006.log", len(build_log(logged[:1])))


def _in_a_table(value: bytes) -> dict[str, bytes]:
    return build_database([(b"a", 1, PUT, b"v"), (b"b", 2, PUT, value)])


def _in_a_log(value: bytes) -> dict[str, bytes]:
    files = build_database([(b"a", 1, PUT, b"v")])
    files["000006.log"] = build_log([build_batch(200, [(PUT, b"b", value)])])
    return files


@pytest.mark.parametrize("make", [_in_a_table, _in_a_log])
def test_memory_is_that_of_a_chunk(make: Callable[[bytes], dict[str, bytes]], tmp_path: Path) -> None:
    size = 24 << 20
    write_files(tmp_path / "db", make(random.Random(1).randbytes(1 << 20) * (size >> 20)))
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
    assert peak < 21 << 20


Cli = Callable[..., Any]
BLOB = b"\xff text " * 12_000 + random.Random(8).randbytes(6_000)
CODEC_OF = {0: "none", 1: "snappy", 2: "deflate", 4: "lz4", 7: "zstd"}
"""Compressions of values in blob files."""


def stored_blob(compression: int, value: bytes) -> bytes:
    """A value as RocksDB stores it: with its size first, if its codec does not state it."""
    return build_varint(len(value)) * (compression > 1) + compress(CODEC_OF[compression], value)


def with_blob(compression: int = 0, value: bytes = BLOB) -> dict[str, bytes]:
    files = build_database()
    stored = stored_blob(compression, value)
    index = b"\1" + b"".join(map(build_varint, (9, 63, len(stored)))) + bytes((compression,))
    blobs(index, blob_file(stored, compression=compression))(files)
    return files


FEW = Limits(payload_size=64 << 10)


@pytest.mark.parametrize("compression", CODEC_OF)
def test_a_value_above_the_limit_in_a_blob_file(
    compression: int, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    """Every verb returns what it does without the limit; a library's byte string is refused by name."""
    write_files(tmp_path / "db", with_blob(compression))
    limit = ("--limit", "payload_size=64K")
    database = tmp_path / "db"
    outputs = []
    for more in ((), limit):
        out, lines = tmp_path / f"out{len(more)}", tmp_path / f"lines{len(more)}"
        run = [
            exhume_cli(verb, database, *words, *more)
            for verb, *words in (
                ("cat", "k"), ("cat",), ("list", "--json"), ("verify",), ("info", "--stats"),
                ("search", "k"), ("search", "\\xff text \\xff", "--values"), ("search", "none", "--values"),
                ("search", "k", "--all-versions"), ("search", "\\xff text \\xff", "--values", "--json"),
                ("payload", "000009.blob/record@30"), ("salvage", "-o", out), ("salvage", "--jsonl", "-o", lines),
            )
        ]  # fmt: skip
        outputs.append([(one.code, one.out.replace(b"lines2", b"lines0").replace(b"out2", b"out0")) for one in run])
    assert outputs[0][0] == (0, BLOB) == outputs[0][10]
    for without, within in zip(*outputs, strict=True):
        assert without == within
    assert (tmp_path / "lines0").read_bytes() == (tmp_path / "lines2").read_bytes()
    for one in (tmp_path / "out0").iterdir():
        assert one.read_bytes() == (tmp_path / "out2" / one.name).read_bytes()
    with exhume.open(tmp_path / "out2", format="leveldb") as opened:
        assert [one for one in opened.verify() if one.is_problem] == []
    with exhume.open(tmp_path / "db", format="leveldb", limits=FEW) as opened:
        archive: Any = opened
        with pytest.raises(LimitExceededError, match="payload_size"):
            archive.database.get(b"k")
        with pytest.raises(LimitExceededError, match="payload_size"):
            archive.read_section("000009.blob/record@30")
        (version,) = (one for one in archive.database.versions() if one.key == b"k")
        assert version.known_value is None


@pytest.mark.parametrize("compression", CODEC_OF)
@pytest.mark.parametrize("where", [0.0, 0.9])
def test_damage_in_a_value_of_a_blob_file_is_found_alike(compression: int, where: float, tmp_path: Path) -> None:
    """A flipped byte, and a file that ends inside the value."""
    files = with_blob(compression)
    data = files["000009.blob"]
    end = len(data) - 32
    at = 63 + int((end - 64) * where)
    flipped = data[:at] + bytes((data[at] ^ 4,)) + data[at + 1 :]
    for damaged in (flipped, data[:at]):
        found: list[Any] = []
        for limits in (DEFAULT_LIMITS, FEW):
            tree = MemoryTree({**files, "000009.blob": damaged})
            with exhume.open(tree, format="leveldb", limits=limits) as opened:
                archive: Any = opened
                stated = [(one.code, one.severity, one.span) for one in archive.verify()]
                assert any(severity == "error" for _, severity, _ in stated)
                assert dict(archive.database.live_rows())[b"k"] is None
            report = exhume.salvage(tree, tmp_path / f"{len(damaged)}-{len(found)}", format="leveldb", limits=limits)
            found.append((stated, report.lost, report.recovered, [one.to_dict() for one in report.spans]))
        assert found[0] == found[1]


def test_a_blob_that_decompresses_wrongly_is_damaged() -> None:
    """Its checksum is that of its bytes, which are not a stream of the stated size."""
    for compression in (1, 2, 4, 7):
        files = with_blob(compression)
        stored = stored_blob(compression, BLOB)[:-1]
        index = b"\1" + b"".join(map(build_varint, (9, 63, len(stored)))) + bytes((compression,))
        blobs(index, blob_file(stored, compression=compression))(files)
        for limits in (DEFAULT_LIMITS, FEW):
            with exhume.open(MemoryTree(files), format="leveldb", limits=limits) as opened:
                assert [one.code for one in opened.verify() if one.is_problem] == ["LDB-341"], compression


@pytest.mark.parametrize("size", [(64 << 10) - 1, 64 << 10, (64 << 10) + 1])
def test_a_value_at_the_limit_in_a_blob_file(size: int) -> None:
    files = with_blob(7, bytes(size))
    with exhume.open(MemoryTree(files), format="leveldb", limits=FEW) as opened:
        archive: Any = opened
        value = dict(archive.database.live_rows())[b"k"]
        assert b"".join(LargeValue.of(value)) == bytes(size)
        assert isinstance(value, LargeValue) == (size > 64 << 10)
        assert [one for one in archive.verify() if one.is_problem] == []


def test_operands_apply_to_a_large_value(tmp_path: Path) -> None:
    """Or the key's value is unresolved, within a limit; it is never made of what is in memory alone."""
    base = b"base " * 300_000
    files = build_database([(b"a", 1, PUT, b"v")])
    files["000006.log"] = build_log([build_batch(200, [(PUT, b"k", base)]), build_batch(201, [(2, b"k", b"more")])])
    files["OPTIONS-000008"] = b'[CFOptions "default"]\n  merge_operator=stringappend\n'
    for limits, value in ((DEFAULT_LIMITS, base + b",more"), (FEW, None)):
        with exhume.open(MemoryTree(files), format="leveldb", limits=limits) as opened:
            archive: Any = opened
            assert (archive.database.operators and dict(archive.database.live_rows())[b"k"]) == value
            lines = b"".join(part for rows in archive.database.map_live(json_parts, lean=True) for part in rows)
            (line,) = (one for one in map(json.loads, lines.splitlines()) if one["key"]["text"] == "k")
            assert line["value"] == (value if value is None else {"text": value.decode()})
            assert {one.status for one in archive.database.versions() if one.key == b"k" and one.value_type == 2} == (
                {"unresolved", "operand"} if value is None else {"live", "operand"}
            )
        out = tmp_path / f"out{value is None}"
        report = exhume.salvage(MemoryTree(files), out, format="leveldb", limits=limits)
        assert report.lost["values that cannot be determined"] == (value is None)


def test_an_older_value_does_not_replace_one_above_the_limit() -> None:
    """Also if damage elsewhere has the database read entry by entry."""
    files = build_database([(b"a", 1, PUT, b"old"), (b"b", 2, PUT, b"v")])
    files["000006.log"] = build_log([build_batch(200, [(PUT, b"a", bytes(90_000))])]) + b"damaged" * 3
    with exhume.open(MemoryTree(files), format="leveldb", limits=FEW) as opened:
        archive: Any = opened
        found = {one.sequence: (one.status, one.known_value) for one in archive.database.versions() if one.key == b"a"}
        assert found == {200: ("live", None), 1: ("replaced", b"old")}


def test_a_large_index_names_no_blocks_and_the_rest_is_unread() -> None:
    files = build_database([(b"k%05d" % n + b"x" * 900, n + 1, PUT, b"v") for n in range(90)])
    with exhume.open(MemoryTree(files, "db"), format="leveldb", limits=Limits(payload_size=1 << 16)) as archive:
        unread = [one for one in archive.sections() if one.kind is SectionKind.UNREAD]
        assert [(one.name, one.note) for one in unread] == [("000005.ldb/unread@0", "table block exceeds the limit")]
        assert {one.code for one in archive.verify()} == {"LDB-401", "LDB-503"}
    with exhume.open(MemoryTree(files, "db"), format="leveldb") as archive:
        assert not any(one.kind is SectionKind.UNREAD for one in archive.sections())


def test_an_index_is_not_split_to_see_that_its_keys_have_sequence_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its first keys are: a command that prints rows reads each index of a million keys once, in the kernel."""
    ends = []
    whole = kernel.block_entries

    def block_entries(block: bytes, end: int, budget: int) -> tuple[list[tuple[bytes, bytes, int]], int, int]:
        ends.append(end)
        return whole(block, end, budget)

    data, _ = build_table([(f"{number:06}".encode(), number + 1, PUT, b"v") for number in range(4_000)])
    monkeypatch.setattr(kernel, "block_entries", block_entries)
    with exhume.open(BytesSource(data), format="leveldb") as archive:
        assert len(list(archive.entries())) == 4_000
    assert max(ends) == table_index.HEAD
