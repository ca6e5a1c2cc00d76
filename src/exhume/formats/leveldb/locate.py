"""Tables inside raw bytes: found from the magic number at their end."""

from __future__ import annotations

from exhume.errors import FormatError, Span
from exhume.findings import Finding
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.layout import BLOCK_TRAILER
from exhume.formats.leveldb.layout_facts import MAGIC_SIZE, ROCKSDB_FOOTER
from exhume.formats.leveldb.model import Footer
from exhume.formats.leveldb.table import Table
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.native import kernel
from exhume.recovery import Carved, CarveVerdict, Proof

_LARGEST = 1 << 40


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> Carved | None:
    """The table whose footer ends with the magic number at `hit`; None when the footer makes no sense.

    Metaindex and index are the last blocks before the footer, so the further of their ends is where the footer starts,
    which gives the size of the table.  From RocksDB version 6 on, the footer says only how long the metaindex before it
    is; that names the block before it.
    """
    end = hit + MAGIC_SIZE
    tail = Table(source.window(max(0, end - ROCKSDB_FOOTER), end), limits=limits)
    footer = tail.footer_or_none()
    if footer is None:
        return None
    size = _size_before(source, end, footer, limits)
    if size is None or size > _LARGEST:
        return None
    start = end - size
    if start < 0:
        return Carved("leveldb", source.span(0, end), CarveVerdict.PARTIAL, 0.4)
    found: list[Finding] = []
    report = checks.collector(found.append)
    table = Table(source.window(start, end), limits=limits)
    table.check_footer(report)
    index = table.index(report)
    proof = Proof.CHECKSUMS
    for _, handle in index:
        block = table.read_data(handle, report)
        if block is not None and block.verdict == "none":  # the table has no checksums: its blocks were only decoded
            proof = Proof.STRUCTURE
    bad = tuple(finding for finding in found if finding.is_problem)
    span = source.span(start, end)
    confidence = 0.3 if bad and not index else 0.99
    return Carved("leveldb", span, CarveVerdict.of(bad, proof), confidence, bad[:10], proof)


def _size_before(source: Source, end: int, footer: Footer, limits: Limits) -> int | None:
    """The size of the table whose footer ends at `end`; None when the metaindex of a newer one makes no sense."""
    if footer.index_handle is not None:
        return max(footer.metaindex.stop, footer.index_handle.stop) + footer.size
    size = footer.metaindex.size + BLOCK_TRAILER
    start = end - footer.size - size
    if start < 0 or size > limits.payload_size:
        return None
    contents = source.read_at(start, footer.metaindex.size)
    entries, _, problem = kernel.block_entries(contents, _entries_end(contents, source.span(start, end)),
                                               limits.structure_size)  # fmt: skip
    handles = [layout.whole_handle(value) for _, value, _ in entries]
    if problem or not handles or None in handles:
        return None
    return max(handle.stop for handle in handles if handle is not None) + size + footer.size


def _entries_end(contents: bytes, where: Span) -> int:
    """Where the entries of a block end; 0 for one that cannot be read."""
    try:
        return layout.parse_tail(contents, where).end
    except FormatError:
        return 0
