"""The Python of the formats' pages and of the page about object storage runs as printed, with archives of its names."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

SAMPLES = ROOT / "tests/samples"
EVENTS = [{"message": f"Task {number} done", "user_id": number} for number in range(60)]


def ark(place: Path) -> None:
    shutil.copytree(SAMPLES / "ark/log", place / "day1")


def caf(place: Path) -> None:
    with exhume.caf.create(place / "batch.caf") as chunk:
        for name in ("a", "b", "a/b.txt", "task-17/a.jpg"):
            chunk.add_bytes(name, name.encode() * 1000)
    (place / "letters").mkdir()
    (place / "letters/b").write_bytes(b"letters")
    (place / "c.bin").write_bytes(bytes(4096))
    command = [sys.executable, "-m", "exhume", "export", "batch.caf", "--to", "fsspec-reference", "-o", "refs.json"]
    subprocess.run(command, cwd=place, check=True, capture_output=True)


def clp_s(place: Path) -> None:
    with exhume.clps.create(place / "logs.clps") as writer:
        for number in range(12):
            writer.write({"level": "ERROR", "http": {"status": 200 + number}})
    (place / "api.jsonl").write_bytes(b'{"t":{"$date":1700000000000},"msg":"x"}\n')
    (place / "app.jsonl.gz").write_bytes(gzip.compress(b'{"t":{"$date":1700000000001},"msg":"y"}\n'))


def data_bundle(place: Path) -> None:
    with exhume.databundle.create(place / "photos.bundle") as bundle:
        bundle.add("a/b.txt", bytes(5000))


def kv_ir(place: Path) -> None:
    with exhume.kvir.create(place / "app.clp.zst") as stream:
        for event in EVENTS:
            stream.write(event, {"level": {"name": "ERROR"}})


def clp_ir(place: Path) -> None:
    with exhume.clpir.create(place / "server.clp.zst", zone="Europe/Berlin") as stream:
        for number in range(20):
            stream.write(1_704_067_200_000 + 1000 * number, f" INFO Task {number} took {number / 4} s\n")


def leveldb(place: Path) -> None:
    shutil.copytree(SAMPLES / "leveldb/small", place / "Local Storage/leveldb")


def zs(place: Path) -> None:
    phrases = str(ROOT / "examples/zs/phrases.txt")
    words = ["create", "zs", phrases, "--record-format", "phrase:utf8,count:int"]
    subprocess.run(
        [sys.executable, "-m", "exhume", *words, "-o", "ngrams.zs"], cwd=place, check=True, capture_output=True
    )
    (place / "words.txt").write_bytes(b"c\nd\n")


PREPARED: dict[str, Callable[[Path], None]] = {
    "ark": ark, "caf": caf, "clp_ir": clp_ir, "clp_s": clp_s, "data_bundle": data_bundle,
    "kv_ir": kv_ir, "leveldb": leveldb, "zs": zs
}  # fmt: skip


def blocks(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_every_page_of_a_format_is_run() -> None:
    assert {path.stem for path in (ROOT / "docs/formats").glob("*.md")} == PREPARED.keys()


@pytest.mark.parametrize("page", sorted(PREPARED))
def test_the_page_of_a_format(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    programs = blocks(f"formats/{page}.md")
    assert programs
    PREPARED[page](tmp_path)
    for program in programs:
        for made in re.findall(r'\.create\("([^"]+)"', program):
            shutil.rmtree(made, ignore_errors=True)  # what one block reads, the next one may write
            Path(made).unlink(missing_ok=True)
        exec(program, space)


def test_the_page_of_object_storage(tmp_path: Path) -> None:
    """Its store is played by fsspec's, in memory; what an S3 store answers is tested by the verbs."""
    for module in ("pandas", "polars", "upath", "pyarrow.parquet", "duckdb", "xarray", "zarr", "scipy"):
        pytest.importorskip(module)
    import fsspec
    import numpy as np
    import pyarrow.parquet
    import xarray

    folder = tmp_path / "files"
    (folder / "run-7").mkdir(parents=True)
    (folder / "table").mkdir()
    (folder / "run-7/a.csv").write_text("x,y\n1,2\n")
    pyarrow.parquet.write_table(pyarrow.table({"n": list(range(2000))}), folder / "table/p0.parquet")
    cube = xarray.Dataset({"t": (("time", "x"), np.arange(200.0).reshape(5, 40))}, {"time": range(5), "x": range(40)})
    cube.to_netcdf(folder / "run-7/t.nc", engine="scipy")
    cube.to_zarr(folder / "cube.zarr", zarr_format=2, consolidated=True)
    memory = fsspec.filesystem("memory")
    with exhume.caf.create(tmp_path / "chunk.caf") as chunk, exhume.databundle.create(tmp_path / "bundle") as bundle:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                chunk.add_bytes(path.relative_to(folder).as_posix(), path.read_bytes())
                bundle.add(path.relative_to(folder).as_posix(), path.read_bytes())
    first, *programs = blocks("remote.md")
    assert "storage_options" in first  # a store of the reader's own
    assert len(programs) == 3
    try:
        memory.pipe_file("/bucket/chunk.caf", (tmp_path / "chunk.caf").read_bytes())
        memory.put(str(tmp_path / "bundle"), "/bucket/bundle", recursive=True)
        space: dict[str, Any] = {}
        for program in programs:
            exec(program.replace("s3://bucket", "memory://bucket"), space)
    finally:
        memory.rm("/bucket", recursive=True)
