"""Blocks and records that are not held in memory: read, checked and passed on in chunks.

A block is a length, a level, a compressed payload and a checksum; the payload of a data block is records, each preceded
by its length.  A block is large if it, or its payload, takes more than `LARGE` bytes, or than the limit `payload_size`.
A record is long if it does not fit in `PIECE` bytes.

Spec: zs.txt, "Blocks"; the rules are in `checks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from exhume.codecs.checksums import crc64_xz
from exhume.codecs.passing import PIECE, ForwardReader, PayloadStream
from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError, LimitExceededError, Span
from exhume.findings import Check
from exhume.formats.zs import checks
from exhume.formats.zs.layout import MAX_INDEX_LEVEL, parse_checksum
from exhume.formats.zs.layout_facts import CRC
from exhume.io.activity import note_payload
from exhume.io.source import Source
from exhume.limits import Limits
from exhume.native.kernel import MalformedRecordsError, build_uleb128, scan_records, take_records
from exhume.native.types import OVERRUN, malformed_records
from exhume.tuples import NamedTuple

LARGE: Final = 16 << 20
"""Bytes of a block, or of its payload, above which it is read in chunks."""

_ALL: Final = 1 << 63
"""More bytes than any payload has."""


class BlockOwner(Protocol):
    """The file of a block (`blocks.BlockFile`); `decoder` names its codec in `exhume.codecs`, None: unknown codec."""

    source: Source
    limits: Limits
    decoder: str | None

    def codec_error(self) -> ExhumeError:
        """The error for a codec that cannot be decoded."""

    def records_error(self, block: LargeBlock, error: MalformedRecordsError, at: int) -> ExhumeError:
        """Return the error for malformed records in the payload of `block`, which has `at` bytes."""


class LargeBlock:
    """A block in its file, from its length field to its checksum; only its level is read in advance."""

    file: BlockOwner
    offset: int
    size: int

    def __init__(self, file: BlockOwner, offset: int, size: int) -> None:
        """Read the level of the block of `size` bytes at `offset`, whose length field is as long as the size
        requires."""
        self.file, self.offset, self.size = file, offset, size
        # The length field states the size of level and payload: `size - CRC.size - n`, if it has `n` bytes itself.  Its
        # own size is the `n` for which that number, as a uleb128, has `n` bytes.
        length_size = next(
            length for length in range(1, size) if len(build_uleb128(size - CRC.size - length)) == length
        )
        self._body = offset + length_size  # where the level and the payload start, which the checksum covers
        self.level: int = file.source.read_at(self._body, 1)[0]

    @property
    def end(self) -> int:
        """Offset after the block."""
        return self.offset + self.size

    @property
    def is_data(self) -> bool:
        """Whether the block contains records."""
        return self.level == 0

    @property
    def is_index(self) -> bool:
        """Whether the block contains index entries."""
        return 1 <= self.level <= MAX_INDEX_LEVEL

    @property
    def span(self) -> Span:
        """The place of the block."""
        return self.file.source.span(self.offset, self.end)

    def checked(self) -> Check:
        """Compute the block's checksum, and compare it with the stored one."""
        source, stop = self.file.source, self.end - CRC.size
        stored = parse_checksum(source.read_at(stop, CRC.size))
        computed: int | None = None
        for piece in source.chunks(self._body, stop):
            computed = crc64_xz(piece, computed)
        return Check.compare(f"0x{stored:016x}", f"0x{computed or 0:016x}")

    def check(self) -> None:
        """Raise ZS-202 if the block checksum does not match."""
        found = self.checked()
        if found.expected != found.actual:
            raise checks.BLOCK_CRC.error(span=self.span, expected=found.expected, actual=found.actual)

    def payload(self) -> Iterator[bytes]:
        """Yield the decompressed payload in chunks, without a check of the checksum.

        Raises ZS-103, ZS-307, ZS-308 and ZS-501.
        """
        file, start, stop = self.file, self._body + 1, self.end - CRC.size
        if file.decoder is None:
            raise file.codec_error()
        budget = file.limits.expansion_budget(stop - start)
        pieces = file.source.chunks(start, stop)
        # `trailing`: bytes may follow the compressed stream; they are an error of its own, below.
        stream = PayloadStream(file.decoder, pieces, max_size=budget, trailing=True)
        size = 0
        try:
            for piece in stream:
                size += len(piece)
                yield piece
        except LimitExceededError as error:
            raise checks.BOMB.error(span=self.span, expected=f"at most {counted(budget, 'bytes')}") from error
        except CodecError as error:
            raise checks.STREAM_CORRUPT.error(error.message, span=self.span, actual=error.actual) from error
        left = stop - start - stream.consumed
        if left:
            raise checks.STREAM_TRAILING.error(span=file.source.span(stop - left, stop), actual=counted(left, "bytes"))
        note_payload(self.span, size)

    def parts(self, seen: Callable[[bytes], object] = len) -> Iterator[PayloadPart]:
        """Yield the records: many small ones together, each long one by itself, which the caller may read or not.

        `seen` is called with each chunk of the payload, those after malformed records included (`len`, the default, has
        no effect).  Raises ZS-309, ZS-311, and propagates errors from `payload`.
        """

        def seen_chunks() -> Iterator[bytes]:
            """Yield the chunks of the payload, after `seen` was called with each."""
            for piece in self.payload():
                seen(piece)
                yield piece

        forward = ForwardReader(seen_chunks())
        try:
            yield from _parts(forward)
        except MalformedRecordsError as error:
            for _ in forward.pieces(_ALL):  # the rest of the payload, for `seen`
                pass
            raise self.file.records_error(self, error, forward.at) from error

    def whole(self) -> bytearray:
        """Return the payload.  Propagates errors from `payload`; raises ZS-501 above the limit `payload_size`."""
        held = bytearray()
        for piece in self.payload():
            held += piece
            if len(held) > self.file.limits.payload_size:
                raise self.too_large(len(held))
        return held

    def too_large(self, size: int) -> ExhumeError:
        """Return ZS-501 for a payload or record of `size` bytes that cannot be passed on in chunks."""
        most = f"at most {counted(self.file.limits.payload_size, 'bytes')} (limit payload_size)"
        return checks.BOMB.error(span=self.span, expected=most, actual=size)


