"""Catalogs made by an adversary: what runs when they are asked, and what they make exhume read."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import SourceError
from exhume.filesystems.catalog import CafCatalogFileSystem
from exhume.formats.caf.catalog import open_catalog
from exhume.formats.caf.catalog_store import TABLES
from tests.remote.server import serving

Cli = Callable[..., Any]

ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT"
COLUMNS = "'id' AS caf_file_id, '/etc/passwd' AS location, 1 AS chunk_size, 1 AS data_size, 'x' AS tail_sha256"
HUGE = "printf('%.*c', 2000000000, 'x')"
FILES, LOCATIONS = TABLES


def filled(path: Path, *statements: str) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path


HOSTILE = {
    "recursive view": [f"CREATE VIEW caf_files AS {ENDLESS} {COLUMNS}, x AS num_files FROM r", LOCATIONS],
    "recursive view of places": [
        FILES,
        f"CREATE VIEW file_locations AS {ENDLESS} 'id' AS caf_file_id, x AS ordinal, 'a' AS file_path, 0 AS start_byte,"
        " 1 AS size, NULL AS name_json FROM r",
    ],
    "printf in a view": [f"CREATE VIEW caf_files AS SELECT {COLUMNS}, {HUGE} AS num_files", LOCATIONS],
    "computed column": [FILES.replace("location TEXT NOT NULL", f"location TEXT AS ({HUGE})"), LOCATIONS],
    "stored computed column": [
        FILES,
        LOCATIONS.replace("name_json TEXT", "name_json TEXT AS (file_path) STORED"),
    ],
    "virtual table": ["CREATE VIRTUAL TABLE caf_files USING fts5(caf_file_id, location)", LOCATIONS],
    "trigger": [
        FILES,
        LOCATIONS,
        f"CREATE TRIGGER t AFTER INSERT ON caf_files BEGIN UPDATE caf_files SET location = {HUGE}; END",
    ],
    "trigger on deletion": [
        FILES,
        LOCATIONS,
        f"CREATE TRIGGER t BEFORE DELETE ON file_locations BEGIN SELECT count(*) FROM ({ENDLESS} x FROM r); END",
    ],
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_only_tables_are_read(name: str, tmp_path: Path, exhume_cli: Cli) -> None:
    path = filled(tmp_path / "c.db", *HOSTILE[name])
    with exhume.create(tmp_path / "a.caf", "caf") as writer:
        writer.add_bytes("a", b"x")
    before = path.read_bytes()
    started = time.process_time()
    chunk = tmp_path / "a.caf"
    for words in (
        ["find", path, "*"],
        ["find", path, "a", "--cat"],
        ["check", path],
        ["build", path, chunk],
        ["build", path, chunk, "--add"],
    ):
        ran = exhume_cli("catalog", *words)
        assert ran.code == 1, words
        assert ran.err.count("\n") == 1
        assert "EX-606" in ran.err
        assert "the catalog contains" in ran.err
    assert time.process_time() - started < 10
    assert path.read_bytes() == before


def test_views_of_a_url(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    path = filled(tmp_path / "c.db", *HOSTILE["recursive view"])
    with pytest.raises(SourceError, match="instead of its tables"):
        open_catalog(f"sqlite:///{path}")


def interior(children: list[int]) -> bytes:
    """A page of SQLite between the root of a table and its rows."""
    cells = b"".join(child.to_bytes(4, "big") + b"\x01" for child in children[:-1])
    start = 4096 - len(cells)
    head = b"\x05\0\0" + (len(children) - 1).to_bytes(2, "big") + start.to_bytes(2, "big") + b"\0"
    head += children[-1].to_bytes(4, "big")
    places = b"".join((start + 5 * number).to_bytes(2, "big") for number in range(len(children) - 1))
    return (head + places).ljust(start, b"\0") + cells


def test_pages_that_are_used_again(tmp_path: Path, exhume_cli: Cli) -> None:
    """500 ** 5 rows in 40 KB: every page names the next one 500 times."""
    path = filled(
        tmp_path / "c.db",
        "PRAGMA page_size = 4096",
        FILES,
        LOCATIONS.replace("PRIMARY KEY (caf_file_id, ordinal)", "other TEXT"),
        "INSERT INTO caf_files VALUES ('id', 'x', 1, 1, 'x', 1)",
        "INSERT INTO file_locations VALUES ('id', 1, 'a', 0, 1, NULL, NULL)",
    )
    with contextlib.closing(sqlite3.connect(path)) as database:
        ((root,),) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'file_locations'").fetchall()
    data = bytearray(path.read_bytes())
    pages = len(data) // 4096
    leaf = bytes(data[(root - 1) * 4096 : root * 4096])
    chain = [pages + 1 + number for number in range(5)]
    data[(root - 1) * 4096 : root * 4096] = interior([chain[0]] * 500)
    for here in chain[1:]:
        data += interior([here] * 500)
    data += leaf
    data[28:32] = (len(data) // 4096).to_bytes(4, "big")
    path.write_bytes(data)
    started = time.process_time()
    ran = exhume_cli("catalog", "find", path, "*")
    assert ran.code == 1
    assert "interrupted" in ran.err
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("'id', 1, 'a', 'text', 1, NULL", "another type"),
        ("'id', 1, 'a', -1, 1, NULL", "another type"),
        ("'id', 1, 'a', 0, 1.5, NULL", "another type"),
        ("'id', 1, x'ff', 0, 1, NULL", "another type"),
        ("'id', 1, 'a', 0, 1, '{'", "not a string in JSON"),
        ("'id', 1, 'a', 0, 1, '[1]'", "not a string in JSON"),
    ],
)
def test_values_of_another_type(row: str, words: str, tmp_path: Path, exhume_cli: Cli) -> None:
    path = filled(
        tmp_path / "c.db",
        FILES,
        LOCATIONS,
        "INSERT INTO caf_files VALUES ('id', 'x.caf', 1, 1, 'x', 1)",
        f"INSERT INTO file_locations VALUES ({row})",
    )
    ran = exhume_cli("catalog", "find", path, "*")
    assert ran.code == 1
    assert words in ran.err


def naming(path: Path, location: str, size: int) -> Path:
    path.unlink(missing_ok=True)
    return filled(
        path,
        FILES,
        LOCATIONS,
        f"INSERT INTO caf_files VALUES ('id', '{location}', {size}, 1, 'x', 1)",
        f"INSERT INTO file_locations VALUES ('id', 1, 'a', 0, {size}, NULL)",
    )


def test_only_chunks_below_named_folders_are_read(tmp_path: Path, exhume_cli: Cli) -> None:
    inside, outside = tmp_path / "case", tmp_path / "case-2"
    inside.mkdir()
    outside.mkdir()
    secret = outside / "secret"
    secret.write_bytes(b"secret")
    (inside / "link").symlink_to(secret)
    (inside / "here").write_bytes(b"public")
    for place in (
        secret,
        inside / ".." / "case-2" / "secret",
        inside / "link",
        f"file://{secret}",
        f"{inside}/here/../../case-2/secret",
        f"simplecache::file://{secret}",
        f"local://{secret}",
    ):
        path = naming(inside / "c.db", str(place), 6)
        ran = exhume_cli("catalog", "find", path, "a", "--cat")
        assert (ran.code, ran.out) == (1, b""), place
        assert "EX-613" in ran.err
        assert "--chunks-in" in ran.err
        assert exhume_cli("catalog", "check", path).code == 1
        with pytest.raises(SourceError, match="outside the folders"):
            CafCatalogFileSystem(fo=str(path), skip_instance_cache=True).cat("a")
        assert exhume_cli("catalog", "find", path, "a").code == 0  # where it is may be asked
    path = naming(inside / "c.db", str(secret), 6)
    assert exhume_cli("catalog", "find", path, "a", "--cat", "--chunks-in", outside).out == b"secret"
    assert exhume_cli("catalog", "find", path, "a", "--cat", "--chunks-in", inside).code == 1
    path = naming(inside / "c.db", str(inside / "here"), 6)
    assert exhume_cli("catalog", "find", path, "a", "--cat").out == b"public"


def test_only_named_servers_are_contacted(tmp_path: Path, exhume_cli: Cli) -> None:
    with serving({"d/x": b"remote", "y": b"remote"}) as served:
        for place in (
            f"{served.url}/d/x",
            f"{served.url}/d/../y",
            f"{served.url}/d/%2e%2e/y",
            f"simplecache::{served.url}/d/x",
        ):
            path = naming(tmp_path / "c.db", place, 6)
            for words in (["find", path, "a", "--cat"], ["check", path]):
                more = ["--chunks-in", f"{served.url}/d"] if place != f"{served.url}/d/x" else []
                assert exhume_cli("catalog", *words, *more).code == 1, place
            assert served.requests == []
        path = naming(tmp_path / "c.db", f"{served.url}/d/x", 6)
        ran = exhume_cli("catalog", "find", path, "a", "--cat", "--chunks-in", f"{served.url}/d/")
        assert ran.out == b"remote"
        assert exhume_cli("catalog", "find", path, "a", "--cat", "--chunks-in", f"{served.url}/").out == b"remote"
