"""Tables of any file by its specification: every construct has a column or is named, in the memory of one batch."""

from __future__ import annotations

import gc
import importlib
import json
import re
import struct
import tracemalloc
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exhume.errors import EntryNotFoundError, LimitExceededError, QueryError, StructureError, TruncatedError
from exhume.layout.foreign import Specification, compile_ksy
from exhume.layout.foreign_content import UnreadWarning
from tests.forks import Forks

pa = pytest.importorskip("pyarrow")

EVENTS = """
meta: {id: one, endian: le, encoding: UTF-8}
seq:
  - {id: version, type: u1}
  - {id: events, type: event, repeat: eos}
types:
  event:
    seq:
      - {id: magic, contents: E}
      - {id: time, type: u8}
      - {id: kind, type: u1, enum: kinds}
      - {id: body, type: {switch-on: kind, cases: {'kinds::move': move, 'kinds::say': say, 'kinds::wait': u2}}}
    instances:
      first: {pos: 0, type: u1}
  move: {seq: [{id: n, type: u1}, {id: points, type: point, repeat: expr, repeat-expr: n}]}
  point: {seq: [{id: x, type: s2}, {id: y, type: s2}]}
  say: {seq: [{id: text, type: strz}, {id: inner, type: event, if: text == "in"}]}
enums: {kinds: {1: move, 2: say, 3: wait}}
"""
ROWS = """
meta: {id: one, endian: le}
seq: [{id: rows, type: row, repeat: eos}]
types: {row: {seq: [{id: time, type: u4}, {id: len, type: u1}, {id: data, size: len}]}}
"""


def event(time: int, kind: int, body: bytes) -> bytes:
    return b"E" + time.to_bytes(8, "little") + bytes([kind]) + body


DATA = (
    b"\1"
    + event(1 << 60, 1, b"\2" + struct.pack("<4h", 1, -2, 3, -4))
    + event(5, 2, b"hi\0")
    + event(6, 3, b"\7\0")
    + event(7, 9, b"")
)
REPORTED = [
    {
        "time": 1 << 60,
        "kind": "move",
        "body": {"move": {"n": 2, "points": [{"x": 1, "y": -2}, {"x": 3, "y": -4}]}, "say": None, "integer": None},
    },
    {"time": 5, "kind": "say", "body": {"move": None, "say": {"text": "hi"}, "integer": None}},
    {"time": 6, "kind": "wait", "body": {"move": None, "say": None, "integer": 7}},
    {"time": 7, "kind": "9", "body": None},
]
OMITTED = {
    "magic": "always the same",
    "first": "read from elsewhere on request",
    "body.say.inner": "a structure within one of its own type",
}


def compiled(text: str, folder: Path) -> Specification:
    (folder / "one.ksy").write_text(text, encoding="utf-8")
    return compile_ksy(folder / "one.ksy")


def test_every_construct_has_a_column_or_is_named(tmp_path: Path) -> None:
    specification = compiled(EVENTS, tmp_path)
    table = specification.to_arrow(DATA, "events")
    assert table.to_pylist() == REPORTED
    assert json.loads(table.schema.metadata[b"exhume.omitted"]) == OMITTED
    assert str(table.schema.field("time").type) == "uint64"
    assert pa.types.is_dictionary(table.schema.field("kind").type)
    assert pa.types.is_list(table.schema.field("body").type.field("move").type.field("points").type)
    assert specification.to_arrow(DATA, "events[0].body.points").to_pylist() == REPORTED[0]["body"]["move"]["points"]  # type: ignore[index]


@pytest.mark.parametrize("cases", ["{1: f4, 2: f8}", "{2: f8, 1: f4}", "{1: f4, 2: f8be}"])
def test_floats_of_a_choice_keep_their_digits(tmp_path: Path, cases: str) -> None:
    row = f"{{row: {{seq: [{{id: kind, type: u1}}, {{id: x, type: {{switch-on: kind, cases: {cases}}}}}]}}}}"
    rows = f"meta: {{id: one, endian: le}}\nseq: [{{id: rows, type: row, repeat: eos}}]\ntypes: {row}\n"
    data = struct.pack("<Bf", 1, 1.5) + struct.pack(">Bd" if "be" in cases else "<Bd", 2, 0.1)
    table = compiled(rows, tmp_path).to_arrow(data, "rows")
    assert table.to_pylist() == [{"kind": 1, "x": {"float": 1.5}}, {"kind": 2, "x": {"float": 0.1}}]


