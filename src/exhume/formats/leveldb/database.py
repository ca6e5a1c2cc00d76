"""A database directory as evidence: every version of every key and its fate, any past state, the history of one key.

There are two ways of reading: strict methods (`get`, `scan`, see `live.py`) raise at the first broken rule, forensic
ones (`versions`, `state`, `history`) continue.

A version is an entry of a key: a put, a deletion or a merge operand (a change to the older value), with the sequence
number of its write.  An item is the same as a tuple that sorts by key, newest first (`table.Item`).  A run is a
sequence of items in that order; runs are merged.  A column family is a separate set of keys in RocksDB, with a number.
Files whose role is live make up the current state; other files are left over and "unreferenced".

Spec: LevelDB doc/impl.md; the two sequence rules: `docs/formats/leveldb.md`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from exhume.errors import ExhumeError, Span
from exhume.findings import CappedFindings, Finding
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.batches import LoadedLog
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.deletions import DeletionsByFamily, RangeDeletion
from exhume.formats.leveldb.directory import MOST_UNREAD
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.forensics import TableSurvey, forensic_items, survey_table
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.live import RANGE, LiveDatabase
from exhume.formats.leveldb.model import (
    CURRENT_STATE,
    DELETIONS,
    INDIRECT,
    UNCOMMITTED,
    Role,
    Status,
    ValueTypes,
    Verdict,
    Version,
    VersionExtra,
    type_name,
)
from exhume.formats.leveldb.ranges import (
    BEGINNING,
    Sources,
    is_sound,
    map_rows,
    unresolved_versions,
    unused_rows,
    versions_of,
)
from exhume.formats.leveldb.table import Item, merge_runs, parts_of, sort_key, whole_keys
from exhume.formats.leveldb.values import Resolver, add_items, merged_columns, settle_older
from exhume.formats.leveldb.wire import MAX_SEQUENCE
from exhume.io.caching import cached_property
from exhume.tuples import NamedTuple

T = TypeVar("T")

MOST_KEPT = 64 << 20
"""Most bytes of tables that are kept in memory from `is_sound` on, so that most databases are read only once."""


class LiveState(NamedTuple):
    """Facts about all live files, which the status of any version depends on."""

    logs: list[LoadedLog]
    last_sequence: int
    """The highest sequence number of the state."""
    ranges: list[RangeDeletion]
    """Range deletions of tables and logs."""
    families: list[int]
    """Numbers of the column families that have entries."""


class Database(LiveDatabase):
    """An open database.  Thread-safe."""

    _sound: bool | None = None  # the result of `is_sound`; None: not checked yet

    @cached_property
    def _surveys(self) -> dict[str, TableSurvey]:
        """The surveys of tables so far, by file name."""
        return {}

    def versions(
        self, report: Report = checks.ignore, *, unreferenced: bool = True, older: bool = True
    ) -> Iterator[Version]:
        """Yield every version of every key that can be read, with its status; report damage to `report`.

        Versions of live files come first, merged by column family and key, newest first; then, with `unreferenced`, the
        entries of files that the database no longer uses, file by file.  With `older`, versions that are not live have
        their values too, or the reason in `unresolved`; otherwise they have the stored reference or delta.
        """
        return itertools.chain.from_iterable(
            self.map_versions(versions_of, report, unreferenced=unreferenced, older=older)
        )

    def map_versions(
        self,
        make: Callable[[LeveldbRows], T],
        report: Report = checks.ignore,
        *,
        unreferenced: bool = True,
        older: bool = True,
        jobs: int = 1,
        lean: bool = False,
    ) -> Iterator[T]:
        """Yield `make(rows)` for batches of some thousand versions, as columns.

        If the database is undamaged (or with `checks.strict`), on `jobs` threads (0: one per core). Without `older`,
        references and entities that are not live are left as they are stored. If `lean`, large values are extras, see
        `Extra`; otherwise those above the limit `payload_size` are reported, and their versions have the reason in
        `unresolved`. `unreferenced`: also versions in files that the database no longer uses.
        """
        state = self.live_state(report)
        resolver = self.resolve_large if lean else self.resolve_value
        sources = self._sources(state, resolver)._replace(
            older=older, lean=lean, report=None if report is checks.strict else report
        )
        if self.is_bytewise and (report is checks.strict or self.is_sound(jobs)):
            yield from map_rows(make, sources, None, None, jobs)
        else:
            yield from map(make, self._forensic_rows(sources, state, report))
        # After the rows of the database, those of files that it no longer uses.
        if unreferenced:
            for rows in self.unreferenced(report, lean=lean):
                if older:
                    settle_older(rows, resolver)
                yield make(rows)

    def is_sound(self, jobs: int = 1) -> bool:
        """Return whether the live files are undamaged, as far as reading their rows shows it.

        Checked once, on `jobs` threads.
        """
        with self._lock:
            if self._sound is None:
                room = MOST_KEPT  # bytes that further tables may keep
                with contextlib.suppress(ExhumeError):  # keeping tables only saves time; the check finds the damage
                    for file in self.tables(Role.LIVE):
                        room -= self.table(file).hold(room)
                self._sound = is_sound(self, jobs)
            return self._sound

    def _sources(self, state: LiveState, resolver: Resolver) -> Sources:
        """Return tables and log entries of each column family, to merge rows from; `resolver` makes values."""
        runs = {
            family: self._runs(family, {log.number: log.items.get(family) for log in state.logs})
            for family in state.families
        }
        return Sources(runs, state.last_sequence, self._deletions(state.ranges, state.last_sequence), resolver)

    def _forensic_rows(self, sources: Sources, state: LiveState, report: Report) -> Iterator[LeveldbRows]:
        """Yield the versions in live files that can be read, past any damage."""
        for family in state.families:
            order = self.order(family)
            if not order.is_bytewise:  # all items in memory, to be sorted by the comparator
                tables = [file for file in self.tables(Role.LIVE) if file.column_family == family]
                items = [item for log in state.logs for item in log.items.get(family, ())]
                items += [item for part in self._table_items(tables, report) for item in part]
                yield sources.ordered(family, items, order)
                continue
            # Sorted runs, merged; each batch has all versions of its keys.
            logs = [log.items[family] for log in state.logs if family in log.items]
            runs: list[Iterable[list[Item]]] = [parts_of(items) for items in logs]
            runs += self._forensic_runs(
                [file for file in self.tables(Role.LIVE) if file.column_family == family], report
            )
            # `carried` has what the versions of a batch say about keys of the next one; see `Sources.resolve`.
            carried = BEGINNING
            for items in whole_keys(merge_runs(runs) if len(runs) > 1 else runs[0] if runs else ()):
                rows = LeveldbRows(family)
                add_items(rows, items, lean=sources.lean, report=sources.report)
                carried = sources.resolve(rows, carried)
                yield rows

    def live_state(self, report: Report = checks.strict) -> LiveState:
        """Return logs, range deletions, families and last sequence number of the live files; without these, no version
        can be judged. `report` gets the damage to them.
        """
        self._prefetch_live()
        logs = [self.load_log(file, report) for file in self.logs(Role.LIVE)]
        # Without a manifest, no number is too high to be part of the state.
        known = (self.manifest.last_sequence or 0) if self.manifest else MAX_SEQUENCE
        ranges = [deletion for log in logs for deletion in log.ranges] + self._table_deletions(report, Role.LIVE)
        families = {file.column_family for file in self.tables(Role.LIVE)} | {
            number for log in logs for number in log.items
        }
        return LiveState(logs, max([known, *(log.last_sequence for log in logs)]), ranges, sorted(families))

    def unreferenced(self, report: Report, *, lean: bool = False) -> Iterator[LeveldbRows]:
        """Yield the versions in files that the database no longer uses, and those in live logs that it does not apply.
        Damage to these files is reported as a warning.  `lean` is that of `map_versions`.
        """
        # Entries of logs first, then those of tables.
        for status, family, items in self.unused_items(report):
            for part in parts_of(items):
                yield unused_rows(family, part, status, report, lean=lean)
        milder = checks.of_unused(report)
        for file in self.tables(Role.OBSOLETE, Role.ORPHAN):
            for items in self._table_items([file], milder):
                yield unused_rows(self.family_of(file), items, Status.UNREFERENCED, milder, lean=lean)

    def _forensic_runs(self, files: list[DbFile], report: Report) -> list[Iterable[list[Item]]]:
        """Return the readable items of tables as sorted runs, as few as possible.

        Tables whose keys do not overlap share a run; a table that is not in order is sorted in memory.
        """
        runs: list[Iterable[list[Item]]] = []
        # Tables in order, with their first and last keys; a key here is (user key, inverted packed), an item's start.
        sound: list[tuple[tuple[bytes, int], tuple[bytes, int], DbFile]] = []
        for file in files:
            survey = self.survey(file)
            if not survey.ordered:
                runs.append([self._sorted_items(file, report)])
            elif survey.first is not None and survey.last is not None:
                sound.append((survey.first, survey.last, file))
            else:
                runs.append(self._table_items([file], report))  # no readable items; reading reports the damage
        # By first key, each table goes to the first chain of tables that ends before it.
        chains: list[list[DbFile]] = []
        ends: list[tuple[bytes, int]] = []  # the last key of each chain
        for first, last, file in sorted(sound, key=lambda entry: entry[:2]):
            for number, end in enumerate(ends):
                if end < first:
                    chains[number].append(file)
                    ends[number] = last
                    break
            else:
                chains.append([file])
                ends.append(last)
        return runs + [self._table_items(chain, report) for chain in chains]

    def survey(self, file: DbFile) -> TableSurvey:
        """Return the survey of a table (whether it is in order, first and last key), which is made once."""
        found = self._surveys.get(file.name)
        if found is None:
            found = self._surveys[file.name] = survey_table(self.table(file))
        return found

    def _table_items(self, files: list[DbFile], report: Report) -> Iterator[list[Item]]:
        """Yield the readable items of tables in batches, one table after the other."""
        for file in files:
            yield from forensic_items(self.table(file), file.number, report)

    def _sorted_items(self, file: DbFile, report: Report) -> list[Item]:
        """Return the readable items of a table whose order is wrong, sorted."""
        table = self.table(file)
        items = [item for part in self._table_items([file], report) for item in part]
        self.limits.check("entries", len(items), table.source.span(0, table.source.size))
        return sorted(items, key=sort_key)

    def state(
        self, sequence: int | None = None, *, report: Report = checks.ignore, unreferenced: bool = False
    ) -> Iterator[Version]:
        """The version of each key that was current as of `sequence` (None: now), deleted keys left out.

        With `unreferenced`, versions in files that the database no longer uses are included, but if the manifest is
        undamaged, only for a `sequence` below its last one.  Compaction drops old versions, so that a past state may be
        incomplete.
        """
        if sequence is not None and self.manifest is not None and not self.manifest.damaged:
            unreferenced = unreferenced and sequence < self.live_state(checks.ignore).last_sequence
        now = sequence is None and not unreferenced  # then the statuses state what is current
        versions = self.versions(report, unreferenced=unreferenced, older=not now)
        if now:
            yield from (version for version in versions if version.status in CURRENT_STATE)
            return
        found: list[Version] = []
        if unreferenced:  # those come last, file by file
            found = sorted(versions, key=self.version_key)
            versions = iter(found)
        ceiling = MAX_SEQUENCE if sequence is None else sequence
        deletions = self.deletions(found, ceiling, unreferenced=unreferenced)
        # By the first three parts of the sort key: column family, whether the key is invalid, key.
        for _, group in itertools.groupby(versions, lambda version: self.version_key(version)[:3]):
            known = [one for one in group if one.sequence <= ceiling and one.status not in UNCOMMITTED]
            chain = self._current_chain(known, deletions)
            kept = [one for one in known if one.status is not Status.UNREFERENCED]
            # RocksDB sets the number of a last version to 0: when it replaced those in unused files is not known then.
            is_ambiguous = 0 < len(kept) < len(known) and kept[0].sequence == 0
            if is_ambiguous:
                chain = self._current_chain(kept, deletions)
                unused = self._current_chain([one for one in known if one.status is Status.UNREFERENCED], deletions)
                if sequence is not None and [one.part for one in chain] != [one.part for one in unused]:
                    self.unresolved.add(f"{type_name(kept[0].value_type)} without a sequence number")
                    yield kept[0]._replace(value=b"", status=Status.UNRESOLVED)
                    continue
            if chain:
                yield self._resolved_version(chain)

    def _current_chain(self, versions: list[Version], deletions: DeletionsByFamily) -> list[Version]:
        """Return the newest of the versions of a key (newest first); if it is a merge operand, also the older ones down
        to a base value.  The result is empty if the key is deleted.
        """
        chain: list[Version] = []
        for version in versions:
            if version.value_type == RANGE:
                continue
            if version.value_type == ValueTypes.MERGE and version.status in CURRENT_STATE:
                continue  # the computed value: its operands follow, and those up to the sequence number are used
            if chain and version.sequence == chain[-1].sequence:
                continue  # another copy
            # Deleted, by an entry of the key or by a range deletion: nothing older counts.
            if version.value_type in DELETIONS or self.is_wiped(version, deletions):
                break
            chain.append(version)
            if version.value_type != ValueTypes.MERGE:  # a base value
                break
        return chain

    def _resolved_version(self, chain: list[Version]) -> Version:
        """Return the newest version of a chain with the value that the chain makes.

        A chain is a list of merge operands, newest first, then the base value if there is one.
        """
        head = chain[0]
        if head.part[0] == ValueTypes.VALUE:  # `part`: (type, bytes), a value that was read counts as a plain one
            return head
        versions = [one.part for one in chain]
        value = self.resolve_value(head.column_family, head.key, versions)
        if value is None:
            return head._replace(value=b"", status=Status.UNRESOLVED)
        # An operand that no newer version replaces is now the live value.
        status = Status.LIVE if head.status is Status.OPERAND and head.superseded_by is None else head.status
        extra = head.extra
        if (columns := chain[-1].columns) is not None:
            extra = (extra or VersionExtra())._replace(columns=merged_columns(columns, value))
        return head._replace(value=value, status=status, extra=extra)

    def deletions(
        self, found: Iterable[Version], ceiling: int = MAX_SEQUENCE, *, unreferenced: bool = False, intact: bool = False
    ) -> DeletionsByFamily:
        """Return the range deletions of live files up to a sequence number, and those of all files.

        The latter are the same unless `unreferenced`.  Then they have those among the versions `found`, which come
        from logs, and those of tables that the database no longer uses, which reach over all keys that they name.
        With `intact`, those of a log record whose checksum is wrong are left out.
        """
        ranges = self.live_state(checks.ignore).ranges
        ranges = [one for one in ranges if one.intact or not intact]
        live = self._deletions(ranges, ceiling)
        if unreferenced:
            ranges += [
                RangeDeletion(one.key, one.value, one.sequence, one.column_family)
                for one in found
                if one.value_type == RANGE
                and one.status not in UNCOMMITTED
                and not (intact and one.checksum == Verdict.BAD)
            ]
            ranges += self._table_deletions(checks.ignore, Role.OBSOLETE, Role.ORPHAN)
        return DeletionsByFamily(live, self._deletions(ranges, ceiling) if unreferenced else live)

    def is_wiped(self, version: Version, deletions: DeletionsByFamily) -> bool:
        """Whether a range deletion hides a version.  Those of files that are no longer used hide no version of live
        files, which may have the number 0.  `deletions` are those of the method with that name.
        """
        families = deletions.of_all if version.status is Status.UNREFERENCED else deletions.live
        found = families.get(version.column_family)
        if found is None:
            return False
        order = self.order(version.column_family)
        # Versions have no timestamp in their key.
        return found.newest(order.rank(version.key + bytes(order.timestamp))) > version.sequence

    def unresolved_findings(self, jobs: int = 1) -> list[Finding]:
        """Return a finding for each live value that cannot be determined; none if a log cannot be read.

        `jobs` threads read the rows (0: one per core).
        """
        found = CappedFindings()
        try:
            self.kinds.update(*(self.load_log(file, checks.ignore).kinds for file in self.logs(Role.LIVE)))
        except ExhumeError:
            return []
        if self.kinds.isdisjoint(INDIRECT):
            return []
        self.unread.clear()
        places: dict[bytes, Span] = {}  # of values in blob files that could not be read
        lines = self.map_versions(unresolved_versions, unreferenced=False, older=False, jobs=jobs, lean=True)
        for version in itertools.chain.from_iterable(lines):
            if version.value_type == ValueTypes.BLOB_INDEX and self.unread:
                if len(places) < MOST_UNREAD:
                    places.setdefault(version.key, version.span)
                continue  # the loop below reports why the blob could not be read
            kind = type_name(version.value_type)
            found.append(checks.UNRESOLVED.finding(kind, span=version.span, actual=version.key))
        for key, error in self.unread:
            raised = Finding.from_error(error)
            found.append(raised if raised.span is not None else raised._replace(span=places.get(key)))
        return found.findings()

    def version_key(self, version: Version) -> Any:
        """Return the sort key of a version: column family, whether the key is invalid, key, newest first."""
        rank = self.order(version.column_family).order(version.key)  # None: the comparator cannot interpret the key
        stamp = (version.extra.timestamp if version.extra is not None else None) or 0
        key = version.key if rank is None else rank
        # Of RocksDB's versions with the number 0, those of the database come first, then those of newer files.
        last = version.status is Status.UNREFERENCED, -version.place.number
        return version.column_family, rank is None, key, -stamp, -version.sequence, *last

    def history(self, key: bytes, report: Report = checks.ignore) -> list[Version]:
        """Every version of one key that can be found anywhere in the directory, newest first."""
        found = [version for version in self.versions(report) if version.key == key]
        return sorted(
            found,
            key=lambda version: (version.column_family, -version.sequence, version.place.file, version.place.offset),
        )
