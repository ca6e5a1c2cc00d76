"""From a range of records to the blocks that can hold them, and to the parts of blocks that do.

Index blocks form a tree: an entry is a key and a reference to a block one level below; level 0 are data blocks.  A key
is not smaller than all records before its block, and not larger than all records in it.

Spec: zs.txt, "Key invariants".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from exhume.codecs.passing import ForwardReader
from exhume.errors import ExhumeError
from exhume.formats.zs import checks
from exhume.formats.zs.blocks import BlockFile
from exhume.formats.zs.large import LargeBlock, PayloadPart
from exhume.formats.zs.layout import (
    MAX_INDEX_LEVEL,
    ROOT_LENGTH_AT,
    ROOT_OFFSET_AT,
    Header,
    IndexEntry,
    RawBlock,
    ShortBlockError,
    parse_block,
)
from exhume.io.caching import Lru
from exhume.io.source import Source
from exhume.limits import Limits
from exhume.native.kernel import build_uleb128, find_range, scan_records
from exhume.tuples import NamedTuple

INDEX_CACHE = 16 << 20
"""Bytes of index payloads kept for the next search."""

ENTRY_COST = 200
"""Bytes that the objects of an index entry take, in addition to its key."""


class RecordBounds(NamedTuple):
    """Records with `low` <= record < `high`; None means no bound."""

    low: bytes | None = None
    high: bytes | None = None

    @property
    def empty(self) -> bool:
        """Whether no record can be in range."""
        return self.high is not None and (self.low or b"") >= self.high


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the smallest byte string greater than all that start with `prefix`; None if there is none."""
    stem = prefix.rstrip(b"\xff")  # 255 cannot be incremented: the byte before it is
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else None


def make_bounds(start: bytes | None, stop: bytes | None, prefix: bytes | None) -> RecordBounds:
    """Return the intersection of start <= record < stop and "starts with prefix"."""
    low, high = start, stop
    if prefix:
        low = max(low or b"", prefix)
        beyond = after_prefix(prefix)
        if beyond is not None:
            high = beyond if high is None else min(high, beyond)
    return RecordBounds(low or None, high)


class IndexNode(NamedTuple):
    """A decoded index block: its entries, and the keys of these as a list of their own for `bisect`."""

    offset: int
    level: int
    keys: list[bytes]
    entries: list[IndexEntry]


class Plan(NamedTuple):
    """Where the records in range are.

    `entries` refer to data blocks, by offset; `complete` says that they are all blocks with records in range.
    Otherwise the blocks that follow the first of them have to be examined one by one.
    """

    entries: list[IndexEntry]
    complete: bool


