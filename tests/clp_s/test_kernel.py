"""The compiled kernel and its pure-Python form print the same bytes and report the same faults."""

from __future__ import annotations

import json
import math
import struct
from array import array
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exhume.formats.clp_s.read import program as ops
from exhume.formats.clp_s.read import pykernel
from exhume.formats.clp_s.read.timestamps import MONTHS, compile_milli_pattern, compile_nano_pattern
from exhume.native import kernel as core_kernel
from tests.clp_s.build import f64, float_core, float_old, i64, u16, u64
from tests.sizes import some

if core_kernel.COMPILED:
    from exhume.native import _kernel as compiled
else:
    compiled = pykernel

needs_kernel = pytest.mark.skipif(not core_kernel.COMPILED, reason="exhume.native._kernel was not built")
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
doubles = st.floats() | st.integers(-(10**15), 10**15).map(float) | st.decimals(-1000, 1000, places=3).map(float)


def both(make: Any) -> tuple[Any, Any]:
    return make(pykernel), make(compiled)


def printed(kernel: ModuleType, operations: Any, rows: int) -> Any:
    program = kernel.ClpsProgram([*operations, (ops.LITERAL, b"\n")], rows)
    whole = program.render(0, rows, 1 << 20)
    assert program.lines(range(rows)) == (whole[0].splitlines(keepends=True), whole[2]) or b"\n" in whole[0][:-1]
    return whole


def dictionary(entries: list[bytes]) -> bytes:
    return b"".join(u64(len(entry)) + entry for entry in entries)


@needs_kernel
@given(st.lists(int64, max_size=20))
def test_integers(values: list[int]) -> None:
    one, two = both(lambda k: printed(k, [(ops.INTEGER, i64(*values))], len(values)))
    assert one == two
    assert one[0] == b"".join(b"%d\n" % value for value in values)


@needs_kernel
@given(st.lists(doubles, min_size=1, max_size=20))
@example([0.0000005, 0.5e-6, 1.5e-6, 999999999.9999995, 1e22, -0.0, math.nan, math.inf, -math.inf, 2.5e-7])
def test_floats(values: list[float]) -> None:
    one, two = both(lambda k: printed(k, [(ops.FLOAT, f64(*values))], len(values)))
    assert one == two


@needs_kernel
@given(st.lists(st.tuples(doubles, st.integers(0, 0xFFFF)), min_size=1, max_size=20))
@example([(1e3, 0x4000), (1.5e-7, 0x6020), (100.0, 0x0060), (2.5, 0x0020), (-0.0, 0x20), (5e-324, 0x4000)])
def test_formatted_floats(values: list[tuple[float, int]]) -> None:
    operations = [(ops.FORMATTED, f64(*(v for v, _ in values)), u16(*(w for _, w in values)))]
    one, two = both(lambda k: printed(k, operations, len(values)))
    assert one == two


@needs_kernel
@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(1, 17))
def test_formatted_floats_of_short_decimals(number: Any, significant: int) -> None:
    value = float(f"{number:.{significant - 1}e}")
    operations = [(ops.FORMATTED, f64(value), u16((significant - 1) << 5))]
    one, two = both(lambda k: printed(k, operations, 1))
    assert one == two


@pytest.mark.parametrize("kernel", [pykernel, compiled], ids=["pure", "compiled"])
@pytest.mark.parametrize(
    ("value", "word", "text"),
    [
        (1000.0, 0x4000, b"1e3"),
        (1.5e-7, 0x6020, b"1.5e-7"),
        (100.0, 0x0060, b"100.0"),
        (100.0, 0x0000, b"100"),
        (2.5, 0x0020, b"2.5"),
        (-0.0, 0x0020, b"-0.0"),
        (0.05, 0x0000, b"0.05"),
        (0.00125, 0x0040, b"0.00125"),
        (1e22, 0x0000, b"10000000000000000000000"),
        (1e-7, 0xF000 | 1 << 10, b"1E07"),
    ],
)
def test_float_formats(kernel: ModuleType, value: float, word: int, text: bytes) -> None:
    assert printed(kernel, [(ops.FORMATTED, f64(value), u16(word))], 1)[0] == text + b"\n"


