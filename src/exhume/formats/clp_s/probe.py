"""Identification from the header alone."""

from __future__ import annotations

from exhume.formats.clp_s.layout import HEADER_SIZE, KNOWN_VERSIONS, MAGIC
from exhume.registry import Identification
from exhume.source import Source, Tree


def probe(source: Source | Tree) -> Identification | None:
    """How sure it is that `source` starts with a clp-s archive: four bytes of magic, then a header that makes sense."""
    if isinstance(source, Tree):
        return None
    head = source.read_up_to(0, HEADER_SIZE)
    if head[:4] != MAGIC:
        return None
    evidence = ["magic FD 2F C5 30"]
    confidence = 0.6
    if len(head) == HEADER_SIZE:
        version = (head[7], head[6], int.from_bytes(head[4:6], "little"))
        size = int.from_bytes(head[16:24], "little")
        metadata = int.from_bytes(head[56:60], "little")
        if version in KNOWN_VERSIONS:
            confidence += 0.15
            evidence.append("format version " + ".".join(map(str, version)))
        if size == source.size:
            confidence += 0.15
            evidence.append("the header's archive size is the size of the file")
        if HEADER_SIZE + metadata <= source.size and not any(head[24:56]):
            confidence += 0.1
            evidence.append("metadata section inside the file, reserved bytes zero")
    return Identification("clp-s", min(confidence, 1.0), source.span(0, len(head)), tuple(evidence))
