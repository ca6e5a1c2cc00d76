"""The live state of a database, read strictly: every method raises at the first broken rule on its way.

It is the newest version of each key, from logs and tables, up to the last sequence number of the state; a deletion
hides older versions.  Entries come as items, (key, inverted, rank, offset, value, place), where inverted is 2^64 - 1
minus (sequence << 8 | type): see `table.Item`.  Column families are sets of keys with numbers; the default one is 0.
Level 0 of the tables has those that may overlap; the tables of a deeper level do not.

Arguments: `column_family` or `family` is a number, `ceiling` the highest sequence number that counts.  With `strict`, a
value that cannot be determined raises an error; with `lean`, a large value is not in its row but in the `VersionExtra`
of the row, which reads it in chunks.

Spec: LevelDB doc/impl.md.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, TypeVar

from exhume.errors import ExhumeError
from exhume.findings import CappedFindings, Finding
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.comparators import Comparator
from exhume.formats.leveldb.deletions import Deletions, RangeDeletion
from exhume.formats.leveldb.directory import DatabaseDirectory
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.kernel import LeveldbRows, LogItems
from exhume.formats.leveldb.layout_facts import user_key
from exhume.formats.leveldb.manifest import ColumnFamily, level_runs
from exhume.formats.leveldb.model import DELETIONS, INDIRECT, Role, Status, ValueTypes, Version, type_name
from exhume.formats.leveldb.names import hint_rows
from exhume.formats.leveldb.ranges import PUT_FLAGS, Run, Sources, map_rows, versions_of
from exhume.formats.leveldb.table import Item, Level, Table
from exhume.formats.leveldb.values import updated_in_place
from exhume.formats.leveldb.wire import MAX_SEQUENCE
from exhume.io.caching import cached_property
from exhume.io.values import LargeValue, whole

T = TypeVar("T")

_TOP = (1 << 64) - 1  # minus `inverted`: sequence number and type of an item
RANGE = int(ValueTypes.RANGE_DELETION)


class LiveDatabase(DatabaseDirectory):
    """A database whose live state can be read.  Thread-safe."""

    _last_deletions: tuple[int, dict[int, Deletions]] | None = None  # see `_deletions_as_of`

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
        for key, _, _, _, value, _ in self._newest(start, stop, sequence, column_family):
            yield key, whole(value)

    def live_families(self) -> list[int]:
        """Return the numbers of the column families that were not dropped, sorted."""
        families = self.manifest.families.items() if self.manifest else ()
        return sorted(number for number, family in families if not family.dropped) if self.manifest else [0]

    def live_versions(self, start: bytes | None = None, stop: bytes | None = None) -> Iterator[Version]:
        """Live rows with `start <= key < stop` and their places, by column family and key.  Raises at the first
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
        lean: bool = False,
    ) -> Iterator[T]:
        """Yield `make(rows)` for the live rows with `start <= key < stop`, some thousand at a time, by family and key.

        `make` is called on `jobs` threads (0: one per core).  For `lean` see the module.  Raises
        at the first damage on the way.
        """
        self.require_sound()
        last, deletions = self.last_sequence(), self._deletions_as_of(self.last_sequence())
        runs: dict[int, list[Run]] = {}
        chosen = self.live_families() if families is None else families
        for family in chosen:
            # Only keys in the order of bytes can be merged from runs; others are sorted in memory.
            if self.order(family).is_bytewise:
                logs = {file.number: self._live_items(file, family) for file in self.logs(Role.LIVE)}
                runs[family] = self._runs(family, logs)
        resolver = self.resolve_large if lean else self.resolve_value
        sources = Sources(runs, last, deletions, resolver, live=True, lean=lean)
        for family in chosen:
            if family in runs:  # ranges of keys, in parallel
                yield from map_rows(make, sources._replace(families={family: runs[family]}), start, stop, jobs)
            else:
                yield make(self._ordered(family, start, stop, last, lean=lean))

    def _ordered(
        self, family: int, start: bytes | None, stop: bytes | None, ceiling: int, *, lean: bool = False
    ) -> LeveldbRows:
        """The live rows of a column family whose keys are not ordered as bytes, as of a sequence number; raises at the
        first damage, and for types that are not known.
        """
        tables = [file for file in self.tables(Role.LIVE) if file.column_family == family]
        items = [item for file in tables for item in self.table(file).items(file.number)]
        items += [item for file in self.logs(Role.LIVE) for item in self._live_items(file, family) or ()]
        resolver = self.resolve_large if lean else self.resolve_value
        sources = Sources({}, ceiling, self._deletions_as_of(ceiling), resolver, live=True, lean=lean)
        rows = sources.ordered(family, items, self.order(family))
        rows.choose(True, start, stop, None)
        odd = rows.cut(PUT_FLAGS)  # the first version whose type is not known
        if odd is not None:
            place, value_type = odd
            checks.raise_rule(checks.VALUE_TYPE, span=rows.places[place].span, actual=value_type)
        return rows

    def _runs(self, family: int, logs: Mapping[int, LogItems | None]) -> list[Run]:
        """Return the live tables and the items of logs in a column family, in the order of their numbers.

        `logs` has the items of each log; None or empty ones are left out.
        """
        found: dict[int, Run] = {number: items for number, items in logs.items() if items}
        found |= {file.number: self.table(file) for file in self.tables(Role.LIVE) if file.column_family == family}
        return [run for _, run in sorted(found.items(), key=itemgetter(0))]

    def live_rows(
        self, start: bytes | None = None, stop: bytes | None = None
    ) -> Iterator[tuple[bytes, bytes | LargeValue | None]]:
        """Live `(key, value)` of the default column family, as `scan`.

        The value is None if it cannot be determined, and a `LargeValue` if it is too large for memory.
        """
        items = self._newest(start, stop, None, 0, strict=False)
        return ((key, value) for key, _, _, _, value, _ in items)

    def _newest(
        self,
        start: bytes | None,
        stop: bytes | None,
        sequence: int | None,
        column_family: int,
        *,
        strict: bool = True,
    ) -> Iterator[Any]:
        """Yield an `Item` for each live key, with its resolved value, as of `sequence`."""
        self.require_sound()
        ceiling = self.last_sequence() if sequence is None else sequence
        if not self.order(column_family).is_bytewise:
            return self._newest_ordered(start, stop, ceiling, column_family, strict)
        return self._newest_merged(start, stop, ceiling, column_family, strict)

    def _newest_ordered(
        self, start: bytes | None, stop: bytes | None, ceiling: int, column_family: int, strict: bool
    ) -> Iterator[Any]:
        """Yield the newest version of each key in the order of a comparator other than bytewise.

        `strict` raises at a value that cannot be resolved.
        """
        for one in versions_of(self._ordered(column_family, start, stop, ceiling, lean=True)):
            if one.status is Status.UNRESOLVED and strict:
                checks.raise_rule(checks.UNRESOLVED, type_name(one.value_type), span=one.place.span, actual=one.key)
            packed = _TOP - (one.sequence << 8 | one.value_type)
            value = None if one.status is Status.UNRESOLVED else one.content
            yield one.key, packed, 0, one.entry_offset, value, one.place

    def _newest_merged(
        self, start: bytes | None, stop: bytes | None, ceiling: int, column_family: int, strict: bool
    ) -> Iterator[Any]:
        """Yield the newest visible entry (an `Item`) of each key in `[start, stop)`, in key order.

        `ceiling` is the highest visible sequence number. Deleted keys are omitted. Merge operands are collected up to
        their base value and resolved together.
        """
        deleted = self._deletions_as_of(ceiling).get(column_family)
        last: bytes | None = None
        chain: list[Item] = []  # merge operands of the last key, newest first, while there may be more
        for item in self._merged(start, stop, column_family):
            key, inverted, _, _, _, place = item
            if chain and key != last:
                yield self._resolved(chain, column_family, strict)
                chain = []
            if stop is not None and key >= stop:
                return
            if key == last and not chain:  # an older version of a key that is done
                continue
            packed = _TOP - inverted
            sequence, kind = packed >> 8, packed & 0xFF
            if sequence > ceiling or kind == RANGE:
                continue
            last = key
            # Whether this version and those before it are deleted.
            gone = kind in DELETIONS or (deleted is not None and deleted.newest(key) > sequence)
            if not gone and kind not in checks.KNOWN_PUTS:
                checks.raise_rule(checks.VALUE_TYPE, span=place.span, actual=kind)
            if not gone and kind == ValueTypes.MERGE:
                chain.append(item)
            # The base value of the operands, or a deletion, which ends them.
            elif chain:
                yield self._resolved(chain if gone else [*chain, item], column_family, strict)
                chain = []
            elif not gone:
                yield self._resolved([item], column_family, strict) if kind in INDIRECT else item
        if chain:
            yield self._resolved(chain, column_family, strict)

    def _resolved(self, chain: list[Item], family: int, strict: bool) -> tuple[Any, ...]:
        """Return the first item of `chain` (the newest version of a key) with the value of the whole chain.

        With `strict`, raises LDB-404 if it cannot be determined; else the value is None.
        """
        versions = [((_TOP - inverted) & 0xFF, stored) for _, inverted, _, _, stored, _ in chain]
        key, newest, rank, at, _, place = chain[0]
        value = (self.resolve if strict else self.resolve_large)(family, key, versions)
        if value is None and strict:
            kind = type_name((_TOP - newest) & 0xFF)
            checks.raise_rule(checks.UNRESOLVED, kind, span=place.span, actual=key)
        return key, newest, rank, at, value, place

    def last_sequence(self) -> int:
        """The last sequence number in the manifest and in the logs that would be replayed."""
        return self._last_sequence

    @cached_property
    def _last_sequence(self) -> int:
        """The result of `last_sequence`, computed once; without a manifest, no number is too high."""
        self._prefetch_live()
        last = (self.manifest.last_sequence or 0) if self.manifest else MAX_SEQUENCE
        return max([last, *(self.load_log(file).last_sequence for file in self.logs(Role.LIVE))])

    def _prefetch_live(self) -> None:
        """Announce the reading of live logs and tables to the source."""
        hint_rows(self.tree, [file.name for file in self.logs(Role.LIVE) + self.tables(Role.LIVE)])

    def range_deletions(self) -> list[RangeDeletion]:
        """RocksDB range deletions of live tables and logs."""
        return self._range_deletions

    @cached_property
    def _range_deletions(self) -> list[RangeDeletion]:
        """The range deletions of live logs and tables; LevelDB's tables have none."""
        out = [deletion for file in self.logs(Role.LIVE) for deletion in self.load_log(file).ranges]
        return out + self._table_deletions(checks.strict, Role.LIVE)

    def _deletions(self, found: list[RangeDeletion], ceiling: int) -> dict[int, Deletions]:
        """Return range deletions up to a sequence number by their column family, to look keys up."""
        families = {one.column_family for one in found}
        return {family: Deletions(found, family, self.order(family), ceiling) for family in families}

    def _deletions_as_of(self, ceiling: int) -> dict[int, Deletions]:
        """Return the range deletions of live files up to a sequence number; those of the last call are kept."""
        if self._last_deletions is None or self._last_deletions[0] != ceiling:
            self._last_deletions = ceiling, self._deletions(self.range_deletions(), ceiling)
        return self._last_deletions[1]

    def _table_deletions(self, report: Report, *roles: Role) -> list[RangeDeletion]:
        """Return the range deletions of tables in some roles, those of live ones as far as they count."""
        out: list[RangeDeletion] = []
        stated = {one.number: one for one in self.manifest.tables} if self.manifest else {}
        for file in self.tables(*roles):
            table = self.table(file)
            footer = table.footer if report is checks.strict else table.footer_or_none()
            if footer is None or footer.family != "rocksdb":  # LevelDB has none
                continue
            found = [RangeDeletion(*one, table.column_family) for one in table.range_deletions(report)]
            if file.number in stated and self.order(file.column_family).known:
                found = [one.within(stated[file.number], self.order(file.column_family)) for one in found]
            out += found
        return out

    def updates_in_place(self) -> list[Finding]:
        """Return a finding for each value in live logs that RocksDB may hide; none if a log cannot be read.

        With its option for updates in place, RocksDB keeps the sequence number of a value's first write.  A range
        deletion between the first and the last write then hides the value (LDB-114).
        """
        found = CappedFindings()
        try:
            logs = [self.load_log(file, checks.ignore) for file in self.logs(Role.LIVE)]
        except ExhumeError:
            return []
        ranges = [one for log in logs for one in log.ranges]
        named = updated_in_place(self._options()) if ranges else ()  # names of the column families with that option
        families = self.manifest.families if self.manifest is not None else {0: ColumnFamily()}
        for family in sorted({one.column_family for one in ranges} if named else ()):
            if family in families and families[family].name in named:
                mine = [one for one in ranges if one.column_family == family]
                runs = [log.items[family] for log in logs if family in log.items]
                for key, _, _, _, _, place in _hidden_values(runs, mine, self.order(family)):
                    found.append(checks.IN_PLACE.finding(span=place.span, actual=key))
        return found.findings()

    def _merged(self, start: bytes | None, stop: bytes | None, family: int) -> Iterator[Item]:
        """Items of live files from `start` on, sorted; the caller uses none at or after `stop`.  Raises at damage."""
        runs: list[Iterator[Item]] = []
        for file in self.logs(Role.LIVE):
            found = self._live_items(file, family)
            if found:
                first = 0 if start is None else bisect_left(found, (start,))  # which sorts before items of that key
                runs.append(map(found.__getitem__, range(first, len(found))))
        young, levels = self._live_tables(family)
        runs += [table.items(table.number, start, stop) for table in young]
        runs += [level.items(start, stop) for level in levels]
        yield from runs[0] if len(runs) == 1 else heapq.merge(*runs)

    def _live_items(self, file: DbFile, family: int) -> LogItems | None:
        """The items of a live log in a column family; None without any."""
        return self.load_log(file).items.get(family)

    @cached_property
    def _levels(self) -> dict[int, tuple[list[Table], list[Level]]]:
        """Results of `_live_tables` so far, by column family."""
        return {}

    def _live_tables(self, family: int) -> tuple[list[Table], list[Level]]:
        """Return (tables of level 0, which may overlap, other levels of a column family); without a manifest, levels
        are not known and all tables may overlap.
        """
        found = self._levels.get(family)
        if found is None:
            # Kept, as every look-up needs them.
            tables = {file.number: self.table(file) for file in self.tables(Role.LIVE)}
            if self.manifest is None:
                found = list(tables.values()), []
            else:
                young, levels = level_runs(
                    [one for one in self.manifest.tables if one.column_family == family and one.number in tables],
                    self.order(family),
                )
                found = (
                    [tables[table.number] for table in young],
                    [
                        Level([tables[one.number] for one in run], [user_key(one.largest) for one in run])
                        for run in levels
                    ],
                )
            self._levels[family] = found
        return found

    def spans(self, start: bytes, stop: bytes) -> dict[str, tuple[int, int]]:
        """Return the place of the blocks in each undamaged live table that have keys in `[start, stop)`: (first offset,
        end) by file name.
        """
        out: dict[str, tuple[int, int]] = {}
        for file in self.tables(Role.LIVE) if self.is_bytewise else ():
            with contextlib.suppress(ExhumeError):
                span = self.table(file).span_of(start, stop)
                if span is not None:
                    out[file.name] = span
        return out

    def close(self) -> None:
        super().close()
        self._levels.clear()


