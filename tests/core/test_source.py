"""Sources and trees: exact, positional, thread-safe; nothing outside a directory is opened."""

from __future__ import annotations

import concurrent.futures
import gc
import io
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import EntryNotFoundError, ShortReadError, SourceError, TruncatedError, UnsafePathError
from exhume.io.local import FileObjectSource, FileSource, LocalTree
from exhume.io.opening import open_target
from exhume.io.source import BytesSource, Source, plan_reads
from exhume.io.tree import MemoryTree, Tree
from exhume.testing.contracts import SourceContract
from exhume.testing.sources import CountingSource, MisreportingSource, failing
from tests.archives import descriptors, label, own_archives
from tests.conftest import ROOT
from tests.sizes import size, some


class TestBytes(SourceContract):
    @pytest.fixture
    def make(self) -> Callable[[bytes], Source]:
        return BytesSource


class TestFile(SourceContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[bytes], Source]:
        def make(data: bytes) -> Source:
            path = tmp_path / "file"
            path.write_bytes(data)
            return FileSource(path)

        return make


class TestFileObject(SourceContract):
    @pytest.fixture
    def make(self) -> Callable[[bytes], Source]:
        return lambda data: FileObjectSource(io.BytesIO(data))


class TestWindow(SourceContract):
    @pytest.fixture
    def make(self) -> Callable[[bytes], Source]:
        return lambda data: BytesSource(b"xx" + data + b"yyy").window(2, 2 + len(data))


class TestCounting(SourceContract):
    @pytest.fixture
    def make(self) -> Callable[[bytes], Source]:
        return lambda data: CountingSource(BytesSource(data))


class TestFsspec(SourceContract):
    @pytest.fixture
    def make(self) -> Callable[[bytes], Source]:
        def make(data: bytes) -> Source:
            fsspec.filesystem("memory").pipe("/contract/file", data)
            opened = open_target("memory://contract/file")
            assert isinstance(opened, Source)
            return opened

        return make


def test_windows_of_windows_speak_in_absolute_offsets() -> None:
    window = BytesSource(bytes(100), "image").window(10, 90).window(5, 20)
    assert str(window.span(1, 2)) == "image: offset 16 (0x10)"
    with pytest.raises(TruncatedError) as caught:
        window.read_at(10, 6)
    assert caught.value.span is not None
    assert caught.value.span.end == 30


def test_a_short_read_is_an_error() -> None:
    source = MisreportingSource(BytesSource(b"0123456789"), lambda offset, size, data: data[:-1])
    with pytest.raises(ShortReadError):
        source.read_at(0, 4)


def test_a_failing_disk_is_an_error() -> None:
    source = MisreportingSource(BytesSource(b"0123456789"), failing(1))
    assert source.read_at(0, 4) == b"0123"
    with pytest.raises(OSError, match="input/output"):
        source.read_at(0, 4)


def test_reads_from_many_threads(tmp_path: Path) -> None:
    data = os.urandom(1 << 16)
    (tmp_path / "f").write_bytes(data)
    with FileSource(tmp_path / "f") as source, concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: source.read_at(i, 100), range(0, 60_000, 37)))
    assert got == [data[i : i + 100] for i in range(0, 60_000, 37)]


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 50)).map(lambda t: (t[0], t[0] + t[1])), max_size=20),
    st.integers(0, 60),
    st.integers(1, 300),
)
def test_plans_cover_every_range_once(ranges: list[tuple[int, int]], gap: int, size: int) -> None:
    plan = plan_reads(ranges, max_gap=gap, max_size=size)
    assert sorted(index for _, _, members in plan for index in members) == list(range(len(ranges)))
    longest = max((end - start for start, end in ranges), default=0)
    for start, end, members in plan:
        assert all(start <= ranges[i][0] and ranges[i][1] <= end for i in members)
        assert end - start <= max(size, longest)
    assert [p[0] for p in plan] == sorted(p[0] for p in plan)