def test_cases_named_as_columns_of_numbers_have_their_own(tmp_path: Path) -> None:
    cases = "1: integer, 2: u1, 3: a, 4: 'b::a', 5: float, 6: f4"
    row = f"{{id: k, type: u1}}, {{id: x, type: {{switch-on: k, cases: {{{cases}}}}}}}"
    types = "integer: {seq: [{id: n, type: u1}]}, float: {seq: [{id: n, type: u1}]}, "
    types += "b: {seq: [{id: m, type: u1}], types: {a: {seq: [{id: m, type: u1}]}}}"
    (tmp_path / "a.ksy").write_text("meta: {id: a, endian: le}\nseq: [{id: n, type: u1}]\n")
    head = "meta: {id: one, endian: le, imports: [a]}\nseq: [{id: rows, type: row, repeat: eos}]\n"
    data = b"\1\7\2\7\3\7\4\7\5\7\6" + struct.pack("<f", 0.5)
    for cases in (row, row.replace("3: a, 4: 'b::a'", "3: 'b::a', 4: a")):
        specification = compiled(f"{head}types: {{row: {{seq: [{cases}]}}, {types}}}", tmp_path)
        found = specification.to_arrow(data, "rows")["x"].to_pylist()
        held = [[one for one in value.items() if one[1] is not None] for value in found]
        inner = [("a", {"n": 7}), ("one.b.a", {"m": 7})] if cases is row else [("a", {"m": 7}), ("a_2", {"n": 7})]
        expected = [("integer", {"n": 7}), ("integer_2", 7), *inner, ("float", {"n": 7}), ("float_2", 0.5)]
        assert held == [[one] for one in expected]


def test_fields_without_bytes_are_columns_or_named(tmp_path: Path) -> None:
    fields = "{id: n, type: u1}, {id: none, size: 0}, {id: y, size: 0, type: e}, "
    fields += "{id: many, size: 0, repeat: expr, repeat-expr: n}"
    types = f"{{row: {{seq: [{fields}]}}, e: {{instances: {{k: {{value: 5}}}}}}}}"
    text = f"meta: {{id: one, endian: le}}\nseq: [{{id: rows, type: row, repeat: eos}}]\ntypes: {types}\n"
    table = compiled(text, tmp_path).to_arrow(b"\2", "rows")
    assert table.to_pylist() == [{"n": 2, "y": {"k": 5}, "many": [b"", b""]}]
    assert json.loads(table.schema.metadata[b"exhume.omitted"]) == {"none": "always the same"}


def test_computed_numbers_beyond_doubles_keep_their_digits(tmp_path: Path) -> None:
    row = "{row: {seq: [{id: n, type: u8}], instances: {half: {value: 'n == 1 ? 0.5 : n'}}}}"
    text = f"meta: {{id: one, endian: le}}\nseq: [{{id: rows, type: row, repeat: eos}}]\ntypes: {row}\n"
    specification = compiled(text, tmp_path)
    data = struct.pack("<3Q", 1, 4, (1 << 53) + 1)
    assert specification.to_arrow(data[:16], "rows")["half"].to_pylist() == [0.5, 4.0]
    assert specification.to_arrow(data, "rows")["half"].to_pylist() == ["0.5", "4", "9007199254740993"]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_batches_are_the_rows_of_the_table(tmp_path: Path, rows: int) -> None:
    specification = compiled(EVENTS, tmp_path)
    found = list(specification.batches(DATA, "events", rows=rows))
    assert [one.num_rows for one in found] == [min(rows, 4 - at) for at in range(0, 4, rows)]
    assert [row for one in found for row in one.to_pylist()] == REPORTED
    columns = compiled(ROWS, tmp_path)
    data = b"".join(struct.pack("<IB", i, i % 5) + bytes(i % 5) for i in range(1000))
    batches = list(columns.batches(data, "rows", rows=300))
    assert pa.Table.from_batches(batches) == columns.to_arrow(data, "rows")
    assert all(one.num_rows <= 300 for one in batches)


SIZED = """
meta: {id: one, endian: le, encoding: ASCII}
seq: [{id: len, type: u1}, {id: rows, type: row, size: len, repeat: REPEAT}]
types:
  row: {seq: [{id: n, type: u2}, {id: s, type: str, size: _io.size - 3}], instances: {far: {value: n + _parent.len}}}
"""


