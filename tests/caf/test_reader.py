"""Reading chunks: few requests, lazily, from anywhere, with bounded memory."""

from __future__ import annotations

import itertools
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import EntryNotFoundError, ExhumeError, LimitExceededError, ShortReadError, UnrecognizedFormatError
from exhume.formats.caf import reader as reader_module
from exhume.formats.caf.chunk import build_index
from exhume.formats.caf.reader import CafArchive, open_archive
from exhume.formats.caf.verify import index_order
from exhume.formats.caf.writer import create
from exhume.io.local import FileSource
from exhume.io.source import LOCAL_COST, BytesSource, Cost, Source
from exhume.io.tree import MemoryTree
from exhume.layout.sections import Section, SectionKind, SectionRun
from exhume.limits import Limits
from exhume.testing.sources import CountingSource, MisreportingSource

from .make_samples import BROKEN, TREE, chunk, index_of


class Local(CountingSource):
    """Counts, but is as cheap to ask as a local file."""

    @property
    def cost(self) -> Cost:
        return LOCAL_COST


def many(count: int) -> tuple[bytes, dict[str, tuple[int, int]]]:
    files = {f"dir-{i % 10}/object-{i:06d}.bin": (i, i + 1) for i in range(count)}
    data = bytes(i % 251 for i in range(count))
    return chunk(build_index(files), data), files


def test_a_small_chunk_opens_with_one_read() -> None:
    source = CountingSource(BytesSource(chunk(index_of(("a", 0, 64)))))
    archive = open_archive(source)
    assert len(source.requests) == 1
    assert len(archive.read_member("a")) == 64
    assert len(source.requests) == 2


def test_a_large_remote_index_takes_two_reads() -> None:
    data, files = many(6000)  # 400 kB of index
    source = CountingSource(BytesSource(data))
    archive = open_archive(source)
    assert archive.is_loaded
    assert len(source.requests) == 2
    assert list(archive.names()) == sorted(files)


def test_a_large_local_index_is_parsed_when_needed() -> None:
    data, files = many(6000)
    source = Local(BytesSource(data))
    archive = open_archive(source)
    assert not archive.is_loaded
    names = list(files)
    for name in names[: reader_module.SCANS - 1]:
        assert archive.range_of(name) == files[name]
        assert archive.read_member(name) == data[slice(*files[name])]
    assert archive.match([names[0]]) == [names[0]]
    with pytest.raises(EntryNotFoundError):
        archive.range_of("nothing")
    before = archive.is_loaded
    assert archive.range_of(names[100]) == files[names[100]]
    assert (before, archive.is_loaded) == (False, True)  # by now parsing pays off
    assert [archive.range_of(name) for name in names] == list(files.values())
    assert archive.match(["dir-3"]) == [name for name in archive.names() if name.startswith("dir-3/")]


