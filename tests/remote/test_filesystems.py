"""`caf://`, `databundle://`, `clps://`, `zs://`, `cafcat://`: reading, chaining, caching, and what is refused."""

from __future__ import annotations

import importlib.metadata
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import exhume
from exhume.errors import ChecksumError, ExhumeError, SourceChangedError, UnsupportedOperationError, WriterError
from exhume.filesystems import base
from exhume.formats.caf.catalog import open_catalog
from exhume.formats.caf.chunk import build_index
from tests.archives import descriptors
from tests.conftest import ROOT
from tests.remote.server import serving
from tests.remote.test_filesystem_contract import write_files

FILES = {
    "a.csv": b"x,y\n1,2\n3,4\n",
    "deep/er/b.bin": os.urandom(300_000),
    "deep/c.txt": "größe\n".encode(),
    "deep-1": b"sorts between deep and deep/",
    "empty": b"",
    "glob[1].txt": b"not a pattern",
}
PROTOCOLS = ["caf", "databundle", "cafcat"]
SAMPLES = ROOT / "tests" / "samples"


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("archives")
    made = {
        "caf": write_files(folder / "x.caf", "caf", FILES),
        "databundle": write_files(folder / "bundle", "databundle", FILES),
        "cafcat": folder / "catalog.db",
        "zs": SAMPLES / "zs" / "words-lzma.zs",
        "clps": SAMPLES / "clp_s" / "demo.clps",
    }
    with open_catalog(str(made["cafcat"]), create=True) as catalog:
        catalog.build([str(made["caf"])])
    return made


@pytest.fixture(autouse=True)
def _forget_instances() -> Iterator[None]:
    yield
    for protocol in (*PROTOCOLS, "zs", "clps"):
        cls = fsspec.get_filesystem_class(protocol)
        for fs in list(cls._cache.values()):
            fs.close()
        cls.clear_instance_cache()


def opened(archives: dict[str, Path], protocol: str) -> Any:
    return fsspec.filesystem(protocol, fo=str(archives[protocol]))


def test_the_protocols_are_entry_points() -> None:
    found = {e.name: e.value for e in importlib.metadata.entry_points(group="fsspec.specs") if "exhume" in e.value}
    assert set(found) == {"caf", "databundle", "clps", "zs", "cafcat"}
    for name in found:
        assert fsspec.get_filesystem_class(name).protocol == name


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_looking_around(archives: dict[str, Path], protocol: str) -> None:
    fs = opened(archives, protocol)
    assert fs.find("") == sorted(FILES)
    assert fs.ls("", detail=False) == ["a.csv", "deep", "deep-1", "empty", "glob[1].txt"]
    assert fs.ls("deep/", detail=False) == ["deep/c.txt", "deep/er"]
    assert fs.ls("a.csv", detail=False) == ["a.csv"]
    assert [(path, dirs, files) for path, dirs, files in fs.walk("deep")] == [
        ("deep", ["er"], ["c.txt"]),
        ("deep/er", [], ["b.bin"]),
    ]
    assert fs.glob("**/*.bin") == ["deep/er/b.bin"]
    assert fs.glob("deep*") == ["deep", "deep-1"]
    assert fs.du("") == sum(map(len, FILES.values()))
    info = fs.info(f"{protocol}://deep/er/b.bin")
    assert (info["name"], info["size"], info["type"]) == ("deep/er/b.bin", 300_000, "file")
    assert fs.info("deep") == {"name": "deep", "size": 0, "type": "directory"}
    assert fs.info("")["type"] == "directory"
    assert fs.isdir("deep/er")
    assert fs.isfile("deep-1")
    assert fs.exists("glob[1].txt")
    for nothing in ("dee", "deep/er/b.bin/x", "nothing", "../a.csv"):
        assert not fs.exists(nothing)
        assert not fs.isdir(nothing)
        for ask in (fs.info, fs.ls, fs.cat_file, fs.open):
            with pytest.raises(FileNotFoundError):
                ask(nothing)
    for ask in (fs.cat_file, fs.open):
        with pytest.raises(IsADirectoryError):
            ask("deep")
    assert fs.checksum("a.csv") == fs.checksum("a.csv") != fs.checksum("deep-1")
    assert fs.modified("a.csv").timestamp() == pytest.approx(archives[protocol].stat().st_mtime)
    with pytest.raises(FileNotFoundError):
        fs.modified("nothing")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_reading(archives: dict[str, Path], protocol: str) -> None:
    fs = opened(archives, protocol)
    for name, data in FILES.items():
        assert fs.cat_file(name) == data
    data = FILES["deep/er/b.bin"]
    for start, end in ((5, 20), (None, 10), (-10, None), (-20, -5), (299_999, 400_000), (400_000, 500_000), (9, 3)):
        assert fs.cat_file("deep/er/b.bin", start, end) == data[start:end]
    assert fs.cat(["a.csv", "deep-1"]) == {name: FILES[name] for name in ("a.csv", "deep-1")}
    assert fs.cat("deep", recursive=True) == {name: FILES[name] for name in FILES if name.startswith("deep/")}
    with fs.open("deep/er/b.bin", block_size=1000) as file:
        assert file.seekable()
        assert file.seek(-100, 2) == 299_900
        assert file.read() == data[-100:]
        file.seek(1234)
        assert file.read(5000) == data[1234:6234]
    with fs.open("deep/c.txt", "r", encoding="utf-8") as text:
        assert text.read() == "größe\n"
    names = ["deep/er/b.bin", "a.csv", "nothing", "deep/er/b.bin", "deep"]
    got = fs.cat_ranges(names, [10, 0, 0, 20, 0], [30, 3, 1, 40, 1])
    assert got[:2] == [data[10:30], b"x,y"]
    assert isinstance(got[2], FileNotFoundError)
    assert got[3] == data[20:40]
    assert isinstance(got[4], IsADirectoryError)
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges(names, 0, 1, on_error="raise")


