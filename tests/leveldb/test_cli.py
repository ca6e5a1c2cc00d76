"""The verbs on a plain database directory, and tables inside disk images."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import UnsupportedOperationError
from exhume.findings import Severity
from exhume.formats.leveldb.locate import locate
from exhume.formats.leveldb.salvage import salvage
from exhume.formats.leveldb.wire import key_text
from exhume.io.local import LocalTree
from exhume.io.source import BytesSource
from exhume.recovery import CarveVerdict, SalvageMode
from exhume.testing.damage import flip
from tests.leveldb.crafted import Crafted, batch
from tests.leveldb.make_samples import HISTORY, PUT, build_database, build_table, write_files
from tests.oracles import need

Cli = Callable[..., Any]
LIVE = {"apple": "golden", "damson": "blue" * 20, "elder": "black"}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    write_files(tmp_path / "db", build_database())
    return tmp_path / "db"


def test_list(database: Path, exhume_cli: Cli) -> None:
    assert exhume_cli("list", database).text.split() == list(LIVE)
    every = json.loads(exhume_cli("list", "--all-versions", "--json", database).out)["entries"]
    assert len(every) == 11
    assert {e["status"] for e in every} == {"live", "replaced", "deleted", "tombstone", "unreferenced"}
    past = json.loads(exhume_cli("list", "--sequence", 4, "--json", database).out)["entries"]
    assert [(e["name"], e["sequence"]) for e in past] == [("apple", 1), ("banana", 2), ("cherry", 3), ("damson", 4)]
    one = json.loads(exhume_cli("list", "--key", "cherry", "--json", database).out)["entries"]
    assert [(e["sequence"], e["type"], e["operation"] if e["type"] == "deletion" else None) for e in one] == [
        (8, "deletion", 1), (3, "value", None),
    ]  # fmt: skip


def test_columns_of_an_entry_travel_and_can_be_compared(database: Path) -> None:
    with exhume.open(database) as archive:
        entries = list(archive.entries())
    sent = pickle.loads(pickle.dumps(entries))
    assert sent == entries
    details = sent[0].details
    assert (details["key"], details["sequence"], len(details)) == (b"apple", 9, 12)
    assert repr(details) == repr(dict(details))
    assert "file" not in details


def test_cat_and_search(database: Path, exhume_cli: Cli) -> None:
    assert exhume_cli("cat", database, "apple").out == b"golden"
    assert exhume_cli("cat", database, "apple", "elder", "--sequence", 8).out == b"redblack"
    rows = [json.loads(line) for line in exhume_cli("cat", database).text.splitlines()]
    assert {row["key"]["text"]: row["value"]["text"] for row in rows} == LIVE
    missing = exhume_cli("cat", database, "banana")
    assert missing.code == 1
    assert "EX-402" in missing.err
    assert exhume_cli("search", database, "el").text == "elder\tblack\n"
    lines = exhume_cli("search", database, "", "--all-versions").text.splitlines()
    assert len(lines) == 11
    assert [line.replace("\t", " ") for line in lines if line.startswith(("apple", "banana"))] == [
        "apple golden",
        "apple red [written at 6, replaced at 9]",
        "apple green [written at 1, replaced at 6]",
        "banana  [deletion written at 5]",
        "banana yellow [written at 2, deleted at 5]",
        "apple green [written at 1, unreferenced]",
        "banana yellow [written at 2, unreferenced]",
    ]
    reported = json.loads(exhume_cli("search", database, "apple", "--all-versions", "--json").out)["matches"]
    assert [(one["sequence"], one["status"], one["superseded_by"]) for one in reported] == [
        (9, "live", None), (6, "replaced", 9), (1, "replaced", 6), (1, "unreferenced", None),
    ]  # fmt: skip
    found = json.loads(exhume_cli("search", "--values", "--json", database, "lac").out)
    assert [m["key"]["text"] for m in found["matches"]] == ["elder"]
    assert exhume_cli("search", "--exit-code", database, "nothing").code == 4


@pytest.mark.parametrize("change", ["pebble", "no manifest"])
def test_what_cannot_be_checked_is_a_loss_of_every_listing(
    database: Path, exhume_cli: Cli, tmp_path: Path, change: str
) -> None:
    """Whatever reads on where `verify` has a problem ends with 3, also when the problem is one of opening."""
    if change == "pebble":
        (database / "marker.format-version.000012.013").write_bytes(b"")
    else:
        (database / "CURRENT").write_text("MANIFEST-000009\n")
    code = "LDB-124" if change == "pebble" else "LDB-102"
    out = tmp_path / "rows.csv"
    calls = ["list --all-versions", "list --key apple", "list --sequence 5 --json", "cat --sequence 5"]
    for call in (*([*call.split(), database] for call in calls), ["search", database, ""]):
        result = exhume_cli(*call)
        assert (result.code, code in result.err) == (3, True), call
    export = exhume_cli("export", database, "--to", "jsonl", "--all-versions", "-o", out)
    assert (export.code, "could not be read: 1" in export.err) == (3, True)


def test_damage_is_reported_while_listing(database: Path, exhume_cli: Cli) -> None:
    table = database / "000005.ldb"
    table.write_bytes(flip(table.read_bytes(), 20))
    assert exhume_cli("list", database).code == 1
    every = exhume_cli("list", "--all-versions", "--json", database)
    assert every.code == 3
    assert "LDB-202" in every.err
    assert "bad" in {e["checksum"] for e in json.loads(every.out)["entries"]}


def test_info(database: Path, exhume_cli: Cli) -> None:
    document = json.loads(exhume_cli("info", "--stats", "--json", database).out)
    text = json.dumps(document)
    assert '"last_sequence": 6' in text
    assert '"MANIFEST-000004"' in text
    assert '"sequence_rule": "per-operation"' in text
    assert '"tombstone": 2' in text


def test_salvage(database: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    table = database / "000005.ldb"
    table.write_bytes(flip(table.read_bytes(), 20))
    (database / "CURRENT").unlink()
    ran = exhume_cli("salvage", database, "-o", tmp_path / "new", "--json")
    assert ran.code == 3
    document = json.loads(ran.out)
    assert document["verified_by"] == "checksums"
    with exhume.open(tmp_path / "new") as archive:
        rows = {entry.name: entry.size for entry in archive.entries()}
    assert rows == {"apple": 6, "banana": 6, "damson": 80, "elder": 5}  # the deletion of banana was in the lost block
    assert [f for f in exhume.verify(tmp_path / "new") if f.severity is not Severity.NOTE] == []
    with LocalTree(database) as tree:
        salvage(tree, tmp_path / "all.jsonl", mode=SalvageMode.RECORDS)
        with pytest.raises(UnsupportedOperationError):
            exhume.salvage(tree, tmp_path / "files", mode=SalvageMode.FILES)
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert {(e["key"]["text"], e["sequence"]) for e in lines} >= {("apple", 9), ("cherry", 3), ("banana", 2)}


def test_tables_are_carved_out_of_an_image(exhume_cli: Cli, tmp_path: Path) -> None:
    first, _ = build_table(HISTORY)
    second, _ = build_table([(b"k%04d" % n, n + 1, PUT, b"v" * 50) for n in range(500)], "snappy")
    image = b"\xa5" * 777 + first + bytes(1000) + second + b"tail"
    path = tmp_path / "disk.img"
    path.write_bytes(image)
    found = json.loads(exhume_cli("carve", "--json", "--only", "leveldb", path).out)["archives"]
    assert [(f["offset"], f["length"], f["verdict"]) for f in found] == [
        (777, len(first), "complete"), (777 + len(first) + 1000, len(second), "complete"),
    ]  # fmt: skip
    with exhume.open(path, format="leveldb", offset=777, length=len(first)) as archive:
        assert [entry.name for entry in archive.entries()] == ["apple", "cherry", "damson"]
    hit = 777 + len(first) - 8
    damaged = locate(BytesSource(flip(image, 780)), hit)
    assert damaged is not None
    assert damaged.verdict is CarveVerdict.DAMAGED
    cut = locate(BytesSource(image[900:]), hit - 900)
    assert cut is not None
    assert cut.verdict is CarveVerdict.PARTIAL
    assert locate(BytesSource(b"\xff" * 45 + image[hit : hit + 8]), 45) is None


def test_shards_are_carved_out_of_an_image(samples: Path, exhume_cli: Cli, tmp_path: Path) -> None:
    shard = (samples / "data_bundle" / "zlib" / "shard-00000001").read_bytes()
    path = tmp_path / "disk.img"
    path.write_bytes(b"daBS" + b"\xa5" * 500 + shard + bytes(5000))
    found = json.loads(exhume_cli("carve", "--json", "--only", "databundle", path).out)["archives"]
    assert [(f["offset"], f["length"], f["verdict"]) for f in found] == [(504, len(shard), "partial")]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"plain", "plain"),
        (b"a\0b", "a\\x00b"),
        (b"\xff", "\\xff"),
        ("ü\\".encode(), "ü\\\\"),
        ("é\n\u200b\tz".encode() + b"\xc3", "é\\x0a\\xe2\\x80\\x8b\\x09z\\xc3"),
    ],
)
def test_keys_as_text_can_be_typed_again(key: bytes, text: str) -> None:
    from exhume.cli.params import BYTES

    assert key_text(key) == text
    assert BYTES.convert(text, None, None) == key


def test_damage_of_a_file_that_is_not_used_is_a_warning_everywhere(tmp_path: Path, exhume_cli: Cli) -> None:
    """One rule decides: the table no longer belongs to the database, so its damage is not that of the database."""
    files = build_database()
    table = flip(build_table([(b"old%02d" % n, n + 1, PUT, b"x" * 40) for n in range(40)], "none", 300)[0], 30)
    old = flip(files["000003.log"], 9)
    path = tmp_path / "db"
    write_files(path, files | {"000002.ldb": table, "000003.log": old})
    verified = exhume_cli("verify", "--json", path)
    found = [f for f in json.loads(verified.out)["findings"] if f["severity"] != "note"]
    assert verified.code == 0
    assert {(f["span"]["source"], f["severity"]) for f in found} == {
        ("000002.ldb", "warning"),
        ("000003.log", "warning"),
    }
    for arguments in (("list", "--all-versions"), ("list", "--all-versions", "--json"), ("list", "--sequence", 4)):
        listed = exhume_cli(*arguments, path)
        assert listed.code == 0
        reported = {line.split(": ")[1] for line in listed.err.splitlines() if "000002" in line or "000003" in line}
        assert reported == {"warning"}
        assert "error" not in listed.err
    assert exhume_cli("info", "--stats", path).code == 0
    with exhume.open(path) as archive:
        opened: Any = archive
        losses: Counter[str] = Counter()
        opened.to_arrow(all_versions=True, losses=losses).read_all()
    assert losses["damaged blocks and log records"] > 0, "rows are missing from the table"


def test_damage_of_a_file_that_is_used_is_an_error_everywhere(tmp_path: Path, exhume_cli: Cli) -> None:
    files = build_database()
    write_files(tmp_path / "db", files | {"000005.ldb": flip(files["000005.ldb"], 9)})
    assert exhume_cli("verify", tmp_path / "db").code == 4
    listed = exhume_cli("list", "--all-versions", tmp_path / "db")
    assert listed.code == 3
    assert {line.split(": ")[1] for line in listed.err.splitlines() if "000005" in line} == {"error"}


def test_cat_prints_one_column_family_and_names_the_others(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    """As of a sequence number, too."""
    need("rocksdict")
    database = Crafted(tmp_path / "db", families=["one", "empty"])
    database.write(batch(10, (PUT, b"k", b"default"), (PUT, b"k", b"one", 1), (PUT, b"only", b"one", 1)))
    rows = [b'{"key":{"text":"a"},"value":{"text":"1"}}', b'{"key":{"text":"k"},"value":{"text":"default"}}']
    for more in ((), ("--sequence", "20")):
        result = exhume_cli("cat", str(database.path), *more)
        assert (result.code, result.out.splitlines()) == (0, rows)
        assert "other column families (one)" in result.err
        result = exhume_cli("cat", str(database.path), "only", *more)
        assert result.code == 1
        assert "no such key in the default column family (`list --key` also shows: one)" in result.err
