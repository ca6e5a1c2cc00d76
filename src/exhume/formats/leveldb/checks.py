"""The numbered rules of the LevelDB family, and what a reader does when one is broken (a `Report`).

A report takes the rule, a `detail` that is added to its title, the place (`span`, and `field_path` as the specification
names it), and the value that was `expected` and the `actual` one.

Spec: LevelDB doc/; RocksDB; each rule names its document or file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from exhume.errors import (
    ChecksumError,
    CodecError,
    ExhumeError,
    LimitExceededError,
    Span,
    StructureError,
    TruncatedError,
    UnrecognizedFormatError,
    UnsafePathError,
    UnsupportedFeatureError,
)
from exhume.findings import MAX_REMEMBERED, Finding, Rule, RuleTable, Severity
from exhume.formats.leveldb.model import PUTS as KNOWN_PUTS

RULES = RuleTable("LDB")
_rule = RULES.rule

_LOG = "LevelDB doc/log_format.md"
_TABLE = "LevelDB doc/table_format.md"
_IMPL = "LevelDB doc/impl.md"

# 1xx identity
NO_CURRENT = _rule(
    101,
    "database has no usable CURRENT file",
    spec=_IMPL,
    error=UnrecognizedFormatError,
    hint="Without it the valid manifest cannot be determined; the forensic view uses the newest one.",
)
NO_MANIFEST = _rule(
    102,
    "manifest named in CURRENT is missing",
    spec=_IMPL,
    error=UnrecognizedFormatError,
    hint="The forensic view takes the newest manifest that is there, or none.",
)
COMPARATOR = _rule(
    103,
    "unknown comparator of keys",
    spec=_IMPL,
    error=UnsupportedFeatureError,
    hint="Every version is read, and sorted as bytes. Rules about the order of keys are not checked, and keys that "
    "only the comparator treats as equal are distinct.",
)
BAD_MAGIC = _rule(
    104,
    "not a table: the magic number at its end is missing",
    spec=_TABLE,
    error=UnrecognizedFormatError,
    hint="Truncated, overwritten, or not a table. The forensic view looks for its blocks one by one.",
)
BAD_VERSION = _rule(105, "unsupported table version", spec="RocksDB table/format.h", error=UnsupportedFeatureError)
UNSUPPORTED_CODEC = _rule(106, "unsupported block compression", spec=_TABLE, error=UnsupportedFeatureError)
CHECKSUM_TYPE = _rule(107, "unknown type of checksum", spec="RocksDB table/format.h", error=UnsupportedFeatureError)
TABLE_KIND = _rule(
    121,
    "unsupported kind of table",
    spec="RocksDB table/format.h; Pebble sstable/format.go",
    error=UnsupportedFeatureError,
    hint="RocksDB's plain and cuckoo tables, and Pebble's own formats.",
)
FEATURE = _rule(
    122,
    "table uses an unsupported feature",
    spec="RocksDB include/rocksdb/table.h",
    error=UnsupportedFeatureError,
)
VALUE_FORM = _rule(
    123,
    "unsupported form of a value",
    spec="RocksDB db/blob/blob_index.h",
    error=UnsupportedFeatureError,
)
PEBBLE = _rule(
    124,
    "database of Pebble",
    spec="Pebble format_major_version.go",
    severity=Severity.UNCHECKED,
    error=UnsupportedFeatureError,
    hint="Its manifest, logs and blob files use numbers that mean something else in RocksDB: they are not read. Tables "
    "in the form of LevelDB and RocksDB are read; which of them the database uses is not known.",
)
FRAGMENT_TYPE = _rule(
    108,
    "unknown type of log fragment",
    spec=_LOG,
    severity=Severity.UNCHECKED,
    error=UnsupportedFeatureError,
    hint="The rest of the log is not read.",
)
LOG_CODEC = _rule(
    109,
    "log is compressed with an unknown codec",
    spec="RocksDB db/log_format.h",
    severity=Severity.UNCHECKED,
    error=UnsupportedFeatureError,
    hint="Its records are not read. RocksDB compresses logs with zstd only.",
)
TIMESTAMPS = _rule(
    110,
    "user-defined timestamps",
    spec="RocksDB db/log_format.h",
    severity=Severity.UNCHECKED,
    error=UnsupportedFeatureError,
    hint="Each key is listed with its timestamp as a key of its own.",
)
EDIT_TAG = _rule(
    112,
    "unknown tag in a version edit",
    spec="RocksDB db/version_edit.h",
    severity=Severity.UNCHECKED,
    error=UnsupportedFeatureError,
    hint="The edit is left out, so the state of the database is not known.",
)
LOGS_ELSEWHERE = _rule(
    113,
    "logs are in another directory",
    spec="RocksDB include/rocksdb/options.h, wal_dir",
    error=UnsupportedFeatureError,
    hint="Copy the logs into the directory of the database: otherwise their rows are not read.",
)
LOG_ABSENT = _rule(
    115,
    "log that the manifest names is not in the directory",
    spec="LevelDB db/db_impl.cc, DBImpl::Recover",
    severity=Severity.UNCHECKED,
    error=UnsupportedFeatureError,
    hint="The engines open such a database with the rows that are there; only RocksDB refuses it, where it keeps track "
    "of its logs. Rows and deletions that were only in the log are not known; published copies and backups of closed "
    "databases have none there.",
)
IN_PLACE = _rule(
    114,
    "value may be hidden by a range deletion",
    spec="RocksDB db/memtable.cc, MemTable::Update",
    severity=Severity.UNCHECKED,
    error=UnsupportedFeatureError,
    hint="With `inplace_update_support`, RocksDB keeps the sequence number of the first write of a value in memory, "
    "and applies range deletions after that write. The value is listed as live.",
)
OPERATION_TYPE = _rule(
    111,
    "unknown type of operation in a write batch",
    spec="RocksDB db/dbformat.h",
    severity=Severity.UNCHECKED,
    error=UnsupportedFeatureError,
    hint="The rest of the log is not read.",
)

# 2xx checksums
LOG_CRC = _rule(201, "log fragment checksum mismatch", spec=_LOG, error=ChecksumError)
BLOCK_CRC = _rule(
    202,
    "table block checksum mismatch",
    spec=_TABLE,
    error=ChecksumError,
    hint="Entries of such a block are listed with checksum `bad` when it still decodes.",
)
FOOTER_CRC = _rule(203, "table footer checksum mismatch", spec="RocksDB table/format.h", error=ChecksumError)
BLOB_CRC = _rule(211, "blob file checksum mismatch", spec="RocksDB db/blob/blob_log_format.h", error=ChecksumError)

# 3xx structure and order
FRAGMENT_LENGTH = _rule(301, "log fragment passes the end of its 32 KiB block", spec=_LOG)
FRAGMENT_ORDER = _rule(302, "log fragments do not make up a record", spec=_LOG)
LOG_TAIL = _rule(
    303,
    "log ends inside a record",
    spec=_LOG,
    severity=Severity.WARNING,
    hint="Usual after a crash: the write was never finished. The part of it that was written is not read.",
)
LOG_FILL = _rule(304, "log filler is not zero", spec=_LOG, severity=Severity.WARNING)
BATCH = _rule(305, "write batch cannot be read", spec="LevelDB db/write_batch.cc")
BATCH_COUNT = _rule(306, "operation count does not match", spec="LevelDB db/write_batch.cc")
EDIT = _rule(307, "version edit cannot be read", spec="LevelDB db/version_edit.cc")
COUNTER = _rule(308, "counter of the manifest is missing, decreases or contradicts the files", spec=_IMPL)
FILE_SET = _rule(309, "manifest deletes a missing table or adds one twice", spec=_IMPL)
MISSING_FILE = _rule(310, "file that the database needs is missing", spec=_IMPL)
FILE_SIZE = _rule(311, "table size does not match the manifest", spec=_IMPL)
KEY_RANGE = _rule(312, "table has keys outside the range in the manifest", spec=_IMPL)
LEVEL_OVERLAP = _rule(313, "tables of one level overlap", spec=_IMPL)
HANDLE = _rule(314, "block handle points outside the table", spec=_TABLE)
BLOCK = _rule(315, "table block cannot be split into entries", spec=_TABLE)
BLOCK_CODEC = _rule(316, "table block does not decompress", spec=_TABLE, error=CodecError)
KEY_ORDER = _rule(317, "keys of a table are out of order", spec=_TABLE)
INDEX_KEY = _rule(318, "index key does not separate its blocks", spec=_TABLE)
RESTARTS = _rule(319, "restart points of a block do not fit its entries", spec=_TABLE)
UNCLAIMED = _rule(320, "bytes of a table belong to no block or to two", spec=_TABLE, severity=Severity.WARNING)
PROPERTIES = _rule(
    321,
    "table properties contradict its entries",
    spec="RocksDB table_properties.h",
    severity=Severity.WARNING,
)
SEQUENCE = _rule(
    322,
    "sequence number is above the last one of the manifest",
    spec=_IMPL,
    severity=Severity.WARNING,
    hint="Such an entry is invisible to the database.",
)
TWO_FILES = _rule(323, "two tables have the same number", spec=_IMPL)
FOOTER_FILL = _rule(324, "footer filler is not zero", spec=_TABLE, severity=Severity.WARNING)
RECORD_CODEC = _rule(
    326, "compressed log record does not decompress", spec="RocksDB db/log_reader.cc", error=CodecError
)
TABLE_SHORT = _rule(325, "table is too short to have its footer", spec=_TABLE, error=TruncatedError)
BLOB_FILE = _rule(341, "blob file cannot be read", spec="RocksDB db/blob/blob_log_format.h")
VALUE = _rule(342, "reference to a value cannot be read", spec="RocksDB db/blob/blob_index.h")
BLOB_TAIL = _rule(
    344,
    "blob file ends inside a record",
    spec="RocksDB db/blob/blob_log_format.h",
    severity=Severity.WARNING,
    hint="Usual after a crash: the file was never closed.",
)
GLOBAL_SEQUENCE = _rule(
    343,
    "sequence number of an ingested table contradicts the manifest",
    spec="RocksDB table/block_based/block_based_table_reader.cc, GetGlobalSequenceNumber",
)

# 4xx content
OBSOLETE = _rule(
    401,
    "file that the database no longer uses",
    spec=_IMPL,
    severity=Severity.NOTE,
    hint="Its entries are listed as unreferenced; a database library would delete it.",
)
ORPHAN = _rule(402, "file that no manifest names", spec=_IMPL, severity=Severity.NOTE)
SET_ASIDE = _rule(
    406,
    "file that a repair set aside",
    spec="LevelDB db/repair.cc",
    severity=Severity.NOTE,
    hint="The database does not include its rows. `exhume salvage` of the folder `lost` recovers them.",
)
NO_CHECKSUMS = _rule(
    407,
    "table has no checksums",
    spec="RocksDB table/format.h, kNoChecksum",
    severity=Severity.NOTE,
    hint="A changed byte in it is noticed only if its block can no longer be decoded.",
)
VALUE_TYPE = _rule(403, "unknown value type", spec="LevelDB db/dbformat.h", error=UnsupportedFeatureError)
RECYCLED = _rule(
    405,
    "rest of the log is from an earlier use of its file",
    spec="RocksDB db/log_reader.cc",
    severity=Severity.NOTE,
    hint="RocksDB reuses the files of old logs. What is readable of the old log is listed as unreferenced.",
)
UNRESOLVED = _rule(
    404,
    "value cannot be determined",
    spec="RocksDB include/rocksdb/merge_operator.h",
    error=UnsupportedFeatureError,
    severity=Severity.UNCHECKED,
    hint="Merge operands are applied if OPTIONS names an operator that is built into RocksDB.",
)

# 5xx safety
UNSAFE_NAME = _rule(
    501,
    "CURRENT points outside the database or at no manifest",
    spec=_IMPL,
    error=UnsafePathError,
    hint="Nothing outside the directory is ever opened.",
)
KEY_BOMB = _rule(
    502, "shared key prefixes expand beyond the limit structure_size", spec=_TABLE, error=LimitExceededError
)
TOO_LARGE = _rule(
    503,
    "table block exceeds the limit",
    spec=_TABLE,
    error=LimitExceededError,
    hint="Raise `--limit payload_size` or `--limit expansion` if the block is legitimate.",
)
UNREAD = frozenset((HANDLE, BLOCK, BLOCK_CODEC, UNSUPPORTED_CODEC, KEY_BOMB, TOO_LARGE, FEATURE))
"""Rules whose violation means that entries could not be read."""


class Report(Protocol):
    """Reaction of a reader to a broken rule: raise its error (`strict`), or note it and continue."""

    def __call__(
        self,
        rule: Rule,
        detail: str = "",
        *,
        span: Span | None = None,
        field_path: str | None = None,
        expected: object = None,
        actual: object = None,
    ) -> None: ...


def strict(
    rule: Rule,
    detail: str = "",
    *,
    span: Span | None = None,
    field_path: str | None = None,
    expected: object = None,
    actual: object = None,
) -> None:
    """Raise the rule's exception, unless the rule is only a warning or note."""
    if rule.severity in (Severity.ERROR, Severity.UNCHECKED):
        raise rule.error(detail, span=span, field_path=field_path, expected=expected, actual=actual)


