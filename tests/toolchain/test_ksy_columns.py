"""Rows with choices, absent fields and lists as columns: they give what objects give, and refuse what those refuse."""

from __future__ import annotations

import json
import random
from array import array
from pathlib import Path
from typing import Any

import pytest

from exhume.errors import EntryNotFoundError, ExhumeError, SpecificationError, TruncatedError
from exhume.io.opening import open_target
from exhume.layout.foreign import Specification, compile_ksy
from exhume.layout.foreign_content import SpecificationRows
from exhume.layout.foreign_table import Tabulator
from exhume.layout.ksy_files import one_file
from tests.toolchain.differential import damaged
from tests.toolchain.natively import made_for

pa = pytest.importorskip("pyarrow")

HEAD = "meta: {id: one, endian: le, encoding: UTF-8}\nseq: [{id: rows, type: row, repeat: eos}]\n"
CASES = """types:
  row: {seq: [{id: tag, type: u1}, {id: body, type: {switch-on: tag % 8, cases: {
    0: u1, 1: s2, 2: pair, 3: named, 4: u4, 5: strz, 6: pair}}}]}
  pair: {seq: [{id: x, type: u2}, {id: y, type: f4}]}
  named: {seq: [{id: many, type: b3}, {id: high, type: b5}, {id: parts, type: part, repeat: expr, repeat-expr: many}]}
  part: {seq: [{id: key, type: u1, enum: keys}, {id: value, type: str, size: key.to_i % 5}]}
enums: {keys: {0: none, 1: one}}
"""
SIZED_CASES = """types:
  row: {seq: [{id: tag, type: u1}, {id: len, type: u1}, {id: body, size: len % 16, type: {switch-on: tag % 4, cases: {
    0: pair, 1: rest, _: many}}}]}
  pair: {seq: [{id: x, type: u2}]}
  rest: {seq: [{id: text, type: str, size: _io.size - _io.pos, encoding: ASCII}]}
  many: {seq: [{id: words, type: u2be, repeat: eos}]}
"""
OPTIONAL = """types:
  row: {seq: [{id: flags, type: u1}, {id: a, type: u4, if: flags & 1 != 0}, {id: n, type: u1, if: flags & 2 != 0},
    {id: data, size: n % 5, if: flags & 6 == 6}, {id: pair, type: pair, if: flags & 8 != 0},
    {id: word, type: strz, if: flags & 16 != 0}, {id: odd, type: u1, if: flags & 32 != 0 and n > 3},
    {id: kind, type: u1, enum: kinds, if: flags & 64 != 0}, {id: bits, type: b8, if: flags & 128 != 0},
    {id: last, type: u1}]}
  pair: {seq: [{id: x, type: s1}, {id: real, type: f8, if: x < 0}]}
enums: {kinds: {1: some, 7: other}}
"""
LISTS = """types:
  row: {seq: [{id: n, type: u1}, {id: bytes, type: u1, repeat: expr, repeat-expr: n % 3},
    {id: words, type: s4be, repeat: expr, repeat-expr: n % 2}, {id: pairs, type: pair, repeat: until,
    repeat-until: _.x > 99}, {id: few, type: u2, repeat: until, repeat-until: _ > 300},
    {id: texts, type: strz, repeat: expr, repeat-expr: n % 4, if: n > 128},
    {id: deep, type: deep, repeat: expr, repeat-expr: 2}, {id: any, type: {switch-on: n % 3, cases: {0: u1, _: pair}},
    repeat: expr, repeat-expr: n % 3}]}
  pair: {seq: [{id: x, type: u1}, {id: y, type: u1, valid: {max: 250}}]}
  deep: {seq: [{id: many, type: u1}, {id: pairs, type: pair, size: 3, repeat: expr, repeat-expr: many % 3}]}
"""
CONSTANT = """types:
  row: {seq: [{id: n, type: u1}, {id: marks, contents: [1, 2], repeat: expr, repeat-expr: n % 3},
    {id: equal, size: 2, valid: '[1, 2]', repeat: expr, repeat-expr: n % 2}, {id: last, type: u1}]}
"""
NESTED = """types:
  row: {seq: [{id: n, type: u1}, {id: groups, type: group, repeat: expr, repeat-expr: n % 4},
    {id: few, type: group, repeat: expr, repeat-expr: 2, if: n > 99}]}
  group: {seq: [{id: kind, type: u1}, {id: members, type: member, repeat: until, repeat-until: _.kind % 3 == 0},
    {id: own, type: {switch-on: kind % 4, cases: {0: pair, 1: texts, 2: u2, 3: far}}}]}
  member: {seq: [{id: kind, type: u1},
    {id: body, type: {switch-on: kind % 5, cases: {0: pair, 1: texts, 2: u1, _: s4}}},
    {id: inner, type: {switch-on: kind % 2, cases: {0: pair, _: numbers}}, repeat: expr, repeat-expr: kind % 3}]}
  pair: {seq: [{id: a, type: u1}, {id: b, type: s2, if: a > 50}]}
  numbers: {seq: [{id: m, type: u1}, {id: list, type: u2, repeat: expr, repeat-expr: m % 4}]}
  texts: {seq: [{id: len, type: u1}, {id: text, type: str, encoding: latin1, size: len % 5}]}
  far: {seq: [{id: pairs, type: pair, repeat: expr, repeat-expr: 3}, {id: z, type: u1}],
    instances: {sum: {value: z + 1}}}
"""
"""Lists of lists of structures with choices within them."""
SIZED = """types:
  row: {seq: [{id: a, type: u1}, {id: text, size: 8, type: strz, encoding: latin1, if: a < 200}, {id: padded,
    size: 4, type: str, terminator: 0, pad-right: 32, encoding: latin1},
    {id: ended, terminator: 0, include: true}, {id: far, type: far}]}
  far: {seq: [{id: z, type: u1}], instances: {double: {value: z * 2}}}
"""
UPWARD = """meta: {id: one, encoding: UTF-8}
seq: [{id: magic, type: u1}, {id: head, type: head}, {id: rows, type: row, repeat: eos}]
types:
  head:
    seq: [{id: width, type: u2le}, {id: kind, type: u1, enum: kinds}, {id: wide, type: b1}, {id: low, type: b7},
      {id: odd, type: u1, if: wide}]
    instances: {half: {value: width / 2}}
  row:
    meta: {endian: {switch-on: _root.magic % 4, cases: {0: le, 1: be, 2: be}}}
    seq: [{id: n, type: u2}, {id: body, size: _parent.head.width % 5, type: {switch-on: _root.head.kind, cases: {
      'kinds::pair': pair, 'kinds::deep': deep, 'kinds::word': u1}}}, {id: few, type: u2, if: _root.head.wide},
      {id: more, size: _root.head.half % 3}, {id: within, type: within},
      {id: last, size: _root.head.odd % 3, if: n % 2 == 1 and _root.head.wide}]
  within: {seq: [{id: x, type: u4le, if: _parent.n > 9}, {id: y, size: (_parent._parent.magic + _root.head.low) % 4}]}
  pair: {seq: [{id: a, type: u1}, {id: b, type: s2be}]}
  deep: {seq: [{id: n, type: u1}, {id: next, type: deep, if: n > 200}]}
enums: {kinds: {0: pair, 1: deep, 2: word}}
"""
"""Rows that depend on what is before them."""
INHERITED = """meta: {id: one, encoding: UTF-8}
seq: [{id: magic, type: u1}, {id: list, type: list}]
types:
  list:
    meta: {endian: {switch-on: _root.magic, cases: {1: le, _: be}}}
    seq: [{id: rows, type: row, size: 8, repeat: eos}]
    types: {row: {seq: [{id: a, type: u2}, {id: b, type: f4, if: a > 9}, {id: c, type: u1, repeat: eos}]}}
"""
UNTIL = """meta: {id: one, endian: le, encoding: UTF-8}
seq: [{id: magic, type: u1}, {id: rows, type: row, repeat: until,
  repeat-until: '_.tag.to_i % 16 == 5 or _.body == 7 or _io.eof or _.tag.to_i == tags::last.to_i'}]
types:
  row:
    seq: [{id: tag, type: u1, enum: tags}, {id: body, type: u1, if: tag.to_i > 99}, {id: more, size: tag.to_i % 3}]
    enums: {tags: {3: last}}
enums: {tags: {9: last}}
"""
EVERY = {
    "cases": CASES,
    "sized cases": SIZED_CASES,
    "optional": OPTIONAL,
    "lists": LISTS,
    "nested": NESTED,
    "ended": SIZED,
}


