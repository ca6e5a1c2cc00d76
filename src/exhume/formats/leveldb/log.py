"""Log framing and write batches: every record that can be read, whatever lies between the records.

`LogReader` never gives up: after a broken fragment, it searches for the next intact one in the same 32 KiB block, then
in the next block.  The `Report` that it is given decides what happens at damage: `strict` raises, a collector
continues.

Spec: LevelDB doc/log_format.md, db/write_batch.cc; RocksDB db/log_format.h.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from exhume.codecs.checksums import crc32c, mask_crc32c
from exhume.errors import Span
from exhume.findings import Check
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.layout import LayoutError, flat_fragment
from exhume.formats.leveldb.layout_facts import BATCH, CHECKED, FRAGMENT, FragmentTypes
from exhume.formats.leveldb.wire import build_bytes
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits

BLOCK = 32 << 10
HEADER = FRAGMENT.size
FULL, FIRST, MIDDLE, LAST = (
    int(one) for one in (FragmentTypes.FULL, FragmentTypes.FIRST, FragmentTypes.MIDDLE, FragmentTypes.LAST)
)
RECYCLABLE = FragmentTypes.RECYCLABLE_FULL - FragmentTypes.FULL
"""What the types of a recycled log are more than those that mean the same."""
KNOWN = frozenset(FragmentTypes) - {FragmentTypes.ZERO}
RECORDS = frozenset(range(FragmentTypes.FULL, FragmentTypes.RECYCLABLE_LAST + 1))
"""Types of fragments that hold parts of records; the others are about the log itself."""
SKIPPED = KNOWN - RECORDS - {FragmentTypes.SET_COMPRESSION}
"""Types that change nothing about what the records say."""
MAY_SKIP = 128
"""From here on RocksDB lets a reader skip types that it does not know."""
_READ_BLOCKS = 32


class Fragment(NamedTuple):
    """A piece of a record: absolute offsets of its header, its data and its end; `kind` 1 to 4; whether the CRC
    fits.
    """

    offset: int
    data_offset: int
    end: int
    kind: int
    intact: bool


class LogRecord(NamedTuple):
    """A record put together from its fragments; it is `intact` when every fragment's checksum matches."""

    offset: int
    end: int
    payload: bytes
    fragments: tuple[Fragment, ...]
    intact: bool


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
        everything = self.source.span(0, self.source.size)
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
            self.limits.check("payload_size", total, everything)
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
            try:
                stop, stored, size, kind, _, start, _ = flat_fragment(data, at, end)
            except LayoutError as error:
                span = self.source.span(base + at, base + end)
                cut = last and data[at + CHECKED] in RECORDS
                self.report(
                    checks.LOG_TAIL if cut else checks.FRAGMENT_LENGTH,
                    "the last fragment is cut" if cut else "",
                    span=span,
                    field_path=error.path,
                    expected=error.expected,
                    actual=error.actual,
                )
                if cut:
                    self.lost += end - at
                    return
                at = self._resume(base, data, at)
                continue
            if not kind and not size:
                self._check_fill(base, data, at)
                return
            checksum = mask_crc32c(crc32c(data[at + CHECKED : stop]))
            intact = checksum == stored
            if not intact:
                self.report(
                    checks.LOG_CRC,
                    span=self.source.span(base + at, base + stop),
                    field_path="checksum",
                    expected=f"{stored:08x}",
                    actual=f"{checksum:08x}",
                )
                if kind not in RECORDS or not self._plausible(data, stop):
                    at = self._resume(base, data, at)
                    continue
            if kind not in RECORDS:
                if kind not in SKIPPED and kind < MAY_SKIP:
                    self.report(
                        checks.FRAGMENT_TYPE,
                        span=self.source.span(base + at, base + stop),
                        field_path="fragment_type",
                        actual=kind,
                    )
                at = stop
                continue
            if kind > LAST:
                kind -= RECYCLABLE
            where = origin + base
            yield Fragment(where + at, where + start, where + stop, kind, intact), data[start:stop]
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
        """Whether an intact fragment, filler, or the end of the block is at `at`, which confirms the length of what
        precedes it.
        """
        if at == len(data):
            return True
        if len(data) - at < HEADER:
            return not any(data[at:])
        if not any(data[at : at + HEADER]):
            return data.count(0, at) == len(data) - at
        return self._intact(data, at)

    @staticmethod
    def _intact(data: bytes, at: int) -> bool:
        try:
            stop, stored, _, kind, _, _, _ = flat_fragment(data, at, len(data))
        except LayoutError:
            return False
        return kind in KNOWN and mask_crc32c(crc32c(data[at + CHECKED : stop])) == stored

    def _resume(self, base: int, data: bytes, at: int) -> int:
        """The start of the next intact fragment in the block (its end when there is none); what lies between is
        lost.
        """
        for candidate in range(at + 1, len(data) - HEADER + 1):
            if data[candidate + CHECKED] in KNOWN and self._intact(data, candidate):
                break
        else:
            candidate = len(data)
        self.lost += candidate - at
        return candidate


def fragment_check(source: Source, where: Span | None) -> Check:
    """The checksum of the fragment whose header starts at `where`, computed and compared."""
    at = where.start - source.origin if where is not None else 0
    data = source.read_up_to(at, BLOCK - at % BLOCK)
    try:
        stop, stored, size, kind, _, _, _ = flat_fragment(data, 0, len(data))
    except LayoutError:
        return Check.skipped("the fragment is cut short, or its length is wrong")
    if kind == FragmentTypes.ZERO and not size:
        return Check.skipped("filler, which has no checksum")
    return Check.compare(f"{stored:08x}", f"{mask_crc32c(crc32c(data[CHECKED:stop])):08x}")


def build_batch(sequence: int, operations: Iterable[tuple[int, bytes, bytes]]) -> bytes:
    """A write batch of `(value_type, key, value)` with value types 0 and 1."""
    parts = [
        build_bytes(key) if kind == 0 else build_bytes(key) + build_bytes(value) for kind, key, value in operations
    ]
    kinds = [kind for kind, _, _ in operations]
    body = b"".join(bytes((kind,)) + part for kind, part in zip(kinds, parts, strict=True))
    return BATCH.pack(sequence, len(parts)) + body


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
            out += FRAGMENT.pack(mask_crc32c(crc32c(bytes((kind,)) + piece)), len(piece), kind) + piece
            first = False
            if last:
                break
    return bytes(out)