def ignore(
    rule: Rule,
    detail: str = "",
    *,
    span: Span | None = None,
    field_path: str | None = None,
    expected: object = None,
    actual: object = None,
) -> None:
    """Ignore the broken rule, because it is reported elsewhere."""


def collector(into: Callable[[Finding], object]) -> Report:
    """A report that passes findings to `into` (`list.append`) and continues."""

    def report(
        rule: Rule,
        detail: str = "",
        *,
        span: Span | None = None,
        field_path: str | None = None,
        expected: object = None,
        actual: object = None,
    ) -> None:
        """Report a finding of `rule` to `into`."""
        into(rule.finding(detail, span=span, field_path=field_path, expected=expected, actual=actual))

    return report


def unused(finding: Finding) -> Finding:
    """A finding about a file that the database no longer uses: the fault there is a warning."""
    return finding._replace(severity=Severity.WARNING) if finding.is_problem else finding


def of_unused(report: Report) -> Report:
    """Return a report that passes findings on as `unused` makes them: problems become warnings."""

    def milder(rule: Rule, detail: str = "", **facts: Any) -> None:
        is_problem = rule.severity in (Severity.ERROR, Severity.UNCHECKED)
        report(rule._replace(severity=Severity.WARNING) if is_problem else rule, detail, **facts)

    return milder


