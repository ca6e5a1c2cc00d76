"""Streams and dictionaries of many frames: where they are cut, and that what reads one frame reads them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.codecs.zstd import ZSTD_MAGIC
from exhume.findings import Severity
from exhume.formats.clp_s.write import build
from exhume.formats.clp_s.writer import create
from exhume.testing.damage import flip
from tests.clp_s.oracle import ORACLES, Oracle

COUNT = 400


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of two tables, whose sections hold many frames."""
    monkeypatch.setattr(build, "LEAST", 100)
    monkeypatch.setattr(build, "MOST", 300)
    rng = random.Random(5)
    path = tmp_path / "x.clps"
    with create(path, creator_id="me", timestamp_key="t") as writer:
        for number in range(COUNT):
            writer.write({"t": number, "m": f"took {rng.random():.3f} ms, id={rng.getrandbits(64):016x}", "ok": True})
            if number % 3 == 0:
                writer.write({"t": number, "a": ["x", number], "host": f"node-{rng.getrandbits(40):x}"})
    return path


@given(st.lists(st.integers(0, 3 * build.MOST), max_size=20))
def test_frames_end_with_columns_and_are_neither_small_nor_large(sizes: list[int]) -> None:
    found = list(build.spans(sizes))
    total = sum(sizes)
    assert [0, *(stop for _, stop in found)] == [*(start for start, _ in found), total]
    assert all(stop - start <= build.MOST for start, stop in found)
    assert all(stop - start >= min(build.LEAST, build.MOST // 2) for start, stop in found[:-1])
    bounds = {start for start, _ in found} | {total}
    at = last = 0
    for size in sizes:
        at += size
        if at - last >= build.LEAST:
            assert at in bounds
            last = at


@given(st.binary(max_size=4000), st.integers(1, 3))
def test_frames_state_their_size_and_contain_the_payload(payload: bytes, jobs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "LEAST", 64)
        patch.setattr(build, "MOST", 256)
        columns = [len(payload) // 3, 0, len(payload) - len(payload) // 3]
        read = build.whole(payload)[1]
        several = [list(one) for one in build.Framing().several([(columns, read), ([0], read), (columns, read)], jobs)]
    assert several[0] == several[2]
    assert several[1] == []
    assert b"".join(map(zstandard.ZstdDecompressor().decompress, several[0])) == payload


def test_what_was_written_reads_and_verifies(made: Path, tmp_path: Path) -> None:
    assert made.read_bytes().count(ZSTD_MAGIC) > 50
    with exhume.clps.open(made) as archive:
        assert sum(1 for _ in archive.events(ordered=True)) == COUNT + -(-COUNT // 3)
    assert [finding for finding in exhume.verify(made) if finding.severity is Severity.ERROR] == []


@pytest.mark.parametrize("small", [0, 60])
def test_recoding_cuts_where_writing_does(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    if small:
        made = tmp_path / "small"
        with create(made, creator_id="me", min_table_size=2000) as writer:
            for number in range(10 * small):
                writer.write({f"k{number % small}": number, **{f"l{key}": key for key in range(number % 7)}})
    with monkeypatch.context() as patch:
        patch.setattr(build, "LEAST", 1 << 30)
        patch.setattr(build, "MOST", 1 << 30)
        exhume.recode(made, tmp_path / "one")
    assert (tmp_path / "one").read_bytes().count(ZSTD_MAGIC) < made.read_bytes().count(ZSTD_MAGIC) // 2
    for jobs in (1, 2):
        exhume.recode(tmp_path / "one", tmp_path / f"many{jobs}", jobs=jobs)
        assert (tmp_path / f"many{jobs}").read_bytes() == made.read_bytes()


def test_salvage_keeps_the_tables_before_a_damaged_frame(made: Path, tmp_path: Path) -> None:
    """Both tables are in one stream, which is the last section; the larger one is the first."""
    damaged, out = tmp_path / "damaged", tmp_path / "out"
    damaged.write_bytes(flip(made.read_bytes(), made.stat().st_size - 12))
    for jobs in (1, 2):
        out.unlink(missing_ok=True)
        report = exhume.salvage(damaged, out, jobs=jobs)
        assert report.recovered["records"] == COUNT
        with exhume.clps.open(out) as archive:
            assert [event["t"] for event in archive.events()] == list(range(COUNT))


def test_salvage_without_packets_finds_where_dictionaries_end(made: Path, tmp_path: Path) -> None:
    damaged, out = tmp_path / "damaged", tmp_path / "out"
    data = bytearray(made.read_bytes())
    data[64 + 12 : 64 + 60] = bytes(48)
    damaged.write_bytes(data)
    report = exhume.salvage(damaged, out)
    assert report.lost == {"metadata packets": 1}
    with exhume.clps.open(out) as archive, exhume.clps.open(made) as before:
        mine, theirs = list(archive.events()), list(before.events())
    assert [event.get("m") for event in mine] == [event.get("m") for event in theirs]


@pytest.mark.parametrize("oracle", ORACLES)
def test_clp_s_reads_many_frames(made: Path, tmp_path: Path, oracle: Oracle) -> None:
    with exhume.clps.open(made) as archive:
        expected = b"".join(archive.json_chunks())
        ordered = b"".join(archive.json_chunks(ordered=True))
    assert oracle.extract(tmp_path, made) == expected
    assert oracle.extract(tmp_path, made, "--ordered") == ordered
    found = oracle.run("s", made, "host: node-*")
    assert found.returncode == 0
    assert len(found.stdout.splitlines()) == -(-COUNT // 3)
