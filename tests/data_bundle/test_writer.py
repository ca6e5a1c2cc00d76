"""Bundles written and read back; the index opened by LevelDB and RocksDB; diff, history, salvage; evidence
untouched.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.errors import EntryNotFoundError, SourceError, WriterError
from exhume.findings import Severity
from exhume.formats.data_bundle.history import History
from exhume.formats.data_bundle.index import FileRow
from exhume.formats.data_bundle.messages import UserData
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.data_bundle.salvage import salvage
from exhume.formats.data_bundle.writer import DataBundleWriter
from exhume.io.local import LocalTree
from exhume.recovery import SalvageMode
from exhume.testing.damage import flip
from tests.data_bundle.build import pack_members
from tests.data_bundle.make_samples import MEMBERS, add_history, write_bundle

name = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=5).filter(
    lambda text: text not in (".", "..")
)
content = st.one_of(
    st.binary(max_size=300),
    st.integers(0, 5000).map(bytes),
    st.tuples(st.binary(min_size=1, max_size=9), st.integers(0, 900)).map(lambda pair: pair[0] * pair[1]),
)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, bytes]:
    """Files by path; no path is both a file and a directory."""
    out: dict[str, bytes] = {}
    for parts, data in draw(st.lists(st.tuples(st.lists(name, min_size=1, max_size=3), content), max_size=7)):
        path = "/".join(parts)
        clash = any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in out)
        if not clash and len(path.encode()) < 200:
            out[path] = data
    return out


@settings(max_examples=25)
@given(
    trees(),
    st.sampled_from([("zlib", None), ("snappy", None), ("none", None), ("none", False)]),
    st.sampled_from([1, 7, 64, 4096]),
    st.sampled_from([1, 10, 1000, 262144]),
    st.integers(1, 4),
    st.integers(0, 6000),
    st.integers(0, 6000),
)
@pytest.mark.slow
def test_trees_come_back(
    tmp_path_factory: pytest.TempPathFactory,
    members: dict[str, bytes],
    codec: tuple[str, bool | None],
    alignment: int,
    record_size: int,
    shards: int,
    start: int,
    stop: int,
) -> None:
    if record_size < 10:
        members = {path: data[:50] for path, data in members.items()}
    path = tmp_path_factory.mktemp("b") / "bundle"
    options: dict[str, Any] = {"alignment": alignment, "record_size": record_size, "shards": shards}
    pack_members(path, members, compression=codec[0], raw_packed=codec[1], **options)
    with DataBundleArchive(LocalTree(path)) as archive:
        assert {n: archive.read_member(n) for n in archive.names() if archive.stat(n).kind == "file"} == members
        for member, data in members.items():
            assert archive.read_member(member, start, stop) == data[start:stop]
            assert b"".join(archive.iter_member(member, 100)) == data
        assert [str(f) for f in archive.verify() if f.severity is not Severity.NOTE and f.code != "DBND-317"] == []
        assert archive.sections().gaps() == []
        assert archive.sections().overlaps == []
    shutil.rmtree(path)


def test_large_files_start_their_own_record(tmp_path: Path) -> None:
    members = {"a": b"x" * 100, "b": b"y" * ((1 << 20) + 5), "c": b"z" * 10, "d": bytes(1 << 20), "e": b"end"}
    pack_members(tmp_path / "b", members)
    with DataBundleArchive(LocalTree(tmp_path / "b")) as archive:
        shard = archive.view.shard(0)
        large = 1 << 20
        assert shard.starts[:2] == [0, 100]
        assert shard.starts[1:6] == [100 + n * 131072 for n in range(5)]
        assert 100 + large + 15 in shard.starts  # d begins a record; the tail of b and c share one
        zeros = [place is None for place in shard.places]
        assert sum(zeros) == 8
        assert {n: archive.read_member(n) for n in archive.names()} == members


def test_jobs_change_nothing_and_ranges_decode_little(tmp_path: Path) -> None:
    members = {f"f{n:03d}": os.urandom(3000) for n in range(100)}
    for jobs in (1, 3):
        pack_members(tmp_path / str(jobs), members, jobs=jobs, shards=3, record_size=10_000)
    one, three = (
        {p.relative_to(tmp_path / d).as_posix(): p.read_bytes() for p in (tmp_path / d).rglob("*") if p.is_file()}
        for d in ("1", "3")
    )
    assert one == three
    with DataBundleArchive(LocalTree(tmp_path / "1")) as archive:
        decoded: list[int] = []
        shard = archive.view.shard(archive.row("f050").meta.shard_index)
        original = shard.decode

        def counting(index: int) -> Any:
            decoded.append(index)
            return original(index)

        shard.decode = counting  # type: ignore[method-assign]
        assert archive.read_member("f050", 10, 20) == members["f050"][10:20]
        assert len(decoded) == 1


@pytest.mark.conformance
@pytest.mark.parametrize("codec", ["none", "snappy"])
def test_other_databases_open_the_index(tmp_path: Path, codec: str) -> None:
    members = {f"dir{n % 17}/file {n}.txt": b"%d" % n for n in range(3000)}
    pack_members(tmp_path / "b", members, index_compression=codec)
    with DataBundleArchive(LocalTree(tmp_path / "b")) as archive:
        rows = list(archive.database.scan())
    assert len(rows) > 3000
    for module, open_rows in (("plyvel", _plyvel_rows), ("rocksdict", _rocksdict_rows)):
        pytest.importorskip(module)
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(tmp_path / "b" / "index", tmp_path / "copy")
        assert open_rows(tmp_path / "copy") == rows


def _plyvel_rows(path: Path) -> list[tuple[bytes, bytes]]:
    import plyvel

    with plyvel.DB(str(path), paranoid_checks=True) as database:
        return list(database)


def _rocksdict_rows(path: Path) -> list[tuple[bytes, bytes]]:
    import rocksdict

    opened: Any = rocksdict.Rdict(
        str(path), rocksdict.Options(raw_mode=True), access_type=rocksdict.AccessType.read_only()
    )
    try:
        return list(opened.items())
    finally:
        opened.close()


def test_members_that_cannot_be_stored(tmp_path: Path) -> None:
    with DataBundleWriter(tmp_path / "b") as writer:
        writer.add("a/b", b"1")
        for bad in ("", "/abs", "a/../b", "a//b", "a/b", "a", "x\0y", "a/b/c", "n" * 300):
            with pytest.raises(WriterError):
                writer.add(bad, b"2")
        with pytest.raises(WriterError):
            writer.add_directory("a/b")
        with pytest.raises(SourceError):
            writer.add_path(tmp_path / "missing", "missing")
        with pytest.raises(WriterError):
            writer.add_path(tmp_path, "folder")
    for options in (
        {"compression": "lz4"}, {"level": 13}, {"record_size": 0}, {"shards": 0}, {"shards": 10**9}, {"alignment": 0},
        {"raw_packed": True},
    ):  # fmt: skip
        with pytest.raises(WriterError):
            DataBundleWriter(tmp_path / "c", **options)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b"]


def test_a_file_that_changes_while_it_is_packed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    with pytest.raises(WriterError), DataBundleWriter(tmp_path / "b") as writer:
        writer.add_path(tmp_path / "f", "f")
        (tmp_path / "f").write_bytes(b"123456")
    assert not (tmp_path / "b").exists()
    with pytest.raises(WriterError), DataBundleWriter(tmp_path / "b") as writer:
        writer.add_reader("f", 5, lambda start, stop: b"short"[: stop - start - 1])


def test_a_path_is_its_name_unless_another_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f").write_bytes(b"1")
    with DataBundleWriter(tmp_path / "b") as writer:
        writer.add_path("f")
        writer.add_path(path="f", name="dir/g")
    with exhume.databundle.open(tmp_path / "b") as bundle:
        assert sorted(bundle.names()) == ["dir", "dir/g", "f"]


def test_directories_are_listed_by_prefix(tmp_path: Path) -> None:
    members = {"a/x/1": b"", "a/x/2": b"", "a/y": b"", "ab": b"", "a-b/c": b"", "z/deep/er/f": b""}
    pack_members(tmp_path / "b", members, ["empty"])
    with DataBundleArchive(LocalTree(tmp_path / "b")) as archive:
        top = {(e.name, e.kind) for e in archive.list_directory()}
        assert top == {
            ("a", "directory"),
            ("ab", "file"),
            ("a-b", "directory"),
            ("z", "directory"),
            ("empty", "directory"),
        }
        assert sorted(e.name or "" for e in archive.list_directory("a/")) == ["a/x", "a/y"]
        assert [e.name for e in archive.list_directory("z/deep")] == ["z/deep/er"]
        assert list(archive.list_directory("nowhere")) == []
        with pytest.raises(EntryNotFoundError):
            archive.read_member("nowhere")


def test_directories_without_rows_are_found_by_seeking(tmp_path: Path) -> None:
    from exhume.formats.data_bundle.layout import CONFIG_KEY, file_key
    from exhume.formats.data_bundle.messages import BundleConfig, FileMetadata
    from exhume.formats.leveldb.table_writer import write_database

    paths = [f"{top}/{sub}/f{n}" for top in ("a", "b c", "é") for sub in ("s", "t") for n in range(3)]
    rows = {CONFIG_KEY: BundleConfig(compression=1).build()}
    rows |= {file_key(path).build(): FileMetadata(1).build() for path in paths}
    index = tmp_path / "b" / "index"
    index.mkdir(parents=True)
    write_database(lambda name: (index / name).open("xb"), sorted(rows.items()))
    with DataBundleArchive(LocalTree(tmp_path / "b")) as archive:
        assert [(e.name, e.details) for e in archive.list_directory()] == [
            (top, {"implied": True}) for top in ("a", "b c", "é")
        ]
        assert [e.name for e in archive.list_directory("b c")] == ["b c/s", "b c/t"]


@pytest.fixture
def aged(tmp_path: Path) -> Path:
    """A bundle with a deleted and a replaced file."""
    write_bundle(tmp_path / "aged", shards=2)
    add_history(tmp_path / "aged")
    return tmp_path / "aged"


def test_past_states_report_damage_of_an_unused_log(aged: Path, exhume_cli: Callable[..., Any]) -> None:
    log = next((aged / "index").glob("*.log"))
    (aged / "index" / "000001.log").write_bytes(flip(log.read_bytes(), 20))
    assert exhume_cli("list", aged).code == 0
    for call in (["list", "--all-versions"], ["list", "--sequence", 9999], ["cat", "--sequence", 9999, "--json"]):
        result = exhume_cli(*call, aged)
        assert (result.code, "warning: index/000001.log: " in result.err, "LDB-20" in result.err) == (0, True, True), (
            call
        )


def test_old_files_can_be_read(aged: Path, exhume_cli: Callable[..., Any]) -> None:
    with DataBundleArchive(LocalTree(aged)) as archive:
        last = archive.database.last_sequence() - 2
        assert "readme.txt" not in archive
        assert archive.read_member("data/mixed.bin") == b""
        versions = [
            (v.path, str(v.version.status), v.checksum_status) for v in archive.versions() if v.version.status != "live"
        ]
        assert ("readme.txt", "tombstone", None) in versions
        assert ("readme.txt", "deleted", "good") in versions
        assert ("data/mixed.bin", "replaced", "good") in versions
        assert archive.stats()["old_files"] == {"good": 2}
        assert {f.code for f in archive.verify()} >= {"DBND-402", "DBND-321"}
    assert exhume_cli("cat", "--sequence", last, aged, "readme.txt").out == MEMBERS["readme.txt"]
    assert exhume_cli("cat", "--sequence", last, aged, "data/mixed.bin").out == MEMBERS["data/mixed.bin"]
    assert exhume_cli("cat", "--sequence", 1, aged, "readme.txt").code == 1


def test_a_directory_that_is_not_there(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    write_bundle(tmp_path / "b")
    for name, code, text in (
        ("nowhere", 1, "no such member"), ("readme.txt", 1, "not a directory"), ("nothing here/", 0, ""), ("", 0, ""),
    ):  # fmt: skip
        ran = exhume_cli("list", "--directory", name, tmp_path / "b")
        assert (ran.code, text in ran.err, bool(ran.err)) == (code, True, bool(text))
        ran = exhume_cli("list", "--directory", name, tmp_path / "b", "--json")
        assert (ran.code, bool(ran.out)) == (code, not code)


def test_statistics_read_old_files_only(aged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    prove = History.prove

    def noting(self: History, row: FileRow) -> Any:
        read.append(row.path)
        return prove(self, row)

    monkeypatch.setattr(History, "prove", noting)
    with DataBundleArchive(LocalTree(aged)) as archive:
        assert archive.stats()["row_versions"]["live"] > 2
    assert sorted(read) == ["data/mixed.bin", "readme.txt"]


def test_salvage_of_a_damaged_bundle(tmp_path: Path) -> None:
    path = tmp_path / "b"
    write_bundle(path, shards=2)
    shard = path / "shard-00000001"
    data = shard.read_bytes()
    shard.write_bytes(flip(data, 80))
    report = exhume_salvage(path, tmp_path / "out")
    assert report.lost["records"] == 1
    with exhume.open(tmp_path / "out") as archive:
        assert isinstance(archive, DataBundleArchive)
        saved = {n: archive.read_member(n) for n in archive.names() if archive.stat(n).kind == "file"}
        assert archive.stat("nothing here").kind == "directory"
    assert saved
    assert len(saved) < len(MEMBERS)
    assert all(MEMBERS[name] == content for name, content in saved.items())
    files = exhume_salvage(path, tmp_path / "files", mode=SalvageMode.FILES)
    assert files.recovered["files"] == len(saved)
    assert (tmp_path / "files" / "nothing here").is_dir()
    total = sum(outcome.span.size for outcome in report.spans)
    assert total == sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


def exhume_salvage(path: Path, out: Path, **options: Any) -> Any:
    with LocalTree(path) as tree:
        return salvage(tree, out, **options)


def test_salvage_of_deleted_files_and_of_a_lost_manifest(aged: Path, tmp_path: Path) -> None:
    kept = exhume_salvage(aged, tmp_path / "kept", mode=SalvageMode.FILES)
    assert not (tmp_path / "kept" / "readme.txt").exists()
    assert kept.complete
    exhume_salvage(aged, tmp_path / "all", mode=SalvageMode.FILES, include_deleted=True)
    assert (tmp_path / "all" / "readme.txt").read_bytes() == MEMBERS["readme.txt"]
    lines = exhume_salvage(aged, tmp_path / "lines.jsonl", mode=SalvageMode.RECORDS)
    read = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    assert len(read) == lines.recovered["versions"]
    assert ("readme.txt", "good", "deleted") in {(e["path"], e["checksum_status"], e["status"]) for e in read}
    (aged / "index" / "CURRENT").unlink()
    (aged / "index" / "MANIFEST-000002").write_bytes(b"ruined" * 20)
    exhume_salvage(aged, tmp_path / "blind", mode=SalvageMode.FILES)
    found = {p.relative_to(tmp_path / "blind").as_posix() for p in (tmp_path / "blind").rglob("*") if p.is_file()}
    assert found == set(MEMBERS) - {"readme.txt"}


def test_no_shard_stays_empty(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    (tmp_path / "one").write_bytes(b"few bytes")
    assert exhume_cli("create", "databundle", "--shards", 3, tmp_path / "one", "-o", tmp_path / "b").code == 0
    assert [path.name for path in sorted((tmp_path / "b").glob("shard-*"))] == ["shard-00000000"]
    assert exhume_cli("verify", tmp_path / "b").err.count("warning") == 0


def test_diff(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    tree = tmp_path / "tree"
    for member, data in MEMBERS.items():
        (tree / member).parent.mkdir(parents=True, exist_ok=True)
        (tree / member).write_bytes(data)
    (tree / "nothing here").mkdir()
    write_bundle(tmp_path / "one")
    assert exhume_cli("diff", tmp_path / "one", tree).code == 0
    assert exhume_cli("diff", "--content", tree, tmp_path / "one").code == 0
    changed = {**MEMBERS, "data/mixed.bin": b"other", "new": b"1"}
    del changed["data/empty"]
    with DataBundleWriter(tmp_path / "two") as writer:
        writer.add_directory("nothing here")
        for member, data in changed.items():
            writer.add(member, data, user_data=UserData("t", b"x") if member == "readme.txt" else None)
    ran = exhume_cli("diff", "--json", tmp_path / "one", tmp_path / "two")
    assert ran.code == 4
    document = json.loads(ran.out)
    assert document["equal"] is False
    assert [(d["name"], d["change"]) for d in document["differences"]] == [
        ("data/empty", "removed"), ("data/mixed.bin", "content"), ("new", "added"), ("readme.txt", "user-data"),
    ]  # fmt: skip
    text = exhume_cli("diff", tmp_path / "one", tmp_path / "two").text.splitlines()
    assert text == ["- data/empty", "M data/mixed.bin", "+ new", "U readme.txt"]
    for sides in ((tmp_path / "one", tmp_path / "two"), (tmp_path / "two", tree)):
        alone = exhume_cli("diff", "--content", "--json", *sides)
        assert exhume_cli("diff", "--content", "--json", *sides, "--jobs", 3).out == alone.out
    other = tree / "other"
    for kind in ("pipe", "link to nothing"):
        if kind == "pipe":
            os.mkfifo(other)
        else:
            other.symlink_to("nowhere")
        ran = exhume_cli("diff", tmp_path / "one", tree)
        assert (ran.code, ran.text) == (4, "+ other\n"), kind
        other.unlink()
    (tree / "readme.txt").unlink()
    (tree / "readme.txt").mkdir()
    assert "! readme.txt" in exhume_cli("diff", tmp_path / "one", tree).text
    assert exhume_cli("diff", tree, tree).code == 2
    assert exhume_cli("diff", tmp_path / "one", tree / "data" / "mixed.bin").code == 2
    shard = tmp_path / "two" / "shard-00000000"
    shard.write_bytes(flip(shard.read_bytes(), shard.stat().st_size // 2))
    assert exhume_cli("diff", tmp_path / "one", tmp_path / "two").code == 4, "sums are compared as they are stated"
    alone, together = (exhume_cli("diff", "--content", tmp_path / "one", tmp_path / "two", "-j", n) for n in (1, 3))
    assert (alone.code, alone.out, alone.err) == (together.code, together.out, together.err)
    assert alone.code == 4
    assert "DBND-" in alone.err
    assert "what was compared is damaged" in alone.err
    reported = json.loads(exhume_cli("diff", "--content", "--json", tmp_path / "two", tmp_path / "two").text)
    assert (reported["verdict"], reported["equal"], reported["compared"]) == ("damaged", None, "content")
    assert {finding["severity"] for finding in reported["findings"]} == {"error"}
    few = exhume_cli("diff", "--content", "--json", tree, tmp_path / "one", "--limit", "payload_size=1")
    assert (few.code, json.loads(few.text)["verdict"]) == (3, "incomplete")
    index = tmp_path / "two" / "index" / "CURRENT"
    index.write_bytes(b"nothing")
    gone = exhume_cli("diff", "--json", tmp_path / "one", tmp_path / "two")
    assert (gone.code, json.loads(gone.text)["equal"], json.loads(gone.text)["verdict"]) == (4, None, "damaged")


def test_create_on_the_command_line(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    tree = tmp_path / "tree"
    (tree / "sub" / "empty").mkdir(parents=True)
    (tree / "sub" / "f.txt").write_bytes(b"hello")
    (tree / "link").symlink_to(tree / "sub" / "f.txt")
    (tree / "loop").symlink_to(tree)
    (tmp_path / "user.json").write_text('{"sub/f.txt": {"type_url": "t/x", "value_hex": "00ff"}}')
    made = exhume_cli("create", "databundle", tree, "-o", tmp_path / "b", "--shards", 2, "--record-size", "4K",
                      "--user-data", tmp_path / "user.json", "--json")  # fmt: skip
    assert made.code == 3  # the link to a directory was omitted, and reported
    document = json.loads(made.out)
    assert (document["files"], document["directories"]) == (2, 2)
    assert [s["path"] for s in document["skipped"]] == [str(tree / "loop")]
    listing = json.loads(exhume_cli("list", "--json", tmp_path / "b").out)["entries"]
    assert [e["name"] for e in listing] == ["link", "sub", "sub/empty", "sub/f.txt"]
    assert listing[-1]["user_data"] == {"type_url": "t/x", "value_hex": "00ff"}
    assert exhume_cli("cat", tmp_path / "b", "link").out == b"hello"
    assert exhume_cli("create", "databundle", tree, "-o", tmp_path / "b").code == 1
    several = exhume_cli("create", "databundle", tree / "sub", tree / "link", "-o", tmp_path / "c")
    assert several.code == 0
    assert exhume_cli("list", tmp_path / "c").text.split() == ["link", "sub", "sub/empty", "sub/f.txt"]
    based = exhume_cli("create", "databundle", tree / "sub", "-o", tmp_path / "d", "--base-dir", tmp_path)
    assert based.code == 0
    assert "tree/sub/f.txt" in exhume_cli("list", tmp_path / "d").text
    (tmp_path / "user.json").write_text('{"nobody": {"type_url": "t"}}')
    assert (
        exhume_cli(
            "create", "databundle", tree / "sub", "-o", tmp_path / "e", "--user-data", tmp_path / "user.json"
        ).code
        == 1
    )
    (tmp_path / "user.json").write_text("[]")
    assert (
        exhume_cli(
            "create", "databundle", tree / "sub", "-o", tmp_path / "e", "--user-data", tmp_path / "user.json"
        ).code
        == 1
    )
    assert not (tmp_path / "e").exists()


def fingerprint(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Content, modification time and mode of everything below a directory, and of the directory itself."""
    out = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        found = path.stat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
        out[path.relative_to(folder).as_posix()] = (digest, found.st_mtime_ns, found.st_mode)
    return out


