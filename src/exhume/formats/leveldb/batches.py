"""Logs in memory, their write batches before they are replayed, and the sequence rule that these follow.

A write batch is a record of a log: operations (puts, deletions ...) that the database applied together.  It states one
sequence number, its version counter.  The sequence rule says how the operations are numbered from there: each takes the
next number (LevelDB, RocksDB), all take the same (dacha), or each part of a transaction takes one (RocksDB policies
WritePrepared and WriteUnprepared).  No file states the rule, so it is recognized here.

Operations become items: (key, inverted, rank, offset in the batch, value, place).  `inverted` is 2^64 - 1 minus
(sequence << 8 | type), so that the newest sorts first; `rank` is the order of batches, for items that are equal so far.

Spec: LevelDB db/write_batch.cc; RocksDB db/write_batch.cc; the sequence rules: `docs/formats/leveldb.md`.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from exhume.counts import counted
from exhume.errors import ExhumeError
from exhume.formats.leveldb.checks import Recorder, Report
from exhume.formats.leveldb.deletions import RangeDeletion
from exhume.formats.leveldb.kernel import LogItems
from exhume.formats.leveldb.layout import Batch, Operation, OperationTypes, TransactionMark
from exhume.formats.leveldb.model import Place, SequenceRule, Status, ValueTypes
from exhume.formats.leveldb.table import Item
from exhume.formats.leveldb.wire import MAX_SEQUENCE
from exhume.tuples import NamedTuple

_TOP = (1 << 64) - 1  # packed numbers are subtracted from it, so that the newest sorts first
_SINGLE = (int(ValueTypes.VALUE), int(ValueTypes.DELETION))  # the operations that `WriteBatches` can have


Unused = tuple[Status, int, LogItems | list[Item]]
"""(status, number of the column family, items) that are not part of the state."""


class LoadedLog:
    """A log in memory."""

    def __init__(self, number: int, evidence: str = "") -> None:
        """An empty log; `number` is the one in the name of its file."""
        self.number = number
        self.items: dict[int, LogItems] = {}  # of the state, by column family, sorted
        self.ranges: list[RangeDeletion] = []  # of the state
        self.unused: list[Unused] = []
        """Items that are not part of the state: of column families that have them in tables already or that do not
        exist, of transactions that were rolled back, of an earlier use of the file."""
        self.rule: SequenceRule = SequenceRule.PER_OPERATION
        self.evidence = evidence  # why this rule was used
        self.last_sequence: int = 0  # the highest one
        self.records: int = 0  # number of batches
        self.kinds: set[int] = set()  # types of the operations of the state
        self.recorded: Recorder = Recorder()  # findings of reading
        self.error: ExhumeError | None = None
        """The error that ended reading before the end of the log."""

    def report_fault(self, report: Report) -> LoadedLog:
        """Report the findings on the log; raise the error that ended reading."""
        self.recorded.play(report)
        if self.error is not None:
            raise self.error
        return self


class LogBatch(NamedTuple):
    """A write batch, its place in the log, and its rank (see `Item`)."""

    batch: Batch
    place: Place
    rank: int

    def absorb(self, one: LogBatch) -> bool:
        """Return False: only `WriteBatches` takes in further batches; callers need not tell the two apart."""
        return False


class WriteBatches:
    """Batches of one write each, as items in the order of the log: puts and deletions in the column family 0."""

    stated = 1
    """Operations per batch, as in `Batch.stated`, which `rule_of` reads as well."""
    marks: tuple[TransactionMark, ...] = ()
    """Marks of transactions, as in `Batch.marks`: none."""

    def __init__(self, items: LogItems) -> None:
        """No batches yet; they are added to `items`."""
        self.items = items
        self.sequence: int = -1
        """The sequence number of the first; -1: there is none yet."""
        self.highest: int = 0
        """The highest sequence number."""
        self.kinds: int = 0
        """The value types that occur, one bit for each."""

    def take(self, block: bytes, at: int, base: int) -> tuple[int, int]:
        """Add the batches of single writes at `at` in a block of the log; return how many they are, and where they end.

        `base` is the offset of the block in the file.  See `LogItems.add_writes`.
        """
        count, at, first, highest, kinds = self.items.add_writes(block, at, base)
        if count:
            self._note(first, highest, kinds)
        return count, at

    def absorb(self, one: LogBatch) -> bool:
        """Add a batch if it is a single put or deletion as well; return whether it was. (The kernel does not find those
        whose record spans blocks.)
        """
        batch = one.batch
        if len(batch.operations) != 1 or batch.marks or batch.sequence > MAX_SEQUENCE:
            return False
        operation = batch.operations[0]
        if operation.column_family or operation.value_type not in _SINGLE:
            return False
        self.items.append(item_of(operation, one, batch.sequence, operation.key, operation.value))
        self._note(batch.sequence, batch.sequence, 1 << operation.value_type)
        return True

    def _note(self, first: int, highest: int, kinds: int) -> None:
        """Include added writes, with these sequence numbers and types, in the facts about all of them."""
        self.sequence = first if self.sequence < 0 else self.sequence
        self.highest, self.kinds = max(self.highest, highest), self.kinds | kinds


def item_of(operation: Operation, one: LogBatch, sequence: int, key: bytes, value: Any) -> Item:
    """Return an operation of a batch as an item of the log (see `Item`), with the sequence number that the rule assigns
    it.
    """
    packed = ((sequence & MAX_SEQUENCE) << 8 | operation.value_type) & _TOP
    return key, _TOP - packed, one.rank, operation.offset, value, one.place


def items_by_family(batches: list[LogBatch], make: Callable[[], LogItems]) -> dict[int, LogItems]:
    """Return the items of batches of an earlier use of a log's file, by column family; `make` returns empty items."""
    found: defaultdict[int, LogItems] = defaultdict(make)
    for one in batches:
        # Numbered per operation: only RocksDB reuses files.
        for sequence, operation in enumerate(one.batch.operations, one.batch.sequence):
            found[operation.column_family].append(item_of(operation, one, sequence, operation.key, operation.value))
    return found


