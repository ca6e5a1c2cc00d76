"""How many requests each operation costs, and which bytes it touches; archives too large to come with their head."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
import pytest

import exhume
from exhume.formats.caf.catalog import open_catalog
from exhume.io.remote import readahead
from exhume.io.remote.opening import open_url
from exhume.io.remote.readahead import AdaptiveConcurrency
from exhume.io.remote.source import HEAD, TAIL, RemoteSource
from tests.remote.server import Served, serving

pytest.importorskip("aiohttp", reason="the extra cloud (fsspec[http]) is not installed")
Opened = Callable[..., Any]


class Requested:
    """An archive on a counting server; `since` empties the count."""

    def __init__(self, served: Served, url: str) -> None:
        self.served, self.url = served, url

    def open(self, **options: Any) -> Any:
        return exhume.open(self.url, storage_options={"skip_instance_cache": True}, **options)

    @contextmanager
    def at_most(self, number: int, least: int = 0) -> Iterator[None]:
        self.served.requests.clear()
        yield
        assert least <= len(self.served.requests) <= number, self.served.requests

    def ranges(self) -> list[tuple[int, int]]:
        """Half-open byte ranges that were requested."""
        words = [wanted.removeprefix("bytes=").split("-") for _, _, wanted in self.served.requests]
        return [(int(start), int(end) + 1) for start, end in words]


@contextmanager
def requested(path: Path) -> Iterator[Requested]:
    if path.is_file():
        with serving({path.name: path.read_bytes()}) as served:
            yield Requested(served, f"{served.url}/{path.name}")
        return
    files = {f"a/{p.relative_to(path).as_posix()}": p.read_bytes() for p in path.rglob("*") if p.is_file()}
    with serving(files) as served:
        yield Requested(served, f"{served.url}/a/")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


@pytest.fixture(scope="module")
def caf(folder: Path) -> Path:
    rnd = random.Random(1)
    writer: Any = exhume.create(folder / "x.caf", "caf")
    with writer:
        for i in range(300):
            writer.add_bytes(f"dir{i % 7}/f{i:04}", rnd.randbytes(10_000))
    return folder / "x.caf"


@pytest.fixture(scope="module")
def zs(folder: Path) -> Path:
    rnd = random.Random(2)
    writer: Any = exhume.create(folder / "x.zs", "zs", codec="none", block_size=8192, branching_factor=6)
    with writer:
        writer.add_records(sorted(b"%08x" % rnd.getrandbits(32) + b"x" * 184 for _ in range(6000)))
    return folder / "x.zs"


@pytest.fixture(scope="module")
def clps(folder: Path) -> Path:
    rnd = random.Random(3)
    writer: Any = exhume.create(folder / "x.clps", "clp-s", min_table_size=1 << 14)
    with writer:
        for i in range(12_000):
            kind = i % 8
            writer.write(
                {"kind": kind, f"only{kind}": i, "message": f"task {i} on node {rnd.randbytes(8).hex()}",
                 "blob": rnd.randbytes(40).hex(), "noise": rnd.getrandbits(60)}
            )  # fmt: skip
    return folder / "x.clps"


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Path:
    rnd = random.Random(4)
    writer: Any = exhume.create(folder / "bundle", "databundle", shards=3, record_size=64 << 10)
    with writer:
        for i in range(300):
            writer.add(f"dir{i % 7}/f{i:04}", rnd.randbytes(10_000))
    return folder / "bundle"


@pytest.fixture(scope="module")
def ark(folder: Path) -> Path:
    rnd = random.Random(5)
    writer: Any = exhume.create(folder / "ark", "ark", split_bytes=700_000)
    with writer:
        for number in range(4):
            writer.channel(f"topic{number}", column=f"column{number}")
        for i in range(4000):
            writer.write(f"topic{i % 4}", i * 1000, rnd.randbytes(1000))
    return folder / "ark"


@pytest.mark.parametrize("name", ["caf", "zs", "clps"])
def test_opening_and_describing_a_large_file(name: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(name)
    assert path.stat().st_size > HEAD + TAIL
    with requested(path) as server, server.at_most(2, 1), server.open() as archive:
        archive.info().to_dict()
        assert all(end <= HEAD or start >= path.stat().st_size - TAIL for start, end in server.ranges())


@pytest.mark.parametrize("name", ["x.clp", "x.clp.zst"])
def test_a_stream_is_read_once_from_front_to_back(name: str, folder: Path) -> None:
    """Opening reads the head alone; what goes over all events requests each byte once."""
    rnd = random.Random(9)
    writer: Any = exhume.create(folder / name, "kv-ir", metadata={"host": "a1"})
    with writer:
        for i in range(12_000):
            writer.write({"id": i, "text": f"{rnd.getrandbits(800):x}"}, {"level": {"num": i % 50}})
    size = (folder / name).stat().st_size
    assert size > HEAD + TAIL
    with requested(folder / name) as server:
        with server.at_most(2, 1), server.open() as archive:
            assert archive.user_metadata == {"host": "a1"}
            assert all(end <= 2 * HEAD for _, end in server.ranges())
        with server.at_most(8), server.open() as archive:
            assert sum(1 for _ in archive.events()) == 12_000
            covered = sorted(server.ranges())
            assert sum(end - start for start, end in covered) <= size + HEAD + TAIL
        with server.at_most(8), server.open() as archive:
            assert sum(1 for _ in archive.search("@level.num: 7 and id < 6000")) == 120
        with server.at_most(8):
            assert list(exhume.verify(server.url, storage_options={"skip_instance_cache": True})) == []


@pytest.mark.parametrize("name", ["text.clp", "text.clp.zst"])
def test_a_stream_of_text_is_read_once_from_front_to_back(name: str, folder: Path) -> None:
    rnd = random.Random(10)
    with exhume.clpir.create(folder / name) as writer:
        for i in range(12_000):
            writer.write(1_700_000_000_000 + i, f" INFO id {i} has {rnd.getrandbits(800):x}\n")
    size = (folder / name).stat().st_size
    assert size > HEAD + TAIL
    with requested(folder / name) as server:
        with server.at_most(2, 1), server.open() as archive:
            assert archive.zone == "UTC"
            assert all(end <= 2 * HEAD for _, end in server.ranges())
        with server.at_most(8), server.open() as archive:
            assert sum(1 for _ in archive.events()) == 12_000
            assert sum(end - start for start, end in server.ranges()) <= size + HEAD + TAIL
        with server.at_most(8), server.open() as archive:
            assert [event.time_ms for event in archive.search("id 77?7 has")] == list(
                range(1_700_000_007_707, 1_700_000_007_807, 10)
            )
        with server.at_most(8):
            assert list(exhume.verify(server.url, storage_options={"skip_instance_cache": True})) == []


def test_a_large_index_is_one_more(folder: Path) -> None:
    writer: Any = exhume.create(folder / "many.caf", "caf")
    with writer:
        for i in range(12_000):
            writer.add_bytes(f"a-rather-long-directory-name/member-{i:08}", b"%d" % i)
    with requested(folder / "many.caf") as server:
        with server.at_most(3, 3):
            archive = server.open()
            archive.info().to_dict()
        assert archive.index_size > TAIL
        archive.close()


def test_one_caf_member_is_one_request(caf: Path) -> None:
    with requested(caf) as server, server.open() as archive:
        for name in ("dir3/f0101", "dir0/f0007"):
            with server.at_most(1, 1):
                assert len(archive.read_member(name)) == 10_000
            entry = archive.stat(name)
            assert server.ranges() == [(entry.offset, entry.offset + entry.size)]
        with server.at_most(1, 1):
            archive.read_member("dir3/f0101", 100, 200)
        with server.at_most(1, 1):  # neighbors share one
            assert len(list(archive.read_members([f"dir{i % 7}/f{i:04}" for i in range(50, 80)]))) == 30


def test_one_zs_lookup_is_one_request_per_level(zs: Path) -> None:
    with requested(zs) as server, server.open() as archive:
        depth = archive.info().to_dict()["statistics"]["root_index_level"]
        assert depth >= 3
        for prefix in (b"7777", b"20", b"abc"):
            with exhume.open(zs) as local:
                wanted = next(iter(local.records(prefix=prefix)), None)  # type: ignore[attr-defined]
            with server.at_most(depth + 1, 1):
                assert next(iter(archive.records(prefix=prefix)), None) == wanted
            assert sum(end - start for start, end in server.ranges()) < 100_000


def test_listing_the_blocks_of_a_zs_file_reads_the_index(zs: Path) -> None:
    with exhume.open(zs) as local:
        sections = [(section.name, section.span.start, section.span.end) for section in local.sections()]
        index = sum(end - start for name, start, end in sections if name.startswith("index-"))
        assert [(s.name, s.span.start, s.span.end) for s in local.outline()] == sections
        block = local.read_section("data-100")
    assert index < zs.stat().st_size / 10
    with requested(zs) as server:
        fs = fsspec.filesystem(
            "zs", fo=server.url, target_options={"skip_instance_cache": True}, skip_instance_cache=True
        )
        server.served.requests.clear()
        names = {entry["name"] for entry in fs.ls("", detail=True)}
        assert {name for name, _, _ in sections if not name.startswith("/")} <= names
        assert sum(end - start for start, end in server.ranges()) <= HEAD + TAIL + 3 * index
        with server.at_most(1, 1):
            assert fs.cat("data-100") == block
        fs.close()


def test_verify_reads_a_clp_s_archive_after_its_head_once(clps: Path) -> None:
    with requested(clps) as server:
        with server.open() as archive:
            assert list(archive.verify()) == []
        assert sum(end - start for start, end in server.ranges()) <= clps.stat().st_size + HEAD


def test_a_query_reads_the_tables_and_dictionaries_that_it_needs(clps: Path) -> None:
    with exhume.open(clps) as local:
        sections = {section.name: section for section in local.sections()}
        wanted = list(local.events(query="only3: 3003"))  # type: ignore[attr-defined]
        stream = next(s.parent for s in local.sections() if s.name == "table-3")
    assert len(wanted) == 1
    assert sum(name.startswith("stream-") for name in sections) >= 4

    def inside(names: list[str], ranges: list[tuple[int, int]]) -> bool:
        spans = sorted((sections[n].span.start, sections[n].span.end) for n in names)
        return all(any(low <= start and end <= high for low, high in _joined(spans)) for start, end in ranges)

    dictionaries = ["/var.dict", "/log.dict", "/array.dict"]
    with requested(clps) as server:
        with server.open() as archive:
            archive.info().to_dict()
            with server.at_most(1, 1):  # counting on a number needs the table and no dictionary
                assert archive.search("only3: 3003").count() == 1
            assert inside([str(stream)], server.ranges())
            with server.at_most(2, 1):  # the record's text needs the dictionaries too
                assert list(archive.events(query="only3: 3003")) == wanted
            assert inside(dictionaries, server.ranges())
            with server.at_most(0):  # what the schema tree answers needs nothing
                assert list(archive.events(query="nowhere: 1")) == []
        with server.at_most(4, 2), server.open() as archive:
            assert list(archive.events(query="only3: 3003")) == wanted
        assert inside([*dictionaries, str(stream)], [found for found in server.ranges() if found != (0, HEAD)])


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted spans with neighbors made one."""
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def test_a_bundle(bundle: Path) -> None:
    with exhume.open(bundle) as local:
        data = local.read_member("dir3/f0101")  # type: ignore[attr-defined]
        files = len(local.source.names())  # type: ignore[union-attr]
    with requested(bundle) as server:
        with server.at_most(files + 4):  # index pages, and each file's head
            archive = server.open()
            archive.info().to_dict()
        with server.at_most(1, 1):
            assert archive.read_member("dir3/f0101") == data
        assert sum(end - start for start, end in server.ranges()) <= 3 * (64 << 10)
        with server.at_most(0):
            assert len(list(archive.list_directory("dir3"))) == 43
            assert archive.read_member("dir3/f0101") == data
        archive.close()


