"""Columns of events: with every number of jobs, and with both kernels, what each event says, value by value."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from exhume_ksy.facts.clp_kv_ir import Marks, Tags
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exhume
from exhume.errors import EntryNotFoundError, ExhumeError, QueryError, SourceError, Span
from exhume.formats.kv_ir import arrow, chunks, passes, pykernel, stream
from exhume.formats.kv_ir.arrow import Column, columns_of, print_array
from exhume.formats.kv_ir.info import walk
from exhume.formats.kv_ir.kernel import KvIrDecoder
from exhume.formats.kv_ir.layout import END, build_integer, build_real, build_text
from exhume.formats.kv_ir.reader import KvIrArchive
from exhume.formats.kv_ir.units import EventForm, Status
from exhume.io.source import BytesSource
from exhume.tabular.arrow import BAD_TEXT, MIXED, ROUNDED, plain_text
from exhume.testing.sources import MisreportingSource
from tests.kv_ir.broken import CASES
from tests.kv_ir.streams import EMPTY, FALSE, HEAD, NULL, SMALL, TRUE, UNITS, apart, auto, event, user, wrapped
from tests.kv_ir.test_reading import STREAMS
from tests.sizes import THOROUGH, size, some

pa = pytest.importorskip("pyarrow")

NAMES = [b"a", b"b", b"a.b", "größe".encode(), b"\xff", b"\\xff", b"@a", b""]
TEXTS = [b"", b"x", b"x" * 40, "größe €😀".encode(), b"\xff\xfe", b"a\xe2\x82", b"\xe2\x82x", b"\xed\xa0\x80",
         b"\xf0\x9f\x98", b"12345678\xc3", b"null"]  # fmt: skip
ARRAYS = [b"[]", b"[ ]", b"[1,2.50,-0,1e5]", b'["\\u00e9","\\/"]', b'["\\ud800"]', b'["\xff"]', b"[[1],[[]]]",
          b'[{"a":1,"b":[],"a":2}]', b'["a\\nb"]', b"[NaN,-Infinity,1E400]", '["größe"]'.encode(),
          b"[123456789012345678901234567890]", b"[true,false,null]"]  # fmt: skip
ODD_ARRAYS = [
    *ARRAYS, b' [1]', b"[1] ", b"[1]\t", b"[1]x", b"[1,]", b"[,1]", b"[1 2]", b"[", b"[1", b"[]]", b"{}", b"", b"[1\n]",
    b"[ 1 ,\t2 ]", b"[0,-1]", b"[-0]", b"[01]", b"[0.5,-0.0,0.0]", b"[00.5]", b"[1.]", b"[.5]", b"[-]",
    b"[- 1]", b"[+1]",
    b"[0.00001,0.0001,123456789012345.0,12345678901234.5,1234567890.12345,0.1234567890123456,9007199254740993.0]",
    b"[1e5,1E-5,1.5e3,1e400]", b"[999999999999999999,9999999999999999999,-999999999999999999]", b"[tru]", b"[truex]",
    b"[true,false,null,nul]", b'["\\b\\f\\n\\r\\t\\"\\\\"]', b'["\\x"]', b'["\\u0041"]', b'["\x01"]', b'["\x7f"]',
    b'["', b'["\\',
    b'[{"a":1 , "b" : [ ]}]', b'[{"a":1,"a":2}]', b'[{"a":1,"\\u0061":2}]', b'[{"a":1,}]', b'[{"a"}]', b"[{1:2}]",
    b"[{]",
    b"[{}]", b"[{ }]", b"[[[[]]],{}]", b"[" * 64 + b"]" * 64, b"[" * 70 + b"]" * 70, b'[{"a":' * 40 + b"1" + b"}]" * 40,
    b"[{" + b",".join(b'"%d":%d' % (number, number) for number in range(32)) + b"}]",
    b"[{" + b",".join(b'"%d":%d' % (number, number) for number in range(33)) + b"}]",
]  # fmt: skip
INTEGERS = [0, 1, -1, 300, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, (1 << 63) - 1, -(1 << 63), 1 << 40]
REALS = [0.5, -0.0, 5.0, float("nan"), float("inf"), float("-inf"), 1e300, 1e-5, 0.1 + 0.2]


def array(text: bytes) -> bytes:
    """The text of an array as a value."""
    return apart(re.sub(b"[" + re.escape(bytes(Marks)) + b"]", rb"\\\g<0>", text))


VALUES: dict[int, list[bytes]] = {
    Tags.NODE_INTEGER: list(map(build_integer, INTEGERS)),
    Tags.NODE_REAL: list(map(build_real, REALS)),
    Tags.NODE_BOOLEAN: [TRUE, FALSE],
    Tags.NODE_TEXT: [
        *map(build_text, TEXTS),
        *map(array, TEXTS),
        apart(b"took \x13 for \x12\x11", 0x4E91, b"\xff", -7),
    ],
    Tags.NODE_ARRAY: [*map(array, ARRAYS), apart(b"[\x11, \x12]", 7, b'"x"')],
    Tags.NODE_OBJECT: [NULL, EMPTY],
}
BAD: dict[int, bytes] = {
    Tags.NODE_TEXT: apart(b"\x11"),
    Tags.NODE_ARRAY: array(b"[1"),
    Tags.NODE_INTEGER: TRUE,
    Tags.NODE_OBJECT: build_text(b"x"),
}
"""Values that events must not have."""


def numbers_of_jobs(pure: bool) -> tuple[int, ...]:
    """The numbers of jobs that one kernel is tried with: all of them only under `make test-thorough`.

    The interpreted one takes ten times as long.
    """
    if THOROUGH:
        return 1, 2, 3
    return (2,) if pure else (1, 3)


class Node(NamedTuple):
    """A key of a random stream."""

    parent: int
    type: int
    name: bytes


class Maker:
    """Makes the units of a random stream, nearly all of which are sound."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.trees: list[list[Node]] = [[Node(-1, Tags.NODE_OBJECT, b"")] for _ in range(2)]

    def declaration(self) -> bytes:
        """A new key; nothing where there is one already."""
        space = self.draw.randrange(2)
        tree = self.trees[space]
        parent = self.draw.choice([number for number, node in enumerate(tree) if node.type == Tags.NODE_OBJECT])
        one = Node(parent, self.draw.choice(list(VALUES)), self.draw.choice(NAMES))
        if one in tree and self.draw.randrange(50):
            return b""
        if one not in tree:
            tree.append(one)
        return (auto, user)[space](one.type, one.name, parent)

    def event(self) -> bytes:
        """An event with some of the keys."""
        pairs: list[list[tuple[int, bytes]]] = []
        for tree in self.trees:
            used: dict[tuple[int, bytes], tuple[int, bool]] = {}
            found: list[tuple[int, bytes]] = []
            for number in self.draw.sample(range(1, len(tree)), self.draw.randrange(min(len(tree), 8))):
                if self._fits(tree, used, number) or not self.draw.randrange(200):
                    kind = tree[number].type
                    is_bad = kind in BAD and not self.draw.randrange(200)
                    found.append((number, BAD[kind] if is_bad else self.draw.choice(VALUES[kind])))
            pairs.append(found)
        return event(pairs[0], pairs[1])

    def _fits(self, tree: list[Node], used: dict[tuple[int, bytes], tuple[int, bool]], number: int) -> bool:
        trail, at = [], number
        while at:
            trail.append(((tree[at].parent, tree[at].name), (at, at == number)))
            at = tree[at].parent
        if any(used.get(slot, mine) != mine or (slot in used and mine[1]) for slot, mine in trail):
            return False
        used.update(trail)
        return True

    def stream(self) -> bytes:
        """All of it, perhaps cut or with a byte changed."""
        units = [self.declaration() for _ in range(self.draw.randrange(8))]
        count = self.draw.randrange(40)
        units += [self.event() if self.draw.randrange(4) else self.declaration() for _ in range(count)]
        data = bytearray(HEAD + b"".join(units) + END)
        if not self.draw.randrange(8):
            data[self.draw.randrange(len(HEAD), len(data))] = self.draw.randrange(256)
        if not self.draw.randrange(12):
            del data[self.draw.randrange(len(HEAD), len(data)) :]
        return wrapped(bytes(data)) if self.draw.randrange(2) else bytes(data)