@given(st.lists(st.binary(max_size=12), max_size=12))
def test_strings(entries: list[bytes]) -> None:
    payload = dictionary(entries)
    for kernel in (pykernel, compiled):
        strings = kernel.ClpsStrings(payload + b"tail", len(entries))
        assert list(strings) == entries
        assert strings.end == len(payload)
        escaped = list(strings.escaped())
        for raw, text in zip(entries, escaped, strict=True):
            assert json.loads(b'"' + text.decode("latin-1").encode() + b'"').encode("latin-1") == raw
        if entries:
            with pytest.raises(ValueError) as caught:
                kernel.ClpsStrings(payload[:-1] if entries[-1] else payload[:-8], len(entries))
            assert caught.value.args[0] == len(entries) - 1
        with pytest.raises(IndexError):
            strings[len(entries)]


@given(st.lists(st.binary(max_size=12), max_size=12), st.lists(st.integers(0, 300), max_size=5), st.booleans())
def test_strings_of_a_payload_that_comes_in_steps(entries: list[bytes], cuts: list[int], is_short: bool) -> None:
    payload = dictionary(entries)
    cuts = sorted(min(cut, len(payload)) for cut in cuts)
    for kernel in (pykernel, compiled):
        there, filled = bytearray(b"\xff" * len(payload)), 0

        def steps(there: bytearray = there) -> Iterator[int]:
            nonlocal filled
            for cut in [*cuts, len(payload)]:
                there[filled:cut] = payload[filled:cut]
                filled = cut
                yield cut

        strings = kernel.ClpsStrings(there, len(entries), steps())
        assert list(strings) == entries
        assert (strings.end, filled) == (len(payload), len(payload))
        if entries:
            with pytest.raises(ValueError) as caught:
                kernel.ClpsStrings(payload[:-1] if entries[-1] else payload[:-8], len(entries), cuts[:1] * is_short)
            assert caught.value.args[0] in (len(entries) - 1, "a step outside the payload")


@pytest.mark.parametrize("steps", [[9], [-1], [8, 17], [1 << 62]])
def test_a_step_is_within_the_payload(steps: list[int]) -> None:
    for kernel in (pykernel, compiled):
        with pytest.raises(ValueError, match="a step outside the payload"):
            kernel.ClpsStrings(bytes(8), 1, steps)


def test_what_a_step_raises_is_raised() -> None:
    def steps() -> Iterator[int]:
        yield 9
        raise KeyError("gone")

    for kernel in (pykernel, compiled):
        with pytest.raises(KeyError):
            kernel.ClpsStrings(dictionary([b"a", b"b"]), 2, steps())


@given(st.lists(st.binary(max_size=12), min_size=1, max_size=40), st.lists(st.integers(0, 39), max_size=80))
def test_strings_are_numbered_in_the_order_of_their_use(entries: list[bytes], ids: list[int]) -> None:
    ids = [one % len(entries) for one in ids]
    different = list(dict.fromkeys(ids))
    for kernel in (pykernel, compiled):
        strings = kernel.ClpsStrings(dictionary(entries), len(entries))
        codes, ends, text = strings.numbered(array("Q", ids))
        assert [different[code] for code in array("i", codes)] == ids
        stops = array("i", ends)
        assert [text[start:stop] for start, stop in pairwise(stops)] == [entries[one] for one in different]
        assert (stops[0], stops[-1]) == (0, len(text))


def test_ids_that_no_entry_has_are_refused() -> None:
    for kernel in (pykernel, compiled):
        strings = kernel.ClpsStrings(dictionary([b"a", b"b"]), 2)
        for bad in (2, 1 << 63, (1 << 64) - 1):
            with pytest.raises(IndexError):
                strings.numbered(array("Q", [0, bad]))
    with pytest.raises(ValueError, match="too many ids"):
        pykernel.ClpsStrings(dictionary([b"a"]), 1).numbered(range(1 << 31))


def test_a_count_that_is_wrong_costs_nothing() -> None:
    for kernel in (pykernel, compiled):
        with pytest.raises(ValueError):
            kernel.ClpsStrings(b"\0" * 16, 1 << 40)


