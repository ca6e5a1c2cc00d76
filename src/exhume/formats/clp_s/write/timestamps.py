"""Timestamps split into an epoch, and the pattern that prints the very same text again.

clp-s stores a value of the timestamp key as an integer and the id of a pattern.  Up to format 0.4 the integer counts
milliseconds and patterns are written in a `%` dialect; from 0.5 on it counts nanoseconds and patterns are written in
a `\\` dialect and describe the whole JSON literal, quotes included.  Both dialects copy unknown characters, so a
pattern is made for each shape of text that occurs: known parts are parsed, the rest is literal.  A shape is a regular
expression; a specifier is the mark (`%` or `\\`) and a letter in a pattern, as in strftime.  Upstream is `clp-s`.

A string is *exact* when printing the stored integer under the pattern reproduces it byte for byte.
"""

from __future__ import annotations

import enum
import functools
import re
from dataclasses import dataclass
from typing import Final

from exhume.formats.clp_s.layout_packed import I64_MAX, I64_MIN
from exhume.tuples import NamedTuple

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
MONTHS_SHORT: Final = tuple(name[:3] for name in MONTHS)
WEEKDAYS_SHORT: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")

NS_PER_SECOND: Final = 10**9
SECONDS_PER_YEAR: Final = 31_536_000


class TimeDialect(enum.Enum):
    """Syntax of a timestamp pattern, and the unit of the stored integer."""

    PERCENT = "percent"
    """Before 0.5.0: milliseconds, `%Y`; quotes are not part of a pattern."""
    BACKSLASH = "backslash"
    """From 0.5.0 on: nanoseconds, `\\Y`; a pattern is a whole JSON literal."""

    @classmethod
    def of_version(cls, version: tuple[int, int, int]) -> TimeDialect:
        """The dialect that archives of format `version` (major, minor, patch) use."""
        return cls.BACKSLASH if version >= (0, 5, 0) else cls.PERCENT


@dataclass(frozen=True, slots=True)
class ParsedTimestamp:
    """A timestamp text as it will be stored.

    Attributes:
        epoch: Nanoseconds (BACKSLASH), milliseconds (PERCENT); `%E` and `%F` keep the integer as written.
        pattern: The pattern, as it goes into the timestamp dictionary.
        exact: Whether the text comes back byte for byte.
    """

    epoch: int
    pattern: bytes
    exact: bool = True


