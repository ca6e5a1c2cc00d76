"""One finished archive from the data of an encoder: its sections are built, compressed and written.

A record has a schema (its list of nodes in the schema tree); the records with one schema form a table, column by
column.  Tables are stored back to back in packed streams, each compressed as zstd frames.  Upstream is `clp-s`, whose
archives these are, byte for byte apart from the frames: so the order of tables is the one in which it leaves them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from exhume.errors import WriterError
from exhume.formats.clp_s.layout import HEADER_SIZE
from exhume.formats.clp_s.layout_packed import NUM_ENTRIES
from exhume.formats.clp_s.names import SECTION_NAMES
from exhume.formats.clp_s.write import build
from exhume.formats.clp_s.write.build import Framing, Payload, TimeRange, UnitRange, put
from exhume.formats.clp_s.write.encoder import Encoder, Frames
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.clp_s.write.timestamps import TimestampPatterns
from exhume.io.output.atomic import AtomicDirectory, AtomicFile
from exhume.tuples import NamedTuple

_SMALL: Final = 16
"""Items up to which `largest_first` leaves a range to the insertion sort; the number is upstream's."""


def write_archive(
    made: AtomicFile | AtomicDirectory,
    encoder: Encoder,
    patterns: TimestampPatterns,
    options: WriterOptions,
    ranges: list[UnitRange],
    original_size: int,
) -> None:
    """Write all data of `encoder` as one archive to `made`, a new file or directory; see `parts_of_archive`."""
    folder = made.path.absolute().parent
    head, sections = parts_of_archive(encoder, patterns, options, ranges, original_size, folder)
    put(made, head, zip(SECTION_NAMES, sections, strict=True))


def parts_of_archive(
    encoder: Encoder,
    patterns: TimestampPatterns,
    options: WriterOptions,
    ranges: list[UnitRange],
    original_size: int,
    folder: Path | None = None,
) -> tuple[bytes, list[Iterable[bytes]]]:
    """Return `(head, sections)` of an archive with the data of `encoder`.

    The head is the header and the metadata section; each section is its stored bytes in chunks, in the order of
    `SECTION_NAMES`.

    Args:
        encoder: The records.
        patterns: The patterns of their timestamps.
        options: The options of the writer.
        ranges: The records of each input, for the range index.
        original_size: Bytes of input, for the header.
        folder: Where frames go into a temporary file if they take much memory; None: the system's folder for these.

    Raises `WriterError` for an archive of nothing but empty records.
    """
    table_sizes, table_rows = encoder.sizes()
    sizes, rows = array("Q", table_sizes), array("q", table_rows)  # bytes and records of each table
    plan = plan_streams(sizes, options.min_table_size)
    if plan and not any(stream.size for stream in plan):
        raise WriterError("an archive with only empty records requires log order: clp-s cannot read it otherwise")

    # The header and the metadata section come first but are known last: sections can be written only after they exist,
    # so they are collected compressed (a fraction of the encoder's memory).
    framing = Framing(options.level)
    large, offsets = _compress(encoder, plan, framing, options.jobs, folder)
    streams = [(offset, stream.size) for offset, stream in zip(offsets, plan, strict=True)]
    sections: list[Iterable[bytes]] = [
        [framing.one(build.build_schema_tree(encoder.nodes_list()))],
        [framing.one(build.build_schema_ids(encoder.schema(number)[:2] for number in range(len(sizes))))],
        [framing.one(build.build_table_metadata(streams, _tables(plan, sizes, rows)))],
    ]
    stored = [sum(map(len, pieces)) for pieces in sections]
    for frames in large:
        sections.append(frames)
        stored.append(frames.size)
    metadata = framing.one(
        build.build_metadata(
            stored,
            build.build_timestamps(time_ranges(encoder, options), patterns.ids),
            ranges if options.has_range_index else [],
        )
    )
    total = HEADER_SIZE + len(metadata) + sum(stored)
    header = build.build_header(options.version_tuple, original_size, total, len(metadata))
    return header + metadata, sections


class PlannedStream(NamedTuple):
    """The tables of one packed stream, by number, in stored order; their total size in bytes."""

    tables: list[int]
    size: int


def _compress(
    encoder: Encoder, plan: Sequence[PlannedStream], framing: Framing, jobs: int, folder: Path | None
) -> tuple[list[Frames], list[int]]:
    """Compress the three dictionaries and the packed streams, with `jobs` threads; `folder` is for temporary files.

    Returns their four sections, and the offset of each packed stream in the last one.
    """
    dictionaries = [encoder.dictionary(which) for which in range(3)]  # (number of entries, bytes)
    payloads: list[Payload]
    payloads = [([size], partial(encoder.entries, which)) for which, (_, size) in enumerate(dictionaries)]
    payloads += [(_column_sizes(encoder, tables), partial(encoder.columns, tables)) for tables, _ in plan]
    done = framing.several(payloads, jobs)  # the frames of each payload, in the same order
    sections = [Frames(folder) for _ in dictionaries]
    for section, (count, _) in zip(sections, dictionaries, strict=True):
        section.add([NUM_ENTRIES.pack(count)])
        section.add(next(done))
    packed = Frames(folder)
    offsets = []
    for frames in done:
        offsets.append(packed.size)
        packed.add(frames)
    return [*sections, packed], offsets


def _column_sizes(encoder: Encoder, tables: Iterable[int]) -> Iterator[int]:
    """Yield the bytes of each column of these tables, in stored order."""
    for number in tables:
        _, _, _, sizes = encoder.schema(number)
        yield from sizes


