"""The fast readers compiled from `ksy/` read and refuse what Kaitai's own classes do, at the same place."""

from __future__ import annotations

import gc
import importlib
import random
import re
import struct
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.fast import _layout

from exhume.compiler.emit.c_numbers import unique_name
from exhume.compiler.emit.elements import compiled_element
from exhume.compiler.emit.scan import Column
from exhume.compiler.front.model import Type
from exhume.compiler.instances.tree import BrokenError
from exhume.compiler.instances.walk import Walk
from exhume.compiler.ir.fixed import only_number
from exhume.compiler.refusal import UnsupportedError
from exhume.compiler.whole import compile_specs
from tests.conftest import ROOT
from tests.sizes import size, some
from tests.toolchain.damage import run, samples
from tests.toolchain.differential import DifferenceError, damaged, fast_reader, model
from tests.toolchain.refusals import check
from tests.toolchain.trees import facts_of, spec_ids

DAMAGED = size(100, 100_000)
"""Damaged inputs for each schema."""


@pytest.mark.parametrize("schema", sorted(model().schemas))
@pytest.mark.bulk
def test_values_and_refusals_are_those_of_kaitai(schema: str) -> None:
    for data, arguments in samples(schema):
        assert check(schema, data, arguments)
    _, _, _, refused, different = run(schema, DAMAGED, drawn=size(10, 200))
    assert different == []
    assert refused or schema == "utf8_text"


@pytest.mark.parametrize("what", ["a value", "a count", "a refusal", "a field", "an offset", "nothing refused"])
def test_what_a_reader_does_wrong_is_noticed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("exhume_ksy.fast.leveldb_block")
    right = module.read_entry_list  # of an instance, in a stream of its own
    data, _ = samples("leveldb_block")[0]
    sound = what in ("a value", "a count", "a refusal")
    if not sound:
        data = b"\xff" * 3 + data[3:]
    assert check("leveldb_block", data, []) == sound

    def wrong(view: bytes, at: int, end: int) -> Any:
        if what == "a value":
            return right(view[:10] + b"?" + view[11:], at, end)
        if what in ("a count", "nothing refused"):
            return right(view, at, at + 19 if sound else at)
        try:
            right(view, at, end)
        except _layout.LayoutError as error:
            error.path += "s" if what == "a field" else ""
            error.offset += what == "an offset"
            raise
        raise _layout.LayoutError("entries", at, end, "fewer", "many")

    monkeypatch.setattr(module, "read_entry_list", wrong)
    with pytest.raises(DifferenceError):
        check("leveldb_block", data, [])


