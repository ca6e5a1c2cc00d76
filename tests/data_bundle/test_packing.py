"""Directories packed many files at a time: omissions are reported, and changes meanwhile are noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import exhume
from exhume.errors import SourceError, WriterError
from exhume.formats.data_bundle.inputs import add_inputs, walk
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.data_bundle.writer import CompressionName, DataBundleWriter
from exhume.io.local import LocalTree
from tests.sizes import some


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Small and large files, empty ones, links of all kinds, a pipe."""
    root = tmp_path / "tree"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "hollow").mkdir()
    for number in range(300):
        (root / "sub" / f"{number:03d}").write_bytes(b"file %d " % number * (number % 50))
    (root / "sub" / "deep" / "é").write_bytes(b"accent")
    (root / "large").write_bytes(bytes(range(256)) * 2000)
    (root / "zeros").write_bytes(bytes(400_000))
    (root / "to a file").symlink_to("large")
    (root / "to a directory").symlink_to("sub")
    (root / "to nothing").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    return root


def test_a_directory_is_walked_in_order_and_links_are_reported(tree: Path) -> None:
    found = list(walk(str(tree), "in"))
    top = [(entry.name, entry.kind, entry.size) for entry in found if entry.name.count("/") == 1]
    assert top == [
        ("in/hollow", "directory", 0),
        ("in/large", "file", 512_000),
        ("in/pipe", "not a regular file", 0),
        ("in/sub", "directory", 0),
        ("in/to a directory", "symbolic link to a directory", 0),
        ("in/to a file", "file", 512_000),
        ("in/to nothing", "symbolic link to nothing", 0),
        ("in/zeros", "file", 400_000),
    ]
    assert all(Path(entry.path) == tree / entry.name.removeprefix("in/") for entry in found)
    assert len(found) == 8 + 301 + 1


@pytest.mark.parametrize("options", [{}, {"record_size": 1000}, {"compression": "none"}, {"compression": "snappy"}])
@pytest.mark.slow
def test_small_files_are_packed_together(tree: Path, tmp_path: Path, options: dict[str, object]) -> None:
    for jobs in (1, 3):
        with DataBundleWriter(tmp_path / str(jobs), jobs=jobs, shards=2, **options) as writer:  # type: ignore[arg-type]
            skipped = add_inputs(writer, [str(tree)])
        assert sorted(Path(path).name for path, _ in skipped) == ["pipe", "to a directory", "to nothing"]
        with DataBundleArchive(LocalTree(tmp_path / str(jobs))) as archive:
            assert list(archive.verify()) == []
            files = [entry.name for entry in archive.entries() if entry.kind == "file"]
            assert len(files) == 304
            for name in files:
                assert archive.read_member(name or "") == (tree / (name or "")).read_bytes()
    one, three = ([p.read_bytes() for p in sorted((tmp_path / d).rglob("*")) if p.is_file()] for d in "13")
    assert one == three


@pytest.mark.parametrize("change", ["longer", "shorter", "gone"])
def test_a_file_that_changes_before_it_is_packed_is_refused(tree: Path, tmp_path: Path, change: str) -> None:
    path = tree / "sub" / "123"
    with pytest.raises(SourceError if change == "gone" else WriterError) as caught:  # noqa: SIM117 - what leaves the writer is caught
        with DataBundleWriter(tmp_path / "bundle") as writer:
            add_inputs(writer, [str(tree)])
            if change == "gone":
                path.unlink()
            else:
                path.write_bytes(path.read_bytes()[:-1] if change == "shorter" else path.read_bytes() + b"!")
    assert str(path) in str(caught.value)
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("name", ["a/../b", "a/.", "a/", "a//b", "/a", "a/" + "b" * 300, "a/\0", "a/\udcff"])
def test_names_are_checked_also_in_known_directories(tmp_path: Path, name: str) -> None:
    writer = DataBundleWriter(tmp_path / "bundle")
    writer.add("a/fine", b"")
    writer.add("a/also fine", b"")
    with pytest.raises(WriterError):
        writer.add(name, b"")
    with pytest.raises(WriterError):
        writer.add("a/fine", b"")
    with pytest.raises(WriterError):
        writer.add("a", b"")
    with pytest.raises(WriterError):
        writer.add("a/fine/below", b"")
    writer.abort()


def test_no_shard_is_made_for_files_without_bytes(tmp_path: Path) -> None:
    """Whatever shard they would be assigned to, no row would refer to its bytes."""
    with DataBundleWriter(tmp_path / "b", shards=3) as writer:
        for name, data in {"a": b"x", "b": b"", "c": b"", "d/e": b""}.items():
            writer.add(name, data)
    assert [path.name for path in (tmp_path / "b").glob("shard-*")] == ["shard-00000000"]
    with LocalTree(tmp_path / "b") as root, DataBundleArchive(root) as archive:
        assert list(archive.verify()) == []
        assert {name: archive.read_member(name) for name in ("a", "b", "c", "d/e")} == {
            "a": b"x", "b": b"", "c": b"", "d/e": b"",
        }  # fmt: skip


def test_recoding_keeps_the_alignment(tmp_path: Path) -> None:
    with DataBundleWriter(tmp_path / "0", compression="zlib", alignment=512) as writer:
        writer.add("a", b"some bytes" * 9000)
    codecs: tuple[CompressionName | None, ...] = ("none", "snappy", "none", None)
    for number, codec in some(enumerate(codecs)):
        exhume.recode(tmp_path / str(number), tmp_path / str(number + 1), codec=codec)
        with exhume.open(tmp_path / str(number + 1), format="databundle") as archive:
            assert archive.config.block_size == 512
            assert list(archive.verify()) == []
            assert archive.read_member("a") == b"some bytes" * 9000
