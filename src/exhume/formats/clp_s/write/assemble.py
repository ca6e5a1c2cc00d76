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
from typing import Any, Final

from exhume.errors import WriterError
from exhume.formats.clp_s.layout import HEADER_SIZE
from exhume.formats.clp_s.layout_packed import NUM_ENTRIES
from exhume.formats.clp_s.names import SECTION_NAMES
from exhume.formats.clp_s.write import build
from exhume.formats.clp_s.write.build import Framing, Payload, put
from exhume.formats.clp_s.write.encoder import Encoder, Frames
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.clp_s.write.timestamps import TimestampPatterns
from exhume.io.output.atomic import AtomicDirectory, AtomicFile

_SMALL: Final = 16
"""Items up to which `largest_first` leaves a range to the insertion sort; the number is upstream's."""


def write_archive(
    made: AtomicFile | AtomicDirectory,
    encoder: Encoder,
    patterns: TimestampPatterns,
    options: WriterOptions,
    ranges: list[tuple[int, int, dict[str, Any]]],
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
    ranges: list[tuple[int, int, dict[str, Any]]],
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
        ranges: For the range index: first record, end, and properties of the records of each input.
        original_size: Bytes of input, for the header.
        folder: Where frames go into a temporary file if they take much memory; None: the system's folder for these.

    Raises `WriterError` for an archive of nothing but empty records.
    """
    sizes, rows = array("Q"), array("q")  # bytes and records of each table
    for numbers, found in zip((sizes, rows), encoder.sizes(), strict=True):
        numbers.frombytes(found)
    plan = plan_streams(sizes, options.min_table_size)
    if plan and not any(size for _, size in plan):
        raise WriterError("an archive with only empty records requires log order: clp-s cannot read it otherwise")

    # The payloads to compress: the three dictionaries, then the packed streams.
    framing = Framing(options.level)
    dictionaries = [encoder.dictionary(which) for which in range(3)]  # (entries, bytes)
    payloads: list[Payload]
    payloads = [([size], partial(encoder.entries, which)) for which, (_, size) in enumerate(dictionaries)]
    payloads += [(_column_sizes(encoder, tables), partial(encoder.columns, tables)) for tables, _ in plan]
    # The header and the metadata section come first but are known last: sections can be written only after they exist,
    # so they are collected compressed (a fraction of the encoder's memory).
    done = framing.several(payloads, options.jobs)
    entries = [Frames(folder) for _ in dictionaries]
    for spooled, (count, _) in zip(entries, dictionaries, strict=True):
        spooled.add([NUM_ENTRIES.pack(count)])
        spooled.add(next(done))
    streams: list[tuple[int, int]] = []  # offset in the section, and uncompressed size
    packed = Frames(folder)
    for frames, (_, size) in zip(done, plan, strict=True):
        streams.append((packed.size, size))
        packed.add(frames)
    sections: list[Iterable[bytes]] = [
        [framing.one(build.build_schema_tree(encoder.nodes_list()))],
        [framing.one(build.build_schema_ids(encoder.schema(number)[:2] for number in range(len(sizes))))],
        [framing.one(build.build_table_metadata(streams, _tables(plan, sizes, rows)))],
    ]
    stored = [sum(map(len, pieces)) for pieces in sections]
    for spooled in (*entries, packed):
        sections.append(spooled)
        stored.append(spooled.size)
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


def _column_sizes(encoder: Encoder, tables: Iterable[int]) -> Iterator[int]:
    """Bytes of each column of tables that are back to back."""
    for number in tables:
        yield from encoder.schema(number)[3]


def _tables(
    plan: Iterable[tuple[list[int], int]], sizes: Sequence[int], rows: Sequence[int]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield `(stream, offset in it, schema id, records)` of each table, in stored order.

    `plan` is the result of `plan_streams`; `sizes` and `rows` are by table.
    """
    for stream, (numbers, _) in enumerate(plan):
        offset = 0
        for number in numbers:
            yield stream, offset, number, rows[number]
            offset += sizes[number]


def plan_streams(sizes: Sequence[int], min_table_size: int) -> list[tuple[list[int], int]]:
    """Distribute tables to packed streams, largest tables first; return `(table numbers, total size)` of each stream.

    Args:
        sizes: Size of each table.
        min_table_size: A stream ends with the table that takes it above this.

    A table without bytes (records of nothing but nulls) joins an existing stream: upstream cannot read a last stream
    that is empty.
    """
    plan: list[tuple[list[int], int]] = []
    numbers: list[int] = []  # tables of the current stream
    total = 0  # their bytes
    for number in largest_first(sizes):
        size = sizes[number]
        if not size and not numbers and plan:
            plan[-1][0].append(number)
            continue
        numbers.append(number)
        total += size
        if total > min_table_size:
            plan.append((numbers, total))
            numbers, total = [], 0
    if numbers:
        plan.append((numbers, total))
    return plan


def largest_first(sizes: Sequence[int]) -> list[int]:
    """Numbers of tables by size, descending, with ties in the order in which upstream leaves them.

    Upstream's sort is an introsort (quicksort with the median of three down to 16 items, then insertion sort), which
    is not stable: with it, tables of equal size come out in the same order, and so do the records when printed.
    """
    items, order = array("Q", sizes), array("I", range(len(sizes)))
    # The ranges that remain to be divided: (first, end, divisions until the heap sort, whether all sizes are equal).
    ranges = [(0, len(items), 2 * max(len(items).bit_length() - 1, 0), False)]
    while ranges:
        first, last, depth, alike = ranges.pop()
        while last - first > _SMALL:
            if not depth:  # upstream falls back to a heap sort; only hostile sizes get here
                places = sorted(range(first, last), key=items.__getitem__, reverse=True)
                order[first:last] = array("I", map(order.__getitem__, places))
                items[first:last] = array("Q", map(items.__getitem__, places))
                break
            depth -= 1
            alike = alike or items[first : first + 1] * (last - first) == items[first:last]
            cut = _turn(order, first, last) if alike else _partition(items, order, first, last)
            ranges.append((cut, last, depth, alike))
            last = cut
    # Insertion sort: stable from here on.
    return list(map(order.__getitem__, sorted(range(len(items)), key=items.__getitem__, reverse=True)))


def _turn(order: array[int], first: int, last: int) -> int:
    """Do what `_partition` does with items `[first, last)` of equal size, faster: it swaps them all.

    Returns the same cut.
    """
    middle = first + (last - first) // 2
    order[first], order[middle] = order[middle], order[first]
    order[first + 1 : last] = order[first + 1 : last][::-1]
    return first + 1 + (last - first - 1) // 2


def _partition(items: array[int], order: array[int], first: int, last: int) -> int:
    """Move the median of three of the items `[first, last)` to the front and divide the rest around it.

    Returns where the second part begins.  `order` has the table of each item, and is swapped likewise.
    Which three, and how equal items are swapped, is as upstream does it: the order of equal items depends on it.
    """
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if items[a] > items[b]:
        median = b if items[b] > items[c] else c if items[a] > items[c] else a
    else:
        median = a if items[a] > items[c] else c if items[b] > items[c] else b
    items[first], items[median] = items[median], items[first]
    order[first], order[median] = order[median], order[first]
    # Larger items go to the first part, smaller ones to the second; equal ones stop both searches, and are swapped.
    pivot = items[first]
    low, high = first + 1, last
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


def time_ranges(encoder: Encoder, options: WriterOptions) -> list[tuple[bytes, list[int], int, float, float]]:
    """Return the `(key, node ids, encoding, first, last)` of the timestamp key, for the timestamp dictionary.

    Before 0.5.0, one range for all nodes, of integers or, if any time is a float, of floats; later, one for each node.
    """
    nodes = encoder.time_nodes_list()
    if not nodes or options.timestamp_key is None:
        return []
    key = options.timestamp_key.encode()
    low, high = encoder.time_min, encoder.time_max
    if options.version_tuple >= (0, 5, 0):
        # Times are nanoseconds, bounds milliseconds: rounded down and up.
        return [(key, [node], build.INTEGER_EPOCH, low // 10**6, -(-high // 10**6)) for node in nodes]
    if not encoder.saw_float_time:
        return [(key, nodes, build.INTEGER_EPOCH, low, high)]
    bounds = [encoder.float_time_min, encoder.float_time_max]
    if encoder.saw_integer_time:
        bounds += [float(low), float(high)]
    return [(key, nodes, build.DOUBLE_EPOCH, min(bounds), max(bounds))]
