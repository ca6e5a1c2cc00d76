"""Is this a KV-IR stream, or an unstructured one, which opening then names?"""

from __future__ import annotations

from exhume.errors import ExhumeError
from exhume.formats.kv_ir import FORMAT
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification

UNTOLD = 0.2
"""How sure a zstd frame makes that does not tell what is in it."""


def probe(source: Source | Tree) -> Identification | None:
    """Looks at the magic number, of what lies in a zstd frame where the file begins with one, and at the metadata."""
    if isinstance(source, Tree):
        return None
    starts = tuple(signature.magic for signature in FORMAT.signatures)
    if not source.read_up_to(0, max(map(len, starts))).startswith(starts):
        return None
    from exhume.formats.kv_ir.layout import MAGIC_SIZE, MAGICS, parse_metadata, parse_preamble
    from exhume.formats.kv_ir.stream import HEAD, Stream

    stream = Stream(source)
    evidence = ["inside a zstd frame"] if stream.wrapped else []
    data = stream.head(HEAD)
    if data[:MAGIC_SIZE] not in MAGICS:
        if stream.short and any(magic.startswith(data) for magic in MAGICS):
            told = "a zstd frame of which nothing can be decompressed"
            return Identification("kv-ir", UNTOLD, source.span(0, source.size), (told,))
        return None
    evidence.append(f"magic {data[:MAGIC_SIZE].hex(' ').upper()}")
    confidence = 0.8
    try:
        preamble = parse_preamble(data, source.span(0, min(HEAD, source.size)))
        found = parse_metadata(preamble, source.span(0, min(HEAD, source.size)))
    except ExhumeError as error:
        evidence.append(error.message)
    else:
        confidence = 1.0
        evidence.append(f"version {found['VERSION']}")
    return Identification("kv-ir", confidence, source.span(0, min(HEAD, source.size)), tuple(evidence))