# The groups of a shape cover all of its text, in order.  A group whose name begins with `x` is a literal.  The name of
# any other group is the letter of its specifier in a pattern, as in strftime: Y, y (two digits), m, d, e (padded with a
# space), b and B (names), a (weekday), H, I, k and l (padded), M, S, p (AM or PM).  Three have no single specifier: F
# (the digits of a fraction), Z (a numeric zone) and o (a named zone).
_TIME = r"(?P<H>\d\d)(?P<x_h>:)(?P<M>\d\d)(?P<x_m>:)(?P<S>\d\d)"
_FRACTION = r"(?:(?P<x_f>[.,:])(?P<F>\d{1,9}))?"
_ZONE = (
    r"(?P<x_z> ?)(?:(?P<x_utc>Z|UTC|UT|GMT)|(?P<x_name>UTC|UT|GMT)?(?P<Z>[+\-−]\d\d(?::?\d\d)?)(?P<x_zulu>Z?)"
    r"|(?P<o>[ECMP][SD]T))?"
)
ZONES: Final = {
    name + half: f"-0{hours - (half == 'DT')}00"  # such as EST: -0500, and EDT: -0400
    for name, hours in zip("ECMP", (5, 6, 7, 8), strict=True)
    for half in ("ST", "DT")
}
"""The zones of RFC 2822 that have a name and are not UTC."""
# Parts of the shapes, named by their groups.
_MONTH = rf"(?P<b>{'|'.join(MONTHS_SHORT)})"
_LONG_MONTH = rf"(?P<B>{'|'.join(MONTHS)})"
_WEEKDAY = rf"(?P<a>{'|'.join(WEEKDAYS_SHORT)})"
_DAY = r"(?P<d>\d\d)"
_PADDED_DAY = r"(?P<e> \d)"
_YEAR = r"(?P<Y>\d{4})"
_SHORT_YEAR = r"(?P<y>\d\d)"
_MINUTES = r"(?P<H>\d\d)(?P<x_h>:)(?P<M>\d\d)"
_SHAPES: Final = (
    # 2024-01-02T03:04:05.678Z and its relatives, bracketed or not
    rf"(?P<x0>\[|<<<|){_YEAR}(?P<x1>[-/ ])(?P<m>\d\d)(?P<x2>(?P=x1)){_DAY}(?P<x3>T|:|  ?)"
    rf"{_TIME}{_FRACTION}{_ZONE}(?P<x4>\]?)",
    # 20240102-03:04:05
    rf"(?P<x0>\[?){_YEAR}(?P<m>\d\d){_DAY}(?P<x1>[-T ]){_TIME}{_FRACTION}{_ZONE}(?P<x2>\]?)",
    # 24/01/02 03:04:05
    rf"{_SHORT_YEAR}(?P<x1>[-/ ])(?P<m>\d\d)(?P<x2>(?P=x1)){_DAY}(?P<x3>[ T:]){_TIME}{_FRACTION}{_ZONE}",
    # 240102  3:04:05
    rf"{_SHORT_YEAR}(?P<m>\d\d){_DAY}(?P<x1>[ T])(?P<k> \d|1\d|2\d)(?P<x2>:)(?P<M>\d\d)(?P<x3>:)(?P<S>\d\d)",
    # Tue, 02 Jan 2024 03:04:05 +0000 and 02 Jan 2024 03:04:05,678
    *(
        rf"(?:{_WEEKDAY}(?P<x0>, ))?{day}(?P<x1> ){_MONTH}(?P<x2> ){year}(?P<x3> ){clock}{_ZONE}"
        for clock in (f"{_TIME}{_FRACTION}", _MINUTES)
        for year in (_YEAR, _SHORT_YEAR)
        for day in (_DAY, _PADDED_DAY)
    ),
    # 02-Jan-2024T03:04:05, 02 January 2024 03:04:05
    *(
        rf"{day}(?P<x1>[-/ ]){month}(?P<x2>(?P=x1)){year}(?P<x3>[ T:]){_TIME}{_FRACTION}{_ZONE}"
        for month in (_MONTH, _LONG_MONTH)
        for year in (_YEAR, _SHORT_YEAR)
        for day in (_DAY, _PADDED_DAY)
    ),
    # 02/Jan/2024:03:04:05 +0000, 02/01/2024:03:04:05
    rf"(?P<x0>\[?){_DAY}(?P<x1>[-/]){_MONTH}(?P<x2>(?P=x1)){_YEAR}(?P<x3>:){_TIME}{_ZONE}(?P<x4>\]?)",
    rf"(?P<x0>\[?){_DAY}(?P<x1>[-/])(?P<m>\d\d)(?P<x2>(?P=x1)){_YEAR}(?P<x3>:){_TIME}{_ZONE}(?P<x4>\]?)",
    # Jan 02, 2024  3:04:05 PM
    *(
        rf"{_MONTH}(?P<x0> ){_DAY}(?P<x1>, ){_YEAR}(?P<x2> ){hour}"
        r"(?P<x3>:)(?P<M>\d\d)(?P<x4>:)(?P<S>\d\d)(?P<x5> )(?P<p>[AP]M)"
        for hour in (r"(?P<l> \d|1\d)", r"(?P<I>\d\d)")
    ),
    # January 02, 2024 03:04
    rf"{_LONG_MONTH}(?P<x0> ){_DAY}(?P<x1>, ){_YEAR}(?P<x2> )(?P<H>\d\d)(?P<x3>:)(?P<M>\d\d)",
    rf"{_MONTH}(?P<x0> ){_DAY}(?P<x1>, ){_YEAR}(?P<x2> )(?P<H>\d\d)(?P<x3>:)(?P<M>\d\d)",
    # Tue Jan  2 03:04:05 2024, bracketed or not
    *(
        rf"(?P<x>\[?){_WEEKDAY}(?P<x0> ){_MONTH}(?P<x1> ){day}(?P<x2> ){_TIME}{_FRACTION}(?P<x3> ){_YEAR}(?P<x4>\]?)"
        for day in (r"(?P<e> \d|[123]\d)", r"(?P<d>0\d)")
    ),
    # Jan 02 03:04:05, Jan  2 03:04:05, 01-02 03:04:05.678 (no year: 1970)
    rf"{_MONTH}(?P<x0> ){_DAY}(?P<x1> ){_TIME}{_FRACTION}{_ZONE}",
    rf"{_MONTH}(?P<x0> ){_PADDED_DAY}(?P<x1> ){_TIME}{_FRACTION}{_ZONE}",
    rf"(?P<m>\d\d)(?P<x0>[- ]){_DAY}(?P<x1> ){_TIME}{_FRACTION}",
    # 2024-01-02
    rf"{_YEAR}(?P<x0>-)(?P<m>\d\d)(?P<x1>-){_DAY}",
)


