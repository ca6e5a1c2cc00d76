"""The part of `verify` that checks references from index entries to blocks, while blocks are read in file order.

An index entry is a key and a reference to a block: data blocks have level 0, and index blocks refer to blocks one level
below.  Blocks may be referred to before or after they occur.  A block's *reach* is the first record below it and the
record before that one in the file; both bound the keys that may refer to it.  Memory grows by a few bytes per block,
and by the reaches of the blocks that still wait for a reference (with the usual writers, those of one index block per
level).

Spec: zs.txt, "Index block payload", "Key invariants".
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from exhume.codecs.common import Buffer
from exhume.codecs.passing import ForwardReader
from exhume.errors import ExhumeError, Span, shorten
from exhume.findings import Finding
from exhume.formats.zs import checks
from exhume.formats.zs.blocks import BlockFile
from exhume.formats.zs.large import LargeBlock, scan_large
from exhume.formats.zs.layout import MAX_INDEX_LEVEL, ROOT_LENGTH_AT, ROOT_OFFSET_AT, IndexEntry
from exhume.native.kernel import MalformedRecordsError, build_uleb128, scan_records
from exhume.tuples import NamedTuple

EDGE_SIZE = 4096
"""Bytes of a record that are kept for comparisons; if these are equal for two records, their blocks are read again."""

COMPARED = 1 << 20
"""Bytes of two records that are compared at a time."""

MAX_REACHES = 100_000
"""Reaches of data blocks that are kept; further ones are read again when a reference occurs."""

MAX_PENDING = 1_000_000
"""References to blocks that have not occurred yet; only hostile files have more."""


class EdgeRecord(NamedTuple):
    """The first or last record of a data block, cut to `EDGE_SIZE`.

    Attributes:
        head: The first bytes of the record.
        whole: Whether these are all of it.
        block: Offset and size of the block.
        last: Whether it is the block's last record.
    """

    head: bytes
    whole: bool
    block: tuple[int, int]
    last: bool

    @classmethod
    def of(
        cls, record: memoryview | bytes, block: tuple[int, int], *, last: bool, size: int | None = None
    ) -> EdgeRecord:
        """Return the edge for a record; `block` is the (offset, size) of its block.

        `size` is that of the record, if only its first bytes are given.
        """
        return cls(bytes(record[:EDGE_SIZE]), (len(record) if size is None else size) <= EDGE_SIZE, block, last)


class KeyBounds(NamedTuple):
    """The bounds of keys that refer to a block, called its reach: the first record below it, and the record before.

    Attributes:
        start: Offset of the first data block below it (of the block itself if it has data).
        first: The first record there; None if unreadable.
        before: The last record before that one in the file; None if there is none, or it is unknown.
    """

    start: int
    first: EdgeRecord | None
    before: EdgeRecord | None


def _order(left: Iterable[Buffer], right: Iterable[Buffer]) -> int:
    """Compare two byte strings that come in chunks: -1 if the first is smaller, 1 if it is larger, 0 if equal."""
    one, other = iter(left), iter(right)
    # The parts of the current chunks that were not compared yet; empty at the end of a string.
    mine, its = memoryview(b""), memoryview(b"")
    while True:
        mine, its = (held or memoryview(next(pieces, b"")) for held, pieces in ((mine, one), (its, other)))
        size = min(len(mine), len(its), COMPARED)
        if not size:
            return (len(mine) > 0) - (len(its) > 0)
        a, b = bytes(mine[:size]), bytes(its[:size])
        if a != b:
            return (a > b) - (a < b)
        mine, its = mine[size:], its[size:]


@dataclass(slots=True)
class _Parent:
    """An index block whose reach is being computed: that of the first block it refers to."""

    offset: int
    open: int = 1
    """References that are not settled yet, and 1 while its entries are being added."""
    reach: KeyBounds | None = None
    """The reach with the lowest start so far."""


@dataclass(slots=True)
class _Reference:
    """One index entry whose check is not complete, with its index block: `level` and `block` (offset, size) of that."""

    parent: _Parent
    entry: IndexEntry
    level: int
    block: tuple[int, int]


class References:
    """Checks references and keys: add blocks in file order, then call `finish`."""

    def __init__(self, file: BlockFile) -> None:
        """Start without blocks; the arrays (`_starts` to `_referenced`) get one value for each block added.

        These are its offset, size and level, and 1 if an entry refers to it.
        Other blocks are identified by their offset.
        """
        self._file = file
        self._starts = array("Q")
        self._sizes = array("Q")
        self._levels = bytearray()
        self._referenced = bytearray()
        self._reaches: dict[int, KeyBounds] = {}  # reaches of blocks that were not referred to yet
        self._forward: dict[int, list[_Reference]] = {}  # references to blocks that were not added yet
        self._holders: dict[int, _Reference] = {}  # references to blocks whose reach is not known yet
        self._pending = 0  # number of references in `_forward`
        self._before: EdgeRecord | None = None  # the last record so far
        self.overflow: bool = False  # whether references were dropped because there are too many

    def add_block(self, offset: int, size: int, level: int) -> Iterator[Finding]:
        """Add a block of the file; check the earlier references to it."""
        self._file.limits.check("entries", len(self._starts) + 1)
        self._starts.append(offset)
        self._sizes.append(size)
        self._levels.append(level)
        self._referenced.append(0)
        index = len(self._starts) - 1
        for reference in self._forward.pop(offset, ()):
            self._pending -= 1
            yield from self._meet(reference, index, known=False)

    def add_data(self, first: EdgeRecord, last: EdgeRecord) -> Iterator[Finding]:
        """Add the first and last record of the data block added last: check the order of blocks, and set its reach."""
        offset, size = first.block
        before = self._before
        if before is not None and self._compare(first, before) < 0:
            yield checks.BLOCK_ORDER.finding(
                span=self._file.source.span(offset, offset + size), expected=before.head, actual=first.head
            )
        self._before = last
        yield from self._resolve(offset, KeyBounds(offset, first, before))

    def add_unread(self, offset: int) -> Iterator[Finding]:
        """Note that the block added last cannot be read: nothing is known about its records."""
        yield from self._resolve(offset, KeyBounds(offset, None, None))

    def add_index(self, offset: int, size: int, level: int, entries: list[IndexEntry]) -> Iterator[Finding]:
        """Add the entries of the index block that was added last."""
        parent = _Parent(offset)
        for entry in entries:
            reference = _Reference(parent, entry, level, (offset, size))
            # To a block that was added, an impossible one, one that is to come, or one too many to remember.
            index = self._find(entry.offset)
            if index is not None:
                parent.open += 1
                yield from self._meet(reference, index, known=True)
            elif not offset < entry.offset < self._file.source.size:  # neither met already nor to come
                yield self._dangling(reference)
            elif self._pending < MAX_PENDING:
                parent.open += 1
                self._pending += 1
                self._forward.setdefault(entry.offset, []).append(reference)
            elif not self.overflow:
                self.overflow = True
                yield checks.TOO_MANY_PENDING.finding(span=self._key_span(reference))
        yield from self._close(parent)  # all entries were added, which `_Parent.open` counted as well

    def _meet(self, reference: _Reference, index: int, *, known: bool) -> Iterator[Finding]:
        """Check a reference against the block of number `index`.

        `known`: the block, with its content, was added before the index block that has the reference.
        """
        start, size, level = self._starts[index], self._sizes[index], self._levels[index]
        entry = reference.entry
        twice, self._referenced[index] = self._referenced[index], 1  # 0 or 1: whether an entry referred to it before
        if twice:
            yield checks.REF_TWICE.finding(span=self._key_span(reference), actual=entry.offset)
        if entry.size != size:
            yield checks.REF_LENGTH.finding(span=self._key_span(reference), expected=size, actual=entry.size)
        if level != reference.level - 1:
            yield checks.REF_LEVEL.finding(
                span=self._key_span(reference), expected=f"level {reference.level - 1}", actual=f"level {level}"
            )
        if twice or level != reference.level - 1:  # its key says nothing about this block
            yield from self._close(reference.parent)
            return
        reach = self._reaches.pop(start, None)
        if reach is None and known and level == 0:  # it was dropped to save memory, see `_resolve`
            reach = self._reread(index)
        if reach is None:  # an index block whose own references are not settled, or the block that is just being added
            self._holders[start] = reference
        else:
            yield from self._settle(reference, reach)

    def _resolve(self, offset: int, reach: KeyBounds) -> Iterator[Finding]:
        """Pass the reach of a block to the reference to it, or keep it until there is one."""
        holder = self._holders.pop(offset, None)
        if holder is not None:
            yield from self._settle(holder, reach)
        # Those of data blocks can be read again; those of index blocks start at another block.
        elif len(self._reaches) < MAX_REACHES or reach.start != offset:
            self._reaches[offset] = reach

    def _settle(self, reference: _Reference, reach: KeyBounds) -> Iterator[Finding]:
        """Check a reference's key against the reach of its block, and extend the reach of the index block by it."""
        key = reference.entry.key
        if reach.before is not None and self._compare(key, reach.before) < 0:
            yield checks.KEY_TOO_SMALL.finding(
                span=self._key_span(reference), expected=f"at least {shorten(reach.before.head)}", actual=key
            )
        if reach.first is not None and self._compare(key, reach.first) > 0:
            yield checks.KEY_TOO_LARGE.finding(
                span=self._key_span(reference), expected=f"at most {shorten(reach.first.head)}", actual=key
            )
        parent = reference.parent
        if parent.reach is None or reach.start < parent.reach.start:
            parent.reach = reach
        yield from self._close(parent)

    def _close(self, parent: _Parent) -> Iterator[Finding]:
        """Count one of the references that an index block waits for as done; after the last, its reach is known."""
        parent.open -= 1
        if parent.open == 0:
            yield from self._resolve(parent.offset, parent.reach or KeyBounds(parent.offset, None, None))

    def _compare(self, key: bytes | EdgeRecord, edge: EdgeRecord) -> int:
        """Compare a key with a block's edge: negative, zero or positive.

        Records are read only where their first bytes agree.
        """
        head, whole = (key.head, key.whole) if isinstance(key, EdgeRecord) else (key[:EDGE_SIZE], len(key) <= EDGE_SIZE)
        other = edge.head
        # The first bytes decide, unless they are equal and one of them is not all of its record.
        if head == other and not (whole and edge.whole):
            mine = self._record(key) if isinstance(key, EdgeRecord) else (key,)
            return _order(mine, self._record(edge))
        return (head > other) - (head < other)

    def _record(self, edge: EdgeRecord) -> Iterator[Buffer]:
        """Yield the first or last record of a data block, which `edge` names, read again, in chunks."""
        offset, size = edge.block
        block = None if size > self._file.largest else self._file.read(offset, size)
        if block is not None:
            self._file.check(block)
            payload = self._file.small_payload(block)
            if payload is not None:
                scan = scan_records(payload)
                yield memoryview(payload)[slice(*(scan.last if edge.last else scan.first))]
                return
        # Its payload is decompressed twice: to find the record, and to read it.
        large = LargeBlock(self._file, offset, size)
        large.check()
        found = scan_large(large, len)
        if found is not None:
            place = found.last if edge.last else found.first
            forward = ForwardReader(large.payload())
            forward.skip(place.start)
            yield from forward.pieces(place.size)

    def _edge(self, index: int, *, last: bool) -> EdgeRecord:
        """Return the first or last record of a data block, read again.  Propagates errors from reading it."""
        block = self._starts[index], self._sizes[index]
        unread = EdgeRecord(head=b"", whole=False, block=block, last=last)
        record = ForwardReader(bytes(piece) for piece in self._record(unread))
        return EdgeRecord.of(record.peek(EDGE_SIZE + 1), block, last=last)

    def _reread(self, index: int) -> KeyBounds:
        """Return the reach of a data block, read again because it was dropped to save memory."""
        start = self._starts[index]
        first = before = None
        try:
            first = self._edge(index, last=False)
        except (ExhumeError, MalformedRecordsError):
            return KeyBounds(start, None, None)
        while before is None and index > 0:
            index -= 1
            if self._levels[index] == 0:
                with suppress(ExhumeError, MalformedRecordsError):
                    before = self._edge(index, last=True)
        return KeyBounds(start, first, before)

    def finish(self, end: int, *, complete: bool, judge_unreferenced: bool) -> Iterator[Finding]:
        """Yield the findings that remain after the last block.

        `end` is the offset where the blocks that could be framed end; `complete`: this is the end of the file.
        `judge_unreferenced`: all index blocks were read, so that blocks without a reference can be reported.
        """
        # No block started at these offsets.  After the last block that could be framed, there may still be one.
        for offset, references in sorted(self._forward.items()):
            if complete or offset < end:
                for reference in references:
                    yield self._dangling(reference)
        root = self._find(self._file.header.root_offset)
        yield from self._check_root(root, end, complete=complete)
        if not judge_unreferenced or self.overflow:
            return
        for index, referenced in enumerate(self._referenced):
            if not referenced and index != root and self._levels[index] <= MAX_INDEX_LEVEL:
                start = self._starts[index]
                yield checks.UNREFERENCED.finding(
                    span=self._file.source.span(start, start + self._sizes[index]),
                    actual=f"level {self._levels[index]}",
                )

    def _check_root(self, index: int | None, end: int, *, complete: bool) -> Iterator[Finding]:
        """Check that the header's root offset and length belong to an index block to which no entry refers.

        `index` is the number of the block at the root offset, None if no block starts there; `end` is where the blocks
        that were read end.
        """
        header, source = self._file.header, self._file.source
        if index is None:
            if complete or header.root_offset < end:
                yield checks.ROOT_OFFSET.finding(span=source.span(*ROOT_OFFSET_AT), actual=header.root_offset)
            return
        start, size, level = self._starts[index], self._sizes[index], self._levels[index]
        if header.root_size != size:
            yield checks.ROOT_LENGTH.finding(span=source.span(*ROOT_LENGTH_AT), expected=size, actual=header.root_size)
        if not 1 <= level <= MAX_INDEX_LEVEL:
            yield checks.ROOT_LEVEL.finding(
                span=source.span(start, start + size), expected=f"1 to {MAX_INDEX_LEVEL}", actual=level
            )
        if self._referenced[index]:
            yield checks.ROOT_REFERENCED.finding(span=source.span(start, start + size))

    def _find(self, offset: int) -> int | None:
        """Return the number of the block at an offset; None if none that was added starts there."""
        index = bisect_left(self._starts, offset)
        return index if index < len(self._starts) and self._starts[index] == offset else None

    def _key_span(self, reference: _Reference) -> Span:
        """Return the span of the entry's key, with its length, in the payload of its index block."""
        offset, size = reference.block
        at, key = reference.entry.position, reference.entry.key
        end = at + len(build_uleb128(len(key))) + len(key)
        return self._file.source.span(offset, offset + size).in_payload(at, end)

    def _dangling(self, reference: _Reference) -> Finding:
        """Return the finding for a reference to an offset where no block starts."""
        return checks.REF_DANGLING.finding(span=self._key_span(reference), actual=reference.entry.offset)
