"""Instances drawn from specifications are read by both, nearly instances refused by both, at the stated place."""

from __future__ import annotations

import ast
import os
import re
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.fast.zs_index_block import read_zs_index_block
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from exhume.codecs.checksums import crc64_xz, masked_crc32c
from exhume.compiler.instances.draw import draw
from exhume.compiler.instances.walk import Walk
from exhume.compiler.refusal import UnsupportedError
from exhume.testing.strategies import Instance, InvalidInstance, from_ksy, invalid_from_ksy
from tests.conftest import ROOT
from tests.sizes import PROFILE, size
from tests.toolchain.damage import SeededRandom, samples
from tests.toolchain.differential import model
from tests.toolchain.refusals import check, fast_refusal, plain_refusal, same_place

SCHEMAS = sorted(model().schemas)
WITHOUT_RULES = {"utf8_text"}
"""Nothing is refused while these are read: all that may be wrong is found when text is requested."""

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""Whether to draw other instances each time; else what is drawn is the same on every machine."""

EXAMPLES = size(2, 500)


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
def test_instances_are_read_by_both(schema: str) -> None:
    @settings(max_examples=EXAMPLES, derandomize=not THOROUGH)
    @given(from_ksy(schema))
    def read(one: Instance) -> None:
        assert check(schema, one.data, list(one.arguments))

    read()


@pytest.mark.slow
@pytest.mark.parametrize("schema", sorted(set(SCHEMAS) - WITHOUT_RULES))
def test_nearly_instances_are_refused_by_both_where_they_are_claimed_to_be(schema: str) -> None:
    @settings(max_examples=EXAMPLES, derandomize=not THOROUGH)
    @given(invalid_from_ksy(schema))
    def read(one: InvalidInstance) -> None:
        arguments = list(one.arguments)
        if one.rule == "checksum":
            assert check(schema, one.data, arguments)
            return
        plain = plain_refusal(schema, one.data, arguments)
        fast = fast_refusal(schema, one.data, arguments)
        assert fast is not None
        assert same_place(fast, (one.path, one.at))
        assert plain is not None
        assert same_place((one.path, one.at), plain)

    read()


def zs_sums(data: bytes) -> dict[int, bool]:
    """Whether the checksums of a ZS file are right, by where they begin."""
    end = 16 + int.from_bytes(data[8:16], "little")
    found = {end: crc64_xz(data[16:end]).to_bytes(8, "little") == data[end : end + 8]}
    at = end + 8
    while at < len(data):
        size = shift = 0
        while True:
            size |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                break
        body, at = data[at : at + size], at + size
        found[at] = crc64_xz(body).to_bytes(8, "little") == data[at : at + 8]
        at += 8
    return found


def log_sums(data: bytes) -> dict[int, bool]:
    """The same of the first block of a LevelDB log."""
    found, at = {}, 0
    while len(data) - at >= 7:
        stored, size, type = struct.unpack_from("<IHB", data, at)
        long = type in (5, 6, 7, 8, 11, 34, 131)
        covered = data[at + 6 : at + (11 if long else 7) + size]
        found[at] = masked_crc32c(covered) == stored
        if (type, size) == (0, 0):
            break
        at += (11 if long else 7) + size
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "sums"), [("zs", zs_sums), ("leveldb_log", log_sums)])
def test_checksums_are_right_but_for_the_one_that_is_broken(schema: str, sums: Callable[[bytes], Any]) -> None:
    seen: set[str] = set()

    once = settings(derandomize=not THOROUGH, phases=[Phase.generate], suppress_health_check=list(HealthCheck))

    @settings(once, max_examples=size(6, 200))
    @given(from_ksy(schema))
    def right(one: Instance) -> None:
        found = sums(one.data)
        assert all(found.values())
        seen.update(f"{number} sums" for number in range(len(found) + 1))

    @settings(once, max_examples=size(20, 500))
    @given(invalid_from_ksy(schema))
    def wrong(one: InvalidInstance) -> None:
        if one.rule == "checksum":
            assert [at for at, fits in sums(one.data).items() if not fits] == [one.at]
            seen.add("wrong")

    right()
    wrong()
    assert seen >= {"wrong", "2 sums"}


def test_checksums_of_others() -> None:
    seq: list[dict[str, Any]] = [
        {"id": "sum", "type": "u4be", "-checksum": "CRC-32", "-covers": ["head", "name"]},
        {"id": "head", "type": "u2be"},
        {"id": "name", "type": "strz", "encoding": "ASCII"},
        {"id": "own", "size": 3, "-checksum": "mine", "-covers": "sum"},
    ]
    ksy = {"meta": {"id": "sums"}, "seq": seq}

    @given(from_ksy(ksy, checksums={"CRC-32": zlib.crc32, "mine": lambda data: data[:3]}))
    def read(one: Instance) -> None:
        assert int.from_bytes(one.data[:4]) == zlib.crc32(one.data[4:-3])
        assert one.data[-3:] == one.data[:3]

    read()
    with pytest.raises(UnsupportedError, match="nothing computes the checksum mine"):
        find(from_ksy(ksy), lambda _: True)
    with pytest.raises(UnsupportedError, match="the checksum mine takes 4 bytes"):
        find(from_ksy(ksy, checksums={"CRC-32": zlib.crc32, "mine": lambda data: data}), lambda _: True)
    seq[0]["-covers"] = ["body"]
    with pytest.raises(UnsupportedError, match="`-covers` names body, which is not a field of bytes next to it"):
        find(from_ksy(ksy), lambda _: True)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_walk_reads_every_sample(schema: str) -> None:
    for data, arguments in samples(schema):
        Walk(data).whole(model().schemas[schema], arguments)


THING: dict[str, Any] = {
    "meta": {"id": "thing", "endian": "be", "encoding": "UTF-8"},
    "seq": [
        {"id": "magic", "contents": "TH"},
        {"id": "num_items", "type": "u2", "valid": {"min": 1, "max": 3}},
        {"id": "len_body", "type": "u4"},
        {"id": "body", "size": "len_body - 2", "type": "items"},
        {"id": "name", "type": "strz"},
        {"id": "flags", "type": "b4"},
        {"id": "version", "type": "b4", "valid": 2},
    ],
    "instances": {"last": {"pos": "_io.size - 4", "type": "u4", "valid": {"any-of": [7, 9]}}},
    "types": {
        "items": {"seq": [{"id": "all", "type": "item", "repeat": "expr", "repeat-expr": "_parent.num_items"}]},
        "item": {
            "seq": [
                {"id": "kind", "type": "u1", "enum": "kinds", "valid": {"in-enum": True}},
                {
                    "id": "value",
                    "type": {"switch-on": "kind", "cases": {"kinds::number": "s8", "kinds::text": "text"}},
                },
            ]
        },
        "text": {
            "seq": [
                {"id": "len_text", "type": "u1"},
                {"id": "text", "type": "str", "size": "len_text * 2", "if": "len_text > 0"},
            ]
        },
    },
    "enums": {"kinds": {3: "number", 200: "text"}},
}


@pytest.mark.slow
def test_a_specification_of_others() -> None:
    found: set[str] = set()

    @settings(max_examples=200)
    @given(from_ksy(THING))
    def read(one: Instance) -> None:
        data = one.data
        assert data[:2] == b"TH"
        assert 1 <= int.from_bytes(data[2:4]) <= 3
        end = 8 + int.from_bytes(data[4:8]) - 2
        assert end <= len(data)
        assert {3: "number", 200: "text"}[data[8]]
        found.add(f"first {data[8]}")
        assert data[data.index(0, end) + 1] & 15 == 2
        assert int.from_bytes(data[-4:]) in (7, 9)
        found.add(f"{int.from_bytes(data[2:4])} items")

    read()
    assert found == {"first 3", "first 200", "1 items", "2 items", "3 items"}


@pytest.mark.slow
def test_every_kind_of_rule_is_broken() -> None:
    rules: set[str] = set()

    @settings(max_examples=300, derandomize=True)  # derandomized: a rule that none of them breaks is not bad luck
    @given(invalid_from_ksy(THING))
    def collect(one: InvalidInstance) -> None:
        rules.add(one.rule)

    collect()
    assert rules >= {"contents", "min", "max", "eq", "any-of", "in-enum", "encoding", "short"}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"process": "zlib"}, "process is not drawn"),
        ({"pad-right": 0}, "pad-right is not drawn"),
        ({"terminator": 0}, "a terminator within a size is not drawn"),
        ("endian", "a byte order that depends on the data is not drawn"),
    ],
)
def test_what_is_not_drawn_is_refused_by_name(changed: dict[str, Any] | str, why: str) -> None:
    field: dict[str, Any] = {"id": "body", "size": 4}
    meta: dict[str, Any] = {"id": "thing", "endian": "le"}
    if isinstance(changed, str):
        meta[changed] = {"switch-on": "1", "cases": {"1": "le", "_": "be"}}
    else:
        field |= changed
    for strategy in (from_ksy, invalid_from_ksy):
        with pytest.raises(UnsupportedError, match=why):
            strategy({"meta": meta, "seq": [field]})


@pytest.mark.slow
def test_instances_shrink_and_types_and_parameters_are_chosen() -> None:
    shortest = find(from_ksy("zs_index_block"), lambda one: len(one.data) > 5)
    read, _ = read_zs_index_block(shortest.data, 0, len(shortest.data))
    assert len(read.entries) == 1
    table = find(from_ksy("clp_s_table", arguments=[3, [0, 4]]), lambda _: True)
    assert len(table.data) >= 3 * 8 + 3
    assert table.arguments == (3, [0, 4])
    entry = find(from_ksy("zs_index_block", "entry"), lambda one: one.data[:1] == b"\x02")
    assert len(entry.data) >= 5
    with pytest.raises(UnsupportedError, match="zs has no type nothing"):
        from_ksy("zs", "nothing")
    with pytest.raises(KeyError):
        from_ksy("no_such_specification")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pair.ksy"
    path.write_text("meta: {id: pair}\nseq:\n  - id: len_it\n    type: u1\n  - id: it\n    size: len_it\n")
    one = find(from_ksy(path), lambda one: len(one.data) > 3)
    assert one.data[0] <= len(one.data) - 1


def test_the_same_chance_yields_the_same_instance() -> None:
    type = model().schemas["zs"]
    assert draw(type, SeededRandom(1)).data == draw(type, SeededRandom(1)).data != draw(type, SeededRandom(2)).data


class SimplestChoices:
    """What Hypothesis begins with, and shrinks to: the number next to 0, the first option, zeros."""

    def integer(self, low: int, high: int) -> int:
        return min(max(low, 0), high)

    def choice(self, options: Sequence[Any]) -> Any:
        return options[0]

    def data(self, size: int) -> bytes:
        return bytes(size)


def test_a_list_to_the_end_leaves_space_for_what_is_placed_after_it() -> None:
    """A list of no elements ends the file before the root block; elements have to fill what the root block needs."""
    found = draw(model().schemas["zs"], SimplestChoices())
    root, size = struct.unpack_from("<QQ", found.data, 16)
    assert root + size == len(found.data)


def test_strategies_need_the_compiler_only() -> None:
    folder = ROOT / "src" / "exhume" / "compiler"
    waiting, seen = [folder / "strategies.py"], set()
    while waiting:
        file = waiting.pop()
        seen.add(file)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.startswith("exhume"):
                    assert name.startswith("exhume.compiler"), f"{file.name} imports {name}"
                    found = folder / name.removeprefix("exhume.compiler").lstrip(".").replace(".", "/")
                    found = found / "__init__.py" if found.is_dir() else found.with_suffix(".py")
                    waiting += [found] if found not in seen else []
                elif "hypothesis" in name:
                    assert file.name == "strategies.py"
    assert len(seen) > 5


def test_the_corpus_of_the_docs_is_written(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "spec-driven.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n((?:(?!```).)*def write_corpus.*?)```", page, re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {}
    exec(example[1], names)
    names["write_corpus"](tmp_path, "zs_index_block", 20)
    written = sorted(tmp_path.iterdir())
    assert len(written) > 10
    assert {fast_refusal("zs_index_block", file.read_bytes(), []) is None for file in written} == {True, False}


@pytest.mark.slow
def test_the_example_of_the_docs_runs() -> None:
    page = (ROOT / "docs" / "spec-driven.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?from_ksy.*?)```", page, re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {}
    settings.register_profile("example", settings.get_profile(PROFILE), max_examples=size(10, 2000))
    settings.load_profile("example")
    try:
        exec(example[1], names)
        ran = [value() for name, value in names.items() if name.startswith("test_")]
    finally:
        settings.load_profile(PROFILE)
    assert len(ran) == 2
    assert isinstance(from_ksy("zs"), st.SearchStrategy)
