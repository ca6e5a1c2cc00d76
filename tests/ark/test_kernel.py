"""The loops over indexes: compiled and pure ones return the same, as stored in the index."""

from __future__ import annotations

import math
import random
import struct
from array import array
from typing import Any

import pytest
from exhume_ksy.facts.ark_split import IndexEntry
from hypothesis import given
from hypothesis import strategies as st

from exhume.formats.ark import kernel, pykernel
from exhume.formats.ark.layout import entry_at, iter_entries
from exhume.formats.ark.lines import plain_json
from exhume.formats.ark.messages import ArkMessage
from exhume.formats.ark.rbuf.decoder import Decoder, decoder_for
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.program import program_for
from exhume.formats.ark.rbuf.registry import Field, Registry, Schema
from exhume.formats.ark.rbuf.wire import Note
from exhume.formats.ark.splits import ANY_OBJECT
from exhume.io.jsonout import dumps
from exhume.native import KERNEL
from tests.ark.rbuf_strategies import registries, values

PURE_ONES = [pytest.param(pykernel, id="pure"), pytest.param(kernel, id="chosen")]
FLAGS = st.lists(st.booleans(), min_size=256, max_size=256).map(bytes)
NONE: array[int] = array("q")
NUMBERS = st.one_of(st.integers(0, 60), st.integers(0, (1 << 32) - 1))
ENTRIES = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 9), st.integers(0, (1 << 64) - 1)), NUMBERS, NUMBERS, st.integers(0, 3), st.just(0)
    )
    | st.tuples(st.integers(0, 9), NUMBERS, NUMBERS, st.integers(0, 255), st.integers(0, 255)),
    max_size=30,
)


def build(*entries: tuple[int, int, int, int, int]) -> bytes:
    """An index of these entries: time, offset, size, object, flags."""
    return b"".join(struct.pack(IndexEntry.packed, *entry) for entry in entries)


def outcome(function: Any, *arguments: Any) -> Any:
    """What a function returns, or which error it raises."""
    try:
        return function(*arguments)
    except (ValueError, struct.error) as error:
        return isinstance(error, ValueError | struct.error)


@given(ENTRIES, st.integers(0, 100), FLAGS, FLAGS, st.integers(0, 9), st.integers(0, (1 << 64) - 1))
def test_implementations_agree_about_indexes(
    entries: list[tuple[int, int, int, int, int]], size: int, known: bytes, wanted: bytes, low: int, high: int
) -> None:
    index = build(*entries)
    for arguments in ((size, known, wanted), (1 << 33, ANY_OBJECT, wanted), (size, known, ANY_OBJECT)):
        assert kernel.ark_entries(index, *arguments) == pykernel.ark_entries(index, *arguments)
    assert outcome(kernel.ark_scan, index, low) == outcome(pykernel.ark_scan, index, low)
    assert kernel.ark_statistics(index, low, high) == pykernel.ark_statistics(index, low, high)
    for others in ((size, known, 7, 20, 30), (1 << 33, ANY_OBJECT, 0, 5, 5)):
        assert kernel.ark_faults(index, *others) == pykernel.ark_faults(index, *others)


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30), st.booleans(), st.integers(0, 9), st.sampled_from([3, 23, 63])
)
def test_implementations_agree_about_runs(places: list[tuple[int, int]], ordered: bool, gap: int, window: int) -> None:
    if ordered:
        places.sort()
    offsets, sizes = array("q", (at for at, _ in places)), array("q", (size for _, size in places))
    runs = kernel.ark_runs(offsets, sizes, gap, window)
    assert runs == pykernel.ark_runs(offsets, sizes, gap, window)
    assert runs is not None or not ordered
    data = bytes(range(80))
    for start, _, first, stop in runs or ():
        cut = outcome(kernel.ark_cut, data, start, offsets, sizes, first, stop)
        assert cut == outcome(pykernel.ark_cut, data, start, offsets, sizes, first, stop)
        if isinstance(cut, list):
            assert cut == [data[at - start : at - start + size] for at, size in places[first:stop]]
    blobs = [data[: max(0, end - start)] for start, end, _, _ in runs or ()]
    stored = outcome(kernel.ark_stored, blobs, runs or [], offsets, sizes)
    plain = outcome(pykernel.ark_stored, blobs, runs or [], offsets, sizes)
    assert (stored if isinstance(stored, bool) else list(stored)) == plain


