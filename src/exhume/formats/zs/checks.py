"""The numbered rules of ZS 0.10; readers raise them, `verify` collects them.  Offsets in spans are absolute.

Spec: zs.txt; each rule names its section."""

from __future__ import annotations

import json
from math import isinf
from typing import Any

from exhume.errors import (
    ChecksumError,
    CodecError,
    LimitExceededError,
    Span,
    TruncatedError,
    UnrecognizedFormatError,
    UnsupportedFeatureError,
    shorten,
)
from exhume.findings import RuleTable, Severity

RULES = RuleTable("ZS")
# A rule is (number, title of the finding, section of the specification, ...); `hint`: cause and remedy for the user;
# `error`: the exception that readers raise (default: `StructureError`).
_rule = RULES.rule

# 1xx: is this a ZS file that can be read?

NOT_ZS = _rule(
    101,
    "not a ZS file: wrong magic number",
    spec="Magic number",
    error=UnrecognizedFormatError,
    hint="The first eight bytes are neither those of a ZS file nor those of an unfinished one.",
)
INCOMPLETE = _rule(
    102,
    "unfinished ZS file; `exhume salvage` recovers its blocks",
    spec="Magic number",
    error=TruncatedError,
    hint="The magic number says `ZStoBe`: the program that wrote the file was stopped before it was done.",
)
UNKNOWN_CODEC = _rule(
    103,
    "unknown codec",
    spec="Header, Codec",
    error=UnsupportedFeatureError,
    hint="ZS 0.10 knows `none`, `deflate` and `lzma2;dsize=2^20`, padded with NUL bytes to 16.",
)

# 2xx: checksums

HEADER_CRC = _rule(
    201,
    "header checksum mismatch",
    spec="Header, CRC-64-xz",
    error=ChecksumError,
    hint="A byte of the header, of its length field or of the checksum itself was changed.",
)
BLOCK_CRC = _rule(
    202,
    "block checksum mismatch",
    spec="Blocks, CRC-64-xz",
    error=ChecksumError,
    hint="A byte of the block, of its length field or of the checksum itself was changed.",
)
DATA_SHA256 = _rule(
    203,
    "data SHA-256 mismatch",
    spec="Header, SHA-256 of data",
    error=ChecksumError,
    hint="Each block may be intact while some are missing, duplicated or in a different order.",
)

# 3xx: structure and order

HEADER_CUT = _rule(301, "file ends inside its header", spec="Header", error=TruncatedError)
HEADER_LAYOUT = _rule(
    302,
    "header fields do not fit its length",
    spec="Header",
    hint="The header is shorter than its fixed fields, or the metadata exceeds its end.",
)
FILE_LENGTH = _rule(
    303,
    "file size differs from the header",
    spec="Header, Total file length",
    hint="Too short: truncated, perhaps at a block boundary, which no checksum detects. Too long: data was appended.",
)
BLOCK_CUT = _rule(304, "file ends inside a block", spec="Blocks", error=TruncatedError)
BLOCK_LENGTH = _rule(
    305, "block length is not a shortest-form uleb128 of at most 64 bits", spec="Integer representations"
)
BLOCK_EMPTY = _rule(
    306,
    "block has no level byte",
    spec="Blocks, Level",
    hint="A zero byte where a block should start; often there are bytes between header and first block.",
)
STREAM_CORRUPT = _rule(307, "block payload does not decompress", spec="Header, Codec", error=CodecError)
STREAM_TRAILING = _rule(
    308,
    "bytes after the end of a block's compressed stream",
    spec="Blocks, Compressed payload",
    error=CodecError,
    hint="The specification allows no other bytes in the payload; they may hide something.",
)
RECORD_CUT = _rule(309, "record passes the end of its block's payload", spec="Data block payload")
ENTRY_CUT = _rule(310, "index entry passes the end of its block's payload", spec="Index block payload")
INTEGER_FORM = _rule(
    311,
    "length or offset in a payload is not a shortest-form uleb128 of at most 64 bits",
    spec="Integer representations",
)
DATA_EMPTY = _rule(312, "data block has no records", spec="Data block payload")
INDEX_EMPTY = _rule(313, "index block has no entries", spec="Index block payload")
RECORD_ORDER = _rule(
    320,
    "record is smaller than the one before it in its block",
    spec="Key invariants",
    hint="Searches miss records. Sort with `LC_ALL=C sort` and write the file again.",
)
BLOCK_ORDER = _rule(
    321,
    "data block starts with a record smaller than the last one of an earlier block",
    spec="Key invariants",
    hint="Searches miss records. Some writers compare records within blocks only.",
)
KEY_ORDER = _rule(322, "index key is smaller than the one before it in its block", spec="Key invariants")
KEY_TOO_SMALL = _rule(323, "index key is smaller than a record before the block it refers to", spec="Key invariants")
KEY_TOO_LARGE = _rule(
    324, "index key is greater than the first record below the block it refers to", spec="Key invariants"
)
REF_DANGLING = _rule(330, "index entry refers to an offset where no block starts", spec="Index block payload")
REF_LEVEL = _rule(
    331,
    "index entry refers to a block that is not one level below",
    spec="Key invariants",
    hint="Also what a cycle or a reference of a block to itself comes down to.",
)
REF_TWICE = _rule(332, "block referenced more than once", spec="Key invariants")
REF_LENGTH = _rule(333, "index entry states a wrong block length", spec="Index block payload, Block length")
UNREFERENCED = _rule(334, "unreferenced block", spec="Key invariants")
ROOT_OFFSET = _rule(335, "no block starts at the root index offset", spec="Header, Root index offset")
ROOT_LENGTH = _rule(336, "header states a wrong root index length", spec="Header, Root index length")
ROOT_LEVEL = _rule(
    337,
    "root is not an index block",
    spec="Blocks, Level",
    hint="Index blocks have levels 1 to 63; the root offset leads to a data or extension block.",
)
ROOT_REFERENCED = _rule(338, "index refers to the root", spec="Key invariants")

