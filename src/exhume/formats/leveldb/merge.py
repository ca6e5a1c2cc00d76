"""Merges the entries of many files, which are sorted runs.

Spec: LevelDB doc/impl.md; RocksDB db/range_del_aggregator.h (range deletions).
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from exhume.formats.leveldb.kernel import LogItems
from exhume.formats.leveldb.table import Item, Table

_BATCH = 256
"""Items of each run that are merged at a time: few enough to stay in the youngest generation of the collector."""


_PART = 4096
"""Items of a log that are made at a time."""


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


def parts_of(items: list[Item] | LogItems, low: int = 0, high: int | None = None) -> Iterator[list[Item]]:
    """The items `[low, high)` in chunks."""
    high = len(items) if high is None else high
    return (items[at : min(at + _PART, high)] for at in range(low, high, _PART))


def whole_keys(pieces: Iterable[list[Item]]) -> Iterator[list[Item]]:
    """The same sorted items in chunks that have all versions of each of their keys."""
    waiting: list[Item] = []
    for items in pieces:
        if not items:
            continue
        if waiting and items[-1][0] == waiting[0][0]:
            waiting += items
            continue
        last = bisect_left(items, (items[-1][0],))
        piece, waiting = waiting + items[:last], items[last:]
        if piece:
            yield piece
    if waiting:
        yield waiting


def merge_runs(runs: list[Iterable[list[Item]]]) -> Iterator[list[Item]]:
    """Merge sorted runs into one, in chunks.

    The items of all runs up to a common bound are concatenated and sorted: the sort recognizes the runs and merges them
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
