"""The walks over a whole file: `verify`, which reports every broken rule and ends only at broken framing, and
`scan_archive`, which counts.

A block has a length, by which the next one is found (framing), a level (0: data, 1 to 63: index, above: extension), a
compressed payload and a checksum.  Threads examine each block by itself; then one thread adds them in file order to
what concerns several blocks: order of records, references of the index, SHA-256 of the data.

Spec: zs.txt; the rules are in `checks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from exhume.archive import Progress, no_progress
from exhume.codecs.checksums import sha256
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding
from exhume.formats.zs import checks
from exhume.formats.zs.blocks import BlockFile
from exhume.formats.zs.head import kind_of, read_head
from exhume.formats.zs.large import LargeBlock, scan_large
from exhume.formats.zs.layout import MAX_INDEX_LEVEL, SHA256_AT, Header, IndexEntry, RawBlock
from exhume.formats.zs.references import EdgeRecord, References
from exhume.io.files import keep_freed_memory
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.native.kernel import MalformedRecordsError, Scan, scan_records

if TYPE_CHECKING:
    from exhume.formats.zs.search import OpenFile


@dataclass(frozen=True, slots=True)
class ExaminedBlock:
    """Facts about one block, without reading others."""

    offset: int
    size: int
    level: int
    findings: list[Finding] = field(default_factory=list)
    payload: bytes | None = None
    """That of a data block, decompressed; None if it was not read or is damaged."""
    scan: Scan | None = None
    """Its records: number, places of the first and the last, and of the first that is out of order."""
    entries: list[IndexEntry] | None = None
    """Those of an index block; None if they could not be read."""
    large: LargeBlock | None = None
    """A data block that is too large for memory; it is examined when it is added."""


def examine(file: BlockFile, block: RawBlock | LargeBlock, *, quick: bool) -> ExaminedBlock:
    """Check one block by itself: checksum, decompression, syntax, order.  With `quick`, data blocks are not
    decompressed."""
    found = ExaminedBlock(block.offset, block.size, block.level)
    try:
        if isinstance(block, LargeBlock):
            block.check()
        else:
            file.check(block)
        # Nothing more can be checked of an extension, or with an unknown codec.
        if not (block.is_index or block.is_data) or file.decoder is None or (quick and block.is_data):
            return found
        if block.is_index:
            payload = bytes(block.whole()) if isinstance(block, LargeBlock) else file.unpack(block)
            return _examine_index(file, block, payload)
        data = None if isinstance(block, LargeBlock) else file.small_payload(block)
        if data is None:
            large = LargeBlock(file, block.offset, block.size)
            return ExaminedBlock(block.offset, block.size, block.level, large=large)
        return _examine_data(file, block, data)
    except ExhumeError as error:
        found.findings.append(Finding.from_error(error))
        return found


def _examine_data(file: BlockFile, block: RawBlock | LargeBlock, payload: bytes) -> ExaminedBlock:
    """Split a decompressed data block into records and check their order."""
    try:
        scan = scan_records(payload)
    except MalformedRecordsError as error:
        # The payload itself decompressed: it still counts for the SHA-256.
        problem = Finding.from_error(file.records_error(block, error, len(payload)))
        return ExaminedBlock(block.offset, block.size, block.level, [problem], payload)
    findings: list[Finding] = []
    if scan.records == 0:
        findings.append(checks.DATA_EMPTY.finding(span=file.span(block)))
    if scan.unsorted >= 0:
        before, here = payload[slice(*scan.previous)], payload[slice(*scan.current)]
        findings.append(
            checks.RECORD_ORDER.finding(
                f"record {scan.unsorted}", span=file.payload_span(block, *scan.current), expected=before, actual=here
            )
        )
    return ExaminedBlock(block.offset, block.size, block.level, findings, payload, scan)


def _examine_index(file: BlockFile, block: RawBlock | LargeBlock, payload: bytes) -> ExaminedBlock:
    """Parse an index block and check the order of its keys."""
    entries = file.index_entries(block, payload)
    findings: list[Finding] = []
    if not entries:
        findings.append(checks.INDEX_EMPTY.finding(span=file.span(block)))
    for before, here in pairwise(entries):
        if here.key < before.key:
            span = file.payload_span(block, here.position, here.position + 1)
            findings.append(checks.KEY_ORDER.finding(span=span, expected=before.key, actual=here.key))
    return ExaminedBlock(block.offset, block.size, block.level, findings, None, None, entries)


def verify_source(
    source: Source | Tree,
    *,
    limits: Limits = DEFAULT_LIMITS,
    quick: bool = False,
    jobs: int = 1,
    progress: Progress = no_progress,
) -> Iterator[Finding]:
    """Yield every broken rule of a ZS file, in file order; rules about the file as a whole come last.

    `quick` leaves out everything that needs records: their order, keys against records, the SHA-256.
    """
    if isinstance(source, Tree):
        yield checks.NOT_ZS.finding("a directory", span=Span(source.name, 0, 0))
        return
    head = read_head(source, limits)
    for problem in head.problems:
        yield Finding.from_error(problem)
    for key in head.repeated_keys:
        yield checks.METADATA_TWICE.finding(span=head.metadata_span, actual=key)
    if head.blocks_offset is None:
        return
    header = head.header or Header(0, 0, 0, b"", b"", b"")  # blocks can be framed without it
    file = BlockFile(source, header, limits)
    yield from _BlockWalk(file, head.blocks_offset, known=head.header is not None, quick=quick).run(jobs, progress)


class _BlockWalk:
    """One pass over the blocks, which collects what concerns several of them."""

    def __init__(self, file: BlockFile, start: int, *, known: bool, quick: bool) -> None:
        """Start at the first block. `known` is whether the header's sizes can be trusted."""
        self.file = file
        self.start = self.end = start  # `end`: of the last block so far
        self.known = known
        self.quick = quick
        self.references = References(file)
        self.digest = sha256()
        self.complete = True  # whether framing reached the end of the file
        self.data_whole = not quick and file.decoder is not None  # whether all data blocks were decompressed
        self.index_whole = file.decoder is not None  # whether all index blocks were read

    def run(self, jobs: int, progress: Progress) -> Iterator[Finding]:
        """Yield all findings about blocks; up to `jobs` threads examine them."""
        file = self.file

        def work(item: RawBlock | LargeBlock | ExhumeError) -> ExaminedBlock | ExhumeError:
            """Examine a block; an error of framing is passed on in its place."""
            return item if isinstance(item, ExhumeError) else examine(file, item, quick=self.quick)

        keep_freed_memory()  # for the buffers of the blocks, which are allocated and freed again
        for found in map_ordered(work, self._blocks(), jobs):
            if isinstance(found, ExhumeError):
                self.complete = False  # framing ended: the blocks after this are unknown
                yield Finding.from_error(found)
            else:
                yield from found.findings
                yield from self._add(found)
                self.end = found.offset + found.size
                progress(self.end, file.source.size, "bytes")
            del found  # so that the memory of its payload can be used for the next one
        if not self.known:
            return
        yield from self.references.finish(
            self.end, complete=self.complete, judge_unreferenced=self.complete and self.index_whole
        )
        if self.complete and self.data_whole and self.digest.digest() != file.header.data_sha256:
            yield checks.DATA_SHA256.finding(
                span=file.source.span(*SHA256_AT),
                expected=file.header.data_sha256.hex(),
                actual=self.digest.hexdigest(),
            )

    def _blocks(self) -> Iterator[RawBlock | LargeBlock | ExhumeError]:
        """Yield the blocks, and at last the error if framing ends before the file does."""
        try:
            yield from self.file.walk_lean(self.start)
        except ExhumeError as error:
            yield error

    def _add(self, found: ExaminedBlock) -> Iterator[Finding]:
        """Enter a block in the references and the digest of the data, and yield the findings that follow."""
        references = self.references
        yield from references.add_block(found.offset, found.size, found.level)
        # Large data block; data block; index block; index block that could not be read.  Extensions need nothing else.
        # `add_unread`: nothing is known of its records, so the keys that refer to it are not compared with any.
        if found.large is not None and found.level == 0:
            yield from self._add_large(found.large)
        elif found.level == 0:
            if found.payload is None:
                self.data_whole = False
            else:
                self.digest.update(found.payload)
            if found.scan is None or found.payload is None or found.scan.records == 0:
                yield from references.add_unread(found.offset)
            else:
                view = memoryview(found.payload)
                first, last = view[slice(*found.scan.first)], view[slice(*found.scan.last)]
                block = found.offset, found.size
                yield from references.add_data(
                    EdgeRecord.of(first, block, last=False), EdgeRecord.of(last, block, last=True)
                )
        elif found.entries is not None:
            yield from references.add_index(found.offset, found.size, found.level, found.entries)
        elif found.level <= MAX_INDEX_LEVEL:
            self.index_whole = False
            yield from references.add_unread(found.offset)

    def _add_large(self, block: LargeBlock) -> Iterator[Finding]:
        """Examine the payload of a large data block, and add it."""
        whole = True
        try:
            found = scan_large(block, self.digest.update)
        except ExhumeError as error:
            found, whole = None, error.code in _MALFORMED
            yield Finding.from_error(error)
        else:
            if found is None:
                yield checks.DATA_EMPTY.finding(span=block.span)
        self.data_whole &= whole  # the payload counts for the SHA-256 even if its records are malformed
        if found is None:
            yield from self.references.add_unread(block.offset)
            return
        if found.previous is not None and found.current is not None:
            before, here = found.previous, found.current
            span = self.file.payload_span(block, here.start, here.start + here.size)
            detail = f"record {found.unsorted}"
            yield checks.RECORD_ORDER.finding(detail, span=span, expected=before.head, actual=here.head)
        place = block.offset, block.size
        first = EdgeRecord.of(found.first.head, place, last=False, size=found.first.size)
        last = EdgeRecord.of(found.last.head, place, last=True, size=found.last.size)
        yield from self.references.add_data(first, last)


