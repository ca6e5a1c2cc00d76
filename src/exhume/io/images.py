"""Disk images: split raw ones (`image.000`, `image.001`, ...; `image.aa`, ...), and EWF (`.E01`, `.Ex01`, `.s01`).

All files of a split image but the last have the same size; files of other sizes only have such names.

The Expert Witness Compression Format is read by libewf.  The source returns the imaged content, and every offset is an
offset in that content: an archive inside is found, read and verified as in a raw image.  All segments of a set
(`.E01`, `.E02`, ...) are found next to the first.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from exhume.counts import counted
from exhume.errors import MissingDependencyError, SourceError, Span
from exhume.io import activity
from exhume.io.files import READ
from exhume.io.local import FileSource
from exhume.io.source import Source
from exhume.tuples import NamedTuple

MOST_OPEN = 64
"""Files of a split image that are kept open; further ones are opened for each read."""

GAP = 100
"""Names after a missing piece that are tried: if one exists, the note says which piece is missing."""

# Names of the files of a split image: (stem with the dot, suffix).
_NUMBERED = re.compile(r"(.+\.)(\d{3,})")
_LETTERED = re.compile(r"(.+\.)([a-z]{2,3})")


class SplitSet(NamedTuple):
    """Result of `split_set`.

    `pieces` are the files of a split image in order, empty if the file is read alone; `note` is a message for the user.
    """

    pieces: tuple[str, ...] = ()
    note: str = ""


class SplitSource(Source):
    """The segments of a split image as one file, named after the first; offsets count from its start."""

    def __init__(self, pieces: tuple[str, ...]) -> None:
        """Open every piece once.  Raises `SourceError`."""
        self.name: str = pieces[0]
        self.pieces = pieces
        self._open: dict[int, FileSource] = {}  # by number of the piece
        sizes = []
        for number, path in enumerate(pieces):
            piece = FileSource(path)
            sizes.append(piece.size)
            if number < MOST_OPEN:
                self._open[number] = piece
            else:
                piece.close()
        self._starts = [0, *accumulate(sizes)]  # offset of each piece in the image, and the end

    @property
    def size(self) -> int:
        return self._starts[-1]

    @property
    def location(self) -> str | None:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return SplitSource, (self.pieces,)

    def _read(self, offset: int, size: int) -> bytes:
        """Read a range that may cross segments."""
        parts = []
        number = bisect_right(self._starts, offset) - 1
        while size > 0:
            start, end = self._starts[number : number + 2]
            step = min(size, end - offset)
            parts.append(self._read_piece(number, offset - start, step))
            offset, size, number = offset + step, size - step, number + 1
        return b"".join(parts)

    def stored(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The ranges that are not holes of a segment; a range ends where a segment does."""
        number = bisect_right(self._starts, start) - 1
        while start < end:
            first, last = self._starts[number : number + 2]
            stop = min(end, last)
            kept = self._open.get(number)
            # A segment that is not kept open counts as one without holes.
            ranges = [(start - first, stop - first)] if kept is None else kept.stored(start - first, stop - first)
            for one, other in ranges:
                yield first + one, first + other
            start, number = stop, number + 1

    def _read_piece(self, number: int, offset: int, size: int) -> bytes:
        """Read from one segment, which is opened for this read if it is not kept open."""
        kept = self._open.get(number)
        if kept is not None:
            return kept.read_at(offset, size)
        with FileSource(self.pieces[number]) as piece:
            return piece.read_at(offset, size)

    def close(self) -> None:
        for piece in self._open.values():
            piece.close()


