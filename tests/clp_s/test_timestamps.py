"""Timestamp patterns: what both dialects print, and what they refuse."""

from __future__ import annotations

import pytest

from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s.read.timestamps import PatternSet, compile_milli_pattern, compile_nano_pattern, parse_offset

MS = 1_672_578_003_045  # 2023-01-01 13:00:03.045 UTC, a Sunday


def show(pattern: bytes, epoch: int, *, nanoseconds: bool) -> bytes:
    return PatternSet.build({3: pattern}, nanoseconds).render(3, epoch)


@pytest.mark.parametrize(
    ("pattern", "epoch", "text"),
    [
        (b"%Y-%m-%dT%H:%M:%S.%3Z", MS, b"2023-01-01T13:00:03.045Z"),
        (b"%y%m%d %k:%M:%S", MS, b"230101 13:00:03"),
        (b"%a %b %e %H:%M:%S %Y", MS, b"Sun Jan  1 13:00:03 2023"),
        (b"%B %d, %Y %I:%M %p", MS, b"January 01, 2023 13:00 PM"),  # 1 PM stays 13, as upstream prints it
        (b"%l %p", MS + 3_600_000, b" 2 PM"),
        (b"%I %p", MS - 13 * 3_600_000, b"12 AM"),
        (b"%T", MS, b"045"),
        (b"%T", 100, b"1"),
        (b"%T", 5, b"005"),
        (b"%T", 0, b"0"),
        (b"%Y-%m-%d %H:%M:%S.%3", -1, b"1969-12-31 23:59:59.999"),
        (b"%y", 946_684_799_000, b"99"),
        (b"100%% %", 0, b"100% "),
        (b"lost %E", -77, b"-77"),
        (b"%F", 1_700_000_000_123_456_789, b"1700000000.123456789"),
        (b"%F", 123_456_789, b".123456789"),
    ],
)
def test_milliseconds(pattern: bytes, epoch: int, text: bytes) -> None:
    assert show(pattern, epoch, nanoseconds=False) == text


@pytest.mark.parametrize(
    ("pattern", "epoch", "text"),
    [
        (rb'"\Y-\m-\dT\H:\M:\S.\3Z"', MS * 10**6, b'"2023-01-01T13:00:03.045Z"'),
        (rb'"\Y-\m-\dT\H:\M:\S.\T\z{-04:30}"', MS * 10**6, b'"2023-01-01T08:30:03.045-04:30"'),
        (rb'"\d \H:\M \o{EST,-0500}"', MS * 10**6, b'"01 08:00 EST"'),
        (rb'"\I:\M \p"', MS * 10**6, b'"01:00 PM"'),
        (rb'"\l \p"', (MS - 13 * 3_600_000) * 10**6, b'"12 AM"'),
        (rb'"\A{S,M,T,W,T,F,S} \B{a,b,c,d,e,f,g,h,i,j,k,l} \e \y"', MS * 10**6, b'"S a  1 23"'),
        (rb'"\6 \9"', 1_234_567, b'"001234 001234567"'),
        (rb"\E.\T", -1_500_000_000, b"-1.5"),
        (rb"\L", -1_999_999, b"-1"),
        (rb"\C", 1_999, b"1"),
        (rb"\N", -(1 << 63), b"-9223372036854775808"),
        (rb'"\S\\\J"', 0, rb'"00\\60"'),
    ],
)
def test_nanoseconds(pattern: bytes, epoch: int, text: bytes) -> None:
    assert show(pattern, epoch, nanoseconds=True) == text


@pytest.mark.parametrize(
    ("pattern", "epoch", "nanoseconds"),
    [
        (b"%Y", 253_402_300_800_000, False),
        (b"%F", 12_345_678, False),
        (rb"\E.\T", 10**9, True),
        (b"%y", -(10**14), False),
    ],
)
def test_what_cannot_be_printed(pattern: bytes, epoch: int, nanoseconds: bool) -> None:
    with pytest.raises(ExhumeError) as caught:
        show(pattern, epoch, nanoseconds=nanoseconds)
    assert caught.value.code == "CLPS-407"


@pytest.mark.parametrize(
    "pattern",
    [
        rb"\Q",
        rb"\Y\Y",
        rb"\Y\E",
        rb'"\I"',
        rb'"\H \p"',
        rb'"a"b"',
        rb'"a',
        b"tab\t",
        rb"\B{a,b}",
        rb"\A{a}",
        rb"\B",
        rb"\z{12}",
        rb"\z{+1}",
        rb"\o{EST}",
        rb"\B{a",
        b"\\",
    ],
)
def test_malformed_nanosecond_patterns(pattern: bytes) -> None:
    with pytest.raises(ValueError):
        compile_nano_pattern(pattern)
    found = PatternSet.build({1: pattern, 2: rb"\N"}, True, Span("x", 0, 1))
    assert found.problems[1].code == "CLPS-406"
    assert found.render(2, 5) == b"5"
    with pytest.raises(ExhumeError) as caught:
        found.render(1, 5)
    assert caught.value.code == "CLPS-406"


def test_malformed_millisecond_patterns() -> None:
    with pytest.raises(ValueError) as caught:
        compile_milli_pattern(b"%Y %Q")
    assert caught.value.args[1] == 3


def test_unknown_pattern() -> None:
    with pytest.raises(ExhumeError) as caught:
        PatternSet.build({}, True).render(0, 0)
    assert caught.value.code == "CLPS-405"


@pytest.mark.parametrize(
    ("text", "seconds"), [("+02:00", 7200), ("-0430", -16200), ("\u221201:00", -3600), ("+07", 25200)]
)
def test_offsets(text: str, seconds: int) -> None:
    assert parse_offset(text.encode()) == seconds


@pytest.mark.parametrize(("pattern", "offset"), [(b'"a', 0), (b'a"', 1), (b'"a"b"', 2), (b'"', 0)])
def test_quotes_inside_a_pattern_are_located(pattern: bytes, offset: int) -> None:
    with pytest.raises(ValueError) as caught:
        compile_nano_pattern(pattern)
    assert caught.value.args == ("a quote inside the pattern", offset)
