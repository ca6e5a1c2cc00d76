"""Numbered rules of KV-IR: one wording and one code for the reader's exception and for `verify`'s finding.

Spec: `docs/formats/kv_ir.md`; each rule names its section.
"""

from __future__ import annotations

from collections.abc import Mapping

from exhume.errors import (
    CodecError,
    LimitExceededError,
    TruncatedError,
    UnrecognizedFormatError,
    UnsupportedFeatureError,
)
from exhume.findings import Rule, RuleTable, Severity
from exhume.formats.kv_ir.units import Status
from exhume.tuples import NamedTuple

RULES = RuleTable("KVIR")
_rule = RULES.rule

PREAMBLE = "KV-IR, Preamble"
UNITS = "KV-IR, Units"
KEYS = "KV-IR, Keys"
EVENTS = "KV-IR, Events"
TEXTS = "KV-IR, Encoded strings"
WRAPPING = "KV-IR, Wrapping"

# 1xx: is this a stream that can be read?

NOT_KV_IR = _rule(101, "not a KV-IR stream: wrong magic number", spec=PREAMBLE, error=UnrecognizedFormatError)
UNSTRUCTURED = _rule(
    102,
    "an IR stream of text messages, not of key-value pairs",
    spec=PREAMBLE,
    error=UnsupportedFeatureError,
    hint="Open it as clp-ir.",
)
UNKNOWN_VERSION = _rule(103, "unknown version of IR streams", spec=PREAMBLE, error=UnsupportedFeatureError)

# 3xx: structure and order

PREAMBLE_CUT = _rule(301, "stream ends inside its preamble", spec=PREAMBLE, error=TruncatedError)
BAD_PREAMBLE = _rule(302, "preamble is malformed", spec=PREAMBLE)
NO_END = _rule(
    303,
    "stream has no end",
    spec=UNITS,
    error=TruncatedError,
    hint="The logger is still writing or was stopped, or the file ends between two events. All events are read.",
)
UNIT_CUT = _rule(304, "stream ends inside a unit", spec=UNITS, error=TruncatedError)
UNKNOWN_TAG = _rule(305, "invalid token tag", spec=UNITS, hint="The units after this byte cannot be located.")
UNEXPECTED = _rule(306, "unexpected token", spec=UNITS)
FRAME_CORRUPT = _rule(307, "zstd frame cannot be decoded", spec=WRAPPING, error=CodecError)
FRAME_CUT = _rule(308, "file ends inside a zstd frame", spec=WRAPPING, error=TruncatedError)
TRAILING_BYTES = _rule(
    309,
    "bytes after the end of the stream",
    spec=UNITS,
    severity=Severity.WARNING,
    hint="Reading stops at the end. `exhume carve` finds streams that were appended.",
)

BAD_PARENT = _rule(320, "new key has no known parent object", spec=KEYS)
KNOWN_KEY = _rule(321, "new key is already declared", spec=KEYS)
UNKNOWN_KEY = _rule(322, "event refers to an undeclared key", spec=EVENTS)
KEY_ORDER = _rule(323, "auto-generated key after a user key", spec=EVENTS)
VALUE_TYPE = _rule(324, "value does not match the type of its key", spec=EVENTS)
REPEATED_KEY = _rule(325, "duplicate key in an object", spec=EVENTS)
NOT_EMPTY = _rule(326, "null or empty object has members", spec=EVENTS)

# 4xx: content

METADATA_JSON = _rule(401, "metadata is not a JSON object", spec=PREAMBLE)
USER_METADATA = _rule(402, "user-defined metadata is not an object", spec=PREAMBLE)
BAD_TEXT = _rule(403, "encoded text does not match its log type", spec=TEXTS)
BAD_ARRAY = _rule(404, "text of an array is not a JSON array", spec=TEXTS)
NOT_UTF8 = _rule(
    405,
    "string or key is not UTF-8",
    spec=TEXTS,
    hint="Reading returns the bytes unchanged; other programs may reject the event.",
)

# 5xx: safety

TOO_DEEP = _rule(
    501, "keys are nested too deeply", spec=KEYS, error=LimitExceededError, hint="The bound is 1,000 levels."
)

OF_STATUS: dict[int, Rule] = {
    Status.UNEXPECTED: UNEXPECTED,
    Status.PARENT: BAD_PARENT,
    Status.TWICE_KNOWN: KNOWN_KEY,
    Status.KEY: UNKNOWN_KEY,
    Status.ORDER: KEY_ORDER,
    Status.TYPE: VALUE_TYPE,
    Status.TWICE: REPEATED_KEY,
    Status.NESTED: NOT_EMPTY,
    Status.LOG_TYPE: BAD_TEXT,
    Status.ARRAY: BAD_ARRAY,
    Status.DEPTH: TOO_DEEP,
    Status.UTF8: NOT_UTF8,
}
"""The rule that is broken, by the decoder's status."""

LOSES_COUNT = frozenset((Status.PARENT, Status.TWICE_KNOWN, Status.DEPTH))
"""Faults of a new key after which the numbers of later keys can no longer be determined.

Keys are numbered in the order of their declarations, and one that cannot be accepted may or may not have a number.
"""


class StreamRules(NamedTuple):
    """The rules about the framing of a stream: KV-IR and CLP IR (text messages) share the code, not the rule numbers.

    `not_one`: the magic number is wrong; `of_status`: the broken rule by the decoder's status.
    """

    not_one: Rule
    preamble_cut: Rule
    bad_preamble: Rule
    no_end: Rule
    unit_cut: Rule
    unknown_tag: Rule
    frame_corrupt: Rule
    frame_cut: Rule
    trailing_bytes: Rule
    of_status: Mapping[int, Rule]


STREAM = StreamRules(
    NOT_KV_IR,
    PREAMBLE_CUT,
    BAD_PREAMBLE,
    NO_END,
    UNIT_CUT,
    UNKNOWN_TAG,
    FRAME_CORRUPT,
    FRAME_CUT,
    TRAILING_BYTES,
    OF_STATUS,
)
