"""A database read in ranges of its keys yields the same as a whole, and several threads print what one prints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.codecs import compress
from exhume.codecs.checksums import masked_crc32c
from exhume.formats.leveldb import checks, ranges, table
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.table_writer import TableWriter, build_log, write_database
from exhume.formats.leveldb.wire import BlockIndex, Handle, InternalKey
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.native import kernel
from exhume.testing.damage import flip
from tests.leveldb.crafted import build_batch
from tests.leveldb.make_samples import PUT, build_database, edit, write_files
from tests.sizes import size, some

Cli = Callable[..., Any]
entry = st.tuples(st.binary(min_size=1, max_size=3), st.sampled_from([0, 1]), st.binary(max_size=300))


def files_of(layers: list[list[tuple[bytes, int, bytes]]]) -> dict[str, bytes]:
    """A database of a table of blocks of about 64 bytes per layer, all but the first in level 0, and a log; newer
    layers have higher sequence numbers.
    """
    files: dict[str, bytes] = {"CURRENT": b"MANIFEST-000004\n", "LOCK": b""}
    tables: list[tuple[int, int, int, bytes, bytes]] = []
    sequence = 0
    for number, layer in enumerate(layers[:-1], 10):
        if not layer:
            continue
        file = BytesIO()
        writer = TableWriter(file, "snappy", block_size=64)
        numbered = [(key, sequence + place, kind, value) for place, (key, kind, value) in enumerate(layer, 1)]
        sequence += len(layer)
        for key, at, kind, value in sorted(numbered, key=lambda one: (one[0], -one[1])):
            writer.add(InternalKey(key, at, kind), value if kind else b"")
        writer.finish()
        files[f"{number:06d}.ldb"] = file.getvalue()
        tables.append((0 if tables else 1, number, writer.size, writer.smallest, writer.largest))
    logged = [(kind, key, value if kind else b"") for key, kind, value in layers[-1]]
    files["000006.log"] = build_log([build_batch(sequence + 1, logged)] if logged else [])
    files["MANIFEST-000004"] = build_log([edit(log=6, last=sequence, following=99, tables=tables)])
    files["000003.log"] = build_log([build_batch(1, [(PUT, b"old", b"log")])])
    return files


def one_by_one(patch: pytest.MonkeyPatch) -> None:
    """Read every block by itself, as the pure-Python kernel does."""
    patch.setattr(ranges, "COMPILED", False)
    patch.setattr(table, "COMPILED", False)


def memory_tree(files: dict[str, bytes]) -> MemoryTree:
    return MemoryTree({name: BytesSource(data, name) for name, data in files.items()}, "db")


@settings(max_examples=40)
@given(st.lists(st.lists(entry, max_size=40), min_size=1, max_size=4), st.integers(1, 300), st.integers(1, 3))
def test_ranges_add_up_to_the_whole(layers: list[list[tuple[bytes, int, bytes]]], size: int, jobs: int) -> None:
    tree = memory_tree(files_of(layers))
    with pytest.MonkeyPatch.context() as patch:
        one_by_one(patch)
        database = Database(tree)
        expected = list(database.versions(checks.strict))
        rows = list(database.scan())
        part = list(database.scan(b"\x20", b"\xa0"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "plan_ranges", partial(ranges.plan_ranges, size=size))
        database = Database(tree)
        for report in (checks.strict, checks.ignore):
            found = [one for some in database.map_versions(ranges.versions_of, report, jobs=jobs) for one in some]
            assert found == expected
        assert [one for some in database.map_live(pairs, jobs=jobs) for one in some] == rows
        assert [one for some in database.map_live(pairs, b"\x20", b"\xa0", jobs=jobs) for one in some] == part
        if kernel.COMPILED:
            assert database.is_sound()


def pairs(rows: LeveldbRows) -> list[tuple[bytes, bytes]]:
    return [(version.key, version.value) for version in ranges.versions_of(rows)]


def test_damage_is_reported_as_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows before any flipped byte come, and then the error of those that are read one by one."""
    layers = [[(b"%04d" % (number * step), 1, b"%d" % step * 30) for number in range(50)] for step in (1, 2)]
    files = files_of([*layers, [(b"0001", 0, b"")]])
    monkeypatch.setattr(ranges, "plan_ranges", partial(ranges.plan_ranges, size=150))
    raised = set()
    for name in ("000010.ldb", "000011.ldb"):
        for at in range(0, len(files[name]), size(53, 1)):
            tree = memory_tree({**files, name: flip(files[name], at)})
            alone, together = reported(tree, 1), reported(tree, 3)
            assert together == alone
            with pytest.MonkeyPatch.context() as patch:
                one_by_one(patch)
                expected = reported(tree, 1)
            assert alone[1:] == expected[1:]
            assert alone[0] == expected[0][: len(alone[0])] or expected[0] == alone[0][: len(expected[0])]
            raised.add(str(alone[1]))
    assert len(raised) > 9


