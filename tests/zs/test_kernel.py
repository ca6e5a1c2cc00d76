"""The kernel: compiled and pure forms do the same, on good and on malformed payloads, and as in the schema."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from exhume_ksy.uleb128 import Uleb128
from exhume_ksy.zs_data_block import ZsDataBlock
from hypothesis import example, given
from hypothesis import strategies as st
from kaitaistruct import BytesIO, KaitaiStream

from exhume.native import kernel, pykernel
from exhume.native.types import MalformedRecordsError

PURE_ONES = [pytest.param(pykernel, id="pure")]
if kernel.COMPILED:
    from exhume.native import _kernel

    PURE_ONES.append(pytest.param(_kernel, id="compiled"))
PURE = pytest.mark.parametrize("python", PURE_ONES)

RECORDS = st.lists(st.one_of(st.binary(max_size=6), st.binary(min_size=120, max_size=140)), max_size=12)
PAYLOADS = st.one_of(
    st.binary(max_size=40),
    RECORDS.map(pykernel.frame_records),
    st.tuples(RECORDS.map(pykernel.frame_records), st.binary(max_size=12)).map(b"".join),
)


def outcome(function: Any, *args: Any) -> Any:
    """What a call returns, or the reason and place of its failure."""
    try:
        return function(*args)
    except MalformedRecordsError as error:
        return ("malformed", error.reason, error.offset, error.length)


@pytest.mark.skipif(not kernel.COMPILED, reason="exhume.native._kernel is not compiled here")
@given(PAYLOADS, st.binary(max_size=3), st.binary(max_size=3), st.integers(0, 60))
@example(b"\x80\x00", b"", b"", 0)
@example(b"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x02", b"", b"", 0)
@example(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"", b"", 0)
@example(b"\x80" * 30, b"", b"", 0)
def test_implementations_agree(payload: bytes, low: bytes, high: bytes, budget: int) -> None:
    for name, args in (
        ("split_records", ()),
        ("record_values", ()),
        ("scan_records", ()),
        ("find_range", (low, high)),
        ("find_range", (None, high)),
        ("find_range", (low, None)),
        ("terminate_records", (b"\n",)),
        ("terminate_records", (b"",)),
        ("terminate_records", (b"\r\n",)),
        ("take_records", (budget,)),
        ("next_block", (min(budget, len(payload)), len(payload), 20, 63)),
    ):
        pure, fast = getattr(pykernel, name), getattr(_kernel, name)
        assert outcome(fast, payload, *args) == outcome(pure, payload, *args), name
    assert outcome(_kernel.frame_terminated, payload, b"\0") == outcome(pykernel.frame_terminated, payload, b"\0")
    assert outcome(_kernel.frame_terminated, payload, b"aa") == outcome(pykernel.frame_terminated, payload, b"aa")


@given(PAYLOADS)
def test_splitter_agrees_with_the_generated_class(payload: bytes) -> None:
    try:
        found = ZsDataBlock(KaitaiStream(BytesIO(payload)))
        expected: list[bytes] | None = [record.data for record in found.records]
    except Exception:  # whatever generated code raises on malformed input
        expected = None
    for python in (pykernel, kernel):
        got = outcome(python.split_records, payload)
        assert got == expected if expected is not None else got[0] == "malformed"


@given(st.integers(0, 2**64 - 1))
def test_integers_are_what_the_generated_class_reads(value: int) -> None:
    data = kernel.build_uleb128(value)
    parsed = Uleb128(KaitaiStream(BytesIO(data)))
    assert (parsed.value, parsed._io.pos()) == (value, len(data))


@PURE
@given(records=RECORDS)
def test_framing_round_trips(python: Any, records: list[bytes]) -> None:
    payload = python.frame_records(records)
    assert python.split_records(payload) == records
    text = b"".join(record.replace(b"\n", b" ") + b"\n" for record in records)
    framed, taken = python.frame_terminated(text + b"rest", b"\n")
    assert taken == len(text)
    assert python.terminate_records(framed, b"\n") == text


@PURE
@given(records=RECORDS)
def test_scan_finds_the_first_descent(python: Any, records: list[bytes]) -> None:
    payload = python.frame_records(records)
    scan = python.scan_records(payload)
    assert scan.records == len(records)
    wrong = next((i for i in range(1, len(records)) if records[i] < records[i - 1]), -1)
    assert scan.unsorted == wrong
    if records:
        assert (payload[slice(*scan.first)], payload[slice(*scan.last)]) == (records[0], records[-1])
    if wrong >= 0:
        assert (payload[slice(*scan.previous)], payload[slice(*scan.current)]) == (records[wrong - 1], records[wrong])


@PURE
@given(records=RECORDS.map(sorted), low=st.binary(max_size=2), high=st.one_of(st.none(), st.binary(max_size=2)))
def test_range_is_a_filter(python: Any, records: list[bytes], low: bytes, high: bytes | None) -> None:
    payload = python.frame_records(records)
    start, stop = python.find_range(payload, low, high)
    expected = [r for r in records if r >= low and (high is None or r < high)]
    assert python.split_records(payload[start:stop]) == expected


@PURE
def test_reasons_and_places(python: Any) -> None:
    for payload, reason, offset in (
        (b"\x01a\x05b", "overrun", 2),
        (b"\x01a\x85", "truncated", 2),
        (b"\x01a\x81\x00b", "overlong", 2),
        (b"\xff" * 9 + b"\x02", "overlong", 0),
        (b"\xff" * 9 + b"\x01", "overrun", 0),
    ):
        with pytest.raises(MalformedRecordsError) as caught:
            python.split_records(payload)
        assert (caught.value.reason, caught.value.offset) == (reason, offset)


@PURE
def test_empty_terminator_is_refused(python: Any) -> None:
    with pytest.raises(ValueError):
        python.frame_terminated(b"a", b"")


@PURE
def test_take_stops_at_the_budget_and_before_a_cut_record(python: Any) -> None:
    payload = python.frame_records([b"aa", b"bb", b"cc"])
    assert python.take_records(payload, 4) == 6
    assert python.take_records(payload, 3) == 3
    assert python.take_records(payload[:-1], 100) == 6
    assert python.take_records(payload[:2], 100) == 0
    assert python.take_records(b"", 100) == 0


def test_the_pure_form_can_be_forced() -> None:
    code = "from exhume.native import kernel; print(kernel.COMPILED, kernel.split_records.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "EXHUME_PURE": "1"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "exhume.native.pykernel"]


def test_uleb128_refuses_what_does_not_fit() -> None:
    for value in (-1, 1 << 64):
        with pytest.raises(ValueError):
            kernel.build_uleb128(value)


@PURE
@given(records=RECORDS)
def test_values_are_the_records_and_where_each_ends(python: Any, records: list[bytes]) -> None:
    values, ends = python.record_values(pykernel.frame_records(records))
    found = memoryview(ends).cast("q").tolist()
    assert found[0] == 0
    assert [values[start:end] for start, end in pairwise(found)] == records
    assert values == b"".join(records)


@PURE
@given(
    st.integers(0, 40),
    st.lists(st.tuples(st.integers(-2, 40), st.binary(max_size=20), st.integers(-2, 22), st.integers(-2, 22))),
)
def test_parts_are_copied_or_refused(python: Any, size: int, parts: list[tuple[int, bytes, int, int]]) -> None:
    room, wanted = bytearray(size), bytearray(size)
    for at, data, start, stop in parts:
        if not (0 <= start <= stop <= len(data) and 0 <= at <= size - (stop - start)):
            with pytest.raises(ValueError, match="outside"):
                python.copy_parts(room, parts)
            break
        wanted[at : at + stop - start] = data[start:stop]
    else:
        python.copy_parts(memoryview(room), parts)
    assert room == wanted
