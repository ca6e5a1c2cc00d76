"""Refused values, lists after the end of a stream, and data that end too early: compiled readers as interpreted ones.

All cases are types of one specification.
"""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from exhume.layout.fast import LayoutError
from exhume.layout.foreign import Specification
from tests.compiler import specs

pytestmark = pytest.mark.xdist_group("deep")
compiler = pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler")
RANGES = ["{min: 0}", "{max: 2}", "{min: 0, max: 2}", "{expr: _ <= 2.5}", "{expr: limit <= 2.5}", "{min: limit}"]
NOT_A_NUMBER = bytes.fromhex("0000c07f050000c07f")
ROWS = {
    "bytes_of_one": "type: u1",
    "one_byte_each": "size: 1",
    "parts": "type: part, size-eos: true",
    "texts": "type: strz, encoding: ASCII",
}
SHORT = {
    "number": ("{id: a, type: u4}", "010203", "a", 0),
    "second_number": ("{id: a, type: u1}, {id: b, type: u4}", "01020304", "b", 1),
    "number_in_part": ("{id: a, type: u1}, {id: p, type: part}", "01", "p.x", 1),
    "data": ("{id: a, type: u1}, {id: b, size: a}", "0501", "b", 1),
    "text": ("{id: a, type: u1}, {id: b, type: str, size: a, encoding: ASCII}", "0561", "b", 1),
    "terminated": ("{id: a, type: strz, encoding: ASCII}", "6162", "a", 0),
    "counted": ("{id: a, type: u2, repeat: expr, repeat-expr: 3}", "010203", "a[1]", 2),
    "counted_parts": ("{id: a, type: part, repeat: expr, repeat-expr: 3}", "0102", "a[2].x", 2),
    "until": ("{id: a, type: u1, repeat: until, repeat-until: _ == 9}", "0102", "a[2]", 2),
    "bits": ("{id: a, type: b4}, {id: b, type: b12}", "ff", "b", 1),
    "fixed": ("{id: a, contents: [1, 2, 3]}", "0102", "a", 0),
}

GROWING = ["m * 128", "m << 9", "m + m", "m - (0 - m)", "twice", "-m.as<u4> * -3", "(m > 0 ? m : 1) * 4", "own * 3"]
"""Ways to compute a parameter of the next element from that of an element, each of which adds bits to it."""

STEADY = ["m + 1", "1 + m", "m - x", "m / 2 + x * 3", "x * 128 << 2", "m % 7 * 5 - 1"]


def text() -> str:
    """The specification."""
    types = ["part: {seq: [{id: x, type: u1}]}"]
    for number, valid in enumerate(RANGES):
        seq = f"{{id: limit, type: f4}}, {{id: n, type: u1}}, {{id: f, type: f4, valid: {valid}}}"
        types.append(f"range{number}: {{seq: [{seq}]}}")
    for name, field in ROWS.items():
        types.append(f"{name}: {{seq: [{{id: a, type: b3}}, {{id: b, {field}, repeat: eos}}]}}")
    types += [f"{name}: {{seq: [{seq}]}}" for name, (seq, *_) in SHORT.items()]
    types.append(
        "after_end: {seq: [{id: a, type: u1}], instances: {b: {pos: 9, type: u1, repeat: eos},"
        " c: {pos: 9, type: u2, repeat: eos}, d: {pos: 9, type: u4, repeat: expr, repeat-expr: a},"
        " e: {pos: 9, type: part, repeat: eos}, f: {pos: 9, size: 0}, g: {pos: 9, size-eos: true},"
        " h: {pos: 9, size-eos: true, type: str, encoding: ASCII},"
        " i: {pos: 9, type: f8, repeat: expr, repeat-expr: 0}, j: {pos: 9, type: u1}}}"
    )
    types.append(
        "indexed: {seq: [{id: n, type: s1}, {id: a, type: part, repeat: expr, repeat-expr: 3}],"
        " instances: {chosen: {value: 'a[n].x'}, second: {value: 'a[1].x'}, beyond: {value: 'a[3].x'}}}"
    )
    for number, how in enumerate(GROWING + STEADY):
        own = f"own: {{value: m + x}}, twice: {{value: own + own}}, next: {{value: '{how}'}}"
        part = f"params: [{{id: m, type: u8}}], seq: [{{id: x, type: u1}}], instances: {{{own}}}"
        types.append(f"next{number}: {{{part}}}")
        given = f"next{number}(_index == 0 ? 1 : g[_index - 1].next)"
        types.append(f"growing{number}: {{seq: [{{id: g, repeat: eos, type: '{given}'}}]}}")
    uses = "".join(
        f"{{id: u{n}, type: {one.partition(':')[0]}, if: false}}, "
        for n, one in enumerate(types)
        if "params" not in one
    )
    body = "".join(f"  {one}\n" for one in types)
    return f"meta: {{id: edges, endian: le, bit-endian: be}}\nseq: [{uses}]\ntypes:\n{body}"


