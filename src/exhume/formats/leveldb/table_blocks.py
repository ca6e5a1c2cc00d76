"""The parts of every table (`.ldb`, `.sst`): the footer, and blocks with their trailers.

A handle is the position of a block: offset, and size without the trailer, which has the compression and the checksum.
The footer, at the end of the table, states the format version and the kind of checksums.  A block has entries, then
restart points (offsets of entries with complete keys) and their number.

Positions of blocks, and the meaning of their entries, are in `table.py`.

Spec: LevelDB doc/table_format.md; RocksDB table/format.h, block_based/.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError, FormatError, LimitExceededError, Span, UnsupportedFeatureError
from exhume.findings import Check, CheckOutcome
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.blocks import (
    ALGORITHMS,
    PROBLEMS,
    block_checksum,
    codec_name,
    context_modifier,
    decode_block,
)
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.large import LargeBlock, Rules, read_large
from exhume.formats.leveldb.layout_facts import (
    CHECKSUMMED,
    FOOTER_CHECKSUM,
    LEVELDB_FOOTER,
    NUM_RESTARTS,
    RESTART,
    ROCKSDB_FOOTER,
)
from exhume.formats.leveldb.model import Footer, Verdict
from exhume.formats.leveldb.wire import Handle
from exhume.io.activity import note_payload
from exhume.io.caching import cached_property
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.native import kernel
from exhume.native.kernel import BLOCK_BOMB
from exhume.tuples import NamedTuple

LOOKED_AT = 256 << 10
"""Bytes of a data block above which it may be large."""

READ_AHEAD = 256 << 10
"""Bytes of neighboring blocks that are fetched with one read."""


class TableBlock(NamedTuple):
    """A block that was read: its place, codec, checksum verdict and decompressed contents."""

    handle: Handle
    source: Source
    codec: str
    verdict: Verdict
    data: bytes

    @property
    def span(self) -> Span:
        """The range in the file, with the trailer."""
        return self.source.span(self.handle.offset, self.handle.stop)

    @property
    def payload_span(self) -> Span:
        """The decompressed contents."""
        return self.span.in_payload(0, len(self.data))

    @property
    def entries_end(self) -> int:
        """Offset in the contents at which the entries end, as in `tail`.

        Every block that is read needs it, so it is computed directly for the plain form, without parsing all restart
        points.
        """
        last = len(self.data) - NUM_RESTARTS.size
        end = last - RESTART.size * NUM_RESTARTS.unpack_from(self.data, last)[0] if last >= 0 else -1
        return end if end >= 0 else self.tail.end

    @property
    def tail(self) -> layout.Tail:
        """Where its entries end, and its restart points; raises `StructureError` when they do not fit."""
        return layout.parse_tail(self.data, self.payload_span)


def rule_of(error: FormatError) -> checks.Rule:
    """The rule that an unreadable block breaks."""
    return checks.FEATURE if isinstance(error, UnsupportedFeatureError) else checks.BLOCK


def _compared(kind: str, stored: int, computed: int | None) -> Check:
    """Return the verdict on a checksum of this kind; `computed` is None if it cannot be computed."""
    if computed is None:
        return Check.skipped("the table has none" if kind == "none" else f"a kind that exhume does not know, {kind}")
    return Check.compare(f"{stored:08x}", f"{computed:08x}", ALGORITHMS[kind])


def _stored_checksum(stored: bytes, at: int) -> int:
    """Return the checksum that a block's trailer, at `at`, states."""
    _, _, checksum = layout.flat_block_trailer(stored, at, len(stored))
    return checksum