def _tables(
    plan: Iterable[PlannedStream], sizes: Sequence[int], rows: Sequence[int]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield `(stream, offset in it, schema id, records)` of each table, in stored order.

    `sizes` and `rows` are by table number, which is also its schema id.
    """
    for number, stream in enumerate(plan):
        offset = 0
        for table in stream.tables:
            yield number, offset, table, rows[table]
            offset += sizes[table]


def plan_streams(sizes: Sequence[int], min_table_size: int) -> list[PlannedStream]:
    """Distribute tables to packed streams, largest tables first.

    Args:
        sizes: Size of each table.
        min_table_size: A stream ends with the table that takes it above this.

    A table without bytes (records of nothing but nulls) joins an existing stream: upstream cannot read a last stream
    that is empty.
    """
    plan: list[PlannedStream] = []
    tables: list[int] = []  # of the current stream
    total = 0  # their bytes
    for table in largest_first(sizes):
        size = sizes[table]
        if not size and not tables and plan:
            plan[-1].tables.append(table)
            continue
        tables.append(table)
        total += size
        if total > min_table_size:
            plan.append(PlannedStream(tables, total))
            tables, total = [], 0
    if tables:
        plan.append(PlannedStream(tables, total))
    return plan


def largest_first(sizes: Sequence[int]) -> list[int]:
    """Numbers of tables by size, descending, with ties in the order in which upstream leaves them.

    Upstream's sort is an introsort (quicksort with the median of three down to 16 items, then insertion sort), which
    is not stable: with it, tables of equal size come out in the same order, and so do the records when printed.
    """
    items, order = array("Q", sizes), array("I", range(len(sizes)))
    # The ranges `[first, end)` that remain to be divided, as (first, end, divisions left, whether all sizes are equal).
    # Upstream allows 2 * log2(items) divisions, then it uses a heap sort.
    ranges = [(0, len(items), 2 * max(len(items).bit_length() - 1, 0), False)]
    while ranges:
        first, end, divisions, alike = ranges.pop()
        while end - first > _SMALL:
            if not divisions:  # only hostile sizes get here
                places = sorted(range(first, end), key=items.__getitem__, reverse=True)
                order[first:end] = array("I", map(order.__getitem__, places))
                items[first:end] = array("Q", map(items.__getitem__, places))
                break
            divisions -= 1
            alike = alike or items[first : first + 1] * (end - first) == items[first:end]  # the first one, repeated
            cut = _partition_equal(order, first, end) if alike else _partition(items, order, first, end)
            ranges.append((cut, end, divisions, alike))  # the second part; this loop continues with the first
            end = cut
    # Insertion sort: stable from here on.
    return list(map(order.__getitem__, sorted(range(len(items)), key=items.__getitem__, reverse=True)))


def _partition_equal(order: array[int], first: int, end: int) -> int:
    """Do what `_partition` does with items `[first, end)` of equal size, faster, and return the same cut.

    The middle item comes first, then all others in reverse: `_partition` swaps each pair of equal items.
    """
    middle = first + (end - first) // 2
    order[first], order[middle] = order[middle], order[first]
    order[first + 1 : end] = order[first + 1 : end][::-1]
    return first + 1 + (end - first - 1) // 2


def _partition(items: array[int], order: array[int], first: int, end: int) -> int:
    """Move the median of three of the items `[first, end)` to the front and divide the rest around it.

    Returns where the second part begins.  `order` has the table of each item, and is swapped likewise.
    Which three, and how equal items are swapped, is as upstream does it: the order of equal items depends on it.
    """
    three = (first + 1, first + (end - first) // 2, end - 1)
    _, median, _ = sorted(three, key=items.__getitem__)
    items[first], items[median] = items[median], items[first]
    order[first], order[median] = order[median], order[first]
    # Larger items go to the first part, smaller ones to the second; equal ones stop both searches, and are swapped.
    pivot = items[first]
    low, high = first + 1, end
    while True:
        while items[low] > pivot:
            low += 1
        high -= 1
        while pivot > items[high]:
            high -= 1
        if low >= high:
            return low
        items[low], items[high] = items[high], items[low]
        order[low], order[high] = order[high], order[low]
        low += 1


def time_ranges(encoder: Encoder, options: WriterOptions) -> list[TimeRange]:
    """Return the ranges of times of the timestamp key, for the timestamp dictionary.

    Before 0.5.0, one range for all nodes, of integers or, if any time is a float, of floats; later, one for each node.
    """
    nodes = encoder.time_nodes_list()
    if not nodes or options.timestamp_key is None:
        return []
    key = options.timestamp_key.encode()
    low, high = encoder.time_min, encoder.time_max
    if options.version_tuple >= (0, 5, 0):
        # Times are nanoseconds, bounds milliseconds: rounded down and up.
        first, last = low // 10**6, -(-high // 10**6)
        return [TimeRange(key, [node], build.INTEGER_EPOCH, first, last) for node in nodes]
    if not encoder.saw_float_time:
        return [TimeRange(key, nodes, build.INTEGER_EPOCH, low, high)]
    bounds = [encoder.float_time_min, encoder.float_time_max]
    if encoder.saw_integer_time:
        bounds += [float(low), float(high)]
    return [TimeRange(key, nodes, build.DOUBLE_EPOCH, min(bounds), max(bounds))]
