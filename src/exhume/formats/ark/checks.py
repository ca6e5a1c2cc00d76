"""The numbered rules of Ark logs: readers and `verify` use the same wording for a broken rule.

A rule makes errors (`error`) and findings (`finding`); its class of errors is `error=`, FormatError by default.  The
first digit of its number is the kind: identity, structure, content or safety.

Spec: ark_log.txt and the rbuf wire format; each rule names its section.
"""

from __future__ import annotations

from exhume.errors import (
    CodecError,
    EntryNotFoundError,
    LimitExceededError,
    QueryError,
    TruncatedError,
    UnrecognizedFormatError,
    UnsupportedFeatureError,
)
from exhume.findings import RuleTable, Severity

RULES = RuleTable("ARK")
_rule = RULES.rule

# Sections of the specifications, which several rules name.
_SPLIT = "ark_log.txt, Split File Format"
_MANIFEST = "ark_log.txt, Manifest File Format"
_RBUF = "rbuf wire format"
_TRAILER = "rbuf serializable file"
_FOOTER = "compression footer"
_REGISTRY = "rbuf schema registry"

# 1xx: identity

NOT_A_LOG = _rule(
    101,
    "no Ark log found",
    spec="ark_log.txt, On-Disk Format",
    error=UnrecognizedFormatError,
    hint="A log is opened by its manifest file, by the directory that holds `manifests/` and `splits/`, or by a "
    "directory of such directories.",
)
SPLIT_VERSION = _rule(102, "split format version is not 1", spec=_SPLIT, error=UnsupportedFeatureError)
SPLIT_NAME = _rule(
    103,
    "split file name does not match its identifier",
    spec="ark_log.txt, On-Disk Format",
    hint="Files were renamed or exchanged. The messages are those of another split; nothing is read from it.",
)
MANIFEST_NAME = _rule(
    104,
    "manifest file name is not the log identifier",
    spec="ark_log.txt, On-Disk Format",
    hint="The file was renamed, or copied under another name.",
)
TRAILER_MAGIC = _rule(
    105,
    "bytes after the manifest object are not a trailer: magic missing",
    spec=_TRAILER,
    hint="The trailer's last 16 bytes are damaged or cut off. The manifest itself can be whole: it is read with the "
    "built-in schemas.",
)
TRAILER_VERSION = _rule(106, "trailer version is not 1", spec=_TRAILER, error=UnsupportedFeatureError)
TRAILER_TYPE = _rule(107, "file does not contain a log manifest", spec=_TRAILER, error=UnrecognizedFormatError)
SEVERAL_LOGS = _rule(
    108,
    "several logs found: name one",
    spec="ark_log.txt, On-Disk Format",
    error=QueryError,
    hint="Give the manifest file, or the log's GUID (`--log`).",
)
SCHEMA_SOURCE = _rule(
    109,
    "manifest was read without a schema of its own",
    spec=_MANIFEST,
    severity=Severity.WARNING,
    hint="The serializable file carries no usable registry. Built-in schemas are accepted when they consume every byte "
    "of every group; the last resort attaches every split that the manifest's bytes name.",
)

# 3xx: structure and order

ENDS_EARLY = _rule(301, "data ends inside an rbuf value", spec=_RBUF, error=TruncatedError)
OBJECT_HEADER = _rule(302, "not an rbuf object header", spec=_RBUF)
RESERVED_BIT = _rule(
    303,
    "reserved bit 0x08 of an object header is set",
    spec=_MANIFEST,
    severity=Severity.WARNING,
    hint="The published text calls it the group bit; readers of real logs use 0x04 and refuse this one. It is read as "
    "'groups follow'.",
)
GROUP_HEADER = _rule(304, "not an rbuf group header", spec=_RBUF)
GROUP_SIZE = _rule(305, "group reaches past the end of the data", spec=_RBUF, error=TruncatedError)
GROUP_LENGTH = _rule(
    306,
    "group size differs from its schema",
    spec=_RBUF,
    severity=Severity.NOTE,
    hint="Written with an older or newer schema: missing fields take defaults, more bytes are skipped.",
)
GROUP_UNKNOWN = _rule(307, "group unknown to the schema was skipped", spec=_RBUF, severity=Severity.NOTE)
GROUP_TWICE = _rule(308, "object has two groups with the same number", spec=_RBUF)
COUNT = _rule(309, "count exceeds the available bytes", spec=_RBUF, error=TruncatedError)
TEXT = _rule(310, "string is not UTF-8", spec=_RBUF)
VARIANT_UNKNOWN = _rule(311, "variant index is not in its schema", spec=_RBUF, severity=Severity.NOTE)
VARIANT_LENGTH = _rule(312, "variant length does not match its object", spec=_RBUF)
REPEATED_KEY = _rule(314, "duplicate key in a dictionary", spec=_RBUF, severity=Severity.WARNING)

