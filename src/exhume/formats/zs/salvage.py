"""Rebuilding damaged and unfinished ZS files: every intact data block is kept; index and header are rebuilt.

After damage, the walk continues at the next block that an intact index names, or else at the next position where a
length, a level and a matching CRC-64 are found (a block is a length, a level, a payload and a checksum).

`head` is the part before the first block, `recovery` the result so far; `hints` has the size and level of the blocks
that the index names, by offset, and `offsets` these offsets in order; `decoded` is a data block's payload and what
`scan_records` returns for it, or its fault; `codec_known`: the header names the codec.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import starmap
from pathlib import Path
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.codecs.checksums import crc64_xz, sha256
from exhume.counts import counted
from exhume.errors import ExhumeError, SourceError
from exhume.formats.zs import checks
from exhume.formats.zs.blocks import BlockFile, named_blocks
from exhume.formats.zs.framing import split_in_parts
from exhume.formats.zs.head import Head, kind_of, read_head
from exhume.formats.zs.layout import (
    LENGTH_SIZE,
    Header,
    RawBlock,
    ShortBlockError,
    codec_field,
    find_block,
    parse_block,
)
from exhume.formats.zs.layout_facts import CRC, DECODERS, ENVELOPE_SIZE, FIXED_HEADER, STORED_CODECS
from exhume.formats.zs.sorting import ExternalSorter
from exhume.formats.zs.writer import ZsWriter
from exhume.io.jsonout import dump_pieces
from exhume.io.output.atomic import AtomicFile
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.native.kernel import MalformedRecordsError, scan_records
from exhume.recovery import Outcome, SalvageMode, SalvageReport, VerifiedBy
from exhume.tuples import NamedTuple

LARGEST_GUESS = 16 << 20
"""Size in bytes of the largest block that is searched for by its checksum alone."""

SEARCH_STEP = 8 << 20
"""Bytes searched at once."""

NEAR = 1 << 16
"""If the next block that an index names is at most this many bytes away, the bytes before it are searched as well."""


@dataclass(frozen=True, slots=True)
class KeptBlock:
    """A data block whose records survive: its place in the file, and how many records it has."""

    offset: int
    size: int
    records: int


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range of the file and its outcome; `content`: what it is, `reason` and `code` (of a rule): why it is lost."""

    start: int
    end: int
    outcome: Outcome
    content: str
    reason: str = ""
    code: str | None = None


@dataclass(slots=True)
class Recovery:
    """The result of a walk over a damaged file."""

    file: BlockFile
    metadata: dict[str, Any]
    header_is_intact: bool
    """Whether the checksum of the header matches."""
    unreadable: str = field(default="", init=False)
    """The part before the first block that could not be read: `headers`, `metadata objects` or "" (all was read)."""
    kept: list[KeptBlock] = field(default_factory=list)  # in file order
    ranges: list[FileRange] = field(default_factory=list)  # all of the file, in order
    notes: list[str] = field(default_factory=list)
    sorted: bool = True  # whether the records of `kept` are in order
    lost_blocks: int = 0  # data blocks, as far as they are known
    digest: bytes = b""  # SHA-256 of the payloads of `kept`
    differs_from_header: bool = False
    """Whether all blocks are intact, but their data does not match the SHA-256 in the header."""


def salvage(
    source: Source,
    output: Path,
    *,
    mode: SalvageMode = SalvageMode.ARCHIVE,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
) -> SalvageReport:
    """Write the records of all intact data blocks as a new ZS file, or as JSON lines; see `SalvageReport`."""
    recovery = recover(source, limits, progress, jobs)
    report = SalvageReport("zs", str(output), notes=recovery.notes)
    if recovery.kept:
        if mode is SalvageMode.RECORDS:
            _write_lines(recovery, output, jobs)
        else:
            _write_archive(recovery, output, jobs)
            report.digest = f"sha256:{recovery.digest.hex()}" if recovery.sorted else ""
        # The checksums of blocks do not cover codec and metadata: the checksum of the header has to match as well.
        proven = recovery.header_is_intact and not recovery.differs_from_header
        report.set_verified_by(VerifiedBy.CHECKSUMS if proven else VerifiedBy.STRUCTURE)
    report.add_recovered("records", sum(kept.records for kept in recovery.kept))
    report.add_recovered("data blocks", len(recovery.kept))
    if recovery.lost_blocks:
        report.add_lost("data blocks", recovery.lost_blocks)
    nothing_written = not (recovery.kept or recovery.header_is_intact)
    if recovery.unreadable == "headers" or nothing_written:
        report.add_lost("headers")
        recovery.ranges[0] = replace(recovery.ranges[0], outcome=Outcome.LOST)
    elif recovery.unreadable:
        report.add_lost(recovery.unreadable)
    for part in recovery.ranges:
        report.add_span(source.span(part.start, part.end), part.outcome, part.content, part.reason, part.code)
    return report


