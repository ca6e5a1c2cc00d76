"""The specifications against expectations that were worked out by hand (`tests/toolchain/facts/`)."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.fast import caf

from tests.sizes import THOROUGH
from tests.toolchain import differential, trees
from tools import ksy_facts, ksy_mutation

SCHEMAS = pytest.mark.parametrize("schema", trees.spec_ids())


@SCHEMAS
@pytest.mark.bulk
def test_every_fact_is_true(schema: str) -> None:
    assert list(ksy_facts.failures([schema])) == []
    if THOROUGH or trees.spec_ids().index(schema) % 3 == 0:  # what notes places reads as the other does
        assert list(ksy_facts.failures([schema], "exhume_ksy.debug")) == []
    assert list(differential.fast_failures(schema)) == []


def test_a_fact_that_a_fast_reader_breaks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "== a\n\"x{}\" 02 00 00 00 | ofs_index = 1; refuses footer.len_index; ends footer.len_index; data = b'x'"
    cases = tuple(ksy_facts.parse("caf", text))
    monkeypatch.setattr(ksy_facts, "cases", lambda schema: cases)
    nothing = ["caf:2: footer.len_index: 2, and nothing refused it"] * 2
    assert list(differential.fast_failures("caf")) == nothing
    monkeypatch.setattr(caf.Caf, "ofs_index", 2)
    wrong = [
        "caf:2: ofs_index: DifferenceError('ofs_index', 1, 2)",
        *nothing,
        "caf:2: data: DifferenceError('data', b'x', b'x{')",
    ]
    assert list(differential.fast_failures("caf")) == wrong


@SCHEMAS
def test_every_field_instance_and_member_is_named(schema: str) -> None:
    assert ksy_facts.not_named(schema) == []


CASE = """\
# A comment.
== two entries, read as entry_list
07 00*7 02 01 00 00 "abcd" 05 06 | entries[0].timestamp_ns = 7; entries[0].ofs_data = 258 | prose
@ entries[0]
    | .len_data = 0x64636261; entries.size = 1
