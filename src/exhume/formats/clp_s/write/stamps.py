r"""The timestamps that begin a line of a plain-text log.

Spec: the timestamp schema of upstream's `log-converter` and the patterns of its timestamp parser, at e00317e36; the
additional patterns are in `docs/formats/clp_s.md`, "Text logs".
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from functools import cache
from typing import Final

from exhume.formats.clp_s.write.automaton import Automaton, compile_automaton

LOOSE: Final = 1
"""A timestamp that any byte but a letter, a digit or an underscore may follow."""

STRICT: Final = 2
"""A timestamp that looks like other numbers: a space, a line end, or one of `[`, `(` and `:` has to follow."""

_MONTH: Final = "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LONG_MONTH: Final = (
    "(Jan(uary)?|Feb(ruary)?|Mar(ch)?|Apr(il)?|May|June?|July?|Aug(ust)?"
    "|Sep(tember)?|Oct(ober)?|Nov(ember)?|Dec(ember)?)"
)
_WEEKDAY: Final = "(Sun|Mon|Tue|Wed|Thu|Fri|Sat)"
_TWO: Final = "[ #]{2}"
_DAY: Final = "[ #]\\d"
_DATE: Final = "\\d{4}[/-]\\d\\d[/-]\\d\\d"
_CLOCK: Final = "\\d\\d:\\d\\d:\\d\\d"
_FRACTION: Final = "([,.:]\\d{1,9})?"
_OFFSET: Final = "(\\+|-|\u2212)\\d\\d(:?\\d\\d)?"
_NAME: Final = "(UTC|UT|GMT|EST|EDT|CST|CDT|MST|MDT|PST|PDT)"
_ZONE: Final = f"( ?({_NAME}({_OFFSET})?|{_OFFSET})Z?| ?Z)"


@dataclass(frozen=True, slots=True)
class Form:
    """One form of timestamp: what it is called in the docs, an example, the pattern of upstream's timestamp parser
    that it stems from, its expression, and what may follow it.
    """

    name: str
    example: str
    upstream: str
    expression: str
    follows: int = LOOSE


FORMS: Final = (
    Form(
        "date and time, with any of the usual signs between them",
        "2015-02-01T01:02:03.004+02:00",
        r"\Y\O{-/}\m\O{-/}\d\O{T }\H:\M:\s\O{,.}\?\Z",
        f"\\d{{2,4}}[ /-]?{_TWO}[ /-]{_TWO}[ T:]{_TWO}:{_TWO}:{_TWO}{_FRACTION}{_ZONE}?",
    ),
    Form(
        "the same with a month by its name",
        "01 Feb 2015 01:02:03,004",
        r"\d \B{Jan,...} \Y \H:\M:\s\O{,.}\?",
        f"{_TWO}[ /-]{_LONG_MONTH}[ /-]\\d{{2,4}}[ T:]{_TWO}:{_TWO}:{_TWO}{_FRACTION}{_ZONE}?",
    ),
    Form(
        "date and time in brackets, or after a bracket",
        "[2015-02-01 01:02:03,004]",
        r"[\Y\O{-/}\m\O{-/}\d\O{T }\H:\M:\s\O{,.}\?]",
        f"\\[{_DATE}[ T]{_CLOCK}{_FRACTION}{_ZONE}?\\]?",
    ),
    Form(
        "after three angle brackets",
        "<<<2015-02-01 01:02:03:004",
        r"<<<\Y\O{-/}\m\O{-/}\d\O{T }\H:\M:\s:\?",
        f"<<<{_DATE}[ T]{_CLOCK}{_FRACTION}",
    ),
    Form(
        "digits of the date together",
        "[20150201-01:02:03]",
        r"[\Y\m\d-\H:\M:\s]",
        f"\\[?\\d{{8}}[ T-]{_CLOCK}{_FRACTION}{_ZONE}?\\]?",
    ),
    Form("short digits together", "150201  1:02:03", r"\y\m\d\O{T }\k:\M:\s", "\\d{6}[ T][ #]\\d:\\d\\d:\\d\\d"),
    Form(
        "twelve hours",
        "Feb 01, 2015  1:02:03 AM",
        r"\B{Jan,...} \d, \Y \l:\M:\s \p",
        f"{_MONTH} \\d\\d, \\d{{4}} [ #]\\d:\\d\\d:\\d\\d [AP]M",
    ),
    Form(
        "a month's full name, without seconds",
        "February 01, 2015 01:02",
        r"\B{January,...} \d, \Y \H:\M",
        f"{_LONG_MONTH} \\d\\d, \\d{{4}} \\d\\d:\\d\\d",
    ),
    Form(
        "web servers",
        "[01/Feb/2015:01:02:03 +0000]",
        r"[\d\O{-/}\B{Jan,...}\O{-/}\Y:\H:\M:\s",
        f"\\[\\d\\d[/-]({_MONTH}|\\d\\d)[/-]\\d{{4}}:{_CLOCK}{_ZONE}?\\]?",
    ),
    Form(
        "asctime",
        "Sun Feb  1 01:02:03 2015",
        r"\A{Sun,...} \B{Jan,...} \e \H:\M:\s \Y",
        f"\\[?{_WEEKDAY} {_MONTH} {_DAY} {_CLOCK}([,.]\\d{{1,9}})? \\d{{4}}\\]?",
    ),
    Form(
        "syslog, without a year",
        "Jan 21 11:56:42",
        r"\B{Jan,...} \d \H:\M:\s",
        f"{_MONTH} {_DAY} {_CLOCK}{_FRACTION}{_ZONE}?",
    ),
    Form(
        "Android, without a year",
        "01-21 11:56:42.392",
        r"\m\O{- }\d \H:\M:\s\O{,.}\?",
        f"\\d\\d[ -]\\d\\d {_CLOCK}{_FRACTION}",
    ),
    Form(
        "RFC 2822",
        "Thu, 21 Dec 2000 16:01:07 +0200",
        r"\A{Sun,...}, \d \B{Jan,...} \Y \H:\M:\s\Z",
        f"({_WEEKDAY}, )?{_DAY} {_MONTH} \\d\\d(\\d\\d)? {_CLOCK}{_FRACTION}{_ZONE}?",
    ),
    Form(
        "RFC 2822 without seconds",
        "21 Dec 00 16:01 EST",
        r"\d \B{Jan,...} \y \H:\M\Z",
        f"({_WEEKDAY}, )?{_DAY} {_MONTH} \\d\\d(\\d\\d)? \\d\\d:\\d\\d{_ZONE}",
    ),
    Form("seconds since 1970, with a fraction", "1762445893.001", r"\E.\?", "-?\\d{10}\\.\\d{1,9}", STRICT),
    Form("seconds, milli-, micro- or nanoseconds since 1970", "1762445893001", r"\P", "-?\\d{10}(\\d{3}){0,3}", STRICT),
)

_WORD: Final = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
FOLLOWS: Final = bytes(
    (0 if byte in _WORD else LOOSE) | (STRICT if byte in b" \t\r\n[(:" else 0) for byte in range(256)
)
"""For each byte, which timestamps it may follow."""


@cache
def automaton() -> Automaton:
    """The automaton of all forms."""
    return compile_automaton((form.expression, form.follows) for form in FORMS)


@cache
def kernel_table() -> bytes:
    """Its table as 16-bit integers of this machine."""
    found = array("H", automaton().table)
    assert found.itemsize == 2, sys.platform
    return found.tobytes()
