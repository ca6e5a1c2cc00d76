"""Printing the times of a stream: patterns of Java's `SimpleDateFormat`, and offsets from UTC.

A pattern is compiled to a program: bytes that the decoders (compiled and pure Python) interpret for each time.  Each
step of a program is an operation, a width, and for a literal its text (as many bytes as the width states).

Spec: `docs/formats/clp_ir.md`, "Times".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from exhume.formats.clp_ir.units import DAY_MS, FIRST_MS, LAST_MS

Zone = Callable[[int], tuple[int, int, int, bytes]]
"""For a time: `(start, stop, offset, name)`.

The offset from UTC is valid for times in `[start, stop]`, so that it need not be looked up for each event.  All but the
name are milliseconds.
"""

(
    LITERAL, YEAR, YEAR_2, MONTH, MONTH_SHORT, MONTH_LONG, DAY, DAY_OF_YEAR, HOUR_0_23, HOUR_1_24, HOUR_0_11, HOUR_1_12,
    MINUTE, SECOND, MILLISECOND, HALF, WEEKDAY_SHORT, WEEKDAY_LONG, WEEKDAY, ZONE, OFFSET, OFFSET_OR_Z, OFFSET_COLON,
    ERA,
) = range(24)  # fmt: skip
"""The operations of a program; the same numbers as in `native.pxi`."""

# Operations that print a number, by the letter of `SimpleDateFormat`.
_NUMBERS: Final = {
    "d": DAY, "D": DAY_OF_YEAR, "H": HOUR_0_23, "k": HOUR_1_24, "K": HOUR_0_11, "h": HOUR_1_12, "m": MINUTE,
    "s": SECOND, "S": MILLISECOND, "u": WEEKDAY,
}  # fmt: skip

_PIECES: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+", re.DOTALL)
"""A part of a pattern: text in quotes, a run of one letter (which means a field of the time), or other characters."""

MAX_PATTERN: Final = 1 << 10
"""Most characters of a pattern that is used: a stream could state one that makes every time megabytes."""

Step = tuple[int, int, bytes]
"""`(operation, width, text)`: the width is the number of digits, or a detail of the form; `text` is a literal's."""

MONTHS: Final = (
    b"January", b"February", b"March", b"April", b"May", b"June", b"July", b"August", b"September", b"October",
    b"November", b"December",
)  # fmt: skip
WEEKDAYS: Final = (b"Monday", b"Tuesday", b"Wednesday", b"Thursday", b"Friday", b"Saturday", b"Sunday")


def _program(steps: list[Step]) -> bytes:
    """Return the bytes of a program.  Long literals are divided, since a width is one byte."""
    out = bytearray()
    for op, width, text in steps:
        if op == LITERAL:
            for at in range(0, len(text), 255):
                part = text[at : at + 255]
                out += bytes((LITERAL, len(part))) + part
        else:
            out += bytes((op, width))
    return bytes(out)


ISO: Final = _program(
    [
        (YEAR, 4, b""), (LITERAL, 0, b"-"), (MONTH, 2, b""), (LITERAL, 0, b"-"), (DAY, 2, b""), (LITERAL, 0, b" "),
        (HOUR_0_23, 2, b""), (LITERAL, 0, b":"), (MINUTE, 2, b""), (LITERAL, 0, b":"), (SECOND, 2, b""),
        (LITERAL, 0, b"."), (MILLISECOND, 3, b""), (OFFSET_COLON, 0, b""),
    ]
)  # fmt: skip
"""`2024-01-31 08:09:10.123+01:00`, as CLP's readers for Python print times."""


def compile_pattern(pattern: str) -> bytes | None:
    """The program that prints times in a pattern of `SimpleDateFormat`; None where a letter of it is not supported.

    An empty pattern prints nothing.
    """
    steps: list[Step] = []
    at = 0
    if len(pattern) > MAX_PATTERN:
        return None
    while at < len(pattern):
        found = _PIECES.match(pattern, at)
        if found is None:
            return None  # a quote that does not end
        at = found.end()
        quoted, letter = found.groups()  # None and None for other characters
        if letter is None:
            # Two quotes are one, inside quotes or (where the quoted text is empty) outside.
            text = found[0] if quoted is None else (quoted.replace("''", "'") or "'")
            steps.append((LITERAL, 0, text.encode("utf-8", "surrogateescape")))
            continue
        step = _step(letter, len(found[0]))
        if step is None:
            return None
        steps.append(step)
    return _program(steps)


def _step(letter: str, count: int) -> Step | None:
    """Return the printing step of `count` equal letters; None if it is not supported."""
    if count > 20:  # more digits than any number has
        return None
    if letter in _NUMBERS:
        return _NUMBERS[letter], count, b""
    match letter:
        case "y":
            return (YEAR_2, 2, b"") if count == 2 else (YEAR, count, b"")
        case "M" | "L":
            return (MONTH, count, b"") if count < 3 else (MONTH_SHORT if count == 3 else MONTH_LONG, 0, b"")
        case "E":
            return WEEKDAY_SHORT if count < 4 else WEEKDAY_LONG, 0, b""
        case "a":
            return HALF, 0, b""
        case "G":
            return ERA, 0, b""
        case "Z":
            return OFFSET, 0, b""
        case "X" if count <= 3:
            return OFFSET_OR_Z, count, b""
        case "z" if count < 4:
            return ZONE, 0, b""
    return None


def read_program(form: bytes) -> list[Step]:
    """The steps of a program, the inverse of `_program`."""
    steps: list[Step] = []
    at = 0
    while at < len(form):
        op, width = form[at], form[at + 1]
        at += 2
        if op == LITERAL:
            steps.append((op, width, form[at : at + width]))
            at += width
        else:
            steps.append((op, width, b""))
    return steps


