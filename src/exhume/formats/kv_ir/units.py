"""Statuses and options of the decoders; the compiled one uses the same numbers."""

from __future__ import annotations

import enum
import json
import re
from typing import Any

from exhume.errors import ExhumeError

_NOT_JSON = {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_STRING_OR_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|-?\b(?:nan|inf)\b')


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
    """Why a run over units ended."""

    MORE = 0
    """The bytes end, or do not fit, within a unit."""
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
    """A new key is declared already."""
    KEY = 13
    """An event refers to a key that is not known."""
    ORDER = 14
    """Auto-generated key after a user key."""
    TYPE = 15
    """A value is not of its key's type."""
    TWICE = 16
    """A name is there twice in one object of an event."""
    NESTED = 17
    """An object is null or empty and has members all the same."""
    LOG_TYPE = 18
    """Encoded text does not match its log type."""
    ARRAY = 19
    """The text of an array is not an array."""
    DEPTH = 20
    """Keys nest deeper than is read."""
    UTF8 = 21
    """A string is not UTF-8; only reported when events are checked."""
    RECORD = 22
    """The encoder does not take an event."""
    NO_ROOM = 23
    """The archive has no ids left for another event."""
    TIME = 24
    """The time of an event is outside the years 1 to 9999; only reported when events are checked."""
    OFFSET = 25
    """An offset from UTC is a day or more; only reported when events are checked."""


class EventForm(enum.IntFlag):
    """The form that events are decoded to."""

    CHECK = 0
    """Nothing: they are checked."""
    AUTO = 1
    """Lines with the auto-generated pairs, those of the logger."""
    USER = 2
    """Lines with the pairs of the user."""
    BOTH = AUTO | USER
    """Lines with both, each as a member of its own (see `AUTO`, `USER` of this module)."""
    OBJECTS = 4
    """Added to one of the three before: Python objects instead of lines."""
    ENCODE = 8
    """Rows of a clp-s archive."""
    COLUMNS = 16
    """Rows of the columns that were chosen."""
    KEYS = 32
    """Nothing: only the keys are collected, and the strings of events are not decoded."""
    LOG = 64
    """The bytes of the text log that the events were made of."""


AUTO, USER = "auto_generated_kv_pairs", "user_generated_kv_pairs"
"""The members of a line with the pairs of both, under the names that `clp-s` uses."""

MAX_DEPTH = 1000
"""Objects within objects."""


class UnitError(Exception):
    """A unit that is rejected: `error` says why; it starts at `at` and ends at `after` (-1 if that is unknown)."""

    def __init__(self, error: ExhumeError, status: Status, at: int, after: int) -> None:
        super().__init__(str(error))
        self.error: ExhumeError = error
        self.status: Status = status
        self.at: int = at
        self.after: int = after


class HeldError(Exception):
    """A key is declared, and the decoder was asked to stop there."""
