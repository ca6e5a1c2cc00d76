"""Is this an IR stream of text?"""

from __future__ import annotations

from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification


def probe(source: Source | Tree) -> Identification | None:
    """Looks at the magic number, of the content of a zstd frame where the file begins with one, and at the metadata:
    KV-IR streams begin with the same bytes.
    """
    from exhume.formats.clp_ir.layout import parse_metadata
    from exhume.formats.kv_ir.probe import probe_stream

    return probe_stream("clp-ir", source, parse_metadata, of_text=True)
