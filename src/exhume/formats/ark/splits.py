"""Split files: header, index as NumPy arrays in bounded blocks, and the bytes of messages.

Spec: ark_log.txt, Split File Format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

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
from exhume.formats.ark.layout import (
    ENTRY_FIELDS,
    ENTRY_SIZE,
    HEADER_FIELDS,
    HEADER_WINDOW,
    MAPPING_SIZE,
    SplitHeader,
    parse_index,
    parse_split_header,
)
from exhume.io.source import Source

Array = np.ndarray[Any, Any]

INDEX_BLOCK: Final = 1 << 16
"""Index entries held at once per split."""

PAGE: Final = 4096
"""Messages closer than this are read together, so that every page that is read holds wanted bytes."""

RUN_SIZE_BITS: Final = 23
"""Reads stay within aligned windows of 8 MiB, gaps included."""

TIME_MAX: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Block:
    """Index entries in time order; `position` counts in the file's index, `bad` marks unusable entries."""

    time: Array
    offset: Array
    size: Array
    object: Array
    position: Array
    bad: Array

    def __len__(self) -> int:
        return len(self.time)

    def take(self, which: Any) -> Block:
        """A selection (slice, mask or index array)."""
        return Block(
            self.time[which],
            self.offset[which],
            self.size[which],
            self.object[which],
            self.position[which],
            self.bad[which],
        )


@dataclass(frozen=True, slots=True)
class ObjectStatistics:
    """What a split's index says of one object."""

    count: int
    size: int
    minimum_ns: int
    maximum_ns: int


