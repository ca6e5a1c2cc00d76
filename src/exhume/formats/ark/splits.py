"""Split files: header, index as columns in bounded blocks, and the bytes of messages.

A split is a file of a log's messages.  Its index has an entry for each: time, offset, size, and a short identifier (one
byte), which the header maps to the GUID of an object (channel).  The index is read in blocks, whose entries are columns
(arrays); messages that are close to each other in the file are read together, as a run.

Spec: ark_log.txt, Split File Format.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.formats.ark.checks import (
    ENTRY_EMPTY,
    ENTRY_ID,
    ENTRY_OUTSIDE,
    INDEX_OUTSIDE,
    MAPPING_UNDECLARED,
    SPLIT_NAME,
)
from exhume.formats.ark.kernel import ark_cut, ark_entries, ark_runs, ark_scan, ark_statistics, ark_stored
from exhume.formats.ark.layout import (
    ENTRY_FIELDS,
    ENTRY_SIZE,
    HEADER_FIELDS,
    HEADER_WINDOW,
    MAPPING_SIZE,
    SplitHeader,
    entry_time,
    iter_entries,
    parse_index,
    parse_split_header,
)
from exhume.io.files import keep_freed_memory
from exhume.io.source import Source
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from exhume.formats.ark.pykernel import Numbers, Run

Array: TypeAlias = "np.ndarray[Any, Any]"
"""Rows of `ENTRY_DTYPE`, or a column of them."""

ANY_OBJECT: Final = bytes([1]) * 256
"""A flag for every short identifier."""

INDEX_BLOCK: Final = 1 << 16
"""Index entries held at once per split."""

PAGE: Final = 4096
"""Messages closer than this are read together, so that every page that is read holds wanted bytes."""

RUN_SIZE_BITS: Final = 23
"""Reads stay within aligned windows of 8 MiB, gaps included."""

UNBOUNDED: Final = 63
"""Runs may cross every multiple of this power of two."""

BATCH_BYTES: Final = 32 << 20
"""Stored bytes of messages that are examined together, so that a few huge ones do not fill the memory."""

TIME_MAX: Final = (1 << 64) - 1
"""The last time in nanoseconds that an entry can have."""


class IndexBlock(NamedTuple):
    """Index entries in time order, as columns: times (ns), offsets and sizes of messages, short identifiers.

    `bad` flags entries that stand for no message.  The block was taken from some entries of the file's index, whose
    numbers in it are `places`; `taken` has the position of each entry of the block among these.
    """

    time: Numbers
    offset: Numbers
    size: Numbers
    object: bytes
    taken: Sequence[int]
    bad: bytes
    places: Sequence[int]

    def place(self, number: int) -> int:
        """Where an entry is in the file's index."""
        return self.places[self.taken[number]]

    def part(self, start: int, stop: int) -> IndexBlock:
        """Entries `[start, stop)`."""
        if start == 0 and stop == len(self.time):
            return self
        which = slice(start, stop)
        return IndexBlock(
            self.time[which],
            self.offset[which],
            self.size[which],
            self.object[which],
            self.taken[which],
            self.bad[which],
            self.places,
        )

    def reversed(self) -> IndexBlock:
        """Return the block with its entries in reverse order."""
        return IndexBlock(
            self.time[::-1],
            self.offset[::-1],
            self.size[::-1],
            self.object[::-1],
            self.taken[::-1],
            self.bad[::-1],
            self.places,
        )


class ObjectStatistics(NamedTuple):
    """The statistics of one object in a split's index."""

    item_count: int
    size: int
    """Stored bytes."""
    minimum_ns: int
    maximum_ns: int


class SplitFacts(NamedTuple):
    """Result of a scan of the index, with the first and last time in it; small, kept for every split of a log."""

    header: SplitHeader
    file_size: int
    is_sorted: bool
    minimum_ns: int
    maximum_ns: int

    @property
    def item_count(self) -> int:
        """The number of indexed messages."""
        return self.header.item_count