# 4xx: content

METADATA_UTF8 = _rule(401, "metadata is not UTF-8", spec="Header, Metadata")
METADATA_JSON = _rule(
    402,
    "metadata is not JSON",
    spec="Header, Metadata",
    hint="`NaN`, `Infinity` and a byte order mark are not JSON either, although some parsers take them.",
)
METADATA_OBJECT = _rule(403, "metadata is not a JSON object", spec="Header, Metadata")
METADATA_TWICE = _rule(
    404,
    "duplicate key in the metadata",
    spec="Header, Metadata",
    severity=Severity.WARNING,
    hint="JSON parsers differ in which of the two they keep.",
)

# 5xx: safety

BOMB = _rule(
    501,
    "decompressed block payload exceeds the limit (payload_size or expansion)",
    spec="Blocks, Compressed payload",
    error=LimitExceededError,
    hint="Raise `--limit payload_size` or `--limit expansion` if the block is legitimate.",
)
TOO_MANY_PENDING = _rule(
    502,
    "too many blocks wait for a reference; references are not checked from here on",
    spec="Key invariants",
    error=LimitExceededError,
    hint="Raise `--limit entries` if the file is legitimate.",
)
INDEX_TOO_LARGE = _rule(
    503,
    "index block exceeds the limit of entries",
    spec="Index block payload",
    error=LimitExceededError,
    hint="The bound is 1,000,000; writers use about 1,000.",
)
METADATA_LIMIT = _rule(
    504,
    "metadata nests too deeply, or has a number that is too large",
    spec="Header, Metadata",
    error=LimitExceededError,
    hint="JSON allows it. The bounds are those of Python: some 1,000 levels, 4,300 digits, and 64-bit floats.",
)


class _NotJsonError(ValueError):
    """A constant that JSON does not have."""


def _refuse_constant(text: str) -> None:
    """Reject `NaN` and `Infinity`, which `json` would take."""
    raise _NotJsonError(f"{text} is not JSON")


class _TooLargeError(ValueError):
    """A number that JSON allows, and that is too large to be read."""


def _integer(text: str) -> int:
    """Parse an integer; Python limits the digits, and JSON does not."""
    try:
        return int(text)
    except ValueError as error:
        raise _TooLargeError(f"a number with this many digits: {len(text):,}") from error


def _float(text: str) -> float:
    """Parse a float; one above the range of 64 bits would become infinity."""
    value = float(text)
    if isinf(value):
        raise _TooLargeError(f"the number {shorten(text)}")
    return value


def parse_metadata(raw: bytes, span: Span) -> tuple[dict[str, Any], list[str]]:
    """Return the metadata object, and the keys that occur more than once in it; `span` is the position of the bytes.

    Raises ZS-401, ZS-402, ZS-403, ZS-504.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        where = span.sub(error.start, error.end)
        raise METADATA_UTF8.error(span=where, actual=raw[error.start : error.end]) from error
    twice: list[str] = []

    def collect(items: list[tuple[str, Any]]) -> dict[str, Any]:
        """Make an object of its members, and note the keys that it has twice."""
        out: dict[str, Any] = {}
        for key, value in items:
            if key in out:
                twice.append(key)
            out[key] = value
        return out

    try:
        value = json.loads(
            text,
            object_pairs_hook=collect,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())  # offset in bytes; the error has it in characters
        raise METADATA_JSON.error(error.msg, span=span.sub(at, span.size)) from error
    except (_TooLargeError, RecursionError) as error:
        raise METADATA_LIMIT.error(str(error) if isinstance(error, _TooLargeError) else "", span=span) from error
    except ValueError as error:
        raise METADATA_JSON.error(str(error), span=span) from error
    if not isinstance(value, dict):
        raise METADATA_OBJECT.error(span=span, actual=type(value).__name__)
    return value, twice