@pytest.mark.parametrize("data", [b"\5" + b"\1\0ab?" * 16, b"\5" + b"\1\0ab?" * 15 + b"\1\0", b"\2" + b"\1\0" * 16])
def test_rows_of_a_size_are_the_objects_that_a_short_list_has(tmp_path: Path, data: bytes) -> None:
    found: list[list[Any]] = []
    for how, kind in (("expr, repeat-expr: 16", "list"), ("expr, repeat-expr: len - len + 16", "Rows")):
        specification = compiled(SIZED.replace("REPEAT", how), tmp_path)
        try:
            rows = specification.read(data).rows
        except (StructureError, TruncatedError) as error:
            found.append([str(error)])
            continue
        assert type(rows).__name__ == kind
        found.append([(r.n, r.s, r.far, r._io.pos(), r._io.size(), r._parent.len) for r in rows])
    assert found[0] == found[1]
    assert len(found[0]) == (16 if len(data) == 81 else 1)


def test_rows_of_a_size_are_read_in_batches(tmp_path: Path) -> None:
    specification = compiled(SIZED.replace("REPEAT", "eos"), tmp_path)
    data = b"\5" + b"".join(struct.pack("<H3s", n, b"ab?") for n in range(700))
    batches = list(specification.batches(data, "rows", rows=300))
    assert [one.num_rows for one in batches] == [256, 300, 144]
    assert batches[2].to_pylist()[-1] == {"n": 699, "s": "ab", "far": 704}
    assert pa.Table.from_batches(batches) == specification.to_arrow(data, "rows")
    with pytest.raises(TruncatedError, match=r"at 3501 .*field rows\[700\]: expected 5 bytes, found 2 bytes"):
        list(specification.batches(data + b"xy", "rows", rows=300))


WITHIN = """
meta: {id: one}
seq: [{id: len, type: u1}, {id: part, type: part, size: len}, {id: last, type: u1}]
types:
  part: {seq: [{id: add, type: u1}, {id: rows, type: row, repeat: REPEAT}]}
  row: {seq: [{id: n, type: u1}, {id: s, size: n}], instances: {more: {value: n + _parent.add + _root.len}}}
"""


@pytest.mark.parametrize("how", ["eos", "expr, repeat-expr: 2", "until, repeat-until: _.n == 2 or _index == 9"])
def test_lists_in_substreams_are_read_in_batches(tmp_path: Path, how: str) -> None:
    specification = compiled(WITHIN.replace("REPEAT", how), tmp_path)
    assert specification.paused(["part", "rows"]) is not None
    found = specification.batches(b"\6\1\1a\2bc\7", "part.rows", rows=1)
    assert [row for one in found for row in one.to_pylist()] == [
        {"n": 1, "s": b"a", "more": 8},
        {"n": 2, "s": b"bc", "more": 9},
    ]


UNTIL = """
meta: {id: one}
seq: [{id: rows, type: row, repeat: until, repeat-until: _io.eof or _.n == 9}]
types: {row: {seq: [{id: n, type: u1}, {id: s, size: n, type: str, encoding: ASCII}]}}
"""


@pytest.mark.parametrize("data", [b"\1a\2bc", b"\1a\0\x09123456789\1", b"\0"])
def test_batches_end_where_the_list_does(tmp_path: Path, data: bytes) -> None:
    specification = compiled(UNTIL, tmp_path)
    assert specification.batches(data, "rows", rows=1).read_all() == specification.to_arrow(data, "rows")


def test_lists_that_others_ask_for_are_read_as_a_whole(tmp_path: Path) -> None:
    specification = compiled(f"{ROWS}instances: {{many: {{value: rows.size}}}}\n", tmp_path)
    assert specification.paused(["rows"]) is None
    assert [one.num_rows for one in specification.batches(bytes(15), "rows", rows=2)] == [2, 1]


@pytest.mark.parametrize("text", [ROWS, ROWS.replace("{id: data", "{id: x, size: 0, if: false}, {id: data")])
def test_rows_before_damage_come_first(tmp_path: Path, text: str) -> None:
    specification = compiled(text, tmp_path)
    reader = specification.batches(bytes(5 * 700) + b"\0\0\0\0\5a", "rows", rows=100)
    many = 0
    with pytest.raises(TruncatedError, match=r"at 3505 .*field rows\[700\]\.data: expected 5 bytes, found 1 byte"):
        for batch in reader:
            many += batch.num_rows
    assert many == 700


