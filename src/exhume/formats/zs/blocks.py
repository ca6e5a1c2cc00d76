"""Reading, checking and decompressing the blocks of one ZS file.

A block is a length, a level (0: data, 1 to 63: index, above: extension), a compressed payload and a CRC-64.  The
payload of a data block is records, each preceded by its length; all lengths are uleb128 (7 bits per byte, the lowest
first).  To frame a block is to find its end and its level by its length.  Errors are those of the rules in `checks`
(ZS-...).

`RawBlock.body` is what a block's checksum covers: the level byte and the stored payload.  A `ShortBlockError` states
in `needed` how many bytes the block takes as far as that is known, 0 if its length is not complete.
"""

from __future__ import annotations

from collections.abc import Iterator

from exhume.codecs import Stepwise, decompress_prefix
from exhume.codecs.checksums import crc64_xz
from exhume.codecs.common import Decoded
from exhume.codecs.deflate import inflated_size
from exhume.codecs.xz import lzma2_extent
from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError, LimitExceededError, SourceError, Span
from exhume.findings import Check
from exhume.formats.zs import checks
from exhume.formats.zs.large import LARGE, LargeBlock
from exhume.formats.zs.layout import (
    CODEC_AT,
    FRAME_SIZE,
    LENGTH_SIZE,
    Header,
    IndexEntry,
    RawBlock,
    ShortBlockError,
    parse_block,
    parse_checksum,
    parse_frame,
    parse_index,
)
from exhume.formats.zs.layout_facts import CRC, DECODERS, PREAMBLE, parse_preamble
from exhume.io.activity import note_payload
from exhume.io.source import Source
from exhume.limits import Limits
from exhume.native.kernel import MalformedRecordsError, build_uleb128, find_range, take_records

READ_AHEAD = 256 << 10
"""Bytes per read while blocks are streamed from a local file, so that they stay in the processor's cache."""

FIRST_READ_AHEAD = 32 << 10
"""Bytes of the first read, besides the blocks that are needed, where it is not known how many follow."""

LARGE_PAYLOAD = 64 << 20  # bytes
USUAL_RATIO = 16
"""Payloads up to this size, or this many times their stored size, are decompressed without counting them first."""

STEP = 32 << 10
"""Payload bytes that a lookup decodes at once; the decoders' own first buffer."""

STEPS = 32
"""The most such steps; a larger payload is decoded as a whole."""

FRAME_WINDOW = 4096
"""Bytes of a read by walks that only need the places of the blocks; it covers several small blocks."""


def header_check(source: Source) -> Check:
    """Compute the checksum of a header that is not truncated, and compare it with the stored one."""
    start = PREAMBLE.size  # after the magic number and the length of the header
    _, header_size = parse_preamble(source.read_at(0, start))
    end = start + header_size
    stored = parse_checksum(source.read_at(end, CRC.size))
    return Check.compare(f"0x{stored:016x}", f"0x{crc64_xz(source.read_at(start, end - start)):016x}")


def _joined_reads(kept: memoryview, fresh: bytes) -> memoryview:
    """Return the rest of one read and the next one as one buffer; a new object, so that the old read can be freed."""
    return memoryview(b"".join((kept, fresh)) if len(kept) else fresh)


