"""Many small tables printed by one call of the kernel: the text of each table on its own, and its errors."""

from __future__ import annotations

import json
import random
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError
from exhume.formats.clp_s.read import program as ops
from exhume.formats.clp_s.read.arrow_wide import all_rows, sources, wide_rows
from exhume.formats.clp_s.read.kernel import ClpsTables
from exhume.formats.clp_s.read.records import line_stream
from exhume.formats.clp_s.read.together import KernelTables
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.io.source import BytesSource
from exhume.native import KERNEL
from tests.clp_s.build import i64

KEYS = ["a", "b", 'quo"te', "d.o.t", "", "ts"]
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(-1e300, 1e300),
        st.sampled_from(["", "word", "two words", "took 5 ms on host7", 'with "quotes" and \\', "ü 1.5", "line\nend"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=8,
)  # fmt: skip
records = st.lists(st.dictionaries(st.sampled_from(KEYS), values, max_size=5), min_size=1, max_size=40)
SOME = [{f"k{number % 37}": number, "x": {"y": "a b 7", f"z{number % 11}": [1, "a"]}} for number in range(300)]


def written(folder: Path, found: list[dict[str, Any]], **options: Any) -> ClpSArchive:
    path = folder / "x.clps"
    with exhume.create(path, "clp-s", overwrite=True, **options) as writer:
        for record in found:
            writer.write(record)
    return open_archive(BytesSource(path.read_bytes(), "x.clps"))


def one_by_one(archive: ClpSArchive) -> bytes:
    return b"".join(chain.from_iterable(line_stream(table, False) for table in archive.tables))


@settings(max_examples=60)
@given(records, st.booleans(), st.sampled_from(["0.3.1", "0.5.1"]), st.integers(1, 3))
def test_the_text_is_that_of_each_table(
    tmp_path_factory: Any, found: list[dict[str, Any]], opened: bool, version: str, jobs: int
) -> None:
    folder = tmp_path_factory.mktemp("together")
    options = {"structurize_arrays": opened, "version": version, "on_error": "skip", "allow_loss": True}
    try:
        archive = written(folder, found, **options)
    except ExhumeError:  # nothing that clp-s stores
        return
    shown = b"".join(archive.json_chunks(jobs=jobs))
    assert shown == one_by_one(archive)
    ordered = b"".join(archive.json_chunks(ordered=True, jobs=jobs))
    assert ordered == b"".join(archive.json_lines(ordered=True))
    assert b"".join(archive.json_chunks(ordered=True, complete=True)) == b"".join(
        archive.json_lines(ordered=True, complete=True)
    )


@settings(max_examples=40)
@given(records, st.booleans(), st.sampled_from(["0.3.1", "0.5.1"]))
def test_the_rows_of_a_wide_export_are_those_of_each_table(
    tmp_path_factory: Any, found: list[dict[str, Any]], opened: bool, version: str
) -> None:
    options = {"structurize_arrays": opened, "version": version, "on_error": "skip", "allow_loss": True}
    try:
        archive = written(tmp_path_factory.mktemp("together"), [*found, *SOME[:20]], **options)
    except ExhumeError:  # nothing that clp-s stores
        return
    nodes = set(range(len(archive.schema_tree)))
    alone = wide_rows(archive, sources(archive.tables, nodes), nodes)
    assert list(map(list, all_rows(archive, nodes))) == list(map(list, alone))


def test_times(tmp_path: Path) -> None:
    found = [
        {"ts": f"2024-05-0{1 + number % 9}T01:02:03.{number:03}Z", f"k{number % 5}": number} for number in range(60)
    ]
    for version in ("0.4.1", "0.5.1"):
        archive = written(tmp_path, found, timestamp_key="ts", version=version)
        assert b"".join(archive.json_chunks()) == one_by_one(archive)
        lines = b"".join(archive.json_chunks(ordered=True)).splitlines()
        assert [json.loads(line) for line in lines] == found


def test_most_tables_take_no_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if KERNEL is None:
        pytest.skip("the pure-Python kernel leaves every table to its caller")
    archive = written(tmp_path, SOME)
    expected = one_by_one(archive)
    monkeypatch.setattr("exhume.formats.clp_s.read.tables.Table.load", None)
    assert b"".join(archive.json_chunks()) == expected
    assert len(b"".join(archive.json_chunks(ordered=True))) == len(expected)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_wide_table_takes_no_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ordered: bool) -> None:
    if KERNEL is None:
        pytest.skip("the pure-Python kernel leaves every table to its caller")
    archive = written(tmp_path, [{f"k{number}": number for number in range(300)}] * 2)
    assert len(archive.tables) == 1
    expected = one_by_one(archive)
    monkeypatch.setattr("exhume.formats.clp_s.read.tables.Table.load", None)
    monkeypatch.setattr("exhume.formats.clp_s.read.windows.WORTHWHILE", 1000)
    assert b"".join(archive.json_chunks(ordered=ordered)) == expected


