"""A real object store (moto's S3 server): sources, directories, carving, catalogs, changes and what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
import exhume.io.remote
import exhume.io.remote.source
from exhume.errors import EntryNotFoundError, SourceChangedError, SourceError
from exhume.io.opening import open_target
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.testing.contracts import SourceContract
from tests.archives import own_archives
from tests.conftest import ROOT, Ran
from tests.remote.store import BUCKET, Store
from tests.remote.test_verbs import plain
from tests.sizes import some

pytest.importorskip("s3fs", reason="the extra cloud (s3fs) is not installed")
pytest.importorskip("moto.server", reason="moto[server] is not installed")
Cli = Callable[..., Ran]
ARCHIVES = own_archives()


@pytest.fixture(scope="module")
def uploaded(store: Store) -> dict[Path, str]:
    """The URL of every sample."""
    return {path: store.put(f"{path.parent.name}/{path.name}", path) for path in ARCHIVES}


@pytest.fixture(autouse=True)
def _fast_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhume.io.remote, "RETRY_DELAY", 0.001)


class TestContract(SourceContract):
    @pytest.fixture
    def make(self, store: Store) -> Callable[[bytes], Source]:
        def make(data: bytes) -> Source:
            source = open_target(store.pipe("contract", data), storage_options=store.options)
            assert isinstance(source, Source)
            return source

        return make


def same(local: Ran, remote: Ran, path: Path, url: str) -> None:
    """Both runs said the same, but for the name of the target."""
    assert remote.code == local.code, remote.err
    assert plain(remote.out, [url]) == plain(local.out, [str(path)])


def test_carving_an_image_in_a_bucket(store: Store, exhume_cli: Cli, tmp_path: Path) -> None:
    parts = [path.read_bytes() for path in ARCHIVES if path.is_file()]
    image = tmp_path / "image"
    image.write_bytes(b"\0" * 5000 + (b"\xee" * 3000).join(parts))
    url = store.put("image", image)
    local = exhume_cli("carve", image, "--json")
    assert local.code == 0
    assert len(json.loads(local.out)["archives"]) >= len(parts) // 2
    same(local, exhume_cli("carve", url, "--json", *store.arguments), image, url)
    found = [one for one in json.loads(local.out)["archives"] if one["format"] == "caf"]
    at = max(found, key=lambda one: one["length"])
    with exhume.open(url, storage_options=store.options, offset=at["offset"], length=at["length"]) as inner:
        assert inner.format == "caf"
        assert len(list(inner.entries())) > 3


def test_a_catalog_over_a_bucket(store: Store, exhume_cli: Cli, samples: Path, tmp_path: Path) -> None:
    for name in ("sorted.caf", "insertion.caf"):
        store.put(f"chunks/deep/{name}", samples / "caf" / name)
    db = tmp_path / "catalog.db"
    ran = exhume_cli("catalog", "build", db, f"s3://{BUCKET}/chunks", "--json", *store.arguments)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["chunks"] == 2
    with exhume.open(samples / "caf" / "sorted.caf") as archive:
        assert isinstance(archive, exhume.MemberArchive)
        name = next(n for n in archive.names() if archive.stat(n).size)
        data = archive.read_member(name)
    ran = exhume_cli("catalog", "find", db, name, "--cat", "--chunks-in", f"s3://{BUCKET}/chunks", *store.arguments)
    assert ran.out == data * 2
    assert exhume_cli("catalog", "check", db, "--chunks-in", f"s3://{BUCKET}/chunks", *store.arguments).code == 0
    import fsspec

    fs = fsspec.filesystem("cafcat", fo=str(db), remote_options=store.options, chunks_in=[f"s3://{BUCKET}/chunks"])
    assert fs.cat(name) == data
    fs.close()
    store.put("chunks/deep/sorted.caf", samples / "caf" / "insertion.caf")
    assert exhume_cli("catalog", "check", db, "--chunks-in", f"s3://{BUCKET}/chunks", *store.arguments).code == 4


@pytest.mark.parametrize("folder", ["data_bundle", "ark", "leveldb"])
@pytest.mark.slow
def test_directories(folder: str, store: Store, uploaded: dict[Path, str]) -> None:
    for path, url in some(one for one in uploaded.items() if one[0].parent.name == folder):
        with open_target(url, storage_options=store.options) as tree, open_target(path) as local:
            assert isinstance(tree, Tree)
            assert isinstance(local, Tree)
            assert tree.names() == local.names()
            for name in local.names():
                with tree.source(name) as source, local.source(name) as there:
                    assert source.read_at(0, source.size) == there.read_at(0, there.size)
            with pytest.raises(EntryNotFoundError):
                tree.source("nothing")
            assert not tree.exists("nothing")


def test_an_object_that_is_overwritten_between_requests(store: Store) -> None:
    data = bytes(range(256)) * 4096
    url = store.pipe("changing", data)
    with open_target(url, storage_options=store.options) as source:
        assert isinstance(source, Source)
        assert source.read_at(300_000, 10) == data[300_000:300_010]
        store.pipe("changing", data[::-1])  # as long as before: only its ETag differs
        with pytest.raises(SourceChangedError):
            source.read_at(500_000, 10)
    with open_target(url, storage_options=store.options) as source:  # opened again, it has the new content
        assert isinstance(source, Source)
        assert source.read_at(500_000, 10) == data[::-1][500_000:500_010]
        store.pipe("changing", data[:1000])
        with pytest.raises(SourceChangedError):
            source.read_at(700_000, 10)
    with open_target(url, storage_options=store.options, size=999) as source:
        assert isinstance(source, Source)
        with pytest.raises(SourceChangedError):
            source.read_at(5, 10)


def test_a_size_that_is_known_spares_the_question(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    url = store.pipe("known", b"x" * 1000 + b"y" * 10)
    source = open_target(url, storage_options=store.options, size=1010)
    requested: list[str] = []
    call = type(store.fs)._call_s3

    async def counted(self: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        requested.append(method)
        return await call(self, method, *args, **kwargs)

    monkeypatch.setattr(type(store.fs), "_call_s3", counted)
    assert isinstance(source, Source)
    assert source.read_at(1000, 10) == b"y" * 10
    assert requested == ["get_object"]


def test_what_is_not_there(store: Store, exhume_cli: Cli) -> None:
    for url in (f"s3://{BUCKET}/no/such/key", "s3://no-such-bucket/key"):
        with pytest.raises(SourceError, match="no such"):
            exhume.open(url, storage_options=store.options)
        ran = exhume_cli("info", url, *store.arguments)
        assert ran.code == 1
        assert ran.err.count("\n") == 1


def test_chained_urls_over_the_store(store: Store, uploaded: dict[Path, str], samples: Path) -> None:
    import fsspec

    for protocol, name in (("caf", "caf/sorted.caf"), ("databundle", "data_bundle/zlib")):
        url = uploaded[samples / name]
        fs, _ = fsspec.url_to_fs(f"{protocol}://::{url}", s3=store.options)
        local = fsspec.filesystem(protocol, fo=str(samples / name))
        assert fs.find("") == local.find("")
        assert fs.cat("", recursive=True) == local.cat("", recursive=True)
        fs.close()
        local.close()


def test_the_example_of_the_docs_runs(
    store: Store, samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As printed, but for the address of the store and the names of its bucket and key."""
    page = (ROOT / "docs/remote.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n((?:(?!```).)*exhume\.open\(\"s3://(?:(?!```).)*)```", page, re.DOTALL)
    assert example is not None
    url = store.put("docs/events.clps", samples / "clp_s/demo.clps")
    text = example[1].replace("s3://bucket/events.clps", url)
    text = text.replace("https://store.example", store.options["endpoint_url"])
    assert text.count(url) == text.count(store.options["endpoint_url"]) == 1
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", store.options["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", store.options["secret"])
    exec(text, {})
    with exhume.open(samples / "clp_s/demo.clps") as local:
        assert capsys.readouterr().out == f"clp-s {local.info()}\n"
