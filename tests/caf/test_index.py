"""The index parser: strict, exact offsets, and its fast forms agree with it on every input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exhume.errors import ExhumeError, Span
from exhume.formats.caf import kernel, pykernel
from exhume.formats.caf.chunk import build_index
from exhume.formats.caf.index import parse_index, parse_partial, parse_strict
from exhume.formats.caf.table import Index, Lookup, find_member, insertion_order, is_array_index, parse_canonical
from exhume.io.source import BytesSource
from exhume.limits import Limits
from exhume.testing.damage import every_flip, every_truncation
from tests.sizes import some

NAMES = st.text(
    st.one_of(
        st.sampled_from('ab/.\\"<>&\u2028\u2029\ufffd\b\f\n\r\t\0\x1f\x7f{}[],:0123456789_ü€😀\ud83d\udc00'),
        st.characters(),
    ),
    max_size=12,
) | st.sampled_from(["__proto__", "0", "10", "4294967294", "4294967295", "01", "-1", "files", "format_version", ""])
RANGES = st.tuples(st.integers(0, 10**18 - 1), st.integers(0, 10**18 - 1))
FILES = st.dictionaries(NAMES, RANGES, max_size=8)
ORDERS: st.SearchStrategy[Any] = st.sampled_from(["sorted", "insertion"])


def where(data: bytes) -> Span:
    return Span("index", 1000, 1000 + len(data))


def strict(data: bytes) -> Index:
    return parse_strict(data, where(data))


def rows(index: Index) -> list[tuple[str, int, int]]:
    return list(zip(index.names, index.starts, index.ends, strict=True))


def facts(index: Index) -> tuple[Any, ...]:
    return (
        rows(index),
        list(index.keys),
        list(index.key_sizes),
        index.table,
        index.flaws,
        index.problems,
        index.version,
        index.version_span,
        index.has_files,
    )


@given(FILES, ORDERS)
def test_writer_form_is_read_by_both_parsers(files: dict[str, tuple[int, int]], order: Any) -> None:
    data = build_index(files, order)
    assert {name: (e["start_byte"], e["end_byte"]) for name, e in json.loads(data)["files"].items()} == files
    fast = parse_canonical(data)
    assert fast is not None
    assert facts(fast) == facts(strict(data))
    assert {name: (a, b) for name, a, b in rows(fast)} == files
    for ordinal, name in fast.items():
        start, end = fast.key_span(ordinal)
        assert json.loads(data[start:end]) == name


@given(FILES, st.integers(0, 500), st.binary(max_size=3), st.integers(0, 3))
def test_fast_implementation_agrees_or_stops(files: dict[str, tuple[int, int]], at: int, new: bytes, cut: int) -> None:
    data = build_index(files)
    at = min(at, len(data))
    damaged = data[:at] + new + data[at + cut :]
    fast = parse_canonical(damaged)
    if fast is None:
        return
    assert facts(fast) == facts(strict(damaged))


def test_every_flip_and_cut_agrees_with_the_standard_parser() -> None:
    data = build_index({"a": (0, 5), "ü\n": (5, 9), "b/c": (9, 9)}, "insertion")
    for _, damaged in some([*every_flip(data, 0x01), *every_flip(data), *every_truncation(data)]):
        try:
            expected = isinstance(json.loads(damaged.decode("utf-8")), dict)
        except ValueError:
            expected = False
        try:
            index = strict(damaged)
            got = not any(problem.rule.code == "CAF-402" for problem in index.problems)
        except ExhumeError as error:
            assert error.span is not None
            assert 1000 <= error.span.start <= 1000 + len(damaged)
            got = False
        assert got == expected, damaged
        fast = parse_canonical(damaged)
        if fast is not None:
            assert facts(fast) == facts(strict(damaged))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
        lambda x: st.lists(x) | st.dictionaries(NAMES, x),
        max_leaves=8,
    )
)
def test_any_json_value_is_accepted_with_the_files(value: Any) -> None:
    text = json.dumps({"format_version": "1.0", "extra": value, "files": {"a": {"start_byte": 1, "end_byte": 2}}})
    index = strict(text.encode())
    assert rows(index) == [("a", 1, 2)]
    assert [problem.rule.code for problem in index.problems] == ["CAF-305"]


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        ("", "CAF-104", 0),
        ("[]", "CAF-104", 0),
        ("\ufeff{}", "CAF-104", 0),
        ("{", "CAF-301", 1),
        ("{}x", "CAF-301", 2),
        ("{} {}", "CAF-301", 3),
        ("{'a':1}", "CAF-301", 1),
        ('{"a" 1}', "CAF-301", 5),
        ('{"a":}', "CAF-301", 5),
        ('{"a":1,}', "CAF-301", 7),
        ('{"a":[1,]}', "CAF-301", 8),
        ('{"a":01}', "CAF-301", 6),
        ('{"a":1.}', "CAF-301", 6),
        ('{"a":+1}', "CAF-301", 5),
        ('{"a":NaN}', "CAF-301", 5),
        ('{"a":tru}', "CAF-301", 5),
        ('{"a":"\n"}', "CAF-301", 6),
        ('{"a":"\\x"}', "CAF-301", 6),
        ('{"a":"\\u12g4"}', "CAF-301", 6),
        ('{"a":"b', "CAF-301", 7),
        ('{"a":1 /* no */}', "CAF-301", 7),
        ('{"files":{"a":{"start_byte":0,"end_byte":1,}}}', "CAF-301", 43),
        ('{"files":{"a":{"start_byte":0,"end_byte":1},}}', "CAF-301", 44),
    ],
)
def test_errors_point_at_the_first_bad_byte(text: str, code: str, offset: int) -> None:
    data = text.encode("utf-8")
    with pytest.raises(ExhumeError) as caught:
        strict(data)
    assert caught.value.code == code
    assert caught.value.span is not None
    assert caught.value.span.start == 1000 + offset


def entry(text: str) -> tuple[list[str], list[str]]:
    """Flaw codes and problem codes of one entry."""
    data = f'{{"format_version":"1.0","files":{{"x":{text}}}}}'.encode()
    index = parse_index(data, where(data))
    index.check_ranges(100, 200)
    return [f.rule.code for f in index.flaws.values()], [p.rule.code for p in index.problems]


@pytest.mark.parametrize(
    ("text", "flaws", "problems"),
    [
        ('{"start_byte":0,"end_byte":100}', [], []),
        ('{ "end_byte" : 100 , "start_byte" : 0 }', [], []),
        ('{"start_byte":0,"end_byte":5,"end_byte":6}', [], ["CAF-304"]),
        ('{"start_byte":0,"end_byte":5,"size":5}', [], ["CAF-305"]),
        ('{"start_byte":0}', ["CAF-306"], ["CAF-306"]),
        ("{}", ["CAF-306"], ["CAF-306"]),
        ('"text"', ["CAF-306"], ["CAF-306"]),
        ("7", ["CAF-306"], ["CAF-306"]),
        ('{"start_byte":false,"end_byte":true}', ["CAF-307"], ["CAF-307"]),
        ('{"start_byte":0,"end_byte":{}}', ["CAF-307"], ["CAF-307"]),
        ('{"start_byte":0,"end_byte":[5]}', ["CAF-307"], ["CAF-307"]),
        ('{"start_byte":0,"end_byte":1e1}', ["CAF-308"], ["CAF-308"]),
        ('{"start_byte":-0,"end_byte":1}', ["CAF-308"], ["CAF-308"]),
        ('{"start_byte":0,"end_byte":5.0}', ["CAF-308"], ["CAF-308"]),
        ('{"start_byte":9,"end_byte":5}', ["CAF-309"], ["CAF-309"]),
        ('{"start_byte":-9,"end_byte":5}', ["CAF-310"], ["CAF-310"]),
        (f'{{"start_byte":-{10**30},"end_byte":5}}', ["CAF-310"], ["CAF-310"]),
        ('{"start_byte":0,"end_byte":101}', ["CAF-311"], ["CAF-311"]),
        ('{"start_byte":0,"end_byte":201}', ["CAF-312"], ["CAF-312"]),
        (f'{{"start_byte":0,"end_byte":{2**63}}}', ["CAF-312"], ["CAF-312"]),
        ('{"start_byte":0,"end_byte":1' + "0" * 5000 + "}", ["CAF-312"], ["CAF-312"]),
        ('{"start_byte":150,"end_byte":150}', ["CAF-317"], ["CAF-317"]),
    ],
)
def test_entries(text: str, flaws: list[str], problems: list[str]) -> None:
    assert entry(text) == (flaws, problems)


def test_duplicates_at_every_level() -> None:
    data = (
        b'{"format_version":"2.0","format_version":"1.0","files":{"a":{"start_byte":0,"end_byte":9}},'
        b'"x":[{"k":1,"k":2}],"files":{"b":{"start_byte":1,"end_byte":2},"\\u0062":{"start_byte":3,"end_byte":4}}}'
    )
    index = strict(data)
    codes = [problem.rule.code for problem in index.problems]
    assert codes.count("CAF-304") == 3  # format_version, k, files
    assert codes.count("CAF-303") == 1
    assert index.version == "1.0"
    assert rows(index) == [("b", 1, 2), ("b", 3, 4)]
    assert index.table == {"b": 1}
    assert index.shadowed() == [0]
    assert list(index.items()) == [(1, "b")]


def test_case_variants_are_noted() -> None:
    data = b'{"Format_Version":"1.0","FILES":{}}'
    index = strict(data)
    assert not index.has_files
    assert ["meant format_version?" in str(p.detail) for p in index.problems] == [True, False]


def test_nesting_and_counts_are_bounded() -> None:
    deep = b'{"x":' + b'{"y":' * 100 + b"1" + b"}" * 101
    with pytest.raises(ExhumeError) as caught:
        strict(deep)
    assert caught.value.code == "CAF-302"
    strict(b'{"x":' + b"[" * 98 + b"]" * 98 + b"}")
    data = build_index({str(i): (0, 0) for i in range(20)}).replace(b",", b", ")
    with pytest.raises(ExhumeError, match="entries"):
        parse_strict(data, where(data), Limits(entries=10))


def test_partial_index_keeps_what_is_complete() -> None:
    files = {f"n{i}": (i, i + 1) for i in range(5)}
    data = build_index(files)
    for length, cut in every_truncation(data):
        index = parse_partial(cut, where(cut))
        assert index.broken is not None
        complete = [
            name
            for name in files
            if data.index(f'"{name}"'.encode()) + len(f'"{name}":{{"start_byte":0,"end_byte":1}}') <= length
        ]
        assert index.names == complete
    relaxed = b'{"format_version":"1.0","files":{"a":{"start_byte":0,"end_byte":1,},},}'
    assert parse_partial(relaxed, where(relaxed)).broken is None


@given(FILES, NAMES, st.sampled_from([b"", b" ", b"\n"]), st.integers(20, 300), st.data())
def test_lookup_finds_what_parsing_finds(
    files: dict[str, tuple[int, int]], other: str, blank: bytes, window: int, data: st.DataObject
) -> None:
    text = build_index(files, data.draw(ORDERS)).replace(b',"end_byte"', b"," + blank + b'"end_byte"')
    source = BytesSource(b"1234567" + text + b"xxxx")
    index = strict(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exhume.formats.caf.table.WINDOW", window)
        for name in [*files, other]:
            known = find_member(source, 7, len(text), name)
            if known is None:
                continue
            ordinal = index.table.get(name)
            assert known.found == (None if ordinal is None else (index.starts[ordinal], index.ends[ordinal]))
            assert known.below == any(n.startswith(f"{name}/") for n in index.names)


def test_lookup_takes_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"dir/{i:06d}.bin": (i * 10, i * 10 + 7) for i in range(3000)}
    data = build_index(files)
    source = BytesSource(data)
    for window in (256, 1000, 1 << 20):
        monkeypatch.setattr("exhume.formats.caf.table.WINDOW", window)
        for name in ("dir/000000.bin", "dir/001499.bin", "dir/002999.bin"):
            assert find_member(source, 0, len(data), name) == Lookup(files[name], False)
        assert find_member(source, 0, len(data), "dir/3000.bin") == Lookup(None, False)
        assert find_member(source, 0, len(data), "dir") == Lookup(None, True)
    twice = data.replace(b'"dir/000007.bin"', b'"dir/002000.bin"')
    assert find_member(BytesSource(twice), 0, len(twice), "dir/002000.bin") == Lookup(files["dir/002000.bin"], False)
    for broken in (
        data.replace(b'":{"start_byte":70,', b'" :{"start_byte":70,'),
        data[:-2] + b"}]",
        data[:-1],
        data.replace(b"dir/000007", b"dir/00\xff007"),
        data.replace(b"dir/000007", b"dir/00\n0007"),
        data.replace(b"},", b"},,", 1),
        data[:-3] + b"},}}",
    ):
        assert find_member(BytesSource(broken), 0, len(broken), "dir/000001.bin") is None
    escaped = data.replace(b"dir/000007.bin", b"dir\\/000001.bin")
    assert find_member(BytesSource(escaped), 0, len(escaped), "dir/000001.bin") == Lookup((70, 77), False)


CANONICAL_BITS = st.lists(
    st.sampled_from(
        [
            b'"a":{"start_byte":0,"end_byte":1}',
            b'"\\u0061":{"start_byte":2,"end_byte":3}',
            b'"a/b":{"start_byte":4,"end_byte":5}',
            b'"\\n":{"start_byte":10,"end_byte":11}',
            b'"":{"start_byte":6,"end_byte":7}',
            b'"\xc3\xa9":{"start_byte":8,"end_byte":9}',
            b",",
            b"}}",
            b'"',
            b"\\",
            b"\xc3\xa9",
            b"\xff",
            b"0",
            b"00",
            b"1" * 18,
            b"1" * 19,
            b'":{"start_byte":',
            b',"end_byte":',
            b"}",
        ]
    ),
    max_size=12,
).map(b"".join)


@given(CANONICAL_BITS, st.sampled_from([b"a", b"", b"\xc3\xa9", b"b"]), st.sampled_from([b"", b"}}"]))
@example(text=b'"a":{"start_byte":0,"end_byte":1},,', name=b"a", tail=b"")
def test_compiled_walk_agrees_with_its_pure_form(text: bytes, name: bytes, tail: bytes) -> None:
    text += tail
    walked = kernel.walk(text, 0, name)
    pure = pykernel.caf_walk(text, 0, name)
    assert walked._replace(ascii=True) == pure._replace(ascii=True)
    assert walked.ascii == text[: walked.stop].isascii()
    assert pure.ascii == walked.ascii

    def outcome(function: Any) -> Any:
        try:
            return function(text, 0)
        except UnicodeDecodeError:
            return "not UTF-8"

    assert outcome(kernel.caf_entries) == outcome(pykernel.caf_entries)


@given(st.lists(NAMES, unique=True, max_size=10))
def test_insertion_order_is_javascripts(names: list[str]) -> None:
    ordered = insertion_order(names)
    assert sorted(ordered) == sorted(names)
    integers = [n for n in names if n.isascii() and n.isdecimal() and str(int(n)) == n and int(n) < 2**32 - 1]
    assert ordered == sorted(integers, key=int) + [n for n in names if n not in integers]
    assert [is_array_index(n) for n in ordered] == [n in integers for n in ordered]