def compiled(text: str, folder: Path, *, native: bool = False) -> Specification:
    file = folder / "one.ksy"
    file.write_text(text if text.startswith("meta") else HEAD + text, encoding="utf-8")
    return compile_ksy(file, native=native)


def by_objects(specification: Specification, data: bytes, path: str = "rows") -> Any:
    """The table that the objects make."""
    with one_file(open_target(data)) as source:
        rows = SpecificationRows(specification, source, path, ())
        field, found = rows._whole()
        tabulator = Tabulator(field, len(data))
        return tabulator.pa.Table.from_batches([tabulator.batch(list(found))])


def reported(make: Any) -> Any:
    """A table as its rows, types and what is omitted, or what is reported."""
    try:
        table = make()
    except ExhumeError as error:
        return type(error).__name__, str(error)
    stated = json.loads((table.schema.metadata or {}).get(b"exhume.omitted", b"{}"))
    return repr(table.to_pylist()), str(table.schema.remove_metadata()), stated


def inputs(specification: Specification, seeds: int) -> list[bytes]:
    """Inputs that are more and more like rows, and damaged ones."""
    found = []
    for seed in range(seeds):
        draw = random.Random(seed)
        rows = [data for data, _ in made_for(specification, draw)]
        found += [*rows[-3:], draw.randbytes(60), *(damaged(draw, rows[-1]) for _ in range(2) if rows[-1])]
    scan = specification.module.scan_row
    return [*found, *(data[: scan(data, 0, len(data)).resume_at] for data in found)]


