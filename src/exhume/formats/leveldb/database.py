"""A database directory as evidence: every version of every key and its fate, any past state, the history of one key.

Files are read directly; no database library, no lock, no write.  There are two ways of reading: strict methods (`get`,
`scan`) raise at the first broken rule, forensic ones (`versions`, `state`, `history`) continue.

Spec: LevelDB doc/impl.md; the two sequence rules: `docs/formats/leveldb.md`.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from exhume.errors import ExhumeError, Span
from exhume.findings import Finding
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.files import DbFile, list_files, load_manifest, named_manifest, old_manifests
from exhume.formats.leveldb.forensics import Survey, forensic_items, survey_table
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.layout_facts import user_key
from exhume.formats.leveldb.manifest import Manifest, level_runs
from exhume.formats.leveldb.merge import Level, RangeDeletion, merge_runs, sort_key
from exhume.formats.leveldb.model import (
    BYTEWISE,
    DELETIONS,
    Role,
    SequenceRule,
    Status,
    ValueTypes,
    Version,
)
from exhume.formats.leveldb.names import hint_files, hint_rows, obvious_manifest, plain_names
from exhume.formats.leveldb.pool import SourcePool
from exhume.formats.leveldb.ranges import (
    BEGINNING,
    Run,
    Sources,
    is_sound,
    map_rows,
    unused_rows,
    versions_of,
)
from exhume.formats.leveldb.replay import LoadedLog, load_log
from exhume.formats.leveldb.table import Item, Table
from exhume.formats.leveldb.wire import MAX_SEQUENCE
from exhume.io.cached import cached_property
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

MOST_KEPT = 64 << 20
"""Bytes of tables that are kept while these are surveyed: most databases are then read once."""

T = TypeVar("T")

_TOP = (1 << 64) - 1
_RANGE = int(ValueTypes.RANGE_DELETION)


class LiveState(NamedTuple):
    """The live logs, the last sequence number, all range deletions, and the column families that have entries."""

    logs: list[LoadedLog]
    last_sequence: int
    ranges: list[RangeDeletion]
    families: list[int]


class Database:
    """An open database.  Thread-safe.

    `problems` are the findings made while CURRENT, manifest and directory were read.  With None as `sequence_rule`,
    the rule is recognised in each log by the numbers of its successive batches.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        limits: Limits = DEFAULT_LIMITS,
        sequence_rule: SequenceRule | None = None,
        standalone: bool = False,
    ) -> None:
        """`standalone`: there is neither CURRENT nor a manifest, and all files count as live."""
        self.tree = tree
        self._pool = SourcePool(tree)
        self.limits = limits
        self.sequence_rule = sequence_rule
        self.problems: list[Finding] = []
        self.errors: list[ExhumeError] = []
        report = self._note
        hint_files(tree, plain_names(tree))
        self.manifest: Manifest | None = None if standalone else load_manifest(tree, report, limits)
        report_files = checks.ignore if standalone else report
        self.files: list[DbFile] = list_files(tree, self.manifest, self._was_named, report_files)
        if standalone:
            self.files = [f._replace(role=Role.LIVE) if f.kind in ("table", "log") else f for f in self.files]
        self._check_logs(report)
        self._tables: dict[str, Table] = {}
        self._surveys: dict[str, Survey] = {}
        self._levels: dict[int, tuple[list[Table], list[Level]]] = {}
        self._logs: dict[str, LoadedLog] = {}
        self._last_sequence: int | None = None
        self._confirmed = False
        self._sound: bool | None = None
        self._ranges: list[RangeDeletion] | None = None
        self._lock = threading.RLock()

    def _note(self, rule: checks.Rule, detail: str = "", **facts: Any) -> None:
        finding = rule.finding(detail, **facts)
        self.problems.append(finding)
        if finding.severity == "error":
            self.errors.append(rule.error(detail, **facts))

    @cached_property
    def old_manifests(self) -> list[Manifest]:
        """Manifests that are no longer used; they are read when there are tables that only they may have named."""
        return old_manifests(self.tree, self.manifest.name if self.manifest else "", self.limits)

    def _was_named(self, table: int) -> bool:
        named = self.manifest is not None and table in self.manifest.mentioned
        return named or any(table in each.mentioned for each in self.old_manifests)

    def _check_logs(self, report: Report) -> None:
        if self.manifest is None or self.manifest.log_number == 0:
            return
        if not any(f.kind == "log" and f.role is Role.LIVE for f in self.files):
            name = f"{self.manifest.log_number:06d}.log"
            report(checks.MISSING_FILE, "the log that the manifest names", span=Span(name, 0, 0))

    def confirm_manifest(self) -> None:
        """Reads CURRENT once, if the manifest was found without it, and notes what is wrong with it."""
        with self._lock:
            if self.manifest is not None and not self._confirmed and obvious_manifest(self.tree):
                self._confirmed = True
                named_manifest(self.tree, self._note)

    def require_sound(self) -> None:
        """Raises the first error of reading CURRENT, manifest and directory; every strict method calls it first."""
        if self.errors:
            raise self.errors[0]

    @property
    def comparator(self) -> str:
        """The name of the comparator, which orders the keys."""
        return (self.manifest.comparator if self.manifest else None) or BYTEWISE

    @property
    def is_bytewise(self) -> bool:
        """Whether keys are ordered as bytes, so that files can be merged and searched by key."""
        families = self.manifest.families.values() if self.manifest else ()
        return all((f.comparator or self.comparator) == BYTEWISE for f in families) and self.comparator == BYTEWISE

    def source(self, name: str) -> Source:
        """One file of the directory."""
        return self._pool.source(name)

    def table(self, file: DbFile) -> Table:
        """The reader of one table."""
        with self._lock:
            found = self._tables.get(file.name)
            if found is None:
                found = self._tables[file.name] = Table(
                    self.source(file.name), file.number, level=file.level, referenced=file.role is Role.LIVE,
                    column_family=file.column_family, limits=self.limits,
                )  # fmt: skip
            return found

    def tables(self, *roles: Role) -> list[DbFile]:
        """Tables in these roles."""
        return [f for f in self.files if f.kind == "table" and f.role in roles]

    def logs(self, *roles: Role) -> list[DbFile]:
        """Logs in these roles, oldest first."""
        return [f for f in self.files if f.kind == "log" and f.role in roles]

    # Logs

    def spans(self, start: bytes, stop: bytes) -> dict[str, tuple[int, int]]:
        """The places of the blocks in each undamaged live table that have keys in `[start, stop)`, by file name."""
        out: dict[str, tuple[int, int]] = {}
        for file in self.tables(Role.LIVE) if self.is_bytewise else ():
            with contextlib.suppress(ExhumeError):
                span = self.table(file).span_of(start, stop)
                if span is not None:
                    out[file.name] = span
        return out

    def load_log(self, file: DbFile, report: Report = checks.strict) -> LoadedLog:
        """A log as sorted items.  A strict result is kept."""
        keep = report is checks.strict
        with self._lock:
            if keep and file.name in self._logs:
                return self._logs[file.name]
            loaded = load_log(
                self.source(file.name), file, report, self.limits, rule=self.sequence_rule, is_dacha=self._is_dacha
            )
            if keep:
                self._logs[file.name] = loaded
            return loaded

    def _is_dacha(self) -> bool:
        writer = self.manifest.writer if self.manifest else ""
        if writer == "dacha":
            return True
        names = {f.name for f in self.files}
        if "dacha" not in writer or "IDENTITY" not in names or any(n.startswith("OPTIONS-") for n in names):
            return False
        identity = self.source("IDENTITY").read_up_to(0, 64)
        return len(identity) == 36 and not identity.endswith(b"\n")

    # Strict reading of the live state

    def get(self, key: bytes, *, sequence: int | None = None, column_family: int = 0) -> bytes | None:
        """The live value of a key (as of `sequence`), None when there is none.  Raises at any damage on the way."""
        for found, value in self.scan(key, key + b"\0", sequence=sequence, column_family=column_family):
            if found == key:
                return value
        return None

    def scan(
        self,
        start: bytes | None = None,
        stop: bytes | None = None,
        *,
        sequence: int | None = None,
        column_family: int = 0,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Live `(key, value)` with `start <= key < stop` in key order, as of `sequence`.  Raises at the first
        damage.
        """
        for item in self._newest(start, stop, sequence, column_family):
            yield item[0], item[4]

    def scan_newest(
        self,
        start: bytes | None = None,
        stop: bytes | None = None,
        *,
        sequence: int | None = None,
        column_family: int = 0,
    ) -> Iterator[tuple[bytes, int, bytes]]:
        """Like `scan`, but yields `(key, sequence, value)`."""
        for item in self._newest(start, stop, sequence, column_family):
            yield item[0], (_TOP - item[1]) >> 8, item[4]

    def live_families(self) -> list[int]:
        """The numbers of the column families that were not dropped."""
        return sorted(n for n, f in self.manifest.families.items() if not f.dropped) if self.manifest else [0]

    def live_versions(self, start: bytes | None = None, stop: bytes | None = None) -> Iterator[Version]:
        """Live rows with `start <= key < stop` and where they lie, by column family and key.  Raises at the first
        damage on the way.
        """
        return itertools.chain.from_iterable(self.map_live(versions_of, start, stop))

    def map_live(
        self,
        make: Callable[[LeveldbRows], T],
        start: bytes | None = None,
        stop: bytes | None = None,
        *,
        families: list[int] | None = None,
        jobs: int = 1,
    ) -> Iterator[T]:
        """What `make` makes of the live rows with `start <= key < stop`, as columns of some thousand rows, on `jobs`
        threads (0: one per core).

        They come by column family and key.  Raises at the first damage on the way.
        """
        self.require_sound()
        last, deletions = self.last_sequence(), self.range_deletions()
        runs: dict[int, list[Run]] = {}
        for family in self.live_families() if families is None else families:
            if self.is_bytewise:
                logs = {f.number: self._live_items(f, family) for f in self.logs(Role.LIVE)}
                runs[family] = self._runs(family, logs)
            else:
                runs[family] = [list(self._merged(start, stop, family))]
        yield from map_rows(make, Sources(runs, last, deletions, live=True), start, stop, jobs)

    def _runs(self, family: int, logs: Mapping[int, list[Item]]) -> list[Run]:
        """The live tables and the items of logs in a column family, by their numbers."""
        found: dict[int, Run] = {number: items for number, items in logs.items() if items}
        found |= {f.number: self.table(f) for f in self.tables(Role.LIVE) if f.column_family == family}
        return [run for _, run in sorted(found.items(), key=itemgetter(0))]

    def _newest(
        self, start: bytes | None, stop: bytes | None, sequence: int | None, column_family: int
    ) -> Iterator[Item]:
        """The item of each live key, as of `sequence`."""
        self.require_sound()
        ceiling = self.last_sequence() if sequence is None else sequence
        ranges = [r for r in self.range_deletions() if r.column_family == column_family and r.sequence <= ceiling]
        last: bytes | None = None
        for item in self._merged(start, stop, column_family):
            key = item[0]
            if stop is not None and key >= stop:
                return
            if key == last:
                continue
            packed = _TOP - item[1]
            number, kind = packed >> 8, packed & 0xFF
            if number > ceiling or kind == _RANGE:
                continue
            last = key
            if kind in DELETIONS or (ranges and any(r.first <= key < r.stop and r.sequence > number for r in ranges)):
                continue
            if kind not in checks.KNOWN_PUTS:
                checks.fail(checks.VALUE_TYPE, span=item[5].span, actual=kind)
            yield item

    def last_sequence(self) -> int:
        """The last sequence number in the manifest and in the logs that would be replayed."""
        if self._last_sequence is None:
            self._prefetch_live()
            last = (self.manifest.last_sequence or 0) if self.manifest else MAX_SEQUENCE
            self._last_sequence = max([last, *(self.load_log(f).last_sequence for f in self.logs(Role.LIVE))])
        return self._last_sequence

    def _prefetch_live(self) -> None:
        hint_rows(self.tree, [file.name for file in self.logs(Role.LIVE) + self.tables(Role.LIVE)])

    def range_deletions(self) -> list[RangeDeletion]:
        """RocksDB range deletions of live tables and logs."""
        if self._ranges is None:
            out = [r for f in self.logs(Role.LIVE) for r in self.load_log(f).ranges]
            for file in self.tables(Role.LIVE):
                table = self.table(file)
                if table.footer is not None and table.footer.family == "rocksdb":
                    out += [RangeDeletion(*r, file.column_family) for r in table.range_deletions(checks.strict)]
            self._ranges = out
        return self._ranges

    def _merged(self, start: bytes | None, stop: bytes | None, family: int) -> Iterator[Item]:
        """Items of live files from `start` on, sorted; the caller uses none at or after `stop`.  Raises at damage."""
        if not self.is_bytewise:
            items = [
                i for f in self.tables(Role.LIVE) if f.column_family == family for i in self.table(f).items(f.number)
            ]
            items += [i for f in self.logs(Role.LIVE) for i in self._live_items(f, family)]
            yield from sorted((i for i in items if start is None or i[0] >= start), key=sort_key)
            return
        runs: list[Iterator[Item]] = []
        for file in self.logs(Role.LIVE):
            found = self._live_items(file, family)
            if found:
                first = 0 if start is None else bisect_left(found, (start,))
                runs.append(map(found.__getitem__, range(first, len(found))))
        young, levels = self._live_tables(family)
        runs += [table.items(table.number, start, stop) for table in young]
        runs += [level.items(start, stop) for level in levels]
        yield from runs[0] if len(runs) == 1 else heapq.merge(*runs)

    def _live_items(self, file: DbFile, family: int) -> list[Item]:
        if self.manifest is not None and not self.manifest.is_live_log(file.number, family):
            return []
        return self.load_log(file).items.get(family, [])

    def _live_tables(self, family: int) -> tuple[list[Table], list[Level]]:
        """Tables that may overlap one another, and levels of tables that do not."""
        found = self._levels.get(family)
        if found is None:
            tables = {f.number: self.table(f) for f in self.tables(Role.LIVE)}
            if self.manifest is None:
                found = list(tables.values()), []
            else:
                young, levels = level_runs(
                    [t for t in self.manifest.tables if t.column_family == family and t.number in tables]
                )
                found = (
                    [tables[t.number] for t in young],
                    [Level([tables[t.number] for t in run], [user_key(t.largest) for t in run]) for run in levels],
                )
            self._levels[family] = found
        return found

    # Forensic reading

    def versions(self, report: Report = checks.ignore, *, unreferenced: bool = True) -> Iterator[Version]:
        """Every version of every key that can be read, with its status.

        Live files first, merged by column family and key, newest version first; then, if wanted, the entries of files
        that the database no longer uses, file by file.  What cannot be read is reported to `report`.
        """
        return itertools.chain.from_iterable(self.map_versions(versions_of, report, unreferenced=unreferenced))

    def map_versions(
        self,
        make: Callable[[LeveldbRows], T],
        report: Report = checks.ignore,
        *,
        unreferenced: bool = True,
        jobs: int = 1,
    ) -> Iterator[T]:
        """What `make` makes of these versions, as columns of up to some thousand; of an undamaged database (or with
        `checks.strict`) on `jobs` threads (0: one per core).
        """
        state = self.live_state(report)
        if self.is_bytewise and (report is checks.strict or self.is_sound(jobs)):
            yield from map_rows(make, self._sources(state), None, None, jobs)
        else:
            yield from map(make, self._forensic_rows(state, report))
        if unreferenced:
            yield from map(make, self.unreferenced(report))

    def is_sound(self, jobs: int = 1) -> bool:
        """Whether everything that reading the live files meets is undamaged; looked at once, on `jobs` threads."""
        with self._lock:
            if self._sound is None:
                room = MOST_KEPT
                with contextlib.suppress(ExhumeError):
                    for file in self.tables(Role.LIVE):
                        room -= self.table(file).hold(room)
                self._sound = is_sound(self, jobs)
            return self._sound

    def _sources(self, state: LiveState) -> Sources:
        runs = {
            family: self._runs(family, {log.number: log.items.get(family, []) for log in state.logs})
            for family in state.families
        }
        return Sources(runs, state.last_sequence, state.ranges)

    def _forensic_rows(self, state: LiveState, report: Report) -> Iterator[LeveldbRows]:
        """The versions that can be read in live files, whatever is wrong with them."""
        sources = self._sources(state)
        for family in state.families:
            runs: list[Iterable[list[Item]]] = [[log.items[family]] for log in state.logs if family in log.items]
            runs += self._forensic_runs([f for f in self.tables(Role.LIVE) if f.column_family == family], report)
            carried = BEGINNING
            for items in merge_runs(runs) if len(runs) > 1 else runs[0] if runs else ():
                rows = LeveldbRows(family)
                rows.add_items(items)
                carried = sources.resolve(rows, carried)
                yield rows

    def live_state(self, report: Report = checks.strict) -> LiveState:
        """What has to be known of all live files before the versions in one of them can be judged."""
        self._prefetch_live()
        logs = [self.load_log(f, report) for f in self.logs(Role.LIVE)]
        known = (self.manifest.last_sequence or 0) if self.manifest else MAX_SEQUENCE
        ranges = [r for log in logs for r in log.ranges]
        tables = self.tables(Role.LIVE)
        for file in tables:
            table = self.table(file)
            footer = table.footer_or_none()
            if footer is not None and footer.family == "rocksdb":
                ranges += [RangeDeletion(*r, file.column_family) for r in table.range_deletions(checks.ignore)]
        families = {f.column_family for f in tables} | {n for log in logs for n in log.items}
        return LiveState(logs, max([known, *(log.last_sequence for log in logs)]), ranges, sorted(families))

    def unreferenced(self, report: Report) -> Iterator[LeveldbRows]:
        """The versions in files that the database no longer uses."""
        for file in self.logs(Role.OBSOLETE, Role.ORPHAN):
            for family, items in sorted(self.load_log(file, report).items.items()):
                yield unused_rows(family, items)
        for items in self._table_items(self.tables(Role.OBSOLETE, Role.ORPHAN), report):
            yield unused_rows(0, items)

    def _forensic_runs(self, files: list[DbFile], report: Report) -> list[Iterable[list[Item]]]:
        """The readable items of tables as sorted runs: tables that follow one another share one, and a table that is
        not in order is sorted in memory.
        """
        chains: list[tuple[tuple[bytes, int], list[DbFile]]] = []
        runs: list[Iterable[list[Item]]] = []
        sound: list[tuple[tuple[bytes, int], tuple[bytes, int], DbFile]] = []
        for file in files:
            survey = self.survey(file) if self.is_bytewise else None
            if survey is None or not survey.ordered:
                runs.append([self._sorted_items(file, report)])
            elif survey.first is not None and survey.last is not None:
                sound.append((survey.first, survey.last, file))
            else:
                runs.append(self._table_items([file], report))  # nothing readable, but something to report
        for first, last, file in sorted(sound, key=lambda entry: entry[:2]):
            for number, (end, chain) in enumerate(chains):
                if end < first:
                    chain.append(file)
                    chains[number] = (last, chain)
                    break
            else:
                chains.append((last, [file]))
        return runs + [self._table_items(chain, report) for _, chain in chains]

    def survey(self, file: DbFile) -> Survey:
        """The survey of a table, which is made once."""
        found = self._surveys.get(file.name)
        if found is None:
            found = self._surveys[file.name] = survey_table(self.table(file))
        return found

    def _table_items(self, files: list[DbFile], report: Report) -> Iterator[list[Item]]:
        for file in files:
            yield from forensic_items(self.table(file), file.number, report)

    def _sorted_items(self, file: DbFile, report: Report) -> list[Item]:
        table = self.table(file)
        items = [item for part in forensic_items(table, file.number, report) for item in part]
        self.limits.check("entries", len(items), table.source.span(0, table.source.size))
        return sorted(items, key=sort_key)

    def state(
        self, sequence: int | None = None, *, report: Report = checks.ignore, unreferenced: bool = False
    ) -> Iterator[Version]:
        """The version of each key that was current as of `sequence` (None: now), deleted keys left out.

        With `unreferenced`, versions in files that the database no longer uses are included.  Compaction drops old
        versions, so a past state may be incomplete.
        """
        versions = self.versions(report, unreferenced=unreferenced)
        if sequence is None and not unreferenced:
            yield from (v for v in versions if v.status is Status.LIVE)
            return
        if unreferenced:
            versions = iter(sorted(versions, key=lambda v: (v.column_family, v.key, -v.sequence)))
        last: tuple[int, bytes] | None = None
        for version in versions:
            if sequence is not None and version.sequence > sequence:
                continue
            if (version.column_family, version.key) == last or version.value_type == _RANGE:
                continue
            last = version.column_family, version.key
            if version.value_type not in DELETIONS:
                yield version

    def history(self, key: bytes, report: Report = checks.ignore) -> list[Version]:
        """Every version of one key that can be found anywhere in the directory, newest first."""
        found = [v for v in self.versions(report) if v.key == key]
        return sorted(found, key=lambda v: (v.column_family, -v.sequence, v.place.file, v.place.offset))

    def close(self) -> None:
        """Closes every file."""
        with self._lock:
            self._pool.close()
            self._tables.clear()
            self._levels.clear()