def test_runs_are_of_one_stream_and_bounded(tmp_path: Path) -> None:
    archive = written(tmp_path, SOME, min_table_size=1000)
    together = KernelTables(archive)
    for size, rows in ((1 << 20, 1 << 20), (1000, 1 << 20), (1 << 20, 8), (1, 1)):
        runs = list(together.runs(size, rows))
        assert [first for first, _ in runs] == [0, *(stop for _, stop in runs)][:-1]
        assert runs[-1][1] == len(archive.tables)
        for first, stop in runs:
            inside = archive.tables[first:stop]
            assert len({table.entry.stream_id for table in inside}) == 1
            if len(inside) > 1:
                assert sum(table.size for table in inside) <= size
                assert sum(table.num_messages for table in inside) <= rows


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_table_of_a_partition(tmp_path: Path, jobs: int, ordered: bool) -> None:
    archive = written(tmp_path, SOME)
    archive.tables = archive.tables[3:7]
    assert sorted(b"".join(archive.json_chunks(jobs=jobs, ordered=ordered)).splitlines(True)) == sorted(
        one_by_one(archive).splitlines(True)
    )


def test_damage_is_reported_for_the_table(tmp_path: Path) -> None:
    data = bytearray((written(tmp_path, SOME), (tmp_path / "x.clps").read_bytes())[1])
    good = open_archive(BytesSource(bytes(data), "x.clps"))
    expected = one_by_one(good)
    rng = random.Random(7)
    start = good.stream_place(0).start
    for _ in range(40):
        hurt = bytearray(data)
        hurt[rng.randrange(start, len(hurt))] ^= 1 << rng.randrange(8)
        archive = open_archive(BytesSource(bytes(hurt), "x.clps"))

        def shown(chunks: Any) -> tuple[bytes, str]:
            out: list[bytes] = []
            try:
                out.extend(chunks)
            except ExhumeError as error:
                return b"".join(out), str(error)
            return b"".join(out), ""

        alone = shown(chain.from_iterable(line_stream(table, False) for table in archive.tables))
        assert shown(archive.json_chunks()) == alone
        assert len(alone[0]) <= len(expected) + 10_000


def test_what_does_not_fit_is_refused() -> None:
    if KERNEL is None:
        pytest.skip("the pure-Python kernel does not examine it")
    none = b""
    for given_ in (
        ((i64(0)[:4], [b"a"], b"\x00", 0, bytes(256)), (none, none, none, none)),
        ((i64(-1)[:4], [b"a", b"b"], b"\x00", 0, bytes(256)), (none, none, none, none)),
        ((i64(-1)[:4], [b"a"], b"\x00", 0, bytes(255)), (none, none, none, none)),
        ((none, [], none, -1, bytes(256)), (none, i64(4), i64(1)[:4], i64(1)[:4])),
    ):
        with pytest.raises(ValueError, match=r"fit|after"):
            ClpsTables(*given_[0], *given_[1], none, none, none, none)
    tables = ClpsTables(none, [], none, -1, bytes(256), none, none, none, none, i64(-1)[:4], i64(0), i64(8), i64(1))
    assert tables.render(i64(1), 0, 0, 1, 100) == (b"", 0, 0, ops.ODD)
    with pytest.raises(IndexError):
        tables.render(i64(1), 1, 0, 0, 100)
