"""Identification from the header alone; confidences are the usual ones of `exhume identify` (0 to 1)."""

from __future__ import annotations

from exhume_ksy.facts.clp_s import FileHeader

from exhume.counts import counted
from exhume.errors import Span
from exhume.formats.clp_s.names import FILES, HEADER_FILE, KNOWN_VERSIONS, TABLE_SECTIONS, TIMESTAMP_FILE
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification

TABLES = frozenset(name.removeprefix("/") for name in TABLE_SECTIONS)
"""Names of the file of a directory with the tables."""
DISTINCTIVE = FILES - {HEADER_FILE, TIMESTAMP_FILE, *TABLES}
"""Names of files that only occur in clp-s archives."""


def probe(source: Source | Tree) -> Identification | None:
    """The confidence that `source` starts with a clp-s archive: four bytes of magic, then a plausible header.

    A directory has the header in a file of its own; without it, it is recognized by the names of the others.  None if
    nothing indicates an archive.
    """
    if isinstance(source, Source):
        return _probe_header(source, None)
    if FILES.isdisjoint(source.files()):
        return None
    from exhume.formats.clp_s.read.places import files_of

    here = Span(source.name, 0, 0)
    names = files_of(source)
    matched = len(names & DISTINCTIVE)
    if HEADER_FILE in names:  # a name that other directories have as well
        with source.source(HEADER_FILE) as header:
            found = _probe_header(header, names >= DISTINCTIVE and not names.isdisjoint(TABLES))
        if found is not None:
            return Identification("clp-s", found.confidence if matched else 0.4, here, found.evidence)
    evidence = f"{matched} of the {counted(len(DISTINCTIVE), 'files')} next to the tables"
    return Identification("clp-s", 0.6, here, (evidence,)) if matched > 2 else None  # of six


def owns(name: str) -> bool:
    """Whether a file directly in the directory belongs to the archive."""
    return name in FILES


def _probe_header(source: Source, is_whole: bool | None) -> Identification | None:
    """Identify by the header; `is_whole`: whether a directory has its other files, None for a single file."""
    head = source.read_up_to(0, FileHeader.size)
    if not head.startswith(FileHeader.magic):
        return None
    from exhume.formats.clp_s.layout import parse_header

    evidence = [f"magic {FileHeader.magic.hex(' ').upper()}"]
    confidence = 0.6
    if len(head) == FileHeader.size:
        header = parse_header(head, source.span(0, len(head)))
        if header.version in KNOWN_VERSIONS:
            confidence += 0.15
            evidence.append(f"format version {header.version_text}")
        if is_whole or (is_whole is None and header.archive_size == source.size):
            confidence += 0.15
            size, files = "the header's archive size is the size of the file", "with a file for each section"
            evidence.append(files if is_whole else size)
        if header.files_base <= source.size and not any(map(any, header.reserved)):
            confidence += 0.1
            evidence.append("metadata section inside the file, reserved bytes zero")
    return Identification("clp-s", min(confidence, 1.0), source.span(0, len(head)), tuple(evidence))
