"""A fast reader for the form of the index that the reference writers make.

Both writers put the index on one line, without blanks, with members always in the same order.  `parse_canonical`
accepts exactly that form and returns None for any other, valid or not, which the strict parser then reads.  A property
test checks that both give the same answers.  `lookup.py` finds a single name in the same form without storing the
others.
"""

from __future__ import annotations

import json

from exhume.formats.caf.kernel import caf_entries
from exhume.formats.caf.pykernel import OFFSET, PUNCTUATION, TEXT
from exhume.formats.caf.table import Index

VERSION = "1.0"
PREFIX = b'{"format_version":"1.0","files":{'
SUFFIX = b"}}"
VERSION_SPAN = (18, 23)


def parse_canonical(data: bytes) -> Index | None:
    """The index in the reference writers' form, or None when it has another form (broken ones included)."""
    if not (data.startswith(PREFIX) and data.endswith(SUFFIX)):
        return None
    index = Index(len(data), version=VERSION, has_version=True, has_files=True, canonical=True)
    index.version_span = VERSION_SPAN
    index.end = len(data)
    if len(data) == len(PREFIX) + len(SUFFIX):
        return index
    try:
        found = caf_entries(data, len(PREFIX))
    except UnicodeDecodeError:
        return None
    if found is None:
        return None
    index.names, index.starts, index.ends, index.keys, index.key_sizes, escaped = found
    for i in escaped:
        index.names[i] = json.loads(f'"{index.names[i]}"')
    index.finish()
    return index


__all__ = ["OFFSET", "PREFIX", "PUNCTUATION", "SUFFIX", "TEXT", "VERSION", "VERSION_SPAN", "parse_canonical"]
