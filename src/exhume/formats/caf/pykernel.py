"""Pure-Python form of the CAF part of `exhume.native._kernel`: the walk over an index in the reference writers' form.

Both accept exactly the same text, which is what `parse_canonical` reads; a property test holds them together.  An index
is JSON that names the files of a chunk; in that form it has no white space, and an entry for a file is
`"NAME":{"start_byte":START,"end_byte":END}`.
"""

from __future__ import annotations

import re
from array import array
from itertools import accumulate

from exhume.tuples import NamedTuple

TEXT = rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
"""The inside of a JSON string, as a pattern on UTF-8 bytes."""

OFFSET = rb"(0|[1-9][0-9]{0,17})"
"""An offset as the writers spell it: below 10^18, so that it fits 63 bits whatever its digits."""

PUNCTUATION = 31
"""JSON bytes per entry besides name and digits, the comma between entries included."""

# An entry (name, start, end) with the comma after it, or before the end of the index; and any number of them,
# possessively, so that a long index needs no memory for backtracking.
_ENTRY = re.compile(
    rb'"(' + TEXT + rb')":\{"start_byte":' + OFFSET + rb',"end_byte":' + OFFSET + rb"\}(?:,|(?=\}\}\Z))"
)
_OFFSET = rb"(?:0|[1-9][0-9]{0,17})"
_RUN = re.compile(
    rb'(?:"' + TEXT + rb'":\{"start_byte":' + _OFFSET + rb',"end_byte":' + _OFFSET + rb"\}(?:,|(?=\}\}\Z)))*+"
)

Range = tuple[int, int]
"""Start and end of a file in the chunk."""


class IndexWalk(NamedTuple):
    """The result of `caf_walk`."""

    stop: int
    """Offset after the entries that were read: the end of the text, if `ended`."""
    ended: bool
    """Whether the last entry of the index was read."""
    ascii: bool
    """Whether all names are ASCII."""
    found: Range | None
    """Range of the last entry with the wanted name."""
    below: bool
    """Whether a name continues the wanted one with `/`, so that this is a directory."""
    escaped: list[tuple[int, int, int, int]]
    """(name start, name end, start, end) of each entry whose name has escapes, which the caller has to decode, and of
    later entries with the wanted name: the last one counts."""


def caf_walk(text: bytes | memoryview, at: int, name: bytes) -> IndexWalk:
    """Look for a name in the entries in `text[at:]`, each with the comma after it, the last one with the final `}}`.

    `text` is a part of an index that may end within an entry; `name` is in UTF-8, without escapes.
    """
    data = bytes(text)
    # A run of entries as both known writers write them.
    run = _RUN.match(data, at)
    stop = run.end() if run else at
    # The last entry is followed by `}}` instead of a comma.
    ended = stop > at and data[stop:] == b"}}" and data[stop - 1 : stop] == b"}"
    found, below = None, False
    lead = b'"' + name  # also where a longer name starts
    hit = data.find(lead, at, stop)
    escaped = _escaped(data, at, stop, name) if data.find(b"\\", at, stop) >= 0 else []
    # Find `name`: as an entry, or as a directory of one (`below`).  An entry is the first, or follows another.
    while hit >= 0:
        if hit == at or data[hit - 2 : hit] == b"},":
            entry = _ENTRY.match(data, hit)
            if entry and entry[1] == name:
                found = int(entry[2]), int(entry[3])
            elif entry and b"\\" not in entry[1] and entry[1].startswith(name + b"/"):
                below = True
        hit = data.find(lead, hit + 1, stop)
    if ended:
        names = data[at:stop]
        return IndexWalk(len(data), True, names.isascii(), found, below, escaped)
    return IndexWalk(stop, False, data[at:stop].isascii(), found, below, escaped)


def _escaped(data: bytes, at: int, stop: int, name: bytes) -> list[tuple[int, int, int, int]]:
    """Return the entries that the caller has to decode: names with escapes, and `name` itself after one of these."""
    found: list[tuple[int, int, int, int]] = []
    for match in _ENTRY.finditer(data, at, len(data)):
        if match.start() >= stop:
            break
        if b"\\" in match[1] or (found and match[1] == name):
            found.append((match.start(1), match.end(1), int(match[2]), int(match[3])))
    return found


Entries = tuple[list[str], "array[int]", "array[int]", "array[int]", "array[int]", list[int]]
"""The columns that `caf_entries` describes."""


def caf_entries(text: bytes, at: int) -> Entries | None:
    """Return all entries in `text[at:]`, the last of them followed by `}}`; None if the form of any differs.

    The result has columns: names as spelled, starts, ends, offsets and sizes of the quoted names; and the positions of
    the names with a backslash.  Raises `UnicodeDecodeError`.
    """
    rows = _ENTRY.findall(text, at)
    if not rows:
        return None
    raw, starts, ends = zip(*rows, strict=True)
    del rows
    sizes = list(map(len, raw))
    lengths = [a + b + c + PUNCTUATION for a, b, c in zip(sizes, map(len, starts), map(len, ends), strict=True)]
    # The last entry has no comma (-1) but the end of the index (+2).
    if at + sum(lengths) - 1 + 2 != len(text) or not text.endswith(b"}}"):
        return None  # the matches do not cover all of the text
    names = b"\n".join(raw).decode("utf-8").split("\n")  # no JSON string holds a raw newline
    keys = array("q", accumulate(lengths, initial=at))[:-1]
    key_sizes = array("q", [size + 2 for size in sizes])
    escaped = [number for number, name in enumerate(raw) if b"\\" in name] if b"\\" in text else []
    return names, array("q", map(int, starts)), array("q", map(int, ends)), keys, key_sizes, escaped
