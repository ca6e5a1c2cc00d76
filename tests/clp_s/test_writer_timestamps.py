"""Timestamps: what is parsed exactly prints as it was, in both dialects; what cannot be is told apart."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.formats.clp_s.read.timestamps import PatternSet
from exhume.formats.clp_s.write.timestamps import (
    MONTHS,
    MONTHS_SHORT,
    WEEKDAYS_SHORT,
    TimeDialect,
    TimestampPatterns,
    compile_pattern,
    days_from_civil,
    epoch_unit,
    parse_timestamp,
    parse_timestamp_lossily,
)

I64 = 1 << 63
EPOCH = datetime.date(1970, 1, 1)


def render(pattern: bytes, epoch: int, dialect: TimeDialect) -> str:
    """What the reader prints."""
    return PatternSet.build({0: pattern}, dialect is TimeDialect.BACKSLASH).render(0, epoch).decode()


def naive(year: int) -> datetime.datetime:
    return datetime.datetime.fromisoformat(f"{year}-01-01")


moments = st.datetimes(naive(1700), naive(2250)) | st.datetimes(naive(2000), naive(2030))
dates = st.sampled_from(["{m:%Y-%m-%d}", "{m:%Y/%m/%d}"])
zones = st.sampled_from(["", "Z", " UTC", " GMT", "+00:00", "-04:00", "+0530", "+02", " +0000", "−02:00"])
fractions = st.integers(0, 9).flatmap(
    lambda digits: st.tuples(st.sampled_from([".", ","]), st.integers(0, 10**digits - 1)).map(
        lambda pair: f"{pair[0]}{pair[1]:0{digits}d}" if digits else ""
    )
)
texts = st.one_of(
    st.builds(
        lambda m, d, mid, f, z, bracket: (
            f"[{d.format(m=m)}{mid}{m:%H:%M:%S}{f}{z}]" if bracket else f"{d.format(m=m)}{mid}{m:%H:%M:%S}{f}{z}"
        ),
        *(moments, dates, st.sampled_from(["T", " ", "  "]), fractions, zones, st.booleans()),
    ),
    st.builds(lambda m, f: f"[{m:%Y%m%d-%H:%M:%S}{f}]", moments, fractions),
    st.builds(
        lambda m: f"{WEEKDAYS_SHORT[m.isoweekday() % 7]} {MONTHS_SHORT[m.month - 1]} {m.day:2d} {m:%H:%M:%S %Y}",
        moments,
    ),
    st.builds(
        lambda m: f"{WEEKDAYS_SHORT[m.isoweekday() % 7]}, {m:%d} {MONTHS_SHORT[m.month - 1]} {m:%Y %H:%M:%S} +0000",
        moments,
    ),
    st.builds(lambda m, z: f"{m:%d}/{MONTHS_SHORT[m.month - 1]}/{m:%Y:%H:%M:%S}{z}", moments, zones),
    st.builds(lambda m: f"{MONTHS[m.month - 1]} {m:%d, %Y %H:%M}", moments),
    st.builds(
        lambda m: (
            f"{MONTHS_SHORT[m.month - 1]} {m:%d, %Y} {(m.hour + 11) % 12 + 1:2d}:{m:%M:%S} {'AP'[m.hour // 12]}M"
        ),
        moments,
    ),
    st.integers(-(10**18), 10**18).map(str),
    st.decimals(-(10**9), 10**9, places=9).map(lambda d: f"{d:f}"),
)


@pytest.mark.parametrize("dialect", list(TimeDialect))
@given(text=texts)
def test_exact_texts_print_as_they_were(dialect: TimeDialect, text: str) -> None:
    parsed = parse_timestamp(text, dialect)
    if parsed is not None and (not parsed.exact or not -I64 <= parsed.epoch < I64):
        parsed = None
    quote = '"' if dialect is TimeDialect.BACKSLASH else ""
    assert parsed is None or render(parsed.pattern, parsed.epoch, dialect) == f"{quote}{text}{quote}"


@given(moments, fractions, zones)
def test_iso_times_are_always_exact_from_0_5_on(moment: datetime.datetime, fraction: str, zone: str) -> None:
    text = f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}{zone}"
    parsed = parse_timestamp(text, TimeDialect.BACKSLASH)
    assert parsed is not None
    assert render(parsed.pattern, parsed.epoch, TimeDialect.BACKSLASH) == f'"{text}"'
    if not fraction and zone == "+0530":
        wanted = datetime.datetime.fromisoformat(text).timestamp()
        assert parsed.epoch == int(wanted) * 10**9


@given(st.dates())
def test_days(date: datetime.date) -> None:
    assert days_from_civil(date.year, date.month, date.day) == (date - EPOCH).days


def test_the_precision_of_integers() -> None:
    for value, specifier in (
        (0, "E"), (31_536_000_000, "E"), (31_536_000_001, "L"), (-31_536_000_000_001, "C"), (31_536 * 10**12 + 1, "N"),
    ):  # fmt: skip
        assert epoch_unit(value)[0] == "\\" + specifier


@pytest.mark.parametrize("day", ["04", " 4", "14"])
@pytest.mark.parametrize("brackets", ["", "[]"])
def test_asctime_pads_the_day_either_way(day: str, brackets: str) -> None:
    moment = datetime.datetime(2005, 12, int(day), 4, 47, 44, tzinfo=datetime.UTC)
    text = f"{brackets[:1]}{moment:%a} Dec {day} 04:47:44 2005{brackets[1:]}"
    for dialect, unit in ((TimeDialect.BACKSLASH, 10**9), (TimeDialect.PERCENT, 1000)):
        parsed = parse_timestamp(text, dialect)
        assert parsed is not None
        assert parsed.exact
        assert parsed.epoch == int(moment.timestamp()) * unit
        assert text in render(parsed.pattern, parsed.epoch, dialect)


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "2024-02-30T00:00:00Z", "2023-02-29", "2024-01-02T24:00:00Z", "2024-01-02T03:60:05Z"),
        *("2024-1-2T03:04:05Z", " 2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z ", "2024-01-02T03:04:05+24:00"),
        *("Mon Jan  2 03:04:05 2024", "Jan 02, 2024 13:04:05 PM", "007", "1.", "1e9", "٢٠٢٤-01-02T03:04:05Z"),
        *("2024-01-02T03:04:05.Z", "2024-01-02T03:04:05.1234567890Z", "99999999999999999999"),
    ],
)
def test_no_timestamps(text: str) -> None:
    assert parse_timestamp(text, TimeDialect.BACKSLASH) is None


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("2022-04-06T03:33:23.476123Z", "2022-04-06T03:33:23.476"),
        ("INFO [main] 2015-01-31 15:50:45,085", "2015-01-31 15:50:45,085"),
        ("Start-Date: 2015-01-31  15:50:45", "2015-01-31  15:50:45"),
        ("E [31/Jan/2015:15:50:45", "[31/Jan/2015:15:50:45"),
        ("192.168.4.5 - - [01/Jan/2016:15:50:17", "[01/Jan/2016:15:50:17"),
        ("Sun Jan  1 15:50:45 2015", "Thu Jan  1 15:50:45 2015"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
    ],
)
def test_what_writers_before_0_5_lose(text: str, printed: str) -> None:
    exact = parse_timestamp(text, TimeDialect.PERCENT)
    assert exact is None or not exact.exact
    strict = TimestampPatterns(TimeDialect.PERCENT, lossy=False)
    assert strict.resolve(text.encode(), True) is None
    parsed = parse_timestamp_lossily(text)
    assert parsed is not None
    assert not parsed.exact
    assert render(parsed.pattern, parsed.epoch, TimeDialect.PERCENT) == printed
    lossy = TimestampPatterns(TimeDialect.PERCENT, lossy=True)
    resolved = lossy.resolve(text.encode(), True)
    assert resolved is not None
    assert resolved[3]
    assert parse_timestamp_lossily("nothing of the kind") is None


def test_one_in_the_afternoon_is_not_exact_before_0_5() -> None:
    text = "Jan 02, 2024  1:04:05 PM"
    newer = parse_timestamp(text, TimeDialect.BACKSLASH)
    older = parse_timestamp(text, TimeDialect.PERCENT)
    assert newer is not None
    assert newer.exact
    assert older is not None
    assert not older.exact


def test_out_of_range_wraps_only_on_request() -> None:
    text = b"1600-01-01T00:00:00Z"
    assert TimestampPatterns(TimeDialect.BACKSLASH, lossy=False).resolve(text, True) is None
    resolved = TimestampPatterns(TimeDialect.BACKSLASH, lossy=True).resolve(text, True)
    assert resolved is not None
    assert resolved[0] == -11_676_096_000 * 10**9 + (1 << 64)
    assert resolved[3]


def test_programs() -> None:
    iso = b'"\\Y-\\m-\\dT\\H:\\M:\\S.\\3\\z{+01:30}"'
    program = compile_pattern(iso, TimeDialect.BACKSLASH)
    assert program is not None
    assert program[1] == 5400 * 10**9
    assert program[0][:4] == b"Y\x00l-"
    for other in (b"\\L", b'"\\E.\\T"', b'"\\B{a} \\d \\H"', b'"\\Y-\\m-\\d"', b'"\\Y-\\m-\\dT\\H:\\M:\\S.\\T0"'):
        assert compile_pattern(other, TimeDialect.BACKSLASH) is None
    assert compile_pattern(b"%Y-%m-%dT%H:%M:%S.%3Z", TimeDialect.PERCENT) is None
    assert compile_pattern(b"%Y-%m-%dT%H:%M:%S.%TZ", TimeDialect.PERCENT) is not None


@pytest.mark.parametrize("lossy", [False, True])
def test_names_of_zones_have_no_pattern_in_0_5_0(lossy: bool) -> None:
    """Its readers reject `\\o{EST,-0500}`, and with it the archive."""
    patterns = TimestampPatterns(TimeDialect.BACKSLASH, lossy=lossy, zone_names=False)
    assert patterns.resolve(b"Thu, 21 Dec 2000 16:01:07 EST", True) == ((0, -1, None, True) if lossy else None)
    assert patterns.ids == {}
    assert patterns.resolve(b"Thu, 21 Dec 2000 16:01:07 -0500", True) is not None
