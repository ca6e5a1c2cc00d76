"""Logs as the database replays them: in order, per column family, transactions when they are committed.

A record of a log is a write batch: operations with the sequence number of the first.  Marks between operations begin,
prepare, commit or roll back transactions.  A prepared transaction is one that was written but awaits its commit, which
may be in a later log.  The sequence rule says which operations take a new number: each, none (one per batch), or the
first of each sub-batch; a sub-batch is a part of a batch in which no key is written twice.

Spec: LevelDB db/write_batch.cc; RocksDB db/write_batch.cc (MemTableInserter), db/db_impl/db_impl_open.cc; the sequence
rules: `docs/formats/leveldb.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from exhume.errors import LimitExceededError, MissingDependencyError, Span
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.batches import LoadedLog, LogBatch, Unused, WriteBatches, item_of, items_by_family, rule_of
from exhume.formats.leveldb.deletions import RangeDeletion
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.kernel import LogItems
from exhume.formats.leveldb.large import LONG
from exhume.formats.leveldb.layout import (
    Batch,
    Made,
    Operation,
    OperationTypes,
    TransactionMark,
    parse_batch,
    parse_write,
)
from exhume.formats.leveldb.layout_facts import BATCH
from exhume.formats.leveldb.log import LogReader
from exhume.formats.leveldb.manifest import Manifest
from exhume.formats.leveldb.model import BYTEWISE, LogRecord, Place, Role, SequenceRule, Status, ValueTypes, Verdict
from exhume.formats.leveldb.table import Item, sort_key
from exhume.formats.leveldb.wire import MAX_SEQUENCE, log_rank
from exhume.io.source import Source
from exhume.io.values import LargeValue
from exhume.limits import Limits
from exhume.tuples import NamedTuple

_TOP = (1 << 64) - 1  # minus (sequence << 8 | type): newer items sort first
_ALONE: tuple[int, ...] = (BATCH.size,)
"""Offset of the operation in a batch with one operation, as a tuple like `Place.operations`."""
_RANGE = int(ValueTypes.RANGE_DELETION)
# Marks that begin the section of a transaction that will be prepared, and marks of its commit.
_BEGINS = (OperationTypes.BEGIN_PREPARE, OperationTypes.BEGIN_PERSISTED_PREPARE, OperationTypes.BEGIN_UNPREPARE)
_COMMITS = (OperationTypes.COMMIT, OperationTypes.COMMIT_WITH_TIMESTAMP)


class PreparedOperation(NamedTuple):
    """An operation of a prepared transaction.

    `log` is 0 if the operation gets its final sequence number only at the commit; otherwise it is the number of the log
    in which the database already applied it, with this `sequence`.
    """

    operation: Operation
    batch: LogBatch
    log: int
    sequence: int


class Replay:
    """Replays logs, oldest first.

    With None as `rule`, the sequence rule is recognized in each log by its batches, else by `is_dacha`.  Without a
    manifest every operation counts.
    """

    def __init__(
        self, manifest: Manifest | None, limits: Limits, rule: SequenceRule | None, is_dacha: Callable[[], bool]
    ) -> None:
        """Prepare to replay the logs of a database."""
        self._manifest = manifest
        self._limits = limits
        self._rule = rule
        self._is_dacha = is_dacha
        self._prepared: dict[bytes, list[PreparedOperation]] = {}  # transactions that await their commit, by name

    def load(self, source: Source, file: DbFile) -> LoadedLog:
        """Read the next log completely, or as far as the limits allow."""
        log = LoadedLog(file.number)
        # Fields that the places of all single writes share: file, number, verdict, whether the file is live, offsets of
        # operations.  `make` returns empty items that use them.
        place = source.name, file.number, Verdict.GOOD, file.role is Role.LIVE, _ALONE
        make = partial(LogItems, Place, place)
        batches, earlier, timestamps = self._read(source, file, log, make)
        log.records = sum(len(one.items) if isinstance(one, WriteBatches) else 1 for one in batches)
        log.rule, log.evidence = self._rule or SequenceRule.PER_OPERATION, "given"
        if self._rule is None:
            log.rule, log.evidence = rule_of(
                [one if isinstance(one, WriteBatches) else one.batch for one in batches], self._is_dacha
            )
        run = _Run(self._manifest, self._prepared, log, make, timestamps)
        batches.reverse()
        while batches:  # each is released once its items are taken
            one = batches.pop()
            if isinstance(one, WriteBatches):
                run.take(one)
            else:
                run.apply(one)
        log.unused += [(Status.UNREFERENCED, *unused) for unused in items_by_family(earlier, make).items()]
        for items in log.items.values():
            items.sort()
        for _, _, unused in log.unused:  # `LogItems` sorts by the same key itself
            if isinstance(unused, list):
                unused.sort(key=sort_key)
            else:
                unused.sort()
        return log

    def prepared(self) -> Iterator[Unused]:
        """Yield the operations of transactions that were neither committed nor rolled back in the logs so far."""
        for pending in self._prepared.values():
            yield from _unused(Status.PREPARED, pending)

    def uncommitted(self) -> frozenset[int]:
        """The sequence numbers of these operations that the database applied, so that tables may have them."""
        return frozenset(one.sequence for pending in self._prepared.values() for one in pending if one.log)

    def _read(
        self, source: Source, file: DbFile, log: LoadedLog, make: Callable[[], LogItems]
    ) -> tuple[list[LogBatch | WriteBatches], list[LogBatch], dict[int, int]]:
        """Return (batches of a log, complete batches of an earlier use of its file, sizes of timestamps by family).

        RocksDB reuses the files of old logs, whose batches may remain after the end of the new log.  `make` returns
        empty items for single writes.
        """
        batches: list[LogBatch | WriteBatches] = []
        earlier: list[LogBatch] = []
        report = log.recorded
        reader = LogReader(source, report, self._limits, file.number)

        def take(block: bytes, at: int, base: int) -> int:
            """Add batches with one write from a block, as `LogReader.take`; return where they end in it."""
            last = batches[-1] if batches else None
            writes = last if isinstance(last, WriteBatches) else WriteBatches(make())
            count, at = writes.take(block, at, base)
            if count and writes is not last:
                batches.append(writes)
            return at

        reader.take = take
        try:
            # Records that `take` did not add: larger batches, and damaged ones.
            for record in reader:
                batch, offsets = self._parsed(source, reader, record)
                stated = batch.problem is None and batch.stated == len(batch.operations)  # it has all its operations
                place = Place(
                    source.name, file.number, None, record.offset, record.end,
                    Verdict.GOOD if record.intact else Verdict.BAD,
                    file.role is Role.LIVE and not record.earlier,
                    batch_sequence=batch.sequence, batch_count=batch.stated,
                    operations=offsets,
                )  # fmt: skip
                one = LogBatch(batch, place, log_rank(file.number, record.offset))
                if record.earlier:
                    if stated:
                        earlier.append(one)
                    continue
                if stated and batches and batches[-1].absorb(one):
                    continue
                batches.append(one)
                if batch.problem is not None:
                    unknown = record.intact and batch.is_unknown
                    checks.report_error(report, checks.OPERATION_TYPE if unknown else checks.BATCH, batch.problem)
                    if unknown:
                        break
                elif not stated:
                    span = source.span(record.offset - source.origin, record.end - source.origin)
                    report(checks.BATCH_COUNT, span=span, expected=batch.stated, actual=len(batch.operations))
        except (LimitExceededError, MissingDependencyError) as error:
            log.error = error
        return batches, earlier, reader.timestamps

    def _parsed(self, source: Source, reader: LogReader, record: LogRecord) -> tuple[Batch, tuple[int, ...]]:
        """Return the batch of a record, and the offset in it of each operation."""
        if isinstance(record.payload, bytes) and (batch := parse_write(record.payload)) is not None:
            return batch, _ALONE
        span = source.span(record.offset - source.origin, record.end - source.origin)
        batch = parse_batch(record.payload, span, self._made(reader, record, span))
        return batch, tuple([operation.offset for operation in batch.operations])

    def _made(self, reader: LogReader, record: LogRecord, span: Span) -> Made | None:
        """Return the function that makes keys and values of a record that is not in memory; None for other records."""
        payload, limits = record.payload, self._limits
        if isinstance(payload, bytes):
            return None
        least = min(LONG, limits.payload_size)

        def made(start: int, stop: int, is_value: bool) -> bytes | LargeValue:
            """Return the bytes `[start, stop)` of the payload; if they are a value and long, it stays in the log."""
            if is_value and stop - start > least:
                pieces = partial(reader.pieces, record.fragments, start, stop)
                return LargeValue(stop - start, pieces, limits, span.in_payload(start, stop))
            limits.check("payload_size", stop - start, span)
            return bytes(payload[start:stop])

        return made


def _unused(status: Status, pending: list[PreparedOperation]) -> Iterator[Unused]:
    """Yield the operations of a transaction by column family, sorted, with `status`."""
    families: dict[int, list[Item]] = {}
    for operation, batch, _, sequence in pending:
        item = item_of(operation, batch, sequence, operation.key, operation.value)
        families.setdefault(operation.column_family, []).append(item)
    for family, items in sorted(families.items()):
        yield status, family, sorted(items, key=sort_key)


class _Run:
    """One log while it is replayed: decides for each operation whether it is part of the state."""

    def __init__(
        self,
        manifest: Manifest | None,
        prepared: dict[bytes, list[PreparedOperation]],
        log: LoadedLog,
        make: Callable[[], LogItems],
        timestamps: dict[int, int],
    ) -> None:
        """Prepare the replay of `log`.

        Without a `manifest`, every operation counts.
        `prepared` has the transactions that await a commit, by name, and is shared by all logs; `make` returns an empty
        run of entries; `timestamps` has the timestamp size in bytes by column family.
        """
        self._manifest = manifest
        self._prepared = prepared
        self._log = log
        self._number = log.number
        self._make = make
        self._timestamps = timestamps
        self._stale: dict[int, LogItems] = {}  # unused items by column family
        self._applies: dict[int, bool] = {}  # whether the state takes operations of this log, by column family
        self._sequence = 0  # that of the next operation
        self._section: list[PreparedOperation] | None = None
        """The operations since a mark that begins a prepared section; None outside of one."""
        self._persisted = False
        """Whether the database applied the operations of that section before their commit."""
        self._empty = True
        """Whether there was no operation since the last sub-batch."""
        self._written: set[tuple[int, bool, bytes]] = set()
        """(column family, is range deletion, key) of each operation of the sub-batch: a repetition begins another."""
        self._stopped = False
        """Whether an operation was found at which the database itself stops: the rest is not part of its state."""

    def apply(self, one: LogBatch) -> None:
        """Apply the operations of a batch to the state; those that have no effect are kept as unused."""
        batch = one.batch
        self._begin(batch.sequence)
        if not batch.marks:
            for operation in batch.operations:
                self._write(operation, one)
            return
        # Operations and marks in the order in which they are in the batch.
        done = 0
        for mark in batch.marks:
            self._operations(one, done, mark.at)
            self._mark(mark, batch.operations[done : mark.at])
            done = mark.at
        self._operations(one, done, len(batch.operations))
        if self._section:  # without its end mark, the transaction was not prepared
            self._log.unused += _unused(Status.PREPARED, self._section)

    def take(self, writes: WriteBatches) -> None:
        """Apply batches of one write each, all at once."""
        log, items = self._log, writes.items
        if self._timestamps.get(0):
            items = self._make()
            for item in writes.items:
                items.append(self._without_timestamp(item))
        log.last_sequence = max(log.last_sequence, writes.highest)
        if not self._is_applied(0):
            self._stale_items(0).extend(items)
            return
        # a bit for each type; puts and deletions only
        log.kinds.update(kind for kind in range(8) if writes.kinds >> kind & 1)
        if 0 in log.items:
            log.items[0].extend(items)
        else:
            log.items[0] = items

    def _without_timestamp(self, item: Item) -> Item:
        """Return an item with its key as in `_plain`."""
        key, inverted, rank, at, value, place = item
        return self._plain(Operation((_TOP - inverted) & 0xFF, key, value, at, 0))[0], inverted, rank, at, value, place

    def _begin(self, sequence: int) -> None:
        """Begin a batch, whose first operation has this sequence number."""
        self._sequence, self._section, self._empty = sequence, None, True
        self._written.clear()

    def _operations(self, one: LogBatch, first: int, stop: int) -> None:
        """Apply operations `[first, stop)` of a batch, or keep them if they belong to a prepared transaction."""
        for operation in one.batch.operations[first:stop]:
            self._empty = False
            if self._section is None:
                self._write(operation, one)
            elif self._persisted:
                self._section.append(PreparedOperation(operation, one, self._number, self._advance(operation)))
            else:  # a provisional number, for a transaction that is never committed
                self._section.append(PreparedOperation(operation, one, 0, self._sequence + len(self._section)))

    def _mark(self, mark: TransactionMark, before: Sequence[Operation]) -> None:
        """Begin or end a prepared section, commit a transaction or roll it back; end the sub-batch at most marks.

        `before` are the operations before the mark.
        """
        if mark.kind in _BEGINS:
            self._section, self._persisted = [], mark.kind != OperationTypes.BEGIN_PREPARE
            self._empty = False
            return
        if mark.kind == OperationTypes.END_PREPARE:
            self._prepared.setdefault(mark.name, []).extend(self._section or ())
            self._section = None
        elif mark.kind in _COMMITS:
            self._commit(mark)
        elif mark.kind == OperationTypes.ROLLBACK:
            self._roll_back(mark, {(one.column_family, one.key) for one in before})
        # An empty mark without operations before it, such as at the start of a batch, ends nothing.
        if mark.kind != OperationTypes.NO_OPERATION or not self._empty:
            self._end_of_batch()
        self._empty = True

    def _commit(self, mark: TransactionMark) -> None:
        """Apply the operations of a prepared transaction, with the timestamp of its commit."""
        for operation, one, applied_in, sequence in self._prepared.pop(mark.name, []):
            if mark.timestamp and (size := self._timestamps.get(operation.column_family)) == len(mark.timestamp):
                operation = operation._replace(key=operation.key[:-size] + mark.timestamp)
            if applied_in:
                self._take(operation, one, sequence, applied_in)
            else:
                self._write(operation, one)

    def _roll_back(self, mark: TransactionMark, restored: set[tuple[int, bytes]]) -> None:
        """Keep the operations of a transaction as unused.

        Those that the database applied before are undone by writes to their keys (column family, key), the `restored`
        ones.  By default, RocksDB leaves merge operands as they are (`TransactionDBOptions::rollback_merge_operands`).
        """
        undone: list[PreparedOperation] = []
        for one in self._prepared.pop(mark.name, []):
            operation = one.operation
            is_merge = operation.value_type == ValueTypes.MERGE
            if one.log and is_merge and (operation.column_family, operation.key) not in restored:
                self._take(operation, one.batch, one.sequence, one.log)
            else:
                undone.append(one)
        self._log.unused += _unused(Status.ROLLED_BACK, undone)

    def _end_of_batch(self) -> None:
        """End a sub-batch; by the rule of sub-batches, the next one has the next sequence number."""
        if self._log.rule is SequenceRule.PER_SUB_BATCH:
            self._sequence += 1
            self._written.clear()

    def _advance(self, operation: Operation) -> int:
        """Return the sequence number of an operation, which is the next one of the batch."""
        if self._log.rule is SequenceRule.PER_OPERATION:
            self._sequence += 1
            return self._sequence - 1
        if self._log.rule is SequenceRule.PER_SUB_BATCH:
            key = operation.column_family, operation.value_type == _RANGE, operation.key
            if key in self._written:
                self._sequence += 1
                self._written.clear()
            self._written.add(key)
        return self._sequence

    def _write(self, operation: Operation, one: LogBatch) -> None:
        """Add an operation with the next sequence number."""
        self._take(operation, one, self._advance(operation), self._number)

    def _take(self, operation: Operation, one: LogBatch, sequence: int, number: int) -> None:
        """Add an operation of the log `number` to the state, or to the unused items if tables have it already.

        The log may be an earlier one, in which a transaction was written that this log commits.
        """
        log, family = self._log, operation.column_family
        sequence &= MAX_SEQUENCE
        log.last_sequence = max(log.last_sequence, sequence)
        key, value = self._plain(operation)
        item = item_of(operation, one, sequence, key, value)
        # Tables have the operations of older logs already, and RocksDB stops at a reversed range.
        live = self._is_applied(family) and (number == self._number or self._is_live(number, family))
        if live and operation.value_type == _RANGE and self._is_reversed(family, key, value):
            detail = "range deletion ends before it begins, where RocksDB stops reading"
            log.recorded(checks.BATCH, detail, span=one.place.span, field_path="record.end_key", actual=value)
            self._stopped, live = True, False
        if not live:
            self._stale_items(family).append(item)
            return
        log.kinds.add(operation.value_type)
        if operation.value_type == _RANGE:
            intact = one.place.checksum != Verdict.BAD
            log.ranges.append(RangeDeletion(key, value, sequence, family, intact=intact))
        if family not in log.items:
            log.items[family] = self._make()
        log.items[family].append(item)

    def _is_applied(self, family: int) -> bool:
        """Whether the state takes operations of this log in a column family, here and from here on."""
        if self._stopped:
            return False
        applies = self._applies.get(family)
        if applies is None:
            applies = self._applies[family] = self._is_live(self._number, family)
            if not applies:
                self._stale_items(family)
        return applies

    def _is_reversed(self, family: int, begin: bytes, end: bytes) -> bool:
        """Whether a range ends before it begins, as the comparator of its column family sorts keys."""
        return self._manifest is not None and self._manifest.order_of(family).precedes(end, begin) is True

    def _is_live(self, number: int, family: int) -> bool:
        """Whether the database still needs a log for a column family."""
        return self._manifest is None or self._manifest.is_live_log(number, family)

    def _stale_items(self, family: int) -> LogItems:
        """Return the unused items of a column family, to add to."""
        if family not in self._stale:
            self._stale[family] = self._make()
            self._log.unused.append((Status.UNREFERENCED, family, self._stale[family]))
        return self._stale[family]

    def _plain(self, operation: Operation) -> tuple[bytes, Any]:
        """Return key and value of an operation, without the timestamps if the log has them and the column family does
        not.
        """
        size = self._timestamps.get(operation.column_family)
        if not size or self._manifest is None:
            return operation.key, operation.value
        # A family whose comparator has timestamps keeps them in its keys.
        family = self._manifest.families.get(operation.column_family)
        if family is None or (family.comparator or self._manifest.comparator) != BYTEWISE:
            return operation.key, operation.value
        value = operation.value[:-size] if operation.value_type == _RANGE else operation.value
        return operation.key[:-size], value
