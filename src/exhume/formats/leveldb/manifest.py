"""Manifests: CURRENT, the replay of version edits, and the resulting set of files; contradictions are reported.

A manifest is a log whose records are version edits: changes to the set of tables, and new values of counters.  Applied
in order, they give the state.  Tables have levels: those of level 0 may overlap, those of a deeper level do not.  A
column family is a separate set of keys (RocksDB).  CURRENT is a file that has the name of the manifest in use.
Arguments named `where` are the place of an edit, for findings.

Spec: LevelDB doc/impl.md, db/version_set.cc; RocksDB db/version_edit.cc for tags beyond 9; dacha tag 800.
"""

from __future__ import annotations

import itertools
from typing import Any

from exhume.errors import FormatError, Span, UnsupportedFeatureError
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.comparators import Comparator, comparator_of
from exhume.formats.leveldb.layout_facts import KEY_TAIL, Tags, user_key
from exhume.formats.leveldb.log import LogReader
from exhume.formats.leveldb.model import BYTEWISE, BlobCounts, TableFile, VersionEdit
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.tuples import NamedTuple

_CURRENT_MAX = 4096
"""Bytes of CURRENT that are read."""
_ELSEWHERE = frozenset("/\\\0")
"""Characters that only the name of a file in another directory has."""
# LevelDB has the tags below NEW_FILE2; the compaction waterline is dacha's, IGNORABLE a flag.
_ROCKSDB_TAGS = frozenset(Tags) - frozenset(range(Tags.NEW_FILE2 + 1)) - {Tags.COMPACTION_WATERLINE, Tags.IGNORABLE}
_ROCKSDB_TAGS |= {Tags.MIN_LOG_NUMBER_TO_KEEP}
"""Tags of version edits that only RocksDB writes."""


def parse_current(data: bytes, where: Span, report: Report = checks.strict) -> str | None:
    """The manifest that CURRENT names; None when it names none.

    As in LevelDB, that is all of CURRENT before its last byte, which is a line end.  Only a file in the directory
    itself is accepted: whatever else CURRENT says is never opened.
    """
    text = data[:_CURRENT_MAX].decode("utf-8", "backslashreplace")
    if not text.endswith("\n"):
        report(checks.NO_CURRENT, "no line end", span=where, actual=text)
    name = text.removesuffix("\n")
    if not name:
        report(checks.NO_CURRENT, "it is empty", span=where)
        return None
    if name in (".", "..") or not _ELSEWHERE.isdisjoint(name):
        report(checks.UNSAFE_NAME, span=where, expected="MANIFEST-<number>", actual=name)
        return None
    return name


class EditRecord(NamedTuple):
    """A version edit and the position of its record in the manifest; `intact` is the verdict of its checksum."""

    edit: VersionEdit
    offset: int
    end: int
    intact: bool


class ColumnFamily:
    """One column family: its tables by number, and the first log whose content is not in tables yet (`log_number`).

    `comparator` is the name of its own order of keys, if an edit states one; `dropped`: it was deleted.
    """

    def __init__(self, name: str = "default") -> None:
        """A column family without files."""
        self.name = name
        self.tables: dict[int, TableFile] = {}
        self.log_number: int = 0
        self.comparator: str | None = None
        self.dropped: bool = False
        self.blobs: dict[int, BlobCounts] = {}
        """Blob files by number, with the values that entries may still refer to."""

    @property
    def live_blobs(self) -> dict[int, BlobCounts]:
        """The blob files that the database keeps.

        These are the ones that a table names as its oldest, and those after the first of them with values in use.

        Spec: RocksDB db/version_builder.cc, SaveBlobFilesTo.
        """
        # A table may have values in any blob file from its oldest on, but states only that one.
        linked = {one.oldest_blob_file for one in self.tables.values() if one.oldest_blob_file is not None}
        oldest = min(linked, default=None)
        return {
            number: one
            for number, one in self.blobs.items()
            if number in linked or (one.num_blobs > 0 and oldest is not None and number >= oldest)
        }


