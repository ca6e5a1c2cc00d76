"""The nouns of the LevelDB family as values: value types, statuses, versions of keys, files, version edits.

A version is an entry for a key in a log or table: a put, a deletion, or a merge operand (a change that is applied to
the older value).  Every write has a sequence number.  A version edit is a record of the manifest, which lists the
tables of the database.  An internal key is a key followed by its sequence number and value type.
"""

from __future__ import annotations

import enum
from typing import Any

from exhume.errors import Span
from exhume.formats.leveldb.layout_facts import ValueTypes as ValueTypes
from exhume.formats.leveldb.wire import Handle, key_text
from exhume.io.values import LargeValue
from exhume.tuples import NamedTuple

BYTEWISE = "leveldb.BytewiseComparator"
"""The default order of keys, by its name in the files."""


# Names of the value types in messages and JSON.
_TYPE_NAMES = {int(one): one.name.lower().replace("_", "-") for one in ValueTypes}
_TYPE_NAMES[ValueTypes.WIDE_COLUMN_ENTITY] = "wide-columns"

# Types of versions that delete their key.
DELETIONS: frozenset[int] = frozenset(
    {ValueTypes.DELETION, ValueTypes.SINGLE_DELETION, ValueTypes.DELETION_WITH_TIMESTAMP}
)
PUTS: frozenset[int] = frozenset(ValueTypes) - DELETIONS - {ValueTypes.RANGE_DELETION}
"""Types of versions that give their key a value."""

INDIRECT: frozenset[int] = frozenset(
    {ValueTypes.MERGE, ValueTypes.BLOB_INDEX, ValueTypes.WIDE_COLUMN_ENTITY, ValueTypes.VALUE_PREFERRED_SEQNO}
)
"""Types of versions whose value is not the bytes that they have; `values` resolves them."""

ELSEWHERE = INDIRECT - {ValueTypes.MERGE}
"""Types of `INDIRECT` whose value does not depend on other versions."""


def type_name(value_type: int) -> str:
    """The name of a value type, `type-N` for an unknown one."""
    return _TYPE_NAMES.get(value_type, f"type-{value_type}")


class Status(enum.StrEnum):
    """The status of a version of a key."""

    LIVE = "live"
    REPLACED = "replaced"  # a newer version has a value
    DELETED = "deleted"  # the newer version is a deletion, or its key is in a deleted range
    TOMBSTONE = "tombstone"  # it is a deletion itself
    BEYOND = "beyond-last-sequence"  # its sequence number is above the state's
    UNREFERENCED = "unreferenced"  # the database does not use it or its file
    UNRESOLVED = "unresolved"  # the key has a value that is not known here
    OPERAND = "operand"  # a merge operand of the key's value, or the value that they are applied to
    PREPARED = "prepared"  # of a transaction that was prepared, but not committed
    ROLLED_BACK = "rolled-back"  # of a transaction that was rolled back


CURRENT_STATE = (Status.LIVE, Status.UNRESOLVED)
"""Statuses of versions that are the current state of their key."""

UNCOMMITTED = (Status.PREPARED, Status.ROLLED_BACK)
"""Statuses of versions that were never part of the state."""


class Verdict(enum.StrEnum):
    """The verdict of the checksum over an entry's block or log record; `none`: the table has no checksums."""

    GOOD = "good"
    BAD = "bad"
    NONE = "none"


class Role(enum.StrEnum):
    """The role of a file in the current version of the database."""

    LIVE = "live"
    OBSOLETE = "obsolete"  # a manifest once named it
    ORPHAN = "orphan"  # no manifest ever named it
    MISSING = "missing"  # referenced, but missing
    OTHER = "other"  # not part of the data (LOCK, LOG, OPTIONS-*)


class SequenceRule(enum.StrEnum):
    """Numbering of the operations of one write batch."""

    PER_OPERATION = "per-operation"  # LevelDB, RocksDB
    PER_BATCH = "per-batch"  # dacha
    PER_SUB_BATCH = "per-sub-batch"  # RocksDB's transactions that write before they commit


class Place(NamedTuple):
    """The position of a block or log record, shared by the entries in it.

    `offset` is the start of the block, or of the first fragment header of a log record, in the file; `codec` how the
    block was stored; `operations` are the offsets of a batch's operations; `batch_sequence` and `batch_count` belong
    to log records.  `number` is that of the file, `level` that of a table (None for logs); `referenced`: the database
    uses the file.
    """

    file: str
    number: int
    level: int | None
    offset: int
    end: int
    checksum: Verdict
    referenced: bool = True
    codec: str | None = None
    batch_sequence: int | None = None
    batch_count: int | None = None
    column_family: int = 0
    operations: tuple[int, ...] | None = None

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Place) and (self.file, self.offset) < (other.file, other.offset)

    @property
    def span(self) -> Span:
        """The range in the file."""
        return Span(self.file, self.offset, self.end)