_MALFORMED = (checks.RECORD_CUT.code, checks.INTEGER_FORM.code)
"""Codes of rules about records: if one is broken, the payload itself was decompressed."""


def scan_archive(archive: OpenFile, jobs: int = 1) -> dict[str, Any]:
    """Return statistics of an archive for `exhume stats`: blocks, records and bytes, also by level.

    `jobs` threads decompress; sizes are in bytes, `ratio` is decompressed to stored data.

    Propagates errors from reading the whole file.
    """
    file = archive.file

    def examine(block: RawBlock) -> tuple[int, int, int, int]:
        """Return level and stored size of a block, the size of its payload, and the number of records in it."""
        if not (block.is_data or block.is_index):
            file.check(block)
            return block.level, block.size, 0, 0
        payload = file.payload(block)
        try:
            count = scan_records(payload).records if block.is_data else 0
        except MalformedRecordsError as error:
            raise file.records_error(block, error, len(payload)) from error
        return block.level, block.size, len(payload), count

    keep_freed_memory()  # as in `_BlockWalk`
    levels: dict[int, dict[str, int]] = {}
    records = payload_total = stored_total = 0
    payload_sizes: list[int] = [0, 0]  # smallest (0: none yet) and largest of a data block
    # Add up the blocks by level.
    for level, stored, size, count in map_ordered(examine, file.walk(archive.header.blocks_offset), jobs):
        row = levels.setdefault(level, {"level": level, "blocks": 0, "stored_bytes": 0, "payload_bytes": 0})
        row["blocks"] += 1
        row["stored_bytes"] += stored
        row["payload_bytes"] += size
        if level == 0:
            records += count
            smallest, largest = payload_sizes
            payload_sizes = [min(smallest or size, size), max(largest, size)]
            payload_total += size
            stored_total += stored
    return {
        "root_index_level": archive.index.root().level,
        "records": records,
        "data_payload_bytes": payload_total,
        "data_stored_bytes": stored_total,
        "ratio": round(payload_total / stored_total, 3) if stored_total else None,
        "smallest_data_payload": payload_sizes[0],
        "largest_data_payload": payload_sizes[1],
        "levels": [{"kind": kind_of(level), **row} for level, row in sorted(levels.items())],
    }
