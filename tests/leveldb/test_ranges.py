"""A database in ranges of its keys gives what it gives as a whole, and several processes print what one prints."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.cli import playback
from exhume.formats.leveldb import checks, ranges
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.log import build_batch, build_log
from exhume.formats.leveldb.table_writer import TableWriter, write_database
from exhume.formats.leveldb.wire import InternalKey
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.testing.corrupt import flip
from tests.leveldb.make_samples import PUT, build_database, edit, write_files

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


@settings(max_examples=40)
@given(st.lists(st.lists(entry, max_size=40), min_size=1, max_size=4), st.integers(1, 300))
def test_ranges_add_up_to_the_whole(layers: list[list[tuple[bytes, int, bytes]]], size: int) -> None:
    tree = MemoryTree({name: BytesSource(data, name) for name, data in files_of(layers).items()}, "db")
    database = Database(tree)
    assert ranges.is_sound(database)
    planned = ranges.plan_ranges(database, size)
    every = [version for keys in [*planned, ranges.KeyRange()] for version in ranges.versions_in(database, keys)]
    assert every == list(database.versions(checks.strict))
    rows = [row for keys in planned if keys.family == 0 for row in database.scan(keys.start, keys.stop)]
    assert rows == list(database.scan())


def test_a_damaged_database_is_not_divided(tmp_path: Path) -> None:
    write_files(tmp_path / "db", build_database())
    with exhume.leveldb.open(tmp_path / "db") as archive:
        assert ranges.is_sound(archive.database)
    for name in ("000005.ldb", "000006.log", "MANIFEST-000004"):
        write_files(tmp_path / "db", build_database())
        path = tmp_path / "db" / name
        path.write_bytes(flip(path.read_bytes(), 20))
        with exhume.leveldb.open(tmp_path / "db") as archive:
            assert not ranges.is_sound(archive.database)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    rows = [(b"key %04d" % number, b"value\xff" * (number % 9)) for number in range(900)]
    (tmp_path / "db").mkdir()
    write_database(lambda name: (tmp_path / "db" / name).open("wb"), rows)
    return tmp_path / "db"


CALLS = ["cat", "cat --json", "cat --ndjson", "list", "list --json", "list --all-versions --ndjson", "list --glob *7"]
SEARCHES = ["key", "--json key", "--all-versions --values value", "--exit-status nothing"]


@pytest.mark.slow
def test_processes_print_what_one_prints(database: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "plan_ranges", partial(ranges.plan_ranges, size=4000))
    asked: list[int] = []
    kept = playback.each_piece

    def each_piece(*arguments: Any, **options: Any) -> Any:
        asked.append(len(arguments[5]))
        return kept(*arguments, **options)

    monkeypatch.setattr(playback, "each_piece", each_piece)
    calls = [[*words.split(" ")[:1], database, *words.split()[1:]] for words in CALLS]
    calls += [["search", *words.split(" ")[:-1], database, words.split(" ")[-1]] for words in SEARCHES]
    for call in calls:
        alone, together = exhume_cli(*call), exhume_cli(*call, "--jobs", 2)
        assert (together.code, together.out, together.err) == (alone.code, alone.out, alone.err), call
        assert alone.out or "nothing" in call
    assert len(asked) == len(calls)
    assert min(asked) > 2
    # Damage is met, and told, as by one process.
    table = database / "000004.sst"
    table.write_bytes(flip(table.read_bytes(), 9000))
    for call in calls:
        alone, together = exhume_cli(*call), exhume_cli(*call, "--jobs", 2)
        assert (together.code, together.out, together.err) == (alone.code, alone.out, alone.err), call
    assert len(asked) == len(calls)


@pytest.mark.slow
def test_damage_in_files_that_are_no_longer_used_is_told_by_processes_too(
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
def test_a_table_does_not_depend_on_the_processes_that_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    from exhume.formats.leveldb import arrow

    monkeypatch.setattr(arrow, "plan_ranges", partial(ranges.plan_ranges, size=200))
    layers = [[(b"%03d" % (number * step), int(number % 5 > 0), bytes(30)) for number in range(60)] for step in (1, 2)]
    files = files_of([*layers, [(b"005", 1, b"new"), (b"007", 0, b"")]])
    (tmp_path / "db").mkdir()
    write_files(tmp_path / "db", files)
    with exhume.leveldb.open(tmp_path / "db") as archive:
        found = arrow._ranges(archive.database, None, None)
        assert found is not None
        assert len(found) > 5
        for chosen in CHOICES:
            alone = list(archive.to_arrow(**chosen))
            together = list(archive.to_arrow(**chosen, jobs=2))
            assert together == alone
            assert alone
    name = "000010.ldb"
    for at in (30, len(files[name]) // 2):
        (tmp_path / "db" / name).write_bytes(flip(files[name], at))
        told = []
        for jobs in (1, 2):
            with exhume.leveldb.open(tmp_path / "db") as archive, pytest.raises(exhume.ExhumeError) as caught:
                list(archive.to_arrow(jobs=jobs))
            told.append((caught.value.code, caught.value.span, str(caught.value)))
        assert told[0] == told[1]


def test_entries_of_unknown_types_are_not_divided(tmp_path: Path) -> None:
    for kind, sound in ((1, True), (200, False)):
        files = files_of([[(b"%03d" % number, 1, b"") for number in range(9)] + [(b"9", kind, b"")], []])
        write_files(tmp_path, files)
        with exhume.leveldb.open(tmp_path) as archive:
            assert ranges.is_sound(archive.database) is sound


def test_jobs_are_refused_where_they_have_no_effect(database: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("cat", database, "key 0001", "--jobs", 2)
    assert ran.code == 2
    assert "--jobs has no effect on keys that are named" in ran.err


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name != "posix", reason="signals of POSIX")
def test_an_interruption_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    rows = ((b"key %08d" % number, b"v" * 60) for number in range(120_000))
    write_database(lambda name: (tmp_path / "db" / name).open("wb"), rows)
    command = [sys.executable, "-m", "exhume", "cat", str(tmp_path / "db"), "--jobs", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.read(1000)  # the workers are at work
    os.kill(process.pid, signal.SIGINT)
    process.stdout.close()
    assert process.wait(60) in (130, 1, -signal.SIGPIPE)
    until = time.monotonic() + 60
    while _members(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _members(process.pid)


def _members(group: int) -> bool:
    """Whether a process of that group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
