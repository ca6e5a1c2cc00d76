"""Salvage and carving of ZS files."""

from __future__ import annotations

import builtins
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.engines.carve import carve
from exhume.engines.salvage import salvage
from exhume.errors import SourceError, UnrecognizedFormatError, UnsupportedOperationError
from exhume.formats.zs import salvage as zs_salvage
from exhume.formats.zs.writer import ZsWriter
from exhume.io.source import BytesSource
from exhume.recovery import CarveVerdict, Outcome, SalvageMode, SalvageReport, VerifiedBy
from exhume.testing.damage import flip, zero_sector
from exhume.testing.sources import MisreportingSource
from tests.scaling.archives import damaged_blocks
from tests.sizes import some

from .build import PARTIAL, File, reader, simple
from .damaged import Tree
from .make_samples import BROKEN, METADATA, WORDS


def rescue(data: bytes, folder: Path, **options: Any) -> tuple[SalvageReport, list[bytes]]:
    """Salvage bytes; return the report, and the records of the new file."""
    output = folder / "saved.zs"
    output.unlink(missing_ok=True)
    report = salvage(data, output, format="zs", **options)
    assert_accounted(report, len(data))
    if not output.exists():
        assert not report.recovered["records"]
        return report, []
    assert report.verified_by in (VerifiedBy.CHECKSUMS, VerifiedBy.STRUCTURE)  # by whether the header holds
    assert report.findings == []
    with reader(output) as archive:
        records = list(archive)
    assert len(records) == report.recovered["records"]
    return report, records


def assert_accounted(report: SalvageReport, size: int) -> None:
    """Every byte of the input has exactly one outcome."""
    at = 0
    for outcome in report.spans:
        assert outcome.span.start == at
        at = outcome.span.end
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


def test_what_the_header_contradicts_is_kept_and_not_called_proven(tmp_path: Path) -> None:
    """Every block fits its checksum, and the header its own; but the SHA-256 in the header is of other data."""
    report, records = rescue(BROKEN["data-sha256"][1], tmp_path)
    assert records
    assert report.complete
    assert report.verified_by is VerifiedBy.STRUCTURE
    assert report.notes == ["every block is intact, but the data does not match the SHA-256 in the header"]


def test_whole_file_is_kept_whole(whole: bytes, tmp_path: Path) -> None:
    report, records = rescue(whole, tmp_path)
    assert records == WORDS
    assert report.complete
    assert any("no record is missing" in note for note in report.notes)
    with reader(tmp_path / "saved.zs") as archive:
        assert archive.metadata == METADATA


@pytest.mark.parametrize("jobs", [1, 2])
def test_blocks_are_copied_as_they_are_stored(jobs: int, tmp_path: Path) -> None:
    """Not as the writer would compress them."""

    def stored(data: Any) -> list[bytes]:
        with reader(data) as archive:
            return [bytes(b.body) for b in archive.file.walk(archive.header.blocks_offset) if b.is_data]

    with ZsWriter(tmp_path / "a.zs", codec="deflate", level="stored", block_size=100) as out:
        out.add_records(WORDS)
    data = (tmp_path / "a.zs").read_bytes()
    blocks = stored(data)
    rescue(data[:-1], tmp_path, jobs=jobs)
    kept = stored(tmp_path / "saved.zs")
    assert len(kept) > 2
    assert kept == blocks[: len(kept)]


@pytest.mark.slow
def test_one_bad_byte_costs_one_block(whole: bytes, tmp_path: Path) -> None:
    with reader(whole) as archive:
        blocks = [(e.offset or 0, e.stored_size or 0, e.kind) for e in archive.entries()]
        start = archive.header.blocks_offset
        sizes = {b.offset: len(part) for b, part in zip(
            (b for b in archive.file.walk(start) if b.is_data), archive.map_blocks(lambda part: part), strict=True
        )}  # fmt: skip
    for offset in some(range(start, len(whole), 7)):
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
    for length in some(range(0, len(whole), 31)):
        _, records = rescue(whole[:length], tmp_path)
        assert records == WORDS[: len(records)]


def test_zeroed_sector(whole: bytes, tmp_path: Path) -> None:
    with reader(whole) as archive:
        start = archive.header.blocks_offset
    report, records = rescue(zero_sector(whole, start + 40, 90), tmp_path)
    assert 0 < len(records) < len(WORDS)
    assert report.lost["data blocks"] >= 1
    assert any(outcome.outcome is Outcome.LOST and outcome.reason for outcome in report.spans)


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
    assert report.verified_by is VerifiedBy.CHECKSUMS
    assert [json.loads(line)["record"]["text"].encode() for line in output.read_text().splitlines()] == WORDS


