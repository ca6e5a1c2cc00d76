"""Finding chunks inside raw bytes: from a key of the index forward to the footer, then back over the data.

Files of well-known types in raw bytes, for chunks whose index is lost: files of each type show where they end.

None of them is a format of ours: only as much of each is looked at as its length takes, so they have no specification.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections.abc import Callable, Iterator

from exhume.errors import ExhumeError
from exhume.findings import NOT_CHECKED, Finding, with_error
from exhume.formats.caf.index import parse_partial
from exhume.formats.caf.layout import FOOTER_SIZE, parse_footer
from exhume.formats.caf.reader import CafArchive
from exhume.formats.caf.table import Index
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.native.kernel import find_patterns
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy

LOOK_BACK = 64
"""White space allowed between the opening brace and its first key."""

FIRST = 4 << 10
GROWTH = 4
"""Factor by which the bytes of index read grow until its end is found."""

DEPTH = 5
"""Nesting that is followed: the index needs three levels.  A hostile image repeats the text of each level once more."""

CUT = 32
"""Bytes before the end of a window in which a break may be that of the window: of a number, an escape, a literal."""

_NESTED = re.compile(rb'"format_version"[ \t\r\n]*:[ \t\r\n]*[{\[]')
"""What is not a version, and would be parsed again for each repetition."""

_OPEN = re.compile(rb"\{[ \t\r\n]*\Z")


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> CarvedArchive | None:
    """The chunk whose index has the key `"format_version"` at `hit`; None if no index is there.

    The start of a chunk is not stored.  It is where the data must begin for the last file to end at the index, as it
    does in everything that the reference writers make without a failed stream.  Raises `LimitExceededError` for an
    index that a limit keeps from being read.
    """
    before = source.read_up_to(max(0, hit - LOOK_BACK), min(hit, LOOK_BACK))
    brace = _OPEN.search(before)
    if brace is None:
        return None
    if _NESTED.match(source.read_up_to(hit, LOOK_BACK)):
        return None
    ofs_index = hit - (len(before) - brace.start())
    index, end = _read(source, ofs_index, limits)
    if isinstance(index.broken, NOT_CHECKED):
        raise index.broken
    if not index.has_files:
        return None
    starts, ends = index.starts, index.ends
    data_size = max((b for i, (a, b) in enumerate(zip(starts, ends, strict=True)) if i not in index.flaws), default=0)
    whole = index.end >= 0
    footer = source.read_up_to(end, FOOTER_SIZE)
    where = source.span(end, end + len(footer))
    fits = whole and len(footer) == FOOTER_SIZE and parse_footer(footer, where) == end - ofs_index
    if not fits and not len(index):
        return None
    start = ofs_index - data_size
    cut = start < 0
    if cut:
        start = 0
    stop = end + FOOTER_SIZE if fits else end
    if not fits or cut:
        confidence = 0.7 if fits else 0.4 if whole else 0.3
        return CarvedArchive("caf", source.span(start, stop), CarveVerdict.PARTIAL, confidence, _findings(index))
    archive = CafArchive(source.window(start, stop), limits=limits, any_version=True)
    findings = tuple(with_error(archive.verify()))
    proof = (
        VerifiedBy.NONE if data_size else VerifiedBy.STRUCTURE
    )  # the format states nothing of the data but their place
    return CarvedArchive("caf", source.span(start, stop), CarveVerdict.of(findings, proof), 0.99, findings, proof)


def _findings(index: Index) -> tuple[Finding, ...]:
    return (Finding.from_error(index.broken),) if index.broken is not None and index.end < 0 else ()


def _read(source: Source, ofs_index: int, limits: Limits) -> tuple[Index, int]:
    """The index at an offset and where its text ends (or breaks).

    Only a fraction of the possible bytes is read, however often an image repeats the head of an index: the window grows
    only if the text does not break off, and the last step found new entries or less than `name_size` bytes.
    """
    room = min(source.size - ofs_index, limits.structure_size)
    limits = limits._replace(depth=min(limits.depth, DEPTH))
    size, entries = min(room, FIRST), 0
    while True:
        where = source.span(ofs_index, ofs_index + size)
        index = parse_partial(source.read_at(ofs_index, size), where, limits)
        if index.end >= 0:
            return index, ofs_index + index.end
        broken = index.broken.span.start - where.start if index.broken and index.broken.span else 0
        if size == limits.structure_size < source.size - ofs_index:
            limits.check("structure_size", size + 1, where)
        stuck = size > limits.name_size and len(index) == entries
        if size == room or stuck or broken < size - CUT:
            # The index itself breaks off here; it was not merely cut by the end of the window.
            return index, ofs_index + min(size, max(broken, 1))
        size, entries = min(room, size * GROWTH), len(index)


WINDOW = 8 << 20
MOST = 256 << 20
"""Largest fragment that is followed completely."""

_STEP = 1 << 16


def find_pieces(source: Source, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
    """`(start, end, suffix)` of every recognized file in `[start, stop)`, in order, without overlaps."""
    signatures = [magic for magic, _, _ in TYPES]
    overlap = max(map(len, signatures)) - 1
    at = done = start
    while at < stop:
        size = min(WINDOW, stop - at)
        data = source.read_at(at, min(size + overlap, stop - at))
        for hit, kind in find_patterns(data, signatures):
            place = at + hit
            if place < done or hit >= size:
                continue
            _, suffix, measure = TYPES[kind]
            try:
                end = measure(source, place, min(stop, place + MOST))
            except (ExhumeError, IndexError, ValueError, zlib.error, lzma.LZMAError):
                continue
            if end is not None and place < end <= stop:
                yield place, end, suffix
                done = end
        at += size


def _png(source: Source, start: int, stop: int) -> int | None:
    """Return where a PNG ends, by its chunks; None if they do not fit."""
    at = start + 8
    while at + 12 <= stop:
        head = source.read_at(at, 8)
        at += 12 + int.from_bytes(head[:4], "big")
        if head[4:] == b"IEND":
            return at
        if not head[4:].isalpha():
            return None
    return None


def _jpeg(source: Source, start: int, stop: int) -> int | None:
    """Return where a JPEG ends, by its segments; None if they do not fit."""
    at = start + 2
    while at + 4 <= stop:
        head = source.read_at(at, 4)
        if head[0] != 0xFF:
            return None
        if head[1] == 0xDA:  # the image data, which end at the first end marker
            return _offset_after(source, at, stop, b"\xff\xd9")
        at += 2 + int.from_bytes(head[2:], "big")
    return None


def _pdf(source: Source, start: int, stop: int) -> int | None:
    """Return where a PDF ends: after the last end marker that belongs to it."""
    end = _offset_after(source, start, stop, b"%%EOF")
    while end is not None:  # updates are appended to the file, each with an end marker of its own
        following = source.read_up_to(end, min(_STEP, stop - end))
        if b"%%EOF" not in following or b"%PDF-" in following[: following.index(b"%%EOF")]:
            break
        end = _offset_after(source, end, stop, b"%%EOF")
    if end is not None:
        tail = source.read_up_to(end, min(2, stop - end))
        end += len(tail) - len(tail.lstrip(b"\r\n"))
    return end


def _zip(source: Source, start: int, stop: int) -> int | None:
    end = _offset_after(source, start, stop, b"PK\x05\x06")
    if end is None or end + 18 > stop:
        return None
    return end + 18 + int.from_bytes(source.read_at(end + 16, 2), "little")


def _riff(source: Source, start: int, stop: int) -> int | None:
    return start + 8 + int.from_bytes(source.read_at(start + 4, 4), "little")


def _sqlite(source: Source, start: int, stop: int) -> int | None:
    head = source.read_at(start, 32)
    page = int.from_bytes(head[16:18], "big")
    return start + (65_536 if page == 1 else page) * int.from_bytes(head[28:32], "big")


def _stream(make: Callable[[], object]) -> Callable[[Source, int, int], int | None]:
    """The end of a compressed stream, found by decoding it in small steps (nothing is kept)."""

    def measure(source: Source, start: int, stop: int) -> int | None:
        """Return where a compressed stream ends, by decompressing it; None if it does not."""
        engine: object = make()
        for at in range(start, stop, 4096):
            piece = source.read_at(at, min(4096, stop - at))
            engine.decompress(piece)  # type: ignore[attr-defined]
            if engine.eof:  # type: ignore[attr-defined]
                return at + len(piece) - len(engine.unused_data)  # type: ignore[attr-defined]
        return None

    return measure


def _offset_after(source: Source, start: int, stop: int, mark: bytes) -> int | None:
    """The offset just after the first `mark` in `[start, stop)`."""
    at = start
    while at < stop:
        data = source.read_at(at, min(_STEP + len(mark) - 1, stop - at))
        hit = data.find(mark)
        if hit >= 0:
            return at + hit + len(mark)
        at += _STEP
    return None


TYPES: list[tuple[bytes, str, Callable[[Source, int, int], int | None]]] = [
    (b"\x89PNG\r\n\x1a\n", "png", _png),
    (b"\xff\xd8\xff", "jpg", _jpeg),
    (b"%PDF-", "pdf", _pdf),
    (b"PK\x03\x04", "zip", _zip),
    (b"RIFF", "riff", _riff),
    (b"SQLite format 3\0", "sqlite", _sqlite),
    (b"\x1f\x8b\x08", "gz", _stream(lambda: zlib.decompressobj(31))),
    (b"\xfd7zXZ\0", "xz", _stream(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ))),
]
"""Magic bytes, suffix, and the function that finds the end."""
