"""Log framing and write batches: every readable record, whatever is between the records.

A record is stored as one or more fragments, each with a header (checksum, length, type), since none crosses the end of
a 32 KiB block.  A recycled log is one of RocksDB that overwrites the file of an old log: after its end, fragments of
the earlier use remain, and the fragments state the number of their log.

`LogReader` does not stop at damage: after a broken fragment, it searches for the next intact one in the same block,
then in the next block.  The `Report` that it is given decides what happens at damage: `strict` raises, a collector
continues.

Spec: LevelDB doc/log_format.md, db/write_batch.cc; RocksDB db/log_format.h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Never

from exhume.codecs import decompress
from exhume.codecs.checksums import crc32c, mask_crc32c
from exhume.errors import CodecError, LimitExceededError, Span
from exhume.findings import Rule
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.large import inflated, record_pieces
from exhume.formats.leveldb.layout import LayoutError, flat_fragment, parse_compression, parse_timestamp_sizes
from exhume.formats.leveldb.layout_facts import (
    CHECKED,
    FIRST,
    FRAGMENT,
    FULL,
    KNOWN_FRAGMENTS,
    LAST,
    MAY_SKIP,
    MIDDLE,
    NUMBERED_FRAGMENTS,
    RECORD_FRAGMENTS,
    RECYCLABLE,
    TIMESTAMP_FRAGMENTS,
    ZSTD_MAGIC,
    FragmentTypes,
    LogCompressions,
)  # fmt: skip
from exhume.formats.leveldb.model import Fragment, LogRecord
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.io.output.scratch import Spool

BLOCK = 32 << 10
"""Bytes of a block; no fragment crosses the end of one."""
HEADER = FRAGMENT.size
"""Bytes of a fragment's header."""
LARGE = 16 << 20
"""Bytes of a record above which it is not held in memory."""
_READ_BLOCKS = 32
"""Blocks that are read at once."""
_CODECS: dict[int | None, str | None] = {LogCompressions.NONE: None, LogCompressions.ZSTD: "zstd"}
"""Codecs of logs by the number that RocksDB assigns to a compression."""


class _EndOfLog(Exception):  # noqa: N818 - not an error
    """Raised at a fragment after which the log must not be read."""