def recover(
    source: Source, limits: Limits = DEFAULT_LIMITS, progress: Progress = no_progress, jobs: int = 1
) -> Recovery:
    """Find every intact block of a damaged file; nothing is written."""
    head = read_head(source, limits)
    header, trusted = _trusted_header(head)
    start = header.blocks_offset if trusted else _first_block(source, head)
    file = BlockFile(source, header, limits)
    intact = trusted and not any(problem.code == checks.HEADER_CRC.code for problem in head.problems)
    recovery = Recovery(file, head.metadata or {}, intact, notes=[problem.message for problem in head.problems])
    if head.metadata is None:
        recovery.unreadable = "headers" if head.header is None else "metadata objects"
    if not trusted:
        recovery.notes.append("the header is damaged: codec and first block were found by trial")
    hints = named_blocks(file) if trusted else {}
    _walk(recovery, start, hints, progress, jobs, codec_known=trusted)
    if trusted:
        _compare_with_header(recovery)
    return recovery


def _compare_with_header(recovery: Recovery) -> None:
    """Correct the losses by the header: its SHA-256 may prove that none occurred, its file length that some did."""
    header, size = recovery.file.header, recovery.file.source.size
    if recovery.digest == header.data_sha256:
        recovery.notes.append("the recovered data matches the SHA-256 in the header: no record is missing")
        recovery.lost_blocks = 0
        recovery.ranges = [
            replace(one, outcome=Outcome.IGNORED) if one.outcome is Outcome.LOST else one for one in recovery.ranges
        ]
    elif recovery.header_is_intact and header.file_size > size:
        recovery.notes.append(
            f"the file ends {counted(header.file_size - size, 'bytes')} before the length that its header states"
        )
        recovery.lost_blocks = max(1, recovery.lost_blocks)
    elif recovery.header_is_intact and header.file_size == size and not recovery.lost_blocks:
        recovery.differs_from_header = True
        recovery.notes.append("every block is intact, but the data does not match the SHA-256 in the header")


def _trusted_header(head: Head) -> tuple[Header, bool]:
    """Return the header, and whether its codec and length can be relied on; all zeros if it is not readable."""
    if head.header is not None and head.header.codec in DECODERS:
        return head.header, True
    unknown = Header(0, 0, 0, b"", codec_field("none"), b"")
    return (head.header or unknown), False


def _first_block(source: Source, head: Head) -> int:
    """Return where to start the search when the header cannot be relied on."""
    if head.blocks_offset is not None:
        return head.blocks_offset
    return min(source.size, ENVELOPE_SIZE + FIXED_HEADER.size)


class _FileRange(NamedTuple):
    """A range `[start, end)`: the intact block there, if there is one, with the file that decodes it."""

    start: int
    end: int
    block: RawBlock | None
    file: BlockFile


def _walk(
    recovery: Recovery,
    start: int,
    hints: dict[int, tuple[int, int]],
    progress: Progress,
    jobs: int,
    *,
    codec_known: bool,
) -> None:
    """Walk all blocks; add kept and lost blocks, and the outcome of every range, to `recovery`."""
    recovery.ranges.append(FileRange(0, start, Outcome.REBUILT, "header"))
    digest = sha256()
    last: bytes | None = None  # the last record so far
    kept: dict[tuple[int, int], int] = {}  # by checksum and size: offset of the first such data block
    # A file longer than its header states has something twice: a repeated block must not duplicate records.
    size = recovery.file.header.file_size
    excess = recovery.file.source.size - size if codec_known and size else 0  # bytes too many, which copies may be
    offsets = sorted(hints)
    found = _found(recovery, start, offsets, codec_known)
    for one, decoded in map_ordered(lambda one: (one, _decode(one)), found, jobs):
        if one.block is None:
            _lose(recovery, one.start, one.end, hints, offsets)
        elif (copied := _copied(one.block, decoded, hints, kept, excess)) is not None:
            excess -= one.block.size
            if copied in hints and one.start in hints:  # what the index names here was overwritten
                recovery.lost_blocks += 1
                why = f"a copy of the data block at {recovery.file.source.origin + copied}"
                recovery.ranges.append(FileRange(one.start, one.end, Outcome.LOST, "data block", why))
            else:
                why = "it is there already"
                recovery.ranges.append(FileRange(one.start, one.end, Outcome.IGNORED, "repeated block", why))
        else:
            problem = None
            if decoded is not None:
                kept.setdefault((one.block.crc, one.block.size), one.start)
                problem, last = _keep_block(recovery, one.block, decoded, digest, last)
            if problem is not None:
                recovery.lost_blocks += 1
                what = FileRange(one.start, one.end, Outcome.LOST, "data block", problem.message, problem.code)
            else:
                other = Outcome.REBUILT if one.block.is_index else Outcome.IGNORED
                outcome = Outcome.RECOVERED if one.block.is_data else other
                what = FileRange(one.start, one.end, outcome, f"{kind_of(one.block.level)} block")
            recovery.ranges.append(what)
            progress(one.end, recovery.file.source.size, "bytes")
    recovery.digest = digest.digest()


