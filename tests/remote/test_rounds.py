"""How often a user waits: requests, and sequential round trips, of opening and describing each format.

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
from exhume.formats.ark.derive import write_snippet
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.data_bundle.layout import CONFIG_KEY
from exhume.formats.leveldb.table_writer import build_log
from exhume.io.remote.source import HEAD, TAIL
from exhume.io.source import Cost
from tests.archives import label, own_archives, real_archives
from tests.data_bundle.make_samples import add_history, write_bundle
from tests.leveldb.crafted import build_batch
from tests.remote.server import serving
from tests.remote.store import Store
from tests.remote.wire import Wire
from tests.sizes import size

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


def describe(url: str, options: dict[str, Any], **opening: Any) -> dict[str, Any]:
    with exhume.open(url, storage_options=options, **opening) as archive:
        known: dict[str, Any] = archive.info().to_dict()
        return known


def sparing(format: str) -> dict[str, Any]:
    """How to open an archive that is to be described without a request for each of its parts."""
    return {"by_manifest": True} if format == "ark" else {}


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
@pytest.mark.slow
def test_directories_in_a_bucket(format: str, slash: str, store: Store, archives: dict[str, Path]) -> None:
    url = store.put(f"rounds/{format}", archives[format]) + slash
    number, rounds = EXPECTED[format]
    found: list[dict[str, Any]] = []
    requests, waits = waited(store.wire, lambda: found.append(describe(url, store.options, **sparing(format))), rounds)
    assert len(requests) == number, requests
    assert sum("list-type" in one for one in requests) == 1
    assert waits == rounds, store.wire.noted
    assert found[-1] == describe(str(archives[format]), {}, **sparing(format))


@pytest.mark.parametrize(("format", "more"), [("databundle", 1), ("ark", 1), ("leveldb", 0)])
@pytest.mark.slow
def test_directories_by_index_pages(format: str, more: int, archives: dict[str, Path]) -> None:
    """A page has no sizes, and a directory below is a page of its own: one round trip more for each level."""
    path = archives[format]
    files = {f"a/{p.relative_to(path).as_posix()}": p.read_bytes() for p in path.rglob("*") if p.is_file()}
    with serving(files) as served:
        most = EXPECTED[format][1] + more + 2 * (format == "databundle")  # a table's size comes with its tail
        options = {"skip_instance_cache": True}
        requests, waits = waited(served.wire, lambda: describe(f"{served.url}/a/", options, **sparing(format)), most)
    assert waits <= most, requests
    pages = 1 + len({name.rpartition("/")[0] for name in files} - {"a"})
    assert len(requests) <= pages + len(files) + 2, requests
    assert len(set(requests)) == len(requests)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
@pytest.mark.bulk
def test_small_files_are_one_request(path: Path, store: Store) -> None:
    url = store.put(f"rounds/{path.parent.name}/{path.name}", path)
    requests, waits = waited(store.wire, lambda: describe(url, store.options), 1)
    assert (len(requests), waits) == ((1, 1) if path.stat().st_size <= HEAD else (2, 2)), requests


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert len(store.wire.requests) <= 12, store.wire.requests  # 1,000 records, each examined twice


@pytest.mark.parametrize("path", (own_archives() + real_archives())[:: size(2, 1)], ids=label)
@pytest.mark.bulk
def test_opening_and_describing_is_three_requests_at_most(path: Path, store: Store) -> None:
    """For every archive; and the output of `info` is then the same as locally, or omitted."""
    url = store.put(f"rounds/any/{label(path)}", path) + "/" * path.is_dir()
    opening = sparing(exhume.identify(path)[0].format)
    store.wire.clear()
    reported = describe(url, store.options, **opening)
    assert len(set(store.wire.requests)) == len(store.wire.requests)
    if path.name == "amended":  # two logs: a manifest each, and what a filter cuts through
        assert len(store.wire.requests) == 1 + 2 + 3
    elif path.is_dir() and (path / "schema_tree").exists():  # clp-s: the listing, and four files that are read
        assert len(store.wire.requests) == 1 + 4
    else:
        assert len(store.wire.requests) <= 3, store.wire.requests
    known = describe(str(path), {}, **opening)
    assert reported.keys() == known.keys()
    for key, value in known.items():
        reported_all = not isinstance(reported[key], (dict, list)) or "None" not in str(reported[key])
        assert reported[key] == value or reported[key] is None or not reported_all, key


def test_a_search_of_a_directory_asks_for_each_file_once(samples: Path, store: Store) -> None:
    """A clp-s directory: the listing, then one request for each of its files at most."""
    path = samples / "clp_s" / "directory"
    url = store.put("rounds/directory", path) + "/"
    requests, waits = waited(store.wire, lambda: describe(url, store.options), 2)
    assert (len(requests), waits) == (1 + 4, 2), store.wire.noted
    with exhume.open(path) as local:
        expected = list(local.json_lines("level: *"))  # type: ignore[attr-defined]
    store.wire.clear()
    with exhume.open(url, storage_options=store.options) as archive:
        assert list(archive.json_lines("level: *")) == expected != []  # type: ignore[attr-defined]
    requested = [request.split()[1] for request in store.wire.requests]
    assert len(requested) == len(set(requested)) <= 1 + len(list(path.iterdir()))


@pytest.fixture(scope="module")
def divided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose index is a table and a log."""
    path = tmp_path_factory.mktemp("divided") / "bundle"
    write_bundle(path, shards=2)
    add_history(path)
    return path


