"""Writing chunks: what goes in comes out, limits hold, failures leave no files."""

from __future__ import annotations

import errno
import io
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError, OutputExistsError, SourceError, WriterError
from exhume.findings import Severity
from exhume.formats.caf.chunk import Chunk
from exhume.formats.caf.inputs import EMPTY_DIRECTORY, add_tar, add_zip, plan_inputs, write_plan
from exhume.formats.caf.reader import CafArchive, open_archive
from exhume.formats.caf.writer import CafWriter, create
from exhume.io.local import FileSource
from tests.sizes import some

from .test_index import NAMES

TREES = st.dictionaries(NAMES, st.binary(max_size=40), max_size=8)


def members(path: Path) -> dict[str, bytes]:
    with open_archive(FileSource(path)) as archive:
        return {name: archive.read_member(name) for name in archive.names()}


def errors(path: Path) -> list[str]:
    return [f.code for f in exhume.verify(path, format="caf") if f.severity is Severity.ERROR]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("caf")


@given(tree=TREES, order=st.sampled_from(["sorted", "insertion"]), slices=st.data())
def test_what_goes_in_comes_out(folder: Path, tree: dict[str, bytes], order: Any, slices: st.DataObject) -> None:
    path = folder / "tree.caf"
    with create(path, order=order, overwrite=True) as writer:
        for number, (name, data) in enumerate(tree.items()):
            if number % 3 == 0:
                writer.add_bytes(name, data)
            elif number % 3 == 1:
                writer.add_stream(name, io.BytesIO(data), len(data))
            else:
                writer.add_stream(name, io.BytesIO(data))
    assert members(path) == tree
    assert errors(path) == []
    with open_archive(FileSource(path)) as archive:
        assert archive.index.canonical
        assert archive.info().unreferenced == 0
        for name, data in tree.items():
            start, stop = slices.draw(st.tuples(st.integers(-50, 50), st.none() | st.integers(-50, 50)))
            assert archive.read_member(name, start, stop) == data[start:stop]
            with archive.open_member(name) as file:
                file.seek(max(0, start))
                assert file.read(7) == data[max(0, start) :][:7]


SIMPLE = st.text(alphabet="abc/1~", max_size=6)


@given(
    batches=st.lists(st.lists(st.tuples(st.one_of(SIMPLE, SIMPLE, NAMES), st.integers(0, 99)), max_size=8), max_size=4),
    order=st.sampled_from(["sorted", "insertion"]),
    size=st.sampled_from([200, 1000, 1 << 30]),
    replace=st.booleans(),
)
@pytest.mark.slow
def test_batches_equal_single_members(
    folder: Path, batches: list[list[tuple[str, int]]], order: Any, size: int, replace: bool
) -> None:
    """All or none of a batch is taken; the chunk comes out as if its members had been added one by one."""
    once, single = folder / "once.caf", folder / "single.caf"
    with (
        create(once, order=order, chunk_size=size, replace=replace, overwrite=True) as batched,
        create(single, order=order, chunk_size=size, replace=replace, overwrite=True) as one,
    ):
        for number, batch in enumerate(batches):
            data = os.urandom(sum(length for _, length in batch))
            names, sizes = [name for name, _ in batch], [length for _, length in batch]
            whole = batched.add_batch(names, sizes, memoryview(data))
            special = any(not name.isascii() or set(name) & set('"\\<>&\x7f') for name in names)
            if number == 0 and size > 1 << 20 and len(set(names)) == len(names) and not special:
                assert whole or any(ord(c) < 0x20 for name in names for c in name)
            at = 0
            for name, length in batch:
                piece = data[at : at + length]
                at += length
                failed = []
                for writer in [one] if whole else [one, batched]:
                    try:
                        writer.add_bytes(name, piece)
                    except WriterError as error:
                        failed.append(error.message)
                assert len(failed) in ((0,) if whole else (0, 2))
        assert (batched.added, batched.lossy_names) == (one.added, one.lossy_names)
    assert [Path(c.path).read_bytes() for c in batched.chunks] == [Path(c.path).read_bytes() for c in one.chunks]
    with pytest.raises(WriterError, match="finished"):
        batched.add_bytes("late", b"")
    assert not batched.add_batch(["late"], [0], memoryview(b""))