@pytest.mark.parametrize("pure", PURE_ONES)
def test_an_index_as_columns(pure: Any) -> None:
    index = build((5, 100, 10, 1, 0), (6, 110, 10, 2, 0), (7, 120, 90, 1, 0), (8, 120, 0, 1, 0), (9, 120, 1, 3, 0))
    known = bytes([0, 1, 1]) + bytes(253)
    numbers = (
        array("q", [0, 2, 3, 4]),
        array("Q", [5, 7, 8, 9]),
        array("q", [100, 120, 120, 120]),
        array("q", [10, 90, 0, 1]),
    )
    columns = (*numbers, b"\1\1\1\3", b"\0\1\1\1")
    assert pure.ark_entries(index, 200, known, bytes([0, 1]) + bytes(254)) == columns, "bad ones are always taken"
    assert pure.ark_entries(index, 300, ANY_OBJECT, ANY_OBJECT)[0] is None
    assert pure.ark_entries(b"", 300, ANY_OBJECT, ANY_OBJECT) == (None, NONE, NONE, NONE, b"", b"")
    assert pure.ark_scan(index, 5) == (True, 5, 9, 9)
    assert pure.ark_scan(index, 6) == (False, 5, 9, 9)
    assert pure.ark_statistics(index, 6, 8) == [(1, 2, 90, 7, 8), (2, 1, 10, 6, 6)]


@pytest.mark.parametrize("pure", PURE_ONES)
def test_what_is_wrong_with_an_index(pure: Any) -> None:
    index = build((5, 100, 10, 1, 0), (4, 105, 10, 1, 9), (6, 40, 10, 0, 0), (7, 60, 20, 1, 0), (8, 10, 10, 1, 0))
    known = bytes([0, 1]) + bytes(254)
    assert pure.ark_faults(index, 200, known, 20, 70, 90) == ([2], [1], [1], [4], [3], None)
    assert pure.ark_faults(index[:36], 200, known, 20, 70, 90) == ([], [1], [1], [], [], [1])


@pytest.mark.parametrize("pure", PURE_ONES)
def test_messages_of_a_run(pure: Any) -> None:
    offsets, sizes = array("q", [10, 12, 40, 1 << 23]), array("q", [5, 2, 3, 1])
    assert pure.ark_runs(offsets, sizes, 20, 63) == [(10, 15, 0, 2), (40, 43, 2, 3), (1 << 23, (1 << 23) + 1, 3, 4)]
    assert pure.ark_runs(offsets, sizes, 1 << 30, 23) == [(10, 43, 0, 3), (1 << 23, (1 << 23) + 1, 3, 4)]
    assert pure.ark_runs(array("q", [2, 1]), array("q", [1, 1]), 9, 63) is None
    assert pure.ark_runs(NONE, NONE, 9, 63) == []
    assert pure.ark_cut(b"0123456", 10, offsets, sizes, 0, 2) == [b"01234", b"23"]
    with pytest.raises(ValueError, match="outside"):
        pure.ark_cut(b"012345", 11, offsets, sizes, 0, 2)
    with pytest.raises(ValueError, match="outside"):
        pure.ark_cut(b"0123", 10, offsets, sizes, 0, 2)
    stored = pure.ark_stored([b"0123456", b"abc"], [(10, 15, 0, 2), (40, 43, 2, 3)], offsets[:3], sizes[:3])
    assert (len(stored), list(stored), stored[1]) == (3, [b"01234", b"23", b"abc"], b"23")
    with pytest.raises(IndexError):
        stored[3]
    for odd in (
        [],
        [(11, 15, 0, 2), (40, 43, 2, 3)],
        [(10, 15, 0, 2), (40, 43, 2, 4)],
        [(10, 15, 0, 2), (40, 43, 2, 2)],
    ):
        with pytest.raises(ValueError):
            pure.ark_stored([b"0123456", b"abc"], odd, offsets[:3], sizes[:3])


