"""The form of the index that the reference writers make, read fast: as a whole, or for one name.

Both writers put the index on one line, without blanks, members always in the same order.  `parse_canonical` and
`find_canonical` accept exactly that form and answer None for every other, valid or not: the strict parser decides then.
A property test holds them to the strict parser's answers.
"""

from __future__ import annotations

import json
import re
from array import array
from itertools import accumulate

from exhume.formats.caf.table import Index

VERSION = "1.0"
PREFIX = b'{"format_version":"1.0","files":{'
SUFFIX = b"}}"
VERSION_SPAN = (18, 23)
PUNCTUATION = 31
"""JSON bytes per entry besides name and digits, quotes around the name and the comma between entries included."""

TEXT = rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
"""The inside of a JSON string, as a pattern on UTF-8 bytes."""
OFFSET = rb"(0|[1-9][0-9]{0,17})"
"""An offset as the writers spell it: below 10^18, so that it fits 63 bits whatever its digits."""

_ENTRY = re.compile(
    rb'"(' + TEXT + rb')":\{"start_byte":' + OFFSET + rb',"end_byte":' + OFFSET + rb'\}(?:,(?=")|(?=\}\}\Z))'
)


def parse_canonical(data: bytes) -> Index | None:
    """The index in the reference writers' form, or None when it has another form (broken ones included)."""
    if not (data.startswith(PREFIX) and data.endswith(SUFFIX)):
        return None
    index = Index(len(data), version=VERSION, has_version=True, has_files=True, canonical=True)
    index.version_span = VERSION_SPAN
    index.end = len(data)
    if len(data) == len(PREFIX) + len(SUFFIX):
        return index
    rows = _ENTRY.findall(data, len(PREFIX))
    if not rows:
        return None
    raw, starts, ends = zip(*rows, strict=True)
    del rows
    sizes = list(map(len, raw))
    lengths = [a + b + c + PUNCTUATION for a, b, c in zip(sizes, map(len, starts), map(len, ends), strict=True)]
    if len(PREFIX) + sum(lengths) - 1 + len(SUFFIX) != len(data):
        return None  # something else stands between the entries
    try:
        names = b"\n".join(raw).decode("utf-8").split("\n")  # no JSON string holds a raw newline
    except UnicodeDecodeError:
        return None
    if b"\\" in data:
        for i, name in enumerate(names):
            if "\\" in name:
                names[i] = json.loads(f'"{name}"')
    index.names = names
    index.starts = array("q", map(int, starts))
    index.ends = array("q", map(int, ends))
    index.keys = array("q", accumulate(lengths, initial=len(PREFIX)))[:-1]
    index.key_sizes = array("q", [size + 2 for size in sizes])
    index.finish()
    return index
