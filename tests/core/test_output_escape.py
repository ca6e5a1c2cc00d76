"""Hostile names, links planted in the way, and quotas, on a real file system: nothing is written outside, ever."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError, OutputExistsError, OutputLimitError, UnsafePathError
from exhume.io.local import FileSource
from exhume.io.output.atomic import UNFINISHED
from exhume.io.output.tree import OutputTree, TarSink
from exhume.limits import Limits
from tests.sizes import size

PARTS = [
    "..", ".", "", "a", "A", "b", "\0", "\u00e9", "e\u0301", "\u2026", "\uff0e\uff0e", " ", "...", "\\",
    "..\\..\\x", "C:", "C:\\x", "CON", "nul.txt", "LPT1", "x.", "x ", "-rf", "~", "$HOME", "\u202etxt",
    "\x7f", "\n", "\udc80", "\ud800", "x" * 255, "x" * 256, "\u00e9" * 128, "link", "file", UNFINISHED,
    "%2e%2e", "/", "//",
]  # fmt: skip
NAMES = st.lists(st.sampled_from(PARTS) | st.text(max_size=4), min_size=1, max_size=6).map("/".join) | st.sampled_from(
    ["/" + "a" * 10, "a/" * 300 + "b", "a/" * 2048, "x" * 4096, "../" * 40 + "etc/passwd", "/etc/passwd"]
)


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """Every name below a folder with its content, or where it leads to; links are not followed."""
    found: dict[str, bytes | str] = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root) / name
            key = os.path.relpath(path, folder)
            found[key] = str(path.readlink()) if path.is_symlink() else "/" if path.is_dir() else path.read_bytes()
    return found


@contextlib.contextmanager
def place() -> Iterator[tuple[Path, Path]]:
    """A directory to extract into, and one outside that holds a file."""
    with tempfile.TemporaryDirectory() as folder:
        out, outside = Path(folder) / "out", Path(folder) / "outside"
        out.mkdir()
        outside.mkdir()
        (outside / "victim").write_bytes(b"old")
        yield out, outside


def plant(out: Path, outside: Path, name: str) -> None:
    """Put a link that leads outside where a name would go, if it can be put there."""
    target = out / name.strip("/")
    with contextlib.suppress(OSError, ValueError):
        if target.resolve().is_relative_to(out.resolve()) and not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.symlink_to(outside if len(name) % 2 else outside / "victim")


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["write", "batch", "copy", "directory", "plant"]), NAMES), min_size=1, max_size=12
)


@settings(max_examples=size(15, 2000))
@given(ACTIONS, st.booleans())
@pytest.mark.slow
def test_nothing_is_written_outside(actions: list[tuple[str, str]], overwrite: bool) -> None:
    with place() as (out, outside):
        before = snapshot(outside)
        (outside / "source").write_bytes(b"0123456789")
        made: dict[str, bytes] = {}
        with OutputTree(out, overwrite=overwrite) as tree, FileSource(outside / "source") as source:
            for number, (action, name) in enumerate(actions):
                data = b"%d" % number
                try:
                    if action == "write":
                        tree.write(name, [data])
                    elif action == "copy":
                        data = b"2345"
                        tree.copy(name, source, 2, 6)
                    elif action == "directory":
                        tree.make_directory(name)
                        continue
                    elif action == "plant":
                        plant(out, outside, name)
                        continue
                    else:
                        (error,) = tree.write_batch([(name, 0, len(data))], data)
                        if error is not None:
                            raise error
                except ExhumeError:
                    continue
                made[name] = data
        (outside / "source").unlink()
        assert snapshot(outside) == before
        assert sorted(os.listdir(out.parent)) == ["out", "outside"]
        assert not any("\0" in name or name.startswith("/") or ".." in name.split("/") for name in made)
        for name, data in made.items():
            path = out / name
            assert not path.is_symlink()
            assert path.read_bytes() == data
        files = [path for path, content in snapshot(out).items() if isinstance(content, bytes)]
        assert len(files) == len(made)
        if not overwrite:
            buffer = io.BytesIO()
            with TarSink(buffer) as sink:
                for _, name in actions:
                    with contextlib.suppress(UnsafePathError):
                        sink.write(name, 1, [b"x"])


@pytest.mark.parametrize("overwrite", [False, True])
def test_links_planted_while_extracting(overwrite: bool) -> None:
    """Another process puts a directory and a link that leads outside in the place of each other, all the time."""
    with place() as (out, outside):
        before = snapshot(outside)
        (out / "real").mkdir()
        stop = threading.Event()

        def swap() -> None:
            while not stop.is_set():
                with contextlib.suppress(OSError):
                    os.rename(out / "d", out / "real")  # noqa: PTH104
                with contextlib.suppress(OSError):
                    (out / "d").symlink_to(outside)
                with contextlib.suppress(OSError):
                    (out / "d").unlink()
                with contextlib.suppress(OSError):
                    os.rename(out / "real", out / "d")  # noqa: PTH104

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            for number in range(size(150, 5000)):
                with OutputTree(out, overwrite=overwrite) as tree:
                    with contextlib.suppress(ExhumeError):
                        tree.write(f"d/{number % 7}", [b"new"])
                    with contextlib.suppress(ExhumeError):
                        tree.write_batch([("d/victim", 0, 3), (f"d/e/{number % 5}", 0, 3)], b"new")
        finally:
            stop.set()
            thread.join()
        assert snapshot(outside) == before


def test_two_members_never_become_one_file(tmp_path: Path) -> None:
    """As on a file system that takes `a` and `A`, or two forms of `\u00e9`, for the same name."""
    (tmp_path / "x").write_bytes(b"from before")
    with OutputTree(tmp_path, overwrite=True) as tree:
        tree.write("x", [b"first"])
        with pytest.raises(OutputExistsError):
            tree.write("x", [b"second"])
        assert isinstance(tree.write_batch([("x", 0, 1)], b"3")[0], OutputExistsError)
    assert (tmp_path / "x").read_bytes() == b"first"
    with OutputTree(tmp_path, overwrite=True) as tree:
        tree.write("x", [b"another run"])
    assert (tmp_path / "x").read_bytes() == b"another run"


def test_names_that_differ_in_case_or_form_are_kept_apart_or_reported(tmp_path: Path) -> None:
    names = ["a", "A", "\u00e9", "e\u0301", "CON", "x.", "x"]
    with OutputTree(tmp_path) as tree:
        refused = []
        for name in names:
            try:
                tree.write(name, [name.encode()])
            except OutputExistsError:
                refused.append(name)
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(found) == len(names) - len(refused)
    assert {data.decode() for data in found.values()} == set(names) - set(refused)


def test_the_mark_is_no_name_of_a_member(tmp_path: Path) -> None:
    for overwrite in (False, True):
        with OutputTree(tmp_path, overwrite=overwrite) as tree:
            for name in (UNFINISHED, f"{UNFINISHED}/x"):
                with pytest.raises(UnsafePathError):
                    tree.write(name, [b"x"])
            assert isinstance(tree.write_batch([(UNFINISHED, 0, 1)], b"x")[0], UnsafePathError)
            tree.write("fine" * (1 + overwrite), [b"x"])
    assert sorted(os.listdir(tmp_path)) == ["fine", "finefine"]


LITTLE = Limits(output_size=10, output_files=3)


@pytest.mark.parametrize("kind", ["tree", "tar"])
def test_quotas(kind: str, tmp_path: Path) -> None:
    def sink() -> Any:
        return OutputTree(tmp_path / "out", limits=LITTLE) if kind == "tree" else TarSink(io.BytesIO(), limits=LITTLE)

    def write(into: Any, name: str, data: bytes) -> None:
        into.write(name, [data]) if kind == "tree" else into.write(name, len(data), [data])

    with pytest.raises(OutputLimitError, match="output_size") as caught, sink() as into:
        write(into, "a", b"123456")
        write(into, "b", b"123456")
    assert caught.value.code == "EX-505"
    with pytest.raises(OutputLimitError, match="output_files"), sink() as into:
        for number in range(3):
            into.make_directory(f"d{number}")
        write(into, "c", b"")
    if kind == "tree":
        with OutputTree(tmp_path / "out", limits=LITTLE) as tree, pytest.raises(OutputLimitError):
            tree.write_batch([("e", 0, 11)], bytes(11))
        with OutputTree(tmp_path / "out", limits=LITTLE) as tree, pytest.raises(OutputLimitError):
            tree.copy("f", FileSource(__file__), 0, 11)
        assert not {"b", "c", "e", "f"} & set(os.listdir(tmp_path / "out"))


def test_an_extraction_stops_at_its_quota(tmp_path: Path, samples: Path, exhume_cli: Any) -> None:
    ran = exhume_cli("extract", samples / "caf/sorted.caf", "-o", tmp_path / "out", "--limit", "output_files=2")
    assert ran.code == 1
    assert "EX-505" in ran.err
    assert "use --limit NAME=VALUE to raise the limit" in ran.err
    assert list((tmp_path / "out").iterdir()) == []  # all of it would have come at once
    with exhume.open(samples / "caf/sorted.caf") as archive:
        names: Any = archive
        assert len(list(names.names())) > 2
