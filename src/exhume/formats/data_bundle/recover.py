"""Records of a shard that no row of the index places, found by alignment and codec; bytes that no file row names.

A stored record shows where it ends, and the next one starts at the next multiple of the alignment.  Where one cannot be
decoded, the walk continues at the next place that could start a record.  Offsets in the stream follow from the record
before; after a lost record they are a guess (that the lost record was full), which only a file's CRC-32C can confirm.

Spec: data_bundle.txt, Shard Files; `docs/formats/data_bundle.md`, "Read".
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from exhume.codecs import decompress_prefix
from exhume.errors import CodecError, LimitExceededError
from exhume.formats.data_bundle.index import RecordRow
from exhume.formats.data_bundle.messages import Compression, RecordMetadata, ShardHeader, align, compression_name
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits

WINDOW = 1 << 20
"""Bytes that are searched at a time for the start of a record."""

_STORED_GROWTH = 64
"""Bytes, in addition to 17 %, by which a stored record may be larger than its contents."""


def complete_rows(
    source: Source, header: ShardHeader, rows: list[RecordRow], limits: Limits = DEFAULT_LIMITS
) -> list[RecordRow]:
    """The `rows` of one shard in stream order, together with those that the index has lost.

    The rows of shards without compression are returned unchanged, because their records cannot be recognized.
    """
    if header.compression not in (Compression.ZLIB, Compression.SNAPPY):
        return rows
    stored = [row.byte_offset for row in rows if row.byte_offset is not None]
    base = header.data_offset if stored and min(stored) == 0 else 0
    known = {row.byte_offset + base: row for row in rows if row.byte_offset is not None}
    made: dict[int, RecordRow] = {row.offset: row for row in rows}
    expected, sure = 0, True
    for place, size in _walk(source, header, sorted(known), limits):
        row = known.get(place)
        if row is not None:
            if sure and expected < row.offset and expected not in made:  # nothing is stored in between: these are zeros
                made[expected] = RecordRow(expected, None, RecordMetadata(header.shard_index, expected, all_zeros=True))
            expected, sure = row.offset, True
        elif size:
            expected = _behind_zeros(expected, made, header.record_size)
            meta = RecordMetadata(header.shard_index, expected, place - base)
            made.setdefault(expected, RecordRow(expected, place - base, meta))
        expected += size or header.record_size
        sure = sure and size > 0
    return sorted(made.values(), key=lambda row: row.offset)


def _behind_zeros(offset: int, rows: dict[int, RecordRow], record_size: int) -> int:
    """Where the stream continues after the records of zeros that start at `offset` according to the index."""
    while offset in rows and rows[offset].byte_offset is None:
        offset = min((other for other in rows if other > offset), default=offset + record_size)
    return offset


def _walk(source: Source, header: ShardHeader, known: list[int], limits: Limits) -> Iterator[tuple[int, int]]:
    """`(place, decoded size)` in file order, of records and, with size 0, of other bytes."""
    step = max(1, header.record_alignment)
    at = header.data_offset
    while at < source.size:
        decoded = _decode(source, header, at, limits)
        if decoded is not None:
            used, size = decoded
            yield at, size
            at = align(at + used, step)
            continue
        lost = at
        while decoded is None and at < source.size:
            nearest = bisect_right(known, at)
            stop = known[nearest] if nearest < len(known) else source.size
            at = _next_start(source, header, at + 1, stop)
            if at == stop:
                break
            decoded = _decode(source, header, at, limits)
        yield lost, 0


def _decode(source: Source, header: ShardHeader, at: int, limits: Limits) -> tuple[int, int] | None:
    """Stored and decoded size of the record at an offset, None when there is none."""
    most = min(max(header.record_size, 1), limits.payload_size)
    stored = source.read_up_to(at, most + most // 6 + _STORED_GROWTH)
    if not _could_start(stored, 0, header):
        return None
    try:
        decoded = decompress_prefix(compression_name(header.compression), stored, max_size=most)
    except (CodecError, LimitExceededError):
        return None
    return (decoded.consumed, len(decoded.data)) if decoded.data else None


def _could_start(stored: bytes, at: int, header: ShardHeader) -> bool:
    if header.compression == Compression.ZLIB:  # as RFC 1950 requires: deflate, and a check of the first two bytes
        return len(stored) > at + 2 and stored[at] & 0x0F == 8 and (stored[at] << 8 | stored[at + 1]) % 31 == 0
    return len(stored) > at and stored[at] != 0


def _next_start(source: Source, header: ShardHeader, at: int, stop: int) -> int:
    """The first place from `at` on where a record could start, at most `stop`."""
    step = max(1, header.record_alignment)
    if header.compression == Compression.SNAPPY and step == 1:
        return stop  # a record could start at any byte
    at = align(at, step)
    while at < stop:
        window = source.read_up_to(at, min(WINDOW, stop - at) + 2)
        for offset in range(0, len(window), step):
            if _could_start(window, offset, header):
                return min(stop, at + offset)
        at += align(min(WINDOW, stop - at), step)
    return stop


def unclaimed(stream: Iterable[tuple[int, int]], claimed: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of the ranges in `stream` that no range in `claimed` covers, in order, adjacent ones joined."""
    edges = [(at, step, 0) for start, end in stream for at, step in ((start, 1), (end, -1)) if end > start]
    edges += [(at, 0, step) for start, end in claimed for at, step in ((start, 1), (end, -1)) if end > start]
    there = taken = 0
    begin: int | None = None
    for at, group in itertools.groupby(sorted(edges), key=lambda edge: edge[0]):
        for _, one, other in group:
            there += one
            taken += other
        free = there > 0 and taken == 0
        if free and begin is None:
            begin = at
        elif not free and begin is not None:
            yield begin, at
            begin = None