class Manifest:
    """The result of replaying a manifest: counters, column families, and all numbers that it ever named."""

    def __init__(self, name: str) -> None:
        """The state before the first edit; `name` is that of the file."""
        self.name = name
        self.records: list[EditRecord] = []
        self.comparator: str | None = None
        self.previous_log_number: int = 0
        """An older log that is replayed as well; 0 without one."""
        self.min_log_number: int = 0
        """RocksDB keeps logs from this number on, for prepared transactions; 0: not stated."""
        self.tracked_logs: set[int] = set()
        """Logs that RocksDB requires to be there: it names them where it keeps track of them."""
        self.next_file_number: int | None = None
        self.last_sequence: int | None = None
        self.waterline: int | None = None
        """The compaction waterline, which only dacha writes."""
        self.families: dict[int, ColumnFamily] = {0: ColumnFamily()}
        self.mentioned: set[int] = set()
        """Numbers of all tables that any edit adds or deletes."""
        self.mentioned_blobs: set[int] = set()
        """Numbers of all blob files that any edit adds."""
        self.damaged: bool = False
        """Whether a record could not be read, or has a bad checksum."""

    def order_of(self, family: int) -> Comparator:
        """The order of keys in a column family."""
        named = self.families[family].comparator if family in self.families else None
        return comparator_of(named or self.comparator or BYTEWISE)

    @property
    def log_number(self) -> int:
        """The first log that any column family still needs."""
        return min((family.log_number for family in self.families.values() if not family.dropped), default=0)

    @property
    def tables(self) -> list[TableFile]:
        """Referenced tables by column family, level and number."""
        files = [table for family in self.families.values() if not family.dropped for table in family.tables.values()]
        return sorted(files, key=lambda table: (table.column_family, table.level, table.number))

    @property
    def live_blobs(self) -> dict[int, int]:
        """The column family of each blob file that the database keeps, by its number."""
        found = ((family, one) for family, one in self.families.items() if not one.dropped)
        return {number: family for family, one in found for number in one.live_blobs}

    @property
    def unnamed_blobs(self) -> list[int]:
        """The blob files that tables refer to, and that the manifest does not name, as after a repair by RocksDB: it
        cannot read their values.
        """
        found = {(one.column_family, one.oldest_blob_file) for one in self.tables if one.oldest_blob_file is not None}
        return sorted(number for family, number in found if number not in self.families[family].blobs)

    @property
    def writer(self) -> str:
        """The program whose tags the manifest has: `leveldb`, `rocksdb` or `dacha`; `leveldb or dacha`, or
        `dacha or rocksdb`, where both write the same.
        """
        tags = {tag for record in self.records for tag in record.edit.tags}
        if Tags.COMPACTION_WATERLINE in tags:
            return "dacha"
        if tags & _ROCKSDB_TAGS or any(tag >= Tags.IGNORABLE for tag in tags):
            return "rocksdb"
        if Tags.COMPACT_POINTER in tags:
            return "leveldb"
        return "dacha or rocksdb" if Tags.NEW_FILE2 in tags else "leveldb or dacha"

    def is_live_log(self, number: int, family: int = 0) -> bool:
        """Whether the database would replay log `number` for a column family on opening."""
        found = self.families.get(family)
        if found is None or found.dropped:
            return False
        return number >= found.log_number or (number == self.previous_log_number and number != 0)

    def is_replayed(self, number: int) -> bool:
        """Whether the database would read log `number` on opening: for a family, or for prepared transactions."""
        kept = 0 < self.min_log_number <= number
        return kept or any(self.is_live_log(number, family) for family in self.families)


