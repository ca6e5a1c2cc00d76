"""Identification from the header alone."""

from __future__ import annotations

from exhume.formats.clp_s.layout import HEADER_SIZE, KNOWN_VERSIONS, MAGIC, parse_header
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification


def probe(source: Source | Tree) -> Identification | None:
    """How sure it is that `source` starts with a clp-s archive: four bytes of magic, then a header that makes sense."""
    if isinstance(source, Tree):
        return None
    head = source.read_up_to(0, HEADER_SIZE)
    if not head.startswith(MAGIC):
        return None
    evidence = [f"magic {MAGIC.hex(' ').upper()}"]
    confidence = 0.6
    if len(head) == HEADER_SIZE:
        header = parse_header(head, source.span(0, len(head)))
        if header.version in KNOWN_VERSIONS:
            confidence += 0.15
            evidence.append(f"format version {header.version_text}")
        if header.archive_size == source.size:
            confidence += 0.15
            evidence.append("the header's archive size is the size of the file")
        if header.files_base <= source.size and not any(header.reserved):
            confidence += 0.1
            evidence.append("metadata section inside the file, reserved bytes zero")
    return Identification("clp-s", min(confidence, 1.0), source.span(0, len(head)), tuple(evidence))