@given(
    st.lists(
        st.binary(max_size=10)
        | st.lists(st.sampled_from(b'\x11\x12\x13\\a"\n')).map(bytes)
        | st.lists(st.sampled_from([b"of plain text", b"\x12", b"\\\x11", b"\n"])).map(b"".join),
        max_size=6,
    ),
    st.lists(st.binary(max_size=5), max_size=4),
    st.lists(int64 | st.integers(0, 5) | st.integers(1 << 62, (1 << 62) + 5), max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), min_size=1, max_size=6),
    st.booleans(),
    st.booleans(),
)
def test_texts(
    types: list[bytes], entries: list[bytes], variables: list[int], words: list[tuple[int, int]], core: bool, esc: bool
) -> None:
    def show(kernel: ModuleType) -> Any:
        strings = kernel.ClpsStrings(dictionary(entries), len(entries))
        logs = kernel.ClpsLogTypes(kernel.ClpsStrings(dictionary(types), len(types)), core, esc)
        holes = [(logs.holes(i), logs.literals(i)) for i in range(len(types))]
        column = u64(*(ident | at << 24 for ident, at in words))
        program = kernel.ClpsProgram([(ops.TEXT, column, i64(*variables), logs, strings)], len(words))
        found = program.check(0, len(words)), program.check(len(words) // 2, len(words))
        return holes, program.render(0, len(words), 1 << 20), found

    one, two = both(show)
    assert one == two
    assert one[1][2] == one[2][0], "what cannot be printed is what a check finds"


@needs_kernel
@given(
    st.lists(
        st.tuples(int64, st.integers(0, 4), st.sampled_from([5, 6]), int64, st.integers(0, 0xFFFF)),
        min_size=1,
        max_size=6,
    )
)
def test_a_check_finds_the_first_row_that_cannot_be_printed(rows: list[tuple[int, int, int, int, int]]) -> None:
    pattern = compile_milli_pattern(b"%Y-%m-%d")  # no year beyond 9999 can be printed

    def find(kernel: ModuleType) -> Any:
        numbers, ids, patterns, times, formats = zip(*rows, strict=True)
        strings = kernel.ClpsStrings(dictionary([b"a", b"b", b"c"]), 3)
        known = kernel.ClpsPatterns([(5, pattern.unit, pattern.shift, pattern.steps)])
        operations = [
            (ops.LITERAL, b"x"), (ops.INTEGER, i64(*numbers)), (ops.STRING, u64(*ids), strings),
            (ops.FORMATTED, f64(*map(float, numbers)), u16(*formats)), (ops.TIME, i64(*times), u64(*patterns), known),
        ]  # fmt: skip
        program = kernel.ClpsProgram(operations, len(rows))
        with pytest.raises(IndexError):
            program.check(0, len(rows) + 1)
        with pytest.raises(IndexError):
            program.check(-1, len(rows))
        return program.check(0, len(rows)), program.render(0, len(rows), 1 << 20)[2]

    one, two = both(find)
    assert one == two
    assert one[0] == one[1]


@given(st.integers(1, 16), st.integers(1, 16), st.integers(0, (1 << 54) - 1), st.booleans(), st.booleans())
def test_encoded_floats(digits: int, places: int, value: int, negative: bool, core: bool) -> None:
    word = (float_core if core else float_old)(digits, places, value, negative)
    text = pykernel.clps_decode_float(word, core)
    if places > digits or len(str(value)) > digits:
        assert text is None
    else:
        assert text is not None
        whole, _, part = text.decode().lstrip("-").partition(".")
        assert (len(part), int(whole + part)) == (places, value)
    hole = b"\x13" if core else b"\x12"
    strings = compiled.ClpsStrings(b"", 0)
    logs = compiled.ClpsLogTypes(compiled.ClpsStrings(dictionary([hole]), 1), core, False)
    program = compiled.ClpsProgram([(ops.TEXT, u64(0), i64(word), logs, strings)], 1)
    shown, _, fault = program.render(0, 1, 100)
    assert (shown, fault) == ((text, None) if text is not None else (b"", (ops.BAD_FLOAT, 0, 0, word)))


MILLI = b"%Y %y %m %d %e %H %k %I %l %p %M %S %3 %T %B %b %a %%"
NANO = (
    rb'"\Y \y \m \d \e \H \k \I \p \M \S \3 \6 \9 \T \A{a,b,c,d,e,f,gg} \z{-04:30}\\ \B{' + b",".join(MONTHS) + rb'}"'
)


@given(int64, st.sampled_from([(MILLI, 0), (NANO, 1), (rb"\E.\T", 1), (rb"\L \C \N \3", 1), (b"x%F", 0), (b"x%E", 0)]))
@example(-1, (rb"\E.\T", 1))
@example(-(1 << 63), (rb"\N", 1))
@example((1 << 63) - 1, (MILLI, 0))
@example(-(1 << 63), (MILLI, 0))
def test_times(epoch: int, pattern: tuple[bytes, int]) -> None:
    text, nanos = pattern
    found = compile_nano_pattern(text) if nanos else compile_milli_pattern(text)
    one, two = both(lambda k: k.ClpsPatterns([(5, found.unit, found.shift, found.steps)]).render(5, epoch))
    assert one == two
    one, two = both(lambda k: k.ClpsPatterns([(5, found.unit, found.shift, found.steps)]).render(6, epoch))
    assert one == two == ops.BAD_PATTERN


SAME_SECOND = [
    *(b"%Y-%m-%d %H:%M:%S.%3", b"%Y", b"%T", b"at %3 ms", b"%3 %3", b"%S" + b"x" * 64, b"%F"),
    *(rb"\Y-\m-\d \H:\M:\S.\6 \z{+01:30}", rb"\H:\M:\S", rb"\9 of \A{a,b,c,d,e,f,g}", rb"\E.\3"),
]


@given(
    st.lists(
        st.tuples(st.sampled_from(range(len(SAME_SECOND))), st.sampled_from([0, 1, -1, 86_400, 1 << 33]),
                  st.sampled_from([0, 1, 999, 10**6, 123_456_789, 999_999_999])),
        max_size=30,
    )
)  # fmt: skip
def test_times_after_others_in_the_same_second(wanted: list[tuple[int, int, int]]) -> None:
    """The text of a second is kept for the next time: of this pattern, and where no other digits depend on the time."""
    found = [(compile_milli_pattern if b"%" in text else compile_nano_pattern)(text) for text in SAME_SECOND]
    items = [(number, one.unit, one.shift, one.steps) for number, one in enumerate(found)]

    def printed(kernel: ModuleType) -> list[Any]:
        known, others = kernel.ClpsPatterns(items), kernel.ClpsPatterns(items[::-1])
        shown = []
        for number, second, nanos in wanted:
            epoch = second * (10**9 // found[number].unit) + nanos // found[number].unit
            shown += [known.render(number, epoch), others.render(number, epoch)]
        return shown

    one, two = both(printed)
    assert one == two


@needs_kernel
@given(st.lists(st.lists(st.integers(0, 50), max_size=20), max_size=5), st.integers(0, 20), st.integers(1, 60))
def test_merging(keys: list[list[int]], cut: int, size: int) -> None:
    counts = array("Q", map(len, keys))
    nothing = array("Q", bytes(8 * len(keys)))

    def merge(kernel: ModuleType) -> Any:
        order = kernel.clps_merge_order([i64(*key) for key in keys])
        none = array("i", [-1]) * len(keys)
        tables = kernel.ClpsTables(b"", [], b"", -1, bytes(256), b"", b"", b"", b"", none, nothing, nothing, counts)
        merged = kernel.ClpsMerged(tables, nothing, [None], -1)
        odd = merged.odd()
        assert merged.order({table: i64(*keys[table]) for table in odd}) == order
        programs = {
            i: kernel.ClpsProgram([(0, b"%d:" % i), (1, i64(*key)), (0, b"\n")], len(key)) for i, key in enumerate(keys)
        }
        cut_at = min(cut, len(order))
        cursors = array("q", bytes(8 * len(keys)))
        merged.advance(order, 0, cut_at, cursors)
        shown = merged.render(programs, order, cut_at, len(order), cursors, size)
        return list(order), odd, cursors.tolist(), shown[:2], shown[3]

    one, two = both(merge)
    assert one == two
    if all(key == sorted(key) for key in keys):
        positions = [0] * len(keys)
        values = []
        for table in one[0]:
            values.append(keys[table][positions[table]])
            positions[table] += 1
        assert values == sorted(values)


@needs_kernel
@given(st.lists(int64, max_size=20), st.integers(-(1 << 70), 1 << 70))
def test_deltas(values: list[int], total: int) -> None:
    one, two = both(lambda k: k.clps_undelta(i64(*values), total))
    assert one == two
    for value, (got,) in zip(values, struct.iter_unpack("<Q", one), strict=True):
        total = (total + value) % (1 << 64)
        assert got == total


@needs_kernel
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1 << 20)), max_size=20))
def test_variables_of_words(words: list[tuple[int, int]]) -> None:
    """Which variables they refer to, and the words from there on; a missing log type is reported."""
    holes = {0: 0, 1: 1, 2: 3}
    stored = u64(*(ident | at << 24 for ident, at in words))

    def found(kernel: ModuleType) -> Any:
        entries = kernel.ClpsStrings(dictionary([b"no", b"a \x11", b"\x11 \x12 \x13"]), 3)
        return kernel.clps_variables_of(stored, kernel.ClpsLogTypes(entries, True, False))

    one, two = both(found)
    assert one == two
    if any(ident not in holes for ident, _ in words):
        assert one is None
        return
    low, high, moved = one
    used = [(at, at + holes[ident]) for ident, at in words if holes[ident]]
    assert (low, high) == (min((at for at, _ in used), default=0), max((end for _, end in used), default=0))
    expected = [ident | (at - low if holes[ident] else 0) << 24 for ident, at in words]
    assert moved == u64(*expected)


