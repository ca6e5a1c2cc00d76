"""`--min`, `--max` and `--unique` against what the printed records say."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import exhume
from exhume.errors import QueryError
from exhume.formats.clp_s.query import pykernel
from exhume.formats.clp_s.query.aggregate import check_field, extreme, unique
from exhume.formats.clp_s.query.kernel import ClpsDistinct, clps_last_entry
from exhume.formats.clp_s.query.search import Search, resolve_projection
from exhume.formats.clp_s.writer import create
from exhume.native.kernel import COMPILED

RECORDS = [
    {"a": 3, "n": {"m": 1.5}, "s": "x", "k": "one"},
    {"a": -7, "n": {"m": 2}, "s": "two words 5", "k": "one"},
    {"a": 9007199254740993, "n": {"m": None}, "s": "", "k": "two"},
    {"a": 9007199254740992.0, "n": {"m": True}, "s": 1, "k": "two"},
    {"a": "12", "n": {"m": [99]}, "s": 1.0, "k": "two"},
    {"a": {"b": 10**17}, "n": 5, "s": False, "k": "one"},
    {"k": "one", "a": None, "a.b": -100},
    {"k": "two", "a": 1e-7, "s": "two words 5"},
    {"k": "two", "a": [{"b": -70}, {"b": 1}], "n": [[{"m": -99}]], "s": []},
    {"k": "one", "a": {"b": {}}, "n": {"m": [{"m": -5}]}, "s": {}},
    {"k": "one", "a": {"b": -0.0}, "n": {"m": ""}},
]

Run = Callable[..., tuple[int, str]]

values = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.text(max_size=3),
    st.sampled_from([0.5, -0.5, 1.0, 1e300, 2.0**53, "a b 1", "a b 2"]), st.lists(st.integers(), max_size=2),
)  # fmt: skip
records = st.dictionaries(st.sampled_from("ak"), values | st.dictionaries(st.sampled_from("bm"), values, max_size=2))


def expected(lines: list[bytes], path: list[str]) -> tuple[Any, Any, list[Any]]:
    """The smallest, the largest and the different values of a field in printed records, in sequence."""
    least = most = None
    different: set[tuple[int, Any]] = set()
    for line in lines:
        value = json.loads(line)
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            different.add((3, value))
        elif isinstance(value, int | float):
            least = value if least is None or value < least else least
            most = value if most is None or value > most else most
            different.add((0 if isinstance(value, int) else 1, value))
        elif isinstance(value, str):
            different.add((2, value))
    kinds = sorted(different, key=lambda pair: (pair[0], pair[1].encode() if isinstance(pair[1], str) else pair[1]))
    return least, most, [value for _, value in kinds]


def typed(values: list[Any]) -> list[tuple[type, Any]]:
    return [(type(value), value) for value in values]


def archive_of(path: Path, written: list[Any], **how: Any) -> Path:
    with create(path, overwrite=True, **how) as writer:
        for record in written:
            writer.write(record)
    return path


def check(path: Path, query: str, field: str, keys: list[str]) -> None:
    with exhume.clps.open(path) as archive:
        lines = list(archive.json_lines(query))
        least, most, different = expected(lines, keys)
        assert extreme([Search(archive, query)], field, largest=False) == least
        assert extreme([Search(archive, query)], field, largest=True) == most
        assert typed(unique([Search(archive, query)], field).values()) == typed(different)


@pytest.mark.parametrize(
    "how", [{}, {"retain_float_format": False}, {"version": "0.3.1"}, {"structurize_arrays": True}]
)
@pytest.mark.parametrize("query", ["*", "k: one", "k: two", "a > 0", "k: none"])
def test_the_answers_are_those_of_the_printed_records(query: str, how: dict[str, Any], tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.clps", RECORDS, **how)
    for field, keys in (("a", ["a"]), ("n.m", ["n", "m"]), ("s", ["s"]), ("a.b", ["a", "b"]), (r"a\.b", ["a.b"])):
        check(path, query, field, keys)
    check(path, query, "missing", ["missing"])


@given(st.lists(records, max_size=8), st.sampled_from(["*", "a: *", "a >= 0"]))
def test_any_records(tmp_path_factory: pytest.TempPathFactory, written: list[Any], query: str) -> None:
    path = archive_of(tmp_path_factory.mktemp("agg") / "a.clps", written)
    check(path, query, "a", ["a"])
    check(path, query, "k.m", ["k", "m"])


@pytest.mark.parametrize("version", ["0.3.1", "0.4.1", "0.5.1"])
def test_times(version: str, tmp_path: Path) -> None:
    stamps = ["2015-02-01T01:02:03.004Z", "2015-02-01T01:02:03Z", 1762445893001, 1762445893]
    path = archive_of(
        tmp_path / "a.clps", [{"t": one, "k": 1} for one in stamps * 2], version=version, timestamp_key="t"
    )
    check(path, "*", "t", ["t"])
    check(path, "k: 1", "t", ["t"])


@pytest.mark.parametrize("field", ["", "a..b", "a*", "*", "a.?", "\\q"])
def test_what_is_no_field(field: str) -> None:
    with pytest.raises(QueryError):
        check_field(field)


@pytest.fixture
def run(exhume_cli: Callable[..., Any]) -> Run:
    """The exit code of a search, and what it prints: on standard error if it fails."""

    def search(*words: str) -> tuple[int, str]:
        ran = exhume_cli("search", *words)
        return ran.code, ran.out.decode() if ran.code in (0, 4) else ran.err

    return search


def test_the_command_line(run: Run, tmp_path: Path) -> None:
    one = str(archive_of(tmp_path / "1.clps", RECORDS[:4]))
    two = str(archive_of(tmp_path / "2.clps", RECORDS[4:]))
    assert run(one, "*", "--min", "a") == (0, "-7\n")
    assert run(one, "*", "--max", "a") == (0, "9007199254740993\n")
    assert run(one, two, "*", "--max", "a") == (0, "9007199254740993\n")
    assert run(one, two, "*", "--min", "n.m") == (0, "1.5\n")
    for jobs in ("1", "2"):
        assert run(one, two, "*", "--unique", "k", "--jobs", jobs) == (0, '"one"\n"two"\n')
        stated = run(one, two, "*", "--unique", "s", "--json", "--jobs", jobs)[1]
        assert json.loads(stated)["values"] == [
            {"type": "integer", "value": 1},
            {"type": "float", "value": 1.0},
            {"type": "string", "value": ""},
            {"type": "string", "value": "two words 5"},
            {"type": "string", "value": "x"},
            {"type": "boolean", "value": False},
        ]
    assert run(one, "k: none", "--unique", "k") == (0, "")
    assert run(one, "k: none", "--max", "a", "--exit-code") == (4, "")
    document = json.loads(run(one, "*", "--max", "a", "--json")[1])
    assert document == {
        "schema": "exhume.search/1", "format": "clp-s", "query": "*", "aggregate": "max", "field": "a",
        "values": [{"type": "integer", "value": "9007199254740993"}],
    }  # fmt: skip


@pytest.mark.parametrize(
    "other", [["--count"], ["--count-by-time", "5"], ["--max", "a"], ["--unique", "a"], ["--projection", "a"]]
)
def test_one_answer_at_a_time(run: Run, other: list[str], tmp_path: Path) -> None:
    path = str(archive_of(tmp_path / "1.clps", RECORDS[:1]))
    assert run(path, "*", "--min", "a", *other)[0] == 2


def test_wildcards_are_refused(run: Run, tmp_path: Path) -> None:
    path = str(archive_of(tmp_path / "1.clps", RECORDS[:1]))
    code, stated = run(path, "*", "--unique", "a*")
    assert code == 1
    assert "wildcards" in stated


def test_streams_are_asked_as_well(run: Run, tmp_path: Path) -> None:
    from exhume.formats.kv_ir.writer import create as create_stream

    with create_stream(tmp_path / "a.clp") as writer:
        for number in (5, 3, 9):
            writer.write({"a": number}, {"level": "INFO"})
    path = str(tmp_path / "a.clp")
    assert run(path, "*", "--max", "a") == (0, "9\n")
    assert run(path, "a < 9", "--unique", "a") == (0, "3\n5\n")
    assert run(path, "*", "--unique", "@level") == (0, '"INFO"\n')


KERNELS = [pytest.param(pykernel, id="pure")]
if COMPILED:
    from exhume.native import _kernel

    KERNELS.append(pytest.param(_kernel, id="compiled"))
both = pytest.mark.parametrize("kernel", KERNELS)

pieces = st.sampled_from([b"", b"\0", b"a", b"ab", b"same start ", b"\xff", b'"', b"\\", "é".encode(), b"\n\x01"])


def all_lines(found: Any, kind: int, target: int) -> bytes:
    out: list[bytes] = []
    at = 0
    while True:
        text, at = found.lines(kind, at, target)
        if not text:
            return b"".join(out)
        out.append(text)


@both
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2), max_size=40),
    st.lists(st.floats(width=64) | st.sampled_from([0.0, -0.0, 1.5]), max_size=40),
    st.lists(st.lists(pieces, max_size=5).map(b"".join), max_size=60),
    st.integers(1, 40),
)
def test_what_is_different(
    kernel: Any, integers: list[int], floats: list[float], texts: list[bytes], target: int
) -> None:
    found = kernel.ClpsDistinct()
    for chosen in (None, b"\1\0" * len(integers)):
        found.add_numbers(array("q", integers), chosen, False)
    found.add_numbers(array("d", floats), None, True)
    for text in texts:
        found.put(text)
    numbers = sorted({number: None for number in floats if isfinite(number)})  # of 0.0 and -0.0 the first
    assert found.numbers_of(False) == array("q", sorted(set(integers))).tobytes()
    assert found.numbers_of(True) == array("d", numbers).tobytes()
    assert found.texts_of() == sorted(set(texts))
    shown = [json.dumps(text.decode("utf-8", "surrogateescape"), ensure_ascii=False) for text in sorted(set(texts))]
    for kind, values in ((1, map(str, sorted(set(integers)))), (2, map(repr, numbers)), (3, shown)):
        expected = "".join(f"{value}\n" for value in values).encode("utf-8", "surrogateescape")
        assert all_lines(found, kind, target) == expected


@both
def test_many_texts_and_numbers_are_sorted(kernel: Any) -> None:
    texts = [b"x" * (number % 97) + b"%d" % number * (number % 5) + b"\0" * (number % 3) for number in range(4000)]
    found = kernel.ClpsDistinct()
    for text in texts:
        found.put(text)
    assert found.texts_of() == sorted(set(texts))
    found.put(b"w")
    assert found.texts_of() == sorted({*texts, b"w"})
    numbers = [number * 7919 % 1_100_003 - 5 for number in range(1_100_003)] if kernel is not pykernel else [3, 3, -1]
    found.add_numbers(array("q", numbers * 2), None, False)
    assert found.numbers_of(False) == array("q", sorted(set(numbers))).tobytes()


@both
@given(st.integers(0, 1 << 32), st.sampled_from([b"ab", b"a\0", bytes(range(256))]), st.integers(1, 24))
def test_strings_of_few_and_of_many_bytes_are_sorted(kernel: Any, seed: int, alphabet: bytes, longest: int) -> None:
    found, rng = kernel.ClpsDistinct(), Random(seed)
    texts = [bytes(rng.choices(alphabet, k=rng.randrange(longest))) for _ in range(300)]
    for text in texts:
        found.put(text)
    assert found.texts_of() == sorted(set(texts))


@pytest.mark.skipif(not COMPILED, reason="no compiled kernel: only it collects strings before it compares them")
@pytest.mark.parametrize("different", [300_000, 900_000])
def test_strings_that_repeat_late_are_there_once(different: int) -> None:
    found = _kernel.ClpsDistinct()
    for number in range(1_200_000):
        found.put(b"%d" % (number % different))
    assert found.texts_of() == sorted(b"%d" % number for number in range(different))


def test_strings_of_several_dictionaries(tmp_path: Path) -> None:
    paths = [archive_of(tmp_path / f"{n}.clps", [{"a": f"x{n + k}"} for k in range(5)]) for n in range(3)]
    for found in (ClpsDistinct(), pykernel.ClpsDistinct()):
        for path in (*paths, paths[0]):
            found.put(b"x0 y")
            with exhume.clps.open(path) as archive:
                assert found.add_entries(archive.variables, array("Q", [4, 1, 3, 1]), b"\1\1\0\1") == -1
        assert found.texts_of() == [b"x0 y", b"x1", b"x2", b"x3", b"x4", b"x5", b"x6"]


def test_the_beginning_of_a_dictionary_answers_for_values_that_repeat(tmp_path: Path, monkeypatch: Any) -> None:
    from exhume.formats.clp_s.read.columns import PrintContext

    path = archive_of(tmp_path / "a.clps", [{"a": f"x{n % 3}", "b": f"y{n}"} for n in range(50)])
    requested: list[int] = []
    first = PrintContext.first_variables

    def watched(self: PrintContext, count: int) -> Any:
        requested.append(count)
        return first(self, count)

    monkeypatch.setattr(PrintContext, "first_variables", watched)
    check(path, "*", "a", ["a"])
    check(path, "a: x1", "a", ["a"])
    assert requested
    assert max(requested) <= 6


@pytest.mark.parametrize("version", ["0.3.1", "0.5.1"])
def test_messages_need_the_beginning_of_the_dictionary_that_they_use(version: str, tmp_path: Path) -> None:
    records = [{"m": f"node{n % 3} took {n} of 1.5 ms", "b": f"y{n}"} for n in range(50)]
    path = archive_of(tmp_path / "a.clps", records, version=version)
    check(path, "*", "m", ["m"])
    with exhume.clps.open(path) as archive:
        texts = archive.texts
        (node,) = resolve_projection(archive, ["m"])
        (hits,) = Search(archive, "*").hits({node}, keep=True)
        (column,) = hits.data.columns_of(node)
        types = texts.raw_log_types
        for mask, last in ((None, 4), (b"\1" + bytes(49), 0), (bytes(50), -1), (b"\0\1" * 25, 4)):
            assert clps_last_entry(column.values, column.variables, types, mask) == last
            assert pykernel.clps_last_entry(column.values, column.variables, types, mask) == last
        words = array("Q", [1 << 20, 1 << 60 | column.values[0], column.values[3]])  # two that name what is not there
        for found in (clps_last_entry, pykernel.clps_last_entry):
            assert found(words, column.variables, types, None) == 0


@both
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-30, 30), max_size=30), st.integers(1, 2**62))
@example([-(2**63), 2**63 - 1, -1, 0], 10)
def test_spans(kernel: Any, times: list[int], width: int) -> None:
    for mask in (None, b"\1\0" * len(times)):
        pairs = array("q", kernel.clps_spans(array("q", times), mask, width))
        chosen = times if mask is None else times[::2]
        assert dict(zip(pairs[::2], pairs[1::2], strict=True)) == Counter(time // width for time in chosen)


def test_an_entry_that_is_not_there_is_reported(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.clps", [{"a": f"x{number}"} for number in range(9)])
    with exhume.clps.open(path) as archive:
        strings = archive.variables
        for found in (ClpsDistinct(), pykernel.ClpsDistinct()):
            assert found.add_entries(strings, array("Q", [2, 1, 2, len(strings)]), None) == 3
            assert found.add_entries(strings, array("Q", [99, 1, 2]), b"\0\1\1") == -1
            assert found.texts_of() == [b"x1", b"x2"]
    if COMPILED:
        with pytest.raises(IndexError):
            _kernel.ClpsDistinct().add_numbers(array("q", [1, 2]), b"\1", False)


@pytest.mark.parametrize("version", ["0.4.1", "0.5.1"])
def test_numbers_of_the_timestamp_key(version: str, tmp_path: Path) -> None:
    stamps = [1762445893.001, 1762445893.25, 0, -5, "2015-02-01T01:02:03Z", 1762445893001]
    records = [{"t": one, "k": number} for number, one in enumerate(stamps)]
    path = archive_of(tmp_path / "a.clps", records, version=version, timestamp_key="t")
    check(path, "*", "t", ["t"])
    check(path, "k > 1", "t", ["t"])
