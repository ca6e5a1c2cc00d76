"""The catalog: builds, answers, notices every difference; the same on SQLite, SQLAlchemy and PostgreSQL."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exhume.errors import EntryNotFoundError, MissingDependencyError, SourceChangedError, SourceError
from exhume.formats.caf.catalog import Catalog, open_catalog
from exhume.formats.caf.catalog_entries import Location, decode_path, encode_path, list_chunks, read_location
from exhume.formats.caf.catalog_store import SqliteStore
from exhume.formats.caf.writer import create

from .make_samples import BROKEN

NO_SQLALCHEMY = importlib.util.find_spec("sqlalchemy") is None
POSTGRES = os.environ.get("EXHUME_TEST_POSTGRES_URL", "")


def pack(path: Path, members: dict[str, bytes]) -> str:
    with create(path, overwrite=True) as writer:
        for name, data in members.items():
            writer.add_bytes(name, data)
    return str(path)


ODD = {
    "nul\0byte": b"nul",
    "lone\ud83d": b"lone",
    "nul\\u0000byte": b"text",
    "long/" + "x" * 3000: b"long",
    "": b"no name",
}


@pytest.fixture
def chunks(tmp_path: Path) -> list[str]:
    folder = tmp_path / "chunks"
    (folder / "sub").mkdir(parents=True)
    return [
        pack(folder / "one.caf", {"a.txt": b"alpha", "dir/b.txt": b"beta", "dir/c%_[x].bin": b"gamma", "é": b"accent"}),
        pack(folder / "sub" / "two.caf", {"a.txt": b"ALPHA again", "dirt": b"d", "empty": b""} | ODD),
    ]


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param(
            "sqlalchemy",
            marks=pytest.mark.skipif(NO_SQLALCHEMY, reason="SQLAlchemy (extra catalog) is not installed"),
        ),
        pytest.param(
            "postgres",
            marks=pytest.mark.skipif(not POSTGRES, reason="EXHUME_TEST_POSTGRES_URL names no PostgreSQL database"),
        ),
    ]
)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database that holds nothing yet."""
    if request.param == "sqlite":
        yield str(tmp_path / "catalog.db")
        return
    if request.param == "sqlalchemy":
        yield f"sqlite:///{tmp_path}/catalog.db"
        return
    import sqlalchemy

    engine = sqlalchemy.create_engine(POSTGRES)

    def drop() -> None:
        with engine.begin() as connection:
            for table in ("file_locations", "caf_files"):
                connection.execute(sqlalchemy.text(f"DROP TABLE IF EXISTS {table}"))

    drop()
    yield POSTGRES
    drop()
    engine.dispose()


@pytest.fixture
def catalog(database: str, chunks: list[str]) -> Iterator[Catalog]:
    with open_catalog(database, create=True) as opened:
        assert opened.build(chunks) == []
        yield opened


def paths(found: Iterator[Location]) -> list[tuple[str, str]]:
    return [(place.file_path, place.caf_file_id) for place in found]


