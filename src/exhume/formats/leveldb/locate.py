"""Tables and blob files inside raw bytes (carving), by the magic number that ends a table and begins a blob file.

A table has blocks, then the metaindex and the index (blocks that lead to the others), then the footer with their
places and the magic number.  So its start is found from its end, whose offsets count from the start.
"""

from __future__ import annotations

from typing import Any

from exhume.errors import FormatError
from exhume.findings import NOT_CHECKED, Finding, Rule, Severity
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.blobs import BlobFile
from exhume.formats.leveldb.layout import BLOCK_TRAILER
from exhume.formats.leveldb.layout_facts import BLOB_FOOTER, BLOB_HEADER, BLOB_MAGIC, MAGIC_SIZE, ROCKSDB_FOOTER
from exhume.formats.leveldb.table import Table
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy

_LARGEST = 1 << 40  # bytes of a plausible file; more is an incorrect footer

SHOWN = 10
"""Most faults that are named: the first ones suffice to judge a table."""

# Confidence that bytes are a table or a blob file, by what of it is there.
_END_ONLY = 0.4
_NO_INDEX = 0.3  # damaged, and the index cannot be read: it may be no table
_SEVERAL_STRUCTURES = 0.99  # several structures agree


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> CarvedArchive | None:
    """The table whose footer ends with the magic number at `hit`, or the blob file that begins with it; None when the
    footer, or the first record, makes no sense.

    Raises `LimitExceededError` when the metaindex, which leads to the start, is larger than is allowed, and
    `UnsupportedFeatureError` for a table version that is not supported.
    """
    if source.read_up_to(hit, BLOB_HEADER).startswith(BLOB_MAGIC):
        return _locate_blobs(source, hit, limits)
    end = hit + MAGIC_SIZE
    size = _size(source, end, limits)
    if size is None or size > _LARGEST:
        return None
    start = end - size
    if start < 0:  # the image has only the end of the table
        return CarvedArchive("leveldb", source.span(0, end), CarveVerdict.PARTIAL, _END_ONLY)
    found: list[Finding] = []
    report = checks.collector(found.append)
    table = Table(source.window(start, end), limits=limits)
    table.check_footer(report)
    index = table.index(report)
    proof = VerifiedBy.CHECKSUMS
    for _, handle in index:
        block = table.read_data(handle, report)
        if block is not None and block.verdict == "none":  # the table has no checksums: its blocks were only decoded
            proof = VerifiedBy.STRUCTURE
    bad = tuple(finding for finding in found if finding.is_problem)
    span = source.span(start, end)
    verdict = CarveVerdict.of(bad, proof)
    confidence = _NO_INDEX if verdict is CarveVerdict.DAMAGED and not index else _SEVERAL_STRUCTURES
    return CarvedArchive("leveldb", span, verdict, confidence, bad[:SHOWN], proof)


def _locate_blobs(source: Source, start: int, limits: Limits) -> CarvedArchive | None:
    """The blob file that begins at `start`; None without an intact header of a record.

    One without a footer was not closed, or is cut: its end is not known.
    """
    # End of the last intact record.
    end = max(
        (record.end for record in BlobFile(source.window(start, source.size), limits).sealed_records()), default=0
    )
    if not end:
        return None
    footer = source.read_up_to(start + end, BLOB_FOOTER)
    is_closed = len(footer) == BLOB_FOOTER and layout.parse_blob_footer(footer) is not None
    end += BLOB_FOOTER if is_closed else 0
    found: list[Finding] = []
    BlobFile(source.window(start, start + end), limits).verify(checks.collector(found.append))
    bad = tuple(finding for finding in found if finding.is_problem)
    verdict = CarveVerdict.of(bad, VerifiedBy.CHECKSUMS) if is_closed or bad else CarveVerdict.PARTIAL
    span = source.span(start, start + end)
    return CarvedArchive("leveldb", span, verdict, _SEVERAL_STRUCTURES, bad[:SHOWN], VerifiedBy.CHECKSUMS)


def _size(source: Source, end: int, limits: Limits) -> int | None:
    """The size of the table that ends at `end`; None if the footer there, or the metaindex, makes no sense.

    Metaindex and index are the last blocks before the footer: the end of the one that is nearer to it is its offset.
    From RocksDB version 6 the footer has no place for them: the metaindex precedes the footer, and one of the blocks
    that it names precedes the metaindex.
    """
    try:
        footer = Table(source.window(max(0, end - ROCKSDB_FOOTER), end), limits=limits).footer
    except NOT_CHECKED:  # a limit, or something that is not supported: the table may be fine
        raise
    except FormatError:
        return None
    if footer is None:
        return None
    if footer.index_handle is not None:
        return max(footer.metaindex.stop, footer.index_handle.stop) + footer.size
    last = footer.metaindex.size + BLOCK_TRAILER + footer.size  # bytes from the start of the metaindex
    if last > end:
        return None
    tail = Table(source.window(end - last, end), limits=limits)
    try:
        named = tail.metaindex(_prevented).values()
    except NOT_CHECKED:
        raise
    except FormatError:
        return None
    return max((handle.stop for handle in named), default=0) + last if named else None


def _prevented(rule: Rule, detail: str = "", **more: Any) -> None:
    """Raise the error of a rule that could not be checked (the table may be fine), and ignore all others."""
    if rule.severity is Severity.UNCHECKED:
        checks.raise_rule(rule, detail, **more)
