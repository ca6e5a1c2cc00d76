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
from exhume.layout.foreign_rows import SpecificationRows
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
SIZED = """types:
  row: {seq: [{id: a, type: u1}, {id: text, size: 8, type: strz, encoding: latin1, if: a < 200}, {id: padded,
    size: 4, type: str, terminator: 0, pad-right: 32, encoding: latin1},
    {id: ended, terminator: 0, include: true}, {id: far, type: far}]}
  far: {seq: [{id: z, type: u1}], instances: {double: {value: z * 2}}}
"""
EVERY = {"cases": CASES, "sized cases": SIZED_CASES, "optional": OPTIONAL, "lists": LISTS, "ended": SIZED}


def compiled(text: str, folder: Path, *, native: bool = False) -> Specification:
    file = folder / "one.ksy"
    file.write_text(HEAD + text, encoding="utf-8")
    return compile_ksy(file, native=native)


def by_objects(specification: Specification, data: bytes) -> Any:
    """The table that the objects make."""
    with one_file(open_target(data)) as source:
        rows = SpecificationRows(specification, source, "rows", ())
        field, found = rows._whole()
        tabulator = Tabulator(field, len(data))
        return tabulator.pa.Table.from_batches([tabulator.batch(list(found))])


def told(make: Any) -> Any:
    """A table as its rows, types and what is omitted, or what is said."""
    try:
        table = make()
    except ExhumeError as error:
        return type(error).__name__, str(error)
    said = json.loads((table.schema.metadata or {}).get(b"exhume.omitted", b"{}"))
    return repr(table.to_pylist()), str(table.schema.remove_metadata()), said


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
        objects = told(lambda data=data: by_objects(specification, data))
        assert told(lambda data=data: specification.to_arrow(data, "rows")) == objects, data.hex()
        batches = told(lambda data=data: specification.batches(data, "rows", rows=10_000).read_all())
        assert batches[0] == objects[0], data.hex()
        assert len(objects) < 3 or not data or batches == objects, data.hex()
        whole += len(objects) == 3 and bool(data)
    assert whole > 5


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


def test_lists_of_constant_bytes_stay_objects(tmp_path: Path) -> None:
    specification = compiled(CONSTANT, tmp_path)
    assert "scan_row" not in specification.texts["one.py"]
    data = b"\0\5" + b"\5\1\2\1\2\1\2\7"
    assert specification.read(data).rows[1].marks == [b"\1\2", b"\1\2"]
    assert specification.to_arrow(data, "rows")["equal"].to_pylist() == [[], [b"\1\2"]]
    with pytest.raises(ExhumeError, match=r"field rows\[0\]\.marks\[1\]"):
        specification.to_arrow(b"\5\1\2\1\3\1\2\7", "rows")