def value_of(column: Column, event: tuple[dict[str, Any], dict[str, Any]], lost: Counter[str]) -> Any:
    """What an event has in a column."""
    value: Any = event[column.space]
    for name in column.names:
        value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return None
    if isinstance(value, dict):
        return None
    if isinstance(value, str):
        return plain_text(value, lost)
    if isinstance(value, list) or column.kind == "m":
        if column.kind == "m":
            lost[MIXED] += 1
        return plain_text(json.dumps(value, ensure_ascii=False), lost)
    if isinstance(value, int) and "float" in column.types:
        lost[ROUNDED] += abs(value) > 1 << 53 and int(float(value)) != value
        return float(value)
    return value


def expected(archive: KvIrArchive, names: list[str]) -> tuple[list[tuple[Any, ...]], Counter[str], str | None]:
    """The rows of columns, what they lose, and what ends them."""
    known = columns_of(archive)
    lost: Counter[str] = Counter()
    rows: list[tuple[Any, ...]] = []

    def count(error: ExhumeError) -> None:
        assert error.span is not None
        start, stop = error.span.payload or error.span[1:3]
        lost[f"{error.message} [{error.code}]"] += stop - start

    archive.on_omitted = count
    try:
        for one in archive.events():
            rows += [tuple(value_of(known[name], one, lost) for name in names)]
    except ExhumeError as error:
        return rows, lost, str(error)
    return rows, lost, None


