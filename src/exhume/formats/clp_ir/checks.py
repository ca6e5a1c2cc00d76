"""Numbered rules of IR streams of text: one wording and one code for the reader's exception and for `verify`'s finding.

Spec: `docs/formats/clp_ir.md`; each rule names its section.
"""

from __future__ import annotations

from exhume.errors import CodecError, TruncatedError, UnrecognizedFormatError, UnsupportedFeatureError
from exhume.findings import RuleTable, Severity
from exhume.formats.kv_ir.checks import StreamRules
from exhume.formats.kv_ir.units import Status

RULES = RuleTable("CLPIR")
_rule = RULES.rule

PREAMBLE = "CLP IR, Preamble"
UNITS = "CLP IR, Units"
EVENTS = "CLP IR, Events"
MESSAGES = "CLP IR, Messages"
TIMES = "CLP IR, Times"
WRAPPING = "CLP IR, Wrapping"

# 1xx: is this a stream that can be read?

NOT_CLP_IR = _rule(101, "not a CLP IR stream: wrong magic number", spec=PREAMBLE, error=UnrecognizedFormatError)
KEY_VALUE = _rule(
    102,
    "an IR stream of key-value pairs, not of text messages",
    spec=PREAMBLE,
    error=UnsupportedFeatureError,
    hint="Open it as kv-ir.",
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
UNIT_CUT = _rule(304, "stream ends inside an event", spec=UNITS, error=TruncatedError)
UNKNOWN_TAG = _rule(305, "invalid token tag", spec=UNITS, hint="Where the next event begins is not known.")
UNEXPECTED = _rule(
    306,
    "unexpected token",
    spec=EVENTS,
    hint="Also a variable or a time of the other encoding: four bytes in a stream of eight, or eight in one of four.",
)
FRAME_CORRUPT = _rule(307, "zstd frame cannot be decoded", spec=WRAPPING, error=CodecError)
FRAME_CUT = _rule(308, "file ends inside a zstd frame", spec=WRAPPING, error=TruncatedError)
TRAILING_BYTES = _rule(
    309,
    "bytes after the end of the stream",
    spec=UNITS,
    severity=Severity.WARNING,
    hint="Readers stop at the end; something may have been appended.",
)

# 4xx: content

METADATA_JSON = _rule(401, "metadata is not a JSON object", spec=PREAMBLE)
REFERENCE_TIME = _rule(
    402,
    "metadata does not state the reference time of the first event",
    spec=TIMES,
    hint="Times are read as if it were 0: their differences are right, the times are not.",
)
BAD_TEXT = _rule(403, "variables of a message do not match its log type", spec=MESSAGES)
TIME_RANGE = _rule(
    404,
    "time outside the years 1 to 9999",
    spec=TIMES,
    severity=Severity.WARNING,
    hint="It is printed as its number of milliseconds.",
)
NOT_UTF8 = _rule(
    405,
    "message is not UTF-8",
    spec=MESSAGES,
    severity=Severity.WARNING,
    hint="Reading returns the bytes as they are; other programs may refuse the event.",
)
PATTERN = _rule(
    406,
    "times cannot be printed in the stream's pattern",
    spec=TIMES,
    severity=Severity.NOTE,
    hint="They are printed as ISO 8601. CLP's handlers for Python write such a pattern unless one is given.",
)
ZONE = _rule(407, "unknown time zone", spec=TIMES, severity=Severity.NOTE, hint="Times are printed in UTC.")
OFFSET = _rule(
    408,
    "offset from UTC is a day or more",
    spec=TIMES,
    severity=Severity.WARNING,
    hint="It is ignored when times are printed.",
)

STREAM = StreamRules(
    not_one=NOT_CLP_IR,
    preamble_cut=PREAMBLE_CUT,
    bad_preamble=BAD_PREAMBLE,
    no_end=NO_END,
    unit_cut=UNIT_CUT,
    unknown_tag=UNKNOWN_TAG,
    frame_corrupt=FRAME_CORRUPT,
    frame_cut=FRAME_CUT,
    trailing_bytes=TRAILING_BYTES,
    of_status={
        Status.UNEXPECTED: UNEXPECTED,
        Status.LOG_TYPE: BAD_TEXT,
        Status.UTF8: NOT_UTF8,
        Status.TIME: TIME_RANGE,
        Status.OFFSET: OFFSET,
    },
)
"""The rules of this format for the code that both kinds of IR streams share."""
