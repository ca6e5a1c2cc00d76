"""Output: nothing half-written keeps its name, nothing is written outside the target."""

from __future__ import annotations

import errno
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import OutputExistsError, SourceError, Span, UnsafePathError
from exhume.io.files import safe_parts
from exhume.io.local import FileSource
from exhume.io.output import stream
from exhume.io.output.atomic import UNFINISHED, AtomicDirectory, AtomicFile, GrowingFile, sync_directory
from exhume.io.output.tree import OutputTree, TarSink, _header
from exhume.io.source import BytesSource
from tests.archives import descriptors

HOSTILE = [
    "",
    ".",
    "..",
    "/etc/x",
    "../x",
    "a/../../x",
    "a/./b",
    "a//b",
    "a/",
    "/",
    "a\0b",
    "x" * 256,
    "a/" * 2500 + "a",
    "\ud800",
]


def test_atomic_file(tmp_path: Path) -> None:
    with AtomicFile(tmp_path / "f") as file:
        file.file.write(b"abc")
        assert not (tmp_path / "f").exists()
    assert (tmp_path / "f").read_bytes() == b"abc"
    assert os.listdir(tmp_path) == ["f"]
    with pytest.raises(OutputExistsError):
        AtomicFile(tmp_path / "f")
    with AtomicFile(tmp_path / "f", overwrite=True) as file:
        file.file.write(b"new")
    assert (tmp_path / "f").read_bytes() == b"new"


def test_a_failed_atomic_file_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), AtomicFile(tmp_path / "f") as file:
        file.file.write(b"abc")
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []
    with pytest.raises(SourceError):
        AtomicFile(tmp_path / "no" / "such" / "f")


def test_a_name_taken_meanwhile_is_kept(tmp_path: Path) -> None:
    file = AtomicFile(tmp_path / "f")
    (tmp_path / "f").write_bytes(b"theirs")
    with pytest.raises(OutputExistsError), file:
        file.file.write(b"ours")
    assert (tmp_path / "f").read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["f"]


def test_atomic_directory(tmp_path: Path) -> None:
    with AtomicDirectory(tmp_path / "d") as directory:
        (directory.temporary / "x").write_bytes(b"1")
        assert not (tmp_path / "d").exists()
    assert os.listdir(tmp_path) == ["d"]
    with pytest.raises(OutputExistsError):
        AtomicDirectory(tmp_path / "d")
    with pytest.raises(ZeroDivisionError), AtomicDirectory(tmp_path / "e"):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == ["d"]


def failing(code: int) -> Callable[..., Any]:
    """A system call that does not work here."""

    def call(*arguments: object, **named: object) -> None:
        raise OSError(code, os.strerror(code))

    return call


def test_leaving_twice_is_harmless(tmp_path: Path) -> None:
    file, folder = AtomicFile(tmp_path / "f"), AtomicDirectory(tmp_path / "d")
    folder.create("below/x").close()
    file.seal()
    for one in (file, folder):
        one.commit()
        one.commit()
        one.abort()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "f"]
    assert (tmp_path / "d/below/x").read_bytes() == b""
    file, folder = AtomicFile(tmp_path / "g"), AtomicDirectory(tmp_path / "e")
    for one in (file, folder):
        one.abort()
        one.abort()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "f"]


def test_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is examined, then taken."""
    monkeypatch.setattr("os.link", failing(errno.EPERM))
    with AtomicFile(tmp_path / "f") as file:
        file.file.write(b"ours")
    assert (tmp_path / "f").read_bytes() == b"ours"
    late = AtomicFile(tmp_path / "g")
    (tmp_path / "g").write_bytes(b"theirs")
    with pytest.raises(OutputExistsError):
        late.commit()
    assert (tmp_path / "g").read_bytes() == b"theirs"
    assert sorted(os.listdir(tmp_path)) == ["f", "g"]


def test_a_directory_takes_the_place_of_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "d"
    target.mkdir()
    with AtomicDirectory(target) as folder:
        folder.create("x").close()
    assert os.listdir(target) == ["x"]
    for name in ("filled", "file"):
        with pytest.raises(OutputExistsError), AtomicDirectory(tmp_path / name) as folder:
            if name == "filled":
                (tmp_path / name).mkdir()
                (tmp_path / name / "theirs").touch()
            else:
                (tmp_path / name).touch()
    with pytest.raises(SourceError), AtomicDirectory(tmp_path / "other"):
        monkeypatch.setattr("pathlib.Path.rename", failing(errno.EXDEV))
    with pytest.raises(SourceError):
        AtomicDirectory(tmp_path / "no/such/d")
    assert sorted(os.listdir(tmp_path)) == ["d", "file", "filled"]


def test_a_growing_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written by position, however little the system takes at a time."""
    file = GrowingFile(tmp_path / "f")
    real = os.pwrite
    monkeypatch.setattr("os.pwrite", lambda fd, data, at: real(fd, data[:2], at))
    file.write_at(3, b"abcde")
    file.write_at(0, memoryview(b"xyz"))
    file.sync()
    assert (tmp_path / "f").read_bytes() == b"xyzabcde"
    with pytest.raises(OutputExistsError):
        GrowingFile(tmp_path / "f")
    with pytest.raises(SourceError):
        GrowingFile(tmp_path / "no/such/f")
    monkeypatch.setattr("os.pwrite", failing(errno.ENOSPC))
    with pytest.raises(SourceError, match="No space left") as caught:
        file.write_at(8, b"more")
    assert caught.value.span == Span(str(tmp_path / "f"), 8, 12)
    file.close()
    file.remove()
    file.remove()
    assert os.listdir(tmp_path) == []


