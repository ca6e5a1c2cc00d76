"""Finds one name in a large index without parsing all of it: a walk over the text in windows that stores nothing.

The walk accepts only the form that the reference writers make (`canonical.py`) and checks every entry, so its result is
the same as that of parsing; for any other form it stops, and the caller parses.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from exhume.formats.caf.canonical import PREFIX, SUFFIX
from exhume.formats.caf.kernel import walk
from exhume.io.source import Source

WINDOW = 1 << 20
"""Bytes of index text held at a time."""


class Lookup(NamedTuple):
    """The walk's answer for a name: its range (not checked against the data section), or None when it is absent.

    `below` says whether other names continue it, so that it is a directory.
    """

    found: tuple[int, int] | None
    below: bool


def find_member(source: Source, ofs_index: int, index_size: int, name: str) -> Lookup | None:
    """Look a name up in the index text; None when the text is broken or not in the form of the reference writers."""
    end = ofs_index + index_size
    if index_size < len(PREFIX) + len(SUFFIX) or source.read_at(ofs_index, len(PREFIX)) != PREFIX:
        return None
    needle = name.encode("utf-8", "surrogatepass")
    found: tuple[int, int] | None = None
    below = False
    at = ofs_index + len(PREFIX)
    if end - at == len(SUFFIX):
        return Lookup(None, False) if source.read_at(at, len(SUFFIX)) == SUFFIX else None
    while at < end:
        size = min(WINDOW, end - at)
        text = source.read_at(at, size)
        seen = walk(text, 0, needle)
        if not seen.stop or seen.ended != (at + size == end):
            return None
        if not seen.ascii:
            try:
                text[: seen.stop].decode("utf-8")
            except UnicodeDecodeError:
                return None
        found = seen.found or found
        below = below or seen.below
        for start, stop, first, last in seen.escaped:
            spelled = json.loads(b'"%b"' % text[start:stop])
            if spelled == name:
                found = first, last
            elif spelled.startswith(f"{name}/"):
                below = True
        at += seen.stop  # an entry that the window cut off is read again as a whole
    return Lookup(found, below)