def print_time(steps: list[Step], time_ms: int, offset_ms: int, zone: bytes) -> bytes:
    """Print a time with the steps of a program; `offset_ms`: the offset of local time from UTC, `zone`: its name."""
    local = _civil(time_ms + offset_ms)
    return b"".join(text if op == LITERAL else _printed(op, width, local, offset_ms, zone) for op, width, text in steps)


class _Local:
    """A local time.  Its year can be 0 or 10000 because of the offset; `datetime` ends with 1 and 9999.

    `rest` is milliseconds since midnight, `weekday` 0 for Monday.
    """

    __slots__ = ("day", "day_of_year", "month", "rest", "weekday", "year")

    def __init__(self, year: int, other: datetime, days: int, rest: int) -> None:
        """`other`: the same day in a year that has the same calendar; `days`: since the epoch."""
        self.year, self.month, self.day = year, other.month, other.day
        self.day_of_year = other.timetuple().tm_yday
        self.weekday = (days + 3) % 7  # the epoch was a Thursday
        self.rest = rest


def _civil(local_ms: int) -> _Local:
    """The date and time of milliseconds since the epoch, in local time."""
    days, rest = divmod(local_ms, DAY_MS)
    cycles, within = divmod(days, 146_097)  # the calendar repeats after 400 years
    other = _EPOCH + timedelta(days=within)
    return _Local(other.year + 400 * cycles, other, days, rest)


def _printed(op: int, width: int, local: _Local, offset_ms: int, zone: bytes) -> bytes:
    """Return the text of one step (operation and width) for a local time.

    `offset_ms` and `zone` are its offset from UTC and zone name.
    """
    hour, rest = local.rest // 3_600_000, local.rest
    numbers = {
        YEAR: local.year if local.year > 0 else 1 - local.year, MONTH: local.month, DAY: local.day,
        DAY_OF_YEAR: local.day_of_year, HOUR_0_23: hour, HOUR_1_24: hour or 24, HOUR_0_11: hour % 12,
        HOUR_1_12: hour % 12 or 12, MINUTE: rest // 60_000 % 60, SECOND: rest // 1000 % 60, MILLISECOND: rest % 1000,
        WEEKDAY: local.weekday + 1,
    }  # fmt: skip
    if op in numbers:
        return b"%0*d" % (width, numbers[op])
    texts = {
        YEAR_2: b"%02d" % (numbers[YEAR] % 100), MONTH_SHORT: MONTHS[local.month - 1][:3],
        MONTH_LONG: MONTHS[local.month - 1], HALF: b"AM" if hour < 12 else b"PM",
        WEEKDAY_SHORT: WEEKDAYS[local.weekday][:3], WEEKDAY_LONG: WEEKDAYS[local.weekday], ZONE: zone,
        ERA: b"AD" if local.year > 0 else b"BC",
    }  # fmt: skip
    if op in texts:
        return texts[op]
    if op == OFFSET_OR_Z and not offset_ms:
        return b"Z"
    # The offset from UTC, in one of three forms; the width of OFFSET_OR_Z is 1 for hours, 2 without and 3 with a colon.
    seconds = abs(offset_ms) // 1000
    out = b"%c%02d" % (b"-" if offset_ms < 0 else b"+", seconds // 3600)
    colon = b":" if op == OFFSET_COLON or width == 3 else b""
    if op != OFFSET_OR_Z or width > 1:
        out += colon + b"%02d" % (seconds // 60 % 60)
    if op == OFFSET_COLON and seconds % 60:
        out += b":%02d" % (seconds % 60)
    return out


_FIXED: Final = re.compile(r"(?:GMT|UTC)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d\d))?")
"""An offset from UTC as the id of a time zone."""

QUARTER_MS: Final = 900_000
"""A quarter of an hour: if the offset is the same at its start and end, it is taken to be the same in between."""


def find_zone(id: str) -> Zone | None:
    """Return the offsets of a time zone; None for an unknown zone.

    Ids are those of the IANA database, and `GMT+01:00`, `UTC-5` and `+0130`, where plus is east of Greenwich.
    """
    zone: tzinfo
    fixed = _FIXED.fullmatch(id)
    if id in ("Z", "UTC", "GMT", ""):
        zone = UTC
    elif fixed is not None:
        sign, hours, minutes = fixed["sign"], fixed["hours"], fixed["minutes"] or "00"
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        if offset >= timedelta(days=1):
            return None
        zone = timezone(-offset if sign == "-" else offset, f"GMT{sign}{hours:0>2}:{minutes}")
    else:
        try:
            zone = ZoneInfo(id)
        except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
            return None
    return _offsets(zone)


def _offsets(zone: tzinfo) -> Zone:
    """Return the offsets of `zone` as a function; see `Zone`."""

    def at(time_ms: int) -> tuple[int, bytes]:
        """Return the UTC offset in ms and the name of the zone at a time."""
        shown = _EPOCH + timedelta(milliseconds=time_ms)
        try:
            local = shown.astimezone(zone)
        except OverflowError:  # at either end of the calendar
            return 0, b"UTC"
        offset = local.utcoffset() or timedelta(0)
        return offset // timedelta(milliseconds=1), (local.tzname() or "UTC").encode("utf-8", "surrogateescape")

    def lookup(time_ms: int) -> tuple[int, int, int, bytes]:
        """The function that is returned: `(start, stop, offset, name)`, see `Zone`."""
        start = time_ms - time_ms % QUARTER_MS
        stop = start + QUARTER_MS - 1
        offset, name = at(time_ms)
        if start >= FIRST_MS and stop <= LAST_MS and at(start) == at(stop) == (offset, name):
            return start, stop, offset, name
        return time_ms, time_ms, offset, name  # valid for this time only

    return lookup


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