def _found(recovery: Recovery, start: int, offsets: list[int], codec_known: bool) -> Iterator[_FileRange]:
    """Yield the ranges of the file, in order; the codec is guessed with the first data block, unless it is known."""
    file, source = recovery.file, recovery.file.source
    at = start
    while at < source.size:
        block = _intact(file, at)
        if block is None:
            resumed = _resume(file, at, offsets)
            yield _FileRange(at, resumed, None, file)
            at = resumed
            continue
        if not codec_known and block.is_data:
            codec_known = _guess_codec(recovery, block)
        yield _FileRange(at, block.end, block, recovery.file)
        at = block.end


_Decoded = tuple[bytes, Any] | ExhumeError
"""The payload of a data block and what `scan_records` says of it, or the fault in it."""


def _decode(found: _FileRange) -> _Decoded | None:
    """Decode an intact data block; None for everything else."""
    block, file = found.block, found.file
    if block is None or not block.is_data:
        return None
    try:
        payload = file.unpack(block)
        return payload, scan_records(payload)
    except MalformedRecordsError as error:
        return file.records_error(block, error, 0)  # 0 for the payload's size: only message and code are used
    except SourceError:
        raise
    except ExhumeError as error:
        return error


def _copied(
    block: RawBlock, decoded: _Decoded | None, hints: dict[int, Any], kept: dict[tuple[int, int], int], excess: int
) -> int | None:
    """Return the offset of the original of a copied block; None if the block may be an original.

    Records are in order from block to block, so two equal blocks can both be originals only if all of their records are
    equal (`uniform`).  One of these is a copy if the index names only the other one, or if it fits in the `excess`: the
    bytes of the file beyond the length that its header states.
    """
    at = kept.get((block.crc, block.size))
    if at is None or decoded is None or isinstance(decoded, ExhumeError):
        return None
    payload, scan = decoded
    uniform = scan.records and payload[slice(*scan.first)] == payload[slice(*scan.last)] and scan.unsorted < 0
    extra = block.offset not in hints and (at in hints or excess >= block.size)
    return at if extra or not uniform else None


def _keep_block(
    recovery: Recovery, block: RawBlock, decoded: _Decoded, digest: Any, last: bytes | None
) -> tuple[ExhumeError | None, bytes | None]:
    """Keep the records of an intact data block, if it decodes; return the fault in it, and the last record so far."""
    if isinstance(decoded, ExhumeError):
        return decoded, last
    payload, scan = decoded
    digest.update(payload)
    if not scan.records:
        return checks.DATA_EMPTY.error(span=recovery.file.span(block)), last
    if scan.unsorted >= 0 or (last is not None and payload[slice(*scan.first)] < last):
        recovery.sorted = False
    recovery.kept.append(KeptBlock(block.offset, block.size, scan.records))
    return None, payload[slice(*scan.last)]


def _intact(file: BlockFile, offset: int) -> RawBlock | None:
    """Return the block at `offset` if its length fits in the file and its checksum matches; otherwise None."""
    source = file.source
    head = source.read_up_to(offset, 4096)  # enough for small blocks; only a plausible large one is read
    try:
        block = parse_block(memoryview(head), 0, offset)
    except ShortBlockError as error:
        if not len(head) < error.needed <= min(source.size - offset, file.limits.payload_size):
            return None
        block = parse_block(memoryview(source.read_at(offset, error.needed)), 0, offset)
    except ValueError:
        return None
    return block if crc64_xz(block.body) == block.crc else None


def _resume(file: BlockFile, damaged: int, offsets: list[int]) -> int:
    """Return where the next intact block after `damaged` starts; the end of the file if there is none."""
    for offset in map(offsets.__getitem__, range(bisect_right(offsets, damaged), len(offsets))):
        if _intact(file, offset) is not None:
            return min(offset, _search(file, damaged + 1, offset)) if offset - damaged < NEAR else offset
    return _search(file, damaged + 1, file.source.size)


