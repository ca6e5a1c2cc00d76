"""Whether the content of an EWF image is what was put into it."""

from __future__ import annotations

from exhume.archive import Progress, no_progress
from exhume.codecs.checksums import md5
from exhume.findings import Check
from exhume.io.images import EvidenceSource

PIECE = 1 << 22
"""Bytes that are read at a time."""


def check_evidence(source: EvidenceSource, progress: Progress = no_progress) -> Check:
    """Read the whole content and compare its MD5 with the one that the container stores.

    libewf reads past chunks whose checksum does not match, so only this check detects damage to the container itself.
    Raises `SourceError` where it cannot be read.
    """
    if not source.digest:
        return Check.skipped("the container stores no MD5 of its content")
    computed = md5()
    for start in range(0, source.size, PIECE):
        computed.update(source.read_at(start, min(PIECE, source.size - start)))
        progress(min(start + PIECE, source.size), source.size, "bytes")
    return Check.compare(source.digest.lower(), computed.hexdigest(), "MD5")
