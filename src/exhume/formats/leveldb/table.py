"""Tables (`.ldb`, `.sst`): data blocks, and entries in order from any key on, of one table or merged from many runs.

A table is a file of sorted entries in blocks.  A handle is the position of a block; the index has the handle of each
data block with its separator, a key that no key of the block is above.  A user key is a key without the sequence number
and type that follow it in the file; packed is (sequence << 8 | type) as one number.  A run is a sorted series of items.

Footer and blocks as such are read in `table_blocks.py`, metaindex, properties and index in `table_index.py`.

The `Report` decides what happens at damage: `strict` raises, a collector continues with the next index entry.  How a
damaged table is read is in `forensics.py`.

Spec: LevelDB doc/table_format.md, doc/impl.md; RocksDB table/format.h, block_based/, db/range_del_aggregator.h (range
deletions).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from operator import add
from typing import Any, Final

from exhume.errors import ExhumeError, FormatError
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.comparators import Comparator, comparator_of
from exhume.formats.leveldb.kernel import LeveldbRows, LogItems
from exhume.formats.leveldb.large import LARGE, LargeBlock
from exhume.formats.leveldb.model import BYTEWISE, Place, ValueTypes, Verdict
from exhume.formats.leveldb.table_blocks import TableBlock, rule_of
from exhume.formats.leveldb.table_index import IndexedFile
from exhume.formats.leveldb.wire import BlockIndex, Handle
from exhume.io.source import BytesSource, Source
from exhume.io.values import whole
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.native import kernel
from exhume.native.kernel import COMPILED

Item = tuple[bytes, int, int, int, Any, Any]
"""(user key, 2^64 - 1 - packed sequence and type, rank, offset in block, value, place): sorts as LevelDB sorts.

