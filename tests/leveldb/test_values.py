"""Values that several versions make: merge operands, entities, timed puts; compared with RocksDB."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.findings import Severity, Verdict
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.leveldb.values import entity_columns, operators_of, plain_value
from exhume.io.local import LocalTree
from tests.leveldb.crafted import (
    DELETE,
    ENTITY,
    MERGE,
    PUT,
    RANGE_DELETE,
    SINGLE_DELETE,
    TIMED_PUT,
    Crafted,
    batch,
    ours,
)
from tests.oracles import need

Cli = Callable[..., Any]

OPERATORS = {
    "StringAppendOperator": b"text",
    "{id=StringAppendOperator;delimiter=|;}": b"text",
    "{id=StringAppendTESTOperator;delimiter=, ;}": b"text",
    "{id=StringAppendOperator;delimiter=\\\\:;}": b"text",
    "stringappendtest": b"text",
    "uint64add": b"number",
    "UInt64AddOperator": b"number",
    "max": b"text",
    "MaxOperator": b"text",
    "put": b"text",
    "PutOperator": b"text",
    "bytesxor": b"text",
    "BytesXOR": b"text",
}


def random_batches(seed: int, kind: bytes, *, families: int = 1) -> list[bytes]:
    """Put, merge and all kinds of deletions of few keys."""
    rng = random.Random(seed)

    def value() -> bytes:
        size = rng.choice((0, 7, 8, 8, 8, 9)) if kind == b"number" else rng.randrange(6)
        return rng.randbytes(size) if kind == b"number" else bytes(rng.choices(b"abcxyz", k=size))

    out, sequence = [], 100
    for _ in range(60):
        operations: list[Any] = []
        for _ in range(rng.randrange(1, 4)):
            key, family = b"k%d" % rng.randrange(9), rng.randrange(families)
            what = rng.choices((PUT, MERGE, DELETE, RANGE_DELETE), (3, 8, 1, 0.5))[0]
            parts: list[bytes] = [key] if what == DELETE else [key, value()]
            if what == RANGE_DELETE:
                parts[1] = b"k%d" % min(9, int(key[1:]) + rng.randrange(3))
            operations.append((what, *parts, family))
        out.append(batch(sequence, *operations))
        sequence += len(operations)
    return out


@pytest.mark.conformance
@pytest.mark.parametrize("operator", OPERATORS)
def test_merge_operands_as_rocksdb_applies_them(tmp_path: Path, operator: str) -> None:
    """In a log, and in tables after RocksDB flushed and compacted a part of them."""
    database = Crafted(tmp_path / "db", merge_operator=operator)
    batches = random_batches(len(operator), OPERATORS[operator])
    database.write(*batches)
    rows = database.engine()
    assert len(rows) > 2
    assert ours(database.path) == rows
    verdict = Verdict.of(exhume.verify(database.path))
    assert verdict is Verdict.OK
    moved = Crafted.of(tmp_path / "db-copy")  # the engine made a table of the log when it opened the copy
    assert list(moved.path.glob("*.sst"))
    assert ours(moved.path) == rows


@pytest.mark.conformance
def test_entities_and_timed_puts_as_rocksdb_reads_them(tmp_path: Path) -> None:
    database = Crafted(tmp_path / "db", merge_operator="StringAppendOperator")
    entity = bytes.fromhex("0102 00 01 0163 02") + b"dyz"
    bare = bytes.fromhex("0101 0163 02") + b"yz"
    database.write(
        batch(10, (ENTITY, b"both", entity), (ENTITY, b"bare", bare), (PUT, b"plain", b"x")),
        batch(13, (MERGE, b"both", b"m"), (MERGE, b"bare", b"n")),
        batch(15, (ENTITY, b"kept", entity)),
        batch(16, (SINGLE_DELETE, b"plain")),
    )
    rows = database.engine()
    assert rows == {b"a": b"1", b"both": b"d,m", b"bare": b",n", b"kept": b"d"}
    assert ours(database.path) == rows
    assert plain_value(TIMED_PUT, b"value" + bytes(8)) == b"value"
    assert plain_value(TIMED_PUT, b"short") is None


@pytest.mark.parametrize("compacted", [False, True])
def test_columns_of_an_entity_that_was_merged(tmp_path: Path, compacted: bool) -> None:
    """Operands change the column without a name; the others stay, as in RocksDB."""
    database = Crafted(tmp_path / "db", merge_operator="StringAppendOperator")
    entity = bytes.fromhex("0102 00 01 0163 02") + b"dyz"
    bare = bytes.fromhex("0101 0163 02") + b"yz"
    database.write(
        batch(10, (ENTITY, b"both", entity), (ENTITY, b"bare", bare)),
        batch(12, (MERGE, b"both", b"m"), (MERGE, b"bare", b"n"), (MERGE, b"both", b"o")),
    )
    if compacted:
        database.flush()
    columns = {b"both": {b"": b"d,m,o", b"c": b"yz"}, b"bare": {b"": b",n", b"c": b"yz"}}
    with LevelDbArchive(LocalTree(database.path)) as archive:
        for found in (
            archive.database.live_versions(),
            archive.database.versions(),
            archive.database.state(),
            archive.database.state(14),
        ):
            assert {v.key: v.columns for v in found if v.status == "live" and v.key != b"a"} == columns
        if not compacted:
            earlier = {v.key: v.columns for v in archive.database.state(12)}
            assert earlier == {b"a": None, b"both": {b"": b"d,m", b"c": b"yz"}, b"bare": {b"c": b"yz"}}
    report = exhume.salvage(database.path, tmp_path / "out")
    assert report.lost == {"entities with columns": 2}
    for file in (database.path / "CURRENT", *database.path.glob("MANIFEST-*")):
        file.unlink()
    report = exhume.salvage(database.path, tmp_path / "other")
    assert report.lost["entities with columns"] == 2


def test_columns_of_entities() -> None:
    assert entity_columns(bytes.fromhex("0102 00 01 0163 02") + b"dyz") == {b"": b"d", b"c": b"yz"}
    for wrong in (
        b"",
        bytes.fromhex("0201 0163 02") + b"yz",  # another version
        bytes.fromhex("0101 0163 02") + b"y",  # cut
        bytes.fromhex("0101 0163 02") + b"yzz",  # more than its length
        bytes.fromhex("0102 0163 01 0162 01") + b"yz",  # not sorted
        bytes.fromhex("01ffffffff0f"),
    ):
        assert entity_columns(wrong) is None


def test_operators_in_options() -> None:
    text = """