def replay(source: Source, report: Report = checks.strict, limits: Limits = DEFAULT_LIMITS) -> Manifest:
    """Return the state after all records of a manifest; a report that continues leaves out unreadable records."""
    manifest = Manifest(source.name)
    log = LogReader(source, report, limits)
    group: list[tuple[VersionEdit, Span]] = []  # edits that are applied together or not at all
    for record in log:
        where = source.span(record.offset - source.origin, record.end - source.origin)
        limits.check("payload_size", len(record.payload), where)
        try:
            edit = layout.parse_version_edit(bytes(record.payload), where.in_payload(0, len(record.payload)))
        except (FormatError, UnsupportedFeatureError) as error:
            manifest.damaged = True
            # An intact edit with an unknown tag comes from a newer version; any other is damaged.
            unknown = record.intact and (error.field_path or "").endswith("tag")
            checks.report_error(report, checks.EDIT_TAG if unknown else checks.EDIT, error)
            continue
        if not record.intact:
            manifest.damaged = True
        manifest.records.append(EditRecord(edit, record.offset, record.end, record.intact))
        limits.check("entries", len(manifest.mentioned) + len(edit.added), where)
        if edit.atomic_group_left is not None:  # how many edits of its group follow
            group.append((edit, where))
            if edit.atomic_group_left:
                continue
        elif group:
            manifest.damaged = True
            report(checks.EDIT, "an atomic group of edits is interrupted", span=where)
            group = []
        for one, at in group or [(edit, where)]:
            _apply(manifest, one, at, report)
        group = []
    whole = source.span(0, source.size)
    if group:
        _, begun = group[0]
        report(checks.LOG_TAIL, "an atomic group of edits is not complete", span=begun)
    if log.lost:
        manifest.damaged = True
    for name in ("next_file_number", "last_sequence"):
        if getattr(manifest, name) is None:
            report(checks.COUNTER, f"{name.replace('_', ' ')} is missing", span=whole)
    _check_levels(manifest, whole, report)
    return manifest


def _apply(manifest: Manifest, edit: VersionEdit, where: Span, report: Report) -> None:
    """Apply a version edit to `manifest`; contradictions are reported at `where` and do not stop the replay."""
    for name in ("next_file_number", "last_sequence"):
        _raise_counter(manifest, name, getattr(edit, name), where, report)
    if edit.previous_log_number is not None:
        manifest.previous_log_number = edit.previous_log_number
    if edit.min_log_number is not None:
        manifest.min_log_number = max(manifest.min_log_number, edit.min_log_number)
    # Tracked logs before `first` are no longer needed.
    first = max(manifest.min_log_number, edit.logs_from or 0)
    manifest.tracked_logs = {number for number in (*manifest.tracked_logs, *edit.logs) if number >= first}
    if edit.waterline is not None:
        manifest.waterline = edit.waterline
    if edit.column_family_add is not None:
        manifest.families[edit.column_family] = ColumnFamily(edit.column_family_add)
    # A family that no edit added (the edit is lost) has its number as a name.
    family = manifest.families.setdefault(edit.column_family, ColumnFamily(f"#{edit.column_family}"))
    if edit.column_family_drop:
        family.dropped = True
    if edit.comparator is not None:  # RocksDB names it in the edit that adds the family, too
        if edit.column_family == 0:
            manifest.comparator = edit.comparator
        else:
            family.comparator = edit.comparator
    _raise_counter(family, "log_number", edit.log_number, where, report)
    _apply_files(manifest, family, edit, where, report)
    _apply_blobs(manifest, family, edit, where, report)


def _apply_blobs(manifest: Manifest, family: ColumnFamily, edit: VersionEdit, where: Span, report: Report) -> None:
    """Apply the blob files and garbage counts of an edit to a column family.

    Garbage are values that no entry refers to any more.
    """
    for blob in edit.blobs_added:
        manifest.mentioned_blobs.add(blob.number)
        family.blobs[blob.number] = blob
    for garbage in edit.blob_garbage:
        known = family.blobs.get(garbage.number)
        if known is None or known.num_blobs < garbage.num_blobs or known.size < garbage.size:
            report(checks.FILE_SET, f"counts garbage of blob file {garbage.number} that it does not have", span=where)
        else:
            left = BlobCounts(garbage.number, known.num_blobs - garbage.num_blobs, known.size - garbage.size)
            family.blobs[garbage.number] = left