def with_key(key: str) -> list[Type]:
    """The types that are read as columns, or flat."""
    return [type for type in model().types() if type.raw.get(key)]


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("type", with_key("-columns"), ids=lambda one: one.where)
def test_columns_contain_what_reading_one_by_one_yields(
    type: Type, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(f"exhume_ksy.fast.{type.root.id}")
    if compiled and _layout.native is None:
        pytest.skip("the compiled readers are not built, or turned off")
    if not compiled:
        monkeypatch.setattr(module, "native", None, raising=False)
    read = getattr(module, type.reader_name)
    scan = getattr(module, type.reader_name.replace("read_", "scan_", 1))
    draw = random.Random(type.where)
    for data, _ in some(samples(type.root.id)):
        for number in some(range(DAMAGED)):
            view = damaged(draw, data) if number else data
            start = draw.randrange(len(view) + 1)
            columns = scan(view, start, len(view))
            at, expected = start, []
            problem = None
            while at < len(view):
                try:
                    one, after = read(view, at, len(view))
                except ValueError as error:
                    problem = error
                    break
                expected.append((at, one))
                at = after
            assert list(columns.at) == [place for place, _ in expected]
            # What the interpreted loop would add is nothing: the compiled one takes all that is good.
            if compiled and only_number(type) is None:
                bare = type_of_columns(module, type)(view, len(view))
                fill = getattr(_layout.native, unique_name(type))
                assert fill(bare, view, start, len(view), -1) == at
            assert columns.resume_at == at
            assert (columns.problem is None) == (problem is None)
            if problem is not None:
                assert columns.problem.path == f"[{len(expected)}].{problem.path}"  # type: ignore[attr-defined]
                assert columns.problem.offset == problem.offset  # type: ignore[attr-defined]
            for index, (_, one) in enumerate(expected):
                _same(columns, index, one)
            short = scan(view, start, len(view), count=max(0, len(expected) - 1))
            assert short.problem is None
            assert len(short) == max(0, len(expected) - 1)


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_columns_that_end_in_a_problem_are_freed_with_their_data(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("exhume_ksy.fast.zstd_frame")
    if not compiled:
        monkeypatch.setattr(module, "native", None)
    data = samples("zstd_frame")[0][0]
    view = memoryview(data)[:-1]
    held = weakref.ref(view)
    columns = module.scan_frame(view, 0, len(view))
    assert columns.problem is not None
    gc.disable()
    try:
        del columns, view
        assert held() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"if": "n > 1"},
        {"size": 2},
        {"repeat-until": "_.last == 1 or n == 1"},
        {"repeat-until": "_ == 1", "type": "u1"},
    ],
    ids=str,
)
def test_columns_of_what_is_repeated_until_the_last_are_of_nothing_more(more: dict[str, Any]) -> None:
    field = {"id": "parts", "type": "part", "repeat": "until", "repeat-until": "_.last == 1", **more}
    part = {"seq": [{"id": "last", "type": "u1"}]}
    item = {"-columns": True, "seq": [{"id": "n", "type": "u1"}, field], "types": {"part": part}}
    seq = [{"id": "items", "type": "item", "repeat": "eos"}]
    spec = {"meta": {"id": "some", "endian": "le"}, "seq": seq, "types": {"item": item}}
    if more:
        with pytest.raises(UnsupportedError, match="a repeated field inside a row has no column"):
            compile_specs({"some": spec})
        return
    made = compile_specs({"some": spec})
    assert "parts_start" in made["fast/some.py"]
    assert "parts_start" in made["fast/_native.pyx"]


def test_an_imported_type_keeps_its_reader_next_to_a_local_one_of_the_same_name() -> None:
    part = {"seq": [{"id": "length", "type": "u1"}, {"id": "value", "size": "length"}]}
    outer = {
        "meta": {"id": "outer", "endian": "le", "imports": ["inner"]},
        "seq": [{"id": "one", "type": "part"}],
        "types": {"part": {"seq": [{"id": "tag", "type": "u1"}, {"id": "of", "type": "inner::part"}]}},
    }
    inner = {"meta": {"id": "inner", "endian": "le"}, "seq": [{"id": "one", "type": "part"}], "types": {"part": part}}
    made = compile_specs({"outer": outer, "inner": inner})["fast/outer.py"]
    assert "from .inner import read_part as _inner_read_part" in made
    assert "of, at = _inner_read_part(view, at, end)" in made
    assert "one_, at = read_part(view, at, end)" in made