def _number(sequence: int) -> int | str:
    """A sequence number in JSON: a string above 2^53, which readers that use floating-point numbers would round."""
    return sequence if sequence <= 1 << 53 else str(sequence)


class VersionExtra(NamedTuple):
    """Facts that few versions have: the columns of a wide-column entity, the timestamp that the key ends with (as a
    number), or why the value cannot be given.
    """

    columns: dict[bytes, bytes] | None = None
    timestamp: int | None = None
    unresolved: str | None = None
    large: LargeValue | None = None
    """The stored value, if it is read in chunks; that of the version is empty then."""


class Version(NamedTuple):
    """One version of a key, wherever it was found.

    `entry_offset` is the start of the entry inside the decompressed block, or of the operation inside the write batch;
    `operation` the number of the operation in its batch (None in tables); `superseded_by` the sequence number of the
    next newer version of the key.  `place` is its block or log record, `extra` has facts that few versions have.
    """

    key: bytes
    value: bytes
    sequence: int
    value_type: int
    status: Status
    superseded_by: int | None
    entry_offset: int
    operation: int | None
    place: Place
    column_family: int = 0
    extra: VersionExtra | None = None

    @property
    def columns(self) -> dict[bytes, bytes] | None:
        """The columns of a wide-column entity by name, whose `value` is that of the column without a name."""
        return self.extra.columns if self.extra is not None else None

    @property
    def timestamp(self) -> int | None:
        """The timestamp that the stored key ends with, as a number; None where keys have none."""
        return self.extra.timestamp if self.extra is not None else None

    @property
    def unresolved(self) -> str | None:
        """Why the value cannot be given; None when `value` is the value."""
        return self.extra.unresolved if self.extra is not None else None

    @property
    def known_value(self) -> bytes | None:
        """The value, empty for a large one (`content` has that); None where it cannot be determined."""
        return None if self.status is Status.UNRESOLVED or self.unresolved is not None else self.value

    @property
    def content(self) -> bytes | LargeValue:
        """The value, which may be one that is read in chunks."""
        return self.value if self.extra is None or self.extra.large is None else self.extra.large

    @property
    def part(self) -> tuple[int, bytes | LargeValue]:
        """(type, bytes) as a resolver of merge operands takes them; a value from a blob file or an entity has been read
        already, and counts as a plain one.
        """
        read = self.status is Status.LIVE or (self.value_type in ELSEWHERE and self.known_value is not None)
        return int(ValueTypes.VALUE) if read else self.value_type, self.content

    @property
    def checksum(self) -> Verdict:
        """The verdict on the block or log record that holds it."""
        return self.place.checksum

    @property
    def span(self) -> Span:
        """The block or record, with the entry's start in its payload."""
        return self.place.span.in_payload(self.entry_offset, self.entry_offset)

    @property
    def history(self) -> str:
        """Text such as "written at 5, replaced at 9": sequence numbers of a version that is not live, and of the
        version that followed it.
        """
        deletion = self.status is Status.TOMBSTONE
        after = "" if deletion else f", {self.status}"
        if self.superseded_by is not None:
            after = f", {Status.REPLACED if deletion else self.status} at {self.superseded_by}"
        return f"{'deletion written' if deletion else 'written'} at {self.sequence}{after}"

    def to_dict(self) -> dict[str, Any]:
        """The JSON columns, keys and values left to the caller."""
        place = self.place
        out: dict[str, Any] = {
            "sequence": _number(self.sequence),
            "type": type_name(self.value_type),
            "status": str(self.status),
            "superseded_by": None if self.superseded_by is None else _number(self.superseded_by),
            "file": place.file,
            "level": place.level,
            "block_offset": place.offset,
            "entry_offset": self.entry_offset,
            "checksum": str(place.checksum),
        }
        # A row of a log is an operation of a batch; one of a table is in a compressed block.
        if self.operation is not None:
            out |= {
                "operation": self.operation,
                "batch_sequence": place.batch_sequence,
                "batch_count": place.batch_count,
            }
        else:
            out["codec"] = place.codec
        # What few databases have: column families, wide columns, timestamps, values that cannot be determined.
        if self.column_family:
            out["column_family"] = self.column_family
        if self.extra is not None:
            if self.extra.columns is not None:
                out["columns"] = {key_text(name): value for name, value in self.extra.columns.items()}
            if self.extra.timestamp is not None:
                out["timestamp"] = _number(self.extra.timestamp)
            if self.extra.unresolved is not None:
                out["unresolved"] = self.extra.unresolved
        return out


class Fragment(NamedTuple):
    """A part of a record: absolute offsets of its header, its data and its end; `kind` 1 to 4; whether the CRC
    matches; whether an earlier log wrote it, whose file this one took over.
    """

    offset: int
    data_offset: int
    end: int
    kind: int
    intact: bool
    earlier: bool = False


class LogRecord(NamedTuple):
    """A record reassembled from its fragments; it is `intact` when every fragment's checksum matches.

    An `earlier` one belongs to a log whose file this one took over.
    """

    offset: int
    end: int
    payload: bytes | memoryview
    """Its content; mapped from a temporary file if it is larger than `log.LARGE` or the limit `payload_size`."""
    fragments: tuple[Fragment, ...]
    intact: bool
    earlier: bool = False