class BlockFile:
    """The footer and the blocks of one table file, by their handles.  Thread-safe."""

    def __init__(self, source: Source, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self.source = source
        self.limits = limits

    @cached_property
    def footer(self) -> Footer | None:
        """The footer, None when the magic number is missing.  Raises `StructureError` for unreadable handles."""
        size = self.source.size
        start = max(0, size - ROCKSDB_FOOTER)
        tail = self.source.read_at(start, size - start)
        return layout.parse_footer(tail, self.source.span(start, size), self.source.origin)

    @property
    def is_of_another_kind(self) -> bool:
        """Whether the magic number at the end is that of tables that are not read (LDB-121)."""
        try:
            _ = self.footer
        except FormatError as error:
            return error.code == checks.TABLE_KIND.code
        return False

    def check_footer(self, report: Report) -> Footer | None:
        """The footer, after its own rules were checked and reported; None when it is unusable."""
        if self.source.size < LEVELDB_FOOTER:
            report(
                checks.TABLE_SHORT,
                span=self.source.span(0, self.source.size),
                expected=f"at least {LEVELDB_FOOTER} bytes",
                actual=self.source.size,
            )
            return None
        # A footer that can be parsed.
        tail = self.source.span(max(0, self.source.size - ROCKSDB_FOOTER), self.source.size)
        try:
            footer = self.footer
        except FormatError as error:
            if error.code in (checks.BAD_VERSION.code, checks.TABLE_KIND.code):
                rule = checks.RULES[error.code]
                report(rule, span=error.span, expected=error.expected, actual=error.actual)
            else:
                checks.report_error(report, checks.HANDLE, error, "unreadable handles in the footer: ")
            return None
        if footer is None:
            report(checks.BAD_MAGIC, span=tail)
            return None
        # Its values.
        if footer.checksum.startswith("type-"):
            report(checks.CHECKSUM_TYPE, span=tail, actual=footer.checksum)
        if any(footer.padding):
            report(checks.FOOTER_FILL, span=tail)
        if footer.footer_checksum is not None:
            check = self.check_sealed_footer()
            if check.outcome is CheckOutcome.MISMATCH:
                report(checks.FOOTER_CRC, span=tail, expected=check.expected, actual=check.actual)
        return footer

    def check_sealed_footer(self) -> Check:
        """The checksum of a footer of RocksDB version 6 and later, which covers itself as zeros.

        RocksDB adds the part that depends on the footer's place even when the checksum type is "none" and the value is
        0.
        """
        kind, base, room = self.rules.checksum, self.rules.base_context, self.rules.room
        data = bytearray(self.source.read_at(room, ROCKSDB_FOOTER))
        stored = 0 if self.footer is None else self.footer.footer_checksum or 0
        start, stop = FOOTER_CHECKSUM
        data[start:stop] = bytes(stop - start)
        if kind == "none":
            return _compared(kind, stored, context_modifier(base, room))
        return _compared(kind, stored, block_checksum(kind, bytes(data), base_context=base, offset=room))

    @cached_property
    def rules(self) -> Rules:
        """Facts from the footer about all blocks.  Raises `StructureError` for unreadable handles."""
        footer = self.footer
        if footer is None:
            return Rules("crc32c", "leveldb", 0, 0, self.source.size)  # as in most tables, to search for blocks
        room = footer.offset - self.source.origin
        return Rules(footer.checksum, footer.family, footer.version, footer.base_context, room)

    @cached_property
    def dictionary(self) -> bytes | None:
        """The dictionary that data blocks were compressed with; empty without one, None if it cannot be read.

        Here always empty: `IndexedFile` finds it.
        """
        return b""

    def read_data(
        self, handle: Handle, report: Report = checks.strict, *, stored: bytes | None = None
    ) -> TableBlock | LargeBlock | None:
        """Read a data block as `read_block` does, with the table's dictionary; a large one is read in chunks."""
        if handle.size > min(LOOKED_AT, self.limits.payload_size) and handle.stop <= self.rules.room:
            found = read_large(self, handle, report, self.dictionary)
            if found is not None:
                return found
        return self._read(handle, report, stored, self.dictionary, data=True)

    def read_block(
        self,
        handle: Handle,
        report: Report = checks.strict,
        *,
        dictionary: bytes | None = b"",
    ) -> TableBlock | None:
        """A block, its checksum compared and its contents decompressed; None when it cannot be read, which is reported.

        `dictionary` is as in `_read`.  With `checks.strict` it raises what would be reported.
        """
        found = self._read(handle, report, None, dictionary)
        assert not isinstance(found, LargeBlock)
        return found

    def _read(
        self, handle: Handle, report: Report, stored: bytes | None, dictionary: bytes | None, *, data: bool = False
    ) -> TableBlock | LargeBlock | None:
        """See `read_block`; a `data` block that is too large for memory is read in chunks.

        `dictionary` primes the codec; None if it cannot be read.
        """
        if not self._may_read(handle, report):
            return None
        offset, size = handle
        span = self.source.span(offset, handle.stop)
        if stored is None:
            stored = self.source.read_at(offset, handle.stop - offset)
        _, compression, _ = layout.flat_block_trailer(stored, size, len(stored))
        verdict = self._verdict(handle, stored, report)
        try:
            content = decode_block(
                stored[:size], compression, family=self.rules.family, version=self.rules.version,
                max_size=self.limits.payload_budget(size), dictionary=dictionary,
            )  # fmt: skip
        except UnsupportedFeatureError as error:
            report(checks.UNSUPPORTED_CODEC, error.message, span=span, actual=error.actual or compression)
            return None
        except LimitExceededError as error:
            if data and (found := read_large(self, handle, report, dictionary, forced=True)) is not None:
                return found
            report(checks.TOO_LARGE, error.message, span=span, expected=error.expected, actual=error.actual)
            return None
        except CodecError as error:
            report(checks.BLOCK_CODEC, error.message, span=span, actual=error.actual)
            return None
        note_payload(span, len(content))
        return TableBlock(handle, self.source, codec_name(compression), verdict, content)

    def _may_read(self, handle: Handle, report: Report) -> bool:
        """Whether a block is where blocks can be and not too large to be read; reports it if not."""
        source, room, limit = self.source, self.rules.room, self.limits.payload_size
        if handle.stop > room:
            report(
                checks.HANDLE,
                span=source.span(min(handle.offset, source.size), source.size),
                expected=f"a block within {counted(room, 'bytes')}",
                actual=f"[{handle.offset}, {handle.stop})",
            )
            return False
        if handle.size > limit:
            most = f"at most {counted(limit, 'bytes')} (limit payload_size)"
            span = source.span(handle.offset, handle.stop)
            report(checks.TOO_LARGE, span=span, expected=most, actual=handle.size)
            return False
        return True

    def _verdict(self, handle: Handle, stored: bytes, report: Report) -> Verdict:
        """Compare the checksum of a block's bytes and compression type with the stored one; reports a difference."""
        kind, base = self.rules.checksum, self.rules.base_context
        wanted = _stored_checksum(stored, handle.size)
        covered = stored[: handle.size + CHECKSUMMED]
        checksum = block_checksum(kind, covered, base_context=base, offset=handle.offset)
        if checksum is None:
            return Verdict.NONE
        if checksum == wanted:
            return Verdict.GOOD
        span = self.source.span(handle.offset, handle.stop)
        report(checks.BLOCK_CRC, span=span, expected=f"{wanted:08x}", actual=f"{checksum:08x}")
        return Verdict.BAD

    def checksum_fits(self, handle: Handle, contents: bytes) -> bool:
        """Whether the stored checksum of an uncompressed block matches other contents, which it may have had before."""
        kind, base = self.rules.checksum, self.rules.base_context
        trailer = self.source.read_at(handle.offset + handle.size, handle.stop - handle.offset - handle.size)
        found = _stored_checksum(trailer, 0)
        checked = contents + trailer[:CHECKSUMMED]
        return block_checksum(kind, checked, base_context=base, offset=handle.offset) == found

    def check_block(self, handle: Handle) -> Check:
        """The checksum of a block before the footer, computed and compared."""
        kind, base = self.rules.checksum, self.rules.base_context
        stored = self.source.read_at(handle.offset, handle.stop - handle.offset)
        found = _stored_checksum(stored, handle.size)
        checked = stored[: handle.size + CHECKSUMMED]
        return _compared(kind, found, block_checksum(kind, checked, base_context=base, offset=handle.offset))

    def read_blocks(
        self, handles: Sequence[Handle], report: Report = checks.strict
    ) -> Iterator[TableBlock | LargeBlock | None]:
        """`read_data` of each handle; blocks that follow one another in the file are fetched together."""
        window, first, ahead = b"", 0, True  # bytes that were read, their offset, whether to read ahead
        for number, handle in enumerate(handles):
            start, end = handle.offset - first, handle.stop - first
            if ahead and not 0 <= start < end <= len(window):
                try:
                    window, first = self.read_ahead(handles, number), handle.offset
                except ExhumeError:  # from here on, each block is read, and refused, by itself
                    window, ahead = b"", False
                start, end = 0, handle.stop - first
            whole = 0 <= start < end <= len(window)
            yield self.read_data(handle, report, stored=window[start:end] if whole else None)

    def read_ahead(self, handles: Sequence[Handle], first: int) -> bytes:
        """Return the bytes of consecutive blocks from `handles[first]` on, at most `READ_AHEAD`; empty if that block is
        larger or outside of the file.
        """
        start = end = handles[first].offset
        room = self.rules.room
        for number in range(first, len(handles)):
            handle = handles[number]
            stop = handle.stop
            if handle.offset != end or stop > room or stop - start > READ_AHEAD:
                break
            end = stop
        return self.source.read_at(start, end - start) if end > start else b""

    def split_block(self, block: TableBlock, report: Report = checks.strict) -> list[tuple[bytes, bytes, int]]:
        """Return (key, value, offset in the contents) of each entry in a block whose keys are plain names (metaindex,
        index).
        """
        try:
            end = block.entries_end
        except FormatError as error:
            checks.report_error(report, rule_of(error), error)
            return []
        out, stop, problem = kernel.block_entries(block.data, end, self.limits.structure_size)
        self.report_problem(block, stop, end, problem, report)
        return out

    def report_problem(self, block: TableBlock | LargeBlock, stop: int, end: int, problem: int, report: Report) -> None:
        """Report the problem that ended the entries of a block at `stop`; 0: no problem."""
        if problem:
            rule = checks.KEY_BOMB if problem == BLOCK_BOMB else checks.BLOCK
            report(rule, PROBLEMS[problem], span=block.span.in_payload(stop, end))

    def footer_or_none(self) -> Footer | None:
        """The footer; None when it is missing or cannot be read."""
        try:
            return self.footer
        except FormatError:
            return None