@pytest.fixture(scope="module")
def both(every: Specification) -> tuple[Specification, Specification]:
    """The specification, interpreted and in an extension module."""
    plain, native = (specs.part(every, "edges", native=native) for native in (False, True))
    assert type(native.module.read_edges).__name__ == "Reader"
    assert native.native is not None
    assert native.native[0].left == ()
    return plain, native


def _reader(specification: Specification, name: str) -> Any:
    return getattr(specification.module.Edges, "".join(part.title() for part in name.split("_"))).from_bytes


def _refused(both: tuple[Specification, Specification], name: str, data: bytes) -> tuple[object, ...]:
    """What both readers report of the same bytes, which is the same: path, offset, expected and found."""
    reports = []
    for specification in both:
        with pytest.raises(LayoutError) as caught:
            _reader(specification, name)(data)
        error = caught.value
        reports.append((error.path, error.offset, str(error.expected), str(error.found)))
    assert reports[0] == reports[1]
    return reports[0]


@compiler
@pytest.mark.parametrize("number", range(len(RANGES)), ids=RANGES)
def test_what_is_no_number_is_within_no_range(both: tuple[Specification, Specification], number: int) -> None:
    assert _refused(both, f"range{number}", NOT_A_NUMBER)[:2] == ("f", 5)
    one = bytes.fromhex("0000803f010000803f")
    assert [_reader(specification, f"range{number}")(one).f for specification in both] == [1, 1]


@compiler
@pytest.mark.parametrize("name", SHORT)
def test_the_field_that_the_data_end_in_is_named(both: tuple[Specification, Specification], name: str) -> None:
    _, data, path, offset = SHORT[name]
    assert _refused(both, name, bytes.fromhex(data))[:2] == (path, offset)


@compiler
@pytest.mark.parametrize("name", ROWS)
def test_rows_after_the_last_bits_are_missing(both: tuple[Specification, Specification], name: str) -> None:
    assert str(_refused(both, name, b"\xa0")[0]).startswith("b[0]")
    found = [_reader(specification, name)(b"\xa0\1\0").b for specification in both]
    assert len(found[0]) == len(found[1]) > 0


@compiler
def test_a_list_after_the_end_of_a_stream_is_empty(both: tuple[Specification, Specification]) -> None:
    for specification in both:
        value = _reader(specification, "after_end")(b"\0")
        assert [len(getattr(value, name)) for name in "bcdefghi"] == [0] * 8
        with pytest.raises(LayoutError) as caught:
            value.j  # noqa: B018 - it is read now
        assert (caught.value.path, caught.value.offset) == ("j", 9)
    assert _refused(both, "after_end", b"")[:2] == ("a", 0)


@compiler
@pytest.mark.parametrize("index", [0, 2, 3, -3, -4])
def test_elements_are_found_by_their_numbers(both: tuple[Specification, Specification], index: int) -> None:
    found: list[list[tuple[str, Any]]] = []
    for specification in both:
        value = _reader(specification, "indexed")(bytes([index % 256, 7, 8, 9]))
        assert value.second == 8
        with pytest.raises(LayoutError) as caught:
            value.beyond  # noqa: B018 - it is read now
        report = [(caught.value.path, str(caught.value.found))]
        try:
            report.append(("chosen", value.chosen))
        except LayoutError as error:
            report.append((error.path, str(error.found)))
        found.append(report)
    assert found[0] == found[1]
    assert found[0][1][0] == "chosen"
    assert (found[0][1][1] in (7, 8, 9)) == (-3 <= index < 3)


@compiler
@pytest.mark.parametrize("number", range(len(GROWING + STEADY)), ids=GROWING + STEADY)
def test_numbers_grow_to_a_limit(both: tuple[Specification, Specification], number: int) -> None:
    found = []
    for specification in both:
        try:
            elements = _reader(specification, f"growing{number}")(bytes(9000)).g
            found.append((elements[-1].next.bit_length() < 8192, ""))
        except LayoutError as error:
            found.append((False, f"{error.path}: {error.expected}"))
    assert found[0] == found[1]
    assert found[0][0] == (number >= len(GROWING))
    assert found[0][1].endswith("" if found[0][0] else ": a number of at most 8192 bits")
