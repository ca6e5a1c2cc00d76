"""Options of the decoder and the query of a search; the compiled decoder uses the same numbers.

A unit of a stream is an event (a time and a message), a change of the offset from UTC, or the end.
"""

from __future__ import annotations

import enum

from exhume.tuples import NamedTuple

FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The times that can be printed: the years 1 to 9999, in milliseconds since the epoch."""

DAY_MS = 86_400_000
"""Milliseconds of a day."""

MIN_MS, MAX_MS = -(1 << 63), (1 << 63) - 1
"""The times that a stream can store, in milliseconds since the epoch: signed numbers of 64 bits."""


class EventForm(enum.IntFlag):
    """The form that events are decoded to."""

    CHECK = 0
    """No output: events are only checked, with their times and messages."""
    TEXT = 1
    """The time as the decoder's `print_times` sets it, then the message."""
    LINES = 2
    """JSON lines with `timestamp` and `message`."""
    OBJECTS = 4
    """Pairs of the time in milliseconds and the message."""
    COLUMNS = 16
    """A column of times and one of messages."""
    LENIENT = 32
    """No output, and no check of the range of times or of the encoding of messages."""
    KEYED = 64
    """Events of a KV-IR stream: the time under the first key of the logger, the message under the first of the user."""


class Wildcard(NamedTuple):
    """A wildcard pattern, split at its asterisks."""

    open_start: bool  # whether an asterisk comes first
    open_end: bool  # and last
    fold: bool  # whether the case of ASCII letters is ignored
    parts: tuple[tuple[bytes, bytes], ...]
    """The parts between asterisks, not empty: (letters, marks).  A mark is 1 where any byte may be (`?`), else 0."""


def parse_wildcard(text: str, *, whole: bool = False, fold: bool = False) -> Wildcard:
    """Parse a pattern: `*` matches any bytes, `?` any one byte; a backslash takes the special meaning from the next
    character.

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
                break  # a backslash at the end has no effect
            byte = raw[at]
            at += 1
        letters, marks = parts[-1]
        letters.append(byte)
        marks.append(any_byte)
    (first, _), (last, _) = parts[0], parts[-1]
    return Wildcard(  # an asterisk comes first, or last, where the part before or after it is empty
        len(parts) > 1 and not first,
        len(parts) > 1 and not last,
        fold,
        tuple((bytes(letters), bytes(marks)) for letters, marks in parts if letters),
    )
