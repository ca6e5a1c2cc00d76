"""One pass over the content of a shard: every record is decoded once, for its own rules and for the files in it.

The stream of a shard is the contents of its files, back to back.  It is stored as records, each compressed by
itself, or as it is ("flat").  A record ends before the next one, with zeros up to a multiple of the alignment.  The
pass goes through the stream in windows (extents) of about a mebibyte, which threads check independently.

Spec: data_bundle.txt, Shard Files; `docs/formats/data_bundle.md`, "Profile".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import groupby, pairwise

from exhume.codecs.checksums import crc32c
from exhume.errors import ExhumeError, LimitExceededError
from exhume.findings import Finding
from exhume.formats.data_bundle import checks
from exhume.formats.data_bundle.index import FileRow
from exhume.formats.data_bundle.shard import Shard
from exhume.io.files import keep_freed_memory
from exhume.io.parallel import map_ordered
from exhume.io.source import STREAM_CHUNK, Source
from exhume.tuples import NamedTuple

EXTENT_BYTES = 1 << 20
"""Bytes of a stream that a thread checks at a time."""

MOST_RECORDS = 1024
"""Largest number of records in a window, however small they are."""

_NO_END = 1 << 64
"""The end of the last window, as the size of the last record is not stated; also a wish for all bytes of a record."""


class _Extent(NamedTuple):
    """A window: some records, which are `[start, stop)` of the stream, or these bytes of a flat shard."""

    start: int
    stop: int
    records: range = range(0)


class _ExtentResult(NamedTuple):
    """The result of one window: findings about its records, files inside it with a correct checksum, and
    `(file, offset in it, bytes)` of those that reach beyond it.  Files are indices of `Content._rows`.
    """

    findings: list[Finding]
    proven: list[int]
    parts: list[tuple[int, int, memoryview]]


class Content:
    """The content of a shard, and which of the files in it have the checksum that their rows state.

    `proven` has the `id` of each of their rows.  It has none of files that overlap others, or are in undecodable
    records: reading them one by one reports the fault.
    """

    def __init__(self, shard: Shard, rows: list[FileRow]) -> None:
        """`rows` are those of the shard's files that are not empty, in the order of their bytes."""
        self.proven: set[int] = set()
        self._shard = shard
        self._rows: list[FileRow] = []  # without those that overlap the one before
        at = 0
        for row in rows:
            if row.meta.offset >= at:
                self._rows.append(row)
                at = row.meta.offset + row.meta.size
        # Where each of these files starts and ends in the stream, both ascending.
        self._starts = [row.meta.offset for row in self._rows]
        self._ends = [row.meta.offset + row.meta.size for row in self._rows]

    def check(self, jobs: int) -> Iterator[list[Finding]]:
        """The findings about records, in their order, by `jobs` threads; `proven` is complete afterwards."""
        keep_freed_memory()
        number, done, crc = -1, 0, 0  # the file that reaches beyond a window: the part of it seen so far
        for seen in self._seen(jobs):
            yield seen.findings
            self.proven.update(id(self._rows[place]) for place in seen.proven)
            for place, offset, part in seen.parts:
                if offset == 0:
                    number, done, crc = place, 0, 0
                if (number, done) != (place, offset):
                    continue  # something before it is missing
                crc, done = crc32c(part, crc), done + len(part)
                meta = self._rows[place].meta
                if done == meta.size and crc == meta.crc32c:
                    self.proven.add(id(self._rows[place]))
            del seen  # with the bytes of its parts

    def _seen(self, jobs: int) -> Iterator[_ExtentResult]:
        """Yield the result of each window, in order; a large record is a window for each of its chunks."""
        for large, extents in groupby(
            self._extents(), lambda one: len(one.records) == 1 and self._is_large(one.records[0])
        ):
            if large:
                for extent in extents:
                    yield from self._look_through(extent)
            else:
                yield from map_ordered(self._examine_window, extents, jobs)

    def _is_large(self, index: int) -> bool:
        """Whether a record is decompressed in chunks; the files in the last one state how much it contains at least."""
        end = self._ends[-1] if self._ends and index + 1 == len(self._shard.starts) else 0
        # Arguments: the record, how many of its bytes are wanted, the fewest that it is known to have.
        return self._shard.is_large(index, _NO_END, end - self._shard.starts[index])

    def _look_through(self, extent: _Extent) -> Iterator[_ExtentResult]:
        """Decode a record that is too large for memory, chunk by chunk; the extent has only this record."""
        (index,) = extent.records
        place = self._shard.places[index]
        assert place is not None
        if not self._shard.header.data_offset <= place <= self._shard.bounds[index]:
            return  # reported together with its place
        at = extent.start
        try:
            record = self._shard.stream(index)
            for chunk in record:
                part = _Extent(at, at + len(chunk))
                yield self._sum(part, [], [(at, memoryview(chunk))])
                at += len(chunk)
        except ExhumeError as error:
            yield _ExtentResult([Finding.from_error(error)], [], [])
            return
        self._shard.note(index, at - extent.start, record.end)
        yield _ExtentResult(check_fill(self._shard, index, record.end), [], [])

    def _extents(self) -> Iterator[_Extent]:
        """Yield the extents in which the content is read: about `EXTENT_BYTES` bytes each.

        A record too large for memory has an extent of its own. The last extent has no known end (2^64).
        """
        shard = self._shard
        if shard.is_flat:  # up to the end of the last file that the shard has
            stop = min(self._ends[-1] if self._ends else 0, shard.source.size - shard.header.data_offset)
            for at in range(0, stop, EXTENT_BYTES):
                yield _Extent(at, min(at + EXTENT_BYTES, stop))
            return
        starts = shard.starts
        if not starts:  # the rows of its records are lost
            return
        # Indices of the records that begin an extent: after enough bytes or records, and around a large record.
        edges = [0]
        was_large = False
        for index, start in enumerate(starts):
            large = self._is_large(index)
            first = edges[-1]
            if (
                start - starts[first] >= EXTENT_BYTES
                or index - first >= MOST_RECORDS
                or (first < index and (large or was_large))
            ):
                edges.append(index)
            was_large = large
        for first, stop in pairwise([*edges, len(starts)]):
            yield _Extent(starts[first], starts[stop] if stop < len(starts) else _NO_END, range(first, stop))

    def _examine_window(self, extent: _Extent) -> _ExtentResult:
        """Decode an extent that fits in memory and checksum the files in it.

        Undecodable records are findings.
        """
        findings: list[Finding] = []
        pieces: list[tuple[int, memoryview]] = []
        if extent.records:
            for index in extent.records:
                found, data = check_record(self._shard, index)
                findings += found
                if data is not None:
                    pieces.append((self._shard.starts[index], memoryview(data)))
        else:
            base = self._shard.header.data_offset
            try:
                data = self._shard.source.read_at(base + extent.start, extent.stop - extent.start)
            except ExhumeError:  # reported when the files in it are read one by one, as they are not proven
                return _ExtentResult([], [], [])
            pieces.append((extent.start, memoryview(data)))
        return self._sum(extent, findings, pieces)

    def _sum(self, extent: _Extent, findings: list[Finding], pieces: list[tuple[int, memoryview]]) -> _ExtentResult:
        """Compute the checksums of the files in a window, from its decodable parts; `findings` are passed on."""
        seen = _ExtentResult(findings, [], [])
        # The files that overlap the window, in order; `pieces` are (offset in the stream, bytes), in order too.
        first = bisect_right(self._ends, extent.start)
        last = bisect_left(self._starts, extent.stop)
        next_piece = 0
        for number in range(first, last):
            start, end = self._starts[number], self._ends[number]
            whole = start >= extent.start and end <= extent.stop
            crc, at = 0, max(start, extent.start)
            for place in range(next_piece, len(pieces)):
                begin, data = pieces[place]
                if begin > at or at >= end:  # a part is missing, or the file is complete
                    break
                next_piece = place
                part = data[at - begin : end - begin]
                if whole:
                    crc = crc32c(part, crc)
                elif part:
                    seen.parts.append((number, at - start, part))
                at += len(part)
            if whole and at == end and crc == self._rows[number].meta.crc32c:
                seen.proven.append(number)
        return seen


