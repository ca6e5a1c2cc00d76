"""Split raw images: `image.000`, `image.001`, ... or `image.aa`, `image.ab`, ... read as the one image that they are.

Imaging tools write pieces of equal size, except for the last; files of other sizes only have such names.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from itertools import accumulate
from typing import Any, NamedTuple

from exhume.counts import counted
from exhume.io.local import FileSource
from exhume.io.source import Source

MOST_OPEN = 64
"""Pieces that are kept open; further ones are opened for each read."""

GAP = 100
"""Names after a missing piece that are tried, to say that it is missing."""

_NUMBERED = re.compile(r"(.+\.)(\d{3,})")
_LETTERED = re.compile(r"(.+\.)([a-z]{2,3})")


class SplitSet(NamedTuple):
    """The split image that a file name belongs to.

    `pieces` are its files in order, empty if the file is read alone; `note` says what a reader of the file must know.
    """

    pieces: tuple[str, ...] = ()
    note: str = ""


class SplitSource(Source):
    """The segments of a split image as one file, named after the first; offsets count from its start."""

    def __init__(self, pieces: tuple[str, ...]) -> None:
        """Open every piece once.  Raises `SourceError`."""
        self.name = pieces[0]
        self.pieces = pieces
        self._open: dict[int, FileSource] = {}
        sizes = []
        for number, path in enumerate(pieces):
            piece = FileSource(path)
            sizes.append(piece.size)
            if number < MOST_OPEN:
                self._open[number] = piece
            else:
                piece.close()
        self._starts = [0, *accumulate(sizes)]

    @property
    def size(self) -> int:
        return self._starts[-1]

    @property
    def location(self) -> str | None:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return SplitSource, (self.pieces,)

    def _read(self, offset: int, size: int) -> bytes:
        parts = []
        number = bisect_right(self._starts, offset) - 1
        while size > 0:
            start, end = self._starts[number : number + 2]
            step = min(size, end - offset)
            parts.append(self._read_piece(number, offset - start, step))
            offset, size, number = offset + step, size - step, number + 1
        return b"".join(parts)

    def _read_piece(self, number: int, offset: int, size: int) -> bytes:
        kept = self._open.get(number)
        if kept is not None:
            return kept.read_at(offset, size)
        with FileSource(self.pieces[number]) as piece:
            return piece.read_at(offset, size)

    def close(self) -> None:
        for piece in self._open.values():
            piece.close()


def split_set(path: str) -> SplitSet:
    """The split image that begins with a local file, and what to say of one that the file belongs to."""
    named = _NUMBERED.fullmatch(path) or _LETTERED.fullmatch(path)
    if named is None or _size(path) < 0:
        return SplitSet()
    stem, suffix = named.groups()
    width = len(suffix)
    firsts = ("0" * width, "1".rjust(width, "0")) if suffix.isdigit() else ("a" * width,)
    first = next((one for one in firsts if _size(stem + one) >= 0), None)
    if suffix != first:
        note = f"{path} is read alone; for the split image that it is a piece of, give {stem}{first}"
        return SplitSet(note=note if first is not None and _size(path) <= _size(stem + first) else "")
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
        return os.stat(path).st_size if os.path.isfile(path) else -1  # noqa: PTH113, PTH116 - pathlib imports much
    except OSError:
        return -1


def _next(suffix: str) -> str:
    """The suffix of the next piece; empty after the last one that there can be."""
    if suffix.isdigit():
        return str(int(suffix) + 1).rjust(len(suffix), "0")
    head = suffix.rstrip("z")
    return head[:-1] + chr(ord(head[-1]) + 1) + "a" * (len(suffix) - len(head)) if head else ""
