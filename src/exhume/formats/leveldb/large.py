"""Table blocks and log records that are too large for memory, and the large values in them.

A block is a part of a table: entries, then restart points (the offsets of entries with complete keys; other keys omit
what they share with the key before), then how many these are.  Blocks may be compressed.  A large block is decompressed
for every use, in chunks, and its large values become `LargeValue`.

Spec: LevelDB doc/table_format.md, doc/log_format.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from exhume.codecs.checksums import RunningChecksum
from exhume.errors import CodecError, LimitExceededError, Span, UnsupportedFeatureError
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.blocks import BlockCodec, block_codec, codec_name, context_modifier, sealed_checksum
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.layout import LayoutError, read_leveldb_varint
from exhume.formats.leveldb.layout_facts import NUM_RESTARTS, RESTART
from exhume.formats.leveldb.model import Verdict
from exhume.formats.leveldb.wire import Handle
from exhume.io.activity import note_payload
from exhume.io.source import Source
from exhume.io.values import LargeValue
from exhume.limits import Limits
from exhume.native.kernel import BLOCK_BOMB, BLOCK_FINE, BLOCK_LENGTHS, BLOCK_SHARED, BLOCK_SHORT_KEY
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.codecs.passing import StoredContent


class Rules(NamedTuple):
    """Facts from the footer about all blocks: kind of checksums, `leveldb` or `rocksdb`, format version, number that
    modifies checksums (0: none), and the offset before which each block must end.
    """

    checksum: str
    family: str
    version: int
    base_context: int
    room: int


class BlockOwner(Protocol):
    """The file of a block; see `table_blocks.BlockFile`."""

    source: Source
    limits: Limits

    @property
    def rules(self) -> Rules:
        """What its footer states about all blocks."""


LARGE: Final = 16 << 20
"""Bytes of a block above which it is read in chunks."""

LARGE_AND_SLOW: Final = 64 << 20
"""Bytes of a block above which it is read in chunks, for codecs in `SLOW`."""

SLOW: Final = frozenset(("snappy", "lz4"))
"""Codecs that take longer in chunks."""

LONG: Final = 1 << 20
"""Bytes of a value above which it is not held in memory."""

ENTRY: Final = 1 << 16
"""Bytes that are examined for the lengths of an entry and its key."""

HEAD: Final = 16
"""Bytes at the start of a block that say how it is compressed."""

RUNNING: Final = frozenset(("crc32c", "xxhash32", "xxhash64", "xxh3"))
"""Checksums of blocks that are computed in chunks."""

RESTARTS_IN_CHUNKS: Final = 1 << 22
"""Most restart points of a block that is read in chunks."""

# 64 and 32 bits; _TOP minus (sequence << 8 | type) sorts newer entries first.
_TOP: Final = (1 << 64) - 1
_U32: Final = 0xFFFFFFFF


class LargeBlock:
    """A data block that stays in its file and is read in chunks; otherwise like `table_blocks.TableBlock`."""

    handle: Handle
    source: Source
    codec: str
    verdict: Verdict
    size: int
    """Uncompressed bytes."""

    def __init__(self, handle: Handle, file: BlockOwner, codec: str, verdict: Verdict, content: StoredContent) -> None:
        """Read the block once, to find its uncompressed size and its restart count (in the last 4 bytes).

        `codec` and `verdict` (of its checksum) are only passed on; `content` decompresses it.
        """
        self.handle, self.source, self.codec, self.verdict = handle, file.source, codec, verdict
        self._limits = file.limits
        self._long = min(LONG, file.limits.payload_size)  # bytes above which a value is left in the file
        self._content = content  # decompresses ranges of the block
        self.size, tail = content.tail(NUM_RESTARTS.size)
        # Without a count (a block of fewer than 4 bytes), take the most: then it does not fit.
        count: int = NUM_RESTARTS.unpack(tail)[0] if len(tail) == NUM_RESTARTS.size else _U32
        self.end: int = self.size - NUM_RESTARTS.size - RESTART.size * count
        """Where the entries end."""
        self.fits: bool = self.end >= 0 and count <= RESTARTS_IN_CHUNKS
        """Whether its end is that of a plain block; others are not read in chunks."""
        self.starts: set[int] = set()
        """Where entries start, once they were read."""
        note_payload(self.span, self.size)

    @property
    def span(self) -> Span:
        """The range in the file, with the trailer."""
        return self.source.span(self.handle.offset, self.handle.stop)

    def pieces(self) -> Iterator[bytes]:
        """The uncompressed block in chunks."""
        return self._content.pieces()

    def restarts(self) -> list[int]:
        """The restart points."""
        found = b"".join(self._content.pieces(self.end, self.size - NUM_RESTARTS.size))
        return [one for (one,) in RESTART.iter_unpack(found)]

    def value(self, start: int, size: int) -> LargeValue:
        """Return the value of `size` bytes at offset `start` in the uncompressed block, to be read on request."""
        span = self.span.in_payload(start, start + size)
        return LargeValue(size, lambda: self._content.pieces(start, start + size), self._limits, span)

    def entries(self, rank: int, place: Any) -> tuple[list[tuple[Any, ...]], int, int, int]:
        """Return the entries of the block as `kernel.internal_entries` does: (items, offset where reading stopped,
        problem, offset of the first entry out of order or -1).

        `rank` and `place` become parts of each item.  Values above `LONG` bytes, or above the limit `payload_size`, are
        `LargeValue`.
        """
        from exhume.codecs.passing import ForwardReader

        forward = ForwardReader(self._content.pieces(0, self.end))
        out: list[tuple[Any, ...]] = []
        self.starts = set()
        # `last` is the sort key of the entry before, `budget` the bytes that keys may still have in total.
        previous, last, disorder, budget = b"", (b"", -1), -1, self._limits.structure_size
        while forward.at < self.end:
            # The three lengths, and what they would lead outside of.
            at = forward.at
            found = _lengths(forward.peek(min(ENTRY, self.end - at)))
            if found is None:
                return out, at, BLOCK_LENGTHS, disorder
            shared, fresh, size, lead = found
            if at + lead + fresh + size > self.end:
                return out, at, BLOCK_LENGTHS, disorder
            if shared > len(previous):
                return out, at, BLOCK_SHARED, disorder
            budget -= shared + fresh
            if budget < 0:
                return out, at, BLOCK_BOMB, disorder
            forward.skip(lead)
            # Key and value; a long value is left in the block, to be read on request.
            key = previous[:shared] + b"".join(forward.pieces(fresh))
            value: Any = self.value(forward.at, size) if size > self._long else b"".join(forward.pieces(size))
            forward.skip(at + lead + fresh + size - forward.at)
            self.starts.add(at)
            previous = key
            # The order of the entries: by user key, then newest first.
            try:
                user, sequence, kind = layout.parse_internal_key(key)
            except LayoutError:
                return out, at, BLOCK_SHORT_KEY, disorder
            packed = sequence << 8 | kind
            if disorder < 0 and (user, _TOP - packed) <= last:
                disorder = at
            last = user, _TOP - packed
            out.append((user, _TOP - packed, rank, at, value, place))
        return out, self.end, BLOCK_FINE, disorder


def _lengths(data: bytes) -> tuple[int, int, int, int] | None:
    """Return (shared key bytes, further key bytes, value bytes, bytes that these lengths take) of an entry; None if
    they cannot be read.
    """
    found, at = [], 0
    try:
        for _ in range(3):
            number, at = read_leveldb_varint(data, at, len(data))
            found.append(number)
    except LayoutError:
        return None
    if max(found) > _U32:
        return None
    shared, fresh, size = found
    return shared, fresh, size, at


def read_large(
    file: BlockOwner, handle: Handle, report: Report, dictionary: bytes | None, *, forced: bool = False
) -> LargeBlock | None:
    """Return a block that is read in chunks; None for one that has to be read as a whole, or cannot be read.

    A wrong checksum is reported, unless the block is `forced`: then it was read before, and was too large for memory.
    `dictionary` primes the codec; None if it cannot be read.
    """
    rules = file.rules
    # The trailer and the first bytes determine the codec, and whether the block can be read in chunks.
    source, (offset, size) = file.source, handle
    trailer = source.read_at(offset + size, handle.stop - offset - size)
    _, compression, stored = layout.flat_block_trailer(trailer, 0, len(trailer))
    head = source.read_at(offset, min(size, HEAD))
    try:
        found = block_codec(head, compression, family=rules.family, version=rules.version, dictionary=dictionary)
        content = large_content(source, handle, head, found, file.limits, forced=forced)
    except (CodecError, UnsupportedFeatureError):
        return None
    if content is None:
        return None
    # The checksum takes a pass of its own: a wrong one is reported before the first chunk is read.
    computed = _checksum(file, handle, compression)
    if computed is None:
        verdict = Verdict.NONE
    else:
        verdict = Verdict.GOOD if computed == stored else Verdict.BAD
    try:
        block = LargeBlock(handle, file, codec_name(compression), verdict, content)
    except (CodecError, LimitExceededError, UnsupportedFeatureError):
        return None
    if block.fits and verdict is Verdict.BAD and not forced:
        report(checks.BLOCK_CRC, span=block.span, expected=f"{stored:08x}", actual=f"{computed:08x}")
    return block if block.fits else None


def large_content(
    source: Source, place: tuple[int, int], head: bytes, found: BlockCodec, limits: Limits, *, forced: bool = False
) -> StoredContent | None:
    """The content of stored bytes at `place` (offset and size), to be read in chunks; None if it is not large.

    `head` are the first bytes, `found` is their codec.  `forced` content is read in chunks whatever its size.  Raises
    `CodecError` for a size of Snappy that cannot be read.
    """
    from exhume.codecs.blocks import snappy_size
    from exhume.codecs.passing import StoredContent

    offset, size = place
    # The decompressed size, if it is stated: before the codec's bytes, or by Snappy itself.
    size_of_all = found.size or (snappy_size(head)[0] if found.codec == "snappy" else 0)
    # Codecs that take a dictionary are never read in chunks.
    least = min(LARGE_AND_SLOW if found.codec in SLOW else LARGE, limits.payload_size)
    if found.dictionary or (max(size, size_of_all) <= least and not forced):
        return None

    def chunks(start: int, stop: int) -> Iterator[bytes]:
        return source.chunks(offset + found.start + start, offset + found.start + stop)

    most = limits.expansion_budget(size)
    return StoredContent(found.codec, chunks, size - found.start, max_size=most, size=found.size)


def _checksum(file: BlockOwner, handle: Handle, compression: int) -> int | None:
    """The checksum of a block; None where the table has none."""
    kind, base = file.rules.checksum, file.rules.base_context
    if kind not in RUNNING:
        return None
    running = RunningChecksum(kind)
    for piece in file.source.chunks(handle.offset, handle.offset + handle.size):
        running.update(piece)
    return (sealed_checksum(kind, running, compression) + context_modifier(base, handle.offset)) & _U32


def inflated(stored: bytes | memoryview, span: Span, limits: Limits, least: int) -> bytes | memoryview:
    """The content of a log record, compressed as `stored`; mapped from a temporary file above `least` or `payload_size`
    bytes.

    Raises `CodecError`, and `LimitExceededError` above the limit `expansion`.
    """
    from exhume.codecs.zstd import zstd_stream
    from exhume.io.output.scratch import Spool

    content, most = Spool(min(least, limits.payload_size)), limits.expansion_budget(len(stored))
    for used, part, is_end in zstd_stream([stored]):
        content.add(part)
        if content.size > most:
            raise LimitExceededError(
                "limit expansion exceeded", span=span, expected=f"at most {most}", actual=content.size
            )
        if is_end and used < len(stored):
            raise CodecError("zstd: bytes after the end of the compressed stream")
    return content.take()


def record_pieces(
    source: Source, places: Sequence[tuple[int, int]], start: int, stop: int, *, is_compressed: bool
) -> Iterator[bytes]:
    """The bytes `[start, stop)` of the content of a log record, whose stored bytes are at `places`: (start, end) each.

    Raises `SourceError`, and `CodecError` for a file that changed.
    """
    at = 0  # offset in the content of the next part
    if is_compressed:
        from exhume.codecs.zstd import zstd_stream

        for _, part, _ in zstd_stream(source.read_at(low, high - low) for low, high in places):
            if at < stop and start < at + len(part):
                yield part[max(0, start - at) : stop - at]
            at += len(part)
            if at >= stop:
                return
    else:
        for low, high in places:
            first, last = low + max(0, start - at), min(high, low + stop - at)
            if first < last:
                yield source.read_at(first, last - first)
            at += high - low
