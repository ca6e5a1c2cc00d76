"""Log framing and write batches: every record that can be read, whatever lies between them.

`LogReader` never gives up: after a broken fragment it looks for the next intact one in the same 32 KiB block, then in
the next block.  What it does about damage is up to the `Report` it is given: `strict` raises, a collector goes on.

Spec: LevelDB doc/log_format.md, db/write_batch.cc; RocksDB db/log_format.h.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from exhume.checksums import crc32c, mask_crc32c
from exhume.errors import Span
from exhume.findings import Check
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.wire import MAX_SEQUENCE, WireError, build_bytes, parse_bytes, parse_varint
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.source import Source

BLOCK = 32 << 10
HEADER = 7
RECYCLABLE_HEADER = 11
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
_READ_BLOCKS = 32


def _is_recyclable(kind: int) -> bool:
    """Whether the header of a fragment holds the number of the log as well."""
    return 5 <= kind <= 8 or kind in (11, 131)


class Fragment(NamedTuple):
    """A piece of a record: absolute offsets of its header, its data and its end; `kind` 1 to 4; whether the CRC
    fits.
    """

    offset: int
    data_offset: int
    end: int
    kind: int
    intact: bool


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record put together from its fragments; `intact` when every fragment's checksum matches."""

    offset: int
    end: int
    payload: bytes
    fragments: tuple[Fragment, ...]
    intact: bool

    def file_offset(self, position: int) -> int:
        """Where byte `position` of the payload lies in the file."""
        for fragment in self.fragments:
            size = fragment.end - fragment.data_offset
            if position < size:
                return fragment.data_offset + position
            position -= size
        return self.end


