"""Reading over HTTP: exact, few requests, and every way a server can be wrong is reported."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
import exhume.io.remote
import exhume.io.remote.source
from exhume.errors import (
    EntryNotFoundError,
    MissingDependencyError,
    RangeNotSupportedError,
    SourceChangedError,
    SourceError,
)
from exhume.io.opening import open_target
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.testing.contracts import SourceContract
from tests.archives import label, own_archives
from tests.remote.server import Served, serving
from tests.sizes import some

pytest.importorskip("aiohttp", reason="the extra cloud (fsspec[http]) is not installed")
Cli = Callable[..., Any]
DATA = os.urandom(1 << 20)


@pytest.fixture(autouse=True)
def _fast_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhume.io.remote, "RETRY_DELAY", 0.001)


def opened(served: Served, name: str = "data", **options: Any) -> Source:
    source = open_target(f"{served.url}/{name}", storage_options={"skip_instance_cache": True, **options})
    assert isinstance(source, Source)
    return source


class TestContract(SourceContract):
    @pytest.fixture
    def make(self) -> Iterator[Callable[[bytes], Source]]:
        with serving({}) as served:

            def make(data: bytes) -> Source:
                served.files["data"] = data
                return opened(served)

            yield make


def test_neighbors_share_requests() -> None:
    with serving({"data": DATA}) as served, opened(served) as source:
        served.requests.clear()
        ranges = [(300_000 + i * 1000, 300_000 + i * 1000 + 10) for i in range(50)] + [(800_000, 800_100)]
        assert source.read_many(ranges) == [DATA[a:b] for a, b in ranges]
        assert served.gets == 2


def test_head_and_tail_are_read_once() -> None:
    with serving({"data": DATA}) as served, opened(served) as source:
        served.requests.clear()
        for at in (0, 10, 4000, 60_000):
            assert source.read_at(at, 8) == DATA[at : at + 8]
        for at in (len(DATA) - 4, len(DATA) - 60_000):
            assert source.read_at(at, 4) == DATA[at : at + 4]
        assert served.gets == 1  # the head came with the response that stated the size


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("ignores-ranges", RangeNotSupportedError),
        ("wrong-range", RangeNotSupportedError),
        ("short-body", SourceError),
        ("wrong-length", SourceError),
        ("down", SourceError),
    ],
)
def test_wrong_answers_are_reported(mode: str, error: type[Exception]) -> None:
    with serving({"data": DATA}) as served:
        source = opened(served)
        served.mode = mode
        with source, pytest.raises(error) as caught:
            source.read_at(500_000, 100)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mode", ["changed-etag", "changed-size"])
def test_a_change_between_requests_is_reported(mode: str) -> None:
    with serving({"data": DATA}, mode) as served, opened(served) as source, pytest.raises(SourceChangedError):
        for at in (200_000, 500_000, 700_000):
            source.read_at(at, 10)


def test_passing_trouble_is_sat_out() -> None:
    with serving({"data": DATA}) as served, opened(served) as source:
        served.mode = "flaky"
        assert source.read_at(500_000, 100) == DATA[500_000:500_100]
        assert served.failures == 2


def test_an_unknown_length_and_a_missing_object_are_reported() -> None:
    with serving({"data": DATA}, "no-length") as served, pytest.raises(SourceError):
        opened(served)
    with serving({"data": DATA}) as served, pytest.raises(SourceError, match="no such"):
        opened(served, "nothing")


def test_reading_most_of_a_large_object_needs_leave() -> None:
    large = bytes(40 << 20)
    with serving({"data": large}) as served:
        with opened(served) as source, pytest.raises(SourceError, match="would download most of the object") as caught:
            for _ in source.chunks():
                pass
        assert caught.value.code == "EX-607"
        with opened(served, allow_full_download=True) as source:
            assert sum(map(len, source.chunks())) == len(large)
        with opened(served) as source:
            for at in range(200):
                source.read_at(20 << 20, 1000 + at)


FILES = [path for path in own_archives() if path.is_file()]


@pytest.mark.parametrize("path", FILES, ids=label)
def test_three_requests_open_and_describe_an_archive(path: Path) -> None:
    with serving({"a": path.read_bytes()}) as served:
        with exhume.open(f"{served.url}/a", storage_options={"skip_instance_cache": True}) as archive:
            remote = archive.info().to_dict()
        assert len(served.requests) <= 3, served.requests
    with exhume.open(path) as archive:
        assert json.dumps(archive.info().to_dict(), default=str) == json.dumps(remote, default=str)


@pytest.mark.parametrize("path", FILES[::3], ids=label)
def test_verbs_take_urls(path: Path, exhume_cli: Cli) -> None:
    with serving({"a": path.read_bytes()}) as served:
        for verb in ("identify", "info", "list", "verify"):
            ran = exhume_cli(verb, f"{served.url}/a", "--storage", "skip_instance_cache=true")
            assert ran.code == 0, ran.err
        assert exhume_cli("info", f"{served.url}/missing").code == 1
        assert exhume_cli("info", f"{served.url}/a", "--storage", "nonsense").code == 2


def test_other_urls(tmp_path: Path) -> None:
    import fsspec

    path = max(FILES, key=lambda p: p.stat().st_size)
    fsspec.filesystem("memory").pipe("/remote/a", path.read_bytes())
    (tmp_path / "z.zip").write_bytes(b"")
    import zipfile

    with zipfile.ZipFile(tmp_path / "z.zip", "w") as box:
        box.write(path, "inner")
    for url in (path.as_uri(), "memory://remote/a", f"zip://inner::{tmp_path}/z.zip", f"simplecache::file://{path}"):
        with exhume.open(url) as archive:
            assert list(archive.entries())
    for bad in ("nothing://x", "memory://remote/missing", "zip://nothing::" + str(tmp_path / "z.zip")):
        with pytest.raises((SourceError, ImportError)):
            exhume.open(bad)


def test_the_tail_may_come_first() -> None:
    with serving({"data": DATA, "small": b"0123456789", "empty": b""}) as served:
        for name, data in some(served.files.items()):
            url, options = f"{served.url}/{name}", {"skip_instance_cache": True}
            served.requests.clear()
            with open_target(url, storage_options=options, tail_first=True) as source:
                assert isinstance(source, Source)
                assert (source.size, source.read_up_to(max(0, len(data) - 1000), 1000)) == (len(data), data[-1000:])
                assert len(served.requests) == 1
                assert source.read_up_to(0, 1000) == data[:1000]
                assert len(served.requests) == (2 if name == "data" else 1)


def test_directories_by_index_pages() -> None:
    files = {"top/a": b"1", "top/sub/b": bytes(200_000), "top/sub/deep/c": b"", "other": b"x"}
    with serving(files) as served:
        with open_target(f"{served.url}/top/", storage_options={"skip_instance_cache": True}) as tree:
            assert isinstance(tree, Tree)
            assert tree.names() == ["a", "sub/b", "sub/deep/c"]
            served.requests.clear()
            tree.will_read(["a", "sub/b", "nothing"])
            assert len(served.requests) == 2
            assert tree.source("a").read_at(0, 1) == b"1"
            assert tree.subtree("sub").source("b").read_at(0, 9) == bytes(9)
            assert not tree.exists("nothing")
            assert not tree.subtree("nowhere").names()
            assert len(served.requests) == 2
            with pytest.raises(EntryNotFoundError):
                tree.source("nothing")
            assert tree.source("sub/deep/c").size == 0
        with open_target(f"{served.url}/nowhere/") as tree:
            assert isinstance(tree, Tree)
            assert tree.names() == []


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = importlib.import_module("fsspec.registry")
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    for name in ("gs", "gcs"):
        monkeypatch.delitem(registry._registry, name, raising=False)
    with pytest.raises(MissingDependencyError, match="gcsfs") as caught:
        exhume.open("gs://bucket/archive.zs")
    assert "\n" not in str(caught.value)


def test_directories_in_memory_and_chained(exhume_cli: Cli) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    for path in (path for path in own_archives() if path.is_dir()):
        url = f"memory://trees/{label(path)}"
        memory.put(str(path), url, recursive=True)
        for verb in ("identify", "list", "verify"):
            local, remote = exhume_cli(verb, path), exhume_cli(verb, url)
            assert (remote.code, remote.out.replace(url.encode(), b"@")) == (
                local.code,
                local.out.replace(str(path).encode(), b"@"),
            ), remote.err
    bundle = next(path for path in own_archives() if path.parent.name == "data_bundle")
    parent = label(bundle).removesuffix(f"/{bundle.name}")
    ran = exhume_cli("info", f"dir://{bundle.name}::memory://trees/{parent}")
    assert ran.code == 0, ran.err