def reported(tree: MemoryTree, jobs: int) -> tuple[list[tuple[bytes, bytes]], object, list[str]]:
    """The live rows before the error, the error, and every version that can be read."""
    rows: list[tuple[bytes, bytes]] = []
    database, error = Database(tree), None
    try:
        for some in database.map_live(pairs, jobs=jobs):
            rows += some
    except exhume.ExhumeError as caught:
        error = caught.code, caught.span, str(caught)
    found: list[object] = []
    report = checks.collector(lambda finding: found.append(str(finding)))
    versions = [repr(one) for some in database.map_versions(ranges.versions_of, report, jobs=jobs) for one in some]
    return rows, error, versions + list(map(str, found))


@pytest.mark.skipif(not kernel.COMPILED, reason="the pure-Python kernel reads block by block")
def test_an_index_that_does_not_separate_its_blocks_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    file = BytesIO()
    writer = TableWriter(file, "none", block_size=64)
    for number in range(200):
        writer.add(InternalKey(b"%03d" % number, 7, PUT), bytes(20))
    separators = [key for key, _ in writer._index]
    for place in range(2, len(separators) - 1, 3):  # after the first keys of the next block, or before the own last
        key = separators[place + 1] if place % 2 else separators[place - 1]
        writer._index[place] = (key, writer._index[place][1])
    writer.finish()
    monkeypatch.setattr(ranges, "plan_ranges", partial(ranges.plan_ranges, size=150))
    with exhume.open(file.getvalue(), format="leveldb") as archive:
        keys = [version.key for version in archive.database.versions(checks.strict)]
    assert keys == [b"%03d" % number for number in range(200)]


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "deflate"])
def test_blocks_of_every_codec_are_read_at_once(codec: str) -> None:
    stored, blocks, at = b"", [], 0
    for number in range(3):
        block = build_block([(InternalKey(b"%d%d" % (number, n), 5, PUT).build(), b"v" * 40) for n in range(9)])
        kind = {"none": 0, "snappy": 1, "zstd": 2, "deflate": 2}[codec]
        body = (compress(codec, block) if kind else block) + bytes([kind])
        sealed = body + masked_crc32c(body).to_bytes(4, "little")
        blocks.append((b"%d8" % number, Handle(at, len(body) - 1)))
        stored, at = stored + sealed, at + len(sealed)
    found = table.Table(BytesSource(stored))
    found.__dict__["footer"] = None
    rows = LeveldbRows()
    assert found.add_blocks(rows, BlockIndex.of(blocks), b"03", b"21") is kernel.COMPILED
    if kernel.COMPILED:
        assert [key for key, _ in pairs(rows)] == [b"%d%d" % (n // 9, n % 9) for n in range(3, 19)]
        assert {place.codec for place in ranges.places_of(rows.places)} == {"zlib" if kind == 2 else codec}


def test_a_damaged_database_is_not_sound(tmp_path: Path) -> None:
    write_files(tmp_path / "db", build_database())
    with exhume.leveldb.open(tmp_path / "db") as archive:
        assert archive.database.is_sound() is kernel.COMPILED
    for name in ("000005.ldb", "000006.log", "MANIFEST-000004"):
        write_files(tmp_path / "db", build_database())
        path = tmp_path / "db" / name
        path.write_bytes(flip(path.read_bytes(), 20))
        with exhume.leveldb.open(tmp_path / "db") as archive:
            assert not archive.database.is_sound()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    rows = [(b"key %04d" % number, b"value\xff" * (number % 9)) for number in range(900)]
    (tmp_path / "db").mkdir()
    write_database(lambda name: (tmp_path / "db" / name).open("wb"), rows)
    return tmp_path / "db"


CALLS = ["cat", "cat --json", "cat --ndjson", "list", "list --json", "list --all-versions --ndjson", "list --glob *7"]
SEARCHES = ["key", "--json key", "--all-versions --values value", "--exit-code nothing"]


@pytest.mark.slow
def test_threads_print_what_one_prints(database: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "plan_ranges", partial(ranges.plan_ranges, size=4000))
    calls = [[*words.split(" ")[:1], database, *words.split()[1:]] for words in CALLS]
    calls += [["search", *words.split(" ")[:-1], database, words.split(" ")[-1]] for words in SEARCHES]
    for call in some(calls):
        alone, together = exhume_cli(*call), exhume_cli(*call, "--jobs", 2)
        assert (together.code, together.out, together.err) == (alone.code, alone.out, alone.err), call
        assert alone.out or "nothing" in call
    # Damage is found, and reported, as by one thread.
    table = database / "000004.sst"
    table.write_bytes(flip(table.read_bytes(), 9000))
    for call in calls:
        alone, together = exhume_cli(*call), exhume_cli(*call, "--jobs", 2)
        assert (together.code, together.out, together.err) == (alone.code, alone.out, alone.err), call


@pytest.mark.slow
def test_damage_in_files_that_are_no_longer_used_is_reported_by_threads_too(
    tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "plan_ranges", partial(ranges.plan_ranges, size=100))
    files = files_of([[(b"%03d" % number, 1, bytes(30)) for number in range(60)], [(b"x", 1, b"y")]])
    files["000003.log"] = flip(files["000003.log"], 12)
    (tmp_path / "db").mkdir()
    write_files(tmp_path / "db", files)
    call = ("list", "--all-versions", tmp_path / "db")
    alone, together = exhume_cli(*call), exhume_cli(*call, "--jobs", 2)
    assert "LDB-201" in alone.err
    assert (together.code, together.out, together.err) == (alone.code, alone.out, alone.err)


CHOICES: list[dict[str, Any]] = [
    {},
    {"start": b"011", "stop": b"05"},
    {"prefix": b"03", "columns": ["sequence", "file"]},
    {"batch_rows": 7},
    {"columns": []},
    {"all_versions": True},
    {"sequence": 70},
]


@pytest.mark.slow
def test_a_table_does_not_depend_on_the_threads_that_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(ranges, "plan_ranges", partial(ranges.plan_ranges, size=200))
    layers = [[(b"%03d" % (number * step), int(number % 5 > 0), bytes(30)) for number in range(60)] for step in (1, 2)]
    files = files_of([*layers, [(b"005", 1, b"new"), (b"007", 0, b"")]])
    (tmp_path / "db").mkdir()
    write_files(tmp_path / "db", files)
    with exhume.leveldb.open(tmp_path / "db") as archive:
        for chosen in CHOICES:
            alone = list(archive.to_arrow(**chosen))
            together = list(archive.to_arrow(**chosen, jobs=2))
            assert together == alone
            assert alone
    name = "000010.ldb"
    for at in (30, len(files[name]) // 2):
        (tmp_path / "db" / name).write_bytes(flip(files[name], at))
        reported = []
        for jobs in (1, 2):
            with exhume.leveldb.open(tmp_path / "db") as archive, pytest.raises(exhume.ExhumeError) as caught:
                list(archive.to_arrow(jobs=jobs))
            reported.append((caught.value.code, caught.value.span, str(caught.value)))
        assert reported[0] == reported[1]


def test_entries_of_unknown_types_are_not_sound(tmp_path: Path) -> None:
    for kind, sound in ((1, kernel.COMPILED), (200, False)):
        files = files_of([[(b"%03d" % number, 1, b"") for number in range(9)] + [(b"9", kind, b"")], []])
        write_files(tmp_path, files)
        with exhume.leveldb.open(tmp_path) as archive:
            assert archive.database.is_sound() is sound


def test_jobs_are_refused_where_they_have_no_effect(database: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("cat", database, "key 0001", "--jobs", 2)
    assert ran.code == 2
    assert "--jobs has no effect on keys that are named" in ran.err