@dataclass(slots=True)
class LogReader:
    """The records of a log or manifest, in order; offsets are absolute (`source.origin` included)."""

    source: Source
    report: Report = checks.strict
    limits: Limits = DEFAULT_LIMITS
    lost: int = 0
    """Bytes of fragments and filler that could not be used, after iteration."""

    def __iter__(self) -> Iterator[LogRecord]:
        parts: list[bytes] = []
        fragments: list[Fragment] = []
        total = 0
        for fragment, data in self._fragments():
            if fragment.kind in (FULL, FIRST) and fragments:
                self._drop(fragments, "a record without its last fragment")
                parts, fragments, total = [], [], 0
            if fragment.kind in (MIDDLE, LAST) and not fragments:
                self._drop([fragment], "a continuation without its first fragment")
                continue
            parts.append(data)
            fragments.append(fragment)
            total += len(data)
            self.limits.check("payload_size", total, self.source.span(0, self.source.size))
            if fragment.kind in (FULL, LAST):
                intact = all(f.intact for f in fragments)
                yield LogRecord(fragments[0].offset, fragment.end, b"".join(parts), tuple(fragments), intact)
                parts, fragments, total = [], [], 0
        if fragments:
            self.lost += sum(f.end - f.offset for f in fragments)
            span = self.source.span(fragments[0].offset - self.source.origin, self.source.size)
            self.report(checks.LOG_TAIL, "the last fragment is missing", span=span)

    def _drop(self, fragments: list[Fragment], why: str) -> None:
        self.lost += sum(f.end - f.offset for f in fragments)
        origin = self.source.origin
        span = self.source.span(fragments[0].offset - origin, fragments[-1].end - origin)
        self.report(checks.FRAGMENT_ORDER, why, span=span)

    def _fragments(self) -> Iterator[tuple[Fragment, bytes]]:
        for start in range(0, self.source.size, BLOCK * _READ_BLOCKS):
            chunk = self.source.read_up_to(start, BLOCK * _READ_BLOCKS)
            for at in range(0, len(chunk), BLOCK):
                yield from self._block(start + at, chunk[at : at + BLOCK])

    def _block(self, base: int, data: bytes) -> Iterator[tuple[Fragment, bytes]]:
        """The fragments of one block that starts at `base`."""
        origin = self.source.origin
        last = base + BLOCK > self.source.size  # the file ends in this block
        at, end = 0, len(data)
        while end - at >= HEADER:
            crc = int.from_bytes(data[at : at + 4], "little")
            length = data[at + 4] | data[at + 5] << 8
            kind = data[at + 6]
            if kind == 0 and length == 0:
                self._check_fill(base, data, at)
                return
            header = RECYCLABLE_HEADER if _is_recyclable(kind) else HEADER
            stop = at + header + length
            if stop > end:
                if last and (1 <= kind <= 8):
                    self.lost += end - at
                    span = self.source.span(base + at, base + end)
                    self.report(checks.LOG_TAIL, "the last fragment is cut", span=span,
                                expected=f"{header + length} bytes", actual=f"{end - at} bytes")  # fmt: skip
                    return
                self.report(checks.FRAGMENT_LENGTH, span=self.source.span(base + at, base + end),
                            expected=f"at most {end - at} bytes", actual=f"{header + length} bytes")  # fmt: skip
                at = self._resume(base, data, at)
                continue
            intact = mask_crc32c(crc32c(data[at + 6 : stop])) == crc
            if not intact:
                self.report(checks.LOG_CRC, span=self.source.span(base + at, base + stop), expected=f"{crc:08x}",
                            actual=f"{mask_crc32c(crc32c(data[at + 6 : stop])):08x}")  # fmt: skip
                if not (1 <= kind <= 8) or not self._plausible(data, stop):
                    at = self._resume(base, data, at)
                    continue
            if 5 <= kind <= 8:
                kind -= 4
            elif kind > 8:
                if kind < 128 and kind not in (10, 11):
                    self.report(checks.FRAGMENT_TYPE, span=self.source.span(base + at, base + stop), actual=kind)
                at = stop
                continue
            where = origin + base
            yield Fragment(where + at, where + at + header, where + stop, kind, intact), data[at + header : stop]
            at = stop
        if any(data[at:]):
            rule = checks.LOG_TAIL if last else checks.LOG_FILL
            self.lost += end - at
            self.report(rule, span=self.source.span(base + at, base + end))

    def _check_fill(self, base: int, data: bytes, at: int) -> None:
        if data.count(0, at) != len(data) - at:
            self.lost += len(data) - at
            self.report(
                checks.LOG_FILL, "bytes after a zero header", span=self.source.span(base + at, base + len(data))
            )

    def _plausible(self, data: bytes, at: int) -> bool:
        """Whether an intact fragment, filler, or the end of the block is at `at`: then the length before it is true."""
        if at == len(data):
            return True
        if len(data) - at < HEADER:
            return not any(data[at:])
        length = data[at + 4] | data[at + 5] << 8
        kind = data[at + 6]
        if kind == 0 and length == 0:
            return data.count(0, at) == len(data) - at
        return self._intact(data, at)

    @staticmethod
    def _intact(data: bytes, at: int) -> bool:
        kind = data[at + 6]
        header = RECYCLABLE_HEADER if 5 <= kind <= 8 else HEADER
        stop = at + header + (data[at + 4] | data[at + 5] << 8)
        return (
            1 <= kind <= 8
            and stop <= len(data)
            and mask_crc32c(crc32c(data[at + 6 : stop])) == int.from_bytes(data[at : at + 4], "little")
        )

    def _resume(self, base: int, data: bytes, at: int) -> int:
        """The start of the next intact fragment in the block (its end when there is none); what lies between is
        lost.
        """
        for candidate in range(at + 1, len(data) - HEADER + 1):
            if 1 <= data[candidate + 6] <= 8 and self._intact(data, candidate):
                break
        else:
            candidate = len(data)
        self.lost += candidate - at
        return candidate


def fragment_check(source: Source, where: Span | None) -> Check:
    """The checksum of the fragment whose header starts at `where`, computed and compared."""
    at = where.start - source.origin if where is not None else 0
    data = source.read_up_to(at, BLOCK - at % BLOCK)
    length, kind = data[4] | data[5] << 8, data[6]
    if kind == 0 and length == 0:
        return Check.skipped("filler, which has no checksum")
    stop = (RECYCLABLE_HEADER if _is_recyclable(kind) else HEADER) + length
    if stop > len(data):
        return Check.skipped("the fragment is cut short, or its length is wrong")
    stored = int.from_bytes(data[:4], "little")
    return Check.compare(f"{stored:08x}", f"{mask_crc32c(crc32c(data[6:stop])):08x}")