def found(archive: KvIrArchive, names: list[str] | None, **options: Any) -> tuple[Any, ...]:
    """The rows of columns, what they lose, what ends them, and how many rows the batches have."""
    lost: Counter[str] = Counter()
    rows: list[tuple[Any, ...]] = []
    batches: list[int] = []
    reader = archive.to_arrow(columns=names, losses=lost, **options)
    try:
        for batch in reader:
            batch.validate(full=True)
            assert batch.schema == reader.schema
            batches.append(batch.num_rows)
            values = [column.to_pylist() for column in batch.columns]
            rows += zip(*values, strict=True) if values else [()] * batch.num_rows
    except ExhumeError as error:
        return rows, lost, str(error), batches
    return rows, lost, None, batches


@contextmanager
def kernel(*, pure: bool) -> Iterator[None]:
    """Small chunks, decoded by one of the two kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_SIZE", 24)
        patch.setattr(stream, "PIECE", 100)
        patch.setattr(passes, "PIECE", 100)
        patch.setattr(passes, "MAX_PREAMBLE", 300)
        patch.setattr(arrow, "AT_ONCE", 200)
        patch.setattr(arrow, "MOST_MADE", 150)
        if pure:
            for module in (chunks, arrow, passes):
                patch.setattr(module, "KvIrDecoder", pykernel.KvIrDecoder)
            patch.setattr(chunks, "scan_units", pykernel.scan_units)
        yield


def keys(archive: KvIrArchive, how: EventForm = EventForm.CHECK, jobs: int = 1) -> list[Any]:
    """All keys that a pass over a stream meets, past events that are wrong."""
    decoder = walk(archive, how, jobs)[0].decoder
    return [decoder.nodes(True), decoder.nodes(False)]


def check(data: bytes, names: list[str] | None = None, batch_rows: int = 65_536) -> None:
    """Every number of jobs and both kernels give what the events say."""
    try:
        archive = exhume.kvir.open(data)
    except ExhumeError:
        return
    rows, lost, failure = expected(archive, list(columns_of(archive)) if names is None else names)
    known = columns_of(archive), keys(archive)
    sizes = [min(batch_rows, len(rows) - at) for at in range(0, len(rows), batch_rows)]
    for pure in (False, True):
        with kernel(pure=pure):
            for jobs in some(numbers_of_jobs(pure)):
                made = found(archive, names, batch_rows=batch_rows, jobs=jobs)
                assert repr(made[0]) == repr(rows)  # as text: NaN differs from itself
                assert made[1:] == (+lost, failure, sizes)
                assert columns_of(archive, jobs) == known[0]
                for how in (EventForm.CHECK, EventForm.KEYS):
                    assert keys(archive, how, jobs) == known[1]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.integers(1, 5))
def test_random_streams(draw: random.Random, batch_rows: int) -> None:
    check(Maker(draw).stream(), batch_rows=batch_rows)


@pytest.mark.bulk
@pytest.mark.parametrize("seed", range(size(50, 200)))
def test_some_columns_of_random_streams(seed: int) -> None:
    draw = random.Random(seed)
    data = Maker(draw).stream()
    names = list(columns_of(exhume.kvir.open(data)))
    check(data, draw.sample(names, draw.randrange(len(names) + 1)))


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_reported_after_the_rows_before_it(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_streams_of_the_real_writer(path: Any) -> None:
    check(path.read_bytes())


def test_types_and_what_is_lost() -> None:
    kinds = [Tags.NODE_INTEGER, Tags.NODE_REAL, Tags.NODE_TEXT, Tags.NODE_ARRAY]
    units = [
        *(user(kind, b"mixed") for kind in kinds),
        *(user(kind, b"number") for kind in kinds[:2]),
        user(Tags.NODE_OBJECT, b"none"),
        user(Tags.NODE_OBJECT, b"o"),
        user(Tags.NODE_BOOLEAN, b"a.b", 8),
        auto(Tags.NODE_TEXT, b"text"),
        auto(Tags.NODE_ARRAY, b"list"),
        event(
            [(1, build_text(b"\xffx\xc3")), (2, array(b'["\\ud83d",1.0]'))],
            [(1, build_integer(7)), (7, NULL), (9, TRUE)],
        ),
        event([], [(2, build_real(0.5)), (5, build_integer((1 << 53) + 1)), (8, EMPTY)]),
        event([], [(3, build_text(b"x")), (6, build_real(2.0))]),
        event([], [(4, array(b"[1,2]")), (5, build_integer((1 << 63) - 1))]),
    ]
    data = HEAD + b"".join(units) + END
    check(data)
    lost: Counter[str] = Counter()
    table = exhume.kvir.open(data).to_arrow(losses=lost).read_all()
    assert {field.name: str(field.type) for field in table.schema} == {
        "@text": "large_string",
        "@list": "large_string",
        "mixed": "large_string",
        "number": "double",
        "none": "null",
        "o.a\\.b": "bool",
    }
    assert table.column("mixed").to_pylist() == ["7", "0.5", "x", "[1, 2]"]
    assert table.column("number").to_pylist() == [None, 9007199254740992.0, 2.0, 9223372036854775808.0]
    assert table.column("@text").to_pylist() == ["\ufffdx\ufffd", None, None, None]
    assert table.column("@list").to_pylist() == ['["\ufffd", 1.0]', None, None, None]
    assert table.column("o.a\\.b").to_pylist() == [True, None, None, None]
    assert lost == {BAD_TEXT: 2, MIXED: 3, ROUNDED: 2}


@pytest.mark.parametrize("text", ODD_ARRAYS, ids=range(len(ODD_ARRAYS)))
def test_arrays(text: bytes) -> None:
    first = user(Tags.NODE_ARRAY, b"a") + event([], [(1, array(b"[1]"))])
    check(HEAD + first + event([], [(1, array(text))]) + END)
    check(HEAD + first + user(Tags.NODE_TEXT, b"a") + event([], [(1, array(text))]) + END)
    check(HEAD + first + event([], [(1, array(text))]) + END, [])


def spaced(value: Any, draw: random.Random) -> str:
    """A value as JSON with blanks anywhere."""
    blank = draw.choice(["", "", " ", "\t", "  "])
    if isinstance(value, list):
        return f"[{blank}{','.join(blank + spaced(one, draw) + blank for one in value)}]"
    if isinstance(value, dict):
        members = (f"{json.dumps(key)}{blank}:{spaced(one, draw)}{blank}" for key, one in value.items())
        return "{" + blank + f",{blank}".join(members) + "}"
    return json.dumps(value, ensure_ascii=draw.random() < 0.5)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals(-10, 10, places=4).map(float)


NESTED = st.recursive(PLAIN, lambda one: st.lists(one) | st.dictionaries(st.text(), one), max_leaves=8)


@given(st.lists(NESTED), st.randoms())
def test_random_arrays(value: list[Any], draw: random.Random) -> None:
    text = spaced(value, draw).encode("utf-8", "surrogatepass")
    data = HEAD + user(Tags.NODE_ARRAY, b"a") + event([], [(1, array(text))]) + END
    rows = exhume.kvir.open(data).to_arrow().read_all().column(0).to_pylist()
    assert rows == [plain_text(json.dumps(json.loads(text.decode("utf-8", "surrogateescape")), ensure_ascii=False))]


@pytest.mark.parametrize("widest", [None, 1])
def test_different_keys_have_different_columns(widest: int | None) -> None:
    keys = [b"@a", b"\\xff", b"\xff", b"\xfe", b"@\xff"]
    units = [
        *(user(Tags.NODE_INTEGER, name) for name in keys),
        auto(Tags.NODE_INTEGER, b"a"),
        user(Tags.NODE_OBJECT, b"@b"),
        user(Tags.NODE_INTEGER, b"@b", 6),
        event([(1, build_integer(10))], [(node, build_integer(node)) for node in (1, 2, 3, 4, 5, 7)]),
        event([], [(1, build_integer(11)), (3, build_integer(13))]),
    ]
    with exhume.kvir.open(HEAD + b"".join(units) + END) as archive:
        table = archive.to_arrow(widest=widest).read_all()
    first = {"@a": 10, "\\@a": 1, "\\\\xff": 2, "\\xff": 3, "\\xfe": 4, "\\@\\xff": 5, "\\@b.@b": 7}
    rows = table.to_pylist() if widest is None else [dict(row["integers"]) for row in table.to_pylist()]
    assert [{key: value for key, value in row.items() if value is not None} for row in rows] == [
        first,
        {"\\@a": 11, "\\xff": 13},
    ]


def test_an_at_sign_needs_no_backslash_without_keys_of_the_logger() -> None:
    units = [user(Tags.NODE_INTEGER, b"@a"), event([], [(1, build_integer(1))])]
    with exhume.kvir.open(HEAD + b"".join(units) + END) as archive:
        assert archive.to_arrow().read_all().to_pylist() == [{"@a": 1}]


def test_rows_without_columns() -> None:
    check(SMALL, [])
    batches = list(exhume.kvir.open(SMALL).to_arrow(columns=[], batch_rows=3))
    assert [(batch.num_rows, batch.num_columns) for batch in batches] == [(3, 0), (1, 0)]


def test_exports_are_the_same_with_every_number_of_jobs(exhume_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.clp").write_bytes(HEAD + b"".join(UNITS) + UNITS[4] * 3 + END)
    for kind in ("arrow", "csv", "jsonl", "parquet"):
        made = []
        for jobs in (1, 2):
            ran = exhume_cli("export", tmp_path / "a.clp", "--to", kind, "-o", tmp_path / f"{jobs}", f"-j{jobs}")
            assert (ran.code, "7 rows" in ran.err) == (0, True)
            made.append((tmp_path / f"{jobs}").read_bytes())
            (tmp_path / f"{jobs}").unlink()
        assert made[0] == made[1]
    (tmp_path / "b.clp").write_bytes(HEAD + 3 * event([], []) + END)
    ran = exhume_cli("export", tmp_path / "b.clp", "--to", "arrow", "-o", tmp_path / "b.arrow")
    assert (ran.code, "lost: rows without columns: 3" in ran.err) == (3, True)


def test_what_cannot_be_requested() -> None:
    archive = exhume.kvir.open(SMALL)
    with pytest.raises(EntryNotFoundError, match="no such column"):
        archive.to_arrow(columns=["nothing"])
    with pytest.raises(QueryError, match="batch_rows"):
        archive.to_arrow(batch_rows=0)
    with pytest.raises(ValueError, match="jobs"):
        archive.to_arrow(jobs=-1)


def test_texts_of_columns_that_are_not_wanted_are_looked_at() -> None:
    bad = HEAD + b"".join(UNITS) + event([], [(1, apart(b"\x11"))]) + UNITS[-1] + END
    check(bad, ["took"])
    assert found(exhume.kvir.open(bad), ["took"])[3] == [5]  # all others, and then the error


def test_keys_that_become_known_late_and_rows_of_few_bytes() -> None:
    keys = [user(Tags.NODE_TEXT, b"key %d" % number) for number in range(60)]
    units = [unit for number, key in enumerate(keys, 1)
             for unit in (key, event([], [(number, build_text(b"v"))]), event([], []), event([], []))]  # fmt: skip
    check(HEAD + b"".join(units) + END, batch_rows=50)


def test_a_batch_ends_where_it_is_large() -> None:
    units = [user(Tags.NODE_TEXT, b"text"), event([], [(1, build_text(b"x" * (1 << 20)))]) * 40]
    data = HEAD + b"".join(units) + END
    sizes = [found(exhume.kvir.open(data), None, jobs=jobs)[3] for jobs in (1, 2)]
    assert sizes == [[16, 16, 8]] * 2


def test_a_failing_disk_ends_it_after_the_rows_before() -> None:
    def fail(offset: int, size: int, data: bytes) -> bytes:
        if is_broken and offset + size > 2000:
            raise SourceError("read failed", span=Span("disk", offset, offset + size))
        return data

    data = HEAD + b"".join(UNITS) + UNITS[8] * 200 + END
    counts: list[int] = []
    for jobs in (1, 3):
        with kernel(pure=False):
            is_broken = False
            archive = exhume.kvir.open(MisreportingSource(BytesSource(data), fail))
            reader = archive.to_arrow(jobs=jobs, batch_rows=10)
            is_broken = True
            rows = 0
            with pytest.raises(SourceError, match="read failed"):
                for batch in reader:
                    rows += batch.num_rows
            counts.append(rows)
    assert counts[0] == counts[1] > 20


def filled(make: Any, data: bytes, kinds: bytes, places: tuple[bytes, bytes], target: int) -> list[Any]:
    """What a decoder answers, and the buffers that it fills."""
    decoder = make()
    decoder.choose_columns(kinds, *places, print_array)
    answers: list[Any] = []
    at = 0
    while at >= 0:  # the events after a rejected one are read
        answers.append(decoder.run(data, at, len(data), 0, EventForm.COLUMNS, target))
        sizes, made, lost = decoder.take_columns()
        buffers = [one and (one[0], *(None if part is None else bytes(part) for part in one[1:])) for one in made]
        answers.append((bytes(sizes), buffers, lost))
        status, unit, _, after = answers[-2]
        at = after if status != Status.FULL and after >= 0 else unit if status == Status.FULL else -1
    return answers


@pytest.mark.bulk
@pytest.mark.parametrize("seed", range(60))
def test_both_kernels_fill_the_same_buffers(seed: int) -> None:
    draw = random.Random(seed)
    maker = Maker(draw)
    data = b"".join(maker.event() if draw.randrange(4) else maker.declaration() for _ in range(80))
    kinds = b"UmUmlgb"
    places = [b"".join(draw.randrange(-1, 7).to_bytes(4, "little", signed=True) for _ in range(draw.randrange(30)))
              for _ in range(2)]  # fmt: skip
    for target in (1, 300, 1 << 30):
        ours, other = (
            filled(make, data, kinds, (places[0], places[1]), target) for make in (KvIrDecoder, pykernel.KvIrDecoder)
        )
        assert ours == other


@pytest.mark.parametrize("make", [KvIrDecoder, pykernel.KvIrDecoder])
def test_columns_that_cannot_be(make: Any) -> None:
    decoder = make()
    with pytest.raises(ValueError, match="no columns"):
        decoder.take_columns()
    with pytest.raises(ValueError, match="no columns"):
        decoder.run(b"", 0, 0, 0, EventForm.COLUMNS, 1)
    for kinds, places in ((b"l", b"\1\0\0\0"), (b"l", b"\xfe\xff\xff\xff"), (b"x", b""), (b"l", b"\0\0\0")):
        with pytest.raises(ValueError, match=r"column|numbers|multiple"):
            decoder.choose_columns(kinds, places, b"", print_array)