class PayloadPart(NamedTuple):
    """Part of a payload: whole records, or the content of one long record of `size` bytes, read from `record`."""

    start: int
    """Offset in the payload of `data`, or of the content of the long record."""
    data: bytes
    record: ForwardReader | None = None
    size: int = 0


def _parts(forward: ForwardReader) -> Iterator[PayloadPart]:
    """Yield the parts of a payload; see `LargeBlock.parts`.  Raises `MalformedRecordsError`."""
    while window := forward.peek(PIECE):
        start = forward.at
        try:
            end = take_records(window, len(window))
        except MalformedRecordsError as error:
            raise MalformedRecordsError(error.reason, start + error.offset, error.length) from None
        if end:
            forward.skip(end)
            yield PayloadPart(start, window[:end])
            continue
        # The first record is not whole: it is a long one if it exceeds a full window, else it is malformed.  `found`
        # states its length and the reason: `OVERRUN` if it ends after the window.
        found = malformed_records(window, 0)
        if found.reason != OVERRUN or len(window) < PIECE:
            raise MalformedRecordsError(found.reason, start, found.length)
        forward.skip(len(build_uleb128(found.length)))
        stop = forward.at + found.length
        # The caller may read the record; the rest of it is skipped afterwards.
        yield PayloadPart(forward.at, b"", forward, found.length)
        forward.skip(stop - forward.at)
        if forward.at < stop:  # the payload ends within it
            raise MalformedRecordsError(OVERRUN, start, found.length)