def test_nothing_is_repeated(tmp_path: Path) -> None:
    specification = compiled(EVENTS, tmp_path)
    with pytest.raises(EntryNotFoundError, match="the field is not repeated"):
        specification.batches(DATA, "version")
    with pytest.raises(QueryError):
        specification.batches(DATA, "events", rows=0)
    empty = specification.batches(b"\1", "events")
    assert (empty.schema.names, list(empty.read_all().to_pylist())) == (["time", "kind", "body"], [])
    with pytest.raises(StructureError):
        specification.batches(b"\1X", "events")


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_a_list_without_elements_is_exported(tmp_path: Path, exhume_cli: Any, form: str) -> None:
    text = "meta: {id: one}\nseq: [{id: rows, type: row, repeat: eos}]\ntypes: {row: {seq: [{id: x, type: u1}]}}"
    compiled(text, tmp_path)
    file, out = tmp_path / "file.bin", tmp_path / "out"
    file.touch()
    ran = exhume_cli("export", "--ksy", tmp_path / "one.ksy", "--path", "rows", "--to", form, "-o", out, file)
    assert ran.code == 0, ran.err
    if form == "parquet":
        table = importlib.import_module("pyarrow.parquet").read_table(out)
        assert (table.num_rows, table.schema.names) == (0, ["x"])


INFLATED = """
meta: {id: one, endian: le}
seq: [{id: rows, type: row, repeat: eos}]
types: {row: {seq: [{id: len, type: u4}, {id: data, size: len, process: zlib}]}}
"""


def test_one_budget_bounds_what_all_batches_inflate(tmp_path: Path) -> None:
    specification = compiled(INFLATED, tmp_path)
    part = zlib.compress(bytes(1 << 20))
    row = len(part).to_bytes(4, "little") + part
    assert sum(one.num_rows for one in specification.batches(row * 20, "rows", rows=4)) == 20
    with pytest.raises(LimitExceededError, match="bytes that are copied, decoded or made"):
        for _ in specification.batches(row * 60, "rows", rows=4):
            pass


def peak(text: str, folder: Path, many: int) -> int:
    """Peak memory of going through batches, in a process of its own: what other tests leave does not count."""
    specification = compiled(text, folder)
    path = specification.model.schemas["one"].seq[-1].id
    first, each = {EVENTS: (b"\1", event(5, 2, b"x" * 249 + b"\0")), ROWS: (b"", bytes(4) + b"\xff" + bytes(255))}[text]
    file = folder / "file"
    file.write_bytes(first + each * many)
    list(specification.batches(first + each * 10, path, rows=64))
    gc.collect()
    gc.freeze()  # modules are not examined again and again
    tracemalloc.start()
    for _ in specification.batches(file, path, rows=64):
        gc.collect()  # structures and those in them name each other
    return tracemalloc.get_traced_memory()[1]


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    imports = "from pathlib import Path; from tests.toolchain.test_ksy_tables import peak"
    with Forks(imports, "print(peak(words[0], Path(words[1]), int(words[2])))") as made:
        yield made


@pytest.mark.parametrize("text", [EVENTS, ROWS], ids=["objects", "columns"])
def test_memory_is_that_of_one_batch(tmp_path: Path, text: str, forks: Forks) -> None:
    sizes = 5_000, 20_000  # the files are large enough to be mapped
    less, more = (int(forks.run(text, str(tmp_path), str(many)).out) for many in sizes)
    assert more - less < 100_000  # of nearly four million bytes


