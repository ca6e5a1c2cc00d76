"""One shard: its header, the offsets of its records, and ranges of its uncompressed stream.

The stream of a shard is its uncompressed content: files, back to back.  It is stored as records, each compressed by
itself and padded to an alignment, or as it is ("flat").  A record of zeros stores nothing.  The rows of the index state
at which offset of the stream, and where in the shard, each record starts; its size follows from the next one.

Reading a range decodes only the records that cover it; decoded records are kept in a small cache shared by all shards.
Records that are too large to be held, or whose content is, are decompressed in chunks.

Spec: data_bundle.txt, Shard Files; `docs/formats/data_bundle.md`, "Profile".
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import groupby

from exhume.codecs import decompress_prefix
from exhume.codecs.passing import ForwardReader, PayloadStream
from exhume.errors import CodecError, ExhumeError, LimitExceededError, Span, UnsupportedFeatureError
from exhume.formats.data_bundle import checks, layout
from exhume.formats.data_bundle.index import RecordRow
from exhume.formats.data_bundle.messages import Compression, ShardHeader, compression_name
from exhume.io.caching import Lru
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.tuples import NamedTuple

LARGE = 16 << 20
"""Content of a record, or stored bytes, above which it is decompressed in chunks."""
_ANY = 1 << 63  # no limit


class RecordStream:
    """The content of a stored record in chunks.  `end` is where its stored bytes end, once it has been iterated.

    Its stored bytes start at `start` and end at `bound` at the latest; `length` is the size of its content, None if
    nothing states it.  Iterating raises DBND-202 for damage, DBND-313 for another length, and `LimitExceededError`
    beyond `most` bytes, which counts only without `length`.
    """

    def __init__(
        self, source: Source, start: int, bound: int, codec: str, *, length: int | None, most: int, where: Span
    ) -> None:
        self.end: int = start
        self._source, self._start, self._bound, self._codec = source, start, bound, codec
        self._length, self._most, self._where = length, most, where

    def __iter__(self) -> Iterator[bytes]:
        """Yield the uncompressed content in chunks; `end` is set after the last one."""
        # Uncompressed bytes have no end of their own: padding may follow.
        bound, length = self._bound, self._length
        if self._codec == "none" and length is not None:
            bound = min(bound, self._start + length)
        most = self._most if length is None else _ANY
        stored = self._source.chunks(self._start, min(bound, self._source.size))
        stream = PayloadStream(self._codec, stored, max_size=most, trailing=True)
        total = 0
        try:
            for piece in stream:
                total += len(piece)
                if length is not None and total > length:
                    raise checks.RECORD_LENGTH.error(span=self._where, expected=length, actual="more")
                yield piece
        except CodecError as error:
            raise checks.RECORD_CODEC.error(
                error.message, span=self._where, expected=error.expected, actual=error.actual
            ) from error
        except LimitExceededError as error:
            error.span = error.span or self._where
            raise
        self.end = self._start + stream.consumed
        if length is not None and total != length:
            raise checks.RECORD_LENGTH.error(span=self._where, expected=length, actual=total)

    def measure(self) -> int:
        """The size of the content.  Propagates errors from iterating."""
        return sum(map(len, self))


class LargeReader:
    """Ranges of the content of large records; consecutive ranges continue without a seek.  Thread-safe."""

    def __init__(self) -> None:
        self._kept: tuple[int, ForwardReader] | None = None  # (record, its reader) of the last call
        self._lock = threading.Lock()

    def read(self, index: int, record: RecordStream, start: int, stop: int, length: int | None) -> Iterator[bytes]:
        """Bytes `[start, stop)` of the content of a record; yields fewer if it ends before.

        Propagates errors from iterating the record.
        """
        with self._lock:
            kept, self._kept = self._kept, None  # taken out: no other call may use the reader meanwhile
        number, forward = kept or (-1, ForwardReader(()))  # -1: no record
        if number != index or forward.at > start:
            forward = ForwardReader(record)
        forward.skip(start - forward.at)
        yield from forward.pieces(stop - start)
        if stop == length:
            forward.has(1)  # reads to the end, where a wrong length shows
        with self._lock:
            self._kept = index, forward


CACHE_SIZE = 16 << 20  # bytes of decoded records kept
DEFAULT_RECORD_SIZE = 256 << 10
"""The record size of a header that states none."""

LARGE_FILE = 1 << 20
"""A file of at least this size starts its own record."""


class Record(NamedTuple):
    """A stored record: its decoded bytes, the end of the stored ones (absolute in the shard, before the padding),
    and the bytes read after them, up to the next record at most."""

    data: bytes
    end: int
    after: bytes


class RecordCache(Lru[tuple[int, int], bytes]):
    """Decoded records by `(shard, record)`; a record is decoded once, however many threads request it at once."""

    def __init__(self, size: int = CACHE_SIZE) -> None:
        super().__init__(size)
        self._busy = [threading.Lock() for _ in range(32)]  # by hash of the record, so few records share one

    def lock(self, key: tuple[int, int]) -> threading.Lock:
        """A lock to hold while the record is decoded."""
        return self._busy[hash(key) % len(self._busy)]


def read_header(source: Source, limits: Limits = DEFAULT_LIMITS) -> ShardHeader:
    """The header of a shard; raises the rules of its identity and header."""
    head = source.read_up_to(0, layout.FIXED_HEADER)
    end = layout.shard_header_end(head, source.span(0, len(head)))
    if end > source.size:
        raise checks.SHARD_HEADER.error("it exceeds the end of the file", span=source.span(0, source.size), actual=end)
    limits.check("structure_size", end, source.span(0, source.size))
    return layout.parse_shard_header(source.read_at(0, end), source.span(0, end))


class Shard:
    """A shard with its records.  Thread-safe."""

    def __init__(
        self, source: Source, number: int, rows: list[RecordRow], cache: RecordCache, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Read the header and locate the records; `rows` are those of the index, in stream order.

        Offsets of records are relative to the data section in some bundles: if the smallest is 0. Raises the error of
        the rule if the header states another shard number or a data offset past the end of the file.
        """
        self.source = source
        self.number = number
        self.limits = limits
        self.header: ShardHeader = read_header(source, limits)
        self.rows = rows
        self._cache = cache
        self._large = LargeReader()
        self._measured: dict[int, tuple[int, int]] = {}
        """Results of `measure`, by the number of the record."""
        self._least = min(LARGE, limits.payload_size)
        """Bytes of a record up to which it is always decoded as a whole."""
        if self.header.shard_index != number:
            raise checks.SHARD_NUMBER.error(
                span=source.span(0, layout.FIXED_HEADER), expected=number, actual=self.header.shard_index
            )
        if self.header.data_offset > source.size:
            where, actual = source.span(*layout.OFS_DATA), self.header.data_offset
            raise checks.SHARD_HEADER.error("data starts past the end of the file", span=where, actual=actual)
        self.starts: list[int] = [row.offset for row in rows]
        """Offset of each record's content in the decompressed stream."""
        stored = [row.byte_offset for row in rows if row.byte_offset is not None]
        self.is_relative: bool = bool(stored) and min(stored) == 0
        """Whether the rows count offsets from the first data byte, as some writers do."""
        base = self.header.data_offset if self.is_relative else 0
        self.places: list[int | None] = [None if row.byte_offset is None else row.byte_offset + base for row in rows]
        """Offset of each record in the shard file, None for a record of zeros."""
        self.bounds: list[int] = self._bounds()
        """Offset at which each record's stored bytes end at the latest: the next stored record, or the file's end."""

    def _bounds(self) -> list[int]:
        """Return, for each record, where the next known record starts: its stored bytes end there at the latest."""
        out, bound = [0] * len(self.places), self.source.size
        for index in range(len(self.places) - 1, -1, -1):
            out[index] = bound
            place = self.places[index]
            if place is not None:
                bound = min(place, self.source.size)
        return out

    @property
    def is_flat(self) -> bool:
        """Whether the stream is stored as it is, without records (not: as compressed records whose rows are lost)."""
        return not self.rows and self.header.compression in (Compression.UNKNOWN, Compression.NONE)

    def record_span(self, index: int) -> Span:
        """The stored bytes of a record with their padding (empty for a record of zeros)."""
        place = self.places[index]
        if place is None:
            return self.source.span(self.source.size, self.source.size)
        return self.source.span(min(place, self.source.size), min(max(place, self.bounds[index]), self.source.size))

    def known_length(self, index: int) -> int | None:
        """The uncompressed size of a record according to the record after it; None for the last one."""
        return self.starts[index + 1] - self.starts[index] if index + 1 < len(self.starts) else None

    def will_read(self, start: int, stop: int) -> None:
        """Announce that bytes `[start, stop)` of the stream will be read in chunks; see `Source.will_read`."""
        size = self.source.size
        if self.is_flat:
            first, last = self.header.data_offset + start, self.header.data_offset + stop
        else:
            chosen = range(max(0, bisect_right(self.starts, start) - 1), bisect_left(self.starts, stop))
            places = [(place, self.bounds[number]) for number in chosen if (place := self.places[number]) is not None]
            first, last = min((at for at, _ in places), default=size), max((end for _, end in places), default=0)
        if first < last:
            self.source.will_read(min(first, size), min(last, size))

    def read(self, start: int, stop: int) -> bytes:
        """Bytes `[start, stop)` of the uncompressed stream."""
        self.limits.check("payload_size", stop - start, self.source.span(0, self.source.size))
        parts = list(self.iter_range(start, stop))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def iter_range(self, start: int, stop: int, chunk: int = 1 << 20, jobs: int = 1) -> Iterator[bytes]:
        """Bytes `[start, stop)` of the stream in chunks: whole records, parts of large ones, or `chunk` bytes of a flat
        shard.

        Records are decoded by `jobs` threads (0: one per core).  Raises the rule for a range that the records do not
        cover, and as `decode` does.
        """
        if stop <= start:
            return
        if self.is_flat:
            yield from self._read_flat(start, stop, chunk)
            return

        def is_large(place: tuple[int, int, int]) -> bool:
            """Whether a slice `(record, start, end)` is decompressed in chunks; the record has at least `end` bytes."""
            index, first, last = place
            return self.is_large(index, wanted=last - first, least_size=last)

        for large, places in groupby(self._slices(start, stop), is_large):
            if large:
                for place in places:
                    yield from self._large_slice(*place)
            else:
                yield from map_ordered(lambda place: self._slice(*place), places, jobs, leave=True)

    def _slices(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield (record, start, end) for each record that covers a part of the stream's `[start, stop)`; the offsets
        are in the record.

        Raises DBND-315 if the records do not cover all of it.
        """
        index = bisect_right(self.starts, start) - 1
        if index < 0:
            raise checks.FILE_PLACE.error("no record covers its start", span=self.source.span(0, 0), actual=start)
        at = start
        while at < stop:
            if index >= len(self.rows):
                span = self.source.span(0, self.source.size)
                raise checks.FILE_PLACE.error("the records end before it does", span=span, expected=stop, actual=at)
            first = self.starts[index]
            length = self.known_length(index)
            end = stop if length is None else min(stop, first + length)
            if end > at:
                yield index, at - first, end - first
                at = end
            index += 1

    def _read_flat(self, start: int, stop: int, chunk: int) -> Iterator[bytes]:
        """Yield bytes `[start, stop)` of a shard that is stored without records."""
        base = self.header.data_offset
        if base + stop > self.source.size:
            span = self.source.span(min(base + start, self.source.size), self.source.size)
            raise checks.FILE_PLACE.error(span=span, expected=base + stop, actual=self.source.size)
        yield from self.source.chunks(base + start, base + stop, chunk)

    def _slice(self, index: int, start: int, stop: int) -> bytes:
        """Bytes `[start, stop)` of one record."""
        if self.places[index] is None:
            self._check_zeros(index, stop)
            return bytes(stop - start)
        try:
            data = self.record(index)
        except LimitExceededError:
            if self.known_length(index) is not None:
                raise
            return b"".join(self._large_slice(index, start, stop))  # the last record, whose size is not stated
        if len(data) < stop:
            raise self._too_short(index, stop, len(data))
        return data if start == 0 and stop == len(data) else data[start:stop]

    def _too_short(self, index: int, stop: int, size: int) -> ExhumeError:
        """Return the error for the last record if it has fewer bytes than members need."""
        return checks.RECORD_LENGTH.error(
            "the last record is too short", span=self.record_span(index), expected=f"at least {stop}", actual=size
        )

    def is_large(self, index: int, wanted: int = 0, least_size: int = 0) -> bool:
        """Whether a stored record is decompressed in chunks to get `wanted` bytes of it.

        It is if it is larger than the limit `payload_size`, or if much of a record above `LARGE` is wanted.
        `least_size` is the least size of its content that is known from elsewhere.
        """
        place, length = self.places[index], self.known_length(index)
        if place is None:
            return False
        stored = max(0, self.bounds[index] - place)
        if length is not None:
            stored = min(stored, length)  # the rest is padding
        size = max(stored, length or least_size)
        return size > self._least and (size > self.limits.payload_size or wanted > self._least)

    def _large_slice(self, index: int, start: int, stop: int) -> Iterator[bytes]:
        """Bytes `[start, stop)` of a large record in chunks."""
        at = start
        for part in self._large.read(index, self.stream(index), start, stop, self.known_length(index)):
            at += len(part)
            yield part
        if at < stop:
            raise self._too_short(index, stop, at)

    def _check_zeros(self, index: int, stop: int) -> None:
        """Raise the error of `ZERO_RECORD` for too large a record of zeros, since it costs no stored bytes."""
        length = self.known_length(index) or stop
        most = max(self.header.record_size, self.limits.payload_size)
        if length > most:
            raise checks.ZERO_RECORD.error(span=Span(self.source.name, 0, 0), expected=f"at most {most}", actual=length)

    def record(self, index: int) -> bytes:
        """Decompress one stored record; raise as `decode` does, and DBND-313 when its length is wrong."""
        key = (self.number, index)
        found = self._cache.get(key)
        if found is None:
            with self._cache.lock(key):
                found = self._cache.get(key)  # another thread may have decoded it
                if found is None:
                    found = self.decode(index).data
                    self._cache.put(key, found, len(found))
        return found

    def stream(self, index: int) -> RecordStream:
        """The content of a stored record in chunks.

        Raises the rules for its place, order and codec; and `ValueError` for a record of zeros, which stores nothing.
        """
        place, bound = self._stored_place(index)
        span, method = self.source.span(place, bound), self.header.compression
        if method not in (Compression.NONE, Compression.SNAPPY, Compression.ZLIB):
            raise checks.COMPRESSION.error(span=self.source.span(0, layout.FIXED_HEADER), actual=method)
        return RecordStream(
            self.source, place, bound, compression_name(method), length=self.known_length(index),
            most=self.limits.expansion_budget(bound - place), where=span,
        )  # fmt: skip

    def measure(self, index: int) -> tuple[int, int]:
        """Return the size of a stored record's content, and the offset of the end of its stored bytes.

        Raises as `decode` does, but without regard to the limit `payload_size`.
        """
        found = self._measured.get(index)
        if found is None:
            found = self._measure(index)
            if self.known_length(index) is None or self.is_large(index, 1 << 64):
                self._measured[index] = found
        return found

    def note(self, index: int, size: int, end: int) -> None:
        """Keep the result of `measure` for a record that was decoded."""
        self._measured[index] = size, end

    def _measure(self, index: int) -> tuple[int, int]:
        """Compute the result of `measure`: by decoding the record, or in chunks if it is large."""
        if not self.is_large(index, 1 << 64):  # all of its bytes are wanted
            try:
                record = self.decode(index)
                return len(record.data), record.end
            except LimitExceededError:
                pass  # it is large: the size of the last record is not stated
        stream = self.stream(index)
        return stream.measure(), stream.end

    def _stored_place(self, index: int) -> tuple[int, int]:
        """Return the offset where the stored bytes of a record start, and the last one where they may end."""
        place, bound = self.places[index], self.bounds[index]
        if place is None:
            raise ValueError("a record of zeros stores nothing")
        if place < self.header.data_offset or place > self.source.size:
            raise checks.RECORD_PLACE.error(
                span=self.source.span(min(place, self.source.size), self.source.size),
                expected=f"{self.header.data_offset} to {self.source.size}", actual=place,
            )  # fmt: skip
        if place > bound:
            raise checks.RECORD_ORDER.error(
                span=self.source.span(place, place), expected=f"before {bound}", actual=place
            )
        return place, bound

    def decode(self, index: int) -> Record:
        """A stored record decompressed.

        Raises the rules for its place, order, codec and length, `LimitExceededError` when it is too large, and
        `ValueError` for a record of zeros, which stores nothing.
        """
        (place, bound), length = self._stored_place(index), self.known_length(index)
        span = self.source.span(place, bound)
        method = self.header.compression
        if length is not None:
            self.limits.check("payload_size", length, span)
            # Deflate and Snappy grow incompressible data by far less than this.
            bound = min(bound, place + length + length // 6 + 64)
        self.limits.check("payload_size", bound - place, span)
        stored = self.source.read_at(place, bound - place)
        budget = self.limits.payload_budget(len(stored)) if length is None else length
        try:
            if method == Compression.NONE:
                # Nothing marks its end: it has the stated size, or all bytes up to `bound`.
                size = min(len(stored), budget) if length is not None else len(stored)
                decoded = decompress_prefix("none", stored, max_size=budget, size=size)
            elif method in (Compression.SNAPPY, Compression.ZLIB):
                decoded = decompress_prefix(compression_name(method), stored, max_size=budget)
            else:
                raise checks.COMPRESSION.error(span=self.source.span(0, layout.FIXED_HEADER), actual=method)
        except CodecError as error:
            raise checks.RECORD_CODEC.error(
                error.message, span=span, expected=error.expected, actual=error.actual
            ) from error
        except LimitExceededError as error:
            if length is None:
                raise LimitExceededError(
                    error.message, span=span, expected=error.expected, actual=error.actual
                ) from error
            raise checks.RECORD_LENGTH.error(span=span, expected=length, actual="more") from error
        except UnsupportedFeatureError as error:
            error.span = error.span or span
            raise
        if length is not None and len(decoded.data) != length:
            raise checks.RECORD_LENGTH.error(span=span, expected=length, actual=len(decoded.data))
        if length is None:
            self.note(index, len(decoded.data), place + decoded.consumed)
        return Record(decoded.data, place + decoded.consumed, stored[decoded.consumed :])
