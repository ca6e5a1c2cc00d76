"""Finding clp-s archives inside raw bytes, for `exhume carve`: whether an archive follows a magic number, and where it
ends.  Its header states the size, and a metadata section, which is a zstd frame, follows the header.
"""

from __future__ import annotations

from exhume.codecs.zstd import ZSTD_MAGIC
from exhume.errors import ExhumeError
from exhume.findings import NOT_CHECKED, Finding
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import HEADER_SIZE, Compression, parse_header
from exhume.formats.clp_s.names import KNOWN_VERSIONS
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import LARGE, CarvedArchive, CarveVerdict, VerifiedBy

# Confidence that bytes are an archive, by what is valid of it; 1 if it verifies.
_KNOWN_VERSION = 0.9
_OTHER_VERSION = 0.7
_HEADER_ONLY = 0.3


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> CarvedArchive | None:
    """The archive whose magic number is at `hit`; None when the bytes after it are not a header.

    The header states the size; an archive that reaches past the end of the source is partial, one that does not verify
    is damaged.  A header whose metadata cannot be read is reported with low confidence, and only if the metadata
    section at least starts like a zstd frame.
    """
    head = source.read_up_to(hit, HEADER_SIZE + len(ZSTD_MAGIC))
    if len(head) < HEADER_SIZE + len(ZSTD_MAGIC) or head[HEADER_SIZE:] != ZSTD_MAGIC:
        return None
    try:
        header = parse_header(head, source.span(hit, hit + HEADER_SIZE))
    except ExhumeError:
        return None
    size = header.archive_size
    if header.compression_type != Compression.ZSTD or size < header.files_base:
        return None
    room = source.size - hit
    length = min(size, room)
    archive = ClpSArchive(source.window(hit, hit + length), limits=limits)
    confidence = _KNOWN_VERSION if archive.header.version in KNOWN_VERSIONS else _OTHER_VERSION
    try:
        archive.files  # noqa: B018 - reads the list of sections
    except NOT_CHECKED:
        pass  # a limit or an unsupported feature: no evidence against an archive
    except ExhumeError:
        confidence = _HEADER_ONLY
    found = archive.verify(jobs=jobs if length > LARGE else 1)
    findings = [finding for finding in found if finding.is_problem]
    partial = length < size or _loses_its_end(archive, findings)
    verdict = CarveVerdict.of(findings, VerifiedBy.STRUCTURE, partial=partial)
    if verdict is CarveVerdict.COMPLETE:
        confidence = 1.0
    return CarvedArchive(
        "clp-s", source.span(hit, hit + length), verdict, confidence, tuple(findings), VerifiedBy.STRUCTURE
    )


def _loses_its_end(archive: ClpSArchive, findings: list[Finding]) -> bool:
    """Whether the last packed stream of tables is damaged.

    Then the archive probably continues elsewhere in the image, after a part of its beginning.
    """
    try:
        last = max(archive.stream_span(stream).start for stream in set(archive.table_metadata.tables.stream_ids))
    except (ExhumeError, ValueError):  # the metadata is damaged, or there are no tables
        return False
    return any(
        finding.code == checks.BAD_FRAME.code and finding.span is not None and finding.span.start == last
        for finding in findings
    )