class Recorder:
    """A report that keeps what it is given, to pass it on any number of times."""

    def __init__(self) -> None:
        self._calls: list[tuple[Rule, str, dict[str, Any]]] = []  # arguments: rule, detail, the others by name

    def __call__(
        self,
        rule: Rule,
        detail: str = "",
        *,
        span: Span | None = None,
        field_path: str | None = None,
        expected: object = None,
        actual: object = None,
    ) -> None:
        if len(self._calls) < MAX_REMEMBERED:
            facts = {"span": span, "field_path": field_path, "expected": expected, "actual": actual}
            self._calls.append((rule, detail, facts))

    def play(self, report: Report) -> None:
        """Pass everything on."""
        for rule, detail, facts in self._calls:
            report(rule, detail, **facts)


class RecordingReport:
    """A report that passes on to another, and notes in `unchecked` whether something could not be checked."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.unchecked: bool = False

    def __call__(self, rule: Rule, detail: str = "", **more: Any) -> None:
        self.unchecked |= rule.severity is Severity.UNCHECKED
        self.report(rule, detail, **more)


def report_error(report: Report, rule: Rule, error: ExhumeError, what: str = "") -> None:
    """Report the error of a structure that cannot be read as a violation of `rule`; `what` names the structure."""
    report(
        rule,
        f"{what}{error.message}",
        span=error.span,
        field_path=error.field_path,
        expected=error.expected,
        actual=error.actual,
    )


def raise_rule(
    rule: Rule,
    detail: str = "",
    *,
    span: Span | None = None,
    field_path: str | None = None,
    expected: object = None,
    actual: object = None,
) -> NoReturn:
    """Raise the rule's exception whatever its severity."""
    raise rule.error(detail, span=span, field_path=field_path, expected=expected, actual=actual)


__all__ = [
    "KNOWN_PUTS",
    "RULES",
    "RecordingReport",
    "Report",
    "Rule",
    "StructureError",
    "collector",
    "ignore",
    "of_unused",
    "raise_rule",
    "report_error",
    "strict",
    "unused",
]