def _hidden_values(runs: Iterable[Iterable[Item]], ranges: list[RangeDeletion], order: Comparator) -> Iterator[Item]:
    """Yield each value that a range deletion between its first and its last write hides; see `updates_in_place`.

    `runs` have the items of logs, `ranges` are the range deletions, both of one column family.
    """
    for key, versions in itertools.groupby(heapq.merge(*runs), itemgetter(0)):
        newest, first = _first_write(versions)
        if newest is None:
            continue
        _, inverted, _, _, _, _ = newest
        last = (_TOP - inverted) >> 8
        # With the same number, it was written once.
        deleted = (one.sequence for one in ranges if _covers(one, key, order))
        if last != first and first < max(deleted, default=0) < last:
            yield newest


def _first_write(versions: Iterable[Item]) -> tuple[Item | None, int]:
    """Return the newest version of a key in logs, and the sequence number that RocksDB keeps when it updates in place.

    A write replaces the value before it in place if that has the same type and is not shorter; the number stays that of
    the value that was there first.  `versions` come newest first.  Returns None if the newest is not a value.
    """
    newest, newest_kind = None, 0
    first, first_size = 0, 0  # sequence number and bytes of the first write so far, going back from the newest
    for one in versions:
        _, inverted, _, _, value, _ = one
        sequence, kind = divmod(_TOP - inverted, 256)
        if kind == RANGE:
            continue
        size = len(value or b"")
        if newest is None and kind in checks.KNOWN_PUTS - {ValueTypes.MERGE}:
            newest, newest_kind = one, kind
        elif newest is None or kind != newest_kind or size < first_size:
            break  # the next newer write did not fit in its place
        first, first_size = sequence, size
    return newest, first


def _covers(one: RangeDeletion, key: bytes, order: Comparator) -> bool:
    """Whether a key may be in the range of a deletion, whatever their sequence numbers.

    With an unknown comparator it may be in any.
    """
    # `precedes` is None for equal keys, and for all with an unknown comparator.
    before = order.precedes(key, one.stop) or not order.known
    return before and order.precedes(key, one.first) is not True
