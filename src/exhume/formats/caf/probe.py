"""Does this look like a CAF?  Decided from the tail alone: the format has no magic number.

A chunk (CAF file) is data, an index in JSON, and a footer of four bytes with the size of the index.
"""

from __future__ import annotations

import re

from exhume.counts import counted
from exhume.formats.caf.layout import FOOTER_SIZE, MIN_INDEX, parse_footer
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification

WINDOW = 64 << 10
"""Bytes at the end that are searched for the remains of an index when the footer does not fit."""

LARGE = 256 << 10
"""A larger remote index is not requested just to see how it begins."""

# The start of an index, one that no other JSON has, a key of an entry, and the end of an entry.
_KEYS = re.compile(rb'\{\s*"(?:format_version|files)"\s*:')
_VERSION = re.compile(rb'\{\s*"format_version"\s*:\s*"1\.0"')
_ENTRY = re.compile(rb'"start_byte"\s*:')
_ENTRY_END = re.compile(rb'"end_byte"\s*:\s*[0-9]+\s*\}')


def probe(source: Source | Tree) -> Identification | None:
    """Identify a chunk by its footer and the two ends of its index; None when nothing suggests a CAF."""
    if isinstance(source, Tree):
        return None
    size = source.size
    named = source.name.lower().endswith(".caf")
    if size < FOOTER_SIZE + MIN_INDEX:
        return _weak(source) if named else None
    # The footer (size of the index) and the ends of the index that it points to.
    tail = source.read_at(size - FOOTER_SIZE - 1, FOOTER_SIZE + 1)
    index_size = parse_footer(tail[1:], source.span(size - FOOTER_SIZE, size))
    ofs_index = size - FOOTER_SIZE - index_size
    if ofs_index >= 0 and index_size >= MIN_INDEX and tail[:1] in (b"}", b" ", b"\n", b"\r", b"\t"):
        span = source.span(0, size)
        evidence = f"the footer says {counted(index_size, 'bytes')} of index"
        # In a remote file, the window is enough: see `LARGE`.
        if source.cost.wait and index_size > LARGE and _ENTRY_END.search(source.read_at(size - WINDOW, WINDOW)):
            return Identification("caf", 0.95, span, (evidence, "the index ends with ranges of files"))
        head = source.read_at(ofs_index, min(index_size, 4096))
        from exhume.formats.caf.table import PREFIX  # not loaded for files of other formats

        if head.startswith(PREFIX):
            return Identification("caf", 0.99, span, (evidence, "the index starts as both known writers start it"))
        if head.lstrip(b" \t\r\n").startswith(b"{") and (b'"format_version"' in head or b'"files"' in head):
            return Identification("caf", 0.95, span, (evidence, "the index is a JSON object with the right keys"))
    # Without a footer that fits: an index near the end, with its version or an entry (other JSON has `files`, too).
    window = source.read_up_to(max(0, size - WINDOW), WINDOW)
    found = _KEYS.search(window)
    if found and not _ENTRY.search(window, found.end()):
        found = _VERSION.search(window)
    if found:
        at = source.origin + max(0, size - WINDOW) + found.start()
        return Identification(
            "caf", 0.6, source.span(0, size), (f"something like an index at offset {at}, but no footer that fits it",)
        )
    # Core Audio files have the same suffix, and start with `caff`.
    return _weak(source) if named and source.read_at(0, 4) != b"caff" else None


def _weak(source: Source) -> Identification:
    """The result for a file that looks like a CAF only by its name."""
    return Identification("caf", 0.3, source.span(0, source.size), ("only its name ends in .caf",))