@pytest.mark.parametrize("text", EVERY.values(), ids=EVERY)
def test_columns_are_what_objects_are(tmp_path: Path, text: str) -> None:
    specification = compiled(text, tmp_path)
    assert "scan_row" in specification.texts["one.py"]
    whole = 0
    for data in inputs(specification, 8):
        objects = reported(lambda data=data: by_objects(specification, data))
        assert reported(lambda data=data: specification.to_arrow(data, "rows")) == objects, data.hex()
        batches = reported(lambda data=data: specification.batches(data, "rows", rows=10_000).read_all())
        assert batches[0] == objects[0], data.hex()
        assert len(objects) < 3 or not data or batches == objects, data.hex()
        whole += len(objects) == 3 and bool(data)
    assert whole > 5


@pytest.mark.parametrize(
    ("path", "text"),
    [("rows", UPWARD), ("rows", UNTIL), ("list.rows", INHERITED)],
    ids=["upward", "until", "order of the parent"],
)
def test_rows_that_depend_on_what_is_before_them_have_columns(tmp_path: Path, path: str, text: str) -> None:
    specification = compiled(text, tmp_path)
    draw, columns, objects = random.Random(5), 0, 0
    for kind in [*range(4)] * 4 if path == "rows" else [0, 1, 1, 0]:
        head = bytes([kind, 4, 0, kind, draw.choice([3, 0x82]), 7]) if path == "rows" else bytes([kind])
        whole = head + draw.randbytes(60)
        ends = (
            size for size in range(len(whole), len(head), -1) if len(reported_rows(specification, whole[:size], path))
        )
        for data in (whole, whole[: next(ends, 0)], head):
            expected = reported(lambda data=data: by_objects(specification, data, path))
            table = reported(lambda data=data: specification.batches(data, path, rows=5).read_all())
            assert table[0] == expected[0], data.hex()
            assert len(expected) < 3 or data in (head, b"") or table == expected, data.hex()
            rows = reported_rows(specification, data, path)
            try:
                found = [str(one) for one in specification.columns(data, path)]
            except SpecificationError:  # a structure within its own type, or a field that is absent
                objects += len(rows)
            except ExhumeError:
                assert not rows
            else:
                columns += len(found)
                assert found == rows
    assert columns > 5
    assert objects > 5 or text != UPWARD