@pytest.mark.skipif(KERNEL is None, reason="the compiled kernel alone keeps where messages lie")
def test_messages_are_checked_where_they_lie() -> None:
    registry = Registry({"T": Schema("T", (Field("a", "uint16"),))}, {})
    programs: Any = [program_for(registry, "T")] + [None] * 255
    data = b"\xd1\x01\x02\xd1\x03\x04\xd1\x05"
    stored = kernel.ark_stored([data], [(0, 8, 0, 3)], array("q", [0, 3, 6]), array("q", [3, 3, 2]))
    assert kernel.ark_check(stored, bytes(3), programs) == kernel.ark_check(list(stored), bytes(3), programs) == [2]
    with pytest.raises(TypeError):
        kernel.ark_check(tuple(stored), bytes(3), programs)


@pytest.mark.parametrize("pure", PURE_ONES)
def test_chunks_contain_what_they_may_or_one_message(pure: Any) -> None:
    assert pure.ark_portions(array("q", [3, 3, 9, 1, 1]), 6) == [(0, 2), (2, 3), (3, 5)]
    assert pure.ark_portions(array("q", [9, (1 << 63) - 1, 1]), 9) == [(0, 1), (1, 2), (2, 3)]
    assert pure.ark_portions(array("q", [1, 2]), 9) == [(0, 2)]
    assert pure.ark_portions(array("q"), 6) == []
    assert pure.ark_total(array("q", [3, 1 << 62, 1 << 62, 1 << 62])) == 3 * (1 << 62) + 3


def test_one_entry_of_several() -> None:
    index = build((5, 100, 10, 1, 0), (6, 110, 10, 2, 0))
    assert [entry_at(index, 0), entry_at(index, 1)] == list(iter_entries(index))


@given(
    st.lists(st.lists(st.one_of(st.integers(0, 9), st.integers(0, (1 << 64) - 1)), max_size=9).map(sorted), max_size=9)
)
def test_implementations_merge_alike(lists: list[list[int]]) -> None:
    keys = [array("Q", some) for some in lists]
    sources = kernel.ark_merge(keys)
    assert sources == pykernel.ark_merge(keys)
    assert sorted(sources) == [number for number, some in enumerate(keys) for _ in some]


@pytest.mark.parametrize("pure", PURE_ONES)
def test_equal_times_keep_the_order_of_the_lists(pure: Any) -> None:
    assert pure.ark_merge([array("Q", some) for some in ([2, 3], [], [1, 2, 2], [2])]) == [2, 0, 2, 2, 3, 0]


@given(ENTRIES)
def test_implementations_make_the_same_messages(entries: list[tuple[int, int, int, int, int]]) -> None:
    columns = pykernel.ark_entries(build(*entries), 1 << 33, ANY_OBJECT, ANY_OBJECT)
    _, times, offsets, sizes, objects, _ = columns
    stored = [b"%d" % number for number in range(len(times))]
    names, identifiers = [f"/{short}" for short in range(256)], [f"guid {short}" for short in range(256)]
    given = (ArkMessage, times, objects, stored, offsets, sizes, names, identifiers, "split")
    found = list(kernel.ark_messages(*given))
    assert found == list(pykernel.ark_messages(*given))
    assert all(type(one) is ArkMessage for one in found)
    assert [one.stored_size for one in found] == sizes.tolist()
    assert [(one.channel, one.identifier) for one in found] == [(names[one], identifiers[one]) for one in objects]