class Operation(NamedTuple):
    """One operation of a write batch: value type, key and value, its offset in the batch, column family."""

    value_type: int
    key: bytes
    value: bytes
    offset: int
    column_family: int


class Batch(NamedTuple):
    """A write batch: the first sequence number, the operations it says it holds, and those that are there.

    `problem` says where and why it could not be read to its end.
    """

    sequence: int
    stated: int
    operations: list[Operation]
    problem: WireError | None


_PLAIN = {
    0: (0, False),
    1: (1, True),
    2: (2, True),
    7: (7, False),
    15: (15, True),
    17: (17, True),
    22: (22, True),
    24: (24, True),
}
_IN_FAMILY = {
    4: (0, False),
    5: (1, True),
    6: (2, True),
    8: (7, False),
    14: (15, True),
    16: (17, True),
    23: (22, True),
    25: (24, True),
}
_SILENT = frozenset({9, 13, 18, 19})
_NAMED = frozenset({3, 10, 11, 12})
BATCH_HEADER = 12


def parse_batch(payload: bytes) -> Batch:
    """Splits a log record into operations; what cannot be read ends the list and is told in `problem`.

    Spec: LevelDB db/write_batch.cc; RocksDB db/write_batch.cc for types beyond 1.
    """
    size = len(payload)
    if size < BATCH_HEADER:
        return Batch(0, 0, [], WireError("a write batch is shorter than its header", 0))
    sequence = int.from_bytes(payload[:8], "little")
    count = int.from_bytes(payload[8:12], "little")
    operations: list[Operation] = []
    at = BATCH_HEADER
    try:
        while at < size:
            start, raw = at, payload[at]
            at += 1
            family = 0
            if raw in _PLAIN:
                value_type, has_value = _PLAIN[raw]
            elif raw in _IN_FAMILY:
                value_type, has_value = _IN_FAMILY[raw]
                family, at = parse_varint(payload, at, size)
            elif raw in _SILENT:
                continue
            elif raw in _NAMED or raw == 21:
                _, at = parse_bytes(payload, at, size)
                if raw == 21:
                    _, at = parse_bytes(payload, at, size)
                continue
            else:
                raise WireError(f"unknown operation type {raw}", start)
            key, at = parse_bytes(payload, at, size)
            value = b""
            if has_value:
                value, at = parse_bytes(payload, at, size)
            operations.append(Operation(value_type, key, value, start, family))
    except WireError as error:
        return Batch(sequence, count, operations, error)
    passes = WireError("its sequence number passes 56 bits", 0) if sequence > MAX_SEQUENCE else None
    return Batch(sequence, count, operations, passes)


def build_batch(sequence: int, operations: Iterable[tuple[int, bytes, bytes]]) -> bytes:
    """A write batch of `(value_type, key, value)` with value types 0 and 1."""
    parts = [
        build_bytes(key) if kind == 0 else build_bytes(key) + build_bytes(value) for kind, key, value in operations
    ]
    kinds = [kind for kind, _, _ in operations]
    body = b"".join(bytes((kind,)) + part for kind, part in zip(kinds, parts, strict=True))
    return sequence.to_bytes(8, "little") + len(parts).to_bytes(4, "little") + body


def build_log(records: Iterable[bytes]) -> bytes:
    """Frames records as a log or manifest file."""
    out = bytearray()
    for record in records:
        at, first = 0, True
        while True:
            room = BLOCK - len(out) % BLOCK
            if room < HEADER:
                out += bytes(room)
                room = BLOCK
            piece = record[at : at + room - HEADER]
            at += len(piece)
            last = at == len(record)
            kind = (FULL if last else FIRST) if first else (LAST if last else MIDDLE)
            body = bytes((kind,)) + piece
            out += mask_crc32c(crc32c(body)).to_bytes(4, "little") + len(piece).to_bytes(2, "little") + body
            first = False
            if last:
                break
    return bytes(out)
