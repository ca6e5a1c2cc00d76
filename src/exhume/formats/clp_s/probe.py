"""Identification from the header alone."""

from __future__ import annotations

from exhume.errors import Span
from exhume.formats.clp_s.layout import FILES, HEADER_FILE, HEADER_SIZE, KNOWN_VERSIONS, MAGIC, parse_header
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification

TELLING = FILES - {HEADER_FILE, "tables", "0"}
"""Those whose names betray what they are."""


def probe(source: Source | Tree) -> Identification | None:
    """How sure it is that `source` starts with a clp-s archive: four bytes of magic, then a header that makes sense.

    A directory has the header in a file of its own; without it, the names of the others tell what it was.
    """
    if isinstance(source, Source):
        return _probe_file(source, source.size)
    here = Span(source.name, 0, 0)
    names = FILES.intersection(source.files())
    telling = len(names & TELLING)
    evidence = (f"{telling} of the {len(TELLING) - 1} files of an archive",)
    if HEADER_FILE in names:
        with source.source(HEADER_FILE) as header:
            found = _probe_file(header, sum(_size(source, name) for name in names))
        if found is not None:
            confidence = min(found.confidence, 1.0 if telling else 0.4)
            return Identification("clp-s", confidence, here, (*found.evidence, *evidence))
    return Identification("clp-s", 0.6, here, evidence) if telling > 2 else None


def owns(name: str) -> bool:
    """The files right in the directory."""
    return name in FILES


def _size(tree: Tree, name: str) -> int:
    size = tree.listed_size(name)
    if size is None:
        with tree.source(name) as source:
            size = source.size
    return size


def _probe_file(source: Source, size: int) -> Identification | None:
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
        if header.archive_size == size:
            confidence += 0.15
            evidence.append("the header's archive size is the size of the file")
        if header.files_base <= source.size and not any(header.reserved):
            confidence += 0.1
            evidence.append("metadata section inside the file, reserved bytes zero")
    return Identification("clp-s", min(confidence, 1.0), source.span(0, len(head)), tuple(evidence))
