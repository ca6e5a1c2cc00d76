"""Reading ZS files: whole, by range, by prefix; in one thread or several; from disk or over the network.

A file is blocks: data blocks with records (compressed, each with a checksum), and index blocks that refer to them by
key.  A range of records is found by the index, and read block by block; a slice is the part of a block that is in
range.  `piece` is a slice, `found` a block that may have records in range, with its payload if that is in the cache.

Spec: zs.txt; order of records and keys: "Key invariants".
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from exhume.archive import Entry, Progress, RecordArchive, no_progress
from exhume.choices import check_keywords
from exhume.errors import ExhumeError, SourceError, Span
from exhume.findings import Finding, deduplicated
from exhume.formats.zs import checks
from exhume.formats.zs.blocks import FIRST_READ_AHEAD, BlockFile
from exhume.formats.zs.framing import framing, split_in_parts
from exhume.formats.zs.head import ZsInfo, kind_of, read_head
from exhume.formats.zs.large import LargeBlock
from exhume.formats.zs.layout import Header, IndexEntry, RawBlock
from exhume.formats.zs.search import FoundBlock, Index, LeftOut, RecordBounds, Slice, large_slices, make_bounds
from exhume.io.caching import Lru
from exhume.io.files import keep_freed_memory
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.native.kernel import MalformedRecordsError, build_uleb128, find_range, record_values, scan_records
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.zs.arrow import ZsTableOptions
    from exhume.formats.zs.search import ByteSink
    from exhume.layout.sections import SectionMap

T = TypeVar("T")

PAYLOAD_CACHE = 16 << 20
"""Decompressed bytes of data blocks kept for the next lookup."""

LOOKUP_SIZE = 4 << 20
"""Up to this many stored bytes, a range is read at once and kept; a larger one is streamed."""


class ZsRecord(NamedTuple):
    """A record and its origin: its block in the file, its number in the block and its offset in the payload."""

    data: bytes
    block: Span
    ordinal: int
    payload_offset: int

    @property
    def span(self) -> Span:
        """The record's bytes (without their length) in the decompressed payload of its block."""
        return self.block.in_payload(self.payload_offset, self.payload_offset + len(self.data))