class SplitFacts(NamedTuple):
    """What a scan of the index found; small, kept for every split of a log."""

    header: SplitHeader
    file_size: int
    is_sorted: bool
    minimum_ns: int
    maximum_ns: int

    @property
    def item_count(self) -> int:
        """Indexed messages."""
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
        """Reads the header (unless `facts` or a `header` are known).

        `identifier` is the GUID that the file must hold.  Raises the errors of rules ARK-320, ARK-102, ARK-103 and
        ARK-322.
        """
        self.source = source
        known = facts.header if facts is not None else header
        if known is not None:
            self.header = known
            return
        head = source.read_up_to(0, HEADER_WINDOW)
        self.header = parse_split_header(head, source.span(0, len(head)))
        if identifier is not None and self.header.identifier != identifier:
            raise SPLIT_NAME.error(
                span=source.span(*HEADER_FIELDS.split_identifier), expected=identifier, actual=self.header.identifier
            )

    def check_index(self) -> None:
        """Raises the error of rule ARK-322 when the index reaches outside the file."""
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
        """Entries `[start, stop)` of the index, counted from `index_offset` (also past the indexed count)."""
        at = self.header.index_offset + start * ENTRY_SIZE
        return parse_index(self.source.read_at(at, (stop - start) * ENTRY_SIZE))

    def scan(self) -> SplitFacts:
        """Reads the whole index once, in blocks, to find whether it is sorted and which times it spans."""
        self.check_index()
        self.source.hint(self.header.index_offset, self.header.index_end)
        count = self.header.item_count
        is_sorted = True
        low, high, last = TIME_MAX, 0, 0
        for start in range(0, count, INDEX_BLOCK):
            time = np.ascontiguousarray(self.read_index(start, min(count, start + INDEX_BLOCK))["timestamp_ns"])
            if is_sorted and (int(time[0]) < last or bool(np.any(time[1:] < time[:-1]))):
                is_sorted = False
            last = int(time[-1])
            low, high = min(low, int(time.min())), max(high, int(time.max()))
        return SplitFacts(self.header, self.source.size, is_sorted, low if count else 0, high)

    def known_objects(self) -> Array:
        """A table of 256 flags: which short identifiers are mapped."""
        table = np.zeros(256, np.bool_)
        table[[mapping.short for mapping in self.header.mappings]] = True
        return table

    def blocks(
        self, facts: SplitFacts, low: int, high: int, *, reverse: bool = False, known: Array | None = None
    ) -> Iterator[Block]:
        """Entries with `low <= time <= high` in time order (stable), in blocks of at most `INDEX_BLOCK`.

        `known` are 256 flags: short identifiers that stand for a declared object (default: all that are mapped).

        An index that is not in time order is sorted in memory (18 bytes per entry); else one block is held at a time.
        """
        if not facts.item_count or low > facts.maximum_ns or high < facts.minimum_ns:
            return
        if known is None:
            known = self.known_objects()
        if not facts.is_sorted:
            entries = self.read_index(0, facts.item_count)
            order = np.argsort(entries["timestamp_ns"], kind="stable")
            order = order[(entries["timestamp_ns"][order] >= low) & (entries["timestamp_ns"][order] <= high)]
            for start in _starts(len(order), reverse=reverse):
                which = order[start : start + INDEX_BLOCK]
                yield self._block(entries[which], which, known, reverse=reverse)
            return
        first = 0 if low <= facts.minimum_ns else self._bisect(low, facts.item_count)
        last = facts.item_count if high >= facts.maximum_ns else self._bisect(high + 1, facts.item_count)
        for start in _starts(last - first, reverse=reverse):
            start += first
            stop = min(last, start + INDEX_BLOCK)
            yield self._block(self.read_index(start, stop), np.arange(start, stop), known, reverse=reverse)

    def _block(self, entries: Array, position: Array, known: Array, *, reverse: bool) -> Block:
        if reverse:
            entries, position = entries[::-1], position[::-1]
        offset = entries["ofs_data"].astype(np.int64)
        size = entries["len_data"].astype(np.int64)
        short = np.ascontiguousarray(entries["object_identifier"])
        bad = (offset + size > self.source.size) | ~known[short] | (size == 0)
        return Block(np.ascontiguousarray(entries["timestamp_ns"]), offset, size, short, position, bad)

    def _bisect(self, time: int, count: int) -> int:
        """The first position of a sorted index whose time is at least `time`; a handful of small reads."""
        low, high = 0, count
        while high - low > INDEX_BLOCK:
            middle = (low + high) // 2
            if int(self.read_index(middle, middle + 1)["timestamp_ns"][0]) < time:
                low = middle + 1
            else:
                high = middle
        if low >= high:
            return low
        return low + int(np.searchsorted(self.read_index(low, high)["timestamp_ns"], np.uint64(time), side="left"))

    def entry_error(self, position: int, offset: int, size: int, short: int) -> ExhumeError:
        """The error for an entry that a block marked as bad: ARK-325, ARK-326 or ARK-328, at the field to blame."""
        path = f"index[{position}]"
        if offset + size > self.source.size:
            name = "ofs_data" if offset >= self.source.size else "len_data"
            return ENTRY_OUTSIDE.error(
                span=self.entry_span(position, name),
                field_path=f"{path}.{name}",
                expected=f"a range within {counted(self.source.size, 'bytes')}",
                actual=f"[{offset}, {offset + size})",
            )
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
        found: dict[int, list[int]] = {}
        for block in self.blocks(facts, low, high):
            order = np.argsort(block.object, kind="stable")
            shorts, starts = np.unique(block.object[order], return_index=True)
            time, size = block.time[order], block.size[order]
            counts = np.diff(np.append(starts, len(order)))
            rows = zip(
                shorts.tolist(),
                counts.tolist(),
                np.add.reduceat(size, starts).tolist(),
                np.minimum.reduceat(time, starts).tolist(),
                np.maximum.reduceat(time, starts).tolist(),
                strict=True,
            )
            for short, count, stored, first, last in rows:
                total = found.setdefault(short, [0, 0, TIME_MAX, 0])
                total[0] += count
                total[1] += stored
                total[2] = min(total[2], first)
                total[3] = max(total[3], last)
        out: dict[str, ObjectStatistics] = {}
        for mapping in self.header.mappings:
            total = found.get(mapping.short, [0, 0, 0, 0])
            out[mapping.identifier] = ObjectStatistics(*total)
        return out

    def read_messages(self, offsets: Array, sizes: Array) -> list[bytes]:
        """Stored bytes of messages, in the order requested; neighbouring ones are read together."""
        count = len(offsets)
        if not count:
            return []
        order: Array | None = None
        if count > 1 and bool(np.any(offsets[1:] < offsets[:-1])):
            order = np.argsort(offsets, kind="stable")
            offsets, sizes = offsets[order], sizes[order]
        ends = offsets + sizes
        reach = np.maximum.accumulate(ends)
        breaks = (offsets[1:] - reach[:-1] > PAGE) | (offsets[1:] >> RUN_SIZE_BITS != offsets[:-1] >> RUN_SIZE_BITS)
        edges = np.flatnonzero(breaks) + 1
        firsts = [0, *edges.tolist()]
        lasts = [*edges.tolist(), count]
        ranges = [(int(offsets[first]), int(ends[first:last].max())) for first, last in zip(firsts, lasts, strict=True)]
        blobs = self.source.read_many(ranges)
        out: list[bytes] = []
        for blob, first, last, (start, _) in zip(blobs, firsts, lasts, ranges, strict=True):
            if last - first == 1:
                out.append(blob)
                continue
            begin = (offsets[first:last] - start).tolist()
            finish = (ends[first:last] - start).tolist()
            out += [blob[a:b] for a, b in zip(begin, finish, strict=True)]
        if order is None:
            return out
        placed: list[bytes] = [b""] * count
        for place, data in zip(order.tolist(), out, strict=True):
            placed[place] = data
        return placed


def _starts(count: int, *, reverse: bool) -> Iterator[int]:
    starts = range(0, count, INDEX_BLOCK)
    return iter(reversed(starts)) if reverse else iter(starts)
