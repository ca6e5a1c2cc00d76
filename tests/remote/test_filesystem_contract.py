"""fsspec's own abstract tests over `caf://` and `databundle://`.

Which of them apply to a file system that is only read:

- `AbstractGetTests`: all.  The archives hold the scenarios that the tests would have made; the one test that makes its
  own (`test_get_directory_recursive`) is repeated here over a directory that is there already.
- `AbstractOpenTests`, `AbstractPipeTests`, `AbstractPutTests`, `AbstractCopyTests`: none, each of their tests starts by
  writing.  That writing is refused is tested in `test_filesystems.py`.
- `clps://` and `zs://` have no directories, so no scenario can be made for them; `cafcat://` reads the same chunks as
  `caf://` and runs the same tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.tests.abstract import AbstractFixtures, AbstractGetTests

import exhume
from exhume.formats.caf.catalog import open_catalog

BULK = {
    f"bulk/source/{name}": b""
    for name in ("file1", "file2", "subdir/subfile1", "subdir/subfile2", "subdir/nesteddir/nestedfile")
}
EDGES = {
    f"glob/source/{name}": b""
    for name in (
        "file1",
        "file2",
        *(f"subdir{i}/{name}" for i in (0, 1) for name in ("subfile1", "subfile2", "nesteddir/nestedfile")),
    )
}
PREFIX = {"prefix/source/subdir.txt": b"", "prefix/source/subdir/subfile.txt": b""}
HASHED = {f"hashed/source/{md5(str(i).encode()).hexdigest()}.txt": str(i).encode() for i in range(10)}
FILES = BULK | EDGES | PREFIX | HASHED | {"recursive/src/file": b""}


def write_files(path: Path, format: str, files: dict[str, bytes], **options: Any) -> Path:
    """An archive of members, made by our writer."""
    writer: Any = exhume.create(path, format, **options)
    with writer:
        for name, data in files.items():
            (writer.add_bytes if format == "caf" else writer.add)(name, data)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The archives, by protocol."""
    folder = tmp_path_factory.mktemp("contract")
    chunk = write_files(folder / "x.caf", "caf", FILES)
    bundle = write_files(folder / "bundle", "databundle", FILES)
    with open_catalog(str(folder / "catalog.db"), create=True) as catalog:
        assert catalog.build([str(chunk)]) == []
    return {"caf": str(chunk), "databundle": str(bundle), "cafcat": str(folder / "catalog.db")}


@pytest.mark.parametrize("protocol", ["caf", "databundle", "cafcat"])
class TestGet(AbstractFixtures, AbstractGetTests):  # type: ignore[misc]
    @pytest.fixture
    def fs(self, protocol: str, made: dict[str, str]) -> Iterator[Any]:
        fs = fsspec.filesystem(protocol, fo=made[protocol], skip_instance_cache=True)
        yield fs
        fs.close()

    @pytest.fixture
    def fs_join(self) -> Callable[..., str]:
        return lambda *parts: "/".join(parts)

    @pytest.fixture
    def fs_path(self) -> str:
        return ""

    @pytest.fixture
    def fs_bulk_operations_scenario_0(self) -> str:
        return "bulk/source"

    @pytest.fixture
    def fs_glob_edge_cases_files(self) -> str:
        return "glob/source"

    @pytest.fixture
    def fs_dir_and_file_with_same_name_prefix(self) -> str:
        return "prefix/source"

    @pytest.fixture
    def fs_10_files_with_hashed_names(self) -> str:
        return "hashed/source"

    def test_get_directory_recursive(  # over a directory that is there
        self, fs: Any, fs_join: Any, fs_path: Any, local_fs: Any, local_join: Any, local_target: Any
    ) -> None:
        for source in ("recursive/src", "recursive/src/"):
            slash = source.endswith("/")
            assert not local_fs.exists(local_target)
            for again in (False, True):
                fs.get(source, local_target, recursive=True)
                assert local_fs.isfile(local_join(local_target, "file"))
                assert local_fs.isfile(local_join(local_target, "src", "file")) == (again and not slash)
            local_fs.rm(local_target, recursive=True)


def test_the_scenarios_are_those_of_fsspec(tmp_path: Path) -> None:
    """The prepared files equal what fsspec's fixtures make, so that the tests above test what they are meant to."""
    local = fsspec.filesystem("file", auto_mkdir=True)
    wanted: set[str] = set()
    fixtures: Any = AbstractFixtures()
    for folder, make in (
        ("bulk", fixtures._bulk_operations_scenario_0),
        ("glob", fixtures._glob_edge_cases_files),
        ("prefix", fixtures._dir_and_file_with_same_name_prefix),
        ("hashed", fixtures._10_files_with_hashed_names),
    ):
        make(local, os.path.join, str(tmp_path / folder))
        wanted |= {path.relative_to(tmp_path).as_posix() for path in (tmp_path / folder).rglob("*") if path.is_file()}
    assert wanted == set(FILES) - {"recursive/src/file"}