def test_duckdb_reads_batches(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    reader = compiled(EVENTS, tmp_path).batches(DATA, "events")
    found = duckdb.from_arrow(reader).aggregate("kind, count(*) as n").order("kind").fetchall()
    assert found == [("9", 1), ("move", 1), ("say", 1), ("wait", 1)]


def test_polars_reads_tables(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    frame = polars.from_arrow(compiled(EVENTS, tmp_path).to_arrow(DATA, "events"))
    assert frame.filter(polars.col("time") < 7)["kind"].to_list() == ["say", "wait"]


def test_the_commands(tmp_path: Path, exhume_cli: Any) -> None:
    compiled(EVENTS, tmp_path)
    file, out = tmp_path / "file.bin", tmp_path / "out"
    file.write_bytes(DATA)
    out.mkdir()
    ksy = ("--ksy", tmp_path / "one.ksy", file)
    ran = exhume_cli("cat", "--path", "events", *ksy)
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["kind"] for line in lines] == ["move", "say", "wait", "9"]
    assert ran.code == 3
    assert "no column: body.say.inner: a structure within one of its own type" in ran.err
    whole = json.loads(exhume_cli("cat", *ksy).out)
    assert whole["events"][1]["body"] == {"text": "hi", "inner": None}
    info = json.loads(exhume_cli("info", "--json", *ksy).out)
    assert (info["fields"], info["lists"]) == ({"version": 1}, {"events": 4})
    for form in ("parquet", "arrow", "csv", "jsonl"):
        ran = exhume_cli("export", "--to", form, "--path", "events", "-o", out / form, "--columns", "kind,time", *ksy)
        assert (ran.code, ran.err.count("no column: first")) == (3, 1)
    table = importlib.import_module("pyarrow.parquet").read_table(out / "parquet")
    assert table.to_pylist() == [{"kind": row["kind"], "time": row["time"]} for row in REPORTED]
    assert json.loads(table.schema.metadata[b"exhume.omitted"]) == OMITTED


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        (("export", "--to", "tar", "--path", "events"), "with --ksy there is no --to tar"),
        (("export", "--to", "csv"), "--ksy needs --path"),
        (("cat", "--range", "1:"), "--range does not apply with --ksy"),
        (("info", "--stats"), "--stats does not apply with --ksy"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, exhume_cli: Any, words: tuple[str, ...], stated: str) -> None:
    compiled(EVENTS, tmp_path)
    (tmp_path / "file.bin").write_bytes(DATA)
    ran = exhume_cli(*words, "--ksy", tmp_path / "one.ksy", tmp_path / "file.bin")
    assert (ran.code, stated in ran.err) == (2, True)
    assert exhume_cli("info", "--import", tmp_path, tmp_path / "file.bin").code == 2


def test_large_files_are_mapped(tmp_path: Path) -> None:
    specification = compiled(ROWS, tmp_path)
    file = tmp_path / "file.bin"
    file.write_bytes((b"\1\0\0\0\xff" + bytes(range(255))) * 5_000)
    for rows in (specification.module.One.from_file(file).rows, specification.read(file).rows):
        assert (len(rows), rows[4_999].time, rows[4_999].data) == (5_000, 1, bytes(range(255)))
    tracemalloc.start()
    specification.module.One.from_file(file)
    assert tracemalloc.get_traced_memory()[1] < 600_000  # of 1.3 million bytes
    tracemalloc.stop()


DIVIDED = """
meta: {id: one, endian: le}
seq: [{id: rows, type: row, repeat: eos}]
types:
  row:
    seq: [{id: a, type: u1}, {id: inner, type: inner}]
    instances: {q: {value: 10 / a}}
  inner: {seq: [{id: b, type: u1}], instances: {r: {value: 10 % b}}}
"""
DIVIDED_DATA = bytes((1, 3, 2, 0, 0, 4))
DIVIDED_ROWS = [
    {"a": 1, "inner": {"b": 3, "r": 1}, "q": 10},
    {"a": 2, "inner": {"b": 0, "r": None}, "q": 5},
    {"a": 0, "inner": {"b": 4, "r": 2}, "q": None},
]
UNREAD = ["inner.r", "q"]


def test_a_computed_value_that_fails_is_null_and_named(tmp_path: Path) -> None:
    specification = compiled(DIVIDED, tmp_path)
    table = specification.to_arrow(DIVIDED_DATA, "rows")
    assert table.to_pylist() == DIVIDED_ROWS
    stated = json.loads(table.schema.metadata[b"exhume.unread"])
    assert list(stated) == UNREAD
    assert all(re.match(r"cannot be read: [rq] at \d: .*ZeroDivisionError", why) for why in stated.values())
    with warnings.catch_warnings():  # all of them are named by the schema
        warnings.simplefilter("error")
        assert specification.batches(DIVIDED_DATA, "rows", rows=3).read_all().to_pylist() == DIVIDED_ROWS
    batches = specification.batches(DIVIDED_DATA, "rows", rows=2)
    assert list(json.loads(batches.schema.metadata[b"exhume.unread"])) == ["inner.r"]
    with pytest.warns(UnreadWarning, match=r"^null: q: cannot be read: q at ") as found:
        assert batches.read_all().to_pylist() == DIVIDED_ROWS
    assert len(found) == 1


def test_computed_values_beyond_the_budget_are_no_nulls(tmp_path: Path) -> None:
    text = DIVIDED.replace("10 / a", "(1 << 8000) << 8000")
    with pytest.raises(LimitExceededError):
        compiled(text, tmp_path).to_arrow(DIVIDED_DATA, "rows")


def test_commands_name_computed_values_that_fail(tmp_path: Path, exhume_cli: Any) -> None:
    compiled(DIVIDED, tmp_path)
    file = tmp_path / "file.bin"
    file.write_bytes(DIVIDED_DATA)
    ksy = ("--path", "rows", "--ksy", tmp_path / "one.ksy", file)
    ran = exhume_cli("export", "--to", "parquet", "-o", tmp_path / "out", *ksy)
    assert ran.code == 3
    assert [ran.err.count(f"null: {name}: cannot be read: ") for name in UNREAD] == [1, 1]
    assert importlib.import_module("pyarrow.parquet").read_table(tmp_path / "out").to_pylist() == DIVIDED_ROWS
    ran = exhume_cli("export", "--json", "--to", "jsonl", "-o", tmp_path / "lines", *ksy)
    document = json.loads(ran.out)
    assert (ran.code, document["lost"]) == (3, {"values that cannot be read": 2})
    assert list(document["unread"]) == UNREAD
    ran = exhume_cli("cat", *ksy)
    assert (ran.code, ran.err.count("null: q: ")) == (3, 1)
    assert [json.loads(line).get("q") for line in ran.out.splitlines()] == [10, 5, None]


def test_no_option_is_advised_for_the_budget_of_a_specification(tmp_path: Path, exhume_cli: Any) -> None:
    compiled(DIVIDED.replace("10 / a", "(1 << 8000) << 8000"), tmp_path)
    (tmp_path / "file.bin").write_bytes(DIVIDED_DATA)
    ran = exhume_cli("cat", "--path", "rows", "--ksy", tmp_path / "one.ksy", tmp_path / "file.bin")
    assert (ran.code, "[EX-501]" in ran.err, "--limit" in ran.err) == (1, True, False)


def test_what_is_null_in_one_object_has_no_key_in_a_row(tmp_path: Path, exhume_cli: Any) -> None:
    (tmp_path / "one.ksy").write_text(
        "meta: {id: one}\n"
        "seq: [{id: rows, type: row, repeat: eos}]\n"
        "types:\n"
        "  row:\n"
        "    seq: [{id: a, type: u1}, {id: b, type: u1, if: a > 1}]\n"
        "    instances: {c: {value: 10 / (a - 2)}}\n"
    )
    (tmp_path / "file.bin").write_bytes(b"\x02\x07\x03\x08\x01")
    given = ("cat", "--ksy", tmp_path / "one.ksy", tmp_path / "file.bin")
    whole, table = exhume_cli(*given), exhume_cli(*given, "--path", "rows")
    rows: list[dict[str, int | None]] = [
        {"a": 2, "b": 7, "c": None},
        {"a": 3, "b": 8, "c": 10},
        {"a": 1, "b": None, "c": -10},
    ]
    assert json.loads(whole.out) == {"rows": rows}
    printed = [json.loads(line) for line in table.out.splitlines()]
    assert printed == [{key: value for key, value in row.items() if value is not None} for row in rows]
    assert whole.code == table.code == 3
    assert "rows.c: cannot be read" in whole.err
    assert "c: cannot be read" in table.err


def test_lists_of_bytes_are_lists_of_numbers_in_json(tmp_path: Path, exhume_cli: Any) -> None:
    fields = "{id: few, type: u1, repeat: expr, repeat-expr: 2}, {id: raw, size: 2}"
    (tmp_path / "one.ksy").write_text(f"meta: {{id: one}}\nseq: [{fields}]\ninstances: {{again: {{value: few}}}}\n")
    (tmp_path / "file.bin").write_bytes(b"AB\1\2")
    ran = exhume_cli("cat", "--ksy", tmp_path / "one.ksy", tmp_path / "file.bin")
    assert json.loads(ran.out) == {"few": [65, 66], "raw": {"text": "\1\2"}, "again": [65, 66]}
