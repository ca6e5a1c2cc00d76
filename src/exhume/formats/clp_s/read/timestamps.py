"""Timestamp patterns: compiling both dialects into the steps (see `program`) that print an epoch.

Up to 0.4.1 patterns are strftime-like (`%Y-%m-%d`), epochs count milliseconds and the text is put between quotes by the
printer.  From 0.5.0 on specifiers start with a backslash, epochs count nanoseconds, and the pattern is the whole JSON
literal: string patterns carry their own quotes.

`at` is an offset in the pattern, for errors; `ident` is the id of a pattern, which columns refer to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.read.kernel import ClpsPatterns
from exhume.formats.clp_s.read.program import STEP_CODES

_CODE: Final = {name: code for code, name in enumerate(STEP_CODES)}  # number of each step

MONTHS: Final = (
    b"January",
    b"February",
    b"March",
    b"April",
    b"May",
    b"June",
    b"July",
    b"August",
    b"September",
    b"October",
    b"November",
    b"December",
)
WEEKDAYS: Final = (b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat")

Steps = list[tuple[int, bytes]]
"""Pairs of a step's number and its text: a literal, or names joined by zero bytes; else empty."""

# Steps by the letter of the specifier: first of the old dialect (milliseconds), then of the new one (nanoseconds).
_MILLI: Final = {
    "Y": "year",
    "y": "year2",
    "m": "month",
    "d": "day",
    "e": "day_space",
    "H": "hour",
    "k": "hour_space",
    "I": "hour12_old",
    "l": "hour12_old_space",
    "p": "am_pm",
    "M": "minute",
    "S": "second",
    "3": "milli",
    "T": "trim_milli",
    "E": "epoch",
    "F": "epoch_point",
}

_NANO: Final = {
    "Y": "year",
    "y": "year2",
    "m": "month",
    "d": "day",
    "e": "day_space",
    "H": "hour",
    "k": "hour_space",
    "I": "hour12",
    "l": "hour12_space",
    "p": "am_pm",
    "M": "minute",
    "S": "second",
    "3": "milli",
    "6": "micro",
    "9": "nano",
    "T": "trim_nano",
    "E": "epoch_s",
    "L": "epoch_ms",
    "C": "epoch_us",
    "N": "epoch_ns",
}
# Groups of specifiers of the new dialect: a pattern has those of an epoch, or those of a date and a time of day.
_EPOCH_SPECIFIERS: Final = frozenset("ELCN")
_DATE_SPECIFIERS: Final = frozenset("YymdeBAHkIlpMSJzo")


@dataclass(frozen=True, slots=True)
class CompiledPattern:
    """Epochs count `unit` nanoseconds; `shift` seconds are added to get civil time; `steps` print it."""

    unit: int
    shift: int
    steps: Steps


def compile_milli_pattern(pattern: bytes) -> CompiledPattern:
    """Compile a pattern of 0.2.0 to 0.4.1.  Raises `ValueError(reason, offset)`."""
    _check_not_empty(pattern)
    steps: Steps = []
    at = 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte != b"%":
            _literal(steps, byte)
            at += 1
            continue
        code = pattern[at + 1 : at + 2].decode("latin-1")
        if code == "%":
            _literal(steps, b"%")
        elif code == "B":
            steps.append((_CODE["month_name"], b"\0".join(MONTHS)))
        elif code == "b":
            steps.append((_CODE["month_name"], b"\0".join(month[:3] for month in MONTHS)))
        elif code == "a":
            steps.append((_CODE["weekday_name"], b"\0".join(WEEKDAYS)))
        elif code in _MILLI:
            steps.append((_CODE[_MILLI[code]], b""))
        elif code:  # a lone percent sign at the end prints nothing
            raise ValueError(f"unknown specifier %{code}", at)
        at += 2
    return CompiledPattern(1_000_000, 0, steps)


def compile_nano_pattern(pattern: bytes) -> CompiledPattern:
    """Compile a pattern of 0.5.0 on; it has to pass the checks of upstream when it opens an archive.

    Raises `ValueError(reason, offset)`.
    """
    _check_not_empty(pattern)
    _check_quotes(pattern)
    steps: Steps = []
    seen: set[str] = set()
    shift = 0
    at = 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte != b"\\":
            _literal(steps, byte)
            at += 1
            continue
        code = pattern[at + 1 : at + 2].decode("latin-1")
        start, at = at, at + 2
        if code == "\\":
            _literal(steps, b"\\\\")  # two bytes: the output is JSON, where a backslash is escaped
            continue
        if code in seen:  # upstream allows each specifier once
            raise ValueError(f"specifier \\{code} twice", start)
        seen.add(code)
        if code in _NANO:
            steps.append((_CODE[_NANO[code]], b""))
        elif code == "J":
            _literal(steps, b"60")  # the second of a leap second
        # Specifiers with content in braces: names of months or weekdays, or a zone.
        elif code in ("B", "A", "z", "o"):
            content, at = _braces(pattern, at)
            if code == "B":
                steps.append((_CODE["month_name"], _names(content, 12, start)))
            elif code == "A":
                steps.append((_CODE["weekday_name"], _names(content, 7, start)))
            elif code == "z":
                shift = parse_offset(content, start)
                _literal(steps, content)
            else:
                name, _, offset = content.rpartition(b",")
                shift = parse_offset(offset, start)
                _literal(steps, name)
        else:
            raise ValueError(f"unknown specifier \\{code}", start)
    _check_together(seen)
    return CompiledPattern(1, shift, steps)


