"""An IR stream of text as a section map: preamble and units, or the zstd frames around them; as of KV-IR.

Spec: `docs/formats/clp_ir.md`, "Bytes".
"""

from __future__ import annotations

from exhume.formats.kv_ir import sections
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.layout.sections import SectionMap
from exhume.limits import Limits

SCHEMA = "clp_ir"
"""The specification of a stream."""


def inspect(source: Source | Tree, *, limits: Limits) -> SectionMap:
    """The sections of a stream that cannot be opened because its preamble is invalid."""
    return sections.inspect(source, limits=limits, schema=SCHEMA)