def test_one_topic_of_a_log(ark: Path) -> None:
    with requested(ark) as server, server.open() as archive:
        splits = [name for name in server.served.files if "/splits/" in name]
        assert len(splits) == 8
        with server.at_most(4, 2):  # two splits: head with the index, and the messages
            assert sum(1 for _ in archive.messages(topics=["topic2"], decode=False)) == 1000
        touched = {path.lstrip("/") for _, path, _ in server.served.requests}
        assert len(touched) == 2
        with server.at_most(3, 1):
            found = archive.messages(topics=["topic1"], decode=False, start_ns=1_000_000, stop_ns=1_010_000)
            assert sum(1 for _ in found) == 3
        assert sum(end - start for start, end in server.ranges()) < 2 * HEAD + 100_000


def test_file_systems_ask_no_more(caf: Path, tmp_path: Path) -> None:
    with requested(caf) as server:
        with server.at_most(2, 2):
            fs = fsspec.filesystem("caf", fo=server.url, skip_instance_cache=True)
            assert len(fs.cat("dir3/f0101")) == 10_000
        with server.at_most(0):
            assert len(fs.find("")) == 300
            assert fs.isdir("dir3")
        with server.at_most(1, 1):
            names = [f"dir{i % 7}/f{i:04}" for i in range(50, 80)]
            assert [len(data) for data in fs.cat_ranges(names, 0, 5000)] == [5000] * 30
        fs.close()
        with open_catalog(str(tmp_path / "c.db"), create=True) as catalog:
            catalog.build([server.url])
        root = server.url.rpartition("/")[0]
        fs = fsspec.filesystem("cafcat", fo=str(tmp_path / "c.db"), chunks_in=[root], skip_instance_cache=True)
        with server.at_most(1, 1):
            assert len(fs.cat("dir3/f0101")) == 10_000
        fs.close()


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 512 KiB; more at a time are always faster."""
    monkeypatch.setattr(readahead, "PREFETCH_SIZE", 512 << 10)
    monkeypatch.setattr(readahead, "AdaptiveConcurrency", lambda: AdaptiveConcurrency(clock=lambda: 0.0))
    monkeypatch.setattr("exhume.io.remote.RETRY_DELAY", 0.1)


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("most", [None, 4, 2])
def test_what_is_read_in_order_is_several_requests_at_a_time(most: int | None) -> None:
    """... as many as the server takes."""
    data = random.Random(8).randbytes(16 << 20)
    with serving({"x": data}, delay=0.02) as served:
        remote = open_url(f"{served.url}/x", {"skip_instance_cache": True, "allow_full_download": True})
        assert isinstance(remote, RemoteSource)
        served.most_together = most
        served.requests.clear()
        remote.will_read(0, len(data))
        assert b"".join(remote.chunks()) == data
        sent = len(served.requests) - served.failures
        if most is None:
            assert served.wire.most > 4
            assert served.failures == 0
        else:
            assert served.wire.most > most
            assert 0 < served.failures < sent
        assert sent <= len(data) // (512 << 10) + 2


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("name", ["caf", "zs", "clps", "bundle", "ark"])
def test_reading_all_of_an_archive_takes_no_more_requests(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """... for being several at a time."""

    def read(server: Requested) -> tuple[int, list[str], Any]:
        server.served.requests.clear()
        storage = {"skip_instance_cache": True, "allow_full_download": True}
        found = [str(finding) for finding in exhume.verify(server.url, storage_options=storage)]
        with server.open() as archive:
            if name in ("caf", "bundle"):
                archive.will_read_all()
                content: Any = {member: archive.read_member(member) for member in archive.names()}
            elif name == "ark":
                content = [message.data for message in archive.messages(decode=False)]
            else:
                content = list(archive.records() if name == "zs" else archive.json_lines())
        return len(server.served.requests), found, content

    with requested(request.getfixturevalue(name)) as server:
        requests, found, content = read(server)
        monkeypatch.setattr(RemoteSource, "_fetch_ahead", lambda self, start, stop: None)
        one_at_a_time = read(server)
    assert one_at_a_time[1:] == (found, content)
    assert requests <= one_at_a_time[0]