class ZsArchive(RecordArchive):
    """An open ZS file: a sorted multiset of byte strings.

    `start`, `stop` and `prefix` are intersected everywhere: start <= record < stop, and record starts with prefix.
    Reading needs memory for a few blocks, whatever the size of the file.  Thread-safe; iterators are not.
    """

    format = "zs"
    _offered = "count dump map_blocks metadata records"  # what `dir` lists in addition to what all archives have

    def __init__(self, source: Source, *, limits: Limits = DEFAULT_LIMITS) -> None:
        """Read the header.  Raises ZS-101..103, ZS-201, ZS-301..303 and ZS-401..403."""
        super().__init__(source, limits=limits)
        self.source: Source = source
        head = read_head(source, limits)
        if head.problems:
            raise head.problems[0]
        if head.header is None or head.metadata is None:
            raise checks.HEADER_LAYOUT.error(span=source.span(0, source.size))
        self.header: Header = head.header
        self.metadata: dict[str, Any] = head.metadata
        self.file: BlockFile = BlockFile(source, head.header, limits)
        self.stop_offset: int | None = None
        """Offset where reading a range ends at the latest, set to read the file in parts; None: where the range
        ends."""
        self._head = head.data  # the first bytes of the file
        self.index: Index = Index(self.file, self._from_head)
        # By offset: block, payload, and whether that is all of the payload.
        self._cache: Lru[int, tuple[RawBlock, bytes, bool]] = Lru(PAYLOAD_CACHE)

    def _from_head(self, start: int, end: int) -> bytes | None:
        """A range of the bytes that were read at opening, or None."""
        return self._head[start:end] if end <= len(self._head) else None

    # What is in it

    def info(self) -> ZsInfo:
        """The header, and the level of the root index block (the one thing read here)."""
        level: int | None
        try:
            level = self.index.root().level
        except SourceError:
            raise
        except ExhumeError:
            level = None
        return ZsInfo(self.header, self.metadata, level)

    def entries(self) -> Iterator[Entry]:
        """Yield every block in file order, extension blocks included; sizes are those on disk."""
        counts = dict.fromkeys(("data", "index", "extension"), 0)
        for offset, size, level in self.file.frames(self.header.blocks_offset):
            kind = kind_of(level)
            yield Entry(
                kind,
                ordinal=counts[kind],
                offset=self.source.origin + offset,
                stored_size=size,
                details={"level": level},
            )
            counts[kind] += 1

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """Magic and header, then block after block."""
        from exhume.formats.zs.sections import section_map

        return section_map(self)

    def outline(self) -> SectionMap:
        """The sections according to the index, without reading data blocks."""
        from exhume.formats.zs.sections import outline

        return outline(self)

    def stats(self, *, jobs: int = 1) -> dict[str, Any]:
        """Blocks, records and sizes, by level; reads and decompresses everything."""
        from exhume.formats.zs.verify import scan_archive

        return scan_archive(self, jobs)

    def content_digest(self) -> str:
        """The SHA-256 that identifies the records, whatever the codec, block size and index."""
        return f"sha256:{self.header.data_sha256.hex()}"

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        """Every broken rule; see `exhume.formats.zs.verify`."""
        from exhume.formats.zs.verify import verify_source

        return deduplicated(verify_source(self.source, limits=self.limits, quick=quick, jobs=jobs, progress=progress))

    # Records

    def records(
        self, start: bytes | None = None, stop: bytes | None = None, prefix: bytes | None = None, *, jobs: int = 1
    ) -> Iterator[bytes]:
        """Records in ascending order.  With `jobs` above 1 that many threads decompress in advance (0: one per core).

        Raises, when the damaged block is reached: ZS-202, ZS-304..312, ZS-33x from the index, ZS-501.
        """
        for piece in self._slices(make_bounds(start, stop, prefix), jobs):
            for part in self._split(piece):
                yield from part

    def __iter__(self) -> Iterator[bytes]:
        return self.records()

    def records_with_origin(
        self,
        start: bytes | None = None,
        stop: bytes | None = None,
        prefix: bytes | None = None,
        *,
        jobs: int = 1,
    ) -> Iterator[ZsRecord]:
        """Records in ascending order, each with its block and its place in it."""
        for piece in self._slices(make_bounds(start, stop, prefix), jobs):
            span = self.file.span(piece.block)
            # `before`: records of the block before this payload, if it is only a part; then those before the range.
            ordinal = piece.before + scan_records(memoryview(piece.payload)[: piece.low]).records
            at = piece.base + piece.low  # offset in the payload of the next record
            for part in self._split(piece):
                for record in part:
                    at += len(build_uleb128(len(record)))
                    yield ZsRecord(record, span, ordinal, at)
                    ordinal += 1
                    at += len(record)

    def to_arrow(self, **options: Unpack[ZsTableOptions]) -> Any:
        """Records, whole or split into fields, as a table; see `exhume.formats.zs.arrow.to_arrow`.

        Options: `columns`, `batch_rows`, `losses`, `start`, `stop`, `prefix`, `text`, `split`, `errors`, `jobs`.
        """
        from exhume.formats.zs.arrow import to_arrow

        check_keywords("to_arrow()", options, to_arrow)
        return to_arrow(self, **options)

    if TYPE_CHECKING:  # with the options of the format

        def to_dataset(self, *, cache_bytes: int | None = None, **options: Unpack[ZsTableOptions]) -> Any: ...
        def arrow_tables(self, **options: Unpack[ZsTableOptions]) -> Mapping[str, Callable[[], Any]]: ...

    def map_blocks(
        self,
        function: Callable[[list[bytes]], T],
        start: bytes | None = None,
        stop: bytes | None = None,
        prefix: bytes | None = None,
        *,
        jobs: int = 1,
    ) -> Iterator[T]:
        """Yield `function(records)` for the records in range of each data block, in order, called on `jobs` threads."""

        def call(piece: Slice) -> T:
            return function([record for part in self._split(piece) for record in part])

        return (result for _, result in self._map(call, make_bounds(start, stop, prefix), jobs))

    def map_values(
        self,
        function: Callable[[bytes | memoryview, bytes], T],
        start: bytes | None = None,
        stop: bytes | None = None,
        prefix: bytes | None = None,
        *,
        jobs: int = 1,
        left_out: LeftOut | None = None,
    ) -> Iterator[T]:
        """Yield `function(values, bounds)` for each data block: its records in range, joined, and their bounds (int64).

        `left_out` is called with the error of each long record that is left out; without it, the error is raised.
        """

        def call(piece: Slice) -> T:
            """Apply the function to the records of a slice, given as their bytes and the bounds of each."""
            if piece.record is not None:
                return function(piece.content(), array("q", (0, piece.size)).tobytes())
            try:
                return function(*record_values(piece.view))
            except MalformedRecordsError as error:
                raise self._malformed(piece, error) from error

        return (result for _, result in self._map(call, make_bounds(start, stop, prefix), jobs, left_out=left_out))

    def dump(
        self,
        out: ByteSink,
        start: bytes | None = None,
        stop: bytes | None = None,
        prefix: bytes | None = None,
        *,
        terminator: bytes = b"\n",
        length_prefixed: str | None = None,
        jobs: int = 1,
        progress: Progress = no_progress,
    ) -> int:
        """Write records to `out`, each followed by the terminator or preceded by its length (`uleb128`, `u64le`).

        Returns the number of bytes written.  Raises the same errors as `records`; bytes written before stay written.
        """
        shape = framing(terminator, length_prefixed)

        def call(piece: Slice) -> Iterable[bytes | memoryview]:
            """Return the records of a slice in the requested framing, in parts."""
            if piece.record is not None:
                before, after = shape.around(piece.size)
                return chain((before,), piece.record.pieces(piece.size), (after,))
            try:
                return list(shape.unframe_parts(piece.view))
            except MalformedRecordsError as error:
                raise self._malformed(piece, error) from error

        written = 0
        for block, data in self._map(call, make_bounds(start, stop, prefix), jobs, validate=True):
            for part in data:
                out.write(part)
                written += len(part)
                del part
            del data  # released before the next block needs as much memory
            progress(block.end, self.source.size, "bytes")
        return written

    def count(
        self, start: bytes | None = None, stop: bytes | None = None, prefix: bytes | None = None, *, jobs: int = 1
    ) -> int:
        """Count the records in range without making objects of them, on `jobs` threads.  Raises as `records` does."""

        def call(piece: Slice) -> int:
            """Return the number of records in a slice."""
            if piece.record is not None:
                return 1
            try:
                return scan_records(piece.view).records
            except MalformedRecordsError as error:
                raise self._malformed(piece, error) from error

        return sum(number for _, number in self._map(call, make_bounds(start, stop, prefix), jobs))

    def _malformed(self, piece: Slice, error: MalformedRecordsError) -> ExhumeError:
        """Return the error of a rule for a slice that does not split; `error` counts from its start."""
        moved = MalformedRecordsError(error.reason, piece.base + piece.low + error.offset, error.length)
        return self.file.records_error(piece.block, moved, piece.base + len(piece.payload))

    def _split(self, piece: Slice) -> Iterator[list[bytes]]:
        """Yield the records of a slice, a bounded number at a time."""
        try:
            yield from split_in_parts(piece.view)
        except MalformedRecordsError as error:
            raise self._malformed(piece, error) from error

    # Blocks

    def _slices(self, bounds: RecordBounds, jobs: int) -> Iterator[Slice]:
        """Yield the slices of payloads that have records in range; threads check, decompress and cut."""
        return (piece for _, piece in self._map(lambda piece: piece, bounds, jobs))

    def _map(
        self, function: Callable[[Slice], T], bounds: RecordBounds, jobs: int, **how: Any
    ) -> Iterator[tuple[RawBlock | LargeBlock, T]]:
        """Yield each block in range with the result of `function` for its slice, in order, called on `jobs` threads.

        A large block has several slices, for which `function` is called here, one by one; `how` are the options of
        `large_slices`.
        """
        if bounds.empty:
            return

        def work(found: FoundBlock) -> tuple[RawBlock | LargeBlock, list[T], bool]:
            """Apply the function to the records of a block; a large block is returned without results."""
            block = found.block
            cut = None if isinstance(block, LargeBlock) else self._cut(found, block, bounds)
            if cut is None:
                return LargeBlock(self.file, block.offset, block.size), [], False
            payload, low, high = cut
            results = [function(Slice(block, payload, low, high))] if low < high else []
            return block, results, high < len(payload)  # whether the range ends in this block

        keep_freed_memory()  # for the buffers of the blocks, which are allocated and freed again
        for block, results, last in map_ordered(work, self._find(bounds), jobs):
            if isinstance(block, LargeBlock):
                for piece in large_slices(block, bounds, **how):
                    if piece is None:  # the range ends in this block
                        return
                    yield block, function(piece)
                    del piece
            while results:  # removed from the list, so that its memory can be used for the next block
                yield block, results.pop()
            if last:
                return

    def _cut(self, found: FoundBlock, block: RawBlock, bounds: RecordBounds) -> tuple[bytes, int, int] | None:
        """Return a payload and the part `[low, high)` of it that is in range; None for a large block.

        A lookup decodes only as much as it needs, so the payload may be the beginning of all of it.
        """
        payload, whole = found.payload, found.whole
        fresh = payload is None  # whether it was not in the cache
        if payload is None:
            payload, whole = self.file.payload_until(block, bounds.high if found.remember else None)
            if payload is None:
                return None
        low, high = self._range(block, payload, bounds)
        if not whole and high == len(payload):  # an earlier lookup decoded too little of it
            payload = self.file.small_payload(block)
            if payload is None:
                return None
            whole = fresh = True
            low, high = self._range(block, payload, bounds)
        if fresh and found.remember:
            self._cache.put(block.offset, (block, payload, whole), len(payload) + block.size)
        return payload, low, high

    def _range(self, block: RawBlock, payload: bytes, bounds: RecordBounds) -> tuple[int, int]:
        """Return the part of a payload that is in range.  Raises ZS-309, ZS-311 and ZS-312."""
        if not payload:
            raise checks.DATA_EMPTY.error(span=self.file.span(block))
        try:
            return find_range(payload, bounds.low, bounds.high)
        except MalformedRecordsError as error:
            raise self.file.records_error(block, error, len(payload)) from error

    def _find(self, bounds: RecordBounds) -> Iterator[FoundBlock]:
        """Yield the data blocks that can have records in range.

        Without bounds, the index is not read, so that a file with a broken index can still be dumped.
        """
        if bounds == RecordBounds():
            yield from self._stream(self.header.blocks_offset)
            return
        plan = self.index.plan(bounds)
        if not plan.entries:
            return
        for entry in plan.entries:
            self.index.check_reference(entry)
        # Whether all blocks of the range are known: then few of them are read at once, and kept.
        bounded = plan.complete and bounds.high is not None
        if bounded and sum(entry.size for entry in plan.entries) <= LOOKUP_SIZE:
            yield from self._look_up(plan.entries)
            return
        start = plan.entries[0].offset
        end = plan.entries[-1].offset + plan.entries[-1].size
        last = end if bounded else self.stop_offset
        # Without a known end, the first read takes one block more, as a rule the last one; each further read is
        # twice as large.
        ahead = 0 if bounds.high is None or last is not None else FIRST_READ_AHEAD + 2 * (end - start)
        yield from self._stream(start, last, read_ahead=ahead)

    def _stream(self, start: int, end: int | None = None, *, read_ahead: int = 0) -> Iterator[FoundBlock]:
        """Yield data blocks in file order; the checksums of other blocks are checked as well."""
        for block in self.file.walk_lean(start, end, read_ahead=read_ahead):
            if block.is_data:
                yield FoundBlock(block)
            elif isinstance(block, LargeBlock):
                block.check()
            else:
                self.file.check(block)

    def _look_up(self, entries: list[IndexEntry]) -> Iterator[FoundBlock]:
        """Yield the data blocks of these entries, from the cache or read together."""
        found: dict[int, FoundBlock] = {}
        missing: list[IndexEntry] = []
        for entry in entries:
            cached = self._cache.get(entry.offset)
            if cached is not None and cached[0].size == entry.size:
                found[entry.offset] = FoundBlock(*cached, remember=True)
            else:
                missing.append(entry)
        ranges = [(entry.offset, entry.offset + entry.size) for entry in missing]
        held = [self._from_head(*span) for span in ranges]  # None: not among the first bytes
        wanted = [span for span, data in zip(ranges, held, strict=True) if data is None]
        fresh = iter(self.source.read_many(wanted) if wanted else ())
        for entry, data in zip(missing, held, strict=True):
            block = self.file.parse_exact(next(fresh) if data is None else data, entry.offset, entry.size)
            self.index.check_level(block, 0)
            found[entry.offset] = FoundBlock(block, remember=True)
        for entry in entries:
            yield found[entry.offset]


def open_archive(source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> ZsArchive:
    """Open a ZS file; raise as `ZsArchive` does."""
    if isinstance(source, Tree):
        raise checks.NOT_ZS.error("a directory", span=Span(source.name, 0, 0))
    return ZsArchive(source, limits=limits)
