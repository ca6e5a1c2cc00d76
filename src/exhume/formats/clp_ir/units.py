"""Options of the decoder and the query of a search; the compiled decoder uses the same numbers."""

from __future__ import annotations

import enum

from exhume.tuples import NamedTuple

FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The times that can be printed: the years 1 to 9999, in milliseconds since the epoch."""

DAY_MS = 86_400_000

MIN_MS, MAX_MS = -(1 << 63), (1 << 63) - 1
"""The times that a stream can hold."""


class EventForm(enum.IntFlag):
    """The form that events are decoded to."""

    CHECK = 0
    """Nothing: they are checked, times and messages included."""
    TEXT = 1
    """The time as `print_times` sets it, then the message."""
    LINES = 2
    """JSON lines with `timestamp` and `message`."""
    OBJECTS = 4
    """Pairs of the time in milliseconds and the message."""
    COLUMNS = 16
    """A column of times and one of messages."""
    LENIENT = 32
    """Nothing, and times and messages may be any."""
    KEYED = 64
    """Events of a KV-IR stream: the time under the first key of the logger, the message under the first of the user."""


class Wildcard(NamedTuple):
    """A wildcard pattern: whether an asterisk comes first and last, whether the case of letters is ignored, and the
    parts between asterisks, each as its letters and, for each of them, 1 where any byte may be.
    """

    open_start: bool
    open_end: bool
    fold: bool
    parts: tuple[tuple[bytes, bytes], ...]


def parse_wildcard(text: str, *, whole: bool = False, fold: bool = False) -> Wildcard:
    """A pattern out of its text: `*` matches any bytes, `?` for any one byte, and a backslash takes the special
    meaning from the next character.

    `whole`: the pattern has to match a whole message, else part of one.  `fold`: the case of ASCII letters is ignored.
    """
    raw = text.encode("utf-8", "surrogateescape")
    if not whole:
        raw = b"*" + raw + b"*"
    parts: list[tuple[bytearray, bytearray]] = [(bytearray(), bytearray())]
    at = 0
    while at < len(raw):
        byte = raw[at]
        at += 1
        if byte == ord("*"):
            parts.append((bytearray(), bytearray()))
            continue
        any_byte = byte == ord("?")
        if byte == ord("\\"):
            if at == len(raw):
                break
            byte = raw[at]
            at += 1
        parts[-1][0].append(byte)
        parts[-1][1].append(any_byte)
    return Wildcard(
        len(parts) > 1 and not parts[0][0],
        len(parts) > 1 and not parts[-1][0],
        fold,
        tuple((bytes(letters), bytes(marks)) for letters, marks in parts if letters),
    )