@pytest.mark.parametrize("add", [False, True])
def test_what_enters_a_chunk_or_finds_a_path_goes_through_no_table(
    add: bool, chunks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the work for a chunk or a path would grow with all that is there."""
    statements: list[str] = []
    connect = SqliteStore._connect

    def traced(self: SqliteStore, path: str | None, mode: str) -> sqlite3.Connection:
        made = connect(self, path, mode)
        made.set_trace_callback(statements.append)
        return made

    monkeypatch.setattr(SqliteStore, "_connect", traced)
    with open_catalog(str(tmp_path / "a.db"), create=True) as catalog:
        for _ in range(2):
            catalog.build(chunks, add=add)
        assert list(catalog.find("a.txt")) == catalog.find_exact("a.txt")
        list(catalog.list_directory("dir"))
    searched = {one for one in statements if "WHERE" in one and "sqlite_master" not in one}
    assert len(searched) > 2
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as database:
        plans = [row[3] for one in searched for row in database.execute(f"EXPLAIN QUERY PLAN {one}")]
    assert plans
    assert not [plan for plan in plans if plan.startswith("SCAN ")]


def test_find(catalog: Catalog) -> None:
    assert paths(catalog.find("a.txt")) == [("a.txt", "one.caf"), ("a.txt", "two.caf")]
    assert paths(catalog.find("dir*")) == [("dir/b.txt", "one.caf"), ("dir/c%_[x].bin", "one.caf"), ("dirt", "two.caf")]
    assert paths(catalog.find("dir/*")) == [("dir/b.txt", "one.caf"), ("dir/c%_[x].bin", "one.caf")]
    assert paths(catalog.find("*.txt")) == [("a.txt", "one.caf"), ("a.txt", "two.caf"), ("dir/b.txt", "one.caf")]
    assert paths(catalog.find("dir/c%_[x].bin")) == [("dir/c%_[x].bin", "one.caf")]
    assert paths(catalog.find("[aé]*")) == [("a.txt", "one.caf"), ("a.txt", "two.caf"), ("é", "one.caf")]
    assert paths(catalog.find("A.TXT")) == []
    assert paths(catalog.find("no%")) == []
    for name in ODD:
        assert paths(catalog.find(name)) == [(name, "two.caf")]
    assert len(list(catalog.find("*"))) == catalog.count() == 12


def test_a_path_with_wildcards_is_a_path_first(tmp_path: Path) -> None:
    with create(tmp_path / "one.caf") as writer:
        for name in ("photo1.jpg", "photo[1].jpg", "photo[2].jpg", "photo2.jpg"):
            writer.add_bytes(name, name.encode())
    with open_catalog(str(tmp_path / "a.db"), create=True) as catalog:
        catalog.build([str(tmp_path / "one.caf")])
        assert paths(catalog.find("photo[1].jpg")) == [("photo[1].jpg", "one.caf")]
        assert paths(catalog.find("photo[12].jpg")) == [("photo1.jpg", "one.caf"), ("photo2.jpg", "one.caf")]


def test_members_are_read_with_one_range(catalog: Catalog, chunks: list[str]) -> None:
    assert catalog.read("dir/b.txt") == b"beta"
    assert catalog.read("dir/b.txt", 1, 3) == b"et"
    assert catalog.read("a.txt") == b"ALPHA again"
    assert catalog.read("empty") == b""
    for name, data in ODD.items():
        assert catalog.read(name) == data
    with pytest.raises(EntryNotFoundError):
        catalog.read("nothing")
    with Path(chunks[0]).open("ab") as file:
        file.write(b"x")
    with pytest.raises(SourceChangedError):
        catalog.read("dir/b.txt")
    [place] = catalog.find("dir/b.txt")
    with pytest.raises(SourceChangedError):
        read_location(place)


def test_check_reports_every_kind(catalog: Catalog, chunks: list[str], tmp_path: Path) -> None:
    assert list(catalog.check()) == []
    assert list(catalog.check(chunks)) == []
    assert list(catalog.check(quick=True)) == []
    pack(Path(chunks[0]), {"é": b"accent", "a.txt": b"alpha", "new": b"n", "dirt": b"here now"})
    pack(Path(chunks[1]), {"a.txt": b"ALPHA again", "empty": b""} | ODD)
    kinds = [(one.kind, one.file_path) for one in catalog.check()]
    assert kinds[0] == ("chunk-changed", None)
    assert set(kinds) == {
        ("chunk-changed", None),
        ("moved", "a.txt"),
        ("moved", "é"),
        ("missing", "dir/b.txt"),
        ("missing", "dir/c%_[x].bin"),
        ("moved", "dirt"),
        ("moved", "empty"),
        ("extra", "new"),
        *(("moved", name) for name in ODD),
    }
    moved = next(one for one in catalog.check() if one.file_path == "dirt")
    assert (moved.expected, moved.actual) == ("[11, 12) of two.caf", "[12, 20) of one.caf")
    Path(chunks[1]).unlink()
    kinds = [(one.kind, one.file_path) for one in catalog.check()]
    assert ("chunk-missing", None) in kinds
    assert ("missing", "empty") in kinds
    third = pack(tmp_path / "third.caf", {"empty": b"", "x": b"x"})
    kinds = [(one.kind, one.file_path) for one in catalog.check([chunks[0], third])]
    assert {("chunk-extra", None), ("extra", "x"), ("moved", "empty")} <= set(kinds)


def test_rebuilding_replaces(catalog: Catalog, chunks: list[str], tmp_path: Path) -> None:
    assert catalog.build(chunks[:1]) == []
    assert catalog.count() == 4
    assert catalog.build(chunks[1:], add=True) == []
    assert catalog.build(chunks[1:], add=True) == []
    assert catalog.count() == 12
    pack(Path(chunks[0]), {"only": b"1"})
    catalog.add_chunk(chunks[0])
    assert paths(catalog.find("only")) == [("only", "one.caf")]
    assert paths(catalog.find("dir/b.txt")) == []
    (tmp_path / "bad.caf").write_bytes(BROKEN["footer-missing"][1])
    with pytest.raises(SourceError, match="is unchanged") as caught:
        catalog.build([chunks[1], str(tmp_path / "bad.caf")])
    assert caught.value.code == "EX-611"
    assert paths(catalog.find("only")) == [("only", "one.caf")]
    assert len(catalog.chunks()) == 2
    [(location, error)] = catalog.build([*chunks, str(tmp_path / "bad.caf")], add=True)
    assert location.endswith("bad.caf")
    assert error.code == "CAF-102"
    assert len(catalog.chunks()) == 2


def test_ids_are_short_and_unique(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    same = pack(tmp_path / "other" / "one.caf", {"x": b"1"})
    long = pack(tmp_path / ("n" * 60 + ".caf"), {"x": b"2"})
    ids = [catalog.add_chunk(same).caf_file_id, catalog.add_chunk(long).caf_file_id]
    assert all(len(one) <= 50 for one in ids)
    assert len({chunk.caf_file_id for chunk in catalog.chunks()}) == 4
    assert {place.caf_file_id for place in catalog.find("x")} == set(ids)


def test_one_bad_entry_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "x.caf").write_bytes(BROKEN["end-before-start"][1])
    with open_catalog(str(tmp_path / "c.db"), create=True) as catalog:
        catalog.add_chunk(str(tmp_path / "x.caf"))
        assert [place.file_path for place in catalog.find("*")] == ["a.txt"]
        assert list(catalog.check()) == []


def test_no_catalog_and_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_bytes(b"this is no database at all, just some text that is long enough\n" * 20)
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE t(x)").connection.close()
    for name in ("text", "empty.db", "missing.db"):
        with pytest.raises(SourceError) as caught:
            open_catalog(str(tmp_path / name))
        assert caught.value.code == "EX-606"
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "missing.db").exists()
    if not NO_SQLALCHEMY:
        for url in (f"sqlite:///{tmp_path}/no/such/folder.db", "nonsense://x"):
            with pytest.raises(SourceError) as caught:
                open_catalog(url)
            assert "\n" not in str(caught.value)
    monkeypatch.setitem(__import__("sys").modules, "sqlalchemy", None)
    with pytest.raises(MissingDependencyError, match=r"exhume\[catalog\]"):
        open_catalog("postgresql://host/db")


def test_a_failed_build_leaves_the_old_catalog(tmp_path: Path, chunks: list[str]) -> None:
    with open_catalog(str(tmp_path / "c.db"), create=True) as catalog:
        catalog.build(chunks)

        def interrupt(done: int, total: int | None, unit: str) -> None:
            if done:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            catalog.build(chunks[:1] * 3, progress=interrupt)
        assert catalog.count() == 12


def test_a_killed_build_leaves_the_old_catalog(tmp_path: Path, chunks: list[str]) -> None:
    path = tmp_path / "c.db"
    with open_catalog(str(path), create=True) as catalog:
        catalog.build(chunks)
    before = path.read_bytes()
    script = """
import os, sys
from exhume.formats.caf.catalog import open_catalog
def kill(done, total, unit):
    if done:
        os.kill(os.getpid(), 9)
open_catalog(sys.argv[1], create=True).build(sys.argv[2:] * 2, progress=kill)
"""
    killed = subprocess.run([sys.executable, "-c", script, path, chunks[0]], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    with open_catalog(str(path)) as catalog:
        assert catalog.count() == 12
    (left,) = tmp_path.glob(".*.part")
    others = [
        ".c.db.bak.0123456789abcdef.part",
        ".c.db.part",
        ".c.db.0123456789abcdef.parts",
        "c.db.0123456789abcdef.part",
    ]
    for name in others:
        (tmp_path / name).write_bytes(b"not of this catalog")
    with open_catalog(str(path), create=True) as catalog:
        catalog.build(chunks[:1], add=True)
        assert left.exists()
        catalog.build(chunks)
    assert not left.exists()
    assert all((tmp_path / name).exists() for name in others)


def test_a_new_catalog_has_its_name_only_when_it_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tables are there before anybody sees it: what is interrupted leaves neither an empty file nor some tables."""
    from exhume.formats.caf import catalog_store

    path = tmp_path / "c.db"
    with monkeypatch.context() as patch:
        patch.setattr(catalog_store, "INDEX", "no statement")
        with pytest.raises(SourceError, match="cannot use the catalog database"):
            open_catalog(str(path), create=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SourceError, match="No such file or directory"):
        open_catalog(str(tmp_path / "missing/c.db"), create=True)
    path.touch()  # what others left
    with open_catalog(str(path), create=True) as catalog:
        assert catalog.count() == 0
    assert list(tmp_path.iterdir()) == [path]


def test_a_rebuild_keeps_links_modes_and_the_tables_of_others(tmp_path: Path, chunks: list[str]) -> None:
    path, link = tmp_path / "c.db", tmp_path / "link.db"
    link.symlink_to(path)
    with open_catalog(str(path), create=True) as catalog:
        catalog.build(chunks)
    path.chmod(0o640)
    with open_catalog(str(link), create=True) as catalog:
        catalog.build(chunks[:1])
        catalog.build(chunks[1:], add=True)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == ["c.db", "link.db"]
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE mine(x)")
    with open_catalog(str(path), create=True) as catalog, pytest.raises(SourceError, match="also contains other data"):
        catalog.build(chunks)
    with open_catalog(str(path)) as catalog:
        assert catalog.count() == 12


def test_no_other_database_becomes_a_catalog(tmp_path: Path, chunks: list[str]) -> None:
    path = tmp_path / "mine.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE mine(x)")
    before = path.read_bytes()
    with pytest.raises(SourceError, match="no such table"):
        open_catalog(str(path), create=True)
    assert path.read_bytes() == before
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SourceError, match="not a regular file"):
        open_catalog(str(tmp_path / "fifo"))


