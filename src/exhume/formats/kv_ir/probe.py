"""Is this a KV-IR stream?  The probe of CLP IR streams (text messages) shares the code.

Both formats have the same magic number, may be inside zstd frames, and differ in the metadata after the magic number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from exhume.errors import ExhumeError, Span
from exhume.formats.kv_ir import FRAME_STARTS, MAGICS
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification

if TYPE_CHECKING:
    from exhume.formats.kv_ir.layout import Preamble

TOO_SHORT_CONFIDENCE = 0.2
"""Confidence for each kind of stream where the file ends or is damaged before its metadata state which one it is."""

_OF_TEXT = re.compile(rb'"VERSION"\s*:\s*"v?0\.0\.|"TIMESTAMP_PATTERN"')
"""What only the metadata of text messages contain: a version 0.0.x, or a pattern of timestamps."""

_VERSION = re.compile(rb'"VERSION"\s*:\s*"[^"]*"')
"""A complete version: with it, even truncated metadata state which kind of stream it is."""


def is_kv_ir(head: bytes) -> bool | None:
    """Whether a decompressed input is a stream; None while more bytes are needed to decide."""
    if any(len(head) < len(magic) and magic.startswith(head) for magic in MAGICS):
        return None
    return head.startswith(MAGICS)


def is_of_text(head: bytes) -> bool:
    """Whether the metadata in the first bytes of a stream are those of text messages."""
    return _OF_TEXT.search(head) is not None


def probe(source: Source | Tree) -> Identification | None:
    """Examine the magic number, inside the zstd frame if the file begins with one, and the metadata.

    None for anything but a stream of key-value events.
    """
    return probe_stream("kv-ir", source, _parse, of_text=False)


def _parse(preamble: Preamble, where: Span) -> dict[str, Any]:
    """Parse the metadata.  The module that does it is slow to import, so only files with the magic number import it."""
    from exhume.formats.kv_ir.layout import parse_metadata

    return parse_metadata(preamble, where)


def probe_stream(
    format: str, source: Source | Tree, parse: Callable[[Any, Span], dict[str, Any]], *, of_text: bool
) -> Identification | None:
    """Identify a stream of key-value events or, with `of_text`, of text messages; None for anything else.

    `parse` reads its metadata.
    """
    if isinstance(source, Tree):
        return None
    head = source.read_up_to(0, len(MAGICS[0]))
    if not head.startswith((*MAGICS, *FRAME_STARTS)):
        return None
    from exhume.formats.kv_ir.layout import MAGIC_SIZE, has_preamble, parse_preamble
    from exhume.formats.kv_ir.stream import HEAD, Stream

    # Decompress the head, and check the magic number.
    stream = Stream(source)
    where = source.span(0, min(HEAD, source.size))
    evidence = ["inside a zstd frame"] if stream.wrapped else []
    data = stream.head(HEAD)
    if data[:MAGIC_SIZE] not in MAGICS:
        if stream.short and any(magic.startswith(data) for magic in MAGICS):
            reason = "too short to tell: a zstd frame of which nothing can be decompressed"
            return Identification(format, TOO_SHORT_CONFIDENCE, source.span(0, source.size), (reason,))
        return None
    # Both kinds of stream share the magic numbers; the metadata tell them apart.
    if len(data) < HEAD and not (is_of_text(data) or _VERSION.search(data) or has_preamble(data)):
        reason = f"too short to tell: magic {data[:MAGIC_SIZE].hex(' ').upper()}, but the metadata is cut"
        return Identification(format, TOO_SHORT_CONFIDENCE, where, (reason,))
    if is_of_text(data) != of_text:
        return None
    evidence.append(f"magic {data[:MAGIC_SIZE].hex(' ').upper()}")
    confidence = 0.8  # that of the magic number alone, without valid metadata
    try:
        found = parse(parse_preamble(data, where), where)
    except ExhumeError as error:
        evidence.append(error.message)
    else:
        confidence = 1.0
        evidence.append(f"version {found['VERSION']}")
    return Identification(format, confidence, where, tuple(evidence))
