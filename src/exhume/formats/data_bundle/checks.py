"""The numbered rules of DataBundle.  Rules of the index, which is a LevelDB database, are those of `leveldb`.

A shard is a file with content; its stream is that content without compression, stored in records.  Rows are the entries
of the index: a configuration, files, records.  `_rule` takes the number, the title, the section of the specification
and the error that readers raise.

Spec: data_bundle.txt; each rule names its section.
"""

from __future__ import annotations

from exhume.errors import ChecksumError, CodecError, TruncatedError, UnrecognizedFormatError, UnsupportedFeatureError
from exhume.findings import RuleTable, Severity

RULES = RuleTable("DBND")
_rule = RULES.rule

# Sections of the specification that define the rules.
_ROWS = "DataBundle format, Index"
_SHARD = "DataBundle format, Shard Files"

# 1xx identity
NO_CONFIG = _rule(
    101,
    "index has no bundle configuration",
    spec=_ROWS,
    error=UnrecognizedFormatError,
    hint="Not a bundle, or its configuration row was deleted.",
)
CONFIG_MAGIC = _rule(102, "configuration row does not state daBundleV1", spec=_ROWS, error=UnrecognizedFormatError)
SHARD_MAGIC = _rule(103, "shard does not start with daBS", spec=_SHARD, error=UnrecognizedFormatError)
COMPRESSION = _rule(104, "unknown compression method", spec=_SHARD, error=UnsupportedFeatureError)
METADATA_PLACE = _rule(105, "shard metadata is not in the index", spec=_SHARD, severity=Severity.WARNING)

# 2xx checksums
FILE_CRC = _rule(201, "CRC-32C of a file does not match its bytes", spec=_ROWS, error=ChecksumError)
RECORD_CODEC = _rule(
    202,
    "record does not decompress",
    spec=_SHARD,
    error=CodecError,
    hint="Damaged bytes, or a row that points to the wrong place. Zlib records carry an Adler-32 of their content.",
)

# 3xx structure and order
CONFIG_ROW = _rule(301, "configuration row cannot be read", spec=_ROWS)
FILE_ROW = _rule(302, "file row cannot be read", spec=_ROWS)
RECORD_ROW = _rule(303, "record row cannot be read", spec=_ROWS)
UNKNOWN_ROW = _rule(304, "index row of an unknown table", spec=_ROWS, error=UnsupportedFeatureError)
SHARD_HEADER = _rule(305, "shard header cannot be read", spec=_SHARD)
SHARD_NUMBER = _rule(306, "wrong shard number", spec=_SHARD)
SHARD_COUNT = _rule(307, "number of shards differs from the shard headers", spec=_SHARD)
HEADER_FILL = _rule(308, "bytes between shard header and data are not zero", spec=_SHARD, severity=Severity.WARNING)
SETTINGS = _rule(309, "configuration and shard header contradict each other", spec=_ROWS, severity=Severity.WARNING)
RECORD_ORDER = _rule(310, "records are not stored in the order of their stream offsets", spec=_SHARD)
RECORD_PLACE = _rule(311, "record outside the data of its shard", spec=_SHARD)
RECORD_ALIGN = _rule(
    312, "record does not start at a multiple of the alignment", spec=_SHARD, severity=Severity.WARNING
)
RECORD_LENGTH = _rule(313, "record size does not match the space between its neighbors", spec=_SHARD)
RECORD_FILL = _rule(314, "padding after a record is not zero, or truncated", spec=_SHARD, severity=Severity.WARNING)
FILE_PLACE = _rule(315, "file outside the stream of its shard", spec=_ROWS, error=TruncatedError)
MISSING_SHARD = _rule(316, "shard named in the index is missing", spec=_SHARD)
UNUSED_SHARD = _rule(317, "no index row refers to a shard", spec=_SHARD, severity=Severity.WARNING)
DIRECTORY_SIZE = _rule(318, "directory has content", spec=_ROWS, severity=Severity.WARNING)
FILE_TYPE = _rule(
    319,
    "unknown file type, read as a file",
    spec=_ROWS,
    severity=Severity.NOTE,
    hint="A type that is not set is read as a file by all; another unknown one is `unchecked`.",
)
FILE_OVERLAP = _rule(320, "files overlap in the stream of a shard", spec=_SHARD, severity=Severity.WARNING)
STREAM_GAP = _rule(
    321,
    "unused bytes of a stream",
    spec=_SHARD,
    severity=Severity.NOTE,
    hint="The contents of deleted or replaced files stay in the shards: see `exhume list --all-versions`.",
)
RELATIVE = _rule(
    322,
    "record offsets count from the first data byte, not from the start of the file",
    spec=_SHARD,
    severity=Severity.NOTE,
)
ZERO_RECORD = _rule(323, "record of zeros exceeds the maximum record size", spec=_SHARD)

# 4xx content
NAME = _rule(401, "file name cannot be used as a path", spec=_ROWS, severity=Severity.WARNING)
OLD_ROW = _rule(
    402, "deleted or replaced file is readable, and its CRC-32C matches", spec=_ROWS, severity=Severity.NOTE
)
EXTRA_FILE = _rule(403, "file is not part of the bundle", spec=_SHARD, severity=Severity.NOTE)
UNKNOWN_FIELDS = _rule(
    404,
    "message has fields that the specification does not name; they are ignored",
    spec=_ROWS,
    severity=Severity.NOTE,
    hint="Fields of Protocol Buffers have numbers, not names: `exhume explain` shows their values.",
)
