"""Pure-Python implementation of the kernel's time functions: epochs printed by compiled timestamp patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from exhume.formats.clp_s.read.program import BAD_PATTERN, BAD_TIME, STEP_CODES

_MASK: Final = (1 << 64) - 1
_WHOLE_EPOCHS: Final = STEP_CODES.index("epoch_s")
"""The steps from here on print an epoch truncated toward zero."""


class ClpsPatterns:
    """Compiled timestamp patterns by id.

    A pattern is `(unit, shift, steps)`: epochs count `unit` nanoseconds, `shift` seconds are added for civil time, and
    steps are `(code, text)` with the codes of `STEP_CODES`; `text` is the literal, or the name table joined by 0x00.
    """

    __slots__ = ("_patterns",)

    def __init__(self, patterns: Iterable[tuple[int, int, int, Sequence[tuple[int, bytes]]]]) -> None:
        self._patterns = {ident & _MASK: (unit, shift, list(steps)) for ident, unit, shift, steps in patterns}

    def render(self, ident: int, epoch: int) -> bytes | None | int:
        """The text of an epoch; a fault kind (`BAD_PATTERN`, `BAD_TIME`) when it cannot be printed."""
        found = self._patterns.get(ident & _MASK)
        if found is None:
            return BAD_PATTERN
        return _render_time(epoch, *found) or BAD_TIME


def clps_civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day counted from 1970-01-01 (proleptic Gregorian)."""
    days += 719468
    era, day = divmod(days, 146097)
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    dom = day - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, dom


def _truncate(epoch: int, unit: int) -> int:
    return epoch // unit if epoch >= 0 else -(-epoch // unit)


class _Moment(NamedTuple):
    """A time taken apart; `days` since the epoch, `nanos` of the second, `epoch` as it is stored."""

    epoch: int
    days: int
    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nanos: int


def _year2(at: _Moment) -> bytes | None:
    short = at.year - 2000 if at.year >= 2000 else at.year - 1900
    return b"%02d" % short if 0 <= short <= 99 else None


def _hour12(at: _Moment) -> int:
    return at.hour % 12 or 12


def _hour12_old(at: _Moment) -> int:
    return 12 if at.hour == 0 else at.hour - 12 if at.hour > 13 else at.hour


def _epoch_point(at: _Moment) -> bytes | None:
    text = b"%d" % at.epoch
    return text[:-9] + b"." + text[-9:] if len(text) >= 9 else None


_SHOWN: Final[dict[str, Callable[[_Moment], bytes | None]]] = {
    "year": lambda at: b"%04d" % at.year if 0 <= at.year <= 9999 else None,
    "year2": _year2,
    "month": lambda at: b"%02d" % at.month,
    "day": lambda at: b"%02d" % at.day,
    "day_space": lambda at: b"%2d" % at.day,
    "hour": lambda at: b"%02d" % at.hour,
    "hour_space": lambda at: b"%2d" % at.hour,
    "hour12": lambda at: b"%02d" % _hour12(at),
    "hour12_space": lambda at: b"%2d" % _hour12(at),
    "hour12_old": lambda at: b"%02d" % _hour12_old(at),
    "hour12_old_space": lambda at: b"%2d" % _hour12_old(at),
    "am_pm": lambda at: b"AM" if at.hour < 12 else b"PM",
    "minute": lambda at: b"%02d" % at.minute,
    "second": lambda at: b"%02d" % at.second,
    "milli": lambda at: b"%03d" % (at.nanos // 1_000_000),
    "micro": lambda at: b"%06d" % (at.nanos // 1_000),
    "nano": lambda at: b"%09d" % at.nanos,
    "trim_milli": lambda at: (b"%03d" % (at.nanos // 1_000_000)).rstrip(b"0") or b"0",
    "trim_nano": lambda at: (b"%09d" % at.nanos).rstrip(b"0") or None,
    "epoch": lambda at: b"%d" % at.epoch,
    "epoch_point": _epoch_point,
    "epoch_s": lambda at: b"%d" % _truncate(at.epoch, 1_000_000_000),
    "epoch_ms": lambda at: b"%d" % _truncate(at.epoch, 1_000_000),
    "epoch_us": lambda at: b"%d" % _truncate(at.epoch, 1_000),
    "epoch_ns": lambda at: b"%d" % at.epoch,
}
"""What each step of a pattern prints of a time; None where upstream has no way to print it."""


def _render_time(epoch: int, unit: int, shift: int, steps: Sequence[tuple[int, bytes]]) -> bytes | None:
    """The text of a time, `unit` nanoseconds to a tick, `shift` seconds east; None where a step cannot print it."""
    per_second = 1_000_000_000 // unit
    seconds, fraction = divmod(epoch, per_second)
    if any(code >= _WHOLE_EPOCHS for code, _ in steps):
        fraction = abs(epoch) % per_second
    days, second_of_day = divmod(seconds + shift, 86400)
    hour, rest = divmod(second_of_day, 3600)
    moment = _Moment(epoch, days, *clps_civil(days), hour, *divmod(rest, 60), fraction * unit)
    out: list[bytes] = []
    for code, text in steps:
        step = STEP_CODES[code]
        if step == "literal":
            out.append(text)
        elif step == "month_name":
            out.append(text.split(b"\0")[moment.month - 1])
        elif step == "weekday_name":
            out.append(text.split(b"\0")[(days + 4) % 7])
        else:
            shown = _SHOWN[step](moment)
            if shown is None:
                return None
            if step in ("epoch", "epoch_point"):
                out.clear()  # as upstream, which puts the number in the place of what it has printed so far
            out.append(shown)
    return b"".join(out)