def _raise_counter(holder: Manifest | ColumnFamily, name: str, value: int | None, where: Span, report: Report) -> None:
    """Set the counter `name` of `holder` to that of an edit, if it states one; counters never shrink."""
    before = getattr(holder, name)
    if value is None:
        return
    if before is not None and value < before:
        what = f"{name.replace('_', ' ')} shrinks"
        report(checks.COUNTER, what, span=where, expected=f"at least {before}", actual=value)
    else:
        setattr(holder, name, value)


def _apply_files(manifest: Manifest, family: ColumnFamily, edit: VersionEdit, where: Span, report: Report) -> None:
    """Remove and add the tables of an edit; a table without usable keys is reported and not added.

    A table that LevelDB's tags add twice, alike, is one table: goleveldb's first edit lists what its recovery
    added, then all tables (leveldb/session_util.go, `newManifest`).  LevelDB accepts this; RocksDB rejects it.
    """
    for level, number in edit.deleted:
        manifest.mentioned.add(number)
        known = family.tables.get(number)
        if known is None or known.level != level:
            report(checks.FILE_SET, f"deletes table {number} of level {level}", span=where)
        else:
            del family.tables[number]
    for file in edit.added:
        manifest.mentioned.add(file.number)
        known = family.tables.get(file.number)
        if known == file and _ROCKSDB_TAGS.isdisjoint(edit.tags):
            continue  # as goleveldb does, see above
        if known is not None:
            report(checks.FILE_SET, f"adds table {file.number} again", span=where)
        if manifest.next_file_number is not None and file.number >= manifest.next_file_number:
            report(checks.COUNTER, "a table number passes the next file number", span=where,
                   expected=f"below {manifest.next_file_number}", actual=file.number)  # fmt: skip
        if min(len(file.smallest), len(file.largest)) < KEY_TAIL.size:
            report(checks.EDIT, f"table {file.number} has keys without sequence number", span=where)
            continue
        order = manifest.order_of(edit.column_family)
        if order.precedes(user_key(file.largest), user_key(file.smallest)):
            report(checks.KEY_RANGE, f"table {file.number}: smallest key above largest", span=where)
        family.tables[file.number] = file


def _check_levels(manifest: Manifest, whole: Span, report: Report) -> None:
    """Report tables of one level (above 0) whose key ranges overlap; `whole` is the span of the manifest."""
    for number, family in manifest.families.items():
        order = manifest.order_of(number)
        if not order.known:
            continue  # only the application knows their order
        _, deeper = level_runs(list(family.tables.values()), order)  # tables of level 0 may overlap
        for run in deeper:
            for left, right in itertools.pairwise(run):
                if order.precedes(user_key(right.smallest), user_key(left.largest)):
                    report(
                        checks.LEVEL_OVERLAP,
                        f"tables {left.number} and {right.number} of level {left.level}",
                        span=whole,
                    )


def level_runs(tables: list[TableFile], order: Comparator) -> tuple[list[TableFile], list[list[TableFile]]]:
    """Return (tables of level 0, newest first; one list per deeper level, sorted by smallest key).

    Versions of one key can be in several tables of a level, newest first: only internal keys do not overlap (RocksDB
    db/version_builder.cc, `CheckConsistencyDetails`).
    """

    def smallest(table: TableFile) -> tuple[Any, int, int]:
        """Sort key of a table: its smallest internal key."""
        key = layout.parse_internal_key(table.smallest)
        return order.sort_key(key.user_key), -key.sequence, -key.value_type

    young = sorted((table for table in tables if table.level == 0), key=lambda table: table.number, reverse=True)
    levels: dict[int, list[TableFile]] = {}
    for table in tables:
        if table.level > 0:
            levels.setdefault(table.level, []).append(table)
    return young, [sorted(levels[level], key=smallest) for level in sorted(levels)]
