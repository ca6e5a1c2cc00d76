"""Values of query literals: what a literal means for columns of each type, and times.

The types for which a literal has a value are those that a filter can match.  "Native search" is the search of the
reference implementation, whose results these are to equal.  `op` is an operator of the query (`:`, `<`, `<=`, `>`,
`>=`); `dialect` is what KQL means in the archive's version.

Without a pattern the text of `timestamp("text")`, `timestamp("text", "pattern")` or `date("text")` is parsed as
timestamps are when an archive is written.  Patterns are those of format 0.5.0 on, including the specifiers that only
reading has: `\\Z` any zone, `\\?` any fraction, `\\s` any second, `\\P` an epoch of guessed unit, `\\O{xy}` one of some
characters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from exhume.formats.clp_s.query.kql import query_error
from exhume.formats.clp_s.query.tree import (
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    Boolean,
    Dialect,
    Instant,
    Literal,
    Null,
    Number,
    Text,
)
from exhume.tuples import NamedTuple

INTEGERS, FLOATS, TEXTS, STRINGS, BOOLEANS, ARRAYS, NULLS, TIMES = (1 << bit for bit in range(8))
"""Bits of a set of types of columns.  `TEXTS` are encoded strings, `STRINGS` entries of the variable dictionary."""

ALL: Final = 255
"""The set of all types."""

# Names of the types, in the order of their bits.
TYPE_NAMES: Final = ("integer", "float", "text", "string", "boolean", "array", "null", "time")

_INT64_MIN: Final = -(1 << 63)
NANOSECONDS: Final = 1_000_000_000  # per second


def type_names(types: int) -> list[str]:
    """The names of the types in a set."""
    return [name for bit, name in enumerate(TYPE_NAMES) if types >> bit & 1]


class Operand(NamedTuple):
    """The meaning of a literal for one operator and dialect (version of the archive).

    `types`: the column types that it can be compared with.  `anything`: it is `*`.  `text`: the pattern for strings.
    `integer`: the value that integers (and times) are compared with; `array_integer` the same for array elements, for
    which the native search also uses the result of a failed conversion.  `real` and `boolean`: those that floats and
    booleans are compared with; `null`: it is `null`.  `milliseconds`: the value for the timestamp ranges of an archive,
    if it differs from `integer`.
    """

    types: int
    text: bytes | None = None
    integer: int | None = None
    array_integer: int = 0
    real: float | None = None
    boolean: bool | None = None
    null: bool = False
    anything: bool = False
    milliseconds: int | None = None

    @property
    def number(self) -> bool:
        """Whether numbers can be compared with it at all."""
        return self.integer is not None or self.real is not None


def integer_of(value: float, op: str, dialect: Dialect) -> tuple[int | None, int]:
    """Return a number as an int64 for comparison with integers by `op`, and what a cast to int64 makes of it.

    The first is None if no integer can equal the number; for a range beyond int64 it is a number just outside, which
    all integers are below or above.  Values beyond int64 become its minimum in a cast, as the machine's conversion
    makes them: native searches compare integers with that in ranges, too, and then find all for `> 1e19`.
    """
    if isinstance(value, int):
        return value, value
    if math.isinf(value):  # the end of a range
        rounded: float | int = 1 << 63 if value > 0 else _INT64_MIN - 1
    elif op != EQUAL and not dialect.truncates:
        # Integers are compared, so round towards the range: `< 1.5` is `< 2`, and `> 1.5` is `> 1`.
        rounded = math.ceil(value) if op in (LESS, GREATER_EQUAL) else math.floor(value)
    else:
        rounded = math.trunc(value)
    whole = int(rounded)
    cast = whole if _INT64_MIN <= whole < 1 << 63 else _INT64_MIN
    if op == EQUAL:
        return (cast if float(cast) == value else None), cast
    return min(max(whole, _INT64_MIN - 1), 1 << 63), cast


def operand_of(literal: Literal, op: str, dialect: Dialect, instant: int | None = None) -> Operand:
    """The operand for a literal; `instant` is the value of a time literal: milliseconds in the dialects that have
    `legacy_instants`, else nanoseconds."""
    equal = op == EQUAL
    # Strings, booleans and nulls have no order, so only numbers and times match with other operators.
    if isinstance(literal, Text):
        if not equal:
            return Operand(0)
        if literal.anything:
            return Operand(ALL, literal.text, anything=True)
        # Strings with a space are stored as encoded text; a wildcard may stand for a space.
        types = ARRAYS | (TEXTS if b" " in literal.text else STRINGS)
        return Operand(types | (TEXTS if literal.wild else 0), literal.text)
    if isinstance(literal, Number):
        whole, cast = integer_of(literal.value, op, dialect)
        # Strings and arrays may have the number as text, which can only be equal.
        types = FLOATS | TIMES | (INTEGERS if whole is not None else 0) | (STRINGS | ARRAYS if equal else 0)
        return Operand(types, literal.text if equal else None, whole, cast, float(literal.value))
    if isinstance(literal, Boolean):
        return Operand(STRINGS | BOOLEANS | ARRAYS, literal.text, boolean=literal.value) if equal else Operand(0)
    if isinstance(literal, Null):
        return Operand(STRINGS | NULLS | ARRAYS, literal.text, null=True) if equal else Operand(0)
    assert isinstance(literal, Instant)
    assert instant is not None
    return instant_operand(instant, op, dialect, literal.text.encode("utf-8", "surrogateescape"))


def instant_operand(instant: int, op: str, dialect: Dialect, text: bytes = b"") -> Operand:
    """The operand for a point in time (see `operand_of`); `text` is how the query writes it."""
    types = INTEGERS | FLOATS | TIMES
    if dialect.legacy_instants:
        if op == EQUAL:
            types |= ARRAYS | (TEXTS if b" " in text else STRINGS)
        return Operand(types, text if op == EQUAL else None, instant, instant, float(instant))
    milliseconds = truncate(instant, 1_000_000)
    # Timestamp columns count nanoseconds or milliseconds, by the version; floats are compared with seconds.
    whole = instant if dialect.nanoseconds else milliseconds
    # Two roundings, as the native search has them: an int64 becomes a double, then seconds.
    seconds = float(instant) / float(NANOSECONDS)
    return Operand(types, None, whole, whole, seconds, milliseconds=milliseconds)


def truncate(value: int, unit: int) -> int:
    """Return `value / unit`, rounded toward zero."""
    return value // unit if value >= 0 else -(-value // unit)


def compare(op: str, value: float, operand: float) -> bool:
    """Return the result of `value op operand`, for an operator of the query."""
    if op == EQUAL:
        return value == operand
    if op == LESS:
        return value < operand
    if op == LESS_EQUAL:
        return value <= operand
    if op == GREATER:
        return value > operand
    return value >= operand


# Regular expressions for the specifiers of a pattern, by their letter.  Less usual ones: `e`, `k` and `l` are padded
# with a space, `I` and `l` hours of a 12-hour clock, `J` the second of a leap second, `3`, `6`, `9` and `T` digits of
# the fraction of a second (`T` without zeros at the end), `E`, `L`, `C` and `N` epochs (see `_EPOCH_UNITS`).
_TWO: Final = r"\d\d"
_PADDED: Final = r"[ \d]\d"
_FIELDS: Final = {
    "Y": r"\d{4}",
    "y": _TWO,
    "m": _TWO,
    "d": _TWO,
    "e": _PADDED,
    "H": _TWO,
    "k": _PADDED,
    "I": _TWO,
    "l": _PADDED,
    "M": _TWO,
    "S": r"[0-5]\d",
    "J": "60",
    "s": _TWO,
    "p": "AM|PM",
    "3": r"\d{3}",
    "6": r"\d{6}",
    "9": r"\d{9}",
    "T": r"\d{0,8}[1-9]",
    "?": r"\d{1,9}",
    "E": r"-?\d{1,19}",
    "L": r"-?\d{1,19}",
    "C": r"-?\d{1,19}",
    "N": r"-?\d{1,19}",
    "P": r"-?\d{1,19}",
    "Z": r" ?(?:Z|(?:UTC|GMT|UT)?[+\-−]\d\d(?::?\d\d)?|UTC|GMT|UT)",
}
_SAME: Final = ("Yy", "mB", "de", "HkIl", "SsJ", "369T?", "ELCNP", "Zzo")
"""Specifiers of one thing: a pattern has at most one of each."""
_BRACED: Final = ("B", "A", "O", "z", "o")  # specifiers with content in braces
_WORDS: Final = {"B": 12, "A": 7}  # number of names (months, weekdays) that the specifier has in braces
_FRACTIONS: Final = {"3": "f3", "6": "f6", "9": "f9", "?": "fx", "T": "ft"}  # groups of the fractions of a second
_EPOCH_UNITS: Final = {"E": 10**9, "L": 10**6, "C": 10**3, "N": 1}  # nanoseconds


def instant_value(literal: Instant, dialect: Dialect, query: str) -> int:
    """Return a time literal in nanoseconds, or in milliseconds if the dialect has legacy instants.

    Raises `QueryError`.
    """
    from exhume.formats.clp_s.write import timestamps as parse  # only queries with times need it

    if literal.pattern is not None:
        try:
            value = parse_with_pattern(literal.text, literal.pattern)
        except (ValueError, re.error) as error:
            raise query_error(f"not a timestamp pattern: {error.args[0]}", query, literal.position) from None
        if value is None:
            raise query_error("the time does not match its pattern", query, literal.position)
        found: int | None = value // 10**6 if dialect.legacy_instants else value
    else:
        if dialect.legacy_instants and not re.fullmatch(r"-?[0-9.]+", literal.text):
            # As when archives of that time were written: leading words, finer fractions and zones are dropped.
            parsed = parse.parse_timestamp_lossily(literal.text)
        else:
            spelling = parse.TimeDialect.PERCENT if dialect.legacy_instants else parse.TimeDialect.BACKSLASH
            parsed = parse.parse_timestamp(literal.text, spelling)
        found = parsed.epoch if parsed else None
    if found is None or not -(1 << 63) <= found < 1 << 63:
        raise query_error("not a time that can be read", query, literal.position)
    return found


def parse_with_pattern(text: str, pattern: str) -> int | None:
    """Nanoseconds since the epoch of a string under a pattern; None when it does not match or is not a valid date.

    Raises `ValueError` for a pattern that is not one.
    """
    regex, names = _compile(pattern)
    match = re.fullmatch(regex, text, re.ASCII)
    return _nanoseconds(match.groupdict(), names) if match else None


def _compile(pattern: str) -> tuple[str, dict[str, list[str]]]:
    """Return the regular expression for a pattern, and the words that its lists allow.

    Groups are named after specifiers, those of fractions `f3` to `ft`.  The words are names of months (B) and weekdays
    (A), or the offset of a zone ("zone").  Raises `ValueError` if the pattern is malformed, and where one part of it
    could contradict another.
    """
    from exhume.formats.clp_s.read.timestamps import parse_offset

    out: list[str] = []
    names: dict[str, list[str]] = {}
    used: dict[str, str] = {}  # by the specifiers of one thing (see `_SAME`): the one that the pattern has
    at = 0
    while at < len(pattern):
        c = pattern[at]
        at += 1
        if c != "\\":
            out.append(re.escape(c))
            continue
        code = pattern[at : at + 1]  # "" at the end of the pattern, which is rejected below
        at += 1
        if code and code not in "O\\":
            _use(code, used)
        content = _in_braces(pattern, at, code) if code in _BRACED else ""
        if code in _BRACED:
            at += len(content) + 2
        match code:
            case "\\":
                out.append(re.escape("\\"))
                continue
            case "O":
                out.append("[" + re.escape(content) + "]")
                continue
            case "B" | "A":
                names[code] = content.split(",")
                if len(names[code]) != _WORDS[code] or not all(names[code]):
                    raise ValueError(f"\\{code} needs {_WORDS[code]} names")
                field = "|".join(map(re.escape, names[code]))
            case "o":  # `\o{name,offset}` prints a name for an offset
                name, _, offset = content.rpartition(",")
                parse_offset(offset.encode())
                names["zone"] = [offset]
                code, field = "zone", re.escape(name)
            case "z":  # `\z{offset}` prints the offset itself
                parse_offset(content.encode())
                names["zone"] = [content]
                code, field = "zone", re.escape(content)
            case _ if code in _FIELDS:
                field = _FIELDS[code]
            case _:
                raise ValueError(f"unknown specifier \\{code}")
        out.append(f"(?P<{_FRACTIONS.get(code, code)}>{field})")
    _check_used(used)
    return "".join(out), names


def _use(code: str, used: dict[str, str]) -> None:
    """Note a specifier in `used` (as in `_compile`).  Raises `ValueError` where another states the same."""
    same = next((group for group in _SAME if code in group), code)
    if same in used:
        raise ValueError(f"\\{code} occurs twice" if used[same] == code else f"\\{used[same]} and \\{code} together")
    used[same] = code


def _check_used(used: Mapping[str, str]) -> None:
    """Raise `ValueError` for specifiers that do not go together (`used` as in `_compile`)."""
    # The keys are groups of `_SAME`: an epoch goes with nothing but a fraction of a second.
    if "ELCNP" in used and len(used) > 1 + ("369T?" in used):
        raise ValueError("date and epoch specifiers together")
    if ("p" in used) != (used.get("HkIl") in ("I", "l")):
        raise ValueError("12-hour clock without AM/PM, or the other way round")


def _in_braces(pattern: str, at: int, code: str) -> str:
    """Return the content of the braces at `at`, after the specifier `code`.  Raises `ValueError` if there is none."""
    end = pattern.find("}", at)
    if pattern[at : at + 1] != "{" or end <= at + 1:
        raise ValueError(f"\\{code} needs braces with content")
    return pattern[at + 1 : end]


def _nanoseconds(parts: dict[str, str], names: dict[str, list[str]]) -> int | None:
    """Return the time since the epoch that the matched parts of a string state; None if there is no such date.

    `parts` has the text matched by each specifier, by its letter (`f3` to `ft`: the fraction of a second); `names`
    has the words that a list in the pattern allows, by its letter.
    """
    from exhume.formats.clp_s.write.timestamps import epoch_unit, zone_seconds

    # A number of seconds, or of parts of them, is the time itself.
    fraction = next((parts[name] for name in _FRACTIONS.values() if name in parts), "")
    nanoseconds = int(fraction.ljust(9, "0"))
    for code in ("P", *_EPOCH_UNITS):
        if code in parts:
            value = int(parts[code])
            unit = epoch_unit(value)[1] if code == "P" else _EPOCH_UNITS[code]
            return value * unit + (-nanoseconds if parts[code].startswith("-") else nanoseconds)
    days, clock = _days(parts, names), _clock(parts)
    # A zone is an offset from UTC or a name of UTC (see `_FIELDS`).
    zone = names["zone"][0] if "zone" in names else parts.get("Z", "").lstrip(" UTCGM")  # `UTC+02:00` is `+02:00`
    offset = zone_seconds(zone) if zone[:1] in ("+", "-", "−") and len(zone) > 2 else 0
    if days is None or clock is None or offset is None:
        return None
    return (days * 86_400 + clock - offset) * NANOSECONDS + nanoseconds


def _days(parts: dict[str, str], names: dict[str, list[str]]) -> int | None:
    """Return the date that the parts (see `_nanoseconds`) state, in days since 1970; None if there is no such date."""
    from exhume.formats.clp_s.write.timestamps import days_from_civil

    year = int(parts.get("Y") or 1970)
    if "y" in parts:
        short = int(parts["y"])
        year = short + (1900 if short >= 69 else 2000)  # as POSIX: 1969 to 2068
    month = names["B"].index(parts["B"]) + 1 if "B" in parts else int(parts.get("m") or 1)
    day = int(parts.get("d") or parts.get("e") or 1)
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    days = days_from_civil(year, month, day)
    following = days_from_civil(year + month // 12, month % 12 + 1, 1)  # the first day of the next month
    if days >= following:
        return None
    weekday = (days + 4) % 7  # from Sunday: 1970 began on a Thursday
    if "A" in parts and names["A"].index(parts["A"]) != weekday:
        return None
    return days


def _clock(parts: dict[str, str]) -> int | None:
    """Return the time of day that the parts (see `_nanoseconds`) state, in seconds; None if there is no such time."""
    hour = int(parts.get("H") or parts.get("k") or 0)
    for code in ("I", "l"):
        if code in parts:
            hour = int(parts[code])
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if parts.get("p") == "PM" else 0)
    minute = int(parts.get("M") or 0)
    second = int(parts.get("S") or parts.get("s") or parts.get("J") or 0)
    if hour > 23 or minute > 59 or second > 60:
        return None
    return hour * 3600 + minute * 60 + min(second, 59)  # a leap second is taken for the second before


__all__ = ["instant_value", "parse_with_pattern"]
