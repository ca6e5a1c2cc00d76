"""Why the encoder stopped, and the reasons for which it rejects a record; the compiled one uses the same numbers."""

from __future__ import annotations

import enum
from typing import Final

MAX_DEPTH: Final = 10_000
"""Levels of nesting above which a document is rejected."""


class Status(enum.IntEnum):
    """Why encoding stopped; the compiled encoder uses the same numbers."""

    DONE = 0
    """At the end of the data."""
    MORE = 1
    """Inside a document: more data is needed."""
    SPLIT = 2
    """The target size or record count is reached."""
    FULL = 3
    """The next record may not fit the archive's 24-bit ids."""
    # Why a record is rejected; `REASONS` explains them.
    BAD_JSON = 10
    BAD_UTF8 = 11
    BAD_CONTROL = 12
    BAD_SURROGATE = 13
    BAD_NUMBER = 14
    NOT_OBJECT = 15
    TOO_DEEP = 16
    BIG_INTEGER = 17
    BIG_FLOAT = 18
    DUPLICATE_KEY = 19
    BAD_TIMESTAMP = 20
    CUT_SHORT = 21
    TOO_LARGE = 22
    BAD_ESCAPE = 23
    BAD_EVENT = 24


REASONS: Final = {
    Status.FULL: "more nodes or log types than an archive can hold",
    Status.BAD_JSON: "not valid JSON",
    Status.BAD_UTF8: "not valid UTF-8",
    Status.BAD_CONTROL: "not valid JSON: a control character inside a string",
    Status.BAD_SURROGATE: "half of a surrogate pair, which UTF-8 cannot hold",
    Status.BAD_NUMBER: "not valid JSON: malformed number",
    Status.NOT_OBJECT: "not a JSON object",
    Status.TOO_DEEP: f"nested deeper than {MAX_DEPTH} levels",
    Status.BIG_INTEGER: "an integer does not fit 64 bits",
    Status.BIG_FLOAT: "a number does not fit a double",
    Status.DUPLICATE_KEY: "the same key twice in one object",
    Status.BAD_TIMESTAMP: "the value of the timestamp key is no known timestamp, or outside the times that the "
    "format has; without that key it is stored as text",
    Status.CUT_SHORT: "the JSON document is truncated",
    Status.TOO_LARGE: "the record is too large",
    Status.BAD_ESCAPE: "not valid JSON: unknown escape in a string",
    Status.BAD_EVENT: "a KV-IR stream is damaged",
}
"""Messages for records that are rejected."""