class Split:
    """An open split file."""

    def __init__(
        self,
        source: Source,
        identifier: str | None = None,
        facts: SplitFacts | None = None,
        header: SplitHeader | None = None,
    ) -> None:
        """Read the header (unless `facts` or a `header` are known).

        `identifier` is the GUID that the file must hold.  Raises the errors of rules ARK-320, ARK-102, ARK-103 and
        ARK-322.
        """
        self.source = source
        known = facts.header if facts is not None else header
        if known is not None:
            self.header: SplitHeader = known
            return
        head = source.read_up_to(0, HEADER_WINDOW)
        self.header = parse_split_header(head, source.span(0, len(head)))
        if identifier is not None and self.header.identifier != identifier:
            raise SPLIT_NAME.error(
                span=source.span(*HEADER_FIELDS.split_identifier), expected=identifier, actual=self.header.identifier
            )

    def check_index(self) -> None:
        """Raise the error of rule ARK-322 if the index reaches outside the file."""
        header, size = self.header, self.source.size
        if header.index_offset > size or (header.item_count and header.index_offset < header.size):
            raise INDEX_OUTSIDE.error(
                span=self.source.span(*HEADER_FIELDS.ofs_index),
                expected=f"an offset from {header.size} to {size}",
                actual=header.index_offset,
            )
        if header.index_end > size:
            raise INDEX_OUTSIDE.error(
                span=self.source.span(*HEADER_FIELDS.num_indexed_items),
                expected=f"at most {counted((size - header.index_offset) // ENTRY_SIZE, 'items')}",
                actual=header.item_count,
            )

    def read_index(self, start: int, stop: int) -> Array:
        """Entries `[start, stop)` as rows of an array, for code that repairs or searches damaged files."""
        return parse_index(self.read_entries(start, stop))

    def read_entries(self, start: int, stop: int) -> bytes:
        """The bytes of entries `[start, stop)` of the index, counted from `index_offset`."""
        at = self.header.index_offset + start * ENTRY_SIZE
        return self.source.read_at(at, (stop - start) * ENTRY_SIZE)

    def scan(self) -> SplitFacts:
        """Read the whole index once, in blocks, to find whether it is sorted and which times it spans."""
        self.check_index()
        self.source.will_read(self.header.index_offset, self.header.index_end)
        count = self.header.item_count
        is_sorted = True
        low, high, last = TIME_MAX, 0, 0
        for start in range(0, count, INDEX_BLOCK):
            # Whether the times ascend, also from the block before; the lowest, the highest and the last of them.
            rises, least, most, last = ark_scan(self.read_entries(start, min(count, start + INDEX_BLOCK)), last)
            is_sorted = is_sorted and rises
            low, high = min(low, least), max(high, most)
        return SplitFacts(self.header, self.source.size, is_sorted, low if count else 0, high)

    def known_objects(self) -> bytes:
        """256 flags: which short identifiers are mapped."""
        flags = bytearray(256)
        for mapping in self.header.mappings:
            flags[mapping.short] = 1
        return bytes(flags)

    def blocks(
        self,
        facts: SplitFacts,
        low: int,
        high: int,
        *,
        reverse: bool = False,
        known: bytes | None = None,
        wanted: bytes = ANY_OBJECT,
    ) -> Iterator[IndexBlock]:
        """Entries with `low <= time <= high` in time order (stable), in blocks of at most `INDEX_BLOCK`.

        `known` are 256 flags: short identifiers that stand for a declared object (default: all that are mapped).
        `wanted` are 256 flags as well: the short identifiers whose entries are given; bad entries are given in any
        case.

        An index that is not in time order is sorted in memory; otherwise one block is held at a time.
        """
        if not facts.item_count or low > facts.maximum_ns or high < facts.minimum_ns:
            return
        if known is None:
            known = self.known_objects()
        # Sort the positions of the entries in the range; each block then collects its entries by position.
        if not facts.is_sorted:
            index = self.read_entries(0, facts.item_count)
            times = array("Q", map(itemgetter(0), iter_entries(index)))
            order = [number for number, time in enumerate(times) if low <= time <= high]
            order.sort(key=times.__getitem__)
            for start in _starts(len(order), reverse=reverse):
                which = order[start : start + INDEX_BLOCK]
                entries = b"".join([index[number * ENTRY_SIZE : (number + 1) * ENTRY_SIZE] for number in which])
                yield self._block(entries, which, known, wanted, reverse=reverse)
            return
        first, last = self._window(facts, low, high)
        for start in _starts(last - first, reverse=reverse):
            start += first
            stop = min(last, start + INDEX_BLOCK)
            entries = self.read_entries(start, stop)
            yield self._block(entries, range(start, stop), known, wanted, reverse=reverse)

    def _block(
        self, entries: bytes, places: Sequence[int], known: bytes, wanted: bytes, *, reverse: bool
    ) -> IndexBlock:
        """Return parsed index entries as a block.

        `places` are their slots; `known` and `wanted` have a flag for each of the 256 short identifiers.
        """
        # `taken` are the positions of wanted and bad entries; None: of all.
        taken, times, offsets, sizes, objects, bad = ark_entries(entries, self.source.size, known, wanted)
        block = IndexBlock(times, offsets, sizes, objects, range(len(times)) if taken is None else taken, bad, places)
        return block.reversed() if reverse else block

    def last_entries(
        self, facts: SplitFacts, low: int, high: int, shorts: Iterable[int]
    ) -> Iterator[tuple[int, IndexBlock]]:
        """Yield the last good entry with `low <= time <= high` of each of these short identifiers that has one.

        The index is read backwards until all are found; each entry is a block by itself.
        """
        missing = set(shorts)
        for block in self.blocks(facts, low, high, reverse=True):
            for short in [*missing]:
                hit = next((number for number in _places(block.object, short) if not block.bad[number]), None)
                if hit is not None:
                    missing.discard(short)
                    yield short, block.part(hit, hit + 1)
            if not missing:
                return

    def _window(self, facts: SplitFacts, low: int, high: int) -> tuple[int, int]:
        """The position in a sorted index of the first entry at `low` or later, and of the first one after `high`."""
        first = 0 if low <= facts.minimum_ns else self._bisect(low, facts.item_count)
        return first, facts.item_count if high >= facts.maximum_ns else self._bisect(high + 1, facts.item_count)

    def _bisect(self, time: int, count: int) -> int:
        """The first position of a sorted index whose time is at least `time`; a handful of small reads."""
        low, high = 0, count
        while high - low > INDEX_BLOCK:
            middle = (low + high) // 2
            if entry_time(self.read_entries(middle, middle + 1), 0) < time:
                low = middle + 1
            else:
                high = middle
        if low >= high:
            return low
        entries = self.read_entries(low, high)
        return low + bisect.bisect_left(range(high - low), time, key=lambda number: entry_time(entries, number))

    def entry_error(self, position: int, offset: int, size: int, short: int) -> ExhumeError:
        """The error for an entry that a block marked as bad: ARK-325, ARK-326 or ARK-328, at the field to blame."""
        path = f"index[{position}]"
        # The bytes are outside of the file.
        if offset + size > self.source.size:
            name = "ofs_data" if offset >= self.source.size else "len_data"
            return ENTRY_OUTSIDE.error(
                span=self.entry_span(position, name),
                field_path=f"{path}.{name}",
                expected=f"a range within {counted(self.source.size, 'bytes')}",
                actual=f"[{offset}, {offset + size})",
            )
        # The split has no mapping for the identifier, or the manifest no object for the mapping.
        if not self.known_objects()[short]:
            return ENTRY_ID.error(
                span=self.entry_span(position, "object_identifier"),
                field_path=f"{path}.object_identifier",
                expected=f"one of {', '.join(str(mapping.short) for mapping in self.header.mappings) or 'none'}",
                actual=short,
            )
        if size:
            mapping = next(each for each in self.header.mappings if each.short == short)
            return MAPPING_UNDECLARED.error(
                span=self.source.span(mapping.offset, mapping.offset + MAPPING_SIZE),
                field_path=path,
                actual=mapping.identifier,
            )
        return ENTRY_EMPTY.error(span=self.entry_span(position, "len_data"), field_path=f"{path}.len_data", actual=size)

    def entry_span(self, position: int, name: str | None = None) -> Span:
        """The span of an index entry, or of one of its fields, in the file."""
        at = self.header.index_offset + position * ENTRY_SIZE
        start, end = getattr(ENTRY_FIELDS, name) if name is not None else (0, ENTRY_SIZE)
        return self.source.span(at + start, at + end)

    def statistics(self, facts: SplitFacts, low: int = 0, high: int = TIME_MAX) -> dict[str, ObjectStatistics]:
        """Count, stored bytes and time range (ns) per object for `low <= time <= high`, from the index alone."""
        found: dict[int, tuple[int, int, int, int]] = {}  # by short identifier: the values of `ObjectStatistics`
        first, last = self._window(facts, low, high) if facts.is_sorted else (0, facts.item_count)
        for start in range(first, last, INDEX_BLOCK):
            rows = ark_statistics(self.read_entries(start, min(last, start + INDEX_BLOCK)), low, high)
            for short, count, stored, earliest, latest in rows:
                num, size, minimum, maximum = found.get(short, (0, 0, TIME_MAX, 0))
                found[short] = num + count, size + stored, min(minimum, earliest), max(maximum, latest)
        out: dict[str, ObjectStatistics] = {}
        for mapping in self.header.mappings:
            out[mapping.identifier] = ObjectStatistics(*found.get(mapping.short, (0, 0, 0, 0)))
        return out

    def read_messages(self, offsets: Numbers, sizes: Numbers) -> list[bytes]:
        """Stored bytes of messages, in the order requested; neighboring ones are read together."""
        runs = ark_runs(offsets, sizes, PAGE, RUN_SIZE_BITS)
        if runs is None:  # not in the order of the file: read in that order, then put back
            order = sorted(range(len(offsets)), key=offsets.__getitem__)
            found = self.read_messages(*(array("q", map(each.__getitem__, order)) for each in (offsets, sizes)))
            placed = [b""] * len(order)
            for place, data in zip(order, found, strict=True):
                placed[place] = data
            return placed
        blobs = self.read_runs(runs)
        out: list[bytes] = []
        for blob, (start, _, first, stop) in zip(blobs, runs, strict=True):
            out += [blob] if stop - first == 1 else ark_cut(blob, start, offsets, sizes, first, stop)
        return out

    def stored(self, offsets: Numbers, sizes: Numbers) -> Sequence[bytes]:
        """Return stored bytes of messages for the kernel: if they are stored in order, without an object for each."""
        runs = ark_runs(offsets, sizes, PAGE, RUN_SIZE_BITS)
        if runs is None:
            return self.read_messages(offsets, sizes)
        return ark_stored(self.read_runs(runs), runs, offsets, sizes)

    def read_runs(self, runs: list[Run]) -> list[bytes]:
        """The bytes of each run of messages."""
        keep_freed_memory()  # buffers are then reused, which saves the system's work on new pages
        return self.source.read_many([(start, end) for start, end, _, _ in runs])


def places_of(entries: Array) -> tuple[Numbers, Numbers]:
    """Offsets and sizes of the messages of some entries."""
    offsets, sizes = (array("q", entries[name].astype("i8").tobytes()) for name in ("ofs_data", "len_data"))
    return offsets, sizes


def _starts(count: int, *, reverse: bool) -> Iterator[int]:
    """The first position of each block of `count` entries."""
    starts = range(0, count, INDEX_BLOCK)
    return iter(reversed(starts)) if reverse else iter(starts)


def _places(text: bytes, byte: int) -> Iterator[int]:
    """Yield the positions of a byte."""
    at = -1
    while (at := text.find(byte, at + 1)) >= 0:
        yield at
