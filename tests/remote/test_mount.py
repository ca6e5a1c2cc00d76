"""Archives as folders: ratarmount mounts the file systems that the entry points name, for programs that want files."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

import exhume
from tests.remote.test_filesystem_contract import write_files

RATARMOUNT = Path(sys.executable).with_name("ratarmount")
FILES = {"a.csv": b"x,y\n1,2\n", "run 7/ünï/b.bin": bytes(range(256)) * 1000, "run 7/empty": b""}


def missing() -> str | None:
    """What a mount needs and is not here."""
    if not RATARMOUNT.exists():
        return "ratarmount is not installed"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened, so nothing can be mounted"
    return None if shutil.which("fusermount3") or shutil.which("fusermount") else "no fusermount (the package fuse3)"


pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("mount")]
if (what := missing()) is not None:
    pytest.skip(what, allow_module_level=True)


@contextlib.contextmanager
def mounted(url: str, folder: Path) -> Iterator[Path]:
    folder.mkdir()
    process = subprocess.Popen(
        [RATARMOUNT, "--foreground", url, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        while not folder.is_mount():
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.02)
        yield folder
    finally:
        tool = shutil.which("fusermount3") or shutil.which("fusermount")
        if folder.is_mount():
            subprocess.run([str(tool), "-u", str(folder)], check=True)
        process.communicate()


def read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("format", ["caf", "databundle"])
def test_members_are_files(format: str, tmp_path: Path) -> None:
    archive = write_files(tmp_path / "archive", format, FILES)
    before = {path: path.stat().st_mtime_ns for path in [archive, *archive.rglob("*")]}
    with mounted(f"{format}://::{archive.as_uri()}", tmp_path / "mount") as folder:
        assert read(folder) == FILES
        assert [path.name for path in sorted((folder / "run 7").iterdir())] == ["empty", "ünï"]
        with (folder / "run 7/ünï/b.bin").open("rb") as file:
            file.seek(200_000)
            assert file.read(3) == FILES["run 7/ünï/b.bin"][200_000:200_003]
        with pytest.raises(OSError, match=r"Read-only|not permitted|not implemented|denied"):
            (folder / "new").write_bytes(b"x")
    assert {path: path.stat().st_mtime_ns for path in [archive, *archive.rglob("*")]} == before, "and nothing beside it"


@pytest.mark.parametrize(("format", "name"), [("zs", "zs/words-none.zs"), ("clps", "clp_s/tiny.clps")])
def test_sections_are_files(format: str, name: str, samples: Path, tmp_path: Path) -> None:
    url = f"{format}://::{(samples / name).as_uri()}"
    with mounted(url, tmp_path / "mount") as folder:
        found = read(folder)
    files, _ = fsspec.url_to_fs(url)
    assert len(found) > 3
    assert found == {path: files.cat_file(path) for path in files.find("")}


def test_what_is_damaged_cannot_be_read_and_the_rest_can(tmp_path: Path) -> None:
    archive = write_files(tmp_path / "bundle", "databundle", FILES)
    with exhume.open(archive) as opened:
        span = [section.span for section in opened.sections() if "/record@" in section.name and section.parent is None][
            -1
        ]
    with (archive / span.source).open("r+b") as file:
        file.seek(span.end - 1)
        last = file.read(1)
        file.seek(span.end - 1)
        file.write(bytes([last[0] ^ 1]))
    damaged = []
    with mounted(f"databundle://::{archive.as_uri()}", tmp_path / "mount") as folder:
        for name, data in FILES.items():
            try:
                assert (folder / name).read_bytes() == data
            except OSError:  # libfuse's EINVAL: the error has no number of the system's
                damaged.append(name)
    assert damaged == ["run 7/ünï/b.bin"]
