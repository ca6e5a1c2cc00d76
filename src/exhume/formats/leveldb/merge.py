"""From entries of many files to versions: merges sorted runs, and determines the status of each entry.

Spec: LevelDB doc/impl.md; RocksDB db/range_del_aggregator.h (range deletions).
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from exhume.formats.leveldb.model import DELETIONS, Status, ValueTypes, Version
from exhume.formats.leveldb.table import Item, Table
from exhume.native import kernel

_TOP = (1 << 64) - 1
_RANGE = int(ValueTypes.RANGE_DELETION)
_STATUSES = (Status.LIVE, Status.REPLACED, Status.DELETED, Status.TOMBSTONE, Status.BEYOND)
_BATCH = 256
"""Items of each run that are merged at a time: few enough to stay in the youngest generation of the collector."""


class RangeDeletion(NamedTuple):
    """A RocksDB range deletion: keys in `[first, stop)` with a lower sequence number are gone."""

    first: bytes
    stop: bytes
    sequence: int
    column_family: int


class Level:
    """Tables of one level, in the order of their keys; `largest` has the last user key of each according to the
    manifest.
    """

    def __init__(self, tables: list[Table], largest: list[bytes]) -> None:
        self._tables = tables
        self._largest = largest
        self._ordered = all(a <= b for a, b in itertools.pairwise(largest))

    def items(self, start: bytes | None, stop: bytes | None) -> Iterator[Item]:
        """Entries from a key on, table by table; see `Table.items`."""
        if start is None:
            chosen: Iterable[int] = range(len(self._tables))
        elif self._ordered:
            chosen = range(bisect_left(self._largest, start), len(self._tables))
        else:
            chosen = [number for number, key in enumerate(self._largest) if key >= start]
        for number in chosen:
            table = self._tables[number]
            yield from table.items(table.number, start, stop)


def sort_key(item: Item) -> tuple[bytes, int, int, int]:
    """The sort key of an item: key, newest first, file and block, offset."""
    return item[:4]


def _operation(item: Item) -> int | None:
    operations = item[5].operations
    return bisect_left(operations, item[3]) if operations is not None else None


def version_of(item: Item, status: Status, superseded_by: int | None, family: int) -> Version:
    """An item with its status."""
    packed = _TOP - item[1]
    return Version(
        item[0], item[4], packed >> 8, packed & 0xFF, status, superseded_by, item[3], _operation(item), item[5], family
    )


def merge_runs(runs: list[Iterable[list[Item]]]) -> Iterator[list[Item]]:
    """Merges sorted runs into one, in pieces.

    The items of all runs up to a common bound are concatenated and sorted: the sort recognises the runs and merges them
    without a step of Python per item, three times as fast as `heapq.merge`.
    """
    feeds = [iter(run) for run in runs]
    waiting: list[list[Item]] = [[] for _ in runs]
    ended = [False] * len(runs)
    while True:
        for number, feed in enumerate(feeds):
            while len(waiting[number]) < _BATCH and not ended[number]:
                block = next(feed, None)
                if block is None:
                    ended[number] = True
                else:
                    waiting[number] += block
        bounds = [items[-1] for items, done in zip(waiting, ended, strict=True) if not done]
        if not bounds:
            yield sorted(itertools.chain.from_iterable(waiting))
            return
        bound = min(bounds)
        piece: list[Item] = []
        for number, items in enumerate(waiting):
            cut = bisect_right(items, bound)
            piece += items[:cut]
            waiting[number] = items[cut:]
        piece.sort()
        yield piece


def resolve(
    blocks: Iterable[list[Item]], family: int, last_sequence: int, ranges: list[RangeDeletion]
) -> Iterator[Iterable[Version]]:
    """The versions of merged items (newest version of a key first), in batches."""
    if ranges:
        yield _resolve_ranges(itertools.chain.from_iterable(blocks), family, last_sequence, ranges)
        return
    state: tuple[bytes | None, int, int] = (None, -1, -1)
    for items in blocks:
        found, state = kernel.resolve_items(items, state, last_sequence, family, Version, _STATUSES, _operation)
        yield found


def _resolve_ranges(
    items: Iterable[Item], family: int, last_sequence: int, ranges: list[RangeDeletion]
) -> Iterator[Version]:
    """Does what `resolve` does where range deletions may have deleted versions."""
    key: bytes | None = None
    newer = newer_kind = -1  # the next newer visible version of the key
    for item in items:
        packed = _TOP - item[1]
        sequence, kind = packed >> 8, packed & 0xFF
        if item[0] != key:
            key, newer, newer_kind = item[0], -1, -1
        if sequence > last_sequence:
            yield version_of(item, Status.BEYOND, None, family)
            continue
        if kind == _RANGE:
            yield version_of(item, Status.TOMBSTONE, None, family)
            continue
        by = newer
        wiped = max((r.sequence for r in ranges if r.first <= key < r.stop and r.sequence > sequence), default=-1)
        if kind in DELETIONS:
            status = Status.TOMBSTONE
        elif by >= 0 and not (wiped > sequence and wiped < by):
            status = Status.DELETED if newer_kind in DELETIONS else Status.REPLACED
        elif wiped >= 0:
            status, by = Status.DELETED, wiped
        else:
            status = Status.LIVE
        yield version_of(item, status, by if by >= 0 else None, family)
        newer, newer_kind = sequence, kind
