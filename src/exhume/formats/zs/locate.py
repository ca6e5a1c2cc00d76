"""Finding ZS files inside raw bytes: the header follows the magic number, and it or the blocks determine the end.

For carving: raw bytes, such as a disk image, are searched for magic numbers; each hit is examined here.
"""

from __future__ import annotations

from exhume.errors import ExhumeError, SourceError
from exhume.findings import Finding, with_error
from exhume.formats.zs import checks
from exhume.formats.zs.blocks import BlockFile
from exhume.formats.zs.head import Head, read_head
from exhume.formats.zs.layout import Header
from exhume.formats.zs.layout_facts import DECODERS, MAGIC
from exhume.formats.zs.verify import verify_source
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import LARGE, CarvedArchive, CarveVerdict, VerifiedBy

# Findings after which the next block cannot be located.
_BROKEN_FRAMING = frozenset({checks.BLOCK_CUT.code, checks.BLOCK_LENGTH.code, checks.BLOCK_EMPTY.code})


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> CarvedArchive | None:
    """Return the ZS file whose magic number is at `hit`; None if no header follows it.

    An intact header states the length.  An unfinished file, or one whose header is damaged, ends with the last block
    whose checksum matches.
    """
    rest = source.window(hit)
    head = read_head(rest, limits)
    header = head.header
    # `sound`: whether the checksum of the header matches.
    sound = not any(problem.code == "ZS-201" for problem in head.problems)
    if header is None or head.blocks_offset is None or (header.codec not in DECODERS and not sound):
        return None
    if head.magic == MAGIC and sound and header.file_size >= head.blocks_offset:
        return _complete_file(source, hit, header, limits, jobs)
    end = _intact_end(rest, header, limits)
    # Neither a block nor metadata after the magic number: a chance hit.
    if end <= head.blocks_offset and head.metadata is None:
        return None
    span = source.span(hit, hit + end)
    # The blocks' own checksums match; where the header's does not, the codec that it names is taken on trust.
    proof = VerifiedBy.CHECKSUMS if sound else VerifiedBy.STRUCTURE
    # The confidence is higher if at least one intact block follows the header.
    return CarvedArchive(
        "zs", span, CarveVerdict.PARTIAL, 0.7 if end > head.blocks_offset else 0.4, _head_findings(head), proof
    )


def _head_findings(head: Head) -> tuple[Finding, ...]:
    """Return the problems of the head, without one of the file length: where the file ends is what is to be found."""
    return tuple(Finding.from_error(problem) for problem in head.problems if problem.code != "ZS-303")


def _complete_file(source: Source, hit: int, header: Header, limits: Limits, jobs: int) -> CarvedArchive:
    """Return a file of the length that its header states, cut at the end of the image, with the findings of
    `verify`."""
    stop = min(hit + header.file_size, source.size)
    span = source.span(hit, stop)
    cut = span.size < header.file_size
    jobs = jobs if span.size > LARGE else 1
    findings = tuple(with_error(verify_source(source.window(hit, stop), limits=limits, jobs=jobs)))
    if cut:
        return CarvedArchive("zs", span, CarveVerdict.PARTIAL, 1.0, findings, VerifiedBy.CHECKSUMS)
    # The blocks end too early or make no sense: a fragment of another file begins somewhere before that.
    lost = any(finding.code in _BROKEN_FRAMING for finding in findings)
    verdict = CarveVerdict.of(findings, VerifiedBy.CHECKSUMS, partial=lost)
    return CarvedArchive("zs", span, verdict, 1.0, findings, VerifiedBy.CHECKSUMS)


def _intact_end(rest: Source, header: Header, limits: Limits) -> int:
    """Return where the last block before the first damaged one ends."""
    file = BlockFile(rest, header, limits)
    end = header.blocks_offset
    try:
        for block in file.walk(end, read_ahead=1 << 16):
            file.check(block)
            end = block.end
    except SourceError:
        raise
    except ExhumeError:
        pass
    return end