@pytest.mark.parametrize("protocol", ["zs", "clps"])
def test_sections_are_files(archives: dict[str, Path], protocol: str) -> None:
    fs = opened(archives, protocol)
    with exhume.open(archives[protocol]) as archive:
        wanted = {section.name.strip("/"): archive.read_section(section.name) for section in archive.sections()}
    assert fs.find("") == sorted(wanted)
    for name, data in wanted.items():
        assert fs.cat_file(name) == data
        assert fs.info(name)["size"] == len(data)
        assert fs.cat_file(name, 2, 7) == data[2:7]
    assert fs.du("") == sum(map(len, wanted.values()))
    name = max(wanted, key=lambda n: len(wanted[n]))
    with fs.open(name) as file:
        assert file.read() == wanted[name]
    assert {entry["section"].strip("/") for entry in fs.ls("")} == set(wanted)
    assert not fs.exists("data-999")
    with pytest.raises(FileNotFoundError):
        fs.cat_file("data-999")
    with pytest.raises(IsADirectoryError):
        fs.cat_file("")


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "zs", "clps"])
def test_writing_is_refused(archives: dict[str, Path], protocol: str, tmp_path: Path) -> None:
    fs = opened(archives, protocol)
    (tmp_path / "local").write_bytes(b"x")
    for write in (
        lambda: fs.open("new", "wb"),
        lambda: fs.open("new", "xb"),
        lambda: fs.open("new", "w"),
        lambda: fs.pipe("new", b"x"),
        lambda: fs.put(str(tmp_path / "local"), "new"),
        lambda: fs.put_file(str(tmp_path / "local"), "new"),
        lambda: fs.touch("new"),
        lambda: fs.mkdir("new"),
        lambda: fs.makedirs("new/er"),
        lambda: fs.rmdir("deep"),
        lambda: fs.rm("a.csv"),
        lambda: fs.cp_file("a.csv", "b.csv"),
        lambda: fs.copy("a.csv", "b.csv"),
        lambda: fs.mv("a.csv", "b.csv"),
    ):
        with pytest.raises(UnsupportedOperationError, match="read-only"):
            write()  # type: ignore[no-untyped-call]