def test_doubles_are_printed_as_python_prints_them() -> None:
    rng = random.Random(7)
    bits = [rng.getrandbits(64) for _ in range(40_000)]
    bits += [rng.getrandbits(52) >> rng.randrange(52) for _ in range(4_000)]  # subnormal ones
    bits += [(exponent << 52) + near for exponent in range(2047) for near in (-1, 0, 1) if exponent or near >= 0]
    some = [struct.unpack("<d", struct.pack("<Q", each))[0] for each in bits]
    for power in range(-330, 309):
        ten = float(f"1e{power}")
        some += [ten, math.nextafter(ten, math.inf), math.nextafter(ten, 0), float(f"{rng.randrange(1, 1000)}e{power}")]
    some += [rng.getrandbits(53) + half for half in (0.0, 0.5) for _ in range(2_000)]  # the latter ends in halves
    some += [(2 * rng.getrandbits(40) + 1) / (1 << shift) for shift in range(1, 60) for _ in range(40)]
    some += [0.0, -0.0, 2.0**53, 1e16, 9999999999999998.0, 1e-4, 9.999e-5, 5e-324, 1.7976931348623157e308, 9e15, 2e-44]
    values = [sign * each for each in some if math.isfinite(each) for sign in (1, -1)]
    registry = Registry({"T": Schema("T", (Field("v", "arraylist", value=Field("", "double")),))}, {})
    data = encoder_for(registry, "T").encode({"v": values})
    found = printed(registry, "T", data)
    assert (found is None) == (KERNEL is None)
    if found is not None:
        assert found[6:-2].split(",") == list(map(repr, values))


def printed(registry: Registry, name: str, data: bytes) -> str | None:
    """The JSON of a message as the kernel prints it; None if it does not accept the message."""
    tables: Any = ([program_for(registry, name)] + [None] * 255, [b',"value":'] * 256)
    text, odd, _ = kernel.ark_json([0], [([data], array("Q", [7]), bytes(1), *tables)], 0, b"}\n")
    assert odd == kernel.ark_check([data], bytes(1), tables[0])
    line = bytes(text)
    assert odd or (line.startswith(b'{"time_ns":7,"value":') and line.endswith(b"}\n"))
    return None if odd else line[21:-2].decode("ascii")


def plain(registry: Registry, name: str, data: bytes) -> bytes:
    """The JSON of the value of a message that the kernel accepts."""
    tables: Any = ([program_for(registry, name)] + [None] * 255, [None] * 256)
    text, odd, _ = kernel.ark_json([0], [([data], array("Q", [7]), bytes(1), *tables)], 1, b"\n")
    assert (odd, text[-1:]) == ([], b"\n")
    return bytes(text[:-1])


@given(registries(), st.data())
def test_what_is_verified_is_decoded_the_same(made: tuple[Registry, str], data: st.DataObject) -> None:
    registry, name = made
    raw = encoder_for(registry, name).encode(data.draw(values(registry, name)))
    decoder = decoder_for(registry, name)
    whole = printed(registry, name, raw)
    if whole is not None:
        assert plain(registry, name, raw) == plain_json(decoder.decode(raw))
    assert whole == (dumps(decoder.decode(raw)) if KERNEL is not None else None) or has_notes(decoder, raw)
    broken = bytearray(raw)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(0, len(raw) - 1)))
        broken[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    text = printed(registry, name, bytes(broken))
    if text is not None:
        assert not has_notes(decoder, bytes(broken))
        assert text == dumps(decoder.decode(bytes(broken)))


def has_notes(decoder: Decoder, data: bytes) -> bool:
    """Whether something about a message is noteworthy.  Raises what the decoder raises."""
    notes: list[Note] = []
    decoder.decode(data, notes=notes)
    return bool(notes)


def test_the_kernel_refuses_programs_and_messages_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="whole rows"):
        kernel.RbufProgram(b"12345", b"", 1, 1)
    with pytest.raises(ValueError):
        kernel.ark_check([b""], b"", [None] * 256)
