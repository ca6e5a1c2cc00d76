"""Arrow batches equal the values of events(), column by column."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from exhume import clps
from exhume.errors import EntryNotFoundError, ExhumeError, LimitExceededError
from exhume.formats.clp_s.export import export_jsonl
from exhume.formats.clp_s.read.columns import PrintContext
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.io.source import BytesSource
from tests.clp_s.build import Built, clp, demo, f64, i64, old, tiny, u16, u64
from tests.real import RealSamples
from tests.sizes import some

pa = pytest.importorskip("pyarrow")


def opened(built: Built) -> ClpSArchive:
    return open_archive(BytesSource(built.build()))


def test_demo() -> None:
    table = opened(demo()).to_arrow().read_all()
    table.validate(full=True)
    assert table.schema.field("ts").type == pa.timestamp("ns", tz="UTC")
    assert table.column("n").to_pylist() == [-5, 6, None]
    assert table.column("name").to_pylist() == ["plain", 'q"uote\\', "plain"]
    assert table.column("msg").to_pylist() == ['took 3.14 ms for a1 "-7"', "no variables", None]
    assert table.column("arr").to_pylist() == ['[1, "b2"]', "[]", None]
    assert table.column("list").to_pylist()[0] == '[7,{"k":"a1"},{},[true],[]]'
    assert table.column("ok").to_pylist() == [True, False, None]
    assert table.column("big").to_pylist() == [1.2345678901234567, 12000.0, None]
    assert table.column("o.e").type == pa.null()


def test_columns_and_batches() -> None:
    reader = opened(demo()).to_arrow(columns=["name", "n"], batch_rows=1)
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [1, 1, 1]
    assert batches[0].to_pylist() == [{"name": "plain", "n": -5}]
    with pytest.raises(EntryNotFoundError):
        opened(demo()).to_arrow(columns=["nothing"])


def test_date_strings() -> None:
    values = opened(old()).to_arrow().read_all().column("t").to_pylist()
    assert values[0] == datetime.datetime(2023, 1, 1, 13, 0, 0, 500_000, tzinfo=datetime.UTC)
    epochs = old(patterns=[(0, b"%E")])
    assert opened(epochs).to_arrow().read_all().column("t").to_pylist()[0] == "1672578000500"


def test_mixed_types() -> None:
    nodes = [(-1, b"", 5), (0, b"a", 0), (0, b"a", 12), (0, b"b", 4), (0, b"b", 3), (0, b"a", 7)]
    built = tiny(
        nodes=nodes,
        schemas=[(0, [1, 3], []), (1, [2, 4], []), (2, [5], [])],
        streams=[[(0, 1, i64(7) + b"\1"), (1, 1, f64(2.5) + u16(0x20) + u64(0)), (2, 1, b"")]],
        variables=[b"text"],
    )
    table = opened(built).to_arrow().read_all()
    assert table.to_pylist() == [{"a": 7.0, "b": "true"}, {"a": 2.5, "b": "text"}, {"a": None, "b": None}]


@pytest.mark.parametrize("options", [{"version": "0.3.1"}, {"retain_float_format": False}])
@pytest.mark.parametrize("structurize", [False, True])
def test_floats_in_text_keep_all_digits(tmp_path: Path, options: dict[str, Any], structurize: bool) -> None:
    """A float whose format is not stored has six decimals in records, but a table has to hold all of it."""
    floats = [1 / 3, 5e-324, -0.0, 0.0, 1e22, 12.5]
    target = tmp_path / "floats.clps"
    with clps.create(target, structurize_arrays=structurize, **options) as writer:
        for value in floats:
            writer.write({"mixed": value})
        writer.write({"mixed": "text"})
        writer.write({"array": floats})
    with clps.open(target) as archive:
        table = archive.to_arrow().read_all()
    texts = {row["mixed"] for row in table.to_pylist()} - {None}
    assert texts == {*map(repr, floats), "text"}
    arrays = [row["array"] for row in table.to_pylist() if row["array"] is not None]
    assert [list(map(repr, json.loads(array))) for array in arrays] == [list(map(repr, floats))]


def text_archive(entry: bytes, word: int = 0) -> Built:
    return tiny(
        nodes=[(-1, b"", 5), (0, b"s", 3), (0, b"t", 2)],
        schemas=[(0, [1, 2], [])],
        streams=[[(0, 1, u64(word) + clp([(0, 0)], []))]],
        variables=[entry],
        log_types=[b"a " + entry],
    )


@pytest.mark.parametrize(("entry", "shown"), [(b"\xc3\xa9", "é"), (b"\xff", "\N{REPLACEMENT CHARACTER}")])
def test_text_that_is_not_ascii(entry: bytes, shown: str) -> None:
    table = opened(text_archive(entry)).to_arrow().read_all()
    table.validate(full=True)
    assert table.to_pylist() == [{"s": shown, "t": f"a {shown}"}]


def test_strings_that_are_too_long_for_a_batch_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Long(list[bytes]):
        def numbered(self, ids: Any) -> Any:
            raise OverflowError(1 << 31)

    monkeypatch.setattr(PrintContext, "first_variables", lambda texts, count: Long([b""] * count))
    with pytest.raises(LimitExceededError, match="request smaller batches"):
        opened(demo()).to_arrow(columns=["name"]).read_all()


def test_damage_is_raised() -> None:
    with pytest.raises(ExhumeError) as caught:
        opened(text_archive(b"x", word=9)).to_arrow().read_all()
    assert caught.value.code == "CLPS-402"


def test_agrees_with_events(real_samples: RealSamples) -> None:
    for path in some(real_samples.glob("clp_s/*/mixed/*.clps")):
        with open_archive(BytesSource(path.read_bytes())) as archive:
            rows = archive.to_arrow().read_all().to_pylist()
            for row, event in some(zip(rows, archive.events(), strict=True)):
                plain = {key: value for key, value in event.items() if isinstance(value, str | bool)}
                assert {key: row[key] for key in plain} == plain


def shapes(damaged: bool = False) -> Built:
    """Five tables of as many shapes: a string, an integer, no column at all, a Boolean and a string, a string."""
    word = 9 if damaged else 1
    return tiny(
        nodes=[(-1, b"", 5), (0, b"s", 3), (0, b"n", 0), (0, b"o", 5), (0, b"b", 4)],
        schemas=[(0, [1], []), (1, [2], []), (2, [3], []), (3, [4, 1], []), (4, [1, 2], [])],
        streams=[
            [
                (0, 3, u64(0, 1, 0)),
                (1, 2, i64(-1, 7)),
                (2, 4, b""),
                (3, 1, b"\1" + u64(1)),
                (4, 2, u64(0, word) + i64(1, 2)),
            ]
        ],
        variables=[b"zero", b"one"],
    )


EMPTY = {"s": None, "n": None, "b": None}
SHAPES: list[dict[str, Any]] = [
    *({**EMPTY, "s": text} for text in ("zero", "one", "zero")),
    *({**EMPTY, "n": number} for number in (-1, 7)),
    *[EMPTY] * 4,
    {"s": "one", "n": None, "b": True},
    {"s": "zero", "n": 1, "b": None},
    {"s": "one", "n": 2, "b": None},
]


@pytest.mark.parametrize("batch_rows", [1, 2, 5, 12, 1000])
def test_rows_of_many_tables_share_a_batch(batch_rows: int) -> None:
    batches = list(opened(shapes()).to_arrow(batch_rows=batch_rows))
    for batch in batches:
        batch.validate(full=True)
    assert [batch.num_rows for batch in batches[:-1]] == [batch_rows] * (len(batches) - 1)
    assert len(batches) == -(-len(SHAPES) // batch_rows)
    assert [row for batch in batches for row in batch.to_pylist()] == SHAPES
    whole = opened(shapes()).to_arrow(batch_rows=1000).read_next_batch().column("s")
    assert whole.dictionary.to_pylist() == ["zero", "one"], "each entry once, and none for rows without a string"


def test_records_without_columns_are_rows_of_nulls() -> None:
    """A shape that stores nothing (only empty objects) still has its records."""
    only = tiny(nodes=[(-1, b"", 5), (0, b"o", 5)], schemas=[(0, [1], [])], streams=[[(0, 3, b"")]])
    table = opened(only).to_arrow().read_all()
    assert (table.num_rows, table.num_columns) == (3, 0)
    assert sum(batch.num_rows for batch in opened(shapes()).to_arrow(columns=["n"])) == len(SHAPES)
    assert opened(shapes()).to_arrow(columns=["n"]).read_all()["n"].null_count == 8


def test_queries_pick_rows_of_many_tables() -> None:
    assert opened(shapes()).to_arrow(query="s: one").read_all().to_pylist() == [
        row for row in SHAPES if row["s"] == "one"
    ]


def test_rows_before_damage_are_given() -> None:
    reader = opened(shapes(damaged=True)).to_arrow()
    rows: list[Any] = []
    with pytest.raises(ExhumeError) as caught:
        for batch in reader:
            rows += batch.to_pylist()
    assert caught.value.code == "CLPS-402"
    assert rows == SHAPES[:10]


def maps(table: Any) -> list[dict[str, Any]]:
    """Each row as one dict, of the maps of all types."""
    rows: list[dict[str, Any]] = [{} for _ in range(table.num_rows)]
    for name in table.schema.names:
        for row, pairs in zip(rows, table.column(name).to_pylist(), strict=True):
            assert row.keys().isdisjoint(key for key, _ in pairs)
            row |= pairs
    return rows


def test_rows_of_many_keys_are_maps() -> None:
    archive = opened(demo())
    whole = archive.to_arrow().read_all()
    table = archive.to_arrow(widest=3).read_all()
    table.validate(full=True)
    assert table.schema.names == ["integers", "floats", "booleans", "texts", "arrays"]
    for expected, found in zip(whole.to_pylist(), maps(table), strict=True):
        expected = {key: value for key, value in expected.items() if value is not None}
        assert found.keys() == expected.keys()
        for key in found.keys() - {"ts"}:
            assert found[key] == expected[key]
    assert archive.to_arrow(widest=len(whole.schema)).read_all().equals(whole)
    assert archive.to_arrow(widest=2, columns=["n", "name", "msg"]).schema.names == ["n", "name", "msg"]


@pytest.mark.parametrize("widest", [None, 1])
def test_different_keys_have_different_columns(widest: int | None) -> None:
    names = [b"@a", b"\\xff", b"\xff", b"\xfe"]
    nodes = [(-1, b"", 5), *((0, name, 0) for name in names), (-1, b"@", 5), (5, b"a", 0)]
    built = tiny(
        nodes=nodes,
        schemas=[(0, [1, 2, 3, 4], []), (1, [6], [])],
        streams=[[(0, 1, i64(1, 2, 3, 4)), (1, 1, i64(6))]],
    )
    paths = ["\\@a", "\\\\xff", "\\xff", "\\xfe", "@a"]
    archive = opened(built)
    table = archive.to_arrow(widest=widest).read_all()
    found = (
        [{k: v for k, v in row.items() if v is not None} for row in table.to_pylist()]
        if widest is None
        else maps(table)
    )
    assert found == [dict(zip(paths, (1, 2, 3, 4), strict=False)), {"@a": 6}]
    assert [archive.schema_tree.find(path) for path in paths] == [[1], [2], [3], [4], [6]]
    plain = opened(tiny(nodes=nodes[:2], schemas=[(0, [1], [])], streams=[[(0, 1, i64(1))]]))
    assert plain.to_arrow().read_all().to_pylist() == [{"@a": 1}]


def test_rows_of_different_keys() -> None:
    nodes = [(-1, b"", 5), *((0, b"k%d" % number, 0) for number in range(99)), (0, b"last", 3)]
    built = tiny(
        nodes=nodes,
        schemas=[(number, [number + 1], []) for number in range(100)],
        streams=[[(number, 1, i64(number) if number < 99 else u64(0)) for number in range(100)]],
        variables=[b'"'],
    )
    archive = opened(built)
    for options in ({}, {"jobs": 2}, {"query": "*"}):
        reader = archive.to_arrow(widest=10, batch_rows=7, **options)
        batches = list(reader)
        assert {batch.num_rows for batch in batches} == {7, 2}
        found = maps(pa.Table.from_batches(batches))
        assert found == [*({f"k{number}": number} for number in range(99)), {"last": '"'}]


@pytest.mark.parametrize("before", [1, 6])
def test_a_value_of_a_map_that_cannot_be_decoded(before: int) -> None:
    built = tiny(
        nodes=[(-1, b"", 5), (0, b"a", 0), (0, b"b", 3)],
        schemas=[(0, [1], []), (1, [2], [])],
        streams=[[*[(0, 1, i64(5))] * before, (1, 1, u64(9))]],
        variables=[b"x"],
    )
    reader = opened(built).to_arrow(widest=1)
    assert maps(pa.Table.from_batches([next(reader)])) == [{"a": 5}] * before
    with pytest.raises(ExhumeError, match="CLPS"):
        next(reader)


@pytest.mark.parametrize("structurize", [False, True])
def test_json_lines_take_the_names_of_the_columns(tmp_path: Path, structurize: bool) -> None:
    """Every column of a table can be exported as JSON lines, by the same name, and has the same values there."""
    records: list[dict[str, Any]] = [
        {"@t": 1, "": 5, "c.d": {"": 2, "\\": True}, "$p": {"q": "x"}, "é": [1, {"k": "y z"}], "l\n": 7},
        {"é": "text", "a": {"b": 1.5}},
    ]
    with clps.create(tmp_path / "names.clps", structurize_arrays=structurize) as writer:
        for record in records:
            writer.write(record)
    with clps.open(tmp_path / "names.clps") as archive:
        table = archive.to_arrow().read_all()
        assert set(table.schema.names) == {"@t", "", "c\\.d.", "c\\.d.\\\\", "$p.q", "é", "l\n", "a.b"}
        for place, name in enumerate(table.schema.names):
            out = tmp_path / "column.jsonl"
            export_jsonl(archive, str(out), columns=[name], overwrite=True)
            printed = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
            values = table.column(place).to_pylist()
            assert [bool(line) for line in printed] == [value is not None for value in values], name


def test_json_lines_have_the_auto_generated_keys_that_are_named(samples: Path, tmp_path: Path) -> None:
    with clps.open(samples / "real/kv_ir/logger-0.clps") as archive:
        values = archive.to_arrow(columns=["@level.num"]).read_all().column(0).to_pylist()
        export_jsonl(archive, str(tmp_path / "out"), columns=["@level.num", "user_id"])
    printed = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    assert [line["@"]["level"]["num"] for line in printed] == values
    assert all("user_id" in line for line in printed)