def test_chains(archives: dict[str, Path], tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/chain/x.caf", archives["caf"].read_bytes())
    memory.put(str(archives["databundle"]), "/chain/bundle", recursive=True)
    memory.pipe("/chain/catalog.db", archives["cafcat"].read_bytes())
    import zipfile

    with zipfile.ZipFile(tmp_path / "box.zip", "w") as box:
        box.write(archives["caf"], "in/x.caf")
    with serving({"x.caf": archives["caf"].read_bytes()}) as served:
        for url in (
            f"caf://deep/c.txt::{archives['caf']}",
            f"caf://deep/c.txt::{archives['caf'].as_uri()}",
            "caf://deep/c.txt::memory://chain/x.caf",
            f"caf://deep/c.txt::{served.url}/x.caf",
            f"caf://deep/c.txt::zip://in/x.caf::{tmp_path}/box.zip",
            f"caf://deep/c.txt::simplecache::{served.url}/x.caf",
            f"simplecache::caf://deep/c.txt::{archives['caf']}",
            f"databundle://deep/c.txt::{archives['databundle']}",
            "databundle://deep/c.txt::memory://chain/bundle",
            f"cafcat://{archives['cafcat']}/deep/c.txt",
            f"cafcat://deep/c.txt::{archives['cafcat'].as_uri()}",
            "cafcat://deep/c.txt::memory://chain/catalog.db",
        ):
            # A catalog in memory is not in the folder of its chunks.
            more = {"cafcat": {"chunks_in": [str(archives["caf"].parent)]}} if "catalog.db" in url else {}
            with fsspec.open(url, "rb", **more) as file:
                assert file.read() == FILES["deep/c.txt"], url
            fsspec.get_filesystem_class("caf").clear_instance_cache()
    # and the file that exhume opens may itself be in an archive
    nested = write_files(tmp_path / "outer.caf", "caf", {"in.caf": archives["caf"].read_bytes()})
    with exhume.open(f"caf://in.caf::{nested}") as inner:
        assert isinstance(inner, exhume.MemberArchive)
        assert inner.read_member("a.csv") == FILES["a.csv"]
    with fsspec.open(f"caf://a.csv::caf://in.caf::{nested}") as file:
        assert file.read() == FILES["a.csv"]


def test_options_reach_archive_and_target(archives: dict[str, Path], tmp_path: Path) -> None:
    fsspec.filesystem("memory").pipe("/options/x.caf", archives["caf"].read_bytes())
    fs = fsspec.filesystem(
        "caf", fo="options/x.caf", target_protocol="memory", target_options={"skip_instance_cache": True}
    )
    assert fs.cat("a.csv") == FILES["a.csv"]
    limited = fsspec.filesystem("caf", fo=str(archives["caf"]), limits={"index_size": 10})
    with pytest.raises(ExhumeError, match="index_size"):
        limited.ls("")
    index = build_index({"a": (0, 1)}).replace(b'"1.0"', b'"9.0"')
    (tmp_path / "odd.caf").write_bytes(b"x" + index + len(index).to_bytes(4, "little"))
    with pytest.raises(ExhumeError):
        fsspec.filesystem("caf", fo=str(tmp_path / "odd.caf")).ls("")
    odd = fsspec.filesystem("caf", fo=str(tmp_path / "odd.caf"), archive_options={"any_version": True})
    assert odd.cat("a") == b"x"
    for protocol in (*PROTOCOLS, "zs", "clps"):
        with pytest.raises(WriterError, match=r"which (archive|catalog)\?"):
            fsspec.filesystem(protocol)
        with pytest.raises(FileNotFoundError):
            fsspec.filesystem(protocol, fo=str(tmp_path / "missing")).ls("")
        assert not fsspec.filesystem(protocol, fo=str(tmp_path / "missing")).exists("a")
    with pytest.raises(ExhumeError):
        fsspec.filesystem("zs", fo=str(archives["caf"])).ls("")


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "zs", "clps"])
def test_pickling_and_instances(archives: dict[str, Path], protocol: str) -> None:
    fs = opened(archives, protocol)
    assert opened(archives, protocol) is fs
    name = fs.find("")[0]
    data = fs.cat_file(name)
    again = pickle.loads(pickle.dumps(fs))
    assert again is fs
    cls = type(fs)
    blob = pickle.dumps(fs)
    fs.close()
    cls.clear_instance_cache()
    other = pickle.loads(blob)
    assert other is not fs
    assert other.cat_file(name) == data
    assert fsspec.AbstractFileSystem.from_json(other.to_json()).cat_file(name) == data
    with other.open(name) as file:
        copy = pickle.loads(pickle.dumps(file))
        assert copy.read(5) == data[:5]
    fs.close()  # harmless to repeat, and the instance opens again
    assert fs.cat_file(name) == data