class LogReader:
    """The records of a log or manifest, in order; offsets are absolute (`source.origin` included).

    With the `number` of a log, fragments that state another number are from an earlier use of its file.  The log ends
    before the first of them.  In its methods, `base` is the offset of a block in the file, `data` the block, and `at`
    an offset in the block.
    """

    def __init__(
        self,
        source: Source,
        report: Report = checks.strict,
        limits: Limits = DEFAULT_LIMITS,
        number: int | None = None,
    ) -> None:
        """Read the log in `source`; `report` is called with each finding."""
        self.source = source
        self.report = report
        self.limits = limits
        self.number = number
        self.lost: int = 0
        """Bytes of fragments and filler that could not be used, after iteration."""
        self.timestamps: dict[int, int] = {}
        """Bytes of the user-defined timestamps at the end of keys, by column family, as far as the log states them."""
        self.remains: int | None = None
        """Where in the file an earlier use of it begins, after iteration; None if there is none."""
        self.take: Callable[[bytes, int, int], int] | None = None
        """Takes batches with a single write directly from a block, so that they are not yielded as records.

        Its arguments are the block, the offset in it to start from, and the block's absolute offset.  It returns the
        offset in the block after the last batch that it took."""
        self.about: list[tuple[int, int]] = []
        """Ranges of the fragments so far that are about the log itself; offsets in the file."""
        # Codec of the records, which the first fragment may state; None: not compressed.
        self._codec: str | None = None
        self._headless = False  # whether the first fragment, which would state a compression, could not be read
        self._recycled = False  # whether a fragment stated the number of this log
        # Findings since the last such fragment, which may be about an earlier use of the file: (rule, detail), facts,
        # lost bytes.  They are reported only if more of this log follows (`_confirm`).
        self._pending: list[tuple[tuple[Any, ...], dict[str, Any], int]] = []
        self._open = False  # whether a record has begun and is not complete
        self._taken = False  # whether `take` took any writes

    def __iter__(self) -> Iterator[LogRecord]:
        """Yield every complete record; report the fragments of incomplete ones, and those without a first one."""
        parts: Spool | None = None
        fragments: list[Fragment] = []  # of the record that has begun
        records = 0
        for fragment, data in self._fragments():
            kind, self._open = fragment.kind, bool(fragments)
            # Fragments about the log itself: a compression, or the sizes of timestamps.
            if kind not in RECORD_FRAGMENTS:
                if not self._take_note(fragment, data, records > 0 or self._open or self._taken):
                    return
                continue
            # Most records of most logs: one fragment, and no compression.
            if kind == FULL and not fragments and not fragment.earlier and self._codec is None and not self._headless:
                records += 1
                yield LogRecord(fragment.offset, fragment.end, data, (fragment,), fragment.intact)
                continue
            # A fragment that does not continue the record that has begun.
            if fragments and fragment.earlier is not fragments[0].earlier:
                self._report_tail(fragments)
                parts, fragments = None, []
            elif fragments and kind in (FULL, FIRST):
                self._drop(fragments, "a record without its last fragment")
                parts, fragments = None, []
            if kind in (MIDDLE, LAST) and not fragments:
                self._drop([fragment], "a continuation without its first fragment")
                continue
            # The next fragment of the record, and perhaps the last.
            self._open = kind not in (FULL, LAST)
            parts = parts or self._spool()
            parts.add(data)
            fragments.append(fragment)
            if kind in (FULL, LAST):
                records += 1
                intact = all(fragment.intact for fragment in fragments)
                stored, parts = parts.take(), None  # a large record is then in memory once
                payload = self._payload(fragments, stored)
                del stored
                if payload is not None:
                    yield LogRecord(
                        fragments[0].offset, fragment.end, payload, tuple(fragments), intact, fragment.earlier
                    )
                fragments = []
        if fragments:
            self._report_tail(fragments)
        self._report_earlier_use()

    def _spool(self) -> Spool:
        """Return a buffer for the fragments of a record; a large record is kept in a temporary file."""
        from exhume.io.output.scratch import Spool  # records of one fragment need none

        return Spool(min(LARGE, self.limits.payload_size))

    def content(self, fragments: Sequence[Fragment]) -> bytes:
        """The payload of a record that was read before, read again from its fragments.

        Raises `OSError`, and `LimitExceededError` above the limit `payload_size`.
        """
        self.limits.check("payload_size", sum(one.end - one.data_offset for one in fragments), self._span(fragments[0]))
        payload = self.large_content(fragments)
        self.limits.check("payload_size", len(payload), self._span(fragments[0]))
        return bytes(payload)

    def large_content(self, fragments: Sequence[Fragment]) -> bytes | memoryview:
        """Return the payload of a large record. Raises `OSError`, and `LimitExceededError` above `expansion`."""
        stored = self._spool()
        for one in fragments:
            stored.add(self.source.read_at(one.data_offset - self.source.origin, one.end - one.data_offset))
        return self._payload(fragments, stored.take()) or b""

    def _span(self, *fragments: Fragment) -> Span:
        """The range of consecutive fragments in the file."""
        origin = self.source.origin
        return self.source.span(fragments[0].offset - origin, fragments[-1].end - origin)

    def _report_damage(self, rule: Rule, detail: str = "", *, lost: int = 0, **facts: Any) -> None:
        """Reports damage that makes `lost` bytes unusable, unless it may turn out to be from an earlier use."""
        if self._recycled:
            start = facts["span"].start - self.source.origin
            if self.remains is None or start < self.remains:
                self.remains = start
            self._pending.append(((rule, detail), facts, lost))
        else:
            self.lost += lost
            self.report(rule, detail, **facts)

    def _report_tail(self, fragments: list[Fragment]) -> None:
        """Report that the log ends inside a record."""
        if not fragments[0].earlier:
            end = self.source.size if self.remains is None else self.remains
            self.lost += sum(fragment.end - fragment.offset for fragment in fragments)
            span = self.source.span(fragments[0].offset - self.source.origin, end)
            self.report(checks.LOG_TAIL, "the last fragment is missing", span=span)

    def _confirm(self) -> None:
        """Report the pending damage: more of this log follows, so it is not the end of the log."""
        pending, self._pending, self.remains = self._pending, [], None
        for rule, facts, lost in pending:
            self.lost += lost
            self.report(*rule, **facts)

    def _report_earlier_use(self) -> None:
        """Report, at the end of the file, the fragments that an earlier use of the file left."""
        if self.remains is not None:
            self._pending = []
            self.report(checks.RECYCLED, span=self.source.span(self.remains, self.source.size))

    def _drop(self, fragments: list[Fragment], why: str) -> None:
        """Report fragments that do not make a record, and `why`; those of an earlier use of the file are not lost."""
        if fragments[0].earlier:
            return
        span = self._span(*fragments)
        lost = sum(fragment.end - fragment.offset for fragment in fragments)
        self._report_damage(checks.FRAGMENT_ORDER, why, span=span, lost=lost)

    def _take_note(self, fragment: Fragment, data: bytes, begun: bool) -> bool:
        """Take what a fragment about the log itself states on records that follow; return whether they can be read.

        `begun`: records precede it.
        """
        if fragment.earlier:
            return True
        if fragment.kind not in TIMESTAMP_FRAGMENTS:
            if begun:
                self._report_damage(checks.FRAGMENT_ORDER, "a compression after records", span=self._span(fragment))
            # The codec of the records before is not known any more, so reading ends.
            return not begun and self._take_compression(fragment, data)
        sizes = parse_timestamp_sizes(data)
        if sizes is None:
            self.report(checks.TIMESTAMPS, "their sizes cannot be read", span=self._span(fragment), actual=len(data))
        self.timestamps.update(sizes or {})
        return True

    def _take_compression(self, fragment: Fragment, data: bytes) -> bool:
        """Take the compression of the records that follow; False for one that is not known."""
        number = parse_compression(data)
        if number in _CODECS:
            self._codec = _CODECS[number]
            return True
        span = self.source.span(fragment.offset - self.source.origin, self.source.size)
        self.lost += span.size
        self.report(checks.LOG_CODEC, span=span, field_path="compression", actual=number)
        return False

    def _payload(self, fragments: Sequence[Fragment], stored: bytes | memoryview) -> bytes | memoryview | None:
        """The content of a record; None when it does not decompress."""
        earlier = fragments[0].earlier
        codec = self._codec_of(earlier, stored[: len(ZSTD_MAGIC)])
        if codec is None or not stored:
            return stored
        span = self._span(*fragments)
        try:
            try:
                # most records fit in memory
                return decompress(codec, stored, max_size=min(LARGE, self.limits.payload_budget(len(stored))))
            except LimitExceededError:
                return inflated(stored, span, self.limits, LARGE)
        except CodecError as error:
            if not earlier:
                self._report_damage(checks.RECORD_CODEC, error.message, span=span, lost=span.size)
            return None

    def _codec_of(self, earlier: bool, start: bytes | memoryview) -> str | None:
        """The codec of a record, by the bytes that it starts with if the fragment that states the codec is lost."""
        if self._codec is None and (self._headless or earlier) and start == ZSTD_MAGIC:
            return "zstd"
        return self._codec

    def pieces(self, fragments: Sequence[Fragment], start: int, stop: int) -> Iterator[bytes]:
        """The bytes `[start, stop)` of the payload of a record that was read before; see `record_pieces`."""
        origin = self.source.origin
        places = [(fragment.data_offset - origin, fragment.end - origin) for fragment in fragments]
        head = self.source.read_up_to(places[0][0], len(ZSTD_MAGIC))
        is_compressed = self._codec_of(fragments[0].earlier, head) is not None
        return record_pieces(self.source, places, start, stop, is_compressed=is_compressed)

    def _fragments(self) -> Iterator[tuple[Fragment, bytes]]:
        """Yield every usable fragment with its data, in the order of the file."""
        try:
            for start in range(0, self.source.size, BLOCK * _READ_BLOCKS):
                chunk = self.source.read_up_to(start, BLOCK * _READ_BLOCKS)
                for at in range(0, len(chunk), BLOCK):
                    yield from self._block(start + at, chunk[at : at + BLOCK])
        except _EndOfLog:
            return

    def _block(self, base: int, data: bytes) -> Iterator[tuple[Fragment, bytes]]:
        """Yield the fragments of the block `data`, which starts at offset `base` of the file, with their data.

        Damaged fragments are reported.  One with a wrong checksum is yielded nevertheless, if what follows it confirms
        its length.
        """
        origin = self.source.origin
        last = base + BLOCK > self.source.size  # the file ends in this block
        at, end = 0, len(data)  # offsets in the block
        while end - (at := self._pass_writes(data, at, origin + base)) >= HEADER:
            try:
                stop, stored, size, kind, number, start, _ = flat_fragment(data, at, end)
            except LayoutError as error:
                # The writer may have been stopped inside this fragment.
                is_tail = last and data[at + CHECKED] in RECORD_FRAGMENTS
                self._report_length(error, is_tail, base + at, base + end)
                if is_tail and not self._recycled:
                    return
                at = self._resume(base, data, at)
                continue
            if not kind and not size:  # a zero header
                self._check_fill(base, data, at)
                return
            # Compare the checksum of type and data.
            checksum = mask_crc32c(crc32c(data[at + CHECKED : stop]))
            # Pebble ends a log with the head of a fragment of the log after it (record/log_writer.go, emitEOFTrailer).
            is_empty = not (size or stored)
            is_end_mark = kind in NUMBERED_FRAGMENTS and is_empty and self.number not in (None, number)
            intact = checksum == stored or is_end_mark
            begin = base + at  # in the file
            if not intact:
                span = self.source.span(begin, base + stop)
                self._report_damage(
                    checks.LOG_CRC, span=span, field_path="checksum", expected=f"{stored:08x}", actual=f"{checksum:08x}"
                )
                if kind not in RECORD_FRAGMENTS or not self._plausible(data, stop):
                    at = self._resume(base, data, at)
                    continue
            earlier = self._is_earlier(kind, number, begin, intact)
            at = stop
            if kind in RECORD_FRAGMENTS:
                kind -= RECYCLABLE if kind > LAST else 0  # one of the types 1 to 4
            else:
                if not earlier:
                    self.about.append((begin, base + stop))
                if kind not in TIMESTAMP_FRAGMENTS and kind != FragmentTypes.SET_COMPRESSION:
                    if kind not in KNOWN_FRAGMENTS and kind < MAY_SKIP and not earlier:
                        self._end_at_unknown(kind, begin)
                    continue
            data_offset, after = origin + base + start, origin + base + stop
            yield Fragment(origin + begin, data_offset, after, kind, intact, earlier), data[start:stop]
        # The end of the block is too short for a header, and zero.
        if any(data[at:]):
            rule = checks.LOG_TAIL if last else checks.LOG_FILL
            self._report_damage(rule, span=self.source.span(base + at, base + end), lost=end - at)

    def _end_at_unknown(self, kind: int, at: int) -> Never:
        """Report the fragment at `at`, of an unknown type that readers may not skip.  Raises `_EndOfLog`."""
        rest = self.source.span(at, self.source.size)
        self.lost += rest.size
        self.report(checks.FRAGMENT_TYPE, span=rest, field_path="fragment_type", actual=kind)
        raise _EndOfLog

    def _report_length(self, error: LayoutError, is_tail: bool, start: int, stop: int) -> None:
        """Report a fragment whose length goes beyond its block `[start, stop)`; `is_tail`: as the file ends there."""
        self._report_damage(
            checks.LOG_TAIL if is_tail else checks.FRAGMENT_LENGTH,
            "the last fragment is truncated" if is_tail else "",
            span=self.source.span(start, stop),
            field_path=error.path,
            expected=error.expected,
            actual=error.found,
            lost=stop - start if is_tail else 0,
        )

    def _pass_writes(self, data: bytes, at: int, base: int) -> int:
        """Let `take` have the batches with a single write from `at` on; return the offset in the block after them.

        It gets none if a fragment may not be a complete, uncompressed record of this log, or if the limit
        `payload_size` is below the size of a block.
        """
        if self.take is None or self._open or self._codec is not None or self._headless or self.remains is not None:
            return at
        stop = self.take(data, at, base) if self.limits.payload_size >= BLOCK else at
        self._taken = self._taken or stop > at
        return stop

    def _is_earlier(self, kind: int, number: int, at: int, intact: bool) -> bool:
        """Whether the fragment at `at` is from an earlier use of the file.

        It is if it states another log's number, or follows such a fragment.

        Also notes that the log is recycled, and where the earlier use begins. A fragment whose checksum is wrong does
        not prove either.
        """
        if self.number is None:
            return False
        if kind in NUMBERED_FRAGMENTS:
            own = number == self.number & 0xFFFFFFFF  # stored in 32 bits
            if own:
                if intact:
                    self._recycled = True
                    self._confirm()
                return False
            if intact:
                self._recycled = True
                self.remains = at if self.remains is None else min(at, self.remains)
            return True
        return self.remains is not None

    def _check_fill(self, base: int, data: bytes, at: int) -> None:
        """Report bytes other than zero after a zero header, which is filler up to the end of the block."""
        self._headless = self._headless or base + at == 0  # the first fragment may have been overwritten
        if data.count(0, at) != len(data) - at:
            span = self.source.span(base + at, base + len(data))
            self._report_damage(checks.LOG_FILL, "bytes after a zero header", span=span, lost=len(data) - at)

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
        """Whether a fragment of a known type and with a matching checksum is at `at`."""
        try:
            stop, stored, _, kind, _, _, _ = flat_fragment(data, at, len(data))
        except LayoutError:
            return False
        return kind in KNOWN_FRAGMENTS and mask_crc32c(crc32c(data[at + CHECKED : stop])) == stored

    def _resume(self, base: int, data: bytes, at: int) -> int:
        """Return the start of the next intact fragment in the block after the damaged one at `at`, or the block's end.

        The bytes between are lost; if damage is pending, they are added to it, and count only if it does.
        """
        for candidate in range(at + 1, len(data) - HEADER + 1):
            if data[candidate + CHECKED] in KNOWN_FRAGMENTS and self._intact(data, candidate):
                break
        else:
            candidate = len(data)
        self._headless = self._headless or base + at == 0
        if self._recycled and self._pending:
            rule, facts, lost = self._pending.pop()
            self._pending.append((rule, facts, lost + candidate - at))
        else:
            self.lost += candidate - at
        return candidate
