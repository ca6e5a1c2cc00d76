"""Output: nothing half-written keeps its name, nothing is written outside the target."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import OutputExistsError, SourceError, UnsafePathError
from exhume.output.atomic import AtomicDirectory, AtomicFile
from exhume.output.names import safe_parts
from exhume.output.tar import TarSink
from exhume.output.tree import OutputTree
from exhume.source import BytesSource, FileSource

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


def test_clashes_are_told(tmp_path: Path) -> None:
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


def test_a_damaged_member_does_not_forge_a_tar() -> None:
    def broken() -> object:
        yield b"some"
        raise SourceError("gone")

    with pytest.raises(SourceError, match="broke the tar stream"):
        TarSink(io.BytesIO()).write("x", 100, broken())  # type: ignore[arg-type]