def check_record(shard: Shard, index: int) -> tuple[list[Finding], bytes | None]:
    """Return (findings of a record, its content).

    The content is None if it cannot be decoded, or if it is zeros of unknown or too large a size.
    """
    place = shard.places[index]
    if place is None:
        length = shard.known_length(index)
        return [], None if length is None or length > EXTENT_BYTES else bytes(length)
    if not shard.header.data_offset <= place <= shard.bounds[index]:
        return [], None  # reported together with its place
    try:
        data, end, after = shard.decode(index)
    except LimitExceededError as error:
        return _check_in_chunks(shard, index, error), None
    except ExhumeError as error:
        return [Finding.from_error(error)], None
    return check_fill(shard, index, end, after), data


def _check_in_chunks(shard: Shard, index: int, problem: ExhumeError) -> list[Finding]:
    """The findings of a record above the limit: `problem`, or those of its chunks if nothing stated its size.

    The files in it are then read one by one.
    """
    if shard.known_length(index) is not None:
        return [Finding.from_error(problem)]
    try:
        _, end = shard.measure(index)
        return check_fill(shard, index, end)
    except ExhumeError as error:
        return [Finding.from_error(error)]


def check_fill(shard: Shard, index: int, end: int, after: bytes = b"") -> list[Finding]:
    """Return the findings of the bytes from the `end` of a record to the next, which have to be zeros; `after` are
    those that were read already.
    """
    size, alignment = shard.source.size, max(1, shard.header.record_alignment)
    if shard.bounds[index] == size and size % alignment:  # the last record, whose padding is not complete
        where = shard.source.span(end, size)
        return [checks.RECORD_FILL.finding("it is cut", span=where, expected=f"a multiple of {alignment}", actual=size)]
    room = shard.bounds[index] - end
    fill = [(end, after[:room])] if room <= min(len(after), STREAM_CHUNK) else pieces(shard.source, end, end + room)
    for at, chunk in fill:
        if chunk.count(0) != len(chunk):
            return [checks.RECORD_FILL.finding(span=shard.source.span(at, at + len(chunk)))]
    return []


def pieces(source: Source, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the existing bytes of `[start, end)` in chunks, each as (offset, bytes)."""
    at = start
    for chunk in source.chunks(start, min(end, source.size)):
        yield at, chunk
        at += len(chunk)