def test_few_archives_stay_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool: base.OpenObjectCache[Any] = base.OpenObjectCache(3)
    monkeypatch.setattr(base, "OPEN", pool)
    paths = [write_files(tmp_path / f"{i}.caf", "caf", {"n": str(i).encode() * 200_000}) for i in range(8)]
    assert descriptors(tmp_path) == 0
    files = [fsspec.filesystem("caf", fo=str(path)).open("n", block_size=1000) for path in paths]
    for i, file in enumerate(files * 2):
        assert file.read(10) == str(i % 8).encode() * 10
    assert len(pool) == 3
    assert descriptors(tmp_path) == 3
    for path in paths:
        fsspec.filesystem("caf", fo=str(path)).close()
    assert descriptors(tmp_path) == 0


def test_an_archive_in_use_is_closed_after_its_last_user(tmp_path: Path) -> None:
    closed: list[str] = []

    class Thing:
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            closed.append(self.name)

    pool: base.OpenObjectCache[Thing] = base.OpenObjectCache(1)
    with pool.lease("a", lambda: Thing("a")) as first:
        with pool.lease("b", lambda: Thing("b")):
            assert closed == []
        with pool.lease("a", lambda: Thing("another a")) as second:
            assert second is not first
        assert closed == ["b"]
    assert closed == ["b", "a"]
    pool.drop("a")
    pool.drop("a")
    assert closed == ["b", "a", "another a"]


def test_a_replaced_archive_is_opened_again(tmp_path: Path) -> None:
    path = write_files(tmp_path / "x.caf", "caf", {"a": b"first"})
    fs = fsspec.filesystem("caf", fo=str(path))
    assert fs.cat("a") == b"first"
    before = fs.checksum("a")
    write_files(tmp_path / "new.caf", "caf", {"a": b"other", "b": b""}).replace(path)
    assert fs.cat("a") == b"other"
    assert fs.find("") == ["a", "b"]
    assert fs.checksum("a") != before
    path.unlink()
    with pytest.raises(FileNotFoundError):
        fs.cat("a")


def test_a_remote_archive_that_changes_is_reported_once(tmp_path: Path) -> None:
    files = {"a": b"first", "b": os.urandom(500_000), "c": os.urandom(500_000)}
    path = write_files(tmp_path / "x.caf", "caf", files)
    with serving({"x.caf": path.read_bytes()}) as served:
        fs = fsspec.filesystem("caf", fo=f"{served.url}/x.caf")
        assert fs.cat("a") == b"first"
        served.mode = "changed-etag"
        with pytest.raises(SourceChangedError):
            fs.cat("b")
        served.mode = "good"
        assert fs.cat("b") == files["b"]
        fs.close()


def test_names_that_are_no_paths_are_left_out_and_counted(tmp_path: Path) -> None:
    names = {"": b"0", "/abs": b"1", "a//b": b"2", "../up": b"3", "a/./b": b"4", "end/": b"5", "fine": b"6"}
    data = b"".join(names.values())
    index = build_index({name: (i, i + 1) for i, name in enumerate(names)})
    path = tmp_path / "odd.caf"
    path.write_bytes(data + index + len(index).to_bytes(4, "little"))
    fs = fsspec.filesystem("caf", fo=str(path))
    assert fs.find("") == ["fine"]
    assert fs.info("")["omitted"] == 6
    fs.get("", str(tmp_path / "out"), recursive=True)
    assert [p.name for p in (tmp_path / "out").rglob("*")] == ["fine"]
    for name in names:
        assert fs.exists(name) == (name.strip("/") in ("", "fine"))