def test_ends_are_found_as_reading_finds_them() -> None:
    module = importlib.import_module("exhume_ksy.fast.clp_s_table")
    draw = random.Random("ends")
    for number in some(range(20 * DAMAGED)):
        data, (rows, types) = draw.choice(samples("clp_s_table"))
        types = bytes(draw.choice((*types, *range(15), 77)) for _ in range(draw.randrange(6)))
        view = (damaged(draw, data) if number % 2 else data) + bytes(draw.randrange(200))
        rows, start = draw.randrange(rows + 2), draw.randrange(min(9, len(view) + 1))
        try:
            table, at = module.read_clp_s_table(view, start, len(view), rows, types)
        except _layout.LayoutError as error:
            with pytest.raises(_layout.LayoutError) as caught:
                module.ends_clp_s_table_columns(view, start, len(view), rows, types)
            assert (caught.value.path, caught.value.offset, str(caught.value)) == (error.path, error.offset, str(error))
            continue
        ends = module.ends_clp_s_table_columns(view, start, len(view), rows, types)
        assert [*ends, at][-1] == at
        alone = [
            module.read_clp_s_table(view, begin, end, rows, bytes([type]))
            for begin, end, type in zip([start, *ends], ends, types, strict=False)
        ]
        assert [end for _, end in alone] == ends
        assert [type(one.columns[0]) for one, _ in alone] == [type(one) for one in table.columns]
        for number, column in zip(types, table.columns, strict=True):
            if number in module.CLP_S_TABLE_COLUMNS:  # else it stores nothing
                assert module.CLP_S_TABLE_COLUMNS[number](bytes(8), 0, 8, 0)[0].__class__ is column.__class__


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("type", with_key("-element"), ids=lambda one: one.where)
def test_flat_elements_contain_what_reading_yields(type: Type, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"exhume_ksy.fast.{type.root.id}")
    if compiled and _layout.native is None:
        pytest.skip("the compiled readers are not built, or turned off")
    if not compiled:
        monkeypatch.setattr(module, "native", None, raising=False)
    read = getattr(module, type.reader_name)
    flat = getattr(module, type.reader_name.replace("read_", "flat_", 1))
    names = [one.name for one in columns_of(type)]
    draw = random.Random(type.where)
    good = 0
    for data, _ in samples(type.root.id):
        for number in range(DAMAGED):
            view = damaged(draw, data) if number else data
            start = draw.randrange(len(view) + 1) if type.parent is not None or number else 0
            end = draw.randrange(start, len(view) + 1) if number % 2 else len(view)
            try:
                one, after = read(view, start, end, *[False for _ in type.params])
            except ValueError as error:
                with pytest.raises(ValueError) as caught:
                    flat(view, start, end)
                assert vars(caught.value) == vars(error)
                continue
            good += 1
            found = flat(memoryview(view) if number % 3 else view, start, end)
            assert found[0] == after
            assert len(found) == len(names) + 1
            assert _values(names, found[1:], view) == _fields(names, one)
    assert good


def _values(names: list[str], found: tuple[int, ...], view: bytes) -> dict[str, Any]:
    """Flat fields by their names, bytes as they are."""
    values = dict(zip(names, found, strict=True))
    starts = [name for name in names if name.endswith("_start") and f"{name[:-6]}_end" in values]
    spans = {name[:-6]: view[values.pop(name) : values.pop(f"{name[:-6]}_end")] for name in starts}
    return {**values, **spans}


def _fields(names: list[str], one: Any, prefix: str = "") -> dict[str, Any]:
    """The same fields of an object, or the one value that it was read as."""
    if not hasattr(one, "__slots__"):
        return {names[0].removesuffix("_start"): one}
    found: dict[str, Any] = {}
    for name in one.__slots__:
        value = getattr(one, name, None)
        if hasattr(value, "__slots__") and not isinstance(value, (bytes, memoryview)):
            found |= _fields(names, value, f"{prefix}{name}_")
        elif f"{prefix}{name}_start" in names:
            found[prefix + name] = b"" if value is None else value
        elif prefix + name in names:
            found[prefix + name] = value or 0
    absent = {name.removesuffix("_start") for name in names if not prefix and not name.endswith("_end")} - found.keys()
    return found | {name: b"" if f"{name}_start" in names else 0 for name in absent}


def columns_of(type: Type) -> list[Column]:
    """The columns of a type, as compiled code has them."""
    element = compiled_element(type)
    assert element is not None
    return element.columns


def type_of_columns(module: Any, type: Type) -> Any:
    """The class of the columns of a type."""
    return getattr(module, f"{type.class_name}Columns")


def _same(columns: Any, index: int, one: Any, prefix: str = "") -> None:
    """Every column of one element against the fields of its object."""
    assert prefix or type(columns[index]) is type(one)
    for name in one.__slots__:
        value = getattr(one, name, None)
        if hasattr(value, "__slots__") and not isinstance(value, (bytes, memoryview)):
            _same(columns, index, value, f"{prefix}{name}_")
        elif hasattr(columns, f"{prefix}{name}_start"):
            held = getattr(columns, prefix + name)(index)
            assert _plain(_read_up_to_last(type(value[0]), held) if isinstance(value, list) else held) == _plain(value)
        elif hasattr(columns, prefix + name):
            assert getattr(columns, prefix + name)[index] == (value or 0)


def _read_up_to_last(kind: Any, held: memoryview) -> list[Any]:
    """The structures in the bytes of a column of those that are repeated until one is the last."""
    module = importlib.import_module(kind.__module__)
    read = getattr(module, "read_" + re.sub("(?<=.)(?=[A-Z])", "_", kind.__name__).lower())
    at, found = 0, []
    while at < len(held):
        one, at = read(held, at, len(held))
        found.append(one)
    return found


