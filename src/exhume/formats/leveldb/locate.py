"""Tables inside raw bytes: found from the magic number at their end."""

from __future__ import annotations

from exhume.findings import Finding
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.table import Table
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Carved, CarveVerdict, Proof

_LARGEST = 1 << 40


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> Carved | None:
    """The table whose footer ends with the magic number at `hit`; None when the footer makes no sense.

    Metaindex and index are the last blocks before the footer, so the further of their ends is where the footer starts,
    which gives the size of the table.
    """
    end = hit + 8
    tail = Table(source.window(max(0, end - 53), end), limits=limits)
    footer = tail.footer_or_none()
    if footer is None:
        return None
    ends = [h.offset + h.size + 5 for h in (footer.metaindex, footer.index_handle) if h is not None]
    size = max(ends) + footer.size
    if footer.index_handle is None:  # the metaindex handle was computed from the place of the footer in the window
        return None
    if size > _LARGEST:
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