@pytest.mark.parametrize("kernel", [pykernel, compiled], ids=["pure", "compiled"])
def test_short_buffers_and_wrong_rows_are_refused(kernel: ModuleType) -> None:
    with pytest.raises(ValueError):
        kernel.ClpsProgram([(ops.INTEGER, i64(1))], 2)
    program = kernel.ClpsProgram([(ops.INTEGER, i64(1))], 1)
    with pytest.raises(IndexError):
        program.lines([1])
    with pytest.raises(IndexError):
        program.lines([-1])


@pytest.mark.parametrize("kernel", [pykernel, compiled], ids=["pure", "compiled"])
def test_every_byte_that_needs_an_escape_is_seen_wherever_it_is(kernel: ModuleType) -> None:
    """The compiled scan examines eight bytes at once."""
    special = {*range(0x20), 0x22, 0x5C}
    for size in range(1, 18):
        for at in some(range(size)):
            for byte in (
                0,
                1,
                0x1F,
                0x20,
                0x21,
                0x22,
                0x23,
                0x5B,
                0x5C,
                0x5D,
                0x7F,
                0x80,
                0x9F,
                0xA0,
                0xA2,
                0xDC,
                0xFF,
            ):
                entry = b"\xe9" * at + bytes((byte,)) + b"z" * (size - at - 1)
                strings = kernel.ClpsStrings(dictionary([entry]), 1)
                assert (strings.escaped()[0] == entry) is (byte not in special)
                assert strings.escaped()[0] == ops.clps_escape(entry)


