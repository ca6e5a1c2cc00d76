"""Is this a ZS file?"""

from __future__ import annotations

from exhume.formats.zs.layout import DECODERS, ENVELOPE_SIZE, FIXED_HEADER, INCOMPLETE_MAGIC, MAGIC, PREAMBLE
from exhume.registry import Identification
from exhume.source import Source, Tree


def probe(source: Source | Tree) -> Identification | None:
    """Looks at the magic number, and at whether the header's numbers can be true."""
    if isinstance(source, Tree) or source.size < 8:
        return None
    head = source.read_up_to(0, PREAMBLE.size + FIXED_HEADER.size)
    if head[:8] not in (MAGIC, INCOMPLETE_MAGIC):
        return _without_magic(source, head)
    evidence = ["magic number of a ZS file" if head[:8] == MAGIC else "magic number of an unfinished ZS file"]
    confidence = 0.95
    if len(head) == PREAMBLE.size + FIXED_HEADER.size:
        header_size = PREAMBLE.unpack_from(head)[1]
        _, _, file_size, _, codec, metadata_size = FIXED_HEADER.unpack_from(head, PREAMBLE.size)
        if header_size + ENVELOPE_SIZE <= source.size and metadata_size + FIXED_HEADER.size <= header_size:
            confidence = 0.99
            evidence.append("a header that fits the file")
        if file_size == source.size:
            confidence = 1.0 if confidence > 0.95 and head[:8] == MAGIC else confidence
            evidence.append("the file length that the header states")
        evidence.append(f"codec {codec.rstrip(bytes(1)).decode('latin-1')!r}")
    return Identification("zs", confidence, source.span(0, source.size), tuple(evidence))


def _without_magic(source: Source, head: bytes) -> Identification | None:
    """A damaged magic number before a header whose numbers all fit: worth opening, to say what is wrong with it."""
    if len(head) < PREAMBLE.size + FIXED_HEADER.size:
        return None
    header_size = PREAMBLE.unpack_from(head)[1]
    _, _, file_size, _, codec, metadata_size = FIXED_HEADER.unpack_from(head, PREAMBLE.size)
    fits = header_size + ENVELOPE_SIZE <= source.size and metadata_size + FIXED_HEADER.size <= header_size
    if not fits or file_size != source.size or codec.rstrip(b"\0").decode("latin-1") not in DECODERS:
        return None
    evidence = ("the magic number is damaged", "a header that fits the file", "the file length that the header states")
    return Identification("zs", 0.7, source.span(0, source.size), evidence)