VERBS: list[tuple[str, ...]] = [
    ("identify", "{}"), ("info", "{}"), ("info", "--stats", "{}"), ("list", "{}"),
    ("list", "-l", "--all-versions", "{}"), ("list", "--sequence", "3", "{}"), ("list", "--sections", "{}"),
    ("cat", "{}"), ("cat", "--sequence", "9", "{}"), ("verify", "{}"), ("explain", "{}"),
    ("explain", "--coverage", "{}"), ("salvage", "{}", "-o", "{out}"),
]  # fmt: skip


@pytest.mark.parametrize("verb", [*VERBS, ("extract", "{}", "-o", "{out}"), ("diff", "{}", "{}")], ids=" ".join)
def test_reading_a_bundle_changes_nothing(
    aged: Path, tmp_path: Path, exhume_cli: Callable[..., Any], verb: tuple[str, ...]
) -> None:
    before = fingerprint(aged)
    ran = exhume_cli(*(part.format(aged, out=tmp_path / "out") for part in verb))
    assert ran.code in (0, 3), ran.err
    assert fingerprint(aged) == before


@pytest.mark.parametrize("verb", [*VERBS, ("search", "{}", "")], ids=" ".join)
def test_reading_a_database_changes_nothing(
    aged: Path, tmp_path: Path, exhume_cli: Callable[..., Any], verb: tuple[str, ...]
) -> None:
    index = aged / "index"
    before = fingerprint(index)
    ran = exhume_cli(*(part.format(index, out=tmp_path / "out") for part in verb))
    assert ran.code == 0, ran.err
    assert fingerprint(index) == before