class BlockFile:
    """The blocks of a file whose header is known.

    Offsets are relative to the archive's first byte; spans in errors are absolute in the outermost file.  Thread-safe.
    """

    def __init__(self, source: Source, header: Header, limits: Limits) -> None:
        """Read blocks of a file with this header."""
        self.source = source
        self.header = header
        self.limits = limits
        self.decoder: str | None = DECODERS.get(header.codec)  # its name in `exhume.codecs`; None: unknown codec
        self.largest: int = min(LARGE, limits.payload_size)
        """Bytes of a block, or of its payload, that are kept in memory if both can be read in chunks."""

    def span(self, block: RawBlock | LargeBlock) -> Span:
        """Span of a block."""
        return self.source.span(block.offset, block.end)

    def payload_span(self, block: RawBlock | LargeBlock, start: int, end: int) -> Span:
        """A range of a block's decompressed payload."""
        return self.span(block).in_payload(start, end)

    def read(self, offset: int, size: int) -> RawBlock:
        """Return the block at `offset`, which an index entry or the header claims to have `size` bytes.

        Raises ZS-304..306, and ZS-333 when its own length field differs.
        """
        return self.parse_exact(self.read_range(offset, size), offset, size)

    def read_range(self, offset: int, size: int) -> bytes:
        """Return the bytes of a block by its claimed size; raises ZS-304 if the file ends before it does."""
        if size > self.source.size - offset:
            raise checks.BLOCK_CUT.error(
                span=self.source.span(min(offset, self.source.size), self.source.size),
                expected=f"{counted(size, 'bytes')} at offset {self.source.origin + offset}",
                actual=counted(max(0, self.source.size - offset), "bytes"),
            )
        return self.source.read_at(offset, size)

    def parse_exact(self, data: bytes, offset: int, size: int) -> RawBlock:
        """Return the block that fills `data`, read at `offset` by its claimed `size`; raises ZS-305, ZS-306 and
        ZS-333."""
        try:
            block = parse_block(memoryview(data), 0, offset)
        except ShortBlockError as error:
            raise checks.REF_LENGTH.error(
                span=self.source.span(offset, offset + size), expected=error.needed or None, actual=size
            ) from error
        except ValueError as error:
            raise self.frame_error(error, offset) from error
        if block.size != size:
            raise checks.REF_LENGTH.error(span=self.span(block), expected=block.size, actual=size)
        return block

    def frame_error(self, error: ValueError, offset: int) -> ExhumeError:
        """Return ZS-304, ZS-305 or ZS-306 for a block that cannot be framed; `error` is that of `parse_block`."""
        if isinstance(error, ShortBlockError):
            left = self.source.size - offset
            return checks.BLOCK_CUT.error(
                span=self.source.span(offset, self.source.size),
                expected=counted(error.needed, "bytes") if error.needed else "a length field",
                actual=counted(left, "bytes"),
            )
        if isinstance(error, MalformedRecordsError):  # the length is not in its shortest form
            return checks.BLOCK_LENGTH.error(span=self.source.span(offset, min(offset + LENGTH_SIZE, self.source.size)))
        return checks.BLOCK_EMPTY.error(span=self.source.span(offset, offset + 1))

    def walk(self, start: int, end: int | None = None, *, read_ahead: int = 0) -> Iterator[RawBlock]:
        """Yield the blocks from `start` until `end` (default: the end of the file), of every level, unchecked.

        See `walk_lean`, which does not hold large ones in memory, also for `read_ahead`.
        """
        for block in self.walk_lean(start, end, read_ahead=read_ahead, largest=self.source.size):
            assert isinstance(block, RawBlock)
            yield block
            del block  # it may be large, and so may be the next

    def walk_lean(
        self, start: int, end: int | None = None, *, read_ahead: int = 0, largest: int | None = None
    ) -> Iterator[RawBlock | LargeBlock]:
        """Yield the blocks from `start` until `end` (default: the end of the file), of every level, unchecked.

        A block of more than `largest` bytes (default: the attribute of that name) is not read: it is yielded as a
        `LargeBlock`.  `read_ahead` is the size of the first read (0: full speed); it doubles up to what streaming
        uses.  Raises ZS-304, ZS-305 and ZS-306 where a block cannot be framed.
        """
        size = self.source.size
        stop = size if end is None else min(end, size)
        largest = self.largest if largest is None else largest
        most = max(READ_AHEAD, self.source.cost.piece)  # of bytes per read; `piece`: those that a request should fetch
        step = min(read_ahead, most) if read_ahead else most
        if not read_ahead:  # all of the range will be needed
            self.source.will_read(start, stop)
        base = at = start  # offsets of the window, and of the next block
        window = memoryview(b"")
        needed = 0
        while at < stop:
            try:
                block = parse_block(window, at - base, at)
            except ShortBlockError as error:
                needed = max(error.needed, LENGTH_SIZE)  # at least as much as shows how large it is
                have = base + len(window)
                if error.needed > size - at or have >= size:
                    raise self.frame_error(error, at) from error
                if error.needed > largest:
                    yield LargeBlock(self, at, error.needed)
                    base = at = at + error.needed
                    window = memoryview(b"")
                    continue
                # The rest of the last read is carried over, so that every byte is fetched once.  No read passes `stop`,
                # except for a block that does.
                limit = max(stop, min(at + needed, size))
                more = min(max(at + needed - have, step), limit - have)
                window = _joined_reads(window[at - base :], self.source.read_at(have, more))
                base = at
                step = min(step * 2, most)
            except ValueError as error:
                raise self.frame_error(error, at) from error
            else:
                yield block if block.size <= largest else LargeBlock(self, block.offset, block.size)
                at = block.end
                del block  # it may be large, and so may be the next

    def frames(self, start: int) -> Iterator[tuple[int, int, int]]:
        """Yield `(offset, size, level)` of every block from `start` on, reading as little as is sensible for the
        source.

        Raises the same rules as `walk`; a `ShortBlockError` does not leave it.
        """
        if self.source.cost.piece > FRAME_WINDOW:  # a remote file: many small reads would take longer than all of it
            for block in self.walk(start):
                yield block.offset, block.size, block.level
            return
        size = self.source.size
        at = base = start
        window = memoryview(b"")
        while at < size:
            if at + FRAME_SIZE > base + len(window) and base + len(window) < size:
                window, base = memoryview(self.source.read_up_to(at, FRAME_WINDOW)), at
            try:
                taken, level = parse_frame(window, at - base)
                if taken > size - at:
                    raise ShortBlockError(taken)
            except ValueError as error:
                raise self.frame_error(error, at) from error
            yield at, taken, level
            at += taken

    def check(self, block: RawBlock) -> None:
        """Raise ZS-202 when the block's checksum does not match."""
        computed = crc64_xz(block.body)
        if computed != block.crc:
            raise checks.BLOCK_CRC.error(
                span=self.span(block), expected=f"0x{block.crc:016x}", actual=f"0x{computed:016x}"
            )

    def checked(self, block: RawBlock) -> Check:
        """Compute the block's checksum, and compare it with the stored one."""
        return Check.compare(f"0x{block.crc:016x}", f"0x{crc64_xz(block.body):016x}")

    def payload(self, block: RawBlock) -> bytes:
        """Return the decompressed payload of a block, after a check of its checksum.

        Raises ZS-103, ZS-202, ZS-307, ZS-308 and ZS-501.
        """
        self.check(block)
        return self.unpack(block)

    def payload_until(self, block: RawBlock, stop: bytes | None) -> tuple[bytes | None, bool]:
        """Return a payload up to a record that is not below `stop` (None: all of it), and whether that is all of it.

        The payload is None if it has more than `largest` bytes.  The checksum covers the stored bytes and is checked
        before anything is decoded, so a lookup trusts the same bytes as a reader of the whole block, and saves half of
        the decoding on average.  Raises as `payload` does.
        """
        self.check(block)
        if stop is not None and self.decoder in ("deflate", "lzma2"):
            try:
                found = self._decode_until(block.body[1:], stop)
            except (CodecError, MalformedRecordsError):
                found = None  # decoding all of it locates the fault
            if found is not None:
                return found, False
        return self.small_payload(block), True

    def _decode_until(self, stored: memoryview, stop: bytes) -> bytes | None:
        """Return whole records from the start of a payload to one that is not below `stop`; None if there is none.

        Also None if the payload takes more than `STEPS` steps.

        Raises `CodecError` and `MalformedRecordsError` for damage up to there.
        """
        engine = Stepwise(self.decoder or "", stored)
        pieces: list[bytes] = []
        done, rest = 0, b""  # bytes of the records that are below `stop`, and those decoded after them
        for _ in range(STEPS):
            piece = engine.more(STEP)
            if not piece:
                break
            pieces.append(piece)
            rest += piece
            end = take_records(rest, len(rest))  # of the last whole record
            # The records below `stop` end before the last one, so some record here is not below it.
            _, below = find_range(memoryview(rest)[:end], None, stop)  # where the records below `stop` end
            if below < end:
                return b"".join(pieces)[: done + end]
            done += end
            rest = rest[end:]
        return None

    def unpack(self, block: RawBlock) -> bytes:
        """Return the decompressed payload of a block, without a check of its checksum.

        Raises ZS-103, ZS-307, ZS-308 and ZS-501.
        """
        budget = self.limits.payload_budget(len(block.body) - 1)  # without the level byte
        try:
            return self._unpack(block, budget)
        except LimitExceededError as error:
            raise checks.BOMB.error(span=self.span(block), expected=f"at most {counted(budget, 'bytes')}") from error

    def small_payload(self, block: RawBlock) -> bytes | None:
        """Return the payload of a block; None if it has more than `largest` bytes and is read in chunks."""
        # The limit depends on the stored size, without the level byte.
        try:
            return self._unpack(block, min(self.largest, self.limits.payload_budget(len(block.body) - 1)))
        except LimitExceededError:
            return None

    def _unpack(self, block: RawBlock, budget: int) -> bytes:
        """Decompress a block to at most `budget` bytes.

        Raises ZS-103, ZS-307, ZS-308 (bytes are left over), and `LimitExceededError` above the budget.
        """
        stored = block.body[1:]  # without the level
        if self.decoder is None:
            raise self.codec_error()
        try:
            decoded = self._decode(stored, budget)
        except CodecError as error:
            raise checks.STREAM_CORRUPT.error(error.message, span=self.span(block), actual=error.actual) from error
        if decoded.consumed != len(stored):
            left, end = len(stored) - decoded.consumed, block.end - CRC.size
            raise checks.STREAM_TRAILING.error(span=self.source.span(end - left, end), actual=counted(left, "bytes"))
        note_payload(self.span(block), len(decoded.data))
        return decoded.data

    def _decode(self, stored: memoryview, budget: int) -> Decoded:
        """Decompress a payload; one that exceeds the budget is detected before it takes much memory.

        LZMA2 chunks state their size.  A deflate stream that exceeds `usual` bytes is decoded once without keeping the
        result, to count them.
        """
        decoder = self.decoder or ""
        if decoder == "lzma2":
            _, size = lzma2_extent(stored)
            return decompress_prefix(decoder, stored, max_size=budget, size=size)
        usual = min(budget, max(LARGE_PAYLOAD, USUAL_RATIO * len(stored)))
        try:
            return decompress_prefix(decoder, stored, max_size=usual)
        except LimitExceededError:
            # The budget itself is exceeded, or the payload is not compressed.
            if decoder != "deflate" or usual == budget:
                raise
            size = inflated_size(stored, budget)
            if size > budget:
                raise
        return decompress_prefix(decoder, stored, max_size=budget, size=size)

    def codec_error(self) -> ExhumeError:
        """Return ZS-103 for this file's codec."""
        return checks.UNKNOWN_CODEC.error(
            span=self.source.span(*CODEC_AT), expected=f"one of {', '.join(DECODERS)}", actual=self.header.codec_field
        )

    def index_entries(self, block: RawBlock | LargeBlock, payload: bytes) -> list[IndexEntry]:
        """Return the entries of an index block; raises ZS-310, ZS-311, ZS-330, ZS-333 and ZS-503."""
        return parse_index(payload, self.payload_span(block, 0, len(payload)))

    def records_error(
        self, block: RawBlock | LargeBlock, error: MalformedRecordsError, payload_size: int
    ) -> ExhumeError:
        """Return ZS-309 or ZS-311 for a data payload that does not split into records."""
        span = self.payload_span(block, error.offset, payload_size)
        if error.reason == "overlong":
            return checks.INTEGER_FORM.error(span=span)
        if error.length < 0:  # the payload ends inside the length
            return checks.RECORD_CUT.error(
                span=span, expected="a whole length", actual=counted(payload_size - error.offset, "bytes")
            )
        left = payload_size - error.offset - len(build_uleb128(error.length))
        return checks.RECORD_CUT.error(
            span=span, expected=counted(error.length, "bytes"), actual=counted(left, "bytes")
        )


