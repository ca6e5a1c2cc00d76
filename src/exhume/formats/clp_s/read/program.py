"""Constants that both kernels of clp-s and their callers share: operations of a `ClpsProgram`, faults, pattern steps.

They are apart from `pykernel`, so that a short command need not import the pure-Python kernel.

A table is printed by a `ClpsProgram`: a sequence of operations that runs once per row.  Operations are tuples:

| operation | prints |
|---|---|
| `(LITERAL, text)` | the bytes as they are |
| `(INTEGER, values)` | signed decimal of `values[row]` (buffer of int64) |
| `(FLOAT, values)` | C's `%f` of a float64 |
| `(FORMATTED, values, formats)` | a float64 as its 16-bit format word says |
| `(BOOLEAN, values)` | `true` or `false` (buffer of bytes) |
| `(STRING, ids, strings)` | entry `ids[row]` (buffer of uint64) of a `ClpsStrings` |
| `(TEXT, words, variables, log_types, strings)` | a log type (text with placeholders) with its variables filled in |
| `(TIME, epochs, pattern_ids, patterns)` | `epochs[row]` by the pattern `pattern_ids[row]` of a `ClpsPatterns` |

In encoded text, `words[row]` has the id of the log type and the index of the row's first variable in `variables`.
Numbers in buffers are in the byte order of the machine.  Where the data cannot be printed, rendering stops and says why
with a fault `(kind, operation, row, detail)`: the output so far stays valid.
"""

from __future__ import annotations

LITERAL, INTEGER, FLOAT, FORMATTED, BOOLEAN, STRING, TEXT, TIME = range(8)
"""Operations, as in the table above."""

BAD_LOG_TYPE, BAD_STRING, BAD_OFFSET, BAD_FLOAT, BAD_PATTERN, BAD_TIME = range(1, 7)
"""Kinds of faults: an id of a log type, string or pattern that does not exist; variables past the end; an encoded float
with impossible digits; a time that its pattern cannot print."""

DONE, FULL, ODD, VARIABLES, LOG_TYPES, ARRAY_TYPES, PATTERNS = range(7)
"""Why `ClpsTables.render` returns (in the kernel: `Stop`): done; the output is full; a table that it does not print
("odd"); or what it needs next, a dictionary or the patterns."""

Fault = tuple[int, int, int, int]
"""`(kind, operation, row, detail)`: a `BAD_...`, index of the operation in the program, row of the table, bad value."""

# JSON escapes by byte; others are printed as they are.
_ESCAPES = {code: b"\\u%04x" % code for code in range(0x20)} | {
    0x22: b'\\"',
    0x5C: b"\\\\",
    0x08: b"\\b",
    0x09: b"\\t",
    0x0A: b"\\n",
    0x0C: b"\\f",
    0x0D: b"\\r",
}

# Steps of a compiled timestamp pattern.  The kernel knows them by their index here.
STEP_CODES = (
    "literal",  # text
    "year",  # 4 digits and more
    "year2",  # 2 digits: 1900 to 2099
    "month",
    "day",
    "day_space",  # padded with a space, as each `..._space`
    "month_name",  # text: twelve names
    "weekday_name",  # text: seven names, Sunday first
    "hour",
    "hour_space",
    "hour12",  # of a 12-hour clock
    "hour12_space",
    "hour12_old",  # as up to 0.4.1: 13 stays 13
    "hour12_old_space",
    "am_pm",
    "minute",
    "second",
    "milli",
    "micro",
    "nano",
    "trim_milli",  # three digits without trailing zeros, 0 stays 0
    "trim_nano",  # nine digits without trailing zeros, 0 cannot be printed
    "epoch",  # the stored integer; replaces the text printed before
    "epoch_point",  # the same with a point before the last nine digits
    "epoch_s",  # truncated toward zero; sub-second steps then print the absolute fraction
    "epoch_ms",
    "epoch_us",
    "epoch_ns",
)


def clps_escape(text: bytes) -> bytes:
    """JSON string content for raw bytes: quotes, backslashes and bytes below 0x20 only, lower-case hex."""
    if b"\\" not in text and b'"' not in text and (not text or min(text) >= 0x20):
        return text
    return b"".join([_ESCAPES.get(byte) or bytes((byte,)) for byte in text])
