"""Records that are larger than the limit or the buffer: they are read in chunks, and checked in chunks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.formats.data_bundle import shard
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.data_bundle.shard import Shard
from exhume.limits import Limits
from exhume.recovery import SalvageMode
from exhume.testing.damage import flip

LIMIT = 50_000
CODECS = ("zlib", "snappy", "none")


def content() -> bytes:
    chance = random.Random(1)
    return b"".join(chance.randbytes(100) + bytes(300) for _ in range(2000))


def bundle(path: Path, compression: Any) -> dict[str, bytes]:
    """A shard with one record of 800 kB that a file has for itself, and one with many files; returns the files."""
    data = content()
    files = {f"f{number:02}": data[number * 20_000 : number * 20_003 + 20_000] for number in range(30)}
    files["g"] = data
    with exhume.create(path, "databundle", compression=compression, record_size=1 << 21) as made:
        writer: Any = made
        for name, value in files.items():
            writer.add(name, value)
    return files


@pytest.mark.parametrize("compression", CODECS)
def test_records_above_the_limit_are_read(compression: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = bundle(tmp_path / "b", compression)
    made: list[int] = []
    original = shard.RecordStream.__iter__

    def counted(stream: shard.RecordStream) -> Iterator[bytes]:
        made.append(1)
        return original(stream)

    monkeypatch.setattr(shard.RecordStream, "__iter__", counted)
    with exhume.open(tmp_path / "b", limits=Limits(payload_size=LIMIT)) as archive:
        assert isinstance(archive, DataBundleArchive)
        for name in sorted(files):
            assert b"".join(archive.view.chunks(archive.row(name))) == files[name]
        assert len(made) <= 2, "files that follow each other go on where the last one ended"
        part = archive.view.read(archive.row("g"), 700_123, 700_200)
        assert part == files["g"][700_123:700_200]
        assert archive.view.read(archive.row("g"), 5, 9) == files["g"][5:9]
    for jobs in (1, 3):
        checked = exhume.verify(tmp_path / "b", limits=Limits(payload_size=LIMIT), jobs=jobs)
        assert (list(checked), checked.ok) == ([], True)
    report = exhume.salvage(tmp_path / "b", tmp_path / "files", mode=SalvageMode.FILES,
                            limits=Limits(payload_size=LIMIT))  # fmt: skip
    assert report.complete, report.notes
    assert {path.name: path.read_bytes() for path in (tmp_path / "files").iterdir()} == files


@pytest.mark.parametrize("compression", ["zlib", "snappy"])
@pytest.mark.parametrize("where", [0.1, 0.4, 0.6, 0.9])
def test_damage_in_large_records_is_found(compression: str, where: float, tmp_path: Path) -> None:
    bundle(tmp_path / "b", compression)
    shard = tmp_path / "b" / "shard-00000000"
    data = shard.read_bytes()
    shard.write_bytes(flip(data, int(len(data) * where)))

    def found(limits: Limits) -> set[tuple[str, str]]:
        return {(one.code, str(one.span)) for one in exhume.verify(tmp_path / "b", limits=limits) if one.is_problem}

    usual, limited = found(Limits()), found(Limits(payload_size=LIMIT))
    assert usual
    # A file is named, too, if its bytes differ before the damage stops the decoder.
    assert {code for code, _ in limited} | {"DBND-201"} == {code for code, _ in usual} | {"DBND-201"}


def test_a_record_of_another_length(tmp_path: Path) -> None:
    with exhume.create(tmp_path / "b", "databundle", record_size=1 << 18) as made:
        writer: Any = made
        writer.add("g", content())
    with exhume.open(tmp_path / "b", limits=Limits(payload_size=LIMIT)) as archive:
        assert isinstance(archive, DataBundleArchive)
        shard: Shard = archive.view.shard(0)
        second = shard.starts[1]
        assert shard.measure(0)[0] == second
        for other in (second - 7, second + 7):
            shard.starts[1] = other
            with pytest.raises(exhume.ExhumeError, match="DBND-313"):
                sum(map(len, shard.stream(0)))
        last = shard.starts[-1]
        with pytest.raises(exhume.ExhumeError, match=r"too short.*DBND-313"):
            list(shard.iter_range(last, last + 10_000_000))
