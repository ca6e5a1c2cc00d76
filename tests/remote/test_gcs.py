"""Google Cloud Storage (an emulator): exact reads, few requests, and changes of an object are reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import exhume
import exhume.io.remote
import exhume.io.remote.source
from exhume.errors import SourceChangedError, SourceError
from exhume.io.opening import open_target
from exhume.io.remote.source import HEAD
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.testing.contracts import SourceContract
from tests.conftest import Ran
from tests.remote.gcs import BUCKET, GcsStore

Cli = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _fast_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhume.io.remote, "RETRY_DELAY", 0.001)


class TestContract(SourceContract):
    @pytest.fixture
    def make(self, gcs: GcsStore) -> Callable[[bytes], Source]:
        def make(data: bytes) -> Source:
            source = open_target(gcs.pipe("contract.bin", data), storage_options=gcs.options)
            assert isinstance(source, Source)
            return source

        return make


def test_opening_is_one_request_for_the_head(gcs: GcsStore) -> None:
    data = bytes(range(256)) * 2048
    url = gcs.pipe("large.bin", data)
    gcs.asks.clear()
    with open_target(url, storage_options=gcs.options) as source:
        assert isinstance(source, Source)
        assert (source.size, source.read_at(5, 3)) == (len(data), data[5:8])
        assert gcs.asks == [(f"bytes=0-{HEAD - 1}", None)]
        assert source.read_many([(100_000, 100_010), (300_000, 300_010)]) == [
            data[100_000:100_010],
            data[300_000:300_010],
        ]
    assert len(gcs.asks) == 3
    assert all(generation for _, generation in gcs.asks[1:])  # requested the generation that was opened


def test_an_object_that_is_replaced(gcs: GcsStore) -> None:
    data = bytes(range(256)) * 2048
    with open_target(gcs.pipe("changing.bin", data), storage_options=gcs.options) as source:
        assert isinstance(source, Source)
        gcs.pipe("changing.bin", data[::-1])
        with pytest.raises(SourceChangedError) as caught:
            source.read_at(200_000, 10)
        assert caught.value.code == "EX-604"


def test_directories_and_their_files(gcs: GcsStore, samples: Path) -> None:
    path = samples / "data_bundle" / "zlib"
    url = gcs.put("trees/zlib", path)
    for text in (url, f"{url}/"):
        with open_target(text, storage_options=gcs.options) as tree, open_target(path) as local:
            assert isinstance(tree, Tree)
            assert isinstance(local, Tree)
            assert tree.names() == local.names()
    with exhume.open(f"{url}/", storage_options=gcs.options) as archive:
        gcs.pipe("trees/zlib/shard-00000001", b"another")
        with pytest.raises(SourceChangedError):
            list(archive.verify())


def test_what_is_not_there(gcs: GcsStore, exhume_cli: Cli) -> None:
    for url in (f"gs://{BUCKET}/no/such/key", "gs://no-such-bucket/key.zs", "gs://no-such-bucket/key/"):
        with pytest.raises(SourceError, match="no such"):
            exhume.open(url, storage_options=gcs.options)
        ran = exhume_cli("info", url, *gcs.arguments)
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert "EX-601" in ran.err
