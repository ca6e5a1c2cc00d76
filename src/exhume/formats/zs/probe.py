"""Is this a ZS file?"""

from __future__ import annotations

from exhume.formats.zs.layout_facts import (
    DECODERS,
    ENVELOPE_SIZE,
    FIXED_HEADER,
    INCOMPLETE_MAGIC,
    MAGIC,
    PREAMBLE,
    parse_preamble,
)
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification


def probe(source: Source | Tree) -> Identification | None:
    """Return whether this is a ZS file, by its magic number and the plausibility of its header; None if it is not one.

    A file with a damaged magic number and a plausible header is worth opening, to report the problems of it.
    """
    if isinstance(source, Tree) or source.size < len(MAGIC):
        return None
    head = source.read_up_to(0, PREAMBLE.size + FIXED_HEADER.size)
    magic = head[: len(MAGIC)]
    header_fits = states_size = False  # whether header and metadata fit, and whether the stated file size is right
    codec: str | None = None
    if len(head) == PREAMBLE.size + FIXED_HEADER.size:
        _, header_size = parse_preamble(head)
        _, _, file_size, _, stored, metadata_size = FIXED_HEADER.unpack_from(head, PREAMBLE.size)
        header_fits = header_size + ENVELOPE_SIZE <= source.size and metadata_size + FIXED_HEADER.size <= header_size
        states_size = file_size == source.size
        codec = stored.rstrip(b"\0").decode("latin-1")
    evidence = ["a header that fits the file"] if header_fits else []
    evidence += ["the file length that the header states"] if states_size else []
    where = source.span(0, source.size)
    if magic not in (MAGIC, INCOMPLETE_MAGIC):
        if header_fits and states_size and codec in DECODERS:
            return Identification("zs", 0.7, where, ("the magic number is damaged", *evidence))
        return None
    is_finished = magic == MAGIC
    name = "magic number of a ZS file" if is_finished else "magic number of an unfinished ZS file"
    evidence += [f"codec {codec!r}"] if codec is not None else []
    # A magic number is strong evidence, a header that fits confirms it.
    if header_fits and states_size and is_finished:
        confidence = 1.0
    else:
        confidence = 0.99 if header_fits else 0.95
    return Identification("zs", confidence, where, (name, *evidence))
