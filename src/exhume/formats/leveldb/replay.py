"""A log as sorted items, once it is known how it numbers the operations of a batch.

Spec: LevelDB db/write_batch.cc; the two sequence rules: `docs/formats/leveldb.md`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from exhume.counts import counted
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.layout import parse_batch
from exhume.formats.leveldb.log import LogReader
from exhume.formats.leveldb.merge import RangeDeletion, sort_key
from exhume.formats.leveldb.model import Place, Role, SequenceRule, ValueTypes, Verdict
from exhume.formats.leveldb.table import Item
from exhume.formats.leveldb.wire import MAX_SEQUENCE
from exhume.io.source import Source
from exhume.limits import Limits

_TOP = (1 << 64) - 1
_RANGE = int(ValueTypes.RANGE_DELETION)


@dataclass(slots=True)
class LoadedLog:
    """A log in memory: sorted items per column family, range deletions, and which sequence rule was used."""

    number: int
    items: dict[int, list[Item]]
    ranges: list[RangeDeletion]
    rule: SequenceRule
    evidence: str
    last_sequence: int
    records: int
    kinds: set[int]


def load_log(
    source: Source,
    file: DbFile,
    report: Report,
    limits: Limits,
    *,
    rule: SequenceRule | None,
    is_dacha: Callable[[], bool],
) -> LoadedLog:
    """Reads a log to its end.  With None as `rule`, it is recognised by successive batches, else by `is_dacha`."""
    batches = []
    for record in LogReader(source, report, limits):
        span = source.span(record.offset - source.origin, record.end - source.origin)
        batch = parse_batch(record.payload, span)
        if batch.problem is not None:
            checks.tell(report, checks.BATCH, batch.problem)
        elif batch.stated != len(batch.operations):
            report(checks.BATCH_COUNT, span=span, expected=batch.stated, actual=len(batch.operations))
        batches.append((record, batch))
    evidence = "given"
    if rule is None:
        rule, evidence = _rule_of([(b.sequence, b.stated) for _, b in batches], is_dacha)
    items: dict[int, list[Item]] = {}
    ranges: list[RangeDeletion] = []
    last = 0
    for ordinal, (record, batch) in enumerate(batches):
        place = Place(
            source.name, file.number, None, record.offset, record.end,
            Verdict.GOOD if record.intact else Verdict.BAD, file.role is Role.LIVE,
            batch_sequence=batch.sequence, batch_count=batch.stated,
            operations=tuple([o.offset for o in batch.operations]),
        )  # fmt: skip
        for number, op in enumerate(batch.operations):
            step = number if rule is SequenceRule.PER_OPERATION else 0
            sequence = (batch.sequence + step) & MAX_SEQUENCE
            last = max(last, sequence)
            if op.value_type == _RANGE:
                ranges.append(RangeDeletion(op.key, op.value, sequence, op.column_family))
            packed = (sequence << 8 | op.value_type) & _TOP
            rank = (file.number << 33) + 2 * ordinal + 1
            items.setdefault(op.column_family, []).append((op.key, _TOP - packed, rank, op.offset, op.value, place))
    for part in items.values():
        part.sort(key=sort_key)
    kinds = {op.value_type for _, batch in batches for op in batch.operations}
    return LoadedLog(file.number, items, ranges, rule, evidence, last, len(batches), kinds)


def _rule_of(batches: list[tuple[int, int]], is_dacha: Callable[[], bool]) -> tuple[SequenceRule, str]:
    """The sequence rule that a log follows, and the reason for that conclusion."""
    per_operation = per_batch = 0
    for (sequence, count), (following, _) in itertools.pairwise(batches):
        if count > 1:
            per_operation += following == sequence + count
            per_batch += following == sequence + 1
    if per_operation or per_batch:
        rule = SequenceRule.PER_OPERATION if per_operation >= per_batch else SequenceRule.PER_BATCH
        return rule, f"as in {counted(max(per_operation, per_batch), 'batches')}"
    if all(count <= 1 for _, count in batches):
        return SequenceRule.PER_OPERATION, "one operation per batch: both rules agree"
    if is_dacha():
        return SequenceRule.PER_BATCH, "the directory looks like dacha's"
    return SequenceRule.PER_OPERATION, "nothing speaks for the other"