def _plain(value: Any) -> Any:
    """Structures as their values."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if hasattr(value, "__slots__") and not isinstance(value, (bytes, memoryview)):
        return {name: _plain(getattr(value, name)) for name in value.__slots__ if not name.startswith("_")}
    return value


def test_a_reader_states_which_field_is_wrong_and_where() -> None:
    first = (-1).to_bytes(4, "little", signed=True) + (20).to_bytes(8, "little") + bytes(20) + b"\x05"
    second = bytes(4) + b"\x01\x02\x03"
    data = (2).to_bytes(8, "little") + first + second
    with pytest.raises(ValueError, match=r"^nodes\[1\]\.len_key at 45: expected 8 bytes, found 3 bytes$") as caught:
        fast_reader("clp_s_schema_tree")(data, 0, len(data))
    assert caught.value.short  # type: ignore[attr-defined]
    data = (2).to_bytes(8, "little") + first[:4] + (99).to_bytes(8, "little") + first[12:] + second
    with pytest.raises(ValueError, match=r"^nodes\[0\]\.len_key at 12: expected at most 28, found 99$") as caught:
        fast_reader("clp_s_schema_tree")(data, 0, len(data))
    assert not caught.value.short  # type: ignore[attr-defined]


@pytest.mark.parametrize("read", ["fast", "walk"])
def test_bits_that_are_there_are_refused_before_the_bytes_of_others_are_missed(read: str) -> None:
    def refused(data: bytes) -> str:
        if read == "walk":
            with pytest.raises(BrokenError) as broken:
                Walk(data).whole(model().schemas["zstd_frame"].types["block_header"], [])
            return broken.value.path
        with pytest.raises(_layout.LayoutError) as caught:
            importlib.import_module("exhume_ksy.fast.zstd_frame").read_block_header(data, 0, len(data))
        return caught.value.path

    assert refused(b"\x06") == refused(b"\x06\x00") == "kind"
    assert refused(b"\x04") == "len_block"
    assert refused(b"") == "is_last"


def test_numbers_are_not_copied_unless_their_byte_order_is_another() -> None:
    data = bytearray(b"xx\x01\x02\xff\xff")
    little, big = (_layout.numbers(memoryview(data), 2, 4, "h", order) for order in ("little", "big"))
    assert (little.tolist(), big.tolist()) == ([0x201, -1], [0x102, -1])
    data[2] = 9
    same, other = (little, big) if sys.byteorder == "little" else (big, little)
    assert 9 in same.tobytes()
    assert 9 not in other.tobytes()


def test_facts_pack_what_readers_read() -> None:
    for id in spec_ids():
        for one in facts_of(id).values():
            if (format := getattr(one, "packed", None)) is not None:
                assert struct.calcsize(format) == one.size, one
    header = importlib.import_module("exhume_ksy.facts.clp_s").FileHeader
    raw = struct.pack(header.packed, header.magic, 1, 5, 0, 10, 20, bytes(32), 30, 2, 3)
    read, _ = importlib.import_module("exhume_ksy.fast.clp_s").read_file_header(raw, 0, len(raw))
    assert (read.version.patch, read.version.minor, read.len_archive, read.len_metadata) == (1, 5, 20, 30)
    bits = importlib.import_module("exhume_ksy.facts.zstd_frame").BlockHeader.shift
    raw = (1 << bits.is_last | 2 << bits.kind | 70000 << bits.len_block).to_bytes(3, "little")
    read, _ = importlib.import_module("exhume_ksy.fast.zstd_frame").read_block_header(raw, 0, 3)
    assert (read.is_last, read.kind, read.len_block) == (True, 2, 70000)


def test_generated_readers_compile_without_warnings(recwarn: pytest.WarningsRecorder) -> None:
    folder = Path(ROOT, "generated", "exhume_ksy")
    for file in [*folder.glob("fast/*.py"), *folder.glob("facts/*.py")]:
        compile(file.read_text(encoding="utf-8"), str(file), "exec")
    assert not recwarn.list
