"""Range deletions of RocksDB: entries that delete all older versions of the keys from one key to another.

A log has them among the other operations, a table in a block of their own.  A table has a range of keys, as the
manifest states it, and its range deletions count only there.

Spec: RocksDB db/range_tombstone_fragmenter.h, db/range_del_aggregator.h.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

from exhume.formats.leveldb import layout
from exhume.formats.leveldb.comparators import Comparator
from exhume.formats.leveldb.model import TableFile
from exhume.formats.leveldb.wire import MAX_SEQUENCE
from exhume.tuples import NamedTuple

Span = tuple[Any, Any, int]
"""A range as `low <= rank of a key < high`, and the sequence number of the newest deletion that reaches over it."""


class RangeDeletion(NamedTuple):
    """A RocksDB range deletion: keys in `[first, stop)` with a lower sequence number are gone; if it is `closed`, also
    the key `stop`.  `intact`: no checksum over it is wrong.
    """

    first: bytes
    stop: bytes
    sequence: int
    column_family: int
    closed: bool = False
    intact: bool = True

    def bounds(self, order: Comparator) -> tuple[Any, Any]:
        """Return what the ranks of keys are compared with: `low <= order.rank(key) < high` for a key in the range."""
        return order.rank(self.first), order.after(self.stop) if self.closed else order.rank(self.stop)

    def within(self, table: TableFile, order: Comparator) -> RangeDeletion:
        """Return what it deletes as an entry of a table: only keys between the smallest and the largest one of the
        table in the manifest.

        Compaction copies a deletion as a whole to each table that it makes, and may drop one copy before another.
        From then on, later writes outside the tables of the others can have the sequence number 0.

        Spec: RocksDB db/range_del_aggregator.cc, `TruncatedRangeDelIterator`.
        """
        smallest, largest = layout.parse_internal_key(table.smallest), layout.parse_internal_key(table.largest)
        first, stop, closed = self.first, self.stop, self.closed
        if order.rank(first) < order.rank(smallest.user_key):
            first = smallest.user_key
        if order.rank(largest.user_key) < order.rank(stop):
            # The number of the largest key is the highest one where the table ends before that key.
            stop, closed = largest.user_key, largest.sequence != MAX_SEQUENCE
        return self._replace(first=first, stop=stop, closed=closed)


class DeletionsByFamily(NamedTuple):
    """Range deletions by column family: those of live files, and those of all files."""

    live: Mapping[int, Deletions]
    of_all: Mapping[int, Deletions]


class Deletions:
    """The range deletions of a column family up to the sequence number `ceiling`, to look keys up by their ranks."""

    def __init__(self, found: Iterable[RangeDeletion], family: int, order: Comparator, ceiling: int) -> None:
        """Divide the ranges of deletions where they overlap."""
        self.spans: list[Span] = _divided(
            (*one.bounds(order), one.sequence)
            for one in found
            if one.column_family == family and one.sequence <= ceiling
        )
        """In order and without overlap."""

    def newest(self, rank: Any) -> int:
        """Return the sequence number of the newest deletion that reaches over a key; -1 without one."""
        at = bisect_right(self.spans, rank, key=itemgetter(1))
        if at == len(self.spans):
            return -1
        low, _, number = self.spans[at]
        return number if low <= rank else -1


def _divided(found: Iterable[Span]) -> list[Span]:
    """Return ranges without overlap in place of some that may overlap, each with the highest of their numbers."""
    ranges = sorted(((low, high, number) for low, high, number in found if low < high), key=itemgetter(0))
    out: list[Span] = []
    open_ones: list[tuple[int, Any]] = []  # a heap of (negative number, high) of ranges that began before `at`
    at: Any = None
    for low, high, number in [*ranges, (None, None, 0)]:  # the last one stands for the end
        # The ranges that are open reach up to `low`, or end before it; after the last one there is no `low`.
        while open_ones and (low is None or at < low):
            top, end = open_ones[0]
            if end <= at:
                heappop(open_ones)
                continue
            stop = end if low is None or end < low else low
            out.append((at, stop, -top))
            at = stop
        if low is not None:
            at = low
            heappush(open_ones, (-number, high))
    return out
