"""Finding chunks inside raw bytes: from a key of the index forward to the footer, then back over the data.

A chunk is a CAF file: data, an index in JSON (an entry with name, start and end for each file), and a footer with the
size of the index.  `exhume carve` calls `locate` for each place where a key of an index occurs.
"""

from __future__ import annotations

import re

from exhume.findings import NOT_CHECKED, Finding, with_error
from exhume.formats.caf.index import parse_partial
from exhume.formats.caf.layout import FOOTER_SIZE, parse_footer
from exhume.formats.caf.reader import CafArchive
from exhume.formats.caf.table import Index
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy

LOOK_BACK = 64
"""White space allowed between the opening brace and its first key."""

FIRST = 4 << 10
"""Bytes of an index that are read first."""
GROWTH = 4
"""Factor by which the bytes of index read grow until its end is found."""

DEPTH = 5
"""Nesting that is followed: the index needs three levels.  A hostile image repeats the text of each level once more."""

CUT = 32
"""Bytes before the end of a window in which a break may be that of the window: of a number, an escape, a literal."""

_NESTED = re.compile(rb'"format_version"[ \t\r\n]*:[ \t\r\n]*[{\[]')
"""An object or list as version: never valid, and parsing it again for each repetition would take too long."""

_OPEN = re.compile(rb"\{[ \t\r\n]*\Z")
"""The opening brace of an index, when only white space follows it."""


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> CarvedArchive | None:
    """The chunk whose index has the key `"format_version"` at `hit`; None if no index is there.

    The start of a chunk is not stored.  It is where the data must begin for the last file to end at the index, as it
    does in everything that the reference writers make without a failed stream.  Raises `LimitExceededError` for an
    index that a limit keeps from being read.
    """
    ofs_index = _brace_before(source, hit)
    if ofs_index is None or _NESTED.match(source.read_up_to(hit, LOOK_BACK)):
        return None
    index, end = _read(source, ofs_index, limits)
    if isinstance(index.broken, NOT_CHECKED):  # a limit ended the reading: nothing is known about the chunk
        raise index.broken
    if not index.has_files:
        return None
    data_size = max((stop for number, stop in enumerate(index.ends) if number not in index.flaws), default=0)
    is_whole = index.end >= 0  # its JSON ends
    has_footer = is_whole and _is_footer(source, end, end - ofs_index)
    if not has_footer and not len(index):
        return None
    is_cut = ofs_index < data_size  # the source has only the end of the chunk
    start = max(0, ofs_index - data_size)
    stop = end + FOOTER_SIZE if has_footer else end
    if is_cut or not has_footer:
        confidence = 0.7 if has_footer else (0.4 if is_whole else 0.3)
        return CarvedArchive("caf", source.span(start, stop), CarveVerdict.PARTIAL, confidence, _findings(index))
    archive = CafArchive(source.window(start, stop), limits=limits, any_version=True)
    findings = tuple(with_error(archive.verify()))
    # The format states nothing of the data but their place.
    proof = VerifiedBy.NONE if data_size else VerifiedBy.STRUCTURE
    return CarvedArchive("caf", source.span(start, stop), CarveVerdict.of(findings, proof), 0.99, findings, proof)


def _brace_before(source: Source, hit: int) -> int | None:
    """The offset of the brace before the key at `hit`; None unless only white space is between them."""
    start = max(0, hit - LOOK_BACK)
    brace = _OPEN.search(source.read_up_to(start, hit - start))
    return None if brace is None else start + brace.start()


def _is_footer(source: Source, at: int, index_size: int) -> bool:
    """Whether the bytes at `at` are a footer that states `index_size`."""
    footer = source.read_up_to(at, FOOTER_SIZE)
    return len(footer) == FOOTER_SIZE and parse_footer(footer, source.span(at, at + len(footer))) == index_size


def _findings(index: Index) -> tuple[Finding, ...]:
    """The finding about an index that breaks off."""
    return (Finding.from_error(index.broken),) if index.broken is not None and index.end < 0 else ()


def _read(source: Source, ofs_index: int, limits: Limits) -> tuple[Index, int]:
    """The index at the offset `ofs_index`, and where its text ends (or breaks).

    The first bytes are a window, which grows as long as two things are true: the text breaks off at the end of the
    window and not before, and the last step brought new entries, or the window is small enough to be all one name
    (limit `name_size`).  So an image that repeats the head of an index does not cause much reading.
    """
    room = min(source.size - ofs_index, limits.structure_size)  # the largest window
    limits = limits._replace(depth=min(limits.depth, DEPTH))
    size, entries = min(room, FIRST), 0
    while True:
        where = source.span(ofs_index, ofs_index + size)
        index = parse_partial(source.read_at(ofs_index, size), where, limits)
        if index.end >= 0:
            return index, ofs_index + index.end
        broken = index.broken.span.start - where.start if index.broken and index.broken.span else 0  # in the window
        # Not the source but the limit keeps the window from growing: raise its error.
        if size == limits.structure_size < source.size - ofs_index:
            limits.check("structure_size", size + 1, where)
        stuck = size > limits.name_size and len(index) == entries
        if size == room or stuck or broken < size - CUT:
            # The index itself breaks off here; it was not merely cut by the end of the window.
            return index, ofs_index + min(size, max(broken, 1))
        size, entries = min(room, size * GROWTH), len(index)