class RecordPlace(NamedTuple):
    """A record in a payload, and its first bytes, at most `PIECE`."""

    start: int
    size: int
    head: bytes


class LargeScan(NamedTuple):
    """Result of a pass over a payload: the number of records, the first, the last, and the first out of order."""

    records: int  # number of records
    first: RecordPlace
    last: RecordPlace
    unsorted: int = -1  # number of the first record that is smaller than the one before it; -1: none
    previous: RecordPlace | None = None  # the record before that one ...
    current: RecordPlace | None = None  # ... and that record


def scan_large(block: LargeBlock, seen: Callable[[bytes], object]) -> LargeScan | None:
    """Count the records of a block and check their order; None without records.  Raises the same errors as `parts`."""
    order = _Order(block)
    for part in block.parts(seen):
        if part.record is None:
            order.add_small(part)
        else:
            order.add_long(part, part.record)
    return order.scan()


class _Order:
    """The records of a block that were read so far, and the first that is out of order."""

    def __init__(self, block: LargeBlock) -> None:
        self._block = block
        self._previous_record: ForwardReader | None = None
        """A second pass over the payload, for the record before a long one: the first pass is already after it."""
        self._count = 0
        self._first: RecordPlace | None = None
        self._last: RecordPlace | None = None
        self._disorder: tuple[int, RecordPlace, RecordPlace] | None = None
        """The number of the first record out of order, the record before it, and that record."""

    def add_small(self, part: PayloadPart) -> None:
        """Add several records, whose places and first fault the kernel finds."""
        found = scan_records(part.data)

        def place(span: tuple[int, int]) -> RecordPlace:
            """Return the record at a place in the part."""
            start, end = span
            return RecordPlace(part.start + start, end - start, part.data[start:end])

        first, last = place(found.first), place(found.last)
        # Of equal first bytes, the shorter record is smaller: small records are complete in their heads.
        if self._last is not None and (first.head, first.size) < (self._last.head, self._last.size):
            self._note(self._count, self._last, first)
        if found.unsorted >= 0:
            self._note(self._count + found.unsorted, place(found.previous), place(found.current))
        self._pass(first, last, found.records)

    def add_long(self, part: PayloadPart, record: ForwardReader) -> None:
        """Add a long record.  One with the same first bytes as the record before is compared with it in chunks."""
        here = RecordPlace(part.start, part.size, record.peek(min(part.size, PIECE))[: min(part.size, PIECE)])
        last = self._last
        if last is not None and last.head == here.head and min(last.size, here.size) > PIECE:
            self._previous_record = self._previous_record or ForwardReader(self._block.payload())
            self._previous_record.skip(last.start + PIECE - self._previous_record.at)
            record.skip(PIECE)
            if _is_less(record, here.size - PIECE, self._previous_record, last.size - PIECE):
                self._note(self._count, last, here)
        elif last is not None and (here.head, here.size) < (last.head, last.size):
            self._note(self._count, last, here)
        self._pass(here, here, 1)

    def scan(self) -> LargeScan | None:
        """Return the result; None without records."""
        if self._first is None or self._last is None:
            return None
        return LargeScan(self._count, self._first, self._last, *(self._disorder or ()))

    def _note(self, number: int, previous: RecordPlace, current: RecordPlace) -> None:
        """Note the first record that is out of order."""
        if self._disorder is None:
            self._disorder = number, previous, current

    def _pass(self, first: RecordPlace, last: RecordPlace, count: int) -> None:
        """Count records that were checked."""
        self._count += count
        self._first, self._last = self._first or first, last


def _is_less(one: ForwardReader, size: int, other: ForwardReader, its_size: int) -> bool:
    """Return whether the next `size` bytes of `one` sort before the next `its_size` bytes of `other`."""
    left = min(size, its_size)
    while left:
        step = min(left, PIECE)
        mine, its = b"".join(one.pieces(step)), b"".join(other.pieces(step))
        if mine != its:
            return mine < its
        left -= step
    return size < its_size