def test_an_exact_name_means_one_member(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    (tmp_path / "x.caf").write_bytes(BROKEN["file-and-directory"][1])
    assert len(exhume_cli("cat", tmp_path / "x.caf", "a").out) == 20
    assert len(exhume_cli("cat", tmp_path / "x.caf", "a/").out) == 44
    assert len(exhume_cli("cat", tmp_path / "x.caf", "a", "a*").out) == 64
    data, _ = many(6000)
    archive = open_archive(Local(BytesSource(data)))
    with pytest.raises(EntryNotFoundError):
        archive.match(["nothing"])
    before = archive.is_loaded
    assert len(archive.match(["dir-3"])) == 600
    assert (before, archive.is_loaded) == (False, True)
    with pytest.raises(EntryNotFoundError):
        archive.match(["dir-3", "dir-33"])


def test_a_large_index_with_a_flaw_still_checks_its_ranges() -> None:
    data, files = many(6000)
    name = list(files)[3000]
    bad = data.replace(b'"start_byte":3000,"end_byte":3001', b'"start_byte":3000,"end_byte":9001')
    archive = open_archive(Local(BytesSource(bad)))
    with pytest.raises(ExhumeError) as caught:
        archive.read_member(name)
    assert caught.value.code == "CAF-311"
    broken = data.replace(b'"start_byte":5000,', b'"start_byte":0500,')
    archive = open_archive(Local(BytesSource(broken)))
    with pytest.raises(ExhumeError) as caught:
        archive.read_member(name)
    assert caught.value.code == "CAF-301"
    assert [f.code for f in exhume.verify(broken)] == ["CAF-301"]


def test_many_members_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    data, files = many(3000)
    source = CountingSource(BytesSource(data))
    archive = open_archive(source)
    source.reset()
    names = list(files)[::-1]
    assert [d for _, d in archive.read_members(names)] == [data[slice(*files[name])] for name in names]
    assert len(source.requests) == 1
    monkeypatch.setattr(reader_module, "BATCH", 1000)
    source.reset()
    assert dict(archive.read_members(names)) == {name: data[slice(*files[name])] for name in names}
    assert len(source.requests) == 3
    with pytest.raises(EntryNotFoundError):
        list(archive.read_members([*names[:3], "nothing"]))


@given(st.integers(0, 70), st.integers(0, 70))
def test_any_range_is_a_slice(start: int, stop: int) -> None:
    archive = open_archive(BytesSource(chunk(index_of(("a", 7, 64)))))
    whole = archive.read_member("a")
    assert archive.read_member("a", start, stop) == whole[start:stop]
    assert archive.read_member("a", start) == whole[start:]
    with archive.open_member("a") as file:
        file.seek(start)
        assert file.read(max(0, stop - start)) == whole[start : max(start, stop)]


def test_any_fsspec_url(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    memory = fsspec.filesystem("memory")
    path = tmp_path / "x.caf"
    with create(path) as writer:
        for name, data in TREE.items():
            writer.add_bytes(name, data)
    memory.pipe("/caf/x.caf", path.read_bytes())
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        packed.write(path, "inner/x.caf")
    try:
        for url in ("memory://caf/x.caf", f"zip://inner/x.caf::file://{tmp_path}/x.zip", path.as_uri()):
            with exhume.open(url) as archive:
                assert isinstance(archive, CafArchive)
                assert {name: archive.read_member(name) for name in archive.names()} == TREE
            assert exhume_cli("cat", url, "10").out == b"ten"
    finally:
        memory.rm("/caf", recursive=True)


def test_lying_sources_are_noticed() -> None:
    data = chunk(index_of(("a", 0, 64)))
    lying = [MisreportingSource(BytesSource(data), lambda offset, size, got: got[:-1])]
    archive = open_archive(BytesSource(data))
    archive.source = lying[0]
    with pytest.raises(ShortReadError):
        archive.read_member("a")
    for claim in (len(data) + 9, len(data) - 9):
        source: Source = MisreportingSource(BytesSource(data), lambda offset, size, got: got, claimed_size=claim)
        with pytest.raises(ExhumeError):
            open_archive(source)


def test_limits_are_kept() -> None:
    data, _ = many(6000)
    with pytest.raises(LimitExceededError):
        open_archive(Local(BytesSource(data)), limits=Limits(index_size=1000))
    with pytest.raises(LimitExceededError):
        _ = open_archive(Local(BytesSource(data)), limits=Limits(structure_size=1000)).index


def test_a_directory_is_no_chunk() -> None:
    with pytest.raises(UnrecognizedFormatError):
        open_archive(MemoryTree({"a.caf": b""}))


def test_info_and_listing(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    (tmp_path / "x.caf").write_bytes(BROKEN["end-before-start"][1])
    info = json.loads(exhume_cli("info", tmp_path / "x.caf", "--json").text)
    assert (info["files"], info["unreadable"], info["data_size"], info["unreferenced"]) == (2, 1, 64, 0)
    entries = json.loads(exhume_cli("list", tmp_path / "x.caf", "--json").text)["entries"]
    assert [entry["name"] for entry in entries] == ["a.txt", "b"]
    assert entries[0]["offset"] == 0
    assert entries[1]["problem"] == "CAF-309"
    ran = exhume_cli("cat", tmp_path / "x.caf", "b")
    assert ran.code == 1
    assert "CAF-309" in ran.err
    assert ran.err.count("\n") == 1


def test_any_version_on_the_command_line(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    (tmp_path / "x.caf").write_bytes(BROKEN["version-3"][1])
    assert exhume_cli("cat", tmp_path / "x.caf", "a.txt").code == 1
    ran = exhume_cli("cat", tmp_path / "x.caf", "a.txt", "--any-version")
    assert (ran.code, len(ran.out)) == (0, 20)
    ran = exhume_cli("verify", tmp_path / "x.caf")
    assert ran.code == 3


def test_index_orders_are_distinguished() -> None:
    for names, expected in (
        (["a", "b"], "both"),
        (["b", "a"], "insertion"),
        (["10", "9"], "sorted"),
        (["9", "10"], "insertion"),
    ):
        index = open_archive(BytesSource(chunk(index_of(*((name, i, i + 1) for i, name in enumerate(names)))))).index
        assert index_order(index) == expected, names
    shuffled = chunk(index_of(("b", 1, 2), ("a", 2, 3), ("c", 0, 1)))
    assert index_order(open_archive(BytesSource(shuffled)).index) == "other"


def test_sections_show_gaps_and_overlaps() -> None:
    archive = open_archive(BytesSource(BROKEN["gap"][1]))
    assert [(s.span.start, s.span.end) for s in archive.sections().gaps()] == [(20, 30)]
    archive = open_archive(BytesSource(BROKEN["overlap"][1]))
    [overlap] = archive.sections().overlaps
    assert (overlap.span.start, overlap.span.end) == (30, 40)


@pytest.mark.parametrize("padding", [0, 100], ids=["a file", "inside an image"])
@pytest.mark.parametrize(
    ("entries", "together"),
    [
        ([("a", 0, 10), ("b", 10, 30), ("c", 30, 40)], True),
        ([("a", 30, 40), ("b", 0, 10), ("c", 10, 30)], True),
        ([("a", 0, 10), ("b", 10, 10), ("c", 10, 40)], False),
        ([("a", 0, 10), ("b", 12, 30), ("c", 30, 40)], False),
        ([("a", 0, 20), ("b", 10, 30), ("c", 30, 40)], False),
        ([("a", 0, 10), ("b", 10, 30), ("a", 30, 40)], False),
        ([("a", 0, 10), ("b", 10, 30), ("c", 30, 9999)], False),
    ],
)
def test_consecutive_files_are_a_run_with_the_same_sections(
    padding: int, entries: list[tuple[str, int, int]], together: bool
) -> None:
    data = bytes(padding) + chunk(index_of(*entries))
    archive = open_archive(BytesSource(data).window(padding))
    found = archive.sections()
    runs = [part for part in found.parts if isinstance(part, SectionRun)]
    assert bool(runs) is together
    apart = [
        Section(f"file {name}", archive.source.span(archive.index.starts[at], archive.index.ends[at]), SectionKind.DATA)
        for at, name in archive.index.items()
        if at not in archive.index.flaws
    ]
    placed = sorted(apart, key=lambda section: (section.span.start, section.span.end))
    assert [section for section in found if section.name.startswith("file ")] == placed
    assert [name for name in found.names() if name.startswith("file ")] == [section.name for section in placed]
    assert list(runs[0].sizes()) == [section.span.size for section in placed] if runs else True
    assert all(run.claims(0, len(run)) for run in runs), "no byte of a file has a schema"


def test_threads_share_one_archive(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    data, files = many(6000)
    (tmp_path / "x.caf").write_bytes(data)
    with open_archive(FileSource(tmp_path / "x.caf")) as archive, ThreadPoolExecutor(8) as pool:
        names = list(itertools.islice(itertools.cycle(files), 4000))
        assert list(pool.map(archive.read_member, names)) == [data[slice(*files[name])] for name in names]


# --- export ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def sample(samples: Path) -> Path:
    return samples / "caf" / "sorted.caf"


def test_export_to_tar_and_zip(sample: Path, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    assert exhume_cli("export", sample, "--to", "tar", "-o", tmp_path / "x.tar").code == 0
    with tarfile.open(tmp_path / "x.tar") as tar:
        found = {m.name: tar.extractfile(m).read() for m in tar}  # type: ignore[union-attr]
    assert found == TREE
    ran = exhume_cli("export", sample, "--to", "zip")
    assert ran.code == 0
    (tmp_path / "x.zip").write_bytes(ran.out)
    with zipfile.ZipFile(tmp_path / "x.zip") as packed:
        assert packed.testzip() is None
        assert {name: packed.read(name) for name in packed.namelist()} == TREE
    again = exhume_cli("export", sample, "--to", "zip", "-o", tmp_path / "y.zip")
    assert again.code == 0
    for kind in ("tar", "zip"):
        back = tmp_path / f"back-{kind}.caf"
        assert exhume_cli("create", "caf", f"--from-{kind}", tmp_path / f"x.{kind}", "-o", back).code == 0
        assert back.read_bytes() == sample.read_bytes()
    assert exhume_cli("export", sample, "--to", "zip", "-o", tmp_path / "y.zip").code == 1
    assert exhume_cli("export", sample, "--to", "tar", "--url", "x", "-o", tmp_path / "z").code == 1


def test_exports_leave_out_what_is_unsafe_or_damaged(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    for name in ("unsafe-name", "end-before-start"):
        (tmp_path / "x.caf").write_bytes(BROKEN[name][1])
        for kind in ("tar", "zip"):
            ran = exhume_cli("export", tmp_path / "x.caf", "--to", kind, "-o", tmp_path / f"{name}.{kind}", "--json")
            assert ran.code == 3
            document = json.loads(ran.text)
            assert document["written"] == {"members": 1}
            assert document["lost"] == {"members": 1}


def test_fsspec_references(sample: Path, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    refs = tmp_path / "refs.json"
    assert exhume_cli("export", sample, "--to", "fsspec-reference", "-o", refs).code == 0
    fs = fsspec.filesystem("reference", fo=str(refs), skip_instance_cache=True)
    assert {name: fs.cat(name) for name in TREE} == TREE
    assert fs.cat_file("img/pixel.bin", start=10, end=20) == TREE["img/pixel.bin"][10:20]
    ran = exhume_cli("export", sample, "--to", "fsspec-reference", "--url", "s3://bucket/x.caf")
    table = json.loads(ran.text)["refs"]
    assert table["img/pixel.bin"][0] == "s3://bucket/x.caf"
    assert table["empty"] == ""
    whole = sample.read_bytes()
    for name, place in table.items():
        if place:
            assert whole[place[1] : place[1] + place[2]] == TREE[name]
    (tmp_path / "odd.caf").write_bytes(chunk(index_of(("", 0, 20), ("ok", 20, 64))))
    ran = exhume_cli("export", tmp_path / "odd.caf", "--to", "fsspec-reference", "-o", tmp_path / "odd.json")
    assert ran.code == 3


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"name": "archy", "testling": {"files": "test/*.js", "browsers": []}}\n', False),
        (b'{"data": {"files": {"main.py": {"size": 12}}, "more": "........................"}}\n', False),
        (b'{"format_version": "1.10.0", "minecraft:entity": {"description": "............"}}\n', False),
        (BROKEN["footer-missing"][1], True),
        (BROKEN["footer-missing"][1][:100], True),
        (BROKEN["version-3"][1][:-9], True),
        (BROKEN["version-3"][1].replace(b'"format_version":"3.0",', b"")[:-9], True),
    ],
)
def test_json_with_a_key_of_an_index_is_no_chunk(data: bytes, found: bool) -> None:
    assert [one.format for one in exhume.identify(data)] == ["caf"] * found