def test_open_target_takes_what_people_have(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    for target in (
        tmp_path / "f",
        str(tmp_path / "f"),
        b"abc",
        bytearray(b"abc"),
        memoryview(b"abc"),
        io.BytesIO(b"abc"),
    ):
        with open_target(target) as opened:
            assert isinstance(opened, Source)
            assert opened.read_at(0, 3) == b"abc"
    with open_target(tmp_path) as tree:
        assert isinstance(tree, Tree)
    with pytest.raises(TypeError):
        open_target(3)  # type: ignore[arg-type]
    with pytest.raises(SourceError):
        open_target(tmp_path / "missing")
    with pytest.raises(SourceError):
        open_target(tmp_path, offset=3)
    with pytest.raises(SourceError):
        open_target("memory://nothing/here")


@pytest.fixture(params=["local", "memory", "fsspec"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    files = {"a": b"1", "d/b": b"22", "d/e/c": b"333"}
    if request.param == "memory":
        return MemoryTree(files)
    if request.param == "fsspec":
        memory = fsspec.filesystem("memory")
        for name, data in files.items():
            memory.pipe(f"/tree-{os.getpid()}/{name}", data)
        opened = open_target(f"memory://tree-{os.getpid()}")
        assert isinstance(opened, Tree)
        return opened
    for name, data in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return LocalTree(tmp_path / "root")


def test_trees(tree: Tree) -> None:
    assert tree.names() == ["a", "d/b", "d/e/c"]
    assert tree.names("d") == ["d/b", "d/e/c"]
    assert tree.names("nothing") == []
    assert tree.exists("d/b")
    assert not tree.exists("d")
    with tree.source("d/e/c") as source:
        assert (source.name, source.read_at(0, 3)) == ("d/e/c", b"333")
    with tree.subtree("d").source("b") as source:
        assert (source.name, source.size) == ("d/b", 2)
    with pytest.raises(EntryNotFoundError):
        tree.source("x")
    for name in ("../a", "/etc/passwd", "d/../a", "", "d//b", "./a", "a\0b"):
        with pytest.raises(UnsafePathError):
            tree.source(name)


def test_a_directory_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of all is known of a part; what comes later is not among the names, and can be read."""
    for name in ("a", "d/b", "d/e/c", "other/f"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    listed = count_listings(monkeypatch)
    part = LocalTree(tmp_path)
    assert part.names("d") == part.names("d") == ["d/b", "d/e/c"]
    assert part.subtree("d").names() == ["b", "e/c"]
    assert part.files() == part.files() == ["a"]
    assert listed == {str(tmp_path): 1, str(tmp_path / "d"): 1, str(tmp_path / "d/e"): 1}, "not the folders beside it"
    listed.clear()
    tree = LocalTree(tmp_path)
    tree.names().clear()
    (tmp_path / "d/new").write_bytes(b"n")
    assert tree.names() == ["a", "d/b", "d/e/c", "other/f"]
    assert (tree.files(), tree.names("d"), tree.names("d/e"), tree.names("x")) == (
        ["a"], ["d/b", "d/e/c"], ["d/e/c"], [],
    )  # fmt: skip
    assert tree.subtree("d").subtree("e").names() == ["c"]
    assert set(listed.values()) == {1}
    with tree.source("d/new") as source:
        assert source.read_at(0, 1) == b"n"
    assert LocalTree(tmp_path).names("d") == ["d/b", "d/e/c", "d/new"]
    for name in ("..", "../x", "/etc", "d/"):
        with pytest.raises(UnsafePathError):
            tree.names(name)


@pytest.mark.parametrize("path", [one for one in own_archives() if one.is_dir()], ids=label)
def test_an_archive_asks_for_a_folder_as_often_as_its_recognition_does(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for the folder, once for everything, however much is asked of the archive."""
    listed = count_listings(monkeypatch)
    with exhume.open(path) as archive:
        opening = {name: listed[name] for name in listed if name.startswith(str(path))}
        assert opening[str(path)] in (1, 2)
        archive.info(), list(archive.entries()), list(archive.sections()), list(archive.sections())
    now = {name: listed[name] for name in listed if name.startswith(str(path))}
    assert max(now.values()) <= 2, now
    assert sum(now.values()) <= sum(opening.values()) + 1, "what was not listed while it was opened"


def count_listings(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each folder is listed from now on."""
    listed: Counter[str] = Counter()
    real = os.scandir

    def scandir(path: Any = ".") -> Any:
        listed[os.fspath(path)] += 1
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    return listed


def test_links_out_of_a_tree_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"s")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "inside").write_bytes(b"i")
    (root / "fine").symlink_to(root / "inside")
    tree = LocalTree(root)
    with pytest.raises(UnsafePathError):
        tree.source("link")
    with tree.source("fine") as source:
        assert source.read_at(0, 1) == b"i"


def test_parent_of_a_file_is_a_tree(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"x")
    with FileSource(tmp_path / "d" / "f") as source:
        above = source.parent(2)
        assert above is not None
        assert above.names() == ["d/f"]


def left_open(folder: Path) -> dict[str, int]:
    """The descriptors that stay open after reading a copy of each archive, and after dropping an open one."""
    found = {}
    for number, path in enumerate(some(own_archives())):
        copy = folder / str(number) / path.name
        copy.parent.mkdir()
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, copy)
        for _ in range(size(1, 5)):
            assert all(finding.severity != "error" for finding in exhume.verify(copy))
            exhume.identify(copy)
            with exhume.open(copy) as archive:
                archive.info(), list(archive.entries()), list(archive.sections())
        exhume.open(copy).info()  # dropped, not closed
        gc.collect()
        found[label(path)] = descriptors(copy.parent)
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.slow
def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    """A run over a hundred thousand archives must not end for want of descriptors.

    In a process of its own: in that of other tests, what they left may keep the collector busy.
    """
    code = "import json, sys, pathlib; from tests.core.test_source import left_open as left; "
    code += "print(json.dumps(left(pathlib.Path(sys.argv[1]))))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert len(found) > 20
    assert {name: many for name, many in found.items() if many} == {}


@pytest.mark.parametrize("name", ["plain", "a folder (1) für 100%", "100%25"])
def test_file_urls_are_percent_encoded_or_not(name: str, tmp_path: Path) -> None:
    path = tmp_path / name / "file"
    path.parent.mkdir()
    path.write_bytes(b"abc")
    for url in (path.as_uri(), f"file://{path}"):
        with open_target(url) as opened:
            assert isinstance(opened, Source)
            assert opened.read_at(0, 3) == b"abc"
    with pytest.raises(SourceError):
        open_target((tmp_path / name / "no such%20file").as_uri())


def test_holes_of_a_sparse_file_are_zero_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size, at = 1 << 40, 1 << 39
    with (tmp_path / "sparse").open("wb") as file:
        file.seek(at)
        file.write(bytes(5) + b"x")
        file.truncate(size)
    read: list[int] = []
    plain = FileSource._read

    def counted(self: FileSource, offset: int, size: int) -> bytes:
        read.append(size)
        return plain(self, offset, size)

    monkeypatch.setattr(FileSource, "_read", counted)
    with FileSource(tmp_path / "sparse") as source:
        if list(source.stored(0, size)) == [(0, size)]:
            pytest.skip("this file system keeps no holes")
        for zero in ((0, at), (at, at + 5), (at + 6, size), (size, size)):
            assert source.is_zero(*zero)
            assert source.window(*zero).is_zero(0, zero[1] - zero[0])
        for other in ((0, size), (at + 5, at + 6), (at - 1, at + 6), (at, size)):
            assert not source.is_zero(*other)
            assert not source.window(3, size).is_zero(other[0] - 3 if other[0] else 0, other[1] - 3)
    assert sum(read) < 64 << 20


def test_zeros_are_found_where_there_are_no_holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(bytes(3_000_000) + b"x")
    monkeypatch.delattr("os.SEEK_DATA", raising=False)
    with FileSource(tmp_path / "file") as source:
        assert source.is_zero(0, 3_000_000)
        assert not source.is_zero(0, 3_000_001)
