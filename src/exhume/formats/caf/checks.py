"""The numbered rules of CAF: what the reader raises and what `verify` reports have the same wording.

A rule makes errors and findings; its class of errors is `error=`, FormatError by default.  A chunk is a CAF file: the
bytes of its files (data section), an index in JSON, and a footer with the size of the index.

Spec: caf.txt; each rule names its section.
"""

from __future__ import annotations

from exhume.errors import (
    LimitExceededError,
    TruncatedError,
    UnrecognizedFormatError,
    UnsupportedFeatureError,
)
from exhume.findings import RuleTable, Severity

RULES = RuleTable("CAF")
_rule = RULES.rule

# Sections of the specification.
FOOTER = "caf.txt, Footer Section"
INDEX = "caf.txt, File Index Section"
DATA = "caf.txt, File Data Section"
LIMITS = "caf.txt, Size Limits and Constraints"

# 1xx: is this a chunk at all?
TOO_SMALL = _rule(
    101,
    "too small to be a CAF",
    spec=FOOTER,
    error=TruncatedError,
    hint="The shortest chunk has an empty index and the footer: 39 bytes.",
)
INDEX_TOO_LARGE = _rule(
    102,
    "footer states an index larger than the file",
    spec=FOOTER,
    hint="The footer is missing, overwritten or followed by other bytes. `exhume salvage` looks for the index itself.",
)
INDEX_EMPTY = _rule(103, "footer states an index of zero bytes", spec=FOOTER)
NOT_AN_INDEX = _rule(
    104,
    "footer does not point to a JSON object",
    spec=INDEX,
    error=UnrecognizedFormatError,
    hint="The size in the footer is wrong, the file is truncated, or it is not a CAF.",
)
BAD_VERSION = _rule(
    105,
    "unknown format_version",
    spec=INDEX,
    error=UnsupportedFeatureError,
    hint="Only 1.0 is defined. `any_version=True` reads the chunk as if it said 1.0.",
)
NO_FILES = _rule(106, "index has no object `files`", spec=INDEX)
TRAILING_BYTES = _rule(
    107,
    "bytes after the footer",
    spec=FOOTER,
    hint="A footer that fits its index was found before the end of the file: something was appended.",
)

# 3xx: the index as JSON, the ranges as a layout
BAD_JSON = _rule(301, "index is not JSON", spec=INDEX)
INDEX_TOO_DEEP = _rule(302, "index is nested too deeply", spec=INDEX, error=LimitExceededError)
DUPLICATE_NAME = _rule(
    303,
    "duplicate name in the index",
    spec=INDEX,
    hint="Readers see the last entry only. The Go writer makes these when two names collapse onto one.",
)
DUPLICATE_KEY = _rule(304, "duplicate key in a JSON object", spec=INDEX, hint="The last one counts.")
UNKNOWN_MEMBER = _rule(
    305,
    "index key that the specification does not name",
    spec=INDEX,
    severity=Severity.NOTE,
    hint="Ignored. A name that differs only in case (`Files`) is seen by the Go reader and by no other.",
)
BAD_ENTRY = _rule(306, "entry is not an object with start_byte and end_byte", spec=INDEX)
BAD_OFFSET = _rule(
    307,
    "offset is not an integer",
    spec=INDEX,
    hint="Strings, fractions, booleans and null are coerced by one reader, refused by the other, and refused here.",
)
ODD_NUMBER = _rule(
    308,
    "offset is not written as a plain decimal integer",
    spec=INDEX,
    hint="1.0 and 1e3 are integers to one reader and errors to the other; here the entry is refused.",
)
END_BEFORE_START = _rule(309, "end_byte is smaller than start_byte", spec=INDEX)
NEGATIVE_START = _rule(310, "start_byte is negative", spec=INDEX)
RANGE_IN_INDEX = _rule(
    311, "range reaches into the index or footer", spec=DATA, hint="The data section ends where the index starts."
)
RANGE_PAST_END = _rule(312, "range reaches past the end of the file", spec=DATA, error=TruncatedError)
OVERLAP = _rule(
    313,
    "two files share bytes",
    spec=DATA,
    hint="Sequential writers cannot make this; concurrent calls of the TypeScript writer do.",
)
GAP = _rule(
    314,
    "unused bytes in the data section",
    spec=DATA,
    severity=Severity.WARNING,
    hint="The first version of a name added twice, or a file that the writer lost (`__proto__` in TypeScript).",
)
INCLUSIVE_ENDS = _rule(
    315,
    "one byte is missing after every file: the writer took end_byte as inclusive",
    spec=INDEX,
    severity=Severity.WARNING,
    hint="Every file lacks its last byte. `exhume salvage` adds it back.",
)
DEAD_TAIL = _rule(
    316,
    "unused bytes between the last file and the index",
    spec=DATA,
    severity=Severity.WARNING,
    hint="A stream failed or misstated its length; the offsets of later files may be shifted.",
)
EMPTY_OUTSIDE = _rule(317, "empty file outside the data section", spec=DATA)
OTHER_FORM = _rule(
    318,
    "index formatting differs from known writers",
    spec=INDEX,
    severity=Severity.NOTE,
    hint="White space, member order or spelling differ. Readable, but made or edited by something else.",
)

# 4xx: names and sizes
COLLAPSED_NAME = _rule(
    401,
    "name contains U+FFFD, the replacement for bytes that were not UTF-8",
    spec=INDEX,
    severity=Severity.WARNING,
    hint="The original name is lost, and other names may have collapsed onto this one.",
)
BAD_UTF8 = _rule(402, "name is not valid UTF-8", spec=INDEX, hint="Each bad sequence is shown as U+FFFD.")
LONE_SURROGATE = _rule(
    403,
    "name contains a lone surrogate",
    spec=INDEX,
    severity=Severity.WARNING,
    hint="Kept as it is, but it has no UTF-8 form, so it cannot become a file name.",
)
CHUNK_TOO_LARGE = _rule(
    404, "chunk is larger than 32 GiB", spec=LIMITS, severity=Severity.WARNING, hint="The hard limit of the format."
)

# 5xx: safety
UNSAFE_NAME = _rule(
    501,
    "name cannot be extracted safely",
    spec=INDEX,
    severity=Severity.WARNING,
    hint="`..`, absolute, empty, over-long or NUL: readable by name, refused by `extract`.",
)
NAME_CLASH = _rule(
    502,
    "name is both a file and a directory of other files",
    spec=INDEX,
    severity=Severity.WARNING,
    hint="Legal in object storage, impossible in a file system: `extract` refuses one of them.",
)