@given(tree=TREES, size=st.integers(39, 700))
def test_roll_over_never_passes_the_chunk_size(folder: Path, tree: dict[str, bytes], size: int) -> None:
    for old in folder.glob("roll*.caf"):
        old.unlink()
    writer = create(folder / "roll.caf", chunk_size=size)
    try:
        with writer:
            for number, (name, data) in enumerate(tree.items()):
                if number % 2:
                    writer.add_bytes(name, data)
                else:
                    writer.add_stream(name, io.BytesIO(data))  # length unknown: may move to the next chunk
    except WriterError as error:
        assert "larger than a chunk" in str(error)
        assert list(folder.glob("roll*")) == []
        return
    found: dict[str, bytes] = {}
    for chunk in writer.chunks:
        path = Path(chunk.path)
        assert path.stat().st_size == chunk.size <= size
        assert errors(path) == []
        part = members(path)
        assert len(part) == chunk.files
        assert part or len(writer.chunks) == 1
        found |= part
    assert found == tree
    assert sorted(p.name for p in folder.glob("roll*")) == sorted(Path(c.path).name for c in writer.chunks)


def test_exactly_full_is_allowed_and_one_more_rolls(tmp_path: Path) -> None:
    with create(tmp_path / "a.caf") as writer:
        writer.add_bytes("x", b"1234")
    full = (tmp_path / "a.caf").stat().st_size
    with create(tmp_path / "b.caf", chunk_size=full) as writer:
        writer.add_bytes("x", b"1234")
    assert (tmp_path / "b.caf").read_bytes() == (tmp_path / "a.caf").read_bytes()
    with pytest.raises(WriterError, match="larger than a chunk"), create(tmp_path / "c.caf", chunk_size=full - 1) as w:
        w.add_bytes("x", b"1234")
    assert not (tmp_path / "c.caf").exists()
    with create(tmp_path / "d.caf", chunk_size=full) as writer:
        writer.add_bytes("x", b"1234")
        writer.add_bytes("y", b"")
    assert [Path(c.path).name for c in writer.chunks] == ["d.caf", "d-0002.caf"]


def test_index_limit_rolls_over(tmp_path: Path) -> None:
    with CafWriter(tmp_path / "i.caf", max_index=200) as writer:
        for i in range(10):
            writer.add_bytes(f"name-{i}", b"x")
    assert len(writer.chunks) > 2
    assert all(chunk.index_size <= 200 for chunk in writer.chunks)
    with pytest.raises(WriterError, match="larger than a chunk"), CafWriter(tmp_path / "j.caf", max_index=200) as w:
        w.add_bytes("n" * 200, b"")


@pytest.mark.parametrize("size", [0, 38, (32 << 30) + 1])
def test_chunk_sizes_out_of_range(tmp_path: Path, size: int) -> None:
    with pytest.raises(WriterError, match="chunk size"):
        create(tmp_path / "x.caf", chunk_size=size)
    assert list(tmp_path.iterdir()) == []


def test_sparse_member_of_33_gib_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    big = tmp_path / "in" / "big"
    big.parent.mkdir()
    with big.open("wb") as file:
        file.truncate(33 << 30)
    (tmp_path / "in" / "a").write_bytes(b"x")
    plan = plan_inputs([str(tmp_path / "in")])
    writer = create(tmp_path / "out.caf", chunk_size=32 << 30)
    with pytest.raises(WriterError, match="larger than a chunk"), writer:
        write_plan(writer, plan)
    assert writer.added == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


@pytest.mark.parametrize(("announced", "data"), [(3, b"four"), (5, b"four"), (0, b"x"), (1, b"")])
def test_wrong_lengths_leave_no_trace(tmp_path: Path, announced: int, data: bytes) -> None:
    path = tmp_path / "x.caf"
    with create(path) as writer:
        writer.add_bytes("before", b"12")
        with pytest.raises(WriterError, match="announced length"):
            writer.add_stream("bad", io.BytesIO(data), announced)
        writer.add_bytes("after", b"345")
    assert members(path) == {"before": b"12", "after": b"345"}
    assert list(exhume.verify(path)) == []