The rank orders equal entries of several files and blocks.  Its upper bits are the rank of the file; the lower 33 bits
are twice the number of the block in it, or for a log those of `log_rank`.  The value is `bytes` or a `LargeValue`; the
place has the span of the block.  As tuples, `(key,)` sorts before all items of the key.
"""
KEY: Final = 0
INVERTED: Final = 1
OFFSET: Final = 3
PLACE: Final = 5
"""Index of these parts in an item."""

_TOP = (1 << 64) - 1  # minus a packed number: newer entries sort first
KNOWN_TYPES = frozenset(ValueTypes)
KNOWN_FLAGS = bytes(kind in KNOWN_TYPES for kind in range(256))
"""For each byte, 1 if it is a known value type, else 0."""

MOST_AT_ONCE = 256 << 20
"""Bytes of keys and values above which blocks are read one by one."""

MOST_ALIGNED = 4096
"""The largest multiple of bytes at which RocksDB aligns blocks."""

PEBBLE_RANGES = "rocksdb.range_del2"
"""The name of the block of range deletions in tables of Pebble (Pebble sstable/table.go)."""

MOST_KEPT = 64
"""Blocks whose entries a table keeps for the next look-up."""


class Table(IndexedFile):
    """One table file.  `level` and `referenced` are as stated in the manifest.  Thread-safe."""

    source: Source

    def __init__(
        self,
        source: Source,
        number: int = 0,
        *,
        level: int | None = None,
        referenced: bool = True,
        column_family: int = 0,
        largest_sequence: int | None = None,
        comparator: Comparator | None = None,
        limits: Limits = DEFAULT_LIMITS,
        hidden: Callable[[], frozenset[int]] = frozenset,
    ) -> None:
        """Describe a table; footer and index are read when they are needed.

        `level`, `referenced` (whether the database uses it) and `largest_sequence` are those in the manifest;
        `comparator` is the order of its keys (default: bytes).  `hidden` returns the sequence numbers of entries that
        are not part of the state, as their transaction was not committed.
        """
        super().__init__(source, limits=limits)
        self.largest_sequence = largest_sequence
        self.comparator: Comparator = comparator or comparator_of(BYTEWISE)
        self.number = number
        self.level = level
        self.referenced = referenced
        self.column_family = column_family
        self._hidden = hidden
        self._seen: dict[int, list[Item]] = {}
        """Entries of the blocks read last, by block number."""

    def place(self, handle: Handle, verdict: Verdict, codec: str) -> Place:
        """The place that the entries of a block are reported at, with the verdict on its checksum and its codec."""
        start = self.source.origin + handle.offset
        end = start + handle.stop - handle.offset
        return Place(
            self.source.name, self.number, self.level, start, end, verdict, self.referenced, codec,
            column_family=self.column_family,
        )  # fmt: skip

    @property
    def verdict(self) -> Verdict:
        """The verdict on blocks that the kernel found undamaged: good, or none in a table without checksums."""
        return Verdict.NONE if self.rules.checksum == "none" else Verdict.GOOD

    def hold(self, room: int) -> int:
        """Read the table as a whole, so that it need not be read again, if it has at most `room` bytes; return its
        size then, else 0.  Raises `SourceError`.
        """
        source = self.source
        if isinstance(source, BytesSource) or source.size > room:
            return 0
        self.source = BytesSource(source.read_at(0, source.size), source.name)
        self.source.origin = source.origin
        return source.size

    def add_to(self, rows: LeveldbRows, start: bytes | None = None, stop: bytes | None = None) -> bool:
        """Add the entries with user keys in `[start, stop)`; False, and none added, if their blocks may have a finding,
        if entries may be hidden, or if the compiled kernel is missing.

        The block after them is read too, because its keys follow its separator.
        """
        if self._hidden():
            return False
        try:
            chosen = self.numbers(start, stop)
            return self.add_blocks(rows, self.strict_index[chosen.start : chosen.stop + 1], start, stop)
        except ExhumeError:
            return False

    def has_large(self, start: bytes | None, stop: bytes | None) -> bool:
        """Whether a data block that may hold user keys in `[start, stop)` may be too large for memory."""
        chosen = self.numbers(start, stop)
        return max(self.strict_index.handles[chosen.start : chosen.stop + 1].sizes, default=0) > LARGE

    def numbers(self, start: bytes | None, stop: bytes | None) -> slice:
        """The numbers of the data blocks that may hold user keys in `[start, stop)`."""
        keys = self.strict_index.keys
        first = 0 if start is None else bisect_left(keys, start)
        return slice(first, len(keys) if stop is None else min(len(keys), bisect_left(keys, stop) + 1))

    def add_blocks(
        self, rows: LeveldbRows, blocks: BlockIndex, start: bytes | None = None, stop: bytes | None = None
    ) -> bool:
        """Add the entries of consecutive blocks to `rows`; return False if that requires reading them one by one."""
        # Conditions under which the kernel can read all blocks at once.
        if not COMPILED or not blocks:
            return not blocks
        if not self.comparator.is_bytewise:
            return False
        limits = self.limits
        sequence = -1 if self.global_sequence is None else self.global_sequence  # that of all entries, if not -1
        caps = (
            limits.payload_size, limits.expansion_floor, limits.expansion, limits.structure_size, MOST_AT_ONCE, sequence
        )  # fmt: skip
        handles = blocks.handles
        if max(handles.sizes) > LARGE:
            return False  # such a block is read in chunks
        base, end = handles[0].offset, handles[-1].stop
        rules = self.rules
        if end > rules.room or end - base != sum(handles.sizes) + layout.BLOCK_TRAILER * len(handles):
            return False  # they pass the footer, or are not adjacent
        # None from the kernel: it cannot decompress or check these blocks itself, so this is done here.
        stored = self.source.read_at(base, end - base)
        found = None
        if rules.checksum == "crc32c" and not rules.base_context:
            found = rows.add_blocks(stored, base, blocks, None, self, start, stop, KNOWN_FLAGS, caps)
        if found is None:
            contents = self._contents_at_once(blocks, stored)
            if contents is None:
                return False
            found = rows.add_blocks(stored, base, blocks, contents, self, start, stop, KNOWN_FLAGS, caps)
        return bool(found)

    def _contents_at_once(self, blocks: BlockIndex, stored: bytes) -> list[tuple[bytes, int]] | None:
        """Return the contents and compression type of each of some adjacent blocks, whose bytes are `stored`.

        None if one cannot be read, or if all together are too large for memory.
        """
        contents: list[tuple[bytes, int]] = []
        total = at = 0
        for handle in blocks.handles:
            after = at + handle.size + layout.BLOCK_TRAILER
            block = self.read_data(handle, stored=stored[at:after])
            if block is None or isinstance(block, LargeBlock):
                return None
            total += len(block.data)
            if total > MOST_AT_ONCE:
                return None
            contents.append((block.data, stored[after - layout.BLOCK_TRAILER]))
            at = after
        return contents

    def is_padding(self, gaps: list[tuple[int, int]]) -> bool:
        """Whether spans are what RocksDB's `block_align` writes after blocks: zeros up to a multiple of a power of 2.

        Spec: RocksDB table/block_based/block_based_table_builder.cc, `WriteMaybeCompressedBlock`.
        """
        longest = max((stop - start for start, stop in gaps), default=0)
        aligned = 0 < longest < MOST_ALIGNED and not any(stop % (1 << longest.bit_length()) for _, stop in gaps)
        return aligned and not any(any(self.source.read_at(start, stop - start)) for start, stop in gaps)

    def block_items(
        self, block: TableBlock | LargeBlock, rank: int, report: Report = checks.strict
    ) -> tuple[list[Item], bool]:
        """Return (items of a data block, whether they are in order).

        `rank` orders equal items, see `Item`. Findings go to `report`.
        """
        place = self.place(block.handle, block.verdict, block.codec)
        if isinstance(block, LargeBlock):
            end = block.end
            items, stop, problem, disorder = block.entries(rank, place)
        else:
            try:
                end = block.entries_end
            except FormatError as error:
                checks.report_error(report, rule_of(error), error)
                return [], True
            items, stop, problem, disorder = kernel.internal_entries(
                block.data, end, self.limits.structure_size, rank, place
            )
        self.report_problem(block, stop, end, problem, report)
        if self.global_sequence is not None:
            stamp = self.global_sequence << 8  # replaces the sequence number of each entry, and keeps the type
            items = [
                (key, _TOP - (stamp | ~inverted & 0xFF), rank, at, value, place)
                for key, inverted, rank, at, value, place in items
            ]
        if not self.comparator.is_bytewise:
            disorder = next((after[OFFSET] for one, after in pairwise(items) if not self.follows(one, after)), -1)
        if disorder >= 0:
            report(checks.KEY_ORDER, span=block.span.in_payload(disorder, end))
        return items, disorder < 0

    def follows(self, one: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
        """Whether an item may come after another, as the comparator says; one that is not known does not forbid it.

        Only their keys and numbers are examined.
        """
        if self.comparator.is_bytewise:
            return after[:2] > one[:2]
        # None: the same key, where the newer comes first; or another one that sorts alike, or is not comparable.
        found = self.comparator.precedes(one[KEY], after[KEY])
        return after[INVERTED] > one[INVERTED] if found is None and after[KEY] == one[KEY] else found is not False

    def span_of(self, start: bytes | None, stop: bytes | None) -> tuple[int, int] | None:
        """The span of the data blocks that may hold user keys in `[start, stop)`."""
        handles = self.strict_index.handles[self.numbers(start, stop)]
        if not handles:
            return None
        end = max(map(add, handles.offsets, handles.sizes)) + layout.BLOCK_TRAILER
        return min(handles.offsets), min(end, self.source.size)

    def items(self, rank: int = 0, start: bytes | None = None, stop: bytes | None = None) -> Iterator[Item]:
        """Every entry from the user key `start` on, in order; raises at the first broken rule.

        `rank` is that of the table (see `Item`).  With `stop`, keys from there on will not be requested, so a remote
        table is not read ahead beyond them.
        """
        return chain.from_iterable(self.item_blocks(rank, start, stop))

    def item_blocks(self, rank: int, start: bytes | None, stop: bytes | None) -> Iterator[list[Item]]:
        """Yield the entries with user keys in `[start, stop)`, block by block. Raises at damage.

        `rank` is that of the table among the files that are merged.
        """
        handles = self.strict_index.handles
        chosen = self.numbers(start, stop)
        first, last = chosen.start, chosen.stop
        # In a remote table, a read of more than one block is announced.
        span = self.span_of(start, stop) if self.source.cost.wait else None
        if span is not None and first < len(handles):
            begin, end = span
            if end - begin > handles[first].size:
                self.source.will_read(begin, end)
        previous: Item | None = None  # the last item of the block before
        # The blocks of a long range are read ahead and not kept for the next look-up.
        streamed = last - first > MOST_KEPT or (start is None and stop is None)
        blocks = self._stream(rank, first, last, start) if streamed else self._blocks_from(rank, first, start or b"")
        for items in blocks:
            if items:
                if previous is not None and not self.follows(previous, items[0]):
                    checks.raise_rule(checks.KEY_ORDER, span=items[0][PLACE].span)
                previous = items[-1]
                yield self.shown(items)

    def shown(self, items: list[Item]) -> list[Item]:
        """The items that are not hidden."""
        hidden = self._hidden()
        return [one for one in items if (_TOP - one[INVERTED]) >> 8 not in hidden] if hidden else items

    def _stream(self, rank: int, first: int, last: int, start: bytes | None) -> Iterator[list[Item]]:
        """Yield the items of blocks `[first, last)`, read ahead, from the user key `start` on; then of those that
        follow them, read one by one as the caller may stop.
        """
        handles = self.strict_index.handles
        ahead = self.read_blocks(handles[first:last])
        rest = (self.read_data(handle) for handle in handles[last:])
        for number, block in enumerate(chain(ahead, rest), first):
            items = self.block_items(block, (rank << 33) + 2 * number)[0] if block else []
            yield items if start is None or number > first else items[bisect_left(items, (start,)) :]

    def _blocks_from(self, rank: int, first: int, start: bytes) -> Iterator[list[Item]]:
        """Yield the items of each block from number `first` on, from the user key `start` on.

        The most recently read blocks are cached, because look-ups tend to be for nearby keys.
        """
        handles = self.strict_index.handles
        for number in range(first, len(handles)):
            items = self._seen.get(number)
            if items is None:
                block = self.read_data(handles[number])
                items = self.block_items(block, (rank << 33) + 2 * number)[0] if block else []
                if len(self._seen) >= MOST_KEPT:
                    self._seen.pop(next(iter(self._seen)), None)
                self._seen[number] = items
            yield items[bisect_left(items, (start,)) :] if number == first else items

    def range_deletions(self, report: Report) -> list[tuple[bytes, bytes, int]]:
        """`(first key, key it ends before, sequence)` of RocksDB's range deletion block.

        Both have the timestamp of the deletion, where keys have one.  Which versions are gone is decided by sequence
        numbers there too (RocksDB db/range_tombstone_fragmenter.h, `MaxCoveringTombstoneSeqnum`).
        """
        named = self.metaindex(checks.ignore)
        handle = named.get(PEBBLE_RANGES) or named.get("rocksdb.range_del")
        block = self.read_block(handle, report) if handle else None
        if block is None:
            return []
        items, _ = self.block_items(block, 0, report)
        return [(key, whole(value), (~inverted & (1 << 64) - 1) >> 8) for key, inverted, _, _, value, _ in items]


def property_number(value: bytes) -> int | None:
    """The value of a property that is a number (a varint); None when it is not one."""
    return layout.whole_number(value)


_BATCH = 256
"""Items of each run that are merged at a time: few enough to stay in the youngest generation of the collector."""


_PART = 4096
"""Items of a log that are made at a time."""


class Level:
    """Tables of one level, in the order of their keys; `largest` has the last user key of each according to the
    manifest.
    """

    def __init__(self, tables: list[Table], largest: list[bytes]) -> None:
        self._tables = tables
        self._largest = largest
        # Under a comparator, keys need not ascend as bytes.
        self._ordered = all(key <= following for key, following in pairwise(largest))

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
    """Yield sorted items in chunks again, so that all versions of a key are in one chunk."""
    waiting: list[Item] = []  # the items of the last key so far
    for items in pieces:
        if not items:
            continue
        if waiting and items[-1][KEY] == waiting[0][KEY]:
            waiting += items
            continue
        last = bisect_left(items, (items[-1][KEY],))
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
    waiting: list[list[Item]] = [[] for _ in runs]  # the next items of each run
    ended = [False] * len(runs)
    while True:
        for number, feed in enumerate(feeds):
            while len(waiting[number]) < _BATCH and not ended[number]:
                block = next(feed, None)
                if block is None:
                    ended[number] = True
                else:
                    waiting[number] += block
        # Up to the lowest of the last items, nothing can come any more from a run that has not ended.
        bounds = [items[-1] for items, done in zip(waiting, ended, strict=True) if not done]
        if not bounds:
            yield sorted(chain.from_iterable(waiting))
            return
        bound = min(bounds)
        piece: list[Item] = []
        for number, items in enumerate(waiting):
            cut = bisect_right(items, bound)
            piece += items[:cut]
            waiting[number] = items[cut:]
        piece.sort()
        yield piece