def test_rows_of_an_index_of_several_files_are_not_counted(divided: Path, store: Store, exhume_cli: Any) -> None:
    url = store.put("rounds/divided", divided) + "/"
    with exhume.open(url, storage_options=store.options) as archive, exhume.open(divided) as local:
        store.wire.clear()
        reported, known = archive.info().to_dict(), local.info().to_dict()
        assert len(store.wire.requests) <= 1, store.wire.requests  # the header of the first shard
        assert [reported[key] for key in ("files", "directories", "size", "magic")] == [None] * 4
        assert [shard["records"] for shard in reported["shards"]] == [None, None]
        for key in ("compression", "record_size", "stored_size"):
            assert reported[key] == known[key]
        assert archive.stats() == local.stats()
        assert archive.info().to_dict() == known
        assert list(archive.entries()) == list(local.entries())
    ran = exhume_cli("info", url, *store.arguments)
    assert (ran.code, "--stats" in ran.err) == (0, True)
    ran = exhume_cli("info", url, "--stats", *store.arguments)
    here = exhume_cli("info", divided, "--stats")
    assert (ran.code, ran.err, ran.out.splitlines()[1:]) == (0, "", here.out.splitlines()[1:])


def test_a_large_index_is_not_counted(archives: dict[str, Path], store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.formats.data_bundle.names.SMALL_TABLES", 400_000)
    monkeypatch.setattr("exhume.formats.leveldb.names.SMALL_TABLES", 400_000)
    url = store.put("rounds/heavy", archives["databundle"]) + "/"
    store.wire.clear()
    assert describe(url, store.options)["files"] is None
    assert len(store.wire.requests) == 3, store.wire.requests
    with exhume.open(url, storage_options=store.options) as archive:
        assert isinstance(archive, exhume.MemberArchive)
        assert sum(entry.kind == "file" for entry in archive.entries()) == 15_000


def test_the_header_that_replaces_it_may_be_damaged(divided: Path, store: Store, tmp_path: Path) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(divided, copy)
    (copy / "shard-00000000").write_bytes(b"")
    reported = describe(store.put("rounds/headless", copy) + "/", store.options)
    assert (reported["compression"], reported["files"]) == (None, None)
    for shard in copy.glob("shard-*"):
        shard.unlink()
    url = store.put("rounds/shardless", copy) + "/"
    with exhume.open(url, format="databundle", storage_options=store.options) as archive:
        assert archive.info().to_dict()["shards"] == []


def test_an_index_of_several_files_is_checked_when_it_is_read(divided: Path, store: Store, tmp_path: Path) -> None:
    """Its configuration row: opening takes no request for it."""
    copy = tmp_path / "bundle"
    shutil.copytree(divided, copy)
    log = copy / "index" / "000003.log"
    log.write_bytes(build_log([build_batch(1 << 20, [(0, CONFIG_KEY, b"")])]))
    with pytest.raises(FormatError, match="DBND-101"):
        exhume.open(copy)
    with exhume.open(store.put("rounds/unset", copy) + "/", storage_options=store.options) as archive:
        assert isinstance(archive, exhume.MemberArchive)
        for act in (lambda: list(archive.names()), lambda: archive.read_member("readme.txt")):
            with pytest.raises(FormatError, match="DBND-101"):
                act()
        assert "DBND-101" in {finding.code for finding in archive.verify()}


def test_old_manifests_are_read_where_they_state_something(
    archives: dict[str, Path], store: Store, tmp_path: Path
) -> None:
    copy = tmp_path / "db"
    shutil.copytree(archives["leveldb"], copy)
    (current,) = copy.glob("MANIFEST-*")
    (copy / "MANIFEST-000001").write_bytes(current.read_bytes())
    url = store.put("rounds/two-manifests", copy) + "/"
    store.wire.clear()
    assert describe(url, store.options) == describe(str(copy), {})
    assert len(store.wire.requests) == 3, store.wire.requests  # the listing, CURRENT, the newer manifest
    (copy / "000001.ldb").write_bytes(b"left over")
    url = store.put("rounds/left-over", copy) + "/"
    store.wire.clear()
    assert describe(url, store.options) == describe(str(copy), {})
    assert len(store.wire.requests) == 4, store.wire.requests


def test_a_large_caf_index_is_read_once(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer: Any = exhume.create(tmp_path / "x.caf", "caf")
    with writer:
        for i in range(12_000):
            writer.add_bytes(f"a-rather-long-directory-name/member-{i:08}", b"%d" % i * 20)
    url = store.put("rounds/x.caf", tmp_path / "x.caf")
    for eager in (8 << 20, 1000):  # an index that is larger than that is not read on opening
        monkeypatch.setattr("exhume.io.remote.source.NETWORK_COST", Cost(wait=64 << 10, piece=eager, parallel_reads=16))
        store.wire.clear()
        assert describe(url, store.options)["files"] == 12_000
        assert len(store.wire.requests) == 3, store.wire.requests
    with exhume.open(url, storage_options=store.options) as archive:
        assert isinstance(archive, exhume.MemberArchive)
        assert archive.read_member("a-rather-long-directory-name/member-00000007") == b"7" * 20
    data = (tmp_path / "x.caf").read_bytes()
    start = data.index(b'{"format_version"')
    (tmp_path / "x.caf").write_bytes(data[:start] + b"x" + data[start + 1 :])
    url = store.put("rounds/x.caf", tmp_path / "x.caf")
    acts: list[Callable[[exhume.MemberArchive], object]] = [
        lambda archive: archive.info(),
        lambda archive: archive.read_member("a"),
        lambda archive: list(archive.names()),
    ]
    for act in acts:
        with exhume.open(url, storage_options=store.options) as archive, pytest.raises(FormatError, match="CAF-104"):
            assert isinstance(archive, exhume.MemberArchive)
            act(archive)


@pytest.mark.slow
def test_structures_of_a_clp_s_archive_come_together(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer: Any = exhume.create(tmp_path / "x.clps", "clp-s")
    rnd = random.Random(9)
    with writer:
        for i in range(25_000):
            writer.write({f"key{rnd.getrandbits(50):x}": i})
    url = store.put("rounds/x.clps", tmp_path / "x.clps")
    store.wire.clear()
    assert describe(url, store.options)["schemas"] == 25_000
    assert len(store.wire.requests) == 2, store.wire.requests
    # Not all at once, however large they are.
    monkeypatch.setattr("exhume.formats.clp_s.read.container.STRUCTURES_TOGETHER", 1000)
    store.wire.clear()
    assert describe(url, store.options)["schemas"] == 25_000
    assert len(store.wire.requests) == 4, store.wire.requests


def test_what_a_filter_cuts_is_an_estimate(store: Store, tmp_path: Path) -> None:
    """A split that a filter hides in part counts in full until someone requests more than `info`."""
    log: Any = exhume.create(tmp_path / "log", "ark", split_bytes=20_000)
    with log:
        for topic in ("a", "b"):
            log.channel(topic, column=topic)
        for i in range(400):
            log.write("ab"[i % 2], i * 1000, bytes(1000))
    with exhume.open(tmp_path / "log") as whole:
        assert isinstance(whole, ArkArchive)
        part = write_snippet(whole, start_ns=50_000, stop_ns=333_000, name="part").path
    known = describe(str(part), {})
    url = store.put("rounds/filtered", tmp_path / "log") + f"/manifests/{part.name}"
    store.wire.clear()
    reported = describe(url, store.options, by_manifest=True)
    assert len(store.wire.requests) <= 3, store.wire.requests
    assert reported == describe(str(part), {}, by_manifest=True)
    assert known["messages"] == 283
    assert known["messages"] < reported["messages"] < 400
    assert 50_000 == reported["minimum_ns"] == known["minimum_ns"]
    assert known["maximum_ns"] <= reported["maximum_ns"] < 333_000
    assert all(row["is_estimate"] for row in reported["channels"])
    assert not any(row["is_estimate"] for row in known["channels"])
    with exhume.open(url, storage_options=store.options, by_manifest=True) as archive:
        assert isinstance(archive, ArkArchive)
        store.wire.clear()
        assert [row.to_dict() for row in archive.channel_table()] == known["channels"]
        cut = len(store.wire.requests)
        assert 0 < cut <= 4, store.wire.requests  # the splits at both ends of both columns


@pytest.mark.slow
def test_a_log_is_counted_by_its_manifest_where_that_is_requested(archives: dict[str, Path], store: Store) -> None:
    """Whether or not its splits are intact (`verify` finds that); otherwise by the splits, in any folder."""
    url = store.put("rounds/counted", archives["ark"]) + "/"
    name = next((archives["ark"] / "splits").iterdir()).name
    damaged = archives["ark"].parent / "damaged"
    shutil.copytree(archives["ark"], damaged)
    (damaged / "splits" / name).write_bytes(bytes(1000))
    broken = store.put("rounds/miscounted", damaged) + "/"
    by_manifest = [describe(one, store.options, by_manifest=True)["messages"] for one in (broken, url)]
    assert by_manifest == [4000, 4000]
    assert describe(broken, store.options) == describe(str(damaged), {}) != describe(url, store.options)
    options: dict[str, Any] = {"storage_options": store.options, "by_manifest": True}
    with exhume.open(broken, **options) as archive, exhume.open(damaged) as local:
        reported = archive.info().to_dict()
        rows = archive.stats()["split_indexes"]
        assert {row["split"] for row in rows if "problem" in row} == {name}
        assert reported != archive.info().to_dict() == local.info().to_dict()  # by the indexes now
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
