"""Finding chunks inside raw bytes, and files of well-known types in the data of chunks whose index is lost.

A chunk is a CAF file: data, an index in JSON (an entry with name, start and end for each file), and a footer with the
size of the index.  `exhume carve` calls `locate` for each place where a key of an index occurs: it searches forward to
the footer, then back over the data.

Salvage calls `find_pieces` where no index is found.  The types in `TYPES` show where their files end.  None of them is
a format of exhume: only as much of each is read as its length takes, so they have no specification.
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

FIRST_READ = 4 << 10
"""Bytes of an index that are read first."""
GROWTH = 4
"""Factor by which the bytes of index read grow until its end is found."""

DEPTH = 5
"""Nesting that is followed: the index needs three levels.  A hostile image repeats the text of each level once more."""

CUT_MARGIN = 32
"""Bytes before the end of a window in which a break may be that of the window: of a number, an escape, a literal."""

_NESTED = re.compile(rb'"format_version"[ \t\r\n]*:[ \t\r\n]*[{\[]')
"""An object or list as version: never valid, and parsing it again for each repetition would take too long."""

_OPEN = re.compile(rb"\{[ \t\r\n]*\Z")
"""The opening brace of an index, when only white space follows it."""

SEARCH_WINDOW = 8 << 20
"""Bytes that are searched for the starts of files at a time."""
LARGEST_FILE = 256 << 20
"""Bytes from its start in which the end of a file is searched: larger files are not found."""

_MARK_WINDOW = 1 << 16
"""Bytes that are searched for an end mark at a time."""

_PDF_OBJECT = re.compile(rb"\s*(?:\d+ \d+ obj\b|xref\b)")
"""How the objects of a PDF, or their table, continue after an end marker."""

_PDF_START = 64
"""Bytes after an end marker that are compared with `_PDF_OBJECT`."""

_STREAM_STEP = 4 << 10
"""Bytes of a compressed stream that are decompressed at a time, to find its end."""


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
    size, entries = min(room, FIRST_READ), 0
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
        if size == room or stuck or broken < size - CUT_MARGIN:
            # The index itself breaks off here; it was not merely cut by the end of the window.
            return index, ofs_index + min(size, max(broken, 1))
        size, entries = min(room, size * GROWTH), len(index)


def find_pieces(source: Source, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
    """`(start, end, suffix)` of every recognized file in `[start, stop)`, in order, without overlaps."""
    signatures = [magic for magic, _, _ in TYPES]
    overlap = max(map(len, signatures)) - 1
    at = done = start
    while at < stop:
        size = min(SEARCH_WINDOW, stop - at)
        data = source.read_at(at, min(size + overlap, stop - at))
        for hit, kind in find_patterns(data, signatures):  # offset in `data`, index of the signature
            place = at + hit
            if place < done or hit >= size:  # inside the file before, or found again in the next window
                continue
            _, suffix, measure = TYPES[kind]
            try:
                end = measure(source, place, min(stop, place + LARGEST_FILE))
            except (ExhumeError, IndexError, ValueError, zlib.error, lzma.LZMAError):
                continue
            if end is not None and place < end <= stop:
                yield place, end, suffix
                done = end
        at += size


def _png(source: Source, start: int, stop: int) -> int | None:
    """Return where a PNG ends, by its chunks; None if they do not fit."""
    at = start + 8  # after the signature
    while at + 12 <= stop:
        head = source.read_at(at, 8)  # size of the content and type; a checksum follows the content
        at += 12 + int.from_bytes(head[:4], "big")
        if head[4:] == b"IEND":
            return at
        if not head[4:].isalpha():
            return None
    return None


def _jpeg(source: Source, start: int, stop: int) -> int | None:
    """Return where a JPEG ends, by its segments; None if they do not fit."""
    at = start + 2  # after the start marker
    while at + 4 <= stop:
        head = source.read_at(at, 4)  # marker of two bytes, and the size of the segment with these two bytes
        if head[0] != 0xFF:
            return None
        if head[1] == 0xDA:  # the image data, which end at the first end marker
            return _offset_after(source, at, stop, b"\xff\xd9")
        at += 2 + int.from_bytes(head[2:], "big")
    return None


def _pdf(source: Source, start: int, stop: int) -> int | None:
    """Return where a PDF ends: after the last end marker that belongs to it.

    Updates are appended to a file, each with an end marker of its own.  A file for viewing on the web (linearized) has
    one after the objects of its first page.
    """
    end = _offset_after(source, start, stop, b"%%EOF")
    while end is not None and _PDF_OBJECT.match(source.read_up_to(end, min(_PDF_START, stop - end))):
        following = _offset_after(source, end, stop, b"%%EOF")
        if following is None or _offset_after(source, end, following, b"%PDF-") is not None:
            break
        end = following
    if end is not None:
        tail = source.read_up_to(end, min(2, stop - end))
        end += len(tail) - len(tail.lstrip(b"\r\n"))
    return end


def _zip(source: Source, start: int, stop: int) -> int | None:
    """Return where a zip archive ends: after its end record (18 bytes, the last two the size of a comment)."""
    end = _offset_after(source, start, stop, b"PK\x05\x06")
    if end is None or end + 18 > stop:
        return None
    return end + 18 + int.from_bytes(source.read_at(end + 16, 2), "little")


def _riff(source: Source, start: int, stop: int) -> int | None:
    """Return where a RIFF file (WAV, AVI, WebP) ends, by the size in its header."""
    return start + 8 + int.from_bytes(source.read_at(start + 4, 4), "little")


def _sqlite(source: Source, start: int, stop: int) -> int | None:
    """Return where a SQLite database ends, by the size and the number of its pages."""
    head = source.read_at(start, 32)
    page = int.from_bytes(head[16:18], "big")  # 1 stands for 65,536
    return start + (65_536 if page == 1 else page) * int.from_bytes(head[28:32], "big")


def _stream(make: Callable[[], object]) -> Callable[[Source, int, int], int | None]:
    """Return a function that finds the end of a compressed stream by decoding it in small steps, keeping nothing.

    `make` returns a decompressor with the interface of the standard library.
    """

    def measure(source: Source, start: int, stop: int) -> int | None:
        """Return where a compressed stream ends, by decompressing it; None if it does not."""
        engine: object = make()
        for at in range(start, stop, _STREAM_STEP):
            piece = source.read_at(at, min(_STREAM_STEP, stop - at))
            engine.decompress(piece)  # type: ignore[attr-defined]
            if engine.eof:  # type: ignore[attr-defined]
                return at + len(piece) - len(engine.unused_data)  # type: ignore[attr-defined]
        return None

    return measure


def _offset_after(source: Source, start: int, stop: int, mark: bytes) -> int | None:
    """The offset just after the first `mark` in `[start, stop)`."""
    at = start
    while at < stop:
        data = source.read_at(at, min(_MARK_WINDOW + len(mark) - 1, stop - at))
        hit = data.find(mark)
        if hit >= 0:
            return at + hit + len(mark)
        at += _MARK_WINDOW
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