def test_damage_is_an_error_where_it_is(tmp_path: Path) -> None:
    data = b"0123456789"
    index = build_index({"good": (0, 5), "bad": (5, 5_000_000)})
    (tmp_path / "x.caf").write_bytes(data + index + len(index).to_bytes(4, "little"))
    fs = fsspec.filesystem("caf", fo=str(tmp_path / "x.caf"))
    assert {entry["name"]: entry.get("problem") for entry in fs.ls("")} == {"good": None, "bad": "CAF-312"}
    assert fs.cat("good") == b"01234"
    with pytest.raises(ExhumeError) as caught:
        fs.cat("bad")
    assert caught.value.code == "CAF-312"
    bundle = write_files(tmp_path / "bundle", "databundle", {"a": b"whole", "b": bytes(100)}, compression="none")
    shard = next(bundle.glob("shard-*"))
    raw = shard.read_bytes()
    damaged = fsspec.filesystem("databundle", fo=str(bundle))
    assert b"whole" in raw
    shard.write_bytes(raw.replace(b"whole", b"WHOLE"))
    with pytest.raises(ChecksumError):
        damaged.cat("a")
    (tmp_path / "not.caf").write_bytes(b"nothing of the kind")
    with pytest.raises(ExhumeError):
        fsspec.filesystem("caf", fo=str(tmp_path / "not.caf")).exists("a")


def test_a_catalog_over_several_chunks(tmp_path: Path) -> None:
    one = write_files(tmp_path / "1.caf", "caf", {f"d/{i:03}/x": b"%d" % i for i in range(300)} | {"both": b"old"})
    two = write_files(tmp_path / "2.caf", "caf", {"both": b"new", "d": b"a file and a directory", "z": b"last"})
    db = str(tmp_path / "catalog.db")
    with open_catalog(db, create=True) as catalog:
        catalog.build([str(one), str(two)])
    fs = fsspec.filesystem("cafcat", fo=db)
    assert fs.cat("both") == b"new"
    assert [(e["name"], e["type"]) for e in fs.ls("")] == [
        ("both", "file"), ("d", "file"), ("d", "directory"), ("z", "file"),
    ]  # fmt: skip
    assert fs.ls("d", detail=False) == [f"d/{i:03}" for i in range(300)]
    assert fs.cat_ranges(["d/007/x", "z", "both"], 0, 2) == [b"7", b"la", b"ne"]
    two.write_bytes(two.read_bytes() + b"more")
    with pytest.raises(SourceChangedError):
        fsspec.filesystem("cafcat", fo=db, skip_instance_cache=True).cat("z")
    with pytest.raises(ExhumeError):
        fsspec.filesystem("cafcat", fo=str(one)).ls("")


def test_a_cataloged_member_is_one_request(archives: dict[str, Path], tmp_path: Path) -> None:
    with serving({"x.caf": archives["caf"].read_bytes()}) as served:
        with open_catalog(str(tmp_path / "c.db"), create=True) as catalog:
            catalog.build([f"{served.url}/x.caf"])
            served.requests.clear()
            assert catalog.read("deep/er/b.bin", 1000, 2000) == FILES["deep/er/b.bin"][1000:2000]
            assert len(served.requests) == 1
        served.requests.clear()
        fs = fsspec.filesystem("cafcat", fo=str(tmp_path / "c.db"), chunks_in=[served.url])
        assert fs.cat("deep/er/b.bin") == FILES["deep/er/b.bin"]
        assert len(served.requests) == 1
        served.files["x.caf"] += b"grown"
        fs.close()
        with pytest.raises(SourceChangedError):
            fs.cat("deep/er/b.bin")