def test_failing_stream_leaves_no_trace(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"some"
        raise OSError("gone")

    path = tmp_path / "x.caf"
    with create(path) as writer:
        writer.add_bytes("before", b"12")
        for length in (None, 100):
            with pytest.raises(OSError, match="gone"):
                writer.add_pieces("bad", broken(), length)
        writer.add_bytes("after", b"345")
    assert members(path) == {"before": b"12", "after": b"345"}
    assert list(exhume.verify(path)) == []


def test_after_a_chunk_that_could_not_be_completed_there_is_no_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller that continues after the error does not get a chunk without an index."""

    def fail(chunk: Chunk, progress: Any) -> None:
        chunk.write(b"half of an index")
        raise SourceError("no space left")

    adds: tuple[Callable[[CafWriter], Any], ...] = (
        lambda writer: writer.add_bytes("b", bytes(200)),
        lambda writer: writer.add_pieces("b", iter([bytes(90), bytes(60)])),
        lambda writer: writer.add_stream("b", io.BytesIO(bytes(150)), 150),
    )
    for add in some(adds):
        writer = CafWriter(tmp_path / "x.caf", chunk_size=300)
        writer.add_bytes("a", bytes(100))
        with monkeypatch.context() as patch:
            patch.setattr(Chunk, "seal", fail)
            with pytest.raises(SourceError, match="no space left"):
                add(writer)
        with pytest.raises(WriterError, match="the writer is finished"):
            writer.add_bytes("c", b"c")
        with pytest.raises(WriterError, match="an earlier chunk could not be completed"):
            writer.finish()
        assert list(tmp_path.iterdir()) == []


def test_duplicate_names(tmp_path: Path) -> None:
    with create(tmp_path / "x.caf") as writer:
        writer.add_bytes("a", b"1")
        with pytest.raises(WriterError, match="already"):
            writer.add_bytes("a", b"2")
    assert members(tmp_path / "x.caf") == {"a": b"1"}
    with create(tmp_path / "y.caf", replace=True) as writer:
        writer.add_bytes("a", b"111")
        writer.add_bytes("b", b"2")
        writer.add_bytes("a", b"33")
    assert members(tmp_path / "y.caf") == {"a": b"33", "b": b"2"}
    assert writer.chunks[0].unreferenced_bytes == 3
    assert [f.code for f in exhume.verify(tmp_path / "y.caf")] == ["CAF-314"]
    with create(tmp_path / "z.caf", chunk_size=80, replace=True) as writer:
        writer.add_bytes("a", b"1")
        writer.add_bytes("b", b"2")
        with pytest.raises(WriterError, match="earlier chunk"):
            writer.add_bytes("a", b"3")


def test_bytes_names_collapse_as_in_the_reference_writers(tmp_path: Path) -> None:
    for order, text in (("sorted", b"\\ufffd\\ufffd\\ufffd"), ("insertion", "\ufffd".encode())):
        path = tmp_path / order
        with create(path, order=order) as writer:  # type: ignore[arg-type]
            writer.add_bytes(b"\xf0\x9f\x98", b"x")  # three bytes of a four-byte sequence
            writer.add_bytes(b"ok", b"y")
        assert b'"' + text + b'"' in path.read_bytes()
        assert writer.lossy_names == 1
        with create(tmp_path / f"{order}2", order=order) as writer:  # type: ignore[arg-type]
            writer.add_bytes(b"\xe9", b"x")
            with pytest.raises(WriterError, match="already"):
                writer.add_bytes(b"\xe8", b"y")


def test_existing_chunks_are_safe(tmp_path: Path) -> None:
    (tmp_path / "x-0002.caf").write_bytes(b"precious")
    with pytest.raises(OutputExistsError), create(tmp_path / "x.caf", chunk_size=100) as writer:
        for i in range(5):
            writer.add_bytes(f"name{i}", b"0123456789")
    assert [p.name for p in tmp_path.iterdir()] == ["x-0002.caf"]
    assert (tmp_path / "x-0002.caf").read_bytes() == b"precious"


def test_chunks_are_published_together_or_each(tmp_path: Path) -> None:
    seen: list[str] = []
    writer = create(tmp_path / "x.caf", chunk_size=100, on_chunk=lambda chunk: seen.append(Path(chunk.path).name))
    for i in range(3):
        writer.add_bytes(f"name{i}", b"0123456789")
    assert not (tmp_path / "x.caf").exists()
    writer.finish()
    assert seen == ["x.caf", "x-0002.caf", "x-0003.caf"]
    each = create(tmp_path / "y.caf", chunk_size=100, publish_each=True)
    for i in range(3):
        each.add_bytes(f"name{i}", b"0123456789")
    assert (tmp_path / "y-0002.caf").exists()
    each.abort()
    assert sorted(p.name for p in tmp_path.glob("*y*")) == ["y-0002.caf", "y.caf"]
    with pytest.raises(WriterError, match="finished"):
        each.add_bytes("z", b"")


@pytest.mark.slow
def test_constant_memory_for_a_large_member(tmp_path: Path) -> None:
    import tracemalloc

    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(512 << 20)
    tracemalloc.start()
    try:
        with create(tmp_path / "x.caf") as writer:
            writer.add_path(big, "big")
            with big.open("rb") as stream:
                writer.add_stream("again", stream, 512 << 20)
        with open_archive(FileSource(tmp_path / "x.caf")) as archive:
            assert sum(map(len, archive.iter_member("again"))) == 512 << 20
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20, peak


# --- trees, tar, zip ------------------------------------------------------------------------------------------------


def test_names_that_would_be_stored_as_one_are_refused(tmp_path: Path) -> None:
    with create(tmp_path / "x.caf", replace=True) as writer:
        writer.add_bytes(b"a\xff", b"1")
        with pytest.raises(WriterError, match="differ only in invalid UTF-8"):
            writer.add_bytes(b"a\xfe", b"2")
        with pytest.raises(WriterError, match="differ only in invalid UTF-8"):
            writer.add_bytes("a\ufffd", b"3")
        writer.add_bytes(b"a\xff", b"4")  # the same name
    assert list(members(tmp_path / "x.caf").values()) == [b"4"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name, data in {
        "b.txt": b"bee",
        "a/z.bin": os.urandom(300_000),
        "a/y/empty": b"",
        "a.b": b"dot",
        "é": b"accent",
        "A": b"upper",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "link.txt").symlink_to("b.txt")
    (root / "loop").symlink_to(".")
    (root / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    (root / "hollow" / "inner").mkdir(parents=True)
    return root


def test_trees_are_taken_whole_and_in_order(tree: Path, tmp_path: Path) -> None:
    plan = plan_inputs([str(tree)])
    assert [file.name for file in plan.files] == [
        f"tree/{name}" for name in ("A", "a.b", "a/y/empty", "a/z.bin", "b.txt", "link.txt", "é")
    ]
    assert {(Path(path).name, reason) for path, reason in plan.skipped} == {
        ("loop", "symbolic link to a directory"),
        ("dangling", "symbolic link to nothing"),
        ("pipe", "not a regular file"),
        ("inner", EMPTY_DIRECTORY),
    }
    with create(tmp_path / "x.caf") as writer:
        write_plan(writer, plan)
    assert members(tmp_path / "x.caf") == {f.name: Path(f.path).read_bytes() for f in plan.files}


def test_names_of_inputs(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)

    def names(*inputs: str, base: str | None = None) -> list[str]:
        return [file.name for file in plan_inputs(inputs, base=base).files]

    assert names("b.txt", "./a") == ["b.txt", "a/y/empty", "a/z.bin"]
    assert names("a/../a.b") == ["a.b"]
    assert names("../tree/b.txt", str(tree / "A")) == ["b.txt", "A"]
    assert "a/z.bin" in names(".")
    assert names(str(tree / "a"), base=str(tree / "a")) == ["y/empty", "z.bin"]
    with pytest.raises(WriterError, match="outside the base"):
        names(str(tmp_path), base=str(tree))
    with pytest.raises(SourceError):
        names("no such file")
    with pytest.raises(WriterError, match="same name"), create(tmp_path / "x.caf") as writer:
        write_plan(writer, plan_inputs(["b.txt", str(tree / "b.txt")]))


def test_files_that_change_meanwhile(tree: Path, tmp_path: Path) -> None:
    plan = plan_inputs([str(tree)])
    (tree / "b.txt").write_bytes(b"longer than it was")
    (tree / "A").write_bytes(b"")
    (tree / "a.b").write_bytes(b"d")
    with create(tmp_path / "x.caf") as writer:
        write_plan(writer, plan)
    found = members(tmp_path / "x.caf")
    assert (found["tree/b.txt"], found["tree/A"], found["tree/a.b"]) == (b"longer than it was", b"", b"d")
    assert errors(tmp_path / "x.caf") == []
    (tree / "b.txt").unlink()
    with pytest.raises(SourceError), create(tmp_path / "y.caf") as writer:
        write_plan(writer, plan)
    assert not (tmp_path / "y.caf").exists()


def test_tar_streams(tree: Path, tmp_path: Path) -> None:
    (tree / "pipe").unlink()
    os.link(tree / "b.txt", tree / "b2.txt")
    for mode in ("w", "w:gz", "w:xz"):
        packed = tmp_path / "t.tar"
        with tarfile.open(packed, mode) as tar:
            tar.add(tree, ".")
            evil = tarfile.TarInfo("../evil")
            tar.addfile(evil)
        reader, feed = os.pipe()

        def pump(feed: int = feed, packed: Path = packed) -> None:
            with os.fdopen(feed, "wb") as out:
                out.write(packed.read_bytes())

        thread = threading.Thread(target=pump)
        thread.start()
        with create(tmp_path / "x.caf", overwrite=True) as writer, os.fdopen(reader, "rb") as file:
            skipped = add_tar(writer, file)
        thread.join()
        found = members(tmp_path / "x.caf")
        assert found["b.txt"] == found["b2.txt"] == b"bee"
        assert set(found) == {"A", "a.b", "a/y/empty", "a/z.bin", "b.txt", "b2.txt", "é"}
        assert {name for name, _ in skipped} == {"./link.txt", "./loop", "./dangling", "../evil", "hollow/inner"}
        assert errors(tmp_path / "x.caf") == []


@pytest.mark.parametrize("damage", [b"", b"\0" * 10, b"not a tar" * 100])
def test_broken_tar(tmp_path: Path, damage: bytes) -> None:
    with pytest.raises(ExhumeError) as caught, create(tmp_path / "x.caf") as writer:
        add_tar(writer, io.BytesIO(damage))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_zip(tmp_path: Path) -> None:
    packed = tmp_path / "t.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.txt", b"text" * 1000)
        archive.writestr("./c", b"c")
        archive.writestr("dir/", b"")
        archive.writestr("../evil", b"no")
    with create(tmp_path / "x.caf") as writer:
        skipped = add_zip(writer, str(packed))
    assert members(tmp_path / "x.caf") == {"a/b.txt": b"text" * 1000, "c": b"c"}
    assert [name for name, _ in skipped] == ["../evil", "dir"]
    broken = bytearray(packed.read_bytes())
    broken[broken.index(b"a/b.txt") + 12] ^= 0xFF
    (tmp_path / "broken.zip").write_bytes(broken)
    for bad in (tmp_path / "broken.zip", tmp_path / "x.caf", tmp_path / "none"):
        with pytest.raises(ExhumeError) as caught, create(tmp_path / "y.caf") as writer:
            add_zip(writer, str(bad))
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "y.caf").exists()


def test_create_command(tree: Path, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    out = tmp_path / "out.caf"
    ran = exhume_cli("create", "caf", tree / "a", tree / "b.txt", "-o", out)
    assert ran.code == 0, ran.err
    assert set(members(out)) == {"a/y/empty", "a/z.bin", "b.txt"}
    assert exhume_cli("create", "caf", tree / "a", "-o", out).code == 1
    ran = exhume_cli("create", "caf", tree, "-o", out, "--overwrite", "--json")
    assert ran.code == 3  # links and the pipe were left out
    assert b'"skipped":[{' in ran.out
    assert exhume_cli("create", "caf", "-o", out).code == 2
    ran = exhume_cli("create", "caf", "--stdin-name", "x/y", "-o", out, "--overwrite", input=b"hello")
    assert ran.code == 0
    assert members(out) == {"x/y": b"hello"}
    with tarfile.open(tmp_path / "t.tar", "w") as tar:
        tar.add(tree / "b.txt", "b.txt")
    packed = (tmp_path / "t.tar").read_bytes()
    assert exhume_cli("create", "caf", "--from-tar", "-", "-o", out, "--overwrite", input=packed).code == 0
    assert members(out) == {"b.txt": b"bee"}
    # The output is in the scanned directory and is not archived.
    inside = tree / "a" / "self.caf"
    assert exhume_cli("create", "caf", tree / "a", "-o", inside).code == 0
    assert exhume_cli("create", "caf", tree / "a", "-o", inside, "--overwrite").code == 0
    assert set(members(inside)) == {"a/y/empty", "a/z.bin"}
    with exhume.open(inside) as archive:
        assert isinstance(archive, CafArchive)


@pytest.mark.parametrize(("code", "named"), [(errno.ENOSPC, "new.caf"), (errno.EIO, "given.bin")])
def test_a_full_disk_is_said_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, named: str
) -> None:
    def failing(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    given_file = tmp_path / "given.bin"
    given_file.write_bytes(bytes(1 << 20))
    monkeypatch.setattr("exhume.formats.caf.chunk.copy_between", failing)
    with pytest.raises(SourceError) as caught, create(tmp_path / "new.caf") as writer:
        writer.add_path(given_file, "x")
    assert caught.value.span is not None
    assert Path(caught.value.span.source).name == named
