"""One pass over a shard's records verifies its files; extraction decodes in batches; damage is reported as before."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.archive import MemberArchive
from exhume.engines import extract as engine
from exhume.engines.extract import extract
from exhume.errors import ExhumeError
from exhume.export.members import export_zip
from exhume.formats.data_bundle import content
from exhume.formats.data_bundle.bundle import View
from exhume.formats.data_bundle.index import FileRow
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.data_bundle.shard import Shard
from exhume.formats.leveldb import files as table_files
from exhume.formats.leveldb.files import SourcePool
from exhume.io.local import LocalTree
from exhume.io.output.tree import OutputTree, TarSink
from exhume.io.source import Source
from exhume.testing.damage import flip
from tests.conftest import Ran
from tests.data_bundle.build import pack_members
from tests.sizes import size, some

PLACES = size(5, 9)
"""Bytes of a shard that are damaged, each by itself."""

SIZES = [0, 1, 300, 999, 1000, 1001, 2500, 9000]
MEMBERS = {f"d{i % 3}/f{i:02d}": bytes([i, 7 * i % 256]) * (SIZES[i % len(SIZES)] // 2) for i in range(40)}
MEMBERS |= {"zeros": bytes(5000), "last": b"end" * 700}
OPTIONS = [{"compression": "zlib"}, {"compression": "snappy", "shards": 2}, {"compression": "none"}]
OPTIONS += [{"compression": "none", "raw_packed": False}]


@pytest.fixture(params=range(len(OPTIONS)), ids=["zlib", "snappy", "flat", "none"])
def bundle(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    pack_members(tmp_path / "b", MEMBERS, ["empty"], record_size=1000, alignment=64, **OPTIONS[request.param])
    return tmp_path / "b"


@pytest.mark.parametrize("span_of_bytes", [1, 1500, 1 << 20])
def test_no_file_is_read_again(bundle: Path, span_of_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[int] = []
    chunks = View.chunks

    def counted(view: View, row: FileRow) -> Iterator[bytes]:
        again.append(row.meta.size)
        return chunks(view, row)

    monkeypatch.setattr(View, "chunks", counted)
    monkeypatch.setattr(content, "EXTENT_BYTES", span_of_bytes)
    for jobs in (1, 3):
        with DataBundleArchive(LocalTree(bundle)) as archive:
            assert list(archive.verify(jobs=jobs)) == []
        # Only files without bytes are left, and zeros longer than a chunk.
        assert all(size == 0 or span_of_bytes == 1 for size in again)
        again.clear()


@pytest.mark.parametrize("verb", ["verify", "extract -o {out}/x", "salvage -o {out}/x"])
def test_each_shard_is_opened_once(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exhume_cli: Callable[..., Ran]
) -> None:
    path, opened = tmp_path / "bundle", Counter[str]()
    with exhume.create(path, "databundle", shards=6) as writer:
        files: Any = writer
        for number in range(6):
            files.add(f"f{number}", bytes([number]) * 500)
    real = SourcePool._opened

    def counted(pool: SourcePool, name: str) -> Source:
        opened[name] += name not in pool._open
        return real(pool, name)

    monkeypatch.setattr(table_files, "MOST_OPEN", 2)
    monkeypatch.setattr(SourcePool, "_opened", counted)
    name, *rest = verb.format(out=tmp_path).split()
    assert exhume_cli(name, path, *rest, "-j", "1").code in (0, 4)
    found = [count for name, count in opened.items() if name.startswith("shard-")]
    assert sorted(found)[:-1] == [1] * 5
    assert max(found) <= 1 + (name == "salvage")  # which examines one of them for how the bundle was made


@pytest.mark.parametrize("small", [600, 1 << 20])
def test_a_tar_stream_and_what_is_wrong_with_it_are_those_of_one_job(
    bundle: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tar(jobs: int) -> tuple[bytes, str]:
        file = io.BytesIO()
        with DataBundleArchive(LocalTree(bundle)) as archive, TarSink(file) as sink:
            try:
                report = extract(archive, sink, jobs=jobs)
            except ExhumeError as error:  # a member breaks in the midst of the stream
                return file.getvalue(), str(error)
        return file.getvalue(), str(report.to_dict())

    monkeypatch.setattr(engine, "SMALL", small)
    whole = tar(1)
    assert tar(3) == tar(0) == whole
    with tarfile.open(fileobj=io.BytesIO(whole[0])) as opened:
        found = {one.name: opened.extractfile(one) for one in opened if one.isfile()}
        assert {name: file.read() for name, file in found.items() if file is not None} == MEMBERS
    shard = bundle / "shard-00000000"
    intact = shard.read_bytes()
    reported = []
    for at in range(len(intact) - 1, 200, -len(intact) // PLACES):
        shard.write_bytes(flip(intact, at))
        reported.append(tar(1))
        assert tar(3) == reported[-1]
    assert any(one != whole for one in reported)


def test_a_zip_archive_and_what_is_wrong_with_it_are_those_of_one_job(bundle: Path, tmp_path: Path) -> None:
    def zipped(jobs: int) -> tuple[bytes, str]:
        made = tmp_path / "made.zip"
        made.unlink(missing_ok=True)
        with DataBundleArchive(LocalTree(bundle)) as archive:
            report = export_zip(archive, str(made), jobs=jobs)
        return made.read_bytes(), str(report)

    whole = zipped(1)
    assert zipped(3) == zipped(0) == whole
    with zipfile.ZipFile(io.BytesIO(whole[0])) as opened:
        assert {one.filename: opened.read(one) for one in opened.infolist() if not one.is_dir()} == MEMBERS
    shard = bundle / "shard-00000000"
    intact = shard.read_bytes()
    reported = []
    for at in range(len(intact) - 1, 200, -len(intact) // PLACES):
        shard.write_bytes(flip(intact, at))
        reported.append(zipped(1))
        assert zipped(3) == reported[-1]
        with zipfile.ZipFile(io.BytesIO(reported[-1][0])) as opened:
            kept = {one.filename: opened.read(one) for one in opened.infolist() if not one.is_dir()}
        assert kept.items() <= MEMBERS.items()
        assert kept, "a member that is damaged stops none of the others"
    assert any(one != whole for one in reported)


@pytest.mark.parametrize("small", [600, 1 << 20])
def test_what_is_printed_does_not_depend_on_jobs(
    bundle: Path, small: int, exhume_cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SMALL", small)
    order = list(exhume.open(bundle).names())  # type: ignore[attr-defined]
    whole = b"".join(MEMBERS[name] for name in order if name in MEMBERS)

    def reported(*options: object) -> list[tuple[int, bytes, str]]:
        found = [exhume_cli("cat", bundle, *options, "--jobs", jobs) for jobs in (1, 3, 0)]
        return [(one.code, one.out, one.err) for one in found]

    assert reported() == 3 * [(0, whole, "")]
    assert reported("d1/*", "last") == 3 * [(0, b"".join(MEMBERS[n] for n in order if n[:3] in ("d1/", "las")), "")]
    assert reported("--range", "3:500")[1:] == 2 * reported("--range", "3:500")[:1]
    alone, *others = reported("--json")
    assert others == [alone, alone]
    assert len(json.loads(alone[1])["members"]) == len(MEMBERS)
    shard = bundle / "shard-00000000"
    intact = shard.read_bytes()
    codes = set()
    for at in range(len(intact) - 1, 200, -len(intact) // PLACES):
        shard.write_bytes(flip(intact, at))
        alone, *others = reported()
        assert others == [alone, alone]
        assert whole.startswith(alone[1]) or "DBND-201" in alone[2]  # the bytes before the checksum were printed
        codes.add(alone[0])
    assert 1 in codes


def test_damage_is_reported_as_by_reading_each_file(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = bundle / "shard-00000000"
    whole = shard.read_bytes()
    for at in some(range(len(whole) - 1, 200, -len(whole) // 9)):
        shard.write_bytes(flip(whole, at))
        with DataBundleArchive(LocalTree(bundle)) as archive:
            found = list(archive.verify())
            assert list(archive.verify(jobs=3)) == found
            sections = [section.to_dict() for section in archive.sections()]
            assert [section.to_dict() for section in archive.sections(jobs=3)] == sections
        with monkeypatch.context() as patch, DataBundleArchive(LocalTree(bundle)) as archive:
            patch.setattr(
                content.Content,
                "_sum",
                lambda self, span_of_bytes, findings, pieces: content._ExtentResult(findings, [], []),
            )
            assert list(archive.verify()) == found


def test_a_member_that_outweighs_all_others_is_decoded_by_all_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {"big": bytes(range(256)) * 200, "equal": bytes(9000), "small": b"s"}
    pack_members(tmp_path / "b", members, record_size=1000, alignment=64)
    monkeypatch.setattr(engine, "SMALL", 600)
    monkeypatch.setattr(engine, "LARGE", 8000)
    threads: list[tuple[int, int]] = []
    iter_range = Shard.iter_range

    def watched(shard: Shard, start: int, stop: int, chunk: int = 1 << 20, jobs: int = 1) -> Iterator[bytes]:
        threads.append((stop - start, jobs))
        return iter_range(shard, start, stop, chunk, jobs)

    def reported(jobs: int) -> str:
        spot = tmp_path / f"out{jobs}"
        threads.clear()
        with DataBundleArchive(LocalTree(tmp_path / "b")) as archive, OutputTree(spot, overwrite=True) as output:
            return str(extract(archive, output, jobs=jobs).to_dict())

    monkeypatch.setattr(Shard, "iter_range", watched)
    assert reported(3) == reported(1)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out3").iterdir()} == members
    assert (len(members["big"]), 3) in (reported(3) and threads)
    assert (len(members["equal"]), 1) in threads
    shard = tmp_path / "b" / "shard-00000000"
    intact = shard.read_bytes()
    for at in range(1000, len(intact), len(intact) // 7):
        shard.write_bytes(flip(intact, at))
        assert reported(3) == reported(1)


@settings(max_examples=10)
@given(st.integers(0, 1 << 20), st.booleans())
def test_extraction_refuses_what_reading_refuses(
    tmp_path_factory: pytest.TempPathFactory, at: int, sound: bool
) -> None:
    spot = tmp_path_factory.mktemp("x")
    pack_members(spot / "b", MEMBERS, ["empty"], record_size=1000, alignment=64)
    shard = spot / "b" / "shard-00000000"
    if not sound:
        shard.write_bytes(flip(shard.read_bytes(), 300 + at % (shard.stat().st_size - 300)))
    with exhume.open(spot / "b") as archive:
        assert isinstance(archive, MemberArchive)
        bad: dict[str, str | None] = {}
        for name in MEMBERS:
            try:
                assert archive.read_member(name) == MEMBERS[name]
            except ExhumeError as error:
                bad[name] = error.code
        for jobs in (1, 3):
            with OutputTree(spot / f"out{jobs}") as output:
                report = extract(archive, output, jobs=jobs)
            assert {name: error.code for name, error in report.refused} == bad
            assert (spot / f"out{jobs}" / "empty").is_dir()
            for name, data in MEMBERS.items():
                path = spot / f"out{jobs}" / name
                assert not path.exists() if name in bad else path.read_bytes() == data
    assert not (sound and bad)
