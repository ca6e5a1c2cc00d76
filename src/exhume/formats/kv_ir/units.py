"""Statuses and options of the decoders; the compiled one uses the same numbers.

A unit of a KV-IR stream is a declaration of a key, an event, a change of the offset from UTC, or the end; it consists
of tokens (a tag byte and a number or string).  Keys are nodes of two trees: auto-generated ones, which the logger adds
itself, and those of its user.  A log type is the text of a message with marks in place of its variables.
"""

from __future__ import annotations

import enum
import json
import re
from typing import Any

from exhume.errors import ExhumeError

_NOT_JSON = {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""What the reference writer prints for numbers that JSON does not have, and what `json.loads` accepts for them."""

_STRING_OR_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|-?\b(?:nan|inf)\b')
"""One of these numbers, or a whole string: matching strings keeps a replacement from changing an `inf` inside one."""


def array_value(text: str) -> Any:
    """The value of the text of an array.  Raises `ValueError`.

    The text is JSON, except that the reference writer prints `inf`, `-inf`, `nan` and `-nan` for numbers that JSON does
    not have.
    """
    try:
        return json.loads(text)
    except ValueError:
        named = _STRING_OR_NUMBER.sub(lambda found: _NOT_JSON.get(found[0], found[0]), text)
        if named == text:
            raise
        return json.loads(named)


class Status(enum.IntEnum):
    """Why a run of a decoder over units ended; 10 and above are faults."""

    MORE = 0
    """The bytes end within a unit, or the unit has a byte that is not a token; the caller finds out which."""
    END = 1
    """The stream ends here."""
    FULL = 2
    """The output has reached the requested size."""
    HELD = 3
    """A key is declared, and the decoder is set to stop there (`hold`)."""
    UNEXPECTED = 10
    """Unexpected token."""
    PARENT = 11
    """New key without a known parent object."""
    TWICE_KNOWN = 12
    """The declaration of a key that was declared before."""
    KEY = 13
    """An event refers to a key that was not declared."""
    ORDER = 14
    """Auto-generated key after a user key."""
    TYPE = 15
    """A value is not of its key's type."""
    TWICE = 16
    """An object of an event has two members with the same name."""
    NESTED = 17
    """An event states that an object is null or empty, but also has members of it."""
    LOG_TYPE = 18
    """Encoded text does not match its log type."""
    ARRAY = 19
    """The text of an array is not an array."""
    DEPTH = 20
    """Keys nest deeper than `MAX_DEPTH`."""
    UTF8 = 21
    """A string is not UTF-8; only reported when events are checked."""
    RECORD = 22
    """The encoder of clp-s rows rejects an event (only with `EventForm.ENCODE`)."""
    NO_ROOM = 23
    """The archive has no ids left for another event."""
    TIME = 24
    """The time of an event is outside the years 1 to 9999; only reported when events are checked."""
    OFFSET = 25
    """An offset from UTC is a day or more; only reported when events are checked."""


class EventForm(enum.IntFlag):
    """The form that events are decoded to."""

    CHECK = 0
    """No output: events are only checked."""
    AUTO = 1
    """Lines of JSON with the auto-generated pairs, those of the logger."""
    USER = 2
    """Lines of JSON with the pairs of the user."""
    BOTH = AUTO | USER
    """Lines of JSON with two members, one for each kind of pairs; see the constants `AUTO`, `USER` of this module."""
    OBJECTS = 4
    """Added to one of the three before: Python objects instead of lines."""
    ENCODE = 8
    """Rows of a clp-s archive."""
    COLUMNS = 16
    """Rows of Arrow columns: those that the caller set on the decoder."""
    KEYS = 32
    """No output: only the keys are collected, and the strings of events are not decoded."""
    LOG = 64
    """The bytes of the text log that the events were made of."""


AUTO, USER = "auto_generated_kv_pairs", "user_generated_kv_pairs"
"""The two members of a line in the form `EventForm.BOTH`, under the names that `clp-s` uses."""

MAX_DEPTH = 1000
"""Most levels of objects within objects; far more than logs have, and safe for recursive code."""


class UnitError(Exception):
    """A unit that is rejected: `error` says why; it starts at `at` and ends at `after` (-1 if that is unknown)."""

    def __init__(self, error: ExhumeError, status: Status, at: int, after: int) -> None:
        super().__init__(str(error))
        self.error: ExhumeError = error
        self.status: Status = status
        self.at: int = at
        self.after: int = after


class HeldError(Exception):
    """The status `HELD` of a decoder, for salvage: a key is declared, and the decoder is set to stop there."""
