"""Salvage and carving of ZS files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.engines.carve import carve
from exhume.engines.salvage import salvage
from exhume.errors import UnrecognizedFormatError, UnsupportedOperationError
from exhume.formats.zs.writer import ZsWriter
from exhume.recovery import Fate, SalvageMode, SalvageReport, Verdict, Verified
from exhume.testing.corrupt import flip, zero_sector

from .build import PARTIAL, File, reader
from .make_samples import METADATA, WORDS


def rescue(data: bytes, folder: Path, **options: Any) -> tuple[SalvageReport, list[bytes]]:
    """Salvages bytes; returns the report, and the records of the new file."""
    output = folder / "saved.zs"
    output.unlink(missing_ok=True)
    report = salvage(data, output, format="zs", **options)
    assert_accounted(report, len(data))
    if not output.exists():
        assert not report.recovered["records"]
        return report, []
    assert report.verified in (Verified.CHECKSUMS, Verified.REREAD)  # by whether the header holds
    assert report.findings == []
    with reader(output) as archive:
        records = list(archive)
    assert len(records) == report.recovered["records"]
    return report, records


def assert_accounted(report: SalvageReport, size: int) -> None:
    """Every byte of the input has exactly one fate."""
    at = 0
    for fate in report.spans:
        assert fate.span.start == at
        at = fate.span.end
    assert at == size


@pytest.fixture(scope="module", params=["none", "deflate", "lzma"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of several levels."""
    path = tmp_path_factory.mktemp("zs") / "a.zs"
    with ZsWriter(
        path, codec=request.param, block_size=100, branching_factor=3, metadata=METADATA, default_metadata=False
    ) as out:
        out.add_records(WORDS)
    return path.read_bytes()


def test_whole_file_is_kept_whole(whole: bytes, tmp_path: Path) -> None:
    report, records = rescue(whole, tmp_path)
    assert records == WORDS
    assert report.complete
    assert any("no record is missing" in note for note in report.notes)
    with reader(tmp_path / "saved.zs") as archive:
        assert archive.metadata == METADATA


def test_one_bad_byte_costs_one_block(whole: bytes, tmp_path: Path) -> None:
    with reader(whole) as archive:
        blocks = [(e.offset or 0, e.stored_size or 0, e.kind) for e in archive.entries()]
        start = archive.header.blocks_offset
        sizes = {b.offset: len(part) for b, part in zip(
            (b for b in archive.file.walk(start) if b.is_data), archive.map_blocks(lambda part: part), strict=True
        )}  # fmt: skip
    for offset in range(start, len(whole), 7):
        _, records = rescue(flip(whole, offset), tmp_path)
        [(at, _, kind)] = [b for b in blocks if b[0] <= offset < b[0] + b[1]]
        lost = sizes[at] if kind == "data" else 0
        assert len(records) == len(WORDS) - lost
        assert not Counter(records) - Counter(WORDS)


def test_damaged_header(whole: bytes, tmp_path: Path) -> None:
    for offset in (0, 9, 17, 33, 45, 73, 89, 97, 110, 150):
        _, records = rescue(flip(whole, offset), tmp_path)
        assert records == WORDS, offset


def test_without_any_head(whole: bytes, tmp_path: Path) -> None:
    with reader(whole) as archive:
        start = archive.header.blocks_offset
    report, records = rescue(bytes(start) + whole[start:], tmp_path)
    assert records == WORDS
    assert any("by trial" in note for note in report.notes)


def test_every_truncation_keeps_whole_blocks(whole: bytes, tmp_path: Path) -> None:
    for length in range(0, len(whole), 31):
        _, records = rescue(whole[:length], tmp_path)
        assert records == WORDS[: len(records)]


def test_zeroed_sector(whole: bytes, tmp_path: Path) -> None:
    with reader(whole) as archive:
        start = archive.header.blocks_offset
    report, records = rescue(zero_sector(whole, start + 40, 90), tmp_path)
    assert 0 < len(records) < len(WORDS)
    assert report.lost["data blocks"] >= 1
    assert any(fate.fate is Fate.LOST and fate.why for fate in report.spans)


def test_bytes_cut_out_of_the_middle(whole: bytes, tmp_path: Path) -> None:
    """Offsets in the index no longer hold: only the checksums lead on."""
    with reader(whole) as archive:
        start = archive.header.blocks_offset
    _, records = rescue(whole[: start + 50] + whole[start + 57 :], tmp_path)
    assert len(records) >= len(WORDS) - 10


def test_unfinished_file(tmp_path: Path) -> None:
    file = File(magic=PARTIAL)
    file.data(b"a", b"b")
    file.data(b"c")
    data = file.finish(((1 << 63) - 1, 0), length=0, sha256=bytes(32), crc=0)
    report, records = rescue(data + b"\x50\x00half a block", tmp_path)
    assert records == [b"a", b"b", b"c"]
    assert report.lost["data blocks"] == 1


def test_disorder_is_sorted(tmp_path: Path) -> None:
    file = File()
    places = [(key, file.data(key, key + b"z")) for key in (b"c", b"a", b"b")]
    data = file.finish(file.index(1, *places))
    report, records = rescue(data, tmp_path)
    assert records == [b"a", b"az", b"b", b"bz", b"c", b"cz"]
    assert any("sorted" in note for note in report.notes)


def test_json_lines(whole: bytes, tmp_path: Path) -> None:
    output = tmp_path / "saved.jsonl"
    report = salvage(whole, output, format="zs", mode=SalvageMode.RECORDS)
    assert report.verified is Verified.CHECKSUMS
    assert [json.loads(line)["record"]["text"].encode() for line in output.read_text().splitlines()] == WORDS


def test_what_cannot_be_done(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperationError):
        salvage(b"x", tmp_path / "out", format="zs", mode=SalvageMode.FILES)
    (tmp_path / "dir").mkdir()
    with pytest.raises(UnrecognizedFormatError):
        salvage(tmp_path / "dir", tmp_path / "out", format="zs")
    report, records = rescue(b"nothing of use here" * 30, tmp_path)
    assert (records, report.verified) == ([], Verified.NOTHING)


def test_carving(whole: bytes, tmp_path: Path) -> None:
    cut = whole[: len(whole) - 30]
    noise = bytes(range(256)) * 5
    damaged = flip(whole, len(whole) - 40)
    file = File(magic=PARTIAL)
    file.data(b"a", b"b")
    unfinished = file.finish(((1 << 63) - 1, 0), length=0, sha256=bytes(32), crc=0)
    image = noise + whole + noise + damaged + unfinished + noise + b"\xabZSfiLe\x01" + noise + cut
    found = list(carve(image, only=["zs"]))
    first = len(noise)
    second = first + len(whole) + len(noise)
    third = second + len(damaged)
    last = len(image) - len(cut)
    assert [(c.offset, c.length, c.verdict) for c in found] == [
        (first, len(whole), Verdict.WHOLE),
        (second, len(damaged), Verdict.DAMAGED),
        (third, len(unfinished), Verdict.PARTIAL),
        (last, len(cut), Verdict.PARTIAL),
    ]
    assert found[0].findings == ()
    assert all(f.span is None or f.span.start >= second for f in found[1].findings)
    with exhume.open(image, offset=first, length=len(whole)) as archive:
        assert archive.format == "zs"