def named_blocks(file: BlockFile) -> dict[int, tuple[int, int]]:
    """Offset -> (size, level) of every block that intact index blocks name, the root's included."""
    found: dict[int, tuple[int, int]] = {}
    header = file.header
    waiting = [(header.root_offset, header.root_size, -1)]  # -1: the root, which may have any level of an index block
    while waiting:
        offset, size, level = waiting.pop()
        if offset in found or size < 1 or not header.blocks_offset <= offset <= file.source.size - size:
            continue
        block_level, entries = _index_at(file, offset, size, level) or (level, None)
        # A block that an entry refers to is named even if it is damaged; the root only if it is an intact index block.
        if level >= 0 or entries is not None:
            found[offset] = (size, block_level)
        waiting += [(entry.offset, entry.size, block_level - 1) for entry in entries or ()]
    return found


def _index_at(file: BlockFile, offset: int, size: int, level: int) -> tuple[int, list[IndexEntry]] | None:
    """Level and entries of an intact index block; None for data blocks (not read) and for damage.

    `level`: the level that the entry which refers to the block requires; -1 for the root.
    """
    if level == 0:
        return None
    try:
        block = file.read(offset, size)
        if not block.is_index or level not in (-1, block.level):
            return None
        return block.level, file.index_entries(block, file.payload(block))
    except SourceError:
        raise
    except ExhumeError:
        return None
