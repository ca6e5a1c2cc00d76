"""Numbered rules of clp-s: one wording and one code for the reader's exception and for `verify`'s finding.

Spec: clp_s.txt; each rule names its section.
"""

from __future__ import annotations

from exhume.errors import (
    CodecError,
    LimitExceededError,
    TruncatedError,
    UnrecognizedFormatError,
    UnsupportedFeatureError,
)
from exhume.findings import RuleTable, Severity

RULES = RuleTable("CLPS")
_rule = RULES.rule

HEADER = "clp-s format, Header section"
METADATA = "clp-s format, Metadata section"
FILES = "clp-s format, Files section"
FILE_INFO = "clp-s format, ArchiveFileInfo packet"
TIMESTAMPS = "clp-s format, TimestampDictionary packet"
RANGES = "clp-s format, RangeIndex packet"
TREE = "clp-s format, Merged parse tree"
SCHEMAS = "clp-s format, Schema map"
TABLES = "clp-s format, Table metadata"
SEGMENTS = "clp-s format, Table segments"
DICTIONARIES = "clp-s format, Variable dictionary, Log-type dictionary, Array log-type dictionary"

BAD_MAGIC = _rule(101, "not a clp-s archive", spec=HEADER, error=UnrecognizedFormatError)
BAD_COMPRESSION = _rule(102, "unknown compression type", spec=HEADER, error=UnsupportedFeatureError)
UNKNOWN_VERSION = _rule(
    103,
    "format version that exhume does not know",
    spec=HEADER,
    error=UnsupportedFeatureError,
    hint="It is read like the nearest version known; text and timestamps may have changed since.",
)
BAD_SEGMENT_COUNT = _rule(104, "segment count is not 1", spec=METADATA, error=UnsupportedFeatureError)
NO_HEADER_FILE = _rule(
    105,
    "directory archive of a version that wrote no header file",
    spec=HEADER,
    error=UnsupportedFeatureError,
    hint="clp-s of before January 2025 wrote timestamp.dict instead. Such a directory does not state its version.",
)

SHORT_HEADER = _rule(301, "file is shorter than a header", spec=HEADER, error=TruncatedError)
FILE_TOO_SHORT = _rule(
    302,
    "file is shorter than its header states",
    spec=HEADER,
    error=TruncatedError,
    hint="A cut download or an interrupted writer. Tables before the cut are still read.",
)
TRAILING_BYTES = _rule(
    303, "bytes after the end of the archive", spec=HEADER, severity=Severity.WARNING, hint="Upstream ignores them."
)
BAD_METADATA_SIZE = _rule(304, "metadata section does not fit the archive", spec=HEADER)
BAD_METADATA = _rule(305, "metadata packets are malformed", spec=METADATA)
BAD_FILE_INFO = _rule(306, "list of sections is missing or malformed", spec=FILE_INFO)
MISSING_SECTION = _rule(307, "section is missing", spec=FILE_INFO)
BAD_SECTION_OFFSET = _rule(308, "section is outside the archive or before its predecessor", spec=FILE_INFO)
BAD_FRAME = _rule(309, "compressed section cannot be decoded", spec=FILES, error=CodecError)
TRAILING_PAYLOAD = _rule(
    310,
    "bytes after the last structure of a section",
    spec=FILES,
    severity=Severity.WARNING,
    hint="Upstream ignores them; nothing it writes has them.",
)
RESERVED_NOT_ZERO = _rule(311, "reserved header bytes are not zero", spec=HEADER, severity=Severity.WARNING)
FILE_TOO_LONG = _rule(
    312,
    "file is longer than the header states",
    spec=FILE_INFO,
    hint="It belongs to another archive, or something was appended to it. It is not read; salvage takes what is in it.",
)
FOREIGN_HEADER = _rule(
    313,
    "most file sizes do not match the header",
    spec=FILE_INFO,
    hint="The header belongs to another archive, or copying was interrupted. Salvage does without it.",
)
BAD_TREE = _rule(320, "schema tree is malformed", spec=TREE)
BAD_PARENT = _rule(321, "node does not come after its parent", spec=TREE)
REPEATED_NODE = _rule(
    322,
    "duplicate node in the schema tree",
    spec=TREE,
    severity=Severity.WARNING,
    hint="Upstream merges the two, which moves all later ids down by one; exhume reads it the same way.",
)
UNKNOWN_NODE_TYPE = _rule(323, "unknown node type", spec=TREE, error=UnsupportedFeatureError)
NO_ROOT = _rule(
    324,
    "no root object",
    spec=TREE,
    severity=Severity.NOTE,
    hint="Upstream prints such records as {}; --complete prints their content.",
)
BAD_SCHEMA_MAP = _rule(330, "schema map is malformed", spec=SCHEMAS)
BAD_SCHEMA_NODE = _rule(331, "schema names a node that does not exist", spec=SCHEMAS)
BAD_RUN = _rule(332, "layout of a structured array is malformed", spec=SCHEMAS)
REPEATED_SCHEMA = _rule(333, "duplicate schema id", spec=SCHEMAS, severity=Severity.WARNING)
UNSUPPORTED_COLUMN = _rule(
    334, "column type that cannot occur in a structured array", spec=SCHEMAS, error=UnsupportedFeatureError
)
MISPLACED_NODE = _rule(
    335,
    "schema names a node that has no place in a record",
    spec=SCHEMAS,
    hint="Its values would be left out. A node that is named twice is what upstream writes for records with two equal "
    "keys of the same type; it cannot read them either.",
)
REPEATED_RUN = _rule(
    336,
    "schema has a structured array twice",
    spec=SCHEMAS,
    severity=Severity.WARNING,
    hint="Records with two equal keys have that. Upstream prints the first of the two arrays, and so does exhume.",
)
BAD_TABLE_METADATA = _rule(340, "table metadata is malformed", spec=TABLES)
SEPARATE_COLUMNS = _rule(341, "separately stored columns", spec=TABLES, error=UnsupportedFeatureError)
BAD_STREAM_ID = _rule(342, "table names a stream that does not exist", spec=TABLES)
BAD_STREAM_OFFSET = _rule(343, "stream is outside the tables section or before its predecessor", spec=TABLES)
BAD_TABLE_OFFSET = _rule(344, "table is outside its stream or before its predecessor", spec=TABLES)
STREAM_ORDER = _rule(
    345,
    "tables are not in the order of their streams",
    spec=TABLES,
    severity=Severity.WARNING,
    hint="Upstream stops at such a table; exhume reads it.",
)
UNKNOWN_SCHEMA = _rule(346, "table names a schema that does not exist", spec=TABLES)
BAD_STREAM_SIZE = _rule(347, "stream size does not match the table metadata", spec=SEGMENTS)
BAD_TABLE_SIZE = _rule(348, "table size does not match its columns", spec=SEGMENTS)
BAD_DICTIONARY = _rule(350, "dictionary is malformed", spec=DICTIONARIES)
REPEATED_ENTRY = _rule(
    351,
    "duplicate value in a dictionary",
    spec=DICTIONARIES,
    severity=Severity.WARNING,
    hint="Reading is not affected; upstream's search finds only the first.",
)