SPLIT_HEADER = _rule(320, "not a split header", spec=_SPLIT)
SPLIT_SHORT = _rule(321, "split file is shorter than 1024 bytes", spec=_SPLIT, severity=Severity.WARNING)
INDEX_OUTSIDE = _rule(
    322,
    "index reaches outside the file",
    spec=_SPLIT,
    error=TruncatedError,
    hint="The file was truncated, or its header is damaged. Salvage keeps the entries that are there.",
)
INDEX_CAPACITY = _rule(323, "more indexed items than the maximum", spec=_SPLIT, severity=Severity.WARNING)
INDEX_ORDER = _rule(
    324,
    "index is not in time order",
    spec=_SPLIT,
    hint="The specification says it is sorted. Reading sorts it; a split that was not closed looks so too.",
)
ENTRY_OUTSIDE = _rule(325, "message outside the file", spec=_SPLIT, error=TruncatedError)
ENTRY_ID = _rule(
    326,
    "undeclared short identifier in an index entry",
    spec=_SPLIT,
    hint="The bytes of the message may be whole, but its channel is unknown and is not guessed.",
)
ENTRY_FLAGS = _rule(327, "reserved flags of an index entry are set", spec=_SPLIT, severity=Severity.WARNING)
ENTRY_EMPTY = _rule(328, "index entry has no bytes", spec=_SPLIT)
ENTRY_OVERLAP = _rule(
    329,
    "message overlaps the header, the index or another message",
    spec=_SPLIT,
    hint="An offset or size of the index is wrong; at least one of the two messages has wrong bytes.",
)
MAPPING_REPEATED = _rule(330, "short identifier or object is mapped twice", spec=_SPLIT)
MAPPING_UNDECLARED = _rule(331, "split maps an object that its column does not declare", spec=_MANIFEST)
UNCLOSED = _rule(
    332,
    "index entries past the indexed count: the split was not closed",
    spec=_SPLIT,
    hint="The writer was stopped. `exhume repair` writes a log that has these messages too.",
)
UNEXPLAINED = _rule(333, "unreferenced bytes of a split", spec=_SPLIT, severity=Severity.NOTE)

MISSING_SPLIT = _rule(
    340,
    "split named in the manifest is missing",
    spec=_MANIFEST,
    error=EntryNotFoundError,
    hint="Read with `--on-missing skip`, or write a manifest without it: `exhume repair`.",
)
UNREFERENCED = _rule(
    341, "no manifest refers to this split", spec="ark_log.txt, On-Disk Format", severity=Severity.WARNING
)
SPLIT_REPEATED = _rule(342, "section names the same split twice", spec=_MANIFEST)
STATISTICS = _rule(
    343,
    "manifest statistics differ from the split's index",
    spec=_MANIFEST,
)
TRAILER_SIZES = _rule(344, "content, trailer and footer do not fill the file", spec=_TRAILER)
MANIFEST_TRAILING = _rule(345, "manifest has extra or missing bytes", spec=_MANIFEST)
OLD_COLUMNS = _rule(
    346, "list of removed columns is not empty; it is ignored", spec=_MANIFEST, severity=Severity.WARNING
)
OBJECT_REPEATED = _rule(347, "column declares the same object twice", spec=_MANIFEST)
MANIFEST_DAMAGED = _rule(
    348,
    "manifest cannot be read",
    spec=_MANIFEST,
    hint="Neither its own schema nor a built-in one fits. `exhume salvage` attaches every split that its bytes name.",
)
MANIFEST_FIELDS_UNKNOWN = _rule(
    349,
    "manifest has fields that the specification does not name; they are ignored",
    spec=_MANIFEST,
    severity=Severity.NOTE,
    hint="The manifest's own schema describes them: `exhume explain` shows their values.",
)

# 4xx: content

FOOTER_MISSING = _rule(401, "message of a compressed column has no footer", spec=_FOOTER, error=CodecError)
FOOTER_CODEC = _rule(402, "unknown codec in a message footer", spec=_FOOTER, error=UnsupportedFeatureError)
FOOTER_OTHER = _rule(403, "message codec differs from that of its column", spec=_FOOTER, severity=Severity.WARNING)
NO_DECODE = _rule(404, "message does not decompress", spec=_FOOTER, error=CodecError)
BARE_FRAME = _rule(
    405, "compressed message without footer was read as a bare frame", spec=_FOOTER, severity=Severity.WARNING
)
COLUMN_CODEC = _rule(406, "unknown compression type of a column", spec=_MANIFEST, error=UnsupportedFeatureError)
REGISTRY_TEXT = _rule(410, "schema registry is not usable", spec=_REGISTRY)
REGISTRY_TYPE = _rule(411, "type is not in its schema registry", spec=_REGISTRY)
NO_REGISTRY = _rule(
    412, "channel has no schema registry: its messages stay bytes", spec=_MANIFEST, severity=Severity.NOTE
)
MESSAGE_TRAILING = _rule(413, "extra bytes after the message object", spec=_RBUF)
MESSAGE_TRAILER = _rule(414, "message has a serializable-file trailer", spec=_TRAILER, severity=Severity.NOTE)
FILTER_PATTERN = _rule(
    420,
    "filter entry is not a regular expression; it is taken as a name",
    spec=_MANIFEST,
    severity=Severity.WARNING,
)
FILTER_UNKNOWN = _rule(
    421,
    "acceptance filter is not understood",
    spec=_MANIFEST,
    error=UnsupportedFeatureError,
    hint="It has other fields or groups than the known ones. If sections follow it, what they may show is unknown.",
)
METADATA = _rule(422, "metadata value is not JSON", spec=_MANIFEST, severity=Severity.NOTE)

# 5xx: safety

NESTING = _rule(501, "values nest too deeply", spec=_RBUF, error=LimitExceededError)
EXPANSION = _rule(502, "value has more elements than its bytes justify", spec=_RBUF, error=LimitExceededError)
PATTERN_COST = _rule(
    503,
    "regular expression of a filter could take unbounded time",
    spec=_MANIFEST,
    error=LimitExceededError,
    hint="Repetitions inside repetitions are refused in patterns that come from a file.",
)
SPLIT_REFERENCES = _rule(504, "manifest names one split too many times", spec=_MANIFEST, error=LimitExceededError)