class Footer(NamedTuple):
    """The footer of a table.

    `family` is `leveldb` or `rocksdb`, `version` the format version (0 for LevelDB), `checksum` one of `none crc32c
    xxhash32 xxhash64 xxh3` or `type-N`.  From RocksDB version 6 the index handle is in the metaindex (`index_handle`
    None), and checksums are modified by `base_context`.  `offset` and `size` are those of the footer in the file;
    `padding` are its bytes that should be zero, `footer_checksum` is its own checksum (from version 6).
    """

    family: str
    version: int
    checksum: str
    metaindex: Handle
    index_handle: Handle | None
    offset: int
    size: int
    padding: bytes
    footer_checksum: int | None = None
    base_context: int = 0


class BlobCounts(NamedTuple):
    """Number of a blob file, of values in it, and of their stored bytes, as a version edit counts them."""

    number: int
    num_blobs: int
    size: int


class TableFile(NamedTuple):
    """A table as a version edit announces it (`smallest` and `largest` are internal keys).

    `size` is in bytes; the sequence numbers are those of its entries, None if not stated (LevelDB);
    `oldest_blob_file` is the number of the first blob file that has values of its entries.
    """

    level: int
    number: int
    size: int
    smallest: bytes
    largest: bytes
    smallest_sequence: int | None = None
    largest_sequence: int | None = None
    column_family: int = 0
    oldest_blob_file: int | None = None


_EDIT_FIELDS = (
    "comparator", "log_number", "previous_log_number", "next_file_number", "last_sequence", "min_log_number",
    "logs_from", "column_family_add", "max_column_family", "atomic_group_left", "waterline",
)  # fmt: skip
"""Fields of `VersionEdit` that `to_dict` shows as they are, if they are set."""


class VersionEdit(NamedTuple):
    """One record of a manifest; a field that the record does not set is None (or empty).

    It is about the column family with the number `column_family`, which is named `column_family_add` if the record adds
    it, and is deleted with `column_family_drop`.  `comparator` is the name of the order of keys, `log_number` the first
    log that the family still needs (`previous_log_number`: an older one).  `next_file_number` and `last_sequence` are
    counters of the database; RocksDB keeps logs from `min_log_number` on.  `blob_garbage` counts values that are no
    longer used.
    """

    comparator: str | None = None
    log_number: int | None = None
    next_file_number: int | None = None
    last_sequence: int | None = None
    previous_log_number: int | None = None
    min_log_number: int | None = None
    logs: tuple[int, ...] = ()
    """Logs that RocksDB keeps track of from now on (`track_and_verify_wals_in_manifest`)."""
    logs_from: int | None = None
    """The first of these logs that is still kept."""
    compact_pointers: tuple[tuple[int, bytes], ...] = ()
    """(level, internal key): where the next compaction of the level begins."""
    deleted: tuple[tuple[int, int], ...] = ()
    """(level, number) of tables."""
    added: tuple[TableFile, ...] = ()
    blobs_added: tuple[BlobCounts, ...] = ()
    blob_garbage: tuple[BlobCounts, ...] = ()
    column_family: int = 0
    column_family_add: str | None = None
    column_family_drop: bool = False
    max_column_family: int | None = None
    atomic_group_left: int | None = None
    """How many edits follow that are applied together with this one."""
    waterline: int | None = None
    """The compaction waterline (tag 800), which only dacha writes."""
    tags: tuple[int, ...] = ()
    """Tags of all its fields, as stored: they show which program wrote it."""

    def to_dict(self) -> dict[str, Any]:
        """The fields that are set, JSON-able; keys in hexadecimal."""
        # Fields that are None unless they are set, then the column family, then the files.
        out: dict[str, Any] = {}
        for name in _EDIT_FIELDS:
            value = getattr(self, name)
            if value is not None:
                out[name] = value
        if self.column_family:
            out["column_family"] = self.column_family
        if self.column_family_drop:
            out["column_family_drop"] = True
        if self.logs:
            out["logs"] = list(self.logs)
        if self.deleted:
            out["deleted"] = [{"level": level, "number": number} for level, number in self.deleted]
        if self.added:
            out["added"] = [
                {
                    "level": file.level,
                    "number": file.number,
                    "size": file.size,
                    "smallest": file.smallest.hex(),
                    "largest": file.largest.hex(),
                }
                for file in self.added
            ]
        # Lists that an edit without them leaves out; tags are in every edit.
        for name, blobs in (("blobs_added", self.blobs_added), ("blob_garbage", self.blob_garbage)):
            if blobs:
                out[name] = [one._asdict() for one in blobs]
        if self.compact_pointers:
            out["compact_pointers"] = [{"level": level, "key": key.hex()} for level, key in self.compact_pointers]
        out["tags"] = list(self.tags)
        return out