@functools.cache
def _shapes() -> tuple[re.Pattern[str], ...]:
    """The shapes of timestamps, compiled when the first one is parsed: that takes 10 ms, and logs may have none."""
    return tuple(re.compile(shape, re.ASCII) for shape in _SHAPES)


_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")
_DECIMAL: Final = re.compile(r"(-?)(0|[1-9][0-9]{0,18})\.([0-9]{1,9})")

# Specifiers of the BACKSLASH dialect with content in braces: the names that they print.
_BACKSLASH_NAMES: Final = {
    "b": "\\B{" + ",".join(MONTHS_SHORT) + "}",
    "B": "\\B{" + ",".join(MONTHS) + "}",
    "a": "\\A{" + ",".join(WEEKDAYS_SHORT) + "}",
}
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_from_civil(year: int, month: int, day: int) -> int:
    """The number of days from 1970-01-01 to a date of the proleptic Gregorian calendar."""
    year -= month <= 2  # years that begin with March, so that a leap day is the last day
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def zone_seconds(text: str) -> int | None:
    """Seconds east of UTC of `+hh`, `+hhmm` or `+hh:mm`; the sign is `+`, `-` or U+2212.  None if out of range."""
    digits = text[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 23 or minutes > 59:
        return None
    seconds = hours * 3600 + minutes * 60
    return seconds if text[0] == "+" else -seconds


def epoch_unit(value: int) -> tuple[str, int]:
    """The unit that clp-s guesses for an integer epoch by its size: `(its specifier, nanoseconds per unit)`."""
    # What would be more than 1,000 years in one unit is taken for the next finer one.
    magnitude = abs(value)
    if magnitude > SECONDS_PER_YEAR * 10**9:
        return "\\N", 1
    if magnitude > SECONDS_PER_YEAR * 10**6:
        return "\\C", 10**3
    if magnitude > SECONDS_PER_YEAR * 10**3:
        return "\\L", 10**6
    return "\\E", 10**9


def parse_timestamp(text: str, dialect: TimeDialect, *, quoted: bool = True) -> ParsedTimestamp | None:
    """Parse a value of the timestamp key.

    Args:
        text: The string value, or the source text of a JSON number.
        dialect: Which patterns to write.
        quoted: Whether the value is a JSON string (it always is in the PERCENT dialect).

    Returns:
        None if no known shape matches.  An epoch may be outside the i64 range; the caller must reject it.
    """
    number = _parse_number(text, dialect, quoted)
    if number is not None or not quoted:
        return number
    for shape in _shapes():
        match = shape.fullmatch(text)
        if match is not None:
            return _from_match(match, dialect)
    return None


def _parse_number(text: str, dialect: TimeDialect, quoted: bool) -> ParsedTimestamp | None:
    """Return the epoch and pattern of a timestamp that is a number; None if the dialect cannot print it again."""
    quote = '"' if quoted else ""
    if _INTEGER.fullmatch(text):
        value = int(text)
        if dialect is TimeDialect.PERCENT:
            return ParsedTimestamp(value, b"%E") if I64_MIN <= value <= I64_MAX else None
        specifier, scale = epoch_unit(value)
        return ParsedTimestamp(value * scale, f"{quote}{specifier}{quote}".encode())
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction = match.groups()
    nanoseconds = int(whole) * NS_PER_SECOND + int(fraction.ljust(9, "0"))
    epoch = -nanoseconds if sign else nanoseconds
    if dialect is TimeDialect.PERCENT:
        # %F puts the point before the last nine characters of the integer, so a leading zero would be lost.
        fits = len(fraction) == 9 and whole != "0" and I64_MIN <= epoch <= I64_MAX
        return ParsedTimestamp(epoch, b"%F") if fits else None
    # -0.5: the seconds are zero, so their minus has to be a literal.
    lead = "-" if sign and whole == "0" else ""
    return ParsedTimestamp(epoch, f"{quote}{lead}\\E.{_fraction_pattern(fraction)}{quote}".encode())


def _fraction_pattern(digits: str) -> str:
    r"""The `\` specifiers (and literal zeros) that print these 1..9 digits of a fraction."""
    if len(digits) in (3, 6, 9):
        return f"\\{len(digits)}"
    # \T cuts trailing zeros and cannot print nothing, so zeros at the end are literals.
    kept = digits.rstrip("0")
    return ("\\T" if kept else "") + "0" * (len(digits) - len(kept))


def _percent_fraction(digits: str, zulu: bool) -> tuple[str, bool]:
    """Return `(specifiers of the % dialect for a fraction, whether they print it exactly)`.

    Only milliseconds are stored.  `zulu`: whether `Z` follows; upstream's patterns then have `%T`, unless the last of
    three digits is a zero, which that could not print.
    """
    if len(digits) > 3:
        return "%3", False
    if len(digits) == 3 and (digits[-1] == "0" or not zulu):
        return "%3", True
    # %T cuts trailing zeros but prints zero itself as one 0.
    kept = digits.rstrip("0")
    return "%T" + "0" * (len(digits) - (len(kept) or 1)), True


def _from_match(match: re.Match[str], dialect: TimeDialect) -> ParsedTimestamp | None:
    """Return the timestamp of a match; None if its fields are not a date."""
    parts = {name: text for name, text in match.groupdict().items() if text is not None}
    civil = _civil_fields(parts)
    if civil is None:
        return None
    nanoseconds = int(parts.get("F", "").ljust(9, "0"))
    make_pattern = _in_backslashes if dialect is TimeDialect.BACKSLASH else _in_percents
    return make_pattern(parts, civil, nanoseconds)


def _is_weekday(parts: dict[str, str], weekday: int) -> bool:
    """Whether the name of the weekday, if there is one, agrees with the date."""
    return "a" not in parts or parts["a"] == WEEKDAYS_SHORT[weekday]


def _in_backslashes(parts: dict[str, str], civil: _Civil, nanoseconds: int) -> ParsedTimestamp | None:
    """Make the pattern of a match for 0.5.0 and later; None if it could not print the same text.

    `parts`: the groups of the shape by name, in order; `civil`: the date and time that they state, `nanoseconds` its
    fraction.
    """
    # Printing computes the weekday, and the hour of a twelve-hour clock: neither may be wrong in the text.
    if not _is_weekday(parts, civil.weekday) or not 1 <= int(parts.get("l") or parts.get("I") or 1) <= 12:
        return None
    # Offsets and names of zones are part of the pattern, and make the time one in UTC.
    seconds = civil.seconds
    pattern: list[str] = []
    for name, text in parts.items():
        if name.startswith("x"):
            pattern.append(text)
        elif name == "F":
            pattern.append(_fraction_pattern(text))
        elif name == "Z":
            offset = zone_seconds(text)
            if offset is None:
                return None
            seconds -= offset
            pattern.append(f"\\z{{{text}}}")
        elif name == "o":
            seconds -= zone_seconds(ZONES[text]) or 0
            pattern.append(f"\\o{{{text},{ZONES[text]}}}")
        elif name == "S":
            pattern.append("\\J" if civil.leap else "\\S")
        else:
            pattern.append(_BACKSLASH_NAMES.get(name, "\\" + name))
    return ParsedTimestamp(seconds * NS_PER_SECOND + nanoseconds, f'"{"".join(pattern)}"'.encode())


def _in_percents(parts: dict[str, str], civil: _Civil, nanoseconds: int) -> ParsedTimestamp:
    """As `_in_backslashes`, for formats before 0.5.0; `exact` states whether the pattern prints the same text."""
    seconds, weekday, leap = civil
    exact = _is_weekday(parts, weekday)
    pattern: list[str] = []
    for name, text in parts.items():
        if name.startswith("x") or name in ("Z", "o"):
            # A zone has no specifier here: it is kept as text, and like upstream not applied.
            pattern.append(text)
        elif name == "F":
            specifiers, fits = _percent_fraction(text, parts.get("x_utc") == "Z")
            exact &= fits
            pattern.append(specifiers)
        else:
            pattern.append("%" + name)
    if leap:  # `_civil_fields` counted it as 59; stored as the next second, it comes back as 00
        seconds, exact = seconds + 1, False
    if "p" in parts:
        # Readers of this dialect print one o'clock in the afternoon as 13.
        hour = int(parts.get("l") or parts["I"])
        exact &= 1 <= hour <= 12 and not (parts["p"] == "PM" and hour == 1)
    return ParsedTimestamp(seconds * 1000 + nanoseconds // 10**6, "".join(pattern).encode(), exact)


class _Civil(NamedTuple):
    """A date and time of day.

    `seconds`: from the epoch to the clock reading, taken as UTC; `weekday`: 0 is Sunday; `leap`: whether the second was
    written as 60 (it counts as 59 in `seconds`).
    """

    seconds: int
    weekday: int
    leap: bool


def _civil_fields(parts: dict[str, str]) -> _Civil | None:
    """Return the date and time that a match's groups state; None for an impossible one."""
    year, month, day = _date(parts)
    leap_year = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _MONTH_DAYS[month - 1] + (month == 2 and leap_year):
        return None
    if "p" in parts:
        hour = int(parts.get("l") or parts["I"]) % 12 + (12 if parts["p"] == "PM" else 0)
    else:
        hour = int(parts.get("H") or parts.get("k") or 0)
    minute, second = int(parts.get("M", 0)), int(parts.get("S", 0))
    if hour > 23 or minute > 59 or second > 60:
        return None
    days = days_from_civil(year, month, day)
    weekday = (days + 4) % 7  # 1970 began on a Thursday
    leap = second == 60
    return _Civil(days * 86_400 + hour * 3600 + minute * 60 + second - leap, weekday, leap)


def _date(parts: dict[str, str]) -> tuple[int, int, int]:
    """Return the year, month and day that a match's groups state, which may be no valid date."""
    if "Y" in parts:
        year = int(parts["Y"])
    elif "y" in parts:
        short = int(parts["y"])
        year = short + (1900 if short >= 69 else 2000)  # as POSIX does
    else:
        year = 1970  # a timestamp without a year is stored as of this one
    if "b" in parts:
        month = MONTHS_SHORT.index(parts["b"]) + 1
    elif "B" in parts:
        month = MONTHS.index(parts["B"]) + 1
    else:
        month = int(parts["m"])
    return year, month, int(parts["d"] if "d" in parts else parts["e"])


# --- upstream's fallback for times that the % dialect cannot store ----------------------------------------------------

_ISO_PERCENT: Final = tuple(f"%Y{sep}%m{sep}%d{mid}%H:%M:%S" for sep in "-/" for mid in "T ")
# Upstream's patterns in its order: (how many words to skip at the beginning, pattern).
_LOSSY: Final = (
    *((0, f"{iso}{tail}") for iso in _ISO_PERCENT for tail in (".%TZ", "Z")),
    *((0, f"{iso}{tail}") for iso in _ISO_PERCENT for tail in (".%3", ",%3")),
    (0, "[%Y-%m-%d %H:%M:%S,%3]"),
    (2, "%Y-%m-%d %H:%M:%S,%3"),
    (0, "<<<%Y-%m-%d %H:%M:%S:%3"),
    (0, "%d %b %Y %H:%M:%S,%3"),
    *((0, iso) for iso in _ISO_PERCENT),
    (0, "[%Y-%m-%dT%H:%M:%S"),
    (0, "[%Y%m%d-%H:%M:%S]"),
    (1, "%Y-%m-%d  %H:%M:%S"),
    (0, "%y/%m/%d %H:%M:%S"),
    (0, "%y%m%d %k:%M:%S"),
    (0, "%b %d, %Y %l:%M:%S %p"),
    (0, "%B %d, %Y %H:%M"),
    (1, "[%d/%b/%Y:%H:%M:%S"),
    (3, "[%d/%b/%Y:%H:%M:%S"),
    (3, "[%d/%m/%Y:%H:%M:%S"),
    (6, "%Y-%m-%d %H:%M:%S"),
    (1, "%Y-%m-%d %H:%M:%S"),
    (4, "%a %b %e %H:%M:%S %Y"),
    (0, "%a %b %e %H:%M:%S %Y"),
    (0, "%b %d %H:%M:%S"),
    (0, "%m-%d %H:%M:%S.%3"),
)
# The regular expressions of their specifiers.
_LOSSY_PARTS: Final = {
    "Y": _YEAR,
    "y": r"(?P<y>\d\d)",
    "m": r"(?P<m>\d\d)",
    "d": _DAY,
    "e": r"(?P<e> \d|\d\d)",
    "H": r"(?P<H>\d\d)",
    "k": r"(?P<k> \d|\d\d)",
    "l": r"(?P<l> \d|\d\d)",
    "M": r"(?P<M>\d\d)",
    "S": r"(?P<S>\d\d)",
    "3": r"(?P<F>\d{3})",
    "T": r"(?P<F>\d{0,2}[1-9]|0)",
    "b": _MONTH,
    "B": _LONG_MONTH,
    "a": _WEEKDAY,
    "p": r"(?P<p>[AP]M)",
}


@functools.cache
def _lossy_shapes() -> tuple[tuple[int, str, re.Pattern[str]], ...]:
    """`(leading words, pattern, shape)` of each entry of `_LOSSY`; compiled when they are first used."""

    def shape(pattern: str) -> re.Pattern[str]:
        """Return a pattern as a regular expression."""
        parts = re.sub(r"%(.)|([^%]+)", lambda part: _LOSSY_PARTS[part[1]] if part[1] else re.escape(part[2]), pattern)
        return re.compile(parts, re.ASCII)

    return tuple((words, pattern, shape(pattern)) for words, pattern in _LOSSY)


def parse_timestamp_lossily(text: str) -> ParsedTimestamp | None:
    """Parse like writers before 0.5: leading words, trailing text, the zone and finer fractions are dropped.

    For strings that `parse_timestamp` cannot parse, or not exactly; the result is marked as not exact.  None if no
    pattern matches.
    """
    for words, pattern, shape in _lossy_shapes():
        start = 0
        for _ in range(words):  # skip leading words
            start = text.find(" ", start) + 1
            if not start:
                break
        if words and not start:
            continue
        match = shape.match(text, start)
        if match is None:
            continue
        parts = match.groupdict()
        civil = _civil_fields(parts)
        if civil is not None:
            milliseconds = int((parts.get("F") or "").ljust(3, "0"))
            return ParsedTimestamp((civil.seconds + civil.leap) * 1000 + milliseconds, pattern.encode(), exact=False)
    return None


class TimestampPatterns:
    """The patterns of one archive; `resolve` parses values of the timestamp key for its encoder.

    Args:
        dialect: Which patterns to write.
        lossy: Whether to store values that do not come back exactly, as upstream does.  A value without a known shape
            then becomes an ordinary value; upstream fails there.
        zone_names: Whether readers of the archive's version know patterns with names of zones (from 0.5.1 on);
            times with one have no known shape otherwise.
    """

    def __init__(self, dialect: TimeDialect, *, lossy: bool, zone_names: bool = True) -> None:
        self._dialect, self._lossy, self._zone_names = dialect, lossy, zone_names
        self.ids: dict[bytes, int] = {}  # by pattern, in the order of first use

    def resolve(self, text: bytes, quoted: bool) -> tuple[int, int, tuple[bytes, int] | None, bool] | None:
        """Parse a value; return (epoch, id of its pattern, program that prints it, whether something is lost).

        The id is -1 for an ordinary value; None rejects the record.  See `encoder.ResolvedTime`.
        """
        value = text.decode("utf-8")
        parsed = parse_timestamp(value, self._dialect, quoted=quoted)
        if parsed is not None and not self._zone_names and b"\\o{" in parsed.pattern:
            parsed = None
        if parsed is None or not parsed.exact:
            if not self._lossy:
                return None
            if self._dialect is TimeDialect.PERCENT and quoted:
                parsed = parse_timestamp_lossily(value) or parsed
            if parsed is None:
                return 0, -1, None, True  # an ordinary value
        epoch, lost = parsed.epoch, not parsed.exact
        if not I64_MIN <= epoch <= I64_MAX:
            if not self._lossy:
                return None
            epoch, lost = (epoch - I64_MIN) % (1 << 64) + I64_MIN, True  # wraps around, as it does in upstream
        known = len(self.ids)
        number = self.ids.setdefault(parsed.pattern, known)
        program = None
        if quoted and not lost:
            program = compile_pattern(parsed.pattern, self._dialect)
        return epoch, number, program, lost


# --- patterns as programs for the compiled kernel --------------------------------------------------------------------

_PROGRAM_SPECIFIERS: Final = frozenset("YymdeHMS369Tba")
"""Specifiers that the kernel can parse."""
_PROGRAM_NAMES: Final = {_BACKSLASH_NAMES["b"][1:]: "b", _BACKSLASH_NAMES["a"][1:]: "a"}
"""Specifiers with short names, by their text in a pattern after the backslash; long names are not among them."""


def _literal_steps(text: str) -> bytes:
    """The steps of a program that compare the bytes of a string."""
    return b"".join(b"l" + bytes((byte,)) for byte in text.encode())


def _read_specifier(text: str, at: int) -> tuple[str, str, int]:
    """Return `(letter, content in braces, offset after it)` of the specifier at `at`; no content without braces."""
    letter, after = text[at + 1], at + 2
    if text[at] == "%" or letter not in "zoAB":
        return letter, "", after
    inner, _, _ = text[after + 1 :].partition("}")
    return letter, inner, after + len(inner) + 2


def compile_pattern(pattern: bytes, dialect: TimeDialect) -> tuple[bytes, int] | None:
    r"""Return a pattern as a program that the kernel runs over strings of the same shape.

    A program has two bytes per step: `l` and a literal byte, or a specifier and 0.  Specifiers that differ from those
    of the pattern: `t` is a `%T` (1 to 3 digits), `T` a `\T` (1 to 9 digits, but not 3, 6 or 9), `e` a day with a
    leading space, `f` such a day or two digits, `b` and `a` short names.

    Returns:
        The program and the zone offset in nanoseconds, which is subtracted from the result.  None if only
        `parse_timestamp` can read the pattern: it has long names, padded hours or 12-hour times, no seconds, number
        specifiers, or its strings match another pattern first.
    """
    mark = "%" if dialect is TimeDialect.PERCENT else "\\"
    text = pattern.decode()
    if dialect is TimeDialect.BACKSLASH:
        if not text.startswith('"'):
            return None
        text = text[1:-1]
    if mark == "%" and "%3Z" in text:
        return None  # of three digits before a `Z`, only those with a zero at the end have this pattern
    # A weekday and a space begin the shapes in which `e` is also a day of two digits.
    is_asctime = (mark + "a " if mark == "%" else _BACKSLASH_NAMES["a"] + " ") in text
    out = bytearray()
    offset = 0  # of the zone
    position = 0
    seen: list[str] = []  # specifiers
    # Literal bytes, specifiers, and specifiers with content in braces.
    while position < len(text):
        char = text[position]
        if char != mark:
            # A digit right after `T` (the last step, of two bytes, is not a literal): where the digits of the fraction
            # end depends on the pattern after it.
            if seen[-1:] == ["T"] and char.isdigit() and out[-2] != ord("l"):
                return None
            out += _literal_steps(char)
            position += 1
            continue
        specifier, inner, position = _read_specifier(text, position)
        if mark == "\\" and specifier in "zo":
            shown, _, zone = inner.rpartition(",")  # `o` has a name and its zone, `z` the zone only
            out += _literal_steps(shown or zone)
            offset = (zone_seconds(zone) or 0) * NS_PER_SECOND
            continue
        if inner:  # names of months or weekdays
            specifier = _PROGRAM_NAMES.get(f"{specifier}{{{inner}}}", "")
        if specifier not in _PROGRAM_SPECIFIERS:
            return None
        seen.append(specifier)
        if specifier == "e" and is_asctime:
            specifier = "f"
        out += (("t" if mark == "%" and specifier == "T" else specifier) + "\0").encode()
    # The kernel needs a complete date and time.
    if not {"H", "M", "S"} <= set(seen) or not {"m", "b"} & set(seen) or not {"d", "e"} & set(seen):
        return None
    return bytes(out), offset
