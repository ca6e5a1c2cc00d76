"""The blocks of a table as a run of sections: what is stated of them all, and of each when it is used."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.engines.coverage import coverage
from exhume.engines.explain import Selection, explain_archive
from exhume.errors import EntryNotFoundError, Span
from exhume.formats.leveldb import kernel as compiled
from exhume.formats.leveldb import layout
from exhume.formats.leveldb import pykernel as pure
from exhume.formats.leveldb import sections as module
from exhume.formats.leveldb.blocks import build_block, seal_block
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import Handle, Handles
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.layout.sections import PlacedRun, Section, SectionKind, SectionMap, SectionRun
from exhume.testing.selftest import files_of
from tests.archives import OWN
from tests.leveldb.crafted import build_batch
from tests.leveldb.make_samples import PUT, build_database, build_table, write_files
from tests.leveldb.test_damage import KEY, table_of
from tests.sizes import some

KINDS = (SectionKind.DATA, SectionKind.CHECKSUM, SectionKind.PADDING)
runs = st.tuples(st.integers(0, 60), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=12))
single = st.tuples(st.integers(0, 60), st.integers(0, 30))


def run_of(place: int, start: int, given: list[tuple[int, int]]) -> SectionRun:
    bounds = array("q", [start])
    for size, _ in given:
        bounds.append(bounds[-1] + size)

    def make(number: int) -> Section:
        span = Span("file", bounds[number], bounds[number + 1])
        return Section(f"run {place} {number}", span, KINDS[given[number][1]], codec="none")

    def names() -> Any:
        return (f"run {place} {number}" for number in range(len(given)))

    sorts = [sort for _, sort in given]
    return SectionRun("file", memoryview(bounds), sorts, make=make, names=names, claims=lambda *_: False)


@given(st.lists(runs, max_size=3), st.lists(single, max_size=3), st.integers(0, 150), st.integers(-9, 9))
def test_a_run_is_what_its_sections_are(
    several: list[tuple[int, list[tuple[int, int]]]], alone: list[tuple[int, int]], size: int, at: int
) -> None:
    """Whatever else is next to a run, overlaps it, or is missing after it because the file ends."""
    source = BytesSource(bytes(size), "file")
    packed = [run_of(place, start, given) for place, (start, given) in enumerate(several)]
    others = [Section(f"one {start}", Span("file", start, start + extent)) for start, extent in alone]
    whole = SectionMap([(source, [*packed, *others])])
    apart = SectionMap([(source, [*(section for run in packed for section in run), *others])])
    assert list(whole) == list(apart) == apart.parts
    assert (len(whole), whole[at:], whole[:at]) == (len(apart), apart[at:], apart[:at])
    assert [whole[number] for number in range(len(whole))] == list(whole)
    assert (whole.coverage(), whole.gaps(), whole.overlaps) == (apart.coverage(), apart.gaps(), apart.overlaps)
    assert list(whole.names()) == [section.name for section in whole]
    for section in whole:
        assert whole.named(section.name) == apart.named(section.name)
    for offset in range(size):
        assert whole.at(offset, "file") == apart.at(offset)
    assert sum(count for _, count, _ in whole.sums()) == len(whole)
    assert sum(stored for _, _, stored in whole.sums()) == sum(section.span.size for section in whole)
    with pytest.raises(EntryNotFoundError, match="no such section"):
        whole.named("run 0 o")


@pytest.mark.parametrize("codec", ["none", "snappy"])
def test_no_section_is_made_of_a_block_to_find_its_owner(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = build_table([(b"key%06d" % n, n + 1, PUT, b"value %d" % n * 9) for n in range(8000)], codec, 1000)
    made = []
    real = module._contents

    def contents_of(*args: Any) -> Section:
        made.append(args)
        return real(*args)

    monkeypatch.setattr(module, "_contents", contents_of)
    reported = []
    for jobs in (1, 2):
        with exhume.open(data, format="leveldb") as archive:
            made.clear()
            reported.append(coverage(archive, jobs))
            assert len(made) < 9
            found = archive.sections(jobs=jobs)
            assert len(found) > 900
            assert [type(part) for part in found.parts].count(SectionRun) == 1
            sizes = [len(section.load()) for section in found if section.load is not None]
            assert min(sizes) > 0
    assert reported[0] == reported[1]
    assert (reported[0].gap, reported[0].overlap, reported[0].total) == (0, 0, len(data))
    assert (reported[0].data == 0) is (codec == "none")


def test_a_block_that_its_entries_do_not_fill_is_looked_at(tmp_path: Path) -> None:
    """Its neighbors are claimed as before, and its bytes are named."""
    data, _ = build_table([(b"key%06d" % n, n + 1, PUT, b"value") for n in range(900)], "none", 500)
    with exhume.open(data, format="leveldb") as archive:
        sound = coverage(archive)
        block = next(s for s in archive.sections() if s.name.endswith("data@0"))
    broken = bytearray(data)
    broken[block.span.end - 1] = 0xFF  # of the number of restart points
    with exhume.open(bytes(broken), format="leveldb") as archive:
        found = coverage(archive)
    assert found.unexplained
    assert all(hole.start < block.span.end for hole in found.unexplained)
    assert found.fields + found.gap == sound.fields


def test_every_filter_of_a_block_is_claimed() -> None:
    """All of them, although `explain` shows the first ones one by one."""
    block = b"".join(bytes((n,)) * 5 + b"\6" for n in range(200))
    block += b"".join((n * 6).to_bytes(4, "little") for n in range(201)) + b"\x0b"
    files = build_database()
    table_of((build_block([(KEY, b"v")]), KEY), filter=block)(files)
    with LevelDbArchive(MemoryTree(files)) as archive:
        found = coverage(archive)
    assert found.unexplained == []
    offsets = [n * 6 for n in range(201)]
    for wrong in ([6, *offsets[1:]], [*offsets[:9], 0, *offsets[10:]], [*offsets[:-1], 1194], offsets[:-1]):
        changed = block[:1200] + b"".join(n.to_bytes(4, "little") for n in wrong) + b"\x0b"
        assert not layout.fills_filter(changed)
    assert not layout.fills_filter(block[:3])
    assert not layout.fills_filter(block + b"\x0b")


def test_blocks_that_do_not_follow_each_other_are_sections_by_themselves() -> None:
    handles = Handles.of([Handle(0, 10), Handle(15, 20), Handle(40, 1)])
    follow = module._are_consecutive
    assert follow(handles, [Handle(46, 3)], 46)
    assert not follow(handles, [], 45)  # the last one reaches into the footer
    assert not follow(handles[::2], [], 99)
    assert not follow(handles[:0], [], 99)
    assert not follow(handles, [Handle(15, 20)], 99)  # one of them is something else, too


def test_a_table_without_its_start_is_described() -> None:
    """Its footer is read, but no block is where footer and index place it."""
    files = dict(files_of(OWN / "leveldb" / "snappy"))
    whole = files["000005.ldb"]
    for at in some(range(1, len(whole))):
        with exhume.inspect(MemoryTree(files | {"000005.ldb": whole[at:]})) as archive:
            sections = [one for one in archive.sections() if one.span.source == "000005.ldb" and one.parent is None]
        assert sorted((one.span.start, one.span.end) for one in sections)[0][0] == 0
        assert max(one.span.end for one in sections) == len(whole) - at


def block_of(entries: dict[bytes, bytes]) -> bytes:
    return build_block(sorted(entries.items()))


contents = st.one_of(
    st.binary(max_size=30), st.dictionaries(st.binary(max_size=4), st.binary(max_size=9)).map(block_of)
)
sealed_blocks = st.lists(st.tuples(contents, st.sampled_from(["none", "snappy"])), max_size=6)


@given(sealed_blocks, st.integers(0, 90), st.integers(0, 9))
def test_both_kernels_report_the_same_of_stored_blocks(
    blocks: list[tuple[bytes, str]], size: int, skipped: int
) -> None:
    data, handles = b"", []
    for content, codec in blocks:
        sealed = seal_block(content, codec)
        handles.append(Handle(len(data), len(sealed) - 5))
        data += sealed
    columns = Handles.of(handles)
    for window, begin in ((data, 0), (data[:size], 0), (data[skipped : skipped + size], skipped)):
        for call in ("block_codecs", "filled_blocks"):
            reported = [getattr(one, call)(window, begin, columns.offsets, columns.sizes) for one in (compiled, pure)]
            assert reported[0] == reported[1]
    assert len(pure.block_codecs(data, 0, columns.offsets, columns.sizes)) == len(blocks)


def test_records_of_a_log_are_made_when_they_are_shown(tmp_path: Path) -> None:
    """Also around damage, and of a record that spans blocks; their payloads are those that were written."""
    batches = [build_batch(n + 1, [(PUT, b"key%03d" % n, b"v" * (40_000 if n == 150 else n))]) for n in range(300)]
    log = bytearray(build_log(batches))
    write_files(tmp_path / "db", build_database() | {"000006.log": bytes(log)})
    with exhume.open(tmp_path / "db") as archive:
        found = archive.sections()
        [run] = [part for part in found.parts if isinstance(part, PlacedRun) and part.span.source == "000006.log"]
        assert (len(run), run.parent, run.sorts) == (300, "000006.log", bytes(300))
        assert [section.load() for section in run if section.load is not None] == batches
        some = [section.pieces for section in run[148:153] if section.pieces is not None]
        assert [b"".join(pieces()) for pieces in some] == batches[148:153]
        assert [section.payload_size for section in run] == [*map(len, batches)]
        assert sum(run.sizes()) == sum(size for _, _, size in run.sums()) == sum(section.span.size for section in run)
        for number in (0, 7, 150, 299):
            start, end = run[number].span.start, run[number].span.end
            assert run[number].name == f"000006.log/record@{start}"
            assert found.at(start, "000006.log")[-1].name == run[number].name
            assert run.within(start, end) == range(number, number + 1)
            assert run.touching(start, end) == range(max(0, number - 1), min(300, number + 2))
        chosen = Selection(start=run[7].span.start, end=run[7].span.start + 1, source="000006.log", payloads=False)
        assert [item.section.name for item in explain_archive(archive, chosen)] == ["000006.log", run[7].name]
        names = [section.name for section in run]
    at = int(names[20].partition("@")[2])
    log[at + 9] ^= 1
    write_files(tmp_path / "db", build_database() | {"000006.log": bytes(log[:-1])})
    with exhume.open(tmp_path / "db") as archive:
        listed = [section.name for section in archive.sections() if section.parent == "000006.log"]
        starts = [section.span.start for section in archive.sections() if section.parent == "000006.log"]
    assert starts == sorted(starts)
    assert [name for name in listed if "unread" in name] == [names[-1].replace("record", "unread")]
    assert [name for name in listed if "record" in name] == names[:-1]
