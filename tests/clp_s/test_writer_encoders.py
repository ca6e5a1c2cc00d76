"""The compiled and the pure encoder build the same, reject the same, and their archives read back."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.formats.clp_s.reader import open_archive
from exhume.formats.clp_s.write import pykernel
from exhume.formats.clp_s.write.encoder import Encoder
from exhume.formats.clp_s.write.kernel import ClpsEncoder, clps_count_lines
from exhume.formats.clp_s.write.pykernel import ClpsEncoder as PureEncoder
from exhume.formats.clp_s.write.status import Status
from exhume.formats.clp_s.write.texts import encode_formatted_float
from exhume.formats.clp_s.write.timestamps import TimeDialect, TimestampPatterns
from exhume.formats.clp_s.writer import create
from exhume.io.local import FileSource
from exhume.native import KERNEL
from tests.clp_s.strategies import dumps, records
from tests.sizes import some

NO_END = 1 << 60

STAMPS: list[str] = [
    *('"2024-01-02T03:04:05.678Z"', '"2024-01-02 03:04:05,678"', '"2024-02-30T00:00:00Z"', '"2024-02-29T23:59:59Z"'),
    *('"2024-01-02T03:04:05.6Z"', '"2024-01-02T03:04:05.600Z"', '"2024-01-02T03:04:05.60Z"', '"1600-01-01T00:00:00Z"'),
    *('"2024-01-02T03:04:05.123456+05:30"', '"2024-01-02T03:04:05.0Z"', '"2262-04-12T00:00:00Z"', '"Jan  2 03:04:05"'),
    *('"2016-12-31T23:59:60Z"', '"2024-01-02"', '"soon"', '""', '"1700000000"', '"1700000000.25"', '"x \\u0000"'),
    *("1700000000", "1700000000123", "-5", "0", "-0", "1700000000.25", "-0.5", "1e9", "9999999999999", "null", "[1]"),
    *("31536000000", "31536000001", "31536000000001", "-31536000000000001", "18446744073709551615", "{}", "true"),
]

pieces = st.sampled_from(
    [
        *(
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            '"a"',
            '"b"',
            '"',
            "\\",
            "\\u00e9",
            "\\ud83d",
            "\\ude00",
            "\\n",
            "\\x",
            " ",
            "\n",
        ),
        *("0", "1", "-", "12", ".5", "e3", "E+", "true", "false", "null", "nul", "é", "\x00", "\x01", "\x7f", "x y"),
        *('{"a":1}', '{"a":[1, 2]}', '{"a":{"b":2}}', '"a":1', '{"b":"x 1 y"}', "18446744073709551616", "1e400"),
    ]
)
texts = st.lists(pieces, max_size=14).map(lambda parts: "".join(parts).encode()) | st.binary(max_size=12)

options = st.fixed_dictionaries(
    {
        "core": st.booleans(),
        "structurize": st.booleans(),
        "retain_floats": st.booleans(),
        "time_nodes": st.booleans(),
        "lossy": st.booleans(),
        "log_order_type": st.sampled_from([None, 0, 11]),
    }
)


def build(
    make: Callable[..., Encoder], chosen: dict[str, Any], path: tuple[bytes, ...] = (b"ts",)
) -> tuple[Encoder, TimestampPatterns]:
    patterns = TimestampPatterns(
        TimeDialect.BACKSLASH if chosen["time_nodes"] else TimeDialect.PERCENT, lossy=chosen["lossy"]
    )
    encoder = make(
        **chosen,
        max_document=10_000,
        path=path,
        resolve_timestamp=patterns.resolve,
        encode_float=encode_formatted_float,
    )
    return encoder, patterns


def state(encoder: Encoder, patterns: TimestampPatterns) -> dict[str, Any]:
    schemas = list(range(encoder.num_schemas()))
    sizes = [encoder.dictionary(which)[1] for which in range(3)]
    return {
        "nodes": encoder.nodes_list(),
        "time nodes": encoder.time_nodes_list(),
        "dictionaries": [encoder.dictionary(which) for which in range(3)],
        "entries": [encoder.entries(which, 0, size) for which, size in enumerate(sizes)],
        "schemas": [encoder.schema(number) for number in schemas],
        "columns": encoder.columns(schemas, 0, sum(sum(encoder.schema(number)[3]) for number in schemas)),
        "counts": (encoder.records, encoder.losses, encoder.size),
        "times": (encoder.saw_integer_time, encoder.time_min, encoder.time_max),
        "float times": (encoder.saw_float_time, encoder.float_time_min, encoder.float_time_max),
        "patterns": patterns.ids,
    }


def feed(encoder: Encoder, data: bytes, *, final: bool, single: bool = False) -> list[tuple[int, int, bool]]:
    """Everything that encoding some text reports, continuing after rejected records."""
    out = []
    at = 0
    while True:
        status, document, stopped, whole = encoder.feed(data, at, final, NO_END, single)
        out.append((int(status), document, whole))
        if status in (Status.DONE, Status.MORE):
            return out
        newline = data.find(b"\n", document)
        at = stopped if whole else newline + 1 if newline >= 0 else len(data)


@pytest.fixture(scope="module", autouse=True)
def _needs_both() -> None:
    if encoder_is_pure():
        pytest.skip("the compiled kernel is not built: there is only one encoder")


def encoder_is_pure() -> bool:
    return KERNEL is None


def agree(chosen: dict[str, Any], data: bytes, *, final: bool, single: bool = False) -> None:
    compiled, ids = build(ClpsEncoder, chosen)
    pure, pure_ids = build(PureEncoder, chosen)
    assert not isinstance(compiled, PureEncoder)
    reported = feed(compiled, data, final=final, single=single)
    assert reported == feed(pure, data, final=final, single=single)
    assert state(compiled, ids) == state(pure, pure_ids)


CUT = '{"a\\"\\u00e9é":"\\\\\\ud83d\\ude00",\n"b":[true,false,null,-1.5e3],"c":{"d":"\U0001f600"}}'.encode()


@pytest.mark.parametrize("final", [False, True])
def test_text_that_is_cut_short_is_refused_at_the_same_place(final: bool) -> None:
    chosen: dict[str, Any] = {
        "core": True,
        "structurize": True,
        "retain_floats": True,
        "time_nodes": True,
        "lossy": True,
    }
    for size in some(range(len(CUT))):
        compiled, pure = (build(make, {**chosen, "log_order_type": None})[0] for make in (ClpsEncoder, PureEncoder))
        shown = compiled.feed(CUT[:size], 0, final, NO_END, False)
        assert shown == pure.feed(CUT[:size], 0, final, NO_END, False)
        assert shown[2] <= size


words = st.sampled_from([
    " ", " ", "a", "=", "=k", "ace", "e", "\\", "-", ".", "_", ",", "\x11", "\x12", "\x13", "é", "x" * 20, "x" * 5000,
])  # fmt: skip
variables = st.sampled_from([
    "7", "8", "007", "-0", "-5", "1.5", "-1.50", "1.", "x1", "ace", "a-1", "3\\", "9" * 8, "9" * 9, "9" * 19, "9" * 20,
])  # fmt: skip


@settings(max_examples=60)
@given(
    options,
    st.lists(st.lists(words | st.none(), max_size=9), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 19), st.lists(variables, min_size=1, max_size=9)), max_size=60),
)
def test_strings_like_earlier_ones(
    chosen: dict[str, Any], shapes: list[list[str | None]], uses: list[tuple[int, list[str]]]
) -> None:
    """Strings of a few log types in any order, which have other variables, or text that reads as a variable."""
    lines = []
    for number, found in uses:
        given = iter(found * 9)
        shape = shapes[number % len(shapes)]
        text = "".join(next(given) if word is None else word for word in shape)
        lines.append(dumps({"m": f"{text} ", "n": [f" {text}"]}).encode() + b"\n")
    agree(chosen, b"".join(lines), final=True)


@pytest.mark.parametrize("core", [False, True])
def test_more_log_types_than_are_kept(core: bool) -> None:
    """The tree of known log types has a limit, in one place and in all."""
    chosen = {"core": core, "structurize": False, "retain_floats": True, "time_nodes": True, "lossy": False}
    letters = "ghijklmnopqrstuvwx"
    texts = [f"{a} 1 {b} 2 {c} end" for a in letters for b in letters for c in letters]
    lines = [dumps({"m": text}).encode() + b"\n" for text in [*texts, *texts, *texts[:50]]]
    agree({**chosen, "log_order_type": None}, b"".join(lines), final=True)


@settings(max_examples=40)
@given(options, st.lists(st.tuples(records, st.sampled_from(["", *STAMPS])), max_size=12))
def test_same_archive(chosen: dict[str, Any], items: list[tuple[dict[str, Any], str]]) -> None:
    lines = []
    for record, stamp in items:
        text = dumps(record)
        if stamp and "ts" not in record:
            text = f'{{"ts":{stamp}' + ("," if record else "") + text[1:]
        lines.append(text.encode("utf-8", "replace") + b"\n")
    agree(chosen, b"".join(lines), final=True)


@settings(max_examples=60)
@given(options, texts, st.booleans(), st.booleans())
def test_same_refusals(chosen: dict[str, Any], data: bytes, final: bool, single: bool) -> None:
    agree(chosen, data, final=final, single=single and final)


@pytest.mark.parametrize("log_order_type", [None, 0, 11])
def test_same_choice_of_two_values_of_one_key(log_order_type: int | None) -> None:
    chosen = {"core": True, "structurize": True, "retain_floats": True, "time_nodes": True, "lossy": True}
    data = b"""{"a":1,"c":null,"b":[{"k":1,"k":2}],"a":{},"a":2,"c":null,"a":{"x":1.5},"b":[],"a":{"x":2.5,"x":"u"}}
    {"ts":"2024-01-02T03:04:05Z","d":18446744073709551615,"ts":"2024-01-02T03:04:06Z","d":1,"ts":5,"a":{},"a":{}}"""
    agree({**chosen, "log_order_type": log_order_type}, data, final=True)


@settings(max_examples=30)
@given(options, records, st.integers(0, 400))
def test_same_wherever_the_data_end(chosen: dict[str, Any], record: dict[str, Any], end: int) -> None:
    agree(chosen, (dumps(record).encode("utf-8", "replace") + b"\n")[:end], final=False)


@pytest.mark.parametrize("line", [b'{"a":"\xf0\x9f\x98\x80"}', b'{"a":"\\ud83d\\ude00x"}', b'{"a":[-0.5e-7,true]}'])
def test_a_document_is_never_taken_before_it_is_whole(line: bytes) -> None:
    chosen = {"core": True, "structurize": False, "retain_floats": True, "time_nodes": True, "lossy": False}
    for end in some(range(1, len(line))):
        for make in (ClpsEncoder, PureEncoder):
            encoder, _ = build(make, {**chosen, "log_order_type": 11})
            assert encoder.feed(line[:end], 0, False, NO_END, False)[0] == Status.MORE, line[:end]
            assert encoder.feed(line[:end], 0, True, NO_END, False)[0] >= Status.BAD_JSON, line[:end]


def test_many_keys_schemas_and_values() -> None:
    """Growth of every table, and the reset of the shape cache."""
    chosen = {"core": True, "structurize": True, "retain_floats": True, "time_nodes": True, "lossy": False}
    lines = [b'{"k%d":%d,"s":"v%d","t":"n %d x"}' % (n, n, n % 900, n) for n in range(3000)]
    lines += [b'{"a":[%s]}' % b",".join([b"1", b'"x"', b"null"][n % 3 :][: n % 4] * (n % 7)) for n in range(300)]
    lines += [b'{"s":"v%d","k%d":1}' % (n, n) for n in range(0, 3000, 7)]
    agree({**chosen, "log_order_type": 11}, b"\n".join(lines), final=True)


@pytest.mark.parametrize(("core", "target"), [(False, NO_END), (True, 900_000)])
def test_many_variables_that_are_looked_up_together(core: bool, target: int) -> None:
    """From some 20,000 different ones on; the same ones are near each other, and far apart, and some are long."""
    rng = random.Random(7)
    words = [f"{rng.choice('abc')}{number}" * (1 + 90 * (number % 997 == 0)) for number in range(26_000)]
    lines = [json.dumps({"m": " ".join(words[at : at + 40])}) for at in range(0, 20_000, 40)]
    for number, word in enumerate(words[20_000:], 20_000):
        others = [rng.choice(words[max(0, number - rng.choice((2, 40, 30_000))) : number + 1]) for _ in range(3)]
        lines.append(json.dumps({"w": word, "m": f"{others[0]} took {number} ms\\n{others[1]}", "a": [others[2]]}))
    data = "\n".join(lines).encode()
    chosen = {"core": core, "structurize": True, "retain_floats": True, "time_nodes": True, "lossy": False}
    stops = []
    for make in (ClpsEncoder, PureEncoder):
        encoder, patterns = build(make, {**chosen, "log_order_type": 0})
        status, at, end, known = encoder.feed(data, 0, True, target, False)
        stops.append((status, at, end, known, state(encoder, patterns)))
    assert stops[0] == stops[1]
    assert (stops[0][0] == Status.SPLIT) == (target != NO_END)
    assert stops[0][-1]["dictionaries"][0][0] > 22_000, "more than fit the near caches"


def test_refused_records_leave_no_trace() -> None:
    chosen = {"core": True, "structurize": True, "retain_floats": True, "time_nodes": True, "lossy": False}
    encoder, ids = build(ClpsEncoder, {**chosen, "log_order_type": 11})
    feed(encoder, b'{"a":{"b":1},"c":[{"d":2}]}', final=True)
    before = state(encoder, ids)
    for number in range(200):
        bad = b'{"new%d":{"x":[1,{"y":2}]},"a":{"q":1},"c":1,"z":{"z":1,"z":2}}' % number
        assert feed(encoder, bad, final=True)[0][0] == Status.DUPLICATE_KEY
    assert state(encoder, ids) == before
    feed(encoder, b'{"a":{"q":1},"new7":3}', final=True)
    fresh, fresh_ids = build(ClpsEncoder, {**chosen, "log_order_type": 11})
    feed(fresh, b'{"a":{"b":1},"c":[{"d":2}]}{"a":{"q":1},"new7":3}', final=True)
    assert state(encoder, ids) == state(fresh, fresh_ids)


@settings(max_examples=25)
@given(
    st.lists(records, max_size=10),
    st.sampled_from(["0.3.1", "0.4.1", "0.5.1"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([NO_END, 300]),
)
@pytest.mark.slow
def test_records_come_back(
    items: list[dict[str, Any]], version: str, structurize: bool, log_order: bool, target: int
) -> None:
    """For any JSON records, `events` returns the same values."""
    items = [json.loads(dumps(item).encode("utf-8", "replace")) for item in items]
    with tempfile.TemporaryDirectory() as folder:
        writer = create(
            Path(folder, "x.clps"),
            version=version,
            structurize_arrays=structurize,
            log_order=log_order,
            target_encoded_size=target,
        )
        with writer:
            for item in items:
                writer.write(item)
            if not log_order:
                writer.write({"so that": "there is a column"})
        found: list[Any] = []
        for path in writer.paths:
            with open_archive(FileSource(path)) as archive:
                assert [str(finding) for finding in archive.verify() if finding.severity == "error"] == []
                found += list(archive.events(ordered=True))
    if not log_order:
        items = [*items, {"so that": "there is a column"}]
        assert sorted(map(canonical, found)) == sorted(map(canonical, items))
    else:
        assert list(map(canonical, found)) == list(map(canonical, items))


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def test_no_second_way_in_while_encoding() -> None:
    """The compiled encoder works without the GIL, so it refuses to be entered twice."""
    encoder: Any = None

    def resolve(text: bytes, quoted: bool) -> None:
        encoder.feed(b'{"a":1}', 0, True, NO_END, False)

    chosen: dict[str, Any] = {
        "core": True,
        "structurize": False,
        "retain_floats": True,
        "time_nodes": True,
        "lossy": False,
    }
    encoder = ClpsEncoder(
        **chosen,
        log_order_type=11,
        max_document=1000,
        path=(b"ts",),
        resolve_timestamp=resolve,
        encode_float=encode_formatted_float,
    )
    with pytest.raises(RuntimeError, match="one thread"):
        encoder.feed(b'{"ts":"2024-01-02"}', 0, True, NO_END, False)
    assert feed(encoder, b'{"a":1}', final=True) == [(int(Status.DONE), 7, False)]


@given(
    data=st.binary() | st.lists(st.sampled_from([b"\n", b"{}", b"\x8a"])).map(b"".join),
    bounds=st.tuples(*[st.integers(0, 40)] * 2),
)
def test_lines_are_counted(data: bytes, bounds: tuple[int, int]) -> None:
    start, stop = bounds
    for count in (clps_count_lines, pykernel.clps_count_lines):
        if start <= stop <= len(data):
            assert count(data, start, stop) == list(data[start:stop]).count(10)
        else:
            with pytest.raises(IndexError):
                count(data, start, stop)
