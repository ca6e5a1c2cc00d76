"""Columns and frames in temporary files: the archive is the same, byte for byte."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.formats.clp_s.write import encoder
from exhume.formats.clp_s.write.encoder import Frames, SpillFile
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.clp_s.write.series import begin
from exhume.native import KERNEL


def records(count: int) -> list[dict[str, Any]]:
    rng = random.Random(5)
    found: list[dict[str, Any]] = []
    for number in range(count):
        record: dict[str, Any] = {
            "ts": f"2024-05-01T01:{number // 60 % 60:02}:{number % 60:02}.{number % 1000:03}Z",
            "n": rng.getrandbits(40),
            "x": number / 7,
            "ok": bool(number & 1),
            "word": f"w{number % 91}",
            "text": f"took {number} ms on host{number % 13} at 0x{number:x}, code {number % 5}.25",
            "list": [number, "a b", {"k": number % 3}],
        }
        if number % 3 == 0:
            record[f"k{number % 17}"] = {"deep": number}
        found.append(record)
    return found


def spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "GROWTH", 4096)
    monkeypatch.setattr(encoder, "LEAST", 16)
    monkeypatch.setattr(encoder, "HELD", 64)


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"version": "0.3.1"},
        {"timestamp_key": "ts"},
        {"timestamp_key": "ts", "version": "0.4.1", "structurize_arrays": True},
        {"min_table_size": 1000, "log_order": False},
        {"target_encoded_size": 75_000},
        {"directory": True},
    ],
)
def test_the_archive_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], jobs: int
) -> None:
    lines = tmp_path / "in.jsonl"
    lines.write_text("".join(json.dumps(record) + "\n" for record in records(1500)))
    monkeypatch.setattr("exhume.formats.clp_s.write.inputs.PIECE", 1 << 15)

    def made(name: str) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        with exhume.create(folder / "x.clps", "clp-s", creator_id="c", jobs=jobs, **options) as writer:
            writer.add_files([str(lines)])
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    expected = made("held")
    spilled(monkeypatch)
    found = made("spilled")
    assert found.keys() == expected.keys()
    for name in found:
        assert found[name] == expected[name], name


def test_records_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str) -> bytes:
        with exhume.create(tmp_path / name, "clp-s", creator_id="c") as writer:
            for record in records(700):
                writer.write(record)
        return (tmp_path / name).read_bytes()

    expected = made("held.clps")
    spilled(monkeypatch)
    assert made("spilled.clps") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held.clps", "spilled.clps"]


def test_columns_are_out_of_memory(tmp_path: Path) -> None:
    if KERNEL is None:
        pytest.skip("the interpreted encoder keeps its columns")
    encoder, _ = begin(WriterOptions())
    file = SpillFile(tmp_path)
    data = b"".join(json.dumps(record).encode() for record in records(500))
    encoder.feed(data[:20_000], 0, False, 1 << 60, False)
    size = sum(sum(encoder.schema(number)[3]) for number in range(encoder.num_schemas()))
    encoder.spill(file, 1)
    everything = list(range(encoder.num_schemas()))
    first = encoder.columns(everything, 0, size)
    encoder.spill(file, 1)
    assert encoder.columns(everything, 0, size) == first
    for start in range(0, size, 37):
        assert encoder.columns(everything, start, min(size, start + 50)) == first[start : start + 50]
    file.close()
    with pytest.raises(ValueError, match="spill"):
        encoder.columns(everything, 0, size)


def test_nothing_is_left_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spilled(monkeypatch)
    with pytest.raises(RuntimeError), exhume.create(tmp_path / "x.clps", "clp-s") as writer:
        for record in records(300):
            writer.write(record)
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "HELD", 10)
    frames = Frames(tmp_path)
    assert list(frames) == []
    frames.add([b"12345", b"67890"])
    assert list(frames) == [b"12345", b"67890"]
    frames.add([b"a" * 20, b"b"])
    assert frames.size == 31
    assert b"".join(frames) == b"".join(frames) == b"1234567890" + b"a" * 20 + b"b"


def test_an_encoder_of_either_kind_takes_a_spill(tmp_path: Path) -> None:
    options = WriterOptions()
    encoder, _ = begin(options)
    encoder.spill(SpillFile(tmp_path), 1)
    assert encoder.num_schemas() == 0