def _search(file: BlockFile, start: int, stop: int) -> int:
    """Return the first position in `[start, stop)` where length, level and CRC-64 of a block fit; `stop` if none."""
    source = file.source
    base = start
    while base < stop:
        data = memoryview(source.read_up_to(base, SEARCH_STEP + LENGTH_SIZE + LARGEST_GUESS + CRC.size))
        step = min(SEARCH_STEP, stop - base)
        if (position := find_block(data, 0, step, LARGEST_GUESS)) < step:
            return base + position
        base += SEARCH_STEP
    return stop


def _lose(recovery: Recovery, start: int, end: int, hints: dict[int, tuple[int, int]], offsets: list[int]) -> None:
    """Account for a range without an intact block, and for the block there, if the index refers to one."""
    source = recovery.file.source
    named = offsets[bisect_left(offsets, start) : bisect_left(offsets, end)]
    file = recovery.file
    why, code = "no block with a fitting checksum", None
    # Find the reason why the first block cannot be read.
    try:
        block = next(file.walk(start, start + 1))  # the one that should be here; raises if it cannot be framed
        if block.end <= end:
            file.check(block)
            file.limits.check("payload_size", block.size, file.span(block))
    except SourceError:
        raise
    except ExhumeError as error:
        why, code = error.message, error.code
    # Divide the range by the blocks that the index refers to.
    at = start  # end of what is accounted for
    for offset in named:
        size, level = hints[offset]
        if offset > at:
            recovery.ranges.append(FileRange(at, offset, Outcome.LOST, "unreadable bytes", why, code))
            at = offset
        if level == 0:
            recovery.lost_blocks += 1
        stop = max(at, min(end, offset + size))
        outcome = Outcome.LOST if level == 0 else Outcome.REBUILT
        recovery.ranges.append(FileRange(at, stop, outcome, f"{kind_of(level)} block", why, code))
        at = stop
    if at < end:
        if not named:
            recovery.lost_blocks += 1
        recovery.ranges.append(FileRange(at, end, Outcome.LOST, "unreadable bytes", why, code))
    if end == source.size and not named:
        recovery.notes.append(f"no data after offset {source.origin + start} could be read")


def _guess_codec(recovery: Recovery, block: RawBlock) -> bool:
    """Find the codec that decodes a data block to well-formed records; returns whether there is one."""
    file = recovery.file
    for name in ("deflate", "lzma", "none"):
        candidate = BlockFile(file.source, file.header._replace(codec_field=codec_field(name)), file.limits)
        try:
            if scan_records(candidate.unpack(block)).records:
                recovery.file = candidate
                recovery.notes.append(f"the codec is {name}, by trial")
                return True
        except (ExhumeError, MalformedRecordsError):
            continue
    return False


def _payloads(recovery: Recovery, jobs: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the payloads of the kept blocks and their compressed form, in the order of the file."""
    file = recovery.file
    return map_ordered(
        lambda kept: (file.payload(raw := file.read(kept.offset, kept.size)), bytes(raw.body[1:])), recovery.kept, jobs
    )


def _records(recovery: Recovery, sorter: ExternalSorter, jobs: int) -> Iterator[bytes]:
    """Yield all kept records in ascending order; `sorter` is used if their blocks are not in order."""
    for payload, _ in _payloads(recovery, jobs):
        for part in split_in_parts(memoryview(payload)):
            if recovery.sorted:
                yield from part
            else:
                sorter.add(part)
    yield from sorter


def _write_archive(recovery: Recovery, output: Path, jobs: int) -> None:
    """Write the recovered records as a new archive, sorted if they were not; sorted blocks stay as they are stored."""
    codec: Any = {stored: name for name, stored in STORED_CODECS.items()}[recovery.file.header.codec]
    with (
        ZsWriter(output, metadata=recovery.metadata, codec=codec, default_metadata=False, jobs=jobs) as writer,
        ExternalSorter() as sorter,
    ):
        if recovery.sorted:
            deque(starmap(writer.add_payload, _payloads(recovery, jobs)), maxlen=0)  # keeps no payload
        else:
            recovery.notes.append("the records were not in order: they were sorted")
            writer.add_records(_records(recovery, sorter, jobs))


def _write_lines(recovery: Recovery, output: Path, jobs: int) -> None:
    """Write the recovered records as JSON lines."""
    with AtomicFile(output) as target, ExternalSorter() as sorter:
        for record in _records(recovery, sorter, jobs):
            for piece in dump_pieces({"record": record}):
                target.file.write(piece.encode("ascii"))
            target.file.write(b"\n")
