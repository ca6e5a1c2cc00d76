"""`exhume_ksy.facts`: what the specifications fix, against one another and against bytes."""

from __future__ import annotations

import random
import struct
from importlib import import_module
from typing import Any

import pytest
from exhume_ksy.facts import clp_s_table, leveldb_block, leveldb_footer, uleb128, zs
from exhume_ksy.facts.clp_s_schema_tree import NodeType
from kaitaistruct import BytesIO, KaitaiStream

from exhume.compiler.refusal import UnsupportedError
from exhume.compiler.whole import compile_specs
from tests.toolchain.trees import spec_ids


def test_formats_of_the_ends_fit_the_places_of_fields() -> None:
    seen = 0
    for schema in spec_ids():
        module = import_module(f"exhume_ksy.facts.{schema}")
        kind: Any
        for kind in vars(module).values():
            if not isinstance(prefix := getattr(kind, "prefix", None), str):
                continue
            ends = [place[1] for name, place in vars(kind.at).items() if not name.startswith("__")]
            assert struct.calcsize(prefix) in ends, kind
            seen += 1
    assert seen > 20


def test_the_ends_of_a_type_are_what_its_bytes_are_packed_with() -> None:
    assert struct.Struct(zs.Zs.prefix).pack(zs.Zs.magic[1], 3) == b"\xabZStoBe\x01\x03" + bytes(7)
    assert struct.calcsize(zs.FileHeader.prefix) == zs.FileHeader.at.len_metadata[1] == 80
    assert (zs.Zs.suffix, zs.Block.suffix) == ("<II", "<II")


def test_what_is_read_on_demand_has_its_place_format_and_meaning() -> None:
    footer = leveldb_footer.LeveldbFooter
    assert footer.means.is_leveldb == bytes.fromhex("57fb808b247547db")  # table_format.md, the other way round
    assert not hasattr(footer.means, "leveldb")
    assert footer.before_end.magic == (8, 0)
    assert footer.before_end.leveldb == (48, 8)  # a size of its own, and a condition
    block = leveldb_block.LeveldbBlock
    assert (block.form.packed_num_restarts, block.before_end.packed_num_restarts) == ("<I", (4, 0))
    assert (block.form.restarts, block.each.restarts) == ("<I", 4)
    assert uleb128.Uleb128.most == 10
    assert not hasattr(block.before_end, "restarts")  # it depends on their number


WORDS = [clp_s_table.ClpWord, clp_s_table.FloatFormat, clp_s_table.DecimalVariable]
WORDS += [clp_s_table.ClassicDecimalVariable, clp_s_table.ClassicVariable]


@pytest.mark.parametrize("facts", WORDS, ids=lambda one: one.__name__)
def test_what_is_made_of_a_number_is_as_in_kaitai(facts: Any) -> None:
    oracle = getattr(import_module("exhume_ksy.clp_s_table").ClpSTable, facts.__name__)
    named = [name for name, one in vars(facts).items() if isinstance(one, staticmethod)]
    assert named
    draw = random.Random(facts.__name__)
    for _ in range(200):
        stored = bytes(draw.choice((0, 0xFF, 0x40, 0x7F, draw.randrange(256))) for _ in range(facts.size))
        (word,) = struct.unpack(facts.packed, stored)
        slow = oracle(KaitaiStream(BytesIO(stored)))
        for name in named:
            expected = getattr(slow, name)
            assert getattr(facts, name)(word) == getattr(expected, "value", expected), (name, word)


def test_shifts_put_back_what_was_taken_out() -> None:
    for facts, smallest in (
        (clp_s_table.DecimalVariable, {"digits": 0, "sign": 0}),
        (clp_s_table.ClassicDecimalVariable, {"digits": 0, "sign": 0}),
        (clp_s_table.FloatFormat, {"notation": 0, "exponent_sign": 0}),
        (clp_s_table.ClpWord, {"log_type_id": 0, "ofs_variable": 0}),
    ):
        shifts = {name: far for name, far in vars(facts.shift).items() if not name.startswith("__")}
        for name, far in shifts.items():
            assert getattr(facts, name)(1 << far) == smallest.get(name, 1) + 1, (facts, name)
    assert not hasattr(clp_s_table.ClassicVariable, "shift")


def test_elements_of_repeated_fields_have_their_sizes_and_switches_their_cases() -> None:
    assert clp_s_table.FormattedFloatColumn.each.formats == 2
    assert (clp_s_table.ClpColumn.each.rows, clp_s_table.ClpColumn.each.variables) == (8, 8)
    assert not hasattr(clp_s_table.ClpSTable, "each")
    nothing = {NodeType.OBJECT, NodeType.NULL_VALUE, NodeType.STRUCTURED_ARRAY, NodeType.METADATA, NodeType.UNKNOWN}
    assert {NodeType(one) for one in clp_s_table.ClpSTable.cases.columns} == set(NodeType) - nothing


def test_a_number_that_yaml_has_shortened_is_refused() -> None:
    spec: dict[str, Any] = {"meta": {"id": "some", "endian": "le"}, "instances": {"large": {"value": 1 << 62}}}
    with pytest.raises(UnsupportedError, match="between quotes"):
        compile_specs({"some": spec})
    spec["instances"]["large"]["value"] = hex(1 << 62)
    assert "large: Final = 0x4000000000000000" in compile_specs({"some": spec})["facts/some.py"]