def test_a_chunk_whose_name_is_not_utf8_is_named(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    chunk = pack(Path(os.fsdecode(bytes(tmp_path / "n") + b"\xff.caf")), {"a": b"x"})
    ran = exhume_cli("catalog", "build", tmp_path / "c.db", chunk)
    assert ran.code == 1
    assert "n\\udcff.caf: a catalog cannot contain names that are not UTF-8 [EX-606]" in ran.err


def test_names_that_databases_cannot_contain() -> None:
    for name in [*ODD, "plain", "\udc80", "a\\b"]:
        path, exact = encode_path(name)
        assert "\0" not in path
        path.encode("utf-8")
        assert decode_path(path, exact) == name


def test_chunks_of_directories_and_buckets(chunks: list[str], tmp_path: Path) -> None:
    (tmp_path / "chunks" / "note.txt").write_bytes(b"no chunk")
    assert list_chunks([str(tmp_path / "chunks")]) == chunks
    assert list_chunks([chunks[1], str(tmp_path / "chunks")]) == [chunks[1], chunks[0]]
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/x/one.caf", Path(chunks[0]).read_bytes())
    try:
        [url] = list_chunks(["memory://bucket/x"])
        with open_catalog(str(tmp_path / "c.db"), create=True) as catalog:
            catalog.add_chunk(url)
            assert catalog.read("dir/b.txt") == b"beta"
    finally:
        memory.rm("/bucket", recursive=True)


def test_command(chunks: list[str], tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    db = tmp_path / "c.db"
    ran = exhume_cli("catalog", "build", db, tmp_path / "chunks", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.text) == {
        "schema": "exhume.catalog/1",
        "catalog": str(db),
        "chunks": 2,
        "files": 12,
        "failed": [],
    }
    ran = exhume_cli("catalog", "find", db, "dir/b.txt", "--json")
    [place] = json.loads(ran.text)["locations"]
    assert (place["start_byte"], place["end_byte"], place["location"]) == (5, 9, chunks[0])
    assert "dir/b.txt" in exhume_cli("catalog", "find", db, "d*").text
    assert exhume_cli("catalog", "find", db, "dir/b.txt", "--cat").out == b"beta"
    assert exhume_cli("catalog", "find", db, "none", "--exit-code").code == 4
    assert exhume_cli("catalog", "find", db, "none").code == 0
    assert exhume_cli("catalog", "check", db).code == 0
    pack(Path(chunks[0]), {"other": b"1"})
    ran = exhume_cli("catalog", "check", db, "--json")
    assert ran.code == 4
    assert json.loads(ran.text)["ok"] is False
    assert "missing: dir/b.txt" in exhume_cli("catalog", "check", db).text
    Path(chunks[0]).write_bytes(b"damaged" * 20)
    ran = exhume_cli("catalog", "build", db, tmp_path / "chunks")
    assert ran.code == 1
    assert "left out" in ran.err
    assert "1 chunk could not be read, so the catalog is unchanged" in ran.err
    assert "dir/b.txt" in exhume_cli("catalog", "find", db, "d*").text
    assert exhume_cli("catalog", "build", db, tmp_path / "chunks", "--add").code == 3
    assert exhume_cli("catalog", "build", tmp_path / "new-one.db", tmp_path / "chunks").code == 3
    assert exhume_cli("catalog", "find", tmp_path / "none.db", "x").code == 1
    ran = exhume_cli("create", "caf", chunks[1], "-o", tmp_path / "new.caf", "--catalog", tmp_path / "new.db")
    assert ran.code == 0
    assert "two.caf" in exhume_cli("catalog", "find", tmp_path / "new.db", "*").text