BAD_LOG_TYPE_ID = _rule(401, "row names a log type that does not exist", spec=SEGMENTS)
BAD_VARIABLE_ID = _rule(402, "reference to a variable that does not exist", spec=SEGMENTS)
BAD_VARIABLE_OFFSET = _rule(
    403,
    "variables of a row are outside its column",
    spec=SEGMENTS,
    hint="Writers up to 0.3.2 merge strings that differ only by a raw 0x11 or 0x12 byte; upstream prints garbage then.",
)
BAD_ENCODED_FLOAT = _rule(404, "encoded float has impossible digit counts", spec=SEGMENTS)
UNKNOWN_PATTERN = _rule(405, "timestamp names a pattern that does not exist", spec=SEGMENTS)
BAD_PATTERN = _rule(406, "timestamp pattern is malformed", spec=TIMESTAMPS)
UNPRINTABLE_TIMESTAMP = _rule(407, "timestamp cannot be printed with its pattern", spec=TIMESTAMPS)
BAD_TIMESTAMP_DICTIONARY = _rule(408, "timestamp dictionary is malformed", spec=TIMESTAMPS)
BAD_RANGE_INDEX = _rule(409, "range index is malformed", spec=RANGES)
RANGE_ORDER = _rule(410, "ranges of the range index overlap or are out of order", spec=RANGES)
RANGE_COVERAGE = _rule(411, "range index does not match the records exactly", spec=RANGES, severity=Severity.WARNING)
TIMESTAMP_BOUNDS = _rule(412, "timestamp outside its recorded range", spec=TIMESTAMPS)
LOG_ORDER = _rule(413, "log_event_idx does not increase within a table", spec=SEGMENTS)
NOT_UTF8 = _rule(414, "text is not UTF-8", spec=DICTIONARIES, severity=Severity.WARNING)
NO_TABLES = _rule(
    415,
    "archive has no records",
    spec=TABLES,
    severity=Severity.NOTE,
    hint="Upstream writes such archives but refuses to read them.",
)
HIDDEN_DATA = _rule(
    416,
    "values that upstream does not print",
    spec=TREE,
    severity=Severity.NOTE,
    hint="Root arrays and auto-generated keys: `cat --complete` and events() give them.",
)
BAD_TIMESTAMP_NODE = _rule(417, "timestamp dictionary names a node that does not exist", spec=TIMESTAMPS)

TOO_LARGE = _rule(501, "section exceeds the limit", spec=FILES, error=LimitExceededError)
TOO_COMPLEX = _rule(502, "schema takes too many steps to lay out", spec=SCHEMAS, error=LimitExceededError)