class Index:
    """The index of one file: descends from the root, keeping what it decoded.  Thread-safe."""

    def __init__(self, file: BlockFile, read_head: Callable[[int, int], bytes | None]) -> None:
        self._file = file
        self._read_head = read_head  # returns a range of the bytes that were read at opening, or None
        self._cache: Lru[int, IndexNode] = Lru(INDEX_CACHE)

    def root(self) -> IndexNode:
        """Return the root index block.  Raises ZS-335..337, and the rules that any block may break."""
        header = self._file.header
        offset, size = header.root_offset, header.root_size
        cached = self._cache.get(offset)
        if cached is not None:
            return cached
        source = self._file.source
        # The header may be wrong: check the offset, frame the block, compare the length, then decode.
        if not header.blocks_offset <= offset < source.size:
            raise checks.ROOT_OFFSET.error(span=source.span(*ROOT_OFFSET_AT), actual=offset)
        size = min(size, source.size - offset)
        # As long as it is in fact, which may not be what the header states.
        block = self._frame_root(offset, size)
        if block is None:
            raise checks.ROOT_OFFSET.error(span=source.span(*ROOT_OFFSET_AT), actual=offset)
        if block.size != header.root_size:
            raise checks.ROOT_LENGTH.error(
                span=source.span(*ROOT_LENGTH_AT), expected=block.size, actual=header.root_size
            )
        payload = self._file.payload(block)
        if not block.is_index:
            raise checks.ROOT_LEVEL.error(
                span=self._file.span(block), expected=f"1 to {MAX_INDEX_LEVEL}", actual=block.level
            )
        return self._decode(block, payload)

    def _frame_root(self, offset: int, size: int) -> RawBlock | None:
        """Return the block at the root offset; None if there is none.

        `size`: the stated length, at most up to the end of the file.  If it is wrong, the bytes may be no block at all:
        then the checksum decides that here.
        """
        data = self._read_head(offset, offset + size) or self._file.source.read_at(offset, size)
        try:
            block = parse_block(memoryview(data), 0, offset)
        except ShortBlockError as error:
            # The block states that it is longer than the header does: read that much, if the file has it.
            if not size < error.needed <= self._file.source.size - offset:
                return None
            block = parse_block(memoryview(self._file.source.read_at(offset, error.needed)), 0, offset)
        except ValueError:
            return None
        if block.size != self._file.header.root_size:
            try:
                self._file.check(block)
            except ExhumeError:
                return None
        return block

    def node(self, entry: IndexEntry, level: int) -> IndexNode:
        """Return the index block of `level` that an entry refers to.  Raises ZS-330, ZS-331, ZS-333."""
        cached = self._cache.get(entry.offset)
        if cached is not None and cached.level == level:
            return cached
        self.check_reference(entry)
        data = self._read_head(entry.offset, entry.offset + entry.size)
        block = self._file.parse_exact(
            data or self._file.read_range(entry.offset, entry.size), entry.offset, entry.size
        )
        self.check_level(block, level)
        return self._decode(block, self._file.payload(block))

    def check_reference(self, entry: IndexEntry) -> None:
        """Raise ZS-330 and ZS-333 for an entry that leads outside the file."""
        source, header = self._file.source, self._file.header
        if not header.blocks_offset <= entry.offset < source.size:
            raise checks.REF_DANGLING.error(span=source.span(0, source.size), actual=entry.offset)
        left = source.size - entry.offset
        if not 0 < entry.size <= left:
            raise checks.REF_LENGTH.error(
                span=source.span(entry.offset, source.size), expected=f"1 to {left}", actual=entry.size
            )

    def check_level(self, block: RawBlock, level: int) -> None:
        """Raise ZS-331 for a block that is not one level below the block that refers to it."""
        if block.level != level:
            raise checks.REF_LEVEL.error(
                span=self._file.span(block), expected=f"level {level}", actual=f"level {block.level}"
            )

    def _decode(self, block: RawBlock, payload: bytes) -> IndexNode:
        """Return a parsed index block, and keep it in the cache."""
        entries = self._file.index_entries(block, payload)
        if not entries:
            raise checks.INDEX_EMPTY.error(span=self._file.span(block))
        keys = [entry.key for entry in entries]
        if len(set(keys)) < len(keys):  # entries with equal keys may be in any order
            entries.sort(key=_by_key)
            keys.sort()
        node = IndexNode(block.offset, block.level, keys, entries)
        self._cache.put(block.offset, node, len(payload) + ENTRY_COST * len(entries))
        return node

    def plan(self, bounds: RecordBounds) -> Plan:
        """Return the data blocks that can have records in range; as a rule, one index block per level is read.

        All records before a block are at most its key, and no record from it on is less.  The specification leaves
        everything else open: equal keys may be in any order, and the blocks of one index block need not be adjacent.
        """
        low = bounds.low or b""
        root = self.root()
        nodes = [root]
        while nodes[0].level > 1:
            nodes = [
                self.node(entry, node.level - 1)
                for node in nodes
                for entry in node.entries[slice(*_first_children(node.keys, low))]
            ]
        keys, entries = nodes[0].keys, nodes[0].entries
        if len(nodes) > 1:
            entries = sorted((entry for node in nodes for entry in node.entries), key=_by_key)
            keys = [entry.key for entry in entries]
        first, high = _first_children(keys, low)[0], bounds.high
        if high is None:
            return Plan(entries[first:], complete=False)
        # The root of level 1 refers to all data blocks.  Otherwise, between blocks that are not adjacent, there may be
        # some that other index blocks refer to.
        last = bisect_left(keys, high, first)
        complete = root.level == 1 or (
            last < len(keys)
            and all(one.offset + one.size == other.offset for one, other in pairwise(entries[first : last + 1]))
        )
        return Plan(entries[first:last], complete)


def _by_key(entry: IndexEntry) -> tuple[bytes, int]:
    """Return the place of an entry among those of index blocks of level 1; equal keys are ordered as the blocks are."""
    return entry.key, entry.offset


def _first_children(keys: list[bytes], low: bytes) -> tuple[int, int]:
    """Return the range of the entries of an index block below which the first record not below `low` can be.

    This is the last one whose key is smaller: copies of `low` may be at the end of its block, before a block whose key
    equals it.  If there is none, it is the first one, or one with the same key.
    """
    first = bisect_left(keys, low)
    return (first - 1, first) if first else (0, bisect_right(keys, keys[0]))


LeftOut = Callable[[ExhumeError], object]
"""Function that is called with the error of a record that is left out."""


