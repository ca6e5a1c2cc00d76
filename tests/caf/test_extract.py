"""Extraction: nothing ever lands outside the target, whatever the names, links and files that are there."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.archive import MemberArchive
from exhume.engines.extract import BATCH_SIZE, ExtractReport, _Batch, _plan, extract
from exhume.errors import UnsafePathError
from exhume.formats.caf.writer import create
from exhume.io import folders as batchio
from exhume.io.output.tree import OutputTree
from exhume.io.source import BytesSource
from exhume.testing.sources import CountingSource
from tests.archives import descriptors

from .make_samples import BROKEN

PARTS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "b",
        "c.txt",
        "link",
        "file",
        "dir",
        "\0",
        "n" * 256,
        "é" * 128,
        "\ud83d",
        "\udcff",
        "x\ny",
        "\\..\\x",
    ]
)
HOSTILE = st.one_of(
    st.lists(PARTS, min_size=1, max_size=5).map("/".join),
    st.sampled_from(["/etc/passwd", "//x", "a/", "../../x", "C:\\x", "~", "-rf", "a" * 5000, "/".join("abcd" * 600)]),
    st.text(max_size=8),
)


def listing(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*")}


def pack(path: Path, members: dict[str, bytes]) -> MemberArchive:
    with create(path, overwrite=True) as writer:
        for name, data in members.items():
            writer.add_bytes(name, data)
    archive = exhume.open(path, format="caf")
    assert isinstance(archive, MemberArchive)
    return archive


@given(
    members=st.dictionaries(HOSTILE, st.binary(max_size=9), max_size=8),
    jobs=st.sampled_from([1, 3]),
    overwrite=st.booleans(),
)
def test_nothing_escapes(
    tmp_path_factory: pytest.TempPathFactory, members: dict[str, bytes], jobs: int, overwrite: bool
) -> None:
    base = tmp_path_factory.mktemp("x")
    outside = base / "outside"
    outside.mkdir()
    (outside / "victim").write_bytes(b"precious")
    target = base / "in" / "target"
    target.mkdir(parents=True)
    (target / "link").symlink_to(outside)
    (target / "c.txt").symlink_to(outside / "victim")
    (target / "file").write_bytes(b"old")
    (target / "dir").mkdir()
    before = listing(base)
    with pack(base / "x.caf", members) as archive, OutputTree(target, overwrite=overwrite) as output:
        report = extract(archive, output, jobs=jobs)
    assert (outside / "victim").read_bytes() == b"precious"
    assert listing(outside) == {"victim"}
    new = listing(base) - before - {"x.caf"}
    assert all(name.startswith("in/target/") for name in new)
    assert not any(name.endswith(".part") for name in new)
    refused = {name for name, _ in report.refused}
    assert report.extracted == len(members) - len(refused)
    assert [name for name in archive.names() if name in refused] == [name for name, _ in report.refused]
    for name, data in members.items():
        if name not in refused:
            path = target / name
            assert path.read_bytes() == data
            assert not path.is_symlink()
    if not overwrite:
        assert (target / "file").is_file() is (target / "file").exists()
        assert (target / "file").read_bytes() == b"old"


def test_refusals_have_codes_and_reasons(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    names = ["../up", "/abs", "", ".", "nul\0", "n" * 256, "link/x", "ok", "ok/below"]
    target = tmp_path / "t"
    target.mkdir()
    (target / "link").symlink_to(tmp_path)
    with pack(tmp_path / "x.caf", dict.fromkeys(names, b"1")) as archive, OutputTree(target) as output:
        report = extract(archive, output)
    codes = {name: error.code for name, error in report.refused}
    assert set(codes) == set(names) - {"ok/below"}  # a file or a directory "ok": one of the two
    assert {codes["../up"], codes["/abs"], codes[""], codes["."], codes["nul\0"], codes["n" * 256]} == {"EX-502"}
    assert codes["link/x"] == codes["ok"] == "EX-504"
    ran = exhume_cli("extract", tmp_path / "x.caf", "-o", tmp_path / "u", "--json")
    assert ran.code == 3
    assert ran.text.count('"code":"EX-50') == len(names) - 2  # link/x has no link in the way here
    assert exhume_cli("extract", tmp_path / "x.caf", "ok/below", "-o", tmp_path / "v").code == 0


def test_existing_files_need_overwrite(tmp_path: Path) -> None:
    target = tmp_path / "t"
    target.mkdir()
    (target / "a").write_bytes(b"old")
    (target / "b").mkdir()
    with pack(tmp_path / "x.caf", {"a": b"new", "b": b"x", "c": b"y"}) as archive:
        with OutputTree(target) as output:
            report = extract(archive, output)
        assert {name: error.code for name, error in report.refused} == {"a": "EX-702", "b": "EX-504"}
        assert (target / "a").read_bytes() == b"old"
        (target / "c").unlink()
        with OutputTree(target, overwrite=True) as output:
            report = extract(archive, output)
        assert [name for name, _ in report.refused] == ["b"]
        assert (target / "a").read_bytes() == b"new"
        assert sorted(path.name for path in target.iterdir()) == ["a", "b", "c"]


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_jobs_agree(tmp_path: Path, jobs: int) -> None:
    members = {f"d{i % 7}/f{i}": os.urandom(i * 37 % 5000) for i in range(400)}
    members |= {"big1": os.urandom(700_000), "big2": os.urandom(300_000)}
    with pack(tmp_path / "x.caf", members) as archive, OutputTree(tmp_path / "t") as output:
        progress: list[int] = []
        report = extract(archive, output, jobs=jobs, progress=lambda done, total, unit: progress.append(done))
    assert report.ok
    assert report.to_dict() == {"extracted": 402, "bytes": sum(map(len, members.values())), "refused": []}
    assert {n: (tmp_path / "t" / n).read_bytes() for n in members} == members
    assert progress[-1] == 402
    assert progress == sorted(progress)


def test_remote_extraction_coalesces(tmp_path: Path) -> None:
    members = {f"f{i:04d}": bytes([i % 256]) * 900 for i in range(1000)}
    pack(tmp_path / "x.caf", members).close()
    source = CountingSource(BytesSource((tmp_path / "x.caf").read_bytes()))
    with exhume.open(source, format="caf") as archive, OutputTree(tmp_path / "t") as output:
        assert isinstance(archive, MemberArchive)
        assert extract(archive, output).ok
    assert len(source.requests) <= 6  # size, tail, and about two reads for 900 kB


def test_tar_stream_contains_the_safe_members(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    (tmp_path / "x.caf").write_bytes(BROKEN["unsafe-name"][1])
    ran = exhume_cli("extract", tmp_path / "x.caf", "--tar", "-")
    assert ran.code == 3
    (tmp_path / "out.tar").write_bytes(ran.out)
    with tarfile.open(tmp_path / "out.tar") as tar:
        assert tar.getnames() == ["ok"]
    (tmp_path / "y.caf").write_bytes(BROKEN["end-before-start"][1])
    ran = exhume_cli("extract", tmp_path / "y.caf", "--tar", tmp_path / "y.tar")
    assert ran.code == 3
    assert "CAF-309" in ran.err


def test_a_full_disk_is_an_error_not_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from exhume.errors import SourceError

    def full(jobs: list[Any], data: bytes) -> list[int]:
        return [errno.ENOSPC] * len(jobs)

    def write(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pack(tmp_path / "x.caf", {"a": b"1"}) as archive, OutputTree(tmp_path / "t") as output:
        monkeypatch.setattr("exhume.io.output.tree.write_files", full)
        monkeypatch.setattr("exhume.io.output.stream.os.write", write)
        with pytest.raises(SourceError, match="No space left"):
            extract(archive, output)
    assert list((tmp_path / "t").iterdir()) == []


@given(
    sizes=st.lists(st.sampled_from([0, 1, 4000, 100_000, 262_144, 262_145]), max_size=40),
    folders=st.lists(st.integers(0, 4), min_size=40, max_size=40),
    reverse=st.booleans(),
    data=st.data(),
)
@settings(max_examples=30)
def test_batches_contain_every_member_once(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], folders: list[int], reverse: bool, data: st.DataObject
) -> None:
    spot = tmp_path_factory.mktemp("batches")
    names = [f"{folders[i]}/{i:02d}" for i in range(len(sizes))]
    with create(spot / "x.caf", order="insertion") as writer:
        for i, name in enumerate(names):
            writer.add_bytes(name, bytes([i]) * sizes[i])
    with exhume.open(spot / "x.caf", format="caf") as archive:
        assert isinstance(archive, MemberArchive)
        chosen = data.draw(st.lists(st.sampled_from(names), unique=True)) if names and reverse else names
        seen: list[int] = []
        for task in _plan(archive, chosen, 1):
            if isinstance(task, _Batch):
                assert task.members
                assert task.start == task.members[0][1]
                assert task.end == max(end for _, _, end in task.members)
                assert len(task.members) == 1 or task.end - task.start <= BATCH_SIZE
                seen += [place for place, _, _ in task.members]
                for place, start, end in task.members:
                    assert archive.stored_range(chosen[place]) == (archive.source, start, end)
            else:
                assert isinstance(task, int)
                seen.append(task)
        assert sorted(seen) == list(range(len(chosen)))
        for jobs in (1, 2):
            with OutputTree(spot / f"out{jobs}") as output:
                report = extract(archive, output, chosen, jobs=jobs)
            assert (report.extracted, report.ok) == (len(chosen), True)
            assert report.bytes == sum(archive.stat(name).size or 0 for name in chosen)
            for name in chosen:
                assert (spot / f"out{jobs}" / name).read_bytes() == archive.read_member(name)
    shutil.rmtree(spot)


# --- the batch functions, compiled and not ----------------------------------------------------------------------------


@pytest.mark.parametrize("write", [batchio.write_files, batchio.py_write_files])
def test_write_files(tmp_path: Path, write: Callable[..., list[int]]) -> None:
    import errno

    (tmp_path / "taken").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        jobs = [(fd, b"a", 0, 3), (fd, b"taken", 0, 1), (fd, b"link", 0, 1), (fd, b"none/x", 0, 1), (fd, b"e", 2, 2)]
        assert write(jobs, b"xyz") == [0, errno.EEXIST, errno.EEXIST, errno.ENOENT, 0]
        assert write([], b"") == []
        for bad in ((fd, b"b", 0, 4), (fd, b"b", -1, 2), (fd, b"b", 2, 1), (fd, b"b\0c", 0, 1)):
            with pytest.raises(ValueError, match="outside the data"):
                write([bad], b"xyz")
    finally:
        os.close(fd)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name != "link"} == {
        "a": b"xyz",
        "taken": b"old",
        "e": b"",
    }


@pytest.mark.parametrize("read", [batchio.read_files, batchio.py_read_files])
def test_read_files(tmp_path: Path, read: Callable[..., tuple[bytes, list[bool]]]) -> None:
    for name, data in {"a": b"one", "b": b"", "c": b"three"}.items():
        (tmp_path / name).write_bytes(data)
    paths = [os.fsencode(tmp_path / name) for name in ("a", "b", "c", "none", ".")]
    data, whole = read(paths, [3, 0, 5, 2, 1])
    assert whole == [True, True, True, False, False]
    assert data[:8] == b"onethree"
    assert len(data) == 12
    assert read(paths[:2], [2, 1])[1] == [False, False]
    data, whole = read([paths[2], paths[0]], [4, 3])
    assert whole == [False, True]
    assert data[4:7] == b"one"
    for bad in (([b"a\0"], [1]), ([b"a"], []), ([b"a"], [-1])):
        with pytest.raises(ValueError, match=r"NUL|size"):
            read(*bad)


@pytest.mark.parametrize("read", [batchio.read_files, batchio.py_read_files])
def test_read_files_of_several_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Any) -> None:
    deep = tmp_path / ("d" * 200) / ("e" * 200)
    deep.mkdir(parents=True)
    (tmp_path / "file").write_bytes(b"top")
    (deep / "file").write_bytes(b"deep")
    (tmp_path / "link").symlink_to(deep, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    given: list[str | Path] = [
        tmp_path / "file",
        deep / "file",
        deep / "gone",
        "file",
        "link/file",
        tmp_path / "no" / "file",
        "./file",
    ]
    paths = [os.fsencode(path) for path in given]
    data, whole = read(paths, [3, 4, 0, 3, 4, 1, 3])
    assert whole == [True, True, False, True, True, False, True]
    assert data[:14] == b"topdeeptopdeep"
    assert data[15:18] == b"top"
    assert descriptors(tmp_path) == 0


@pytest.mark.parametrize("look", [batchio._list_folder, batchio.py_list_folder])
def test_list_folder(tmp_path: Path, look: Callable[..., tuple[list[Any], ...]]) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / ".hidden").write_bytes(b"12345")
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to("empty")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(tmp_path / "pipe")
    odd = os.fsencode(tmp_path) + b"/\xff.txt"
    with open(odd, "wb") as file:  # noqa: PTH123 - no text holds this name
        file.write(b"x")
    files, sizes, inodes, folders, others = look(os.fsencode(tmp_path))
    found = sorted(zip(files, sizes, inodes, strict=True))
    wanted = [(".hidden", 5), ("empty", 0), ("\udcff.txt", 1)]
    assert found == [(name, size, (tmp_path / name).stat().st_ino) for name, size in wanted]
    assert (folders, sorted(others)) == (["inner"], ["link", "loop", "pipe"])
    assert batchio.list_folder(os.fsencode(tmp_path / "inner")) == batchio.Listing([], [], [], [], [])
    for bad in (tmp_path / "none", tmp_path / "empty"):
        with pytest.raises(OSError, match=r"No such|Not a directory"):
            look(os.fsencode(bad))
    with pytest.raises(ValueError, match=r"NUL|null"):
        look(b"a\0b")


def test_write_batch_reports_like_write(tmp_path: Path) -> None:
    with OutputTree(tmp_path / "t") as output:
        names = ["ok", "/abs", "../no", "a/../no", "dir/x", "dir", "n" * 256, "", "é/ü"]
        results = output.write_batch([(name, 0, 2) for name in names], b"hi")
        for name, result in zip(names, results, strict=True):
            if name in ("ok", "dir/x", "é/ü"):
                assert result is None
                continue
            assert result is not None
            with pytest.raises(type(result)) as caught:
                output.write(name, [b"hi"])
            assert caught.value.code == result.code
    assert isinstance(results[1], UnsafePathError)
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == ["dir", "ok", "é"]
    assert ExtractReport().ok