def _check_together(seen: set[str]) -> None:
    """Check that these specifiers may occur in one pattern.  Raises `ValueError(reason, offset)` if they may not."""
    if seen & _EPOCH_SPECIFIERS and seen & _DATE_SPECIFIERS:
        raise ValueError("date and epoch specifiers together", 0)
    if ("p" in seen) != bool(seen & {"I", "l"}):
        raise ValueError("12-hour clock without AM/PM, or the other way round", 0)


def _check_not_empty(pattern: bytes) -> None:
    """Raise `ValueError` for a pattern that would print nothing."""
    if not pattern:
        raise ValueError("an empty pattern", 0)


def _check_quotes(pattern: bytes) -> None:
    """Check a pattern for quotes and control bytes inside it. Raises `ValueError` with the offset."""
    # Quotes around the whole pattern are allowed.
    inner = pattern[1:-1] if len(pattern) >= 2 and pattern[:1] == b'"' == pattern[-1:] else pattern
    if b'"' in inner:
        raise ValueError("a quote inside the pattern", pattern.index(b'"', len(inner) < len(pattern)))
    for at, byte in enumerate(pattern):
        if byte < 0x20:
            raise ValueError("a control byte inside the pattern", at)


def _braces(pattern: bytes, at: int) -> tuple[bytes, int]:
    """Return the content of the braces that start at `at`, and the offset after them.  Raises `ValueError`."""
    end = pattern.find(b"}", at)
    if pattern[at : at + 1] != b"{" or end < 0:
        raise ValueError("a specifier without its braces", at)
    return pattern[at + 1 : end], end + 1


def _names(content: bytes, count: int, at: int) -> bytes:
    """Return names (separated by commas) in the form of a step.  Raises `ValueError` if there are not `count`."""
    names = content.split(b",")
    if len(names) != count:
        raise ValueError(f"{len(names)} names instead of {count}", at)
    return b"\0".join(names)


def parse_offset(content: bytes, at: int = 0) -> int:
    """Seconds east of UTC of `+hhmm`, `-hh:mm`, `+hh`; the sign may be U+2212.  Raises `ValueError(reason, offset)`."""
    text = content.decode("utf-8", "replace")
    digits = text[1:].replace(":", "")
    if text[:1] not in ("+", "-", "\u2212") or len(digits) not in (2, 4) or not (digits.isascii() and digits.isdigit()):
        raise ValueError("a malformed time zone offset", at)
    seconds = int(digits[:2]) * 3600 + int(digits[2:] or 0) * 60
    return seconds if text[0] == "+" else -seconds


def _literal(steps: Steps, text: bytes) -> None:
    """Append static text to the steps, joined with the literal before it."""
    literal = _CODE["literal"]
    last, before = steps[-1] if steps else (-1, b"")
    if last == literal:
        steps[-1] = (literal, before + text)
    elif text:
        steps.append((literal, text))


@dataclass(frozen=True, slots=True)
class PatternSet:
    """All patterns of an archive: `texts` as stored, `kernel` ready to print, `problems` those that cannot be used.

    A column of type `DateString` needs the millisecond dialect, one of type `Timestamp` the nanosecond dialect; which
    of them an archive contains depends on its version.
    """

    nanoseconds: bool
    texts: Mapping[int, bytes]
    compiled: Mapping[int, CompiledPattern] = field(default_factory=dict)
    problems: Mapping[int, ExhumeError] = field(default_factory=dict)
    kernel: ClpsPatterns = field(default_factory=lambda: ClpsPatterns(()))

    @classmethod
    def build(cls, texts: Mapping[int, bytes], nanoseconds: bool, where: Span | None = None) -> PatternSet:
        """Compile the patterns of an archive; those that are malformed end up in `problems` (CLPS-406)."""
        compiled: dict[int, CompiledPattern] = {}
        problems: dict[int, ExhumeError] = {}
        for ident, text in texts.items():
            try:
                compiled[ident] = compile_nano_pattern(text) if nanoseconds else compile_milli_pattern(text)
            except ValueError as error:
                problems[ident] = checks.BAD_PATTERN.error(
                    f"pattern {ident}: {error.args[0]}", span=where, actual=text, field_path=f"patterns[{ident}]"
                )
        ready = ClpsPatterns([(ident, made.unit, made.shift, made.steps) for ident, made in compiled.items()])
        return cls(nanoseconds, dict(texts), compiled, problems, ready)

    def render(self, ident: int, epoch: int) -> bytes:
        """The text of an epoch (without the quotes that surround a DateString).

        Raises CLPS-405 (no such pattern), CLPS-406 (unusable pattern), CLPS-407 (not printable).
        """
        found = self.kernel.render(ident, epoch)
        if isinstance(found, bytes):
            return found
        raise self.failure(ident, epoch, None)

    def failure(self, ident: int, epoch: int | None, span: Span | None) -> ExhumeError:
        """Return the error for a pattern that does not exist, is malformed, or cannot print this epoch."""
        if ident in self.problems:
            return self.problems[ident]
        if ident not in self.compiled:
            return checks.UNKNOWN_PATTERN.error(span=span, actual=ident)
        return checks.UNPRINTABLE_TIMESTAMP.error(f"epoch {epoch}", span=span, actual=self.texts[ident])
