"""Write batches of a log before they are replayed, and the sequence rule that they follow.

Spec: LevelDB db/write_batch.cc; RocksDB db/write_batch.cc; the sequence rules: `docs/formats/leveldb.md`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exhume.counts import counted
from exhume.formats.leveldb.kernel import LogItems
from exhume.formats.leveldb.layout import Batch, Operation, OperationTypes, TransactionMark
from exhume.formats.leveldb.model import Place, SequenceRule, ValueTypes
from exhume.formats.leveldb.table import Item
from exhume.formats.leveldb.wire import MAX_SEQUENCE
from exhume.tuples import NamedTuple

_TOP = (1 << 64) - 1
_SINGLE = (int(ValueTypes.VALUE), int(ValueTypes.DELETION))


class LogBatch(NamedTuple):
    """A write batch and its place."""

    batch: Batch
    place: Place
    rank: int

    def absorb(self, one: LogBatch) -> bool:
        """Add nothing; see `WriteBatches.absorb`."""
        return False


@dataclass(slots=True)
class WriteBatches:
    """Batches of one write each, as items in the order of the log: puts and deletions in the column family 0."""

    items: LogItems
    sequence: int = -1
    """The sequence number of the first."""
    highest: int = 0
    kinds: int = 0
    """A bit for each value type."""
    stated: int = 1
    marks: tuple[TransactionMark, ...] = ()

    def take(self, block: bytes, at: int, base: int, rank: int) -> tuple[int, int]:
        """Add single writes of a block, see `LogItems.add_writes`; return how many they are, and where they end."""
        count, at, first, highest, kinds = self.items.add_writes(block, at, base, rank)
        if count:
            self._note(first, highest, kinds)
        return count, at

    def absorb(self, one: LogBatch) -> bool:
        """Add a batch if it is such a write, whose record is not in one block; return whether it is."""
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
        self.sequence = first if self.sequence < 0 else self.sequence
        self.highest, self.kinds = max(self.highest, highest), self.kinds | kinds


def item_of(operation: Operation, one: LogBatch, sequence: int, key: bytes, value: Any) -> Item:
    """An operation of a batch with its sequence number, as an item of the log."""
    packed = ((sequence & MAX_SEQUENCE) << 8 | operation.value_type) & _TOP
    return key, _TOP - packed, one.rank, operation.offset, value, one.place


def rule_of(batches: list[Batch | WriteBatches], is_dacha: Callable[[], bool]) -> tuple[SequenceRule, str]:
    """The sequence rule that a log follows, and the reason for that conclusion."""
    if any(isinstance(batch, Batch) and _writes_before_commit(batch) for batch in batches):
        return SequenceRule.PER_SUB_BATCH, "transactions are written before they are committed"
    per_operation = per_batch = 0
    for one, following in itertools.pairwise(batches):
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
    """Whether marks show that a batch takes one sequence number (policies WritePrepared and WriteUnprepared)."""
    return any(
        mark.kind in (OperationTypes.BEGIN_PERSISTED_PREPARE, OperationTypes.BEGIN_UNPREPARE)
        or (
            mark.kind == OperationTypes.NO_OPERATION
            and mark.at == len(batch.operations) > 0
            and mark is batch.marks[-1]
        )
        for mark in batch.marks
    )