def test_what_cannot_be_done(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperationError):
        salvage(b"x", tmp_path / "out", format="zs", mode=SalvageMode.FILES)
    (tmp_path / "dir").mkdir()
    with pytest.raises(UnrecognizedFormatError):
        salvage(tmp_path / "dir", tmp_path / "out", format="zs")
    report, records = rescue(b"nothing of use here" * 30, tmp_path)
    assert (records, report.verified_by) == ([], VerifiedBy.EMPTY)


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
        (first, len(whole), CarveVerdict.COMPLETE),
        (second, len(damaged), CarveVerdict.DAMAGED),
        (third, len(unfinished), CarveVerdict.PARTIAL),
        (last, len(cut), CarveVerdict.PARTIAL),
    ]
    assert found[0].findings == ()
    assert all(f.span is None or f.span.start >= second for f in found[1].findings)
    with exhume.open(image, offset=first, length=len(whole)) as archive:
        assert archive.format == "zs"


def test_what_the_refusals_state(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    with pytest.raises(UnrecognizedFormatError) as caught:
        salvage(tmp_path / "dir", tmp_path / "out", format="zs")
    assert (caught.value.format, caught.value.actual) == ("zs", str(tmp_path / "dir"))


def test_progress_reaches_the_end_block_by_block(tmp_path: Path) -> None:
    tree = Tree()
    reported: list[tuple[int, int | None, str]] = []
    salvage(tree.bytes, tmp_path / "out", format="zs", progress=lambda *stated: reported.append(stated))
    ends = [offset + size for offset, size in sorted([*tree.data, *tree.leaves, tree.root])]
    size = len(tree.bytes)
    assert [stated for stated in reported if stated[2] == "bytes"][: len(ends)] == [
        (end, size, "bytes") for end in ends
    ]


def test_offsets_in_notes_and_spans_are_those_of_the_image(tmp_path: Path) -> None:
    tree = Tree()
    damaged = tree.without(tree.root, tree.data[1])
    report = salvage(b"#" * 1000 + damaged, tmp_path / "out", format="zs", offset=1000)
    assert f"no data after offset {1000 + tree.root[0]} could be read" in report.notes
    assert [outcome.span.start for outcome in report.spans if outcome.outcome is Outcome.LOST] == [
        1000 + tree.data[1][0], 1000 + tree.root[0],
    ]  # fmt: skip


def test_a_source_that_fails_is_not_damage(tmp_path: Path) -> None:
    """Where reading fails the evidence says nothing: the error is passed on, and nothing is made of it."""
    tree = Tree()
    for place in (*tree.data, *tree.leaves, tree.root):
        for offset in (place[0], place[0] + place[1] - 1):

            def fail(at: int, size: int, data: bytes, offset: int = offset) -> bytes:
                if at <= offset < at + size and at >= tree.file.start:
                    raise SourceError("the disk does not answer")
                return data

            with pytest.raises(SourceError):
                salvage(MisreportingSource(BytesSource(tree.bytes), fail), tmp_path / "out", format="zs")
            assert not (tmp_path / "out").exists()


def test_the_largest_guess_is_still_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an index, blocks of up to `LARGEST_GUESS` bytes are found after damage, wherever a step ends."""
    file = File()
    file.raw(b"\xff" * 5)
    file.data(b"k" * 37)  # its length is 39: level, length and record
    data = file.finish(((1 << 63) - 1, 0), length=0)
    for largest, found in ((38, []), (39, [b"k" * 37]), (40, [b"k" * 37])):
        monkeypatch.setattr("exhume.formats.zs.salvage.LARGEST_GUESS", largest)
        for step in (1, 2, 3, 4, 5, 6, 100):
            monkeypatch.setattr("exhume.formats.zs.salvage.SEARCH_STEP", step)
            assert rescue(data, tmp_path)[1] == found, (largest, step)


def test_blocks_that_no_index_names_are_looked_for_near_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte by byte as far as `NEAR`; then the next block that an index names is taken."""
    file = File()
    file.raw(b"\xff" * 20)
    file.data(b"a")
    named = file.data(b"b")
    data = file.finish(file.index(1, (b"b", named)), sha256=bytes(32))
    for near, found in ((31, [b"b"]), (32, [b"b"]), (33, [b"a", b"b"]), (1000, [b"a", b"b"])):
        monkeypatch.setattr("exhume.formats.zs.salvage.NEAR", near)
        assert rescue(data, tmp_path)[1] == found, near


def test_lines_come_in_order_and_whole(tmp_path: Path) -> None:
    file = File()
    places = [(key, file.data(key, key + b"z")) for key in (b"c", b"a", b"b")]
    data = file.finish(file.index(1, *places))
    report = salvage(data, tmp_path / "out", format="zs", mode=SalvageMode.RECORDS)
    assert (report.format, report.output) == ("zs", str(tmp_path / "out"))
    lines = (tmp_path / "out").read_text().splitlines()
    assert [json.loads(line)["record"]["text"] for line in lines] == ["a", "az", "b", "bz", "c", "cz"]


def test_the_codec_and_the_metadata_are_kept(tmp_path: Path) -> None:
    for codec in (b"none", b"deflate"):
        (tmp_path / "out").unlink(missing_ok=True)
        salvage(Tree(codec).bytes, tmp_path / "out", format="zs")
        with reader(tmp_path / "out") as archive:
            assert (archive.header.codec, archive.metadata) == (codec.decode(), {"of": "us"})


def test_a_cut_between_two_blocks_is_not_complete(tmp_path: Path) -> None:
    """No byte of the file is lost then: the length and the SHA-256 in the header show that something is missing."""
    tree = Tree()
    report, records = rescue(tree.bytes[: tree.data[2][0]], tmp_path)
    assert (len(records), report.complete, report.lost["data blocks"]) == (4, False, 1)


def test_nothing_is_lost_when_the_digest_of_the_records_fits(tmp_path: Path) -> None:
    """The unreadable part after the records was an index: it is rebuilt."""
    tree = Tree()
    report, records = rescue(tree.without(tree.root), tmp_path)
    assert (len(records), report.complete, report.lost["data blocks"]) == (10, True, 0)


def test_blocks_that_are_there_twice_are_written_once(tmp_path: Path) -> None:
    """Two data blocks are only the same if all their records are: any other is a copy."""
    path = tmp_path / "a.zs"
    with ZsWriter(path, codec="none", block_size=64, default_metadata=False) as out:
        out.add_records(sorted([b"record %06d" % number for number in range(60)] + [b"same"] * 80))
    data = path.read_bytes()
    with reader(path) as archive:
        spans = [one.span for one in archive.sections() if one.name.startswith("data-")]
        records = list(archive)
    same = [span for span in spans if data[span.start : span.end] == data[spans[-3].start : spans[-3].end]]
    assert len(same) > 2
    assert rescue(data, tmp_path)[1] == records
    first, second = spans[0], next(one for one in spans[1:] if one.size == spans[0].size)
    copied = data[: second.start] + data[first.start : first.end] + data[second.end :]
    report, saved = rescue(copied, tmp_path)
    lost = [one for one in report.spans if one.outcome is Outcome.LOST]
    assert report.lost == {"data blocks": 1}
    assert [(one.span.start, one.reason) for one in lost] == [
        (second.start, f"a copy of the data block at {first.start}")
    ]
    assert not Counter(saved) - Counter(records)
    assert len(records) - len(saved) == data.count(b"record ", second.start, second.end)
    added = data + data[first.start : first.end] + data[same[0].start : same[0].end]
    report, saved = rescue(added, tmp_path)
    assert (saved, report.lost) == (records, {})
    assert [str(one.outcome) for one in report.spans if one.content == "repeated block"] == ["ignored"]


def test_where_the_index_places_blocks_is_not_searched_again_for_each_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sorts: list[int] = []

    def counted(items: Iterable[Any], **options: Any) -> list[Any]:
        found = builtins.sorted(items, **options)
        sorts.append(len(found))
        return found

    monkeypatch.setattr(zs_salvage, "sorted", counted, raising=False)
    damaged_blocks(tmp_path / "a.zs", 100)
    report = salvage(tmp_path / "a.zs", tmp_path / "b.zs")
    assert sum(report.lost.values()) > 20
    assert len(sorts) < 10


@pytest.mark.parametrize(
    ("data", "lost"),
    [
        (simple(File(metadata=b'{"a":NaN}')), {"metadata objects": 1}),
        (simple(File(metadata=b"[1]")), {"metadata objects": 1}),
        (simple(File(metadata=b'{"a":1e999}')), {"metadata objects": 1}),
        (simple(File())[:88] + b"\xff" * 8 + simple(File())[96:], {"headers": 1}),
    ],
)
def test_metadata_that_cannot_be_kept_is_lost(data: bytes, lost: dict[str, int], tmp_path: Path) -> None:
    report = salvage(BytesSource(data), tmp_path / "x.zs", format="zs")
    assert (report.recovered["records"], +report.lost) == (2, lost)