class Slice(NamedTuple):
    """The part `[low, high)` of a data block's payload, or of a part of it, that holds records in range.

    A long record of a large block is read from `record`, once, instead.
    """

    block: RawBlock | LargeBlock
    payload: bytes
    low: int
    high: int
    base: int = 0
    """Offset of `payload` in the payload of the block; for a long record, the offset of its length."""
    before: int = 0
    """Number of records in the block before `base`."""
    record: ForwardReader | None = None
    size: int = 0
    """Bytes of the long record."""

    @property
    def view(self) -> memoryview:
        """The bytes of that part, lengths included.  Raises ZS-501 for a long record above the limit `payload_size`."""
        if self.record is None:
            return memoryview(self.payload)[self.low : self.high]
        return self.content(build_uleb128(self.size))

    def above_limit(self) -> ExhumeError | None:
        """Return the error for a long record above the limit `payload_size`; None for any other record."""
        assert isinstance(self.block, LargeBlock)
        return self.block.too_large(self.size) if self.size > self.block.file.limits.payload_size else None

    def content(self, lead: bytes = b"") -> memoryview:
        """Return the long record, preceded by `lead`.  Raises ZS-501 above the limit `payload_size`."""
        assert self.record is not None
        if (error := self.above_limit()) is not None:
            raise error
        room = memoryview(bytearray(len(lead) + self.size))
        room[: len(lead)] = lead
        at = len(lead)
        for piece in self.record.pieces(self.size):
            room[at : at + len(piece)] = piece
            at += len(piece)
        return room


class FoundBlock(NamedTuple):
    """A data block that may have records in range; its payload if it was in the cache, `whole` or only its start.

    With `remember`, its payload is to be put into the cache.
    """

    block: RawBlock | LargeBlock
    payload: bytes | None = None
    whole: bool = True
    remember: bool = False


def large_slices(
    block: LargeBlock, bounds: RecordBounds, *, validate: bool = False, left_out: LeftOut | None = None
) -> Iterator[Slice | None]:
    """Yield the slices of a large block that have records in range; None last if the range ends in this block.

    With `validate`, nothing of a block with damaged content is yielded.  `left_out` is called with the error of each
    long record above the limit `payload_size`, which is then not yielded.  Raises ZS-202, ZS-309, ZS-311 and ZS-312,
    and propagates errors from decompressing.
    """
    block.check()
    if validate:
        for _ in block.parts():  # raises at the damage
            pass
    before = 0  # records in the parts so far
    part: PayloadPart | None = None
    for part in block.parts():
        if part.record is None:  # many small records
            low, high = find_range(part.data, bounds.low, bounds.high)  # offsets in `part.data`
            count, size = scan_records(part.data).records, len(part.data)
            if low < high:
                yield Slice(block, part.data, low, high, part.start, before)
            if high < size:  # a record here is not below the bound: the range ends
                yield None
                return
            before += count
        else:  # one long record
            record, size = part.record, part.size
            if not _is_below(record, size, bounds.high):
                yield None
                return
            if bounds.low is None or not _is_below(record, size, bounds.low):
                start = part.start - len(build_uleb128(size))
                found = Slice(block, b"", 0, 0, start, before, record, size)
                if left_out is not None and (error := found.above_limit()) is not None:
                    left_out(error)
                else:
                    yield found
            before += 1
    if part is None:
        raise checks.DATA_EMPTY.error(span=block.span)


def _is_below(record: ForwardReader, size: int, bound: bytes | None) -> bool:
    """Return whether a record of `size` bytes is smaller than a bound; True without one.

    Its beginning, as long as the bound, decides: if both are equal, the record is not smaller.
    """
    if bound is None:
        return True
    most = min(size, len(bound))
    return record.peek(most)[:most] < bound


T = TypeVar("T")


class OpenFile(Protocol):
    """The properties of `reader.ZsArchive` that other modules use; a protocol, because `reader` imports these
    modules."""

    source: Source
    limits: Limits
    header: Header
    metadata: dict[str, Any]
    file: BlockFile
    index: Index

    def map_values(
        self,
        function: Callable[[bytes | memoryview, bytes], T],
        start: bytes | None = None,
        stop: bytes | None = None,
        prefix: bytes | None = None,
        *,
        jobs: int = 1,
        left_out: LeftOut | None = None,
    ) -> Iterator[T]:
        """The results of `function` for the payload of each data block in range."""


class ByteSink(Protocol):
    """The methods that `ZsArchive.dump` needs of its output."""

    def write(self, data: bytes | memoryview, /) -> Any: ...
