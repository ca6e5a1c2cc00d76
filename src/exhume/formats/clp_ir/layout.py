"""Bytes of IR streams of text to values, without I/O: preamble, metadata and tokens.

A stream is a preamble and tokens.  An event consists of the tokens of its variables, of its log type (the message with
a mark in place of each variable), and of its time.  In a four-byte stream, variables have four bytes and times are
differences (deltas); in an eight-byte (wide) stream, variables have eight bytes and times are since the epoch.

Spec: `ksy/clp_ir.ksy`; positions are offsets in the bytes that were passed in.
"""

from __future__ import annotations

import json
import re
import struct
from typing import Any, Final

from exhume_ksy.facts.clp_ir import Tags, Token
from exhume_ksy.fast.clp_ir import flat_token, read_token

from exhume.errors import Span
from exhume.formats.clp_ir import checks
from exhume.formats.clp_ir.units import MAX_MS, MIN_MS
from exhume.formats.kv_ir.layout import (
    ENCODING_METHODS,
    UNSTRUCTURED,
    VARIABLES_SCHEMA,
    Encodings,
    Preamble,
    metadata_object,
)
from exhume.formats.kv_ir.layout import VERSION as KEY_VALUE_VERSION
from exhume.formats.kv_ir.layout import Tags as KeyedTags
from exhume.layout.fast import LayoutError

VERSIONS: Final = UNSTRUCTURED
"""The versions that are read; the last one is written."""

DEFAULT_PATTERN: Final = "yyyy-MM-dd HH:mm:ss.SSSXXX"
DEFAULT_ZONE: Final = "UTC"
"""How readers print the times of a stream that is written without stating it."""

# Tags that differ only in the width of the number or length that follows.
DELTAS: Final = frozenset((Tags.DELTA_1, Tags.DELTA_2, Tags.DELTA_4, Tags.DELTA_8))
LOG_TYPES: Final = frozenset((Tags.LOG_TYPE_1, Tags.LOG_TYPE_2, Tags.LOG_TYPE_4))
VARIABLE_TEXTS: Final = frozenset((Tags.VARIABLE_TEXT_1, Tags.VARIABLE_TEXT_2, Tags.VARIABLE_TEXT_4))

NUMBERS: Final = Token.format
"""Formats of numbers for `struct`, by the fields of the specification."""

_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")  # as many digits as a number of 64 bits can have


def parse_metadata(preamble: Preamble, where: Span) -> dict[str, Any]:
    """Parse and check the metadata; `where` is the span of the preamble.

    Raises CLPIR-102 (key-value stream), CLPIR-103 (version), CLPIR-401 (no JSON) and CLPIR-402 (reference time).
    """
    span = where.sub(preamble.metadata_at, preamble.size)
    found = metadata_object(preamble, span, checks.METADATA_JSON)
    version = found.get("VERSION")
    if version == KEY_VALUE_VERSION:
        raise checks.KEY_VALUE.error(span=span, expected=" or ".join(VERSIONS), actual=version)
    if version not in VERSIONS:
        raise checks.UNKNOWN_VERSION.error(span=span, expected=" or ".join(VERSIONS), actual=version)
    if preamble.encoding is Encodings.FOUR_BYTE and _reference(found) is None:
        actual = found.get("REFERENCE_TIMESTAMP")
        raise checks.REFERENCE_TIME.error(span=span, expected="milliseconds since the epoch", actual=actual)
    return found


def _reference(metadata: dict[str, Any]) -> int | None:
    """The time in milliseconds that the first event counts from; None unless it is a string of digits, as in CLP."""
    stated = metadata.get("REFERENCE_TIMESTAMP")
    if not isinstance(stated, str) or _INTEGER.fullmatch(stated) is None:
        return None
    return int(stated) if MIN_MS <= int(stated) <= MAX_MS else None


def reference_time(preamble: Preamble) -> int:
    """The time that the first event counts from, in milliseconds; 0 where it is not stated or cannot be read."""
    try:
        found = json.loads(preamble.metadata.decode("utf-8"))
    except (ValueError, RecursionError):
        return 0
    return (_reference(found) or 0) if isinstance(found, dict) else 0


def metadata_text(metadata: dict[str, Any], key: str) -> str | None:
    """A string in the metadata; None where there is none."""
    found = metadata.get(key)
    return found if isinstance(found, str) else None


def build_metadata(*, wide: bool, reference_ms: int, pattern: str, zone: str, syntax: str = "") -> bytes:
    """The metadata as CLP's serializer writes them.  Raises `UnicodeEncodeError` for lone surrogates.

    `wide`: variables of eight bytes; `reference_ms`: what the first event counts from, only stated if not `wide`;
    `pattern`, its `syntax`, and `zone`: how to print times.
    """
    found = {
        "TIMESTAMP_PATTERN": pattern,
        "TIMESTAMP_PATTERN_SYNTAX": syntax,
        "TZ_ID": zone,
        "VARIABLES_SCHEMA_ID": VARIABLES_SCHEMA,
        "VARIABLE_ENCODING_METHODS_ID": ENCODING_METHODS,
        "VERSION": VERSIONS[-1],
    }
    if not wide:
        found["REFERENCE_TIMESTAMP"] = str(reference_ms)
    return json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")


def build_utc_offset(offset_ms: int) -> bytes:
    """A change of the offset from UTC."""
    return bytes((Tags.UTC_OFFSET_CHANGE,)) + struct.pack(NUMBERS.number8, offset_ms)


def parse_token(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return `(tag, number, end)` of the token at `at`.  Raises `LayoutError`.

    The bytes of its text need not be in `data`, but must be before `end`.
    """
    after, tag, one, two, four, eight, *_ = flat_token(data, at, end)
    return tag, one + two + four + eight, after  # by width in bytes; absent fields are 0


def token_name(data: bytes, at: int) -> str:
    """The kind of token at an offset, as messages name it."""
    return Tags(parse_token(data, at, len(data))[0]).name.lower()


def misfit(data: bytes, at: int) -> LayoutError | None:
    """Return the fault in the token at `at` (truncated, or invalid); None for a valid token."""
    try:
        read_token(data, at, len(data))
    except LayoutError as error:
        return error.with_traceback(None)  # the traceback would keep frames, and so the data, in memory
    return None


__all__ = [
    "DEFAULT_PATTERN",
    "DEFAULT_ZONE",
    "DELTAS",
    "LOG_TYPES",
    "NUMBERS",
    "VARIABLE_TEXTS",
    "VERSIONS",
    "Encodings",
    "KeyedTags",
    "LayoutError",
    "Preamble",
    "Tags",
    "build_metadata",
    "build_utc_offset",
    "flat_token",
    "metadata_text",
    "misfit",
    "parse_metadata",
    "parse_token",
    "reference_time",
    "token_name",
]
