"""Merging the indexes of many splits into one time order with bounded memory.

The order is (time, section, column, split, position in the index), which is the same for every reader; the reversed
order is its exact mirror.

A split is a file of messages with an index of their times; a section and a column are where the manifest names it.  Its
index is read in blocks.  A key is what is sorted by: a time, or in reverse its distance from the last possible time.
"""

from __future__ import annotations

import bisect
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from exhume.formats.ark.kernel import ark_merge
from exhume.formats.ark.splits import TIME_MAX, IndexBlock
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.ark.log import SplitReference
    from exhume.formats.ark.pykernel import Numbers


class Cursor:
    """One split in a merge: its current block of index entries, and the block after it."""

    def __init__(
        self,
        rank: int,
        bound: int,
        start: Callable[[], Iterator[IndexBlock]],
        finish: Callable[[], None] = lambda: None,
    ) -> None:
        """Describe a split that is not open yet; it is not opened before the merge gets to its `bound`."""
        self.rank = rank
        """Position in the order of splits, which decides between entries of the same time."""
        self.bound = bound
        """Lower bound of the sort keys (see `keys`)."""
        self.start = start
        """Opens the split and yields its blocks, the last one first in a reversed merge."""
        self.finish = finish
        """Closes the split."""
        self._blocks: Iterator[IndexBlock] | None = None  # blocks to come; None while the split is not open
        self._block: IndexBlock | None = None  # the current block, without the entries that were taken
        self._following: IndexBlock | None = None
        self._keys: Numbers | None = None  # see `keys`

    def open(self, reverse: bool) -> bool:
        """Load the first block that has entries; False when there is none."""
        self._blocks = self.start()
        self._following = self._fetch()
        return self.advance(reverse)

    def _fetch(self) -> IndexBlock | None:
        """Return the next block of index entries that is not empty; None after the last."""
        assert self._blocks is not None
        for block in self._blocks:
            if block.time:
                return block
        return None

    def advance(self, reverse: bool) -> bool:
        """Move on to the next block; False at the end, where the split is closed."""
        self._block = self._following
        if self._block is None:
            self._blocks = self._keys = None  # a finished cursor keeps no index in memory
            self.finish()
            return False
        self._following = self._fetch()
        self._keys = array("Q", (TIME_MAX - time for time in self._block.time)) if reverse else self._block.time
        return True

    @property
    def keys(self) -> Numbers:
        """Sort keys of the current block's entries: their times, or, in reverse, their distances to the latest possible
        time.
        """
        assert self._keys is not None
        return self._keys

    @property
    def has_more(self) -> bool:
        """Whether entries follow the current block."""
        return self._following is not None

    def take(self, count: int) -> IndexBlock:
        """Remove the first `count` entries of the current block."""
        assert self._block is not None
        taken = self._block.part(0, count)
        self._block = self._block.part(count, len(self._block.time))
        self._keys = self.keys[count:]
        return taken

    def close(self) -> None:
        """Close the split, unless it was closed at its end."""
        if self._blocks is not None:
            self.finish()


class Batch(NamedTuple):
    """Merged entries: those of `cursors[n]` are `blocks[n]`, and `sources` has the `n` of each entry in time order."""

    cursors: tuple[Cursor, ...]
    blocks: tuple[IndexBlock, ...]
    sources: list[int]


def merge(cursors: Sequence[Cursor], *, reverse: bool = False) -> Iterator[Batch]:
    """Yield batches of entries in time order, or, with `reverse`, in the exact opposite order.

    A split is opened when the merge reaches its `bound`, so that memory holds one block of each split whose time range
    includes the current position of the merge.
    """
    sign = -1 if reverse else 1  # in reverse, later ranks come first among equal times
    waiting = sorted(cursors, key=lambda cursor: (cursor.bound, sign * cursor.rank))
    waiting.reverse()  # the next one is the last, for `pop`
    active: list[Cursor] = []  # open ones, by rank
    try:
        while active or waiting:
            head = min((cursor.keys[0] for cursor in active), default=None)
            # Open splits that may have an entry before the first loaded one.
            while waiting and (head is None or waiting[-1].bound <= head):
                cursor = waiting.pop()
                if cursor.open(reverse):
                    bisect.insort(active, cursor, key=lambda cursor: sign * cursor.rank)
                    first = cursor.keys[0]
                    head = first if head is None else min(head, first)
            if not active:
                break
            yield _emit(active, waiting[-1] if waiting else None, sign)
            active = [cursor for cursor in active if len(cursor.keys) or cursor.advance(reverse)]
    finally:
        for cursor in active:
            cursor.close()


def _emit(active: list[Cursor], following: Cursor | None, sign: int) -> Batch:
    """All entries whose place is final, because nothing that is still unread comes before them.

    The limit is the last loaded entry of the split that runs out first (included), or the bound of the next split,
    `following` (excluded).  Ties on time go by rank, which `active` is sorted by; `sign` is -1 for the opposite order.
    """
    limits = [_Limit(cursor.keys[-1], sign * cursor.rank, True) for cursor in active if cursor.has_more]
    if following is not None:
        limits.append(_Limit(following.bound, sign * following.rank, False))
    limit = min(limits, default=None)
    counts = [
        len(cursor.keys) if limit is None else limit.entries_before(cursor.keys, sign * cursor.rank)
        for cursor in active
    ]
    chosen = [(cursor, count) for cursor, count in zip(active, counts, strict=True) if count]
    keys = [cursor.keys[:count] for cursor, count in chosen]
    blocks = tuple(cursor.take(count) for cursor, count in chosen)
    return Batch(
        tuple(cursor for cursor, _ in chosen), blocks, ark_merge(keys) if len(keys) > 1 else [0] * len(keys[0])
    )


class _Limit(NamedTuple):
    """A place in the order of all entries: by key, then by rank, then whether the entry there is included."""

    key: int
    rank: int
    is_included: bool

    def entries_before(self, keys: Numbers, rank: int) -> int:
        """Return how many entries of a split of that rank, by their sorted keys, are before the limit."""
        # Entries with the limit's own key come first if their rank does.
        if rank < self.rank or (rank == self.rank and self.is_included):
            return bisect.bisect_right(keys, self.key)
        return bisect.bisect_left(keys, self.key)


def counts_of(numbers: list[int], start: int, stop: int, kinds: int) -> list[int]:
    """The number of times that each of the numbers below `kinds` occurs in `numbers[start:stop]`."""
    if kinds == 1:
        return [stop - start]
    found = Counter(numbers[start:stop])
    return [found[number] for number in range(kinds)]


class LastEntry(NamedTuple):
    """The last index entry of a channel in a split, for the replay of latched messages."""

    order: tuple[int, int, int]
    """Its place among all entries of the log: time, rank of the split, place in the split's index."""
    reference: SplitReference
    block: IndexBlock
    """The entry alone."""