def reported_rows(specification: Specification, data: bytes, path: str) -> list[str]:
    """The objects of a list; none where something does not fit."""
    try:
        found = specification.read(data)
    except ExhumeError:
        return []
    return [str(one) for one in (found.rows if path == "rows" else found.list.rows)]


def test_columns_are_read_without_objects(tmp_path: Path) -> None:
    specification = compiled(LISTS.replace("{id: n, type: u1}", "{id: n, type: u1}, {id: sort, type: u1}"), tmp_path)
    row = bytes([129, 5, 100, 1, 45, 1]) + b"x\0" + bytes(2) + b"\7\2"
    rows = specification.columns(b"", "rows")
    assert (len(rows), rows.sort) == (0, array("B"))
    with pytest.raises(TruncatedError, match=r"rows\[0\]"):
        specification.columns(row[:3], "rows")
    with pytest.raises(EntryNotFoundError):
        specification.columns(b"", "nothing")
    pairs = compiled(CASES, tmp_path)
    data = b"\2\1\0" + bytes(4) + b"\4\1\0\0\0" + b"\3\x42\0" + b"\1a" + b"\7"
    columns = pairs.columns(data, "rows")
    assert columns.body_case.tolist() == [1, 3, 2, 0]
    assert (columns.body_pair_x.tolist(), columns.body_integer.tolist()) == ([1], [1])
    assert (columns.body_named_parts_until.tolist(), columns.body_named_parts_key.tolist()) == ([2], [0, 1])
    assert pairs.read(data).rows.body_case == columns.body_case
    assert pairs.read(data).rows.columns[2].body.parts[1].value == "a"


def test_rows_of_parents_have_no_columns(tmp_path: Path) -> None:
    specification = compiled("types: {row: {seq: [{id: n, type: u1, if: _parent.rows.size < 3}]}}", tmp_path)
    with pytest.raises(SpecificationError, match="no columns, only objects"):
        specification.columns(b"\1", "rows")
    assert specification.to_arrow(b"\1\2\3", "rows").num_rows == 3


@pytest.mark.parametrize(
    ("field", "data"),
    [
        ("terminator: 10", b"a=1\nb=2\n"),
        ("terminator: 10, eos-error: false", b"a=1\nb=2"),
        ("terminator: 10, include: true, process: xor(0)", b"a=1\nb=2\n"),
        ("size: 4, terminator: 10", b"a=1\nb=2\n"),
    ],
)
def test_rows_up_to_a_terminator_stay_objects(tmp_path: Path, field: str, data: bytes) -> None:
    text = "types: {row: {seq: [{id: k, type: str, terminator: 61}, {id: v, type: str, size: 1}]}}"
    file = tmp_path / "one.ksy"
    file.write_text(HEAD.replace("type: row", f"type: row, {field}") + text, encoding="utf-8")
    specification = compile_ksy(file)
    rows = specification.read(data).rows
    assert not hasattr(rows, "columns")
    assert [(row.k, row.v) for row in rows] == [("a", "1"), ("b", "2")]
    assert specification.to_arrow(data, "rows").to_pylist() == [{"k": "a", "v": "1"}, {"k": "b", "v": "2"}]