[DBOptions]
  merge_operator=nothing
[CFOptions "default"]
  merge_operator={id=StringAppendOperator;delimiter=\\:\\\\n;}
[TableOptions/BlockBasedTable "default"]
[CFOptions "sums"]
  merge_operator=uint64add
[CFOptions "odd"]
  merge_operator={id=StringAppendOperator;delimiter={;};separator=x;}
[CFOptions "own"]
  merge_operator=Mine
[CFOptions "none"]
  merge_operator=nullptr
"""
    found = operators_of(text)
    assert set(found) == {"default", "sums", "odd", "own"}
    append, add = found["default"].merge, found["sums"].merge
    assert append is not None
    assert add is not None
    assert append(b"a", [b"b", b"c"]) == b"a:\nb:\nc"
    assert append(None, [b"b"]) == b"b"
    assert add((2**64 - 1).to_bytes(8, "little"), [(3).to_bytes(8, "little"), b"odd"]) == (2).to_bytes(8, "little")
    assert found["odd"].merge is None
    assert found["own"].merge is None


@pytest.mark.parametrize(
    ("operands", "merged"),
    [((b"1,5", b"2,5,9"), b"1,2,5,5,9"), ((b"3",), b"3"), ((b" +7x,8",), b"7,8"), ((b"x",), None), ((b"",), None)],
)
def test_sorted_lists_are_merged_without_the_value_that_was_there(
    operands: tuple[bytes, ...], merged: bytes | None
) -> None:
    merge = operators_of('[CFOptions "default"]\nmerge_operator=sortlist')["default"].merge
    assert merge is not None
    assert merge(b"4", operands) == merged


def test_a_value_without_its_operator_is_unresolved_everywhere(tmp_path: Path, exhume_cli: Cli) -> None:
    """No view shows an operand as the value, every verb states it, and other rows are there."""
    need("rocksdict")
    database = Crafted(tmp_path / "db", merge_operator="Mine")
    database.write(batch(10, (PUT, b"k", b"base")), batch(11, (MERGE, b"k", b"operand")), batch(12, (PUT, b"z", b"2")))
    path, cli = str(database.path), exhume_cli
    with LevelDbArchive(LocalTree(database.path)) as archive:
        with pytest.raises(exhume.ExhumeError) as caught:
            dict(archive.database.scan())
        assert caught.value.code == "LDB-404"
        assert archive.database.get(b"z") == b"2"
        statuses = [(v.key, v.value, str(v.status)) for v in archive.database.versions() if v.key == b"k"]
        assert statuses == [(b"k", b"", "unresolved"), (b"k", b"operand", "operand"), (b"k", b"base", "operand")]
        rows = archive.to_arrow(columns=["key", "value", "status"]).read_all().to_pylist()
        assert [(row["key"], row["value"]) for row in rows] == [(b"a", b"1"), (b"k", None), (b"z", b"2")]
        before = {v.key: v.value for v in archive.database.state(10)}
        assert before == {b"a": b"1", b"k": b"base"}
    lines = '{"key":{"text":"a"},"value":{"text":"1"}}\n{"key":{"text":"k"},"value":null}\n'
    shown = cli("cat", path)
    assert shown.code == 3
    assert shown.text.startswith(lines)
    shown = cli("cat", path, "--json")
    assert shown.code == 3
    shown = cli("search", path, "k", "--json")
    assert shown.code == 3
    assert json.loads(shown.out)["matches"][0]["value"] is None
    assert cli("list", path).code == 3
    assert cli("cat", path, "k").code == 3
    assert cli("cat", path, "z").code == 0
    shown = cli("export", path, "--to", "jsonl", "-o", str(tmp_path / "out.jsonl"))
    assert shown.code == 3
    assert [json.loads(line).get("value") for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [
        {"text": "1"},
        None,
        {"text": "2"},
    ]
    found = list(exhume.verify(database.path))
    assert Verdict.of(found) is Verdict.INCOMPLETE
    assert [f.code for f in found if f.severity is Severity.UNCHECKED] == ["LDB-404"]
    report = exhume.salvage(database.path, tmp_path / "saved")
    assert not report.complete
    assert report.lost == {"values that cannot be determined": 1}
    assert ours(tmp_path / "saved") == {b"a": b"1", b"z": b"2"}