def test_a_directory_that_cannot_be_synced(tmp_path: Path) -> None:
    sync_directory(tmp_path / "missing")
    sync_directory(tmp_path)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsafePathError):
        safe_parts(name)
    with OutputTree(tmp_path / "out") as tree, pytest.raises(UnsafePathError):
        tree.write(name, [b"x"])
    with pytest.raises(UnsafePathError):
        TarSink(io.BytesIO()).write(name, 1, [b"x"])


@given(
    st.lists(st.sampled_from(["..", ".", "", "a", "b", "\0", "é", "…", " ", "\\", "C:", "-"]), max_size=5).map("/".join)
)
def test_nothing_is_ever_written_outside(name: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        with OutputTree(base / "out") as tree:
            try:
                tree.write(name, [b"x"])
                written = 1
            except UnsafePathError:
                written = 0
        assert os.listdir(base) == ["out"]
        assert sum(path.is_file() for path in (base / "out").rglob("*")) == written


def test_links_in_the_target_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_bytes(b"old")
    out = tmp_path / "out"
    out.mkdir()
    (out / "dir").symlink_to(outside)
    (out / "file").symlink_to(outside / "victim")
    for overwrite in (False, True):
        with OutputTree(out, overwrite=overwrite) as tree:
            with pytest.raises(UnsafePathError):
                tree.write("dir/new", [b"x"])
            if not overwrite:
                with pytest.raises(OutputExistsError):
                    tree.write("file", [b"x"])
            else:
                tree.write("file", [b"x"])
    assert os.listdir(outside) == ["victim"]
    assert (outside / "victim").read_bytes() == b"old"
    assert (out / "file").read_bytes() == b"x"
    assert not (out / "file").is_symlink()


def test_clashes_are_reported(tmp_path: Path) -> None:
    with OutputTree(tmp_path / "out") as tree:
        tree.write("a", [b"1", b"2"])
        with pytest.raises(UnsafePathError, match="clash"):
            tree.write("a/b", [b"x"])
        tree.write("d/x", [b"x"])
        with pytest.raises((UnsafePathError, OutputExistsError)):
            tree.write("d", [b"x"])
        with pytest.raises(OutputExistsError):
            tree.write("a", [b"new"])
    assert (tmp_path / "out" / "a").read_bytes() == b"12"


def test_a_member_that_breaks_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> object:
        yield b"some"
        raise ZeroDivisionError

    for overwrite in (False, True):
        with OutputTree(tmp_path / "out", overwrite=overwrite) as tree:
            with pytest.raises(ZeroDivisionError):
                tree.write("x", broken())  # type: ignore[arg-type]
            assert os.listdir(tmp_path / "out") == [UNFINISHED]
        assert os.listdir(tmp_path / "out") == []


def test_copies_ranges(tmp_path: Path) -> None:
    data = os.urandom(200_000)
    (tmp_path / "f").write_bytes(b"head" + data)
    with OutputTree(tmp_path / "out") as tree, FileSource(tmp_path / "f") as source:
        tree.copy("whole", source, 4, 4 + len(data))
        tree.copy("window", source.window(4), 10, 20)
        tree.copy("empty", source, 7, 7)
        tree.copy("memory", BytesSource(data), 5, 50)
    out = tmp_path / "out"
    assert (out / "whole").read_bytes() == data
    assert (out / "window").read_bytes() == data[10:20]
    assert (out / "empty").read_bytes() == b""
    assert (out / "memory").read_bytes() == data[5:50]


def half(real: Callable[..., int]) -> Callable[..., int]:
    """The kernel copies a few bytes, then it reports that it cannot."""
    calls = iter(range(100))

    def call(in_fd: int, out_fd: int, offset: int, count: int) -> int:
        if next(calls) > 1:
            raise OSError(errno.EXDEV, "not between these")
        return real(in_fd, out_fd, offset, min(count, 3000))

    return call


WAYS: list[tuple[str, Callable[[], dict[str, Any]]]] = [
    ("kernel", dict),
    ("send", lambda: {"_kernel_copy": failing(errno.EXDEV)}),
    ("half", lambda: {"_kernel_copy": half(stream._kernel_copy), "_kernel_send": half(stream._kernel_send)}),
    ("nothing more", lambda: {"_kernel_copy": lambda *rest: 0, "_kernel_send": lambda *rest: 0}),
    ("neither", lambda: {"_kernel_copy": failing(errno.EINVAL), "_kernel_send": failing(errno.EINVAL)}),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_copies_however_the_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: tuple[str, Callable[[], dict[str, Any]]]
) -> None:
    data = os.urandom(50_000)
    path, out = tmp_path / "f", tmp_path / "out"
    path.write_bytes(data)
    for name, call in way[1]().items():
        monkeypatch.setattr(stream, name, call)
    with FileSource(path) as source, out.open("wb") as file:
        stream.copy_range(source.window(10), 20, 40_000, file.fileno())
    assert out.read_bytes() == data[30:40_010]
    for name, call in way[1]().items():
        monkeypatch.setattr(stream, name, call)
    with path.open("rb") as source_file, out.open("r+b") as file:
        in_fd, out_fd = source_file.fileno(), file.fileno()
        assert stream.copy_between(in_fd, out_fd, 9000, offset=7) == 9000
        os.lseek(in_fd, 40_000, os.SEEK_SET)
        if way[0] != "nothing more":
            assert stream.copy_between(in_fd, out_fd, 99_999) == 10_000
            assert out.read_bytes()[:19_000] == data[7:9007] + data[40_000:]
    assert out.read_bytes()[:9000] == data[7:9007]


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "f", tmp_path / "out"
    path.write_bytes(bytes(100))
    monkeypatch.setattr(stream, "_kernel_copy", failing(errno.ENOSPC))
    with path.open("rb") as source, out.open("wb") as file, pytest.raises(OSError, match="No space left"):
        stream.copy_between(source.fileno(), file.fileno(), 100)


def test_a_system_that_takes_little_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    with (tmp_path / "f").open("wb") as file:
        monkeypatch.setattr("os.write", lambda fd, data: real(fd, data[:3]))
        stream.write_all(file.fileno(), b"abcdefgh")
        monkeypatch.undo()
    assert (tmp_path / "f").read_bytes() == b"abcdefgh"


def test_where_a_tree_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(SourceError):
        OutputTree(tmp_path / "file")
    tree = OutputTree(tmp_path / "out", overwrite=True)
    tree.make_directory("a/b")
    tree.make_directory("a/b")
    tree.write("f", [b"old"])
    tree.close()
    tree = OutputTree(tmp_path / "out", overwrite=True)
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", failing(errno.EIO))
        with pytest.raises(SourceError):
            tree.write("f", [b"new"])
    tree.close()
    tree.close()
    assert sorted(os.listdir(tmp_path / "out")) == ["a", "f"]
    assert (tmp_path / "out/f").read_bytes() == b"old"


def test_a_tree_keeps_few_directories_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.io.output.tree._DIR_CACHE", 2)
    names = [f"{folder}/{number}" for number in range(2) for folder in "abcd"]
    with OutputTree(tmp_path / "out") as tree:
        for name in names:
            tree.write(name, [name.encode()])
        assert descriptors(tmp_path) <= 3
    assert {name: (tmp_path / "out" / name).read_bytes().decode() for name in names} == {name: name for name in names}


def test_tar(tmp_path: Path) -> None:
    def stream() -> bytes:
        buffer = io.BytesIO()
        with TarSink(buffer) as sink:
            sink.make_directory("d")
            sink.write("d/é", 5, [b"he", b"llo"])
            sink.write("empty", 0, [])
        return buffer.getvalue()

    assert stream() == stream()
    with tarfile.open(fileobj=io.BytesIO(stream())) as tar:
        assert tar.getnames() == ["d", "d/é", "empty"]
        member = tar.extractfile("d/é")
        assert member is not None
        assert member.read() == b"hello"


@given(
    st.text(st.sampled_from("aé/0 "), min_size=1).map(lambda text: f"{text}.") | st.integers(1, 255).map("x".__mul__),
    st.integers(0, 1 << 20) | st.sampled_from([8**11 - 1, 8**11, 1 << 40]),
)
def test_headers_of_a_tar_are_those_of_the_library(name: str, size: int) -> None:
    info = tarfile.TarInfo(name)
    info.size = size
    assert _header(name, size) == info.tobuf(tarfile.PAX_FORMAT)


def test_a_damaged_member_does_not_forge_a_tar() -> None:
    def broken() -> object:
        yield b"some"
        raise SourceError("gone")

    with pytest.raises(SourceError, match="broke the tar stream"):
        TarSink(io.BytesIO()).write("x", 100, broken())  # type: ignore[arg-type]
    with pytest.raises(SourceError, match=r"broke the tar stream.*x: .*unexpected end of data"):
        TarSink(io.BytesIO()).write("x", 100, [b"some"])


def test_a_name_that_is_long_in_bytes(tmp_path: Path) -> None:
    """What the temporary name adds does not make it too long for the system."""
    name = "檔" * 83  # 249 bytes; 255 are the most
    with AtomicFile(tmp_path / name) as file:
        file.file.write(b"x")
    with AtomicDirectory(tmp_path / (name + ".d")) as folder:
        folder.create("f").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, name + ".d"]