def test_lists_of_constant_bytes_stay_objects(tmp_path: Path) -> None:
    specification = compiled(CONSTANT, tmp_path)
    assert "scan_row" not in specification.texts["one.py"]
    data = b"\0\5" + b"\5\1\2\1\2\1\2\7"
    assert specification.read(data).rows[1].marks == [b"\1\2", b"\1\2"]
    assert specification.to_arrow(data, "rows")["equal"].to_pylist() == [[], [b"\1\2"]]
    with pytest.raises(ExhumeError, match=r"field rows\[0\]\.marks\[1\]"):
        specification.to_arrow(b"\5\1\2\1\3\1\2\7", "rows")


@pytest.mark.parametrize("name", ["rows", "run", "paused", "layout_error", "no_columns_error"])
def test_types_that_are_called_as_something_of_readers(tmp_path: Path, name: str) -> None:
    row = f"{{{name}: {{seq: [{{id: n, type: u1}}, {{id: x, type: u2, if: n > _root.head}}]}}}}"
    head = f"meta: {{id: one, endian: le}}\nseq: [{{id: head, type: u1}}, {{id: list, type: {name}, repeat: eos}}]\n"
    specification = compiled(f"{head}types: {row}\n", tmp_path)
    found = specification.read(b"\1\0\2ab").list
    assert (found[1].x, found.x_valid.tolist()) == (0x6261, [0, 1])
    with pytest.raises(TruncatedError, match=r"list\[0\]\.x"):
        specification.columns(b"\1\2a", "list")


JOINED = {
    "lists": "{id: a, type: t, repeat: expr, repeat-expr: n % 3}, {id: a_b, type: u, repeat: expr, repeat-expr: 2}",
    "cases": "{id: x, type: {switch-on: n % 3, cases: {1: a, 2: a_b, 0: a}}}",
    "case and value": "{id: x_2, type: u1}, {id: x, type: {switch-on: n % 2, cases: {0: u1, 1: t}}}",
    **{
        f"{name} and {field}": f"{{id: {name}, type: p}}, {{id: x, {field}}}, {{id: y, type: u1}}"
        for name in ("at", "end", "case", "there", "add")
        for field in ("size: n % 3", "type: strz, if: n > 0", "type: {switch-on: n % 2, cases: {0: u1, 1: t}}")
    },
}
"""Fields whose names, joined, are those of other fields, or of what readers keep of other fields."""


@pytest.mark.parametrize("fields", JOINED.values(), ids=JOINED)
def test_names_that_are_joined_are_no_other_names(tmp_path: Path, fields: str) -> None:
    types = "t: {seq: [{id: b_c, type: u1}, {id: k, type: u1}]}\n  u: {seq: [{id: c, type: u1}]}\n"
    types += "  a: {seq: [{id: b_c, type: u1}]}\n  a_b: {seq: [{id: c, type: u1}, {id: j, type: u1}]}\n"
    row = f"types:\n  row: {{seq: [{{id: n, type: u1}}, {fields}]}}\n  p: {{seq: [{{id: x, type: u1}}]}}\n  {types}"
    specification = compiled(row, tmp_path)
    data = bytes(random.Random(1).choices([*range(7), 0], k=60))
    size = next(size for size in range(60, 0, -1) if reported_rows(specification, data[:size], "rows"))
    table = specification.batches(data[:size], "rows").read_all
    assert reported(table)[0] == reported(lambda: by_objects(specification, data[:size]))[0]


@pytest.mark.parametrize("field", ["size: n % 3", "type: strz", "type: u2, repeat: expr, repeat-expr: 1"])
def test_fields_named_as_words_of_python_stay_objects(tmp_path: Path, field: str) -> None:
    types = f"types: {{row: {{seq: [{{id: n, type: u1}}, {{id: class, {field}}}, {{id: last, type: u1}}]}}}}"
    specification = compiled(types, tmp_path)
    data = b"\2a\0\1" * 2
    assert specification.read(data).rows[1].last == 1
    table = specification.to_arrow(data, "rows")
    assert table.to_pylist() == by_objects(specification, data).to_pylist()
    assert len(table) == 2