@needs_kernel
@given(st.lists(int64, max_size=8), st.integers(0, 3))
def test_the_first_row_out_of_order(values: list[int], kind: int) -> None:
    values = sorted(set(values)) if kind else values
    one, two = both(lambda k: k.clps_disorder(memoryview(i64(*values)).cast("q")))
    assert one == two == next((at for at in range(1, len(values)) if values[at] <= values[at - 1]), -1)


def first_repeated(kernel: Any, strings: Any, shares: int = 1) -> int:
    """As `verify` requests it: entries are added in two parts, and looked for in shares."""
    repeated, half = kernel.ClpsRepeated(strings), len(strings) // 2
    repeated.add(half, len(strings))
    repeated.add(0, half)
    found = (repeated.first(share, shares) for share in range(shares))
    return min((one for one in found if one >= 0), default=-1)


@needs_kernel
@given(st.lists(st.binary(max_size=10) | st.sampled_from([b"", b"same", b"\xff", "é".encode(), b"\xed\xa0\x80"])))
def test_what_verify_asks_of_a_dictionary(entries: list[bytes]) -> None:
    def requested(kernel: Any) -> Any:
        payload = dictionary(entries) + b"more"
        found = kernel.ClpsStrings(payload, len(entries))
        return first_repeated(kernel, found), found.first_not_utf8(0, len(entries)), found.end, found.size

    one, two = both(requested)
    assert one == two
    assert one[0] == next((at for at, text in enumerate(entries) if text in entries[:at]), -1)


