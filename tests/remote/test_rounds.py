"""How often a user waits: requests, and round trips one behind the other, of opening and describing each format.

Bundle, log and database are larger than what comes with their heads and tails.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import FormatError
from exhume.remotesource import HEAD, TAIL
from tests.archives import label, own_archives
from tests.remote.server import serving
from tests.remote.store import Store
from tests.remote.wire import Wire

pytest.importorskip("s3fs", reason="the extra cloud (s3fs) is not installed")
pytest.importorskip("moto.server", reason="moto[server] is not installed")
FILES = [path for path in own_archives() if path.is_file()]
DELAY = 0.08


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("archives")
    rnd = random.Random(6)
    bundle: Any = exhume.create(root / "bundle", "databundle", shards=3, record_size=64 << 10)
    with bundle:
        for i in range(15_000):
            bundle.add(f"dir{i % 70}/a-rather-long-name-{rnd.getrandbits(60):x}-{i:06}", rnd.randbytes(300))
    assert max(p.stat().st_size for p in (root / "bundle" / "index").iterdir()) > HEAD + TAIL + (128 << 10)
    log: Any = exhume.create(root / "log", "ark", split_bytes=700_000)
    with log:
        for number in range(4):
            log.channel(f"topic{number}", column=f"column{number}")
        for i in range(4000):
            log.write(f"topic{i % 4}", i * 1000, rnd.randbytes(1000))
    return {"databundle": root / "bundle", "ark": root / "log", "leveldb": root / "bundle" / "index"}


def waited(wire: Wire, act: Callable[[], object], rounds: int) -> tuple[list[str], int]:
    """The requests of `act` and its round trips; a machine that is busy may show more of these than there are."""
    for _ in range(4):
        wire.clear()
        wire.delay = DELAY
        try:
            act()
        finally:
            wire.delay = 0.0
        if wire.rounds <= rounds:
            break
    return wire.requests, wire.rounds


def describe(url: str, options: dict[str, Any]) -> dict[str, Any]:
    with exhume.open(url, storage_options=options) as archive:
        return archive.info().to_dict()


EXPECTED = {
    # the listing; the manifest; the table, whatever the number of shards
    "databundle": (3, 2),
    # the listing; the manifest, whatever the number of splits
    "ark": (2, 2),
    # the listing; the manifest
    "leveldb": (2, 2),
}


@pytest.mark.parametrize("format", EXPECTED)
@pytest.mark.parametrize("slash", ["/", ""])
def test_directories_in_a_bucket(format: str, slash: str, store: Store, archives: dict[str, Path]) -> None:
    url = store.put(f"rounds/{format}", archives[format]) + slash
    number, rounds = EXPECTED[format]
    found: list[dict[str, Any]] = []
    requests, waits = waited(store.wire, lambda: found.append(describe(url, store.options)), rounds)
    assert len(requests) == number + (not slash), requests  # without a slash it might have been an object
    assert sum("list-type" in one for one in requests) == 1
    assert waits == rounds, store.wire.noted
    assert found[-1] == describe(str(archives[format]), {})


@pytest.mark.parametrize(("format", "more"), [("databundle", 1), ("ark", 1), ("leveldb", 0)])
def test_directories_by_index_pages(format: str, more: int, archives: dict[str, Path]) -> None:
    """A page tells no sizes, and a directory below is a page of its own: one round trip more for each level."""
    path = archives[format]
    files = {f"a/{p.relative_to(path).as_posix()}": p.read_bytes() for p in path.rglob("*") if p.is_file()}
    with serving(files) as served:
        most = EXPECTED[format][1] + more + 2 * (format == "databundle")  # a table's size comes with its tail
        options = {"skip_instance_cache": True}
        requests, waits = waited(served.wire, lambda: describe(f"{served.url}/a/", options), most)
    assert waits <= most, requests
    pages = 1 + len({name.rpartition("/")[0] for name in files} - {"a"})
    assert len(requests) <= pages + len(files) + 2, requests
    assert len(set(requests)) == len(requests)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_small_files_are_one_request(path: Path, store: Store) -> None:
    url = store.put(f"rounds/{path.parent.name}/{path.name}", path)
    requests, waits = waited(store.wire, lambda: describe(url, store.options), 1)
    assert (len(requests), waits) == ((1, 1) if path.stat().st_size <= HEAD else (2, 2)), requests


def test_a_member_of_a_bundle_is_two_round_trips_more_at_most(store: Store, archives: dict[str, Path]) -> None:
    """Its row, the rows of its shard's records and the shard's head, unless they are there; and its record."""
    url = store.put("rounds/databundle", archives["databundle"]) + "/"
    with exhume.open(archives["databundle"]) as local:
        assert isinstance(local, exhume.MemberArchive)
        names = list(local.names())
        wanted = {name: local.read_member(name) for name in random.Random(7).sample(names, 3)}
    with exhume.open(url, storage_options=store.options) as archive:
        assert isinstance(archive, exhume.MemberArchive)
        for name, data in wanted.items():
            store.wire.clear()
            assert archive.read_member(name) == data
            assert len(store.wire.requests) <= 4, store.wire.requests
            assert archive.read_member(name) == data


def test_verifying_a_bundle_reads_large_pieces(tmp_path: Path, store: Store) -> None:
    rnd = random.Random(8)
    writer: Any = exhume.create(tmp_path / "b", "databundle", shards=2, record_size=16 << 10)
    with writer:
        for i in range(400):
            writer.add(f"f{i:04}", rnd.randbytes(40_000))
    url = store.put("rounds/large", tmp_path / "b") + "/"
    stored = sum(p.stat().st_size for p in (tmp_path / "b").rglob("*") if p.is_file())
    with exhume.open(tmp_path / "b") as local:
        expected = list(local.verify())
    with exhume.open(url, storage_options={**store.options, "allow_full_download": True}) as archive:
        store.wire.clear()
        assert list(archive.verify()) == expected
    assert stored > 16 << 20
    assert len(store.wire.requests) <= 12, store.wire.requests  # 1,000 records, each looked at twice


@pytest.mark.parametrize("path", [path for path in own_archives() if path.is_dir()], ids=label)
def test_no_small_directory_is_asked_for_twice(path: Path, store: Store) -> None:
    """Listing, manifest, and one for each table or log that is not empty; nothing of shards, whole splits, CURRENT."""
    url = store.put(f"rounds/small/{label(path)}", path) + "/"
    store.wire.clear()
    describe(url, store.options)
    index = path / "index" if (path / "index").is_dir() else None
    read = [p for p in index.iterdir() if p.suffix in {".ldb", ".sst", ".log"} and p.stat().st_size] if index else []
    manifests = len(list(path.glob("manifests/*"))) or 1
    if path.name == "amended":  # its time filters cut through splits, whose indexes are then counted
        read += list(path.glob("splits/*"))
    assert len(set(store.wire.requests)) == len(store.wire.requests)
    assert len(store.wire.requests) <= 1 + manifests + len(read), store.wire.requests


def test_a_log_is_counted_by_its_manifest(archives: dict[str, Path], store: Store) -> None:
    """Whether or not its splits are sound: that is for `verify` to find."""
    url = store.put("rounds/counted", archives["ark"]) + "/"
    name = next((archives["ark"] / "splits").iterdir()).name
    damaged = archives["ark"].parent / "damaged"
    shutil.copytree(archives["ark"], damaged)
    (damaged / "splits" / name).write_bytes(bytes(1000))
    broken = store.put("rounds/miscounted", damaged) + "/"
    assert describe(broken, store.options)["messages"] == describe(url, store.options)["messages"] == 4000
    with exhume.open(broken, storage_options=store.options) as archive:
        assert any(finding.severity == "error" for finding in archive.verify())


def test_current_is_read_where_it_matters(tmp_path: Path, store: Store) -> None:
    """Opening goes by the only manifest there is; that CURRENT names another one is for `verify` to find."""
    writer: Any = exhume.create(tmp_path / "b", "databundle")
    with writer:
        writer.add("a", b"text")
    current = tmp_path / "b" / "index" / "CURRENT"
    (manifest,) = (tmp_path / "b" / "index").glob("MANIFEST-*")
    assert current.read_text() == f"{manifest.name}\n"
    url = store.put("rounds/sound", tmp_path / "b") + "/"
    with exhume.open(url, storage_options=store.options) as archive:
        assert list(archive.verify()) == []
    current.write_text("MANIFEST-999999\n")
    url = store.put("rounds/lying", tmp_path / "b") + "/"
    store.wire.clear()
    with exhume.open(url, storage_options=store.options) as archive:
        assert isinstance(archive, exhume.MemberArchive)
        assert archive.read_member("a") == b"text"
        assert not any("CURRENT" in one for one in store.wire.requests if one.startswith("GET /evidence/"))
        for _ in range(2):
            assert [finding.code for finding in archive.verify()] == ["LDB-102"]
    current.write_text("MANIFEST-1\n")  # by its size it names another one: read at once
    url = store.put("rounds/short", tmp_path / "b") + "/"
    with pytest.raises(FormatError), exhume.open(url, storage_options=store.options) as archive:
        list(archive.entries())