def split_set(path: str) -> SplitSet:
    """Return the split image whose first piece is the local file `path`; no pieces if it is not the first of several.

    The note then names the image that the file may belong to; for an image, it lists the files that are read, and
    the one that is missing.
    """
    named = _NUMBERED.fullmatch(path) or _LETTERED.fullmatch(path)
    if named is None or _size(path) < 0:
        return SplitSet()
    # Suffixes count from 0 or 1, or from a.  The first piece has the lowest that exists; any other file is read alone.
    stem, suffix = named.groups()
    width = len(suffix)
    firsts = ("0" * width, "1".rjust(width, "0")) if suffix.isdigit() else ("a" * width,)
    first = next((one for one in firsts if _size(stem + one) >= 0), None)
    if suffix != first:
        note = f"{path} is read alone; for the split image that it is a piece of, give {stem}{first}"
        return SplitSet(note=note if first is not None and _size(path) <= _size(stem + first) else "")
    # All pieces are of one size, and the last perhaps smaller.
    pieces, following = [path], _next(suffix)
    while following and _size(stem + following) >= 0:
        pieces.append(stem + following)
        following = _next(following)
    if len(pieces) == 1:
        return SplitSet()
    sizes = [_size(piece) for piece in pieces]
    if len(set(sizes[:-1])) > 1 or sizes[-1] > sizes[0]:
        return SplitSet(note=f"{path} is read alone: by their sizes, it and {pieces[1]} are not pieces of one image")
    note = f"{pieces[0]} to {pieces[-1]} are read as one image of {counted(len(pieces), 'pieces')}"
    # A file after a gap shows that a piece is missing.
    later = following
    for _ in range(GAP):
        later = _next(later)
        if later and _size(stem + later) >= 0:
            note += f"; {stem}{following} is missing, and {stem}{later} is not read"
            break
    return SplitSet(tuple(pieces), note)


def _size(path: str) -> int:
    """The size of a file; -1 if there is none of that name."""
    try:
        return os.stat(path).st_size if os.path.isfile(path) else -1
    except OSError:
        return -1


def _next(suffix: str) -> str:
    """The suffix of the next piece; empty after the last one that there can be."""
    if suffix.isdigit():
        return str(int(suffix) + 1).rjust(len(suffix), "0")
    head = suffix.rstrip("z")  # the letters after it become a, as digits of a number
    return head[:-1] + chr(ord(head[-1]) + 1) + "a" * (len(suffix) - len(head)) if head else ""


ENDINGS = (".e01", ".ex01", ".s01")
"""Suffixes of first segments, in small letters."""

MAGICS = (b"EVF\x09\x0d\x0a\xff\x00", b"EVF2\x0d\x0a\x81\x00")
"""First bytes of a segment: version 1 and version 2 of the format."""


class EvidenceSource(Source):
    """The content of an EWF image; `digest` is the MD5 of the content that the container stores, "" if it
    stores none.
    """

    def __init__(self, path: str) -> None:
        """Open all segments of the image that begins with the file `path`.

        Raises `MissingDependencyError` without libewf (extra `ewf`), `SourceError` for files that it cannot read.
        """
        try:
            import pyewf
        except ImportError:
            raise MissingDependencyError(
                "EWF images need libewf: pip install 'exhume[ewf]'", span=Span(path, 0, 0)
            ) from None
        self.name = path
        self._lock = threading.Lock()
        self._handle: Any = None
        try:
            segments = pyewf.glob(path)
            if activity.current is not None:
                for segment in segments:
                    activity.current.on_open(segment)
            self._handle = pyewf.open(segments)
            self._size = int(self._handle.get_media_size())
            self.digest: str = self._handle.get_hash_value("MD5") or ""
        except OSError as error:
            raise SourceError("EWF image cannot be read", span=Span(path, 0, 0), actual=error) from error

    @property
    def size(self) -> int:
        return self._size

    @property
    def location(self) -> str | None:
        return self.name

    def _read(self, offset: int, size: int) -> bytes:
        """Read decompressed bytes of the image, one thread at a time."""
        with self._lock:
            if self._handle is None:
                raise SourceError("the file is closed", span=self.span(offset, offset + size), code="EX-605")
            try:
                data: bytes = self._handle.read_buffer_at_offset(size, offset)
            except OSError as error:
                span = self.span(offset, offset + size)
                raise SourceError("EWF image is damaged here", span=span, actual=error) from error
        return data

    def close(self) -> None:
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()


def is_evidence(path: str) -> bool:
    """Whether a file is the first segment of an EWF image, judged by its name and its first bytes."""
    if not path.lower().endswith(ENDINGS):
        return False
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        descriptor = os.open(path, READ)
    except OSError:
        return False  # opening it later reports the reason
    try:
        return os.read(descriptor, len(MAGICS[0])).startswith(MAGICS)
    finally:
        os.close(descriptor)


def segments(path: str) -> tuple[str, ...]:
    """The files of the EWF image that begins with this one; empty for another file, and without libewf."""
    if not is_evidence(path):
        return ()
    try:
        import pyewf

        return tuple(pyewf.glob(path))
    except (ImportError, OSError):  # opening it reports that
        return ()