@needs_kernel
@given(st.integers(-1, 4), st.integers(-1, 4))
def test_entries_and_shares_that_are_not_there_are_refused(one: int, two: int) -> None:
    def refused(kernel: Any) -> list[bool]:
        found = kernel.ClpsStrings(dictionary([b"a", b"b"]), 2)
        repeated = kernel.ClpsRepeated(found)
        repeated.add(0, 2)
        calls = (
            (lambda: found.first_not_utf8(one, two), IndexError),
            (lambda: repeated.add(one, two), IndexError),
            (lambda: repeated.first(one, two), ValueError),
        )
        return [outcome(call, error) for call, error in calls]

    def outcome(call: Any, error: type[Exception]) -> bool:
        try:
            call()
        except error:
            return True
        return False

    assert both(refused) == ([not 0 <= one <= two <= 2] * 2 + [not 0 <= one < two],) * 2


@needs_kernel
@pytest.mark.parametrize(("first", "again"), [(0, 1), (0, 31), (31, 32), (0, 64), (33, 63), (5, 99)])
def test_a_repeated_entry_is_found_in_the_same_batch_and_in_later_ones(first: int, again: int) -> None:
    entries = [b"%d" % number for number in range(100)]
    entries[again] = entries[first]
    assert both(lambda k: first_repeated(k, k.ClpsStrings(dictionary(entries), len(entries)))) == (again, again)


@needs_kernel
@pytest.mark.parametrize("again", [[], [4], [39_999], [39_999, 39_998, 20_000, 20_001], list(range(100, 40_000, 7))])
def test_repeated_entries_of_a_dictionary_that_is_looked_at_in_parts(again: list[int]) -> None:
    """If several parts have repeated entries, the first in the dictionary is reported."""
    entries = [b"%d" % number for number in range(40_000)]
    for at in again:
        entries[at] = b"%d" % (at % 4)
    first = min(again, default=-1)
    one, two = both(lambda k: k.ClpsStrings(dictionary(entries), len(entries)))
    for shares in (1, 2, 3, 16):
        assert first_repeated(pykernel, one, shares) == first_repeated(compiled, two, shares) == first


@needs_kernel
def test_entries_made_to_collide_are_distinguished_by_a_set() -> None:
    """Strings of 8 bytes whose hashes agree in the bits that choose a slot all want the same one."""
    inverse = pow(0xFF51AFD7ED558CCD, -1, 1 << 64)
    start = 8 * 0x9E3779B97F4A7C15 % (1 << 64)

    def text(number: int) -> bytes:
        mixed = number << 44  # above the bits of the high half that choose one of 4096 slots
        return ((mixed * inverse % (1 << 64)) ^ start).to_bytes(8, "little")

    entries = [text(number) for number in range(1, 2000)]
    assert len(set(entries)) == len(entries)
    for more in ([], [entries[7]]):
        one, two = both(
            lambda k, more=more: first_repeated(k, k.ClpsStrings(dictionary(entries + more), 1999 + len(more)))
        )
        assert one == two == (1999 if more else -1)


@needs_kernel
@given(st.lists(int64, max_size=20), st.data(), st.integers(1, 60))
def test_rows_chosen_by_a_mask(values: list[int], data: Any, size: int) -> None:
    mask = bytes(data.draw(st.lists(st.sampled_from([0, 1]), min_size=len(values), max_size=len(values))))
    stop = data.draw(st.integers(0, len(values)))
    start = data.draw(st.integers(0, stop))
    shown_of = mask[start:stop]

    def shown(kernel: Any) -> Any:
        program = kernel.ClpsProgram([(ops.INTEGER, i64(*values)), (ops.LITERAL, b"\n")], len(values))
        return program.render(start, stop, size, shown_of)

    one, two = both(shown)
    text, row, fault = two
    assert fault is None
    assert (
        text
        == one[0]
        == b"".join(b"%d\n" % value for value, chosen in zip(values[start:row], shown_of, strict=False) if chosen)
    )
    assert (row == stop) or len(text) >= size
    for kernel in (pykernel, compiled):
        program = kernel.ClpsProgram([(ops.LITERAL, b"\n")], len(values))
        if values:
            with pytest.raises(IndexError):
                program.render(0, len(values), size, mask[:-1])