"""


def test_a_case_is_bytes_and_what_they_mean() -> None:
    (case,) = ksy_facts.parse("ark_split", CASE)
    assert bytes(case.data) == b"\x07" + bytes(7) + b"\x02\x01\0\0abcd\x05\x06"
    assert case.type == "entry_list"
    assert list(ksy_facts.check(case)) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("ns = 7", "ns = 8", "entries[0].timestamp_ns: 7 is not 8"),
        ("ns = 7", "ns = seven", "7 is not seven"),
        ("ns = 7", "ns = '7'", "7 is not '7'"),
        ("ns = 7", "ns is bytes", "7 is not bytes"),
        ("ns = 7", "time = 7", "AttributeError"),
        ("ns = 7", "ns.x = 7", "no field x in a value of type int"),
        ("size = 1", "size = 2", "1 is not 2"),
        (".len_data", ".flags.x", "TypeError"),
        ("entries[0].timestamp_ns = 7", "refuses entries[0].timestamp_ns", "nothing refused it"),
        ("entries[0].timestamp_ns = 7", "ends entries[0].timestamp_ns", "nothing refused it"),
        ("entries[0].ofs_data = 258", "entries[1].ofs_data = 258", "IndexError"),
        (" 05 06", " 05 06 07", "requested 8 bytes"),
        ("ns = 7", "ns = absent", "7 is not absent"),
    ],
)
def test_a_wrong_fact_fails(old: str, new: str, words: str) -> None:
    assert old in CASE
    (case,) = ksy_facts.parse("ark_split", CASE.replace(old, new, 1))
    assert words in "\n".join(ksy_facts.check(case))


def test_another_field_that_refuses_the_bytes_is_an_error() -> None:
    (case,) = ksy_facts.parse("uleb128", "== a leading zero\n80 00 | refuses value")
    assert list(ksy_facts.check(case)) == ["uleb128:2: value: refused by Uleb128 /seq/1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("00 | groups", "no case begun"),
        ("== a\n0g | groups", "neither hexadecimal nor text"),
        ("== a\n00 | groups len", "not an expectation"),
    ],
)
def test_what_is_no_fact_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ksy_facts.parse("uleb128", text)


def test_a_field_that_no_fact_names_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = tuple(ksy_facts.parse("caf", '== a\n"x" "{}" 02 00 00 00 | footer.len_index = 2'))
    monkeypatch.setattr(ksy_facts, "cases", lambda schema: cases)
    assert ksy_facts.not_named("caf") == ["Caf.ofs_index", "Caf.index", "Caf.data"]


def drop(owner: Any, key: str) -> None:
    del owner[key]


# Eight faults of the layout that every other test of this project passed over at a time.
PLANTED: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "a type of fragments lost": ("leveldb_log", lambda spec: drop(spec["enums"]["fragment_types"], "9")),
    "a signed count": ("leveldb_write_batch", lambda spec: spec["seq"][1].update(type="s4")),
    "a wrong divisor in a marker": (
        "clp_s_schema_ids",
        lambda spec: spec["types"]["entry"]["instances"]["container_type"].update(value="word / 0x2000000"),
    ),
    "a wrong divisor in a word": (
        "clp_s_table",
        lambda spec: spec["types"]["clp_word"]["instances"]["ofs_variable"].update(value="word / 0x800000"),
    ),
    "a wrong mask of digits": (
        "clp_s_table",
        lambda spec: spec["types"]["float_format"]["instances"]["num_significant_digits"].update(
            value="word / 0x20 % 0x10 + 1"
        ),
    ),
    "two codecs swapped": ("ark_stored_message", lambda spec: spec["enums"]["codec"].update({"3": "lzma", "4": "bz2"})),
    "a wrong exponent of a window": (
        "zstd_frame",
        lambda spec: spec["types"]["window_descriptor"]["instances"]["log_window"].update(value="11 + exponent"),
    ),
    "a condition turned round": (
        "leveldb_index_delta",
        lambda spec: spec["types"]["entry"]["seq"][-1].update({"if": "len_shared.value == 0"}),
    ),
}


def compiled(schema: str, spec: dict[str, Any]) -> str:
    """Compile a specification to Python."""
    trees.node_or_skip()
    compiler = ksy_mutation.Compiler.shared()
    compiler.ask(schema, spec)
    text = compiler.answer()
    assert text is not None
    return text


@pytest.mark.node
@pytest.mark.xdist_group("ksy_mutation")
@pytest.mark.parametrize("fault", PLANTED)
@pytest.mark.slow
def test_a_planted_fault_is_noticed(fault: str) -> None:
    schema, plant = PLANTED[fault]
    spec = copy.deepcopy(ksy_facts.specification(schema))
    assert ksy_mutation.noticed(schema, compiled(schema, spec)) is None
    plant(spec)
    assert ksy_mutation.noticed(schema, compiled(schema, spec)) is not None


@pytest.mark.node
@pytest.mark.xdist_group("ksy_mutation")
@pytest.mark.parametrize("schema", trees.spec_ids()[::6])
@pytest.mark.slow
def test_a_sample_of_faults_is_noticed(schema: str) -> None:
    trees.node_or_skip()
    faults = ksy_mutation.run(schema, every=60)
    assert faults
    assert [fault for fault in faults if not fault.noticed and not ksy_mutation.reason(fault)] == []


@pytest.mark.node
@pytest.mark.xdist_group("ksy_mutation")
def test_an_endless_mutant_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ksy_mutation, "LIMIT_S", 0.1)
    assert "TooLongError" in str(ksy_mutation.noticed("uleb128", "while True:\n    pass\n"))


def test_results_are_kept_until_something_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = []

    def run(schema: str) -> list[ksy_mutation.Result]:
        ran.append(schema)
        return [ksy_mutation.Result(schema, "sign", "a", None)]

    monkeypatch.setattr(ksy_mutation, "run", run)
    monkeypatch.setattr(ksy_mutation, "CACHE", tmp_path)
    first = ksy_mutation.run_or_recall("uleb128")
    assert ksy_mutation.run_or_recall("uleb128") == first
    assert ran == ["uleb128"]
    states = iter(["another", "state"])
    monkeypatch.setattr(ksy_mutation, "state", lambda schema: next(states).ljust(16, "0"))
    ksy_mutation.run_or_recall("uleb128")
    ksy_mutation.run_or_recall("uleb128")
    assert ran == ["uleb128"] * 3
    assert len(list(tmp_path.iterdir())) == 1


def test_other_specifications_have_other_states() -> None:
    assert ksy_mutation.state("caf") == ksy_mutation.state("caf") != ksy_mutation.state("uleb128")


def test_every_kind_of_fault_is_planted() -> None:
    schemas = ("ark_stored_message", "caf", "clp_s_metadata", "zs", "data_bundle_shard", "ark_serializable_file")
    kinds = {kind for schema in schemas for kind, _, _ in ksy_mutation.faults(ksy_facts.specification(schema))}
    wanted = "width sign order number operator text enum condition bound repeat size pos magic case fields encoding"
    assert set(wanted.split()) <= kinds


def test_the_report_states_what_survives_and_why() -> None:
    results = [
        ksy_mutation.Result("zs", "sign", "/seq/a: u4 as s4", "a: 1 is not 2"),
        ksy_mutation.Result("leveldb_write_batch", "sign", "/types/operation/seq/operation_type: u1 as s1", None),
        ksy_mutation.Result("zs", "enum", "0 lost", None),
    ]
    text = ksy_mutation.report(results)
    assert "3 faults in 2 specifications, 1 of them noticed: **33.3 %**." in text
    assert "| sign | 2 | 1 |" in text
    assert "- Either number is refused.\n  - `leveldb_write_batch: /types/operation/seq/operation_type: u1 as" in text
    assert "- No reason is known.\n  - `zs: 0 lost`" in text


def test_a_reason_that_no_survivor_needs_is_found() -> None:
    survivor = ksy_mutation.Result("leveldb_write_batch", "sign", "/types/operation/seq/operation_type: u1 as s1", None)
    everything = list(ksy_mutation.excuses())
    (needed,) = [what for what in everything if what not in ksy_mutation.idle([survivor])]
    assert needed == "leveldb_write_batch: */operation_type: u1 as s1"
    assert ksy_mutation.idle([dataclasses.replace(survivor, noticed="it fails")]) == everything