def rule_of(batches: list[Batch | WriteBatches], is_dacha: Callable[[], bool]) -> tuple[SequenceRule, str]:
    """Return the sequence rule that a log follows, and the reason for that conclusion.

    The first number of a batch shows how many numbers the batch before it took. `is_dacha` is only called if nothing
    shows it.
    """
    if any(isinstance(batch, Batch) and _writes_before_commit(batch) for batch in batches):
        return SequenceRule.PER_SUB_BATCH, "transactions are written before they are committed"
    per_operation = per_batch = 0
    for one, following in itertools.pairwise(batches):
        # A batch with one operation takes one number by either rule; one with marks may take none for some operations.
        if one.stated > 1 and not one.marks:
            per_operation += following.sequence == one.sequence + one.stated
            per_batch += following.sequence == one.sequence + 1
    if per_operation or per_batch:
        rule = SequenceRule.PER_OPERATION if per_operation >= per_batch else SequenceRule.PER_BATCH
        return rule, f"as in {counted(max(per_operation, per_batch), 'batches')}"
    if all(one.stated <= 1 for one in batches):
        return SequenceRule.PER_OPERATION, "one operation per batch: both rules agree"
    if is_dacha():
        return SequenceRule.PER_BATCH, "the directory looks like dacha's"
    return SequenceRule.PER_OPERATION, "nothing speaks for the other"


def _writes_before_commit(batch: Batch) -> bool:
    """Whether marks show that a batch takes one sequence number (policies WritePrepared and WriteUnprepared).

    Those write a transaction before its commit: with a mark of their own, or with operations closed by an empty mark.
    """
    return any(
        mark.kind in (OperationTypes.BEGIN_PERSISTED_PREPARE, OperationTypes.BEGIN_UNPREPARE)
        or (
            mark.kind == OperationTypes.NO_OPERATION
            and mark.at == len(batch.operations) > 0
            and mark is batch.marks[-1]
        )
        for mark in batch.marks
    )
