"""Files of well-known types in raw bytes, for chunks whose index is lost: files of each type show where they end.

None of them is a format of ours: only as much of each is read as its length takes, so they have no specification.  The
functions in `TYPES` take a source, the offset of a file, and one at which the search stops.  They return where the file
ends, or None; the caller checks that the end is in range.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections.abc import Callable, Iterator

from exhume.errors import ExhumeError
from exhume.io.source import Source
from exhume.native.kernel import find_patterns

WINDOW = 8 << 20
"""Bytes that are searched for the starts of files at a time."""
MOST = 256 << 20
"""Bytes in which the end of a file is looked for: larger files are not found."""

_STEP = 1 << 16
"""Bytes that are searched for an end mark at a time."""

_PDF_OBJECT = re.compile(rb"\s*(?:\d+ \d+ obj\b|xref\b)")
"""How the objects of a PDF, or their table, continue after an end marker."""

_PDF_START = 64
"""Bytes after an end marker in which that is looked for."""

_FEED = 4 << 10
"""Bytes of a compressed stream that are decompressed at a time, to find its end."""


def find_pieces(source: Source, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
    """`(start, end, suffix)` of every recognized file in `[start, stop)`, in order, without overlaps."""
    signatures = [magic for magic, _, _ in TYPES]
    overlap = max(map(len, signatures)) - 1
    at = done = start
    while at < stop:
        size = min(WINDOW, stop - at)
        data = source.read_at(at, min(size + overlap, stop - at))
        for hit, kind in find_patterns(data, signatures):  # offset in `data`, index of the signature
            place = at + hit
            if place < done or hit >= size:  # inside the file before, or found again in the next window
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
        for at in range(start, stop, _FEED):
            piece = source.read_at(at, min(_FEED, stop - at))
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
