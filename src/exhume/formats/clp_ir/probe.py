"""Is this an IR stream of text messages?  The probe of KV-IR has the code, since both formats share the framing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exhume.errors import Span
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification

if TYPE_CHECKING:
    from exhume.formats.kv_ir.layout import Preamble


def probe(source: Source | Tree) -> Identification | None:
    """Examine the magic number and the metadata: KV-IR streams have the same magic number, but other metadata.

    If the file begins with a zstd frame, the content of the frame is examined.  None for anything but such a stream.
    """
    from exhume.formats.kv_ir.probe import probe_stream

    return probe_stream("clp-ir", source, _parse, of_text=True)


def _parse(preamble: Preamble, where: Span) -> dict[str, Any]:
    """Parse the metadata.  The module that does it is slow to import, so only files with the magic number import it."""
    from exhume.formats.clp_ir.layout import parse_metadata

    return parse_metadata(preamble, where)
